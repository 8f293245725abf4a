"""All pairs of a positive and a negative score at once, in O(n log n) time and O(n) memory.

`value`, `gradient` and `curvature_product` are for any learner that wants gradients of scores. Solvers use
`auclid.stats.pair_sums` directly: one ranking of the scores serves value, slopes and any number of products.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions, validate_params
from sklearn.utils.validation import check_consistent_length

from auclid import _check
from auclid.stats.pair_sums import ActivePairs, Pairs

FARTHEST = 1e140
"""Scores up to which sums of squared margins stay finite."""

_PARAMETERS: dict = {"loss": [StrOptions({"squared_hinge", "hinge", "square"})]}


@validate_params(_PARAMETERS, prefer_skip_nested_validation=True)
def value(
    y_true: ArrayLike, y_score: ArrayLike, *, loss: Any = "squared_hinge", sample_weight: ArrayLike | None = None
) -> float:
    """The mean of a pair loss over all n₊·n₋ pairs.

    With the margin m = s_i − s_j of a positive i and a negative j, this is

        Σ w_i w_j l(m) / Σ w_i w_j,    l(m) = (1−m)₊², (1−m)₊ or (1−m)².

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind; the greater one is positive.
    y_score : array-like of shape (n,)
        Finite scores.
    loss : {"squared_hinge", "hinge", "square"}, default="squared_hinge"
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a pair weighs the product of its two rows' weights.

    Returns
    -------
    float

    References
    ----------
    Chapelle & Keerthi, "Efficient algorithms for ranking with SVMs", Information Retrieval 13, 2010.

    Examples
    --------
    >>> from auclid import pairs
    >>> pairs.value([0, 1, 1], [0.0, 2.0, 0.5], loss="hinge")
    0.25
    """
    active = _active("pairs.value", y_true, y_score, loss, sample_weight)
    return active.linear_value() if loss == "hinge" else active.square_value()


@validate_params(_PARAMETERS, prefer_skip_nested_validation=True)
def gradient(
    y_true: ArrayLike, y_score: ArrayLike, *, loss: Any = "squared_hinge", sample_weight: ArrayLike | None = None
) -> np.ndarray:
    """The derivatives of `value` by each score.

    The hinge has a kink at margin 1; a pair that lies on it pushes no score.

    Parameters
    ----------
    y_true, y_score, loss, sample_weight
        As in `value`.

    Returns
    -------
    array of shape (n,), float64

    Examples
    --------
    >>> from auclid import pairs
    >>> pairs.gradient([0, 1, 1], [0.0, 0.75, 0.5], loss="hinge")
    array([ 1. , -0.5, -0.5])
    """
    active = _active("pairs.gradient", y_true, y_score, loss, sample_weight)
    return active.linear_slope() if loss == "hinge" else active.square_slope()


@validate_params(_PARAMETERS, prefer_skip_nested_validation=True)
def curvature_product(
    y_true: ArrayLike,
    y_score: ArrayLike,
    direction: ArrayLike,
    *,
    loss: Any = "squared_hinge",
    sample_weight: ArrayLike | None = None,
) -> np.ndarray:
    """The second derivatives of `value` by the scores, times a direction.

    With u the direction, that is 2 Σ w_i w_j (e_i − e_j)(u_i − u_j) / Σ w_i w_j, where the first sum is over
    the pairs with margin below 1 (squared hinge) or over all pairs (square). The hinge has no curvature.

    Parameters
    ----------
    y_true, y_score, loss, sample_weight
        As in `value`.
    direction : array-like of shape (n,)

    Returns
    -------
    array of shape (n,), float64

    Examples
    --------
    >>> from auclid import pairs
    >>> pairs.curvature_product([0, 1], [0.0, 0.5], [0.0, 1.0])
    array([-2.,  2.])
    """
    direction = _numbers("direction", direction)
    active = _active("pairs.curvature_product", y_true, y_score, loss, sample_weight, direction)
    return np.zeros(len(direction)) if loss == "hinge" else active.square_product(direction)


def _active(
    owner: str, y_true: ArrayLike, y_score: ArrayLike, loss: str, sample_weight: ArrayLike | None, *others: np.ndarray
) -> ActivePairs:
    """The active pairs of the checked arguments of a public function."""
    y, score = _check.labels(y_true), _numbers("y_score", y_score)
    check_consistent_length(y, score, *others)
    weight = _check.weights(sample_weight, score)
    is_pos = y == _check.two_classes(owner, y)[1]
    _check.both_weighed(owner, is_pos, weight)
    if np.abs(score).max() > FARTHEST:
        raise ValueError(f"y_score of {owner} must lie within ±{FARTHEST:g}, so that margins have squares. Scale it.")
    ranked = Pairs(is_pos, weight).rank(score)
    return ranked.active(1.0, everywhere=loss == "square")


def _numbers(name: str, values: ArrayLike) -> np.ndarray:
    return check_array(values, ensure_2d=False, dtype=np.float64, input_name=name).ravel()
