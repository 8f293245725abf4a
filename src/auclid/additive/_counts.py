"""What a scorecard keeps of its training rows: how many of each class lie in narrow bins of every column and pair.

Bins of points are unions of these narrow bins, so that counts, rates and weights of evidence need no rows. Counts add
up over batches of rows.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from auclid import _sizes
from auclid._generic import kernel
from auclid._rounding import roundest
from auclid.additive._basis import Basis
from auclid.additive._columns import cell_blocks
from auclid.additive._features import Feature, value_counts

NARROW_BINS = 64
"""Narrow bins of a column of many values, besides those that its knots bound."""

PAIR_BINS = 10
"""Bins of a column in the joint counts of a pair, at the most."""

ROUNDING_ROOM = 0.3
"""An edge may move by this part of a narrow bin to become a rounder number."""


class ColumnCounts(NamedTuple):
    """The rows of each class in narrow bins of a column: of numbers between ``edges``, or of each level."""

    edges: np.ndarray | None
    """Bin k holds edges[k - 1] <= x < edges[k]; None for a category."""
    total: np.ndarray
    """The sum of the values of each bin's rows; of a category, the numbers of its levels."""
    rows: np.ndarray
    """(2, bins): the weight of the negatives and of the positives of each bin."""
    missing: np.ndarray
    """(2,): the weight of the rows whose cell is missing."""

    @property
    def centers(self) -> np.ndarray:
        """The mean of the values in each bin; an empty one has a value between its edges."""
        if self.edges is None:
            return self.total
        count = self.rows.sum(axis=0)
        ends = np.concatenate([self.edges[:1], self.edges, self.edges[-1:]]) if len(self.edges) else np.zeros(2)
        return np.where(count > 0.0, self.total / np.where(count > 0.0, count, 1.0), 0.5 * (ends[:-1] + ends[1:]))


class PairCounts(NamedTuple):
    """The rows of each class in the cells of two columns."""

    groups: tuple
    """Of each of the two columns: the group that each of its narrow bins, or levels, belongs to."""
    rows: np.ndarray
    """(2, groups of a, groups of b)"""


