"""From the terms of an area's error to variances, intervals and p-values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, expit, logit, ndtr, ndtri, stdtr, stdtrit

from auclid.metrics._placements import AreaTerms
from auclid.metrics._sample import Sample

ALTERNATIVES = ("two-sided", "greater", "less")

TRANSFORMS = ("logit", None)

MIN_DEGREES = 2.0
"""Degrees of freedom that are always granted; with fewer, no end of an interval would mean anything."""


def covariance(sample: Sample, areas: Sequence[AreaTerms]) -> np.ndarray:
    """Covariance matrix of areas of the same rows: DeLong's, or Obuchowski's where rows come in groups.

    Groups g with sums a_g of the positives' terms and b_g of the negatives' give I+/(I+ - 1) sum a a' + I-/(I- - 1)
    sum b b' + I/(I - 1) sum (a b' + b a'), with I+, I-, I the groups that hold a positive, a negative, any row. With
    each row its own group that is DeLong's.
    """
    pos, neg = (np.stack([terms[k] for terms in areas]) for k in (1, 2))
    if sample.cluster is None:
        n_pos, n_neg = sample.units
        return _inner(pos, pos) * (n_pos / (n_pos - 1.0)) + _inner(neg, neg) * (n_neg / (n_neg - 1.0))
    count = int(sample.cluster.max()) + 1
    a = _sums(pos, sample.cluster[sample.is_pos], count)
    b = _sums(neg, sample.cluster[~sample.is_pos], count)
    (n_pos, n_neg), n_any = sample.units, count  # every number up to the last is a group
    across = _inner(a, b)
    cov = _inner(a, a) * (n_pos / (n_pos - 1.0)) + _inner(b, b) * (n_neg / (n_neg - 1.0))
    return cov + (across + across.T) * (n_any / (n_any - 1.0))


def _inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a b' by sums of numpy's own, whose bits do not depend on the threads of BLAS."""
    return np.array([[np.sum(row * other) for other in b] for row in a])


def _sums(terms: np.ndarray, cluster: np.ndarray, count: int) -> np.ndarray:
    return np.stack([np.bincount(cluster, row, minlength=count) for row in terms])


def standard_error(sample: Sample, area: AreaTerms) -> float:
    """Root of the variance of one area, or of one difference of areas."""
    # With groups, the three terms can leave a tiny negative number where they cancel.
    return float(np.sqrt(max(covariance(sample, [area])[0, 0], 0.0)))


def unit_sums(sample: Sample, area: AreaTerms) -> np.ndarray:
    """The terms of the error added up by independent unit: a row, or a group of rows."""
    if sample.cluster is None:
        return np.concatenate((area.pos, area.neg))
    terms = np.empty(len(sample.is_pos))
    terms[sample.is_pos], terms[~sample.is_pos] = area.pos, area.neg
    return np.bincount(sample.cluster, terms)


def unit_strata(sample: Sample) -> np.ndarray:
    """The stratum of each independent unit of `unit_sums`: its class, or for a group the classes it holds."""
    if sample.cluster is None:
        n_pos, n_neg = sample.units
        return np.repeat([0, 1], [n_pos, n_neg])
    count = int(sample.cluster.max()) + 1
    of_pos, of_neg = (np.bincount(sample.cluster[of], minlength=count) > 0 for of in (sample.is_pos, ~sample.is_pos))
    return of_pos + 2 * of_neg


def degrees(terms: np.ndarray, stratum: np.ndarray) -> float:
    """Degrees of freedom of Student's t for a variance v = sum of squares of independent terms.

    2 v^2 / var(v) (Satterthwaite 1946), where var(v) is the spread of the squares within strata. A few large terms
    among many small ones, as the badly ranked positives of a nearly perfect ranking are, make v uncertain; the spread
    of squares is itself seen too small in few rows, hence no more than Welch's.
    """
    square, count = terms**2, np.bincount(stratum)
    return degrees_of_sums(np.bincount(stratum, square), np.bincount(stratum, square**2), count)


