"""Columns of categories: which levels count, and a column of zeros and ones for each of them."""

from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy import sparse

from auclid.data.encoding import level_codes

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


class Counted(dict):
    """{text: (rows, weight)} of a column, None for missing texts; two of them add up."""

    def __add__(self, other: "Counted") -> "Counted":
        out = Counted(self)
        for text, (rows, mass) in other.items():
            before = out.get(text, (0, 0.0))
            out[text] = (before[0] + rows, before[1] + mass)
        return out


def counted(texts: np.ndarray, weight: np.ndarray | None = None) -> Counted:
    """How often each text comes (None where one is missing), and what its rows weigh."""
    rows = Counter(texts.tolist())
    if weight is None:
        return Counted({text: (count, float(count)) for text, count in rows.items()})
    mass = dict.fromkeys(rows, 0.0)
    for text, own in zip(texts, weight.tolist(), strict=True):
        mass[text] += own
    return Counted({text: (count, mass[text]) for text, count in rows.items()})


def learn_levels(counts: Counted, rare: float, most: int) -> Levels:
    """The levels of a column of texts: the ``most`` frequent of them, with a share of ``rare`` of the weight."""
    texts = {text: both for text, both in counts.items() if text is not None}
    missing = len(texts) < len(counts)
    fewest = rare * sum(mass for _, mass in counts.values())
    ordered = sorted(texts, key=lambda level: (-texts[level][1], level))
    kept = sorted(level for level in ordered[:most] if texts[level][1] >= fewest and texts[level][0] >= FEWEST)
    if not kept:
        return Levels([], False, missing and bool(texts))
    return Levels(kept, len(kept) < len(texts), missing)


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
