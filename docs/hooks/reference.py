"""Reference pages: an entry for each name of a package, and types as the docstrings write them.

The line `::: auclid.online.*` stands for an entry for each public name of `auclid.online`.
"""

import re
from importlib import import_module

WILDCARD = re.compile(r"^::: auclid\.(\w+)\.\*$", flags=re.M)
WORD = r"""(?:"[\w-]+"|'[\w-]+'|None|True|False)"""
CHOICES = re.compile(rf"{WORD}(?:, {WORD})+")


def expand(markdown: str) -> str:
    """The page with an entry for each name of a package's ``__all__`` in place of its wildcard."""

    def entries(match: re.Match) -> str:
        return "\n\n".join(f"::: auclid.{name}" for name in import_module(f"auclid.{match[1]}").__all__)

    return WILDCARD.sub(entries, markdown)


def as_written(type_: str, *_, **__) -> str:
    """The type of a docstring as a page shows it; a choice gets back the braces that were taken off."""
    return f"{{{type_}}}" if CHOICES.fullmatch(type_) else type_


def on_config(config):
    """Griffe would read types as Python: `"auto" or list` would lose its quotes, `two-sided` become `two - sided`."""
    from griffe._internal.docstrings import numpy

    numpy.parse_docstring_annotation = as_written
    return config


def on_page_markdown(markdown, page, config, files):
    """Expand the wildcards of reference pages."""
    return expand(markdown) if page.file.src_uri.startswith("reference/") else markdown
