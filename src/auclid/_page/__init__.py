"""What pages and notebooks share: the frame, a style sheet, axes for plots, tables, and how a difference is written."""

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any

from auclid._version import __version__

DISPLAYED_NUMBER = re.compile(r"[+−-]?(\d|inf|nan)")
"""How a cell with a figure begins."""


def style(*parts: str) -> str:
    """The style sheet of every page (by day, by night, on a phone, on paper), or just some parts of it."""
    return "".join(read(f"{part}.css") for part in parts or ("svg", "page"))


def read(name: str) -> str:
    """A file of this package, as text."""
    return (resources.files(__name__) / name).read_text("utf-8")


def filled(template: str, **parts: Any) -> str:
    """A template of this package with its parts filled in."""
    return Template(read(template)).substitute(parts)


def embedded_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def page(title: str, body: str, script: str = "") -> str:
    """A whole page that loads nothing: the HTML of its title, of its header and main part, and its script if any."""
    scripts = "; script-src 'unsafe-inline'" if script else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'{scripts}">
<title>{title}</title>
<style>
{style()}
</style>
</head>
<body>
{body}<footer>Made by auclid {escape(__version__)}.</footer>
{f"<script>{chr(10)}{script}{chr(10)}</script>{chr(10)}" if script else ""}</body>
</html>
"""


def header(made_by: str, title: str, facts: str) -> str:
    """The head of a page, of HTML: what made it, its title, and what its rows are."""
    return f'<header>\n<p class="kicker">{made_by}</p>\n<h1>{title}</h1>\n<p class="facts">{facts}</p>\n</header>'


def signed(number: float | None) -> str:
    """A difference of AUCs, with a sign that is as wide as the other one."""
    return "" if number is None else f"{number:+.4f}".replace("-", "−")


def table(title: str, rows: Sequence[Mapping[str, str]]) -> str:
    """An HTML table with a caption: a line for each row, a column for each name of the first that has a value.

    Notebooks set cells to the right: words are set to the left here.
    """
    first = {name: next((row[name] for row in rows if row[name]), "") for name in rows[0]}
    names = [name for name, value in first.items() if value]
    left = ' style="text-align: left"'
    kind = {name: "" if DISPLAYED_NUMBER.match(first[name]) else left for name in names}
    head = "".join(f"<th{kind[name]}>{escape(name)}</th>" for name in names)
    lines = ("".join(f"<td{kind[name]}>{escape(row[name])}</td>" for name in names) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    caption = f"<caption{left}>{escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def number_table(heads: Sequence[str], lines: Iterable[str]) -> str:
    """A table of figures, which scrolls on a phone; the first head that is not empty is that of the names."""
    at = next(k for k, head in enumerate(heads) if head)
    kinds = ("scope='col' class='name'" if k == at else "scope='col'" for k in range(len(heads)))
    head = "".join(f"<th {kind}>{escape(text)}</th>" for kind, text in zip(kinds, heads, strict=True))
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f'<div class="scroll"><table class="numbers">{body}</table></div>'


def named_row(name: str, figures: Iterable[str], spare: Container[int] = ()) -> str:
    """A row of a table of figures: a name, then cells as they are."""
    return f'<tr><th scope="row" class="name">{escape(name)}</th>{cells(figures, spare)}</tr>'


def cells(figures: Iterable[str], spare: Container[int] = ()) -> str:
    """Cells of a table; those numbered in ``spare`` are left out on a phone."""
    return "".join(f"<td{' class=spare' if k in spare else ''}>{figure}</td>" for k, figure in enumerate(figures))


def with_ends(value: float, low: float, high: float) -> str:
    """A number and the two ends of its interval."""
    return f"{value:.4f} <small>{low:.4f} – {high:.4f}</small>"


def framed(title: str, page: str, height: int = 480) -> str:
    """A whole page within another, such as a notebook: its styles stay inside, and its scripts do not run."""
    return (
        f'<iframe title="{escape(title)}" sandbox style="width: 100%; height: {height}px; border: 0" '
        f'srcdoc="{escape(page)}"></iframe>'
    )
