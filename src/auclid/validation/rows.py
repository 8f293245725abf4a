"""The rows X that an estimator is given, in memory, files or a Dask collection; and their columns."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data

from auclid._sparse import FORMATS, fault
from auclid.data import Table, as_table
from auclid.data.dask import DaskDataset, is_dask
from auclid.data.dataset import Dataset
from auclid.data.encoding import as_numbers, is_frame, is_missing, table_columns
from auclid.data.file_dataset import FileDataset
from auclid.data.files import Rows
from auclid.errors import DataError, Described, InvalidValueError, invalid_value, missing_label, owner_name
from auclid.validation.vectors import labels

DTYPES = [np.float64, np.float32]


class RowAccess(Enum):
    """How `fit` reads rows, which decides where they may be. Estimators declare it as ``_row_access``."""

    PARTS = "sums over parts"
    """In memory, in files or in a Dask collection."""
    SEQUENTIAL = "one row after the other"
    """The same. Rows that memory holds are brought there, others are read in the order of their parts."""
    MEMORY = "all rows at once"
    """In memory only. The estimator names another one for more rows, ``_out_of_core_alternative``."""


def in_parts(X: Any) -> bool:
    """Whether rows are in files or in a Dask collection."""
    return isinstance(X, Rows) or is_dask(X)


def check_row_access(estimator: Any, X: Any) -> None:
    """Raise where `fit` cannot read rows from where they are."""
    if estimator._row_access is RowAccess.MEMORY:
        require_memory(estimator, X, f"Use {estimator._out_of_core_alternative}, or a part of the rows")


def require_memory(estimator: Any, X: Any, advice: str = "Pass a part of the rows") -> None:
    """Raise where rows that a method needs in memory are in files or in a Dask collection."""
    if in_parts(X):
        files = isinstance(X, Rows)
        where, part = ("rows of files", "rows.sample(n)") if files else ("a dask collection", "X[:n].compute()")
        raise TypeError(
            f"{owner_name(estimator)} must have all rows in memory and cannot take {where}. {advice}, such as {part}."
        )


# Numeric rows


def check_rows(estimator: Any, X: Any, reset: bool = False) -> Table:
    """The table of X, float rows with the features the estimator knows."""
    if in_parts(X):
        parts = unlabelled_parts(estimator, X)
        return _known_table(estimator, parts.row_table(parts.part_sizes()), reset)
    if isinstance(X, Table):
        return _known_table(estimator, X, reset)
    check_sparse_indices(estimator, X)
    return as_table(check_sparse_indices(estimator, _validated(estimator, X, reset=reset), made_of=X))


def check_rows_and_labels(estimator: Any, X: Any, y: Any, reset: bool = True) -> tuple[Table, np.ndarray]:
    """The table of X, and y as one label a row; rows of files have their own where y is None."""
    if isinstance(X, Rows) and y is None:
        y = file_labels(estimator, X)
    if not in_parts(X):
        require_every_label(estimator, y)
    else:
        require_labels(estimator, y)
        X, y = check_rows(estimator, X, reset), y.compute() if is_dask(y) else y
        reset = False
    if isinstance(X, Table):
        check_consistent_length(X, y)
        return _known_table(estimator, X, reset), labels(validate_data(estimator, y=y))
    check_sparse_indices(estimator, X)
    table, y = _validated(estimator, X, y, reset=reset)
    return as_table(check_sparse_indices(estimator, table, made_of=X)), labels(y)


def _validated(estimator: Any, *given: Any, reset: bool) -> Any:
    """Rows (and labels): float32 or float64, dense or CSR; missing values only where the estimator's tags allow."""
    missing = "allow-nan" if allows_missing(estimator) else True
    kinds: dict[str, Any] = {"accept_sparse": "csr", "dtype": DTYPES, "order": None, "ensure_all_finite": missing}
    try:
        return validate_data(estimator, *given, reset=reset, **kinds)
    except OverflowError:
        raise ValueError(
            f"X of {owner_name(estimator)} must hold numbers that a float can hold; it has a whole number beyond "
            "1e308. Scale the columns of X, or leave that one out."
        ) from None
    except (ValueError, TypeError) as error:
        named = _error_naming_column(estimator, given[0], missing is True)
        if named is None:
            raise
        if not reset:  # columns that the estimator does not know are another mistake
            _check_feature_names(estimator, given[0], reset=False)
            _check_n_features(estimator, given[0], reset=False)
        raise named from error


