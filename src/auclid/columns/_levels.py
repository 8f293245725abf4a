"""Columns of categories: which levels count, and a column of zeros and ones for each of them."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from auclid._kinds import level_codes

FEWEST = 2
"""A level of fewer rows says nothing about others."""


class Levels(NamedTuple):
    """What was learnt of a column of categories."""

    levels: list[str]
    """Those with a column of their own, in alphabetical order."""
    rare: bool
    """Whether there were others, pooled in one more column."""
    missing: bool
    """Whether values were missing, marked in one more column."""

    @property
    def width(self) -> int:
        """How many columns come out of it."""
        return len(self.levels) + self.rare + self.missing


def learn_levels(texts: np.ndarray, rare: float, most: int, weight: np.ndarray | None = None) -> Levels:
    """The levels of a column of texts (None where one is missing): the ``most`` frequent with a share of ``rare``."""
    counts: dict[str, int] = {}
    for text in texts:
        counts[text] = counts.get(text, 0) + 1
    missing = counts.pop(None, 0)  # type: ignore[call-overload]
    mass: dict[str, float] = dict(counts)
    if weight is not None:
        mass = dict.fromkeys(counts, 0.0)
        for text, own in zip(texts, weight, strict=True):
            if text is not None:
                mass[text] += own
    fewest = rare * (len(texts) if weight is None else weight.sum())
    ordered = sorted(counts, key=lambda level: (-mass[level], level))
    kept = sorted(level for level in ordered[:most] if mass[level] >= fewest and counts[level] >= FEWEST)
    if not kept:
        return Levels([], False, 0 < missing < len(texts))
    return Levels(kept, len(kept) < len(counts), missing > 0)


def codes(known: Levels, texts: np.ndarray) -> np.ndarray:
    """The place of each text among the columns that come out, -1 where none is for it."""
    place, count = level_codes(texts, known.levels), len(known.levels)
    other = count if known.rare else -1
    absent = count + known.rare if known.missing else -1
    return np.where(place == -1, absent, np.where(place == count, other, place))


def names(known: Levels, name: str) -> list[str]:
    """The names of the columns that come out."""
    own = [f"{name}={level}" for level in known.levels]
    return own + [f"{name} (rare)"] * known.rare + [f"{name} (missing)"] * known.missing


def one_hot(known: Levels, code: np.ndarray, dtype: np.dtype) -> sparse.csr_array:
    """Zeros, and a one in the column of each row's code."""
    rows = np.flatnonzero(code >= 0)
    ends = np.concatenate([[0], np.cumsum(code >= 0)]).astype(np.int32)  # scikit-learn's solvers want such indices
    parts = np.ones(len(rows), dtype=dtype), code[rows].astype(np.int32), ends
    return sparse.csr_array(parts, shape=(len(code), known.width))
