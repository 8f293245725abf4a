"""How sure a confidence-weighted ranker is of each direction: a covariance, full or diagonal.

One row x_i meets many rows x_j in turn. Its energy x_i . cov x_i is known all along, so a pair z = x_i - x_j
is judged in one pass over x_j, and only a pair that may have a loss costs more. Rows are measured from the
centre of the stream.
"""

from typing import NamedTuple

import numpy as np

from auclid._generic import REORDER, generic, kernel
from auclid._rows import pair_axpy, row_axpy, row_dot, row_entry, row_span


class Full(NamedTuple):
    """A covariance of all columns; only the lower triangle of ``cov`` is kept."""

    cov: np.ndarray
    x: np.ndarray  # x_i
    g: np.ndarray  # cov x_i
    z: np.ndarray  # x_i - x_j
    h: np.ndarray  # cov z


class Diagonal(NamedTuple):
    """A variance a column."""

    cov: np.ndarray
    x: np.ndarray  # x_i spread out over all columns


def work_on(cov):
    """The struct of a covariance (d, d) or of variances (d,), with room for a row and a pair."""
    d = len(cov)
    return Full(cov, *np.zeros((4, d))) if cov.ndim == 2 else Diagonal(cov, np.zeros(d))


@generic
def arrive(model, rows, i):
    """Make row i the one that meets others; returns its energy x_i . cov x_i."""


@generic
def leave(model, rows, i):
    """Row i has met all rows it had to."""


@generic
def ceiling(model, rows, j, own, other):
    """A bound above z . cov z in O(nnz of row j), from row i's energy and a bound above that of row j."""


@generic
def energy(model, rows, i, j, top):
    """z . cov z, which may leave cov z behind for `move`; ``top`` is what `ceiling` said."""


@generic
def move(model, rows, i, j, step, kappa, v, mean):
    """mean += step cov z, cov^-1 += kappa z z' (its diagonal), for v = z . cov z; row i's energy and score after it."""


SLACK = 1e-12
"""Rounding, relative to the energies of both rows, that a bound on their difference's energy allows for."""


@arrive.implement(Full)
def _(model, rows, i):
    model.x[:] = 0.0
    row_axpy(rows, i, 1.0, model.x)
    multiply(model.cov, model.x, model.g)
    return inner(model.x, model.g)


@leave.implement(Full)
def _(model, rows, i):
    pass


@ceiling.implement(Full)
def _(model, rows, j, own, other):
    return (1.0 + SLACK) * (own + other) - 2.0 * row_dot(rows, j, model.g)


@energy.implement(Full)
def _(model, rows, i, j, top):
    model.z[:] = 0.0
    pair_axpy(rows, i, j, 1.0, model.z)
    multiply(model.cov, model.z, model.h)
    return inner(model.z, model.h)


@move.implement(Full)
def _(model, rows, i, j, step, kappa, v, mean):
    x, g, h = model.x, model.g, model.h
    root = np.sqrt(kappa / (1.0 + kappa * v))  # Sherman and Morrison: cov - h h' kappa / (1 + kappa v)
    for k in range(h.shape[0]):
        mean[k] += step * h[k]
        h[k] *= root
    reduce(model.cov, h)
    along = inner(h, x)
    for k in range(h.shape[0]):
        g[k] -= along * h[k]
    return inner(x, g), inner(x, mean)


@arrive.implement(Diagonal)
def _(model, rows, i):
    row_axpy(rows, i, 1.0, model.x)
    return row_energy(rows, i, model.cov)


@leave.implement(Diagonal)
def _(model, rows, i):
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, _ = row_entry(rows, i, e)
        model.x[k] = 0.0


@ceiling.implement(Diagonal, fastmath=REORDER)
def _(model, rows, j, own, other):
    x, cov, total = model.x, model.cov, own
    first, last = row_span(rows, j)
    for e in range(first, last):
        k, b = row_entry(rows, j, e)
        total += (b - 2.0 * x[k]) * b * cov[k]
    return total


@energy.implement(Diagonal)
def _(model, rows, i, j, top):
    return top


@move.implement(Diagonal, fastmath=REORDER)
def _(model, rows, i, j, step, kappa, v, mean):
    x, cov, own, f = model.x, model.cov, 0.0, 0.0
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


@kernel(fastmath=REORDER)
def row_energy(rows, i, cov):
    """x_i . cov x_i with variances cov."""
    total = 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, x = row_entry(rows, i, e)
        total += x * x * cov[k]
    return total


@kernel(fastmath=REORDER)
def inner(a, b):
    """a . b"""
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@kernel(fastmath=REORDER)
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


@kernel(fastmath={"contract"})
def reduce(A, h):
    """A -= h h' in the lower triangle of A."""
    for r in range(h.shape[0]):
        a = h[r]
        for k in range(r + 1):
            A[r, k] -= a * h[k]
