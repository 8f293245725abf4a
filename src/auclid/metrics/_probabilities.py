"""Whether probabilities mean what they say: Brier score, log loss, calibration intercept and slope, and tests."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, expit, logit, ndtr

from auclid.metrics._at import difference_of
from auclid.metrics._confusion import METRICS, Cut, Terms, effective_units, measure
from auclid.metrics._inference import Question
from auclid.metrics._results import (
    CalibrationFit,
    CalibrationTest,
    MetricComparison,
    Reliability,
    ScoreInterval,
)
from auclid.metrics._sample import Sample, checked_sample
from auclid.metrics._variance import clopper_pearson, quantile
from auclid.validation.parameters import number_in, one_of, whole_number

LEAST = np.finfo(np.float64).eps
"""Probabilities nearer to 0 or 1 count as this far from it in a log loss, as in scikit-learn."""

NEWTON_STEPS = 100


def brier_interval(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> ScoreInterval:
    """Brier score, the mean of (probability - outcome)^2, with a confidence interval that stays in [0, 1].

    The interval is symmetric on the logit scale, with Student's t of the number of rows (or groups) less one.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_prob : array-like of shape (n,)
        Probabilities in [0, 1] of the positive label.
    level : float in (0, 1)
        Coverage of the interval.
    groups : array-like of shape (n,), optional
        Which rows belong together: the variance is that of sums over groups.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Returns
    -------
    ScoreInterval
        Unpacks to (value, low, high, se); the attribute `skill` is 1 - value / that of the share of positives.

    Examples
    --------
    >>> from auclid.metrics import brier_interval
    >>> value, low, high, se = brier_interval([0, 0, 1, 1, 0, 1], [0.1, 0.3, 0.6, 0.9, 0.4, 0.8])
    >>> f"{value:.3f} in [{low:.3f}, {high:.3f}]"
    '0.078 in [0.030, 0.190]'

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather Review 78.
    """
    owner = "brier_interval"
    sample, prob = _checked(owner, y_true, y_prob, groups, sample_weight, pos_label)
    return _score_interval(owner, sample, _brier, "Brier score", prob, level)


def log_loss_interval(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> ScoreInterval:
    """Log loss, the mean of -log(probability of the outcome), with a confidence interval.

    The interval is symmetric on the log scale, with Student's t of the number of rows (or groups) less one.

    Parameters
    ----------
    y_true, y_prob, level, groups, sample_weight, pos_label
        As in `brier_interval`. Probabilities of 0 and 1 are moved by 2.2e-16, as scikit-learn does.

    Returns
    -------
    ScoreInterval
        Unpacks to (value, low, high, se).

    Examples
    --------
    >>> from auclid.metrics import log_loss_interval
    >>> value, low, high, se = log_loss_interval([0, 0, 1, 1, 0, 1], [0.1, 0.3, 0.6, 0.9, 0.4, 0.8])
    >>> f"{value:.3f} in [{low:.3f}, {high:.3f}]"
    '0.302 in [0.158, 0.577]'

    References
    ----------
    Good (1952), Rational decisions, Journal of the Royal Statistical Society B 14.
    """
    owner = "log_loss_interval"
    sample, prob = _checked(owner, y_true, y_prob, groups, sample_weight, pos_label)
    return _score_interval(owner, sample, _log_loss, "log loss", prob, level)


def compare_brier(
    y_true: ArrayLike,
    prob_a: ArrayLike,
    prob_b: ArrayLike,
    *,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> MetricComparison:
    """Difference of the Brier scores of two models of the same rows, with a paired test.

    Parameters
    ----------
    y_true, level, groups, sample_weight, pos_label
        As in `brier_interval`.
    prob_a, prob_b : array-like of shape (n,)
        Probabilities in [0, 1] of the positive label. The lower score is the better one.

    Returns
    -------
    MetricComparison
        Unpacks to (difference, low, high, pvalue).

    Examples
    --------
    >>> from auclid.metrics import compare_brier
    >>> y = [0, 0, 1, 1, 0, 1]
    >>> result = compare_brier(y, [0.1, 0.3, 0.6, 0.9, 0.4, 0.8], [0.5] * 6)
    >>> round(result.difference, 3), round(result.pvalue, 3)
    (-0.172, 0.002)

    References
    ----------
    Diebold & Mariano (1995), Comparing predictive accuracy, Journal of Business & Economic Statistics 13.
    """
    owner = "compare_brier"
    level = number_in(owner, "level", level, 0.0, 1.0)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"prob_a": prob_a, "prob_b": prob_b}, fewest=1, **rows)
    a, b = (_mean_terms(sample, _brier(sample.is_pos, in_unit(owner, prob))) for prob in sample.scores)
    told: dict[str, Any] = {"estimate_a": a.value, "estimate_b": b.value, "metric": "Brier score", "method": "delta"}
    return difference_of(sample, a, b, Question(level))._replace(**told, **sample.counts)


def calibration_slope(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> CalibrationFit:
    """Calibration intercept and slope of probabilities, with intervals: 0 and 1 where they mean what they say.

    The slope is b of the logistic regression logit P(y = 1) = a + b logit(probability); below 1 probabilities are too
    extreme. The intercept is a with b = 1 ("calibration in the large"); above 0 they are too low. Intervals are Wald's,
    by the information matrix, or with groups or weights by the sandwich.

    Parameters
    ----------
    y_true, y_prob, level, groups, sample_weight, pos_label
        As in `brier_interval`. Probabilities of 0 and 1 are moved by 1 / (2 n), or to the nearest of the others.

    Returns
    -------
    CalibrationFit
        Unpacks to (intercept, intercept_low, intercept_high, slope, slope_low, slope_high); observed positives
        divided by the sum of the probabilities are the attributes ratio, ratio_low and ratio_high.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.metrics import calibration_slope
    >>> rng = np.random.default_rng(0)
    >>> true = rng.random(2000)
    >>> y = rng.random(2000) < true
    >>> odds = 2.0 * np.log(true / (1.0 - true))  # twice too extreme
    >>> fit = calibration_slope(y, 1.0 / (1.0 + np.exp(-odds)))
    >>> f"{fit.slope:.2f} in [{fit.slope_low:.2f}, {fit.slope_high:.2f}]"
    '0.52 in [0.47, 0.57]'

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45. Van Calster et al. (2016), A
    calibration hierarchy for risk models was defined, Journal of Clinical Epidemiology 74.
    """
    owner = "calibration_slope"
    level = number_in(owner, "level", level, 0.0, 1.0)
    sample, prob = _checked(owner, y_true, y_prob, groups, sample_weight, pos_label)
    odds = _log_odds(prob)
    large, line = _logistic(sample, np.ones((len(odds), 1)), odds), _calibration(sample, odds)
    z = quantile(level)
    ends = [value + sign * z * se for value, se in (large.at(0), line.at(1)) for sign in (0.0, -1.0, 1.0)]
    weight = sample.weights
    expected = float(weight @ prob) / float(weight.sum())
    share = _mean_terms(sample, sample.is_pos - prob)
    ratio = (share.value + expected) / expected if expected > 0.0 else float("nan")
    reach = z * share.se / expected if expected > 0.0 else float("nan")
    return CalibrationFit(
        *map(float, ends),
        ratio=ratio,
        ratio_low=max(ratio - reach, 0.0),
        ratio_high=ratio + reach,
        level=level,
        method="information" if line.model_based else "sandwich",
        **sample.counts,
    )


def reliability(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_bins: int = 10,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Reliability:
    """Share of positives among rows of similar probability, with intervals, and a smooth line with a band.

    Bins hold about equally many rows; rows of one probability are never parted, so the order of rows does not matter.
    Intervals are Wilson's. The line is the logistic regression of `calibration_slope`, its band Wald's on the scale of
    log odds.

    Parameters
    ----------
    y_true, y_prob, level, groups, sample_weight, pos_label
        As in `brier_interval`.
    n_bins : int in [2, inf)
        Bins at the most.

    Returns
    -------
    Reliability
        Arrays (predicted, observed, low, high, rows), a value a bin; the line by name as line_at, line, line_low and
        line_high, empty where all probabilities are equal.

    Examples
    --------
    >>> from auclid.metrics import reliability
    >>> found = reliability([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.4, 0.7, 0.9], n_bins=2)
    >>> found.predicted.round(3).tolist(), found.observed.round(3).tolist()
    ([0.15, 0.6], [0.0, 0.75])

    References
    ----------
    Murphy & Winkler (1977), Reliability of subjective probability forecasts, Applied Statistics 26.
    """
    owner = "reliability"
    level, n_bins = number_in(owner, "level", level, 0.0, 1.0), whole_number(owner, "n_bins", n_bins, 2)
    return reliability_of(*_checked(owner, y_true, y_prob, groups, sample_weight, pos_label), n_bins, level)


def reliability_of(sample: Sample, prob: np.ndarray, n_bins: int, level: float) -> Reliability:
    """`reliability` of checked rows."""
    weight = sample.weights
    number = _bins(prob, weight, n_bins)
    found = []
    for each in np.unique(number):
        cut = Cut(prob, float("nan"), (number == each).astype(np.float64))
        share, mass = measure(sample, cut, METRICS["precision"], level=level), weight * cut.flagged
        found.append((float(mass @ prob) / float(mass.sum()), share.value, share.low, share.high, float(mass.sum())))
    line = _calibration_line(sample, prob, level)
    return Reliability(*(np.array(column) for column in zip(*found, strict=True)), **line, level=level)


def _bins(prob: np.ndarray, weight: np.ndarray, n_bins: int) -> np.ndarray:
    """The bin of each row: by the share of rows below the middle of those of its probability."""
    value, step = np.unique(prob, return_inverse=True)
    mass = np.bincount(step, weight, len(value))
    middle = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    return np.minimum((middle * n_bins).astype(np.intp), n_bins - 1)[step]


def _calibration_line(sample: Sample, prob: np.ndarray, level: float, points: int = 41) -> dict[str, Any]:
    """The share of positives by probability after a logistic regression, and its band."""
    if np.ptp(prob) == 0.0:
        return {name: np.empty(0) for name in ("line_at", "line", "line_low", "line_high")}
    odds = _log_odds(prob)
    line = _calibration(sample, odds)
    at = np.column_stack([np.ones(points), np.linspace(odds.min(), odds.max(), points)])
    centre = at @ line.coefficients
    reach = quantile(level) * np.sqrt(np.maximum(np.sum(at @ line.covariance * at, axis=1), 0.0))
    ends = {"line": expit(centre), "line_low": expit(centre - reach), "line_high": expit(centre + reach)}
    return {"line_at": expit(at[:, 1]), **ends}


def calibration_test(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    method: str = "cox",
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> CalibrationTest:
    """Test that probabilities are calibrated.

    "cox": that intercept and slope of `calibration_slope` are 0 and 1 together, by the likelihood ratio, or with
    groups or weights by Wald's test with the sandwich. "spiegelhalter": that the Brier score is what the probabilities
    say it should be, z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p)).

    Parameters
    ----------
    y_true, y_prob, groups, sample_weight, pos_label
        As in `brier_interval`.
    method : {"cox", "spiegelhalter"}
        Which test. "spiegelhalter" takes neither groups nor weights.

    Returns
    -------
    CalibrationTest
        Unpacks to (statistic, pvalue).

    Notes
    -----
    Of probabilities that were fitted on the same rows the test says nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.metrics import calibration_test
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> calibration_test(y, p).pvalue > 0.05, calibration_test(y, p**2).pvalue < 1e-6
    (True, True)

    References
    ----------
    Cox (1958), Biometrika 45. Spiegelhalter (1986), Probabilistic prediction in patient management and clinical trials,
    Statistics in Medicine 5.
    """
    owner = "calibration_test"
    one_of(owner, "method", method, ("cox", "spiegelhalter"))
    sample, prob = _checked(owner, y_true, y_prob, groups, sample_weight, pos_label)
    if method == "spiegelhalter":
        if sample.cluster is not None or sample.weight is not None:
            raise ValueError(f"Spiegelhalter's test of {owner} takes neither groups nor weights. Pass method='cox'.")
        spread = float(np.sum((1.0 - 2.0 * prob) ** 2 * prob * (1.0 - prob)))
        z = float((sample.is_pos - prob) @ (1.0 - 2.0 * prob)) / np.sqrt(spread) if spread > 0.0 else 0.0
        return CalibrationTest(float(z), float(2.0 * ndtr(-abs(z))), df=np.inf, method=method, **sample.counts)
    odds = _log_odds(prob)
    line = _calibration(sample, odds)
    if line.model_based:
        statistic = 2.0 * (line.likelihood - _likelihood(sample.is_pos, odds, np.ones(len(odds))))
    else:
        off = line.coefficients - np.array([0.0, 1.0])
        statistic = float(off @ np.linalg.solve(line.covariance, off))
    statistic = max(statistic, 0.0)
    return CalibrationTest(statistic, float(chdtrc(2.0, statistic)), df=2.0, method=method, **sample.counts)


def in_unit(owner: str, prob: np.ndarray) -> np.ndarray:
    """Probabilities as float64; refused outside of [0, 1]."""
    if prob.min() < 0.0 or prob.max() > 1.0:
        raise ValueError(
            f"{owner} expects probabilities in [0, 1]. Got scores from {prob.min():.3g} to {prob.max():.3g} instead. "
            "Pass predict_proba(X)[:, 1]; auclid.Calibrated gives any ranker probabilities."
        )
    return prob.astype(np.float64)


def _checked(
    owner: str,
    y_true: ArrayLike,
    y_prob: ArrayLike,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
    pos_label: Any,
) -> tuple[Sample, np.ndarray]:
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"y_prob": y_prob}, fewest=1, **rows)
    return sample, in_unit(owner, sample.scores[0])


def _brier(is_pos: np.ndarray, prob: np.ndarray) -> np.ndarray:
    return (prob - is_pos) ** 2


def _log_loss(is_pos: np.ndarray, prob: np.ndarray) -> np.ndarray:
    kept = np.clip(prob, LEAST, 1.0 - LEAST)
    return -np.log(np.where(is_pos, kept, 1.0 - kept))


def _mean_terms(sample: Sample, value: np.ndarray) -> Terms:
    """The mean of a value of each row, and what each row, or group, adds to its error."""
    share = sample.weights / sample.weights.sum()
    mean = float(share @ value)
    return Terms(mean, sample.by_unit(share * (value - mean)), True)


def _score_interval(owner: str, sample: Sample, loss: Any, name: str, prob: np.ndarray, level: float) -> ScoreInterval:
    """The interval of a mean loss: on the logit scale where it is a share, else on the log scale."""
    level = number_in(owner, "level", level, 0.0, 1.0)
    found = _mean_terms(sample, loss(sample.is_pos, prob))
    value, se, reach = found.value, found.se, quantile(level, found.df) * found.se
    if loss is _brier and (se == 0.0 or value <= 0.0 or value >= 1.0):
        low, high = clopper_pearson(value, effective_units(sample), level)
    elif loss is _brier:
        low, high = (float(expit(logit(value) + x / (value * (1.0 - value)))) for x in (-reach, reach))
    else:
        low, high = (value * float(np.exp(x / value)) if value > 0.0 else 0.0 for x in (-reach, reach))
    base = float(np.average(sample.is_pos, weights=sample.weight))
    known = float(np.average(loss(sample.is_pos, np.full(len(prob), base)), weights=sample.weight))
    told: dict[str, Any] = {"df": found.df, "level": level, "method": "delta", **sample.counts}
    return ScoreInterval(value, low, high, se, metric=name, skill=1.0 - value / known, **told)


def _log_odds(prob: np.ndarray) -> np.ndarray:
    """Log odds; probabilities of 0 and 1 are moved by 1 / (2 n), or to the nearest of the others."""
    inside = prob[(prob > 0.0) & (prob < 1.0)]
    room = 0.5 / len(prob)
    low, high = min(room, inside.min(initial=1.0)), max(1.0 - room, inside.max(initial=0.0))
    return logit(np.clip(prob, low, high))


class _Line(NamedTuple):
    """A fitted logistic regression."""

    coefficients: np.ndarray
    covariance: np.ndarray
    likelihood: float
    model_based: bool

    def at(self, k: int) -> tuple[float, float]:
        """A coefficient and its standard error."""
        return float(self.coefficients[k]), float(np.sqrt(max(self.covariance[k, k], 0.0)))


def _calibration(sample: Sample, odds: np.ndarray) -> _Line:
    """The logistic regression of outcomes on log odds."""
    return _logistic(sample, np.column_stack([np.ones(len(odds)), odds]), np.zeros(len(odds)))


def _likelihood(is_pos: np.ndarray, odds: np.ndarray, weight: np.ndarray) -> float:
    """The log likelihood of outcomes by their log odds."""
    return float(-weight @ np.logaddexp(0.0, np.where(is_pos, -odds, odds)))


def _logistic(sample: Sample, X: np.ndarray, offset: np.ndarray) -> _Line:
    """Logistic regression by Newton's method with halved steps; its covariance by the information or the sandwich."""
    y = sample.is_pos.astype(np.float64)
    weight = sample.weights / sample.weights.mean()
    beta = np.zeros(X.shape[1])
    if X.shape[1] == 2 and np.ptp(X[:, 1]) == 0.0:
        raise ValueError("A calibration slope expects probabilities that differ. Got the same one on every row.")
    value = _likelihood(sample.is_pos, offset + X @ beta, weight)
    for _ in range(NEWTON_STEPS):
        mean = expit(offset + X @ beta)
        slope = X.T @ (weight * (y - mean))
        hessian = (X * (weight * mean * (1.0 - mean))[:, None]).T @ X + 1e-12 * np.eye(X.shape[1])
        step = np.linalg.solve(hessian, slope)
        while (moved := _likelihood(sample.is_pos, offset + X @ (beta + step), weight)) < value - 1e-12 * abs(value):
            step = 0.5 * step
        beta, gain, value = beta + step, moved - value, moved
        if abs(gain) <= 1e-12 * (1.0 + abs(value)):
            break
    mean = expit(offset + X @ beta)
    hessian = (X * (weight * mean * (1.0 - mean))[:, None]).T @ X
    inverse = np.linalg.pinv(hessian)
    model_based = sample.weight is None and sample.cluster is None
    if model_based:
        return _Line(beta, inverse, value, True)
    rows = X * (weight * (y - mean))[:, None]
    if sample.cluster is not None:
        rows = np.column_stack([np.bincount(sample.cluster, column) for column in rows.T])
    if len(rows) < 2:
        raise ValueError("A calibration line expects two groups or more. Got one; leave groups out.")
    middle = rows.T @ rows * (len(rows) / (len(rows) - 1.0))
    return _Line(beta, inverse @ middle @ inverse, value, False)
