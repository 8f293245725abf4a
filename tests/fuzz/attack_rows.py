"""Attacks on rows that are read by blocks: odd sources, blocks that change their mind, fits that read them twice."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import auclid
from attack_fits import CLASSES, scores_of, small
from auclid import metrics
from hostile import Found, attempt, finite, pick
from hostile_tables import broken, dressed, labels, numbers


def blocks_of(rng: np.random.Generator, X: Any, y: np.ndarray) -> Any:
    """A function that gives fresh blocks of the rows, in which something is wrong more often than not."""
    size, kind, calls = int(rng.integers(1, 20)), int(rng.integers(14)), [0]
    n = len(y)
    bad_at = int(rng.integers(max(1, n // size)))

    def give() -> Any:
        calls[0] += 1
        if kind == 0 and calls[0] > 1:
            return  # vanishes after the first pass
        for number, start in enumerate(range(0, n, size)):
            part, own = X[start : start + size], y[start : start + size]
            if number == bad_at:
                part, own = _spoilt(rng, kind, part, own)
            if kind == 1 and calls[0] > 1 and number:
                return  # shrinks
            if kind == 2 and number == bad_at:
                raise OSError("the disk is gone")
            yield pick(rng, [(part, own, np.ones(len(own)), 1), part, None, 7]) if kind == 3 else (part, own)

    if kind == 4:
        once = give()
        return lambda: once
    return give


def _spoilt(rng: np.random.Generator, kind: int, part: Any, own: np.ndarray) -> tuple[Any, Any]:
    if kind == 5:
        return part[:, :-1], own
    if kind == 6:
        return part, np.array(["third"] * len(own))
    if kind == 7 and not sparse.issparse(part):
        part = np.array(part, dtype=float)
        part[0, 0] = pick(rng, [np.nan, np.inf, 1.7e308])
        return part, own
    if kind == 8:
        return part, own[:-1]
    if kind == 9:
        return sparse.csr_matrix(part), own
    if kind == 10 and not sparse.issparse(part):
        return broken(rng, np.asarray(part, dtype=float)), own
    if kind == 11:
        return part[:0], own[:0]
    return part, own


def source(rng: np.random.Generator, X: np.ndarray, y: np.ndarray, folder: Path) -> Any:
    """The rows as a source of some kind, and how to scan it."""
    import pandas as pd

    kind = rng.integers(7)
    table = pd.DataFrame(np.asarray(X), columns=[f"c{k}" for k in range(X.shape[1])]).assign(y=y)
    if kind == 0:
        table.to_csv(folder / "a.csv", index=False)
        return folder / "a.csv", "y"
    if kind == 1:
        table.to_parquet(folder / "a.parquet", row_group_size=int(rng.integers(1, 30)))
        if rng.random() < 0.3:
            content = bytearray((folder / "a.parquet").read_bytes())
            for at in rng.integers(len(content), size=3):
                content[at] = rng.integers(256)
            (folder / "a.parquet").write_bytes(bytes(content))
        return folder / "a.parquet", "y"
    if kind == 2:
        np.save(folder / "a.npy", X)
        return folder / "a.npy", pick(rng, [y, y, y[:-1], "nobody", None])
    if kind == 3:
        return table, pick(rng, ["y", "y", "nobody", 0, None])
    if kind == 4:
        for k in range(2):
            table[k::2].to_csv(folder / f"{k}.csv", index=False)
        if rng.random() < 0.3:
            (folder / "2.csv").write_text(pick(rng, ["", "c0,c9,y\n1,2,3\n", "\x00\x01", "c0\n1\n"]))
        return pick(rng, [folder, str(folder / "*.csv")]), "y"
    return blocks_of(rng, pick(rng, [X, sparse.csr_matrix(X)]), y), None


def rows_case(rng: np.random.Generator) -> None:
    """One scan of a hostile source, looked at, learnt from and scored; no temporary file is left."""
    with tempfile.TemporaryDirectory() as name:
        n, d = int(rng.integers(4, 120)), int(rng.integers(1, 5))
        X = numbers(rng, n, d) if rng.random() < 0.3 else rng.normal(size=(n, d))
        y = labels(rng, n)
        given, target = source(rng, X, y, Path(name))
        memory = pick(rng, [None, None, 0, 1, "1KB", "2GB", -1, "x", np.nan, 10**30])
        rows = attempt("scan", lambda: auclid.scan(given, target=target, memory=memory))
        if rows is None:
            return
        model = small(pick(rng, [cls for cls in CLASSES if hasattr(cls, "decision_function")])())
        what = f"{type(model).__name__} on rows"
        spool, usual = Path(name) / "spool", tempfile.tempdir
        spool.mkdir()
        tempfile.tempdir = str(spool)
        try:
            _look(rng, rows)
            _learn(rng, what, model, rows, X)
        finally:
            tempfile.tempdir = usual
        rows = None  # what it spooled goes with it
        left = sorted(path.name for path in spool.iterdir())
        if left:
            raise Found("left behind", f"{what}: {left[:3]}")


def _learn(rng: np.random.Generator, what: str, model: Any, rows: Any, X: np.ndarray) -> None:
    """A fit on rows, and scores by blocks and in memory."""
    if attempt(f"fit of {what}", lambda: model.fit(rows)) is None:
        return
    scores = attempt(f"scores of {what}", lambda: scores_of(model, rows))
    finite(f"scores of {what}", scores)
    finite(f"scores of {what} in memory", attempt("scores", lambda: scores_of(model, dressed(rng, X))))
    if scores is not None:
        attempt("roc_auc of rows", lambda: metrics.roc_auc(rows, scores))
    attempt("score of rows", lambda: model.score(rows))


def _look(rng: np.random.Generator, rows: Any) -> None:
    """Everything one may ask rows for."""
    for call in (
        lambda: rows.shape,
        lambda: rows.columns,
        lambda: repr(rows),
        lambda: rows.head(pick(rng, [0, 3, -1, 10**9, 2.5, "x", None])),
        lambda: rows.sample(pick(rng, [0, 3, -1, 10**9, 2.5, None]), random_state=pick(rng, [0, None, -1, "x"])),
        lambda: rows.target(),
        lambda: len(list(rows.blocks())),
    ):
        if rng.random() < 0.5:
            attempt("a look at rows", call)
