"""Average precision: its value at any prevalence, and how sure it is, by the influence of each row.

With a and b the shares of positives and of negatives that score at least s, and ρ negatives for each positive, the
precision at s is P(s) = a/(a + ρb) and AP is its mean over the positives: a functional of the two distributions of
scores, whose influence values are differences of cumulative sums over the sorted scores.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics._auc import ranked_sample, warn_if_undefined
from auclid.metrics._bootstrap import Masses, Plan, Progress, checked_plan, distinct
from auclid.metrics._cells import masses, stepped
from auclid.metrics._inference import Error, Estimates, Statistic, checked_question
from auclid.metrics._partitioned import PartitionedSample, place_classes, sample_anywhere
from auclid.metrics._placements import AreaTerms
from auclid.metrics._results import APComparison, APInterval
from auclid.metrics._sample import Sample, checked_sample
from auclid.metrics._variance import degrees_of_sums
from auclid.validation.parameters import number_in
from auclid.validation.vectors import declared_positive, partitioned_columns

AP_METHODS = ("delta", "bootstrap", "bca")


def average_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    prevalence: float | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """The mean over the positives of the precision at their scores, rows of equal score counted together.

    AP = Σ_s (weight of positives at s) · A(s)/(A(s) + B(s)) / (weight of positives), where A and B are the weights of
    the positives and of the negatives that score at least s. It is scikit-learn's `average_precision_score`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive. Infinities are allowed, NaN is not.
    prevalence : float in (0, 1), optional
        The share of positives that the precision should refer to: what a test set with thinned negatives would have
        shown in production. None: that of the rows.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf). Rows of weight zero count for nothing.
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Returns
    -------
    float
        In [0, 1], or nan with an UndefinedMetricWarning where all rows are of one class.

    Notes
    -----
    A positive counts itself, so AP is biased upwards where positives are few: of 10 positives among 200 rows with a
    true AP of .165 the mean is .222.

    Examples
    --------
    >>> from auclid.metrics import average_precision
    >>> round(average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    >>> round(average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], prevalence=0.01), 4)
    0.5099

    References
    ----------
    Boyd, Eng & Page (2013), Area under the precision-recall curve: point estimates and confidence intervals, ECML.
    """
    owner = "average_precision"
    ratio = _ratio(owner, prevalence)
    parts = partitioned_columns(owner, y_true, [y_score], sample_weight)
    if parts is not None:
        placed = place_classes(owner, parts, declared_positive(y_true, pos_label))
        if placed is not None and placed.few_is_pos:
            return ap_of_masses(masses(*placed.compressed())[1:], ratio)
    sample = ranked_sample(owner, y_true, y_score, sample_weight, pos_label, fewest=0)
    is_pos, score, weight = sample.is_pos, sample.scores[0], sample.weight
    if is_pos.all() or not is_pos.any():
        return warn_if_undefined(owner, float("nan"))
    return ap_of_masses(_counts(is_pos, score) if weight is None else masses(is_pos, score, weight)[1:], ratio)


def average_precision_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    level: float = 0.95,
    method: str = "delta",
    prevalence: float | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    progress: Progress = False,
) -> APInterval:
    """Average precision with its standard error and a confidence interval that stays in [0, 1].

    se² = var(u⁺)/n₊ + var(u⁻)/n₋ with the influence u of each row; the interval is symmetric on the logit scale, by
    Student's t with the degrees of freedom of se² (Satterthwaite). One sort of each class is all it takes: no row is
    drawn.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels, at least two rows (or groups) of each; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive.
    level : float in (0, 1)
        Coverage of the interval.
    method : {"delta", "bootstrap", "bca"}
        By influence values (the delta method); by the quantiles of bootstrap draws within the classes; or by those
        after Efron's correction of bias and skewness, for few positives.
    prevalence : float in (0, 1), optional
        The share of positives that the precision should refer to. None: that of the rows, taken as given.
    groups : array-like of shape (n,), optional
        Which rows belong together (a patient, a customer): the variance is that of sums over groups.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf): how much a row counts, not how often it was seen.
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.
    n_bootstrap, random_state, progress
        As in `auc_interval`.

    Returns
    -------
    APInterval
        Unpacks to (ap, low, high, se).

    Notes
    -----
    In simulations with 5, 20 and 100 negatives for each positive the interval of 95 % covers 93 to 98 % from 30
    positives on, and 91 to 97 % for 10, where AP itself is biased upwards; "bca" corrects for that.

    Examples
    --------
    >>> from auclid.datasets import load_mammography
    >>> from auclid.metrics import average_precision_interval
    >>> X, y = load_mammography(return_X_y=True)
    >>> ap, low, high, se = average_precision_interval(y, X[:, 3])
    >>> f"{ap:.3f} in [{low:.3f}, {high:.3f}]"
    '0.222 in [0.178, 0.272]'

    References
    ----------
    Boyd, Eng & Page (2013), ECML. Efron (1987), Better bootstrap confidence intervals, JASA 82.
    """
    owner = "average_precision_interval"
    level, ratio = number_in(owner, "level", level, 0.0, 1.0), _ratio(owner, prevalence)
    plan = checked_plan(owner, method, n_bootstrap, random_state, progress, methods=AP_METHODS)
    if method == "delta" and sample_weight is None and groups is None:
        return _plain_interval(owner, y_true, y_score, pos_label, ratio, plan, level)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"y_score": y_score}, **rows)
    return Estimates.of(sample, _statistic(ratio), plan).interval(level, APInterval)


def compare_average_precision(
    y_true: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    level: float = 0.95,
    method: str = "delta",
    prevalence: float | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    alternative: str = "two-sided",
    margin: float = 0.0,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    progress: Progress = False,
) -> APComparison:
    """Difference of the average precisions of two scores of the same rows, with a paired test.

    The variance is that of the difference of the two influence values of each row; interval and p-value as in
    `compare_auc`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels, at least two rows (or groups) of each; of two numbers the greater one is positive.
    score_a, score_b : array-like of shape (n,)
        Scores, greater for rows thought positive; the two may be on different scales.
    level, method, prevalence, groups, sample_weight, pos_label, n_bootstrap, random_state, progress
        As in `average_precision_interval`.
    alternative : {"two-sided", "greater", "less"}
        What the test should show.
    margin : float in [0, 1)
        With alternative="greater", a is shown to be not worse than b by `margin` or more (non-inferiority).

    Returns
    -------
    APComparison
        Unpacks to (difference, low, high, pvalue).

    Examples
    --------
    >>> from auclid.datasets import load_mammography
    >>> from auclid.metrics import compare_average_precision
    >>> X, y = load_mammography(return_X_y=True)
    >>> result = compare_average_precision(y, X[:, 3], X[:, 0])
    >>> f"{result.difference:.3f} in [{result.low:.3f}, {result.high:.3f}]"
    '0.160 in [0.118, 0.202]'
    """
    owner = "compare_average_precision"
    question, ratio = checked_question(owner, level, alternative, margin), _ratio(owner, prevalence)
    plan = checked_plan(owner, method, n_bootstrap, random_state, progress, methods=AP_METHODS)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"score_a": score_a, "score_b": score_b}, **rows)
    return Estimates.of(sample, _statistic(ratio), plan).difference(question, APComparison)


def _statistic(ratio: float | None) -> Statistic:
    """The average precision at so many negatives for each positive; None: those of the rows."""
    terms, of_masses = partial(ap_terms, ratio=ratio), partial(ap_of_masses, ratio=ratio)
    return Statistic(terms, of_masses, lambda is_pos, score: distinct(is_pos, score)[1], always_student=True)


def ap_of_masses(found: Masses, ratio: float | None = None) -> float:
    """AP from the weights of positives and of negatives at each distinct score, ascending.

    ``ratio``: negatives for each positive that the precision refers to; None: those of the masses.
    """
    pos, neg = found[0].astype(np.float64, copy=False), found[1]
    above, below = np.cumsum(pos[::-1]), np.cumsum(neg[::-1])
    scale = 1.0 if ratio is None else ratio * above[-1] / below[-1]
    at = pos[::-1] > 0.0
    return float(pos[::-1][at] @ (above[at] / (above[at] + scale * below[at]))) / float(above[-1])


def _plain_interval(
    owner: str, y_true: ArrayLike, y_score: ArrayLike, pos_label: Any, ratio: float | None, plan: Plan, level: float
) -> APInterval:
    """The interval of rows that stand alone and weigh alike, from counts: no row has terms of its own."""
    sample = sample_anywhere(owner, y_true, {"y_score": y_score}, pos_label=pos_label)
    if isinstance(sample, PartitionedSample) and not sample.few_is_pos:
        sample = checked_sample(owner, y_true, {"y_score": y_score}, pos_label=pos_label)
    if isinstance(sample, PartitionedSample):
        counts = masses(*sample.compressed())[1:]
    else:
        counts = _counts(sample.is_pos, sample.scores[0])
    ap, *influence = step_influence(*counts, ratio)
    sizes: np.ndarray = np.array([count.sum() for count in counts])
    second, fourth = np.zeros(2), np.zeros(2)
    for k, (count, terms) in enumerate(zip(counts, influence, strict=True)):
        square = _exact_zero(terms * (count > 0.0)) ** 2
        second[k], fourth[k] = count @ square / sizes[k] ** 2.0, count @ square**2 / sizes[k] ** 4.0
    se, df = float(np.sqrt(np.sum(second * sizes / (sizes - 1.0)))), degrees_of_sums(second, fourth, sizes)
    return Error(ap, se, df).interval(sample, plan, level, APInterval)


def _counts(is_pos: np.ndarray, score: np.ndarray) -> Masses:
    """Positives and negatives at steps of a score, ascending: below all positives, then at each of their scores.

    Precision is only asked for at scores of positives, so a negative between two of them counts at the lower one.
    """
    pos, neg = np.sort(score.compress(is_pos)), np.sort(score.compress(~is_pos))
    first = np.flatnonzero(np.concatenate(([True], pos[1:] != pos[:-1])))
    of_pos = np.diff(first, prepend=0, append=len(pos))
    of_neg = np.diff(np.searchsorted(neg, pos[first]), prepend=0, append=len(neg))
    return of_pos, of_neg


def step_influence(pos: np.ndarray, neg: np.ndarray, ratio: float | None) -> tuple[float, np.ndarray, np.ndarray]:
    """AP from the masses of both classes at ascending scores; the influence of a positive and of a negative there."""
    above, beyond = (np.cumsum(mass[::-1])[::-1] for mass in (pos, neg))  # that score as much or more
    total_pos, total_neg = float(above[0]), float(beyond[0])
    odds = total_neg / total_pos if ratio is None else ratio
    scale = 1.0 if ratio is None else ratio * total_pos / total_neg
    flagged = above + scale * beyond
    flagged[flagged == 0.0] = 1.0  # above all rows
    precision = above / flagged
    ap = 1.0 - float(pos @ (1.0 - precision)) / total_pos  # exactly 1 for a perfect ranking
    slope = pos * odds
    slope /= flagged
    slope /= flagged
    of_pos = slope * beyond
    of_pos *= total_pos / total_neg
    slope *= above
    precision += np.cumsum(of_pos) - (ap + float(of_pos @ above) / total_pos)
    return ap, precision, float(slope @ beyond) / total_neg - np.cumsum(slope)


def ap_terms(sample: Sample, score: np.ndarray, ratio: float | None = None) -> AreaTerms:
    """AP of a score, and what each positive and each negative adds to its error."""
    is_pos, weight = sample.is_pos, sample.weight
    _, pos, neg, number = stepped(is_pos, score, weight, numbered=True)
    assert number is not None
    ap, gain, loss = step_influence(pos, neg, ratio)
    w_pos, w_neg = (1.0, 1.0) if weight is None else (weight[is_pos], weight[~is_pos])
    pos_terms = w_pos * gain[number[is_pos]] / float(pos.sum())
    neg_terms = w_neg * loss[number[~is_pos]] / float(neg.sum())
    return AreaTerms(ap, _exact_zero(pos_terms), _exact_zero(neg_terms))


def _exact_zero(terms: np.ndarray) -> np.ndarray:
    """The terms; exactly zero where all of them are rounding."""
    return np.zeros_like(terms) if np.abs(terms).max(initial=0.0) * len(terms) <= 1e-13 else terms


def _ratio(owner: str, prevalence: float | None) -> float | None:
    """Negatives for each positive at a prevalence."""
    if prevalence is None:
        return None
    share = number_in(owner, "prevalence", prevalence, 0.0, 1.0)
    return (1.0 - share) / share
