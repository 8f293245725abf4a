"""Check the built site: links, spelling, and five pages in headless Chromium.

`python tools/check_site.py [SITE]`, after `mkdocs build`; `make docs` runs both. In the browser every page is loaded at
the width of a desk and of a phone, in light and dark colours. It must have one first-level heading and no gap in the
levels of headings, words for every picture, a contrast of at least 4.5 (3 for large text) wherever text stands, no text
wider than the screen, and no request to any host but its own. Without Chromium this part is skipped, saying so.
"""

import html
import http.server
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["index.html", "tutorials/credit.html", "mathematics.html", "reference/metrics.html", "record/index.html"]
AUDIT = Path(__file__).with_name("audit.html")
WORDS = Path(__file__).with_name("words.txt")
PROSE = "README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs examples src papers/src tools".split()


class Anchors(HTMLParser):
    """Targets and anchors of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a tag links to, and what may be linked to."""
        found = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := found.get(key))}
        self.links += [value for key in ("href", "src") if (value := found.get(key)) and tag != "base"]


def broken_links(site: Path) -> list[str]:
    """Links of the site's pages that lead to no file or to no anchor."""
    pages = {}
    for path in site.rglob("*.html"):
        pages[path] = Anchors()
        pages[path].feed(path.read_text(encoding="utf-8"))
    return [
        f"{path.relative_to(site).as_posix()} links to {link}"
        for path, page in pages.items()
        if path.name != "404.html"  # its links begin at the root of a host
        for link in page.links
        if not urlsplit(link).scheme and not leads_somewhere(path, link, pages)
    ]


def leads_somewhere(path: Path, link: str, pages: dict[Path, Anchors]) -> bool:
    """Whether a link of a page leads to a file, and to an anchor in it if it names one."""
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    anchor = unquote(parts.fragment)
    known = target not in pages or not anchor or anchor in pages[target].anchors or anchor.startswith("__")
    return target.exists() and known


def misspelled() -> list[str]:
    """What codespell finds in the prose and the code of the project."""
    command = [sys.executable, "-m", "codespell_lib", "--ignore-words", str(WORDS), "--skip", "*.svg,*.csv,*.json,raw"]
    done = subprocess.run([*command, *PROSE], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode else []


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves the site, and the page that looks at its pages."""

    def do_GET(self) -> None:
        """Answer with the audit page or with a file."""
        if self.path.partition("?")[0] != "/audit.html":
            return super().do_GET()
        content = AUDIT.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def find_browser() -> str | None:
    """The path of Chromium, under any of its names."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def seen_in_browser(browser: str, site: Path, pages: list[str]) -> list[str]:
    """What the audit page finds wrong with pages of the site."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile:
        address = f"http://127.0.0.1:{server.server_address[1]}/audit.html?{','.join(pages)}"
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--dump-dom"]
        flags += ["--window-size=1400,1000", "--virtual-time-budget=60000", f"--user-data-dir={profile}"]
        done = subprocess.run([browser, *flags, address], capture_output=True, text=True, timeout=300)
    server.shutdown()
    found = re.search(r'<pre id="findings">(.*?)</pre>', done.stdout, flags=re.S)
    if not found:
        raise SystemExit(f"The audit page must end with its findings; Chromium printed {done.stdout[:500]!r}.")
    return json.loads(html.unescape(found[1]))


def main(site: Path) -> None:
    """Check links, spelling and pages; say everything that is wrong."""
    wrong = broken_links(site) + misspelled()
    browser = find_browser()
    if browser:
        wrong += seen_in_browser(browser, site, PAGES)
    else:
        print("Chromium was not found: pages were not looked at in a browser.")
    if wrong:
        raise SystemExit("\n".join(wrong))
    print(f"Links and spelling are clean{f', and so are {len(PAGES)} pages in Chromium' if browser else ''}.")


if __name__ == "__main__":
    main((Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site").resolve())
