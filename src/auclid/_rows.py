"""Rows of a table, dense or sparse: for kernels, and for BLAS. The only place that asks which.

In Python a table is a `Table` (`DenseTable`, `SparseTable`): products, blocks of rows, sweeps.
In kernels its rows are a struct (`Dense`, `CSR`) met through the verbs `row_dot`, `row_axpy`, ... below.
"""

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from auclid._generic import REORDER, generic, prefetch

BLOCK_BYTES = 1 << 21
"""Memory of one block of rows: it stays in the processor's cache (with 16 MB, products took six times as long)."""

LARGE_BYTES = 1 << 25
"""Memory for what need not stay in the cache: bounded all the same."""

SAMPLE = 1 << 12
"""Rows that tell where a table is centred."""

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
def row_axpy_two(rows, i, a, v, b, u):
    """v += a x_i and u += b x_i, in place, reading the row once."""


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


def rows_of(block, centre):
    """The kernel struct of a float64 block: an array, or a CSR matrix."""
    if sparse.issparse(block):
        columns, ends = (x.astype(np.int32, copy=False) for x in (block.indices, block.indptr))
        return CSR(block.data, columns, ends)
    return Dense(block, centre)


def anchor(block):
    """A point near the rows to measure them from: the first row; the origin for sparse rows, which stay so."""
    return np.zeros(block.shape[1]) if sparse.issparse(block) else block[0].copy()


def append(upper, lower):
    """The rows of two blocks, one above the other: an array or a CSR matrix, whichever the upper one is."""
    if sparse.issparse(upper):
        return sparse.vstack([upper, sparse.csr_array(lower)], format="csr")
    # Fortran-ordered blocks would make a Fortran-ordered one: another type for kernels, and slow rows.
    return np.ascontiguousarray(np.vstack([upper, lower.toarray() if sparse.issparse(lower) else lower]))


def pack(block):
    """A block as plain arrays: its values; columns and ends of its rows, empty unless it is a CSR matrix."""
    if sparse.issparse(block):
        return block.data, block.indices, block.indptr
    return block, np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)


def unpack(values, columns, ends, d):
    """The block of plain arrays."""
    if values.ndim == 2:
        return values
    return sparse.csr_array((values, columns, ends), shape=(len(ends) - 1, d))


def as_array(block):
    """A block as an array, whatever it is made of."""
    return block.toarray() if sparse.issparse(block) else np.asarray(block)


def centred(block, centre):
    """The block minus a centre, and that centre. A sparse one moves in its full columns only, so it stays sparse;
    in the others zero is among the values, so no mean can dwarf the spread around it."""
    if not sparse.issparse(block):
        return block - centre, centre
    full = np.bincount(block.indices, minlength=block.shape[1]) == block.shape[0]
    shift = np.where(full, np.ravel(centre), 0.0)
    data = block.data - shift[block.indices]
    return sparse.csr_array((data, block.indices, block.indptr), shape=block.shape), shift


def narrow(block):
    """The block with 32-bit indices, where it is sparse and they suffice."""
    if not sparse.issparse(block) or block.indices.dtype == np.int32 or max(block.nnz, *block.shape) >= 2**31:
        return block
    return sparse.csr_matrix((block.data, block.indices.astype(np.int32), block.indptr.astype(np.int32)), block.shape)


def gram(block):
    """X' X of a block, an array."""
    product = block.T @ block
    return product.toarray() if sparse.issparse(product) else product


