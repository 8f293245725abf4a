"""The pages that `auclid experiments report` writes to docs/record: navigation, full width, verdicts in colour."""

import re
from pathlib import Path

VERDICT = re.compile("[▲=▼] (better|met|worse)")


def on_config(config):
    """Add the first page to the navigation, if the pages have been written."""
    if (Path(config.docs_dir) / "record" / "index.md").exists():
        config.nav.append({"The published record": "record/index.md"})
    return config


def on_page_markdown(markdown, page, config, files):
    """Hide the side bars: the tables are wide."""
    if page.file.src_uri.startswith("record/"):
        page.meta.setdefault("hide", ["navigation", "toc"])
    return markdown


def on_page_content(html, page, config, files):
    """Mark the verdicts for the style sheet."""
    if page.file.src_uri.startswith("record/"):
        return VERDICT.sub(r'<span class="\1">\g<0></span>', html)
    return html
