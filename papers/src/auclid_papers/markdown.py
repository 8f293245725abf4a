"""Pages as Markdown: text, tables, lists and notes. Mkdocs makes HTML of them."""

import re
import tomllib
from collections.abc import Iterable
from math import isnan
from pathlib import Path

import pandas as pd

from auclid.io import replacing
from auclid_papers.definitions import package_text

TEXTS = tomllib.loads(package_text("texts.toml"))
"""Fixed texts of the pages."""

KEPT = re.compile(r"(https?://[^\s<>\"]*[^\s<>\".,;:)]|`[^`|<]+`)")
"""A URL in a sentence, without the punctuation behind it, or code."""

SPECIAL = re.compile(r"[\\`*|]|(?<=\])\(|(?<!\w)_|_(?!\w)")
"""Characters that Markdown does not print as they are. A bracket is one only where it would begin a link's address."""


class Markdown(str):
    """Text that is Markdown already: `escape` leaves it as it is."""


def escape(text: str) -> Markdown:
    r"""Plain text as Markdown that prints it, with URLs as links and what stands in backquotes as code.

    Examples
    --------
    >>> from auclid_papers.markdown import escape
    >>> escape("a|b *c* sector_v2, see `f(*x)` and https://example.org.")
    'a\\|b \\*c\\* sector_v2, see `f(*x)` and <https://example.org>.'
    """
    if isinstance(text, Markdown):
        return text
    parts = KEPT.split(text)
    parts[::2] = [SPECIAL.sub(r"\\\g<0>", part).replace("<", "&lt;") for part in parts[::2]]
    parts[1::2] = [part if part.startswith("`") else f"<{part}>" for part in parts[1::2]]
    return Markdown("".join(parts))


def link(page: str, text: str) -> Markdown:
    """A link to another page of the same folder."""
    return Markdown(f"[{escape(text)}]({page}.md)")


NUMBER = r"[+−×]? ?\d"
"""How a cell of numbers begins."""


def table(frame: pd.DataFrame) -> Markdown:
    """A table with its first column and words to the left, other columns to the right; a newline is a line break."""
    cells = frame.map(lambda cell: escape(cell).replace("\n", "<br>"))
    cells.columns = [escape(name).replace("\n", "<br>") for name in frame.columns]
    has_numbers = [frame.iloc[:, k].astype(str).str.match(NUMBER).any() for k in range(1, frame.shape[1])]
    sides = ["left", *("right" if some else "left" for some in has_numbers)]
    text = cells.to_markdown(index=False, disable_numparse=True, colalign=sides)
    return Markdown(f'<div class="record" markdown>\n\n{text}\n\n</div>')


def bullets(items: Iterable[str]) -> Markdown:
    """A list."""
    return Markdown("\n".join(f"- {escape(item)}" for item in items))


class Notes:
    """Numbered notes below a table; the same text is one note."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, text: str) -> str:
        """The number of a note in brackets; an empty string for an empty note."""
        if not text:
            return ""
        if text not in self.texts:
            self.texts.append(text)
        return f" [{self.texts.index(text) + 1}]"

    def blocks(self) -> list[Markdown]:
        """The numbered list as a block of a page; no block if there are no notes."""
        numbered = [f"{number}. {escape(text)}" for number, text in enumerate(self.texts, start=1)]
        return [Markdown("\n".join(numbered))] if numbered else []


def heading(title: str) -> Markdown:
    """The heading of a section."""
    return Markdown(f"## {escape(title)}")


def write_page(path: Path, title: str, blocks: Iterable[str]) -> Path:
    """Write a page: its title, then blocks of text or Markdown; empty ones are left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, "w") as file:
        file.write("\n\n".join([f"# {escape(title)}", *(escape(block) for block in blocks if block)]) + "\n")
    return path


def spread(mean: float, std: float | None = None) -> str:
    """A mean and its standard deviation.

    Examples
    --------
    >>> from auclid_papers.markdown import spread
    >>> spread(0.91234, 0.01), spread(0.5), spread(0.5, float("nan"))
    ('0.9123 ± 0.0100', '0.5000', '0.5000')
    """
    return f"{mean:.4f}" if std is None or isnan(std) else f"{mean:.4f} ± {std:.4f}"


def signed(number: float) -> str:
    """A difference with its sign; the minus is as wide as the plus."""
    return f"{number:+.4f}".replace("-", "−")


def counted(n: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> from auclid_papers.markdown import counted
    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def duration(seconds: float) -> str:
    """A time with two or three digits.

    Examples
    --------
    >>> from auclid_papers.markdown import duration
    >>> duration(0.00321), duration(0.5), duration(75.2)
    ('3.2 ms', '0.50 s', '75 s')
    """
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.2f} s" if seconds < 9.95 else f"{seconds:,.0f} s"
