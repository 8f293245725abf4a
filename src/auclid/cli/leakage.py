"""Notes on columns that may know the label, and on time that a random split forgets."""

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

MIN_LEVEL_ROWS = 5
"""Mean rows of a level from which on levels are not identifiers of rows."""


def leakage_notes(data: BinaryTable) -> list[str]:
    """Sentences about columns that nearly equal the label, and about dates where rows were split at random."""
    X, is_pos = data.X, data.is_pos
    if X.shape[1] > MAX_CHECKED_COLUMNS or not (is_frame(X) or isinstance(X, np.ndarray)):
        return []
    if len(is_pos) > MAX_CHECKED_ROWS:
        some = np.sort(np.random.default_rng(0).choice(len(is_pos), MAX_CHECKED_ROWS, replace=False))
        X, is_pos = take_rows(X, some), is_pos[some]
    pairs = zip(table_columns("compare", X), data.feature_names, strict=True)
    columns = [column._replace(name=name) for column, name in pairs]
    return [*_nearly_labels(columns, is_pos), *_forgotten_time(columns, data)]


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
    """The AUC of a column by itself, in the better direction: of a number, or of the rate of positives of a level."""
    if column.kind in ("category", "text"):
        _, code = np.unique(as_texts(column).astype(str), return_inverse=True)
        counts = np.bincount(code)
        if len(counts) < 2 or len(code) < MIN_LEVEL_ROWS * len(counts):
            return 0.5
        values = (np.bincount(code, is_pos) / counts)[code]
    else:
        values = as_numbers("compare", column)
        there = ~np.isnan(values)
        if not there.any():
            return 0.5
        values = np.where(there, values, np.median(values[there]))
    if not is_pos.any() or is_pos.all():
        return 0.5
    auc = roc_auc(is_pos, values)
    return max(auc, 1.0 - auc)


def _forgotten_time(columns: list[Column], data: BinaryTable) -> list[str]:
    dates = [column.name for column in columns if column.kind == "date"]
    if not dates or data.time is not None or data.test_rows is not None:
        return []
    return [
        f"{dates[0]!r} holds dates, and rows were split at random: a model for later rows is tested on later rows with "
        f"--time {dates[0]}."
    ]
