"""Rows inside kernels: a struct, dense or sparse, and the verbs that kernels use on it."""

from typing import NamedTuple

import numpy as np

from auclid._generic import REORDER, generic, prefetch


class Dense(NamedTuple):
    """Rows x - centre of a C-ordered array."""

    X: np.ndarray
    centre: np.ndarray


class CSR(NamedTuple):
    """Rows of a canonical CSR matrix; never centred, so that a step costs O(nnz)."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


@generic
def row_dot(rows, i, w):
    """x_i . w"""


@generic
def row_axpy(rows, i, a, w):
    """w += a x_i, in place."""


@generic
def row_axpy_two(rows, i, a, v, b, u):
    """v += a x_i and u += b x_i, in place, reading the row once."""


@generic
def row_square(rows, i):
    """|x_i|^2"""


@generic
def row_dots(rows, i, w, a, b):
    """(x_i . w, x_i . a, x_i . b, |x_i|^2), reading the row once."""


@generic
def row_sum(rows, i, w):
    """w += x_i, in place; returns |x_i|^2."""


@generic
def row_add(rows, i, w):
    """w += x_i as it stands in the table, whatever the centre."""


@generic
def centre_dot(rows, w):
    """centre . w"""


@generic
def pair_dot(rows, i, j, w):
    """(x_i - x_j) . w"""


@generic
def pair_axpy(rows, i, j, a, w):
    """w += a (x_i - x_j), in place."""


@generic
def pair_axpy_two(rows, i, j, a, v, b, u):
    """v += a (x_i - x_j) and u += b (x_i - x_j), in place, reading the rows once."""


@generic
def row_fetch(rows, i):
    """Let row i come towards the processor, for a step that is soon to follow; changes nothing."""


@generic
def pair_square(rows, i, j):
    """|x_i - x_j|^2"""


@generic
def row_span(rows, i):
    """First and last (excluded) place of row i's entries, for loops that these verbs do not know."""


@generic
def row_entry(rows, i, e):
    """The column and the value of row i's entry at place e."""


@generic
def recentre(rows, i, n):
    """Let row i, the n-th row of a stream, move the centre to the mean of the rows seen; says by which share."""


@row_dot.implement(Dense, fastmath=REORDER)
def _(rows, i, w):
    X, centre, total = rows.X, rows.centre, 0.0
    for k in range(w.shape[0]):
        total += (X[i, k] - centre[k]) * w[k]
    return total


@row_axpy.implement(Dense)
def _(rows, i, a, w):
    X, centre = rows.X, rows.centre
    for k in range(w.shape[0]):
        w[k] += a * (X[i, k] - centre[k])


@row_axpy_two.implement(Dense)
def _(rows, i, a, v, b, u):
    X, centre = rows.X, rows.centre
    for k in range(v.shape[0]):
        x = X[i, k] - centre[k]
        v[k] += a * x
        u[k] += b * x


@row_square.implement(Dense, fastmath=REORDER)
def _(rows, i):
    X, centre, total = rows.X, rows.centre, 0.0
    for k in range(X.shape[1]):
        x = X[i, k] - centre[k]
        total += x * x
    return total


@row_dots.implement(Dense, fastmath=REORDER)
def _(rows, i, w, a, b):
    X, centre, of_w, of_a, of_b, square = rows.X, rows.centre, 0.0, 0.0, 0.0, 0.0
    for k in range(w.shape[0]):
        x = X[i, k] - centre[k]
        of_w += x * w[k]
        of_a += x * a[k]
        of_b += x * b[k]
        square += x * x
    return of_w, of_a, of_b, square


@row_sum.implement(Dense, fastmath=REORDER)
def _(rows, i, w):
    X, centre, square = rows.X, rows.centre, 0.0
    for k in range(w.shape[0]):
        x = X[i, k] - centre[k]
        w[k] += x
        square += x * x
    return square


@row_add.implement(Dense)
def _(rows, i, w):
    for k in range(w.shape[0]):
        w[k] += rows.X[i, k]


@centre_dot.implement(Dense, fastmath=REORDER)
def _(rows, w):
    total = 0.0
    for k in range(w.shape[0]):
        total += rows.centre[k] * w[k]
    return total


@pair_dot.implement(Dense, fastmath=REORDER)
def _(rows, i, j, w):
    X, total = rows.X, 0.0
    for k in range(w.shape[0]):
        total += (np.float64(X[i, k]) - X[j, k]) * w[k]
    return total


