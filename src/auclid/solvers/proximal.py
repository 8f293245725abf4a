"""Stochastic proximal steps on the square loss, one row per step (SPAM)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import CSR, RowStruct, row_axpy, row_dot
from auclid.penalties import L2, ElasticNet, Penalty, prox
from auclid.schedules import Schedule, rate
from auclid.solvers.averaging import (
    MIN_SCALE,
    AveragedIterate,
    ScaleFactors,
    add_to_average,
    average_weights,
    current_weights,
    prefetch_ahead,
    renormalize,
    step_along_row,
    with_scale,
    zero_iterate,
)
from auclid.solvers.lazy_elastic_net import (
    NO_SHRINKAGE,
    ColumnHeap,
    LazyColumns,
    LazyShrinkage,
    apply_shrinkage,
    are_running,
    averaged_shrinkage,
    build_heap,
    penalized,
    projection,
    score_row,
    step_columns,
    sum_columns,
    zero_columns,
)
from auclid.solvers.stream import Batch, StreamSolver, copy_state
from auclid.stats.class_means import (
    ClassMeans,
    FirstPass,
    RunningMeans,
    add_row,
    add_scored_row,
    class_midpoint,
    empty_means,
    mean_score,
    means_of,
    row_products,
    stable_step,
    step_row_square,
    updated_row_products,
)

REFRESH_STEPS = 1 << 16
"""Steps after which the lazy elastic net is applied to all columns, so that rounding errors do not accumulate."""


class ProximalState(NamedTuple):
    """The iterate, its products with the class means, the number of steps, and running means of the rows."""

    iterate: AveragedIterate
    projections: np.ndarray  # (2,): w . mu_c
    t: float
    means: RunningMeans
    shrinkage: LazyShrinkage
    sums: np.ndarray  # (2, 2): U and V of `lazy_elastic_net`, while shrinkage is outstanding


class ProximalSteps(NamedTuple):
    """Step sizes and penalty of SPAM."""

    schedule: Schedule
    relative: bool  # whether the schedule is in units of `stable_step`
    guarded: bool  # whether steps along long rows are bounded
    penalty: Penalty


@dataclass(frozen=True)
class ProximalSolver(StreamSolver[ProximalState]):
    """w <- prox of the penalty at w - eta g, for the gradient g of one row; the answer is w or its average."""

    steps: ProximalSteps
    average: bool
    centred: bool = True  # whether dense rows are centred

    def init(self, d: int) -> ProximalState:
        return initial_state(empty_means(d))

    def init_fit(self, summary: FirstPass) -> ProximalState:
        return initial_state(means_of(summary))

    def update(self, batch: Batch, state: ProximalState) -> ProximalState:
        for rows, at, label, numbers in batch.chunks(state.means.centre if self.centred else None):
            means = state.means if batch.summary is None else batch.summary.means_for(numbers)
            sweep = self._sweep(rows)
            state = state if sweep is sweep_elastic_net else without_shrinkage(state)
            state = sweep(rows, at, label, means, self.steps, state)
        return state

    def _sweep(self, rows: RowStruct) -> Callable[..., ProximalState]:
        """The fastest kernel for penalty and rows: O(nnz of the row) per step, except for arbitrary penalties.

        Dense rows have entries in all columns, so a lazy elastic net would gain nothing for them.
        """
        penalty = type(self.steps.penalty)
        if penalty is L2:
            return sweep_l2
        return sweep_elastic_net if penalty is ElasticNet and isinstance(rows, CSR) else sweep_any_penalty

    def weights(self, state: ProximalState) -> tuple[np.ndarray, float]:
        iterate = without_shrinkage(state._replace(iterate=copy_state(state.iterate))).iterate
        w = average_weights(iterate) if self.average else current_weights(iterate)
        return w, w @ class_midpoint(state.means.total, state.means.n)

    def schedule(self, state: ProximalState) -> Schedule:
        """The step sizes in use, for the class shares and E|x|^2 of the rows so far."""
        schedule, means = self.steps.schedule, state.means
        if not self.steps.relative or means.n.min() == 0.0:
            return schedule
        return schedule._replace(step=schedule.step * stable_step(means.n, means.mean_square))


def initial_state(means: RunningMeans) -> ProximalState:
    """Zero weights, with these means."""
    d = len(means.centre)
    return ProximalState(zero_iterate(d), np.zeros(2), 0.0, means, NO_SHRINKAGE, np.zeros((2, 2)))


def without_shrinkage(state: ProximalState) -> ProximalState:
    """The state with outstanding shrinkage applied; overwrites the iterate."""
    if state.shrinkage.sum_scale == 0.0:
        return state
    return state._replace(shrinkage=apply_shrinkage(state.iterate.v, state.iterate.rest, state.shrinkage))


@kernel(inner=True)
def step_sizes(steps: ProximalSteps, n: np.ndarray, mean_square: np.ndarray, t: float, c: int) -> tuple[float, float]:
    """The steps of loss and penalty at time t for a row of class c: 2 eta (1-p) or 2 eta p, and eta p (1-p)."""
    p = n[1] / (n[0] + n[1])
    step = rate(steps.schedule, t) * (stable_step(n, mean_square) if steps.relative else 1.0)
    return 2.0 * step * (1.0 - p if c else p), step * p * (1.0 - p)


@kernel(inner=True)
def row_coefficient(step: float, score: float, opposite: float, c: int) -> float:
    """The a of SPAM's step w += a x for a row x of class c; ``opposite`` is w . mu of the other class."""
    return -step * (score - opposite - (1.0 if c else -1.0))


