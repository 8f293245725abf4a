"""Commands whose outputs are inputs: whatever the names, what was read is there afterwards, byte for byte.

A folder holds tables in several formats, links to them and a model. A command line is drawn that names some of them as
data and some, or new ones, as outputs. Where it exits with 0, all that it read is unchanged, each output holds what its
option promises, and a second run reads the same files. Where it exits with 2, nothing at all has changed.
"""

import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import auclid
from hostile import Found, pick

SOURCES = ["one.csv", "fold", "fold/*.csv", "f*/**/*.csv", "n.npy", "z.npz", "link.csv", "door", "card.points.csv", "."]
NAMES = [
    "one.csv", "fold/a.csv", "fold/new.csv", "fold/deep/c.csv", "door/a.csv", "link.csv", "./fold/../one.csv", "n.npy",
    "n.y.npy", "z.npz", "z.y.npy", "m.auclid", "card.auclid", "card.html", "card.points.csv", "new", "new.csv",
    "new.html", "new.auclid", "new.parquet", "new.svg", "hard.csv", "ONE.csv", "n.auclid", "report.html", "state",
    "fold", "no/x",
]  # fmt: skip
"""Paths of files, and of what might be mistaken for one."""


def folder(path: Path) -> None:
    """Tables in several formats, links and a model."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2)) + y[:, None]
    text = "\n".join(["a,b,y", *(f"{a},{b},{label}" for (a, b), label in zip(X.tolist(), y, strict=True))]) + "\n"
    (path / "fold" / "deep").mkdir(parents=True)
    for name in ("one.csv", "fold/a.csv", "fold/b.csv", "fold/deep/c.csv", "card.points.csv"):
        (path / name).write_text(text)
    np.save(path / "n.npy", X)
    np.save(path / "n.y.npy", y)
    np.savez(path / "z.npz", X=X)
    np.save(path / "z.y.npy", y)
    (path / "link.csv").symlink_to("one.csv")
    (path / "door").symlink_to("fold")
    os.link(path / "one.csv", path / "hard.csv")
    (path / "report.html").write_text("a report")
    about = {"columns": ["a", "b"], "classes": ["0", "1"], "dense": True, "target": "y", "method": "x", "frame": False}
    auclid.save(path / "m.auclid", auclid.LeastSquaresAUC().fit(X, y), about=about)


def line(rng: np.random.Generator) -> tuple[list[str], set[str], dict[str, str]]:
    """A command line, the sources it reads, and the files it is to write by their options."""
    data, verb = pick(rng, SOURCES), pick(rng, ["fit", "fit", "predict", "predict", "compare", "evaluate"])
    target = [] if data.endswith((".npy", ".npz")) else ["--target", "y"]
    first, second = pick(rng, NAMES), pick(rng, NAMES)
    if verb == "fit":
        method = pick(rng, ["LeastSquaresAUC", "Scorecard", "SPAM-L2"])
        writes = {"--model": first, **({"--checkpoint": second} if rng.integers(2) else {})}
        return ["fit", data, *target, "--method", method, *_options(writes)], {data}, writes
    if verb == "compare":
        few = ["--methods", "LeastSquaresAUC", "--against", "ridge"]
        return ["compare", data, *target, *few, "--output", first], {data}, {"--output": first}
    option = "--output" if verb == "predict" else "--plot"
    more = [] if verb == "predict" else target
    return [verb, "m.auclid", data, *more, option, first], {data, "m.auclid"}, {option: first}


def _options(writes: dict[str, str]) -> list[str]:
    return [word for pair in writes.items() for word in pair]


def contents(path: Path) -> dict[str, bytes]:
    """All files below a folder, links not followed."""
    files = (each for each in path.rglob("*") if each.is_file() and not each.is_symlink())
    return {each.relative_to(path).as_posix(): each.read_bytes() for each in files}


def read_files(sources: set[str]) -> set[str]:
    """The real files, relative to here, that sources stand for."""
    from auclid.data.readers.open import source_paths

    found = set()
    for source in sources:
        paths = [Path(source)] if Path(source).is_file() else source_paths(source)
        found |= {os.path.relpath(os.path.realpath(path)) for path in paths}
        found |= {f"{name[0]}.y.npy" for name in found & {"n.npy", "z.npz"}}
    return found


def output_case(rng: np.random.Generator) -> None:
    """One command whose outputs may be inputs."""
    from typer.testing import CliRunner

    from auclid.cli._app import app

    words, sources, writes = line(rng)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = Path.cwd()
        folder(Path(name))
        os.chdir(name)
        os.environ["AUCLID_DEBUG"] = "1"
        try:
            before, reads = contents(Path(name)), read_files(sources)
            result = CliRunner().invoke(app, words)
            after, still = contents(Path(name)), read_files(sources)
            _judge(words, result, (before, after), (reads, still))
            if result.exit_code == 0:
                _promised(words, writes)
        finally:
            os.chdir(here)


def _judge(words: list[str], result: Any, files: tuple[dict, dict], reads: tuple[set[str], set[str]]) -> None:
    shown, (before, after) = json.dumps(words), files
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise Found("traceback", f"{shown}: {type(result.exception).__name__}: {str(result.exception)[:150]}")
    if result.exit_code and before != after:
        raise Found("left behind", f"{shown}: {sorted(set(after) ^ set(before))}")
    lost = [name for name in reads[0] if after.get(name) != before[name]]
    if lost:
        raise Found("input replaced", f"{shown}: {lost}")
    if reads[0] != reads[1]:
        raise Found("output is read the next time", f"{shown}: {sorted(reads[0] ^ reads[1])}")


def _promised(words: list[str], writes: dict[str, str]) -> None:
    """Each output is what its option promises: a model, a checkpoint, or something that is neither."""
    for option, path in writes.items():
        try:
            auclid.load(path)
            is_model = True
        except ValueError:
            is_model = False
        if is_model != (option in ("--model", "--checkpoint")):
            raise Found("output replaced", f"{json.dumps(words)}: {option} {path}")
