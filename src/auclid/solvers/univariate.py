"""Steps on a class-weighted exponential loss of single rows, implicit or by its gradient (Uni-Exp)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import Table, row_dot, row_square
from auclid.solvers.iterate import TINY, Iterate, average, averaged, begin, fetch_ahead, renewed, scaled, step_row
from auclid.solvers.stream import StreamSolver
from auclid.stats.class_means import FirstPass, Running, add_row, midpoint, running

CAP = 30.0
"""The largest exponent that a gradient's step is taken with, so that it cannot overflow."""


class State(NamedTuple):
    """The iterate, the steps made, and what the rows so far tell."""

    iterate: Iterate
    t: float
    seen: Running


class Steps(NamedTuple):
    """Steps are ``step`` / sqrt(t); 0 stands for 1/E|x|^2 of the rows so far."""

    step: float
    alpha: float
    implicit: bool = True


@dataclass(frozen=True)
class Univariate(StreamSolver[State]):
    """w <- argmin_v 1/2 |v - w|^2 + eta exp(-y v.x) / (2 P(y)), then shrunk; the t-th iterate has the weight t.

    Not ``implicit``: w <- w + eta y exp(-y w.x) x / (2 P(y)), then shrunk; all iterates weigh alike.
    """

    steps: Steps

    def init(self, d: int, known: FirstPass | None = None) -> State:
        return State(begin(d), 0.0, running(d))

    def update(
        self,
        table: Table,
        is_pos: np.ndarray,
        order: np.ndarray,
        state: State,
        known: FirstPass | None,
        rng: np.random.Generator,
    ) -> State:
        label = is_pos.astype(np.int8)
        for rows, (at,), part in table.sweep(order, centre=state.seen.centre):
            state = sweep(rows, at, label[order[part]], self.steps, state)
        return state

    def weights(self, state: State) -> tuple[np.ndarray, float]:
        w = average(state.iterate)
        return w, w @ midpoint(state.seen.total, state.seen.n)

    def last_step(self, state: State) -> float:
        """The step used last, times sqrt(t)."""
        return float(step_size(self.steps.step, state.seen.mean_square))


@kernel
def step_size(step, mean_square):
    """The step given, or 1/E|x|^2 where it is zero (0 while rows have no length to speak of)."""
    if step > 0.0:
        return step
    return 1.0 / mean_square[0] if mean_square[0] > 1e-300 else 0.0


@kernel
def product_log(log_a):
    """The u >= 0 with u e^u = a, by Newton's method on u + log u = log a from a point below it."""
    if log_a < -37.0:  # u = a to the last bit, and a may be zero
        return np.exp(log_a)
    u = log_a - np.log(log_a) if log_a > 1.0 else 1.0 / (1.0 + np.exp(-log_a))
    for _ in range(4):
        u -= (u + np.log(u) - log_a) * u / (1.0 + u)
    return u


@kernel(allocates=False)
def sweep(rows, at, label, steps, state):
    """One step a row, O(nnz) each."""
    v, rest, factors, t = state.iterate.v, state.iterate.rest, state.iterate.factors, state.t
    means, n, mean_square = state.seen, state.seen.n, state.seen.mean_square
    for k in range(at.shape[0]):
        fetch_ahead(rows, at, k)
        i, c = at[k], label[k]
        f = factors.now * row_dot(rows, i, v)
        f -= f * add_row(means, rows, i, c)
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        y, q = 1.0 if c else -1.0, row_square(rows, i)
        eta = step_size(steps.step, mean_square) / np.sqrt(t)
        weighed = eta * (n[0] + n[1]) / (2.0 * n[c])
        if q > 0.0 and weighed > 0.0:
            if steps.implicit:  # the move along x that is weighed * exp(-margin) at the margin it leads to
                move = y * product_log(np.log(weighed * q) - y * f) / q
            else:
                move = y * weighed * np.exp(min(-y * f, CAP))
            step_row(v, rest, factors, rows, i, move)
        weight = t if steps.implicit else 1.0
        factors = averaged(scaled(factors, factors.now / (1.0 + eta * steps.alpha)), weight)
        if factors.now < TINY:
            factors = renewed(v, rest, factors)
    return State(iterate=Iterate(v=v, rest=rest, factors=factors), t=t, seen=means)
