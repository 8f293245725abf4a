"""How sure an AUC is, and whether two differ: DeLong's variance by ranks, in O(n log n)."""

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtr, ndtri

from auclid.metrics._labels import column, number_in, numbers_column, positives, same_length


class AUCInterval(NamedTuple):
    """An AUC, the two ends of its confidence interval, and its standard error."""

    auc: float
    low: float
    high: float
    se: float


class AUCComparison(NamedTuple):
    """AUC of the first score minus the second's, its confidence interval and the p-value of no difference."""

    difference: float
    low: float
    high: float
    pvalue: float


def auc_interval(y_true, y_score, *, level=0.95) -> AUCInterval:
    """AUC with DeLong's standard error and a confidence interval that stays in [0, 1].

    se^2 = var(V+) / n+ + var(V-) / n-, where V+ of a positive is the share of negatives it beats (ties one
    half) and V- of a negative the share of positives that beat it. The interval is symmetric on the logit
    scale: logit(auc) +- z se / (auc (1 - auc)). Where se = 0 (AUC 0 or 1, or all scores equal) the min(n+,
    n-) disjoint pairs of the sample are independent trials, so the interval is Clopper & Pearson's for as
    many of them won: at AUC = 1, [((1 - level) / 2)^(1 / min(n+, n-)), 1].

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind, at least two rows of each. The greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive.
    level : float in (0, 1)
        Coverage of the interval.

    Returns
    -------
    AUCInterval
        Named tuple (auc, low, high, se).

    Examples
    --------
    >>> from auclid.metrics import auc_interval
    >>> auc, low, high, se = auc_interval([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6])
    >>> f"{auc:.3f} in [{low:.3f}, {high:.3f}], se {se:.3f}"
    '0.889 in [0.261, 0.995], se 0.157'

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44. Sun & Xu (2014), IEEE Signal Processing Letters 21.
    Clopper & Pearson (1934), Biometrika 26.
    """
    level = number_in("auc_interval", "level", level, 0.0, 1.0)
    is_pos, score = _checked("auc_interval", y_true, y_score=y_score)
    of_pos, of_neg = _placements(is_pos, score)
    auc = int(of_pos.sum()) / (2 * len(of_pos) * len(of_neg))
    se = _standard_error(of_pos, of_neg)
    spread = auc * (1.0 - auc)
    if se == 0.0 or spread == 0.0:
        low, high = _clopper_pearson(auc, min(len(of_pos), len(of_neg)), level)
        return AUCInterval(auc, low, high, se)
    reach = ndtri(0.5 + level / 2.0) * se / spread
    low, high = expit(logit(auc) - reach), expit(logit(auc) + reach)
    return AUCInterval(auc, float(low), float(high), se)


def compare_auc(y_true, score_a, score_b, *, level=0.95) -> AUCComparison:
    """Difference of the AUCs of two scores of the same rows, with DeLong's paired test.

    difference = AUC(a) - AUC(b), its variance that of `auc_interval` with V(a) - V(b) for V; the interval is
    difference +- z se and the p-value 2 Phi(-|difference| / se). Where every row's V differs alike, se = 0:
    the p-value is 1 for no difference, else that of a sign test on the m = min(n+, n-) disjoint pairs, min(1,
    2^(1 - m)), and the interval allows the share 1 - q, q = ((1 - level) / 2)^(1 / m), of unseen pairs to go
    either way.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind, at least two rows of each. The greater one is positive.
    score_a, score_b : array-like of shape (n,)
        Scores, greater for rows thought positive; the two may be on different scales.
    level : float in (0, 1)
        Coverage of the interval.

    Returns
    -------
    AUCComparison
        Named tuple (difference, low, high, pvalue).

    Examples
    --------
    >>> from auclid.metrics import compare_auc
    >>> result = compare_auc([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6], [3, 2, 4, 1, 5, 6])
    >>> round(result.difference, 3), round(result.pvalue, 3)
    (0.222, 0.371)

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44. Sun & Xu (2014), IEEE Signal Processing Letters 21.
    """
    level = number_in("compare_auc", "level", level, 0.0, 1.0)
    is_pos, *scores = _checked("compare_auc", y_true, score_a=score_a, score_b=score_b)
    a, b = (_placements(is_pos, score) for score in scores)
    gap_pos, gap_neg = a[0] - b[0], a[1] - b[1]
    difference = int(gap_pos.sum()) / (2 * len(gap_pos) * len(gap_neg))
    se = _standard_error(gap_pos, gap_neg)
    if se == 0.0:
        return _all_alike(difference, min(len(gap_pos), len(gap_neg)), level)
    reach = ndtri(0.5 + level / 2.0) * se
    pvalue = float(2.0 * ndtr(-abs(difference) / se))
    return AUCComparison(difference, float(difference - reach), float(difference + reach), pvalue)


def _checked(owner, y_true, **scores):
    y = column(owner, "y_true", y_true)
    scores = {name: numbers_column(owner, name, values) for name, values in scores.items()}
    same_length(owner, y_true=y, **scores)
    is_pos = positives(owner, y)
    n_pos = np.count_nonzero(is_pos)
    if min(n_pos, len(y) - n_pos) < 2:
        raise ValueError(
            f"{owner} expects at least 2 rows of each class, for a variance. "
            f"Got {n_pos} positive and {len(y) - n_pos} negative instead."
        )
    return is_pos, *scores.values()


def _placements(is_pos, score):
    """Twice the negatives below each positive, and twice the positives above each negative; a tie is one."""
    order = np.argsort(score)
    score, is_pos_sorted = score[order], is_pos[order]
    start = np.concatenate(([True], score[1:] != score[:-1]))
    edge = np.append(np.flatnonzero(start), len(score))
    pos_before = np.concatenate(([0], np.cumsum(is_pos_sorted)))[edge]
    neg_before = edge - pos_before
    twice_below = neg_before[:-1] + neg_before[1:]
    twice_above = 2 * pos_before[-1] - (pos_before[:-1] + pos_before[1:])
    group = np.cumsum(start) - 1
    twice = np.empty(len(score), np.int64)
    twice[order] = np.where(is_pos_sorted, twice_below[group], twice_above[group])
    return twice.compress(is_pos), twice.compress(~is_pos)


def _standard_error(twice_pos, twice_neg):
    """DeLong's, from doubled counts of pairs; exactly zero where each class has one count."""
    n_pos, n_neg = len(twice_pos), len(twice_neg)
    of_pos = twice_pos.var(ddof=1) / (2.0 * n_neg) ** 2 / n_pos if np.ptp(twice_pos) else 0.0
    of_neg = twice_neg.var(ddof=1) / (2.0 * n_pos) ** 2 / n_neg if np.ptp(twice_neg) else 0.0
    return float(np.sqrt(of_pos + of_neg))


def _clopper_pearson(auc, trials, level):
    won, tail = auc * trials, (1.0 - level) / 2.0
    low = betaincinv(won, trials - won + 1.0, tail) if won > 0.0 else 0.0
    high = betaincinv(won + 1.0, trials - won, 1.0 - tail) if won < trials else 1.0
    return float(low), float(high)


def _all_alike(difference, trials, level):
    if difference == 0.0:
        return AUCComparison(0.0, 0.0, 0.0, 1.0)
    seen = ((1.0 - level) / 2.0) ** (1.0 / trials)
    low, high = seen * difference - (1.0 - seen), seen * difference + (1.0 - seen)
    return AUCComparison(difference, low, high, min(1.0, 2.0 ** (1 - trials)))
