"""The objective of RankSVM for a partial AUC, the soft top: only pairs of the highest-scored negatives
and the lowest-scored positives count.

With l_ij the loss of a pair, k and m the weights of the two tops,

    F(w) = max over q, p of  sum_ij p_i q_j l_ij(w) - softness/2 (k |q|^2 - 1) - softness/2 (m |p|^2 - 1),

where 0 <= q_j <= 1/k and 0 <= p_i <= 1/m add up to 1. A maximum of convex functions is convex; softness -> 0 gives the
mean over the two tops, which has kinks where the row at a cut changes, and F is above it by softness at the most. For
any softness above 0, q is a clipped straight line in the rows' mean losses, and F is smooth. With weights, |q|^2 is
sum_j q_j^2 / v_j. Where a class is not cut, its p or q is 1/n throughout.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from auclid import _sizes
from auclid._generic import kernel
from auclid.data.dataset import Part, Totals
from auclid.metrics._sample import Region
from auclid.solvers.all_pairs import (
    Gap,
    PairPoint,
    SquaredHinges,
    diagonal,
    hessian,
    inverse_of,
    mean_slope,
    narrower,
    smooth_hinge,
)
from auclid.solvers.newton import Move, Preconditioner
from auclid.stats.labelled import LabelledDataset
from auclid.stats.pair_sums import ActivePairs, Pairs, count_below, draw, running_sums

ALMOST = 1.0 - 1e-9
"""One row, but for rounding."""

HARD = 1e-11
"""Softness that rounding of the losses leaves nothing of: the top is cut between two rows."""


def checked_region(owner: str, max_fpr: Any, min_tpr: float, n_pos: float, n_neg: float) -> Region:
    """The region, given the number of rows of each class; or a sentence that says how few rows it would leave."""
    max_fpr = 1.0 / n_neg if max_fpr == "top" else float(max_fpr)
    region = Region(max_fpr, float(min_tpr))
    if max_fpr * n_neg < ALMOST:
        raise ValueError(
            f"max_fpr={max_fpr:g} of {owner} must leave at least one of the {n_neg:g} negative rows; it leaves "
            f"{max_fpr * n_neg:.3g} of a row. Raise it to {np.ceil(1e4 / n_neg) / 1e4:.4g} or more."
        )
    if (1.0 - region.min_tpr) * n_pos < ALMOST:
        raise ValueError(
            f"min_tpr={region.min_tpr:g} of {owner} must leave at least one of the {n_pos:g} positive rows; it leaves "
            f"{(1.0 - region.min_tpr) * n_pos:.3g} of a row. Lower it to {1.0 - 1.0 / n_pos:.4g} or less."
        )
    return region


def rows_of(members: np.ndarray, weight: np.ndarray | None) -> float:
    """How many rows a class has; their weight where that is more, since weights may be repetitions."""
    if weight is None:
        return float(members.sum())
    return float(max((members & (weight > 0.0)).sum(), weight[members].sum()))


def class_sizes(rows: LabelledDataset, weighted: bool) -> tuple[float, float]:
    """How many positives and negatives there are; as `rows_of` counts them, in a pass, where weights matter."""
    n_neg, n_pos = rows.counts.sum(axis=0)[:2].tolist()
    if not weighted:
        return float(n_pos), float(n_neg)
    neg, pos = rows.parts.compute(rows.parts.reduce(part_weights))
    return float(max(n_pos, pos)), float(max(n_neg, neg))


def part_weights(part: Part) -> Totals:
    """The weight of the negatives and of the positives of a part."""
    return Totals(float(part.weights(part.members(label)).sum()) for label in (0, 1))


ALTERNATIONS = 200
"""Turns at the most between the two tops; each shrinks the error by a factor of about softness squared."""

Losses = Callable[[ActivePairs], np.ndarray]
"""For each placed row, the sum of a loss over its pairs."""


class Selection(NamedTuple):
    """How far each row of a class is in its top (0 to 1); the weight of the top; its mean loss; what softness costs."""

    inside: np.ndarray
    mass: float
    loss: float
    penalty: float


def select(loss: np.ndarray, own: np.ndarray, mass: float, softness: float) -> Selection:
    """The soft top of weight ``mass`` of rows that weigh ``own``: inside_j = clip((L_j - tau) / softness, 0, 1)."""
    if softness <= HARD:
        inside = hard_top(loss, own, mass)
    else:
        inside = np.clip((loss - top_threshold(loss, own, mass, softness)) / softness, 0.0, 1.0)
    weight = own * inside
    if not weight.any():  # losses so large that softness is lost in their rounding: the top is the greatest of them
        inside = (loss == loss[own > 0.0].max()).astype(np.float64)
        weight = own * inside
    weight *= 1.0 / weight.sum()
    return Selection(inside, mass, float(weight @ loss), 0.5 * softness * (float(weight @ inside) - 1.0))


@kernel
def top_threshold(loss: np.ndarray, own: np.ndarray, mass: float, softness: float) -> float:
    """The tau with sum_j own_j clip((loss_j - tau) / softness, 0, 1) = mass, by safeguarded Newton steps."""
    low, high = loss[0], loss[0]
    for x in loss:
        low, high = min(low, x), max(high, x)
    low -= softness
    tau = 0.5 * (low + high)
    for _ in range(200):
        filled, edge = 0.0, 0.0
        for j in range(loss.shape[0]):
            part = (loss[j] - tau) / softness
            if part >= 1.0:
                filled += own[j]
            elif part > 0.0:
                filled += own[j] * part
                edge += own[j]
        if filled > mass:
            low = tau
        else:
            high = tau
        if abs(filled - mass) <= 1e-12 * mass:  # a sum over many rows is no more exact than that
            break
        step = tau + (filled - mass) * softness / edge if edge > 0.0 else low
        following = step if low < step < high else 0.5 * (low + high)
        if following == tau:
            break
        tau = following
    return tau


class Side:
    """One class that is cut, seen from the other: its rows are placed into the other's, which are sorted."""

    def __init__(self, pairs: Pairs, scores: np.ndarray, hinges: tuple[tuple[float, float], ...], share: float) -> None:
        self.pairs, self.ranking = pairs, pairs.rank(scores)
        few, many = self.ranking.few.score, self.ranking.many
        self.full = [(c, self.ranking.active(r, count_below(few - r, many))) for c, r in hinges]
        self.active = self.full
        self.mass = share * float(pairs.many_mass.sum())

    def face(self, inside: np.ndarray) -> None:
        """Let the rows of the other class weigh ``inside`` times as much."""
        ranking = self.ranking.reweighed(inside)
        self.active = [(c, active.facing(ranking)) for c, active in self.full]

    @property
    def facing_mass(self) -> float:
        """The weight of the rows of the other class."""
        return float(self.active[0][1].ranking.few.mass[-1])

    def losses(self, sums: Losses | None) -> Any:
        """The mean loss of each row's pairs: of the squared hinges, or of ``sums`` of the first one's pairs."""
        if sums is not None:
            return sums(self.active[0][1]) / self.facing_mass
        return sum(c * active.block.squares() for c, active in self.active) / self.facing_mass

    def select(self, softness: float, sums: Losses | None = None) -> Selection:
        """The soft top of the class."""
        return select(self.losses(sums), self.pairs.many_mass, self.mass, softness)

    def weighing(self, own: np.ndarray, index: np.ndarray, total: float) -> list[tuple[float, ActivePairs]]:
        """The pairs of the rows at ``index``, which weigh ``own``; all pairs weigh ``total``."""
        return [(c, active.reweighed(own, total, index)) for c, active in self.active]


