"""A table whose rows are those of `Rows`: read by blocks, or swept in the order of shuffled blocks."""

from collections.abc import Iterator

import numpy as np

from auclid.data.blocks import Block, is_sparse
from auclid.data.files import Rows
from auclid.data.memory import gathered
from auclid.data.table import Index, Sweep, Table

SHUFFLED_BLOCKS = 8
"""Blocks whose rows are shuffled together: so many are in memory at a time."""

CENTRE_ROWS = 512
"""Rows of each of SHUFFLED_BLOCKS blocks whose mean is the centre."""


class FileTable(Table):
    """The rows of a `Rows`.

    Products and moments read all blocks once. Row-wise solvers need random access: all rows are materialized first, in
    memory or in the temporary file, and `order` shuffles the rows of a few blocks at a time, drawn at random.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows, self.shape = rows, rows.shape
        self.columns = rows.columns if rows.named else None

    @property
    def dtype(self) -> np.dtype:
        return self.rows.dtype

    def part(self, index: Index) -> Block:
        index = np.arange(self.shape[0])[index] if isinstance(index, slice) else np.asarray(index)
        wanted, places = np.unique(index, return_inverse=True)
        X = self.rows.gather(wanted)[0]
        X = X if is_sparse(X) else np.ascontiguousarray(X)
        return X if np.array_equal(wanted, index) else X[places]

    def blocks(self, size: int | None = None) -> Iterator[tuple[slice, Block]]:
        start = 0
        for block in self.rows.read():
            yield slice(start, start + block.X.shape[0]), block.X
            start += block.X.shape[0]

    def order(self, rng: np.random.Generator, shuffle: bool = True) -> np.ndarray:
        """An order in which each row is met once: blocks in random order, the rows of a few blocks mixed."""
        if not shuffle:
            return np.arange(self.shape[0])
        ends = np.cumsum(self.rows.block_sizes())
        blocks = [np.arange(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        drawn = [blocks[k] for k in rng.permutation(len(blocks))]
        mixed = [np.concatenate(drawn[k : k + SHUFFLED_BLOCKS]) for k in range(0, len(drawn), SHUFFLED_BLOCKS)]
        return np.concatenate([rng.permutation(rows) for rows in mixed])

    def keys(self) -> None:
        """None: the order of blocks depends on where rows stand."""

    def centre(self, weight: np.ndarray | None = None) -> np.ndarray:
        """Near the mean: that of some rows of some blocks; of sparse rows the origin, so that they stay so."""
        sizes = np.array(self.rows.block_sizes())
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        chosen = np.unique(np.linspace(0, len(sizes) - 1, SHUFFLED_BLOCKS).astype(int))
        some = self.part(np.concatenate([starts[k] + np.arange(min(CENTRE_ROWS, sizes[k])) for k in chosen]))
        return np.zeros(self.shape[1]) if is_sparse(some) else some.mean(axis=0, dtype=np.float64)

    def sweep(self, *orders: np.ndarray, centre: np.ndarray | None = None) -> Sweep:
        self.rows.materialize()
        largest = max(self.rows.block_sizes())
        yield from gathered(self, orders, centre, max(1, SHUFFLED_BLOCKS * largest // len(orders)))
