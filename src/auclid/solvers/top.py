"""The soft top: only pairs of the highest-scored negatives and the lowest-scored positives count (partial AUC).

With l_ij the loss of a pair, k and m the weights of the two tops,

    F(w) = max over q, p of  sum_ij p_i q_j l_ij(w) - softness/2 (k |q|^2 - 1) - softness/2 (m |p|^2 - 1),

where 0 <= q_j <= 1/k and 0 <= p_i <= 1/m add up to 1. A maximum of convex functions is convex; softness -> 0 gives the
mean over the two tops, which has kinks where the row at a cut changes, and F is above it by softness at the most. For
any softness above 0, q is a clipped straight line in the rows' mean losses, and F is smooth. With weights, |q|^2 is
sum_j q_j^2 / v_j. Where a class is not cut, its p or q is 1/n throughout.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.stats.pair_sums import ActivePairs, Pairs, running_sums

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
    tau = top_threshold(loss, own, mass, softness)
    inside = np.clip((loss - tau) / softness, 0.0, 1.0)
    weight = own * inside
    if not weight.any():  # losses so large that softness is lost in their rounding: the top is the greatest of them
        inside = (loss == loss[own > 0.0].max()).astype(np.float64)
        weight = own * inside
    weight *= 1.0 / weight.sum()
    return Selection(inside, mass, float(weight @ loss), 0.5 * softness * (float(weight @ inside) - 1.0))


@kernel
def top_threshold(loss, own, mass, softness):
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
        self.full = [(c, self.ranking.within(r)) for c, r in hinges]
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
