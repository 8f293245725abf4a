"""SPAM's steps with an elastic net on sparse rows, in O(nnz of the row) each, exactly.

A step changes the columns of its row; the others only feel the penalty, |w_j| <- s (|w_j| - c)+. So a column that is
not zero is kept as w_j = P (u_j - sign(u_j) Q), where u_j stays the same from one row that holds it to the next, P is
the product of all s and Q the sum of c / P so far. The weighted sum of the iterates is A u_j - B sign(u_j) + rest_j,
and w . mu_c is P (U_c - Q V_c) with sums over the columns that are not zero. A column becomes zero when Q passes |u_j|:
a heap of these tells which are next.
"""

from typing import NamedTuple

import numpy as np

from auclid._generic import generic, kernel
from auclid.data import row_entry, row_span
from auclid.solvers.iterate import TINY, Factors, Iterate, fetch_ahead, renewed
from auclid.solvers.row_steps import Clock, State, row_move, row_step, settle, sign
from auclid.stats.class_means import Known, Running, add_row, square_length

STRETCH = 1 << 16
"""Steps after which columns are settled, so that rounding in the sums over them does not add up."""


class Heap(NamedTuple):
    """The columns that are not zero, by a bound below |u_j|; stale entries are told by another bound in ``lower``."""

    keys: np.ndarray
    columns: np.ndarray
    lower: np.ndarray  # (d,): the bound of each column's own entry; infinite where it has none


class Columns(NamedTuple):
    """Every column, and sums over those that are not zero."""

    u: np.ndarray  # (d,)
    rest: np.ndarray  # (d,)
    heap: Heap
    U: np.ndarray  # (2,): sums of u_j mu_cj
    V: np.ndarray  # (2,): sums of sign(u_j) mu_cj


@generic
def column_total(means, c, j):
    """mu_c of column j, times `column_count`."""


@generic
def column_count(means, c):
    """By what to divide `column_total`."""


@generic
def grows(means):
    """Whether rows enter the means as they pass."""


@column_total.implement(Known)
def _(means, c, j):
    return means.mean[c, j]


@column_count.implement(Known)
def _(means, c):
    return 1.0


@grows.implement(Known)
def _(means):
    return False


@column_total.implement(Running)
def _(means, c, j):
    return means.total[c, j]


@column_count.implement(Running)
def _(means, c):
    return means.n[c]


@grows.implement(Running)
def _(means):
    return True


@kernel
def push(heap, size, key, j):
    """Let column j into the heap; returns its size."""
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
def pop(heap, size):
    """Take the least entry off the heap; returns its size."""
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
def build_heap(columns):
    """The heap of all columns that are not zero; returns its size."""
    u, heap, size = columns.u, columns.heap, 0
    for j in range(u.shape[0]):
        heap.lower[j] = np.inf
        if u[j] != 0.0:
            size = push(heap, size, abs(u[j]), j)
    return size


@kernel
def add_columns(columns, means):
    """U and V anew, for columns that are settled."""
    u, U, V = columns.u, columns.U, columns.V
    U[:] = 0.0
    V[:] = 0.0
    for j in range(u.shape[0]):
        if u[j] != 0.0:
            for c in range(2):
                U[c] += u[j] * column_total(means, c, j)
                V[c] += sign(u[j]) * column_total(means, c, j)


@kernel(inner=True)
def drop_zeros(columns, means, size, clock):
    """Set the columns to zero that Q has passed; returns the heap's size."""
    u, rest, heap, U, V = columns.u, columns.rest, columns.heap, columns.U, columns.V
    while size > 0 and heap.keys[0] <= clock.Q:
        key, j = heap.keys[0], heap.columns[0]
        size = pop(heap, size)
        if key != heap.lower[j]:
            continue
        heap.lower[j] = np.inf
        if abs(u[j]) > clock.Q:
            size = push(heap, size, abs(u[j]), j)
        elif u[j] != 0.0:
            s = sign(u[j])
            for c in range(2):
                U[c] -= u[j] * column_total(means, c, j)
                V[c] -= s * column_total(means, c, j)
            rest[j] += clock.A * u[j] - clock.B * s
            u[j] = 0.0
    return size


