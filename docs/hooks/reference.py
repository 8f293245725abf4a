"""Reference pages: an entry for each name of a package, and types as the docstrings write them.

The line `::: auclid.online.*` stands for an entry for each public name of `auclid.online`, and the line `::: names` for
a table of all entries of the reference, by page and heading.
"""

import re
from collections.abc import Iterable
from importlib import import_module

WILDCARD = re.compile(r"^::: auclid\.(\w+)\.\*$", flags=re.M)
WORD = r"""(?:"[\w-]+"|'[\w-]+'|None|True|False)"""
ENTRY = re.compile(r"^(?:#+ )?::: (auclid\.[\w.]+)$")
HEADING = re.compile(r"^##? (?!:)(.+)$")
CHOICES = re.compile(rf"{WORD}(?:, {WORD})+")


def expand(markdown: str) -> str:
    """The page with an entry for each name of a package's ``__all__`` in place of its wildcard."""

    def entries(match: re.Match) -> str:
        return "\n\n".join(f"::: auclid.{name}" for name in import_module(f"auclid.{match[1]}").__all__)

    return WILDCARD.sub(entries, markdown)


def names_by_heading(pages: Iterable[str]) -> str:
    """A table of the names that pages have entries for, each linked to its entry, by page and heading."""
    lines = ["| page | names |", "|---|---|"]
    for page in pages:
        parts: list[tuple[str, list[str]]] = []
        for line in expand(page).splitlines():
            if entry := ENTRY.match(line):
                parts[-1][1].append(f"[`{entry[1].removeprefix('auclid.')}`][{entry[1]}]")
            elif heading := HEADING.match(line):
                parts.append((heading[1], []))
        title = parts[0][0]
        lines += [
            f"| {title if heading == title else f'{title}: {heading}'} | {', '.join(names)} |"
            for heading, names in parts
            if names
        ]
    return "\n".join(lines)


def as_written(type_: str, *_, **__) -> str:
    """The type of a docstring as a page shows it; a choice gets back the braces that were taken off."""
    return f"{{{type_}}}" if CHOICES.fullmatch(type_) else type_


def on_config(config):
    """Griffe would read types as Python: `"auto" or list` would lose its quotes, `two-sided` become `two - sided`."""
    from griffe._internal.docstrings import numpy

    numpy.parse_docstring_annotation = as_written
    return config


def on_page_markdown(markdown, page, config, files):
    """Expand the wildcards of reference pages, and the table of names on the first of them."""
    if not page.file.src_uri.startswith("reference/"):
        return markdown
    if "::: names" in markdown:
        others = [file for file in files.documentation_pages() if file.src_uri.startswith("reference/")]
        pages = sorted(file.content_string for file in others if file.src_uri != page.file.src_uri)
        markdown = markdown.replace("::: names", names_by_heading(pages))
    return expand(markdown)
