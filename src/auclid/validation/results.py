"""What a fit or a prediction ends with: finite numbers, and an estimator that is fitted."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from auclid.data import Table
from auclid.errors import owner_name

MIN_SQUARABLE, MAX_SQUARABLE = 1e-140, 1e140
"""Numbers whose squares, times a table's size, stay within floating point."""


def finite(estimator: Any, w: Any) -> Any:
    """w itself, or one sentence when the arithmetic overflowed."""
    if not np.all(np.isfinite(w)):
        raise ValueError(
            f"{owner_name(estimator)} must end with finite weights, but its steps overflowed. "
            "Scale the columns of X (for instance with StandardScaler) or use a smaller step, where there is one."
        )
    return w


def finite_state(estimator: Any, state: Any, longest: int) -> Any:
    """The state itself, or one sentence where numbers in it overflowed; arrays beyond ``longest`` are left out.

    A sum that overflowed stays so, whatever comes after it: such a batch must not be learnt from.
    """
    if not all(np.isfinite(x).all() for x in _arrays(state) if x.size <= longest):
        raise ValueError(
            f"{owner_name(estimator)} must go on with finite numbers, but these rows make its sums overflow. "
            "Nothing was learnt from them. Scale the columns of X, for instance with StandardScaler."
        )
    return state


def _arrays(state: Any) -> Iterator[np.ndarray]:
    """The arrays of floating numbers in a state."""
    if isinstance(state, tuple):
        for part in state:
            yield from _arrays(part)
    elif isinstance(state, np.ndarray) and state.dtype.kind == "f":
        yield state


def measurable(estimator: Any, distances: Any) -> Any:
    """Distances, or what is made of them; one sentence where they are beyond floating point."""
    if not np.isfinite(np.sum(distances)):
        raise ValueError(
            f"{owner_name(estimator)} must measure how far rows are apart, but the squares of their distances are "
            "beyond floating point. Scale the columns of X, for instance with StandardScaler."
        )
    return distances


def finite_scores(estimator: Any, scores: np.ndarray, dtype: Any, what: str = "scores") -> np.ndarray:
    """Scores in a floating type, or one sentence where some are no finite numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = scores.astype(dtype, copy=False)
        suspect = not np.isfinite(scores.sum())  # quicker than to look at each, and right unless a sum overflows
    if suspect and not np.isfinite(scores).all():
        count = int((~np.isfinite(scores)).sum())
        raise ValueError(
            f"{owner_name(estimator)} must give finite {what}, but {count} of them are beyond {scores.dtype}. "
            "Scale the columns of X, for instance with StandardScaler."
        )
    return scores


def warn_if_constant_scores(
    estimator: Any, table: Table, scores: np.ndarray, said: str = "gives every row the same score"
) -> None:
    """Warn where all scores are equal because the squares of the rows are beyond floating point."""
    if not len(scores) or scores.min() < scores.max():
        return
    size = largest(table)
    if size > 0.0 and not MIN_SQUARABLE < size < MAX_SQUARABLE:
        warnings.warn(
            f"{owner_name(estimator)} {said}: rows of size {size:.1g} have squares beyond floating "
            "point. Scale the columns of X, for instance with StandardScaler.",
            UserWarning,
            stacklevel=4,
        )


def largest(table: Table) -> float:
    """The size of the largest entry."""
    entries = (block.data if sparse.issparse(block) else block for _, block in table.blocks())
    return float(max((np.abs(part).max(initial=0.0) for part in entries), default=0.0))


def fitted(estimator: Any, attribute: str = "classes_") -> None:
    """Raise scikit-learn's error when the estimator has not been fitted."""
    if not hasattr(estimator, attribute):
        raise NotFittedError(
            f"This {owner_name(estimator)} instance is not fitted yet. Call 'fit' with appropriate arguments "
            "before using this estimator."
        )


def last_step(model: Any) -> Any:
    """The model itself, or the last step of a pipeline."""
    return last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def mergeable(a: Any, b: Any) -> None:
    """Raise unless b's state can be added to a's: same class, parameters, features and labels."""
    if type(a) is not type(b):
        raise TypeError(f"merge must be given another {owner_name(a)}; got {owner_name(b)}.")
    fitted(a, "n_features_in_")
    fitted(b, "n_features_in_")
    for what, of_a, of_b in (
        ("parameters", a.get_params(), b.get_params()),
        ("number of features", a.n_features_in_, b.n_features_in_),
        ("feature names", *(list(getattr(m, "feature_names_in_", [])) for m in (a, b))),
        ("classes", *(np.asarray(getattr(m, "classes_", [])).tolist() for m in (a, b))),
    ):
        if not _equal(of_a, of_b):
            owner = owner_name(a)
            raise ValueError(f"merge must be given a {owner} with the same {what}; got {of_b}, expected {of_a}.")


def _equal(a: Any, b: Any) -> bool:
    """a == b, also where a parameter is NaN."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b or (a != a and b != b))