def squares(block):
    """|x|^2 of each row of a block: an array, or a CSR matrix."""
    if sparse.issparse(block):
        return np.asarray(block.multiply(block).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", block, block)


def about(block, centre, scale, V):
    """Z V and |z|^2 of each row z = scale (x - centre) of a block, in V's floating type."""
    if not sparse.issparse(block):
        Z = block - centre
        Z *= scale  # in place: a second temporary of a wide block would cost as much as all kernel values
        Z = Z.astype(V.dtype, copy=False)
        return Z @ V, squares(Z)
    Z, centre = (block * scale).astype(V.dtype, copy=False), (centre * scale).astype(V.dtype, copy=False)
    return Z @ V - centre @ V, (squares(Z) - 2.0 * (Z @ centre) + centre @ centre).astype(V.dtype, copy=False)


def as_table(X):
    """The table of a checked array or CSR matrix; a table is returned as it is."""
    if isinstance(X, Table):
        return X
    return SparseTable(X) if sparse.issparse(X) else DenseTable(X)


def alike(table, filled):
    """A table to go on with in a stream, and whether its rows are filled up.

    Dense rows are centred and sparse ones are not, so once rows were dense (``filled``), sparse ones become dense too.
    """
    if not isinstance(table, SparseTable):
        return table, True
    return (DenseTable(table.dense(slice(None))), True) if filled else (table, False)


class Table(ABC):
    """What every solver may ask of its rows, whatever they are made of."""

    shape: tuple
    mixing = None
    """M where the rows are x = M'e, made of plainer rows e: a moment of those, mixed once, costs less."""

    @property
    def dtype(self):
        """The floating type of the rows."""
        return self.X.dtype

    def centre(self):
        """What kernels that are not translation invariant subtract from each row: here nothing, sparse rows stay so."""
        return np.zeros(self.shape[1])

    @abstractmethod
    def part(self, index):
        """These rows (a slice or an array of numbers) as they are: an array, or a CSR matrix."""

    def take(self, index):
        """These rows in float64 for BLAS: an array, or a CSR matrix."""
        return self.part(index).astype(np.float64, copy=False)

    def plain(self, index):
        """The rows e that `mixing` makes these rows of, in float64; where there is none, the rows themselves."""
        return self.take(index)

    def dense(self, index):
        """These rows as a float64 array, whatever they are made of."""
        return as_array(self.take(index))

    def matmul(self, W, index=None):
        """X W in float64, of the rows of ``index`` only where one is given."""
        if index is None and self._whole():
            return self.X @ W
        n = self.shape[0] if index is None else len(index)
        out = np.empty((n, *W.shape[1:]))
        for part in self.slices(n):
            out[part] = self.take(part if index is None else index[part]) @ W
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
        return self.gathered(orders, centre, max(1, self.block_rows() // len(orders)))

    def gathered(self, orders, centre, size):
        """`sweep` by stretches of ``size`` steps, whose rows are brought together for each."""
        for start in range(0, len(orders[0]), size):
            chosen = np.concatenate([order[start : start + size] for order in orders])
            index, places = np.unique(chosen, return_inverse=True)
            together = as_table(self.part(index))
            for rows, at, steps in together.sweep(*np.split(places, len(orders)), centre=centre):
                yield rows, at, slice(start + steps.start, start + steps.stop)

    def block_rows(self):
        """How many rows make one block of bounded memory."""
        return max(1, BLOCK_BYTES // (8 * max(1, self.shape[1])))

    def slices(self, n=None):
        """Consecutive ranges of all rows, or of n of them, each one block."""
        return _slices(self.shape[0] if n is None else n, self.block_rows())


class DenseTable(Table):
    """A two-dimensional float32 or float64 array, C- or F-ordered."""

    def __init__(self, X):
        self.X = _read_only(X if X.flags.c_contiguous or X.flags.f_contiguous else np.ascontiguousarray(X))
        self.shape = X.shape

    def part(self, index):
        if self.X.flags.c_contiguous or isinstance(index, slice):
            return self.X[index]
        return self.X.T[:, index].T

    def centre(self):
        """About the mean: that of a few thousand rows is near enough; the expected gradient is the same for any."""
        n = self.shape[0]
        some = slice(None) if n <= SAMPLE else np.sort(np.random.default_rng(0).integers(n, size=SAMPLE))
        return self.take(some).mean(axis=0)

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

    def part(self, index):
        return self.X[index]

    def _whole(self):
        return self.X.dtype == np.float64 or self.X.nnz * 8 <= LARGE_BYTES

    def sweep(self, *orders, centre=None):
        rows = CSR(_read_only(self.X.data), _read_only(self.X.indices), _read_only(self.X.indptr))
        for steps in _slices(len(orders[0]), SWEEP):
            yield rows, [order[steps] for order in orders], steps

    def block_rows(self):
        density = max(1.0, self.X.nnz / max(1, self.shape[0]))
        return max(1, int(BLOCK_BYTES / (12 * density)))


class Stacked(Table):
    """The rows of two tables, one above the other; its blocks are what the upper's are, arrays or CSR matrices."""

    def __init__(self, upper, lower):
        self.upper, self.lower = upper, lower
        self.shape = (upper.shape[0] + lower.shape[0], upper.shape[1])
        self.mixing = upper.mixing if upper.mixing is lower.mixing else None

    def part(self, index):
        return self._gather(index, self.upper.part, self.lower.part)

    def plain(self, index):
        return self.take(index) if self.mixing is None else self._gather(index, self.upper.plain, self.lower.plain)

    def block_rows(self):
        return min(self.upper.block_rows(), self.lower.block_rows())

    def _gather(self, index, from_upper, from_lower):
        index = np.arange(self.shape[0])[index] if isinstance(index, slice) else index
        below = index >= self.upper.shape[0]
        both = append(from_upper(index[~below]), from_lower(index[below] - self.upper.shape[0]))
        return both[np.argsort(np.argsort(below, kind="stable"))]


def _slices(n, size):
    return [slice(a, min(a + size, n)) for a in range(0, n, size)]


def _places(chosen):
    ends = np.cumsum([0] + [len(c) for c in chosen])
    return [np.arange(a, b) for a, b in pairwise(ends)]


def _read_only(array):
    """A read-only view, so that kernels meet one type whatever the user's array allows."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
