"""How large a study of one AUC, of two, or of an interval's width must be; and what a study of given size will see."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri, owens_t

from auclid import _sizes
from auclid.metrics._inference import Question, checked_question
from auclid.metrics._results import SampleSize
from auclid.metrics._variance import ALTERNATIVES, quantile
from auclid.validation.parameters import number_in, one_of, whole_number

MAX_ROWS = 10**9
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
            variance = normal_variance(self.auc, n_pos, n_neg) + normal_variance(self.other, n_pos, n_neg)
        else:
            variance = _variance_of_difference(self.auc, self.other, self.correlation, n_pos, n_neg)
        return float(ndtr(self.effect / np.sqrt(variance * self.inflation) - self.deviate))


def sample_size(
    auc: float,
    *,
    null: float = 0.5,
    ratio: float = 1.0,
    power: float = 0.9,
    level: float = 0.95,
    correlation: float | None = None,
    alternative: str = "two-sided",
) -> SampleSize:
    """Positives and negatives with which a test at 1 - level has the wanted power.

    The test is `auc_test`, which rejects where the interval of `auc_interval` leaves `null` out: its power is
    Phi(|logit(auc) - logit(null)| / s - t), s = sqrt(V) / (auc (1 - auc)), with t the quantile of Student's
    distribution with min(n+, n-) - 1 degrees of freedom (from 100 rows of each class on, of the normal one). V is the
    variance of the estimate for normal scores of equal variance, A (1 - A) + (n+ + n- - 2) (Q - A^2) divided by n+ n-,
    where Q = Phi2(z, z; 1/2) and z = Phi^-1(A).

    Given a correlation, `null` is the AUC of another score of the same rows and the test is `compare_auc`: z_a sqrt(V0)
    + z_b sqrt(V1) = |auc - null|, with V1 the variance of the difference and V0 that of two AUCs midway.

    Parameters
    ----------
    auc : float in (0, 1)
        The AUC expected.
    null : float in (0, 1)
        The AUC it is to be told from: a fixed number, or with `correlation` the AUC of another model.
    ratio : float in (0, inf)
        Negatives for each positive.
    power : float in (0, 1)
        How likely the test should be to see the difference.
    level : float in (0, 1)
        Of the interval that should leave the null out; the test is at 1 - level.
    correlation : float in [-1, 1), optional
        Of the two models' scores within a class (after a map to normal scores, such as scipy.stats.norm.ppf of ranks).
    alternative : {"two-sided", "greater", "less"}
        A one-sided test needs fewer rows.

    Returns
    -------
    SampleSize
        Unpacks to (n_pos, n_neg).

    Examples
    --------
    >>> from auclid.metrics import sample_size
    >>> sample_size(0.8, ratio=9)
    SampleSize(n_pos=13, n_neg=117)
    >>> sample_size(0.85, null=0.8, ratio=9, correlation=0.6)
    SampleSize(n_pos=176, n_neg=1584)

    References
    ----------
    Hanley & McNeil (1982), Radiology 143, and (1983), Radiology 148. Obuchowski & McClish (1997), Statistics in
    Medicine 16.
    """
    owner = "sample_size"
    study = _checked(owner, auc, null, level, correlation, alternative)
    ratio = number_in(owner, "ratio", ratio, 0.0, np.inf)
    wanted = number_in(owner, "power", power, 0.0, 1.0)
    if auc == null:
        raise ValueError(f"The 'auc' parameter of {owner} must differ from null. Got {auc} for both.")
    return _smallest(owner, lambda n: _power(study, n, _negatives(n, ratio)) >= wanted, ratio)


def auc_power(
    auc: float,
    n_pos: int,
    n_neg: int,
    *,
    null: float = 0.5,
    level: float = 0.95,
    correlation: float | None = None,
    alternative: str = "two-sided",
) -> float:
    """Probability that a study of given size finds an AUC to differ from `null`, or from another model's AUC.

    The power of `auc_test`, or with a correlation that of `compare_auc`, by the formulas of `sample_size`.

    Parameters
    ----------
    auc, null, level, correlation, alternative
        As in `sample_size`.
    n_pos, n_neg : int in [2, inf)
        Rows of each class.

    Returns
    -------
    float

    Examples
    --------
    >>> from auclid.metrics import auc_power
    >>> round(auc_power(0.8, 11, 99), 2), round(auc_power(0.85, 100, 900, null=0.8, correlation=0.6), 2)
    (0.83, 0.69)

    References
    ----------
    Hanley & McNeil (1983), Radiology 148. Obuchowski & McClish (1997), Statistics in Medicine 16.
    """
    owner = "auc_power"
    study = _checked(owner, auc, null, level, correlation, alternative)
    return _power(study, whole_number(owner, "n_pos", n_pos, 2), whole_number(owner, "n_neg", n_neg, 2))


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
        se = np.sqrt(normal_variance(auc, n_pos, _negatives(n_pos, ratio)) * inflation)
        ends = expit(logit(auc) + np.array([-1.0, 1.0]) * z * se / (auc * (1.0 - auc)))
        return bool(ends[1] - ends[0] <= width)

    return _smallest(owner, narrow, ratio)


def _smallest(owner: str, enough: Callable[[int], bool], ratio: float) -> SampleSize:
    """The fewest positives that are enough."""
    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > MAX_ROWS:
            raise ValueError(f"{owner} expects a difference or a width that {MAX_ROWS:,} rows can see. Got less.")
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


class _Study(NamedTuple):
    auc: float
    null: float
    level: float
    sides: int
    correlation: float | None

    def deviate(self, rows: int, enough: int) -> float:
        """The quantile that the test uses with so many rows of the smaller class."""
        return quantile(self.level, np.inf if rows >= enough else rows - 1.0, self.sides)


def _checked(owner: str, auc: float, null: float, level: float, correlation: float | None, alternative: str) -> _Study:
    auc, null = (number_in(owner, name, x, 0.0, 1.0) for name, x in (("auc", auc), ("null", null)))
    level = number_in(owner, "level", level, 0.0, 1.0)
    one_of(owner, "alternative", alternative, ALTERNATIVES)
    if correlation is not None:
        correlation = number_in(owner, "correlation", correlation, -1.0, 1.0, closed="l")
    side = {"two-sided": 0, "greater": 1, "less": -1}[alternative]
    if side * (auc - null) < 0.0:
        raise ValueError(f"{owner} expects an AUC on the alternative's side. Got {auc}, {null} and {alternative!r}.")
    return _Study(auc, null, level, 1 if side else 2, correlation)


def _negatives(n_pos: int, ratio: float) -> int:
    return max(2, int(np.ceil(ratio * n_pos - 1e-9)))


def _power(study: _Study, n_pos: int, n_neg: int) -> float:
    auc, null, correlation, fewest = study.auc, study.null, study.correlation, min(n_pos, n_neg)
    if correlation is None:
        se = np.sqrt(normal_variance(auc, n_pos, n_neg)) / (auc * (1.0 - auc))
        deviate = study.deviate(fewest, _sizes.MIN_ROWS_FOR_NORMAL_INTERVAL)
        return float(ndtr(abs(logit(auc) - logit(null)) / se - deviate))
    middle = (auc + null) / 2.0
    at_null = _variance_of_difference(middle, middle, correlation, n_pos, n_neg)
    at_auc = _variance_of_difference(auc, null, correlation, n_pos, n_neg)
    reach = abs(auc - null) - study.deviate(fewest, _sizes.MIN_ROWS_FOR_NORMAL_TEST) * np.sqrt(at_null)
    return float(ndtr(reach / np.sqrt(at_auc)))


def normal_variance(auc: float, n_pos: float, n_neg: float) -> float:
    """The variance of the AUC of normal scores: pairs that share one row are correlated by one half."""
    z = ndtri(auc)
    both = auc - 2.0 * owens_t(z, 1.0 / np.sqrt(3.0))
    return float((auc * (1.0 - auc) + (n_pos + n_neg - 2) * (both - auc**2)) / (n_pos * n_neg))


def _variance_of_difference(auc: float, other: float, correlation: float, n_pos: int, n_neg: int) -> float:
    """Exact, of the difference of two AUCs of normal scores correlated within the classes."""
    of_pair, of_row = (_both(auc, other, r) - auc * other for r in (correlation, correlation / 2.0))
    shared = (of_pair + (n_pos + n_neg - 2) * of_row) / (n_pos * n_neg)
    return max(normal_variance(auc, n_pos, n_neg) + normal_variance(other, n_pos, n_neg) - 2.0 * shared, 1e-300)


def _both(auc: float, other: float, correlation: float) -> float:
    """Phi2(h, k; r) of h, k = Phi^-1 of the AUCs: Phi(h) Phi(k) + the integral of the density over the correlation."""
    h, k = ndtri(auc), ndtri(other)
    node, weight = np.polynomial.legendre.leggauss(64)
    end = np.arcsin(correlation)
    angle = 0.5 * end * (node + 1.0)
    density = np.exp(-(h * h + k * k - 2.0 * h * k * np.sin(angle)) / (2.0 * np.cos(angle) ** 2))
    return float(auc * other + 0.5 * end * (weight @ density) / (2.0 * np.pi))
