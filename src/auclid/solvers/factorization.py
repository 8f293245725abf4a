"""A factorization machine trained on random pairs: AdaGrad steps on the columns that a pair touches."""

from typing import Any, NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import row_entry, row_span
from auclid.losses import slope


class FactorizationState(NamedTuple):
    """Weights w and factors V, their sums of squared gradients, and their running sums for the average."""

    w: np.ndarray  # (d,)
    V: np.ndarray  # (d, rank)
    w_squares: np.ndarray
    V_squares: np.ndarray
    w_sum: np.ndarray
    V_sum: np.ndarray
    stamp: np.ndarray
    """(d,): the step up to which a column is in the running sums."""
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
    zeros = [np.zeros_like(V) for _ in range(2)]
    counts = np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(1, np.int64)
    return FactorizationState(np.zeros(d), V, np.zeros(d), zeros[0], np.zeros(d), zeros[1], *counts)


def begin_average(state: FactorizationState) -> None:
    """Let the running sums begin with the next step."""
    state.w_sum[:] = 0.0
    state.V_sum[:] = 0.0
    state.stamp[:] = state.t[0]


def averaged(state: FactorizationState, start: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean of w and of V over the steps since ``start``, when `begin_average` was called."""
    steps = int(state.t[0]) - start
    if steps <= 0:
        return state.w.copy(), state.V.copy()
    rest = (state.t[0] - state.stamp).astype(np.float64)
    return (state.w_sum + rest * state.w) / steps, (state.V_sum + rest[:, None] * state.V) / steps


@kernel
def score_row(rows: Any, i: int, w: np.ndarray, V: np.ndarray, q: np.ndarray) -> float:
    """f(x_i) = w·x + ½ Σ_k [(Σ_j v_jk x_j)² − Σ_j v_jk² x_j²]; writes q_k = Σ_j v_jk x_j."""
    start, stop = row_span(rows, i)
    total, rank = 0.0, V.shape[1]
    for k in range(rank):
        q[k] = 0.0
    for e in range(start, stop):
        c, x = row_entry(rows, i, e)
        total += w[c] * x
        for k in range(rank):
            p = V[c, k] * x
            q[k] += p
            total -= 0.5 * p * p
    for k in range(rank):
        total += 0.5 * q[k] * q[k]
    return total


class PairGradient(NamedTuple):
    """The gradient of a pair by w and by V, and the columns where it is not zero."""

    w: np.ndarray
    V: np.ndarray
    touched: np.ndarray
    """The numbers of the columns that the pair holds."""
    mark: np.ndarray
    """(d,): the step that touched a column last."""


@kernel
def add_gradient(
    rows: Any, i: int, factor: float, V: np.ndarray, q: np.ndarray, gradient: Any, count: int, t: int
) -> int:
    """Add factor · f'(x_i) to the gradient of a pair; returns how many columns the pair has touched so far."""
    w_grad, V_grad, touched, mark = gradient.w, gradient.V, gradient.touched, gradient.mark
    start, stop = row_span(rows, i)
    rank = V.shape[1]
    for e in range(start, stop):
        c, x = row_entry(rows, i, e)
        if mark[c] != t:
            mark[c] = t
            touched[count] = c
            count += 1
            w_grad[c] = 0.0
            for k in range(rank):
                V_grad[c, k] = 0.0
        w_grad[c] += factor * x
        for k in range(rank):
            V_grad[c, k] += factor * x * (q[k] - V[c, k] * x)
    return count


@kernel
def shrunk(value: float, cut: float) -> float:
    """The soft threshold of a value."""
    if value > cut:
        return value - cut
    return value + cut if value < -cut else 0.0


@kernel
def sweep(rows: Any, pos: np.ndarray, neg: np.ndarray, steps: Any, state: Any) -> None:
    """One AdaGrad step for each pair, O(nnz·rank); changes the state.

    A penalty acts on a column when a pair touches it, multiplied by how rarely that happens, so that in the mean it
    acts on every column at every step.
    """
    w, V, w_squares, V_squares = state.w, state.V, state.w_squares, state.V_squares
    w_sum, V_sum, stamp, visits = state.w_sum, state.V_sum, state.stamp, state.visits
    loss, alpha, factor_alpha, l1, step = steps.loss, steps.alpha, steps.factor_alpha, steps.l1, steps.step
    d, rank = V.shape
    above, below = np.empty(rank), np.empty(rank)
    w_grad, V_grad, touched = np.empty(d), np.empty((d, rank)), np.empty(d, np.int64)
    gradient = PairGradient(w=w_grad, V=V_grad, touched=touched, mark=np.full(d, -1, np.int64))
    t = state.t[0]
    for pair in range(pos.shape[0]):
        i, j = pos[pair], neg[pair]
        margin = score_row(rows, i, w, V, above) - score_row(rows, j, w, V, below)
        g = slope(loss, margin)
        count = add_gradient(rows, i, g, V, above, gradient, 0, t)
        count = add_gradient(rows, j, -g, V, below, gradient, count, t)
        for at in range(count):
            c = touched[at]
            visits[c] += 1
            rarity = (t + 1.0) / visits[c]
            behind = float(t - stamp[c])
            stamp[c] = t
            w_sum[c] += behind * w[c]
            slope_w = w_grad[c] + alpha * rarity * w[c]
            w_squares[c] += slope_w * slope_w
            if w_squares[c] > 0.0:
                rate = step / np.sqrt(w_squares[c])
                w[c] = shrunk(w[c] - rate * slope_w, rate * l1 * rarity)
            for k in range(rank):
                V_sum[c, k] += behind * V[c, k]
                slope_v = V_grad[c, k] + factor_alpha * rarity * V[c, k]
                V_squares[c, k] += slope_v * slope_v
                if V_squares[c, k] > 0.0:
                    V[c, k] -= step / np.sqrt(V_squares[c, k]) * slope_v
        t += 1
    state.t[0] = t
