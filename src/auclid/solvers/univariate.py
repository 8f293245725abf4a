"""Steps on a class-weighted exponential loss of single rows, implicit or along its gradient (Uni-Exp)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import RowStruct, row_dot, row_squared_norm
from auclid.solvers.averaging import (
    MIN_SCALE,
    AveragedIterate,
    add_to_average,
    average_weights,
    prefetch_ahead,
    renormalize,
    step_along_row,
    with_scale,
    zero_iterate,
)
from auclid.solvers.stream import Batch, StreamSolver
from auclid.stats.class_means import RunningMeans, add_row, class_midpoint, empty_means

MAX_EXPONENT = 30.0
"""The largest exponent of a gradient step, so that it cannot overflow."""


class UnivariateState(NamedTuple):
    """The iterate, the number of steps, and running means of the rows."""

    iterate: AveragedIterate
    t: float
    means: RunningMeans


class UnivariateSteps(NamedTuple):
    """Steps of size ``step`` / sqrt(t); 0 stands for 1/E|x|^2 of the rows so far."""

    step: float
    alpha: float
    implicit: bool = True


@dataclass(frozen=True)
class UnivariateSolver(StreamSolver[UnivariateState]):
    """w <- argmin_v 1/2 |v - w|^2 + eta exp(-y v.x) / (2 P(y)), then shrunk; the t-th iterate has the weight t.

    If not ``implicit``: w <- w - eta (alpha w - y exp(-y w.x) x / (2 P(y))) from the first row on; all iterates have
    equal weights.
    """

    steps: UnivariateSteps
    centred: bool = True  # whether dense rows are centred

    def init(self, d: int) -> UnivariateState:
        return UnivariateState(zero_iterate(d), 0.0, empty_means(d))

    def update(self, batch: Batch, state: UnivariateState) -> UnivariateState:
        for rows, at, label, _ in batch.chunks(state.means.centre if self.centred else None):
            state = sweep_univariate(rows, at, label, self.steps, state)
        return state

    def weights(self, state: UnivariateState) -> tuple[np.ndarray, float]:
        w = average_weights(state.iterate)
        return w, w @ class_midpoint(state.means.total, state.means.n)

    def last_step(self, state: UnivariateState) -> float:
        """The size of the last step, times sqrt(t)."""
        return float(base_step(self.steps.step, state.means.mean_square))


@kernel(inner=True)
def base_step(step: float, mean_square: np.ndarray) -> float:
    """The given step, or 1/E|x|^2 if it is zero (0 while E|x|^2 is zero)."""
    if step > 0.0:
        return step
    return 1.0 / mean_square[0] if mean_square[0] > 1e-300 else 0.0


@kernel(inner=True)
def wright_omega(log_a: float) -> float:
    """The u >= 0 with u + log u = log a, that is u e^u = a, by Newton's method from a point below it."""
    if log_a < -37.0:  # u = a to the last bit, and a may underflow
        return np.exp(log_a)
    u = log_a - np.log(log_a) if log_a > 1.0 else 1.0 / (1.0 + np.exp(-log_a))
    for _ in range(4):
        u -= (u + np.log(u) - log_a) * u / (1.0 + u)
    return u


@kernel(allocates=False)
def sweep_univariate(
    rows: RowStruct, at: np.ndarray, label: np.ndarray, steps: UnivariateSteps, state: UnivariateState
) -> UnivariateState:
    """One step per row, in O(nnz)."""
    v, rest, factors, t = state.iterate.v, state.iterate.rest, state.iterate.factors, state.t
    means, n, mean_square = state.means, state.means.n, state.means.mean_square
    for k in range(at.shape[0]):
        prefetch_ahead(rows, at, k)
        i, c = at[k], label[k]
        score = factors.scale * row_dot(rows, i, v)
        score -= score * add_row(means, rows, i, c)
        if steps.implicit and (n[0] == 0.0 or n[1] == 0.0):
            continue
        t += 1.0
        y, q = 1.0 if c else -1.0, row_squared_norm(rows, i)
        eta = base_step(steps.step, mean_square) / np.sqrt(t)
        class_eta = eta * (n[0] + n[1]) / (2.0 * n[c])
        if steps.implicit:
            if q > 0.0 and class_eta > 0.0:  # the move along x that equals class_eta * exp(-margin) after the step
                step_along_row(v, rest, factors, rows, i, y * wright_omega(np.log(class_eta * q) - y * score) / q)
            factors = add_to_average(with_scale(factors, factors.scale / (1.0 + eta * steps.alpha)), t)
        else:
            factors = with_scale(factors, factors.scale * (1.0 - eta * steps.alpha))
            if abs(factors.scale) < MIN_SCALE:
                factors = renormalize(v, rest, factors)
            step_along_row(v, rest, factors, rows, i, y * class_eta * np.exp(min(-y * score, MAX_EXPONENT)))
            factors = add_to_average(factors, 1.0)
        if abs(factors.scale) < MIN_SCALE:
            factors = renormalize(v, rest, factors)
    iterate = AveragedIterate(v=v, rest=rest, factors=factors)
    return UnivariateState(iterate=iterate, t=t, means=means)