class Top(NamedTuple):
    """Both tops at one w: a selection of each side, and the value of the soft top."""

    selections: tuple[Selection, ...]

    @property
    def value(self) -> float:
        """sum p q l - penalties"""
        return self.selections[0].loss - sum(selection.penalty for selection in self.selections)

    def pairs_of(self, first: Side) -> list[tuple[float, ActivePairs]]:
        """The pairs of the rows inside both tops, weighed by how far they are inside."""
        inside = self.selections[0].inside
        index = np.flatnonzero(inside)
        own = first.pairs.many_mass[index] * inside[index]
        return first.weighing(own, index, first.facing_mass * float(own.sum()))


def find_top(sides: tuple[Side, ...], softness: float, sums: Losses | None = None, hard: bool = False) -> Top:
    """The maximising q, or q and p in turns: each is best for the other, and this is so for one pair of them only.

    Turns begin with all rows of the second class or, if ``hard``, with those at its very top. The more one of q and p
    is at its top, the more the other is (the loss has increasing differences), so the two starts end at the least
    and at the greatest fixed point; where these agree there is no other, and the maximum is the largest of all.
    """
    if len(sides) == 1:
        return Top((sides[0].select(softness, sums),))
    first, second = sides
    inside = np.ones(len(second.pairs.many))
    if hard:
        inside = hard_top(second.ranking.many, second.pairs.many_mass, second.mass)
    for _ in range(ALTERNATIONS):
        first.face(inside)
        of_first = first.select(softness, sums)
        second.face(of_first.inside)
        of_second = second.select(softness, sums)
        change = np.abs(of_second.inside - inside).max()
        inside = of_second.inside
        if change <= 1e-13:
            break
    first.face(inside)
    return Top((first.select(softness, sums), of_second))


