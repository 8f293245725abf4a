"""What happens at one point of the curve: a false or true positive rate, a threshold, a number of alerts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics._bootstrap import Masses, Plan, checked_draws, distinct, replicates
from auclid.metrics._confusion import METRICS, Cut, Shares, measure, predictive_value
from auclid.metrics._results import MetricInterval, RatesAt
from auclid.metrics._roc import CurvePoint, checked_point, from_the_top, roc_curve
from auclid.metrics._sample import Sample, checked_prevalence, checked_sample
from auclid.metrics._variance import quantile
from auclid.validation.parameters import number_in, one_of, only_one, whole_number


def rates_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: float | None = None,
    tpr: float | None = None,
    specificity: float | None = None,
    threshold: float | None = None,
    alerts: int | None = None,
    prevalence: float | None = None,
    level: float = 0.95,
    method: str = "wilson",
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    n_bootstrap: int = 2000,
    random_state: Any = None,
) -> RatesAt:
    """Rates, predictive values, likelihood ratios and accuracy at one point of the ROC curve, with intervals.

    The point is the last one with FPR <= fpr (or with the wanted specificity, 1 - FPR), the first one with TPR >= tpr,
    the rows above a threshold, or the last one that flags no more than `alerts` rows. Wilson's interval of a share
    k / n, z = Phi^-1((1 + level) / 2), is (k + z^2 / 2 +- z sqrt(k (n - k) / n + z^2 / 4)) / (n + z^2). With groups or
    weights n is the number of independent rows that would give the share's variance, and z Student's.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Finite scores, greater for rows thought positive.
    fpr : float in [0, 1], optional
        Largest false positive rate allowed.
    tpr : float in (0, 1], optional
        Smallest true positive rate wanted.
    specificity : float in [0, 1], optional
        Smallest specificity wanted.
    threshold : float, optional
        Rows that score higher are flagged.
    alerts : int in [1, n], optional
        Most rows that can be looked at. Exactly one of these five is given.
    prevalence : float in (0, 1), optional
        A known share of positives that predictive values and accuracy should refer to, as where the rows are chosen by
        class. None: that of the rows, which are then taken for a random sample.
    level : float in (0, 1)
        Coverage of each interval.
    method : {"wilson", "bootstrap"}
        "wilson" is about the threshold found: what its rates will be on new rows. "bootstrap" finds it anew in each
        draw, so it is about the point itself: the true positive rate at a given false positive rate. A rate that no
        draw changes (a perfect one, say) keeps Wilson's interval.
    groups, sample_weight, pos_label, n_bootstrap, random_state
        As in `auc_interval`; alerts are counted in rows, whatever they weigh.

    Returns
    -------
    RatesAt
        Unpacks to (threshold, tpr, tpr_low, tpr_high, fpr, fpr_low, fpr_high, precision); the precision is 0 where
        no row is flagged. By name it has the precision's interval, and npv, accuracy, lr_positive and lr_negative
        with theirs (as npv_low and npv_high).

    Examples
    --------
    >>> from auclid.metrics import rates_at
    >>> y, s = [0, 0, 0, 0, 0, 1, 1, 1], [1, 2, 3, 4, 6, 3.5, 5, 7]
    >>> point = rates_at(y, s, fpr=0.2)
    >>> point.threshold, round(point.tpr, 3), point.fpr, round(point.precision, 3)
    (4.5, 0.667, 0.2, 0.667)
    >>> rates_at(y, s, alerts=2).precision
    0.5
    >>> point = rates_at(y, s, specificity=0.8, prevalence=0.1)
    >>> f"{point.precision:.2f} in [{point.precision_low:.2f}, {point.precision_high:.2f}]"
    '0.27 in [0.05, 0.72]'

    References
    ----------
    Wilson (1927), JASA 22. Rao & Scott (1992), A simple method for the analysis of clustered binary data,
    Biometrics 48. Simel, Samsa & Matchar (1991), Likelihood ratios with confidence, Journal of Clinical Epidemiology
    44. Mercaldo, Lau & Zhou (2007), Confidence intervals for predictive values with an emphasis to case-control
    studies, Statistics in Medicine 26.
    """
    owner = "rates_at"
    level = number_in(owner, "level", level, 0.0, 1.0)
    one_of(owner, "method", method, ("wilson", "bootstrap"))
    prevalence = checked_prevalence(owner, prevalence)
    given = {"fpr": fpr, "tpr": tpr, "specificity": specificity, "threshold": threshold, "alerts": alerts}
    name, value = only_one(owner, given)
    point = checked_point(owner, name, value, name)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"y_score": y_score}, fewest=1 if groups is None else 2, **rows)
    if name == "alerts":
        whole_number(owner, "alerts", alerts, 1, len(sample.is_pos))
    if method == "wilson":
        return point_at(sample, _threshold(sample, point), level, prevalence)
    return _by_bootstrap(sample, point, checked_draws(owner, n_bootstrap, random_state), level, prevalence)


def _threshold(sample: Sample, point: CurvePoint) -> float:
    if point.name == "threshold":
        return float(point.value)
    curve = roc_curve(sample.is_pos, sample.scores[0], None if point.name == "alerts" else sample.weight)
    return float(curve.threshold[point.place(curve.tp, curve.fp)])


def point_at(sample: Sample, threshold: float, level: float, prevalence: float | None = None) -> RatesAt:
    """What a threshold does, with intervals."""
    score = sample.scores[0]
    flagged = score > score.dtype.type(threshold)
    tpr, fpr = (_rate(sample, flagged, of, level) for of in (sample.is_pos, ~sample.is_pos))
    values = _values_at(sample, Cut.at(score, threshold), level, prevalence)
    precision = values["precision"].value
    told: dict[str, Any] = {name: each.value for name, each in values.items() if name != "precision"}
    for name, each in values.items():
        told |= {f"{name}_low": each.low, f"{name}_high": each.high}
    told["prevalence"] = Shares.of(sample, flagged.astype(np.float64), prevalence).p
    how = {"level": level, "method": "wilson", **sample.counts}
    point: list[Any] = [threshold, *tpr, *fpr, 0.0 if np.isnan(precision) else precision]
    return RatesAt(*point)._replace(**told, **how)


def _values_at(sample: Sample, cut: Cut, level: float, prevalence: float | None) -> dict[str, MetricInterval]:
    """Predictive values, accuracy and likelihood ratios at a threshold."""
    names = ("precision", "npv", "accuracy", "lr_positive", "lr_negative")
    measured = {name: measure(sample, cut, METRICS[name], prevalence=prevalence, level=level) for name in names}
    if prevalence is not None:
        measured["precision"] = predictive_value(measured["lr_positive"], prevalence, 1)
        measured["npv"] = predictive_value(measured["lr_negative"], prevalence, -1)
    return measured


def _rate(sample: Sample, flagged: np.ndarray, of: np.ndarray, level: float) -> tuple[float, float, float]:
    """Share flagged of a class, and its interval."""
    weight, cluster = (None if given is None else given[of] for given in (sample.weight, sample.cluster))
    return rate_interval(flagged[of], weight, cluster, level)


def rate_interval(
    hits: np.ndarray, weight: np.ndarray | None, cluster: np.ndarray | None, level: float
) -> tuple[float, float, float]:
    """The share of rows that are hits, and its Wilson interval, of rows that may be weighted or come in groups."""
    hit = hits.astype(np.float64)
    if weight is None and cluster is None:
        low, high = wilson(hit.sum(), len(hit), level)
        return float(hit.mean()), float(low), float(high)
    weight = np.ones(len(hit)) if weight is None else weight
    unit = np.arange(len(hit)) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    share = weight / weight.sum()
    rate, count = float((weight * hit).sum() / weight.sum()), int(unit.max()) + 1
    if count == 1:  # one row has no variance to see, whatever it weighs
        low, high = wilson(rate, 1, level)
        return rate, float(low), float(high)
    mass = np.bincount(unit, share)
    spread = np.sum(np.bincount(unit, share * (hit - rate)) ** 2) * count / (count - 1.0)
    # Without a mistake there is no variance to see; then each unit counts as its share of the mass.
    size = rate * (1.0 - rate) / spread if 0.0 < rate < 1.0 and spread > 0.0 else 1.0 / float(mass @ mass)
    low, high = wilson_by_deviate(rate * size, size, quantile(level, count - 1.0))
    return rate, float(low), float(high)


def wilson(k: Any, n: float, level: float) -> tuple[Any, Any]:
    """Wilson's interval of a share k / n."""
    return wilson_by_deviate(k, n, quantile(level))


