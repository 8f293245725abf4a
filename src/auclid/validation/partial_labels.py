"""Labels of which some rows have none: what marks such rows, and which rows they are."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import column_or_1d

from auclid.data.encoding import is_missing
from auclid.validation.vectors import one_kind


class PartialLabels(NamedTuple):
    """A column of labels that some rows lack."""

    y: Any  # (n,): labels; where a row has none, any of the others
    unlabelled: Any  # (n,): which rows have none
    labels: Any  # the distinct labels of the rest, sorted


def partial_labels(y: Any, unlabeled: Any = "auto", known: Any = None) -> PartialLabels:
    """Labels, and which rows have none: None and NaN always, and the mark that ``unlabeled`` names.

    "auto" takes -1 for the mark where numeric y holds it and exactly two other labels, or, where the two classes are
    ``known``, where it is not one of them.

    Examples
    --------
    >>> from auclid.validation import partial_labels
    >>> partial_labels([0, -1, 1]).unlabelled
    array([False,  True, False])
    >>> partial_labels([1, -1, 1]).unlabelled
    array([False, False, False])
    """
    if y is None:
        return PartialLabels(None, None, None)
    y = column_or_1d(y, warn=True)
    unlabelled = np.array([is_missing(label) for label in y], dtype=bool) if y.dtype == object else y != y
    if not is_auto(unlabeled) and unlabeled is not None:
        unlabelled[~unlabelled] = y[~unlabelled] == unlabeled  # pd.NA is neither equal nor unequal
    there = _one_kind(y[~unlabelled])
    labels = np.unique(there)
    if is_auto(unlabeled) and _minus_one_marks(labels, known):
        unlabelled[~unlabelled] = there == -1
        labels = labels[labels != -1]
    filled = np.full(len(y), labels[0] if len(labels) else 0, dtype=there.dtype if len(labels) else np.intp)
    filled[~unlabelled] = y[~unlabelled]
    return PartialLabels(filled, unlabelled, labels)


def _one_kind(labels: np.ndarray) -> np.ndarray:
    """Labels as an array of numbers or of strings, where None or NaN among them had made it one of objects."""
    one_kind(labels)
    if labels.dtype != object or all(isinstance(label, str) for label in labels):
        return labels
    return np.array(labels.tolist())


def _minus_one_marks(labels: np.ndarray, known: Any) -> bool:
    """Whether -1 stands for unlabelled rows."""
    if labels.dtype.kind not in "iuf" or -1 not in labels:
        return False
    return len(labels) == 3 if known is None else -1 not in np.asarray(known).tolist()


def is_auto(unlabeled: Any) -> bool:
    """Whether the mark of rows without a label is found by itself."""
    return isinstance(unlabeled, str) and unlabeled == "auto"
