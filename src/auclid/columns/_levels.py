"""Columns of categories: which levels have a column of zeros and ones, and these columns (one-hot encoding)."""

from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy import sparse

from auclid.data.encoding import level_codes

MIN_ONE_HOT_ROWS = 2
"""Rows of a level that has a column of its own: one row says nothing about others."""


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
        """The number of columns that come out of it."""
        return len(self.levels) + self.rare + self.missing


class TextCounts(dict):
    """{text: (rows, weight)} of a column, None for missing texts; counts of two parts add up."""

    def __add__(self, other: "TextCounts") -> "TextCounts":
        out = TextCounts(self)
        for text, (rows, mass) in other.items():
            before = out.get(text, (0, 0.0))
            out[text] = (before[0] + rows, before[1] + mass)
        return out


def count_texts(texts: np.ndarray, weight: np.ndarray | None = None) -> TextCounts:
    """The rows of each text (None where one is missing), and their weight."""
    rows = Counter(texts.tolist())
    if weight is None:
        return TextCounts({text: (count, float(count)) for text, count in rows.items()})
    mass = dict.fromkeys(rows, 0.0)
    for text, own in zip(texts, weight.tolist(), strict=True):
        mass[text] += own
    return TextCounts({text: (count, mass[text]) for text, count in rows.items()})


def learn_levels(counts: TextCounts, min_share: float, max_levels: int) -> Levels:
    """The levels of a column of texts: the ``max_levels`` heaviest, each with ``min_share`` of the weight or more."""
    texts = {text: both for text, both in counts.items() if text is not None}
    missing = len(texts) < len(counts)
    min_mass = min_share * sum(mass for _, mass in counts.values())
    heaviest = sorted(texts, key=lambda level: (-texts[level][1], level))[:max_levels]
    frequent = sorted(
        level for level in heaviest if texts[level][1] >= min_mass and texts[level][0] >= MIN_ONE_HOT_ROWS
    )
    if not frequent:
        return Levels([], False, missing and bool(texts))
    return Levels(frequent, len(frequent) < len(texts), missing)


def output_codes(levels: Levels, texts: np.ndarray) -> np.ndarray:
    """The output column of each text, -1 where it has none."""
    place, count = level_codes(texts, levels.levels), len(levels.levels)
    rare = count if levels.rare else -1
    missing = count + levels.rare if levels.missing else -1
    return np.where(place == -1, missing, np.where(place == count, rare, place))


def output_names(levels: Levels, name: str) -> list[str]:
    """The names of the columns that come out."""
    own = [f"{name}={level}" for level in levels.levels]
    return own + [f"{name} (rare)"] * levels.rare + [f"{name} (missing)"] * levels.missing


def one_hot(levels: Levels, codes: np.ndarray, dtype: np.dtype) -> sparse.csr_array:
    """Zeros, and a one in the output column of each row."""
    rows = np.flatnonzero(codes >= 0)
    ends = np.concatenate([[0], np.cumsum(codes >= 0)]).astype(np.int32)  # scikit-learn's solvers want such indices
    parts = np.ones(len(rows), dtype=dtype), codes[rows].astype(np.int32), ends
    return sparse.csr_array(parts, shape=(len(codes), levels.width))


def mark_levels(zeros: np.ndarray, codes: np.ndarray) -> None:
    """Write a one into the output column of each row."""
    rows = np.flatnonzero(codes >= 0)
    zeros[rows, codes[rows]] = 1.0
