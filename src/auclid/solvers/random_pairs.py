"""Stochastic steps on one random pair of rows at a time (SAM, ASAM, PSAM)."""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auclid import _random
from auclid._generic import GenericFunction, generic, kernel
from auclid.data import RowStruct, pair_dot, pair_squared_norm, row_add_raw, row_squared_norm
from auclid.losses import Loss, prox_step, slope
from auclid.solvers.averaging import (
    AveragedIterate,
    add_to_average,
    average_weights,
    current_weights,
    prefetch_ahead,
    renormalize,
    step_along_pair,
    with_scale,
    zero_iterate,
)
from auclid.solvers.stream import Batch, StreamSolver
from auclid.stats.buffers import (
    BufferWindow,
    ClassBuffers,
    admit_row,
    advance_buffers,
    empty_buffers,
    reservoir,
)
from auclid.stats.class_means import FirstPass, class_midpoint
from auclid.stats.epochs import PairsWithinGroups

PAIRS_PER_CHUNK = 1 << 16
"""Pairs that are drawn at once: an epoch of them need not fit in memory."""

RESERVOIR_CAPACITY = 1000
"""Rows of each class that a stream keeps."""

MIN_PAIR_SCALE = 1e-9
"""The scale of w = scale v below which v is renormalised."""

EXTREME_MARGIN = 1e6
"""A margin at which a bounded slope is near its bound."""


class SubgradientStep(NamedTuple):
    """w <- w - s l'(w . z) z"""


class BoundedStep(NamedTuple):
    """w <- w - s l'(w . z) z, but no further than w . z = margin: for losses of unbounded slope."""

    margin: float


class ProximalStep(NamedTuple):
    """w <- argmin_v 1/2 |v - w|^2 + s l(v . z)"""


PairRule: TypeAlias = SubgradientStep | BoundedStep | ProximalStep

LOSS_FUNCTIONS: dict[type, tuple[GenericFunction[..., Any], ...]] = {
    SubgradientStep: (slope,),
    ProximalStep: (slope, prox_step),
}
"""The functions of a loss that each rule requires."""


@generic
def pair_step(rule: PairRule, loss: Loss, rows: RowStruct, i: int, j: int, m: float, s: float) -> float:
    """The c of a step w <- w + c z on the pair z = x_i - x_j of margin m, with the step size s."""


@pair_step.implement(SubgradientStep)
def _(rule: SubgradientStep, loss: Loss, rows: RowStruct, i: int, j: int, m: float, s: float) -> float:
    return -s * slope(loss, m)


@pair_step.implement(BoundedStep)
def _(rule: BoundedStep, loss: Loss, rows: RowStruct, i: int, j: int, m: float, s: float) -> float:
    c, q = -s * slope(loss, m), pair_squared_norm(rows, i, j)
    return c if abs(c) * q <= abs(rule.margin - m) else (rule.margin - m) / q


@pair_step.implement(ProximalStep)
def _(rule: ProximalStep, loss: Loss, rows: RowStruct, i: int, j: int, m: float, s: float) -> float:
    if slope(loss, m) == 0.0:  # most pairs, in the end: they need no |z|^2
        return 0.0
    return prox_step(loss, m, pair_squared_norm(rows, i, j), s)


def subgradient_rule(loss: Loss) -> SubgradientStep | BoundedStep:
    """Plain subgradient steps for a convex loss of bounded slope; bounded steps otherwise.

    Examples
    --------
    >>> from auclid.losses import Hinge, SquaredHinge
    >>> from auclid.solvers.random_pairs import subgradient_rule
    >>> subgradient_rule(Hinge()), subgradient_rule(SquaredHinge())
    (SubgradientStep(), BoundedStep(margin=1.0))
    """
    far, farther = absolute_slope(loss, -1e-3 * EXTREME_MARGIN), absolute_slope(loss, -EXTREME_MARGIN)
    if farther <= min(2.0 * far, EXTREME_MARGIN):
        return SubgradientStep()
    return BoundedStep(minimizing_margin(loss))


def absolute_slope(loss: Loss, m: float) -> float:
    """|l'(m)|, infinite if it overflows."""
    try:
        with np.errstate(over="ignore"):
            return abs(float(slope(loss, m)))
    except OverflowError:
        return np.inf


