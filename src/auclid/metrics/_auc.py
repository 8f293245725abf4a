"""Figures of the whole ROC curve: the area under it, whole and in part, Gini and Kolmogorov-Smirnov."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from auclid.metrics._cells import masses
from auclid.metrics._partitioned import place_classes
from auclid.metrics._placements import region_area
from auclid.metrics._places import in_order, sum_twice_below
from auclid.metrics._roc import rates
from auclid.metrics._sample import Sample, checked_region, checked_sample
from auclid.validation.vectors import declared_positive, partitioned_columns


def roc_auc(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = None
) -> float:
    """Probability that a positive row scores above a negative one, ties counted one half.

    AUC = sum over pairs (i positive, j negative) of w_i w_j ([s_i > s_j] + [s_i = s_j] / 2), divided by
    the sum of w_i w_j.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels. Of numbers and bools the greater one is positive; strings need `pos_label`.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive. Only their order counts; infinities are allowed, NaN is
        not. Compared as float32 or float64.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf). Rows of weight zero count for nothing.
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Returns
    -------
    float
        In [0, 1], or nan with an UndefinedMetricWarning where all rows are of one class.

    Examples
    --------
    >>> from auclid.metrics import roc_auc
    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75

    References
    ----------
    Hanley & McNeil (1982), The meaning and use of the area under a ROC curve, Radiology 143.
    """
    is_pos, score, weight = _rows("roc_auc", y_true, y_score, sample_weight, pos_label)
    _warn_of_predictions(score)
    return warn_if_undefined("roc_auc", auc_from_parts(is_pos, score, weight))


def checked_auc(
    owner: str,
    y_true: ArrayLike,
    y_score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """`roc_auc` in the name of another function, for scores that are known to be scores."""
    is_pos, score, weight = _rows(owner, y_true, y_score, sample_weight, pos_label)
    return warn_if_undefined(owner, auc_from_parts(is_pos, score, weight), stacklevel=4)


def _rows(
    owner: str, y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Which rows are positive, scores and weights, of rows of positive weight; they may all be of one class.

    Of dask collections, fewer rows with the same curve.
    """
    parts = partitioned_columns(owner, y_true, [y_score], sample_weight)
    if parts is not None:
        placed = place_classes(owner, parts, declared_positive(y_true, pos_label))
        return (np.ones(1, bool), np.zeros(1), None) if placed is None else placed.compressed()
    sample = ranked_sample(owner, y_true, y_score, sample_weight, pos_label, fewest=0)
    return sample.is_pos, sample.scores[0], sample.weight


