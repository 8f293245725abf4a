"""The checks of the built site find what they are made to find."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = runpy.run_path(str(ROOT / "tools" / "check_site.py"))
BROWSER = TOOLS["find_browser"]()

GOOD = """<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<body><article style="background: white; color: black"><h1 id="top">Title</h1><h2>Part</h2>
<p><a href="other.html#here" style="color: darkblue">link</a></p></article></body></html>"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "page.html").write_text(GOOD, encoding="utf-8")
    (tmp_path / "other.html").write_text(GOOD.replace('id="top"', 'id="here"'), encoding="utf-8")
    return tmp_path


def test_good_links_pass(site):
    assert TOOLS["broken_links"](site) == []


@pytest.mark.parametrize("link", ["gone.html", "other.html#gone", "#gone", "images/gone.png"])
def test_a_broken_link_is_found(site, link):
    page = GOOD.replace("other.html#here", link)
    (site / "page.html").write_text(page, encoding="utf-8")
    assert TOOLS["broken_links"](site) == [f"page.html links to {link}"]


needs_browser = pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")


@needs_browser
def test_what_a_browser_sees(site):
    broken = {
        "faint.html": ("color: darkblue", "color: #ccc", "contrast of a"),
        "jump.html": ("<h2>Part</h2>", "<h3>Part</h3>", "jumps from h1 to h3"),
        "wordless.html": ("</article>", '<img src="x.png"></article>', "no words for the picture x.png"),
        "wide.html": ("</article>", '<div style="width: 900px">wide</div></article>', "wider than the screen"),
        "foreign.html": ("</article>", '<img alt="a" src="http://example.invalid/x.png"></article>', "asks the host"),
    }
    for name, (old, new, _) in broken.items():
        (site / name).write_text(GOOD.replace(old, new), encoding="utf-8")
    found = TOOLS["seen_in_browser"](BROWSER, site, ["page.html", *broken])
    assert not any(line.startswith("page.html") for line in found)
    for name, (_, _, sentence) in broken.items():
        assert any(line.startswith(name) and sentence in line for line in found), (name, found)


def test_formulas_become_mathml_and_code_stays():
    pytest.importorskip("latex2mathml")
    render = runpy.run_path(str(ROOT / "docs" / "hooks" / "formulas.py"))["render"]
    page = render("Let $x_i$ be `$HOME`.\n\n$$\n\\frac{a}{b}\n$$\n\n```sh\necho $A $B\n```\n")
    assert page.count("<math") == 2 and 'display="block"' in page
    assert "`$HOME`" in page and "echo $A $B" in page


def test_guides_come_before_the_reference_in_a_search():
    boost = runpy.run_path(str(ROOT / "docs" / "hooks" / "search.py"))["boost"]
    places = [boost(path) for path in ("questions.md", "statistics.md", "reference/metrics.md", "record/spam.md")]
    assert places == sorted(places, reverse=True) and len(set(places)) == 4


def test_types_of_the_reference_stay_as_written():
    as_written = runpy.run_path(str(ROOT / "docs" / "hooks" / "reference.py"))["as_written"]
    assert as_written('"auto" or list', None) == '"auto" or list'
    assert as_written('"two-sided", "greater", None') == '{"two-sided", "greater", None}'
    assert as_written("int, RandomState or None") == "int, RandomState or None"


def test_the_reference_begins_with_a_table_of_names():
    names_by_heading = runpy.run_path(str(ROOT / "docs" / "hooks" / "reference.py"))["names_by_heading"]
    metrics = "# All\n\n## AUC\n\n### ::: auclid.metrics.ks\n\n## None\n"
    pages = ["# Plots\n\n::: auclid.plot.roc\n    options: {}\n", metrics]
    rows = names_by_heading(pages).splitlines()[2:]
    assert rows == ["| Plots | [`plot.roc`][auclid.plot.roc] |", "| All: AUC | [`metrics.ks`][auclid.metrics.ks] |"]
    assert "[`RankSVM`][auclid.RankSVM]" in names_by_heading(["# Pair losses\n\n::: auclid.pairwise.*\n"])


def test_options_in_a_sentence_are_kept_whole():
    keep_whole = runpy.run_path(str(ROOT / "docs" / "hooks" / "options.py"))["keep_whole"]
    assert keep_whole("<code>fit m --max-fpr 0.1</code>") == (
        '<code>fit m <span class="option">--max-fpr</span> 0.1</code>'
    )
    block = "<pre><span></span><code>auclid fit --model m</code></pre>"
    assert keep_whole(block) == block and keep_whole("<code>a--b</code>") == "<code>a--b</code>"
