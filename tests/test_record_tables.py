"""The script that sorts the record's tables, in a browser: numbers by size, empty cells last, both ways."""

import re
from pathlib import Path

import pytest

from browser import browse, in_browser

SCRIPT = Path(__file__).parent.parent / "papers" / "src" / "auclid_papers" / "sort.js"

PAGE = """<!doctype html><meta charset="utf-8"><div class="record"><table>
<thead><tr><th>name</th><th>value</th></tr></thead><tbody>{rows}</tbody></table></div>
<table id="other"><thead><tr><th>not of the record</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>
<script>{script}</script>
<script>document.addEventListener("DOMContentLoaded", () => {{
for (const k of {clicks}) document.querySelectorAll("th")[k].click(); }});</script>
"""

CELLS = {"b": "0.9123 ± 0.0100<br>0.91", "a": "", "d": "−0.5", "c": "1,200"}
TIMES = {"b": "0.50 s", "a": "", "d": "3.2 ms", "c": "75 s"}


@in_browser
@pytest.mark.parametrize(
    ("cells", "clicks", "expected"),
    [
        (CELLS, [], "badc"),
        (CELLS, [0], "abcd"),
        (CELLS, [0, 0], "dcba"),
        (CELLS, [1], "dbca"),
        (CELLS, [1, 1], "cbda"),
        (CELLS, [1, 0], "abcd"),
        (TIMES, [1], "dbca"),
    ],
)
def test_a_click_sorts(tmp_path, cells, clicks, expected):
    rows = "".join(f"<tr><td>{name}</td><td>{text}</td></tr>" for name, text in cells.items())
    page = tmp_path / "page.html"
    page.write_text(PAGE.format(rows=rows, script=SCRIPT.read_text("utf-8"), clicks=clicks), "utf-8")
    dom = browse(page, "--dump-dom").partition('<table id="other">')
    assert re.findall(r"<tr><td>(\w)</td>", dom[0]) == list(expected)
    assert "tabindex" in dom[0] and "tabindex" not in dom[2]


def test_nothing_is_loaded():
    assert not re.search(r"https?:|import|fetch|require", SCRIPT.read_text("utf-8"))
