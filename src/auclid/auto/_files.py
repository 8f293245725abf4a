"""AUCClassifier on rows of files: it compares on a sample that fits in memory, and says so."""

from typing import Any

import numpy as np

from auclid.rows.source import Rows

LEAST = 10_000
"""Rows that are drawn whatever memory allows."""


def in_memory(owner: str, rows: Rows) -> tuple[Any, np.ndarray, np.ndarray | None, str]:
    """(X, y, weight, note) of as many rows as may be kept in memory, each class by its share, always the same ones."""
    if not rows.has_target:
        raise ValueError(f"{owner} learns from labels, but the rows have no target: scan(..., target=NAME).")
    n, d = rows.shape
    size = max(LEAST, rows.memory // (8 * max(1, d)))
    index = np.arange(n) if n <= size else drawn(rows.labels().codes, size)
    X, y = rows.gather(index)
    weight = rows.sample_weight()
    note = "" if len(index) == n else f"fitted on {len(index):,} of {n:,} rows, as many as memory= holds"
    return X, y, None if weight is None else weight[index], note  # type: ignore[return-value]


def drawn(codes: np.ndarray, size: int) -> np.ndarray:
    """Numbers of about ``size`` rows, the same share of each class and at least ten rows of it, ascending."""
    rng, share, chosen = np.random.default_rng(0), size / len(codes), []
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        wanted = min(len(own), max(10, round(share * len(own))))
        chosen.append(rng.choice(own, wanted, replace=False, shuffle=False))
    return np.sort(np.concatenate(chosen))
