"""Tables with columns of any type, wherever their rows are: checked, and made a dataset.

`Columns`, `Scorecard`, `AUCClassifier` and `Calibrated` take arrays, CSR matrices, frames, rows of files and dask
collections. This module is where the difference ends: `any_rows` and `labelled_rows` give a dataset of the rows as they
came, `encoded_rows` and `encoded_labelled_rows` one in which every cell is a number.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import _check_feature_names, _check_n_features, _check_y, validate_data

from auclid import _check
from auclid._apart import begin_apart, begin_classes, lies_apart, remember_columns
from auclid._sources import in_memory_only
from auclid.data import Table, as_array, sizes
from auclid.data.dask import DaskDataset, column_parts, is_dask
from auclid.data.dataset import Dataset, MemoryDataset
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
from auclid.data.file_dataset import FileDataset
from auclid.data.files import Rows
from auclid.data.mapped import is_label, mapped
from auclid.data.memory import gathered
from auclid.data.table import Index, Sweep
from auclid.stats.labelled import LabelledDataset, part_labels

NUMBER_TYPES = ("int", "uint", "float", "double")
"""How the names of types begin whose columns are numbers as they are, in lower case."""


# Tables in memory


class RawTable(Table):
    """A checked table as it came: a frame, an array (of objects too) or a CSR matrix; its parts are of the same kind.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid._tables import RawTable
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
    in_memory_only(estimator, X)
    if isinstance(X, Table):  # a block of rows whose columns were compared before
        X = X.part(slice(None))
    if is_frame(X):
        _check_feature_names(estimator, X, reset=reset)
        _check_n_features(estimator, X, reset=reset)
        for count, what in zip(X.shape, ("sample(s)", "feature(s)"), strict=True):
            if not count:
                raise ValueError(f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required.")
        return X
    kinds: dict[str, Any] = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": "allow-nan"}
    X = validate_data(estimator, _check.in_order(estimator, X), reset=reset, **kinds)
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
    >>> from auclid._tables import encode_table
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


# Datasets, wherever rows are


def encoded_rows(estimator: Any, X: Any, sample_weight: Any, categories: Callable[[list[str]], list[int]]) -> Dataset:
    """Rows without labels, every cell a number; those of weight zero are left out, or have that weight.

    ``categories`` tells, by the names of the columns, the numbers of those that are categories by request. Sets what
    scikit-learn wants to know of the columns.
    """
    if lies_apart(X):
        return _partitioned_rows(estimator, X, sample_weight)
    X = checked_table(estimator, X, reset=True)
    weight = _check.check_relative_weights(sample_weight, X)
    if weight is not None:
        if not weight.any():
            owner = type(estimator).__name__
            raise ValueError(f"sample_weight of {owner} must be positive on some row; got zeros only.")
        X, weight = take_rows(X, np.flatnonzero(weight)), weight[weight > 0.0]
    table = encode_table(estimator, X, categories(column_names(X)))
    return _memory_dataset(X, table, None, weight, block_rows(table.X))


def encoded_batch(
    owner: Any, X: Any, weight: np.ndarray | None, categories: Callable[[list[str]], list[int]]
) -> MemoryDataset:
    """The dataset of a checked table in memory, without labels; ``categories`` as of `encoded_rows`."""
    return _memory_dataset(X, encode_table(owner, X, categories(column_names(X))), None, weight)


def _memory_dataset(
    raw: Any, table: EncodedTable, labels: np.ndarray | None, weight: np.ndarray | None, block_rows: int | None = None
) -> MemoryDataset:
    """The dataset of an encoded table, with the names of the columns of the one it was made of."""
    rows = MemoryDataset(RawTable(table.X), labels, weight, block_rows=block_rows, encodings=table.encodings)
    rows.columns = column_names(raw) if is_frame(raw) else None
    return rows


MIN_BLOCK_ROWS = 20_000
"""Rows of a block in memory, at the least."""


def block_rows(X: Any) -> int:
    """How many rows of a table make a block that may be copied."""
    return max(MIN_BLOCK_ROWS, sizes.LARGE_BYTES // (8 * max(1, X.shape[1])))


def _partitioned_rows(estimator: Any, X: Any, sample_weight: Any) -> Dataset:
    """Rows of files or of a dask collection, without labels."""
    owner = type(estimator).__name__
    rows: Dataset
    if isinstance(X, Rows):
        if sample_weight is not None:
            raise ValueError(
                f"{owner} must be given rows of files with their own weight; got another sample_weight. Name it in "
                "scan(..., sample_weight=)."
            )
        rows = FileDataset(X, gaps=True, words=True)
    else:
        rows = DaskDataset(owner, X, None, sample_weight, gaps=True, words=True)
    remember_columns(estimator, rows.columns, rows.width)
    return rows


def labelled_rows(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, *, multiclass: bool = False
) -> LabelledDataset:
    """Rows as they came, with the number of its class as the label of each.

    Sets ``classes_`` and what scikit-learn wants to know of the columns. A block of rows in files, or a partition, is
    numbers: `Dataset.decode` makes a table of them.
    """
    if lies_apart(X):
        return (begin_classes if multiclass else begin_apart)(estimator, X, y, sample_weight)
    _check.labelled(estimator, y)
    X = checked_table(estimator, X, reset=True)
    y = _check.labels(_check_y(y, estimator=estimator))
    check_consistent_length(X, y)
    return _in_memory(estimator, RawTable(X), y, sample_weight, multiclass)


def _in_memory(estimator: Any, table: Table, y: np.ndarray, sample_weight: Any, multiclass: bool) -> LabelledDataset:
    weight = _check.check_relative_weights(sample_weight, table)
    classes = np.unique(y) if multiclass else _check.two_classes(estimator, y)
    if len(classes) <= 2:
        classes = _check.two_classes(estimator, classes)
        _check.both_weighed(estimator, y == classes[1], weight)
    estimator.classes_ = classes
    return LabelledDataset.in_memory(table, np.searchsorted(classes, y), weight, classes, len(classes))


def encoded_labelled_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, categories: Callable[[list[str]], list[int]]
) -> LabelledDataset:
    """Rows of two classes, every cell a number; ``categories`` as of `encoded_rows`."""
    rows = labelled_rows(estimator, X, y, sample_weight)
    if rows.partitioned:
        return rows
    raw, ((labels, weight),) = raw_table(rows), rows.parts.map(part_labels)
    table = encode_table(estimator, raw, categories(column_names(raw)))
    return rows._replace(parts=_memory_dataset(raw, table, labels, weight))


def raw_table(rows: LabelledDataset) -> Any:
    """All rows of a dataset in memory, as they came."""
    return rows.table().part(slice(None))


def binary_source(rows: LabelledDataset, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """(X, y, sample_weight) of the same rows for another estimator, labelled by whether they are of ``classes[1]``.

    ``X``, ``y`` and ``sample_weight`` are those that ``rows`` were made of.
    """
    if isinstance(X, Rows):
        return mapped(X, labels=partial(is_label, rows.classes[1])), None, None
    if rows.partitioned:
        return X, y == rows.classes[1], sample_weight
    ((labels, weight),) = rows.parts.map(part_labels)
    return raw_table(rows), labels == 1, weight


def mapped_source(X: Any, transform: Callable, columns: list[str]) -> Any:
    """What a function of a block makes of X: rows of files as they are read, all others at once."""
    return mapped(X, numbers=transform, columns=columns) if isinstance(X, Rows) else transform(X)


# Groups of rows


class Groups(NamedTuple):
    """The group of each row, cut in the same places as the rows; in memory, or promised by a cluster."""

    owner: str
    parts: list
    sizes: np.ndarray
    """Rows of each part."""
    name: str = "groups"

    def at(self, places: list[np.ndarray]) -> np.ndarray:
        """The groups of the rows that are at these places of each part."""
        if isinstance(self.parts[0], np.ndarray):
            return np.concatenate([part[at] for part, at in zip(self.parts, places, strict=True)])
        import dask

        pick = dask.delayed(groups_at, pure=True)
        picked = [pick(self.owner, self.name, *each) for each in zip(self.parts, self.sizes, places, strict=True)]
        return np.concatenate(dask.compute(*picked))


def checked_groups(owner: str, groups: Any, X: Any, rows: LabelledDataset, name: str = "groups") -> Groups:
    """Groups, or times, as a user gives them beside X, refused unless there is one for each row."""
    part_sizes = rows.every.sum(axis=1)
    if is_dask(groups) and is_dask(X):
        return Groups(owner, column_parts(owner, name, groups, X, len(part_sizes)) or [], part_sizes, name)
    if is_dask(groups):
        raise TypeError(
            f"The {name} of {owner} must be an array of shape ({rows.n_rows},) where X is no dask collection; got "
            f"{type(groups).__name__} of dask. Take them into memory with {name}.compute()."
        )
    if np.shape(groups) != (rows.n_rows,):
        got = f"shape {np.shape(groups)}" if np.ndim(groups) else repr(groups)
        raise ValueError(f"The {name} of {owner} must be an array of shape ({rows.n_rows},), one a row; got {got}.")
    checked = check_array(groups, ensure_2d=False, dtype=None, input_name=name)
    return Groups(owner, np.split(checked, np.cumsum(part_sizes)[:-1]), part_sizes, name)


def groups_at(owner: str, name: str, groups: Any, size: int, places: np.ndarray) -> np.ndarray:
    """The groups at these places of a partition, in which there must be one for each of its rows."""
    own = np.asarray(groups)
    if own.shape != (size,):
        raise ValueError(
            f"The {name} given to {owner} must be cut in the same places as X; a partition of {size} rows has {name} "
            f"of shape {own.shape}. Take both from one frame, or rechunk them."
        )
    return own[places]
