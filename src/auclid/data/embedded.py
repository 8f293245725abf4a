"""A table whose rows are psi(x) of the rows of another: made block by block, when a solver asks for them."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from auclid import _sizes
from auclid.data.array_tables import DenseTable, as_table, gathered
from auclid.data.blocks import Block
from auclid.data.table import Index, Sweep, Table, slices

PRODUCTS = 3
"""From this product with all rows on, values are kept: a solver that multiplies so often will do so again."""


class Embedding(Protocol):
    """What a fitted feature map tells of psi(x) = P'v(x)."""

    _dtype: np.dtype  # the floating type it works in
    _n_features_out: int  # columns of psi
    _projection: np.ndarray | None  # P, or None where psi = v

    def _values(self) -> Callable[[Block], np.ndarray]:
        """The function v, from a block of rows to their values."""


def working_type(n: int, columns: int, dtype: np.dtype) -> np.dtype:
    """The floating type in which n rows are embedded: float32, unless rows are float64 and few."""
    return np.dtype(dtype if 8 * n * columns <= _sizes.EXACT_BYTES else np.float32)


class ByteLimits(NamedTuple):
    """Memory for embedded rows: for values and rows that are kept, for those in float64, and for a stretch of steps."""

    values: int
    rows: int
    exact: int
    stretch: int

    @classmethod
    def usual(cls) -> "ByteLimits":
        """The limits where none are given."""
        return cls(_sizes.KEPT_VALUE_BYTES, _sizes.KEPT_ROW_BYTES, _sizes.EXACT_BYTES, _sizes.SWEPT_ROW_BYTES)


class Embedded(Table):
    """Rows psi(x) = P'v(x) of the rows x of another table.

    Products with all rows are products with the values v, and P is applied to vectors. Rows are made only for a solver
    that steps from one to the next: all of them where they fit, and otherwise those of one stretch of steps.
    """

    def __init__(self, X: Block | Table, feature_map: Embedding, limits: ByteLimits | None = None) -> None:
        self._raw, self._limits = as_table(X), limits or ByteLimits.usual()
        self._value, self._work = feature_map._values(), np.dtype(feature_map._dtype)
        self.shape, self._projection = (X.shape[0], feature_map._n_features_out), feature_map._projection
        self.width = self.shape[1] if self._projection is None else len(self._projection)
        self._products = 0
        self._kept_values: np.ndarray | None = None
        self._kept_rows: DenseTable | None = None

    centre = DenseTable.centre

    @property
    def dtype(self) -> np.dtype:
        return self._raw.dtype

    @property
    def projection(self) -> np.ndarray | None:  # type: ignore[override]
        """P, but for rows in float64, whose eigenvalues are cut so late that projected moments would lose digits."""
        return self._projection if self._work == np.float32 else None

    def part(self, index: Index) -> np.ndarray:
        if self._kept_rows is not None:
            return self._kept_rows.part(index)
        return self._gather(index, self.shape[1], self._project)

    def values(self, index: Index) -> np.ndarray:
        """The values v of these rows."""
        return self._value(self._raw.part(index)) if self._kept_values is None else self._kept_values[index]

    def blocks(self, size: int | None = None) -> Iterator[tuple[slice, Block]]:
        if self._kept_rows is not None:
            yield from self._kept_rows.blocks(size)
            return
        for where, values in self._all_values(size):
            yield where, self._projected(values)

    def value_blocks(self, size: int | None = None) -> Iterator[tuple[slice, Block]]:
        return self.blocks(size) if self.projection is None else self._all_values(size)

    def _all_values(self, size: int | None = None) -> Iterator[tuple[slice, np.ndarray]]:
        size = size or self.block_rows()
        if self._kept_values is not None:
            for where in slices(self.shape[0], size):
                yield where, self._kept_values[where]
            return
        for where, block in self._raw.blocks(size):
            yield where, self._value(block)

    def matmul(self, W: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        self._count_product()
        if self._kept_rows is not None:
            return self._kept_rows.matmul(W, index)
        return self.values_matmul(self.values_weights(W), index)

    def values_weights(self, W: np.ndarray) -> np.ndarray:
        """P W: psi(x).w = v.(P w)."""
        return W if self._projection is None else self._projection @ W

    def values_matmul(self, V: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """v V in float64, of the rows of ``index`` only where one is given."""
        n = self.shape[0] if index is None else len(index)
        out = np.empty((n, *V.shape[1:]))
        for where, values in self._all_values() if index is None else self._values_of(index):
            out[where] = values.astype(np.float64, copy=False) @ V
        return out

    def _values_of(self, index: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        for where in slices(len(index), self.block_rows()):
            yield where, self.values(index[where])

    def rmatmul(self, U: np.ndarray) -> np.ndarray:
        self._count_product()
        if self._kept_rows is not None:
            return self._kept_rows.rmatmul(U)
        out = np.zeros((self.width, *U.shape[1:]))
        for where, values in self._all_values():
            out += values.astype(np.float64, copy=False).T @ U[where]
        return out if self._projection is None else self._projection.T @ out

    def sweep(self, *orders: np.ndarray, centre: np.ndarray | None = None) -> Sweep:
        if self._kept_rows is None and self._fits(self.shape[1], self._limits.rows):
            self._kept_rows, self._kept_values = DenseTable(self.part(slice(None))), None
        if self._kept_rows is not None:
            yield from self._kept_rows.sweep(*orders, centre=centre)
            return
        size = max(1, self._limits.stretch // (self._work.itemsize * self.shape[1] * len(orders)))
        yield from gathered(self, orders, centre, size)

    def order(self, rng: np.random.Generator, shuffle: bool = True) -> np.ndarray:
        return self._raw.order(rng, shuffle)

    def block_rows(self) -> int:
        return max(1, _sizes.BLOCK_BYTES // (8 * max(1, self.width)))

    def _count_product(self) -> None:
        """Keep the values from the third product on, where nothing is kept yet and they fit."""
        self._products += 1
        nothing_kept = self._kept_rows is None and self._kept_values is None
        if self._products == PRODUCTS and nothing_kept and self._fits(self.width, self._limits.values):
            self._kept_values = self._gather(slice(None), self.width, self.values)

    def _fits(self, columns: int, limit: int) -> bool:
        """Whether all rows may be kept; in float64, only few of them ever are."""
        limit = limit if self._work == np.float32 else self._limits.exact
        return self.shape[0] * columns * self._work.itemsize <= limit

    def _gather(self, index: Index, columns: int, make: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        index = np.arange(self.shape[0])[index]
        out = np.empty((len(index), columns), self._work)
        for where in slices(len(index), self.block_rows()):
            out[where] = make(index[where])
        return out

    def _project(self, index: Index) -> np.ndarray:
        return self._projected(self.values(index))

    def _projected(self, values: np.ndarray) -> np.ndarray:
        return values if self._projection is None else values @ self._working_projection

    @cached_property
    def _working_projection(self) -> np.ndarray:
        assert self._projection is not None
        return self._projection.astype(self._work, copy=False)