def _error_naming_column(estimator: Any, X: Any, refuse_missing: bool) -> InvalidValueError | None:
    """The error that names the first column with text, dates or missing values; None where no column has any.

    Of a frame without columns, or rows, it says so.
    """
    owner = owner_name(estimator)
    if is_frame(X) and 0 in X.shape:
        return empty_frame_error(X.shape)
    try:
        columns = [] if sparse.issparse(X) else table_columns(owner, X)
    except (ValueError, TypeError, IndexError, AttributeError):  # not a table of known cells
        return None
    hint = f"Put Columns() before it: make_pipeline(Columns(), {owner}())."
    for column in columns:
        if column.kind in ("text", "category", "date"):
            cell = next((cell for cell in column.values.tolist() if not is_missing(cell)), "")
            got = Described(f"{column.kind} in column {column.name!r}, such as {str(cell)!r},")
            return invalid_value(owner, "X", "hold numbers", got, hint)
    for column in columns if refuse_missing else ():
        count = int(np.isnan(as_numbers(owner, column, missing_allowed=False)).sum())
        if count:
            got = Described(f"NaN in column {column.name!r}, in {count:,} of {len(column.values):,} rows,")
            return invalid_value(owner, "X", "have no missing values", got, hint)
    return None


def empty_frame_error(shape: Sequence[int]) -> InvalidValueError:
    """The error for a frame without columns or without rows, in scikit-learn's words."""
    what = "sample(s)" if not shape[0] else "feature(s)"
    return InvalidValueError(f"Found array with 0 {what} (shape={tuple(shape)}) while a minimum of 1 is required.")


def check_sparse_indices(estimator: Any, X: Any, made_of: Any = None) -> Any:
    """X itself; raises where it is a sparse matrix whose indices lead compiled code out of it.

    ``made_of`` is what X was before it was converted: a matrix that was checked then is not checked again.
    """
    checked = sparse.issparse(made_of) and made_of.format in FORMATS
    wrong = fault(X) if sparse.issparse(X) and not checked else None
    if wrong:
        raise ValueError(
            f"X of {owner_name(estimator)} must be a sparse matrix whose indices lie inside of it; it has {wrong}. "
            "Make it anew from its entries, for instance with scipy.sparse.coo_array."
        )
    return X


def _known_table(estimator: Any, X: Table, reset: bool) -> Table:
    """A table that was checked before; its columns may have names."""
    if reset:
        remember_columns(estimator, X.columns, X.shape[1])
    check_columns(estimator, X.columns, X.shape[1])
    return X


def unlabelled_parts(estimator: Any, X: Any, sample_weight: Any = None) -> Dataset:
    """Rows of files or of a Dask collection in parts."""
    check_row_access(estimator, X)
    missing, categorical = allows_missing(estimator), allows_categorical(estimator)
    if isinstance(X, Rows):
        return FileDataset(X, allow_missing=missing, allow_categorical=categorical)
    return DaskDataset(type(estimator).__name__, X, None, sample_weight, missing, categorical)


def allows_missing(estimator: Any) -> bool:
    """Whether an estimator accepts missing numbers, by its tags."""
    return bool(get_tags(estimator).input_tags.allow_nan)


def allows_categorical(estimator: Any) -> bool:
    """Whether an estimator accepts columns of texts, categories and dates, by its tags."""
    tags = get_tags(estimator).input_tags
    return bool(tags.string and tags.categorical)


# Columns


def remember_columns(estimator: Any, columns: Sequence[str] | None, width: int) -> None:
    """Set ``n_features_in_``, and ``feature_names_in_`` where columns have names."""
    vars(estimator).pop("feature_names_in_", None)
    estimator.n_features_in_ = width
    if columns is not None:
        estimator.feature_names_in_ = np.array(columns, dtype=object)


def check_columns(estimator: Any, columns: Sequence[str] | None, width: int) -> None:
    """Raise where columns are not those that the estimator was fitted with; names count where both have some."""
    names = getattr(estimator, "feature_names_in_", None)
    if columns is not None and names is not None and list(columns) != list(names):
        absent = [name for name in names if name not in columns]
        said = f"{absent[0]!r} is missing" if absent else "they come in another order, or there are more"
        raise ValueError(
            f"The columns given to {owner_name(estimator)} must be those it was fitted with; {said}. "
            "Name them in scan(..., columns=model.feature_names_in_)."
        )
    check_width(estimator, width)


