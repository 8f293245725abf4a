"""Rows in memory as a dataset: one part, or blocks that share its memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from types import MappingProxyType
from typing import Any

import numpy as np

from auclid.data.array_tables import as_table
from auclid.data.blocks import Block, concatenate_rows
from auclid.data.dataset import Dataset, Part, apply, itself, part_labels, tree_sum
from auclid.data.encoding import ColumnEncoding
from auclid.data.table import Table, slices


class MemoryDataset(Dataset):
    """Rows in memory: one part, or blocks of ``block_rows`` rows, whose sums need no temporary of the table's size.

    ``encodings`` say what the numbers of some columns stand for, by the number of the column.
    """

    partitioned = False

    def __init__(
        self,
        table: Table,
        y: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        *,
        block_rows: int | None = None,
        encodings: Mapping[int, ColumnEncoding] = MappingProxyType({}),
    ) -> None:
        self._whole, self._block_rows, self._encodings = Part(0, table, y, weight), block_rows, dict(encodings)
        self._steps: tuple[Callable, ...] = ()
        self._cached: list[Part] | None = None
        self._made: list[Part] | None = None
        self.columns = None if table.columns is None else list(table.columns)
        self.dtype, self.width = table.dtype, table.shape[1]

    def column_encodings(self) -> dict[int, ColumnEncoding]:
        return self._encodings

    def _parts(self) -> Iterable[Part]:
        """The parts with their steps applied: once, but for blocks, of which one is in memory at a time."""
        if self._cached is None and self._block_rows is not None:
            return (apply(itself, self._steps, part) for part in self._blocks(self._block_rows))
        if self._made is None:
            given = [self._whole] if self._cached is None else self._cached
            self._made = [apply(itself, self._steps, part) for part in given]
        return self._made

    def _blocks(self, size: int) -> Iterator[Part]:
        table, y, weight = self._whole[1:]
        for number, rows in enumerate(slices(max(table.shape[0], 1), size)):
            own = (None if each is None else each[rows] for each in (y, weight))
            yield Part(number, table.part(rows), *own)

    def table(self, part_sizes: np.ndarray) -> Table:
        """All rows, with what `transformed` makes of them."""
        if self._cached is None and not self._steps:
            return as_table(self._whole.X)
        made = [part.X for part in self._parts()]
        return as_table(made[0] if len(made) == 1 else concatenate_rows(made))

    def fits_in_memory(self, part_sizes: np.ndarray) -> bool:
        return True

    def row_table(self, part_sizes: np.ndarray) -> Table:
        return self.table(part_sizes)

    def materialize(self) -> None:
        """All rows are at hand."""

    def blocks(self) -> Iterator[Block]:
        return (as_table(part.X).part(slice(None)) for part in self._parts())

    def labels(self) -> list[tuple[np.ndarray | None, np.ndarray | None]]:
        return self.map(part_labels)

    def map(self, function: Callable, *shared: Any) -> Any:
        return [function(part, *shared) for part in self._parts()]

    def reduce(self, function: Callable, *shared: Any) -> Any:
        return tree_sum(function(part, *shared) for part in self._parts())

    def transformed(self, step: Callable, width: int | None = None) -> "MemoryDataset":
        other = copy(self)
        if self._made is None:
            other._steps = (*self._steps, step)
        else:
            other._cached, other._steps, other._made = self._made, (step,), None
        if width is not None:
            other.width, other.columns, other._encodings = width, None, {}
        return other

    def cached(self, step: Callable) -> "MemoryDataset":
        other = copy(self)
        other._cached, other._steps, other._made = [step(part) for part in self._parts()], (), None
        return other
