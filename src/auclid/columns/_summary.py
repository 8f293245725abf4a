"""What columns hold: kinds, levels, dates, extremes and identifiers, from one pass over parts that add up.

Texts are places in lists (`auclid.data.encoding`), so they are counted by place, and what a text reads as is looked up
once for each place. `Columns` takes all of it, `Scorecard` the kinds and levels.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid import _sizes
from auclid.columns import _dates
from auclid.columns._dates import DateRange
from auclid.columns._levels import TextCounts, count_texts
from auclid.columns._notes import is_identifier
from auclid.columns._numbers import Extremes, extremes, positive_rows
from auclid.data import Table, as_array
from auclid.data.dataset import Dataset, Part, Totals
from auclid.data.encoding import Column, ColumnEncoding, as_numbers, as_texts, decode, table_columns, text_kind
from auclid.stats.level_counts import LevelCounts, count_levels, table_index


class Encodings(NamedTuple):
    """What the numbers of columns stand for, by the number of the column, and which have levels to be counted."""

    names: list[str]
    encodings: Mapping[int, ColumnEncoding]
    texts: tuple[int, ...]
    """Columns whose numbers are places in lists of texts."""
    requested: tuple[int, ...]
    """Other columns that are categories by request."""
    dates: tuple[int, ...]

    @classmethod
    def of(cls, rows: Dataset, categories: Collection[int]) -> "Encodings":
        """The `Encodings` of a dataset; ``categories`` are categories by request."""
        encodings = rows.column_encodings()
        texts = tuple(k for k, each in encodings.items() if each.is_categorical)
        requested = tuple(k for k in categories if k not in texts)
        dates = tuple(k for k, each in encodings.items() if each.kind == "date" and k not in categories)
        return cls(column_names(rows), encodings, texts, requested, dates)

    def plain_kind(self, k: int) -> str:
        """The kind of a column by its encoding: a duration is a number of days."""
        kind = self.encodings[k].kind if k in self.encodings else "number"
        return "number" if kind == "duration" else kind

    def column_texts(self, X: np.ndarray, k: int) -> np.ndarray:
        """The cells of a requested category as texts, None where they are missing."""
        if k in self.encodings:
            decoded = decode(X[:, [k]], [self.names[k]], {self.names[k]: self.encodings[k]})
            return as_texts(table_columns("Columns", decoded)[0])
        return as_texts(Column(self.names[k], "number", X[:, k]))


def column_names(rows: Dataset) -> list[str]:
    """The names of the columns, x0, x1, ... where they have none."""
    return [f"x{k}" for k in range(rows.width)] if rows.columns is None else list(rows.columns)


# Kinds and levels


class ColumnLevels(NamedTuple):
    """The kind of each column, and the texts of those that are categories or texts."""

    kinds: list[str]
    counts: dict[int, TextCounts]
    """How often each text occurs, of columns of texts and categories."""
    tables: dict[int, np.ndarray]
    """Of texts that read as numbers or dates: the number of a missing cell, then that of each place in the list."""


class PartLevels(NamedTuple):
    """Counts of levels in a part; those of two parts add up."""

    texts: Totals
    """`LevelCounts` of the columns of texts."""
    requested: Totals
    """`TextCounts` of the other columns that are categories by request."""

    def __add__(self, other: Any) -> "PartLevels":
        return PartLevels(self.texts + other.texts, self.requested + other.requested)


def part_levels(part: Part, encodings: Encodings) -> PartLevels:
    """The counts of levels of a part's rows of positive weight."""
    part = positive_rows(part)
    X = block_of(part)
    requested = [count_texts(encodings.column_texts(as_array(X), k), part.weight) for k in encodings.requested]
    return PartLevels(Totals(count_levels(X[:, k], part.weight) for k in encodings.texts), Totals(requested))


