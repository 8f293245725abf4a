"""Rows as a function makes them of other rows: scaled columns, labels of one class against the rest."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from auclid.data.blocks import stack_rows
from auclid.data.files import Rows
from auclid.data.readers import Reader, SourceBlock
from auclid.data.readers.reader import select_rows


class Mapped(Reader):
    """The blocks of other rows, with functions applied to their numbers and labels whenever they are read."""

    resident = True

    def __init__(
        self,
        rows: Rows,
        numbers: Callable | None,
        labels: Callable | None,
        columns: list[str] | None = None,
        index: np.ndarray | None = None,
    ) -> None:
        self.rows, self.numbers, self.labels, self.index = rows, numbers, labels, index
        self.columns = rows.columns if columns is None else columns
        self.where, self.named = rows.where, rows.named and numbers is None
        self.decoded = numbers is None or columns is not None
        self.dtype, self.has_target = rows.dtype, rows.has_target
        self.has_weight = rows.has_weight
        self.encodings = rows.encodings if numbers is None else {}

    @property
    def count(self) -> int | None:  # type: ignore[override]
        return self.rows.shape[0] if self.index is None else len(self.index)

    def _map(self, block: SourceBlock) -> SourceBlock:
        X = block.X if self.numbers is None or block.X is None else self.numbers(self._decode(block.X))
        y = block.y if self.labels is None or block.y is None else self.labels(block.y)
        return SourceBlock(X, y, block.weight)

    def _select(self, blocks: Iterator[SourceBlock]) -> Iterator[SourceBlock]:
        """The rows of the index; blocks that have none are left out."""
        return blocks if self.index is None else (each for each in select_rows(blocks, self.index) if each.rows)

    def read(self) -> Iterator[SourceBlock]:
        # the consumer of these rows is told of missing values
        return map(self._map, self._select(self.rows.read(allow_missing=True, allow_categorical=self.decoded)))

    def read_labels(self) -> Iterator[SourceBlock] | None:
        return map(self._map, self._select(self._labels_only())) if self.has_target else None

    def _labels_only(self) -> Iterator[SourceBlock]:
        labels, weight, start = self.rows.labels(), self.rows.sample_weight(), 0
        for size in self.rows.block_sizes():
            part = slice(start, start + size)
            yield SourceBlock(None, labels.values(part), None if weight is None else weight[part])
            start += size

    def take(self, index: np.ndarray) -> Any:
        self.rows.materialize()
        index = index if self.index is None else self.index[index]
        if self.numbers is None or not len(index):
            return self._gather(index)
        ends = np.searchsorted(index, np.cumsum(self.rows.block_sizes()))
        by_block = [part for part in np.split(index, ends) if len(part)]  # a function may need several copies of its X
        return stack_rows((self.numbers(self._decode(self._gather(part))) for part in by_block), len(index))

    def _gather(self, index: np.ndarray) -> Any:
        return self.rows.gather(index, allow_missing=True, allow_categorical=self.decoded)[0]

    def _decode(self, X: Any) -> Any:
        return self.rows.decode(X) if self.decoded else X


def mapped(
    rows: Rows,
    numbers: Callable | None = None,
    labels: Callable | None = None,
    columns: list[str] | None = None,
    index: np.ndarray | None = None,
) -> Rows:
    """The rows that functions of a block make of its numbers and labels; of ``index`` only, which ascends.

    Numbers keep their columns, or get those of the names ``columns``: then the function is given a table where some
    columns are no numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import auclid
    >>> from auclid.data.mapped import mapped
    >>> rows = auclid.scan(np.eye(2), target=["a", "b"])
    >>> mapped(rows, labels=lambda y: y == "a").target()
    array([ True, False])
    """
    return Rows(Mapped(rows, numbers, labels, columns, index), rows.memory)


def is_label(label: Any, y: np.ndarray) -> np.ndarray:
    """Where y is a label."""
    return y == label
