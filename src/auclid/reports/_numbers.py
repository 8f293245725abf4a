"""The numbers of a decision page, all from the functions of `auclid.metrics`: the page itself computes none."""

from typing import Any, NamedTuple

import numpy as np

from auclid.metrics import (
    auc_interval,
    average_precision_interval,
    brier_interval,
    calibration_slope,
    compare_at,
    compare_auc,
    compare_average_precision,
    compare_brier,
    net_benefit,
    reliability,
)
from auclid.metrics._confusion import METRICS, Cut, Metric, cost_metric, measure, measure_counts
from auclid.metrics._results import Comparison
from auclid.metrics._roc import Curve, roc_curve
from auclid.metrics._sample import Sample, checked_sample
from auclid.metrics._thresholds import CELL_METRICS
from auclid.reports import curves

LEVEL = 0.95

COSTS = (1, 2, 5, 10, 20, 50, 100)
"""False alarms that a missed positive costs."""

PER = 1000
"""Rows that counts to expect are of."""

RATES = {
    "precision": "Precision (PPV)",
    "tpr": "Recall (sensitivity, TPR)",
    "fpr": "False positive rate",
    "specificity": "Specificity",
    "npv": "Negative predictive value",
    "accuracy": "Accuracy",
    "f1": "F1 score",
    "lift": "Lift",
}
"""Metrics of the page's table, by the names people know."""

SLOW_STOPS = 60
"""Stops of the slider where groups make each of them take a pass over the rows."""

POINTS_OF_BENEFIT = 40


class Scored(NamedTuple):
    """A model by name: the scores of the rows, and their probabilities where it has them."""

    name: str
    score: np.ndarray
    probability: np.ndarray | None = None
    threshold: float | None = None
    """The score above which the model predicts the positive class; the page begins there."""


class Numbers(NamedTuple):
    """What the page shows of one model."""

    name: str
    score: np.ndarray
    curve: Curve
    stops: np.ndarray
    start: int
    choices: list[tuple[str, int]]
    """Purposes, each with the number of its stop."""
    cheapest: list[int]
    """The stop of least cost for each of COSTS."""
    columns: dict[str, np.ndarray]
    """(stops, 3): value, low, high by metric."""
    auc: Any
    ap: Any
    reliability: Any
    benefit: Any
    brier: Any
    calibration: Any

    def data(self) -> dict[str, Any]:
        """What the script looks up."""
        found: dict[str, Any] = {name: rounded(column) for name, column in self.columns.items()}
        found |= {
            "name": self.name,
            "threshold": [float(f"{t:.6g}") for t in self.curve.threshold[self.stops]],
            "hits": [int(x) for x in self.curve.tp[self.stops]],
            "alarms": [int(x) for x in self.curve.fp[self.stops]],
            "positives": int(self.curve.n_pos),
            "negatives": int(self.curve.n_neg),
            "start": self.start,
            "choices": [at for _, at in self.choices],
            "cheapest": self.cheapest,
        }
        if self.reliability is not None:
            found["reliability"] = rounded(np.column_stack(tuple(self.reliability)))
            found["benefit"] = rounded(np.column_stack(tuple(self.benefit)[:5]))
        return found


def rounded(table: np.ndarray) -> list[Any]:
    """Numbers with five digits; null where there is none."""
    return [[float(f"{x:.5g}") if np.isfinite(x) else None for x in row] for row in table]


def numbers(is_pos: np.ndarray, model: Scored, groups: np.ndarray | None = None) -> Numbers:
    """All numbers of a model."""
    score = np.asarray(model.score, dtype=np.float64)
    sample = checked_sample("report", is_pos, {"score": score}, groups=groups)
    curve = roc_curve(sample.is_pos, score)
    choices = _own(curve, model) + curves.alternatives(sample.is_pos, score, curve) + _by_budget(curve)
    cheapest = [_cheapest(curve, price) for price in COSTS]
    must = [at for _, at in choices] + cheapest
    every = curves.stops(curve, must, curves.CURVE_POINTS if groups is None else SLOW_STOPS)[::-1]
    place = {int(at): k for k, at in enumerate(every)}
    rows: dict[str, Any] = {"groups": groups, "level": LEVEL}
    return Numbers(
        model.name,
        score,
        curve,
        every,
        place[choices[0][1]],
        [(name, place[at]) for name, at in choices],
        [place[at] for at in cheapest],
        _columns(sample, score, curve, every),
        auc_interval(is_pos, score, **rows),
        average_precision_interval(is_pos, score, **rows),
        *_calibration(is_pos, model.probability, rows),
    )


