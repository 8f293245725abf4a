"""Columns of numbers made comparable: missing values filled and marked, heavy tails ranked, centre and scale removed.

Extremes, means and deviations are those of all rows, in passes over parts that add up. Medians, tails and ranks are
those of at most `_sizes.COLUMN_SAMPLE` rows, which depend on the number of rows only. So a table gives the same
`NumericScaling`, to rounding, wherever its rows are.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from auclid import _sizes
from auclid.data import Table
from auclid.data.blocks import concatenate_rows
from auclid.data.dataset import Dataset, Part, part_size

HEAVY_TAIL = 0.5
"""A column is ranked when the farthest hundredth of its rows has more than this share of the sum of squares about the
median: it is .08 for normal values, .2 for exponential ones. Chosen on half of the benchmark tables for the AUC of a
linear ranker (mean .908 without, .912 with it), confirmed on the others (.895 and .896)."""

TAIL_SHARE = 0.01
"""The share of the rows that make the tail."""

MAX_TIED_SHARE = 0.05
"""Rows tied at the farthest distance are a tail up to this share, where they are more than a hundredth: one of twenty
rows, say. More of them are a level of the column (the ends of a scale from 1 to 5)."""

SCORE_POINTS = 1_000
"""Points between which normal scores are interpolated."""

MIN_SHARE = float(np.finfo(np.float64).eps)
"""The least share of the rows on either side of a value."""


class NormalScores(NamedTuple):
    """Values of a column in ascending order, and the normal score of each; the curve is linear in between."""

    values: np.ndarray
    scores: np.ndarray


class NumericScaling(NamedTuple):
    """What was learnt of m columns of numbers, dense."""

    median: np.ndarray
    marked: np.ndarray
    """Numbers of the columns with missing values, which get a column of marks."""
    size: np.ndarray
    """The largest size of each column: values are divided by it first, lest their squares overflow."""
    low: np.ndarray
    high: np.ndarray
    """Values beyond are clipped."""
    middle: np.ndarray
    spread: np.ndarray
    ranked: np.ndarray
    """Numbers of the columns with heavy tails."""
    grids: list[NormalScores]
    mass: float = 0.0
    """The weight of the rows whose mean and deviation these are."""

    @property
    def reach(self) -> np.ndarray:
        """From the least value to the greatest: values are clipped as far beyond both."""
        return (self.high - self.low) / 3.0


class SparseScaling(NamedTuple):
    """What was learnt of columns that stay sparse: zero remains zero."""

    median: np.ndarray
    marked: np.ndarray
    size: np.ndarray


# Learning


class Extremes(NamedTuple):
    """The least and the greatest value of each column (NaN where it has none), and what is missing."""

    rows: int
    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray
    """Whether a value is missing."""
    stored: np.ndarray
    """How many entries are stored."""
    largest_weight: float

    def __add__(self, other: Any) -> "Extremes":
        return Extremes(
            self.rows + other.rows, np.fmin(self.low, other.low), np.fmax(self.high, other.high),
            self.missing | other.missing, self.stored + other.stored, max(self.largest_weight, other.largest_weight),
        )  # fmt: skip

    @property
    def empty(self) -> np.ndarray:
        """Which columns have no value at all."""
        return np.isnan(self.low)

    @property
    def constant(self) -> np.ndarray:
        """Which columns have one value at the most."""
        with np.errstate(invalid="ignore"):
            return ~(self.low < self.high)

    def size(self, dtype: np.dtype, scaled: bool) -> np.ndarray:
        """The largest size of each column; 1 where it is next to nothing, or nothing is to be scaled."""
        with np.errstate(invalid="ignore"):
            size = np.where(self.empty, 0.0, np.maximum(np.abs(self.low), np.abs(self.high))).astype(dtype)
        size[(size < np.finfo(dtype).tiny) | (not scaled)] = 1.0
        return size


def learn_scaling(
    rows: Dataset, scale: str | None, is_sparse: bool, extremes_of_all: Extremes | None = None
) -> tuple[NumericScaling | SparseScaling, np.ndarray]:
    """What is learnt of a dataset of numbers, whose extremes may be known; and which columns hold one value only."""
    rows = rows.transformed(positive_rows)
    ends = rows.compute(rows.reduce(extremes)) if extremes_of_all is None else extremes_of_all
    if not ends.rows:
        raise ValueError("Columns must be given a row of positive weight; got none.")
    sample = column_sample(rows, ends)
    if is_sparse:
        return _learn_sparse(ends, sample, scale), ends.constant
    return _learn_dense(rows, ends, sample, scale), ends.constant


def positive_rows(part: Part) -> Part:
    """The rows of a part that have positive weight."""
    if part.weight is None or part.weight.all():
        return part
    at = np.flatnonzero(part.weight)
    X = part.X.part(at) if isinstance(part.X, Table) else part.X[at]
    return part._replace(X=X, y=None if part.y is None else part.y[at], weight=part.weight[at])


def extremes(part: Part) -> Extremes:
    """The `Extremes` of a part."""
    X, largest = part.X, 1.0 if part.weight is None else float(part.weight.max(initial=0.0))
    n, d = X.shape
    if sparse.issparse(X):
        missing = np.bincount(X.indices[np.isnan(X.data)], minlength=d) > 0
        low, high = (np.full(d, np.nan),) * 2 if not n else (_sparse_ends(X, "nanmin"), _sparse_ends(X, "nanmax"))
        return Extremes(n, low, high, missing, np.bincount(X.indices, minlength=d), largest)
    low, high = (f.reduce(X, axis=0, initial=np.nan) for f in (np.fmin, np.fmax))
    return Extremes(n, low, high, np.isnan(X).any(axis=0), np.full(d, n), largest)


def _sparse_ends(X: Any, name: str) -> np.ndarray:
    return getattr(X, name)(axis=0).toarray().ravel()


class ColumnSample(NamedTuple):
    """Rows that medians, tails and ranks are learnt from, with weights of at most 1 or none."""

    X: Any
    weight: np.ndarray | None


def column_sample(rows: Dataset, ends: Extremes) -> ColumnSample:
    """All rows, or of more than `_sizes.COLUMN_SAMPLE` so many; which ones depends on the number of rows only."""
    places: list[np.ndarray] | None = None
    if ends.rows > _sizes.COLUMN_SAMPLE:
        counts = rows.compute(rows.map(part_size))
        rng = np.random.default_rng(0)
        drawn = np.sort(rng.choice(ends.rows, _sizes.COLUMN_SAMPLE, replace=False, shuffle=False))
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = [drawn[np.searchsorted(drawn, a) : np.searchsorted(drawn, b)] - a for a, b in pairwise(starts)]
    parts = rows.compute(rows.map(part_sample, places, ends.largest_weight))
    weight = None if parts[0].weight is None else np.concatenate([each.weight for each in parts])
    return ColumnSample(concatenate_rows([each.X for each in parts if each.X.shape[0]]), weight)


def part_sample(part: Part, places: list[np.ndarray] | None, largest_weight: float) -> ColumnSample:
    """Rows and weights of a part at these places; all of them where there are no places."""
    at = slice(None) if places is None else places[part.number]
    return ColumnSample(part.X[at], None if part.weight is None else part.weight[at] / largest_weight)


def _learn_dense(rows: Dataset, ends: Extremes, sample: ColumnSample, scale: str | None) -> NumericScaling:
    X, weight = sample
    median, size = _medians(ends, sample), ends.size(X.dtype, scale is not None)
    Z = np.where(np.isnan(X), median, X) / size
    ranked = np.flatnonzero(columns_to_rank(Z, scale, weight) & ~ends.constant)
    grids = [normal_scores(Z[:, k], weight) for k in ranked]
    marked, zeros = np.flatnonzero(ends.missing & ~ends.empty), np.zeros_like(size)
    learnt = NumericScaling(median, marked, size, zeros, zeros, zeros, size, ranked, grids)
    if scale is None:
        unbounded = np.full(len(size), np.inf, dtype=X.dtype)
        return learnt._replace(low=-unbounded, high=unbounded)
    low, high = (np.where(ends.empty, 0.0, end).astype(X.dtype) / size for end in (ends.low, ends.high))
    for k, grid in zip(ranked, grids, strict=True):
        low[k], high[k] = grid.scores[0], grid.scores[-1]
    moments = rows.compute(rows.reduce(part_moments, learnt, ends.largest_weight))
    middle = np.where(ends.constant, low, moments.mean).astype(X.dtype)
    deviation = np.sqrt(moments.scatter / moments.mass)
    deviation = np.where((deviation > 0.0) & ~ends.constant, deviation, 1.0).astype(X.dtype)
    reach = high - low
    mass = moments.mass * ends.largest_weight
    return learnt._replace(low=low - reach, high=high + reach, middle=middle, spread=deviation, mass=mass)


def _medians(ends: Extremes, sample: ColumnSample) -> np.ndarray:
    """The median of every column: a value may be missing later that never was before."""
    X, weight = sample
    median = np.zeros(X.shape[1], dtype=X.dtype)
    missing, left = np.isnan(X), ~ends.empty
    if weight is None:
        full = np.flatnonzero(left & ~ends.missing)
        median[full] = np.median(X[:, full], axis=0)
        left = left & ends.missing
    for k in np.flatnonzero(left):
        present = ~missing[:, k] if ends.missing[k] else slice(None)
        x = X[present, k]
        if len(x):
            median[k] = weighted_median(x, None if weight is None else weight[present])
        else:  # all but a few rows, none of them drawn, lack it
            median[k] = ends.low[k] / 2.0 + ends.high[k] / 2.0
    return median


class ColumnMoments(NamedTuple):
    """Weight, means and sums of squares about them: those of two parts add up (Chan, Golub & LeVeque)."""

    mass: float
    mean: np.ndarray
    scatter: np.ndarray

    def __add__(self, other: Any) -> "ColumnMoments":
        mass = self.mass + other.mass
        if not mass:
            return self
        gap, share = other.mean - self.mean, other.mass / mass
        scatter = self.scatter + other.scatter + np.square(gap) * (self.mass * share)
        return ColumnMoments(mass, self.mean + gap * share, scatter)


def _ranked_rows(X: np.ndarray, learnt: NumericScaling) -> np.ndarray:
    """Rows with missing values filled, of size one, and ranked where columns are."""
    Z = np.where(np.isnan(X), learnt.median, X) / learnt.size
    rank_columns(Z, learnt.ranked, learnt.grids)
    return Z


def part_moments(part: Part, learnt: NumericScaling, largest_weight: float) -> ColumnMoments:
    """The `ColumnMoments` of the ranked rows of a part."""
    n, d = part.X.shape
    if not n:
        return ColumnMoments(0.0, np.zeros(d), np.zeros(d))
    Z = _ranked_rows(part.X, learnt)
    if part.weight is None:
        return ColumnMoments(float(n), Z.mean(axis=0, dtype=np.float64), n * Z.var(axis=0, dtype=np.float64))
    weight = part.weight / largest_weight
    mass = float(weight.sum())
    share = weight / mass
    mean = share @ Z
    return ColumnMoments(mass, mean, mass * (share @ np.square(Z - mean)))


def add_rows(
    learnt: NumericScaling | SparseScaling, X: Any, weight: np.ndarray | None, scale: str | None
) -> NumericScaling | SparseScaling:
    """What was learnt, with more rows counted in: means, deviations and ranges follow, medians and ranks stay."""
    part = positive_rows(Part(0, X, None, weight))
    if scale is None or not part.X.shape[0]:
        return learnt
    if isinstance(learnt, SparseScaling):
        ends = extremes(part)
        larger = np.maximum(learnt.size, ends.size(learnt.size.dtype, scaled=True))
        return learnt._replace(size=np.where(ends.stored > 0, larger, learnt.size))
    dtype, constant = learnt.middle.dtype, learnt.reach == 0.0
    scatter = np.where(constant, 0.0, np.square(learnt.spread, dtype=np.float64)) * learnt.mass
    both = ColumnMoments(learnt.mass, learnt.middle, scatter) + part_moments(part, learnt, 1.0)
    Z = _ranked_rows(part.X, learnt)
    low = np.minimum(learnt.low + learnt.reach, Z.min(axis=0))
    high = np.maximum(learnt.high - learnt.reach, Z.max(axis=0))
    deviation, reach = np.sqrt(both.scatter / both.mass), high - low
    return learnt._replace(
        low=(low - reach).astype(dtype),
        high=(high + reach).astype(dtype),
        middle=both.mean.astype(dtype),
        spread=np.where(deviation > 0.0, deviation, 1.0).astype(dtype),
        mass=both.mass,
    )


def _learn_sparse(ends: Extremes, sample: ColumnSample, scale: str | None) -> SparseScaling:
    """Zeros count for the median, and stay zero."""
    X, weight = sample
    marked = np.flatnonzero(ends.missing & ~ends.empty)
    median, columns = np.zeros(len(ends.low), dtype=X.dtype), X.tocsc()
    for k in np.union1d(marked, np.flatnonzero((2 * ends.stored >= ends.rows) & ~ends.empty)):
        x = columns[:, [k]].toarray().ravel()
        present = ~np.isnan(x)
        if present.any():
            median[k] = weighted_median(x[present], None if weight is None else weight[present])
    return SparseScaling(median, marked, ends.size(X.dtype, scale is not None))


def weighted_median(x: np.ndarray, weight: np.ndarray | None = None) -> float:
    """The value with half of the weight below it and half above; between two such, their mean."""
    if weight is None:
        return float(np.median(x))
    order = np.argsort(x)
    ordered, mass = x[order], np.cumsum(weight[order])
    half = mass[-1] / 2.0
    k = min(int(np.searchsorted(mass, half)), len(x) - 1)
    above = min(k + 1, len(x) - 1) if mass[k] == half else k
    return float(ordered[k] / 2.0 + ordered[above] / 2.0)


# Heavy tails


def columns_to_rank(Z: np.ndarray, scale: str | None, weight: np.ndarray | None) -> np.ndarray:
    """Which columns get normal scores."""
    if scale == "auto":
        two = ((Z == Z.min(axis=0)) | (Z == Z.max(axis=0))).all(axis=0)  # two values are alike on any scale
        return (tail_share(Z, weight) > HEAVY_TAIL) & ~two
    return np.full(Z.shape[1], scale == "rank")


def tail_share(Z: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """The share of each column's sum of squares about the median that its farthest hundredth of rows has."""
    if weight is None:
        centre, edge = _centres_and_edges(Z)
    else:
        centre, edge = np.array([_centre_and_edge(x, weight) for x in Z.T]).T
    distance = np.abs(Z - centre)
    squares = np.square(distance, dtype=np.float64) * (1.0 if weight is None else weight[:, None])
    total = squares.sum(axis=0)
    far = np.where(distance > edge, squares, 0.0).sum(axis=0)
    return np.divide(far, total, out=np.zeros_like(total), where=total > 0.0)


