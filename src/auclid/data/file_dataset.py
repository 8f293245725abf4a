"""Rows of files as a dataset, whose parts are their blocks."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from auclid.data.blocks import Block, is_sparse
from auclid.data.dataset import Dataset, Part, apply, part_block, part_labels, subtrees, whole
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

    def part_sizes(self) -> np.ndarray:
        return np.asarray(self._rows.block_sizes())

    def fits_in_memory(self, part_sizes: np.ndarray) -> bool:
        return self._rows.fits_in_memory()

    def _parts(self) -> Iterator[Part]:
        for number, block in enumerate(self._rows.read(*self._allowed)):
            yield Part(number, *block)

    def _label_parts(self) -> Iterator[Part]:
        """The parts without their rows, which need not be read."""
        rows, start = self._rows, 0
        labels, weight = rows.labels() if rows.has_target else None, rows.sample_weight()
        for number, size in enumerate(rows.block_sizes()):
            own = slice(start, start + size)
            y = None if labels is None else labels.values(own)
            yield Part(number, None, y, None if weight is None else weight[own])
            start += size

    def labels(self) -> list[tuple[np.ndarray | None, np.ndarray | None]]:
        return [apply(part_labels, self._label_steps, part) for part in self._label_parts()]

    def blocks(self) -> Iterator[Block]:
        return (apply(part_block, self._steps, part) for part in self._parts())

    def take(self, places: list[np.ndarray]) -> Block:
        if self._steps != self._label_steps:
            return super().take(places)
        starts = np.concatenate([[0], np.cumsum(self.part_sizes())[:-1]])
        index = np.concatenate([start + own for start, own in zip(starts, places, strict=True)])
        X = self._rows.gather(index, *self._allowed)[0]
        return X if is_sparse(X) else np.ascontiguousarray(X)

    def materialize(self) -> None:
        self._rows.materialize()

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

    def fits_in_memory(self, part_sizes: np.ndarray) -> bool:
        return not self._store.spooled

    def take(self, places: list[np.ndarray]) -> Block:
        return Dataset.take(self, places)

    def materialize(self) -> None:
        """All parts are kept."""

    def _label_parts(self) -> Iterator[Part]:
        for number, rest in enumerate(self._rest):
            yield Part(number, None, *rest)

    def _parts(self) -> Iterator[Part]:
        for number, rest in enumerate(self._rest):
            yield Part(number, self._store.get(number), *rest)
