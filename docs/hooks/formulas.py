"""Formulas between dollar signs become MathML when the site is built: the reader's browser needs no script.

A page asks for it by `formulas: true` in its head, so that dollars elsewhere stay dollars.
"""

import re

from latex2mathml.converter import convert

CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", flags=re.M | re.S)
BLOCK = re.compile(r"^\$\$\n(.+?)\n\$\$$", flags=re.M | re.S)
INLINE = re.compile(r"\$([^$\n]+(?:\n[^$\n]+)?)\$")


def render(markdown: str) -> str:
    """The page with MathML in place of its formulas; code stays as it is."""
    pieces = CODE.split(markdown)
    for k in range(0, len(pieces), 2):  # the odd ones are code
        text = BLOCK.sub(lambda found: f'<div class="formula">{convert(found[1], display="block")}</div>', pieces[k])
        pieces[k] = INLINE.sub(lambda found: f"<span>{convert(found[1].replace(chr(10), ' '))}</span>", text)
    return "".join(pieces)


def on_page_markdown(markdown, page, config, files):
    """Render the formulas of pages that ask for it."""
    return render(markdown) if page.meta.get("formulas") else markdown
