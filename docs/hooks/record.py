"""The published record has its place in the navigation as soon as its pages are there."""

from pathlib import Path


def on_config(config):
    """Add docs/record/index.md, where `auclid experiments` has written it."""
    if (Path(config.docs_dir) / "record" / "index.md").exists():
        config.nav.append({"The published record": "record/index.md"})
    return config


def on_page_markdown(markdown, page, config, files):
    """Its tables are wide: they have the whole width of the window."""
    if page.file.src_uri.startswith("record/"):
        page.meta.setdefault("hide", ["navigation", "toc"])
    return markdown
