"""RankSVM's objective on the soft top: squared hinges, or the hinge by a continuation of smooth losses."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from auclid.data import sizes
from auclid.solvers.all_pairs import WIDE, PairPoint, SquaredHinges, diagonal, hessian, inverse_of
from auclid.solvers.hinge import Gap, narrower, smooth_hinge
from auclid.solvers.newton import Move, Preconditioner
from auclid.solvers.top import Edge, Side, find_top
from auclid.stats.pair_sums import Pairs, draw

SOFTEST = 0.1
"""Where the continuation in softness begins."""

FALL = 0.3
"""By which softness falls from one objective of the continuation to the next."""

ENOUGH = 20
"""Rows a column that the top of a sample must have, so that its optimum is near that of all rows."""

VANISHING = 1e-3
"""Spread of the scores below which weights of the optimum are scaled up."""

LENGTHS = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03, 0.01, 0.0)
"""Tried of the optimum of all pairs: where the top is hard, weights are short."""


class SoftTopPoint(PairPoint):
    """The soft top at one w: the pairs of rows that are inside it, weighed by how far they are."""

    objective: "SoftTop"

    def __init__(self, objective: "SoftTop", w: np.ndarray, scores: np.ndarray) -> None:
        self.objective, self.w, self.scores = objective, w, scores
        self.sides = objective.sides(scores)
        self.top = find_top(self.sides, objective.softness)
        first, inside = self.sides[0], self.top.selections[0].inside
        index = np.flatnonzero(inside)
        own = objective.pairs.many_mass[index] * inside[index]
        self.active = first.weighing(own, index, first.facing_mass * float(own.sum()))
        self.ranking = self.active[0][1].ranking

    @cached_property
    def value(self) -> float:
        """The objective."""
        return self.top.value + 0.5 * self.objective.alpha * self.square

    @cached_property
    def edges(self) -> list[Edge]:
        """The rows of each class that a step moves into its top or out of it."""
        softness = self.objective.softness
        return [Edge(side, chosen, softness) for side, chosen in zip(self.sides, self.top.selections, strict=True)]

    @cached_property
    def gap(self) -> Gap:
        """How far, at most, the objective is above its optimum: it is strongly convex with modulus alpha."""
        gap = float(self.norm**2 / (2.0 * self.objective.alpha))
        return Gap(gap, self.value - gap)

    @property
    def published(self) -> float:
        """The objective that the user asked for."""
        return float(self.value)

    @property
    def unique(self) -> bool:
        """Whether the two tops are the only ones that are best for each other, so that they are the maximum."""
        if len(self.sides) == 1:
            return True
        other = find_top(self.objective.sides(self.scores), self.objective.softness, hard=True)
        return abs(other.value - self.top.value) <= 1e-9 * abs(self.top.value)

    def product(self, move: Move) -> np.ndarray:
        """The (generalised) Hessian times a direction: pairs bend, and rows come into the top and leave it."""
        u = move.scores - move.scores.mean()
        bent: Any = sum(c * active.square_product(u) for c, active in self.active)
        bent = bent + sum(edge.product(u) for edge in self.edges)
        return self.objective.space.gradient(bent) + self.objective.alpha * move.w

    def preconditioner(self) -> Preconditioner:
        """From the Hessian of a sample of the rows or, of very many columns, from its diagonal."""
        if self.objective.size > WIDE:
            root = np.sqrt(diagonal(self))
            return lambda v: v / root
        some: Any = self._near_rows()
        H = hessian(some) + sum(edge.hessian(some.objective.space.table) for edge in some.edges)
        if some is not self:
            H[np.diag_indices_from(H)] += np.maximum(diagonal(self) - diagonal(some), 0.0)
        return inverse_of(H)

    def _near_rows(self) -> Any:
        """The same point for some of the rows that are inside, enough of them for a Hessian."""
        objective, d = self.objective, self.objective.size
        size = max(2000, 5 * d, min(objective.pairs.n // 16, sizes.LARGE_BYTES // (8 * d)))
        chosen, shares = [], []
        for side, selection in zip(self.sides, self.top.selections, strict=True):
            inside = np.flatnonzero(selection.inside)
            chosen.append(draw(side.pairs.many[inside], size))
            shares.append(min(1.0, selection.mass / float(side.pairs.many_mass[inside].sum())))
        if len(self.sides) == 1:
            chosen.append(draw(objective.pairs.few, size))
            shares.append(1.0)
        rows = np.sort(np.concatenate(chosen))
        if len(rows) >= 0.8 * objective.pairs.n_weighed:
            return self
        some = replace(objective.subset(rows), share=shares[0], other_share=shares[1])
        return some.at(self.w, self.scores[rows])


@dataclass(frozen=True, eq=False)
class SoftTop(SquaredHinges):
    """The soft top with squared hinges, until the gap is ``tol`` of the optimum.

    ``pairs`` sort the class that is cut last: ``share`` is the part of the placed class's weight that makes its top,
    ``other_share`` that of the sorted one's. ``softness`` falls to ``least_softness``, from one objective to the next.
    """

    share: float = 1.0
    other_share: float = 1.0
    least_softness: float = 0.1
    softness: float = SOFTEST
    point_class: ClassVar[Any] = SoftTopPoint
    kinked: ClassVar[bool] = True

    def at(self, w: np.ndarray, scores: np.ndarray | None = None) -> Any:
        """The objective seen from w."""
        return self.point_class(self, w, self.space.scores(w) if scores is None else scores)

    def sides(self, scores: np.ndarray) -> tuple[Side, ...]:
        """The classes that are cut."""
        first = Side(self.pairs, scores, self.hinges, self.share)
        if self.other_share == 1.0:
            return (first,)
        return first, Side(self.other_pairs, scores, self.hinges, self.other_share)

    @cached_property
    def other_pairs(self) -> Pairs:
        """The pairs with the other class sorted."""
        return Pairs(self.pairs.is_pos, self.pairs.weight, not self.pairs.sort_positives)

    def subset(self, chosen: np.ndarray, space: Any = None) -> Self:
        """The same for some of the rows, one of each class at the top at least."""
        few = super().subset(chosen, space)
        share, other_share = max(self.share, 1.0 / len(few.pairs.many)), self.other_share
        if other_share < 1.0:
            other_share = max(other_share, 1.0 / len(few.pairs.few))
        return replace(few, share=min(1.0, share), other_share=other_share)

    @property
    def last(self) -> bool:
        """Whether softness has fallen to what was asked for."""
        return self.softness <= self.least_softness

    def target(self, point: Any) -> float:
        """How short the gradient must become for its part of the gap, |g|^2 / (2 alpha)."""
        tol = self.tol if self.last else max(self.tol, 1e-2)
        return float(np.sqrt(2.0 * self.alpha * tol / (1.0 + tol) * point.value))

    def refined(self, point: Any) -> Self | None:
        """The same with less softness, until the last one."""
        return None if self.last else replace(self, softness=max(FALL * self.softness, self.least_softness))

    def sample(self) -> Any:
        """The same for a sample of the rows, where its top has rows enough; else the objective of all pairs."""
        sample = super().sample()
        if sample is not None and sample.smallest_top >= ENOUGH * self.size:
            return sample
        pairs = Pairs(self.pairs.is_pos, self.pairs.weight)
        return SquaredHinges(self.space, pairs, self.alpha, max(self.tol, 1e-2), self.hinges)

    @property
    def smallest_top(self) -> float:
        """The rows of the smaller top."""
        return min(self.share * len(self.pairs.many), self.other_share * len(self.pairs.few))

    def resumed(self, sample: Any) -> Self:
        """All rows start with the softness that a sample ended with."""
        return replace(self, softness=sample.softness) if isinstance(sample, SoftTop) else self

    def begin(self, solved: Any) -> tuple[Any, Preconditioner | None]:
        """Where a sample ends; or the direction that is best for all pairs, as far as it is good for the top."""
        if isinstance(solved.objective, SoftTop):
            return super().begin(solved)
        points = [self.at(factor * solved.w, factor * solved.scores) for factor in LENGTHS]
        return min(points, key=lambda point: point.value), None

    def published_value(self, point: Any) -> float:
        """The objective that the user asked for."""
        return point.published

    def published_weights(self, point: Any) -> np.ndarray:
        """The weights at a point; scaled up, which changes no ranking, where the scores they give almost vanish."""
        spread = float(point.scores.std())
        return point.w / spread if 0.0 < spread < VANISHING else point.w

    def relative_gap(self, point: Any) -> float:
        """How far, at most, the objective is above the optimum, as a share of it; 1 where nothing is known."""
        return min(1.0, point.gap.gap / point.published) if point.unique else 1.0


class SoftTopHingePoint(SoftTopPoint):
    """A point of the smoothed hinge on the soft top, with the dual's bound for the hinge itself."""

    objective: "SoftTopHinge"

    @cached_property
    def published(self) -> float:
        """The objective with the hinge itself."""
        sides = self.objective.sides(self.scores)
        top = find_top(sides, self.objective.softness, lambda active: active.block.linear())
        return float(top.value + 0.5 * self.objective.alpha * self.square)

    @cached_property
    def gap(self) -> Gap:
        """How far the hinge's objective may be above its optimum."""
        alpha, (_, outer), (_, inner) = self.objective.alpha, *self.active
        dual = self.w - self.gradient / alpha
        slopes = (outer.linear_value() - inner.linear_value()) / self.objective.width
        slopes -= sum(selection.penalty for selection in self.top.selections)
        bound = slopes - 0.5 * alpha * self.objective.space.norm(dual) ** 2
        return Gap(max(self.published - bound, 0.0), bound)

    @property
    def certified(self) -> bool:
        """Whether the objective is within ``tol`` of the optimum."""
        return self.objective.last and self.gap.gap <= self.objective.tol * self.gap.bound + 1e-12


