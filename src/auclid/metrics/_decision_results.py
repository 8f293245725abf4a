"""Results of decisions: points of a curve, thresholds, groups at a threshold, probabilities and net benefit."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from auclid.metrics._results import ColumnsResult, Comparison, Estimate, Result, format_value


@dataclass(frozen=True, eq=False, repr=False)
class MetricInterval(Estimate):
    """A metric of a confusion matrix, the ends of its interval, and its standard error.

    Attributes
    ----------
    metric : str
        Its name.
    threshold : float
        Rows that score higher are flagged.
    """

    value: float
    low: float
    high: float
    se: float
    _: KW_ONLY
    metric: str = ""
    threshold: float | None = None

    def _line(self) -> str:
        return super()._line().replace(self._title, self.metric or self._title, 1)


@dataclass(frozen=True, eq=False, repr=False)
class MetricComparison(Comparison):
    """A metric of a confusion matrix of the first score minus that of the second, its interval and p-value.

    Attributes
    ----------
    metric : str
        Its name.
    thresholds : tuple of two floats
        Rows that score higher are flagged.
    """

    _title: ClassVar[str] = "difference"

    _: KW_ONLY
    metric: str = ""
    thresholds: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class TopK(Estimate):
    """Precision among the k rows of highest score, its interval and standard error; recall and lift besides.

    Attributes
    ----------
    k : int
        Rows at the top.
    positives : float
        Positives among them; of rows tied at the cut, the expected number.
    threshold : float
        The lowest score among them.
    recall, recall_low, recall_high : float
        Share of all positives that are among them.
    lift, lift_low, lift_high : float
        Precision divided by the share of positives.
    """

    _title: ClassVar[str] = "precision"

    precision: float
    low: float
    high: float
    se: float
    _: KW_ONLY
    k: int | None = None
    positives: float | None = None
    threshold: float | None = None
    recall: float | None = None
    recall_low: float | None = None
    recall_high: float | None = None
    lift: float | None = None
    lift_low: float | None = None
    lift_high: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Equivalence(Estimate):
    """A difference, the interval that must lie within the margin, and the p-value of two one-sided tests.

    Attributes
    ----------
    margin : float
        Differences that are smaller do not matter.
    equivalent : bool
        Whether the interval lies within the margin: the p-value is below 1 - level.
    """

    _title: ClassVar[str] = "difference"

    difference: float
    low: float
    high: float
    pvalue: float
    _: KW_ONLY
    margin: float | None = None
    equivalent: bool | None = None
    se: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Cell(Result):
    """An expected number of rows, and the ends of its interval."""

    rows: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{format_value(self.rows)} [{format_value(self.low)}, {format_value(self.high)}]"


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdChoice(Estimate):
    """A threshold, its interval, and the confusion matrix to expect of it.

    Attributes
    ----------
    tp, fp, fn, tn : Cell
        True positives, false positives, false negatives and true negatives among `per` rows, with intervals.
    per : int
        The number of rows that the matrix is of.
    precision, recall, alert_rate : MetricInterval
        What the threshold does.
    cost : MetricInterval or None
        Mean cost of a row, where costs were given. Its value allows for the threshold being the best for these rows
        (bootstrap estimate of optimism).
    """

    _title: ClassVar[str] = "threshold"

    threshold: float
    low: float
    high: float
    tp: Cell
    fp: Cell
    fn: Cell
    tn: Cell
    _: KW_ONLY
    per: int | None = None
    precision: MetricInterval | None = None
    recall: MetricInterval | None = None
    alert_rate: MetricInterval | None = None
    cost: MetricInterval | None = None

    def _line(self) -> str:
        cells = ", ".join(f"{name} {getattr(self, name)}" for name in ("tp", "fp", "fn", "tn"))
        return f"{super()._line()}; of {self.per:,} rows: {cells}"

    def _rows(self) -> list[dict[str, Any]]:
        found: dict[str, Any] = {"threshold": self.threshold, "low": self.low, "high": self.high}
        for name in ("tp", "fp", "fn", "tn"):
            cell = getattr(self, name)
            found |= {name: cell.rows, f"{name}_low": cell.low, f"{name}_high": cell.high}
        for name in ("precision", "recall", "alert_rate", "cost"):
            each = getattr(self, name)
            if each is not None:
                found |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
        return [found]


@dataclass(frozen=True, eq=False, repr=False)
class GroupRates(Result):
    """Rates of one threshold by group, and ratios of selection rates to that of a reference group.

    `to_frame` has a row for each group.

    Attributes
    ----------
    groups : list
        The groups, sorted.
    rates : dict of dict of MetricInterval
        By group and then by name: alert_rate (the selection rate), tpr, fpr, precision, npv, accuracy.
    ratios : dict of MetricInterval
        Selection rate of each group divided by that of the reference, with intervals.
    reference : label
        The group that others are compared with: the one of highest selection rate, unless another was named.
    threshold : float
        Rows that score higher are flagged.
    lowest : group of the lowest ratio
    """

    groups: list[Any]
    rates: dict[Any, dict[str, MetricInterval]]
    ratios: dict[Any, MetricInterval]
    reference: Any
    threshold: float

    @property
    def lowest(self) -> Any:
        """The group of the lowest selection ratio."""
        return min(self.groups, key=lambda group: self.ratios[group].value)

    def __str__(self) -> str:
        lines = [
            f"{group}: selection rate {format_value(self.rates[group]['alert_rate'].value)}, ratio to "
            f"{self.reference} {format_value(self.ratios[group].value)} "
            f"[{format_value(self.ratios[group].low)}, {format_value(self.ratios[group].high)}]"
            for group in self.groups
        ]
        return "\n".join(lines)

    def _rows(self) -> list[dict[str, Any]]:
        found = []
        for group in self.groups:
            row: dict[str, Any] = {"group": group}
            for name, each in (*self.rates[group].items(), ("ratio", self.ratios[group])):
                row |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
            found.append(row)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class ScoreInterval(MetricInterval):
    """A mean score of probabilities (Brier score, log loss), the ends of its interval, and its standard error.

    Attributes
    ----------
    skill : float
        1 - score / score of the share of positives, predicted for every row.
    """

    _: KW_ONLY
    skill: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationFit(Estimate):
    """Calibration intercept and slope, with intervals.

    Attributes
    ----------
    ratio, ratio_low, ratio_high : float
        Observed positives divided by the sum of the probabilities.
    """

    _title: ClassVar[str] = "calibration"

    intercept: float
    intercept_low: float
    intercept_high: float
    slope: float
    slope_low: float
    slope_high: float
    _: KW_ONLY
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None

    def _line(self) -> str:
        said = [
            f"{name} {format_value(getattr(self, name))} [{format_value(getattr(self, f'{name}_low'))}, "
            f"{format_value(getattr(self, f'{name}_high'))}]"
            for name in ("intercept", "slope")
        ]
        return f"calibration {', '.join(said)}"


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationTest(Estimate):
    """A test that probabilities are calibrated."""

    _title: ClassVar[str] = "calibration test"

    statistic: float = field()
    pvalue: float


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(ColumnsResult):
    """Share of positives by predicted probability: a value a bin, with intervals; `to_frame` has a row for each.

    Attributes
    ----------
    predicted : ndarray
        Mean probability of the rows of a bin.
    observed, low, high : ndarray
        Share of positives among them, and its interval.
    rows : ndarray
        Rows of the bin, or their weight.
    line_at, line, line_low, line_high : ndarray
        Probabilities, the share of positives there after a logistic regression, and its band.
    """

    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray
    _: KW_ONLY
    line_at: np.ndarray | None = None
    line: np.ndarray | None = None
    line_low: np.ndarray | None = None
    line_high: np.ndarray | None = None
    level: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class NetBenefit(ColumnsResult):
    """Net benefit by threshold, with intervals, and its difference to the two default policies.

    `to_frame` has a row for each threshold.

    Attributes
    ----------
    threshold : ndarray
        Probabilities from which on a row is treated.
    net_benefit, low, high : ndarray
        True positives less false positives at their price, as a share of the rows.
    treat_all : ndarray
        Net benefit of treating every row; treating none has 0.
    versus_all, versus_all_low, versus_all_high : ndarray
        Difference to treating every row. The difference to treating none is `net_benefit` itself.
    versus_other, versus_other_low, versus_other_high : ndarray or None
        Difference to the other model, where one was given.
    """

    threshold: np.ndarray
    net_benefit: np.ndarray
    low: np.ndarray
    high: np.ndarray
    treat_all: np.ndarray
    versus_all: np.ndarray
    versus_all_low: np.ndarray
    versus_all_high: np.ndarray
    _: KW_ONLY
    versus_other: np.ndarray | None = None
    versus_other_low: np.ndarray | None = None
    versus_other_high: np.ndarray | None = None
    level: float | None = None

    def _rows(self) -> list[dict[str, Any]]:
        columns = {name: value for name, value in self._given().items() if isinstance(value, np.ndarray)}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
