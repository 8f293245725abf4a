"""How sure a confidence-weighted ranker is of each direction: a covariance of the weights, full or diagonal.

The variance of a score w . x is x . cov x. One row x_i meets many rows x_j in turn. Its variance is known all along, so
a pair z = x_i - x_j is judged in one pass over x_j, and only a pair that may have a loss costs more. Rows are measured
from the centre of the stream.
"""

from typing import Any, NamedTuple

import numpy as np

from auclid._generic import REORDER, generic, kernel
from auclid.data import pair_axpy, row_axpy, row_dot, row_entry, row_span
from auclid.stats.class_sums import inner


class Full(NamedTuple):
    """A covariance of all columns, of which only the lower triangle counts."""

    matrix: np.ndarray  # (d, d)


class Diagonal(NamedTuple):
    """A variance a column."""

    variances: np.ndarray  # (d,)


class FullWork(NamedTuple):
    """A full covariance, with room for a row and a pair."""

    cov: np.ndarray
    x: np.ndarray  # x_i
    cov_x: np.ndarray
    z: np.ndarray  # x_i - x_j
    cov_z: np.ndarray


class DiagonalWork(NamedTuple):
    """Variances, with room for a row."""

    cov: np.ndarray
    x: np.ndarray  # x_i spread out over all columns
    opposed: float  # 0 where no entry of any row is negative, else 1
    printed: bool  # whether steps are as the dissertation prints them


def unit_covariance(d: int, full: bool) -> Full | Diagonal:
    """The covariance I, before any row."""
    return Full(np.eye(d)) if full else Diagonal(np.ones(d))


def work_on(cov: Full | Diagonal, rows: Any, count: int, printed: bool) -> FullWork | DiagonalWork:
    """A covariance as kernels work on it, in place, for so many rows."""
    if isinstance(cov, Full):
        return FullWork(cov.matrix, *np.zeros((4, len(cov.matrix))))
    opposed = 1.0 if any_negative(rows, count) else 0.0
    return DiagonalWork(cov.variances, np.zeros(len(cov.variances)), opposed, printed)


@generic
def load_row(work, rows, i):
    """Make row i the one that meets others; returns its variance x_i . cov x_i."""


@generic
def unload_row(work, rows, i):
    """Row i has met all rows it had to."""


@generic
def cheap_bound(work, own, other):
    """A bound above z . cov z in O(1), from bounds above both rows' variances."""


@generic
def pair_bound(work, rows, j, own, other):
    """A bound above z . cov z, but for rounding, in O(nnz of row j): from row i's variance and a bound above row j's.

    Where it takes a bound for row j's variance, it is as much above z . cov z as that bound is above the variance.
    """


@generic
def pair_variance(work, rows, i, j, own, top):
    """z . cov z, which may leave cov z behind for `move_along_pair`.

    ``own`` is row i's variance, ``top`` what `pair_bound` said.
    """


@generic
def judged_variance(work, rows, i, j, v, C):
    """The variance that a step is computed with, for v = z . cov z: v itself, or as the dissertation prints it."""


@generic
def tightened(work, strength, root, v):
    """What enters cov^-1 along z z', from strength = alpha phi, the variance v before a step and its root after."""


@generic
def move_along_pair(work, rows, i, j, step, kappa, v, mean):
    """mean += step cov z and cov^-1 += kappa z z' (or its diagonal), for v = z . cov z.

    Returns row i's variance and score after it.
    """


SLACK = 1e-12
"""Rounding, relative to the variances of both rows, that a bound on their difference's allows for."""

LOST = 1e-4
"""Share of row i's variance below which z . cov z, found as a difference of variances, has lost too many digits."""


@load_row.implement(FullWork)
def _(work, rows, i):
    work.x[:] = 0.0
    row_axpy(rows, i, 1.0, work.x)
    multiply(work.cov, work.x, work.cov_x)
    return inner(work.x, work.cov_x)


@unload_row.implement(FullWork)
def _(work, rows, i):
    pass


@cheap_bound.implement(FullWork)
def _(work, own, other):
    return own + other + 2.0 * np.sqrt(own * other)


@pair_bound.implement(FullWork)
def _(work, rows, j, own, other):
    return own + other - 2.0 * row_dot(rows, j, work.cov_x)


@pair_variance.implement(FullWork)
def _(work, rows, i, j, own, top):
    work.z[:] = 0.0
    pair_axpy(rows, i, j, 1.0, work.z)
    multiply(work.cov, work.z, work.cov_z)
    return inner(work.z, work.cov_z)


@judged_variance.implement(FullWork)
def _(work, rows, i, j, v, C):
    return v


@tightened.implement(FullWork)
def _(work, strength, root, v):
    return strength / root


@judged_variance.implement(DiagonalWork)
def _(work, rows, i, j, v, C):
    return offset_variance(rows, i, j, work.x, work.cov, C) if work.printed else v


@tightened.implement(DiagonalWork)
def _(work, strength, root, v):
    return strength / (root + v * strength) if work.printed else strength / root


@move_along_pair.implement(FullWork)
def _(work, rows, i, j, step, kappa, v, mean):
    x, g, h = work.x, work.cov_x, work.cov_z
    root = np.sqrt(kappa / (1.0 + kappa * v))  # Sherman and Morrison: cov - h h' kappa / (1 + kappa v)
    for k in range(h.shape[0]):
        mean[k] += step * h[k]
        h[k] *= root
    reduce(work.cov, h)
    along = inner(h, x)
    for k in range(h.shape[0]):
        g[k] -= along * h[k]
    return inner(x, g), inner(x, mean)


