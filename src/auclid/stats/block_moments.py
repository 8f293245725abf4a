"""Moments of the groups of one dense block, all in one pass over its rows."""

from functools import partial, reduce
from operator import add

import numpy as np

from auclid._generic import REORDER, kernel
from auclid._threads import side_by_side
from auclid.rows.memory import MANY_VALUES, DenseTable
from auclid.rows.table import Table, slices
from auclid.stats.moments import ClassMoments, Moments, block_moments, grouped_moments

NEAR = 1024
"""Rows whose mean is near enough to all others of a block to measure them from."""

NARROW = 200
"""Columns up to which a compiled loop takes less than BLAS: for 40 of them, which BLAS squares whole, a third."""

PIECE = 1 << 16
"""Rows of a table that one thread is given at a time."""

STRETCH_BYTES, STRETCH = 1 << 18, 496
"""Memory of the rows that such a loop has in hand, so that they stay in the cache; and how many, at the most."""


def table_moments(table: Table, group: np.ndarray, n_groups: int, weight: np.ndarray | None = None) -> list[Moments]:
    """`grouped_moments`; of many short dense rows by a compiled loop, pieces of the table side by side."""
    if weight is not None or not isinstance(table, DenseTable) or not short_and_many(table.X):
        return grouped_moments(table, group, n_groups, weight)
    pieces = side_by_side(partial(_piece_moments, table.X, group, n_groups), slices(len(group), PIECE))
    return [reduce(add, each) for each in zip(*pieces, strict=True)]


def table_class_moments(table: Table, is_pos: np.ndarray, weight: np.ndarray | None = None) -> ClassMoments:
    """`class_moments` by way of `table_moments`."""
    neg, pos = table_moments(table, is_pos.astype(np.int8), 2, weight)
    return ClassMoments(pos, neg)


def short_and_many(X: np.ndarray) -> bool:
    """Whether a compiled loop pays."""
    return 0 < X.shape[1] <= NARROW and X.size >= MANY_VALUES


def _piece_moments(X: np.ndarray, group: np.ndarray, n_groups: int, piece: slice) -> list[Moments]:
    return dense_block_moments(X[piece], group[piece], n_groups)


def dense_block_moments(X: np.ndarray, group: np.ndarray, n_groups: int) -> list[Moments]:
    """The moments of each group of rows of an array, C- or F-ordered; numbers outside of the groups are left out.

    Sorting the rows by group, as `grouped_moments` does for a table, costs as much as reading them from a file.
    """
    members = [np.flatnonzero(group == g) for g in range(n_groups)]
    if X.shape[1] > NARROW:
        return [block_moments(_rows_at(X, at)) for at in members]
    centres = np.array([_near(X, at) for at in members])
    totals, scatters = _sums(X, group, centres, int(np.argmax([len(at) for at in members])))
    return [
        _about_mean(len(at), centre, total, scatter)
        for at, centre, total, scatter in zip(members, centres, totals, scatters, strict=True)
    ]


