"""Tables with columns of any type, in memory: checked, and encoded as numbers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data

from auclid.data import Table, as_array
from auclid.data.array_tables import gathered
from auclid.data.encoding import (
    Column,
    ColumnEncoding,
    as_numbers,
    as_texts,
    column_names,
    is_frame,
    level_codes,
    table_columns,
)
from auclid.data.table import Index, Sweep
from auclid.validation.rows import check_sparse_indices, empty_frame_error, require_memory

NUMBER_TYPES = ("int", "uint", "float", "double")
"""How the names of types begin whose columns are numbers as they are, in lower case."""


class RawTable(Table):
    """A checked table as it came: a frame, an array (of objects too) or a CSR matrix; its parts are of the same kind.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.validation.tables import RawTable
    >>> RawTable(np.array([["a", 1], ["b", 2]], dtype=object)).part(np.array([1])).tolist()
    [['b', 2]]
    """

    def __init__(self, X: Any) -> None:
        self.X, self.shape = X, (int(X.shape[0]), int(X.shape[1]))
        self.columns = column_names(X) if is_frame(X) else None

    @property
    def dtype(self) -> np.dtype:
        return floating(self.X)

    def part(self, index: Index) -> Any:
        if isinstance(index, slice) and index == slice(None):
            return self.X
        if not is_frame(self.X):
            return self.X[index]
        return take_rows(self.X, np.arange(self.shape[0])[index] if isinstance(index, slice) else index)

    def sweep(self, *orders: np.ndarray, centre: np.ndarray | None = None) -> Sweep:
        return gathered(self, orders, centre, max(1, self.block_rows() // len(orders)))


def checked_table(estimator: BaseEstimator, X: Any, reset: bool) -> Any:
    """X as a frame, an array of floats or objects, or a CSR matrix, with the columns that the estimator knows."""
    require_memory(estimator, X)
    if isinstance(X, Table):  # a block of rows whose columns were compared before
        X = X.part(slice(None))
    if is_frame(X):
        _check_feature_names(estimator, X, reset=reset)
        _check_n_features(estimator, X, reset=reset)
        if 0 in X.shape:
            raise empty_frame_error(X.shape)
        return X
    kinds: dict[str, Any] = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": "allow-nan"}
    X = validate_data(estimator, check_sparse_indices(estimator, X), reset=reset, **kinds)
    if X.dtype.kind in "biuf" and X.dtype not in (np.float32, np.float64):
        return X.astype(np.float64)
    return X


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """The rows of these numbers of a checked table."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.take(rows) if hasattr(X, "schema") and hasattr(X, "column_names") else X[rows]


def floating(X: Any) -> np.dtype:
    """The type of scores of a checked table: that of an array of floats, float64 otherwise."""
    dtype = getattr(X, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) and dtype.kind == "f" else np.dtype(np.float64)


def is_numeric(X: Any) -> bool:
    """Whether every column of a checked table holds numbers, by its type."""
    if not is_frame(X):
        return X.dtype.kind == "f"
    types = X.schema.types if hasattr(X, "column_names") else list(X.dtypes)
    return all(str(each).lower().startswith(NUMBER_TYPES) for each in types)


class EncodedTable(NamedTuple):
    """A table in which every cell is a number, NaN where it is missing."""

    X: Any
    """An array, or a CSR matrix."""
    encodings: dict[int, ColumnEncoding]
    """What the numbers of some columns stand for, by the number of the column."""


def encode_table(owner: Any, X: Any, categories: Sequence[int] = ()) -> EncodedTable:
    """The numbers of a checked table: places in a list for texts and categories, days for dates, 0 and 1 for truths.

    Columns in ``categories`` are categories, whatever they hold.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.validation.tables import encode_table
    >>> X, encodings = encode_table("Columns", np.array([["red", 1.5], [None, 2], ["blue", None]], dtype=object))
    >>> X.tolist(), encodings[0].levels
    ([[0.0, 1.5], [nan, 2.0], [1.0, nan]], ['red', 'blue'])
    """
    if is_numeric(X) and not categories:
        return EncodedTable(numeric_array(owner, X) if is_frame(X) else X, {})
    if is_numeric(X) and not is_frame(X):
        return _with_categories(X, categories)
    columns, encodings = table_columns(owner, X), {}
    narrow = all(column.values.dtype == np.float32 for column in columns)
    out = np.empty((X.shape[0], len(columns)), np.float32 if narrow else np.float64)
    for k, column in enumerate(columns):
        kind = "category" if k in categories else _encoded_kind(column)
        if kind in ("category", "text"):
            out[:, k], encodings[k] = _encode_texts(column, kind)
            continue
        out[:, k] = as_numbers(owner, column)
        if kind != "number":
            encodings[k] = ColumnEncoding(kind, str(column.values.dtype))
    return EncodedTable(out, encodings)


def numeric_array(owner: Any, X: Any) -> np.ndarray:
    """A frame of numbers as an array: float32 where all columns are."""
    types = X.schema.types if hasattr(X, "column_names") else list(X.dtypes)
    narrow = all(str(each).lower() in ("float32", "float") for each in types)
    out = check_array(X, dtype=np.float32 if narrow else np.float64, ensure_all_finite=False)
    if np.isinf(out).any():
        for column in table_columns(owner, X):
            as_numbers(owner, column)  # names the column
    return out


def _with_categories(X: Any, categories: Sequence[int]) -> EncodedTable:
    """An array of numbers, or a CSR matrix, of which some columns are categories."""
    out, encodings = as_array(X).copy(), {}
    for k in categories:
        out[:, k], encodings[k] = _encode_texts(Column(f"x{k}", "number", out[:, k].copy()), "category")
    return EncodedTable(out, encodings)


def _encoded_kind(column: Column) -> str:
    """The kind of a column before its texts are looked at: those that read as numbers or dates are texts still."""
    if column.kind in ("number", "date") and column.values.dtype == object:
        return "text" if any(isinstance(value, str) for value in column.values) else column.kind
    return column.kind


def _encode_texts(column: Column, kind: str) -> tuple[np.ndarray, ColumnEncoding]:
    """The place of each text in a list of all, NaN where it is missing; and that list."""
    texts = as_texts(column)
    levels = list(dict.fromkeys(text for text in texts if text is not None))
    codes = level_codes(texts, levels).astype(np.float64)
    codes[codes < 0.0] = np.nan
    return codes, ColumnEncoding(kind, str(column.values.dtype), levels)
