"""What is learnt of columns of numbers, from rows in memory, in files or on a cluster alike.

Extremes, means and deviations are of all rows, in passes over parts that add up; medians, tails and ranks are those of
at most SAMPLE rows, which ones depends on their number only. So a table gives the same `Numbers`, to rounding, wherever
it lies.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid.columns._numbers import Numbers, SparseNumbers, grid_of, on_grids, to_rank, weighted_median
from auclid.data import sizes
from auclid.data.dataset import Dataset, Part
from auclid.data.file_dataset import FileDataset

SAMPLE = 20_000
"""Rows that medians, tails and ranks are learnt from, of more."""


class Pieces(FileDataset):
    """Rows in memory as parts: NaN is a missing number."""

    _one_run = True

    def __init__(self, X: Any, weight: np.ndarray | None) -> None:
        self._X, self._weight, self._steps = X, weight, ()
        self.columns, self.dtype, self.width = None, X.dtype, X.shape[1]

    def _parts(self) -> Iterator[Part]:
        n, size = self._X.shape[0], max(SAMPLE, sizes.LARGE_BYTES // (8 * max(1, self.width)))
        for number, start in enumerate(range(0, max(n, 1), size)):
            where = slice(start, start + size)
            yield Part(number, self._X[where], None, None if self._weight is None else self._weight[where])


def learn(
    parts: Dataset, scale: str | None, is_sparse: bool, ends: "Extremes | None" = None
) -> tuple[Numbers | SparseNumbers, np.ndarray]:
    """What is learnt of rows in parts, whose extremes may be known, and which columns hold one value only."""
    rows = parts.transformed(weighed)
    ends = rows.compute(rows.reduce(extremes)) if ends is None else ends
    if not ends.rows:
        raise ValueError("Columns must be given a row of positive weight; got none.")
    some, weight = sample_of(rows, ends)
    if is_sparse:
        return _sparse(ends, some, weight, scale)
    return _dense(rows, ends, some, weight, scale)


class Extremes(NamedTuple):
    """The least and the greatest value of each column (NaN where it has none), and what is missing."""

    rows: int
    low: np.ndarray
    high: np.ndarray
    holed: np.ndarray
    """Whether a value is missing."""
    filled: np.ndarray
    """How many entries are stored."""
    heaviest: float
    """The largest weight."""

    def __add__(self, other: Any) -> "Extremes":
        return Extremes(
            self.rows + other.rows, np.fmin(self.low, other.low), np.fmax(self.high, other.high),
            self.holed | other.holed, self.filled + other.filled, max(self.heaviest, other.heaviest),
        )  # fmt: skip


def weighed(part: Part) -> Part:
    """The rows of a part that weigh something."""
    if part.weight is None or part.weight.all():
        return part
    at = np.flatnonzero(part.weight)
    return part._replace(X=part.X[at], y=None if part.y is None else part.y[at], weight=part.weight[at])


def extremes(part: Part) -> Extremes:
    """The `Extremes` of a part."""
    X, heaviest = part.X, 1.0 if part.weight is None else float(part.weight.max(initial=0.0))
    n, d = X.shape
    if sparse.issparse(X):
        holes = np.bincount(X.indices[np.isnan(X.data)], minlength=d) > 0
        low, high = (np.full(d, np.nan),) * 2 if not n else (_ends(X, "nanmin"), _ends(X, "nanmax"))
        return Extremes(n, low, high, holes, np.bincount(X.indices, minlength=d), heaviest)
    low, high = (f.reduce(X, axis=0, initial=np.nan) for f in (np.fmin, np.fmax))
    return Extremes(n, low, high, np.isnan(X).any(axis=0), np.full(d, n), heaviest)


def _ends(X: Any, name: str) -> np.ndarray:
    return getattr(X, name)(axis=0).toarray().ravel()


def part_size(part: Part) -> int:
    """How many rows a part has."""
    return int(part.X.shape[0])


def sample_of(rows: Dataset, ends: Extremes) -> tuple[Any, np.ndarray | None]:
    """(X, weight) of at most SAMPLE rows; which ones depends on the number of rows only."""
    if ends.rows <= SAMPLE:
        found = rows.compute(rows.map(chosen_rows, None, ends.heaviest))
    else:
        counts = rows.compute(rows.map(part_size))
        drawn = np.sort(np.random.default_rng(0).choice(ends.rows, SAMPLE, replace=False, shuffle=False))
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = [drawn[np.searchsorted(drawn, a) : np.searchsorted(drawn, b)] - a for a, b in pairwise(starts)]
        found = rows.compute(rows.map(chosen_rows, places, ends.heaviest))
    X = [each[0] for each in found if each[0].shape[0]]
    weight = None if found[0][1] is None else np.concatenate([each[1] for each in found])
    return sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X), weight


def chosen_rows(part: Part, places: list[np.ndarray] | None, heaviest: float) -> tuple[Any, np.ndarray | None]:
    """Rows and weights of a part at these places; all of them where there are no places."""
    at = slice(None) if places is None else places[part.number]
    return part.X[at], None if part.weight is None else part.weight[at] / heaviest


def _dense(
    rows: Dataset, ends: Extremes, some: np.ndarray, weight: np.ndarray | None, scale: str | None
) -> tuple[Numbers, np.ndarray]:
    nothing = np.isnan(ends.low)
    marked = np.flatnonzero(ends.holed & ~nothing)
    median = _medians(ends, some, weight)
    with np.errstate(invalid="ignore"):
        size = np.where(nothing, 0.0, np.maximum(np.abs(ends.low), np.abs(ends.high))).astype(some.dtype)
        constant = ~(ends.low < ends.high)
    size[(size < np.finfo(some.dtype).tiny) | (scale is None)] = 1.0
    Z = np.where(np.isnan(some), median, some) / size
    ranked = np.flatnonzero(to_rank(Z, scale, weight) & ~constant)
    grids = [grid_of(Z[:, k], weight) for k in ranked]
    m, none = len(size), np.zeros_like(size)
    known = Numbers(median, marked, size, none, none, none, size, ranked, grids)
    if scale is None:
        far = np.full(m, np.inf, dtype=some.dtype)
        return known._replace(low=-far, high=far), constant
    low, high = (np.where(nothing, 0.0, end).astype(some.dtype) / size for end in (ends.low, ends.high))
    for k, grid in zip(ranked, grids, strict=True):
        low[k], high[k] = grid.scores[0], grid.scores[-1]
    spread = rows.compute(rows.reduce(spread_of, known, ends.heaviest))
    middle = np.where(constant, low, spread.mean).astype(some.dtype)
    deviation = np.sqrt(spread.scatter / spread.mass)
    deviation = np.where((deviation > 0.0) & ~constant, deviation, 1.0).astype(some.dtype)
    reach = high - low
    return known._replace(low=low - reach, high=high + reach, middle=middle, spread=deviation), constant


def _medians(ends: Extremes, some: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """The median of every column: a value may be missing later that never was before."""
    median = np.zeros(some.shape[1], dtype=some.dtype)
    gaps, whole = np.isnan(some), ~np.isnan(ends.low)
    if weight is None:
        full = np.flatnonzero(whole & ~ends.holed)
        median[full] = np.median(some[:, full], axis=0)
        whole = whole & ends.holed
    for k in np.flatnonzero(whole):
        known = ~gaps[:, k] if ends.holed[k] else slice(None)
        x = some[known, k]
        if len(x):
            median[k] = weighted_median(x, None if weight is None else weight[known])
        else:  # all but a few rows, none of them drawn, lack it
            median[k] = ends.low[k] / 2.0 + ends.high[k] / 2.0
    return median


class Spread(NamedTuple):
    """Weight, means and sums of squares about them: they add (Chan)."""

    mass: float
    mean: np.ndarray
    scatter: np.ndarray

    def __add__(self, other: Any) -> "Spread":
        mass = self.mass + other.mass
        if not mass:
            return self
        apart, share = other.mean - self.mean, other.mass / mass
        scatter = self.scatter + other.scatter + np.square(apart) * (self.mass * share)
        return Spread(mass, self.mean + apart * share, scatter)


def spread_of(part: Part, known: Numbers, heaviest: float) -> Spread:
    """The `Spread` of a part's columns, without gaps, of size one and on their grids."""
    n, d = part.X.shape
    if not n:
        return Spread(0.0, np.zeros(d), np.zeros(d))
    X = part.X
    gaps = np.isnan(X)
    Z = on_grids(np.where(gaps, known.median, X) / known.size, known.ranked, known.grids)
    if part.weight is None:
        return Spread(float(n), Z.mean(axis=0, dtype=np.float64), n * Z.var(axis=0, dtype=np.float64))
    weight = part.weight / heaviest
    mass = float(weight.sum())
    share = weight / mass
    mean = share @ Z
    return Spread(mass, mean, mass * (share @ np.square(Z - mean)))


def _sparse(
    ends: Extremes, some: Any, weight: np.ndarray | None, scale: str | None
) -> tuple[SparseNumbers, np.ndarray]:
    """Zeros count for the median, and stay zero."""
    nothing = np.isnan(ends.low)
    marked = np.flatnonzero(ends.holed & ~nothing)
    median = np.zeros(len(ends.low), dtype=some.dtype)
    columns = some.tocsc()
    for k in np.union1d(marked, np.flatnonzero((2 * ends.filled >= ends.rows) & ~nothing)):
        x = columns[:, [k]].toarray().ravel()
        known = ~np.isnan(x)
        if known.any():
            median[k] = weighted_median(x[known], None if weight is None else weight[known])
    size = np.where(nothing, 0.0, np.maximum(np.abs(ends.low), np.abs(ends.high))).astype(some.dtype)
    size[(size < np.finfo(some.dtype).tiny) | (scale is None)] = 1.0
    return SparseNumbers(median, marked, size), ~(ends.low < ends.high)
