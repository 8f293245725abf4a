"""What the functions of this package return: frozen dataclasses that unpack like tuples and print as a line.

The positional fields of a result are what it unpacks to, in order; its keyword-only fields are read by name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, ClassVar, Self, overload

import numpy as np

from auclid._page import table

MAX_SHOWN_COLUMNS = 7
"""Values of a single result, each with its interval, that a notebook shows side by side."""


@dataclass(frozen=True, eq=False, repr=False)
class Result(Sequence[Any]):
    """Base class of results.

    A result unpacks, indexes and compares as a named tuple does: its items are the positional fields of the dataclass,
    in order. Keyword-only fields, such as the level or the method, are read by name and count for no comparison.

    Examples
    --------
    >>> from auclid.metrics import auc_interval
    >>> result = auc_interval([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6])
    >>> auc, low, high, se = result
    >>> result.auc == result[0] == auc, result.n_positive, result.method
    (True, 3, 'delong')
    """

    @property
    def _fields(self) -> tuple[str, ...]:
        """The names of the items, in order."""
        return tuple(each.name for each in fields(self) if not each.kw_only)

    def _asdict(self) -> dict[str, Any]:
        """The items by name, in order."""
        return {name: getattr(self, name) for name in self._fields}

    def _replace(self, **changes: Any) -> Self:
        """A copy with other values in some fields."""
        return replace(self, **changes)

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, name) for name in self._fields])

    def __len__(self) -> int:
        return len(self._fields)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, at: int | slice) -> Any:
        return tuple(self)[at]

    def __eq__(self, other: object) -> bool:
        return _equal(tuple(self), tuple(other)) if isinstance(other, Result | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self._given().items())
        return f"{type(self).__name__}({said})"

    def __str__(self) -> str:
        said = ", ".join(f"{name} {format_value(value)}" for name, value in self._rows()[0].items())
        return f"{type(self).__name__}: {said}"

    def _given(self) -> dict[str, Any]:
        """The items by name, then the keyword-only fields that are not None."""
        others = {each.name: getattr(self, each.name) for each in fields(self) if each.kw_only}
        return self._asdict() | {name: value for name, value in others.items() if value is not None}

    def _rows(self) -> list[dict[str, Any]]:
        """The lines of the result's table, by column."""
        return [{name: value for name, value in self._given().items() if not isinstance(value, np.ndarray)}]

    def to_frame(self) -> Any:
        """The result as a pandas DataFrame: one row, or a row for each model, pair or part of the list."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas, which is not installed: pip install pandas.") from None
        return pd.DataFrame(self._rows())

    def _repr_html_(self) -> str:
        """The table that notebooks show: a single row that is too wide for a screen is shown as a column."""
        rows = [_with_intervals(row) for row in self._rows()]
        if len(rows) == 1 and len(rows[0]) > MAX_SHOWN_COLUMNS:
            rows = [{"name": name, "value": value} for name, value in rows[0].items()]
        return table(type(self).__name__, rows)


class ColumnsResult(Result):
    """A result whose items are columns of one table. It prints as that table."""

    def __str__(self) -> str:
        rows = self._rows()
        names = [*(rows[0] if rows else self._fields)]
        lines = [names, *([format_value(value) for value in row.values()] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.rjust, line, widths)) for line in lines)

    def _rows(self) -> list[dict[str, Any]]:
        return [dict(zip(self._fields, row, strict=True)) for row in zip(*self, strict=True)]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Measured(Result):
    """A result that says how it was found and from how many rows. It prints as a line of a report.

    Attributes
    ----------
    level : float or None
        Coverage of the intervals.
    method : str or None
        How the variance was found: "delong", "delta", "bootstrap", "bca", "wilson", ...
    df : float or None
        Degrees of freedom of the Student's t (or F) distribution that was used; inf means the normal distribution.
    n_positive, n_negative : int or None
        Rows of each class with a positive weight.
    n_groups : int or None
        Groups of rows that belong together, where groups were given.
    """

    level: float | None = None
    method: str | None = None
    df: float | None = None
    n_positive: int | None = None
    n_negative: int | None = None
    n_groups: int | None = None

    def __str__(self) -> str:
        return "; ".join(filter(None, (self._line(), self._basis())))

    def _line(self) -> str:
        """The numbers of the result, for print."""
        return ", ".join(f"{name} {format_value(value)}" for name, value in self._asdict().items())

    def _basis(self) -> str:
        """Rows and method, for print."""
        counts = (self.n_positive, "positives"), (self.n_negative, "negatives"), (self.n_groups, "groups")
        said = [f"{count:,} {what}" for count, what in counts if count is not None]
        return ", ".join(said + ([self.method] if self.method else []))

    def _share(self) -> str:
        """The coverage of the intervals, for print."""
        return "" if self.level is None else f" ({100 * self.level:.4g} % interval)"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Estimate(Measured):
    """An estimate, and what is known of its error.

    A subclass says in ``_title`` what is estimated. The estimate is its first field, or a property `estimate`; the
    line that it prints has those of low, high, se and pvalue that it has.

    Attributes
    ----------
    statistic : float or None
        The statistic of the test that the p-value belongs to.
    """

    _title: ClassVar[str] = "estimate"

    statistic: float | None = None

    @property
    def estimate(self) -> float:
        """The estimate itself, whatever its own name."""
        return self[0]

    def _line(self) -> str:
        said = f"{self._title} {format_value(self.estimate)}"
        low, high, se, pvalue = (getattr(self, name, None) for name in ("low", "high", "se", "pvalue"))
        if low is not None and high is not None:
            said += f" [{format_value(low)}, {format_value(high)}]{self._share()}"
        said += "" if se is None else f", se {format_value(se)}"
        return said + ("" if pvalue is None else f", p = {pvalue:.2g}")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Estimate):
    """A difference of two estimates, a minus b, its confidence interval and the p-value of no difference.

    Attributes
    ----------
    estimate_a, estimate_b : float or None
        The two estimates.
    alternative : str or None
        What the test should show: "two-sided", "greater" or "less".
    margin : float or None
        How much worse counts as no worse.
    """

    _title: ClassVar[str] = "difference"

    difference: float
    low: float
    high: float
    pvalue: float
    _: KW_ONLY
    se: float | None = None
    estimate_a: float | None = None
    estimate_b: float | None = None
    alternative: str | None = None
    margin: float | None = None

    def _line(self) -> str:
        if self.estimate_a is None or self.estimate_b is None:
            return super()._line()
        return f"{super()._line()}; {format_value(self.estimate_a)} and {format_value(self.estimate_b)}"


@dataclass(frozen=True, eq=False, repr=False)
class AUCInterval(Estimate):
    """An AUC, the two ends of its confidence interval, and its standard error."""

    _title: ClassVar[str] = "AUC"

    auc: float
    low: float
    high: float
    se: float


@dataclass(frozen=True, eq=False, repr=False)
class AUCTest(Estimate):
    """An AUC, its confidence interval, and the p-value of the hypothesis that it is `null`."""

    _title: ClassVar[str] = "AUC"

    auc: float
    low: float
    high: float
    pvalue: float
    _: KW_ONLY
    se: float | None = None
    null: float | None = None
    alternative: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class APInterval(Estimate):
    """An average precision, the two ends of its confidence interval, and its standard error."""

    _title: ClassVar[str] = "average precision"

    ap: float
    low: float
    high: float
    se: float


@dataclass(frozen=True, eq=False, repr=False)
class ConcordanceInterval(Estimate):
    """A concordance, the two ends of its confidence interval, and its standard error."""

    _title: ClassVar[str] = "concordance"

    concordance: float
    low: float
    high: float
    se: float


@dataclass(frozen=True, eq=False, repr=False)
class AUCOverTime(ColumnsResult):
    """The AUC at each of several times, the ends of its confidence intervals, and its standard errors."""

    times: np.ndarray
    auc: np.ndarray
    low: np.ndarray
    high: np.ndarray
    se: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class AUCComparison(Comparison):
    """AUC of the first score minus the second's, its confidence interval and the p-value of no difference."""

    _title: ClassVar[str] = "difference of AUCs"


