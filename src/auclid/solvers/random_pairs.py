"""Stochastic steps on one random pair of rows at a time (SAM, ASAM, PSAM)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from auclid import _random
from auclid._generic import generic, kernel
from auclid.data import Table, pair_dot, pair_square, row_add, row_square
from auclid.losses import Loss, prox_step, slope
from auclid.solvers.iterate import Iterate, average, averaged, begin, current, fetch_ahead, renewed, scaled, step_pair
from auclid.solvers.stream import StreamSolver
from auclid.stats.buffers import Buffers, admit, advance, empty, reservoir
from auclid.stats.class_means import FirstPass, midpoint

DRAW = 1 << 16
"""Pairs that are drawn at a time: an epoch of them need not fit in memory."""

RESERVOIR = 1000
"""Rows of each class that a stream remembers."""

TINY = 1e-9
"""The factor of w = now v below which v is made anew."""

FAR = 1e6
"""A margin so wrong that a slope with a bound is near it."""


class Subgradient(NamedTuple):
    """w <- w - s l'(w . z) z"""


class Bounded(NamedTuple):
    """w <- w - s l'(w . z) z, but no further than w . z = margin: for losses whose slope has no bound."""

    margin: float


class Proximal(NamedTuple):
    """w <- argmin_v 1/2 |v - w|^2 + s l(v . z)"""


NEEDS: dict[type, tuple[Callable[..., Any], ...]] = {Subgradient: (slope,), Proximal: (slope, prox_step)}
"""What each rule asks of a loss."""


@generic
def move(rule, loss, rows, i, j, m, s):
    """The c of a step w <- w + c z on the pair z = x_i - x_j of margin m, with the step size s."""


@move.implement(Subgradient)
def _(rule, loss, rows, i, j, m, s):
    return -s * slope(loss, m)


@move.implement(Bounded)
def _(rule, loss, rows, i, j, m, s):
    c, q = -s * slope(loss, m), pair_square(rows, i, j)
    return c if abs(c) * q <= abs(rule.margin - m) else (rule.margin - m) / q


@move.implement(Proximal)
def _(rule, loss, rows, i, j, m, s):
    if slope(loss, m) == 0.0:  # most pairs, in the end: they need no |z|^2
        return 0.0
    return prox_step(loss, m, pair_square(rows, i, j), s)


def subgradient_rule(loss: Loss) -> Subgradient | Bounded:
    """Plain subgradient steps where the slope of a convex loss has a bound; bounded ones where it grows on.

    Examples
    --------
    >>> from auclid.losses import Hinge, SquaredHinge
    >>> from auclid.solvers.random_pairs import subgradient_rule
    >>> subgradient_rule(Hinge()), subgradient_rule(SquaredHinge())
    (Subgradient(), Bounded(margin=1.0))
    """
    if steepness(loss, -FAR) <= min(2.0 * steepness(loss, -1e-3 * FAR), FAR):
        return Subgradient()
    return Bounded(least_margin(loss))


def steepness(loss: Loss, m: float) -> float:
    """|l'(m)|, infinite where it overflows."""
    try:
        with np.errstate(over="ignore"):
            return abs(float(slope(loss, m)))
    except OverflowError:
        return np.inf


def least_margin(loss: Loss) -> float:
    """The least margin at which a convex loss no longer falls, by bisection; infinite where it always does."""
    low, high = -FAR, FAR
    if slope(loss, high) < 0.0:
        return np.inf
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if slope(loss, middle) < 0.0 else (low, middle)
    return high


class Steps(NamedTuple):
    """How the weights move."""

    rule: Any  # Subgradient, Bounded or Proximal
    loss: Loss
    alpha: float
    relative: bool  # whether alpha is in units of E|z|^2
    born: float  # alpha t0, in units of `Walk.pair_square`
    rskip: int  # steps from one shrinking of w to the next
    askip: int  # steps from one averaged iterate to the next


class Walk(NamedTuple):
    """What steps on pairs change."""

    iterate: Iterate
    t: int
    pair_square: float  # E|z|^2; or alpha t0, where both are given
    n_pairs: float  # how many pairs `pair_square` is the mean of; infinite where it is settled


class State(NamedTuple):
    """The walk, the sums of the rows of each class, and a reservoir of them."""

    walk: Walk
    total: np.ndarray  # (2, d)
    n: np.ndarray  # (2,)
    buffers: Buffers


