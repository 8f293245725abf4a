"""Labels, scores and weights as people pass them, checked once and turned into plain arrays."""

import numbers

import numpy as np

NUMERIC = "biuf"


def column(owner, name, values):
    """One-dimensional array of `values`; a single column of shape (n, 1) is flattened."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        hint = " Pass one column, such as predict_proba(X)[:, 1]." if array.ndim == 2 else ""
        raise ValueError(
            f"The '{name}' parameter of {owner} must be an array of shape (n,). "
            f"Got shape {array.shape} instead.{hint}"
        )
    return array


def numbers_column(owner, name, values):
    """float32 or float64 column without NaN; infinities are allowed, they still rank."""
    array = column(owner, name, values)
    if array.dtype not in (np.float32, np.float64):
        array = _as_float64(owner, name, array)
    if np.isnan(array).any():
        raise ValueError(
            f"The '{name}' parameter of {owner} must hold numbers that can be ordered. Got NaN "
            f"in {np.count_nonzero(np.isnan(array))} of {array.size} rows instead."
        )
    return array


def _as_float64(owner, name, array):
    try:
        if array.dtype.kind in NUMERIC + "O":
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"The '{name}' parameter of {owner} must be an array of real numbers. "
        f"Got an array of {array.dtype} instead."
    )


def weight_column(owner, values):
    """Finite, non-negative float64 weights."""
    weight = numbers_column(owner, "sample_weight", values).astype(np.float64, copy=False)
    bad = ~((weight >= 0.0) & np.isfinite(weight))
    if bad.any():
        raise ValueError(
            f"The 'sample_weight' parameter of {owner} must hold floats in [0.0, inf). "
            f"Got {weight[bad][0]} instead."
        )
    return weight


def same_length(owner, **columns):
    """Refuse columns of unlike lengths, and empty ones."""
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{size} in {name}" for name, size in sizes.items())
        raise ValueError(f"{owner} expects columns of one length. Got {said} rows instead.")
    if 0 in sizes.values():
        raise ValueError(f"{owner} expects at least one row. Got 0 rows instead.")


def positives(owner, y, pos_label=None):
    """Which rows are positive: those of the greater of two labels, or of `pos_label`.

    Where all rows share one label it counts as positive unless `pos_label` is another.
    """
    if y.dtype.kind in NUMERIC:
        # Two passes instead of np.unique, which would sort a million labels.
        low, high = y.min(), y.max()
        is_high = y == high
        two = np.count_nonzero(is_high) + np.count_nonzero(y == low) == len(y)
        labels = [low] if low == high else [low, high] if two else np.unique(y)
    else:
        labels, is_high = _label_set(owner, y), None
    _at_most_two(owner, labels)
    return _mark(owner, y, labels, is_high, pos_label)


def _label_set(owner, y):
    try:
        labels = np.unique(y)
        missing = any(label is None or label != label for label in labels.tolist())
    except TypeError:
        missing = True
    if missing:
        raise ValueError(
            f"The 'y_true' parameter of {owner} must hold labels of one kind, none missing. "
            f"Got {set(map(type, y.tolist()))} instead."
        )
    return labels


def _at_most_two(owner, labels):
    if len(labels) > 2 or any(label != label for label in labels):
        said = ", ".join(map(str, labels[:5])) + (", ..." if len(labels) > 5 else "")
        raise ValueError(
            f"The 'y_true' parameter of {owner} must hold two labels, none missing. "
            f"Got {len(labels)} instead: {said}. Compare one label with the rest: y_true == label."
        )


def _mark(owner, y, labels, is_high, pos_label):
    if pos_label is None:
        pos_label = labels[-1]
    known = any(label == pos_label for label in labels)
    if len(labels) == 2 and not known:
        raise ValueError(
            f"The 'pos_label' parameter of {owner} must be one of the labels "
            f"{labels[0]} and {labels[1]}. Got {pos_label!r} instead."
        )
    if is_high is not None and labels[-1] == pos_label:
        return is_high
    return np.asarray(y == pos_label, dtype=bool) if known else np.zeros(len(y), bool)


def number_in(owner, name, value, low, high, *, closed=""):
    """`value` as a float inside (low, high); `closed` lists the ends that belong to the range."""
    ends = ("[" if "l" in closed else "(", "]" if "r" in closed else ")")
    inside = isinstance(value, numbers.Real) and (
        low < value < high or ("l" in closed and value == low) or ("r" in closed and value == high)
    )
    if not inside:
        raise ValueError(
            f"The '{name}' parameter of {owner} must be a float in "
            f"{ends[0]}{low}, {high}{ends[1]}. Got {value!r} instead."
        )
    return float(value)
