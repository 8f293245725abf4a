"""Table: what a solver may ask of its rows, wherever they lie."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from auclid import _sizes
from auclid.data.blocks import Block, as_array, is_sparse

Index: TypeAlias = slice | np.ndarray
"""Which rows: a range, or their numbers."""

Sweep: TypeAlias = Iterator[tuple[Any, list[np.ndarray], slice]]
"""Stretches of steps: a kernel struct, the places in it of each order's rows, and which steps these are."""

PIECE_BLOCKS, FEW = 4, 8
"""Blocks of a piece of rows, and pieces that are not worth a second thread: beginning one takes as long as two."""


class Table(ABC):
    """Rows in memory, one above the other, behind a feature map, in files: all that a solver sees of them.

    Two things are enough for a table: `part` (some rows, as they are) and, for solvers that step from row to row,
    `sweep`. All else has a default by way of these. A table whose rows do not lie in memory overrides `blocks`, which
    reads them once through, and `order`, which says in which orders it can step.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns. A table that has not been read yet may have to be, once, to know its rows.
    columns : list of str, or None
        The names of its columns, where it has some.
    projection : array of shape (m, d), or None
        P where the rows are x = P'v, made of plainer values v: moments of those, projected once, cost less.
    """

    shape: tuple[int, int]
    columns: Sequence[str] | None = None
    projection: np.ndarray | None = None
    random_access: bool = True
    """Whether some rows cost less than all; else a product is asked for all rows at once."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype:
        """The floating type of the rows."""

    @abstractmethod
    def part(self, index: Index) -> Block:
        """These rows as they are: an array, or a CSR matrix."""

    @abstractmethod
    def sweep(self, *orders: np.ndarray, centre: np.ndarray | None = None) -> Sweep:
        """Stretches of steps that meet the rows of each order side by side; dense rows are minus the centre.

        Without a centre, dense rows are as they are, and kernels do not centre them either.
        """

    def blocks(self, size: int | None = None) -> Iterator[tuple[slice, Block]]:
        """All rows once through, as they are: consecutive blocks of ``size`` rows (or as the table sees fit)."""
        for where in slices(self.shape[0], size or self.block_rows()):
            yield where, self.part(where)

    def value_blocks(self, size: int | None = None) -> Iterator[tuple[slice, Block]]:
        """`blocks` of the values v that `projection` makes the rows of; of the rows themselves where there is none."""
        return self.blocks(size)

    def order(self, rng: np.random.Generator, shuffle: bool = True) -> np.ndarray:
        """An order in which `sweep` can meet each row once: any permutation.

        A table that reads its rows from elsewhere may mix the blocks, and the rows within each.
        """
        return rng.permutation(self.shape[0]) if shuffle else np.arange(self.shape[0])

    def keys(self) -> np.ndarray | None:
        """A number a row that tells unlike rows apart, wherever they stand; None where that asks too much."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.matmul(np.random.default_rng(0).standard_normal(self.shape[1]))

    def centre(self, weight: np.ndarray | None = None) -> np.ndarray:
        """What kernels that are not translation invariant subtract from each row: nothing, so sparse rows stay so."""
        return np.zeros(self.shape[1])

    def take(self, index: Index) -> Block:
        """These rows in float64 for BLAS: an array, or a CSR matrix."""
        return self.part(index).astype(np.float64, copy=False)

    def dense(self, index: Index) -> np.ndarray:
        """These rows as a float64 array, whatever they are made of."""
        return as_array(self.take(index))

    def matmul(self, W: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """X W in float64, of the rows of ``index`` only where one is given."""
        out = np.empty((self.shape[0] if index is None else len(index), *W.shape[1:]))
        for where, block in self.blocks() if index is None else self._chosen(index):
            out[where] = _wide(block) @ W
        return out

    def _chosen(self, index: np.ndarray) -> Iterator[tuple[slice, Block]]:
        for where in slices(len(index), self.block_rows()):
            yield where, self.part(index[where])

    def rmatmul(self, U: np.ndarray) -> np.ndarray:
        """X' U in float64."""
        out = np.zeros((self.shape[1], *U.shape[1:]))
        for where, block in self.blocks():
            out += _wide(block).T @ U[where]
        return out

    def rmatmul_squares(self, u: np.ndarray) -> np.ndarray:
        """sum_i u_i x_i^2, an entry a column."""
        out = np.zeros(self.shape[1])
        for where, rows in self.blocks():
            block = _wide(rows)
            out += (block.multiply(block) if is_sparse(block) else block * block).T @ u[where]
        return out

    def pieces(self, n: int) -> list[slice]:
        """Ranges of n rows for threads to share: one alone where rows are few."""
        size = PIECE_BLOCKS * self.block_rows()
        return slices(n, size) if n > FEW * size else [slice(0, n)]

    def block_rows(self) -> int:
        """How many rows make one block of bounded memory."""
        return max(1, _sizes.BLOCK_BYTES // (8 * max(1, self.shape[1])))


def _wide(block: Block) -> Block:
    return block.astype(np.float64, copy=False)


def slices(n: int, size: int) -> list[slice]:
    """Consecutive ranges of n things, each of ``size`` at the most."""
    return [slice(a, min(a + size, n)) for a in range(0, n, size)]
