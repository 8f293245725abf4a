"""The threshold at which the sum of prices is best, in a few passes over the scores."""

from typing import Any

import numpy as np

from auclid import _sizes
from auclid.metrics._cells import Cells, masses
from auclid.metrics._roc import between, just_above

MAX_CELLS, SCORES_PER_CELL = 1 << 16, 4
"""Cells at the most, and scores for each: more cells than that take longer to go through than they save."""


def best_threshold(
    is_pos: np.ndarray,
    score: np.ndarray,
    weight: np.ndarray | None = None,
    criterion: str = "youden",
    cost_ratio: float = 1.0,
    prevalence: float | None = None,
) -> float:
    """The threshold of `operating_point` for checked arrays; rows of weight zero count for nothing.

    A row predicted positive gains (a positive) or loses (a negative) its price. Scores are first counted in
    cells; only cells where the best sum of prices could lie are sorted, so large arrays cost a few passes.
    """
    if weight is not None and not np.all(weight > 0.0):
        is_pos, score, weight = (values[weight > 0.0] for values in (is_pos, score, weight))
    if len(score) == 0:
        return 0.0
    low, high = score.min(), score.max()
    n_pos = float(np.count_nonzero(is_pos)) if weight is None else float(weight.sum(where=is_pos))
    n_neg = len(is_pos) - n_pos if weight is None else float(weight.sum(where=~is_pos))
    prices = unit_prices(n_pos, n_neg, criterion, cost_ratio, prevalence)
    lowest_kept = _best_cut(is_pos, score, weight, prices, low, high)
    if lowest_kept is None:
        return just_above(high, low, high)
    below = score.compress(score < lowest_kept).max(initial=-np.inf)
    return between(below, lowest_kept, low, high)


def unit_prices(
    n_pos: float, n_neg: float, criterion: str, cost_ratio: float, prevalence: float | None
) -> tuple[float, float]:
    """Gain of a unit of positives and loss of a unit of negatives predicted positive, of so many of each."""
    if criterion == "accuracy" or (criterion == "cost" and prevalence is None):
        return 1.0, float(cost_ratio)
    if criterion == "cost" and prevalence is not None:
        return prevalence * n_neg, cost_ratio * (1.0 - prevalence) * n_pos
    return n_neg, cost_ratio * n_pos


def _best_cut(
    is_pos: np.ndarray,
    score: np.ndarray,
    weight: np.ndarray | None,
    prices: tuple[float, float],
    low: np.floating,
    high: np.floating,
) -> Any:
    """Lowest score that is predicted positive, or None to predict no row positive."""
    gain, loss = prices
    cell, count = _cells(score, low, high)
    everything = np.bincount(cell, weights=weight, minlength=count)
    pos = np.bincount(cell.compress(is_pos), weights=_compress(weight, is_pos), minlength=count)
    worth = gain * pos - loss * (everything - pos)
    above = np.cumsum(worth[::-1])[::-1] - worth
    none = 0.0 if high < np.inf else -np.inf
    # The bound of a cell: all its positives above all its negatives, and some rounding.
    bound = above + gain * pos + 1e-12 * gain * pos.sum()
    kept = (bound >= max(none, (above + worth)[everything > 0].max())).take(cell)
    rows = is_pos.compress(kept), score.compress(kept), _compress(weight, kept)
    value, total = _candidates(*rows, prices, cell.compress(kept), above)
    if value[0] <= -np.finfo(value.dtype).max:
        value, total = value[1:], total[1:]
    if len(value) == 0 or none >= total.max():
        return None
    return value[len(value) - 1 - np.argmax(total[::-1])]


def _candidates(
    is_pos: np.ndarray,
    score: np.ndarray,
    weight: np.ndarray | None,
    prices: tuple[float, float],
    cell: np.ndarray,
    above: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Distinct scores, ascending, and the sum of prices when all rows from there up are positive."""
    value, pos, neg = masses(is_pos, score, weight)
    cell = np.sort(cell)[np.searchsorted(np.sort(score), value)]
    worth = np.append(prices[0] * pos - prices[1] * neg, 0.0)
    upwards = np.cumsum(worth[::-1])[::-1]
    next_cell = np.searchsorted(cell, cell, side="right")
    return value, above[cell] + upwards[:-1] - upwards[next_cell]


def _cells(score: np.ndarray, low: np.floating, high: np.floating) -> tuple[np.ndarray, int]:
    """Cell of each score and the number of cells: one where scores are few or have no finite range."""
    cells = None
    if len(score) > _sizes.MAX_SORTED_SCORES and low > -np.finfo(score.dtype).max:
        sample = np.sort(np.concatenate(([low, high], score[:: len(score) // 1024])))
        cells = Cells.over(sample, min(MAX_CELLS, len(score) // SCORES_PER_CELL))
    return (np.zeros(len(score), np.int32), 1) if cells is None else (cells(score), cells.size)


def _compress(weight: np.ndarray | None, keep: np.ndarray) -> np.ndarray | None:
    return None if weight is None else weight.compress(keep)