@dataclass(frozen=True, eq=False, repr=False)
class ConcordanceComparison(AUCComparison):
    """Concordance of the first score minus the second's, its interval and the p-value of no difference."""

    _title: ClassVar[str] = "difference of concordances"


@dataclass(frozen=True, eq=False, repr=False)
class APComparison(Comparison):
    """Average precision of the first score minus the second's, its interval and the p-value of no difference."""

    _title: ClassVar[str] = "difference of average precisions"


@dataclass(frozen=True, eq=False, repr=False)
class CrossValAUC(Estimate):
    """A cross-validated AUC, its interval and standard error, and the AUC of each fold."""

    _title: ClassVar[str] = "cross-validated AUC"

    auc: float
    low: float
    high: float
    se: float
    folds: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class CrossValComparison(Comparison):
    """Difference of two cross-validated AUCs, its interval and p-value, and the difference in each fold."""

    _title: ClassVar[str] = "difference of cross-validated AUCs"

    folds: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class PairComparison(Estimate):
    """AUC of model `a` minus that of `b`, its interval, p-value, and the p-value allowing for the number of pairs."""

    a: str
    b: str
    difference: float
    low: float
    high: float
    pvalue: float
    adjusted: float
    _: KW_ONLY
    se: float | None = None

    @property
    def estimate(self) -> float:
        """The difference."""
        return self.difference

    def _line(self) -> str:
        return f"{self.a} - {self.b}: {super()._line()}, adjusted p = {self.adjusted:.2g}"