def check_width(estimator: Any, width: int) -> None:
    """Raise, in scikit-learn's words, where there are not as many columns as the estimator was fitted with."""
    if width != estimator.n_features_in_:
        raise ValueError(
            f"X has {width} features, but {owner_name(estimator)} is expecting {estimator.n_features_in_} features as "
            "input."
        )


@contextmanager
def names_known() -> Iterator[None]:
    """While arrays stand for rows whose columns were compared by name before: scikit-learn need not miss the names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


# Labels and weights that come with the rows


def require_labels(estimator: Any, y: Any) -> None:
    """Raise where there are no labels."""
    if y is None:
        raise ValueError(
            f"requires y to be passed, but the target y is None: {owner_name(estimator)} learns from labels."
        )


def require_target(estimator: Any, X: Rows) -> None:
    """Raise where rows of files have no labels."""
    if not X.has_target:
        owner = owner_name(estimator)
        raise ValueError(f"{owner} learns from labels, but the rows have no target. Use scan(..., target=NAME).")


LEARN_WITHOUT_LABELS = "Leave such rows out, or learn from them with SAMULT or PNUAUC."


def unlabelled_error(estimator: Any, got: str) -> DataError:
    """The error for rows to learn from of which some have no label; ``got`` says how many, or where."""
    return missing_label(got, owner=owner_name(estimator), hint=LEARN_WITHOUT_LABELS)


def require_every_label(estimator: Any, y: Any) -> None:
    """Raise where there are no labels, or some are missing."""
    require_labels(estimator, y)
    values = np.asarray(y)
    if values.dtype.kind == "f":
        count = int(np.isnan(values).sum())
    else:
        count = sum(map(is_missing, values.ravel().tolist())) if values.dtype == object else 0
    if count:
        raise unlabelled_error(estimator, f"a missing one in {count:,} of {values.size:,} rows")


def file_labels(estimator: Any, X: Rows, allow_missing: bool = False) -> Any:
    """The labels of rows of files; raises where some are missing, unless that is allowed."""
    require_target(estimator, X)
    missing = X.labels().missing()
    if missing is not None and not allow_missing:
        raise unlabelled_error(estimator, f"a missing one in block {missing[0]} of {X.where}")
    return X.target()


def require_weight_support(estimator: Any, X: Rows) -> None:
    """Raise where rows of files have weights and the method takes none."""
    if X.has_weight and "sample_weight" not in signature(estimator.fit).parameters:
        raise ValueError(f"{owner_name(estimator)} takes no weights; scan the rows without sample_weight=.")


def labels_to_score(estimator: Any, X: Any, y: Any, sample_weight: Any, allow_missing: bool = False) -> tuple[Any, Any]:
    """Labels and weights to measure scores by: those given, else those that rows of files have of their own."""
    if isinstance(X, Rows) and y is None:
        y = file_labels(estimator, X, allow_missing)
    if not allow_missing:
        require_labels_to_score(owner_name(estimator), X, y)
    return y, own_weight(X, sample_weight)


def require_labels_to_score(owner: str, X: Any, y: Any) -> None:
    """Raise where scores of rows are to be measured, and neither they nor the caller have labels."""
    if y is None and not isinstance(X, Rows):
        raise invalid_value(owner, "y", "hold the labels of X", None)


def own_labels(X: Any, y: Any) -> Any:
    """The labels given, else those that rows of files have of their own, some perhaps missing; None: there are none."""
    return X.target() if y is None and isinstance(X, Rows) else y


def own_outcome(estimator: Any, X: Any, y: Any) -> Any:
    """The levels, numbers or times given, else the target of rows of files, of however many different numbers."""
    if y is None and isinstance(X, Rows):
        require_target(estimator, X)
        return X.target(classes=False)
    return y


def own_columns(X: Any) -> list[str] | None:
    """The names of the columns of rows of files, which their blocks do not have; None: X has names, or needs none."""
    return X.columns if isinstance(X, Rows) else None


def own_weight(X: Any, sample_weight: Any) -> Any:
    """The weights given, else those that rows of files have of their own; None: there are none."""
    return X.sample_weight() if sample_weight is None and isinstance(X, Rows) else sample_weight
