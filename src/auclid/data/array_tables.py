"""Tables in memory: an array, or a CSR matrix."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
from scipy import sparse

from auclid import _sizes
from auclid._generic import REORDER, kernel
from auclid._threads import thread_map
from auclid.data.blocks import Block, append_rows, is_sparse
from auclid.data.structs import CSR, Dense, row_axpy, row_dot
from auclid.data.table import Index, Sweep, Table, slices


def as_table(X: Block | Table) -> Table:
    """The table of a checked array or CSR matrix; a table is returned as it is."""
    if isinstance(X, Table):
        return X
    return SparseTable(X) if is_sparse(X) else DenseTable(X)


def to_dense(table: Table) -> Table:
    """The table of a CSR matrix with its zeros filled in; any other as it is."""
    return DenseTable(table.dense(slice(None))) if isinstance(table, SparseTable) else table


class DenseTable(Table):
    """A two-dimensional float32 or float64 array, C- or F-ordered."""

    def __init__(self, X: np.ndarray) -> None:
        self.X = _read_only(X if X.flags.c_contiguous or X.flags.f_contiguous else np.ascontiguousarray(X))
        self.shape = self.X.shape

    @property
    def dtype(self) -> np.dtype:
        return self.X.dtype

    def part(self, index: Index) -> np.ndarray:
        if self.X.flags.c_contiguous or isinstance(index, slice):
            return self.X[index]
        return self.X.T[:, index].T

    def centre(self, weight: np.ndarray | None = None) -> np.ndarray:
        """About the mean: that of a few thousand rows is near enough; the expected gradient is the same for any."""
        n = self.shape[0]
        size = _sizes.CENTRE_SAMPLE
        some = slice(None) if n <= size else np.sort(np.random.default_rng(0).integers(n, size=size))
        if weight is None or not weight[some].any():
            return self.part(some).mean(axis=0, dtype=np.float64)
        return np.average(self.take(some), axis=0, weights=weight[some])

    def matmul(self, W: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        if index is None and self.X.dtype == np.float64:
            return self.X @ W
        if index is None and W.ndim == 1 and self.X.size >= _sizes.MIN_COMPILED_VALUES and self.X.flags.c_contiguous:
            out, w = np.empty(self.shape[0]), np.ascontiguousarray(W, dtype=np.float64)
            thread_map(lambda part: each_row_dot(self.X[part], w, out[part]), self.pieces(len(out)))
            return out
        return super().matmul(W, index)

    def rmatmul(self, U: np.ndarray) -> np.ndarray:
        return self.X.T @ U if self.X.dtype == np.float64 else super().rmatmul(U)

    def sweep(self, *orders: np.ndarray, centre: np.ndarray | None = None) -> Sweep:
        centred = centre is not None
        centre = np.zeros(self.shape[1]) if centre is None else centre
        rows = self._by_rows
        size = _sizes.SWEEP if rows is not None else max(1, min(_sizes.SWEEP, self.block_rows() // len(orders)))
        for steps in slices(len(orders[0]), size):
            chosen = [order[steps] for order in orders]
            if rows is not None:
                yield Dense(rows, centre, centred), chosen, steps
            else:
                yield Dense(self._gather(chosen), centre, centred), _places(chosen), steps

    @cached_property
    def _by_rows(self) -> np.ndarray | None:
        """The array, C-ordered; None where that would take too large a copy."""
        if self.X.flags.c_contiguous:
            return self.X
        if self.X.nbytes > _sizes.COPY_BYTES:
            return None
        copy = np.empty(self.shape, self.X.dtype)
        for part in slices(self.shape[0], self.block_rows()):  # a block at a time, so that the cache helps
            copy[part] = self.X[part]
        return _read_only(copy)

    def _gather(self, chosen: Sequence[np.ndarray]) -> np.ndarray:
        """The chosen rows of an F-ordered array as C-ordered ones: a column at a time, so that the cache helps."""
        return _read_only(np.ascontiguousarray(self.X.T[:, np.concatenate(chosen)].T))


class SparseTable(Table):
    """A CSR matrix (csr_matrix or csr_array) with float32 or float64 values."""

    def __init__(self, X: sparse.csr_array) -> None:
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.X = X
        self.shape = X.shape

    @property
    def dtype(self) -> np.dtype:
        return self.X.dtype

    def part(self, index: Index) -> Block:
        return self.X[index]

    def matmul(self, W: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        if index is None and W.ndim == 1 and self.X.nnz >= _sizes.MIN_COMPILED_VALUES:
            out = np.empty(self.shape[0])
            row_dots_with(self._rows(), np.ascontiguousarray(W, dtype=np.float64), out)
            return out
        return self.X @ W if index is None and self._small() else super().matmul(W, index)

    def rmatmul(self, U: np.ndarray) -> np.ndarray:
        if U.ndim == 1 and self.X.nnz >= _sizes.MIN_COMPILED_VALUES:
            out = np.zeros(self.shape[1])
            add_rows(self._rows(), np.ascontiguousarray(U, dtype=np.float64), out)
            return out
        return self.X.T @ U if self._small() else super().rmatmul(U)

    def _small(self) -> bool:
        """Whether a product with all rows at once makes no large copy of them."""
        return self.X.dtype == np.float64 or self.X.nnz * 8 <= _sizes.LARGE_BYTES

    def sweep(self, *orders: np.ndarray, centre: np.ndarray | None = None) -> Sweep:
        rows = self._rows()
        for steps in slices(len(orders[0]), _sizes.SWEEP):
            yield rows, [order[steps] for order in orders], steps

    def _rows(self) -> CSR:
        return CSR(_read_only(self.X.data), _read_only(self.X.indices), _read_only(self.X.indptr))

    def block_rows(self) -> int:
        density = max(1.0, self.X.nnz / max(1, self.shape[0]))
        return max(1, int(_sizes.BLOCK_BYTES / (12 * density)))


def gathered(table: Table, orders: Sequence[np.ndarray], centre: np.ndarray | None, size: int) -> Sweep:
    """A `Table.sweep` by stretches of ``size`` steps: the rows of each are brought together in memory."""
    for start in range(0, len(orders[0]), size):
        chosen = np.concatenate([order[start : start + size] for order in orders])
        index, places = np.unique(chosen, return_inverse=True)
        together = as_table(table.part(index))
        for rows, at, steps in together.sweep(*np.split(places, len(orders)), centre=centre):
            yield rows, at, slice(start + steps.start, start + steps.stop)
        del together, rows  # before the next rows are brought together


@kernel(fastmath=REORDER)
def each_row_dot(X: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    """out_i = x_i . w, in float64."""
    for i in range(X.shape[0]):
        total = 0.0
        for k in range(w.shape[0]):
            total += X[i, k] * w[k]
        out[i] = total


@kernel
def row_dots_with(rows: CSR, w: np.ndarray, out: np.ndarray) -> None:
    """out_i = x_i . w, in float64: SciPy would make a float64 copy of float32 rows first."""
    for i in range(out.shape[0]):
        out[i] = row_dot(rows, i, w)


@kernel
def add_rows(rows: CSR, u: np.ndarray, out: np.ndarray) -> None:
    """out += sum_i u_i x_i, in float64."""
    for i in range(u.shape[0]):
        if u[i] != 0.0:
            row_axpy(rows, i, u[i], out)


def _places(chosen: Sequence[np.ndarray]) -> list[np.ndarray]:
    ends = np.cumsum([0] + [len(c) for c in chosen])
    return [np.arange(a, b) for a, b in pairwise(ends)]


def _read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view, so that kernels meet one type whatever the user's array allows."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


class Stacked(Table):
    """The rows of two tables, one above the other; a part of both is what the upper's is, an array or a CSR matrix."""

    def __init__(self, upper: Table, lower: Table) -> None:
        self.upper, self.lower = upper, lower
        self.shape = (upper.shape[0] + lower.shape[0], upper.shape[1])
        self.columns = upper.columns
        self.projection = upper.projection if upper.projection is lower.projection else None

    @property
    def dtype(self) -> np.dtype:
        return self.upper.dtype

    def part(self, index: Index) -> Block:
        index = np.arange(self.shape[0])[index] if isinstance(index, slice) else index
        below = index >= self.upper.shape[0]
        both = append_rows(self.upper.part(index[~below]), self.lower.part(index[below] - self.upper.shape[0]))
        return both[np.argsort(np.argsort(below, kind="stable"))]

    def blocks(self, size: int | None = None) -> Iterator[tuple[slice, Block]]:
        return chain(self.upper.blocks(size), _moved(self.lower.blocks(size), self.upper.shape[0]))

    def value_blocks(self, size: int | None = None) -> Iterator[tuple[slice, Block]]:
        if self.projection is None:
            return self.blocks(size)
        return chain(self.upper.value_blocks(size), _moved(self.lower.value_blocks(size), self.upper.shape[0]))

    def sweep(self, *orders: np.ndarray, centre: np.ndarray | None = None) -> Sweep:
        return gathered(self, orders, centre, max(1, self.block_rows() // len(orders)))

    def block_rows(self) -> int:
        return min(self.upper.block_rows(), self.lower.block_rows())


def _moved(blocks: Iterator[tuple[slice, Block]], by: int) -> Iterator[tuple[slice, Block]]:
    return ((slice(where.start + by, where.stop + by), block) for where, block in blocks)
