"""Reason codes: what moved a score most."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid.additive._shapes import OTHER, PairShape, Shape


class Reason(NamedTuple):
    """A column (or a pair), the row's value in it, and what that adds to the score."""

    name: Any
    value: Any
    contribution: float

    def __str__(self) -> str:
        name = " × ".join(self.name) if isinstance(self.name, tuple) else self.name
        value = " × ".join(map(str, self.value)) if isinstance(self.value, tuple) else self.value
        return f"{name} = {value}: {self.contribution:+.3f}"


def ordered(contributions: np.ndarray, n: int, sign: int) -> np.ndarray:
    """The places of the n largest contributions of each row: by size (0), of those that raise (1) or lower (-1) it."""
    key = np.abs(contributions) if sign == 0 else sign * contributions
    return np.argsort(-key, axis=1, kind="stable")[:, :n]


def reasons_of(
    shapes: Sequence[Shape | PairShape], cells: np.ndarray, contributions: np.ndarray, places: np.ndarray
) -> list[list[Reason]]:
    """The records of these places; of columns that add exactly nothing there are none."""
    number = {shape.name: k for k, shape in enumerate(shapes)}
    out = []
    for i, row in enumerate(places):
        found = []
        for k in row:
            if contributions[i, k] != 0.0:
                shape = shapes[k]
                if isinstance(shape, PairShape):
                    value: Any = tuple(_value(shapes[number[name]], cells[i, number[name]]) for name in shape.name)
                else:
                    value = _value(shape, cells[i, k])
                found.append(Reason(shape.name, value, float(contributions[i, k])))
        out.append(found)
    return out


def _value(shape: Shape | PairShape, cell: float) -> Any:
    if np.isnan(cell):
        return "missing"
    if shape.levels is not None:
        return shape.levels[int(cell)] if int(cell) < len(shape.levels) else OTHER
    if shape.kind == "date":
        return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(cell)), "D"))
    return bool(cell) if shape.kind == "bool" else float(cell)
