"""Apart: labelled rows that lie in parts, blocks of a file or partitions of a cluster, and are never brought together.

A solver sends functions to the parts and adds up what they give. A function is pure, importable and takes a `Part`;
what it gives adds by ``+`` (`Totals`: a tuple that adds entry by entry).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from auclid.data.encoding import ColumnEncoding, decode
from auclid.data.files import Rows
from auclid.data.store import Store


class Part(NamedTuple):
    """Consecutive rows: a block or a table X, a label and a weight a row (None: no labels, all weights 1)."""

    number: int
    X: Any
    y: np.ndarray | None
    weight: np.ndarray | None

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


class Dataset(ABC):
    """Rows in parts. What a verb gives is a handle: of rows in files the value itself, of a cluster a promise of it.

    ``columns`` are the names of the columns or None, ``dtype`` the floating type of the rows.
    """

    columns: list[str] | None
    dtype: np.dtype
    width: int
    """How many columns there are."""
    meanings: Mapping[str, ColumnEncoding] = MappingProxyType({})
    """What the numbers of some columns stand for, by name; of files, complete once all rows were read."""

    def decode(self, X: Any) -> Any:
        """Numbers of these rows as one who knows words sees them: a table where they stand for anything else."""
        return decode(X, self.columns or [], self.meanings) if self.meanings else X

    @abstractmethod
    def map(self, function: Callable, *shared: Any) -> Any:
        """A handle of [function(part, *shared) for each part]; what is shared may be handles."""

    @abstractmethod
    def reduce(self, function: Callable, *shared: Any) -> Any:
        """A handle of the sum of function(part, *shared) over parts, in a tree that depends on their number only."""

    @abstractmethod
    def merge(self, function: Callable, *handles: Any) -> Any:
        """A handle of function(*values)."""

    @abstractmethod
    def persist(self, handle: Any) -> Any:
        """The same handle, to be used again and again."""

    @abstractmethod
    def compute(self, handle: Any) -> Any:
        """The value of a handle."""

    @abstractmethod
    def transformed(self, step: Callable, width: int | None = None) -> "Dataset":
        """The rows that a function makes of each part, when they are asked for; ``width`` columns without names."""

    @abstractmethod
    def cached(self, step: Callable) -> "Dataset":
        """The rows that a function makes of each part, made once and kept where they are."""


class FileDataset(Dataset):
    """`Rows` in parts: their blocks, one after the other."""

    _one_run = False
    """Whether parts are made one after the other: they are at hand, or making them takes memory and BLAS's threads."""

    def __init__(self, rows: Rows, steps: Sequence[Callable] = (), gaps: bool = False, words: bool = False) -> None:
        if not words:
            rows.numbers_only()
        self._rows, self._steps, self._gaps, self._words = rows, tuple(steps), gaps, words
        self.columns, self.dtype = rows.columns if rows.named else None, rows.dtype
        self.meanings = rows.meanings
        self.width = len(rows.columns)

    def _parts(self) -> Iterator[Part]:
        for number, block in enumerate(self._rows.read(self._gaps, self._words)):
            yield Part(number, *block)

    def _runs(self, function: Callable[[Iterator[Part]], Any]) -> Iterator[Any]:
        """A function of each run of consecutive parts: of one alone, where parts are not made side by side."""
        if self._one_run:
            return iter([function(self._parts())])
        return self._rows.by_runs(
            lambda blocks: function(Part(number, *block) for number, block in blocks), self._gaps, self._words
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
            other.width, other.columns, other.meanings, other._one_run = width, None, {}, True
        return other

    def cached(self, step: Callable) -> "Dataset":
        return CachedFileDataset(self, [*self._steps, step], self._rows.memory)


class CachedFileDataset(FileDataset):
    """Parts made once: in memory up to a number of bytes, the others in a temporary file."""

    _one_run = True

    def __init__(self, source: FileDataset, steps: Sequence[Callable], memory: int) -> None:
        self.columns, self.dtype, self.width, self._steps = source.columns, source.dtype, source.width, ()
        self.meanings = source.meanings
        self._store, self._rest = Store(memory), []
        for part in source._parts():
            for step in steps:
                part = step(part)
            self._store.add(part.X, spool=True)
            self._rest.append((part.y, part.weight))

    def _parts(self) -> Iterator[Part]:
        for number, rest in enumerate(self._rest):
            yield Part(number, self._store.get(number), *rest)


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
    found: list[tuple[int, Any]] = []
    for number, value in numbered:
        level = 0
        while number >> level & 1 and found and found[-1][0] == level:
            value = found.pop()[1] + value
            level += 1
        found.append((level, value))
    return found


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