def _calibration(is_pos: np.ndarray, probability: np.ndarray | None, rows: dict[str, Any]) -> tuple[Any, ...]:
    """Reliability, net benefit, Brier score and calibration slope; None each where no probabilities differ."""
    if probability is None or np.ptp(probability) == 0.0:
        return (None,) * 4
    values = np.asarray(probability, dtype=np.float64)
    return (
        reliability(is_pos, values, **rows),
        net_benefit(is_pos, values, _benefit_thresholds(values), **rows),
        brier_interval(is_pos, values, **rows),
        calibration_slope(is_pos, values, **rows),
    )


def _own(curve: Curve, model: Scored) -> list[tuple[str, int]]:
    """The point of the model's own threshold."""
    if model.threshold is None:
        return []
    flagged = np.count_nonzero(np.asarray(model.score) > model.threshold)
    return [("the model's own threshold", int(np.argmin(np.abs(curve.tp + curve.fp - flagged))))]


def _benefit_thresholds(probability: np.ndarray) -> np.ndarray:
    """Thresholds of a decision curve: up to where nearly no row is treated."""
    highest = float(np.quantile(probability, 0.999))
    return np.linspace(0.01, float(np.clip(1.1 * highest, 0.05, 0.99)), POINTS_OF_BENEFIT)


def _columns(sample: Sample, score: np.ndarray, curve: Curve, stops: np.ndarray) -> dict[str, np.ndarray]:
    """(stops, 3): value, low and high of each metric, of the cells of PER rows, and of the cost by its price."""
    metrics: dict[str, tuple[Metric, float]] = {name: (METRICS[name], 1.0) for name in (*RATES, "alert_rate")}
    metrics |= {f"cell_{name}": (metric, float(PER)) for name, metric in CELL_METRICS.items()}
    metrics |= {f"cost_{price}": (cost_metric(1.0, price, 0.0, 0.0), float(PER)) for price in COSTS}
    if sample.cluster is None:
        counts = curve.tp[stops], curve.fp[stops], *sample.units
        return {
            name: unit * np.column_stack(measure_counts(*counts, metric, LEVEL))
            for name, (metric, unit) in metrics.items()
        }
    cuts = [Cut.at(score, float(curve.threshold[k])) for k in stops]
    return {
        name: unit * np.array([measure(sample, cut, metric, level=LEVEL)[:3] for cut in cuts])
        for name, (metric, unit) in metrics.items()
    }


def _by_budget(curve: Curve) -> list[tuple[str, int]]:
    """Points by a budget of alerts, and by a least precision (the highest there is, where none reaches it)."""
    rows, points = curve.tp + curve.fp, []
    for share in (0.01, 0.05, 0.1):
        points.append((f"at most {share:.0%} of rows flagged", int(np.flatnonzero(rows <= share * rows[-1])[-1])))
    precision = np.divide(curve.tp, rows, out=np.zeros(len(rows)), where=rows > 0)
    for least in (0.5, 0.8, 0.9):
        met = np.flatnonzero(precision >= least)
        points.append((f"precision at least {least:.0%}", int(met[-1]) if len(met) else int(np.argmax(precision))))
    return points


def _cheapest(curve: Curve, price: float) -> int:
    """The point of least cost where a missed positive costs so many false alarms."""
    return int(np.argmin(curve.fp + price * (curve.n_pos - curve.tp)))


def differences(
    is_pos: np.ndarray, first: Scored, second: Scored, groups: np.ndarray | None = None
) -> dict[str, Comparison]:
    """Two models compared on the same rows: by AUC, average precision, at two points, and by Brier score."""
    rows: dict[str, Any] = {"groups": groups, "level": LEVEL}
    a, b = first.score, second.score
    found: dict[str, Comparison] = {
        "AUC": compare_auc(is_pos, a, b, **rows),
        "average precision": compare_average_precision(is_pos, a, b, **rows),
        "recall at a specificity of 90 %": compare_at(is_pos, a, b, "tpr", at={"specificity": 0.9}, **rows),
        "precision of the top 5 %": compare_at(is_pos, a, b, "precision", at={"alert_rate": 0.05}, **rows),
    }
    if first.probability is not None and second.probability is not None:
        brier = compare_brier(is_pos, first.probability, second.probability, **rows)
        found["Brier score (lower is better)"] = brier
    return found
