"""Stochastic proximal steps on the square loss, one row per step (SPAM).

An elastic net is applied lazily to the columns of sparse rows, exactly, in O(nnz of the row) per step.
A step changes the columns of its row. On all other columns only the penalty acts, |w_j| <- s (|w_j| - c)+. So a nonzero
column is stored as w_j = scale (u_j - sign(u_j) threshold). Here u_j stays constant between rows that contain column j,
the scale is the product of all s, and the threshold is the sum of c / scale so far. The weighted sum of the iterates is
sum_scale u_j - sum_threshold sign(u_j) + rest_j, and w . mu_c is scale (U_c - threshold V_c), where U_c and V_c are
sums over the nonzero columns. A column becomes zero when the threshold exceeds |u_j|; a heap of these values finds it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auclid._generic import generic, kernel
from auclid.data import CSR, RowStruct, row_axpy, row_dot, row_entry, row_span
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
from auclid.solvers.stream import Batch, StreamSolver, copy_state
from auclid.stats.class_means import (
    ClassMeans,
    FirstPass,
    FixedMeans,
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


class LazyShrinkage(NamedTuple):
    """The elastic net's effect on all columns since their v was written: w_j = scale (v_j - sign(v_j) threshold).

    The weighted sum of the iterates is sum_scale v_j - sum_threshold sign(v_j) + rest_j. Other penalties do not use it:
    then scale = 1, and the other numbers are zero.
    """

    scale: float
    threshold: float
    sum_scale: float
    sum_threshold: float


NO_SHRINKAGE = LazyShrinkage(1.0, 0.0, 0.0, 0.0)


class ColumnHeap(NamedTuple):
    """The nonzero columns, ordered by a lower bound of |u_j|; an entry is stale if ``lower`` has another bound."""

    keys: np.ndarray
    columns: np.ndarray
    lower: np.ndarray  # (d,): the bound of each column's valid entry; infinite if it has none


class LazyColumns(NamedTuple):
    """All columns, and sums over the nonzero ones."""

    u: np.ndarray  # (d,)
    rest: np.ndarray  # (d,)
    heap: ColumnHeap
    U: np.ndarray  # (2,): sums of u_j mu_cj
    V: np.ndarray  # (2,): sums of sign(u_j) mu_cj


@generic
def column_total(means: ClassMeans, c: int, j: int) -> float:
    """mu_c of column j, times `column_divisor`."""


@generic
def column_divisor(means: ClassMeans, c: int) -> float:
    """The number by which to divide `column_total`."""


@generic
def are_running(means: ClassMeans) -> bool:
    """Whether the rows of a stream are added to the means."""


@column_total.implement(FixedMeans)
def _(means: FixedMeans, c: int, j: int) -> float:
    return means.mean[c, j]


@column_divisor.implement(FixedMeans)
def _(means: FixedMeans, c: int) -> float:
    return 1.0


@are_running.implement(FixedMeans)
def _(means: FixedMeans) -> bool:
    return False


@column_total.implement(RunningMeans)
def _(means: RunningMeans, c: int, j: int) -> float:
    return means.total[c, j]


@column_divisor.implement(RunningMeans)
def _(means: RunningMeans, c: int) -> float:
    return means.n[c]


@are_running.implement(RunningMeans)
def _(means: RunningMeans) -> bool:
    return True


@kernel(inner=True)
def sign(x: float) -> float:
    """-1, 0 or 1"""
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


@kernel
def apply_shrinkage(v: np.ndarray, rest: np.ndarray, shrinkage: LazyShrinkage) -> LazyShrinkage:
    """v <- w and rest <- the weighted sum of the iterates, so that no shrinkage is outstanding."""
    if shrinkage.sum_scale > 0.0:
        for j in range(v.shape[0]):
            s = sign(v[j])
            rest[j] += shrinkage.sum_scale * v[j] - shrinkage.sum_threshold * s
            v[j] = shrinkage.scale * (v[j] - s * shrinkage.threshold)
    return LazyShrinkage(scale=1.0, threshold=0.0, sum_scale=0.0, sum_threshold=0.0)


@kernel(inner=True)
def penalized(shrinkage: LazyShrinkage, penalty: ElasticNet, step: float) -> LazyShrinkage:
    """The shrinkage after one proximal step of the penalty."""
    return LazyShrinkage(
        scale=shrinkage.scale / (1.0 + step * penalty.l2),
        threshold=shrinkage.threshold + step * penalty.l1 / shrinkage.scale,
        sum_scale=shrinkage.sum_scale,
        sum_threshold=shrinkage.sum_threshold,
    )


@kernel(inner=True)
def averaged_shrinkage(shrinkage: LazyShrinkage, weight: float) -> LazyShrinkage:
    """The shrinkage after adding w to the average, with this weight."""
    scale, threshold = shrinkage.scale, shrinkage.threshold
    return LazyShrinkage(
        scale=scale,
        threshold=threshold,
        sum_scale=shrinkage.sum_scale + weight * scale,
        sum_threshold=shrinkage.sum_threshold + weight * scale * threshold,
    )


@kernel(inner=True)
def heap_push(heap: ColumnHeap, size: int, key: float, j: int) -> int:
    """Add column j to the heap; returns the new size."""
    keys, columns = heap.keys, heap.columns
    k = size
    while k > 0 and keys[(k - 1) >> 1] > key:
        parent = (k - 1) >> 1
        keys[k], columns[k] = keys[parent], columns[parent]
        k = parent
    keys[k], columns[k] = key, j
    heap.lower[j] = key
    return size + 1


@kernel(inner=True)
def heap_pop(heap: ColumnHeap, size: int) -> int:
    """Remove the smallest entry of the heap; returns the new size."""
    keys, columns = heap.keys, heap.columns
    size -= 1
    key, j, k = keys[size], columns[size], 0
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[k], columns[k] = keys[child], columns[child]
        k = child
    keys[k], columns[k] = key, j
    return size


@kernel(inner=True)
def build_heap(columns: LazyColumns) -> int:
    """Rebuild the heap from all nonzero columns; returns its size."""
    u, heap, size = columns.u, columns.heap, 0
    for j in range(u.shape[0]):
        heap.lower[j] = np.inf
        if u[j] != 0.0:
            size = heap_push(heap, size, abs(u[j]), j)
    return size


@kernel(inner=True)
def sum_columns(columns: LazyColumns, means: ClassMeans) -> None:
    """Recompute U and V, for columns without outstanding shrinkage."""
    u, U, V = columns.u, columns.U, columns.V
    U[:] = 0.0
    V[:] = 0.0
    for j in range(u.shape[0]):
        if u[j] != 0.0:
            for c in range(2):
                U[c] += u[j] * column_total(means, c, j)
                V[c] += sign(u[j]) * column_total(means, c, j)


@kernel(inner=True)
def zero_columns(columns: LazyColumns, means: ClassMeans, size: int, shrinkage: LazyShrinkage) -> int:
    """Set to zero the columns that the threshold has passed; returns the heap's size."""
    u, rest, heap, U, V = columns.u, columns.rest, columns.heap, columns.U, columns.V
    while size > 0 and heap.keys[0] <= shrinkage.threshold:
        key, j = heap.keys[0], heap.columns[0]
        size = heap_pop(heap, size)
        if key != heap.lower[j]:
            continue
        heap.lower[j] = np.inf
        if abs(u[j]) > shrinkage.threshold:
            size = heap_push(heap, size, abs(u[j]), j)
        elif u[j] != 0.0:
            s = sign(u[j])
            for c in range(2):
                U[c] -= u[j] * column_total(means, c, j)
                V[c] -= s * column_total(means, c, j)
            rest[j] += shrinkage.sum_scale * u[j] - shrinkage.sum_threshold * s
            u[j] = 0.0
    return size