def hard_top(score: np.ndarray, own: np.ndarray, mass: float) -> np.ndarray:
    """How far rows are in the top of weight ``mass``: 1 above the cut, a fraction at it (shared by ties), 0 below."""
    order = np.argsort(-score)
    above = running_sums(own[order])
    place = min(int(np.searchsorted(above, mass * (1.0 - 1e-12), side="left")), len(score)) - 1
    cut = score[order[max(place, 0)]]
    tied, inside = score == cut, (score > cut).astype(np.float64)
    inside[tied] = min(1.0, max(0.0, mass - float(own @ inside)) / float(own[tied].sum()))
    return inside


def loss_change(active: ActivePairs, u: np.ndarray) -> np.ndarray:
    """For each placed row: the change of its sum of (c - m)_+^2 for a change u of all scores."""
    block, own = active.block, active.ranking.few.own * u[active.ranking.rows]
    met = block.score * running_sums(own)[block.below] - running_sums(own * block.t)[block.below]
    return 2.0 * active.ranking.pairs.sign * (block.linear() * u[active.rows] - met)


def loss_gradients(active: ActivePairs, sorted_rows: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """For each placed row, one of ``rows``: the gradient by w of its sum of (c - m)_+^2."""
    block, weighed = active.block, sorted_rows * active.ranking.few.own[:, None]
    sums, moments = (np.zeros((len(weighed) + 1, weighed.shape[1])) for _ in range(2))
    np.cumsum(weighed, axis=0, out=sums[1:])
    np.cumsum(weighed * block.t[:, None], axis=0, out=moments[1:])
    met = block.score[:, None] * sums[block.below] - moments[block.below]
    return 2.0 * active.ranking.pairs.sign * (block.linear()[:, None] * rows - met)


class Edge:
    """The rows of one class that are neither in its top nor out of it: a step moves them."""

    def __init__(self, side: Side, selection: Selection, softness: float) -> None:
        self.index = np.flatnonzero((selection.inside > 0.0) & (selection.inside < 1.0))
        self.own, self.facing = side.pairs.many_mass[self.index], side.facing_mass
        self.active = side.weighing(self.own, self.index, self.facing) if len(self.index) else []
        self.strength = 1.0 / (softness * selection.mass)

    def product(self, u: np.ndarray) -> np.ndarray | float:
        """sum of (change of q_j) times the slopes of L_j, for a change u of all scores."""
        if not self.active:
            return 0.0
        change = sum(c * loss_change(active, u) for c, active in self.active) / self.facing
        change = self.own * (change - (self.own @ change) / self.own.sum()) * self.strength
        return sum(c * active.reweighed(change, active.total).square_slope() for c, active in self.active)

    def hessian(self, table: Any) -> np.ndarray | float:
        """sum of v_j (g_j - mean)(g_j - mean)' / (softness k), g_j being the gradient of L_j by w."""
        if not self.active:
            return 0.0
        centre, first = table.centre(), self.active[0][1]
        sorted_rows, rows = (table.dense(index) - centre for index in (first.ranking.rows, first.rows))
        g = sum(c * loss_gradients(active, sorted_rows, rows) for c, active in self.active) / self.facing
        g -= (self.own @ g) / self.own.sum()
        return g.T @ (g * (self.own * self.strength)[:, None])


SOFTEST = 0.1
"""Where the continuation in softness begins."""

MIN_SOFTNESS = 1e-6
"""Where the continuation ends for the hinge, whose own width falls then; planes know nothing of softness."""

SOFTNESS_FACTOR = 0.3
"""By which softness falls from one objective of the continuation to the next."""

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
        self.active = self.top.pairs_of(self.sides[0])
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
        """The (generalised) Hessian times a direction: of the pairs' loss, and of rows that enter or leave the top."""
        u = move.scores - move.scores.mean()
        slopes: Any = sum(c * active.square_product(u) for c, active in self.active)
        slopes = slopes + sum(edge.product(u) for edge in self.edges)
        return self.objective.space.gradient(slopes) + self.objective.alpha * move.w

    def preconditioner(self) -> Preconditioner:
        """From the Hessian of a sample of the rows or, of very many columns, from its diagonal."""
        if self.objective.size > _sizes.MAX_HESSIAN_COLUMNS:
            root = np.sqrt(diagonal(self))
            return lambda v: v / root
        some: Any = self._near_rows()
        H = hessian(some) + sum(edge.hessian(some.objective.space.table) for edge in some.edges)
        if some is not self:
            H[np.diag_indices_from(H)] += np.maximum(diagonal(self) - diagonal(some), 0.0)
        return inverse_of(H)

    def _near_rows(self) -> Any:
        """This point on some of the rows that are inside, enough of them for a Hessian."""
        objective, d = self.objective, self.objective.size
        size = max(2000, 5 * d, min(objective.pairs.n // 16, _sizes.LARGE_BYTES // (8 * d)))
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
        """The objective on some of the rows, with at least one of each class at the top."""
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
        """The objective with less softness; None after the last one."""
        return None if self.last else replace(self, softness=max(SOFTNESS_FACTOR * self.softness, self.least_softness))

    def sample(self) -> Any:
        """The objective on a sample of the rows, where its top has rows enough; else that of all pairs."""
        sample = super().sample()
        if sample is not None and sample.smallest_top >= _sizes.MIN_TOP_ROWS_PER_COLUMN * self.size:
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
    def hinge_top(self) -> tuple[Side, Top]:
        """The class that is cut, and the top by the hinge itself."""
        sides = self.objective.sides(self.scores)
        return sides[0], find_top(sides, self.objective.softness, lambda active: active.block.linear())

    @cached_property
    def published(self) -> float:
        """The objective with the hinge itself."""
        return float(self.hinge_top[1].value + 0.5 * self.objective.alpha * self.square)

    @property
    def touching_plane(self) -> tuple[float, np.ndarray]:
        """The mean hinge over the tops, and a slope of it by w."""
        first, top = self.hinge_top
        outer = top.pairs_of(first)[0][1]
        return top.value, self.objective.space.gradient(outer.linear_slope())

    @property
    def dual_plane(self) -> tuple[float, np.ndarray]:
        """The value here and the slope of the plane that the dual's point gives."""
        (_, outer), (_, inner) = self.active
        slope = self.gradient - self.objective.alpha * self.w
        mean = mean_slope(outer.linear_value(), inner.linear_value(), self.objective.width)
        share = self.objective.least_softness / self.objective.softness
        mean -= share * sum(selection.penalty for selection in self.top.selections)
        return mean + float(slope @ self.w), slope

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
        whole = self.gap.gap + self.objective.excess_softness
        return self.objective.last and whole <= self.objective.tol * self.gap.bound + 1e-12


@dataclass(frozen=True, eq=False)
class SoftTopHinge(SoftTop):
    """The soft top with the hinge: first softness falls, then the width of the parabola in place of the kink."""

    hinges: tuple[tuple[float, float], ...] = smooth_hinge(1.0)
    width: float = 1.0
    point_class: ClassVar[Any] = SoftTopHingePoint

    @property
    def last(self) -> bool:
        """Whether softness is what was asked for, or as little as Newton's method can do with."""
        return self.softness <= max(self.least_softness, MIN_SOFTNESS)

    @property
    def excess_softness(self) -> float:
        """What softness beyond the one that was asked for may add to the objective."""
        return self.softness - self.least_softness

    def relative_gap(self, point: Any) -> float:
        """How far, at most, the objective is above the optimum, as a share of it; 1 where nothing is known."""
        return min(1.0, super().relative_gap(point) + self.excess_softness / point.published)

    def exact(self) -> Self:
        """The objective with the softness that was asked for."""
        return replace(self, softness=self.least_softness)

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
        """The objective with a narrower parabola, nearer to the hinge."""
        return replace(self, width=width, hinges=smooth_hinge(width))

    def resumed(self, sample: Self) -> Self:
        """Go on from the softness and near the width that were enough for a sample."""
        if not isinstance(sample, SoftTopHinge):
            return self
        return super().resumed(sample).narrowed(min(1.0, 2.0 * sample.width))
