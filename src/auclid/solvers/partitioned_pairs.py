"""The objective of RankSVM for rows in parts: the rarer class is ranked in one place, the other never moves.

Each part places its own rows of the larger class into the ranked one. What the ranked rows need of it is a number for
each place, and these add over parts. So a value with its gradient, and a product with the Hessian, is one pass over the
parts each; a sample of the rows, solved in memory, says where to start and serves as preconditioner.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from auclid.data.dataset import Dataset, Part, Totals
from auclid.data.memory import as_table
from auclid.solvers.all_pairs import Gap, LinearSpace, SmoothHinge, SquaredHinges
from auclid.solvers.newton import Move, Preconditioner
from auclid.stats.labelled import LabelledDataset, drawn_places, joined, keep_only, part_rows
from auclid.stats.moments import Moments, grouped_moments
from auclid.stats.pair_sums import (
    ActiveBlock,
    Pairs,
    SortedClass,
    count_below,
    partner_sums,
    running_sums,
    sorted_class,
)

SAMPLE_BYTES = 1 << 23
"""Rows of each class, in float64, that are solved in memory beforehand."""


class PartTask(NamedTuple):
    """What a part must know of the two classes: which is the larger, and what its weights are divided by."""

    many: int
    largest: float
    sign: float
    """1 where the rarer class is the positive one, else -1: it turns the scores round."""
    hinges: tuple[tuple[float, float], ...]


class Ranked(NamedTuple):
    """The rarer class by ascending score about a whole number; ``order`` sorts its rows as the parts have them."""

    few: SortedClass
    centre: float
    order: np.ndarray
    ends: np.ndarray


class Evaluated(NamedTuple):
    """What one pass tells of a point; values are sums over pairs, an entry a hinge."""

    squares: np.ndarray
    linear: np.ndarray
    gradient: np.ndarray


def part_scores(part: Part, w: np.ndarray, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores and weights of a part's rows."""
    own = np.ones(len(part.y)) if part.weight is None else part.weight / largest  # type: ignore[arg-type]
    return as_table(part.X).matmul(w), own


def rank(scores: list[tuple[np.ndarray, np.ndarray]], sign: float) -> Ranked:
    """The rows of all parts by their scores."""
    score, own = (np.concatenate([each[k] for each in scores]) for k in range(2))
    centre = float(np.rint(score.mean()))
    score = sign * (score - centre)
    order = np.argsort(score, kind="stable")
    ends = np.cumsum([len(each[0]) for each in scores])
    return Ranked(sorted_class(score[order], own[order]), centre, order, ends)


def _placed(part: Part, task: PartTask, scores: np.ndarray, ranked: Ranked) -> tuple[np.ndarray, list]:
    """The rows of a part that are of the larger class, and where each lies in the other for each of the hinges."""
    assert part.y is not None
    here = part.y == task.many
    at = np.flatnonzero(here if part.weight is None else here & (part.weight > 0.0))
    own = np.ones(len(at)) if part.weight is None else part.weight[at] / task.largest
    score = task.sign * (scores[at] - ranked.centre)
    few = ranked.few
    return at, [(c, ActiveBlock(few, score, own, r, count_below(few.score - r, score))) for c, r in task.hinges]


def many_sums(part: Part, w: np.ndarray, task: PartTask, ranked: Ranked) -> Totals:
    """What the rows of the larger class in a part add: values, gradient, and weight and score at each place."""
    table = as_table(part.X)
    at, blocks = _placed(part, task, table.matmul(w), ranked)
    slope, own = np.zeros(table.shape[0]), blocks[0][1].own
    slope[at] = own * sum(c * block.linear() for c, block in blocks)
    return Totals([
        np.array([own @ block.squares() for _, block in blocks]),
        np.array([own @ block.linear() for _, block in blocks]),
        table.rmatmul(slope),
        np.array([[block.place_sums(), block.place_sums(block.score)] for _, block in blocks]),
    ])  # fmt: skip


def few_slopes(ranked: Ranked, sums: Totals, task: PartTask) -> list[np.ndarray]:
    """The slope of the objective by each score of the rarer class, up to a factor, in the order of the parts."""
    slope = np.zeros(len(ranked.order))
    for (c, margin), (mass, score) in zip(task.hinges, sums[3], strict=True):
        slope += c * (partner_sums(mass) * (ranked.few.score - margin) - partner_sums(score))
    return _in_parts(ranked, ranked.few.own * slope)


def _in_parts(ranked: Ranked, values: np.ndarray) -> list[np.ndarray]:
    """Values of the sorted rows, where the rows stand in their parts."""
    out = np.empty(len(values))
    out[ranked.order] = values
    return np.split(out, ranked.ends[:-1])


def part_back(part: Part, slopes: list[np.ndarray]) -> np.ndarray:
    """X' u of a part."""
    return as_table(part.X).rmatmul(slopes[part.number])


