"""Dataset: rows in parts, wherever they are: one part in memory, blocks of files, partitions of a Dask collection.

An algorithm sends functions to the parts and adds up what they return. A function is pure, importable and takes a
`Part`; what it returns adds by ``+`` (`Totals`: a tuple that adds entry by entry). Parts are added in a fixed tree, so
results do not depend on the number of threads or workers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from auclid import _sizes
from auclid.data.array_tables import as_table, gathered
from auclid.data.blocks import Block, concatenate_rows, is_sparse, stack_rows
from auclid.data.encoding import ColumnEncoding, decode
from auclid.data.store import nbytes
from auclid.data.table import Index, Sweep, Table

SHUFFLED_PARTS = 8
"""Parts whose rows are shuffled together: so many are in memory at a time."""

CENTRE_PART_ROWS = 512
"""Rows of each of SHUFFLED_PARTS parts whose mean is the centre of a table."""


class Part(NamedTuple):
    """Consecutive rows: a block or a table X, a label and a weight a row (None: no labels, all weights 1)."""

    number: int
    X: Any
    y: np.ndarray | None
    weight: np.ndarray | None

    @property
    def labels(self) -> np.ndarray:
        """The labels of a part that has some."""
        assert self.y is not None
        return self.y

    def members(self, label: Any) -> np.ndarray:
        """The places of the rows of a label that weigh something."""
        here = self.y == label
        return np.flatnonzero(here if self.weight is None else here & (self.weight > 0.0))

    def weights(self, at: np.ndarray) -> np.ndarray:
        """The weights of the rows at some places."""
        return np.ones(len(at)) if self.weight is None else self.weight[at]


class Totals(tuple):
    """Values that add entry by entry; None stands for nothing."""

    def __add__(self, other: Any) -> "Totals":
        return Totals(_added(a, b) for a, b in zip(self, other, strict=True))


def _added(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return a if b is None else b
    return a + b


def apply(function: Callable, steps: Sequence[Callable], part: Part, *shared: Any) -> Any:
    """A function of a part that was first changed by steps."""
    for step in steps:
        part = step(part)
    return function(part, *shared)


def itself(value: Any) -> Any:
    """The value: what is made of a part by its steps alone."""
    return value


class Dataset(ABC):
    """Rows in parts, for map and reduce.

    `map`, `reduce` and `merge` return a handle: the value itself, or on a cluster a future of it; `compute` gives the
    value. ``columns`` are the names of the columns or None, ``dtype`` is the floating type of the rows.
    """

    columns: list[str] | None
    dtype: np.dtype
    width: int
    """How many columns there are."""
    encodings: Mapping[str, ColumnEncoding] = MappingProxyType({})
    """What the numbers of some columns stand for, by name; of files, complete once all rows were read."""

    def decode(self, X: Any) -> Any:
        """The numbers of some rows as a table with texts and dates; X itself where all columns are numbers."""
        return decode(X, self.columns or [], self.encodings) if self.encodings else X

    def column_encodings(self) -> dict[int, ColumnEncoding]:
        """What the numbers of some columns stand for, by the number of the column."""
        named = enumerate(self.columns or []) if self.encodings else ()
        return {number: self.encodings[name] for number, name in named if name in self.encodings}

    partitioned = True
    """Whether rows lie in several parts that must not be brought together; False: they are in memory."""

    memory: int | None = None
    """Bytes of rows that may be brought together in memory; None: all of them."""

    def row_limit(self, least: int) -> int | None:
        """How many rows of float64 numbers ``memory`` holds, ``least`` at the least; None: all of them."""
        return None if self.memory is None else max(least, self.memory // (8 * max(1, self.width)))

    def part_sizes(self) -> np.ndarray:
        """The number of rows of each part; takes a pass where it is not known."""
        return np.asarray(self.compute(self.map(part_size)))

    def table(self, part_sizes: np.ndarray) -> Table:
        """All rows as one table, given the number of rows of each part; products are computed where the rows are."""
        return PartitionedTable(self, part_sizes)

    def row_table(self, part_sizes: np.ndarray) -> Table:
        """All rows as one table for solvers that step from row to row: in memory where ``memory`` holds them all."""
        if not self.fits_in_memory(part_sizes):
            return self.table(part_sizes)
        table = as_table(stack_rows(self.blocks(), int(part_sizes.sum())))
        table.columns = self.columns
        return table

    @abstractmethod
    def fits_in_memory(self, part_sizes: np.ndarray) -> bool:
        """Whether ``memory`` holds all rows, given the number of rows of each part."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """The rows of each part in their order, one part in memory at a time."""

    def take(self, places: list[np.ndarray]) -> Block:
        """The rows of each part at some places, one below the other."""
        return concatenate_rows(self.compute(self.map(part_rows_at, places)))

    @abstractmethod
    def materialize(self) -> None:
        """Prepare for many calls of `take`."""

    @abstractmethod
    def labels(self) -> list[tuple[np.ndarray | None, np.ndarray | None]]:
        """Labels and weights of each part, without a look at its rows where that can be."""

    @abstractmethod
    def map(self, function: Callable, *shared: Any) -> Any:
        """A handle of [function(part, *shared) for each part]; what is shared may be handles."""

    @abstractmethod
    def reduce(self, function: Callable, *shared: Any) -> Any:
        """A handle of the sum of function(part, *shared) over parts, in a tree that depends on their number only."""

    def merge(self, function: Callable, *handles: Any) -> Any:
        """A handle of function(*values)."""
        return function(*handles)

    def persist(self, handle: Any) -> Any:
        """Compute a handle where the parts are and keep it there, for repeated use."""
        return handle

    def compute(self, handle: Any) -> Any:
        """The value of a handle."""
        return handle

    @abstractmethod
    def transformed(self, step: Callable, width: int | None = None) -> "Dataset":
        """The rows that a function makes of each part, when they are asked for; ``width`` columns without names.

        A function that changes labels or weights goes to `relabelled`, so that `labels` knows of it.
        """

    def relabelled(self, step: Callable) -> "Dataset":
        """The parts with other labels or weights, which a function makes of those that they have."""
        other = self.transformed(step)
        other._label_steps = (*self._label_steps, step)
        return other

    _label_steps: tuple[Callable, ...] = ()

    @abstractmethod
    def cached(self, step: Callable) -> "Dataset":
        """The rows that a function makes of each part, made once and kept where they are."""


def tree_sum(values: Iterable[Any]) -> Any:
    """The sum of values in pairs, pairs of pairs and so on: a tree that depends on their number only.

    Few of them are in memory at a time: one for each power of two in the number that were added.

    Examples
    --------
    >>> from auclid.data.dataset import tree_sum
    >>> tree_sum(["a", "b", "c"])
    'abc'
    """
    return whole(subtrees(enumerate(values)))


def subtrees(numbered: Iterable[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """The sums of consecutive values that are in `tree_sum` of all: (level, sum of 2^level values), in their order.

    ``numbered`` are some of the values with their numbers among all. So parts of the tree are summed up side by side.
    """
    sums: list[tuple[int, Any]] = []
    for number, value in numbered:
        level = 0
        while number >> level & 1 and sums and sums[-1][0] == level:
            value = sums.pop()[1] + value
            level += 1
        sums.append((level, value))
    return sums


def whole(trees: Iterable[tuple[int, Any]]) -> Any:
    """The sum of all values, from the `subtrees` of all consecutive runs of them."""
    waiting: list[tuple[int, Any]] = []
    for level, value in trees:
        while waiting and waiting[-1][0] == level:
            value = waiting.pop()[1] + value
            level += 1
        waiting.append((level, value))
    total = waiting.pop()[1]
    while waiting:
        total = waiting.pop()[1] + total
    return total


class PartitionedTable(Table):
    """The rows of a partitioned dataset as one table: one number a row is kept in memory, the rows stay where they are.

    Products are computed by the parts. Row-wise solvers step in the order of `order`, which shuffles the rows of a few
    parts at a time, drawn at random: `sweep` brings these together in memory.
    """

    random_access = False

    def __init__(self, dataset: Dataset, part_sizes: np.ndarray) -> None:
        self._dataset, self._sizes = dataset, np.asarray(part_sizes, dtype=np.int64)
        self._ends = np.concatenate([[0], np.cumsum(self._sizes)])
        self.shape = int(self._ends[-1]), dataset.width
        self.columns = dataset.columns

    @property
    def dtype(self) -> np.dtype:
        return self._dataset.dtype

    def part(self, index: Index) -> Block:
        index = np.arange(self.shape[0])[index] if isinstance(index, slice) else np.asarray(index)
        wanted, places = np.unique(index, return_inverse=True)
        cuts = np.searchsorted(wanted, self._ends)
        X = self._dataset.take([wanted[a:b] - start for (a, b), start in zip(pairwise(cuts), self._ends, strict=False)])
        return X if np.array_equal(wanted, index) else X[places]

    def blocks(self, size: int | None = None) -> Iterator[tuple[slice, Block]]:
        for (start, stop), X in zip(pairwise(self._ends.tolist()), self._dataset.blocks(), strict=True):
            yield slice(start, stop), X

    def order(self, rng: np.random.Generator, shuffle: bool = True) -> np.ndarray:
        """An order that visits each row once: parts in random order, the rows of a few parts mixed."""
        if not shuffle:
            return np.arange(self.shape[0])
        ends, drawn = self._ends, rng.permutation(len(self._ends) - 1)
        out, start = np.empty(self.shape[0], dtype=np.int64), 0
        for at in range(0, len(drawn), SHUFFLED_PARTS):
            mixed = np.concatenate([np.arange(ends[k], ends[k + 1]) for k in drawn[at : at + SHUFFLED_PARTS]])
            out[start : start + len(mixed)] = rng.permutation(mixed)
            start += len(mixed)
        return out

    def matmul(self, W: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """X W, by the parts; the rows of ``index`` of it, where one is given."""
        scores = np.concatenate(self._dataset.compute(self._dataset.map(part_matmul, W)))
        return scores if index is None else scores[index]

    def rmatmul(self, U: np.ndarray) -> np.ndarray:
        return self._dataset.compute(self._dataset.reduce(part_rmatmul, self._split(U)))

    def rmatmul_squares(self, u: np.ndarray) -> np.ndarray:
        return self._dataset.compute(self._dataset.reduce(part_rmatmul_squares, self._split(u)))

    def _split(self, U: np.ndarray) -> list[np.ndarray]:
        return np.split(U, self._ends[1:-1])

    def keys(self) -> None:
        """None: the order of parts depends on where rows stand."""

    def centre(self, weight: np.ndarray | None = None) -> np.ndarray:
        """Near the mean: that of some rows of some parts; of sparse rows the origin, so that they stay sparse."""
        chosen = np.unique(np.linspace(0, len(self._sizes) - 1, SHUFFLED_PARTS).astype(int))
        rows = [self._ends[k] + np.arange(min(CENTRE_PART_ROWS, self._sizes[k])) for k in chosen]
        some = self.part(np.concatenate(rows))
        return np.zeros(self.shape[1]) if is_sparse(some) else some.mean(axis=0, dtype=np.float64)

    def sweep(self, *orders: np.ndarray, centre: np.ndarray | None = None) -> Sweep:
        self._dataset.materialize()
        largest, row_bytes = int(self._sizes.max()), self.dtype.itemsize * max(1, self.shape[1])
        mixed = SHUFFLED_PARTS * largest
        if row_bytes * largest <= _sizes.STRETCH_BYTES:  # not so where rows are sparse: their parts are longer
            mixed = min(mixed, _sizes.STRETCH_BYTES // row_bytes)
        yield from gathered(self, orders, centre, max(1, mixed // len(orders)))


def part_size(part: Part) -> int:
    """The number of rows of a part."""
    return as_table(part.X).shape[0]


def part_rows_at(part: Part, places: list[np.ndarray]) -> Block:
    """The rows of a part at its own of the places of all parts."""
    return part_block(part, places[part.number])


def part_block(part: Part, index: Index = slice(None)) -> Block:
    """The rows of a part, or those at some places."""
    return as_table(part.X).part(index)


def part_labels(part: Part) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Labels and weights of a part."""
    return part.y, part.weight


def part_bytes(part: Part) -> int:
    """The bytes of a part in memory."""
    return sum(nbytes(block) for _, block in as_table(part.X).blocks())


def part_matmul(part: Part, W: np.ndarray) -> np.ndarray:
    """X W of a part."""
    return as_table(part.X).matmul(W)


def part_rmatmul(part: Part, U: list[np.ndarray]) -> np.ndarray:
    """X'U of a part."""
    return as_table(part.X).rmatmul(U[part.number])


def part_rmatmul_squares(part: Part, u: list[np.ndarray]) -> np.ndarray:
    """The sum of u_i x_i² over the rows of a part."""
    return as_table(part.X).rmatmul_squares(u[part.number])
