"""Two tables, one above the other."""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from auclid.data.blocks import Block, append_rows
from auclid.data.memory import gathered
from auclid.data.table import Index, Sweep, Table


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
