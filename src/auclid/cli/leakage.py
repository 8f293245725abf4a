"""Notes on columns that may know the label, and on time that a random split forgets."""

import warnings

import numpy as np

from auclid.cli.data import BinaryTable
from auclid.data.encoding import Column, as_numbers, as_texts, is_frame, table_columns
from auclid.metrics import roc_auc
from auclid.validation import take_rows

NEARLY_EQUAL = 0.99
"""The AUC of a single column from which on it is asked whether it knows the label."""

MAX_CHECKED_ROWS = 20_000
"""Rows that are looked at, at the most."""

MAX_CHECKED_COLUMNS = 1_000
"""Columns up to which each is looked at."""

MOSTLY = 0.5
"""The share of the rows from which on a date is said to be later than the row."""

MIN_LEVEL_ROWS = 5
"""Mean rows of a level from which on levels are not identifiers of rows."""


def leakage_notes(data: BinaryTable) -> list[str]:
    """Sentences about columns that nearly equal the label, dates after the fact, and dates in a random split."""
    X, is_pos = data.X, data.is_pos
    if X.shape[1] > MAX_CHECKED_COLUMNS or not (is_frame(X) or isinstance(X, np.ndarray)):
        return []
    some = None
    if len(is_pos) > MAX_CHECKED_ROWS:
        some = np.sort(np.random.default_rng(0).choice(len(is_pos), MAX_CHECKED_ROWS, replace=False))
        X, is_pos = take_rows(X, some), is_pos[some]
    pairs = zip(table_columns("compare", X), data.feature_names, strict=True)
    columns = [column._replace(name=name) for column, name in pairs]
    time = data.time if some is None or data.time is None else data.time[some]
    late = _after_the_fact(columns, time) if data.time_is_date else []
    return [*_nearly_labels(columns, is_pos), *late, *_forgotten_time(columns, data)]


def _nearly_labels(columns: list[Column], is_pos: np.ndarray) -> list[str]:
    said = []
    for column in columns:
        auc = column_auc(column, is_pos)
        if auc >= NEARLY_EQUAL:
            said.append(
                f"{column.name!r} alone has an AUC of {auc:.3f}: is it known before the label is? "
                f"Else leave it out with --drop {column.name}."
            )
    return said


def column_auc(column: Column, is_pos: np.ndarray) -> float:
    """The AUC of a column by itself, in the better direction: of a number, or of the rate of positives of a level.

    Missing numbers and dates are put below and above all others, whichever tells more.
    """
    if column.kind in ("category", "text"):
        _, code = np.unique(as_texts(column).astype(str), return_inverse=True)
        counts = np.bincount(code)
        if len(counts) < 2 or len(code) < MIN_LEVEL_ROWS * len(counts):
            return 0.5
        values = (np.bincount(code, is_pos) / counts)[code]
    else:
        values = as_numbers("compare", column)
        if np.isnan(values).all():
            return 0.5
    if not is_pos.any() or is_pos.all():
        return 0.5
    ends = np.nanmin(values) - 1.0, np.nanmax(values) + 1.0
    with warnings.catch_warnings(action="ignore"):  # a column of two values is no mistake
        aucs = [roc_auc(is_pos, np.where(np.isnan(values), end, values)) for end in ends]
    return max(max(auc, 1.0 - auc) for auc in aucs)


def _after_the_fact(columns: list[Column], time: np.ndarray | None) -> list[str]:
    """Columns of dates that are mostly later than the date of the row."""
    said: list[str] = []
    if time is None:
        return said
    for column in columns:
        if column.kind != "date":
            continue
        days = as_numbers("compare", column)
        known = ~np.isnan(days)
        share = float(np.mean(days[known] > time[known])) if known.any() else 0.0
        if share > MOSTLY:
            said.append(
                f"{column.name!r} is later than --time in {share:.0%} of the rows that have it: it was not known then. "
                f"Leave it out with --drop {column.name}."
            )
    return said


def _forgotten_time(columns: list[Column], data: BinaryTable) -> list[str]:
    dates = [column.name for column in columns if column.kind == "date"]
    if not dates or data.time is not None or data.test_rows is not None:
        return []
    return [
        f"{dates[0]!r} holds dates, and rows were split at random: a model for later rows is tested on later rows with "
        f"--time {dates[0]}."
    ]
