"""Rows of files as a dataset, whose parts are their blocks, and as a table that is swept in shuffled order."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from auclid.data import sizes
from auclid.data.blocks import Block, is_sparse
from auclid.data.dataset import Dataset, Part, apply, subtrees, whole
from auclid.data.files import Rows
from auclid.data.memory import gathered
from auclid.data.readers.reader import READ_BYTES
from auclid.data.store import Store
from auclid.data.table import Index, Sweep, Table


class FileDataset(Dataset):
    """`Rows` in parts: their blocks, one after the other."""

    _one_run = False
    """Whether parts are made one after the other: they are at hand, or making them takes memory and BLAS's threads."""

    def __init__(self, rows: Rows, *, allow_missing: bool = False, allow_categorical: bool = False) -> None:
        if not allow_categorical:
            rows.require_numeric()
        self._rows, self._allowed = rows, (allow_missing, allow_categorical)
        self._steps: tuple[Callable, ...] = ()
        self.columns, self.dtype = rows.columns if rows.named else None, rows.dtype
        self.encodings, self.memory = rows.encodings, rows.memory
        self.width = len(rows.columns)

    def part_sizes(self) -> np.ndarray:
        return np.asarray(self._rows.block_sizes())

    def _parts(self) -> Iterator[Part]:
        for number, block in enumerate(self._rows.read(*self._allowed)):
            yield Part(number, *block)

    def _runs(self, function: Callable[[Iterator[Part]], Any]) -> Iterator[Any]:
        """A function of each run of consecutive parts: of one alone, where parts are not made side by side."""
        if self._one_run:
            return iter([function(self._parts())])
        return self._rows.map_runs(
            lambda blocks: function(Part(number, *block) for number, block in blocks), *self._allowed
        )

    def map(self, function: Callable, *shared: Any) -> Any:
        answers = self._runs(lambda parts: [apply(function, self._steps, part, *shared) for part in parts])
        return list(chain.from_iterable(answers))

    def reduce(self, function: Callable, *shared: Any) -> Any:
        answers = self._runs(
            lambda parts: subtrees((part.number, apply(function, self._steps, part, *shared)) for part in parts)
        )
        return whole(chain.from_iterable(answers))

    def merge(self, function: Callable, *handles: Any) -> Any:
        return function(*handles)

    def persist(self, handle: Any) -> Any:
        return handle

    def compute(self, handle: Any) -> Any:
        return handle

    def transformed(self, step: Callable, width: int | None = None) -> "Dataset":
        other = object.__new__(type(self))
        vars(other).update(vars(self), _steps=(*self._steps, step))
        if width is not None:
            other.width, other.columns, other.encodings, other._one_run = width, None, {}, True
        return other

    def cached(self, step: Callable) -> "Dataset":
        return CachedFileDataset(self, [*self._steps, step], self._rows.memory)


class CachedFileDataset(FileDataset):
    """Parts made once: in memory up to a number of bytes, the others in a temporary file."""

    _one_run = True

    def __init__(self, source: FileDataset, steps: Sequence[Callable], memory: int) -> None:
        self.columns, self.dtype, self.width, self._steps = source.columns, source.dtype, source.width, ()
        self.encodings, self.memory = source.encodings, source.memory
        self._store, self._rest = Store(memory), []
        for part in source._parts():
            for step in steps:
                part = step(part)
            self._store.add(part.X, spool=True)
            self._rest.append((part.y, part.weight))

    def part_sizes(self) -> np.ndarray:
        return np.array([self._store.get(number).shape[0] for number in range(len(self._rest))])

    def _parts(self) -> Iterator[Part]:
        for number, rest in enumerate(self._rest):
            yield Part(number, self._store.get(number), *rest)


SHUFFLED_BLOCKS = 8
"""Blocks whose rows are shuffled together: so many are in memory at a time."""

CENTRE_BLOCK_ROWS = 512
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
        ends = np.cumsum([0, *self.rows.block_sizes()])
        drawn, out, start = rng.permutation(len(ends) - 1), np.empty(self.shape[0], dtype=np.int64), 0
        for at in range(0, len(drawn), SHUFFLED_BLOCKS):
            mixed = np.concatenate([np.arange(ends[k], ends[k + 1]) for k in drawn[at : at + SHUFFLED_BLOCKS]])
            out[start : start + len(mixed)] = rng.permutation(mixed)
            start += len(mixed)
        return out

    def keys(self) -> None:
        """None: the order of blocks depends on where rows stand."""

    def centre(self, weight: np.ndarray | None = None) -> np.ndarray:
        """Near the mean: that of some rows of some blocks; of sparse rows the origin, so that they stay so."""
        counts = np.array(self.rows.block_sizes())
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        chosen = np.unique(np.linspace(0, len(counts) - 1, SHUFFLED_BLOCKS).astype(int))
        some = self.part(np.concatenate([starts[k] + np.arange(min(CENTRE_BLOCK_ROWS, counts[k])) for k in chosen]))
        return np.zeros(self.shape[1]) if is_sparse(some) else some.mean(axis=0, dtype=np.float64)

    def sweep(self, *orders: np.ndarray, centre: np.ndarray | None = None) -> Sweep:
        self.rows.materialize()
        largest, row_bytes = max(self.rows.block_sizes()), self.dtype.itemsize * self.shape[1]
        mixed = SHUFFLED_BLOCKS * largest
        if row_bytes * largest <= 2 * READ_BYTES:  # not so where rows are sparse: their blocks are longer
            mixed = min(mixed, max(largest, sizes.STRETCH_BYTES // row_bytes))
        yield from gathered(self, orders, centre, max(1, mixed // len(orders)))
