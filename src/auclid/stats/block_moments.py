"""Moments of the groups of one dense block: the largest group stays where it is, the others are gathered from it."""

import numpy as np

from auclid._generic import REORDER, kernel
from auclid.rows import sizes
from auclid.stats.moments import Moments, add_products, symmetric

NEAR = 1024
"""Rows whose mean is near enough to all others of a block to measure them from."""

NARROW = 200
"""Columns up to which a compiled loop takes less than BLAS: for 40 of them, which BLAS squares whole, a third."""

STRETCH_BYTES, STRETCH = 1 << 18, 496
"""Memory of the rows that such a loop has in hand, so that they stay in the cache; and how many, at the most."""


def dense_block_moments(X: np.ndarray, group: np.ndarray, n_groups: int) -> list[Moments]:
    """The moments of each group of rows of an array, C- or F-ordered; numbers outside of the groups are left out.

    Sorting the rows by group, as `grouped_moments` does for a table, costs as much as reading them from a file.
    """
    members = [group == g for g in range(n_groups)]
    largest = int(np.argmax([np.count_nonzero(here) for here in members]))
    return [
        _moments(X, here) if g == largest else _moments(_gathered(X, np.flatnonzero(here)))
        for g, here in enumerate(members)
    ]


def _gathered(X: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Some rows, in the order of memory that X has."""
    return X.take(at, axis=0) if X.flags.c_contiguous else X.T.take(at, axis=1).T


def _moments(X: np.ndarray, here: np.ndarray | None = None) -> Moments:
    """The moments of the rows that are ``here``: measured from a common point, the others then count as zero."""
    n, d = X.shape
    count = n if here is None else int(np.count_nonzero(here))
    if not count:
        return Moments.empty(d)
    centre = X[:: max(1, n // NEAR)].mean(axis=0, dtype=np.float64)
    counted = np.ones(n) if here is None else here.astype(np.float64)
    total, scatter = (_short_sums if d <= NARROW else _long_sums)(X, counted, centre)
    mean = total / count
    scatter -= np.multiply.outer(count * mean, mean)
    return Moments(float(count), centre + mean, scatter)


def _short_sums(X: np.ndarray, counted: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(sum of c z, sum of c zz') of the rows z = x - centre, where c is 1 or 0."""
    d = len(centre)
    padded, size = -(-d // 4) * 4, min(STRETCH, STRETCH_BYTES // (8 * d) // 16 * 16)
    work, products, total = np.zeros((padded, size)), np.zeros((padded, padded)), np.zeros(d)
    if X.flags.c_contiguous:
        add_rows(X, counted, centre, work, products, total)
    else:
        add_columns(X.T, counted, centre, work, products, total)
    lower = np.tril(products[:d, :d])
    return total, lower + np.tril(lower, -1).T


def _long_sums(X: np.ndarray, counted: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same by BLAS."""
    n, d = X.shape
    turned, size = not X.flags.c_contiguous, max(1, sizes.BLOCK_BYTES // (8 * d))
    scatter, total, work = np.zeros((d, d)), np.zeros(d), np.empty(min(n, size) * d)
    for start in range(0, n, size):
        part, own = X[start : start + size], counted[start : start + size]
        # Columns stay together where they are, so that nothing is dealt out; BLAS takes either.
        rest = work[: part.size].reshape(part.T.shape if turned else part.shape)
        if turned:
            np.subtract(part.T, centre[:, None], out=rest)
            rest *= own
            total += rest.sum(axis=1)
        else:
            np.subtract(part, centre, out=rest)
            rest *= own[:, None]
            total += rest.sum(axis=0)
        add_products(scatter, rest.T if turned else rest)
    return total, symmetric(scatter)


@kernel(fastmath=REORDER)
def add_columns(
    columns: np.ndarray,
    counted: np.ndarray,
    centre: np.ndarray,
    work: np.ndarray,
    products: np.ndarray,
    total: np.ndarray,
) -> None:
    """Add the sums of z and of zz' (its lower triangle) over rows whose columns lie together."""
    d, n = columns.shape
    for start in range(0, n, work.shape[1]):
        size = min(work.shape[1], n - start)
        for k in range(d):
            total[k] += centred_column(
                columns[k, start : start + size], counted[start : start + size], centre[k], work[k, :size]
            )
        add_by_fours(work, size, products)


@kernel(fastmath=REORDER)
def add_rows(
    rows: np.ndarray,
    counted: np.ndarray,
    centre: np.ndarray,
    work: np.ndarray,
    products: np.ndarray,
    total: np.ndarray,
) -> None:
    """Add the sums of z and of zz' (its lower triangle) over C-ordered rows."""
    n, d = rows.shape
    for start in range(0, n, work.shape[1]):
        size = min(work.shape[1], n - start)
        part, own = rows[start : start + size], counted[start : start + size]
        for i in range(size):
            row = part[i]
            for k in range(d):
                z = (row[k] - centre[k]) * own[i]
                work[k, i] = z
                total[k] += z
        add_by_fours(work, size, products)


@kernel(fastmath=REORDER)
def centred_column(column: np.ndarray, counted: np.ndarray, centre: float, out: np.ndarray) -> float:
    """out_i = c_i (x_i - centre); returns their sum."""
    total = 0.0
    for i in range(column.shape[0]):
        z = (column[i] - centre) * counted[i]
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
