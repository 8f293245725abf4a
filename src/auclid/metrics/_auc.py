"""The area under the ROC curve, whole and in part."""

import warnings

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from auclid.metrics._cells import Cells, masses
from auclid.metrics._labels import (
    column,
    number_in,
    numbers_column,
    positives,
    same_length,
    weight_column,
)

BLOCK = 1 << 14
MOST_CELLS = 1 << 22


def roc_auc(y_true, y_score, *, sample_weight=None, pos_label=None) -> float:
    """Probability that a positive row scores above a negative one, ties counted one half.

    AUC = sum over pairs (i positive, j negative) of w_i w_j ([s_i > s_j] + [s_i = s_j] / 2), divided by
    the sum of w_i w_j.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind (numbers, bools, strings). The greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive. Only their order counts; infinities are allowed, NaN is
        not. Compared as float32 or float64.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf). Rows of weight zero count for nothing.
    pos_label : label, optional
        The positive label, where that is not the greater one.

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
    score = numbers_column("roc_auc", "y_score", y_score)
    _warn_of_predictions(score)
    return checked_auc("roc_auc", y_true, score, sample_weight, pos_label)


def checked_auc(owner, y_true, y_score, sample_weight=None, pos_label=None):
    """`roc_auc` in the name of another function, for scores that are known to be scores."""
    y = column(owner, "y_true", y_true)
    score = numbers_column(owner, "y_score", y_score)
    same_length(owner, y_true=y, y_score=score)
    weight = None
    if sample_weight is not None:
        weight = weight_column(owner, sample_weight)
        same_length(owner, y_true=y, sample_weight=weight)
        y, score, weight = (values[weight > 0.0] for values in (y, score, weight))
    is_pos = positives(owner, y, pos_label) if len(y) else np.zeros(0, bool)
    return _warn_if_undefined(owner, auc_from_parts(is_pos, score, weight), stacklevel=4)


def partial_auc(y_true, y_score, *, max_fpr=1.0, min_tpr=0.0, standardize=True) -> float:
    """Area of the ROC curve left of `max_fpr` and above `min_tpr`.

    A = integral from 0 to max_fpr of max(TPR(u) - min_tpr, 0) du, along the curve with straight lines through
    ties. Standardised after McClish: (1 + (A - chance) / (best - chance)) / 2, where the diagonal has chance
    = max(max_fpr - min_tpr, 0)^2 / 2 and a perfect ranking has best = max_fpr (1 - min_tpr). So guessing
    gives 0.5, a perfect ranking 1, and the whole square the AUC; with min_tpr = 0 it is scikit-learn's
    `roc_auc_score(max_fpr=...)`. Where max_fpr <= min_tpr the diagonal misses the region, and no curve is
    below 0.5.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind. The greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive.
    max_fpr : float in (0, 1]
        Right end of the region.
    min_tpr : float in [0, 1)
        Bottom of the region; above 0 this is the two-way partial AUC.
    standardize : bool
        False gives the bare area A in [0, max_fpr (1 - min_tpr)].

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

    References
    ----------
    McClish (1989), Analyzing a portion of the ROC curve, Medical Decision Making 9.
    Yang et al. (2019), Two-way partial AUC and its properties, Statistical Methods in Medical Research 28.
    """
    right = number_in("partial_auc", "max_fpr", max_fpr, 0.0, 1.0, closed="r")
    bottom = number_in("partial_auc", "min_tpr", min_tpr, 0.0, 1.0, closed="l")
    y = column("partial_auc", "y_true", y_true)
    score = numbers_column("partial_auc", "y_score", y_score)
    same_length("partial_auc", y_true=y, y_score=score)
    is_pos = positives("partial_auc", y)
    if is_pos.all() or not is_pos.any():
        return _warn_if_undefined("partial_auc", float("nan"))
    fpr, tpr = _roc_curve(is_pos, score)
    area = _area(fpr, tpr, right, bottom)
    chance, best = max(right - bottom, 0.0) ** 2 / 2.0, right * (1.0 - bottom)
    return 0.5 * (1.0 + (area - chance) / (best - chance)) if standardize else area


def auc_from_parts(is_pos, score, weight=None):
    """AUC of checked arrays: `is_pos` bool, `score` without NaN, `weight` positive. nan for one class."""
    if weight is None:
        return auc_of_two(score.compress(is_pos), score.compress(~is_pos))
    if is_pos.all() or not is_pos.any():
        return float("nan")
    _, pos, neg = masses(is_pos, score, weight)
    pos, neg = pos / pos.sum(), neg / neg.sum()
    return float(pos @ (np.cumsum(neg) - 0.5 * neg))


def auc_of_two(pos, neg):
    """AUC of the scores of the positives and those of the negatives, unchecked. nan for one class."""
    if len(pos) == 0 or len(neg) == 0:
        return float("nan")
    twice_pairs = 2 * len(pos) * len(neg)
    if len(pos) <= len(neg):
        return _twice_wins(np.sort(pos), neg) / twice_pairs
    return (twice_pairs - _twice_wins(np.sort(neg), pos)) / twice_pairs


def _twice_wins(few, many):
    """Sum over pairs of 2 [few > many] + [few = many]; `few` is sorted, `many` is in any order.

    Sorting a million scores is the whole cost of an AUC, so cut the range of `few` into cells: a score in a
    cell that holds none of `few` is placed by a look into a table, and only the scores left over are sorted.
    """
    table = _cell_table(few) if len(many) >= 1024 else None
    if table is None:
        return _twice_wins_by_sorting(few, many)
    above, cell = table
    wins, crowded = 0, []
    for start in range(0, len(many), BLOCK):
        block = many[start : start + BLOCK]
        count = above.take(cell(block))
        rest = np.flatnonzero(count < 0)
        wins += int(count.sum(dtype=np.int64)) + len(rest)
        crowded.append(block.take(rest))
    return 2 * wins + _twice_wins_by_sorting(few, np.concatenate(crowded))


def _twice_wins_by_sorting(few, many):
    many = np.sort(many)
    if len(many) < len(few):
        return 2 * len(few) * len(many) - _twice_below(few, many)
    return _twice_below(many, few)


def _twice_below(ranked, score):
    twice = np.searchsorted(ranked, score, side="left")
    twice += np.searchsorted(ranked, score, side="right")
    # Blocks fit an int64 and Python adds them up, so no number of pairs overflows.
    return sum(np.add.reduceat(twice, np.arange(0, len(twice), BLOCK)).tolist()) if len(twice) else 0


def _cell_table(few):
    """(How many of `few` lie above each cell, -1 where a cell holds some; score -> cell), or None."""
    cell = Cells.over(few, min(16 * len(few), MOST_CELLS))
    if cell is None:
        return None
    taken = cell(few)
    gaps = np.diff(taken, prepend=-1, append=cell.size - 1)
    above = np.repeat(np.arange(len(few), -1, -1, dtype=np.int32), gaps)
    above[taken] = -1
    return above, cell


def _roc_curve(is_pos, score):
    _, pos, neg = masses(is_pos, score)
    fpr = np.concatenate(([0], np.cumsum(neg[::-1]))) / neg.sum()
    tpr = np.concatenate(([0], np.cumsum(pos[::-1]))) / pos.sum()
    return fpr, tpr


def _area(fpr, tpr, right, bottom):
    """Integral of (tpr - bottom)_+ from 0 to `right` along a piecewise linear, rising curve."""
    stop = np.searchsorted(fpr, right, side="right")
    end = np.interp(right, fpr[stop - 1 : stop + 1], tpr[stop - 1 : stop + 1])
    width = np.diff(np.append(fpr[:stop], right))
    rise = np.diff(np.append(tpr[:stop], end))
    height = np.maximum(np.append(tpr[:stop], end) - bottom, 0.0)
    # A segment that crosses the bottom counts from the crossing on.
    part = np.divide(np.diff(height), rise, out=np.ones_like(rise), where=(height[:-1] == 0.0) & (rise > 0.0))
    return float(np.sum(width * part * (height[:-1] + height[1:])) / 2.0)


def _warn_if_undefined(owner, auc, stacklevel=3):
    if np.isnan(auc):
        warnings.warn(
            f"{owner} needs rows of both classes. Got one class; the result is nan.",
            UndefinedMetricWarning,
            stacklevel=stacklevel,
        )
    return auc


def _warn_of_predictions(score):
    if len(score) <= 20 or len(np.unique(score[:100])) > 2:
        return
    if np.all((score == score.min()) | (score == score.max())):
        warnings.warn(
            "roc_auc got scores of at most two distinct values: these look like predicted labels. "
            "Pass decision_function(X) or predict_proba(X)[:, 1] instead of predict(X).",
            UserWarning,
            stacklevel=3,
        )
