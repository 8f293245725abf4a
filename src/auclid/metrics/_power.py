"""How large a comparison of two AUCs, or an interval of a given width, must be; and what a given size will see."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from auclid.metrics._compare import Question, checked_question
from auclid.metrics._design import MAX_ROWS, _negatives, _variance, _variance_of_difference
from auclid.metrics._results import SampleSize
from auclid.metrics._variance import quantile
from auclid.validation.parameters import number_in, one_of, whole_number

DESIGNS = ("paired", "unpaired")


class _Design(NamedTuple):
    """A comparison of two AUCs that is planned."""

    auc: float
    other: float
    correlation: float | None
    """Of the two scores within a class; None where the two samples are different rows."""
    effect: float
    """How far the truth lies from what the test should refute."""
    deviate: float
    inflation: float
    """By how much groups of alike rows raise the variance."""

    def power(self, n_pos: int, n_neg: int) -> float:
        """How likely the test is to succeed."""
        if self.correlation is None:
            variance = _variance(self.auc, n_pos, n_neg) + _variance(self.other, n_pos, n_neg)
        else:
            variance = _variance_of_difference(self.auc, self.other, self.correlation, n_pos, n_neg)
        return float(ndtr(self.effect / np.sqrt(variance * self.inflation) - self.deviate))


def comparison_power(
    auc: float,
    other: float,
    n_pos: int,
    n_neg: int,
    *,
    design: str = "paired",
    correlation: float = 0.5,
    alternative: str = "two-sided",
    margin: float = 0.0,
    cluster_size: float = 1.0,
    icc: float = 0.0,
    level: float = 0.95,
) -> float:
    """Probability that a comparison of two AUCs of given size succeeds: paired, unpaired, clustered, non-inferiority.

    Phi(|auc - other + margin| / sqrt(D V) - z), where V is the variance of the difference for normal scores of equal
    variance and D = 1 + (cluster_size - 1) icc the design effect. The tests are those of `compare_auc` and
    `compare_auc_unpaired`.

    Parameters
    ----------
    auc, other : float in (0, 1)
        The AUCs expected of the two models.
    n_pos, n_neg : int in [2, inf)
        Rows of each class; in an unpaired design, of each sample.
    design : {"paired", "unpaired"}
        Both models on the same rows, or on two samples.
    correlation : float in [-1, 1)
        Of the two models' scores within a class ("paired").
    alternative : {"two-sided", "greater", "less"}
        What the test should show.
    margin : float in [0, 1)
        With alternative="greater", that the first AUC is not worse by the margin or more (non-inferiority).
    cluster_size : float in [1, inf)
        Rows in a group of rows that belong together, on average.
    icc : float in [0, 1]
        Correlation of the placements (see `auc_interval`) of two rows of a group.
    level : float in (0, 1)
        The test is at 1 - level.

    Returns
    -------
    float

    Examples
    --------
    >>> from auclid.metrics import comparison_power
    >>> round(comparison_power(0.85, 0.8, 100, 900, correlation=0.6), 2)
    0.68
    >>> round(comparison_power(0.85, 0.85, 100, 900, alternative="greater", margin=0.05, correlation=0.6), 2)
    0.84

    References
    ----------
    Obuchowski & McClish (1997), Statistics in Medicine 16. Hanley & McNeil (1983), Radiology 148.
    """
    owner = "comparison_power"
    shared, question = _correlation(owner, design, correlation), checked_question(owner, level, alternative, margin)
    plan = _planned(owner, auc, other, shared, question, _inflation(owner, cluster_size, icc))
    return plan.power(whole_number(owner, "n_pos", n_pos, 2), whole_number(owner, "n_neg", n_neg, 2))


def comparison_sample_size(
    auc: float,
    other: float,
    *,
    power: float = 0.9,
    ratio: float = 1.0,
    design: str = "paired",
    correlation: float = 0.5,
    alternative: str = "two-sided",
    margin: float = 0.0,
    cluster_size: float = 1.0,
    icc: float = 0.0,
    level: float = 0.95,
) -> SampleSize:
    """Positives and negatives with which a comparison of two AUCs has the wanted power.

    Parameters
    ----------
    auc, other, design, correlation, alternative, margin, cluster_size, icc, level
        As in `comparison_power`.
    power : float in (0, 1)
        How likely the test should be to succeed.
    ratio : float in (0, inf)
        Negatives for each positive.

    Returns
    -------
    SampleSize
        Unpacks to (n_pos, n_neg); in an unpaired design, of each sample.

    Examples
    --------
    >>> from auclid.metrics import comparison_sample_size
    >>> tuple(comparison_sample_size(0.85, 0.8, ratio=9, correlation=0.6))
    (178, 1602)
    >>> tuple(comparison_sample_size(0.85, 0.8, ratio=9, design="unpaired"))
    (385, 3465)

    References
    ----------
    Obuchowski & McClish (1997), Statistics in Medicine 16.
    """
    owner = "comparison_sample_size"
    shared, question = _correlation(owner, design, correlation), checked_question(owner, level, alternative, margin)
    plan = _planned(owner, auc, other, shared, question, _inflation(owner, cluster_size, icc))
    wanted, ratio = number_in(owner, "power", power, 0.0, 1.0), number_in(owner, "ratio", ratio, 0.0, np.inf)
    if plan.effect == 0.0:
        raise ValueError(f"{owner} expects AUCs that differ, or a margin. Got {auc} and {other} with margin {margin}.")
    return _smallest(owner, lambda n: plan.power(n, _negatives(n, ratio)) >= wanted, ratio)


def interval_sample_size(
    auc: float,
    width: float,
    *,
    ratio: float = 1.0,
    cluster_size: float = 1.0,
    icc: float = 0.0,
    level: float = 0.95,
) -> SampleSize:
    """Positives and negatives with which the interval of `auc_interval` is expected to be no wider than wanted.

    Parameters
    ----------
    auc : float in (0, 1)
        The AUC expected.
    width : float in (0, 1)
        From the lower end of the interval to the upper.
    ratio : float in (0, inf)
        Negatives for each positive.
    cluster_size, icc
        As in `comparison_power`.
    level : float in (0, 1)
        Coverage of the interval.

    Returns
    -------
    SampleSize
        Unpacks to (n_pos, n_neg).

    Examples
    --------
    >>> from auclid.metrics import interval_sample_size
    >>> tuple(interval_sample_size(0.85, 0.05, ratio=9))
    (242, 2178)

    References
    ----------
    Hanley & McNeil (1982), Radiology 143.
    """
    owner = "interval_sample_size"
    auc, width = number_in(owner, "auc", auc, 0.0, 1.0), number_in(owner, "width", width, 0.0, 1.0)
    ratio, level = number_in(owner, "ratio", ratio, 0.0, np.inf), number_in(owner, "level", level, 0.0, 1.0)
    inflation, z = _inflation(owner, cluster_size, icc), quantile(level)

    def narrow(n_pos: int) -> bool:
        se = np.sqrt(_variance(auc, n_pos, _negatives(n_pos, ratio)) * inflation)
        ends = expit(logit(auc) + np.array([-1.0, 1.0]) * z * se / (auc * (1.0 - auc)))
        return bool(ends[1] - ends[0] <= width)

    return _smallest(owner, narrow, ratio)


def _smallest(owner: str, enough: Callable[[int], bool], ratio: float) -> SampleSize:
    """The fewest positives that are enough."""
    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > MAX_ROWS:
            raise ValueError(f"{owner} expects a study that {MAX_ROWS:,} positives can answer. They are not enough.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return SampleSize(high, _negatives(high, ratio))


def _inflation(owner: str, cluster_size: float, icc: float) -> float:
    size = number_in(owner, "cluster_size", cluster_size, 1.0, np.inf, closed="l")
    return 1.0 + (size - 1.0) * number_in(owner, "icc", icc, 0.0, 1.0, closed="lr")


def _planned(
    owner: str, auc: float, other: float, shared: float | None, question: Question, inflation: float
) -> _Design:
    """The comparison, or a sentence where it makes no sense."""
    auc, other = (number_in(owner, name, x, 0.0, 1.0) for name, x in (("auc", auc), ("other", other)))
    side = {"two-sided": 0, "greater": 1, "less": -1}[question.alternative]
    effect = abs(auc - other) if side == 0 else side * (auc - other) + question.margin
    if effect < 0.0:
        raise ValueError(
            f"{owner} expects AUCs on the alternative's side. Got {auc}, {other} and {question.alternative!r}."
        )
    tail = 1.0 - question.level if side else (1.0 - question.level) / 2.0
    return _Design(auc, other, shared, effect, float(-ndtri(tail)), inflation)


def _correlation(owner: str, design: str, correlation: float) -> float | None:
    """The correlation of two scores of the same rows; None for two samples."""
    one_of(owner, "design", design, DESIGNS)
    shared = number_in(owner, "correlation", correlation, -1.0, 1.0, closed="l")
    return shared if design == "paired" else None
