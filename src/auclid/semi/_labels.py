"""Which rows are positive, negative or unlabelled: one contract for all semi-supervised methods."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils._missing import is_scalar_nan

from auclid import validation
from auclid.base import Ranker
from auclid.data import Stacked, Table
from auclid.data.dataset import Part
from auclid.data.types import RowsLike
from auclid.metrics._auc import checked_auc
from auclid.stats.labelled import LabelledDataset, reweighted
from auclid.stats.sets import UNLABELED
from auclid.stats.weights import repeats, rescale_weights
from auclid.validation import RowAccess


def row_weights(sample_weight: Any, n_rows: int, sets: np.ndarray) -> np.ndarray | None:
    """As how many rows each row counts: the ``n_rows`` of X by their weights, those of X_unlabeled as of weight 1."""
    given = validation.weights(sample_weight, np.empty((n_rows, 0)))
    if given is None:
        return None
    if not given.any():
        raise ValueError(
            "sample_weight must be positive on some rows of each labelled class; got zero on every row. "
            "Leave it out to weigh all alike."
        )
    return repeats(np.concatenate([rescale_weights(given), np.ones(len(sets) - len(given))]), sets)


def _warn_of_no_unlabelled(estimator: Any) -> None:
    warnings.warn(
        f"{type(estimator).__name__} was given no unlabelled rows, so it learns from the labelled ones alone. "
        "Mark them in y (-1, None or NaN; see unlabeled=), or pass X_unlabeled.",
        UserWarning,
        stacklevel=6,
    )


def _partitioned(estimator: Any, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any) -> LabelledDataset:
    if X_unlabeled is not None and estimator._row_access is RowAccess.PARTS:
        raise ValueError(
            f"{type(estimator).__name__} must find unlabelled rows among the others where rows lie in files or on a "
            "cluster: mark them in the target (-1, None or NaN; see unlabeled=), and leave out X_unlabeled."
        )
    parts, counts = validation.labelled_parts(estimator, X, y, sample_weight)
    labels = list(dict.fromkeys(label for part in counts for label in part))
    marked = validation.partial_labels(_column(labels), estimator.unlabeled)
    classes = _classes(estimator, marked.labels)
    free = [label for label, unlabelled in zip(labels, marked.unlabelled, strict=True) if unlabelled]
    validation.remember_columns(estimator, parts.columns, parts.width)
    estimator.classes_ = classes
    sets = [*([label] for label in classes.tolist()), free]
    rows = validation.count_labels(parts.relabelled(partial(numbered_sets, classes)), classes, sets, counts)
    codes, given = rows.labels()
    if estimator._row_access is not RowAccess.PARTS:
        return _one_part(estimator, parts.row_table(rows.every.sum(axis=1)), codes, given, classes, X_unlabeled)
    weight = estimator._row_weights(given, len(codes), codes)
    return rows if weight is None else reweighted(rows, weight)


def _in_memory(estimator: Any, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any) -> LabelledDataset:
    validation.require_labels(estimator, y)
    marked = validation.partial_labels(y, estimator.unlabeled)
    table, _ = validation.check_rows_and_labels(estimator, X, marked.y, reset=True)
    classes = _classes(estimator, marked.labels)
    return _one_part(estimator, table, _sets(marked, classes), sample_weight, classes, X_unlabeled)


def _one_part(
    estimator: Any, table: Table, sets: np.ndarray, sample_weight: Any, classes: np.ndarray, X_unlabeled: Any
) -> LabelledDataset:
    """The rows of a table, whose sets are known, and more unlabelled ones."""
    n_rows = len(sets)
    if X_unlabeled is not None:
        table = Stacked(table, _unlabelled_rows(estimator, X_unlabeled))
        sets = np.concatenate([sets, np.full(table.shape[0] - n_rows, UNLABELED, dtype=np.int8)])
    weight = estimator._row_weights(sample_weight, n_rows, sets)
    estimator.classes_ = classes
    return LabelledDataset.from_table(table, sets, weight, classes, n_sets=3)


def _column(labels: list) -> np.ndarray:
    """Distinct labels as an array: of objects where one of them is missing."""
    if None in labels or any(isinstance(label, str) for label in labels):
        column = np.empty(len(labels), dtype=object)
        column[:] = labels
        return column
    return np.array(labels)


def numbered_sets(classes: np.ndarray, part: Part) -> Part:
    """The part with the number of its set in place of each label: what is no class is unlabelled."""
    sets = np.full(len(part.labels), UNLABELED, dtype=np.int8)
    for number, label in enumerate(classes):
        sets[part.labels == label] = number
    return part._replace(y=sets)


def begin_partial(estimator: Any, X: Any, y: Any, classes: Any = None) -> tuple[Table, np.ndarray, bool]:
    """The table of a batch of a stream and the set of each of its rows; also says whether it is the first batch."""
    first = not hasattr(estimator, "classes_")
    known = classes if first else estimator.classes_
    marked = validation.partial_labels(y, estimator.unlabeled, known)
    table, _ = validation.check_rows_and_labels(estimator, X, marked.y, reset=first)
    if first and classes is None and len(marked.labels) > 2:
        _classes(estimator, marked.labels)
    known = estimator._stream_classes(marked.labels, classes, first)
    if first:
        known = _other_first(known, estimator.unlabeled)
    estimator.classes_ = known
    return table, _sets(marked, known), first


def _classes(estimator: Any, labels: np.ndarray) -> np.ndarray:
    """The two classes of `fit`, the negative one first."""
    if len(labels) == 1 and not validation.is_auto(estimator.unlabeled):
        return np.array([_other(labels[0], estimator.unlabeled), labels[0]])
    try:
        return validation.two_classes(estimator, labels)
    except ValueError as error:
        raise ValueError(f"{error} {MANY_CLASSES_HINT if len(labels) > 2 else ONE_CLASS_HINT}") from None


MANY_CLASSES_HINT = (
    "Which rows are unlabelled is told by unlabeled=, the label that marks them; it is -1 by itself where numeric y "
    "holds -1 and exactly two other labels."
)
ONE_CLASS_HINT = "Where the rest is unlabelled, say so: unlabeled=, the label that marks it, or None for None and NaN."


def _other(label: Any, mark: Any) -> Any:
    """The name of the class that no row is labelled with: the mark itself, or 0, or 'not ...'."""
    if mark is not None and not is_scalar_nan(mark):
        return mark
    if isinstance(label, str):
        return f"not {label}"
    return type(label)(0) if label != 0 else type(label)(1)


def _other_first(classes: np.ndarray, mark: Any) -> np.ndarray:
    """The classes with the one that marks unlabelled rows first: it is the negative one, whatever it is called."""
    return classes[::-1] if mark is not None and classes[1] == mark else classes


class PartlyLabelled(Ranker):
    """A ranker that learns from labelled and unlabelled rows; `score` passes over unlabelled ones."""

    unlabeled: Any

    def _labelled_dataset(
        self, X: RowsLike, y: Any = None, sample_weight: Any = None, X_unlabeled: Any = None
    ) -> LabelledDataset:
        """Labelled and unlabelled rows, checked; rows in parts hold their unlabelled rows among them."""
        if isinstance(X, LabelledDataset):
            return validation.prepared_dataset(self, X)
        read_rows = _partitioned if validation.in_parts(X) else _in_memory
        rows = read_rows(self, X, y, X_unlabeled, sample_weight)
        if self._uses_unlabelled() and not rows.every[:, UNLABELED].any():
            _warn_of_no_unlabelled(self)
        return rows

    def _uses_unlabelled(self) -> bool:
        """Whether the parameters let unlabelled rows count: then it is worth a warning that there are none."""
        return True

    def _row_weights(self, sample_weight: Any, n_rows: int, sets: np.ndarray) -> np.ndarray | None:
        """As how many rows each row in memory counts; the first ``n_rows`` have weights."""
        return row_weights(sample_weight, n_rows, sets)

    def score(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> float:
        """The AUC on the labelled rows; those that y marks as unlabelled are left out, unless a class has that name.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float
        """
        validation.fitted(self)
        y, sample_weight = validation.labels_to_score(self, X, y, sample_weight, allow_missing=True)
        mark = None if self.unlabeled in self.classes_.tolist() else self.unlabeled
        marked = validation.partial_labels(y, mark, self.classes_)
        if y is None or not marked.unlabelled.any():
            return super().score(X, y, sample_weight)
        known = np.flatnonzero(~marked.unlabelled)
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        scores = np.asarray(self.decision_function(X))[known]
        return checked_auc(f"{type(self).__name__}.score", marked.y[known], scores, weight, self.classes_[1])


def _sets(marked: validation.PartialLabels, classes: np.ndarray) -> np.ndarray:
    sets = (marked.y == classes[1]).astype(np.int8)
    sets[marked.unlabelled] = UNLABELED
    return sets


def _unlabelled_rows(estimator: Any, X_unlabeled: Any) -> Table:
    try:
        return validation.check_rows(estimator, X_unlabeled)
    except ValueError as error:
        raise ValueError(f"X_unlabeled must be rows like those of X, with the same columns. {error}") from None
