"""Parquet files, by runs of row groups that several threads can read side by side."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from auclid.data.readers.arrow import Files, arrow, sentence
from auclid.data.readers.reader import Block, ColumnSelection, Run, ahead, block_rows
from auclid.data.table import slices

BUFFER = 1 << 16
"""Bytes of a column that are read at a time: without a number, a row group is in memory whole."""

CORES = 2
"""Processors up to which one thread decodes a file: whoever uses the blocks keeps the other one busy."""

RUN_BLOCKS = 8
"""Blocks of a run of row groups, at the least: its last block may be a short one."""

MOST_BLOCKS = 16
"""Blocks of a run, at the most, that is decoded whole, so that runs can be read side by side."""

MOST_COLUMNS = 200
"""Columns up to which they are: what is summed up of a run may be as large as the square of its columns."""


class Parquet(Files):
    """Parquet files, by batches of rows: a scan of a dataset has been seen to hold a hundred of them at once.

    No batch reaches over the end of a run, so that blocks are the same whether runs are read in turn or side by side.
    """

    kind = "parquet"

    def __init__(self, paths: Sequence[Path], where: str, wanted: ColumnSelection) -> None:
        super().__init__(paths, where, wanted)
        self.count = sum(self._opened(path).metadata.num_rows for path in paths)

    def _opened(self, path: Path) -> Any:
        with sentence(path, self.kind):
            return arrow().parquet.ParquetFile(path)

    def schema(self, path: Path) -> Any:
        return self._opened(path).schema_arrow

    def open(self, path: Path, columns: Sequence[str], rows: int) -> Iterator[Any]:
        pa = arrow()
        with pa.parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER) as file:
            options = {"columns": list(columns), "use_threads": pa.cpu_count() > CORES}
            for groups in together(group_sizes(file.metadata), rows):
                yield from filled(file.iter_batches(batch_size=rows, row_groups=groups, **options), rows)

    def read_labels(self) -> Iterator[Block] | None:
        batches = self.batches(self._apart(), block_rows(len(self.columns), self.dtype))
        return (Block(None, *self._labels(batch)) for batch in ahead(batches))

    def runs(self) -> list[Run]:
        if any(each.is_words for each in self.meanings.values()):
            return []  # texts are numbered in the order in which they are met
        found, begin, rows = [], 0, block_rows(len(self.columns), self.dtype)
        for path in self.paths:
            metadata = self._opened(path).metadata
            sizes = group_sizes(metadata)
            for groups in together(sizes, rows):
                size = sum(sizes[k] for k in groups)
                found.append(Run(begin, size, partial(self._read_run, path, metadata, groups, slices(size, rows))))
                begin += size
        most = max(run.rows for run in found)
        return found if len(self.columns) <= MOST_COLUMNS and most <= MOST_BLOCKS * rows else []

    def _read_run(self, path: Path, metadata: Any, groups: list[int], places: list[slice]) -> Iterator[Block]:
        """The blocks of a run, a column at a time: no other way takes less memory, nor less time of one thread."""
        blocks = [np.empty((len(self.columns), place.stop - place.start), self.dtype) for place in places]
        with (
            sentence(path, self.kind),
            arrow().parquet.ParquetFile(path, metadata=metadata, pre_buffer=False, buffer_size=BUFFER) as file,
        ):
            for k, name in enumerate(self.columns):
                values = self._column(in_one(file, groups, [name]).column(name), name)
                for place, block in zip(places, blocks, strict=True):
                    block[k] = values[place]
            y, weight = self._labels(in_one(file, groups, self._apart()))
        for place in places:
            parts = (None if each is None else each[place] for each in (y, weight))
            yield Block(blocks.pop(0).T, *parts)  # who holds no block any longer gives its memory back


def in_one(file: Any, groups: list[int], columns: list[str]) -> Any:
    """These columns of some row groups as one batch, decoded in this thread."""
    table = file.read_row_groups(groups, columns=columns, use_threads=False)
    return arrow().RecordBatch.from_arrays(
        [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in table.columns],
        schema=table.schema,
    )


def filled(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """The same rows in batches of so many, the last aside: those of categories end with their row group."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) == rows:
            yield joined(waiting)
            waiting = []
    if waiting:
        yield joined(waiting)


def joined(batches: list[Any]) -> Any:
    """The rows of batches as one."""
    if len(batches) == 1:
        return batches[0]
    return arrow().Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches()[0]


def group_sizes(metadata: Any) -> list[int]:
    """The rows of each row group of a file."""
    return [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]


def together(sizes: Sequence[int], rows: int) -> list[list[int]]:
    """The numbers of row groups of these sizes, in runs of RUN_BLOCKS blocks of so many rows, or more.

    Examples
    --------
    >>> from auclid.data.readers.parquet import together
    >>> together([50, 50, 100, 30], rows=10)
    [[0, 1], [2], [3]]
    """
    found: list[list[int]] = [[]]
    waiting = 0
    for k, size in enumerate(sizes):
        if waiting >= RUN_BLOCKS * rows:
            found.append([])
            waiting = 0
        found[-1].append(k)
        waiting += size
    return found
