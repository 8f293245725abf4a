"""Labels as they pass: a small integer code a row, and where each class first occurs."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from auclid.errors import DataError

MAX_CLASSES = 1000
"""Different labels from which on a target is not taken for one of classes."""


class LabelCount(NamedTuple):
    """How often a label occurs in a part, and where first; a place is None where there is none."""

    rows: int
    weighed: int
    """Rows of positive weight."""
    largest: float
    """The largest weight."""
    first: int | None
    first_weighed: int | None
    first_idle: int | None


def label_count(here: np.ndarray, weight: np.ndarray | None) -> LabelCount:
    """The count of a label that occurs where ``here`` is True."""
    if weight is None:
        count, first = int(np.count_nonzero(here)), int(here.argmax()) if len(here) else 0
        place = first if count else None
        return LabelCount(count, count, 1.0, place, place, None)
    at = np.flatnonzero(here)
    idle, weighed = at[weight[at] == 0.0], at[weight[at] > 0.0]
    firsts = (int(each[0]) if len(each) else None for each in (at, weighed, idle))
    return LabelCount(len(at), len(weighed), float(weight[at].max(initial=0.0)), *firsts)


class Labels:
    """One label a row, added block by block.

    ``levels`` are the different labels in the order in which they first occur, ``first`` the block and row of each.
    """

    def __init__(self) -> None:
        self.levels: list[Any] = []
        self.first: list[tuple[int, int]] = []
        self.blocks = self.rows = 0
        self._kind: str | None = None
        self._codes: list[np.ndarray] = []
        self._numbers: list[np.ndarray] = []  # of a target with too many different numbers for classes
        self._excess: DataError | None = None

    def add(self, y: np.ndarray, where: str) -> None:
        """The labels of the next block."""
        y = self._same_kind(y, where)
        if self._excess is None:
            self._add_codes(y, where)
        if self._excess is not None:
            self._numbers.append(y)
        self.blocks, self.rows = self.blocks + 1, self.rows + len(y)

    def _add_codes(self, y: np.ndarray, where: str) -> None:
        """The labels as codes; numbers of too many different values are kept as they are."""
        codes = np.full(len(y), -1, np.int16)
        for code, level in enumerate(self.levels):
            codes[_equal(y, level)] = code
        while (codes < 0).any():
            row = int(np.argmax(codes < 0))
            level = y[row]
            if len(self.levels) == MAX_CLASSES:
                error = DataError(
                    f"The target of {where} must name classes; it has more than {MAX_CLASSES} different values by "
                    f"block {self.blocks}, such as {_python_repr(level)}."
                )
                if self._kind == "text":
                    raise error
                self._numbers, self._excess = [self.values()], error
                return
            codes[_equal(y, level)] = len(self.levels)
            self.levels.append(level)
            self.first.append((self.blocks, self.rows + row))
        self._codes.append(codes.astype(np.int8) if len(self.levels) < 128 else codes)

    def _same_kind(self, y: np.ndarray, where: str) -> np.ndarray:
        """Raise where labels are neither all numbers nor all texts."""
        kind = "number" if y.dtype.kind in "biuf" else "text"
        if self._kind is not None and kind != self._kind and len(y):
            raise DataError(
                f"The target of {where} must be numbers or texts throughout; it holds {self._kind}s up to block "
                f"{self.blocks}, which holds {kind}s."
            )
        if len(y):
            self._kind = kind
        return y if kind == "number" else y.astype(object)

    def code_blocks(self, sizes: list[int]) -> Iterator[np.ndarray]:
        """`codes` in blocks of these sizes; not concatenated where they were added so."""
        self.require_classes()
        if [len(codes) for codes in self._codes] == sizes:
            yield from self._codes
            return
        yield from np.split(self.codes, np.cumsum(sizes)[:-1])

    @property
    def codes(self) -> np.ndarray:
        """The index of each row's label in ``levels``."""
        self.require_classes()
        if len(self._codes) != 1:
            self._codes = [np.concatenate(self._codes) if self._codes else np.empty(0, np.int16)]
        return self._codes[0]

    def values(self, part: slice | np.ndarray = slice(None)) -> np.ndarray:
        """The label of each row; NaN or None where one is missing."""
        if self._excess is not None:
            return np.concatenate(self._numbers)[part]
        return self.table()[self.codes[part]]

    def table(self) -> np.ndarray:
        """The levels as an array: of texts where all are texts."""
        self.require_classes()
        if self._kind == "text" and all(isinstance(level, str) for level in self.levels):
            return np.array(self.levels, dtype=str) if self.levels else np.empty(0, str)
        return np.array(self.levels, dtype=object) if self._kind == "text" else np.array(self.levels)

    def require_classes(self) -> None:
        """Raise where there are too many different labels."""
        if self._excess is not None:
            raise self._excess

    def missing(self) -> tuple[int, int] | None:
        """The block and the row of the first missing label."""
        places = zip(self.levels, self.first, strict=True)
        return next((place for level, place in places if level is None or level != level), None)


def _equal(y: np.ndarray, level: Any) -> np.ndarray:
    if level is None:
        return np.array([each is None for each in y], dtype=bool)
    return y != y if level != level else y == level


def _python_repr(level: Any) -> str:
    return repr(level.item() if hasattr(level, "item") else level)
