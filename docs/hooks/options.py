"""An option of the command, such as `--max-fpr`, is not broken at the end of a line."""

import re

INLINE = re.compile(r"(?<!</span>)<code>([^<]+)</code>")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def keep_whole(html: str) -> str:
    """The page with the options of its inline code in elements that the style sheet does not wrap."""
    return INLINE.sub(lambda code: OPTION.sub(r'<span class="option">\g<0></span>', code[0]), html)


def on_page_content(html, page, config, files):
    """Keep the options of a page whole."""
    return keep_whole(html)
