"""What one threshold does to each group of rows: selection rates and their ratios, and the rates within groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.errors import quoted_value
from auclid.metrics._confusion import METRICS, Cut, Metric, metric_terms, wilson_interval
from auclid.metrics._results import GroupRates, MetricInterval
from auclid.metrics._sample import Sample, checked_sample
from auclid.metrics._variance import quantile
from auclid.validation.parameters import number_in
from auclid.validation.vectors import codes, row_weights

GROUP_METRICS = ("alert_rate", "tpr", "fpr", "precision", "npv", "accuracy")


def rates_by_group(
    y_true: ArrayLike,
    y_score: ArrayLike,
    groups: ArrayLike,
    threshold: float,
    *,
    reference: Any = None,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> GroupRates:
    """Selection rates, error rates and predictive values of each group at one threshold, with intervals.

    The selection ratio of a group is its share of flagged rows divided by that of the reference group; its interval is
    symmetric in the logarithm. Below 0.8 the "four-fifths rule" speaks of adverse impact, where being flagged is what
    people want; where it is a burden, take the group of lowest rate for the reference.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Finite scores, greater for rows thought positive.
    groups : array-like of shape (n,)
        The group of each row. A group may lack a class; rates of it are then nan with the interval [0, 1].
    threshold : float
        Rows that score higher are flagged.
    reference : label, optional
        The group that others are compared with; else the one of highest selection rate.
    level : float in (0, 1)
        Coverage of each interval.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Returns
    -------
    GroupRates
        `rates[group][name]` and `ratios[group]` unpack to (value, low, high, se); `to_frame()` is a table of them.

    Examples
    --------
    >>> from auclid.metrics import rates_by_group
    >>> y, s = [0, 1, 0, 1, 0, 1, 0, 1], [1, 4, 2, 6, 3, 3, 6, 5]
    >>> result = rates_by_group(y, s, ["a", "a", "a", "a", "b", "b", "b", "b"], 2.5)
    >>> {group: result.rates[group]["alert_rate"].value for group in result.groups}
    {'a': 0.5, 'b': 1.0}
    >>> result.reference, result.ratios["a"].value
    ('b', 0.5)

    References
    ----------
    Katz et al. (1978), Obtaining confidence intervals for the risk ratio in cohort studies, Biometrics 34. Hardt, Price
    & Srebro (2016), Equality of opportunity in supervised learning, NeurIPS.
    """
    owner = "rates_by_group"
    level = number_in(owner, "level", level, 0.0, 1.0)
    threshold = number_in(owner, "threshold", threshold, -np.inf, np.inf)
    rows = {"sample_weight": sample_weight, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"y_score": y_score}, groups=groups, fewest=1, **rows)
    labels, member = codes(owner, "groups", groups)
    weight = row_weights(owner, y_true, sample_weight)
    used = member if weight is None else member[weight > 0.0]
    names = labels[np.unique(used)].tolist()
    cluster = sample.cluster
    assert cluster is not None
    rates = {name: _rates(sample.group(cluster == k), threshold, level) for k, name in enumerate(names)}
    if reference is None:
        reference = max(names, key=lambda name: rates[name]["alert_rate"].value)
    elif reference not in names:
        got = quoted_value(reference)
        raise ValueError(f"The 'reference' parameter of {owner} must be one of the groups. Got {got} instead.")
    base = rates[reference]["alert_rate"]
    ratios = {name: _ratio(rates[name]["alert_rate"], base, name == reference, level) for name in names}
    return GroupRates(names, rates, ratios, reference, threshold)


def _rates(sample: Sample, threshold: float, level: float) -> dict[str, MetricInterval]:
    """All rates of one group, which may lack a class."""
    cut = Cut.at(sample.scores[0], threshold)
    return {name: _rate(sample, cut, name, METRICS[name], level) for name in GROUP_METRICS}


def _rate(sample: Sample, cut: Cut, name: str, metric: Metric, level: float) -> MetricInterval:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = metric_terms(sample, cut, metric)
    low, high = wilson_interval(found.value, found.se, _basis(sample, cut, name), level, found.df)
    told: dict[str, Any] = {"metric": name, "threshold": cut.threshold, "level": level, "method": "wilson"}
    return MetricInterval(found.value, float(low), float(high), found.se, **told, **sample.counts)


def _basis(sample: Sample, cut: Cut, name: str) -> float:
    """The rows that a share is one of, in effective numbers."""
    weight = np.ones(len(cut.flagged)) if sample.weight is None else sample.weight
    flagged = cut.flagged > 0.0
    of = {"tpr": sample.is_pos, "fpr": ~sample.is_pos, "precision": flagged, "npv": ~flagged}.get(name)
    used = weight if of is None else weight[of]
    return float(used.sum() ** 2 / (used @ used)) if len(used) else 0.0


def _ratio(rate: MetricInterval, base: MetricInterval, same: bool, level: float) -> MetricInterval:
    """The ratio of two independent shares; half a row is added where one of them is zero."""
    told: dict[str, Any] = {"metric": "selection ratio", "level": level, "method": "log"}
    if same:
        return MetricInterval(1.0, 1.0, 1.0, 0.0, **told)
    sizes = [max((each.n_positive or 0) + (each.n_negative or 0), 1) for each in (rate, base)]
    shares = [each.value for each in (rate, base)]
    value = shares[0] / shares[1] if shares[1] > 0.0 else float("nan")
    errors = [each.se / each.value if each.value > 0.0 else 0.0 for each in (rate, base)]
    if min(shares) <= 0.0:
        shares = [(share * n + 0.5) / (n + 0.5) for share, n in zip(shares, sizes, strict=True)]
        errors = [np.sqrt((1.0 - share) / (share * n)) for share, n in zip(shares, sizes, strict=True)]
    centre, se = shares[0] / shares[1], float(np.hypot(errors[0], errors[1]))
    reach = np.exp(quantile(level) * se)
    return MetricInterval(value, float(centre / reach), float(centre * reach), float(centre * se), **told)
