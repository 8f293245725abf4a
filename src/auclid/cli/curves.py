"""The figures behind a report's plots: ROC curves with bands, histograms, operating points."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from auclid.metrics import operating_point
from auclid.metrics._roc import roc_curve as roc  # noqa: F401  one home of curves, under the name the plots know

LEVEL = 0.95
POINTS = 200
BINS = 40

Line = tuple[np.ndarray, np.ndarray]


def thin(x: np.ndarray, y: np.ndarray, across: int = 300) -> np.ndarray:
    """Which points of a line to draw: the first of each pixel, and the last."""
    cell = np.round(np.asarray(x) * across) * (across + 1) + np.round(np.asarray(y) * across)
    keep = np.concatenate([[True], np.diff(cell) != 0])
    keep[-1] = True
    return keep


def band(curve: Any) -> tuple[Line, Line]:
    """(fpr, tpr) of the upper and of the lower edge of a band around a ROC curve.

    At each threshold both rates have Wilson's interval at the level whose square is LEVEL, so that their
    rectangle covers the true pair of rates with that probability; the edges run through its corners.
    """
    keep = thin(curve.fpr, curve.tpr)
    low_x, high_x = wilson(curve.fp[keep], curve.n_neg, LEVEL**0.5)
    low_y, high_y = wilson(curve.tp[keep], curve.n_pos, LEVEL**0.5)
    upper = np.concatenate([[0.0], low_x, [1.0]]), np.concatenate([[0.0], high_y, [1.0]])
    lower = np.concatenate([[0.0], high_x, [1.0]]), np.concatenate([[0.0], low_y, [1.0]])
    return upper, lower


def wilson(k: np.ndarray, n: float, level: float) -> Line:
    """Wilson's interval of a share k/n."""
    z = ndtri(0.5 + level / 2.0)
    centre, room = k + z * z / 2.0, z * np.sqrt(k * (n - k) / n + z * z / 4.0)
    return np.clip((centre - room) / (n + z * z), 0.0, 1.0), np.clip((centre + room) / (n + z * z), 0.0, 1.0)


def histogram(is_pos: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, ...]:
    """(edges, shares of positives, shares of negatives); a class's outer half percents go to the end bins."""
    ends = np.array([np.quantile(scores[of], [0.005, 0.995]) for of in (is_pos, ~is_pos)])
    low, high = ends[:, 0].min(), ends[:, 1].max()
    if not low < high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, BINS + 1)
    shares = [np.histogram(np.clip(scores[of], low, high), edges)[0] / of.sum() for of in (is_pos, ~is_pos)]
    return edges, *shares


def stops(curve: Any, must: Sequence[int] = ()) -> np.ndarray:
    """Numbers of some POINTS thresholds for a slider, evenly along the curve, with some that must be."""
    along = curve.fpr + curve.tpr
    even = np.searchsorted(along, np.linspace(0.0, 2.0, POINTS)).clip(max=len(along) - 1)
    return np.unique(np.concatenate([even, np.asarray(must, dtype=np.intp)]))


def alternatives(is_pos: np.ndarray, scores: np.ndarray, curve: Any) -> list[tuple[str, int]]:
    """[(name, number of a threshold of the curve)]: Youden's, the most accurate one, and some by a bound."""
    found = []
    for name, criterion in (("Youden's J (TPR − FPR)", "youden"), ("most rows right", "accuracy")):
        point = operating_point(is_pos, scores, criterion=criterion)
        found.append((name, int(np.argmin(abs(curve.tpr - point.tpr) + abs(curve.fpr - point.fpr)))))
    for bound in (0.01, 0.05, 0.1):
        found.append((f"FPR at most {bound:.0%}", int(np.flatnonzero(curve.fpr <= bound)[-1])))
    for bound in (0.8, 0.9, 0.95):
        found.append((f"TPR at least {bound:.0%}", int(np.argmax(curve.tpr >= bound))))
    return found
