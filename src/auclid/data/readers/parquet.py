"""Parquet files, by runs of row groups that several threads can read in parallel."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from auclid import _sizes
from auclid.data.readers.arrow import FileReader, arrow_errors, import_pyarrow
from auclid.data.readers.reader import ColumnSelection, Run, SourceBlock, block_rows, prefetch
from auclid.data.table import slices

BUFFER_BYTES = 1 << 16
"""Bytes of a column that are read at a time: without a number, a whole row group is in memory."""

SINGLE_THREAD_CORES = 2
"""Processors up to which one thread decodes a file: the consumer of the blocks keeps the other one busy."""


class Parquet(FileReader):
    """Parquet files, by batches of rows: a scan of a dataset has been seen to hold a hundred of them at once.

    No batch reaches over the end of a run, so that blocks are the same whether runs are read in turn or in parallel.
    """

    kind = "parquet file"

    def __init__(self, paths: Sequence[Path], where: str, selection: ColumnSelection) -> None:
        super().__init__(paths, where, selection)
        self.count = sum(self._open_file(path).metadata.num_rows for path in paths)

    def _open_file(self, path: Path) -> Any:
        with arrow_errors(path, self.kind):
            return import_pyarrow().parquet.ParquetFile(path)

    def schema(self, path: Path) -> Any:
        return self._open_file(path).schema_arrow

    def open(self, path: Path, columns: Sequence[str], rows: int) -> Iterator[Any]:
        pa = import_pyarrow()
        with pa.parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
            options = {"columns": list(columns), "use_threads": pa.cpu_count() > SINGLE_THREAD_CORES}
            for groups in group_runs(group_sizes(file.metadata), rows):
                yield from fill_batches(file.iter_batches(batch_size=rows, row_groups=groups, **options), rows)

    def read_labels(self) -> Iterator[SourceBlock] | None:
        batches = self.batches(self._label_columns(), block_rows(len(self.columns), self.dtype))
        return (SourceBlock(None, *self._labels(batch)) for batch in prefetch(batches))

    def runs(self) -> list[Run]:
        if any(each.is_categorical for each in self.encodings.values()):
            return []  # texts are numbered in the order in which they first occur
        runs, begin, rows = [], 0, block_rows(len(self.columns), self.dtype)
        for path in self.paths:
            metadata = self._open_file(path).metadata
            sizes = group_sizes(metadata)
            for groups in group_runs(sizes, rows):
                size = sum(sizes[k] for k in groups)
                runs.append(Run(begin, size, partial(self._read_run, path, metadata, groups, slices(size, rows))))
                begin += size
        longest = max(run.rows for run in runs)
        return runs if len(self.columns) <= _sizes.MAX_RUN_COLUMNS and longest <= _sizes.MAX_RUN_BLOCKS * rows else []

    def _read_run(self, path: Path, metadata: Any, groups: list[int], parts: list[slice]) -> Iterator[SourceBlock]:
        """The blocks of a run, decoded a column at a time, which takes the least memory and time of one thread."""
        blocks = [np.empty((len(self.columns), part.stop - part.start), self.dtype) for part in parts]
        options = {"metadata": metadata, "pre_buffer": False, "buffer_size": BUFFER_BYTES}
        with arrow_errors(path, self.kind), import_pyarrow().parquet.ParquetFile(path, **options) as file:
            for k, name in enumerate(self.columns):
                values = self._encode(read_groups(file, groups, [name]).column(name), name)
                for part, block in zip(parts, blocks, strict=True):
                    block[k] = values[part]
            labels = self._labels(read_groups(file, groups, self._label_columns()))
        for part in parts:  # drop our reference to each block, so that it can be freed after its use
            yield SourceBlock(blocks.pop(0).T, *(None if each is None else each[part] for each in labels))


def read_groups(file: Any, groups: list[int], columns: list[str]) -> Any:
    """These columns of some row groups as one batch, decoded in this thread."""
    table = file.read_row_groups(groups, columns=columns, use_threads=False)
    table.validate(full=True)
    return import_pyarrow().RecordBatch.from_arrays(
        [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in table.columns],
        schema=table.schema,
    )


def fill_batches(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Batches joined to so many rows each, except the last: those with categories end with their row group."""
    pending: list[Any] = []
    for batch in batches:
        pending.append(batch)
        if sum(each.num_rows for each in pending) == rows:
            yield concat_batches(pending)
            pending = []
    if pending:
        yield concat_batches(pending)


def concat_batches(batches: list[Any]) -> Any:
    """The rows of batches as one."""
    if len(batches) == 1:
        return batches[0]
    return import_pyarrow().Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches()[0]


def group_sizes(metadata: Any) -> list[int]:
    """The rows of each row group of a file."""
    return [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]


def group_runs(sizes: Sequence[int], rows: int) -> list[list[int]]:
    """The numbers of row groups of these sizes, in runs of `_sizes.MIN_RUN_BLOCKS` blocks of so many rows, or more.

    Examples
    --------
    >>> from auclid.data.readers.parquet import group_runs
    >>> group_runs([50, 50, 100, 30], rows=10)
    [[0, 1], [2], [3]]
    """
    runs: list[list[int]] = [[]]
    filled = 0
    for k, size in enumerate(sizes):
        if filled >= _sizes.MIN_RUN_BLOCKS * rows:
            runs.append([])
            filled = 0
        runs[-1].append(k)
        filled += size
    return runs