def learn_kinds(owner: Any, rows: Dataset, categories: Collection[int]) -> ColumnLevels:
    """Kinds and levels of all columns, in one pass over the rows, or none where every column is a number."""
    encodings = Encodings.of(rows, categories)
    if not encodings.texts and not encodings.requested:
        return ColumnLevels([encodings.plain_kind(k) for k in range(rows.width)], {}, {})
    return kinds_of(owner, encodings, rows.compute(rows.reduce(part_levels, encodings)), categories)


def kinds_of(owner: Any, encodings: Encodings, levels: PartLevels, categories: Collection[int]) -> ColumnLevels:
    """The `ColumnLevels` of counted levels; columns of ``categories`` are so, whatever they hold."""
    kinds = ["category" if k in categories else encodings.plain_kind(k) for k in range(len(encodings.names))]
    counts, tables = dict(zip(encodings.requested, levels.requested, strict=True)), {}
    for k, own in zip(encodings.texts, levels.texts, strict=True):
        counted = text_counts(encodings.encodings[k], own)
        kinds[k] = "category" if kinds[k] == "category" else _kind_of_texts(counted)
        if kinds[k] in ("category", "text"):
            counts[k] = counted
        else:
            tables[k] = as_numbers(owner, Column(encodings.names[k], kinds[k], _cells(encodings.encodings[k], counted)))
    return ColumnLevels(kinds, dict(sorted(counts.items())), tables)


def text_counts(encoding: ColumnEncoding, counts: LevelCounts) -> TextCounts:
    """Counts by text; texts without a row are left out."""
    pairs = zip([None, *encoding.levels], counts.rows.tolist(), counts.mass.tolist(), strict=False)
    return TextCounts({text: (rows, mass) for text, rows, mass in pairs if rows})


def _kind_of_texts(counts: TextCounts) -> str:
    """What a column of texts is, by all of them; one without any is a column of missing numbers."""
    texts = [text for text in counts if text is not None]
    return text_kind(texts) if texts else "number"


def _cells(encoding: ColumnEncoding, counts: TextCounts) -> np.ndarray:
    """A missing cell, then the text of each place; None for those without a row."""
    return np.array([None, *(text if text in counts else None for text in encoding.levels)], dtype=object)


# All that Columns learns in one pass


class ColumnSummary(NamedTuple):
    """What is known of columns, by their number, before anything is learnt of their numbers."""

    levels: ColumnLevels
    rows: int
    is_sparse: bool
    """Whether the rows are CSR matrices."""
    periods: dict[int, list[str]]
    """The periods that dates cover."""
    identifiers: list[int]
    """Columns with a different whole number in every row."""
    extremes: Extremes | None
    """The extremes of all columns, where they are numbers as they are."""


class PartSummary(NamedTuple):
    """What is known of a part's columns; summaries of two parts add up."""

    extremes: Extremes
    levels: PartLevels
    dates: Totals
    distinct: np.ndarray
    """Whether a column's numbers are whole and all different, within each part."""
    ends: np.ndarray
    """The least and the greatest number of such columns, (parts, 2, columns)."""
    is_sparse: bool

    def __add__(self, other: Any) -> "PartSummary":
        return PartSummary(
            self.extremes + other.extremes, self.levels + other.levels, self.dates + other.dates,
            self.distinct & other.distinct, np.concatenate([self.ends, other.ends]), self.is_sparse | other.is_sparse,
        )  # fmt: skip


