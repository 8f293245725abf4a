"""Standard input as DATA, where its name is "-"."""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

STDIN = Path("-")
"""What names standard input, and standard output."""

COPY = "standard-input"
"""The name, without its ending, of the file that standard input is copied to."""

COPIES: list[Path] = []
"""The copies of standard input that this process has made."""

SIGNATURES = {b"PAR1": ".parquet", b"ARRO": ".arrow"}
"""The first bytes of files that are not text."""


def source(ctx: typer.Context, value: Any) -> Any:
    """A path, or paths, with "-" replaced by a copy of standard input: most methods read rows more than once.

    The copy is csv, Parquet or Arrow, by its first bytes, and is gone when the command ends.
    """
    if isinstance(value, list):
        return [source(ctx, each) for each in value]
    if value != STDIN or ctx.resilient_parsing:
        return value
    stream = sys.stdin.buffer
    first = stream.read(4)
    if not first:
        raise typer.BadParameter("standard input must hold rows; it is empty.", param_hint="-")
    folder = TemporaryDirectory(prefix="auclid-")
    ctx.call_on_close(folder.cleanup)
    path = Path(folder.name) / f"{COPY}{SIGNATURES.get(first, '.csv')}"
    COPIES.append(path)
    with open(path, "wb") as file:
        file.write(first)
        shutil.copyfileobj(stream, file)
    return path


def is_copy(path: Path) -> bool:
    """Whether a path is the copy of standard input."""
    return path.stem == COPY and path.parent.name.startswith("auclid-")


def plainly_named(text: str) -> str:
    """A text with standard input named so, not by the path of its copy."""
    for path in COPIES:
        text = text.replace(repr(str(path)), "standard input").replace(str(path), "standard input")
    return text
