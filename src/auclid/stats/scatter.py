"""Sums of rows and of their squares, of all groups of one dense block, in one pass over its rows."""

from typing import NamedTuple

import numpy as np

from auclid._generic import REORDER, kernel

STRETCH_BYTES, STRETCH = 1 << 18, 496
"""Memory of the rows that a loop has in hand, so that they stay in the cache; and how many, at the most."""


class GroupSums(NamedTuple):
    """Sums of z and of zz' (its lower triangle) of each group, z = x - its centre, and the rows yet to be added."""

    centres: np.ndarray
    totals: np.ndarray
    products: np.ndarray
    waiting: np.ndarray
    n_waiting: np.ndarray


def group_sums(X: np.ndarray, group: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sums of z and of zz' over the rows of each group, z = x - its centre; X may be C- or F-ordered."""
    n_groups, d = centres.shape
    padded, size = -(-d // 4) * 4, min(STRETCH, STRETCH_BYTES // (8 * max(1, d)) // 16 * 16)
    sums = GroupSums(
        centres=centres,
        totals=np.zeros((n_groups, d)),
        products=np.zeros((n_groups, padded, padded)),
        waiting=np.zeros((n_groups, padded, size)),
        n_waiting=np.zeros(n_groups, dtype=np.int64),
    )
    if X.flags.c_contiguous:
        add_rows(X.T, group, -1, sums)
    else:
        inside = group[(group >= 0) & (group < n_groups)]
        add_columns(X.T, group, int(np.argmax(np.bincount(inside, minlength=n_groups))), sums)
    for g in range(n_groups):
        add_waiting(g, sums)
    lower = np.tril(sums.products[:, :d, :d])
    return sums.totals, lower + np.tril(lower, -1).transpose(0, 2, 1)


@kernel(fastmath=REORDER)
def add_rows(columns: np.ndarray, group: np.ndarray, left_out: int, sums: GroupSums) -> None:
    """Add rows, given as the columns of an array, but those of one group: they wait till their group has many."""
    d, n = columns.shape
    for i in range(n):
        g = group[i]
        if g == left_out or g < 0 or g >= sums.centres.shape[0]:
            continue
        place = sums.n_waiting[g]
        for k in range(d):
            sums.waiting[g, k, place] = columns[k, i] - sums.centres[g, k]
        sums.n_waiting[g] += 1
        if sums.n_waiting[g] == sums.waiting.shape[2]:
            add_waiting(g, sums)


@kernel(fastmath=REORDER)
def add_columns(columns: np.ndarray, group: np.ndarray, largest: int, sums: GroupSums) -> None:
    """The same for columns that lie together: the largest group stays there, and other rows count as zero in it."""
    d, n = columns.shape
    own, work = group == largest, sums.waiting[largest]
    for start in range(0, n, work.shape[1]):
        size = min(work.shape[1], n - start)
        stretch = slice(start, start + size)
        for k in range(d):
            sums.totals[largest, k] += centred_column(
                columns[k, stretch], own[stretch], sums.centres[largest, k], work[k, :size]
            )
        add_by_fours(work, size, sums.products[largest])
        add_rows(columns[:, stretch], group[stretch], largest, sums)


@kernel(fastmath=REORDER)
def add_waiting(g: int, sums: GroupSums) -> None:
    """Add what the waiting rows sum up to: one number at a time would lose digits of the sum of very many."""
    work, size = sums.waiting[g], sums.n_waiting[g]
    for k in range(sums.totals.shape[1]):
        own = 0.0
        for r in range(size):
            own += work[k, r]
        sums.totals[g, k] += own
    add_by_fours(work, size, sums.products[g])
    sums.n_waiting[g] = 0


@kernel(fastmath=REORDER, inner=True)
def centred_column(column: np.ndarray, counted: np.ndarray, centre: float, out: np.ndarray) -> float:
    """out_i = x_i - centre where that is counted, else 0; returns their sum."""
    total = 0.0
    for i in range(column.shape[0]):
        z = column[i] - centre if counted[i] else 0.0
        out[i] = z
        total += z
    return total


@kernel(fastmath=REORDER, inner=True)
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
