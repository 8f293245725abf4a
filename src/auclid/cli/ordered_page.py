"""The page of rows with an order: concordance intervals, AUC over time, AUC by group."""

from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from auclid._hints import count_of
from auclid._page import filled, header, named_row, number_table
from auclid._page import page as whole_page
from auclid._page.svg import Frame, nice, span
from auclid.cli.ordered_rows import OrderedTable
from auclid.cli.plots import forest_plot
from auclid.cli.verdict import likely, signed
from auclid.comparison import ComparedModel
from auclid.metrics import auc_over_time, group_auc
from auclid.metrics._concordance import group_aucs
from auclid.metrics._results import ConcordanceInterval
from auclid.plot._order import GROUP_BINS


class OrderedResult(NamedTuple):
    """Models with their scores of the same rows, best first, and what these rows are ordered by."""

    source: str
    facts: str
    models: list[ComparedModel]
    values: np.ndarray
    event: np.ndarray | None
    groups: np.ndarray | None

    @property
    def best_of_each_side(self) -> list[ComparedModel]:
        """The best of ours and the best baseline."""
        best = [next((row for row in self.models if row.is_baseline is side), None) for side in (False, True)]
        return [row for row in best if row is not None]

    @property
    def has_group_aucs(self) -> bool:
        """Whether rows of two levels are compared within groups."""
        return self.event is None and self.groups is not None and len(np.unique(self.values)) == 2


def result_of(
    data: Path, table: OrderedTable, at: np.ndarray, models: list[ComparedModel], how: str = ""
) -> OrderedResult:
    """Models measured on some rows of a table; ``how`` tells how these were split off."""
    values, more = table.measure(at)
    facts = f"{count_of(len(at), 'row')}{table.facts}." + (f" Measured by {how}." if how else "")
    return OrderedResult(data.name, facts, models, values, more["event"], more["groups"])


def compared_scores(name: str, scores: np.ndarray, interval: ConcordanceInterval) -> ComparedModel:
    """A model whose scores of all rows are measured at once."""
    value = interval.concordance
    return ComparedModel(name, value, interval.low, interval.high, np.array([value]), scores=scores)


HEADS = "model", "concordance", "95 % interval", "against best baseline", "adjusted p", "fit, s"


def ordered_page(result: OrderedResult) -> str:
    """The page as text."""
    rival = next((row for row in result.models if row.is_baseline), None)
    forest = forest_plot(result.models, rival, label="concordance with 95 % interval")
    figures = [_figure("Concordance", forest, "The dashed line is the best baseline." if rival else "")]
    if result.event is not None:
        figures.append(_figure("AUC over time", _time_plot(result), _TIME))
    if result.has_group_aucs:
        best = result.best_of_each_side
        figures += [_figure(f"AUC within groups: {row.name}", *_group_plot(result, row)) for row in best]
    body = filled(
        "ordered.html",
        header=header("auclid", escape(result.source), escape(result.facts)),
        models=number_table(HEADS, map(_line, result.models)),
        pairs="Only rows of one group are compared." if result.groups is not None else "",
        figures="".join(figures),
    )
    return whole_page(f"auclid: {escape(result.source)}", body)


_TIME = (
    "How well scores separate rows with an event by a time from rows that are still without one, with pointwise 95 % "
    "bands. Weights allow for censoring."
)


def _figure(title: str, svg: str, caption: str) -> str:
    return f'<section><h2>{escape(title)}</h2><figure>{svg}</figure><p class="caption">{escape(caption)}</p></section>'


def _line(row: ComparedModel) -> str:
    gap = row.gap
    difference = "" if gap is None else signed(gap.difference)
    p = "" if gap is None else likely(gap.adjusted)
    seconds = f"{row.seconds:.2f}" if np.isfinite(row.seconds) else ""
    figures = f"{row.auc:.4f}", f"{row.low:.4f} – {row.high:.4f}", difference, escape(p), seconds
    return named_row(row.name, figures)


def _time_plot(result: OrderedResult) -> str:
    assert result.event is not None
    over_time = [(row, auc_over_time(result.values, row.scores, result.event)) for row in result.best_of_each_side]
    low, high = span([each for _, over in over_time for each in (*over.low, *over.high)])
    times = over_time[0][1].times
    frame = Frame((float(times[0]), float(times[-1])), (low, high))
    ticks = nice(float(times[0]), float(times[-1])), nice(low, high)
    body = [frame.axes("time", "AUC of events by then", *ticks)]
    for row, over in reversed(over_time):
        css = "rival" if row.is_baseline else "ours"
        body.append(frame.band(over.times, over.low, over.high, f"band {css}"))
        body.append(frame.line(over.times, over.auc, f"line {css}", row.name))
    return frame.svg("AUC over time", "".join(body))


def _group_plot(result: OrderedResult, row: ComparedModel) -> tuple[str, str]:
    """A histogram of the AUCs of the groups with their mean, and what it says."""
    aucs = group_aucs("auclid", result.values, row.scores, result.groups, None, None)[0]
    mean = group_auc(result.values, row.scores, result.groups)  # type: ignore[arg-type]
    counts = np.histogram(aucs, GROUP_BINS)[0]
    top = 1.08 * float(counts.max())
    frame = Frame((0.0, 1.0), (0.0, top))
    body = [frame.axes("AUC within a group", "groups", np.linspace(0.0, 1.0, 6), nice(0.0, top, 4))]
    body.append(frame.histogram(GROUP_BINS, counts, f"bars {'rival' if row.is_baseline else 'ours'}"))
    body.append(frame.vertical(mean.auc, "cut"))
    caption = (
        f"{len(aucs):,} groups with rows of both levels. Their mean by size is {mean.auc:.4f}, 95 % interval "
        f"over groups {mean.low:.4f} to {mean.high:.4f}."
    )
    return frame.svg(f"AUC within groups, {row.name}", "".join(body)), caption
