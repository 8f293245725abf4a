"""The gallery: runs every script of examples/ and makes a page of each, with its picture, its output and its code."""

import ast
import io
import logging
import runpy
import tempfile
import warnings
from contextlib import chdir, redirect_stdout
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from matplotlib import pyplot as plt
from mkdocs.structure.files import File

log = logging.getLogger("mkdocs.hooks.gallery")
EXAMPLES = Path(__file__).parents[2] / "examples"

INTRODUCTION = """\
# Gallery

Short scripts, each with a picture. They are in `examples/`; `python examples/first_fit.py` writes `first_fit.png` into
the current folder. `make docs` ran them all for these pages. They need `pip install '.[plot]'`.
"""


class Example(NamedTuple):
    """One script, run."""

    name: str
    title: str
    text: str
    code: str
    printed: str
    picture: bytes


@cache
def run(path, changed):
    """Run a script in a folder of its own; it leaves a picture of its own name there. `changed` spares a rerun."""
    source = path.read_text(encoding="utf-8")
    doc = ast.get_docstring(ast.parse(source))
    title, _, text = doc.partition("\n\n")
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(printed), warnings.catch_warnings():
        runpy.run_path(str(path), run_name="__main__")
        picture = Path(f"{path.stem}.png").read_bytes()
    plt.close("all")
    code = source.partition('"""\n\n')[2]
    return Example(path.stem, title, text, code, printed.getvalue(), picture)


def can_run(path):
    """Whether what a script needs is installed; the documentation does without PyTorch, which is large."""
    missing = "import torch" in path.read_text(encoding="utf-8") and find_spec("torch") is None
    if missing:
        log.info("examples/%s is left out of the gallery: PyTorch is not installed", path.name)
    return not missing


def page(example):
    """The Markdown of one example."""
    return f"""\
# {example.title}

{example.text}

![{example.title}]({example.name}.png)

```text
{example.printed.rstrip()}
```

```python
{example.code.rstrip()}
```
"""


def card(example):
    """Its entry on the first page."""
    link, picture = f"{example.name}.md", f"![{example.title}]({example.name}.png)"
    return f"-   [{picture}]({link})\n\n    [{example.title}]({link})\n"


def on_files(files, config):
    """Add the pages and pictures to those of docs/."""
    plt.switch_backend("agg")
    examples = [run(path, path.stat().st_mtime) for path in sorted(EXAMPLES.glob("*.py")) if can_run(path)]
    for example in examples:
        files.append(File.generated(config, f"gallery/{example.name}.md", content=page(example)))
        files.append(File.generated(config, f"gallery/{example.name}.png", content=example.picture))
    first = "\n".join([INTRODUCTION, '<div class="grid cards" markdown>\n', *map(card, examples), "</div>\n"])
    files.append(File.generated(config, "gallery/index.md", content=first))
    return files
