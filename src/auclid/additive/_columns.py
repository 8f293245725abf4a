"""The columns of a scorecard, and the cells of any table as floats: NaN where one is missing, a category as the number
of its level."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid import _sizes
from auclid.columns._levels import TextCounts
from auclid.columns._summary import ColumnLevels, Encodings, block_of, column_names, learn_kinds
from auclid.data import as_array
from auclid.data.dataset import Dataset, Part
from auclid.data.encoding import Column, as_numbers, as_texts, is_frame, level_codes, table_columns
from auclid.stats.level_counts import table_index
from auclid.validation import is_numeric, numeric_array

MAX_SHAPE_LEVELS = 100
"""Levels of a category with a value of their own, at the most; the commonest."""

MIN_LEVEL_ROWS = 5
"""Rows that a level must have for a value of its own; a rarer one is pooled with the others that are."""


class ColumnSpec(NamedTuple):
    """What is known of a column before its knots: its name and kind, and a category's levels (else None)."""

    name: str
    kind: str
    levels: list | None


def learn_columns(owner: Any, rows: Dataset, categories: list[int]) -> tuple[list[ColumnSpec], ColumnLevels]:
    """The kind of each column and the levels of those that are categories, by all rows of positive weight.

    Columns of ``categories`` are so by request. One pass over the rows, or none where all columns are numbers.
    """
    columns, specs = learn_kinds(owner, rows, categories), []
    for k, (name, kind) in enumerate(zip(column_names(rows), columns.kinds, strict=True)):
        levels = common_levels(owner, name, columns.counts[k]) if k in columns.counts else None
        specs.append(ColumnSpec(name, kind, levels))
    return specs, columns


def common_levels(owner: Any, name: str, counts: TextCounts) -> list[str]:
    """The levels of a category that have a value of their own, in alphabetical order."""
    rows = {text: count for text, (count, _) in counts.items() if text is not None}
    common = sorted((text for text in rows if rows[text] >= MIN_LEVEL_ROWS), key=lambda text: (-rows[text], text))
    if rows and not common:
        warnings.warn(
            f"Column {name!r} of {type(owner).__name__} has {len(rows)} levels, none of them in {MIN_LEVEL_ROWS} rows: "
            "all are one pooled level. Leave the column out, or group its levels.",
            UserWarning,
            stacklevel=2,
        )
    return sorted(common[:MAX_SHAPE_LEVELS])


# Cells of a dataset whose texts are encoded


class CellEncoder(NamedTuple):
    """Makes the cells of a part whose texts are places in lists."""

    specs: list[ColumnSpec]
    encodings: Encodings
    tables: Mapping[int, np.ndarray]
    """Of columns of texts: the cell of a missing text, then that of each place in the list."""

    def __call__(self, part: Part) -> Part:
        """The part with cells as its rows: an array or CSR matrix as it is, where all columns are numbers."""
        X = block_of(part)
        if not self.tables and not self.encodings.requested:
            return part._replace(X=X)
        dense = as_array(X)
        cells = dense.astype(np.float64)
        for k, table in self.tables.items():
            cells[:, k] = table[table_index(dense[:, k])]
        for k in self.encodings.requested:
            cells[:, k] = level_cells(self.encodings.column_texts(dense, k), self.specs[k])
        return part._replace(X=cells)


def cell_encoder(rows: Dataset, specs: list[ColumnSpec], columns: ColumnLevels, categories: list[int]) -> CellEncoder:
    """The `CellEncoder` of a dataset from which ``specs`` were learnt; their levels may have been given since."""
    encodings, tables = Encodings.of(rows, categories), {}
    for k in encodings.texts:
        texts = np.array([None, *encodings.encodings[k].levels], dtype=object)
        tables[k] = columns.tables[k] if specs[k].levels is None else level_cells(texts, specs[k])
    return CellEncoder(specs, encodings, tables)


# Cells of a table in memory


def table_cells(owner: Any, X: Any, specs: list[ColumnSpec]) -> Any:
    """The cells of a checked table: an array or CSR matrix as it is where all columns are numbers."""
    levelled = [k for k, spec in enumerate(specs) if spec.levels is not None]
    if is_numeric(X) and not levelled:
        return numeric_array(owner, X) if is_frame(X) else X
    if is_numeric(X) and not is_frame(X):
        cells = as_array(X).astype(np.float64)
        for k in levelled:
            cells[:, k] = level_cells(as_texts(Column(specs[k].name, "number", cells[:, k].copy())), specs[k])
        return cells
    columns = table_columns(owner, X)
    cells = np.empty((X.shape[0], len(specs)))
    for k, (column, spec) in enumerate(zip(columns, specs, strict=True)):
        if spec.levels is None:
            cells[:, k] = as_numbers(owner, column._replace(kind=spec.kind, name=spec.name))
        else:
            cells[:, k] = level_cells(as_texts(column), spec)
    return cells


def level_cells(texts: np.ndarray, spec: ColumnSpec) -> np.ndarray:
    """The number of each text's level, that of the pool for texts without one, NaN for missing texts."""
    codes = level_codes(texts, spec.levels or []).astype(np.float64)
    codes[codes < 0.0] = np.nan
    return codes


# Blocks of cells


def cell_block(cells: Any, index: Any) -> np.ndarray:
    """Some rows as a C-ordered float64 array."""
    part = cells[index]
    return np.ascontiguousarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)


def cell_blocks(cells: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Consecutive ranges of rows with their cells, each a C-ordered float64 array of bounded memory."""
    n, size = cells.shape[0], max(1, _sizes.BLOCK_BYTES // (8 * max(1, cells.shape[1])))
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        yield rows, cell_block(cells, rows)
