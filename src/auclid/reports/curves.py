"""The figures behind a report's plots: ROC curves with bands, histograms, operating points."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from auclid.metrics import operating_point
from auclid.metrics._band import band as edges
from auclid.metrics._roc import Curve
from auclid.plot._axes import bar_edges, thin

LEVEL = 0.95
CURVE_POINTS = 120
PIXELS = 300
SCORE_BARS = 40


def band(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """(fpr, tpr) along the edge of a band around a ROC curve, there and back; as many points as can be seen."""
    keep = thin(curve.fpr, curve.tpr, PIXELS)
    upper, lower = edges(Curve(*(part[keep] for part in curve)), LEVEL)
    return np.append(upper[0], lower[0][::-1]), np.append(upper[1], lower[1][::-1])


def histogram(is_pos: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, ...]:
    """(edges, shares of positives, shares of negatives); a class's outer half percents go to the end bins."""
    edges = bar_edges(is_pos, scores, SCORE_BARS)
    inside = np.clip(scores, edges[0], edges[-1])
    return edges, *(np.histogram(inside[of], edges)[0] / of.sum() for of in (is_pos, ~is_pos))


def stops(curve: Any, must: Sequence[int] = (), points: int = CURVE_POINTS) -> np.ndarray:
    """Numbers of about so many thresholds for a slider, evenly along the curve, with some that must be."""
    along = curve.fpr + curve.tpr
    even = np.searchsorted(along, np.linspace(0.0, 2.0, points)).clip(max=len(along) - 1)
    return np.unique(np.concatenate([even, np.asarray(must, dtype=np.intp)]))


def alternatives(is_pos: np.ndarray, scores: np.ndarray, curve: Any) -> list[tuple[str, int]]:
    """[(name, number of a threshold of the curve)]: Youden's, the most accurate one, and some by a bound."""
    points = []
    for name, criterion in (("Youden's J (TPR − FPR)", "youden"), ("most rows right", "accuracy")):
        point = operating_point(is_pos, scores, criterion=criterion)
        points.append((name, int(np.argmin(abs(curve.tpr - point.tpr) + abs(curve.fpr - point.fpr)))))
    for bound in (0.01, 0.05, 0.1):
        points.append((f"FPR at most {bound:.0%}", int(np.flatnonzero(curve.fpr <= bound)[-1])))
    for bound in (0.8, 0.9, 0.95):
        points.append((f"TPR at least {bound:.0%}", int(np.argmax(curve.tpr >= bound))))
    return points


def lift_ends(rows: int) -> np.ndarray:
    """Shares of a list to show: .1, .5, 1, 2 and 5 % where they hold ten rows, and tenths."""
    top = [share for share in (0.001, 0.005, 0.01, 0.02, 0.05) if share * rows >= 10.0]
    return np.array([*top, *(np.arange(1, min(10, rows) + 1) / min(10, rows))])