def summarize_columns(owner: Any, rows: Dataset, categories: Collection[int]) -> ColumnSummary:
    """The `ColumnSummary` of a dataset, in one pass; columns of ``categories`` are so, whatever they hold."""
    rows, encodings = rows.transformed(positive_rows), Encodings.of(rows, categories)
    summary = rows.compute(rows.reduce(part_summary, encodings))
    levels = kinds_of(owner, encodings, summary.levels, categories)
    periods = {k: _dates.learn_periods(each) for k, each in zip(encodings.dates, summary.dates, strict=True)}
    for k, table in levels.tables.items():
        if levels.kinds[k] == "date":
            periods[k] = _dates.learn_periods(_dates.date_range(table))
    n = summary.extremes.rows
    identifiers = distinct_in_all_parts(rows, summary)
    identifiers += [k for k, table in levels.tables.items() if _numbers_name_rows(summary, encodings, k, table)]
    if n < _sizes.MIN_ROWS_FOR_IDENTIFIER:
        identifiers = []
    plain = not (levels.counts or levels.tables or periods)
    return ColumnSummary(
        levels, n, summary.is_sparse, periods, sorted(k for k in identifiers if k not in levels.counts),
        summary.extremes if plain else None,
    )  # fmt: skip


def _numbers_name_rows(summary: PartSummary, encodings: Encodings, k: int, table: np.ndarray) -> bool:
    """Whether the texts of a column read as different whole numbers, one for each row."""
    rows = summary.levels.texts[encodings.texts.index(k)].rows
    once = rows[0] == 0 and np.count_nonzero(rows) == summary.extremes.rows
    return bool(once) and is_identifier(table[np.flatnonzero(rows)])


def part_summary(part: Part, encodings: Encodings) -> PartSummary:
    """The `PartSummary` of a part whose rows all have positive weight."""
    X = block_of(part)
    n, d = X.shape
    distinct, ends = np.zeros(d, dtype=bool), np.full((1, 2, d), np.nan)
    if sparse.issparse(X) and not encodings.requested:  # sparse columns are no identifiers, and have no levels
        none = PartLevels(Totals(), Totals())
        return PartSummary(extremes(part), none, Totals(), distinct, ends[:0], True)
    dense = as_array(X)
    for k in range(d):
        distinct[k] = k not in encodings.texts and is_identifier(dense[:, k])
        if distinct[k] and n:
            ends[0, :, k] = dense[:, k].min(), dense[:, k].max()
    dates: list[DateRange] = [_dates.date_range(dense[:, k]) for k in encodings.dates]
    return PartSummary(
        extremes(part), part_levels(part, encodings), Totals(dates), distinct, ends, bool(sparse.issparse(X))
    )


def distinct_in_all_parts(rows: Dataset, summary: PartSummary) -> list[int]:
    """The columns with a different whole number in every row of all parts.

    Where parts overlap, the values of a column are brought together to tell, unless they are more than memory may
    hold: then it is not pointed out.
    """
    identifiers, room = [], rows.memory is None or 8 * summary.extremes.rows <= rows.memory
    for k in np.flatnonzero(summary.distinct).tolist():
        low, high = summary.ends[:, :, k][~np.isnan(summary.ends[:, 0, k])].T
        order = np.argsort(low)
        separate = bool((high[order][:-1] < low[order][1:]).all())
        if separate or (room and _all_different(rows, k)):
            identifiers.append(k)
    return identifiers


def _all_different(rows: Dataset, k: int) -> bool:
    values = np.concatenate(rows.compute(rows.map(part_column, k)))
    return len(np.unique(values)) == len(values)


def part_column(part: Part, k: int) -> np.ndarray:
    """One column of a part."""
    return as_array(block_of(part)[:, [k]]).ravel()


def block_of(part: Part) -> Any:
    """The rows of a part, an array or a CSR matrix."""
    return part.X.part(slice(None)) if isinstance(part.X, Table) else part.X


def numeric_part(levels: ColumnLevels, periods: Mapping[int, Sequence[str]], part: Part) -> Part:
    """The part with its columns of numbers alone, those of dates as several."""
    X = as_array(block_of(part))
    out: list[np.ndarray] = []
    for k in range(X.shape[1]):
        if k in levels.counts:
            continue
        values = levels.tables[k][table_index(X[:, k])] if k in levels.tables else X[:, k]
        out += _dates.apply_periods(values, list(periods[k])) if k in periods else [values]
    return part._replace(X=np.column_stack(out).astype(X.dtype, copy=False))
