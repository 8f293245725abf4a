"""Metrics of a confusion matrix at a point of the curve: with intervals, and of two models compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

from auclid.metrics._cells import masses
from auclid.metrics._confusion import (
    GIVEN,
    METRICS,
    SYNONYMS,
    Cut,
    Metric,
    Terms,
    effective_units,
    f_score,
    measure,
    metric_terms,
)
from auclid.metrics._inference import Question, answer, checked_question
from auclid.metrics._results import MetricComparison, MetricInterval, TopK
from auclid.metrics._roc import RATE_ROUNDING, CurvePoint, checked_point, roc_curve
from auclid.metrics._sample import Sample, checked_prevalence, checked_sample
from auclid.metrics._variance import clopper_pearson
from auclid.validation.parameters import number_in, one_of, whole_number

POINT_NAMES = ("fpr", "specificity", "tpr", "threshold", "alerts", "alert_rate")
"""What a point of the curve can be given by."""

POINT_SYNONYMS = {"recall": "tpr", "sensitivity": "tpr", "k": "alerts"}

SHARES_OF_ROWS = ("tpr", "fpr", "specificity", "accuracy")
"""Metrics that are a share of given rows, so that two models can be compared by McNemar's test."""


def interval_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    metric: str = "precision",
    *,
    at: Mapping[str, Any],
    beta: float = 1.0,
    level: float = 0.95,
    prevalence: float | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> MetricInterval:
    """A metric of the confusion matrix at a point of the curve, with an interval by influence values.

    The point is the one with the highest recall that meets the condition: FPR <= fpr, specificity >= specificity, at
    most so many alerts, at most such a rate of them; or the one with the lowest FPR and TPR >= tpr. The interval allows
    for the threshold having been found on these rows, unless it is given.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Finite scores, greater for rows thought positive.
    metric : {"precision", "tpr", "fpr", "specificity", "npv", "accuracy", "balanced_accuracy", "f1", "lift", \
"lr_positive", "lr_negative", "alert_rate"}
        "recall" and "sensitivity" are "tpr", "ppv" is "precision".
    at : dict with one item
        {"threshold": t}, {"fpr": f}, {"specificity": f}, {"tpr": f} (or "recall", "sensitivity"), {"alerts": k} or
        {"alert_rate": f}.
    beta : float in (0, inf)
        How many times as much recall counts as precision ("f1").
    level : float in (0, 1)
        Coverage of the interval.
    prevalence : float in (0, 1), optional
        A known share of positives that metric and alerts should refer to. None: that of the rows, which are then taken
        for a random sample.
    groups : array-like of shape (n,), optional
        Which rows belong together: the variance is that of sums over groups.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); alerts are counted in rows, whatever they weigh.
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Returns
    -------
    MetricInterval
        Unpacks to (value, low, high, se).

    Examples
    --------
    >>> from auclid.datasets import load_mammography
    >>> from auclid.metrics import interval_at
    >>> X, y = load_mammography(return_X_y=True)
    >>> value, low, high, se = interval_at(y, X[:, 3], "precision", at={"recall": 0.5})
    >>> f"{value:.3f} in [{low:.3f}, {high:.3f}]"
    '0.181 in [0.148, 0.220]'

    References
    ----------
    Wilson (1927), JASA 22. Pepe (2003), The statistical evaluation of medical tests for classification and prediction.
    """
    owner = "interval_at"
    level = number_in(owner, "level", level, 0.0, 1.0)
    name, chosen, point = checked_metric(owner, metric, beta), named_metric(metric, beta), checked_points(owner, at)[0]
    prevalence = checked_prevalence(owner, prevalence)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"y_score": y_score}, fewest=1, **rows)
    cut = cut_at(owner, sample, sample.scores[0], point, prevalence)
    found = measure(sample, cut, chosen, prevalence=prevalence, level=level)
    return found._replace(metric=name, **sample.counts)


