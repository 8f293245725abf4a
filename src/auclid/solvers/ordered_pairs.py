"""Hinges and smooth losses over all pairs of any order, as objectives for Newton's method, in O(n log n).

`OrderedPairs` answers what `SquaredHinges` and `SmoothHinge` ask of two classes, so these serve any order as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import methodcaller
from typing import Any

import numpy as np

from auclid import _sizes
from auclid._generic import kernel
from auclid.data import Table, as_table
from auclid.losses import Loss, as_loss
from auclid.solvers.all_pairs import (
    STAIR_STEPS,
    LinearSpace,
    PairPoint,
    RegularizedPairLoss,
    SmoothHinge,
    SmoothLoss,
    SquaredHinges,
    inverse_diagonal,
    inverse_of,
)
from auclid.solvers.newton import Preconditioner
from auclid.stats.loss_sums import (
    ClassScores,
    LossCurvature,
    LossSlope,
    LossValue,
    MarginFunction,
    evaluate_one,
    pair_sums,
)
from auclid.stats.pair_order import PairOrder

STAIR_SAMPLE = 256
"""Scores whose margins say where the steps of a preconditioner's stair lie."""


class OrderedPairs:
    """All pairs of an order, for the objectives of two classes."""

    def __init__(self, order: PairOrder) -> None:
        self.order, self.n, self.total = order, order.n, order.total

    @property
    def n_weighed(self) -> int:
        """Rows of weight above zero."""
        return len(self.order.rows)

    def rank(self, score: np.ndarray) -> "OrderedScores":
        """The scores as every sum over pairs needs them."""
        return OrderedScores(self.order, score)

    def sample(self, size: int) -> np.ndarray:
        """About ``2 size`` rows, the same ones every time: whole groups, or rows of one group; all where these hold no
        pair."""
        order, rng = self.order, np.random.default_rng(0)
        wanted, n_groups = 2 * size, len(order.group_ends) - 1
        if len(order.rows) <= wanted:
            return np.sort(order.rows)
        if n_groups > 1:
            shuffled = rng.permutation(n_groups)
            sizes = np.diff(order.group_ends)[shuffled]
            count = int(np.searchsorted(np.cumsum(sizes), wanted)) + 1
            chosen = order.rows[np.isin(order.group, shuffled[:count])]
        else:
            chosen = np.concatenate([_drawn(order.rows[part], size, rng) for part in self._strata()])
        chosen = np.sort(chosen)
        return chosen if order.subset(chosen).total > 0.0 else np.sort(order.rows)

    def _strata(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows that are above others, and rows that are not: events and censored times."""
        upper = self.order.upper > 0.0
        if upper.all():
            upper = np.arange(len(upper)) % 2 == 0
        return np.flatnonzero(upper), np.flatnonzero(~upper)

    def subset(self, chosen: np.ndarray) -> "OrderedPairs":
        """The pairs among the chosen rows."""
        return OrderedPairs(self.order.subset(chosen))


def _drawn(rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= size else rng.choice(rows, size, replace=False, shuffle=False)


class OrderedScores:
    """Scores of the sorted rows, centred by group."""

    def __init__(self, order: PairOrder, score: np.ndarray) -> None:
        self.order, self.score = order, order.centred(score[order.rows], whole=True)

    def within(self, margin: float) -> "OrderedActivePairs":
        """The pairs with margin below ``margin``."""
        return OrderedActivePairs(self.order, self.score, margin)


class OrderedActivePairs:
    """The pairs with margin m < c, and means over all pairs of (c - m)₊ and (c - m)₊²."""

    def __init__(self, order: PairOrder, score: np.ndarray, margin: float) -> None:
        self.order, self.score, self.margin = order, score, margin
        self.sums = order.margins(score, margin)

    def linear_value(self) -> float:
        """The mean over all pairs of (c - m)₊."""
        sums = self.sums
        return float(0.5 * self.margin * sums.degree.sum() - sums.net @ self.score) / self.order.total

    @cached_property
    def _slope(self) -> np.ndarray:
        sums = self.sums
        return (2.0 / self.order.total) * (sums.degree * self.score - sums.cross - self.margin * sums.net)

    def square_value(self) -> float:
        """The mean over all pairs of (c - m)₊² = c (c - m)₊ - m (c - m)₊."""
        return self.margin * self.linear_value() + 0.5 * float(self._slope @ self.score)

    def square_slope(self) -> np.ndarray:
        """The gradient of `square_value`, an entry a row of the table."""
        return self.order.scattered(self._slope)

    def square_product(self, u: np.ndarray) -> np.ndarray:
        """The second derivatives of `square_value`, times u."""
        x = self.order.centred(u[self.order.rows])
        cross = self.order.margins(self.score, self.margin, x).cross
        return self.order.scattered((2.0 / self.order.total) * (self.sums.degree * x - cross))

    def share(self) -> np.ndarray:
        """The share of pairs that are active and hold a row, an entry a row of the table."""
        return self.order.scattered(self.sums.degree / self.order.total)


class OrderedSpace(LinearSpace):
    """Scores X w; the Hessian is preconditioned as if the two rows of a pair had nothing to do with each other."""

    def subset(self, chosen: np.ndarray) -> "OrderedSpace":
        """The space of scores of the chosen rows."""
        return OrderedSpace(as_table(self.table.take(chosen)))

    def preconditioner(self, point: PairPoint) -> Preconditioner:
        """From the scatter of rows by the weight of their active pairs or, of very many columns, from its diagonal."""
        if self.size > _sizes.MAX_HESSIAN_COLUMNS:
            return inverse_diagonal(point)
        share = 2.0 * point.total(methodcaller("share"))
        return inverse_of(_scatter(self.table, share, point.objective.alpha))


def _scatter(table: Table, share: np.ndarray, alpha: float) -> np.ndarray:
    """sum of share_i (x_i - mean)(x_i - mean)' of a sample of the rows, scaled to all of them, plus alpha I."""
    d, used = table.shape[1], np.flatnonzero(share > 0.0)
    most = max(2000, 10 * d, len(used) // 16)
    chosen = used if len(used) <= most else np.sort(np.random.default_rng(0).choice(used, most, replace=False))
    rows, own = table.dense(chosen), share[chosen]
    total = own.sum()
    rows = rows - (own @ rows) / total if total > 0.0 else rows
    H = rows.T @ (rows * own[:, None])
    H *= share.sum() / total if total > 0.0 else 1.0
    H[np.diag_indices_from(H)] += alpha
    return H


class OrderedLossSums:
    """Value, slopes and curvature products of the mean of a smooth loss over all pairs of an order."""

    def __init__(self, loss: Loss, order: PairOrder, score: np.ndarray) -> None:
        self.loss, self.order, self.score = loss, order, order.centred(score[order.rows])

    def value(self) -> float:
        """The mean loss."""
        sums = self._sums(LossValue(self.loss), self.order.lower[:, None], self.order.upper[:, None])
        return float(self.order.upper @ sums[0][:, 0]) / self.order.total

    def slope(self) -> np.ndarray:
        """The derivatives of the mean loss by the scores, an entry a row of the table."""
        order = self.order
        below, above = self._sums(LossSlope(self.loss), order.lower[:, None], order.upper[:, None])
        return order.scattered((order.upper * below[:, 0] - order.lower * above[:, 0]) / order.total)

    def product(self, u: np.ndarray) -> np.ndarray:
        """The second derivatives of the mean loss by the scores, times u."""
        order = self.order
        x = order.centred(u[order.rows])
        weights = [np.column_stack([mass, mass * x]) for mass in (order.lower, order.upper)]
        below, above = self._sums(LossCurvature(self.loss), *weights)
        of_upper, of_lower = (x * sums[:, 0] - sums[:, 1] for sums in (below, above))
        return order.scattered((order.upper * of_upper + order.lower * of_lower) / order.total)

    def _sums(self, function: MarginFunction, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each sorted row: the sums of f(m) times the weights of the rows below it, and of the rows above it."""
        below, above = np.zeros(lower.shape), np.zeros(upper.shape)
        for first, middle, last in _coarse_nodes(self.order.nodes):
            if middle < 0:
                ends = self.order.level_end, self.order.group_end
                direct_sums(function, self.score, ends, lower, upper, (first, last), below, above)
                continue
            scores = ClassScores(self.score[first:middle], self.score[middle:last])
            found = pair_sums(function, scores, upper[first:middle], lower[middle:last])
            below[first:middle] += found.pos
            above[middle:last] += found.neg
        return below, above


def _coarse_nodes(nodes: np.ndarray) -> np.ndarray:
    """The large nodes of the recursion, and the ranges between their ends, in which pairs are formed one by one."""
    large = nodes[(nodes[:, 2] - nodes[:, 0] > _sizes.MAX_DIRECT_ROWS) & (nodes[:, 1] >= 0)]
    ends = np.unique(np.concatenate([large.ravel(), [0, nodes[:, 2].max(initial=0)]]))
    return np.concatenate([np.column_stack([ends[:-1], np.full(len(ends) - 1, -1), ends[1:]]), large])


@kernel
def direct_sums(
    function: MarginFunction,
    score: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    lower: np.ndarray,
    upper: np.ndarray,
    span: tuple[int, int],
    below: np.ndarray,
    above: np.ndarray,
) -> None:
    """Add f(m) times the weights over the pairs of the rows of a span, one by one; ``ends`` are those of each row's
    level and group."""
    (first, last), (level_end, group_end) = span, ends
    for i in range(first, last):
        if upper[i, 0] == 0.0:
            continue
        for j in range(level_end[i], min(group_end[i], last)):
            f = evaluate_one(function, score[i] - score[j])
            for r in range(lower.shape[1]):
                below[i, r] += f * lower[j, r]
                above[j, r] += f * upper[i, r]


@dataclass(frozen=True, eq=False)
class OrderedLoss(SmoothLoss):
    """mean over the pairs of an order of a smooth loss, plus alpha/2 |w|²."""

    pairs: Any

    def sums(self, scores: np.ndarray) -> OrderedLossSums:
        """The sums of the loss over the pairs of the order."""
        return OrderedLossSums(self.loss, self.pairs.order, scores)

    def stair_scores(self, sums: OrderedLossSums) -> Sequence[np.ndarray]:
        """Some scores, whose margins say where the loss is curved."""
        some = sums.score[:: max(1, len(sums.score) // STAIR_SAMPLE)]
        return some, some[: 2 * STAIR_STEPS * 16]


def ordered_objective(table: Table, order: PairOrder, loss: str, alpha: float, tol: float) -> RegularizedPairLoss:
    """The objective of a loss, by its name, over all pairs of an order."""
    space, pairs = OrderedSpace(table), OrderedPairs(order)
    if loss == "hinge":
        return SmoothHinge(space, pairs, alpha, tol)  # type: ignore[arg-type]
    if loss == "squared_hinge":
        return SquaredHinges(space, pairs, alpha, tol)  # type: ignore[arg-type]
    return OrderedLoss(space, pairs, alpha, tol, as_loss(loss))