def assembled(sums: Totals, back: np.ndarray) -> Evaluated:
    """Without what is as long as the rarer class."""
    return Evaluated(sums[0], sums[1], sums[2] + back)


class Direction(NamedTuple):
    """What a direction does to the scores of the ranked rows: about their mean, and summed up to each place."""

    u: np.ndarray
    mean: float
    sums: np.ndarray


def direct(scores: list[tuple[np.ndarray, np.ndarray]], ranked: Ranked) -> Direction:
    """The scores of a direction, sorted as the rows are."""
    u = np.concatenate([each[0] for each in scores])[ranked.order]
    mean = float(u.mean())
    return Direction(u - mean, mean, running_sums(ranked.few.own * (u - mean)))


def many_products(part: Part, both: np.ndarray, task: PartTask, ranked: Ranked, direction: Direction) -> Totals:
    """What the rows of the larger class in a part add to a product with the Hessian; ``both``: weights, direction."""
    table = as_table(part.X)
    scores = table.matmul(both)
    at, blocks = _placed(part, task, scores[:, 0], ranked)
    u, hessian_product, own = scores[at, 1] - direction.mean, np.zeros(table.shape[0]), blocks[0][1].own
    hessian_product[at] = own * sum(c * block.differences(u, direction.sums) for c, block in blocks)
    return Totals([table.rmatmul(hessian_product), np.array([block.place_sums(u) for _, block in blocks])])


def few_products(
    ranked: Ranked, direction: Direction, sums: Totals, places: Totals, task: PartTask
) -> list[np.ndarray]:
    """What each row of the rarer class adds to a product with the Hessian, in the order of the parts."""
    hessian_product = np.zeros(len(ranked.order))
    for (c, _), (mass, _), u in zip(task.hinges, sums[3], places[1], strict=True):
        hessian_product += c * (partner_sums(mass) * direction.u - partner_sums(u))
    return _in_parts(ranked, ranked.few.own * hessian_product)


def summed(places: Totals, back: np.ndarray) -> np.ndarray:
    """X' u of all rows."""
    return places[0] + back


class PartitionedPoint:
    """Value, gradient and curvature at one w."""

    def __init__(self, objective: Any, w: np.ndarray) -> None:
        self.objective, self.w, self.scores = objective, w, 0.0

    @cached_property
    def _ranked(self) -> Any:
        parts, few = self.objective.rows.parts, self.objective.few
        scores = few.map(part_scores, self.w, self.objective.few_largest)
        return parts.persist(parts.merge(rank, scores, self.objective.task.sign))

    @cached_property
    def _sums(self) -> Any:
        parts = self.objective.rows.parts
        return parts.persist(parts.reduce(many_sums, self.w, self.objective.task, self._ranked))

    @cached_property
    def _known(self) -> Evaluated:
        objective, parts, few = self.objective, self.objective.rows.parts, self.objective.few
        slopes = parts.merge(few_slopes, self._ranked, self._sums, objective.task)
        known = parts.compute(parts.merge(assembled, self._sums, few.reduce(part_back, slopes)))
        return Evaluated(*(part / objective.total for part in known))

    @cached_property
    def square(self) -> float:
        """|w|^2"""
        return float(self.w @ self.w)

    @cached_property
    def value(self) -> float:
        """The objective."""
        loss = sum(c * value for (c, _), value in zip(self.objective.hinges, self._known.squares, strict=True))
        return float(loss) + 0.5 * self.objective.alpha * self.square

    @cached_property
    def gradient(self) -> np.ndarray:
        """Its gradient by w."""
        return 2.0 * self.objective.task.sign * self._known.gradient + self.objective.alpha * self.w

    @cached_property
    def norm(self) -> float:
        """The length of the gradient."""
        return float(np.linalg.norm(self.gradient))

    def move(self, w: np.ndarray) -> Move:
        """A direction; scores are made anew where the rows are."""
        return Move(w, 0.0)

    def exact(self, move: Move) -> Move:
        """The direction as it is."""
        return move

    def inner(self, move: Move, v: np.ndarray) -> float:
        """move . v"""
        return move.w @ v

    def slope_along(self, move: Move) -> float:
        """The derivative of the objective along a direction."""
        return self.gradient @ move.w

    def product(self, move: Move) -> np.ndarray:
        """The Hessian times a direction."""
        objective, parts, few = self.objective, self.objective.rows.parts, self.objective.few
        task, both = objective.task, np.column_stack([self.w, move.w])
        direction = parts.merge(direct, few.map(part_scores, move.w, objective.few_largest), self._ranked)
        places = parts.reduce(many_products, both, task, self._ranked, direction)
        slopes = parts.merge(few_products, self._ranked, direction, self._sums, places, task)
        hessian_product = parts.compute(parts.merge(summed, places, few.reduce(part_back, slopes)))
        return (2.0 / objective.total) * hessian_product + objective.alpha * move.w

    def preconditioner(self) -> Preconditioner:
        """That of the sample, at this w."""
        return replace(self.objective.small, hinges=self.objective.hinges).at(self.w).preconditioner()

    @cached_property
    def hinge_value(self) -> float:
        """The objective with the hinge itself in place of its smooth neighbours."""
        return float(self._known.linear[0]) + 0.5 * self.objective.alpha * self.square

    @cached_property
    def gap(self) -> Gap:
        """How far the hinge's objective may be above its optimum."""
        outer, inner = self._known.linear
        alpha, dual = self.objective.alpha, self.w - self.gradient / self.objective.alpha
        bound = float(outer - inner) / self.objective.width - 0.5 * alpha * float(dual @ dual)
        return Gap(max(self.hinge_value - bound, 0.0), bound)

    @property
    def certified(self) -> bool:
        """Whether the objective is within ``tol`` of the optimum. w = 0 ranks nothing, so it never is."""
        near = self.gap.gap <= self.objective.tol * self.gap.bound + 1e-12
        return near and (self.square > 0.0 or self.norm == 0.0)


