"""What columns of rows in files or on a cluster hold: kinds, levels and dates, from one pass over parts that add up.

The texts of such rows are places in lists (`auclid.data.encoding`), so they are counted by place, and what a text
reads as is looked up once for each place.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid._kinds import Column, numbers, table_columns, text_kind, words
from auclid.columns import _dates
from auclid.columns._learning import Extremes, extremes, weighed
from auclid.columns._levels import Counted, counted
from auclid.columns._notes import FEW_ROWS, whole_and_different
from auclid.data import as_array, sizes
from auclid.data.dataset import Dataset, Part, Totals
from auclid.data.encoding import ColumnEncoding, decode
from auclid.stats.tally import Tally, entries, tally


class Survey(NamedTuple):
    """What is known of columns, by their number, before anything is learnt of their numbers."""

    kinds: list[str]
    rows: int
    counts: dict[int, Counted]
    """How often each text comes, of columns of texts and categories."""
    tables: dict[int, np.ndarray]
    """Of texts that read as numbers or dates: the number of a missing text, then of each place in the list."""
    periods: dict[int, list[str]]
    """What dates tell something about."""
    identifiers: list[int]
    """Columns with a different whole number in every row."""
    ends: Extremes | None
    """The extremes of all columns, where they are numbers as they are."""


def summarize_columns(owner: Any, parts: Dataset, chosen: Sequence[int]) -> Survey:
    """The `Survey` of rows in parts; columns that are ``chosen`` are categories, whatever they hold."""
    names = column_names(parts)
    known = {k: parts.meanings[name] for k, name in enumerate(names) if name in parts.meanings}
    asked = Asked(
        names, dict(parts.meanings), tuple(k for k, each in known.items() if each.is_words),
        tuple(k for k in chosen if k not in known or not known[k].is_words),
        tuple(k for k, each in known.items() if each.kind == "date" and k not in chosen),
    )  # fmt: skip
    rows = parts.transformed(weighed)
    seen = rows.compute(rows.reduce(seen_part, asked))
    kinds = ["category" if k in chosen else _plain_kind(known.get(k)) for k in range(parts.width)]
    counts = dict(zip(asked.chosen, seen.counts, strict=True))
    periods = {k: _dates.learn_periods(span) for k, span in zip(asked.dates, seen.spans, strict=True)}
    tables, unlike = {}, unlike_in_all(rows, seen)
    for k, found in zip(asked.texts, seen.tallies, strict=True):
        met = counted_texts(known[k], found)
        kinds[k] = "category" if kinds[k] == "category" else _read_as(met)
        if kinds[k] in ("category", "text"):
            counts[k] = met
            continue
        cells = np.array([None, *(text if text in met else None for text in known[k].levels)], dtype=object)
        tables[k] = table = numbers(owner, Column(names[k], kinds[k], cells))
        if kinds[k] == "date":
            periods[k] = _dates.learn_periods(_dates.span_of(table))
        once = len(met) == seen.rows and None not in met
        if once and whole_and_different(table[[k for k, text in enumerate(cells) if text is not None]]):
            unlike.append(k)
    own = sorted(k for k in unlike if k not in counts) if seen.rows >= FEW_ROWS else []
    ends = None if counts or tables or periods else seen.extremes
    return Survey(kinds, seen.rows, dict(sorted(counts.items())), tables, periods, own, ends)


def column_names(parts: Dataset) -> list[str]:
    """The names of the columns, x0, x1, ... where they have none."""
    return [f"x{k}" for k in range(parts.width)] if parts.columns is None else list(parts.columns)


def _plain_kind(meaning: ColumnEncoding | None) -> str:
    """The kind of a column as `kinds_` tells it: a duration is a number of days."""
    return "number" if meaning is None or meaning.kind == "duration" else meaning.kind


def _read_as(met: Counted) -> str:
    """What a column of texts is, by all of them; missing ones alone are missing numbers."""
    texts = [text for text in met if text is not None]
    return text_kind(texts) if texts else "number"


def counted_texts(meaning: ColumnEncoding, found: Tally) -> Counted:
    """A tally by text; those in no row that counts are left out."""
    pairs = zip([None, *meaning.levels], found.rows.tolist(), found.mass.tolist(), strict=False)
    return Counted({text: (rows, mass) for text, rows, mass in pairs if rows})


class Asked(NamedTuple):
    """What to look for in each part."""

    names: list[str]
    meanings: Mapping[str, ColumnEncoding]
    texts: tuple[int, ...]
    """Columns whose numbers are places in lists of texts."""
    chosen: tuple[int, ...]
    """Other columns that are to be categories."""
    dates: tuple[int, ...]


class ColumnSummary(NamedTuple):
    """What a part tells; what two parts tell adds up."""

    extremes: Extremes
    tallies: Totals
    counts: Totals
    spans: Totals
    unlike: np.ndarray
    """Whether a column's numbers are whole and all different, within each part."""
    ends: np.ndarray
    """The least and the greatest number of such columns, (parts, 2, columns)."""

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.extremes.rows

    def __add__(self, other: Any) -> "ColumnSummary":
        return ColumnSummary(
            self.extremes + other.extremes, self.tallies + other.tallies, self.counts + other.counts,
            self.spans + other.spans, self.unlike & other.unlike, np.concatenate([self.ends, other.ends]),
        )  # fmt: skip


