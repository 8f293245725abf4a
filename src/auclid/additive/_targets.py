"""What a scorecard ranks rows by: two classes, or any order. Both answer the same questions of a fit."""

from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from auclid import _sizes
from auclid.additive._basis import Basis
from auclid.additive._moments import BasisSums, class_sums
from auclid.additive._order_moments import OrderSums
from auclid.data import as_table
from auclid.data.memory import MemoryDataset
from auclid.metrics._concordance import right_pairs
from auclid.ordered._rows import OrderedRows, Outcome
from auclid.solvers import newton
from auclid.solvers.ordered_pairs import ordered_objective
from auclid.solvers.path import AUC, Measure
from auclid.stats.odds import MIN_SLOPE, Odds, fit_sigmoid
from auclid.stats.pair_order import PairOrder
from auclid.stats.weights import normalize_weights

ORDER_SLOPE_PENALTY, SLOPE_STEPS = 1e-4, 50
"""alpha and Newton steps, at the most, of that slope, of scores with a standard deviation of one."""


class PairResiduals(NamedTuple):
    """Of each row: the share of pairs in which it is the upper one, and the lower one, and half of what the mean square
    loss of the scaled scores falls by where its score rises."""

    upper: np.ndarray
    lower: np.ndarray
    descent: np.ndarray


class Target(Protocol):
    """What rows are ranked by, and their weights."""

    weight: np.ndarray | None

    @property
    def cautious(self) -> bool:
        """Whether, of penalties that held-out rows cannot tell apart, the usual one is taken, and not the smoothest."""

    @property
    def size(self) -> int:
        """The number of rows."""

    @property
    def positive(self) -> np.ndarray:
        """How much of each row counts as positive in tables and plots, from 0 to 1."""

    def take(self, index: np.ndarray) -> Self:
        """Some of the rows."""

    def judged_by(self, metric: str) -> Self:
        """The rows with what `auc` is to measure."""

    def n_rarer(self) -> int:
        """Rows of the rarer class; of an order, rows that are above others, or below others, if these are fewer."""

    def folds(self, n_folds: int, rng: np.random.Generator) -> np.ndarray | None:
        """The fold of each row, -1 where it weighs nothing; None where there are too few rows to hold some out."""

    def drawn(self, limit: int, rng: np.random.Generator) -> np.ndarray:
        """The numbers of at most ``limit`` rows, drawn."""

    def spread(self, limit: int) -> np.ndarray:
        """The numbers of about ``limit`` rows at most, evenly spread."""

    def represented(self, chosen: np.ndarray) -> Self:
        """The chosen rows, weighed so that they stand for all."""

    def auc(self, scores: np.ndarray) -> np.ndarray:
        """The AUC, or concordance, of each line of scores; nan where no two rows are comparable."""

    def left_to_gain(self, auc: float) -> float:
        """1 - AUC, times the negatives per positive where positives are the rarer class: what models may still gain."""

    def sums(self, basis: Basis, cells: Any, fold: np.ndarray | None = None) -> BasisSums | OrderSums:
        """What gives the moments of all rows and of those outside each fold."""

    def odds(self, scores: np.ndarray, every: Self) -> Odds:
        """The sigmoid of held-out scores; ``every``: the target of all rows."""

    def ranker_weights(self, ranker: Any, Z: Any) -> np.ndarray:
        """What a linear ranker learns from rows in the basis."""


