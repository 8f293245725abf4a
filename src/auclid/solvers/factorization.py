"""A factorization machine trained on random pairs: AdaGrad steps on the columns that a pair touches."""

from typing import Any, NamedTuple

import numpy as np

from auclid._generic import REORDER, kernel
from auclid.data import row_entry, row_span
from auclid.losses import slope

FIRST_SQUARES = 1e-200
"""Sums of squared gradients begin with this instead of 0, so that steps divide by no zero."""

NEXT = np.uint64(1)
"""Positions in rows are unsigned, and stay so if this is added."""


class FactorizationState(NamedTuple):
    """Weights w and factors V, their sums of squared gradients, and their running sums for the average.

    The weights follow the regularised leader (FTRL-Proximal), which makes them exactly zero: after each step

        w = argmin_w  z w + threshold |w| + inverse_rate w^2 / 2,    threshold = l1 times the steps so far,

    for each column. z is the sum of its gradients less that of its w times the growth of its inverse rate. Without l1
    these are AdaGrad's steps. While no pair touches a column, |w| falls by l1 / inverse_rate at each step, down to
    zero; `settle` does that for all columns, and a step for those that it touches.
    """

    w: np.ndarray  # (d,)
    V: np.ndarray  # (d, rank)
    w_squares: np.ndarray
    V_squares: np.ndarray
    w_sum: np.ndarray
    V_sum: np.ndarray
    z: np.ndarray  # (d,)
    inverse_rate: np.ndarray  # (d,)
    threshold: np.ndarray  # (1,)
    stamp: np.ndarray
    """(d,): the step before which w is what it is, and up to which a column is in the running sums."""
    visits: np.ndarray
    """(d,): pairs that touched a column."""
    t: np.ndarray
    """(1,): steps made."""


class FactorizationSteps(NamedTuple):
    """Settings of the steps."""

    loss: Any
    alpha: float
    factor_alpha: float
    l1: float
    step: float


def init(d: int, rank: int, scale: float, rng: np.random.Generator) -> FactorizationState:
    """The state before any step: factors are small random numbers, for at zero they would stay there."""
    V = scale * rng.standard_normal((d, rank))
    return FactorizationState(
        w=np.zeros(d),
        V=V,
        w_squares=np.full(d, FIRST_SQUARES),
        V_squares=np.full_like(V, FIRST_SQUARES),
        w_sum=np.zeros(d),
        V_sum=np.zeros_like(V),
        z=np.zeros(d),
        inverse_rate=np.ones(d),
        threshold=np.zeros(1),
        stamp=np.zeros(d, np.int64),
        visits=np.zeros(d, np.int64),
        t=np.zeros(1, np.int64),
    )


def begin_average(state: FactorizationState, l1: float) -> None:
    """Let the running sums begin with the next step."""
    settle(state, l1)
    state.w_sum[:] = 0.0
    state.V_sum[:] = 0.0


def averaged(state: FactorizationState, start: int, l1: float) -> tuple[np.ndarray, np.ndarray]:
    """The mean of w and of V over the steps since ``start``, when `begin_average` was called."""
    state = copied(state)
    settle(state, l1)
    steps = int(state.t[0]) - start
    return (state.w_sum / steps, state.V_sum / steps) if steps > 0 else (state.w, state.V)


def copied(state: FactorizationState) -> FactorizationState:
    """A state with arrays of its own."""
    return FactorizationState(*(each.copy() for each in state))


@kernel(inner=True)
def shrunk(value: float, cut: float) -> float:
    """The soft threshold of a value."""
    if value > cut:
        return value - cut
    return value + cut if value < -cut else 0.0


@kernel(inner=True)
def fallen(w: float, drop: float, steps: float) -> tuple[float, float]:
    """A weight whose absolute value fell by ``drop`` at each of some steps, down to zero; and its sum after each."""
    size = abs(w)
    if drop * steps > size:
        steps = np.floor(size / drop)
        last = 0.0
    else:
        last = size - drop * steps
    total = steps * (size - 0.5 * drop * (steps + 1.0))
    return (last, total) if w > 0.0 else (0.0 - last, 0.0 - total)


@kernel(inner=True)
def settle_column(state: FactorizationState, c: int, t: int, l1: float) -> None:
    """Bring a column, and its running sums, up to step t."""
    V, V_sum, behind = state.V, state.V_sum, float(t - state.stamp[c])
    state.stamp[c] = t
    state.w[c], total = fallen(state.w[c], np.divide(l1, state.inverse_rate[c]), behind)
    state.w_sum[c] += total
    for k in range(V.shape[1]):
        V_sum[c, k] += behind * V[c, k]


