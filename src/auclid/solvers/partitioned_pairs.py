"""Sums over all pairs of rows in parts: the rarer class is ranked in one place, the other never moves.

Each part places its own rows of the larger class into the ranked one. What the ranked rows need of it is a number for
each place, and these add over parts. So a value with its gradient, and a product with the Hessian, is one pass over the
parts each; a sample of the rows, solved in memory, says where to start and serves as preconditioner.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from auclid import _sizes
from auclid.data.array_tables import as_table
from auclid.data.dataset import Dataset, Part, Totals
from auclid.solvers.all_pairs import LinearSpace, PairPoint, SquaredHinges
from auclid.solvers.newton import Move, Preconditioner
from auclid.stats.labelled import LabelledDataset, drawn_places, drawn_rows, joined, keep_only
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

Hinges = tuple[tuple[float, float], ...]
"""Factors and margins of a sum of squared hinges."""


class PartTask(NamedTuple):
    """What a part must know of the two classes: which is the larger, and what its weights are divided by."""

    many: int
    largest: float
    sign: float
    """1 where the rarer class is the positive one, else -1: it turns the scores round."""
    hinges: Hinges


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
    own = np.ones(len(part.labels)) if part.weight is None else part.weight / largest
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
    at = part.members(task.many)
    own = part.weights(at) / task.largest
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


class PartitionedPoint(PairPoint):
    """Value, gradient and curvature at one w; scores are made anew where the rows are."""

    scores: Any = 0.0
    """Nothing: adds and scales as scores do."""

    def __init__(self, objective: SquaredHinges, w: np.ndarray, scores: Any = None) -> None:
        self.objective, self.w = objective, w

    @cached_property
    def _task(self) -> PartTask:
        return self.objective.space.task(self.objective.hinges)

    @cached_property
    def _ranked(self) -> Any:
        space = self.objective.space
        scores = space.few.map(part_scores, self.w, space.few_largest)
        return space.parts.persist(space.parts.merge(rank, scores, self._task.sign))

    @cached_property
    def _sums(self) -> Any:
        parts = self.objective.space.parts
        return parts.persist(parts.reduce(many_sums, self.w, self._task, self._ranked))

    @cached_property
    def _evaluated(self) -> Evaluated:
        space, parts = self.objective.space, self.objective.space.parts
        slopes = parts.merge(few_slopes, self._ranked, self._sums, self._task)
        found = parts.compute(parts.merge(assembled, self._sums, space.few.reduce(part_back, slopes)))
        return Evaluated(*(part / space.total for part in found))

    @cached_property
    def squares(self) -> Sequence[float]:
        """The mean of each squared hinge over all pairs."""
        return list(self._evaluated.squares)

    @cached_property
    def linear(self) -> Sequence[float]:
        """The mean over all pairs of each hinge that is not squared."""
        return list(self._evaluated.linear)

    @cached_property
    def gradient(self) -> np.ndarray:
        """The gradient of the objective by w."""
        return 2.0 * self._task.sign * self._evaluated.gradient + self.objective.alpha * self.w

    def move(self, w: np.ndarray) -> Move:
        """A direction, without scores."""
        return Move(w, 0.0)

    def slope_along(self, move: Move) -> float:
        """The derivative of the objective along a direction."""
        return self.gradient @ move.w

    def product(self, move: Move) -> np.ndarray:
        """The Hessian times a direction."""
        space, parts, task = self.objective.space, self.objective.space.parts, self._task
        both = np.column_stack([self.w, move.w])
        direction = parts.merge(direct, space.few.map(part_scores, move.w, space.few_largest), self._ranked)
        places = parts.reduce(many_products, both, task, self._ranked, direction)
        slopes = parts.merge(few_products, self._ranked, direction, self._sums, places, task)
        hessian_product = parts.compute(parts.merge(summed, places, space.few.reduce(part_back, slopes)))
        return (2.0 / space.total) * hessian_product + self.objective.alpha * move.w

    def preconditioner(self) -> Preconditioner:
        """That of the sample, at this w."""
        return self.objective.sample().at(self.w).preconditioner()


class PartitionedSpace(LinearSpace):
    """Scores X w of rows in parts, with a sample of the rows in memory.

    Parameters
    ----------
    rows : LabelledDataset
    few : Dataset
        The rows of the rarer class.
    sample : LinearSpace
        The sample, whose pairs are those of the objective.
    means : sequence of Moments
        Mean and weight of the negatives, and of the positives.
    """

    in_memory: ClassVar[bool] = False
    point_class = PartitionedPoint

    def __init__(self, rows: LabelledDataset, few: Dataset, sample: LinearSpace, means: Sequence[Moments]) -> None:
        self.rows, self.parts, self.few, self.sampled, self.means = rows, rows.parts, few, sample, means
        self.size = rows.parts.width

    @cached_property
    def few_set(self) -> int:
        """Which class is the rarer one."""
        return rarer_class(self.rows)

    @property
    def few_largest(self) -> float:
        """What the weights of the rarer class are divided by."""
        return float(self.rows.largest[self.few_set])

    def task(self, hinges: Hinges) -> PartTask:
        """What parts must know."""
        few = self.few_set
        return PartTask(1 - few, float(self.rows.largest[1 - few]), 1.0 if few == 1 else -1.0, hinges)

    @cached_property
    def total(self) -> float:
        """The weight of all pairs, weights of each class divided by the largest."""
        return float(np.prod([m.n / largest for m, largest in zip(self.means, self.rows.largest, strict=True)]))

    def start_norm(self, objective: Any) -> float:
        """The length of the gradient at w = 0, where all pairs are active: the class means tell it."""
        delta = self.means[1].mean - self.means[0].mean
        slope = 2.0 * sum(c * max(r, 0.0) for c, r in objective.hinges)
        return slope * float(np.linalg.norm(delta))

    def sample(self, objective: Any) -> Any:
        """The objective on the sample."""
        return replace(objective, space=self.sampled, tol=max(objective.tol, 1e-2))


def rarer_class(rows: LabelledDataset) -> int:
    """1 where the positives are the rarer class, or as many as the negatives; else 0."""
    negative, positive = rows.counts.sum(axis=0)
    return 1 if positive <= negative else 0


def partitioned_pairs(rows: LabelledDataset) -> tuple[PartitionedSpace, Pairs]:
    """The space of labelled rows in parts, and the pairs of its sample.

    Two passes: for a sample and the class means, and for the rows of the rarer class, which are kept.
    """
    size = max(2000, 10 * rows.parts.width, _sizes.SAMPLE_BYTES // (8 * max(1, rows.parts.width)))
    parts = rows.parts.compute(rows.parts.map(sample_and_means, drawn_places(rows, [size, size])))
    means = parts[0][1]
    for _, more in parts[1:]:
        means = means + more
    X, label, weight = joined([each for each, _ in parts])
    few: Dataset = keep_only(rows, rarer_class(rows))
    return PartitionedSpace(rows, few, LinearSpace(as_table(X)), tuple(means)), Pairs(label == 1, weight)


def sample_and_means(part: Part, wanted: list) -> tuple[Any, Totals]:
    """The sampled rows of a part, and its class means."""
    return drawn_rows(part, wanted), Totals(grouped_moments(as_table(part.X), part.labels, 2, part.weight, full=False))
