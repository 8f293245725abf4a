"""Where to cut the scores into predicted positives and negatives."""

from typing import NamedTuple

import numpy as np

from auclid.metrics._cells import Cells, masses
from auclid.metrics._labels import column, number_in, numbers_column, positives, same_length
from auclid.metrics._roc import between, just_above

CRITERIA = ("youden", "accuracy")
CELLS = 1 << 16
SMALL = 1 << 13


class OperatingPoint(NamedTuple):
    """A threshold with the true and false positive rates of predicting `score > threshold`."""

    threshold: float
    tpr: float
    fpr: float


def operating_point(y_true, y_score, *, criterion="youden", cost_ratio=1.0) -> OperatingPoint:
    """Finite threshold whose predictions `score > threshold` serve a criterion best.

    criterion="youden" maximises TPR - cost_ratio FPR, however rare the positives; criterion="accuracy"
    maximises n+ TPR - cost_ratio n- FPR, which at cost_ratio 1 is the number of rows predicted right (OPTROC,
    the point of slope cost_ratio n- / n+). The threshold lies midway between neighbouring distinct scores, or
    just outside the extreme score when all or no rows are best predicted positive. Of equally good thresholds
    the highest is taken.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind. The greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive. A row of score +inf is always predicted positive, of -inf
        never.
    criterion : {"youden", "accuracy"}
        What to maximise.
    cost_ratio : float in (0, inf)
        Price of a false positive where a false negative costs one.

    Returns
    -------
    OperatingPoint
        Named tuple (threshold, tpr, fpr). The threshold is exact in the floating type of the scores.

    Examples
    --------
    >>> from auclid.metrics import operating_point
    >>> operating_point([0, 0, 0, 1, 1], [1.0, 2.0, 4.0, 3.0, 5.0])
    OperatingPoint(threshold=2.5, tpr=1.0, fpr=0.3333333333333333)
    >>> operating_point([0, 0, 0, 1, 1], [1.0, 2.0, 4.0, 3.0, 5.0], criterion="accuracy").threshold
    4.5

    References
    ----------
    Youden (1950), Index for rating diagnostic tests, Cancer 3. Metz (1978), Seminars in Nuclear Medicine 8.
    """
    if criterion not in CRITERIA:
        raise ValueError(
            f"The 'criterion' parameter of operating_point must be one of {CRITERIA}. "
            f"Got {criterion!r} instead."
        )
    cost_ratio = number_in("operating_point", "cost_ratio", cost_ratio, 0.0, np.inf)
    y = column("operating_point", "y_true", y_true)
    score = numbers_column("operating_point", "y_score", y_score)
    same_length("operating_point", y_true=y, y_score=score)
    is_pos = positives("operating_point", y)
    if is_pos.all() or not is_pos.any():
        raise ValueError("operating_point expects rows of both classes. Got one class instead.")
    threshold = best_threshold(is_pos, score, criterion=criterion, cost_ratio=cost_ratio)
    above = score > score.dtype.type(threshold)
    return OperatingPoint(threshold, float(above[is_pos].mean()), float(above[~is_pos].mean()))


def best_threshold(is_pos, score, weight=None, criterion="youden", cost_ratio=1.0):
    """The threshold of `operating_point` for checked arrays; rows of weight zero count for nothing.

    A row predicted positive gains (a positive) or loses (a negative) its price. Scores are first counted in
    cells; only cells where the best sum of prices could lie are sorted, so large arrays cost a few passes.
    """
    if weight is not None and not np.all(weight > 0.0):
        is_pos, score, weight = (values[weight > 0.0] for values in (is_pos, score, weight))
    if len(score) == 0:
        return 0.0
    low, high = score.min(), score.max()
    lowest_kept = _best_cut(is_pos, score, weight, _prices(is_pos, weight, criterion, cost_ratio), low, high)
    if lowest_kept is None:
        return just_above(high, low, high)
    below = score.max(where=score < lowest_kept, initial=-np.inf)
    return between(below, lowest_kept, low, high)


def _prices(is_pos, weight, criterion, cost_ratio):
    """Gain of a unit of positives and loss of a unit of negatives predicted positive."""
    if criterion == "accuracy":
        return 1.0, float(cost_ratio)
    if weight is None:
        n_pos = np.count_nonzero(is_pos)
        return float(len(is_pos) - n_pos), cost_ratio * float(n_pos)
    return float(weight.sum(where=~is_pos)), cost_ratio * float(weight.sum(where=is_pos))


def _best_cut(is_pos, score, weight, prices, low, high):
    """Lowest score that is predicted positive, or None to predict no row positive."""
    gain, loss = prices
    cell, count = _cells(score, low, high)
    everything = np.bincount(cell, weights=weight, minlength=count)
    pos = np.bincount(cell.compress(is_pos), weights=_compress(weight, is_pos), minlength=count)
    worth = gain * pos - loss * (everything - pos)
    above = np.cumsum(worth[::-1])[::-1] - worth
    none = 0.0 if high < np.inf else -np.inf
    # A cell does best if all its positives lie above all its negatives; sums may err by rounding.
    hope = above + gain * pos + 1e-12 * gain * pos.sum()
    in_hope = (hope >= max(none, (above + worth)[everything > 0].max())).take(cell)
    rows = is_pos.compress(in_hope), score.compress(in_hope), _compress(weight, in_hope)
    value, total = _candidates(*rows, prices, cell.compress(in_hope), above)
    if value[0] <= -np.finfo(value.dtype).max:
        value, total = value[1:], total[1:]
    if len(value) == 0 or none >= total.max():
        return None
    return value[len(value) - 1 - np.argmax(total[::-1])]


def _candidates(is_pos, score, weight, prices, cell, above):
    """Distinct scores, ascending, and the sum of prices when all rows from there up are positive."""
    value, pos, neg = masses(is_pos, score, weight)
    cell = np.sort(cell)[np.searchsorted(np.sort(score), value)]
    worth = np.append(prices[0] * pos - prices[1] * neg, 0.0)
    upwards = np.cumsum(worth[::-1])[::-1]
    next_cell = np.searchsorted(cell, cell, side="right")
    return value, above[cell] + upwards[:-1] - upwards[next_cell]


def _cells(score, low, high):
    """Cell of each score and the number of cells: one where scores are few or have no finite range."""
    cells = None
    if len(score) > SMALL and low > -np.finfo(score.dtype).max:
        sample = np.sort(np.concatenate(([low, high], score[:: len(score) // 1024])))
        cells = Cells.over(sample, CELLS)
    return (np.zeros(len(score), np.int32), 1) if cells is None else (cells(score), cells.size)


def _compress(weight, keep):
    return None if weight is None else weight.compress(keep)
