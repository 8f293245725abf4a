"""`monitor`: what has changed since a model was made."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid.columns._levels import TextCounts
from auclid.errors import InvalidValueError, invalid_value
from auclid.metrics import auc_interval, average_precision_interval
from auclid.metrics._compare import corrected
from auclid.metrics._periods import time_periods
from auclid.metrics._rates import wilson
from auclid.metrics._stability import bin_counts, drift_test, stability_index
from auclid.monitoring.chart import ControlChart, auc_standard_error, control_chart
from auclid.monitoring.profiles import (
    ColumnCounter,
    ColumnProfile,
    PartCounts,
    Profile,
    called_positive,
    model_scores,
    order_concordance,
    outcomes,
    profile,
)
from auclid.ordered._meta import ranks_order
from auclid.validation import decoded_parts, own_labels

OUTSIDE_NOTED = 0.01
"""The share of rows outside of a column's earlier range above which a note names the column."""

PSI_DRIFT = 0.1
"""The population stability index from which on a change that is significant also counts as large enough to matter."""

FIRST_PERIODS = 4
"""Periods whose AUC is expected later, where no other AUC is known."""


class ColumnDrift(NamedTuple):
    """How far a column, or the score, has moved."""

    name: str
    """The column; "score" for the score."""
    kind: str
    """"number", "date" or "text"."""
    psi: float
    """The population stability index."""
    pvalue: float
    """Of the chi-squared test that nothing has changed, adjusted for the number of columns (Holm)."""
    missing_before: float
    """The share of missing values in the profile."""
    missing: float
    """The share of missing values now."""
    unseen: list[str]
    """Levels that the profile does not have, the most frequent ones first."""
    unseen_share: float
    """The share of rows with such a level."""
    outside_share: float
    """The share of numbers below the least or above the greatest one of the profile."""
    drifted: bool
    """Whether both index and p-value say that the column has changed."""


class Period(NamedTuple):
    """One stretch of time; what needs labels is None where there are none of both classes."""

    name: str
    """What it is called on the page, as a rule by its first day."""
    rows: int
    """All rows of the period."""
    labelled: int
    """Rows with a label."""
    positives: int
    """Rows with the positive label."""
    psi: float
    """The population stability index of the score."""
    alerts: int
    """Rows that the model calls positive."""
    alert_rate: tuple[float, float, float]
    """Their share, and its interval."""
    auc: tuple[float, float, float] | None
    """The AUC, and its interval."""
    average_precision: tuple[float, float, float] | None
    """The average precision, and its interval."""
    observed: float | None
    """The share of positives among rows with a label."""
    predicted: tuple[float, float, float] | None
    """The mean probability of these rows, and the 95 % interval of the share that it leads one to expect."""
    auc_se: float | None = None
    """The standard error of the AUC (DeLong)."""