def narrow_edges(feature: Feature, values: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Edges of narrow bins of a column's values, rounded: about as much mass in each, frequent values by themselves.

    The knots of the column bound bins too, so that a shape hardly bends within one.
    """
    distinct, weight = value_counts(values, mass)
    if len(distinct) < 2:
        return np.zeros(0)
    if len(distinct) <= NARROW_BINS:
        return np.array([roundest(*ends) for ends in pairwise(distinct.tolist())])
    share = weight / weight.sum()
    reached, frequent = np.cumsum(share), share >= 1.0 / NARROW_BINS
    fixed = frequent | np.isin(distinct, [] if feature.knots is None else feature.knots)
    part = np.floor(reached * NARROW_BINS * (1.0 - 1e-9))
    fixed_edge = fixed[:-1] | fixed[1:]
    at = np.flatnonzero((part[:-1] != part[1:]) | fixed_edge)
    room, last, n_fixed = ROUNDING_ROOM / NARROW_BINS, len(distinct) - 1, np.append(0, np.cumsum(fixed))
    low, high = (np.minimum(np.searchsorted(reached, reached[at] + by), last) for by in (-room, room))
    free = ~fixed_edge[at] & (n_fixed[high + 1] == n_fixed[low])
    low, high = np.where(free, np.minimum(low, at), at), np.where(free, np.maximum(high, at + 1), at + 1)
    return np.unique([roundest(*ends) for ends in zip(distinct[low].tolist(), distinct[high].tolist(), strict=True)])


def knot_edges(feature: Feature) -> np.ndarray:
    """Edges that depend on the knots alone, so that the counts of several batches and machines add up."""
    assert feature.knots is not None
    knots = feature.knots
    return np.unique(np.concatenate([knots[1:], 0.5 * (knots[1:] + knots[:-1])]))


def empty_counts(feature: Feature, edges: np.ndarray | None) -> ColumnCounts:
    """Counts of no rows."""
    bins = feature.slots if edges is None else len(edges) + 1
    total = np.arange(float(bins)) if edges is None else np.zeros(bins)
    return ColumnCounts(edges, total, np.zeros((2, bins)), np.zeros(2))


def column_bins(counts: ColumnCounts, values: np.ndarray) -> np.ndarray:
    """The narrow bin of each value; -1 where it is missing."""
    missing = np.isnan(values)
    if counts.edges is None:
        return np.where(missing, -1, np.where(missing, 0.0, values).astype(np.intp))
    return np.where(missing, -1, np.searchsorted(counts.edges, values, side="right"))


class NarrowBins(NamedTuple):
    """The narrow bins of all columns, one column after the other; before those of each is that of missing cells."""

    edges: np.ndarray
    edge_first: np.ndarray
    """Where the edges of each column begin, and the number of edges."""
    first: np.ndarray
    """Where the bins of each column begin, and the number of bins."""
    is_level: np.ndarray
    """Of each column, whether it is a category."""

    @classmethod
    def of(cls, columns: Sequence[ColumnCounts]) -> "NarrowBins":
        """Those of these counts."""
        edges = [np.zeros(0) if each.edges is None else each.edges for each in columns]
        return cls(
            np.concatenate([np.zeros(0), *edges]),
            np.cumsum([0, *map(len, edges)]).astype(np.int64),
            np.cumsum([0, *(each.rows.shape[1] + 1 for each in columns)]).astype(np.int64),
            np.array([each.edges is None for each in columns], dtype=bool),
        )


@kernel(inner=True, allocates=False)
def bin_of(bins: NarrowBins, j: int, x: float) -> int:
    """The narrow bin of a value of column j; -1 where it is missing."""
    if np.isnan(x):
        return -1
    if bins.is_level[j]:
        return int(x)
    low, high = bins.edge_first[j], bins.edge_first[j + 1]
    while low < high:
        middle = (low + high) >> 1
        if bins.edges[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low - bins.edge_first[j]


@kernel(allocates=False)
def add_column_counts(bins: NarrowBins, cells: np.ndarray, masses: np.ndarray, out: np.ndarray) -> None:
    """Add the mass of each class, and the mass times the value, to the bins of the cells of each row."""
    for i in range(cells.shape[0]):
        neg, pos = masses[0, i], masses[1, i]
        for j in range(cells.shape[1]):
            x = cells[i, j]
            at = bins.first[j] + 1 + bin_of(bins, j, x)
            out[at, 0] += neg
            out[at, 1] += pos
            out[at, 2] += (neg + pos) * x


@kernel
def add_pair_counts(
    bins: NarrowBins,
    groups: np.ndarray,
    cells: np.ndarray,
    masses: np.ndarray,
    pairs: np.ndarray,
    widths: np.ndarray,
    first: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the mass of each class to the cells of each pair, which begin at ``first``; ``groups`` is the group of each
    bin, -1 where cells are missing."""
    group, paired = np.zeros(cells.shape[1], dtype=np.int64), np.unique(pairs)
    for i in range(cells.shape[0]):
        neg, pos = masses[0, i], masses[1, i]
        for j in paired:
            group[j] = groups[bins.first[j] + 1 + bin_of(bins, j, cells[i, j])]
        for m in range(pairs.shape[0]):
            a, b = group[pairs[m, 0]], group[pairs[m, 1]]
            if a >= 0 and b >= 0:
                cell = first[m] + a * widths[m] + b
                out[cell, 0] += neg
                out[cell, 1] += pos


class CardCounts(NamedTuple):
    """The counts of all columns and pairs of a card, and how far apart the scores of the classes are."""

    columns: list
    pairs: list
    gap: float
    """The mean score of the positives less that of the negatives."""
    variance: float
    """The sum of the variances of the scores of both classes."""

    def add_columns(self, cells: Any, masses: np.ndarray) -> None:
        """Add rows to the counts of the columns; ``masses`` as of `class_masses`."""
        bins = NarrowBins.of(self.columns)
        found = np.zeros((bins.first[-1], 3))
        for rows, block in cell_blocks(cells):
            add_column_counts(bins, block, masses[:, rows], found)
        for counts, own in zip(self.columns, np.split(found.T, bins.first[1:-1], axis=1), strict=True):
            counts.missing[:] += own[:2, 0]
            counts.rows[:] += own[:2, 1:]
            if counts.edges is not None:
                counts.total[:] += own[2, 1:]

    def add_pairs(self, cells: Any, masses: np.ndarray, pairs: Sequence[Sequence[int]]) -> None:
        """Add rows to the counts of the pairs."""
        if not self.pairs:
            return
        bins, sides = NarrowBins.of(self.columns), np.array(pairs, dtype=np.int64).reshape(-1, 2)
        groups = np.zeros(bins.first[-1], dtype=np.int64)
        for pair, counts in zip(sides, self.pairs, strict=True):  # a column has the same groups in all its pairs
            for j, own in zip(pair, counts.groups, strict=True):
                groups[bins.first[j] : bins.first[j + 1]] = [-1, *own]
        shapes = np.array([counts.rows.shape[1:] for counts in self.pairs])
        first = np.cumsum([0, *shapes.prod(axis=1)])
        found = np.zeros((first[-1], 2))
        for rows, block in cell_blocks(cells):
            add_pair_counts(bins, groups, block, masses[:, rows], sides, shapes[:, 1], first, found)
        for counts, own in zip(self.pairs, np.split(found.T, first[1:-1], axis=1), strict=True):
            counts.rows[:] += own.reshape(counts.rows.shape)

    def plus(self, cells: Any, positive: np.ndarray, weight: np.ndarray | None, basis: Basis) -> "CardCounts":
        """The counts of these rows and of those before; ``positive`` as of `class_masses`."""
        out = self.scaled(np.ones(2))
        pairs = list(zip(basis.pair_a.tolist(), basis.pair_b.tolist(), strict=True))
        masses = class_masses(positive, weight)
        out.add_columns(cells, masses)
        out.add_pairs(cells, masses, pairs)
        return out

    def scaled(self, factors: np.ndarray) -> "CardCounts":
        """Counts in which the rows of each class weigh so many times as much: for a sample that stands for all rows."""
        columns = [_scaled_column(each, factors) for each in self.columns]
        pairs = [each._replace(rows=each.rows * factors[:, None, None]) for each in self.pairs]
        return self._replace(columns=columns, pairs=pairs)

    def separated(self, gap: float, variance: float) -> "CardCounts":
        """The counts with how far apart the scores of the classes are."""
        return self._replace(gap=float(gap), variance=float(variance))

    def merged(self, other: "CardCounts") -> "CardCounts":
        """The counts of the rows of both, where their bins are the same; of the first where they are not."""
        columns = [_merged_columns(a, b) for a, b in zip(self.columns, other.columns, strict=True)]
        pairs = [a._replace(rows=a.rows + b.rows) for a, b in zip(self.pairs, other.pairs, strict=False)]
        return self._replace(columns=columns, pairs=pairs)


def sound_counts(counts: CardCounts | None, basis: Basis) -> bool:
    """Whether counts are those of the columns and pairs of a basis: kernels write where these say."""
    if counts is None:
        return True
    if len(counts.columns) != len(basis.is_level) or len(counts.pairs) != len(basis.pair_a):
        return False
    groups: dict[int, np.ndarray] = {}
    columns = zip(counts.columns, basis.is_level, np.diff(basis.first), strict=True)
    return all(_sound_column(*each) for each in columns) and all(
        _sound_pair(counts, pair, sides, groups)
        for pair, sides in zip(counts.pairs, np.stack([basis.pair_a, basis.pair_b], axis=1).tolist(), strict=True)
    )


def _sound_column(counts: ColumnCounts, is_level: bool, slots: int) -> bool:
    bins = slots if counts.edges is None else len(counts.edges) + 1
    return (counts.edges is None) == is_level and counts.rows.shape == (2, bins) and counts.missing.shape == (2,)


def _sound_pair(counts: CardCounts, pair: PairCounts, sides: list[int], groups: dict[int, np.ndarray]) -> bool:
    """Whether the groups of a pair are within its grid; ``groups`` are those of the columns of the pairs before."""
    for j, own, size in zip(sides, pair.groups, pair.rows.shape[1:], strict=True):
        bins = counts.columns[j].rows.shape[1]
        inside = own.shape == (bins,) and own.dtype.kind == "i" and 0 <= own.min() <= own.max() < size
        if not inside or not np.array_equal(groups.setdefault(j, own), own):
            return False
    return len(pair.rows) == 2


def class_masses(positive: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """(2, rows): how much of the weight of each row counts as negative and as positive.

    ``positive`` is the share that is positive: 0 or 1 for two classes.
    """
    mass = np.ones(len(positive)) if weight is None else np.asarray(weight, dtype=np.float64)
    return np.stack([mass * (1.0 - positive), mass * positive])


def _scaled_column(counts: ColumnCounts, factors: np.ndarray) -> ColumnCounts:
    rows = counts.rows * factors[:, None]
    total = counts.total.copy()
    if counts.edges is not None:  # the mean of a bin stays what it is
        total = counts.centers * rows.sum(axis=0)
    return ColumnCounts(counts.edges, total, rows, counts.missing * factors)


def _merged_columns(a: ColumnCounts, b: ColumnCounts) -> ColumnCounts:
    same = a.edges is b.edges is None or (
        a.edges is not None and b.edges is not None and np.array_equal(a.edges, b.edges)
    )
    if not same:
        return a
    total = a.total if a.edges is None else a.total + b.total
    return ColumnCounts(a.edges, total, a.rows + b.rows, a.missing + b.missing)


def count_rows(
    features: Sequence[Feature], basis: Basis, cells: Any, positive: np.ndarray, weight: np.ndarray | None
) -> CardCounts:
    """The counts of these rows, in narrow bins that they are given; ``positive`` as of `class_masses`."""
    masses, some = class_masses(positive, weight), _edge_rows(positive > 0.5)
    few, sides = cells[some], np.maximum(masses[:, some].sum(axis=1, keepdims=True), 1e-300)
    balanced = (masses[:, some] / sides).sum(axis=0)  # so that the rarer class has bins of its own
    edges = [None if f.knots is None else narrow_edges(f, _column(few, j), balanced) for j, f in enumerate(features)]
    columns = [empty_counts(*each) for each in zip(features, edges, strict=True)]
    counts = CardCounts(columns, [], np.nan, np.nan)
    counts.add_columns(cells, masses)
    pairs = list(zip(basis.pair_a.tolist(), basis.pair_b.tolist(), strict=True))
    counts = counts._replace(pairs=[_empty_pair(columns[a], columns[b]) for a, b in pairs])
    counts.add_pairs(cells, masses, pairs)
    return counts


def _edge_rows(is_pos: np.ndarray) -> np.ndarray | slice:
    """The rows that edges come from: all, or about `_sizes.KNOT_SAMPLE`, every k-th of each class."""
    most = _sizes.KNOT_SAMPLE // 2
    if len(is_pos) <= 2 * most:
        return slice(None)
    classes = np.flatnonzero(is_pos), np.flatnonzero(~is_pos)
    return np.sort(np.concatenate([rows[:: -(-len(rows) // most) or 1] for rows in classes]))


def _column(cells: Any, j: int) -> np.ndarray:
    """One column of cells as float64."""
    column = cells[:, [j]]
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column, dtype=np.float64).ravel()


def stream_counts(features: Sequence[Feature], basis: Basis) -> CardCounts:
    """Counts of no rows in bins that depend on the knots alone."""
    columns = [empty_counts(f, None if f.knots is None else knot_edges(f)) for f in features]
    pairs = zip(basis.pair_a.tolist(), basis.pair_b.tolist(), strict=True)
    return CardCounts(columns, [_empty_pair(columns[a], columns[b]) for a, b in pairs], np.nan, np.nan)


def _empty_pair(a: ColumnCounts, b: ColumnCounts) -> PairCounts:
    groups = _groups(a), _groups(b)
    return PairCounts(groups, np.zeros((2, int(groups[0].max()) + 1, int(groups[1].max()) + 1)))


def _groups(counts: ColumnCounts) -> np.ndarray:
    """Narrow bins joined to at most `PAIR_BINS` groups of about as many rows, both classes counting alike.

    Of a category, the commonest levels are groups of their own and the others share one.
    """
    sides = counts.rows.sum(axis=1, keepdims=True)
    share = (counts.rows / np.where(sides > 0.0, sides, 1.0)).sum(axis=0)
    if len(share) <= PAIR_BINS:
        return np.arange(len(share))
    if counts.edges is None:
        common = np.sort(np.argsort(-share, kind="stable")[: PAIR_BINS - 1])
        groups = np.full(len(share), PAIR_BINS - 1)
        groups[common] = np.arange(PAIR_BINS - 1)
        return groups
    middle = np.cumsum(share) - 0.5 * share
    groups = np.floor(middle / max(float(share.sum()), 1e-300) * PAIR_BINS * (1.0 - 1e-9)).astype(np.intp)
    return np.unique(groups, return_inverse=True)[1]