@load_row.implement(DiagonalWork)
def _(work, rows, i):
    row_axpy(rows, i, 1.0, work.x)
    return row_variance(rows, i, work.cov)


@unload_row.implement(DiagonalWork)
def _(work, rows, i):
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, _ = row_entry(rows, i, e)
        work.x[k] = 0.0


@cheap_bound.implement(DiagonalWork)
def _(work, own, other):  # as x_i . cov x_j >= 0 where no entry is negative
    return own + other + 2.0 * work.opposed * np.sqrt(own * other)


@pair_bound.implement(DiagonalWork, fastmath=REORDER)
def _(work, rows, j, own, other):
    x, cov, total = work.x, work.cov, own
    first, last = row_span(rows, j)
    for e in range(first, last):
        k, b = row_entry(rows, j, e)
        total += (b - 2.0 * x[k]) * b * cov[k]
    return total


@pair_variance.implement(DiagonalWork)
def _(work, rows, i, j, own, top):
    return top if top > LOST * own else pair_variance_by_columns(rows, i, j, work.x, work.cov)


@move_along_pair.implement(DiagonalWork, fastmath=REORDER)
def _(work, rows, i, j, step, kappa, v, mean):
    x, cov, own, f = work.x, work.cov, 0.0, 0.0
    first, last = row_span(rows, j)
    for e in range(first, last):
        k, b = row_entry(rows, j, e)
        z, c = x[k] - b, cov[k]
        mean[k] += step * z * c
        cov[k] = c / (1.0 + kappa * z * z * c)
        x[k] = 0.0  # done: in the next loop this column moves no more
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, a = row_entry(rows, i, e)
        z, c = x[k], cov[k]
        w = mean[k] + step * z * c
        c /= 1.0 + kappa * z * z * c
        own += a * a * c
        f += a * w
        mean[k], cov[k] = w, c
        x[k] = a
    return own, f


@kernel
def any_negative(rows, count):
    """Whether any entry of the first rows is negative."""
    for i in range(count):
        first, last = row_span(rows, i)
        for e in range(first, last):
            if row_entry(rows, i, e)[1] < 0.0:
                return True
    return False


@kernel(fastmath=REORDER, allocates=False)
def row_variance(rows, i, cov):
    """x_i . cov x_i with variances cov."""
    total = 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, x = row_entry(rows, i, e)
        total += x * x * cov[k]
    return total


@kernel(allocates=False)
def pair_variance_by_columns(rows, i, j, x, cov):
    """z . cov z with variances cov, column by column; x holds row i and is left so."""
    total = 0.0
    first, last = row_span(rows, j)
    for e in range(first, last):
        k, b = row_entry(rows, j, e)
        z = x[k] - b
        total += z * z * cov[k]
        x[k] = 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, a = row_entry(rows, i, e)
        total += x[k] * x[k] * cov[k]
        x[k] = a
    return total


@kernel(allocates=False)
def offset_variance(rows, i, j, x, cov, C):
    """The sum of z^2 / (1/cov + C), column by column; x holds row i and is left so."""
    total = 0.0
    first, last = row_span(rows, j)
    for e in range(first, last):
        k, b = row_entry(rows, j, e)
        z = x[k] - b
        total += z * z * cov[k] / (1.0 + C * cov[k])
        x[k] = 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, a = row_entry(rows, i, e)
        total += x[k] * x[k] * cov[k] / (1.0 + C * cov[k])
        x[k] = a
    return total


@kernel(fastmath=REORDER, allocates=False)
def multiply(A, x, out):
    """out = A x from the lower triangle of A, four rows at a time: each number is read once and used twice."""
    d = x.shape[0]
    fours = d - d % 4
    for r in range(0, fours, 4):
        p, q, s, t = A[r], A[r + 1], A[r + 2], A[r + 3]
        a, b, c, e = x[r], x[r + 1], x[r + 2], x[r + 3]
        along_p = along_q = along_s = along_t = 0.0
        for k in range(r):
            out[k] += a * p[k] + b * q[k] + c * s[k] + e * t[k]
            along_p += p[k] * x[k]
            along_q += q[k] * x[k]
            along_s += s[k] * x[k]
            along_t += t[k] * x[k]
        out[r] = along_p + p[r] * a + q[r] * b + s[r] * c + t[r] * e
        out[r + 1] = along_q + q[r] * a + q[r + 1] * b + s[r + 1] * c + t[r + 1] * e
        out[r + 2] = along_s + s[r] * a + s[r + 1] * b + s[r + 2] * c + t[r + 2] * e
        out[r + 3] = along_t + t[r] * a + t[r + 1] * b + t[r + 2] * c + t[r + 3] * e
    for r in range(fours, d):
        p, a, along_p = A[r], x[r], 0.0
        for k in range(r):
            out[k] += a * p[k]
            along_p += p[k] * x[k]
        out[r] = along_p + p[r] * a


@kernel(fastmath={"contract"}, allocates=False)
def reduce(A, h):
    """A -= h h' in the lower triangle of A."""
    for r in range(h.shape[0]):
        a = h[r]
        for k in range(r + 1):
            A[r, k] -= a * h[k]