def minimizing_margin(loss: Loss) -> float:
    """The smallest margin at which a convex loss is minimal, by bisection; infinite if it decreases everywhere."""
    low, high = -EXTREME_MARGIN, EXTREME_MARGIN
    if slope(loss, high) < 0.0:
        return np.inf
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if slope(loss, middle) < 0.0 else (low, middle)
    return high


class PairSteps(NamedTuple):
    """Step rule, loss, and step sizes."""

    rule: PairRule
    loss: Loss
    alpha: float
    relative: bool  # whether alpha is in units of E|z|^2
    offset: float  # alpha t0, in units of `PairIterate.pair_square`
    rskip: int  # steps between two shrinkings of w
    askip: int  # steps between two averaged iterates


class PairIterate(NamedTuple):
    """The variables that steps on pairs change."""

    weights: AveragedIterate
    t: int
    pair_square: float  # E|z|^2; or alpha t0, if both are given
    n_pairs: float  # the number of pairs that `pair_square` is the mean of; infinite if it is fixed


class RandomPairsState(NamedTuple):
    """The iterate, the sums of the rows of each class, and a reservoir of them."""

    iterate: PairIterate
    total: np.ndarray  # (2, d)
    n: np.ndarray  # (2,)
    buffers: ClassBuffers


@dataclass(frozen=True)
class RandomPairsSolver(StreamSolver[RandomPairsState]):
    """Steps of size 1/(alpha (t + t0)) on random pairs; w is shrunk and averaged only every few steps.

    In `fit` pairs are uniform over all pairs. In a stream each row is paired with a row of the other class's reservoir.
    """

    steps: PairSteps
    t0: float | None
    average: bool
    pairs_per_chunk: int = PAIRS_PER_CHUNK
    reservoir_capacity: int = RESERVOIR_CAPACITY

    def init(self, d: int) -> RandomPairsState:
        return self._initial_state(np.zeros((2, d)), np.zeros(2), 0.0, 0.0)

    def init_fit(self, summary: FirstPass) -> RandomPairsState:
        return self._initial_state(summary.total.copy(), summary.n.copy(), summary.pair_square, np.inf)

    def _initial_state(self, total: np.ndarray, n: np.ndarray, pair_square: float, n_pairs: float) -> RandomPairsState:
        d = total.shape[1]
        if self.t0 is not None and not self.steps.relative:
            pair_square, n_pairs = self.steps.alpha * self.t0, np.inf
        return RandomPairsState(PairIterate(zero_iterate(d), 0, pair_square, n_pairs), total, n, empty_buffers(d))

    def update(self, batch: Batch, state: RandomPairsState) -> RandomPairsState:
        return self._update_stream(batch, state) if batch.summary is None else self._update_fit(batch, state)

    def _update_fit(self, batch: Batch, state: RandomPairsState) -> RandomPairsState:
        """As many steps as rows, on pairs that are uniform over all pairs of the batch, or over those within groups."""
        is_pos = batch.is_pos[batch.order]
        pos, neg, iterate = batch.order[is_pos], batch.order[~is_pos], state.iterate
        within = None if batch.group is None else PairsWithinGroups(pos, neg, batch.group)
        count = len(pos) + len(neg) if within is None or within.count else 0  # weights may draw no pair
        for start in range(0, count, self.pairs_per_chunk):
            size = min(self.pairs_per_chunk, count - start)
            if within is None:
                i, j = _random.draw_pairs(batch.rng, len(pos), len(neg), size)
                upper, lower = pos[i], neg[j]
            else:
                upper, lower = within.draw(batch.rng, size)
            for rows, (at_pos, at_neg), _ in batch.table.sweep(upper, lower):
                iterate = self.sweep(rows, at_pos, at_neg, iterate)
        return state._replace(iterate=iterate)

    def _update_stream(self, batch: Batch, state: RandomPairsState) -> RandomPairsState:
        """A step for each row of the batch, paired with a row of the other class's reservoir."""
        label = batch.is_pos.astype(np.int8)
        for part, rows in batch.table.blocks():
            block, draws = rows.astype(np.float64, copy=False), batch.rng.random((part.stop - part.start, 2))
            window, buffers = advance_buffers(
                state.buffers, block, label[part], self.reservoir_capacity, reservoir, draws[:, 0]
            )
            pairs = np.empty((2, len(draws)), dtype=np.int64)
            neg, pos = pairs[:, : find_partners(window, draws, pairs, state.total, state.n)]
            iterate = self.sweep(window.rows, pos, neg, state.iterate)
            state = state._replace(iterate=iterate, buffers=buffers)
        return state

    def sweep(self, rows: RowStruct, pos: np.ndarray, neg: np.ndarray, iterate: PairIterate) -> PairIterate:
        """The iterate after one step per pair."""
        return sweep_pairs(rows, pos, neg, self.steps, iterate)

    def weights(self, state: RandomPairsState) -> tuple[np.ndarray, float]:
        iterate = state.iterate.weights
        w = average_weights(iterate) if self.average else current_weights(iterate)
        return w, w @ class_midpoint(state.total, state.n)

    def alpha(self, state: RandomPairsState) -> float:
        """The alpha in use."""
        return float(absolute_alpha(self.steps, state.iterate.pair_square))

    def initial_time(self, state: RandomPairsState) -> float:
        """The t0 in use."""
        return self.steps.offset * state.iterate.pair_square / self.alpha(state)


