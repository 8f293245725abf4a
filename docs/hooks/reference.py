"""Reference pages: the line `::: auclid.online.*` stands for an entry for each public name of `auclid.online`."""

import re
from importlib import import_module

WILDCARD = re.compile(r"^::: auclid\.(\w+)\.\*$", flags=re.M)


def expand(markdown: str) -> str:
    """The page with an entry for each name of a package's ``__all__`` in place of its wildcard."""

    def entries(match: re.Match) -> str:
        return "\n\n".join(f"::: auclid.{name}" for name in import_module(f"auclid.{match[1]}").__all__)

    return WILDCARD.sub(entries, markdown)


def on_page_markdown(markdown, page, config, files):
    """Expand the wildcards of reference pages."""
    return expand(markdown) if page.file.src_uri.startswith("reference/") else markdown