@kernel(inner=True)
def step_columns(
    rows: RowStruct, i: int, a: float, columns: LazyColumns, means: ClassMeans, size: int, shrinkage: LazyShrinkage
) -> int:
    """w += a x_i, before the penalty; returns the heap's size."""
    u, rest, heap, lower = columns.u, columns.rest, columns.heap, columns.heap.lower
    threshold, sum_scale, sum_threshold = shrinkage.threshold, shrinkage.sum_scale, shrinkage.sum_threshold
    inverse = 1.0 / shrinkage.scale
    U_neg = U_pos = V_neg = V_pos = 0.0
    first, last = row_span(rows, i)
    for position in range(first, last):
        j, x = row_entry(rows, i, position)
        old, old_sign = u[j], sign(u[j])
        w = old - old_sign * threshold + a * x * inverse  # divided by the scale
        new_sign = sign(w)
        new, turn = w + new_sign * threshold, new_sign - old_sign
        change = new - old
        neg, pos = column_total(means, 0, j), column_total(means, 1, j)
        U_neg += change * neg
        U_pos += change * pos
        V_neg += turn * neg
        V_pos += turn * pos
        rest[j] += sum_threshold * turn - sum_scale * change
        u[j] = new
        if new_sign != 0.0 and abs(new) < lower[j]:
            size = heap_push(heap, size, abs(new), np.int64(j))  # type: ignore[arg-type]
    columns.U[0] += U_neg
    columns.U[1] += U_pos
    columns.V[0] += V_neg
    columns.V[1] += V_pos
    return size


@kernel(inner=True)
def score_row(
    rows: RowStruct, i: int, c: int, columns: LazyColumns, means: ClassMeans, shrinkage: LazyShrinkage
) -> float:
    """w . x_i; adds the row, of class c, to U and V if the means are about to include it."""
    u, U, V, score = columns.u, columns.U, columns.V, 0.0
    first, last = row_span(rows, i)
    for position in range(first, last):
        j, x = row_entry(rows, i, position)
        score += x * (u[j] - sign(u[j]) * shrinkage.threshold)
        if are_running(means):
            U[c] += x * u[j]
            V[c] += x * sign(u[j])
    return shrinkage.scale * score


@kernel(inner=True)
def projection(columns: LazyColumns, means: ClassMeans, c: int, shrinkage: LazyShrinkage) -> float:
    """w . mu_c"""
    return shrinkage.scale * (columns.U[c] - shrinkage.threshold * columns.V[c]) / column_divisor(means, c)


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
