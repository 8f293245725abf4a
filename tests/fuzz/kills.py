"""Two hundred kills: of streams that save checkpoints, and of `auclid fit`; the file is the old or the new one, whole.

    python tests/fuzz/kills.py [--kills 200]

A child learns batch after batch and saves after each; it is killed at a random moment. What lies there must load, must
be the very model that so many batches give, and must go on to the same bits. A file that was being written may be left
beside it, but none that is older than the next save.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import auclid
from auclid.io import about

BATCHES = 400


def batch(number: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a batch."""
    rng = np.random.default_rng([7, number])
    y = np.arange(40) % 2
    return rng.normal(size=(40, 5)) + y[:, None], y


def fresh() -> auclid.OAM:
    """The stream before any batch."""
    return auclid.OAM(buffer_size=20, random_state=0)


def stream(path: Path) -> None:
    """Go on from the checkpoint, if there is one, and save after each batch."""
    start = about(path)["batches"] if path.exists() else 0
    model = auclid.load(path) if start else fresh()
    for number in range(start, BATCHES):
        auclid.save(path, model.partial_fit(*batch(number)), about={"batches": number + 1})


def fit(path: Path) -> None:
    """The command, again and again, with another seed each time."""
    from typer.testing import CliRunner

    from auclid.cli._app import app

    for seed in range(1000):
        words = ["fit", str(path.parent / "rows.csv"), "--target", "y", "--method", "SPAM-L2", "--seed", str(seed)]
        CliRunner().invoke(app, [*words, "--model", str(path)])


def killed(work: Callable[[Path], None], path: Path, wait: float) -> None:
    """Let a child work for a while, and kill it."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            work(path)
        finally:
            os._exit(0)
    time.sleep(wait)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def left(folder: Path) -> list[Path]:
    """Files that were being written."""
    return list(folder.glob(".auclid-*"))


def main() -> int:
    """Kill, look, go on; prints counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random.seed(options.seed)
    warnings.filterwarnings("ignore", "X does not have valid feature names")
    started = time.monotonic()
    wrong = streams(options.kills // 2) + commands(options.kills - options.kills // 2)
    print(f"{options.kills} kills in {time.monotonic() - started:.0f} s: {wrong} wrong")
    return 1 if wrong else 0


def streams(kills: int) -> int:
    """Kills of a stream with checkpoints."""
    states, model = [None], fresh()
    for number in range(BATCHES):
        states.append(model.partial_fit(*batch(number)).coef_.copy())
    wrong = temporaries = begun = saved = 0
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "stream.auclid"
        for _ in range(kills):
            if path.exists() and about(path)["batches"] > BATCHES - 60:
                path.unlink()
                begun += 1
            known, before = set(left(path.parent)), path.read_bytes() if path.exists() else b""
            killed(stream, path, random.uniform(0.02, 0.4))
            if path.exists():
                count = about(path)["batches"]
                saved = max(saved, count)
                wrong += not np.array_equal(auclid.load(path).coef_, states[count])
                if path.read_bytes() != before:
                    wrong += len(known & set(left(path.parent)))  # one from before the last child's saves
            temporaries += len(left(path.parent))
            wrong += len(left(path.parent)) > 1
        stream_end = fresh() if not path.exists() else auclid.load(path)
        auclid.save(path, stream_end)
        wrong += len(left(path.parent))
    print(f"streams: {kills} kills, up to {saved} batches, {temporaries} half-written files seen and swept")
    return wrong


def commands(kills: int) -> int:
    """Kills of `auclid fit`."""
    wrong = temporaries = whole = 0
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name) / "model.auclid"
        X, y = batch(0)
        rows = [",".join([*map(repr, row.tolist()), str(label)]) for row, label in zip(X, y, strict=True)]
        (folder / "rows.csv").write_text("\n".join(["a,b,c,d,e,y", *rows]))
        fit_once = killed_free(path)
        for _ in range(kills):
            known = set(left(folder))
            before = path.read_bytes() if path.exists() else b""
            killed(fit, path, random.uniform(0.05, fit_once))
            if path.exists():
                auclid.load(path).decision_function(X)
                whole += 1
                if path.read_bytes() != before:
                    wrong += len(known & set(left(folder)))
            temporaries += len(left(folder))
            wrong += len(left(folder)) > 1
    print(f"auclid fit: {kills} kills, {whole} times a whole model, {temporaries} half-written files seen and swept")
    return wrong


def killed_free(path: Path) -> float:
    """How long the command takes, three times, without a kill; everything is then imported and compiled."""
    from typer.testing import CliRunner

    from auclid.cli._app import app

    words = ["fit", str(path.parent / "rows.csv"), "--target", "y", "--method", "SPAM-L2", "--model", str(path)]
    CliRunner().invoke(app, words)
    start = time.monotonic()
    for _ in range(3):
        result = CliRunner().invoke(app, words)
    if result.exit_code:
        raise SystemExit(result.output)
    path.unlink()
    return time.monotonic() - start


if __name__ == "__main__":
    sys.exit(main())