@dataclass(frozen=True, eq=False)
class PartitionedSquaredHinges(SquaredHinges):
    """mean over pairs of sum_k c_k (r_k - m)_+^2, plus alpha/2 |w|^2, of rows in parts.

    ``small`` is the same for a sample in memory, ``means`` the class means (negative, positive).
    """

    rows: Any = None
    few: Any = None
    small: Any = None
    means: tuple[Moments, ...] = ()

    @property
    def size(self) -> int:
        return self.rows.parts.width

    @property
    def _few_set(self) -> int:
        negative, positive = self.rows.counts.sum(axis=0)
        return 1 if positive <= negative else 0

    @property
    def few_largest(self) -> float:
        """What the weights of the rarer class are divided by."""
        return float(self.rows.largest[self._few_set])

    @property
    def task(self) -> PartTask:
        """What parts must know."""
        few = self._few_set
        return PartTask(1 - few, float(self.rows.largest[1 - few]), 1.0 if few == 1 else -1.0, self.hinges)

    @cached_property
    def total(self) -> float:
        """The weight of all pairs, weights of each class divided by the largest."""
        return float(np.prod([m.n / largest for m, largest in zip(self.means, self.rows.largest, strict=True)]))

    @cached_property
    def start_norm(self) -> float:
        """The length of the gradient at w = 0, where all pairs are active: the class means tell it."""
        delta = self.means[1].mean - self.means[0].mean
        slope = 2.0 * sum(c * max(r, 0.0) for c, r in self.hinges)
        return slope * float(np.linalg.norm(delta))

    def at(self, w: np.ndarray, scores: Any = None) -> Any:
        return PartitionedPoint(self, w)

    def sample(self) -> Any:
        return self.small


@dataclass(frozen=True, eq=False)
class PartitionedSmoothHinge(PartitionedSquaredHinges, SmoothHinge):
    """The hinge of rows in parts, by the continuation of `SmoothHinge`."""

    hinges: tuple[tuple[float, float], ...] = ((0.5, 1.0), (-0.5, 0.0))

    def sample(self) -> Any:
        return self.small


PARTITIONED: dict[type, type] = {SquaredHinges: PartitionedSquaredHinges, SmoothHinge: PartitionedSmoothHinge}
"""The objectives of rows in parts, by those of one table."""


Hinges = tuple[tuple[float, float], ...]
"""Factors and margins of a sum of squared hinges."""


def partitioned_objective(
    kind: type, rows: LabelledDataset, alpha: float, tol: float, hinges: Hinges | None = None
) -> Any:
    """The objective of a kind for labelled rows in parts, with other squared hinges than its own where some are given.

    Two passes: for a sample and the class means, and for the rows of the rarer class, which are kept.
    """
    counts = rows.counts.sum(axis=0)
    size = max(2000, 10 * rows.parts.width, SAMPLE_BYTES // (8 * max(1, rows.parts.width)))
    found = rows.parts.compute(rows.parts.map(sample_and_means, drawn_places(rows, [size, size])))
    means = found[0][1]
    for _, more in found[1:]:
        means = means + more
    X, label, weight = joined([each for each, _ in found])
    space, pairs = LinearSpace(as_table(X)), Pairs(label == 1, weight)
    terms = {} if hinges is None else {"hinges": hinges}
    small = kind(space, pairs, alpha, max(tol, 1e-2) if kind is SquaredHinges else tol, **terms)
    few: Dataset = keep_only(rows, 1 if counts[1] <= counts[0] else 0)
    return PARTITIONED[kind](space, pairs, alpha, tol, **terms, rows=rows, few=few, small=small, means=tuple(means))


def sample_and_means(part: Part, wanted: list) -> tuple[Any, Totals]:
    """The sampled rows of a part, and its class means."""
    assert part.y is not None
    return part_rows(part, wanted), Totals(grouped_moments(as_table(part.X), part.y, 2, part.weight, full=False))