def _near(X: np.ndarray, at: np.ndarray) -> np.ndarray:
    """A point near some rows, to measure them from: squares are then about as large as those about their mean."""
    return _rows_at(X, at[:: max(1, len(at) // NEAR)]).mean(axis=0, dtype=np.float64) if len(at) else X[:0].sum(axis=0)


def _rows_at(X: np.ndarray, at: np.ndarray) -> np.ndarray:
    return X[at] if X.flags.c_contiguous else np.ascontiguousarray(X.T[:, at].T)


def _sums(X: np.ndarray, group: np.ndarray, centres: np.ndarray, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """The sums of z and of zz' over the rows of each group, z = x - its centre."""
    n_groups, d = centres.shape
    padded, size = -(-d // 4) * 4, min(STRETCH, STRETCH_BYTES // (8 * max(1, d)) // 16 * 16)
    work, products = np.zeros((n_groups, padded, size)), np.zeros((n_groups, padded, padded))
    totals = np.zeros((n_groups, d))
    if X.flags.c_contiguous:
        add_rows(X, group, centres, work, products, totals)
    else:
        add_columns(X.T, group, centres, largest, work, products, totals)
    lower = np.tril(products[:, :d, :d])
    return totals, lower + np.tril(lower, -1).transpose(0, 2, 1)


def _about_mean(count: int, centre: np.ndarray, total: np.ndarray, scatter: np.ndarray) -> Moments:
    if not count:
        return Moments.empty(len(centre))
    mean = total / count
    return Moments(float(count), centre + mean, scatter - np.multiply.outer(count * mean, mean))


@kernel(fastmath=REORDER)
def add_rows(
    rows: np.ndarray,
    group: np.ndarray,
    centres: np.ndarray,
    work: np.ndarray,
    products: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Add the sums of z and of zz' (its lower triangle) over C-ordered rows: those of a group wait till it has many."""
    n, d = rows.shape
    waiting = np.zeros(len(centres), np.int64)
    for i in range(n):
        g = group[i]
        if g < 0 or g >= len(centres):
            continue
        row, place = rows[i], waiting[g]
        for k in range(d):
            work[g, k, place] = row[k] - centres[g, k]
        waiting[g] += 1
        if waiting[g] == work.shape[2]:
            add_waiting(work[g], waiting[g], products[g], totals[g])
            waiting[g] = 0
    for g in range(len(centres)):
        add_waiting(work[g], waiting[g], products[g], totals[g])


@kernel(fastmath=REORDER)
def add_columns(
    columns: np.ndarray,
    group: np.ndarray,
    centres: np.ndarray,
    largest: int,
    work: np.ndarray,
    products: np.ndarray,
    totals: np.ndarray,
) -> None:
    """The same for rows whose columns lie together: the largest group stays there, and others count as zero in it."""
    d, n = columns.shape
    waiting, own = np.zeros(len(centres), np.int64), group == largest
    for start in range(0, n, work.shape[2]):
        size = min(work.shape[2], n - start)
        stretch = slice(start, start + size)
        for k in range(d):
            totals[largest, k] += centred_column(
                columns[k, stretch], own[stretch], centres[largest, k], work[largest, k, :size]
            )
        add_by_fours(work[largest], size, products[largest])
        for i in range(start, start + size):
            g = group[i]
            if g == largest or g < 0 or g >= len(centres):
                continue
            for k in range(d):
                work[g, k, waiting[g]] = columns[k, i] - centres[g, k]
            waiting[g] += 1
            if waiting[g] == work.shape[2]:
                add_waiting(work[g], waiting[g], products[g], totals[g])
                waiting[g] = 0
    for g in range(len(centres)):
        add_waiting(work[g], waiting[g], products[g], totals[g])


@kernel(fastmath=REORDER)
def add_waiting(work: np.ndarray, size: int, products: np.ndarray, total: np.ndarray) -> None:
    """Add what the rows in hand sum up to: one number at a time would lose digits of the sum of very many."""
    for k in range(total.shape[0]):
        column, own = work[k, :size], 0.0
        for r in range(size):
            own += column[r]
        total[k] += own
    add_by_fours(work, size, products)


@kernel(fastmath=REORDER)
def centred_column(column: np.ndarray, counted: np.ndarray, centre: float, out: np.ndarray) -> float:
    """out_i = x_i - centre where that is counted, else 0; returns their sum."""
    total = 0.0
    for i in range(column.shape[0]):
        z = column[i] - centre if counted[i] else 0.0
        out[i] = z
        total += z
    return total


@kernel(fastmath=REORDER)
def add_by_fours(work: np.ndarray, size: int, products: np.ndarray) -> None:
    """products_ij += sum over r < size of work_ir work_jr for i >= j, four by four: sixteen sums stay in registers."""
    for i in range(0, work.shape[0], 4):
        for j in range(0, i + 1, 4):
            s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = 0.0
            s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = 0.0
            for r in range(size):
                a0, a1, a2, a3 = work[i, r], work[i + 1, r], work[i + 2, r], work[i + 3, r]
                b0, b1, b2, b3 = work[j, r], work[j + 1, r], work[j + 2, r], work[j + 3, r]
                s00, s01, s02, s03 = s00 + a0 * b0, s01 + a0 * b1, s02 + a0 * b2, s03 + a0 * b3
                s10, s11, s12, s13 = s10 + a1 * b0, s11 + a1 * b1, s12 + a1 * b2, s13 + a1 * b3
                s20, s21, s22, s23 = s20 + a2 * b0, s21 + a2 * b1, s22 + a2 * b2, s23 + a2 * b3
                s30, s31, s32, s33 = s30 + a3 * b0, s31 + a3 * b1, s32 + a3 * b2, s33 + a3 * b3
            rows = ((s00, s01, s02, s03), (s10, s11, s12, s13), (s20, s21, s22, s23), (s30, s31, s32, s33))
            for p in range(4):
                for q in range(4):
                    products[i + p, j + q] += rows[p][q]
