"""The cells of any table as floats: NaN where one is missing, a category as the number of its level."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import _check_y, validate_data

from auclid import _check
from auclid._sources import in_memory_only
from auclid.data.encoding import Column, as_numbers, as_texts, column_names, is_frame, level_codes, table_columns
from auclid.data.sizes import BLOCK_BYTES

LEVELS = 100
"""Levels of a category that are told apart, at the most; the commonest."""

LEAST = 5
"""Rows that a level must have to be told apart; a rarer one is pooled with the others that are."""


class ColumnSpec(NamedTuple):
    """What is known of a column before its knots: its name and kind, and a category's levels (else None)."""

    name: str
    kind: str
    levels: list | None


def as_known(X: Any) -> Any:
    """X as a frame, a sparse matrix or an array."""
    return X if is_frame(X) or sparse.issparse(X) else np.asarray(X)


def checked_rows(owner: Any, X: Any, reset: bool) -> Any:
    """X checked against the columns the estimator knows: floats or CSR as they are, all else as a list of columns."""
    in_memory_only(owner, X)
    _check.in_order(owner, X)
    if isinstance(X, np.ndarray) and _has_objects(X):
        X = check_array(X, dtype=None, ensure_all_finite=False)
    if _has_objects(X) and min(X.shape) > 0:
        validate_data(owner, X, reset=reset, skip_check_array=True)
        return table_columns(owner, X)
    if _has_objects(X) or (is_frame(X) and 0 in X.shape):
        X = np.zeros(X.shape)  # nothing to look at but its shape, which is refused
    kinds: dict[str, Any] = {"accept_sparse": "csr", "dtype": _check.DTYPES, "ensure_all_finite": "allow-nan"}
    return _check.in_order(owner, validate_data(owner, X, reset=reset, order=None, **kinds), made_of=X)


def checked_rows_and_labels(owner: Any, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
    """`checked_rows`, and one label a row."""
    _check.labelled(owner, y)
    y = _check.labels(_check_y(y, estimator=owner))
    table = checked_rows(owner, X, reset)
    check_consistent_length(first_column(table), y)
    return table, y


def first_column(table: Any) -> Any:
    """Something as long as the table."""
    return table[0].values if isinstance(table, list) else table


def length(table: Any) -> int:
    """The number of rows."""
    return len(table[0].values) if isinstance(table, list) else table.shape[0]


def _has_objects(X: Any) -> bool:
    """Whether X has a column that is not simply of numbers."""
    if sparse.issparse(X):
        return False
    if is_frame(X):
        kinds = X.schema.types if hasattr(X, "column_names") else list(X.dtypes)
        return not all(str(kind).lower().startswith(NUMBERS) for kind in kinds)
    return X.dtype.kind in "OUSMm"


NUMBERS = ("int", "uint", "float", "double")


def kept_columns(
    owner: Any, X: Any, table: Any, weight: np.ndarray | None, categories: list[int], known: Mapping[int, ColumnSpec]
) -> list[ColumnSpec]:
    """The kind of each column, and the levels of those that are categories; ``categories`` are so by request.

    ``known``: columns, by number, of which more rows than these have told.
    """
    columns = table if isinstance(table, list) else _as_columns(X, table, categories)
    out = []
    for k, name in enumerate(column_names(X)):
        column = columns[k]
        if k in known and (known[k].levels is not None or k not in categories):
            out.append(known[k])
        elif column is not None and (k in categories or column.kind in ("category", "text")):
            kind = "category" if k in categories else column.kind
            out.append(ColumnSpec(name, kind, _levels(owner, column, weight)))
        else:
            out.append(ColumnSpec(name, "number" if column is None else column.kind, None))
    return out


def _as_columns(X: Any, table: Any, wanted: list[int]) -> list[Column | None]:
    """The wanted columns of an array of numbers."""
    names, out = column_names(X), list[Column | None]([None] * table.shape[1])
    for k in wanted:
        values = table[:, [k]].toarray().ravel() if sparse.issparse(table) else table[:, k]
        out[k] = Column(names[k], "number", values)
    return out


def _levels(owner: Any, column: Column, weight: np.ndarray | None) -> list[str]:
    texts = as_texts(column)
    if weight is not None:
        texts = texts[weight > 0.0]
    counts: dict = {}
    for text in texts:
        counts[text] = counts.get(text, 0) + 1
    counts.pop(None, None)
    return common_levels(owner, column.name, counts)


def common_levels(owner: Any, name: str, counts: Mapping[str, int]) -> list[str]:
    """The levels of a category that are told apart, by how many rows have each."""
    common = sorted((text for text, count in counts.items() if count >= LEAST), key=lambda text: (-counts[text], text))
    if counts and not common:
        warnings.warn(
            f"Column {name!r} of {type(owner).__name__} has {len(counts)} levels, none of them in {LEAST} rows: "
            "all are one pooled level. Leave the column out, or group its levels.",
            UserWarning,
            stacklevel=2,
        )
    return sorted(common[:LEVELS])


def as_cells(owner: Any, table: Any, kept: list[ColumnSpec]) -> Any:
    """The table as floats: an array or CSR matrix as it is where all columns are numbers; codes for levels."""
    if not isinstance(table, list):
        wanted = [k for k, column in enumerate(kept) if column.levels is not None]
        if not wanted:
            return table
        dense = (table.toarray() if sparse.issparse(table) else table).astype(np.float64)
        for k in wanted:
            dense[:, k] = codes(Column(kept[k].name, "number", dense[:, k].copy()), kept[k])
        return dense
    out = np.empty((length(table), len(kept)))
    for k, (column, known) in enumerate(zip(table, kept, strict=True)):
        known_kind = column._replace(kind=known.kind, name=known.name)
        out[:, k] = as_numbers(owner, known_kind) if known.levels is None else codes(column, known)
    return out


def codes(column: Column, known: ColumnSpec) -> np.ndarray:
    codes = level_codes(as_texts(column), known.levels or []).astype(np.float64)
    codes[codes < 0.0] = np.nan
    return codes


def block(cells: Any, index: Any) -> np.ndarray:
    """Some rows as a C-ordered float64 array."""
    part = cells[index]
    return np.ascontiguousarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)


def slices(cells: Any, n: int | None = None) -> list[slice]:
    """Ranges of rows, each one block of bounded memory."""
    n = cells.shape[0] if n is None else n
    size = max(1, BLOCK_BYTES // (8 * max(1, cells.shape[1])))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