@kernel(inner=True)
def move_row(rows, i, move, columns, means, size, clock):
    """w += move x_i, before the penalty; returns the heap's size."""
    u, rest, heap, lower = columns.u, columns.rest, columns.heap, columns.heap.lower
    Q, A, B, inverse = clock.Q, clock.A, clock.B, 1.0 / clock.P
    U_neg = U_pos = V_neg = V_pos = 0.0
    first, last = row_span(rows, i)
    for place in range(first, last):
        j, x = row_entry(rows, i, place)
        old, s = u[j], sign(u[j])
        w = old - s * Q + move * x * inverse  # times P
        t = sign(w)
        new, turn = w + t * Q, t - s
        change = new - old
        neg, pos = column_total(means, 0, j), column_total(means, 1, j)
        U_neg += change * neg
        U_pos += change * pos
        V_neg += turn * neg
        V_pos += turn * pos
        rest[j] += B * turn - A * change
        u[j] = new
        if t != 0.0 and abs(new) < lower[j]:
            size = push(heap, size, abs(new), np.int64(j))
    columns.U[0] += U_neg
    columns.U[1] += U_pos
    columns.V[0] += V_neg
    columns.V[1] += V_pos
    return size


@kernel(inner=True)
def score_row(rows, i, c, columns, means, clock):
    """w . x_i; the row, of class c, enters the sums where it is about to enter the means."""
    u, U, V, f = columns.u, columns.U, columns.V, 0.0
    first, last = row_span(rows, i)
    for place in range(first, last):
        j, x = row_entry(rows, i, place)
        f += x * (u[j] - sign(u[j]) * clock.Q)
        if grows(means):
            U[c] += x * u[j]
            V[c] += x * sign(u[j])
    return clock.P * f


@kernel
def sweep_thresholded(rows, at, label, means, steps, state):
    """One step a row with an elastic net, O(nnz) each."""
    u, rest, a, t = state.iterate.v, state.iterate.rest, state.projections, state.t
    guarded, penalty, n, mean_square = steps.guarded, steps.penalty, means.n, means.mean_square
    d = u.shape[0]
    factors, room, clock = state.iterate.factors, 4 * d + 64, state.clock
    heap = Heap(keys=np.empty(room), columns=np.empty(room, dtype=np.int64), lower=np.empty(d))
    columns = Columns(u=u, rest=rest, heap=heap, U=state.sums[0], V=state.sums[1])
    if clock.A == 0.0:  # another penalty's steps may have gone before
        factors = renewed(u, rest, factors)
        add_columns(columns, means)
    weight, size = factors.weight, build_heap(columns)
    for k in range(at.shape[0]):
        fetch_ahead(rows, at, k)
        i, c = at[k], label[k]
        if clock.P < TINY or t % STRETCH == STRETCH - 1.0:
            clock = settle(u, rest, clock)
            add_columns(columns, means)
            size = build_heap(columns)
        elif size + d > room:
            size = build_heap(columns)
        f = score_row(rows, i, c, columns, means, clock)
        add_row(means, rows, i, c)
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        e, reach = row_step(steps, n, mean_square, t, c)
        if guarded:
            e /= 1.0 + e * square_length(means, rows, i, k)
        opposite = clock.P * (columns.U[1 - c] - clock.Q * columns.V[1 - c]) / column_count(means, 1 - c)
        size = move_row(rows, i, row_move(e, f, opposite, c), columns, means, size, clock)
        Q, P = clock.Q + reach * penalty.l1 / clock.P, clock.P / (1.0 + reach * penalty.l2)
        size = drop_zeros(columns, means, size, Clock(P=P, Q=Q, A=clock.A, B=clock.B))
        clock = Clock(P=P, Q=Q, A=clock.A + t * t * P, B=clock.B + t * t * P * Q)
        weight += t * t
    if t > 0.0:
        for c in range(2):
            a[c] = clock.P * (columns.U[c] - clock.Q * columns.V[c]) / column_count(means, c)
    if not grows(means):  # a stream that follows counts its sums otherwise
        clock = settle(u, rest, clock)
    iterate = Iterate(v=u, rest=rest, factors=Factors(now=1.0, past=0.0, weight=weight))
    return State(iterate=iterate, projections=a, t=t, seen=state.seen, clock=clock, sums=state.sums)
