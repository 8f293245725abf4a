"""Net benefit of treating the rows whose probability reaches a threshold: decision curves with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics._confusion import Cut, Metric, Terms, metric_terms
from auclid.metrics._probabilities import in_unit
from auclid.metrics._results import NetBenefit
from auclid.metrics._sample import Sample, checked_prevalence, checked_sample
from auclid.metrics._variance import quantile
from auclid.validation.parameters import number_in
from auclid.validation.vectors import finite_column


def net_benefit(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    thresholds: ArrayLike,
    *,
    other: ArrayLike | None = None,
    level: float = 0.95,
    prevalence: float | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> NetBenefit:
    """Net benefit of treating rows with probability >= t: TP / n - FP / n * t / (1 - t), with intervals.

    To treat from a probability t on is to take one true positive for worth (1 - t) / t false positives. The two
    default policies are to treat every row and to treat none; a model is of use where it beats both.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_prob : array-like of shape (n,)
        Probabilities in [0, 1] of the positive label.
    thresholds : array-like of shape (k,), or a float
        Probabilities in (0, 1) from which on a row is treated.
    other : array-like of shape (n,), optional
        Probabilities of another model, to which the difference is told in `versus_other`.
    level : float in (0, 1)
        Coverage of each interval, at each threshold by itself.
    prevalence : float in (0, 1), optional
        A known share of positives; None: that of the rows.
    groups, sample_weight, pos_label
        As in `brier_interval`.

    Returns
    -------
    NetBenefit
        Arrays (threshold, net_benefit, low, high, treat_all, versus_all, versus_all_low, versus_all_high); by name,
        where another model is given, versus_other, versus_other_low and versus_other_high.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.metrics import net_benefit
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p
    >>> curve = net_benefit(y, p, [0.2, 0.5])
    >>> curve.net_benefit.round(3).tolist(), curve.treat_all.round(3).tolist()
    ([0.426, 0.273], [0.404, 0.046])

    References
    ----------
    Vickers & Elkin (2006), Decision curve analysis, Medical Decision Making 26. Sande et al. (2020), Statistical
    inference for decision curve analysis, Statistics in Medicine 39.
    """
    owner = "net_benefit"
    level, prevalence = number_in(owner, "level", level, 0.0, 1.0), checked_prevalence(owner, prevalence)
    at = checked_thresholds(owner, thresholds)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    given = {"y_prob": y_prob} if other is None else {"y_prob": y_prob, "other": other}
    sample = checked_sample(owner, y_true, given, fewest=1, **rows)
    probs = [in_unit(owner, prob) for prob in sample.scores]
    found = [_at(sample, probs, t, prevalence, level) for t in at]
    columns = [np.array(column) for column in zip(*found, strict=True)]
    names = "versus_other", "versus_other_low", "versus_other_high"
    return NetBenefit(at, *columns[:7], **dict(zip(names, columns[7:], strict=False)), level=level)


def checked_thresholds(owner: str, thresholds: ArrayLike) -> np.ndarray:
    """Probabilities in (0, 1)."""
    at = finite_column(owner, "thresholds", np.atleast_1d(np.asarray(thresholds, dtype=np.float64)))
    for t in at:
        number_in(owner, "thresholds", float(t), 0.0, 1.0)
    return at


def treated(prob: np.ndarray, threshold: float) -> Cut:
    """The rows that are treated from a probability on."""
    return Cut(prob, float(threshold), (prob >= threshold).astype(np.float64))


def _at(
    sample: Sample, probs: list[np.ndarray], threshold: float, prevalence: float | None, level: float
) -> tuple[float, ...]:
    odds = threshold / (1.0 - threshold)
    benefit = Metric(lambda tp, fp, p: tp - odds * fp, "plain")
    everyone = Metric(lambda tp, fp, p: p - odds * (1.0 - p), "plain")
    cuts = [treated(prob, threshold) for prob in probs]
    own = metric_terms(sample, cuts[0], benefit, prevalence)
    all_rows = metric_terms(sample, cuts[0], everyone, prevalence)
    rivals = [all_rows, *(metric_terms(sample, cut, benefit, prevalence) for cut in cuts[1:])]
    gaps = [end for rival in rivals for end in _ends(own - rival, level)]
    return *_ends(own, level), all_rows.value, *gaps


def _ends(found: Terms, level: float) -> tuple[float, float, float]:
    reach = quantile(level, found.df) * found.se
    return found.value, found.value - reach, found.value + reach
