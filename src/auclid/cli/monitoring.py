"""`auclid monitor`: what has changed since a model was made, as a page, as JSON and as an exit code."""

import json
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auclid._hints import count_of
from auclid._page import cells, filled
from auclid._page import page as whole_page
from auclid._page.svg import Frame, nice, span
from auclid.cli import _show
from auclid.cli._show import escape as plain
from auclid.cli.data import label_names, option_column, scan_columns
from auclid.cli.ordered_rows import OrderOptions, outcomes
from auclid.cli.paths import check_ending, check_paths
from auclid.cli.saved import Answers, SavedModel
from auclid.cli.thresholds import Purpose
from auclid.data.files import Rows, read_column
from auclid.data.readers.open import has_own_labels, open_columns
from auclid.errors import DataError, missing_label
from auclid.io import replacing
from auclid.monitoring import MonitorReport, Period, Profile
from auclid.monitoring.profiles import ColumnCounter, PartCounts, order_concordance, profile, unknown_order
from auclid.monitoring.report import OUTSIDE_NOTED, ScoredRows, assess
from auclid.validation import names_known

ALARM = 3
"""The exit code where something calls for action."""

NO_NOTES = (
    "None of the {} columns compared has new levels, missing cells where it had none, or more than {:.0%} of rows "
    "outside of its earlier range."
)


class MonitoringOptions(NamedTuple):
    """What was asked for."""

    target: str | None
    time: str | None
    reference: Path | None
    period: str
    threshold: float | None
    output: Path
    json: Path | None
    memory: str | None


def monitor(model: Path, new: list[Path], options: MonitoringOptions) -> int:
    """Compare new rows with a profile; write the page and the JSON, and say what was found. Returns the exit code."""
    Purpose(threshold=options.threshold).check()
    reads: dict[str, Path | None] = {"MODEL": model, "--reference": options.reference}
    outputs = {"--output": options.output, "--json": options.json}
    check_paths(reads | {f"NEW ({path})": path for path in new}, outputs)
    check_ending("--output", options.output, (".html", ".htm"))
    saved = SavedModel.open(model, ordered=True)
    before = _profile(saved, options)
    parts = [_scored(saved, path, before, options) for path in new]
    counted = [part for _, counts in parts for part in counts]
    report = assess(before, counted, _joined([rows for rows, _ in parts]), period=options.period)
    with replacing(options.output, "w") as file:
        file.write(page(report, str(model), None if saved.ordered else saved.positive))
    if options.json is not None:
        with replacing(options.json, "w") as file:
            file.write(json.dumps(report.to_dict(), allow_nan=False) + "\n")
    _tell(report, options.output)
    return ALARM if report.alarms else 0


def _profile(saved: SavedModel, options: MonitoringOptions) -> Profile:
    """The counts that new rows are compared with: of --reference, or those in the model file."""
    if options.reference is None:
        told = saved.known.get("profile")
        if told is None:
            raise DataError(
                "MODEL must hold a profile of its training rows, as `auclid fit` writes it; or name --reference FILE."
            )
        return Profile.from_dict(told)
    if saved.ordered:
        return _ordered_profile(saved, options.reference, options)
    rows, labels = _open(saved, options.reference, options)
    with names_known():
        y = None if labels is None else saved.estimator.classes_[np.nan_to_num(labels).astype(int)]
        if labels is not None and np.isnan(labels).any():
            raise missing_label(f"missing ones in {str(options.reference)!r}", subject="--reference")
        return profile(saved.estimator, rows, y, held_out=y is not None)


def _ordered_profile(saved: SavedModel, reference: Path, options: MonitoringOptions) -> Profile:
    """The counts of a reference, and the concordance that is expected where it tells what rows are ordered by."""
    with names_known():
        counts = profile(saved.estimator, saved.scan(reference, None, options.memory))
    order = _order(saved, reference, options)
    if order is None:
        return counts
    if np.isnan(order["value"]).any():
        raise DataError(f"--reference must have an outcome in each row; {str(reference)!r} has gaps.")
    every = Answers.joined(saved.answers(saved.scan(reference, None, options.memory)))
    value, _, _, se = order_concordance(order, every.scores)
    return counts._replace(auc=value, auc_se=se)


