"""From scores to log-odds and probabilities: Platt's sigmoid."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from auclid.stats.moments import ClassMoments

LEAST = 1e-3
"""The least slope, in units of the spread of the scores: probabilities rise with scores, whatever the rows say."""

PLAIN = 8.0
"""Log-odds up to this are what they are; beyond they are bent, and stay below twice as much."""

GRID = 2.0**-28
"""Log-odds are multiples of this: two of them below 16 never share a probability, in float64."""


class Odds(NamedTuple):
    """Log-odds = slope·score + offset, slope > 0."""

    slope: float = 1.0
    offset: float = 0.0

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """Of the second class."""
        return expit(self.slope * np.asarray(scores, dtype=np.float64) + self.offset)


def calibrated(scores: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None = None) -> Odds:
    """The sigmoid of least log-loss on held-out scores, with targets never quite 0 or 1 (Platt 1999).

    `CalibratedClassifierCV` finds the same one, but wants an estimator around the scores and takes ten times as long.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.odds import calibrated
    >>> odds = calibrated(np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, True, False, True]))
    >>> odds.probability(np.array([0.0, 1.5])).round(2)
    array([0.35, 0.5 ])
    """
    mass = np.ones(len(scores)) if weight is None else weight
    n_pos, n_neg = float(mass[is_pos].sum()), float(mass[~is_pos].sum())
    size = float(np.abs(scores).max()) or 1.0  # whose square may overflow, or vanish
    scores = scores / size
    centre = float(np.average(scores, weights=mass))
    spread = float(np.sqrt(np.average(np.square(scores - centre), weights=mass))) or 1.0
    target = np.where(is_pos, (n_pos + 1.0) / (n_pos + 2.0), 1.0 / (n_neg + 2.0))
    rows, labels = np.tile((scores - centre) / spread, 2)[:, None], np.repeat([True, False], len(scores))
    both = np.concatenate([target, 1.0 - target]) * np.tile(mass, 2)
    model = LogisticRegression(C=1e3, solver="newton-cholesky", tol=1e-10).fit(rows, labels, sample_weight=both)
    slope = max(float(model.coef_[0, 0]), LEAST) / spread
    return Odds(slope / size, float(model.intercept_[0]) - slope * centre)


def from_moments(moments: ClassMoments, w: np.ndarray) -> Odds:
    """Where no row can be scored again: the log-odds of two normal classes of one variance, from their moments."""
    n_pos, n_neg = moments.pos.n, moments.neg.n
    means = [float(m.mean @ w) for m in (moments.pos, moments.neg)]
    variance = float(w @ (moments.pos.scatter + moments.neg.scatter) @ w) / (n_pos + n_neg)
    if variance <= 0.0 or means[0] <= means[1]:
        return Odds(LEAST, float(np.log(n_pos / n_neg)))
    slope = (means[0] - means[1]) / variance
    return Odds(slope, float(np.log(n_pos / n_neg)) - 0.5 * slope * (means[0] + means[1]))


def log_odds(odds: Odds, scores: np.ndarray) -> np.ndarray:
    """Increasing in the scores, between -16 and 16, on a grid."""
    plain = odds.slope * scores + odds.offset
    over = np.maximum(np.abs(plain) - PLAIN, 0.0)
    bent = np.sign(plain) * (np.minimum(np.abs(plain), PLAIN) + PLAIN * (over / (PLAIN + over)))
    return np.round(bent / GRID) * GRID


def probability(log_odds: ArrayLike) -> np.ndarray:
    """Of the second class: strictly increasing in what `log_odds` gives, also when that was rounded to float32."""
    return expit(np.asarray(log_odds, dtype=np.float64))
