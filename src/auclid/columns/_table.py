"""A table as estimators of any columns take it: checked, counted and named, but not yet turned into numbers."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data

from auclid._check import in_order
from auclid._sources import in_memory_only
from auclid.data.encoding import is_frame


def checked_table(estimator: BaseEstimator, X: Any, reset: bool) -> Any:
    """X as a frame, an array of floats or objects, or a CSR matrix, with the columns that the estimator knows."""
    in_memory_only(estimator, X)
    if is_frame(X):
        _check_feature_names(estimator, X, reset=reset)
        _check_n_features(estimator, X, reset=reset)
        for what, count in zip(("sample", "feature"), X.shape, strict=True):
            if not count:
                raise ValueError(f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required.")
        return X
    kinds: dict[str, Any] = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": "allow-nan"}
    X = validate_data(estimator, in_order(estimator, X), reset=reset, **kinds)
    if X.dtype.kind in "biuf" and X.dtype not in (np.float32, np.float64):
        return X.astype(np.float64)
    return X


def taken(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a checked table."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.take(rows) if hasattr(X, "schema") and hasattr(X, "column_names") else X[rows]


def floating(X: Any) -> np.dtype:
    """The type of scores of a checked table: that of an array of floats, float64 otherwise."""
    dtype = getattr(X, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) and dtype.kind == "f" else np.dtype(np.float64)