def _order(saved: SavedModel, path: Path, options: MonitoringOptions) -> np.ndarray | None:
    """What the rows of a file are ordered by, where the model and the file tell."""
    if saved.order is None:
        return None
    return outcomes(path, saved.complete(OrderOptions(options.target)))


def _open(saved: SavedModel, path: Path, options: MonitoringOptions) -> tuple[Rows, np.ndarray | None]:
    """The rows of a file, and 1, 0 or NaN for each where it has the target."""
    target = options.target or saved.target
    if has_own_labels(path):
        rows = scan_columns(path, None, options.memory)
        return rows, _is_positive(rows.target(), saved.positive) if rows.has_target else None
    columns = open_columns(path)
    there = [] if columns is None else columns.available_columns()
    if options.target is not None and target not in there:
        raise DataError(f"--target must be a column of {str(path)!r}; got {target!r}. There are: {', '.join(there)}.")
    rows = saved.scan(path, None, options.memory, drop=[each for each in (target, options.time) if each is not None])
    return rows, _is_positive(read_column(path, target), saved.positive) if target in there else None


def _is_positive(labels: Any, positive: str) -> np.ndarray:
    return np.array([np.nan if name is None else float(name == positive) for name in label_names(labels)])


def _scored(
    saved: SavedModel, path: Path, before: Profile, options: MonitoringOptions
) -> tuple[ScoredRows, list[list[PartCounts]]]:
    """The scores of a file's rows, and the counts of their columns, in one pass."""
    if saved.ordered:
        rows, labels, order = saved.scan(path, None, options.memory), None, _order(saved, path, options)
    else:
        (rows, labels), order = _open(saved, path, options), None
    count, counted, answers = ColumnCounter(before.columns), [], []
    with _show.passes(rows):
        for table in saved.tables(rows):
            with names_known():
                answers.append(saved.answer(table))
            counted.append(count(table))
    every = Answers.joined(answers)
    alerts = every.called if options.threshold is None else every.scores > options.threshold
    time = None if options.time is None else option_column(path, "time", options.time)
    return ScoredRows(every.scores, alerts, labels, every.probabilities, time, order), counted


UNKNOWN = {"labels": lambda rows: np.full(rows, np.nan), "order": unknown_order}
"""Labels and outcomes of so many rows of which they are not known yet."""


def _joined(parts: list[ScoredRows]) -> ScoredRows:
    """The rows of all files."""
    return ScoredRows(**{name: _joined_column(parts, name) for name in ScoredRows._fields})


def _joined_column(parts: list[ScoredRows], name: str) -> Any:
    """A column of the rows of all files, None where one lacks it; labels that some files have are unknown in others."""
    columns = [getattr(part, name) for part in parts]
    if name in UNKNOWN and any(column is not None for column in columns):
        unknown = [UNKNOWN[name](len(part.scores)) for part in parts]
        columns = [other if column is None else column for column, other in zip(columns, unknown, strict=True)]
    return None if any(column is None for column in columns) else np.concatenate(columns)


def _tell(report: MonitorReport, output: Path) -> None:
    for said in report.alarms or ["Nothing calls for action."]:
        _show.say(plain(said))
    for note in report.notes:
        _show.say(plain(note))
    _show.say(plain(f"{count_of(report.rows, 'row')} in {count_of(len(report.periods), 'period')}. Page: {output}"))


# The page


def page(report: MonitorReport, source: str, positive: str | None) -> str:
    """The report as one HTML file; ``positive`` is None of a model that ranks ordered rows."""
    alarms, nothing = report.alarms, NO_NOTES.format(len(report.columns), OUTSIDE_NOTED)
    body = filled(
        "monitor.html",
        source=escape(source),
        verdict=escape(" ".join(alarms) if alarms else "Nothing calls for action."),
        facts=escape(_facts(report, positive)),
        columns="".join(map(_column_line, [report.score, *report.columns])),
        measure="Concordance" if positive is None else "AUC",
        error="R's survival::concordance" if positive is None else "DeLong",
        counted="outcomes" if positive is None else "positives",
        auc=_figure(report.measure, report.periods, "auc", report.chart.expected if report.chart else None),
        precision=_figure("average precision", report.periods, "average_precision", None),
        chart=_chart_figure(report),
        chart_note=escape(_chart_note(report)),
        alerts=_figure("share of alerts", report.periods, "alert_rate", report.alert_rate_before),
        periods="".join(map(_period_line, report.periods)),
        notes="".join(f"<li>{escape(note)}</li>" for note in report.notes or [nothing]),
    )
    return whole_page(f"auclid monitor: {escape(source)}", body)