@dataclass(frozen=True, eq=False)
class SoftTopHinge(SoftTop):
    """The soft top with the hinge: first softness falls, then the width of the parabola in place of the kink."""

    hinges: tuple[tuple[float, float], ...] = smooth_hinge(1.0)
    width: float = 1.0
    point_class: ClassVar[Any] = SoftTopHingePoint

    def target(self, point: Any) -> float:
        """The gradient's part of the gap, |g|^2 / (2 alpha), shall be small against the whole."""
        return float(np.sqrt(0.4 * self.alpha * point.gap.gap)) if self.last else super().target(point)

    def reached(self, point: Any) -> bool:
        """Whether the gap is small enough, or is mostly that between the smooth loss and the hinge."""
        return point.certified or point.norm <= self.target(point)

    def refined(self, point: Any) -> Self | None:
        """Less softness; then a narrower parabola, as that of the hinge over all pairs."""
        if not self.last:
            return super().refined(point)
        return None if point.certified else self.narrowed(narrower(self.width, self.tol, point.gap))

    def narrowed(self, width: float) -> Self:
        """The same with a narrower parabola."""
        return replace(self, width=width, hinges=smooth_hinge(width))

    def resumed(self, sample: Self) -> Self:
        """Go on from the softness and near the width that were enough for a sample."""
        if not isinstance(sample, SoftTopHinge):
            return self
        return super().resumed(sample).narrowed(min(1.0, 2.0 * sample.width))
