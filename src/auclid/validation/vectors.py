"""Labels, scores, weights and groups, one value a row, as users pass them; turned into plain arrays.

Metrics name the parameter that is wrong, as functions do; estimators use the sentences of scikit-learn's checks.
"""

import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from auclid._hints import reads_as_number
from auclid.data.dask import is_dask, vector_parts
from auclid.data.dataset import Dataset
from auclid.data.encoding import is_missing
from auclid.data.files import Rows
from auclid.errors import Described, InvalidValueError, invalid_value, missing_label, owner_name, quoted_value
from auclid.stats.weights import rescale_weights

NUMERIC = "biuf"


MAX_EXACT_INTEGER = 1 << 53
"""The integers up to here are all floats; beyond, only some."""


MAX_WRITTEN_BITS = 10_000
"""Bits from which on an integer is not written out: Python refuses to write very long ones."""


MAX_MEAN_WEIGHT = 100.0
"""Times that a row of a batch may be met, in the mean: more are a scale of weights that was not meant so."""


def column(owner: str, name: str, values: ArrayLike | Rows) -> np.ndarray:
    """One-dimensional array of `values`, of shape (n,) or (n, 1). As y, `Rows` give their labels."""
    if isinstance(values, Rows) and name not in ("y", "y_true"):
        got = Described("rows of files, which give only labels and weights")
        hint = "Read the column from the file, or compute scores with decision_function(rows)."
        raise invalid_value(owner, name, "be an array of shape (n,)", got, hint)
    if np.ma.isMaskedArray(values):
        expected = "be an array without a mask, whose masked rows would be read as if they were not"
        hint = f"Leave masked rows out of every column, such as {name}.compressed() where they share one mask."
        raise invalid_value(owner, name, expected, Described("a masked array"), hint)
    array = np.asarray(values.target() if isinstance(values, Rows) else values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        hint = "Pass one column, such as predict_proba(X)[:, 1]." if array.ndim == 2 else ""
        raise invalid_value(owner, name, "be an array of shape (n,)", Described(f"shape {array.shape}"), hint)
    return array


def partitioned_columns(
    owner: str, y: Any, scores: list[Any], weight: Any = None, only_ranked: bool = True
) -> Dataset | None:
    """Labels, scores and weights as a dataset where labels or scores are Dask collections; None where none is."""
    if not any(is_dask(column) for column in (y, *scores)):
        return None
    return vector_parts(owner, y, scores, weight, only_ranked)


def numbers_column(owner: str, name: str, values: ArrayLike) -> np.ndarray:
    """float32 or float64 column without NaN; infinities are allowed, they still rank."""
    array = _real(owner, name, values)
    _refuse_nan(owner, name, array)
    return array


def finite_column(owner: str, name: str, values: ArrayLike) -> np.ndarray:
    """float32 or float64 column of finite numbers, for who uses scores as more than a ranking."""
    array = _real(owner, name, values)
    if not np.isfinite(array).all():
        _refuse_nan(owner, name, array)
        got = Described(f"an infinity in {np.count_nonzero(np.isinf(array))} of {array.size} rows")
        hint = "Pass ranks, such as those of scipy.stats.rankdata, where only the order counts."
        raise invalid_value(owner, name, "hold finite numbers", got, hint)
    return array


def _real(owner: str, name: str, values: ArrayLike) -> np.ndarray:
    """float32 or float64 column, whatever it holds."""
    array = column(owner, name, values)
    if array.dtype not in (np.float32, np.float64):
        array = _as_float64(owner, name, array)
    elif isinstance(values, list | tuple) and np.any(np.abs(array) > MAX_EXACT_INTEGER):
        # NumPy rounds a list of mixed integers by itself, before there is an array of them.
        _refuse_rounding(owner, name, np.array([*values, None], dtype=object)[:-1].ravel(), array)
    return array


def _refuse_nan(owner: str, name: str, array: np.ndarray) -> None:
    if np.isnan(array).any():
        got = Described(f"NaN in {np.count_nonzero(np.isnan(array))} of {array.size} rows")
        raise invalid_value(owner, name, "hold numbers that can be ordered", got)


def _as_float64(owner: str, name: str, array: np.ndarray) -> np.ndarray:
    wide = None
    if array.dtype.kind in NUMERIC + "O":
        try:
            wide = array.astype(np.float64)
        except OverflowError:
            raise _inexact(owner, name, next(filter(_overflows, array.tolist()))) from None
        except (TypeError, ValueError):
            wide = None
    if wide is None:
        raise invalid_value(owner, name, "be an array of real numbers", Described(f"an array of {array.dtype}"))
    _refuse_rounding(owner, name, array, wide)
    return wide


def _overflows(value: Any) -> bool:
    """Whether a number is beyond the largest float."""
    try:
        float(value)
    except OverflowError:
        return True
    except (TypeError, ValueError):
        return False
    return False


def _refuse_rounding(owner: str, name: str, array: np.ndarray, wide: np.ndarray) -> None:
    """Raise where float64 rounds numbers so that two that differ would tie, and a tie counts one half."""
    if array.dtype.kind == "f":
        rounded = (array != wide) & ~np.isnan(array)
        if rounded.any() and len(np.unique(wide)) < len(np.unique(array)):
            raise _inexact(owner, name, array[rounded][0])
        return
    if array.dtype.itemsize < 8 or len(array) == 0:
        return
    if array.dtype.kind != "O" and -MAX_EXACT_INTEGER <= int(array.min()) and int(array.max()) <= MAX_EXACT_INTEGER:
        return
    for given, kept in zip(array.tolist(), wide.tolist(), strict=True):
        if isinstance(given, int) and given != kept:
            raise _inexact(owner, name, given)


def _inexact(owner: str, name: str, number: Any) -> InvalidValueError:
    """The error for a number that float64 does not hold exactly."""
    is_long = isinstance(number, int) and number.bit_length() > MAX_WRITTEN_BITS
    shown = f"of {number.bit_length():,} bits" if is_long else str(number)[:24]
    got = Described(f"the {'integer' if isinstance(number, int) else 'number'} {shown}")
    hint = "Pass ranks, such as those of scipy.stats.rankdata."
    return invalid_value(owner, name, "hold numbers that float64 holds exactly", got, hint)


def weight_column(owner: str, values: ArrayLike) -> np.ndarray:
    """Finite, non-negative float64 weights, not far from 1: only their ratios count."""
    weight = numbers_column(owner, "sample_weight", values).astype(np.float64, copy=False)
    bad = ~((weight >= 0.0) & np.isfinite(weight))
    if bad.any():
        raise invalid_value(owner, "sample_weight", "hold floats in [0.0, inf)", weight[bad][0])
    return rescale_weights(weight)


def row_weights(owner: str, y: ArrayLike | Rows, sample_weight: ArrayLike | None) -> np.ndarray | None:
    """Valid weights of the rows of `y`: those given, or else those of its files; None where neither is."""
    if sample_weight is None and isinstance(y, Rows):
        sample_weight = y.sample_weight()
    if sample_weight is None:
        return None
    weight = weight_column(owner, sample_weight)
    same_length(owner, y_true=column(owner, "y_true", y), sample_weight=weight)
    return weight


def codes(owner: str, name: str, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """(The different values of a column, ascending; the number of each row's one among them)."""
    array = column(owner, name, values)
    if array.dtype.kind in "biu" and len(array) and array.dtype != np.uint64:
        low, width = int(array.min()), int(array.max()) - int(array.min()) + 1
        if width <= 4 * len(array) + 1024:  # no sort where the values are dense
            shifted = array.astype(np.int64) - low
            present = np.bincount(shifted, minlength=width) > 0
            return (np.flatnonzero(present) + low).astype(array.dtype), (np.cumsum(present) - 1)[shifted]
    labels = label_set(owner, array, name)
    return labels, np.searchsorted(labels, array)


def same_length(owner: str, **columns: np.ndarray) -> None:
    """Refuse columns of unlike lengths, and empty ones."""
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) > 1:
        (first, size), *others = sizes.items()
        said = ", ".join([f"{size} row{'s'[: size != 1]} in {first}", *(f"{size} in {name}" for name, size in others)])
        raise ValueError(f"{owner} expects columns of one length. Got {said} instead.")
    if 0 in sizes.values():
        raise ValueError(f"{owner} expects at least one row. Got 0 rows instead.")


def positives(owner: str, y: np.ndarray, pos_label: Any = None, name: str = "y_true") -> np.ndarray:
    """Which rows are positive: those of the greater of two numbers, or of `pos_label`.

    Where all rows share one label it counts as positive unless `pos_label` is another.
    """
    labels = one_or_two(y)
    if labels is None:
        labels = np.unique(y) if y.dtype.kind in NUMERIC else label_set(owner, y, name)
    _at_most_two(owner, y, labels, name)
    if pos_label is None:
        refuse_text(owner, labels, name)
    return _mark(owner, y, labels, pos_label)


def refuse_text(owner: str, labels: Sequence[Any] | np.ndarray, name: str = "y_true") -> None:
    """Raise where two labels are strings: their spelling does not say which one is positive."""
    if len(labels) == 2 and all(isinstance(label, str) for label in labels):
        first, second = (repr(str(label)) for label in labels)
        got, hint = Described(f"None with {first} and {second}"), f"Pass pos_label={first} or pos_label={second}."
        raise invalid_value(owner, "pos_label", f"name the positive label, since {name} holds strings", got, hint)


def declared_positive(values: Any, pos_label: Any = None) -> Any:
    """`pos_label`; where it is None, the greatest category that occurs in an ordered categorical column.

    That is pandas' ordered Categorical and polars' Enum. None for any other column.
    """
    dtype = getattr(values, "dtype", None)
    if pos_label is not None or not (getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum"):
        return pos_label
    declared = getattr(dtype, "categories", None)
    categories = [] if declared is None else list(declared)
    if len(categories) > 2:
        present = set(np.asarray(values).tolist())
        categories = [category for category in categories if category in present]
    return categories[-1] if categories else None


def one_or_two(y: np.ndarray) -> np.ndarray | None:
    """The labels of a column of one or two numbers, ascending; None where they are others or more.

    A few passes: np.unique would sort or hash a million labels.
    """
    if y.dtype.kind not in NUMERIC or not len(y):
        return None
    low, high = y.min(), y.max()
    count = np.count_nonzero(y == low) + (np.count_nonzero(y == high) if low != high else 0)
    return None if count != len(y) else np.array([low] if low == high else [low, high], dtype=y.dtype)


def both_classes(owner: str, y: np.ndarray, is_pos: np.ndarray, pos_label: Any = None) -> None:
    """Refuse rows of one class, in words that do not guess which one it is."""
    if is_pos.all() or not is_pos.any():
        absent = pos_label is not None and not is_pos.any()
        which = f"no row of pos_label={quoted_value(pos_label)} among" if absent else "only"
        raise ValueError(
            f"{owner} expects rows of both classes, positives and negatives. "
            f"Got {which} {len(y)} rows of the label {y[0]} instead."
        )


def label_set(owner: str, y: np.ndarray, name: str = "y_true") -> np.ndarray:
    """The different labels of a column, ascending; refuses missing ones and mixtures of kinds."""
    try:
        labels = np.unique(y)
        missing = any(label is None or label != label for label in labels.tolist())
    except TypeError:
        missing = True
    if missing:
        _refuse_missing(owner, y, name)
        kinds = " and ".join(sorted({type(value).__name__ for value in y.tolist()}))
        raise invalid_value(owner, name, "hold labels of one kind", Described(kinds))
    return labels


def _refuse_missing(owner: str, y: np.ndarray, name: str) -> None:
    count = sum(map(is_missing, y.tolist()))
    if count:
        raise missing_label(f"a missing one in {count:,} of {len(y):,} rows", owner=owner, parameter=name)


def _at_most_two(owner: str, y: np.ndarray, labels: Any, name: str) -> None:
    if any(label != label for label in labels):
        _refuse_missing(owner, y, name)
    if len(labels) > 2:
        said = ", ".join(map(str, labels[:5])) + (", ..." if len(labels) > 5 else "")
        raise InvalidValueError(
            f"The '{name}' parameter of {owner} must hold two labels. "
            f"Got {len(labels)} instead: {said}. Compare one label with the rest: {name} == label."
        )


def _mark(owner: str, y: np.ndarray, labels: Any, pos_label: Any) -> np.ndarray:
    if pos_label is None:
        pos_label = labels[-1]
    known = any(label == pos_label for label in labels)
    if len(labels) == 2 and not known:
        raise invalid_value(owner, "pos_label", f"be one of the labels {labels[0]} and {labels[1]}", pos_label)
    return np.asarray(y == pos_label, dtype=bool) if known else np.zeros(len(y), bool)


def labels(y: Any) -> np.ndarray:
    """y as a one-dimensional array of class labels."""
    y = column_or_1d(y, warn=True)
    one_kind(y)
    few = one_or_two(y)
    if few is None or np.any(few % 1 != 0):
        check_classification_targets(y)
    return y


def one_kind(labels: np.ndarray) -> None:
    """Raise where there are both strings and other labels: nothing says which is the greater one."""
    if labels.dtype == object and len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError(f"y must hold labels of one kind, numbers or strings; got both, as in {labels[:3].tolist()}.")


def two_classes(estimator: Any, classes: ArrayLike) -> np.ndarray:
    """The two sorted classes, or a sentence saying how many there are."""
    given = np.asarray(classes)
    few = one_or_two(given)
    classes = np.unique(given) if few is None else few
    if len(classes) > 2:
        kind = type_of_target(classes)
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. "
            f"{owner_name(estimator)} ranks one class above another; got {len(classes)} classes. "
            "Compare one class against the rest with y == label."
        )
    if len(classes) < 2:
        raise ValueError(
            f"{owner_name(estimator)} must see two classes to rank one above the other; "
            f"got {len(classes)} class: {classes.tolist()}."
        )
    return classes


def common_text_on_top(labels: Sequence[Any], counts: Sequence[int]) -> bool:
    """Whether the greater of two labels is a word that most rows have: nothing but spelling would rank it on top.

    Examples
    --------
    >>> from auclid.validation.vectors import common_text_on_top
    >>> common_text_on_top(["fraud", "legit"], [10, 990]), common_text_on_top(["no", "yes"], [990, 10])
    (True, False)
    >>> common_text_on_top([0, 1], [10, 990])
    False
    """
    if len(labels) != 2 or not all(isinstance(label, str) and not reads_as_number(label) for label in labels):
        return False
    greater = int(labels[1] > labels[0])
    return counts[greater] > counts[1 - greater]


def warn_if_common_on_top(estimator: Any, y: np.ndarray, classes: np.ndarray) -> None:
    """Warn where the positive class is a word that most rows have."""
    counts = [int(np.count_nonzero(y == label)) for label in classes]
    if common_text_on_top(classes.tolist(), counts):
        rare, common = str(classes[0]), str(classes[1])
        warnings.warn(
            f"{owner_name(estimator)} ranks {common!r} on top, the greater of the two labels, although it is the "
            f"common one: {counts[1]:,} of {len(y):,} rows. Pass y == {rare!r} to rank the other one on top.",
            UserWarning,
            stacklevel=5,
        )


def known_labels(estimator: Any, y: np.ndarray, classes: np.ndarray) -> None:
    """Raise when y holds a label that is not among the classes the estimator knows."""
    few = one_or_two(y)
    strange = np.setdiff1d(y if few is None else few, classes)
    if len(strange):
        raise ValueError(
            f"y must hold only the classes {classes.tolist()} that {owner_name(estimator)} knows; "
            f"got {strange[:3].tolist()} as well. Pass both classes at the first partial_fit."
        )


def weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """One float64 weight a row, not negative; None stays None (all ones)."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(X.shape[0], sample_weight)
    sample_weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight")
    if sample_weight.shape != X.shape[:1]:
        raise ValueError(f"sample_weight must have shape {X.shape[:1]}, one weight a row; got {sample_weight.shape}.")
    if sample_weight.min() < 0.0:
        raise ValueError(f"sample_weight must not be negative; got {sample_weight.min()}.")
    return sample_weight


def check_relative_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Check the weights of all rows, of which only ratios count; rescale them where they are far from 1."""
    weight = weights(sample_weight, X)
    return None if weight is None else rescale_weights(weight)


def both_weighed(estimator: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> None:
    """Raise when all rows of a class weigh nothing."""
    if weight is not None:
        weighed_classes(estimator, weight[~is_pos].sum(), weight[is_pos].sum())


def weighed_classes(estimator: Any, negative: float, positive: float) -> None:
    """Raise when one of the classes, given by their weights, weighs nothing."""
    for name, mass in (("positive", positive), ("negative", negative)):
        if not mass:
            raise ValueError(
                f"{owner_name(estimator)} must see two classes of positive weight; "
                f"got sample_weight zero on every {name} row."
            )


def check_weight_scale(estimator: Any, weight: np.ndarray | None) -> None:
    """Raise where the weights of a batch would have its rows met very often."""
    if weight is not None and len(weight) and weight.sum() > MAX_MEAN_WEIGHT * len(weight):
        raise ValueError(
            f"sample_weight of {owner_name(estimator)}.partial_fit must be at most {MAX_MEAN_WEIGHT:.0f} in the mean "
            f"of a batch, since it says how often a row is met; got {weight.mean():.4g}. "
            "Divide all weights by about that."
        )