def degrees_of_sums(second: ArrayLike, fourth: ArrayLike, count: ArrayLike) -> float:
    """`degrees` from the sums of second and of fourth powers of the terms of each stratum, and their number."""
    second, size = np.asarray(second, np.float64), np.maximum(np.asarray(count, np.float64), 1.0)
    noise = float(np.asarray(fourth, np.float64).sum() - (second**2 / size).sum())
    by_spread = 2.0 * float(second.sum()) ** 2 / noise if noise > 0.0 else np.inf
    return max(MIN_DEGREES, min(by_spread, welch_degrees(second, count)))


def welch_degrees(second: ArrayLike, count: ArrayLike) -> float:
    """Degrees of freedom of a variance that is a sum over strata: v^2 / sum v_k^2 / (n_k - 1) (Welch 1947).

    ``second`` are the sums v_k of squares of each stratum, ``count`` the independent terms n_k in it. Infinite where
    there is no variance.
    """
    second, freedom = np.asarray(second, np.float64), np.maximum(np.asarray(count, np.float64) - 1.0, 1.0)
    noise = float(np.sum(second**2 / freedom))
    return max(MIN_DEGREES, float(second.sum()) ** 2 / noise) if noise > 0.0 else np.inf


def share_interval(
    share: float, se: float, trials: int, level: float, df: float = np.inf, transform: str | None = "logit"
) -> tuple[float, float]:
    """An interval for a share in [0, 1], symmetric on the logit scale; Clopper & Pearson's where se is zero.

    Without a transform it is share +- z se with the normal quantile z, cut at 0 and 1.
    """
    spread = share * (1.0 - share)
    if se == 0.0 or spread <= 0.0:
        return clopper_pearson(min(max(share, 0.0), 1.0), trials, level)
    if transform is None:
        reach = quantile(level) * se
        return max(0.0, share - reach), min(1.0, share + reach)
    reach = quantile(level, df) * se / spread
    return float(expit(logit(share) - reach)), float(expit(logit(share) + reach))


def quantile(level: float, df: float = np.inf, sides: int = 2) -> float:
    """The deviate that a share `level` of all lies within (or below, of one side).

    It is normal, or Student's with `df` degrees of freedom.
    """
    share = 0.5 + level / 2.0 if sides == 2 else level
    return float(ndtri(share) if df == np.inf else stdtrit(df, share))


def student_tail(deviate: float, df: float) -> float:
    """The share below a deviate, of Student's distribution or the normal one (df = inf)."""
    return float(ndtr(deviate) if df == np.inf else stdtr(df, deviate))


def clopper_pearson(share: float, trials: float, level: float) -> tuple[float, float]:
    """The exact interval of a share of independent trials."""
    won, tail = share * trials, (1.0 - level) / 2.0
    low = betaincinv(won, trials - won + 1.0, tail) if won > 0.0 else 0.0
    high = betaincinv(won + 1.0, trials - won, 1.0 - tail) if won < trials else 1.0
    return float(low), float(high)


def binomial_tails(share: float, trials: float, null: float) -> tuple[float, float]:
    """P-values of a share of independent trials against more and against less than `null`, as `clopper_pearson`."""
    won = share * trials
    greater = betainc(won, trials - won + 1.0, null) if won > 0.0 else 1.0
    less = 1.0 - betainc(won + 1.0, trials - won, null) if won < trials else 1.0
    return float(greater), float(less)


def normal_pvalue(difference: float, se: float, alternative: str, margin: float = 0.0, df: float = np.inf) -> float:
    """P-value of a difference: two-sided, or one-sided against being worse by `margin` or more."""
    if alternative == "greater":
        return student_tail(-(difference + margin) / se, df)
    if alternative == "less":
        return student_tail((difference - margin) / se, df)
    return 2.0 * student_tail(-abs(difference) / se, df)


def sign_pvalue(difference: float, trials: int, alternative: str, margin: float = 0.0) -> float:
    """P-value of a difference without variance, where every row agrees: a sign test on the disjoint pairs."""
    if alternative == "two-sided":
        return 1.0 if difference == 0.0 else min(1.0, 2.0 ** (1 - trials))
    ahead = difference + margin if alternative == "greater" else margin - difference
    return 0.5**trials if ahead > 0.0 else 1.0