class MonitorReport(NamedTuple):
    """What `monitor` has found."""

    rows: int
    """All rows."""
    score: ColumnDrift
    """How far the score has moved."""
    columns: list[ColumnDrift]
    """How far each column has moved."""
    alert_rate: tuple[float, float, float]
    """The share of rows that the model calls positive, and its interval."""
    alert_rate_before: float | None
    """That share among the rows of the profile."""
    periods: list[Period]
    """The periods in order of time."""
    chart: ControlChart | None
    """The control chart of the AUC; None without labels."""
    expected_from: str
    """Where the expected AUC comes from."""
    level: float
    """Coverage of the intervals."""
    notes: list[str]
    """Sentences about what is no alarm: new levels, numbers outside the training range, missing values."""
    measure: str = "AUC"
    """What ``auc`` of the periods is: the concordance, where the model ranks ordered rows."""

    @property
    def alarms(self) -> list[str]:
        """Sentences about what calls for action; empty where nothing does."""
        said = []
        if self.chart is not None and self.chart.alarm is not None:
            since = self.periods[self.chart.since or 0].name
            said.append(f"The {self.measure} has fallen below {self.chart.expected:.3f}, most likely since {since}.")
        moved = [each for each in (self.score, *self.columns) if each.drifted]
        said += [f"{each.name} has drifted (PSI {each.psi:.2f}, adjusted p = {each.pvalue:.2g})." for each in moved]
        return said

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold; NaN and infinity are None."""
        return {"alarms": self.alarms, **_plain(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def monitor(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    reference: Any = None,
    reference_y: Any = None,
    time: Any = None,
    period: str = "week",
    threshold: float | None = None,
    level: float = 0.05,
    groups: Any = None,
) -> MonitorReport:
    """Compare the rows that a model scores today with those that it has learnt from.

    Parameters
    ----------
    model : fitted classifier or ranker of ordered rows
    X : array, frame, `Rows` or dask collection of shape (n, d)
        Rows to look at.
    y : array of shape (n,), optional
        Their labels as they come in: NaN or None where a label is not known yet. For a ranker of ordered rows levels,
        or a structured array of events and times; the concordance then takes the place of the AUC.
    reference : Profile, dict, or rows
        What `profile` counted when the model was made (or its ``to_dict()``), or rows to count now.
    reference_y : array, optional
        The labels of the rows of ``reference``, which the model must not have seen: their AUC is what is expected.
    time : array of shape (n,), optional
        The date of each row, or any number that grows with time. Without it all rows are one period.
    period : {"week", "day", "month", "quarter", "year"}, default="week"
        What dates are grouped by; numbers are grouped by their value.
    threshold : float, optional
        Rows with a higher score are alerts; else those that the model calls positive.
    level : float in (0, 1), default=0.05
        The probability that any column is said to have drifted although none has. Beside a small p-value, a drift must
        have a population stability index of .1 or more.
    groups : array of shape (n,), optional
        For a ranker of ordered rows: only rows of one group are compared.

    Returns
    -------
    MonitorReport
        ``score`` and ``columns`` (drift), ``periods`` (scores, alerts, AUC, average precision and calibration over
        time), ``chart`` (is a fall of the AUC real?), ``alarms`` (sentences), ``to_dict()``.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import LeastSquaresAUC
    >>> from auclid.datasets import load_mammography
    >>> from auclid.monitoring import monitor, profile
    >>> X, y = load_mammography(return_X_y=True)
    >>> rows = np.random.default_rng(0).permutation(len(y))
    >>> model = LeastSquaresAUC().fit(X[rows[:5000]], y[rows[:5000]])
    >>> before = profile(model, X[rows[:5000]])
    >>> monitor(model, X[rows[5000:]], reference=before).alarms
    []
    >>> moved = X[rows[5000:]] + np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    >>> [each.name for each in monitor(model, moved, reference=before).columns if each.drifted]
    ['x2']
    """
    before = _reference(model, reference, reference_y)
    scores = model_scores(model, X)
    if ranks_order(model):
        order = None if y is None else outcomes("monitor", y, groups)
        scored = ScoredRows(scores, scores > (np.inf if threshold is None else threshold), None, None, time, order)
    else:
        labels = _labels(model, X, y)
        proba = _probabilities(model, X) if labels is not None else None
        scored = ScoredRows(scores, called_positive(model, scores, threshold), labels, proba, time)
    counts = decoded_parts("monitoring", X, ColumnCounter(before.columns))
    return assess(before, counts, scored, period=period, level=level)


class ScoredRows(NamedTuple):
    """What is known of rows beside their columns."""

    scores: np.ndarray
    alerts: np.ndarray
    """Whether a row is an alert."""
    labels: np.ndarray | None
    """1, 0 or NaN (not known yet)."""
    probabilities: np.ndarray | None
    time: Any
    order: np.ndarray | None = None
    """What rows are ordered by, an `ORDER` each, in place of labels."""


def assess(
    before: Profile, counted: Sequence[list[PartCounts]], rows: ScoredRows, *, period: str = "week", level: float = 0.05
) -> MonitorReport:
    """The report of rows that were scored, and whose columns were counted part by part."""
    scores = rows.scores
    drifts = [_drift(*pair) for pair in zip(before.columns, _added(counted), strict=True)]
    score_counts = bin_counts(scores, np.asarray(before.score.edges))
    drifts.append(_drift(before.score, PartCounts(score_counts, TextCounts(), 0)))
    drifts = _judged(drifts, level)
    places, names = time_periods("monitor", rows.time, period, len(scores))
    periods = [_period(name, places == k, rows, before) for k, name in enumerate(names)]
    chart, source = _chart(periods, before, rows.order is not None)
    rate = _share(int(rows.alerts.sum()), len(scores))
    return MonitorReport(
        len(scores),
        drifts[-1],
        drifts[:-1],
        rate,
        before.alert_rate,
        periods,
        chart,
        source,
        level,
        _notes(drifts[:-1]),
        "AUC" if rows.order is None else "concordance",
    )


def _reference(model: Any, reference: Any, reference_y: Any) -> Profile:
    if isinstance(reference, Profile):
        return reference
    if isinstance(reference, dict):
        return Profile.from_dict(reference)
    if reference is None:
        raise invalid_value(
            "monitor", "reference", "be a Profile, its dict, or rows", None, "See auclid.monitoring.profile."
        )
    return profile(model, reference, reference_y, held_out=own_labels(reference, reference_y) is not None)


def _labels(model: Any, X: Any, y: Any) -> np.ndarray | None:
    """1, 0 or NaN (not known yet) for each row; None where no label is known."""
    y = own_labels(X, y)
    if y is None:
        return None
    given = np.asarray(y)
    missing = np.array([value is None or value != value for value in given.tolist()])
    known = set(model.classes_.tolist())
    strange = [value for value in given[~missing].tolist() if value not in known]
    if strange:
        raise InvalidValueError(
            owner="monitor", parameter="y", expected=f"hold the labels {sorted(known, key=str)}, or None",
            got=repr(strange[0]),
        )  # fmt: skip
    out = np.where(missing, np.nan, 0.0)
    out[~missing] = given[~missing] == model.classes_[1]
    return out


def _probabilities(model: Any, X: Any) -> np.ndarray | None:
    return np.asarray(model.predict_proba(X))[:, 1] if hasattr(model, "predict_proba") else None


# Drift


def _added(parts: Sequence[list[PartCounts]]) -> list[PartCounts]:
    """The counts of all parts."""
    full = [part for part in parts if part]
    if not full:
        raise InvalidValueError("Rows to monitor must be one or more; got none.")
    return [
        PartCounts(sum(each.counts for each in column), sum((each.unseen for each in column), TextCounts()),
                   sum(each.outside for each in column))
        for column in zip(*full, strict=True)
    ]  # fmt: skip


def _drift(before: ColumnProfile, now: PartCounts) -> ColumnDrift:
    old, new = np.asarray(before.counts), np.asarray(now.counts)
    rows = max(int(new.sum()), 1)
    knows_all = before.kind == "text" and before.counts[-2] == 0
    unseen = {text: count for text, (count, _) in now.unseen.items()} if knows_all else {}
    return ColumnDrift(
        before.name, before.kind, stability_index(old, new), drift_test(old, new).pvalue,
        float(old[-1] / max(before.rows, 1)), float(new[-1] / rows),
        sorted(unseen, key=lambda text: (-unseen[text], text))[:20], sum(unseen.values()) / rows, now.outside / rows,
        False,
    )  # fmt: skip


def _judged(drifts: Sequence[ColumnDrift], level: float) -> list[ColumnDrift]:
    adjusted = corrected(np.array([each.pvalue for each in drifts]), "holm")
    pairs = zip(drifts, adjusted.tolist(), strict=True)
    return [each._replace(pvalue=p, drifted=p < level and each.psi >= PSI_DRIFT) for each, p in pairs]


def cell_notes(before: Profile, counted: Sequence[list[PartCounts]]) -> list[str]:
    """Sentences about cells that the model has not seen the like of, of rows whose columns were counted."""
    return _notes([_drift(*pair) for pair in zip(before.columns, _added(counted), strict=True)])


def _notes(drifts: Sequence[ColumnDrift]) -> list[str]:
    said = []
    for each in drifts:
        if each.unseen:
            names = ", ".join(map(repr, each.unseen[:3])) + (" …" if len(each.unseen) > 3 else "")
            share = f"{each.unseen_share:.1%}"
            said.append(f"{each.name} has levels that were not seen before, in {share} of rows: {names}.")
        if each.outside_share > OUTSIDE_NOTED:
            said.append(f"{each.name} is outside of its earlier range in {each.outside_share:.1%} of rows.")
        if each.missing and not each.missing_before:
            said.append(f"{each.name} is missing in {each.missing:.1%} of rows, and never was before.")
    return said


# Time


def _share(count: int, rows: int) -> tuple[float, float, float]:
    """A share with its 95 % interval (Wilson's)."""
    low, high = wilson(count, rows, 0.95)
    return count / max(rows, 1), float(low), float(high)


def _period(name: str, here: np.ndarray, rows: ScoredRows, before: Profile) -> Period:
    scores, labels, proba = rows.scores, rows.labels, rows.probabilities
    counts = bin_counts(scores[here], np.asarray(before.score.edges))
    psi, called = stability_index(np.asarray(before.score.counts), counts), int(rows.alerts[here].sum())
    count = int(here.sum())
    period = Period(name, count, 0, 0, psi, called, _share(called, count), None, None, None, None)
    if rows.order is not None:
        return _ordered_period(period, rows.order[here], scores[here])
    if labels is None:
        return period
    known = here & ~np.isnan(labels)
    is_pos = labels[known] == 1.0
    period = period._replace(labelled=int(known.sum()), positives=int(is_pos.sum()))
    if not known.any():
        return period
    predicted = None if proba is None else _expected_share(proba[known])
    period = period._replace(observed=float(is_pos.mean()), predicted=predicted)
    if not 2 <= is_pos.sum() <= len(is_pos) - 2:  # an interval needs two of each class
        return period
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows, which the interval shows
        area, precision = auc_interval(is_pos, scores[known]), average_precision_interval(is_pos, scores[known])
    return period._replace(
        auc=(area.auc, area.low, area.high),
        average_precision=(precision.ap, precision.low, precision.high),
        auc_se=area.se,
    )


def _ordered_period(period: Period, order: np.ndarray, scores: np.ndarray) -> Period:
    """The period with the concordance of the rows whose outcome is known; ``positives`` are events, or those rows."""
    known = ~np.isnan(order["value"])
    period = period._replace(labelled=int(known.sum()), positives=int(np.sum(order["event"][known] != 0)))
    try:
        value, low, high, se = order_concordance(order[known], scores[known])
    except InvalidValueError:  # no two rows can be compared
        return period
    return period._replace(auc=(value, low, high), auc_se=se)


def _chart(periods: list[Period], before: Profile, ordered: bool) -> tuple[ControlChart | None, str]:
    """The control chart of the AUC or concordance, and where what is expected comes from; None without labels."""
    measured = [each for each in periods if each.auc is not None and (each.auc_se or not ordered)]
    if not measured:
        return None, ""
    error_of = _event_error(measured) if ordered else _normal_error
    expected, error, source = _expectation(measured, before, error_of)
    wider = 1.0 if ordered or before.spreads is not None else _inflation(measured, expected)
    # The profile's AUC is itself an estimate; where it is too high, the error of normal scores is too small.
    pos, neg = before.spreads or (0.0, 0.0)
    least = [np.sqrt(pos / max(each.positives, 1) + neg / max(each.labelled - each.positives, 1)) for each in periods]
    errors = np.maximum([wider * error_of(expected, each) for each in periods], least).tolist()
    return control_chart(_aucs(periods), errors, expected, wider * error), source


def _event_error(measured: Sequence[Period]) -> Callable[[float, Period], float]:
    """The standard error of a concordance in a period: its square falls as the number of events rises."""
    spread = float(np.mean([each.positives * (each.auc_se or 0.0) ** 2 for each in measured]))
    return lambda mean, each: float(np.sqrt(spread / each.positives)) if each.positives else np.nan


def _expectation(
    measured: Sequence[Period], before: Profile, error_of: Callable[[float, Period], float]
) -> tuple[float, float, str]:
    """(The expected AUC or concordance, its standard error, where they come from): the profile, or the first periods.

    Of periods it is the mean by the number of their positives; ``error_of`` gives their standard errors at that mean.
    """
    if before.auc is not None and before.auc_se is not None:
        return before.auc, before.auc_se, "the profile"
    first = measured[:FIRST_PERIODS]
    weight = np.array([each.positives for each in first], dtype=np.float64)
    mean = float(np.average(_aucs(first), weights=weight))
    errors = np.array([error_of(mean, each) for each in first])
    return mean, float(np.sqrt(np.sum((weight * errors) ** 2)) / weight.sum()), f"the first {len(first)} periods"


def _aucs(periods: Sequence[Period]) -> list[float]:
    return [np.nan if each.auc is None else each.auc[0] for each in periods]


def _expected_share(proba: np.ndarray) -> tuple[float, float, float]:
    """The mean probability, and where the share of positives lies with 95 % probability if it is right."""
    mean, error = float(proba.mean()), float(np.sqrt(np.sum(proba * (1.0 - proba))) / len(proba))
    return mean, max(mean - 1.96 * error, 0.0), min(mean + 1.96 * error, 1.0)


def _inflation(periods: Sequence[Period], expected: float) -> float:
    """How much larger the standard errors of the periods' AUCs are than those of normal scores; at least 1.

    Scores with long tails, as those of boosted trees, have AUCs that vary more than those of normal ones.
    """
    weight = np.array([each.positives for each in periods], dtype=np.float64)
    normal = np.array([_normal_error(expected, each) for each in periods])
    found = np.array([each.auc_se or 0.0 for each in periods])
    return float(np.sqrt(max(1.0, float(weight @ np.square(found)) / float(weight @ np.square(normal)))))


def _normal_error(auc: float, period: Period) -> float:
    """The standard error of an AUC of normal scores, of the rows of a period; NaN without rows of both classes."""
    n_pos, n_neg = period.positives, period.labelled - period.positives
    return auc_standard_error(auc, n_pos, n_neg) if min(n_pos, n_neg) else np.nan
