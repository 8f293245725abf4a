"""Thresholds by what they are for: a cost matrix, a budget of alerts, a least precision or recall."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics._bootstrap import Masses, Plan, Steps, checked_draws, distinct, replicates
from auclid.metrics._confusion import GIVEN, METRICS, Cut, Given, Metric, cost_metric, measure
from auclid.metrics._results import Cell, ThresholdChoice
from auclid.metrics._roc import RATE_ROUNDING, CurvePoint, from_the_top, thresholds
from auclid.metrics._sample import Sample, checked_prevalence, checked_sample
from auclid.validation.parameters import number_in, only_one, whole_number

CELL_METRICS = {
    "tp": Metric(lambda tp, fp, p: tp),
    "fp": Metric(lambda tp, fp, p: fp),
    "fn": Metric(lambda tp, fp, p: p - tp),
    "tn": Metric(lambda tp, fp, p: 1.0 - p - fp),
}
"""The cells of a confusion matrix, as shares of all rows."""


def choose_threshold(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    costs: ArrayLike | None = None,
    alerts: int | None = None,
    alert_rate: float | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    per: int = 1000,
    prevalence: float | None = None,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    n_bootstrap: int = 500,
    random_state: Any = None,
) -> ThresholdChoice:
    """The threshold for a purpose, with an interval, and the confusion matrix to expect of it.

    Exactly one purpose is given. `costs`: least mean cost. `alerts`, `alert_rate`: the most rows flagged that the
    budget allows. `min_precision`: the most rows flagged with at least that precision; where none has it, those of the
    highest precision, with a warning. `min_recall`: the fewest rows flagged with at least that recall. The interval of
    the threshold is that of the bootstrap, in which it is chosen anew in each draw; those of the matrix follow from
    influence values and allow for it.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Finite scores, greater for rows thought positive.
    costs : array-like of shape (2, 2), optional
        [[true negative, false positive], [false negative, true positive]], the order of scikit-learn's
        `confusion_matrix`. A gain is a negative cost. A mistake costs more than being right.
    alerts : int in [1, n], optional
        The most rows, of as many as these, that can be looked at.
    alert_rate : float in (0, 1], optional
        The largest share of rows that can be looked at.
    min_precision, min_recall : float in (0, 1], optional
        The smallest precision or recall wanted.
    per : int in [1, inf)
        The number of rows that the confusion matrix is of.
    prevalence : float in (0, 1), optional
        A known share of positives where the threshold will be used; None: that of the rows.
    level : float in (0, 1)
        Coverage of each interval.
    groups, sample_weight, pos_label, n_bootstrap, random_state
        As in `auc_interval`.

    Returns
    -------
    ThresholdChoice
        Unpacks to (threshold, low, high, tp, fp, fn, tn), each cell with (rows, low, high); by name it has precision,
        recall, alert_rate and, where costs are given, cost.

    Notes
    -----
    A threshold chosen on the rows it is measured on looks a little better than it is. `cost` is corrected for that by
    the bootstrap estimate of optimism; the matrix is that of these rows. Choose on some rows and measure on others
    with `rates_at` where there are enough of them.

    Examples
    --------
    >>> from auclid.datasets import load_mammography
    >>> from auclid.metrics import choose_threshold
    >>> X, y = load_mammography(return_X_y=True)
    >>> choice = choose_threshold(y, X[:, 3], alert_rate=0.05, random_state=0)
    >>> f"{choice.threshold:.2f}: {choice.tp.rows:.0f} found and {choice.fp.rows:.0f} false alarms of 1,000"
    '1.63: 9 found and 41 false alarms of 1,000'
    >>> choice = choose_threshold(y, X[:, 3], costs=[[0, 1], [30, 0]], random_state=0)
    >>> f"{choice.cost.value:.2f} in [{choice.cost.low:.2f}, {choice.cost.high:.2f}]"
    '0.29 in [0.25, 0.33]'

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning, IJCAI. Efron & Tibshirani (1993), An introduction to the
    bootstrap, chapter 17.
    """
    owner = "choose_threshold"
    level, prevalence = number_in(owner, "level", level, 0.0, 1.0), checked_prevalence(owner, prevalence)
    per = whole_number(owner, "per", per, 1)
    given = {"costs": costs, "alerts": alerts, "alert_rate": alert_rate}
    purpose = _purpose(owner, given | {"min_precision": min_precision, "min_recall": min_recall})
    plan = checked_draws(owner, n_bootstrap, random_state)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"y_score": y_score}, fewest=1 if groups is None else 2, **rows)
    if purpose[0] == "alerts":
        purpose = "alert_rate", whole_number(owner, "alerts", alerts, 1, len(sample.is_pos)) / len(sample.is_pos)
    points = _Points.of(sample, prevalence)
    threshold = float(points.cuts[_best(*points.curve, purpose, points.share)])
    drawn = _drawn(sample, points, purpose, plan)
    low, high = np.quantile(drawn[:, 0], [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    cut = Cut.at(sample.scores[0], threshold, _given(purpose))
    told = _told(sample, cut, purpose, prevalence, level)
    if purpose[0] == "min_precision" and (best := told["precision"].value) < purpose[1] - RATE_ROUNDING:
        warnings.warn(
            f"No threshold reaches min_precision={purpose[1]:g}: the highest precision is {best:.4g}, at the threshold "
            "that is returned.",
            UserWarning,
            stacklevel=2,
        )
    if "cost" in told:
        optimism = max(float(drawn[:, 1].mean()), 0.0)
        moved = {name: getattr(told["cost"], name) + optimism for name in ("value", "low", "high")}
        told["cost"] = told["cost"]._replace(**moved)
    found: list[Any] = [threshold, min(float(low), threshold), max(float(high), threshold)]
    told |= {"per": per, "level": level, "method": "bootstrap", **sample.counts}
    return ThresholdChoice(*(*found, *_cells(sample, cut, per, prevalence, level)), **told)


Purpose = tuple[str, Any]
"""What a threshold is for, by name, and its value."""


class _Points(NamedTuple):
    """The points of a curve: thresholds, true and false positive rates, and the share of positives."""

    steps: Steps
    cuts: np.ndarray
    curve: tuple[np.ndarray, np.ndarray]
    share: float

    @classmethod
    def of(cls, sample: Sample, prevalence: float | None) -> _Points:
        value, steps = distinct(sample.is_pos, sample.scores[0])
        weight = sample.weights
        pos = from_the_top(np.bincount(steps.pos, weight[sample.is_pos], steps.size))
        neg = from_the_top(np.bincount(steps.neg, weight[~sample.is_pos], steps.size))
        share = float(pos[-1] / (pos[-1] + neg[-1])) if prevalence is None else prevalence
        return cls(steps, thresholds(value), (pos / pos[-1], neg / neg[-1]), share)


def _drawn(sample: Sample, points: _Points, purpose: Purpose, plan: Plan) -> np.ndarray:
    """(draws, 2): the threshold chosen in each draw, and how much more it costs in the sample than in the draw."""

    def again(masses: list[Masses]) -> tuple[float, float]:
        tp, fp = map(from_the_top, masses[0])
        here = tp / tp[-1], fp / fp[-1]
        found = _best(*here, purpose, points.share)
        outside, inside = (_cost(tpr, fpr, purpose, points.share)[found] for tpr, fpr in (points.curve, here))
        return _in_gap(points.cuts, tp, fp, found), outside - inside

    return replicates(sample, [points.steps], again, plan)


def _told(sample: Sample, cut: Cut, purpose: Purpose, prevalence: float | None, level: float) -> dict[str, Any]:
    """What a threshold does."""
    metrics = {"precision": METRICS["precision"], "recall": METRICS["tpr"], "alert_rate": METRICS["alert_rate"]}
    if purpose[0] == "costs":
        metrics["cost"] = _as_metric(purpose[1])
    return {
        name: measure(sample, cut, metric, prevalence=prevalence, level=level)._replace(metric=name, df=None)
        for name, metric in metrics.items()
    }


def _cells(sample: Sample, cut: Cut, per: int, prevalence: float | None, level: float) -> list[Cell]:
    """The confusion matrix to expect of so many rows."""
    found = [measure(sample, cut, metric, prevalence=prevalence, level=level) for metric in CELL_METRICS.values()]
    return [Cell(per * each.value, per * each.low, per * each.high) for each in found]


def _purpose(owner: str, given: dict[str, Any]) -> Purpose:
    """What the threshold is for, or a sentence where that makes no sense."""
    name, value = only_one(owner, given)
    if name == "costs":
        return name, _checked_costs(owner, value)
    if name != "alerts":
        value = number_in(owner, name, value, 0.0, 1.0, closed="r")
    return name, value


def _checked_costs(owner: str, costs: Any) -> np.ndarray:
    matrix = np.asarray(costs, dtype=np.float64)
    if matrix.shape != (2, 2) or not np.isfinite(matrix).all():
        raise ValueError(
            f"The 'costs' parameter of {owner} must be a matrix [[tn, fp], [fn, tp]] of numbers. Got {costs!r} instead."
        )
    if matrix[0, 1] <= matrix[0, 0] or matrix[1, 0] <= matrix[1, 1]:
        raise ValueError(
            f"The 'costs' parameter of {owner} must have mistakes that cost more than being right: fp > tn and "
            f"fn > tp in [[tn, fp], [fn, tp]]. Got {matrix.tolist()} instead."
        )
    return matrix


def _as_metric(costs: np.ndarray) -> Metric:
    (true_negative, false_positive), (false_negative, true_positive) = costs
    return cost_metric(false_positive, false_negative, true_positive, true_negative)


def _given(purpose: Purpose) -> Given | None:
    """What is held fixed: at the least cost the cost does not change with the threshold, to first order."""
    held = {"alert_rate": "alert_rate", "min_recall": "tpr"}.get(purpose[0])
    if purpose[0] == "min_precision":
        return Given(METRICS["precision"], "rows")
    return None if held is None else GIVEN[held]


def _best(tpr: np.ndarray, fpr: np.ndarray, purpose: Purpose, share: float) -> int:
    """The number of the point of a curve that serves a purpose best."""
    name, value = purpose
    if name == "costs":
        return int(np.argmin(_cost(tpr, fpr, purpose, share)))
    if name != "min_precision":
        return CurvePoint("tpr" if name == "min_recall" else name, value).place(tpr, fpr, share)
    rows = share * tpr + (1.0 - share) * fpr
    precision = np.divide(share * tpr, rows, out=np.zeros_like(rows), where=rows > 0.0)
    met = np.flatnonzero(precision >= value - RATE_ROUNDING)
    return int(met[-1]) if len(met) else int(np.argmax(precision))  # where none reaches it, the best there is


def _cost(tpr: np.ndarray, fpr: np.ndarray, purpose: Purpose, share: float) -> np.ndarray:
    """The mean cost at each point of a curve; zero where there is none."""
    if purpose[0] != "costs":
        return np.zeros(len(tpr))
    return np.asarray(_as_metric(purpose[1]).value(share * tpr, (1.0 - share) * fpr, share))


def _in_gap(cuts: np.ndarray, tp: np.ndarray, fp: np.ndarray, at: int) -> float:
    """The threshold of a point of a drawn sample: in the middle of the gap that scores not drawn leave."""
    same = np.flatnonzero((tp == tp[at]) & (fp == fp[at]))
    return float(cuts[same[0]] + cuts[same[-1]]) / 2.0