@kernel(allocates=False)
def find_partners(window: BufferWindow, draws: np.ndarray, pairs: np.ndarray, total: np.ndarray, n: np.ndarray) -> int:
    """Pair each row of a window with a row of the other class's reservoir, if any; returns the number of pairs.

    Writes the negatives and the positives of the pairs, and adds the rows to the sums of their classes. A row too long
    for the |z|^2 of a pair makes its class's sum infinite.
    """
    count = 0
    for k in range(window.at.shape[0]):
        i, c = window.at[k], window.label[k]
        row_add_raw(window.rows, i, total[c])
        if not 4.0 * row_squared_norm(window.rows, i) < np.inf:  # it would stay, and spoil pairs of later batches
            total[c, 0] = np.inf
        n[c] += 1.0
        admit_row(window, k)
        available = window.held[1 - c]
        if available > 0:
            pairs[c, count] = i
            pairs[1 - c, count] = window.members[1 - c, int(draws[k, 1] * available)]
            count += 1
    return count


@kernel(inner=True)
def absolute_alpha(steps: PairSteps, pair_square: float) -> float:
    """alpha, for pairs of this mean square length."""
    return steps.alpha * pair_square if steps.relative and pair_square > 0.0 else steps.alpha


@kernel(allocates=False)
def sweep_pairs(
    rows: RowStruct, pos: np.ndarray, neg: np.ndarray, steps: PairSteps, iterate: PairIterate
) -> PairIterate:
    """One step per pair, in O(nnz of its rows): shrinking and averaging change scalars only."""
    v, rest, factors = iterate.weights.v, iterate.weights.rest, iterate.weights.factors
    rule, loss, offset, rskip, askip = steps.rule, steps.loss, steps.offset, steps.rskip, steps.askip
    t, pair_square, n_pairs = iterate.t, iterate.pair_square, iterate.n_pairs
    to_shrink, to_average = rskip - t % rskip, askip - t % askip
    for k in range(pos.shape[0]):
        prefetch_ahead(rows, pos, k)
        prefetch_ahead(rows, neg, k)
        i, j = pos[k], neg[k]
        t += 1
        if n_pairs < np.inf:
            n_pairs += 1.0
            pair_square += (pair_squared_norm(rows, i, j) - pair_square) / n_pairs
        alpha = absolute_alpha(steps, pair_square)
        inverse = alpha * t + offset * pair_square  # alpha (t + t0), the inverse of the step size
        c = pair_step(rule, loss, rows, i, j, factors.scale * pair_dot(rows, i, j, v), 1.0 / inverse)
        if c != 0.0:
            step_along_pair(v, rest, factors, rows, i, j, c)
        to_shrink -= 1
        if to_shrink == 0:
            to_shrink = rskip
            factors = with_scale(factors, factors.scale * (1.0 - rskip * alpha / inverse))
            if factors.scale < MIN_PAIR_SCALE:  # zero if t0 = 0
                factors = renormalize(v, rest, factors)
        to_average -= 1
        if to_average == 0:
            to_average = askip
            factors = add_to_average(factors, 1.0)
    weights = AveragedIterate(v=v, rest=rest, factors=factors)
    return PairIterate(weights=weights, t=t, pair_square=pair_square, n_pairs=n_pairs)