def compare_at(
    y_true: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    metric: str = "tpr",
    *,
    at: Mapping[str, Any],
    beta: float = 1.0,
    level: float = 0.95,
    method: str = "delta",
    prevalence: float | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    alternative: str = "two-sided",
    margin: float = 0.0,
) -> MetricComparison:
    """Difference of a metric of two scores of the same rows at a point of their curves, with a paired test.

    Both models are put at the same point: the sensitivity at a specificity of 0.9, the precision of the 100 highest
    rows. The variance is that of the difference of the two influence values of each row, or of their sums over groups.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    score_a, score_b : array-like of shape (n,)
        Finite scores, greater for rows thought positive; the two may be on different scales.
    metric, at, beta, level, prevalence, groups, sample_weight, pos_label
        As in `interval_at`. {"threshold": (t_a, t_b)} gives each score its own threshold.
    method : {"delta", "mcnemar"}
        By influence values; or by McNemar's exact test of the rows on which the two predictions disagree, which takes
        the thresholds as given ("tpr", "fpr", "specificity" and "accuracy", without groups and weights). Its interval
        is Clopper & Pearson's of the share of disagreements that a wins.
    alternative : {"two-sided", "greater", "less"}
        What the test should show.
    margin : float in [0, 1)
        With alternative="greater", a is shown to be not worse than b by `margin` or more (non-inferiority).

    Returns
    -------
    MetricComparison
        Unpacks to (difference, low, high, pvalue).

    Examples
    --------
    >>> from auclid.datasets import load_mammography
    >>> from auclid.metrics import compare_at
    >>> X, y = load_mammography(return_X_y=True)
    >>> result = compare_at(y, X[:, 3], X[:, 0], "sensitivity", at={"specificity": 0.95})
    >>> f"{result.difference:.3f} in [{result.low:.3f}, {result.high:.3f}]"
    '0.285 in [0.211, 0.358]'

    References
    ----------
    McNemar (1947), Psychometrika 12. Obuchowski (1998), On the comparison of correlated proportions for clustered
    data, Statistics in Medicine 17.
    """
    owner = "compare_at"
    question = checked_question(owner, level, alternative, margin)
    name, chosen = checked_metric(owner, metric, beta), named_metric(metric, beta)
    points, prevalence = checked_points(owner, at, models=2), checked_prevalence(owner, prevalence)
    one_of(owner, "method", method, ("delta", "mcnemar"))
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"score_a": score_a, "score_b": score_b}, fewest=1, **rows)
    cuts = [cut_at(owner, sample, *each, prevalence) for each in zip(sample.scores, points, strict=True)]
    a, b = (metric_terms(sample, cut, chosen, prevalence) for cut in cuts)
    if method == "mcnemar":
        _plain_shares(owner, name, sample, prevalence, margin)
        found = _mcnemar(sample, cuts, name, question)
    else:
        found = difference_of(sample, a, b, question)
    return found._replace(
        estimate_a=a.value,
        estimate_b=b.value,
        metric=name,
        thresholds=(cuts[0].threshold, cuts[1].threshold),
        method=method,
        **sample.counts,
    )


def top_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int,
    *,
    level: float = 0.95,
    prevalence: float | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> TopK:
    """Precision, recall and lift of the k rows of highest score, with intervals; rows tied at the cut count in part.

    The intervals are about the k / n highest rows of new data: they allow for the cut lying elsewhere there.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Finite scores, greater for rows thought positive.
    k : int in [1, n]
        Rows at the top.
    level, prevalence, groups, sample_weight, pos_label
        As in `interval_at`; k counts rows, whatever they weigh. At a known prevalence it is k / n of all rows there.

    Returns
    -------
    TopK
        Unpacks to (precision, low, high, se); recall and lift are attributes.

    Examples
    --------
    >>> from auclid.datasets import load_mammography
    >>> from auclid.metrics import top_k
    >>> X, y = load_mammography(return_X_y=True)
    >>> top = top_k(y, X[:, 3], 100)
    >>> f"{top.precision:.2f} in [{top.low:.2f}, {top.high:.2f}], lift {top.lift:.1f}"
    '0.33 in [0.24, 0.43], lift 14.2'

    References
    ----------
    Manning, Raghavan & Schütze (2008), Introduction to information retrieval, chapter 8.
    """
    owner = "top_k"
    level, prevalence = number_in(owner, "level", level, 0.0, 1.0), checked_prevalence(owner, prevalence)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"y_score": y_score}, fewest=1, **rows)
    whole_number(owner, "k", k, 1, len(sample.is_pos))
    cut = top_cut(sample, sample.scores[0], k, prevalence)
    precision, recall, lift = (
        measure(sample, cut, METRICS[name], prevalence=prevalence, level=level) for name in ("precision", "tpr", "lift")
    )
    return TopK(
        *precision[:4],
        k=int(k),
        positives=float(cut.flagged[sample.is_pos].sum()),
        threshold=cut.threshold,
        recall=recall.value,
        recall_low=float(recall.low),
        recall_high=float(recall.high),
        lift=lift.value,
        lift_low=lift.low,
        lift_high=lift.high,
        df=precision.df,
        level=level,
        method="delta",
        **sample.counts,
    )


def top_cut(sample: Sample, score: np.ndarray, k: float, prevalence: float | None = None) -> Cut:
    """The k highest rows; those tied at the cut count for the share of them that has room.

    At a known prevalence rows count so that the n rows have that share of positives.
    """
    count = _row_counts(sample.is_pos, prevalence)
    value, pos, neg = masses(sample.is_pos, score, count)
    above = np.cumsum((pos + neg)[::-1])[::-1]
    at = max(int(np.count_nonzero(above >= k - RATE_ROUNDING * len(score))) - 1, 0)
    lowest, tied = value[at], float(pos[at] + neg[at])
    share = min(max((k - (above[at] - tied)) / tied, 0.0), 1.0)
    return Cut(score, float(lowest), (score > lowest) + share * (score == lowest), GIVEN["alerts"])


