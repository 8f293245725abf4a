"""Attacks on the command and on the readers of tables: one sentence and an exit code, never a traceback."""

import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import auclid
from attack_files import mutated
from auclid.datasets import read_table
from hostile import EXTREMES, Found, attempt, pick
from hostile_tables import broken, labels, numbers
from model_files import opened, signed

WORDS = ["1", "0", "-1", "1e308", "nan", "", "x", "ja", "\x1b[31mred", "é", '"', "NA", "2020-01-01", "0x1F", "1,5", "∞"]


def table_file(rng: np.random.Generator, folder: Path) -> Path:
    """A data file of some kind, with something wrong in it more often than not."""
    kind = rng.integers(9)
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    if kind == 0:
        path = folder / "bytes.csv"
        path.write_bytes(rng.bytes(int(rng.integers(0, 300))))
    elif kind in (1, 2):
        path = folder / pick(rng, ["words.csv", "words.tsv", "words.data"])
        lines = [pick(rng, ",;\t").join([*(f"c{k}" for k in range(d)), "y"])]
        lines += [",".join(pick(rng, WORDS) for _ in range(d + int(rng.integers(0, 3)))) for _ in range(n)]
        path.write_text("\n".join(lines), encoding="utf-8")
    elif kind in (3, 4):
        path = folder / "good.csv"
        X, y = numbers(rng, n, d), labels(rng, n)
        rows = (",".join([*(repr(float(x)) for x in row), str(label)]) for row, label in zip(X, y, strict=True))
        path.write_text("\n".join([",".join([*(f"c{k}" for k in range(d)), "y"]), *rows]))
    elif kind == 5:
        path = folder / "a.libsvm"
        entry = lambda: f"{pick(rng, [1, 2, 3, 7, -1, 0, 10**9, 10**20])}:{pick(rng, [*EXTREMES, 'x', 'nan', ''])}"  # noqa: E731
        path.write_text("\n".join(f"{pick(rng, [1, -1, 0, 'x'])} {entry()} {entry()}" for _ in range(n)))
    elif kind == 6:
        path = folder / "a.npz"
        parts: dict[str, Any] = {"X": numbers(rng, n, d), "y": labels(rng, n)}
        parts[pick(rng, ["X", "y", "feature_names", "z"])] = pick(
            rng, [np.zeros(3), np.array("x"), np.zeros((2, 2, 2)), np.array(["a", "b"]), np.zeros((n, d), complex)]
        )
        np.savez(path, **parts)
    elif kind == 7:
        path = folder / "s.npz"
        sparse.save_npz(path, broken(rng, numbers(rng, max(n, 3), d)))
        np.save(path.with_suffix(".y.npy"), labels(rng, max(n, 3)))
    else:
        path = folder / "pipe"
        os.mkfifo(path)
    return path


def reader_case(rng: np.random.Generator) -> None:
    """One hostile file through `read_table` and `scan`."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = table_file(rng, Path(name))
        target = pick(rng, ["y", "y", "c0", "nobody", None])
        attempt(f"read_table of {path.name}", lambda: read_table(path, target, as_frame=bool(rng.integers(2))))
        if path.name != "pipe":
            attempt(f"scan of {path.name}", lambda: list(auclid.scan(path, target=target).blocks()))


def model_file(rng: np.random.Generator, folder: Path) -> Path:
    """A model file: good, of a transformer, with an odd story about it, or changed."""
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    path = folder / "model.auclid"
    about = {"columns": ["c0", "c1"], "classes": ["no", "yes"], "dense": True, "target": "y", "method": "x"}
    kind = rng.integers(6)
    if kind == 0:
        auclid.save(path, auclid.RandomFourier(4, random_state=0).fit(X))
        return path
    if kind == 1:
        about[pick(rng, list(about))] = pick(rng, [None, 5, [], {}, [1, 2], ["\x1b[31m", "b"], "c0", [["c0"], ["c1"]]])
    auclid.save(path, auclid.LeastSquaresAUC().fit(X, y), about=about)
    if kind == 2:
        path.write_bytes(signed(mutated(rng, opened(path))))
    elif kind == 3:
        path.write_bytes(rng.bytes(100))
    return path


def arguments(rng: np.random.Generator, folder: Path) -> list[str]:
    """A command line."""
    data = str(table_file(rng, folder))
    output = str(pick(rng, [folder / "out", folder / "none" / "out", folder, "/dev/full", "/dev/null", data]))
    verb = pick(rng, ["fit", "predict", "evaluate", "compare", "fit", "predict"])
    target = pick(rng, [["--target", "y"], [], ["--target", "nobody"], ["--target", "c0"]])
    seed = pick(rng, [[], ["--seed", "-1"], ["--seed", str(10**30)], ["--seed", "x"]])
    if verb == "fit":
        method = pick(rng, ["LeastSquaresAUC", "SPAM-L2", "OAMseq", "nobody", "RankSVM", "\x1b[31m"])
        extra = pick(rng, [[], ["--drop", "c0"], ["--positive", "x"]])
        return ["fit", data, *target, "--method", method, "--model", output, *seed, *extra]
    if verb == "compare":
        few = ["--methods", "LeastSquaresAUC", "--against", pick(rng, ["ridge", "nobody"])]
        return ["compare", data, *target, *few, "--output", output, *seed]
    model = str(pick(rng, [model_file(rng, folder), data, folder / "none", folder, "/dev/zero"]))
    return [verb, model, data, *(["--output", output] if verb == "predict" else target)]


def command_case(rng: np.random.Generator) -> None:
    """One run of the command: an exit code of 0, 1 or 2, at most a few lines of words, no escape of a terminal."""
    from typer.testing import CliRunner

    from auclid.cli._app import app

    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        words = arguments(rng, Path(name))
        os.environ["AUCLID_DEBUG"] = "1"  # an error that was not foreseen is to be found, not put politely
        here = Path.cwd()
        os.chdir(name)
        try:
            result = CliRunner().invoke(app, words)
        finally:
            os.chdir(here)
        shown = json.dumps(words)[:200].replace(name, "")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise Found("traceback", f"{shown}: {type(result.exception).__name__}: {str(result.exception)[:150]}")
        if result.exit_code not in (0, 1, 2):
            raise Found("exit code", f"{shown}: {result.exit_code}")
        if "\x1b[31mred" in result.output or "Traceback" in result.output:
            raise Found("raw text", f"{shown}: {result.output[-200:]!r}")
        left = [path.name for path in Path(name).iterdir() if path.name.endswith(".part")]
        if left:
            raise Found("left behind", f"{shown}: {left}")
