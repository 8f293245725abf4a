"""A page as plain blocks, written as HTML that needs nothing else and as Markdown."""

import re
from collections.abc import Callable
from html import escape
from importlib import resources
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from auclid._page import style
from auclid._version import __version__
from auclid.io import replacing
from auclid_papers.figures import alone


class Cell(NamedTuple):
    """A cell of a table: lines of text, and what kind it is (a class of the style sheet)."""

    lines: tuple
    kind: str = ""


class Table(NamedTuple):
    """Rows with a name each; a column's or row's name is a cell too."""

    columns: list
    rows: list  # (name, cells)


class Paragraph(NamedTuple):
    """Words or a link; ``kind`` is a class of the style sheet."""

    words: "str | Link"
    kind: str = ""


class Points(NamedTuple):
    """A list of sentences, numbered where others refer to them."""

    items: list
    numbered: bool = False


class Plot(NamedTuple):
    """An SVG, and the name of its file beside the Markdown page."""

    name: str
    title: str
    svg: str


class Link(NamedTuple):
    """A page of the same folder, by its name without ending."""

    page: str
    words: str


class Section(NamedTuple):
    """A heading and blocks below it."""

    title: str
    blocks: list


class Page(NamedTuple):
    """A whole page; ``name`` is that of its files."""

    name: str
    title: str
    lead: str
    facts: str
    sections: list


Words = str | Link


class Notes:
    """Sentences below a table, each once, by number."""

    def __init__(self) -> None:
        self.all: list[str] = []

    def mark(self, note: str) -> str:
        """The number of a note in brackets; nothing for no note."""
        if not note:
            return ""
        if note not in self.all:
            self.all.append(note)
        return f" [{self.all.index(note) + 1}]"


def short(mean: float, std: float | None = None) -> str:
    """A mean, and its deviation where there is one.

    Examples
    --------
    >>> from auclid_papers.render import short
    >>> short(0.91234, 0.01), short(0.5)
    ('0.9123 ± 0.0100', '0.5000')
    """
    return f"{mean:.4f}" if std is None else f"{mean:.4f} ± {std:.4f}"


def counted(n: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> from auclid_papers.render import counted
    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def save(page: Page, folder: str | Path) -> list[Path]:
    """Write NAME.html and NAME.md, and the plots of the latter; the paths of the two."""
    folder = Path(folder)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for block in (block for section in page.sections for block in section.blocks):
        if isinstance(block, Plot):
            _write(folder / "figures" / f"{block.name}.svg", alone(block.svg) + "\n")
    files = {f"{page.name}.html": html(page), f"{page.name}.md": markdown(page)}
    for name, text in files.items():
        _write(folder / name, text)
    return [folder / name for name in files]


def _write(path: Path, text: str) -> None:
    with replacing(path, "w") as file:
        file.write(text)


# --- HTML ----------------------------------------------------------------------------------------------------------


def html(page: Page) -> str:
    """The page as HTML with style and plots inside it."""
    folder = resources.files("auclid_papers") / "page"
    return Template((folder / "record.html").read_text("utf-8")).substitute(
        style=style() + (folder / "record.css").read_text("utf-8"),
        title=escape(page.title),
        lead=escape(page.lead),
        facts=escape(page.facts),
        body="\n".join(_section(section) for section in page.sections),
        version=escape(__version__),
    )


def _section(section: Section) -> str:
    parts = []
    for kind, blocks in groupby(section.blocks, key=type):
        inside = "".join(_HTML[kind](block) for block in blocks)
        parts.append(f'<div class="plots">{inside}</div>\n' if kind is Plot else inside)
    return f'<section class="wide">\n<h2>{escape(section.title)}</h2>\n{"".join(parts)}</section>'


def _table(table: Table) -> str:
    head = "".join(f"<th scope='col'{_kind(cell)}>{_lines(cell)}</th>" for cell in table.columns)
    rows = "".join(
        f"<tr><th scope='row'{_kind(name)}>{_lines(name)}</th>"
        + "".join(f"<td{_kind(cell)}>{_lines(cell)}</td>" for cell in cells)
        + "</tr>\n"
        for name, cells in table.rows
    )
    return (
        f'<div class="scroll"><table class="numbers record"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>\n"
    )


def _kind(cell: Cell | Paragraph) -> str:
    return f' class="{cell.kind}"' if cell.kind else ""


def _lines(cell: Cell) -> str:
    first, *others = (_words(line) for line in cell.lines or ("",))
    return first + "".join(f"<span>{line}</span>" for line in others)


def _words(words: Words) -> str:
    if isinstance(words, Link):
        return f'<a href="{escape(words.page)}.html">{escape(words.words)}</a>'
    return ADDRESS.sub(r'<a href="\g<0>">\g<0></a>', escape(words))


ADDRESS = re.compile(r"https?://[^\s<>\"]*[^\s<>\".,;:)]")
"""An address in a sentence, without what ends the sentence."""


def _plot(plot: Plot) -> str:
    return f"<figure>{plot.svg}<figcaption>{escape(plot.title)}</figcaption></figure>"


def _points(points: Points) -> str:
    tag = "ol" if points.numbered else "ul"
    return f'<{tag} class="notes">{"".join(f"<li>{_words(item)}</li>" for item in points.items)}</{tag}>\n'


_HTML: dict[type, Callable[[Any], str]] = {
    Table: _table,
    Points: _points,
    Plot: _plot,
    Paragraph: lambda block: f"<p{_kind(block)}>{_words(block.words)}</p>\n",
}


# --- Markdown ------------------------------------------------------------------------------------------------------


def markdown(page: Page) -> str:
    """The page as Markdown; its plots are files in the folder ``figures``."""
    parts = [f"# {_md_words(page.title)}", _md_words(page.lead), _md_words(page.facts)]
    for section in page.sections:
        parts += [f"## {_md_words(section.title)}", *(_MARKDOWN[type(block)](block) for block in section.blocks)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _md_table(table: Table) -> str:
    lines = [table.columns, [Cell((":--",)), *[Cell(("--:",))] * (len(table.columns) - 1)]]
    lines += [[name, *cells] for name, cells in table.rows]
    body = "\n".join("| " + " | ".join(_md_cell(cell) for cell in line) + " |" for line in lines)
    return f'<div class="record" markdown>\n\n{body}\n\n</div>'


def _md_cell(cell: Cell) -> str:
    return "<br>".join(_md_words(line) for line in cell.lines)


def _md_words(words: Words) -> str:
    if isinstance(words, Link):
        return f"[{_md_words(words.words)}]({words.page}.md)"
    parts = ADDRESS.split(words)
    plain = [SPECIAL.sub(r"\\\g<0>", part).replace("<", "&lt;") for part in parts]
    links = [f"<{address}>" for address in ADDRESS.findall(words)]
    return "".join(part for pair in zip(plain, [*links, ""], strict=True) for part in pair)


SPECIAL = re.compile(r"[\\`*|]|(?<=\])\(|(?<!\w)_|_(?!\w)")
"""What Markdown would not print as it is: a bracket it does, but for one that would begin a link's address."""


def _md_points(points: Points) -> str:
    marks = (f"{k}." for k in range(1, len(points.items) + 1)) if points.numbered else ["-"] * len(points.items)
    return "\n".join(f"{mark} {_md_words(item)}" for mark, item in zip(marks, points.items, strict=True))


_MARKDOWN: dict[type, Callable[[Any], str]] = {
    Table: _md_table,
    Points: _md_points,
    Paragraph: lambda block: _md_words(block.words),
    Plot: lambda plot: f"![{_md_words(plot.title)}](figures/{plot.name}.svg)",
}
