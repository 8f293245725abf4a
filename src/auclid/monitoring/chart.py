"""A control chart of the AUC: when is a fall real?"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid.metrics._power import normal_variance

TARGET_FALL = 0.05
"""The fall of the AUC that the chart is made to find soonest."""

FALSE_ALARMS, PER_PERIODS = 0.05, 52
"""The probability of an alarm in so many periods in which nothing has changed."""

SIMULATIONS = 20_000
"""Sequences without a change from which the limit of the chart comes."""

RESERVE = 0.7
"""The share of the false alarms that normal AUCs may cause: the rest is for AUCs of few rows, which are not normal."""

MAX_SHIFT = 3.0
"""Standard errors, at the most, that the expected fall counts as: a period with very many rows decides alone anyway."""


class ControlChart(NamedTuple):
    """A cumulative sum (CUSUM) of evidence for a fall of the AUC, one value a period."""

    expected: float
    """The AUC without a fall."""
    expected_se: float
    """Its standard error, which the limit allows for."""
    statistic: list[float]
    """NaN in periods without labels of both classes."""
    limit: float
    """An alarm is a statistic above it."""
    alarm: int | None
    """The number of the first period with an alarm."""
    since: int | None
    """The period in which the fall has begun, most likely."""
    fall: float
    """The fall of the AUC that the chart is made to find."""
    false_alarms: float
    """The probability of an alarm without a fall, within so many periods as `per_periods` says."""
    per_periods: int
    """The number of periods that `false_alarms` is about."""


def auc_standard_error(auc: float, n_pos: float, n_neg: float) -> float:
    """The standard error of an AUC by its value and the number of rows, of normal scores of equal variance.

    It does not depend on the scores of a period, so a period whose AUC is 1 by chance has one too. With A = Φ(a), two
    rows of one class are both ranked right of a row of the other with probability Q = Φ(a) − 2 T(a, 1/√3), Owen's T,
    and the variance is (A(1 − A) + (n₊ + n₋ − 2)(Q − A²))/(n₊ n₋).

    Parameters
    ----------
    auc : float in (0, 1)
    n_pos, n_neg : float
        Rows of each class, at least 1.

    Returns
    -------
    float

    References
    ----------
    Hanley & McNeil, "The meaning and use of the area under a ROC curve", Radiology 1982 (the variance).

    Examples
    --------
    >>> from auclid.monitoring import auc_standard_error
    >>> round(auc_standard_error(0.8, 50, 950), 3)
    0.032
    """
    auc = float(np.clip(auc, 0.5, 1.0 - 0.5 / max(n_pos, n_neg, 2.0)))
    return float(np.sqrt(normal_variance(auc, n_pos, n_neg)))


def control_chart(
    aucs: Sequence[float],
    errors: Sequence[float],
    expected: float,
    expected_se: float = 0.0,
    *,
    fall: float = TARGET_FALL,
    false_alarms: float = FALSE_ALARMS,
    per_periods: int = PER_PERIODS,
) -> ControlChart:
    """Watch a sequence of AUCs for a lasting fall.

    AUCs are compared as arcsin √AUC, which is nearly normal. The evidence of period t for a fall of ``fall`` is
    d_t (z_t − d_t/2 − u_t), where z_t and d_t are the distances of the period's AUC, and of one that is lower by
    ``fall``, from the expected one, in standard errors, and u_t is half the standard error of the expected one: the
    log-likelihood ratio, where the expected AUC is certain. The statistic S_t = max(0, S_{t−1} + evidence) is Page's
    cumulative sum. Its limit is found by simulation of periods of the same sizes, so that the probability of an alarm
    within ``per_periods`` periods without a change is at most ``false_alarms``, the error of the expected AUC included.

    Parameters
    ----------
    aucs : sequence of float
        The AUC of each period; NaN where it cannot be known.
    errors : sequence of float
        Their standard errors, without a fall: see `auc_standard_error`.
    expected : float
        The AUC without a fall.
    expected_se : float in [0, inf), default=0.0
    fall : float in (0, 1), default=0.05
    false_alarms : float in (0, 1), default=0.05
    per_periods : int of at least 1, default=52

    Returns
    -------
    ControlChart

    Notes
    -----
    With 50 positives and 950 negatives a week, an expected AUC of .8 from 2,000 positives and 5 % false alarms a year,
    a fall by .05 is found within 6 weeks in half of the cases and within 12 in nine of ten.

    References
    ----------
    Page, "Continuous inspection schemes", Biometrika 1954.

    Examples
    --------
    >>> from auclid.monitoring import control_chart
    >>> chart = control_chart([0.81, 0.79, 0.80, 0.70, 0.69, 0.71], [0.03] * 6, expected=0.8)
    >>> chart.alarm, chart.since
    (4, 3)
    """
    values, error = np.asarray(aucs, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    known = np.isfinite(values) & np.isfinite(error) & (error > 0.0)
    statistic, about = np.full(len(values), np.nan), (fall, false_alarms, per_periods)
    if not known.any():
        return ControlChart(expected, expected_se, statistic.tolist(), float("inf"), None, None, *about)
    expected = float(np.clip(expected, 0.01, 0.999))
    slope = 0.5 / np.sqrt(expected * (1.0 - expected))
    own, shared = slope * error[known], slope * expected_se
    shift = np.minimum((_arcsine(expected) - _arcsine(max(expected - fall, 0.0))) / own, MAX_SHIFT)
    allowance = 0.5 * (shift + shared / own)
    limit = _limit(shift, allowance, shared / own, false_alarms, per_periods)
    z = (_arcsine(expected) - _arcsine(values[known])) / own
    statistic[known] = _cumulative_sums(z[None], shift, allowance)[0]
    above = np.flatnonzero(np.nan_to_num(statistic, nan=-1.0) > limit)
    alarm = int(above[0]) if len(above) else None
    since = None if alarm is None else _start(statistic, alarm)
    return ControlChart(expected, float(expected_se), statistic.tolist(), limit, alarm, since, *about)


def _arcsine(auc: Any) -> Any:
    """The transformation that makes the variance of an AUC depend little on its value."""
    return np.arcsin(np.sqrt(auc))


def _start(statistic: np.ndarray, alarm: int) -> int:
    """The period after the last one, before the alarm, without any evidence."""
    empty = np.flatnonzero(statistic[: alarm + 1] == 0.0)
    return int(empty[-1]) + 1 if len(empty) else 0


def _cumulative_sums(z: np.ndarray, shift: np.ndarray, allowance: np.ndarray) -> np.ndarray:
    """Page's sums of each row of standardised falls."""
    out, now = np.empty_like(z), np.zeros(len(z))
    for t, (d, k) in enumerate(zip(shift, allowance, strict=True)):
        now = np.maximum(0.0, now + d * (z[:, t] - k))
        out[:, t] = now
    return out


def _limit(
    shift: np.ndarray, allowance: np.ndarray, expected_error: np.ndarray, false_alarms: float, periods: int
) -> float:
    """The value that the largest sum of so many periods without a change exceeds with the given probability.

    ``expected_error`` is the error of the expected AUC, which all periods share, in their own standard errors.
    """
    rng, places = np.random.default_rng(0), np.arange(periods) % len(shift)
    shared = rng.standard_normal((SIMULATIONS, 1)) * expected_error[places]
    z = rng.standard_normal((SIMULATIONS, periods)) + shared
    largest = _cumulative_sums(z, shift[places], allowance[places]).max(axis=1)
    return float(np.quantile(largest, 1.0 - RESERVE * false_alarms))
