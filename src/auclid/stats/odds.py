"""From scores to log-odds and probabilities: Platt's sigmoid."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from auclid.stats.moments import ClassMoments

MIN_SLOPE = 1e-3
"""The least slope, in units of the spread of the scores: probabilities rise with scores, whatever the rows say."""

SLOPE_PENALTY = 1e-3
"""The ridge on the slope of standardised scores, so that it is finite where a threshold parts the classes."""

LINE_TOLERANCE = 1e-9
"""A Newton step to the sigmoid that moves slope and offset of standardised scores by no more is the last."""

MAX_LINE_STEPS = 100
"""Newton steps to the sigmoid at the most."""

LINEAR_LOG_ODDS = 8.0
"""Log-odds up to this are what they are; beyond they are compressed, and stay below twice as much."""

WINDOW_ROWS = 1_000
"""Rows of each class whose scores a sigmoid of a stream is fitted to: its slope then has an error of some 5 %."""

MIN_WINDOW_ROWS = 10
"""Rows of each class from which on a sigmoid is fitted anew."""

REFIT_EVERY = 20
"""A sigmoid is fitted anew after one twentieth as many rows as are in the window."""

LOG_ODDS_STEP = 2.0**-28
"""Log-odds are multiples of this: two of them below 16 never share a probability, in float64."""


class Odds(NamedTuple):
    """A sigmoid: log-odds = slope·score + offset, slope > 0."""

    slope: float = 1.0
    offset: float = 0.0

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """The probability of the second class."""
        return expit(self.slope * np.asarray(scores, dtype=np.float64) + self.offset)


def fit_sigmoid(scores: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None = None) -> Odds:
    """The sigmoid of least log-loss on held-out scores, with targets never quite 0 or 1 (Platt 1999).

    A weight counts rows. `CalibratedClassifierCV` finds the same sigmoid, but wants an estimator around the scores and
    takes ten times as long.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.odds import fit_sigmoid
    >>> odds = fit_sigmoid(np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, True, False, True]))
    >>> odds.probability(np.array([0.0, 1.5])).round(2)
    array([0.35, 0.5 ])
    """
    mass = np.ones(len(scores)) if weight is None else weight
    n_pos, n_neg = float(mass[is_pos].sum()), float(mass[~is_pos].sum())
    size = float(np.abs(scores).max()) or 1.0  # whose square may overflow, or vanish
    standard, centre, spread = standardize(scores / size, mass)
    target = np.where(is_pos, (n_pos + 1.0) / (n_pos + 2.0), 1.0 / (n_neg + 2.0))
    slope, offset = _logistic_line(standard, target, mass)
    slope = max(slope, MIN_SLOPE) / spread
    return Odds(slope / size, offset - slope * centre)


def _logistic_line(x: np.ndarray, target: np.ndarray, mass: np.ndarray) -> tuple[float, float]:
    """Slope a and offset b of least Σ mass (log(1 + exp(z)) − target z) + SLOPE_PENALTY a²/2, z = a x + b.

    By Newton's method; a step that does not lower the sum is halved.
    """
    share = float(mass @ target) / float(mass.sum())
    line, design = np.array([0.0, np.log(share / (1.0 - share))]), np.stack([x, np.ones_like(x)])

    def loss(line: np.ndarray) -> float:
        z = line @ design
        return float(mass @ (np.logaddexp(0.0, z) - target * z)) + 0.5 * SLOPE_PENALTY * float(line[0]) ** 2

    value = loss(line)
    for _ in range(MAX_LINE_STEPS):
        p = expit(line @ design)
        gradient = design @ (mass * (p - target)) + [SLOPE_PENALTY * line[0], 0.0]
        hessian = (design * (mass * p * (1.0 - p))) @ design.T + np.diag([SLOPE_PENALTY, 0.0])
        step = np.linalg.lstsq(hessian, -gradient, rcond=None)[0]
        while (lower := loss(line + step)) > value and np.abs(step).max() > LINE_TOLERANCE:
            step = 0.5 * step
        line, value = line + step, lower
        if np.abs(step).max() <= LINE_TOLERANCE:
            break
    return float(line[0]), float(line[1])


def prior_log_odds(masses: ArrayLike) -> float:
    """The log-odds of the share of positives: where probabilities are right, Youden's J is largest at this threshold.

    ``masses``: the weight, or the number of rows, of (negatives, positives).

    Examples
    --------
    >>> from auclid.stats.odds import prior_log_odds
    >>> round(prior_log_odds([4, 1]), 3)
    -1.386
    """
    neg, pos = np.log(np.maximum(masses, np.finfo(np.float64).tiny))
    return float(log_odds(Odds(), pos - neg))


def class_masses(is_pos: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """The weight, or the number of rows, of (negatives, positives)."""
    return np.bincount(is_pos.astype(np.intp), weight, minlength=2).astype(np.float64)


class ScoreWindow(NamedTuple):
    """Held-out scores of the latest rows of each class in a stream, and the weight of all rows of each class.

    Scores are in units of the norm of the weights that the ranker had then.
    """

    scores: np.ndarray
    is_pos: np.ndarray
    weight: np.ndarray
    masses: np.ndarray
    """Of (negatives, positives), all that the stream has had."""
    unused: int
    """Rows that came since the sigmoid was last fitted."""

    @classmethod
    def empty(cls) -> "ScoreWindow":
        """The window before any row."""
        return cls(np.zeros(0), np.zeros(0, dtype=bool), np.zeros(0), np.zeros(2), 0)

    def plus(self, scores: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None) -> "ScoreWindow":
        """The window after more rows; of each class the latest `WINDOW_ROWS` stay."""
        weight = np.ones(len(scores)) if weight is None else weight
        every = np.concatenate([self.is_pos, is_pos])
        kept = np.sort(np.concatenate([np.flatnonzero(every == of)[-WINDOW_ROWS:] for of in (False, True)]))
        return ScoreWindow(
            np.concatenate([self.scores, scores])[kept],
            every[kept],
            np.concatenate([self.weight, weight])[kept],
            self.masses + class_masses(is_pos, weight),
            self.unused + len(scores),
        )

    @property
    def has_both(self) -> bool:
        """Whether rows of both classes came."""
        return bool(self.masses.min() > 0.0)

    @property
    def threshold(self) -> float:
        """The log-odds of the share of positives; 0 while there are rows of one class only."""
        return prior_log_odds(self.masses) if self.has_both else 0.0

    @property
    def due(self) -> bool:
        """Whether enough rows of both classes came for another sigmoid."""
        counts = class_masses(self.is_pos)
        return bool(counts.min() >= MIN_WINDOW_ROWS and REFIT_EVERY * self.unused >= len(self.scores))

    def odds(self) -> Odds:
        """The sigmoid, with the classes in the proportion of all rows."""
        share = self.masses / np.maximum(class_masses(self.is_pos, self.weight), np.finfo(np.float64).tiny)
        mass = self.weight * share[self.is_pos.astype(np.intp)]
        return fit_sigmoid(self.scores, self.is_pos, mass * (len(mass) / mass.sum()))


def sigmoid_from_moments(moments: ClassMoments, w: np.ndarray) -> Odds:
    """The log-odds of two normal classes of one variance, from their moments: for rows that cannot be scored again."""
    n_pos, n_neg = moments.pos.n, moments.neg.n
    means = [float(m.mean @ w) for m in (moments.pos, moments.neg)]
    variance = float(w @ (moments.pos.scatter + moments.neg.scatter) @ w) / (n_pos + n_neg)
    if variance <= 0.0 or means[0] <= means[1]:
        return Odds(MIN_SLOPE, float(np.log(n_pos / n_neg)))
    slope = (means[0] - means[1]) / variance
    return Odds(slope, float(np.log(n_pos / n_neg)) - 0.5 * slope * (means[0] + means[1]))


def prior_shift(all_rows: np.ndarray, sample: np.ndarray) -> float:
    """What to add to log-odds that were fitted to a sample in which the classes have other shares than in all rows.

    Both are the weight, or the number of rows, of (negatives, positives).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.odds import prior_shift
    >>> round(prior_shift(np.array([9900, 100]), np.array([500, 50])), 3)
    -2.293
    """
    return float(np.log(all_rows[1] / all_rows[0]) - np.log(sample[1] / sample[0]))


def standardize(scores: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, float, float]:
    """Scores with mean 0 and variance 1, and the mean and standard deviation that they had (1 where it was 0)."""
    middle = float(np.average(scores, weights=weight))
    spread = float(np.sqrt(np.average(np.square(scores - middle), weights=weight))) or 1.0
    return (scores - middle) / spread, middle, spread


def log_odds(odds: Odds, scores: np.ndarray) -> np.ndarray:
    """Log-odds that increase with the scores, between -16 and 16, on a grid."""
    plain = odds.slope * scores + odds.offset
    over = np.maximum(np.abs(plain) - LINEAR_LOG_ODDS, 0.0)
    size = np.minimum(np.abs(plain), LINEAR_LOG_ODDS) + LINEAR_LOG_ODDS * (over / (LINEAR_LOG_ODDS + over))
    return np.round(np.sign(plain) * size / LOG_ODDS_STEP) * LOG_ODDS_STEP


def probability(log_odds: ArrayLike) -> np.ndarray:
    """The probability of the second class: strictly increasing in what `log_odds` gives, also rounded to float32."""
    return expit(np.asarray(log_odds, dtype=np.float64))