def partial_auc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    min_fpr: float = 0.0,
    standardize: bool = True,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Area of the ROC curve from `min_fpr` to `max_fpr` and above `min_tpr`.

    A = integral from min_fpr to max_fpr of max(TPR(u) - min_tpr, 0) du, along the curve with straight lines through
    ties. Standardised after McClish: (1 + (A - chance) / (best - chance)) / 2, where the diagonal has chance
    = (max(max_fpr - min_tpr, 0)^2 - max(min_fpr - min_tpr, 0)^2) / 2 and a perfect ranking has
    best = (max_fpr - min_fpr) (1 - min_tpr). So guessing
    gives 0.5, a perfect ranking 1, and the whole square the AUC; with min_tpr = 0 it is scikit-learn's
    `roc_auc_score(max_fpr=...)`. Where max_fpr <= min_tpr the diagonal misses the region, and no curve is
    below 0.5.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive.
    max_fpr : float in (0, 1]
        Right end of the region.
    min_tpr : float in [0, 1)
        Bottom of the region; above 0 this is the two-way partial AUC.
    min_fpr : float in [0, max_fpr)
        Left end of the region.
    standardize : bool
        False gives the bare area A in [0, (max_fpr - min_fpr) (1 - min_tpr)].
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); rates are shares of weight.
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Returns
    -------
    float
        The area, or nan with an UndefinedMetricWarning where all rows are of one class.

    Examples
    --------
    >>> from auclid.metrics import partial_auc
    >>> round(partial_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], max_fpr=0.5), 4)
    0.6667
    >>> partial_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], min_tpr=0.5, standardize=False)
    0.25
    >>> partial_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], min_fpr=0.5)
    1.0

    References
    ----------
    McClish (1989), Analyzing a portion of the ROC curve, Medical Decision Making 9.
    Yang et al. (2019), Two-way partial AUC and its properties, Statistical Methods in Medical Research 28.
    """
    region = checked_region("partial_auc", max_fpr, min_tpr, standardize, min_fpr)
    is_pos, score, weight = _rows("partial_auc", y_true, y_score, sample_weight, pos_label)
    if is_pos.all() or not is_pos.any():
        return warn_if_undefined("partial_auc", float("nan"))
    return region.value(region_area(*rates(is_pos, score, weight), region))


def gini(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = None
) -> float:
    """Gini coefficient (accuracy ratio, Somers' D): 2 AUC - 1.

    Parameters
    ----------
    y_true, y_score, sample_weight, pos_label
        As in `roc_auc`.

    Returns
    -------
    float
        In [-1, 1]; 0 is guessing.

    Examples
    --------
    >>> from auclid.metrics import gini
    >>> gini([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.5

    References
    ----------
    Somers (1962), A new asymmetric measure of association for ordinal variables, American Sociological Review 27.
    """
    sample = ranked_sample("gini", y_true, y_score, sample_weight, pos_label)
    return 2.0 * auc_from_parts(sample.is_pos, sample.scores[0], sample.weight) - 1.0


def ks(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = None
) -> float:
    """Kolmogorov-Smirnov distance of the two classes' scores: the largest |TPR - FPR| of any threshold.

    Parameters
    ----------
    y_true, y_score, sample_weight, pos_label
        As in `roc_auc`.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from auclid.metrics import ks
    >>> ks([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.5

    References
    ----------
    Smirnov (1948), Table for estimating the goodness of fit of empirical distributions, Annals of Math. Statistics 19.
    """
    sample = ranked_sample("ks", y_true, y_score, sample_weight, pos_label)
    fpr, tpr = rates(sample.is_pos, sample.scores[0], sample.weight)
    return float(np.abs(tpr - fpr).max())


def ranked_sample(
    owner: str,
    y_true: ArrayLike,
    y_score: ArrayLike,
    sample_weight: ArrayLike | None,
    pos_label: Any,
    fewest: int = 1,
) -> Sample:
    """Rows of which only the order of scores counts."""
    rows = {"sample_weight": sample_weight, "pos_label": pos_label}
    return checked_sample(owner, y_true, {"y_score": y_score}, **rows, fewest=fewest, only_ranked=True)


def auc_from_parts(is_pos: np.ndarray, score: np.ndarray, weight: np.ndarray | None = None) -> float:
    """AUC of checked arrays: `is_pos` bool, `score` without NaN, `weight` positive. nan for one class."""
    if weight is None:
        return auc_of_two(score.compress(is_pos), score.compress(~is_pos))
    if is_pos.all() or not is_pos.any():
        return float("nan")
    _, pos, neg = masses(is_pos, score, weight)
    pos, neg = pos / pos.sum(), neg / neg.sum()
    return float(pos @ (np.cumsum(neg) - 0.5 * neg))


def auc_of_two(pos: np.ndarray, neg: np.ndarray) -> float:
    """AUC of the scores of the positives and those of the negatives, unchecked. nan for one class."""
    if len(pos) == 0 or len(neg) == 0:
        return float("nan")
    twice_pairs = 2 * len(pos) * len(neg)
    if len(pos) <= len(neg):
        return (twice_pairs - sum_twice_below(in_order(pos), neg)) / twice_pairs
    return sum_twice_below(in_order(neg), pos) / twice_pairs


def warn_if_undefined(owner: str, auc: float, stacklevel: int = 3) -> float:
    if np.isnan(auc):
        warnings.warn(
            f"{owner} needs rows of both classes. Got one class; the result is nan.",
            UndefinedMetricWarning,
            stacklevel=stacklevel,
        )
    return auc


def _warn_of_predictions(score: np.ndarray) -> None:
    if len(score) <= 20 or len(np.unique(score[:100])) > 2:
        return
    if np.all((score == score.min()) | (score == score.max())):
        warnings.warn(
            "roc_auc got scores of at most two distinct values: these look like predicted labels. "
            "Pass decision_function(X) or predict_proba(X)[:, 1] instead of predict(X).",
            UserWarning,
            stacklevel=3,
        )
