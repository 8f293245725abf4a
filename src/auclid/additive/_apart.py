"""Scorecards of rows in files or on a cluster: what to look at from a sample, how much it counts from all rows."""

from functools import partial
from typing import Any

import numpy as np

from auclid.additive import _table
from auclid.additive._basis import Basis
from auclid.additive._sums import class_sums
from auclid.rows.apart import Part, Totals
from auclid.rows.source import KEPT
from auclid.stats.apart import LabelledParts, sampled
from auclid.stats.moments import ClassMoments

LEAST = 20_000
"""Rows that are drawn whatever memory allows."""

FEWEST = 10
"""Rows of a class that are drawn, whatever its share."""


def drawn(rows: LabelledParts, memory: int | None) -> tuple[Any, np.ndarray, np.ndarray | None, bool]:
    """(X, y, weight, whether these are all) of as many rows as memory may hold, each class by its share."""
    counts = rows.counts.sum(axis=0)
    size = max(LEAST, (KEPT if memory is None else memory) // (8 * max(1, rows.parts.width)))
    share = min(1.0, size / int(counts.sum()))
    sizes = [min(int(count), max(FEWEST, round(share * int(count)))) for count in counts]
    X, codes, weight = sampled(rows, sizes)
    return named(X, rows.parts.columns), rows.classes[codes], weight, sum(sizes) == int(counts.sum())


def named(X: Any, columns: list[str] | None) -> Any:
    """The rows as a frame, where their columns have names."""
    if columns is None or not isinstance(X, np.ndarray):
        return X
    import pyarrow as pa

    return pa.table(dict(zip(columns, np.ascontiguousarray(X.T), strict=True)))


def all_moments(owner: Any, rows: LabelledParts, basis: Basis, kept: list[_table.Kept]) -> ClassMoments:
    """The moments of both classes in the basis, in one pass over all rows."""
    neg, pos = rows.parts.get(rows.parts.total(partial(part_moments, type(owner)(), basis, kept)))
    return ClassMoments(pos, neg)


def part_moments(owner: Any, basis: Basis, kept: list[_table.Kept], part: Part) -> Totals:
    """The moments of both classes of one part."""
    assert part.y is not None
    cells = _table.as_cells(owner, part.X, kept)
    found = class_sums(basis, cells, part.y == 1, part.weight).classes()
    return Totals([found.neg, found.pos])

