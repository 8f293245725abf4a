"""Rows of a table, dense or sparse: for kernels, and for BLAS. The only place that asks which.

In Python a table is a `Table` (`DenseTable`, `SparseTable`): products, blocks of rows, sweeps.
In kernels its rows are a struct (`Dense`, `CSR`) met through the verbs `row_dot`, `row_axpy`, ... below.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from auclid._generic import REORDER, generic

BLOCK_BYTES = 1 << 24
"""Working memory for one block of rows: small enough to bound a fit, large enough for BLAS."""

SWEEP = 1 << 16
"""Steps a kernel makes before Python may look up (an interrupt, a gathered block)."""


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
def row_square(rows, i):
    """|x_i|^2"""


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
def pair_square(rows, i, j):
    """|x_i - x_j|^2"""


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


@row_square.implement(Dense, fastmath=REORDER)
def _(rows, i):
    X, centre, total = rows.X, rows.centre, 0.0
    for k in range(X.shape[1]):
        x = X[i, k] - centre[k]
        total += x * x
    return total


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


@pair_square.implement(Dense, fastmath=REORDER)
def _(rows, i, j):
    X, total = rows.X, 0.0
    for k in range(X.shape[1]):
        z = np.float64(X[i, k]) - X[j, k]
        total += z * z
    return total


@recentre.implement(Dense)
def _(rows, i, n):
    X, centre = rows.X, rows.centre
    for k in range(centre.shape[0]):
        centre[k] += (X[i, k] - centre[k]) / n
    return 1.0 / n


@row_dot.implement(CSR, fastmath=REORDER)
def _(rows, i, w):
    data, indices, total = rows.data, rows.indices, 0.0
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        total += data[k] * w[indices[k]]
    return total


@row_axpy.implement(CSR)
def _(rows, i, a, w):
    data, indices = rows.data, rows.indices
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        w[indices[k]] += a * data[k]


@row_square.implement(CSR, fastmath=REORDER)
def _(rows, i):
    data, total = rows.data, 0.0
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        total += np.float64(data[k]) * data[k]
    return total


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


def as_table(X):
    """The table of a checked array or CSR matrix; a table is returned as it is."""
    if isinstance(X, Table):
        return X
    return SparseTable(X) if sparse.issparse(X) else DenseTable(X)


class Table:
    """What every solver may ask of its rows, whatever they are made of."""

    shape: tuple
    centred = False
    """Whether kernels should see rows minus their mean (dense rows only: sparse ones would fill up)."""

    def take(self, index):
        """These rows (a slice or an array of numbers) in float64 for BLAS: an array, or a CSR matrix."""
        raise NotImplementedError

    def matmul(self, W):
        """X W in float64."""
        if self._whole():
            return self.X @ W
        out = np.empty((self.shape[0], *W.shape[1:]))
        for part in self.slices():
            out[part] = self.take(part) @ W
        return out

    def rmatmul(self, U):
        """X' U in float64."""
        if self._whole():
            return self.X.T @ U
        out = np.zeros((self.shape[1], *U.shape[1:]))
        for part in self.slices():
            out += self.take(part).T @ U[part]
        return out

    def rmatmul_squares(self, u):
        """sum_i u_i x_i^2, an entry a column."""
        out = np.zeros(self.shape[1])
        for part in self.slices():
            block = self.take(part)
            out += (block.multiply(block) if sparse.issparse(block) else block * block).T @ u[part]
        return out

    def _whole(self):
        """Whether a product with all rows at once makes no copy of them."""
        return False

    def sweep(self, *orders, centre=None):
        """Yield (rows, places, steps): a kernel struct, the places in it of each order's rows, and which steps."""
        raise NotImplementedError

    def block_rows(self):
        """How many rows make one block of bounded memory."""
        return max(1, BLOCK_BYTES // (8 * max(1, self.shape[1])))

    def slices(self):
        """Consecutive ranges of rows, each one block."""
        return _slices(self.shape[0], self.block_rows())


class DenseTable(Table):
    """A two-dimensional float32 or float64 array, C- or F-ordered."""

    centred = True

    def __init__(self, X):
        self.X = _read_only(X if X.flags.c_contiguous or X.flags.f_contiguous else np.ascontiguousarray(X))
        self.shape = X.shape

    def take(self, index):
        if self.X.flags.c_contiguous or isinstance(index, slice):
            return self.X[index].astype(np.float64, copy=False)
        return self.X.T[:, index].T.astype(np.float64, copy=False)

    def _whole(self):
        return self.X.dtype == np.float64

    def sweep(self, *orders, centre=None):
        centre = np.zeros(self.shape[1]) if centre is None else centre
        in_place = self.X.flags.c_contiguous
        size = SWEEP if in_place else max(1, min(SWEEP, self.block_rows() // len(orders)))
        for steps in _slices(len(orders[0]), size):
            chosen = [order[steps] for order in orders]
            if in_place:
                yield Dense(self.X, centre), chosen, steps
            else:
                yield self._gather(chosen, centre), _places(chosen), steps

    def _gather(self, chosen, centre):
        """The chosen rows of an F-ordered array as C-ordered ones: a column at a time, so that the cache helps."""
        return Dense(_read_only(np.ascontiguousarray(self.X.T[:, np.concatenate(chosen)].T)), centre)


class SparseTable(Table):
    """A CSR matrix (csr_matrix or csr_array) with float32 or float64 values."""

    def __init__(self, X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.X = X
        self.shape = X.shape

    def take(self, index):
        return self.X[index].astype(np.float64, copy=False)

    def _whole(self):
        return self.X.dtype == np.float64 or self.X.nnz * 8 <= BLOCK_BYTES

    def sweep(self, *orders, centre=None):
        rows = CSR(_read_only(self.X.data), _read_only(self.X.indices), _read_only(self.X.indptr))
        for steps in _slices(len(orders[0]), SWEEP):
            yield rows, [order[steps] for order in orders], steps

    def block_rows(self):
        density = max(1.0, self.X.nnz / max(1, self.shape[0]))
        return max(1, int(BLOCK_BYTES / (12 * density)))


def _slices(n, size):
    return [slice(a, min(a + size, n)) for a in range(0, n, size)]


def _places(chosen):
    ends = np.cumsum([0] + [len(c) for c in chosen])
    return [np.arange(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]


def _read_only(array):
    """A read-only view, so that kernels meet one type whatever the user's array allows."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
