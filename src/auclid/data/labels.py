"""Labels as they pass: a small number a row for the class it names, and where each class was first met."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

MOST = 1000
"""Classes up to which a target is taken for one."""


class LabelCount(NamedTuple):
    """How often a label occurs in a part, and where first; None where it does not."""

    rows: int
    weighed: int
    """Rows of positive weight."""
    largest: float
    """The largest weight."""
    first: int | None
    first_weighed: int | None
    first_idle: int | None


def label_count(here: np.ndarray, weight: np.ndarray | None) -> LabelCount:
    """The count of a label that stands where ``here`` says."""
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

    ``levels`` are the different labels in the order they were met, ``first`` the block and the row of each.
    """

    def __init__(self) -> None:
        self.levels: list[Any] = []
        self.first: list[tuple[int, int]] = []
        self.blocks = self.rows = 0
        self._kind: str | None = None
        self._codes: list[np.ndarray] = []

    def add(self, y: np.ndarray, where: str) -> None:
        """The labels of the next block."""
        y = self._same_kind(y, where)
        codes = np.full(len(y), -1, np.int16)
        for code, level in enumerate(self.levels):
            codes[_equal(y, level)] = code
        while (codes < 0).any():
            row = int(np.argmax(codes < 0))
            level = y[row]
            if len(self.levels) == MOST:
                raise ValueError(
                    f"The target of {where} must name classes; it has more than {MOST} different values by block "
                    f"{self.blocks}, such as {_shown(level)}."
                )
            codes[_equal(y, level)] = len(self.levels)
            self.levels.append(level)
            self.first.append((self.blocks, self.rows + row))
        self._codes.append(codes.astype(np.int8) if len(self.levels) < 128 else codes)
        self.blocks, self.rows = self.blocks + 1, self.rows + len(y)

    def _same_kind(self, y: np.ndarray, where: str) -> np.ndarray:
        """Labels of one kind: a text in a column of numbers is no third class but another column."""
        kind = "number" if y.dtype.kind in "biuf" else "text"
        if self._kind is not None and kind != self._kind and len(y):
            raise ValueError(
                f"The target of {where} must be numbers or texts throughout; it holds {self._kind}s up to block "
                f"{self.blocks}, which holds {kind}s."
            )
        if len(y):
            self._kind = kind
        return y if kind == "number" else y.astype(object)

    def code_blocks(self, sizes: list[int]) -> Iterator[np.ndarray]:
        """`codes` in blocks of these sizes: without bringing them together, where they were added so."""
        if [len(codes) for codes in self._codes] == sizes:
            yield from self._codes
            return
        yield from np.split(self.codes, np.cumsum(sizes)[:-1])

    @property
    def codes(self) -> np.ndarray:
        """The place of each row's label in ``levels``."""
        if len(self._codes) != 1:
            self._codes = [np.concatenate(self._codes) if self._codes else np.empty(0, np.int16)]
        return self._codes[0]

    def values(self, part: slice | np.ndarray = slice(None)) -> np.ndarray:
        """The label of each row; NaN or None where one is missing."""
        return self.table()[self.codes[part]]

    def table(self) -> np.ndarray:
        """The levels as an array: of texts where all are texts."""
        if self._kind == "text" and all(isinstance(level, str) for level in self.levels):
            return np.array(self.levels, dtype=str) if self.levels else np.empty(0, str)
        return np.array(self.levels, dtype=object) if self._kind == "text" else np.array(self.levels)

    def missing(self) -> tuple[int, int] | None:
        """The block and the row of the first missing label."""
        gone = [where for level, where in zip(self.levels, self.first, strict=True) if level is None or level != level]
        return gone[0] if gone else None


def _equal(y: np.ndarray, level: Any) -> np.ndarray:
    if level is None:
        return np.array([each is None for each in y], dtype=bool)
    return y != y if level != level else y == level


def _shown(level: Any) -> str:
    return repr(level.item() if hasattr(level, "item") else level)
