"""Sums of rows and of their outer products for all groups of a dense block, in one pass over its rows."""

from typing import NamedTuple

import numpy as np

from auclid._generic import REORDER, kernel

PENDING_BYTES, MAX_PENDING_ROWS = 1 << 18, 496
"""Memory, and largest number, of a group's pending rows, so that they stay in the processor's cache."""


class GroupSums(NamedTuple):
    """Sums of z and of zz' (lower triangles) of each group, z = x - the group's centre, and rows not yet added."""

    centres: np.ndarray
    totals: np.ndarray
    products: np.ndarray
    pending: np.ndarray  # (groups, columns, rows): rows z that are added together
    n_pending: np.ndarray


def group_sums(X: np.ndarray, group: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sums of z and of zz' over the rows of each group, z = x - the group's centre; X may be C- or F-ordered."""
    n_groups, d = centres.shape
    padded, size = -(-d // 4) * 4, min(MAX_PENDING_ROWS, PENDING_BYTES // (8 * max(1, d)) // 16 * 16)
    sums = GroupSums(
        centres=centres,
        totals=np.zeros((n_groups, d)),
        products=np.zeros((n_groups, padded, padded)),
        pending=np.zeros((n_groups, padded, size)),
        n_pending=np.zeros(n_groups, dtype=np.int64),
    )
    if X.flags.c_contiguous:
        add_rows(X.T, group, -1, sums)
    else:
        inside = group[(group >= 0) & (group < n_groups)]
        add_columns(X.T, group, int(np.argmax(np.bincount(inside, minlength=n_groups))), sums)
    for g in range(n_groups):
        add_pending(g, sums)
    lower = np.tril(sums.products[:, :d, :d])
    return sums.totals, lower + np.tril(lower, -1).transpose(0, 2, 1)


@kernel(fastmath=REORDER)
def add_rows(columns: np.ndarray, group: np.ndarray, excluded: int, sums: GroupSums) -> None:
    """Add rows, given as the columns of an array, except those of one group.

    Rows are pending until their group has enough of them.
    """
    d, n = columns.shape
    for i in range(n):
        g = group[i]
        if g == excluded or g < 0 or g >= sums.centres.shape[0]:
            continue
        position = sums.n_pending[g]
        for k in range(d):
            sums.pending[g, k, position] = columns[k, i] - sums.centres[g, k]
        sums.n_pending[g] += 1
        if sums.n_pending[g] == sums.pending.shape[2]:
            add_pending(g, sums)


@kernel(fastmath=REORDER)
def add_columns(columns: np.ndarray, group: np.ndarray, largest: int, sums: GroupSums) -> None:
    """Add rows of an F-ordered array, given as the contiguous rows of its transpose.

    Rows of the largest group are added in place, with zeros for all others; the others are added by `add_rows`.
    """
    d, n = columns.shape
    member, work = group == largest, sums.pending[largest]
    for start in range(0, n, work.shape[1]):
        size = min(work.shape[1], n - start)
        chunk = slice(start, start + size)
        for k in range(d):
            sums.totals[largest, k] += centred_column(
                columns[k, chunk], member[chunk], sums.centres[largest, k], work[k, :size]
            )
        add_outer_products(work, size, sums.products[largest])
        add_rows(columns[:, chunk], group[chunk], largest, sums)


@kernel(fastmath=REORDER)
def add_pending(g: int, sums: GroupSums) -> None:
    """Add the sums over the pending rows of a group: adding rows one by one would lose digits over many rows."""
    work, size = sums.pending[g], sums.n_pending[g]
    for k in range(sums.totals.shape[1]):
        total = 0.0
        for r in range(size):
            total += work[k, r]
        sums.totals[g, k] += total
    add_outer_products(work, size, sums.products[g])
    sums.n_pending[g] = 0


@kernel(fastmath=REORDER, inner=True)
def centred_column(column: np.ndarray, member: np.ndarray, centre: float, out: np.ndarray) -> float:
    """out_i = x_i - centre for members of the group, else 0; returns their sum."""
    total = 0.0
    for i in range(column.shape[0]):
        z = column[i] - centre if member[i] else 0.0
        out[i] = z
        total += z
    return total


@kernel(fastmath=REORDER, inner=True)
def add_outer_products(work: np.ndarray, size: int, products: np.ndarray) -> None:
    """products_ij += sum over r < size of work_ir work_jr for i >= j, in 4 x 4 tiles whose sums stay in registers."""
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