def _row_counts(is_pos: np.ndarray, prevalence: float | None) -> np.ndarray | None:
    """How many rows each one stands for, where the share of positives is to be another."""
    if prevalence is None:
        return None
    share = np.count_nonzero(is_pos) / len(is_pos)
    return np.where(is_pos, prevalence / share, (1.0 - prevalence) / (1.0 - share))


def cut_at(owner: str, sample: Sample, score: np.ndarray, point: CurvePoint, prevalence: float | None = None) -> Cut:
    """The rows that are flagged at a point."""
    name, value = point
    if name == "threshold":
        return Cut.at(score, float(value))
    weight = sample.weight
    if name == "alerts":
        value, weight = whole_number(owner, "at['alerts']", value, 1, len(score)) / len(score), None
    curve = roc_curve(sample.is_pos, score, weight)
    asked = CurvePoint("alert_rate" if name == "alerts" else name, value)
    return Cut.at(score, float(curve.threshold[asked.place(curve.tp, curve.fp, prevalence)]), GIVEN[name])


def checked_points(owner: str, at: Mapping[str, Any], models: int = 1) -> list[CurvePoint]:
    """The point for each model, or a sentence where it makes no sense; only thresholds may differ."""
    if not isinstance(at, Mapping) or len(at) != 1:
        raise ValueError(f"The 'at' parameter of {owner} must be a dict with one item, as {{'fpr': 0.1}}. Got {at!r}.")
    (said, value), shown = next(iter(at.items())), f"at[{next(iter(at))!r}]"
    name = one_of(owner, "at", POINT_SYNONYMS.get(said, said), POINT_NAMES)
    several = name == "threshold" and models > 1 and isinstance(value, tuple | list) and len(value) == models
    return [checked_point(owner, name, each, shown) for each in (value if several else [value] * models)]


def checked_metric(owner: str, metric: str, beta: float) -> str:
    """The metric's own name, or a sentence where there is none."""
    number_in(owner, "beta", beta, 0.0, np.inf)
    return one_of(owner, "metric", SYNONYMS.get(metric, metric), tuple(METRICS))


def named_metric(metric: str, beta: float) -> Metric:
    """The metric of a name."""
    return f_score(beta) if metric == "f1" else METRICS[SYNONYMS.get(metric, metric)]


def difference_of(sample: Sample, a: Terms, b: Terms, question: Question) -> MetricComparison:
    """Interval and p-value of the difference of two metrics of the same rows."""
    gap, trials = a - b, max(int(effective_units(sample)), 2)
    se = 0.0 if gap.se <= 1e-15 else gap.se
    return answer(MetricComparison, gap.value, se, trials, question, gap.df)


def _plain_shares(owner: str, name: str, sample: Sample, prevalence: float | None, margin: float) -> None:
    """Refuse what McNemar's test cannot answer."""
    if name not in SHARES_OF_ROWS:
        known = ", ".join(SHARES_OF_ROWS)
        raise ValueError(f"McNemar's test of {owner} compares {known}. Got metric={name!r} instead.")
    if sample.cluster is not None or sample.weight is not None or prevalence is not None or margin > 0.0:
        raise ValueError(
            f"McNemar's test of {owner} takes neither groups, weights, a prevalence nor a margin. Pass method='delta'."
        )


def _mcnemar(sample: Sample, cuts: list[Cut], name: str, question: Question) -> MetricComparison:
    """McNemar's exact test: of the rows on which two predictions disagree, a wins half by chance."""
    of = {"tpr": sample.is_pos, "accuracy": np.ones(len(sample.is_pos), bool)}.get(name, ~sample.is_pos)
    wanted = (sample.is_pos if name == "accuracy" else np.full(len(of), name in ("tpr", "fpr")))[of]
    right = [(cut.flagged[of] > 0.5) == wanted for cut in cuts]
    won, lost, size = int((right[0] & ~right[1]).sum()), int((~right[0] & right[1]).sum()), int(of.sum())
    unlike, gap = won + lost, (won - lost) / size
    asked: dict[str, Any] = {"level": question.level, "alternative": question.alternative, "margin": 0.0}
    if unlike == 0:
        return MetricComparison(0.0, *question.one_sided(0.0, 0.0), 1.0, statistic=0.0, **asked)
    two = question.level if question.sides == 2 else 2.0 * question.level - 1.0
    low, high = clopper_pearson(won / unlike, unlike, two)
    pvalue = question.pvalue(_upper(won, unlike), _upper(lost, unlike))
    low, high = question.one_sided(*(unlike / size * (2.0 * end - 1.0) for end in (low, high)))
    statistic = (won - lost) ** 2 / unlike
    return MetricComparison(gap, low, high, pvalue, se=float(np.sqrt(unlike)) / size, statistic=statistic, **asked)


def _upper(won: int, trials: int) -> float:
    """The probability of that many wins or more in fair trials."""
    return 1.0 if won == 0 else float(betainc(won, trials - won + 1.0, 0.5))
