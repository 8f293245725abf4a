"""Moments of the pairs of an order, in the basis: what the square loss over these pairs needs, in one pass over rows.

With z the difference of the two rows of a pair, δ the mean of z and S its covariance over all pairs,

    mean (1 - w·z)² = (1 - w·δ)² + w·S·w,

as for two classes. The sums over pairs come from sums over the levels of the order: with rows centred, u and l their
weights as the upper and the lower row of a pair, and G, H the sums of u x and l x of each level,

    Σ z z' = Σ degree_i x_i x_i' - C - C',    C = Σ_levels G · (the sum of H over the levels below)'.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from auclid import _sizes
from auclid.additive._basis import Basis, basis_rows
from auclid.additive._columns import cell_blocks
from auclid.additive._moments import BasisSums, TrainingMoments, congruence
from auclid.data.dataset import Part, Totals
from auclid.ordered._rows import OrderedRows, PartitionedRows
from auclid.stats.moments import Moments
from auclid.stats.pair_order import PairOrder
from auclid.validation import checked_table, encoded_batch, encoded_rows, in_parts, own_outcome, own_weight
from auclid.validation.outcomes import checked_weights


class PairMoments(NamedTuple):
    """The mean δ and the covariance S of the differences of all pairs, and the moments of all rows."""

    within: np.ndarray
    delta: np.ndarray
    all: Moments

    @property
    def complete(self) -> bool:
        """Whether there is a pair."""
        return bool(self.delta.any())

    @property
    def midpoint(self) -> np.ndarray:
        """The mean of all rows: ordered rows have no threshold."""
        return self.all.mean

    def projected(self, M: Any) -> "PairMoments":
        """The moments of the rows M'z."""
        return PairMoments(congruence(self.within, M), M.T @ self.delta, self.all.projected(M))


class OrderWeights(NamedTuple):
    """Of each row: its weight, its weights in pairs, and its level (-1: it is in no pair)."""

    mass: np.ndarray
    degree: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    level: np.ndarray

    @classmethod
    def of(cls, order: PairOrder, weight: np.ndarray | None) -> "OrderWeights":
        """Of the rows of an order."""
        level = np.full(order.n, -1)
        level[order.rows] = order.level
        mass = np.ones(order.n) if weight is None else weight
        degree, upper, lower = (order.scattered(values) for values in (order.degree, order.upper, order.lower))
        return cls(mass, degree, upper, lower, level)

    def split(self, ends: np.ndarray) -> "list[OrderWeights]":
        """The weights of consecutive parts of the rows."""
        return [OrderWeights(*each) for each in zip(*(np.split(values, ends) for values in self), strict=True)]


def level_sums(basis: Basis, cells: Any, weights: OrderWeights, n_levels: int) -> Totals:
    """[moments of the rows, moments by degree, G, H] of some rows."""
    rows, pairs = BasisSums(basis, 1), BasisSums(basis, 1)
    G, H = np.zeros((n_levels, basis.size)), np.zeros((n_levels, basis.size))
    for part, block in cell_blocks(cells):
        mass, degree, upper, lower, level = (values[part] for values in weights)
        no_group = np.zeros(len(block), dtype=np.int64)
        rows.add(block, no_group, mass)
        pairs.add(block, no_group, degree)
        Z = basis_rows(basis, block)
        for share, out in ((upper, G), (lower, H)):
            used = np.flatnonzero((level >= 0) & (share > 0.0))
            select = sparse.csr_array((share[used], (level[used], used)), shape=(n_levels, len(block)))
            out += (select @ Z).toarray()
    return Totals([rows.pooled(), pairs.pooled(), G, H])


def part_level_sums(part: Part, basis: Basis, weights: Sequence[OrderWeights], n_levels: int) -> Totals:
    """`level_sums` of a part of cells."""
    return level_sums(basis, part.X, weights[part.number], n_levels)


def pair_moments(order: PairOrder, sums: Totals) -> PairMoments:
    """The moments of the pairs of an order from the `level_sums` of its rows."""
    rows, pairs, G, H = sums
    if not order.total > 0.0:
        return PairMoments(np.zeros_like(rows.scatter), np.zeros_like(rows.mean), rows)
    first = np.flatnonzero(np.diff(order.level, prepend=-1))
    below, above = order.mass_below[first], order.mass_above[first]
    upper, lower = (np.bincount(order.level, mass, order.n_levels) for mass in (order.upper, order.lower))
    G, H = G - np.multiply.outer(upper, pairs.mean), H - np.multiply.outer(lower, pairs.mean)
    reached = np.concatenate([np.zeros((1, H.shape[1])), np.cumsum(H, axis=0)])
    end = order.level[np.maximum(order.group_end[first] - 1, 0)] + 1
    C = G.T @ (reached[end] - reached[order.level[first] + 1])
    delta = (below @ G - above @ H) / order.total
    S = (pairs.scatter - C - C.T) / order.total - np.multiply.outer(delta, delta)
    return PairMoments(0.5 * (S + S.T), delta, rows)


class OrderSums:
    """`PairMoments` of the rows of a table, and of those outside each fold."""

    def __init__(
        self, basis: Basis, cells: Any, order: PairOrder, weight: np.ndarray | None, fold: np.ndarray | None = None
    ) -> None:
        self.basis, self.n_folds = basis, 1 if fold is None else int(fold.max()) + 1
        self._cells, self._order, self._weight = cells, order, weight
        self._fold = np.zeros(order.n, dtype=np.int64) if fold is None else fold

    def moments(self) -> PairMoments:
        """The moments of the pairs of all rows that are in a fold."""
        return self._of(np.flatnonzero(self._fold >= 0))

    def outside(self, k: int) -> TrainingMoments:
        """The moments of the pairs of rows outside fold k; -1: of all rows."""
        moments = self._of(np.flatnonzero((self._fold >= 0) & (self._fold != k)))
        return TrainingMoments(moments.within, moments.delta, moments.all.mean)

    def training_mean(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """δ and the mean of the rows outside fold k."""
        return self.outside(k)[1:]

    def _of(self, rows: np.ndarray) -> PairMoments:
        order = self._order.subset(rows).coarsened(_sizes.MAX_ORDER_LEVELS)
        weight = None if self._weight is None else self._weight[rows]
        return pair_moments(
            order, level_sums(self.basis, self._cells[rows], OrderWeights.of(order, weight), order.n_levels)
        )


def ordered_card_rows(
    model: Any, X: Any, y: Any, groups: Any, sample_weight: Any, categories: Callable[[list[str]], list[int]]
) -> OrderedRows:
    """Rows of which every cell is a number, with the order that the ranker of a `Scorecard` sees in y."""
    y, weight = own_outcome(model, X, y), own_weight(X, sample_weight)
    if in_parts(X):
        parts: Any = encoded_rows(model, X, sample_weight, categories)
    else:
        table = checked_table(model, X, reset=True)
        weights = checked_weights(type(model).__name__, weight, table.shape[0])
        parts = encoded_batch(model, table, weights, categories)
    ranker = clone(model.ranker)
    return ranker._ordered_rows(PartitionedRows(parts, parts.part_sizes()), y, groups, weight)


def all_pair_moments(cells: OrderedRows, basis: Basis) -> PairMoments:
    """The moments of the pairs of all rows, in the basis, in one pass over their parts."""
    order = cells.order.coarsened(_sizes.MAX_ORDER_LEVELS)
    weights = OrderWeights.of(order, cells.weight).split(np.cumsum(cells.sizes)[:-1])
    sums = cells.parts.compute(cells.parts.reduce(part_level_sums, basis, weights, order.n_levels))
    return pair_moments(order, sums)
