"""Figures of guides and tutorials: the code of a page is run until it has saved its pictures, which join the site.

`ax.figure.savefig("fraud-roc.png")` in the code of a page, and `![words](fraud-roc.png)` in its text.
"""

import contextlib
import os
import re
import runpy
import tempfile
import warnings
from functools import cache
from pathlib import Path

from matplotlib import pyplot as plt
from mkdocs.structure.files import File

TOOLS = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "pages.py"))
SAVED = re.compile(r'savefig\("([\w-]+\.png)"')


def ignore(printed: str, shown: str, where: str) -> None:
    """Compare no outputs; the tests do."""


@cache
def pictures(path: Path, changed: float) -> dict[str, bytes]:
    """Name and content of the pictures that a page saves. `changed` spares a rerun."""
    last = max(line for _, text, line in TOOLS["blocks"](path) if SAVED.search(text))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings(action="ignore"):
        TOOLS["run_page"](path, TOOLS["run_installed"], check=ignore, last=last)
        plt.close("all")
        return {name: Path(name).read_bytes() for name in SAVED.findall(path.read_text(encoding="utf-8"))}


def on_files(files, config):
    """Add the pictures beside their pages."""
    os.environ["MPLBACKEND"] = "agg"
    for page in files.documentation_pages():
        path = Path(page.abs_src_path) if page.abs_src_path else None
        if path and SAVED.search(path.read_text(encoding="utf-8")):
            for name, content in pictures(path, path.stat().st_mtime).items():
                uri = (Path(page.src_uri).parent / name).as_posix()
                files.append(File.generated(config, uri, content=content))
    return files
