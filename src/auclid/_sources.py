"""Rows of files and dask collections as estimators may, or may not, take them."""

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np

from auclid.data.dask import is_dask
from auclid.data.file_table import FileTable
from auclid.data.files import Rows

DASK = (
    "LeastSquaresAUC, LeastSquaresAUCCV, MulticlassAUC, MinimaxAUC, ConstrainedAUC, RankSVM, SAMULT, PNUAUC, "
    "Scorecard, AUCClassifier, and Kernelized or Calibrated with one of them"
)
"""What learns from a dask collection."""


def not_dask(estimator: Any, X: Any) -> None:
    """Refuse a dask collection where rows are met one after the other, and name what can."""
    if is_dask(X):
        raise TypeError(
            f"{type(estimator).__name__} needs its rows in one place and cannot be fitted on a dask collection; "
            f"{DASK} can. Rows of files, auclid.scan(...), are fine for every method that learns a row at a time."
        )


def in_memory_only(estimator: Any, X: Any) -> None:
    """Refuse rows of files and dask collections where all rows must be in memory."""
    if isinstance(X, Rows):
        raise TypeError(
            f"{type(estimator).__name__} must have its rows in memory; got rows of files. "
            "Pass a part of them, such as rows.sample(100_000)."
        )
    if is_dask(X):
        raise TypeError(
            f"{type(estimator).__name__} must have its rows in memory; got a dask collection. "
            f"Compute a part of it, such as X[:100_000].compute(); {DASK} learn from all of it."
        )


def own_labels(estimator: Any, rows: Rows) -> Any:
    """The labels of rows of files, without missing ones."""
    with_target(estimator, rows)
    missing = rows.labels().missing()
    if missing is not None:
        raise label_missing(rows.where, "block", missing[0])
    return rows.target()


def with_target(estimator: Any, rows: Rows) -> None:
    """Raise where rows of files have no labels."""
    if not rows.has_target:
        owner = type(estimator).__name__
        raise ValueError(f"{owner} learns from labels, but the rows have no target. Use scan(..., target=NAME).")


def label_missing(what: str, kind: str, number: int) -> ValueError:
    """What to say of a block or a partition in which a row has no label."""
    return ValueError(
        f"The target of {what} must have a label in each row; {kind} {number} has rows without one. "
        "Leave them out, or learn from them with SAMULT or PNUAUC."
    )


def to_measure(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Labels and weights to measure scores by: those given, else those that rows of files have of their own."""
    if isinstance(X, Rows):
        y = own_labels(estimator, X) if y is None else y
        sample_weight = X.sample_weight() if sample_weight is None else sample_weight
    return y, sample_weight


def own_weight(estimator: Any, rows: Rows) -> np.ndarray | None:
    """The weights of rows of files; refused where the method takes none."""
    weight = rows.sample_weight()
    if weight is not None and "sample_weight" not in signature(estimator.fit).parameters:
        raise ValueError(f"{type(estimator).__name__} takes no weights; scan the rows without sample_weight=.")
    return weight


def file_table(estimator: Any, X: Rows, reset: bool) -> FileTable:
    """The table of rows of files, which may have names; refused by methods that need all rows in memory."""
    if getattr(estimator, "_in_memory", None):
        raise TypeError(
            f"{type(estimator).__name__} must have all rows in memory and cannot take rows of files. "
            f"Use {estimator._in_memory}, or rows.sample(n)."
        )
    table = FileTable(X)
    if not reset:
        known_names(estimator, table.columns)
    return table


def known_names(estimator: Any, columns: Sequence[str] | None) -> None:
    """Raise where columns that have names are not those that the estimator has learnt from."""
    names = getattr(estimator, "feature_names_in_", None)
    if columns is not None and names is not None and list(columns) != list(names):
        absent = [name for name in names if name not in columns]
        said = f"{absent[0]!r} is missing" if absent else "they come in another order, or there are more"
        raise ValueError(
            f"The columns given to {type(estimator).__name__} must be those it was fitted with; {said}. "
            "Name them in scan(..., columns=model.feature_names_in_)."
        )