@kernel(allocates=False)
def sweep_l2(
    rows: RowStruct, at: np.ndarray, label: np.ndarray, means: ClassMeans, steps: ProximalSteps, state: ProximalState
) -> ProximalState:
    """One step per row with an L2 penalty, in O(nnz); the projections w . mu_c are updated along."""
    v, rest, factors, a, t = state.iterate.v, state.iterate.rest, state.iterate.factors, state.projections, state.t
    guarded, l2, n, mean_square = steps.guarded, steps.penalty.l2, means.n, means.mean_square
    for k in range(at.shape[0]):
        prefetch_ahead(rows, at, k)
        i, c = at[k], label[k]
        products = row_products(means, rows, i, k, v)
        score = add_scored_row(means, rows, i, c, factors.scale * products[0], a)
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        step, penalty_step = step_sizes(steps, n, mean_square, t, c)
        x0, x1, square = updated_row_products(means, rows, i, products)
        if guarded:
            step /= 1.0 + step * square
        move = row_coefficient(step, score, a[1 - c], c)
        shrink = 1.0 / (1.0 + penalty_step * l2)
        step_along_row(v, rest, factors, rows, i, move)
        a[0] = shrink * (a[0] + move * x0)
        a[1] = shrink * (a[1] + move * x1)
        factors = add_to_average(with_scale(factors, factors.scale * shrink), t * t)
        if factors.scale < MIN_SCALE:
            factors = renormalize(v, rest, factors)
    iterate = AveragedIterate(v=v, rest=rest, factors=factors)
    return ProximalState(
        iterate=iterate, projections=a, t=t, means=state.means, shrinkage=state.shrinkage, sums=state.sums
    )


@kernel
def sweep_any_penalty(
    rows: RowStruct, at: np.ndarray, label: np.ndarray, means: ClassMeans, steps: ProximalSteps, state: ProximalState
) -> ProximalState:
    """One step per row with any penalty, in O(d)."""
    v, rest, a, t = state.iterate.v, state.iterate.rest, state.projections, state.t
    guarded, penalty, n, mean_square = steps.guarded, steps.penalty, means.n, means.mean_square
    factors = renormalize(v, rest, state.iterate.factors)
    for k in range(at.shape[0]):
        prefetch_ahead(rows, at, k)
        i, c = at[k], label[k]
        score = add_scored_row(means, rows, i, c, row_dot(rows, i, v), a)
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        step, penalty_step = step_sizes(steps, n, mean_square, t, c)
        if guarded:
            step /= 1.0 + step * step_row_square(means, rows, i, k)
        row_axpy(rows, i, row_coefficient(step, score, mean_score(means, rows, 1 - c, v), c), v)
        prox(penalty, v, penalty_step)
        factors = add_to_average(factors, t * t)
        factors = renormalize(v, rest, factors)
    if t > 0.0:
        a[0], a[1] = mean_score(means, rows, 0, v), mean_score(means, rows, 1, v)
    iterate = AveragedIterate(v=v, rest=rest, factors=factors)
    return ProximalState(
        iterate=iterate, projections=a, t=t, means=state.means, shrinkage=state.shrinkage, sums=state.sums
    )


@kernel
def sweep_elastic_net(
    rows: RowStruct, at: np.ndarray, label: np.ndarray, means: ClassMeans, steps: ProximalSteps, state: ProximalState
) -> ProximalState:
    """One step per sparse row with an elastic net, in O(nnz)."""
    u, rest, a, t = state.iterate.v, state.iterate.rest, state.projections, state.t
    guarded, penalty, n, mean_square = steps.guarded, steps.penalty, means.n, means.mean_square
    d = u.shape[0]
    factors, room, shrinkage = state.iterate.factors, 4 * d + 64, state.shrinkage
    heap = ColumnHeap(keys=np.empty(room), columns=np.empty(room, dtype=np.int64), lower=np.empty(d))
    columns = LazyColumns(u=u, rest=rest, heap=heap, U=state.sums[0], V=state.sums[1])
    if shrinkage.sum_scale == 0.0:  # the steps before may have been those of another kernel
        factors = renormalize(u, rest, factors)
        sum_columns(columns, means)
    weight, size = factors.weight, build_heap(columns)
    for k in range(at.shape[0]):
        prefetch_ahead(rows, at, k)
        i, c = at[k], label[k]
        if shrinkage.scale < MIN_SCALE or t % REFRESH_STEPS == REFRESH_STEPS - 1.0:
            shrinkage = apply_shrinkage(u, rest, shrinkage)
            sum_columns(columns, means)
            size = build_heap(columns)
        elif size + d > room:
            size = build_heap(columns)
        score = score_row(rows, i, c, columns, means, shrinkage)
        add_row(means, rows, i, c)
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        step, penalty_step = step_sizes(steps, n, mean_square, t, c)
        if guarded:
            step /= 1.0 + step * step_row_square(means, rows, i, k)
        move = row_coefficient(step, score, projection(columns, means, 1 - c, shrinkage), c)
        size = step_columns(rows, i, move, columns, means, size, shrinkage)
        shrinkage = penalized(shrinkage, penalty, penalty_step)
        size = zero_columns(columns, means, size, shrinkage)
        shrinkage = averaged_shrinkage(shrinkage, t * t)
        weight += t * t
    if t > 0.0:
        a[0], a[1] = projection(columns, means, 0, shrinkage), projection(columns, means, 1, shrinkage)
    if not are_running(means):  # a stream that follows has other sums U and V
        shrinkage = apply_shrinkage(u, rest, shrinkage)
    iterate = AveragedIterate(v=u, rest=rest, factors=ScaleFactors(scale=1.0, sum_scale=0.0, weight=weight))
    return ProximalState(iterate=iterate, projections=a, t=t, means=state.means, shrinkage=shrinkage, sums=state.sums)
