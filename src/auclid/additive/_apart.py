"""Scorecards of rows in files or on a cluster: what to look at from a sample, how much it counts from all rows."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from auclid._kinds import Column, numbers, text_kind
from auclid.additive import _table
from auclid.additive._basis import Basis
from auclid.additive._sums import class_sums
from auclid.data.dataset import Part, Totals
from auclid.data.encoding import ColumnEncoding, decode
from auclid.data.sizes import KEPT
from auclid.stats.labelled import LabelledDataset, sampled
from auclid.stats.moments import ClassMoments
from auclid.stats.tally import entries, part_tallies

LEAST = 20_000
"""Rows that are drawn whatever memory allows."""

FEWEST = 10
"""Rows of a class that are drawn, whatever its share."""


def drawn(rows: LabelledDataset, memory: int | None) -> tuple[Any, np.ndarray, np.ndarray | None, bool]:
    """(X, y, weight, whether these are all) of as many rows as memory may hold, each class by its share."""
    counts = rows.counts.sum(axis=0)
    size = max(LEAST, (KEPT if memory is None else memory) // (8 * max(1, rows.parts.width)))
    share = min(1.0, size / int(counts.sum()))
    sizes = [min(int(count), max(FEWEST, round(share * int(count)))) for count in counts]
    X, codes, weight = sampled(rows, sizes)
    return named(X, rows.parts), rows.classes[codes], weight, sum(sizes) == int(counts.sum())


def rarer_than_drawn(moments: ClassMoments, is_pos: np.ndarray, weight: np.ndarray | None) -> float:
    """The log-odds of the second class among all rows, less those among the rows drawn: of a rare class more are."""
    mass = np.ones(len(is_pos)) if weight is None else weight
    return float(np.log(moments.pos.n / moments.neg.n) - np.log(mass[is_pos].sum() / mass[~is_pos].sum()))


def named(X: Any, parts: Any) -> Any:
    """The rows as a table of what their numbers stand for, where their columns have names."""
    if parts.columns is None or not isinstance(X, np.ndarray):
        return X
    return decode(X, parts.columns, parts.meanings)


def counted_levels(owner: Any, rows: LabelledDataset) -> dict[int, _table.ColumnSpec]:
    """The columns of texts and categories as all rows tell them, by their number: one pass that counts texts."""
    columns, meanings = rows.parts.columns or [], rows.parts.meanings
    words = {k: meanings[name] for k, name in enumerate(columns) if name in meanings and meanings[name].is_words}
    if not words:
        return {}
    tallies = rows.parts.compute(rows.parts.reduce(part_tallies, tuple(words)))
    kept = {}
    for (k, meaning), found in zip(words.items(), tallies, strict=True):
        texts = meaning.levels
        levels = dict(zip(texts, found.known(len(texts)).tolist(), strict=True))
        kind = text_kind(text for text, size in levels.items() if size) if meaning.kind == "text" else "category"
        own = _table.common_levels(owner, columns[k], levels) if kind in ("text", "category") else None
        kept[k] = _table.ColumnSpec(columns[k], kind, own)
    return kept


def shrunken_errors(shapes: Sequence[Any], share: float) -> list[np.ndarray | None]:
    """The errors of shapes, told from a share of the rows, once the values come from all of them."""
    return [None if shape.error is None else np.sqrt(share) * shape.error for shape in shapes]


def cell_tables(
    owner: Any, meanings: Mapping[str, ColumnEncoding], kept: list[_table.ColumnSpec]
) -> dict[int, np.ndarray]:
    """For each column of texts, the cell of a missing text, then of each place in its list."""
    tables = {}
    for k, column in enumerate(kept):
        meaning = meanings.get(column.name)
        if meaning is not None and meaning.is_words:
            texts = np.array([None, *meaning.levels], dtype=object)
            cells = Column(column.name, column.kind, texts)
            tables[k] = numbers(owner, cells) if column.levels is None else _table.codes(cells, column)
    return tables


def all_moments(owner: Any, rows: LabelledDataset, basis: Basis, kept: list[_table.ColumnSpec]) -> ClassMoments:
    """The moments of both classes in the basis, in one pass over all rows."""
    tables = cell_tables(owner, rows.parts.meanings, kept)
    neg, pos = rows.parts.compute(rows.parts.reduce(partial(part_moments, type(owner)(), basis, kept, tables)))
    return ClassMoments(pos, neg)


def part_moments(
    owner: Any, basis: Basis, kept: list[_table.ColumnSpec], tables: Mapping[int, np.ndarray], part: Part
) -> Totals:
    """The moments of both classes of one part."""
    assert part.y is not None
    plain = [column._replace(levels=None) if k in tables else column for k, column in enumerate(kept)]
    cells = _table.as_cells(owner, part.X, plain)
    if tables:
        cells = np.array(cells, dtype=np.float64)
    for k, table in tables.items():
        cells[:, k] = table[entries(cells[:, k])]
    found = class_sums(basis, cells, part.y == 1, part.weight).classes()
    return Totals([found.neg, found.pos])