@kernel
def settle(state: FactorizationState, l1: float) -> None:
    """Bring all columns, and the running sums, up to the step at hand."""
    for c in range(state.w.shape[0]):
        settle_column(state, c, state.t[0], l1)


@kernel(inner=True)
def settle_row(rows: Any, i: int, state: FactorizationState, t: int, l1: float) -> None:
    """Bring the columns of a row up to step t."""
    start, stop = row_span(rows, i)
    for e in range(start, stop):
        settle_column(state, row_entry(rows, i, e)[0], t, l1)


@kernel(fastmath=REORDER, inner=True)
def score_row(rows: Any, i: int, w: np.ndarray, V: np.ndarray, q: np.ndarray) -> float:
    """f(x_i) = w·x + ½ Σ_k [(Σ_j v_jk x_j)² − Σ_j v_jk² x_j²]; writes q_k = Σ_j v_jk x_j."""
    start, stop = row_span(rows, i)
    total, squares, rank = 0.0, 0.0, V.shape[1]
    for k in range(rank):
        q[k] = 0.0
    for e in range(start, stop):
        c, x = row_entry(rows, i, e)
        total += w[c] * x
        for k in range(rank):
            p = V[c, k] * x
            q[k] += p
            squares += p * p
    for k in range(rank):
        squares -= q[k] * q[k]
    return total - 0.5 * squares


@kernel(fastmath=REORDER)
def sweep(rows: Any, pos: np.ndarray, neg: np.ndarray, steps: FactorizationSteps, state: FactorizationState) -> None:
    """One step for each pair, O(nnz·rank); changes the state.

    The columns of the two rows are merged, since a column of both makes one step. The squared penalties act on a
    column when a pair touches it, multiplied by how rarely that happens, so that in the mean they act on every column
    at every step. (np.divide does not check for zero, which would keep the inner loop from being vectorised.)
    """
    w, w_squares, w_sum, z, inverse_rate = state.w, state.w_squares, state.w_sum, state.z, state.inverse_rate
    V, V_squares, V_sum, stamp, visits = state.V, state.V_squares, state.V_sum, state.stamp, state.visits
    alpha, factor_alpha, l1, step = steps.alpha, steps.factor_alpha, steps.l1, steps.step
    d, rank = V.shape
    above, below = np.empty(rank), np.empty(rank)
    t, threshold, inverse_step = state.t[0], state.threshold[0], 1.0 / step
    for pair in range(pos.shape[0]):
        i, j = pos[pair], neg[pair]
        if l1 > 0.0:  # else weights fall by nothing
            settle_row(rows, i, state, t, l1)
            settle_row(rows, j, state, t, l1)
        g = slope(steps.loss, score_row(rows, i, w, V, above) - score_row(rows, j, w, V, below))
        threshold += l1
        at, end = span(rows, i)
        other, other_end = span(rows, j)
        while at < end or other < other_end:
            c, a = entry(rows, i, at, end, d)
            o, b = entry(rows, j, other, other_end, d)
            if c < o:
                b = 0.0
                at += NEXT
            elif o < c:
                c, a = o, 0.0
                other += NEXT
            else:
                at += NEXT
                other += NEXT
            visits[c] += 1
            rarity, behind = np.divide(t + 1.0, visits[c]), float(t - stamp[c])
            stamp[c] = t + 1
            weight, up, down = w[c], g * a, g * b
            gradient = up - down + alpha * rarity * weight
            w_squares[c] += gradient * gradient
            growth = np.sqrt(w_squares[c]) * inverse_step - inverse_rate[c]
            inverse_rate[c] += growth
            z[c] += gradient - growth * weight
            w[c] = np.divide(shrunk(-z[c], threshold), inverse_rate[c])
            w_sum[c] += behind * weight + w[c]
            decay = factor_alpha * rarity - up * a + down * b
            for k in range(rank):
                v = V[c, k]
                gradient = up * above[k] - down * below[k] + decay * v
                squares = V_squares[c, k] + gradient * gradient
                moved = v - np.divide(step * gradient, np.sqrt(squares))
                V_squares[c, k] = squares
                V[c, k] = moved
                V_sum[c, k] += behind * v + moved
        t += 1
    state.t[0], state.threshold[0] = t, threshold


@kernel(inner=True)
def span(rows: Any, i: int) -> tuple[np.uint64, np.uint64]:
    """The range of positions of row i's entries, unsigned."""
    start, stop = row_span(rows, i)
    return np.uint64(start), np.uint64(stop)


@kernel(inner=True)
def entry(rows: Any, i: int, at: np.uint64, end: np.uint64, d: int) -> tuple[np.uint64, float]:
    """Column and value of row i's entry at a position; at the row's end, column d."""
    if at >= end:
        return np.uint64(d), 0.0
    c, x = row_entry(rows, i, at)
    return np.uint64(c), x
