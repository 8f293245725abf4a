"""Rows of files as a dataset: their blocks are its parts, read again for every pass or kept."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from auclid.data.dataset import Dataset, Part, apply, subtrees, whole
from auclid.data.files import Rows
from auclid.data.store import Store


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

    def _parts(self) -> Iterator[Part]:
        for number, rest in enumerate(self._rest):
            yield Part(number, self._store.get(number), *rest)