@dataclass(frozen=True, eq=False, repr=False)
class ManyComparison(Measured):
    """The interval of each model, all pairs, and the test that all AUCs are equal.

    `to_frame` has a row for each pair.
    """

    intervals: dict[str, AUCInterval]
    pairs: list[PairComparison]
    statistic: float
    pvalue: float

    def _line(self) -> str:
        models = [f"{name}: {interval._line()}" for name, interval in self.intervals.items()]
        test = f"equal AUCs: statistic {format_value(self.statistic)}, p = {self.pvalue:.2g}"
        return "\n".join([*models, *(pair._line() for pair in self.pairs), test])

    def _rows(self) -> list[dict[str, Any]]:
        return [row for pair in self.pairs for row in pair._rows()]


@dataclass(frozen=True, eq=False, repr=False)
class GroupPair(Result):
    """Two groups, and a comparison of what is said of them; its p-value allows for the choice of the pair."""

    first: Any
    second: Any
    auc: float
    comparison: AUCComparison

    def __str__(self) -> str:
        return f"{self.first} and {self.second}: AUC {format_value(self.auc)}; {self.comparison}"

    def _rows(self) -> list[dict[str, Any]]:
        return [{"first": self.first, "second": self.second, "auc": self.auc} | self.comparison._rows()[0]]


@dataclass(frozen=True, eq=False, repr=False)
class GroupAUC(Result):
    """AUCs by group: within each, of all pairs of groups, the worst pair, and the two groups that differ most.

    `to_frame` has a row for each group.
    """

    intervals: dict[Any, AUCInterval]
    table: np.ndarray
    worst: GroupPair
    gap: GroupPair

    def __str__(self) -> str:
        groups = [f"{name}: {interval}" for name, interval in self.intervals.items()]
        return "\n".join([*groups, f"worst pair: {self.worst}", f"largest gap: {self.gap}"])

    def _rows(self) -> list[dict[str, Any]]:
        return [{"group": name} | interval._rows()[0] for name, interval in self.intervals.items()]


