"""Bands around curves: pointwise, or simultaneous for a whole ROC curve."""

import numpy as np

from auclid.metrics._at import cut_at
from auclid.metrics._bootstrap import Masses, Plan, distinct, replicates
from auclid.metrics._confusion import METRICS, measure
from auclid.metrics._rates import wilson_by_deviate
from auclid.metrics._roc import Curve, CurvePoint, from_the_top, roc_curve
from auclid.metrics._sample import Sample, effective_count
from auclid.metrics._variance import quantile

BANDS = ("pointwise", "simultaneous")

GRID = np.union1d(np.linspace(0.0, 1.0, 201), np.geomspace(1e-4, 1e-2, 21))
"""False positive rates at which a band is found."""

BAND_POINTS = 40
"""Rates at which `band_at_points` finds intervals."""

DRAWS = 200
WIDEST, HALVINGS = 8.0, 9
"""The largest deviate of a simultaneous band, and how often the search for it halves."""


def band(
    curve: Curve, level: float, deviate: float | None = None, sizes: tuple[float, float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(fpr, tpr) of the upper and of the lower edge of a band around a ROC curve, as two arrays of shape (2, k).

    At each false positive rate the true positive rate R has two errors: that of its own share, and that of the
    threshold, whose false positive rate is estimated. Each has Wilson's interval; a move of the threshold by its
    distances moves R along the curve. The squares of both distances are added, on each side by itself (Zou & Donner
    2008). With the normal quantile of `level` the band covers R at each rate with that probability; `deviate` is
    another number of standard errors, such as `simultaneous_deviate`. `sizes` are the rows of equal weight that the
    positives and the negatives are worth, where these are not their masses.
    """
    reach = quantile(level) if deviate is None else deviate
    n_pos, n_neg = (curve.n_pos, curve.n_neg) if sizes is None else sizes
    low, high = _edges(curve.fpr, curve.tpr, n_pos, n_neg, reach)
    return np.stack([GRID, high]), np.stack([GRID, low])


def simultaneous_deviate(sample: Sample, score: np.ndarray, level: float) -> float:
    """The number of standard errors at which `band` holds the whole true curve with probability `level`.

    It is the quantile, over bootstrap draws, of the smallest number at which the band around the drawn curve holds the
    whole curve of the sample. Draws are of rows, or of groups, and have a seed of their own.
    """
    curve, sizes = roc_curve(sample.is_pos, score, sample.weight), effective_rows(sample)
    target = np.interp(GRID, curve.fpr, curve.tpr)

    def needed(masses: list[Masses]) -> float:
        tp, fp = map(from_the_top, masses[0])
        fpr, tpr = fp / fp[-1], tp / tp[-1]
        low, high = 0.0, WIDEST
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below, above = _edges(fpr, tpr, *sizes, middle)
            inside = bool(np.all((below <= target + 1e-9) & (target <= above + 1e-9)))
            low, high = (low, middle) if inside else (middle, high)
        return high

    steps = [distinct(sample.is_pos, score)[1]]
    drawn = replicates(sample, steps, needed, Plan("bootstrap", DRAWS, random_state=0))
    return float(np.quantile(drawn, level))


def effective_rows(sample: Sample) -> tuple[float, float]:
    """Rows of equal weight that the positives, and the negatives, are worth."""
    return effective_count(sample.weights[sample.is_pos]), effective_count(sample.weights[~sample.is_pos])


def band_at_points(
    owner: str, sample: Sample, fixed: str, metric: str, level: float, prevalence: float | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values of the rate that is held ``fixed``, and the ends of the interval of a metric at each.

    It is the interval of `interval_at`: it knows weights and groups, and that the threshold is an estimate.
    """
    order = np.argsort(sample.scores[0])  # sorted once, so that each point need not
    score = sample.scores[0][order]
    weight, cluster = (None if each is None else each[order] for each in (sample.weight, sample.cluster))
    ordered = Sample(sample.is_pos[order], (score,), weight, cluster)
    at, found = np.linspace(0.0, 1.0, BAND_POINTS + 1)[1:], []
    for value in at:
        cut = cut_at(owner, ordered, score, CurvePoint(fixed, float(value)), prevalence)
        found.append(measure(ordered, cut, METRICS[metric], prevalence=prevalence, level=level))
    return at, np.array([each.low for each in found]), np.array([each.high for each in found])


def _edges(
    fpr: np.ndarray, tpr: np.ndarray, n_pos: float, n_neg: float, deviate: float
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper edge of the band on the grid."""
    rate = _height(GRID, fpr, tpr)
    low, high = wilson_by_deviate(rate * n_pos, n_pos, deviate)
    left, right = wilson_by_deviate(GRID * n_neg, n_neg, deviate)
    below = rate - _height(GRID - (right - GRID), fpr, tpr)
    above = _height(GRID + (GRID - left), fpr, tpr) - rate
    return np.maximum(rate - np.hypot(rate - low, below), 0.0), np.minimum(rate + np.hypot(high - rate, above), 1.0)


def _height(at: np.ndarray, fpr: np.ndarray, tpr: np.ndarray) -> np.ndarray:
    """The curve's true positive rate; nothing left of it."""
    return np.where(at < 0.0, 0.0, np.interp(np.minimum(at, 1.0), fpr, tpr))
