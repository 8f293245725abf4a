"""The built pages load nothing from elsewhere: a foreign script, style, font or picture fails the build."""

import re
from pathlib import Path

from mkdocs.exceptions import PluginError

IN_PAGES = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>""")
IN_STYLES = re.compile(r"""(?:url\(|@import\s*)["']?(?:https?:)?//[^)"';]+""")


def foreign(text, suffix):
    """What a page or a style sheet would load from another host; where a page says it lives is not loaded."""
    found = (IN_PAGES if suffix == ".html" else IN_STYLES).findall(text)
    return [what for what in found if 'rel="canonical"' not in what]


def on_post_build(config):
    """Look through every page and style sheet of the site."""
    for path in Path(config.site_dir).rglob("*"):
        if path.suffix in (".html", ".css"):
            found = foreign(path.read_text(encoding="utf-8"), path.suffix)
            if found:
                raise PluginError(f"{path.name} would load from elsewhere: {found[0]}")