@pair_axpy.implement(Dense)
def _(rows, i, j, a, w):
    X = rows.X
    for k in range(w.shape[0]):
        w[k] += a * (np.float64(X[i, k]) - X[j, k])


@pair_axpy_two.implement(Dense)
def _(rows, i, j, a, v, b, u):
    X = rows.X
    for k in range(v.shape[0]):
        z = np.float64(X[i, k]) - X[j, k]
        v[k] += a * z
        u[k] += b * z


@row_fetch.implement(Dense)
def _(rows, i):
    prefetch(rows.X, i * rows.X.shape[1], rows.X.shape[1])


@pair_square.implement(Dense, fastmath=REORDER)
def _(rows, i, j):
    X, total = rows.X, 0.0
    for k in range(X.shape[1]):
        z = np.float64(X[i, k]) - X[j, k]
        total += z * z
    return total


@row_span.implement(Dense)
def _(rows, i):
    return 0, rows.X.shape[1]


@row_entry.implement(Dense)
def _(rows, i, e):
    return e, rows.X[i, e] - rows.centre[e]


@recentre.implement(Dense)
def _(rows, i, n):
    X, centre = rows.X, rows.centre
    for k in range(centre.shape[0]):
        centre[k] += (X[i, k] - centre[k]) / n
    return 1.0 / n


@row_span.implement(CSR)
def _(rows, i):
    # Unsigned, so that no place can count from the end: a dot product takes a third of the time.
    return np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])


@row_entry.implement(CSR)
def _(rows, i, e):
    return np.uint64(rows.indices[e]), np.float64(rows.data[e])


@row_dot.implement(CSR, fastmath=REORDER)
def _(rows, i, w):
    total = 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, x = row_entry(rows, i, e)
        total += x * w[k]
    return total


@row_axpy.implement(CSR)
def _(rows, i, a, w):
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, x = row_entry(rows, i, e)
        w[k] += a * x


@row_axpy_two.implement(CSR)
def _(rows, i, a, v, b, u):
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, x = row_entry(rows, i, e)
        v[k] += a * x
        u[k] += b * x


@row_square.implement(CSR, fastmath=REORDER)
def _(rows, i):
    total = 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        _, x = row_entry(rows, i, e)
        total += x * x
    return total


@row_dots.implement(CSR, fastmath=REORDER)
def _(rows, i, w, a, b):
    of_w, of_a, of_b, square = 0.0, 0.0, 0.0, 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, x = row_entry(rows, i, e)
        of_w += x * w[k]
        of_a += x * a[k]
        of_b += x * b[k]
        square += x * x
    return of_w, of_a, of_b, square


@row_sum.implement(CSR)
def _(rows, i, w):
    row_axpy(rows, i, 1.0, w)
    return row_square(rows, i)


@row_add.implement(CSR)
def _(rows, i, w):
    row_axpy(rows, i, 1.0, w)


@centre_dot.implement(CSR)
def _(rows, w):
    return 0.0


@pair_dot.implement(CSR)
def _(rows, i, j, w):
    return row_dot(rows, i, w) - row_dot(rows, j, w)


@pair_axpy.implement(CSR)
def _(rows, i, j, a, w):
    row_axpy(rows, i, a, w)
    row_axpy(rows, j, -a, w)


@pair_axpy_two.implement(CSR)
def _(rows, i, j, a, v, b, u):
    row_axpy_two(rows, i, a, v, b, u)
    row_axpy_two(rows, j, -a, v, -b, u)


@row_fetch.implement(CSR)
def _(rows, i):
    first, count = rows.indptr[i], rows.indptr[i + 1] - rows.indptr[i]
    prefetch(rows.data, first, count)
    prefetch(rows.indices, first, count)


@pair_square.implement(CSR)
def _(rows, i, j):
    data, indices = rows.data, rows.indices
    a, last_a = rows.indptr[i], rows.indptr[i + 1]
    b, last_b = rows.indptr[j], rows.indptr[j + 1]
    total = 0.0
    while a < last_a or b < last_b:
        z = 0.0
        at_a = a < last_a and (b == last_b or indices[a] <= indices[b])
        at_b = b < last_b and (a == last_a or indices[b] <= indices[a])
        if at_a:
            z += data[a]
            a += 1
        if at_b:
            z -= data[b]
            b += 1
        total += z * z
    return total


@recentre.implement(CSR)
def _(rows, i, n):
    return 0.0
