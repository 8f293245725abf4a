"""The rows a command works on: read from a file or embedded, with labels as positive or not."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid._kinds import is_frame
from auclid.cli.labels import ask_for_positive
from auclid.cli.wording import LEAVE_OUT
from auclid.columns import Columns
from auclid.datasets import DataError, load_mammography, read_table
from auclid.datasets.readers import TableFile, has_columns, read_frame

FULL = 0.5
"""A sparse table with a larger share of entries than this is better off as a plain array."""

MOST_CLASSES = 20
"""A target with more different values than this is hardly meant as classes."""


NO_LABELS = "DATA must have labels: name their column with --target (csv, parquet), or store y (npz)."


class Rows(NamedTuple):
    """A table with a binary task."""

    source: str
    X: Any
    is_pos: np.ndarray
    classes: list[str]  # the names of the negative and the positive class
    feature_names: list[str]
    notes: list[str]


def read_rows(
    path: Path | None,
    target: str | None,
    *,
    positive: str | None = None,
    one_hot: bool = False,
    drop: Sequence[str] = (),
    scaled: bool = True,
) -> Rows:
    """The rows of a file, or of the embedded table where there is none.

    Notes tell how columns will be scaled, unless whoever learns from them takes their values as they are.
    """
    if path is None:
        table = load_mammography()
        names = [text(label) for label in (0, 1)]
        return Rows("mammography", table.data, table.target == 1, names, table.feature_names, [])
    if target is None and has_columns(path):
        raise DataError(NO_LABELS)
    how: dict[str, Any] = {"one_hot": True} if one_hot else {"as_frame": True}
    X, y, names, notes = read(path, target, drop=drop, **how)
    if y is None:
        raise DataError(NO_LABELS)
    labels, counts = np.unique(y, return_counts=True)
    ask_for_positive(labels.tolist(), counts.tolist(), positive)
    is_pos, classes = positives(y, positive)
    if is_frame(X):
        notes = [*notes, *odd_columns(X, scaled)]
    if sparse.issparse(X) and X.nnz > FULL * X.shape[0] * X.shape[1]:
        X = X.toarray()
    return Rows(str(path), X, is_pos, classes, names, notes)


def odd_columns(X: Any, scaled: bool = True) -> list[str]:
    """What `auclid.Columns` finds odd about a table, and the option that leaves a column out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = Columns(scale="auto" if scaled else None).fit(X)
    return [*columns.notes_, *([LEAVE_OUT] if columns.identifiers_ else [])]


def read(path: Path, target: str | None, *, as_frame: bool = False, **how: Any) -> TableFile:
    """`read_table`; with ``as_frame`` texts as they came."""
    return (read_frame if as_frame else read_table)(path, target, **how)


def positives(y: np.ndarray, positive: str | None = None) -> tuple[np.ndarray, list[str]]:
    """Which rows are positive, and the names of both classes; of two labels, the greater one is positive."""
    labels = np.unique(y)
    if len(labels) < 2:
        raise DataError(f"The target must have two classes; all its values are {text(labels[0])!r}.")
    if positive is not None:
        return _against_the_rest(y, labels, positive)
    if len(labels) > 2:
        some = ", ".join(text(label) for label in labels[:3])
        kind = "classes" if len(labels) <= MOST_CLASSES else "different values"
        raise DataError(
            f"The target must have two classes; it has {len(labels)} {kind} ({some}, ...). "
            "Compare one with the rest: --positive LABEL."
        )
    return y == labels[1], [text(label) for label in labels]


def _against_the_rest(y: np.ndarray, labels: np.ndarray, positive: str) -> tuple[np.ndarray, list[str]]:
    found = [label for label in labels if text(label) == text(positive)]
    if not found:
        some = ", ".join(text(label) for label in labels[:MOST_CLASSES])
        raise DataError(f"The positive label must be a value of the target; got {positive!r}. There are: {some}.")
    others = [text(label) for label in labels if label != found[0]]
    return y == found[0], [others[0] if len(others) == 1 else "rest", text(found[0])]


def text(label: Any) -> str:
    """A label as people write it: 1 for 1.0, true for True."""
    if isinstance(label, bool | np.bool_):
        return str(label).lower()
    try:
        number = float(label)
    except (TypeError, ValueError):
        return str(label)
    return str(int(number)) if number.is_integer() else str(number)