def wilson_by_deviate(k: Any, n: float, z: float) -> tuple[Any, Any]:
    centre, room = k + z * z / 2.0, z * np.sqrt(np.maximum(k * (n - k) / n, 0.0) + z * z / 4.0)
    return np.clip((centre - room) / (n + z * z), 0.0, 1.0), np.clip((centre + room) / (n + z * z), 0.0, 1.0)


def _by_bootstrap(
    sample: Sample, point: CurvePoint, plan: Plan, level: float, prevalence: float | None = None
) -> RatesAt:
    value, steps = distinct(sample.is_pos, sample.scores[0])
    found = point_at(sample, _threshold(sample, point), level, prevalence)

    def rates(masses: list[Masses]) -> tuple[float, float]:
        tp, fp = map(from_the_top, masses[0])
        at = int(np.count_nonzero(value > point.value)) if point.name == "threshold" else point.place(tp, fp)
        return tp[at] / tp[-1], fp[at] / fp[-1]

    drawn = replicates(sample, [steps], rates, plan)
    low, high = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    changed: dict[str, Any] = {"method": "bootstrap"}
    for k, name in enumerate(("tpr", "fpr")):
        # Draws that are all alike, as those of a perfect rate are, do not make it sure: Wilson's interval stays.
        if low[k] < high[k]:
            changed |= {f"{name}_low": float(low[k]), f"{name}_high": float(high[k])}
    return found._replace(**changed)