class ClassTarget(NamedTuple):
    """Two classes."""

    is_pos: np.ndarray
    weight: np.ndarray | None = None
    measure: Measure = AUC
    """What a scorecard is chosen by."""

    @property
    def cautious(self) -> bool:
        return False

    @property
    def size(self) -> int:
        return len(self.is_pos)

    @property
    def positive(self) -> np.ndarray:
        return self.is_pos.astype(np.float64)

    def take(self, index: np.ndarray) -> "ClassTarget":
        return ClassTarget(self.is_pos[index], None if self.weight is None else self.weight[index], self.measure)

    def judged_by(self, metric: str) -> "ClassTarget":
        """Precisions refer to the share of positives of all these rows, also where some are taken."""
        negative, positive = np.bincount(self.is_pos, self.weight, 2)
        return self._replace(measure=Measure(metric, float(negative / positive)))

    def n_rarer(self) -> int:
        n_pos = int(self.is_pos.sum())
        return min(n_pos, len(self.is_pos) - n_pos)

    def folds(self, n_folds: int, rng: np.random.Generator) -> np.ndarray | None:
        rows = np.arange(self.size) if self.weight is None else np.flatnonzero(self.weight > 0.0)
        if self.take(rows).n_rarer() < _sizes.MIN_ROWS_FOR_CV:
            return None
        fold = np.full(self.size, -1)
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
        for k, (_, test) in enumerate(splitter.split(rows, self.is_pos[rows])):
            fold[rows[test]] = k
        return fold

    def _by_class(self) -> list[np.ndarray]:
        """The numbers of the rows of each class, the rarer first."""
        return sorted((np.flatnonzero(self.is_pos), np.flatnonzero(~self.is_pos)), key=len)

    def drawn(self, limit: int, rng: np.random.Generator) -> np.ndarray:
        """As many rows of each class as can be, the rarer class first."""
        if self.size <= limit:
            return np.arange(self.size)
        rare, common = self._by_class()
        rare = rng.permutation(rare)[: limit // 2]
        return np.sort(np.concatenate([rare, rng.permutation(common)[: limit - len(rare)]]))

    def spread(self, limit: int) -> np.ndarray:
        """Every k-th row of a class, the rarer class first: evenly over all folds."""
        rare, common = self._by_class()
        rare = rare[:: -(-len(rare) // (limit // 2)) or 1]
        common = common[:: -(-len(common) // (limit - len(rare))) or 1]
        return np.sort(np.concatenate([rare, common]))

    def represented(self, chosen: np.ndarray) -> "ClassTarget":
        """The chosen rows of a class weigh as much as all of it did."""
        old, new = np.ones(self.size) if self.weight is None else self.weight, np.zeros(self.size)
        for side in (self.is_pos, ~self.is_pos):
            here = chosen[side[chosen]]
            new[here] = old[here] * (old[side].sum() / old[here].sum())
        return ClassTarget(self.is_pos[chosen], new[chosen])

    def auc(self, scores: np.ndarray) -> np.ndarray:
        if not self.is_pos.any() or self.is_pos.all():
            return np.full(len(scores), np.nan)
        return np.array([self.measure.value(self.is_pos, line, self.weight) for line in scores])

    def left_to_gain(self, auc: float) -> float:
        """An AUC of 1 - e ranks a share e of the negatives above a positive row: e · negatives / positives for each."""
        precise = self.measure.name != AUC.name
        return (1.0 - auc) * (1.0 if precise else max(self.measure.ratio or 1.0, 1.0))

    def sums(self, basis: Basis, cells: Any, fold: np.ndarray | None = None) -> BasisSums:
        return class_sums(basis, cells, self.is_pos, self.weight, fold)

    def odds(self, scores: np.ndarray, every: "ClassTarget") -> Odds:
        """Weights count as rows; each class has its weight among all rows, of which these may be a sample."""
        return fit_sigmoid(scores, self.is_pos, self._weights_among(every))

    def _weights_among(self, every: "ClassTarget") -> np.ndarray | None:
        """Weights that give each class its weight among all rows; None where all weigh 1."""
        if self.size == every.size:
            return normalize_weights(self.weight)
        counted = normalize_weights(every.weight)
        mass = np.ones(every.size) if counted is None else counted
        out = np.ones(self.size) if self.weight is None else self.weight.copy()
        for label in (True, False):
            out[self.is_pos == label] *= mass[every.is_pos == label].sum() / out[self.is_pos == label].sum()
        return out

    def ranker_weights(self, ranker: Any, Z: Any) -> np.ndarray:
        more = {} if self.weight is None else {"sample_weight": self.weight}
        return clone(ranker).fit(Z, self.is_pos, **more).coef_[0]


class OrderTarget(NamedTuple):
    """Levels, numbers or censored times, compared within groups where there are some."""

    order: PairOrder
    outcome: Outcome
    group: np.ndarray | None
    weight: np.ndarray | None

    @property
    def cautious(self) -> bool:
        return True

    @classmethod
    def of(cls, rows: OrderedRows) -> "OrderTarget":
        """That of checked rows."""
        return cls(rows.order, rows.outcome, rows.group, rows.weight)

    @property
    def size(self) -> int:
        return self.order.n

    @property
    def positive(self) -> np.ndarray:
        """Events of censored times; of levels and numbers, the share of the comparable rows that are below a row."""
        if self.outcome.event is not None:
            return self.outcome.event.astype(np.float64)
        order = self.order
        both = order.degree > 0.0
        share = np.where(both, 0.5 + 0.5 * order.net / np.where(both, order.degree, 1.0), 0.5)
        return order.scattered(share)

    def take(self, index: np.ndarray) -> "OrderTarget":
        event = None if self.outcome.event is None else self.outcome.event[index]
        group, weight = (None if each is None else each[index] for each in (self.group, self.weight))
        return OrderTarget(self.order.subset(index), Outcome(self.outcome.values[index], event), group, weight)

    def judged_by(self, metric: str) -> "OrderTarget":
        return self

    def n_rarer(self) -> int:
        upper, lower = self.order.upper * self.order.mass_below, self.order.lower * self.order.mass_above
        return min(int((upper > 0.0).sum()), int((lower > 0.0).sum()))

    @property
    def _many_groups(self) -> bool:
        return len(self.order.group_ends) > 2

    def folds(self, n_folds: int, rng: np.random.Generator) -> np.ndarray | None:
        """Groups are dealt out whole; rows of one group along the order, those above none apart."""
        order = self.order
        if self.n_rarer() < _sizes.MIN_ROWS_FOR_CV:
            return None
        fold = np.full(self.size, -1)
        if len(order.group_ends) > n_folds:
            dealt = rng.permutation(len(order.group_ends) - 1) % n_folds
            fold[order.rows] = dealt[order.group]
            return fold
        along = order.rows[np.argsort(order.upper == 0.0, kind="stable")]
        rounds = rng.permuted(np.tile(np.arange(n_folds), (-(-len(along) // n_folds), 1)), axis=1)
        fold[along] = rounds.ravel()[: len(along)]
        return fold

    def drawn(self, limit: int, rng: np.random.Generator) -> np.ndarray:
        """Whole groups where there are some."""
        if self.size <= limit:
            return np.arange(self.size)
        order = self.order
        if not self._many_groups:
            return np.sort(rng.permutation(order.rows)[:limit])
        shuffled = rng.permutation(len(order.group_ends) - 1)
        count = max(1, int(np.searchsorted(np.cumsum(np.diff(order.group_ends)[shuffled]), limit, side="right")))
        return np.sort(order.rows[np.isin(order.group, shuffled[:count])])

    def spread(self, limit: int) -> np.ndarray:
        """Every k-th row along the order; whole groups where there are some."""
        if self._many_groups:
            return self.drawn(limit, np.random.default_rng(0))
        rows = self.order.rows
        return np.sort(rows[:: max(1, -(-len(rows) // limit))])

    def represented(self, chosen: np.ndarray) -> "OrderTarget":
        return self.take(chosen)

    def auc(self, scores: np.ndarray) -> np.ndarray:
        order = self.order
        if not order.total > 0.0:
            return np.full(len(scores), np.nan)
        return np.array([right_pairs(order, line)[0].sum() / order.degree.sum() for line in scores])

    def left_to_gain(self, auc: float) -> float:
        return 1.0 - auc

    def sums(self, basis: Basis, cells: Any, fold: np.ndarray | None = None) -> OrderSums:
        return OrderSums(basis, cells, self.order, self.weight, fold)

    def residuals(self, score: np.ndarray) -> PairResiduals:
        """What held-out scores leave to be explained, multiplied by what minimises their square loss."""
        order = self.order
        net, total = order.scattered(order.net), order.total
        product = order.laplacian(score)
        size = float(score @ product)
        factor = float(net @ score) / size if size > 0.0 else 0.0
        upper, lower = (order.scattered(mass) / total for mass in
                        (order.upper * order.mass_below, order.lower * order.mass_above))  # fmt: skip
        return PairResiduals(upper, lower, (net - factor * product) / total)

    def odds(self, scores: np.ndarray, every: "OrderTarget") -> Odds:
        """The odds that a row is ranked above one of score zero: for proportional hazards, the ratio of the hazards."""
        if self.size > _sizes.SLOPE_ROWS:
            some = self.spread(_sizes.SLOPE_ROWS)
            return self.take(some).odds(scores[some], every)
        size = float(scores.std()) or 1.0
        table = as_table(scores[:, None] / size)
        objective: Any = ordered_objective(table, self.order, "logistic", ORDER_SLOPE_PENALTY, 1e-6)
        state = newton.init(objective)
        while not state.finished and state.n_iter < SLOPE_STEPS:
            state = newton.update(state)
        return Odds(max(float(state.point.w[0]), MIN_SLOPE) / size, 0.0)

    def ranker_weights(self, ranker: Any, Z: Any) -> np.ndarray:
        model, rows = clone(ranker), MemoryDataset(as_table(Z))
        parts = OrderedRows(rows, np.array([Z.shape[0]]), self.outcome, self.group, self.weight, self.order)
        model._fit_rows(parts)
        return model.coef_[0]


class CardRows(NamedTuple):
    """Cells with what their rows are ranked by, and the fold that holds each row out."""

    cells: Any
    """An array or a CSR matrix."""
    target: Any
    """A `Target`."""
    fold: np.ndarray | None = None

    def take(self, index: np.ndarray) -> "CardRows":
        """Some of the rows."""
        fold = None if self.fold is None else self.fold[index]
        return CardRows(self.cells[index], self.target.take(index), fold)

    def in_fold(self, k: int) -> np.ndarray:
        """The numbers of the rows that fold k holds out."""
        return np.flatnonzero(self.fold == k)

    def outside(self, k: int) -> "CardRows":
        """The rows that fold k learns from."""
        assert self.fold is not None
        return self.take(np.flatnonzero((self.fold >= 0) & (self.fold != k)))

    def at_most(self, limit: int) -> "CardRows":
        """About ``limit`` rows, evenly spread."""
        return self.take(self.target.spread(limit))

    def sums(self, basis: Basis) -> BasisSums | OrderSums:
        """The sums of the target, by fold."""
        return self.target.sums(basis, self.cells, self.fold)
