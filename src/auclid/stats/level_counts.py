"""How often each level of a column occurs, from parts that add up although the list of levels grows from part to part.

A level is given by its place in a list of texts (`auclid.data.encoding`), NaN where the cell is missing.
"""

from typing import Any, NamedTuple

import numpy as np


class LevelCounts(NamedTuple):
    """Rows and weight of missing cells (entry 0) and of each place in a list of levels (entry place + 1).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.level_counts import count_levels
    >>> (count_levels(np.array([0.0, np.nan, 0.0])) + count_levels(np.array([2.0]))).rows
    array([1, 2, 0, 1])
    """

    rows: np.ndarray
    mass: np.ndarray

    def __add__(self, other: Any) -> "LevelCounts":
        return LevelCounts(*(_padded_sum(a, b) for a, b in zip(self, other, strict=True)))


def _padded_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of two arrays, the shorter one followed by zeros."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    out = longer.copy()
    out[: len(shorter)] += shorter
    return out


def table_index(places: np.ndarray) -> np.ndarray:
    """Where to look up places in a table whose entry 0 is for missing cells, entry 1 for the first level."""
    return np.where(np.isnan(places), 0.0, places + 1.0).astype(np.intp)


def count_levels(places: np.ndarray, weight: np.ndarray | None = None) -> LevelCounts:
    """The `LevelCounts` of a column of places."""
    at = table_index(places)
    rows = np.bincount(at, minlength=1)
    mass = rows if weight is None else np.bincount(at, weight, minlength=1)
    return LevelCounts(rows, mass.astype(np.float64))