def _facts(report: MonitorReport, positive: str | None) -> str:
    share, low, high = report.alert_rate
    known = sum(each.labelled for each in report.periods)
    if positive is None:
        alerts = f" Alerts: {share:.2%} ({low:.2%} to {high:.2%}) of rows." if share else ""
        return f"{count_of(report.rows, 'row')}, {known:,} with a known outcome.{alerts}"
    return (
        f"{count_of(report.rows, 'row')}, {known:,} with a label; positive is {positive}. Alerts: {share:.2%} "
        f"({low:.2%} to {high:.2%}) of rows."
    )


def _column_line(each: Any) -> str:
    css = ' class="ours"' if each.drifted else ""
    figures = [f"{each.psi:.3f}", f"{each.pvalue:.2g}", f"{each.missing_before:.1%} → {each.missing:.1%}",
               f"{each.unseen_share:.1%}", f"{each.outside_share:.1%}"]  # fmt: skip
    return f'<tr{css}><td class="name">{escape(each.name)}</td>{cells(figures)}</tr>'


def _period_line(each: Period) -> str:
    def format_interval(three: tuple[float, float, float] | None, form: str) -> str:
        return "" if three is None else f"{three[0]:{form}}<small>{three[1]:{form}} – {three[2]:{form}}</small>"

    observed = "" if each.observed is None else f"{each.observed:.2%}"
    figures = [f"{each.rows:,}", f"{each.positives:,} of {each.labelled:,}", f"{each.psi:.3f}"]
    figures += [format_interval(each.alert_rate, ".2%"), format_interval(each.auc, ".3f")]
    figures += [format_interval(each.average_precision, ".3f"), observed, format_interval(each.predicted, ".2%")]
    return f'<tr><td class="name">{escape(each.name)}</td>{cells(figures)}</tr>'


def _figure(title: str, periods: list[Period], field: str, expected: float | None) -> str:
    """A value of each period with its interval; the dashed line is what is expected."""
    known = [(k, getattr(each, field)) for k, each in enumerate(periods) if getattr(each, field) is not None]
    if not known:
        return '<p class="caption">No labels of both classes are known.</p>'
    ends = [end for _, three in known for end in three] + ([] if expected is None else [expected])
    frame = _frame(len(periods), span(ends))
    body = [_axes(frame, periods, title), _dashed(frame, expected)]
    for k, (value, low, high) in known:
        body.append(frame.vertical(k, "line ours", (low, high)))
        body.append(frame.dot(k, value, "dot ours", 4, f"{periods[k].name}: {value:.3f}"))
    return frame.svg(f"{title} over time", "".join(body))


def _chart_figure(report: MonitorReport) -> str:
    chart = report.chart
    if chart is None or not np.isfinite(chart.limit):
        return '<p class="caption">No labels of both classes are known.</p>'
    known = [(k, value) for k, value in enumerate(chart.statistic) if np.isfinite(value)]
    frame = _frame(len(report.periods), (0.0, 1.1 * max([chart.limit, *(value for _, value in known)])))
    places, values = zip(*known, strict=True)
    axes = _axes(frame, report.periods, "evidence of a fall")
    return frame.svg("Control chart", axes + _dashed(frame, chart.limit) + frame.line(places, values, "line ours"))


def _frame(periods: int, up: tuple[float, float]) -> Frame:
    return Frame((-0.5, max(periods, 1) - 0.5), up, height=260)


def _axes(frame: Frame, periods: list[Period], label: str) -> str:
    ticks = np.unique(np.linspace(0, len(periods) - 1, min(len(periods), 3)).astype(int))
    return frame.axes("", label, ticks, nice(*frame.y), x_format=lambda k: periods[int(k)].name)


def _dashed(frame: Frame, value: float | None) -> str:
    return "" if value is None else frame.line(frame.x, [value, value], "chance")


def _chart_note(report: MonitorReport) -> str:
    chart = report.chart
    if chart is None:
        return ""
    return (
        f"An alarm is a line above the limit. Without a change it has a probability of {chart.false_alarms:.0%} in "
        f"{chart.per_periods} periods. The expected {report.measure}, {chart.expected:.3f}, comes from "
        f"{report.expected_from}."
    )
