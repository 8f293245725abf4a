"""Search results: questions and guides come before the reference, and the reference before the tables of the record."""

BOOSTS = {"questions.md": 4.0, "reference/": 0.5, "record/": 0.1, "gallery/": 0.5}
"""By the beginning of a page's path; other pages have 1."""


def boost(path: str) -> float:
    """The factor on the rank of a page among search results."""
    return next((factor for start, factor in BOOSTS.items() if path.startswith(start)), 1.0)


def on_page_markdown(markdown, page, config, files):
    """Tell the search plugin how much a page counts, unless the page says so itself."""
    page.meta.setdefault("search", {"boost": boost(page.file.src_uri)})
    return markdown
