"""An elastic net applied lazily to the columns of sparse rows, exactly, in O(nnz of the row) per step.

A step changes the columns of its row. On all other columns only the penalty acts, |w_j| <- s (|w_j| - c)+. So a nonzero
column is stored as w_j = scale (u_j - sign(u_j) threshold). Here u_j stays constant between rows that contain column j,
the scale is the product of all s, and the threshold is the sum of c / scale so far. The weighted sum of the iterates is
sum_scale u_j - sum_threshold sign(u_j) + rest_j, and w . mu_c is scale (U_c - threshold V_c), where U_c and V_c are
sums over the nonzero columns. A column becomes zero when the threshold exceeds |u_j|; a heap of these values finds it.
"""

from typing import NamedTuple

import numpy as np

from auclid._generic import generic, kernel
from auclid.data import RowStruct, row_entry, row_span
from auclid.penalties import ElasticNet
from auclid.stats.class_means import ClassMeans, FixedMeans, RunningMeans


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


@kernel
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


@kernel
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


@kernel
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