def _centres_and_edges(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What `_centre_and_edge` gives of each column, where no row weighs more than another."""
    n = len(Z)
    centre = np.median(Z, axis=0)
    ordered, mass = np.sort(np.abs(Z - centre), axis=0), np.arange(1.0, n + 1.0)
    edge = ordered[min(int(np.searchsorted(mass, (1.0 - TAIL_SHARE) * n)), n - 1)]
    nearer = (ordered < ordered[-1]).sum(axis=0) - 1
    few = (nearer >= 0) & (nearer + 1.0 >= (1.0 - MAX_TIED_SHARE) * n)
    return centre, np.where(few, np.minimum(edge, np.take_along_axis(ordered, nearer[None], axis=0)[0]), edge)


def _centre_and_edge(x: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """The median, and the distance from it beyond which lies a hundredth of the rows, or the few that are farthest."""
    centre = weighted_median(x, weight)
    distance = np.abs(x - centre)
    order = np.argsort(distance)
    ordered, mass = distance[order], np.cumsum(weight[order])
    edge = ordered[min(int(np.searchsorted(mass, (1.0 - TAIL_SHARE) * mass[-1])), len(x) - 1)]
    nearer = int(np.searchsorted(ordered, ordered[-1])) - 1
    few = nearer >= 0 and mass[nearer] >= (1.0 - MAX_TIED_SHARE) * mass[-1]
    return centre, float(min(edge, ordered[nearer]) if few else edge)


def normal_scores(x: np.ndarray, weight: np.ndarray | None = None) -> NormalScores:
    """The normal score of a value v is Φ⁻¹(½(P(x < v) + P(x ≤ v))): the average rank of its ties."""
    order = np.argsort(x, kind="stable")
    ordered = x[order]
    mass = np.concatenate([[0.0], np.cumsum(np.ones(len(x)) if weight is None else weight[order])])
    values = np.unique(ordered)
    if len(values) > SCORE_POINTS:
        values = np.unique(ordered[np.linspace(0, len(x) - 1, SCORE_POINTS).astype(np.intp)])
    below, upto = (mass[np.searchsorted(ordered, values, side)] for side in ("left", "right"))
    share = np.clip((below + upto) / (2.0 * mass[-1]), MIN_SHARE, 1.0 - MIN_SHARE)  # a row may weigh next to nothing
    return NormalScores(values, ndtri(share))


def rank_columns(Z: np.ndarray, ranked: np.ndarray, grids: list[NormalScores]) -> None:
    """Overwrite the ranked columns of Z by their normal scores."""
    for k, grid in zip(ranked, grids, strict=True):
        Z[:, k] = np.interp(Z[:, k], grid.values, grid.scores)


# Applying


def apply_dense(learnt: NumericScaling, X: np.ndarray) -> np.ndarray:
    """The columns without missing values, comparable, in X's type; then the columns of marks."""
    missing = np.isnan(X)
    Z = np.where(missing, learnt.median.astype(X.dtype), X) if missing.any() else X
    with np.errstate(over="ignore"):
        Z = Z / learnt.size.astype(X.dtype)  # a copy; from here on in place, since blocks may be large
    rank_columns(Z, learnt.ranked, learnt.grids)
    np.clip(Z, learnt.low.astype(X.dtype), learnt.high.astype(X.dtype), out=Z)
    Z -= learnt.middle.astype(X.dtype)
    Z /= learnt.spread.astype(X.dtype)
    return np.column_stack([Z, missing[:, learnt.marked]]).astype(X.dtype, copy=False) if len(learnt.marked) else Z


def apply_sparse(learnt: SparseScaling, X: sparse.csr_array) -> sparse.csr_array:
    """The columns without missing values and of size one, then the columns of marks; still sparse."""
    missing = np.isnan(X.data)
    most = np.finfo(X.dtype).max
    with np.errstate(over="ignore"):
        filled = np.where(missing, learnt.median.astype(X.dtype)[X.indices], X.data)
        data = filled / learnt.size.astype(X.dtype)[X.indices]
    data = np.clip(data, -most, most)  # beyond all that was seen, but a number still
    Z = type(X)((data, X.indices, X.indptr), shape=X.shape)
    if not len(learnt.marked):
        return Z
    marks = type(X)((missing.astype(X.dtype), X.indices, X.indptr), shape=X.shape)[:, learnt.marked]
    marks.eliminate_zeros()
    return sparse.hstack([Z, marks], format="csr")
