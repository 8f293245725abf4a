"""From scores to probabilities: Platt's sigmoid, fitted to the last digit and with weights."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from auclid.stats.moments import ClassMoments

STEPS = 100
"""Newton steps at the most; some ten are made."""

LEAST = 1e-3
"""The least slope, in units of the spread of the scores: probabilities rise with scores, whatever the rows say."""


class Odds(NamedTuple):
    """Log-odds = slope·score + offset, slope > 0."""

    slope: float = 1.0
    offset: float = 0.0

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """Of the second class."""
        return expit(self.slope * np.asarray(scores, dtype=np.float64) + self.offset)


def calibrated(scores: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None = None) -> Odds:
    """The sigmoid of least log-loss on these scores, with Platt's targets: never quite 0 or 1."""
    w = np.ones(len(scores)) if weight is None else weight
    n_pos, n_neg = float(w[is_pos].sum()), float(w[~is_pos].sum())
    centre = float(w @ scores) / (n_pos + n_neg)
    spread = float(np.sqrt(w @ (scores - centre) ** 2 / (n_pos + n_neg)))
    spread = spread if spread > 0.0 else 1.0
    target = np.where(is_pos, (n_pos + 1.0) / (n_pos + 2.0), 1.0 / (n_neg + 2.0))
    z = (scores - centre) / spread
    slope, offset = _newton(z, target, w / (n_pos + n_neg))
    slope = max(slope, LEAST) / spread
    return Odds(slope, offset - slope * centre)


def _newton(z: np.ndarray, target: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """The minimiser of the log-loss and 1e-6/2 slope², by damped Newton steps."""
    theta, rows = np.array([0.0, np.log(w @ target / (w @ (1.0 - target)))]), np.stack([z, np.ones(len(z))])
    ridge = np.array([1e-6, 0.0])
    value = _loss(theta, rows, target, w)
    for _ in range(STEPS):
        p = expit(theta @ rows)
        slope = rows @ (w * (p - target)) + ridge * theta
        H = (rows * (w * p * (1.0 - p))) @ rows.T + np.diag(ridge + 1e-15)
        step = np.linalg.solve(H, slope)
        scale = 1.0
        while scale > 1e-6 and _loss(theta - scale * step, rows, target, w) > value:
            scale *= 0.5
        if scale <= 1e-6:
            break
        theta = theta - scale * step
        value = _loss(theta, rows, target, w)
        if np.abs(step).max() < 1e-13 * max(1.0, np.abs(theta).max()):
            break
    return float(theta[0]), float(theta[1])


def _loss(theta: np.ndarray, rows: np.ndarray, target: np.ndarray, w: np.ndarray) -> float:
    f = theta @ rows
    return float(w @ (np.logaddexp(0.0, f) - target * f)) + 0.5e-6 * float(theta[0]) ** 2


def from_moments(moments: ClassMoments, w: np.ndarray) -> Odds:
    """Where no row can be scored again: the log-odds of two normal classes of one variance, from their moments."""
    n_pos, n_neg = moments.pos.n, moments.neg.n
    means = [float(m.mean @ w) for m in (moments.pos, moments.neg)]
    variance = float(w @ (moments.pos.scatter + moments.neg.scatter) @ w) / (n_pos + n_neg)
    if variance <= 0.0 or means[0] <= means[1]:
        return Odds(LEAST, float(np.log(n_pos / n_neg)))
    slope = (means[0] - means[1]) / variance
    return Odds(slope, float(np.log(n_pos / n_neg)) - 0.5 * slope * (means[0] + means[1]))
