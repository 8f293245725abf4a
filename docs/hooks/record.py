"""The pages that `auclid experiments report` writes to docs/record: tables in full width, verdicts in colour."""

import re

VERDICT = re.compile("[▲=▼] (better|met|worse)")


def on_page_markdown(markdown, page, config, files):
    """Hide the side bars of all pages but the first: the tables are wide."""
    if page.file.src_uri.startswith("record/") and page.file.name != "index":
        page.meta.setdefault("hide", ["navigation", "toc"])
    return markdown


def on_page_content(html, page, config, files):
    """Mark the verdicts for the style sheet."""
    if page.file.src_uri.startswith("record/"):
        return VERDICT.sub(r'<span class="\1">\g<0></span>', html)
    return html