def seen_part(part: Part, asked: Asked) -> ColumnSummary:
    """What one part tells."""
    n, d = part.X.shape
    if not isinstance(part.X, np.ndarray) and not asked.chosen:  # of sparse columns nothing more is asked
        none = Totals()
        return ColumnSummary(extremes(part), none, none, none, np.zeros(d, dtype=bool), np.empty((0, 2, d)))
    X = as_array(part.X)
    counts = []
    if asked.chosen:
        cells = table_columns("Columns", decode(X, asked.names, asked.meanings) if asked.meanings else X)
        counts = [counted(words(cells[k]), part.weight) for k in asked.chosen]
    unlike, ends = np.ones(d, dtype=bool), np.full((1, 2, d), np.nan)
    for k in range(d):
        unlike[k] = k not in asked.texts and whole_and_different(X[:, k])
        if unlike[k] and n:
            ends[0, :, k] = X[:, k].min(), X[:, k].max()
    return ColumnSummary(
        extremes(part),
        Totals(tally(X[:, k], part.weight) for k in asked.texts),
        Totals(counts),
        Totals(_dates.span_of(X[:, k]) for k in asked.dates),
        unlike,
        ends,
    )


def unlike_in_all(rows: Dataset, seen: ColumnSummary) -> list[int]:
    """The columns with a different whole number in every row of all parts. Where parts overlap, values are brought
    together for that, unless they are more than may be kept: then nothing is said of them."""
    found = []
    for k in np.flatnonzero(seen.unlike):
        low, high = seen.ends[:, :, k][~np.isnan(seen.ends[:, 0, k])].T
        order = np.argsort(low)
        if (high[order][:-1] < low[order][1:]).all():
            found.append(int(k))
        elif 8 * seen.rows <= sizes.KEPT:
            values = np.concatenate(rows.compute(rows.map(column_of, int(k))))
            found += [int(k)] if len(np.unique(values)) == len(values) else []
    return found


def column_of(part: Part, k: int) -> np.ndarray:
    """One column of a part."""
    return as_array(part.X[:, [k]]).ravel()


def number_rows(survey: Survey, part: Part) -> Part:
    """The part with its columns of numbers alone, those of dates as several."""
    X = as_array(part.X)
    found: list[np.ndarray] = []
    for k in range(X.shape[1]):
        if k in survey.counts:
            continue
        values = survey.tables[k][entries(X[:, k])] if k in survey.tables else X[:, k]
        found += _dates.apply_periods(values, survey.periods[k]) if k in survey.periods else [values]
    return part._replace(X=np.column_stack(found).astype(X.dtype, copy=False))