@dataclass(frozen=True, eq=False, repr=False)
class RatesAt(Measured):
    """A threshold, the rates of predicting `score > threshold` with their intervals, and the precision.

    Attributes
    ----------
    precision_low, precision_high : float
        The interval of the precision (positive predictive value).
    npv, npv_low, npv_high : float
        Negative predictive value: share of negatives among the rows that are not flagged.
    accuracy, accuracy_low, accuracy_high : float
        Share of rows predicted right.
    lr_positive, lr_positive_low, lr_positive_high : float
        Positive likelihood ratio, TPR / FPR.
    lr_negative, lr_negative_low, lr_negative_high : float
        Negative likelihood ratio, (1 - TPR) / (1 - FPR).
    prevalence : float
        The share of positives that precision, npv and accuracy refer to.
    """

    threshold: float
    tpr: float
    tpr_low: float
    tpr_high: float
    fpr: float
    fpr_low: float
    fpr_high: float
    precision: float
    _: KW_ONLY
    precision_low: float | None = None
    precision_high: float | None = None
    npv: float | None = None
    npv_low: float | None = None
    npv_high: float | None = None
    accuracy: float | None = None
    accuracy_low: float | None = None
    accuracy_high: float | None = None
    lr_positive: float | None = None
    lr_positive_low: float | None = None
    lr_positive_high: float | None = None
    lr_negative: float | None = None
    lr_negative_low: float | None = None
    lr_negative_high: float | None = None
    prevalence: float | None = None

    def _line(self) -> str:
        return f"{_rates_line(self)}, precision {format_value(self.precision)}"


@dataclass(frozen=True, eq=False, repr=False)
class OperatingPoint(Result):
    """A threshold with the true and false positive rates of predicting `score > threshold`."""

    threshold: float
    tpr: float
    fpr: float


@dataclass(frozen=True, eq=False, repr=False)
class OperatingPointInterval(Measured):
    """An operating point with bootstrap intervals of its threshold and rates."""

    threshold: float
    threshold_low: float
    threshold_high: float
    tpr: float
    tpr_low: float
    tpr_high: float
    fpr: float
    fpr_low: float
    fpr_high: float

    def _line(self) -> str:
        return _rates_line(self)


@dataclass(frozen=True, eq=False, repr=False)
class LiftTable(ColumnsResult):
    """Columns of a table with a row for each part of the list, best scores first."""

    top: np.ndarray
    threshold: np.ndarray
    rows: np.ndarray
    positives: np.ndarray
    precision: np.ndarray
    lift: np.ndarray
    gain: np.ndarray
    cumulative_lift: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class SampleSize(Result):
    """Positives and negatives that a study needs."""

    n_pos: int
    n_neg: int

    def __str__(self) -> str:
        return f"{self.n_pos:,} positives and {self.n_neg:,} negatives"


@dataclass(frozen=True, eq=False, repr=False)
class AUCBounds(Result):
    """An estimate of the AUC and the bounds that are sure to hold it; nan until both classes were seen."""

    auc: float
    low: float
    high: float


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


def format_value(value: Any) -> str:
    """A value as a report shows it: four significant digits of a number, the rest as it is."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int | np.integer) and not isinstance(value, bool) else str(value)


def _with_intervals(row: Mapping[str, Any]) -> dict[str, str]:
    """The values of a row as text, the ends of an interval in brackets beside what they belong to."""
    names = list(row)
    ends = {name: (f"{name}_low", f"{name}_high") for name in names}
    ends |= {name: ("low", "high") for at, name in enumerate(names) if names[at + 1 : at + 3] == ["low", "high"]}
    ends = {name: pair for name, pair in ends.items() if pair[0] in row and pair[1] in row}
    interval = {name: f" [{format_value(row[low])}, {format_value(row[high])}]" for name, (low, high) in ends.items()}
    hidden = {end for pair in ends.values() for end in pair}
    return {name: format_value(row[name]) + interval.get(name, "") for name in names if name not in hidden}


def _rates_line(point: Measured) -> str:
    """A threshold and its two rates, each with its interval where it has one."""
    said = []
    for name in ("threshold", "tpr", "fpr"):
        low, high = (getattr(point, f"{name}_{end}", None) for end in ("low", "high"))
        ends = "" if low is None or high is None else f" [{format_value(low)}, {format_value(high)}]"
        said.append(f"{name} {format_value(getattr(point, name))}{ends}")
    return ", ".join(said) + point._share()


def _equal(a: Any, b: Any) -> bool:
    """Whether two values are equal, arrays compared as wholes."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return a is b or bool(a == b)