@dataclass(frozen=True)
class RandomPairs(StreamSolver[State]):
    """Steps of size 1/(alpha (t + t0)) on random pairs; w shrinks and enters its average every few steps only.

    In `fit` pairs are uniform over all pairs. In a stream each row meets one of the other class out of a reservoir.
    """

    steps: Steps
    t0: float | None
    average: bool

    def init(self, d: int, known: FirstPass | None = None) -> State:
        total, n, size, n_pairs = np.zeros((2, d)), np.zeros(2), 0.0, 0.0
        if known is not None:
            total, n, size, n_pairs = known.total.copy(), known.n.copy(), known.pair_square, np.inf
        if self.t0 is not None and not self.steps.relative:
            size, n_pairs = self.steps.alpha * self.t0, np.inf
        return State(Walk(begin(d), 0, size, n_pairs), total, n, empty(d))

    def update(
        self,
        table: Table,
        is_pos: np.ndarray,
        order: np.ndarray,
        state: State,
        known: FirstPass | None,
        rng: np.random.Generator,
    ) -> State:
        if known is None:
            return self._stream(table, is_pos, state, rng)
        above = is_pos[order]
        return self._epoch(table, order[above], order[~above], state, rng)

    def _epoch(self, table: Table, pos: np.ndarray, neg: np.ndarray, state: State, rng: np.random.Generator) -> State:
        """As many steps as rows, on pairs uniform over all pairs of these."""
        count, walk = len(pos) + len(neg), state.walk
        for start in range(0, count, DRAW):
            i, j = _random.pairs(rng, len(pos), len(neg), min(DRAW, count - start))
            for rows, pair, _ in table.sweep(pos[i], neg[j]):
                walk = sweep(rows, *pair, self.steps, walk)
        return state._replace(walk=walk)

    def _stream(self, table: Table, is_pos: np.ndarray, state: State, rng: np.random.Generator) -> State:
        """A step for each row of a batch: on that row, and one of the other class out of its reservoir."""
        label = is_pos.astype(np.int8)
        for part, rows in table.blocks():
            block, draws = rows.astype(np.float64, copy=False), rng.random((part.stop - part.start, 2))
            window, buffers = advance(state.buffers, block, label[part], RESERVOIR, reservoir, draws[:, 0])
            pairs = np.empty((2, len(draws)), dtype=np.int64)
            neg, pos = pairs[:, : find_partners(window, draws, pairs, state.total, state.n)]
            walk = sweep(window.rows, pos, neg, self.steps, state.walk)
            state = state._replace(walk=walk, buffers=buffers)
        return state

    def weights(self, state: State) -> tuple[np.ndarray, float]:
        iterate = state.walk.iterate
        w = average(iterate) if self.average else current(iterate)
        return w, w @ midpoint(state.total, state.n)

    def alpha(self, state: State) -> float:
        """The alpha in use."""
        return float(penalty(self.steps, state.walk.pair_square))

    def age(self, state: State) -> float:
        """The t0 in use."""
        return self.steps.born * state.walk.pair_square / self.alpha(state)


@kernel(allocates=False)
def find_partners(window, draws, pairs, total, n):
    """Pair each row of a window with one of the other class's reservoir, if that holds any; says how many.

    Writes the negatives and the positives of the pairs, and adds the rows to the sums of their classes. Those become
    infinite by a row too long for the |z|^2 of a pair.
    """
    met = 0
    for k in range(window.at.shape[0]):
        i, c = window.at[k], window.label[k]
        row_add(window.rows, i, total[c])
        if not 4.0 * row_square(window.rows, i) < np.inf:  # it would stay, and spoil pairs of later batches
            total[c, 0] = np.inf
        n[c] += 1.0
        admit(window, k)
        others = window.held[1 - c]
        if others > 0:
            pairs[c, met] = i
            pairs[1 - c, met] = window.members[1 - c, int(draws[k, 1] * others)]
            met += 1
    return met


@kernel
def penalty(steps, size):
    """alpha, for pairs of mean square length ``size``."""
    return steps.alpha * size if steps.relative and size > 0.0 else steps.alpha


@kernel(allocates=False)
def sweep(rows, pos, neg, steps, walk):
    """One step for each pair, O(nnz of its rows): shrinking and averaging touch scalars only."""
    v, rest, factors = walk.iterate.v, walk.iterate.rest, walk.iterate.factors
    rule, loss, born, rskip, askip = steps.rule, steps.loss, steps.born, steps.rskip, steps.askip
    t, size, n_pairs = walk.t, walk.pair_square, walk.n_pairs
    to_shrink, to_average = rskip - t % rskip, askip - t % askip
    for k in range(pos.shape[0]):
        fetch_ahead(rows, pos, k)
        fetch_ahead(rows, neg, k)
        i, j = pos[k], neg[k]
        t += 1
        if n_pairs < np.inf:
            n_pairs += 1.0
            size += (pair_square(rows, i, j) - size) / n_pairs
        alpha = penalty(steps, size)
        inverse = alpha * t + born * size  # alpha (t + t0), one over the step
        c = move(rule, loss, rows, i, j, factors.now * pair_dot(rows, i, j, v), 1.0 / inverse)
        if c != 0.0:
            step_pair(v, rest, factors, rows, i, j, c)
        to_shrink -= 1
        if to_shrink == 0:
            to_shrink = rskip
            factors = scaled(factors, factors.now * (1.0 - rskip * alpha / inverse))
            if factors.now < TINY:  # zero where t0 = 0
                factors = renewed(v, rest, factors)
        to_average -= 1
        if to_average == 0:
            to_average = askip
            factors = averaged(factors, 1.0)
    return Walk(iterate=Iterate(v=v, rest=rest, factors=factors), t=t, pair_square=size, n_pairs=n_pairs)
