"""Tables of files in memory: rows, labels and names of columns, read by `auclid.scan`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auclid._hints import listed
from auclid.data.blocks import is_sparse
from auclid.data.encoding import decode, is_missing
from auclid.data.files import Rows, open_rows
from auclid.data.parallel_read import count_missing
from auclid.data.readers import ColumnSelection
from auclid.data.readers.open import has_own_labels
from auclid.errors import DataError


class TableFile(NamedTuple):
    """What a file holds."""

    X: Any
    """Array of floats (NaN where a value is missing), CSR matrix, or Arrow table if a column holds texts or dates."""
    y: Any
    """One label a row, or None where there are none."""
    feature_names: list[str]
    notes: list[str]
    """Sentences about missing values and labels."""


def read_table(
    path: str | Path,
    target: str | None = None,
    *,
    drop: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    as_frame: bool = False,
) -> TableFile:
    """The table of a file, or of a folder or glob of files, in memory; see `auclid.scan` for the formats.

    Parameters
    ----------
    path : str or path-like
    target : str, optional
        The column with the labels, of files with named columns; libsvm files and npz archives have their own labels.
        None: no labels. Rows without a label are left out.
    drop : names of columns to leave out
    columns : list of str, optional
        Just these columns, in this order.
    as_frame : bool, default=False
        Whether named columns come as an Arrow table, whatever they hold.

    Returns
    -------
    TableFile
        Named tuple (X, y, feature_names, notes). `auclid.Columns` turns texts and dates into numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auclid.datasets import read_table
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("age,sick\\n31,no\\n64,yes\\n")
    >>> X, y, names, notes = read_table(path, target="sick")
    >>> X, y, names
    (array([[31.],
           [64.]]), array(['no', 'yes'], dtype='<U3'), ['age'])
    """
    selection = ColumnSelection(None if has_own_labels(path) else target, None, columns, drop)
    rows = open_rows(path, selection, sys.maxsize)
    labelled, notes = labelled_rows(rows, target)
    X, y = rows.gather(labelled, allow_missing=True, allow_categorical=True)
    notes += missing_note(count_missing(X, rows.columns))
    y = y.astype(str) if y is not None and y.dtype == object else y
    if rows.non_numeric or (as_frame and rows.named):
        X = decode(X, rows.columns, rows.encodings)
    elif not is_sparse(X):
        X = np.ascontiguousarray(X)
    return TableFile(X, y, rows.columns, notes)


def labelled_rows(rows: Rows, target: str | None) -> tuple[np.ndarray, list[str]]:
    """The numbers of the rows that have a label, all where there is no target; and a note on the others."""
    if not rows.shape[0]:
        raise DataError(f"{rows.where} must hold rows; it has none.")
    if not rows.has_target or rows.labels().missing() is None:
        return np.arange(rows.shape[0]), []
    labels = rows.labels()
    present = np.array([not is_missing(level) for level in labels.table().tolist()])[labels.codes]
    if not present.any():
        raise DataError(f"The target of {rows.where} must have values; all are missing.")
    where = "label" if target is None else f"value in {target!r}"
    count = int((~present).sum())
    said = "1 row has no {} and is left out." if count == 1 else f"{count} rows have no {{}} and are left out."
    return np.flatnonzero(present), [said.format(where)]


def missing_note(counts: dict[str, int]) -> list[str]:
    """A note on the missing values of columns, if there are some."""
    return [f"{sum(counts.values()):,} values are missing, in {listed(list(counts))}."] if counts else []
