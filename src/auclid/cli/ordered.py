"""`fit`, `evaluate` and `update` of rows with an order: levels, rows compared within groups, censored times."""

from inspect import signature
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from auclid._hints import count_of
from auclid._random import set_random_state
from auclid.additive import Scorecard
from auclid.cli import _show, evaluation, fitting
from auclid.cli._show import escape
from auclid.cli.data import Options
from auclid.cli.models import require_method
from auclid.cli.ordered_page import OrderedResult, compared_scores, ordered_page, result_of
from auclid.cli.ordered_rows import OrderedTable, OrderOptions, read
from auclid.cli.paths import check_paths
from auclid.cli.saved import SavedModel
from auclid.cli.scorecards import card_paths, check_points, cost_of_points, leave_scorecard, unbinned
from auclid.cli.settings import PointTableOptions, Settings, with_settings
from auclid.cli.stdin import plainly_named
from auclid.columns import Columns
from auclid.errors import DataError
from auclid.io import replacing, save
from auclid.metrics import auc_over_time, concordance_interval, group_auc
from auclid.metrics._results import ConcordanceInterval
from auclid.ordered import OrderedRanker, SurvivalRanker
from auclid.ordered._base import ORDERED_LOSS_NAMES
from auclid.validation import last_step, names_known

SCORECARD = "Scorecard"
"""The method of an additive model with pairs."""


def method_name(method: str, options: OrderOptions) -> str:
    """A loss of the linear rankers, or Scorecard, as it was asked for in any case; a sentence where it is neither.

    The name of the ranker of such rows stands for its default, the square loss.
    """
    known = {name.casefold(): name for name in (*ORDERED_LOSS_NAMES, SCORECARD)}
    known |= dict.fromkeys(("auto", ranker_class(options).__name__.casefold()), "square")
    if method.casefold() not in known:
        names = ", ".join((*ORDERED_LOSS_NAMES, SCORECARD))
        raise DataError(f"--method must be auto or one of {names} for ordered rows; got {method!r}.")
    return known[method.casefold()]


def ranker_class(options: OrderOptions) -> Any:
    """The linear ranker of levels and numbers, or of censored times."""
    return OrderedRanker if options.event is None else SurvivalRanker


def ranker(options: OrderOptions, method: str, settings: Settings = ()) -> Any:
    """A scorecard of columns of any kind; or columns as numbers, then a linear ranker with a loss.

    ``settings`` are parameters of the scorecard or of the ranker, as --set gives them.
    """
    made = ranker_class(options)
    if method == SCORECARD:
        return with_settings(Scorecard(made()), settings)
    return Pipeline([("columns", Columns()), ("ranker", with_settings(made(method), settings))])


def fit(data: Path, model: Path, options: OrderOptions, how: Options) -> None:
    """Train a ranker on all rows and save it; a scorecard leaves its page and points too."""
    start, method = perf_counter(), method_name(how.method, options)
    require_method(how.method, how.published)
    made = set_random_state(ranker(options, method, how.settings), how.seed)
    check_points(method, made, how.points)
    beside = fitting.card_outputs(model) if method == SCORECARD else {}
    check_paths({"DATA": data}, {"--model": model, **beside})
    table = read(data, options)
    with fitting.noted([]), _show.progress() as tell:
        tell(method)
        fitted(made, table)
    names, counts = column_names_of(made), fitting.profile_of(made, table.X, None)
    known: dict[str, Any] = {"method": method, "columns": names, "dense": True, "order": options.record}
    save(model, made, about=known | fitting.optional_facts(counts, how.points))
    values, more = table.measure(np.arange(len(table.values)))
    interval = concordance_interval(values, made.predict(table.X), **more)
    learnt = f"concordance {interval.concordance:.4f} on the rows it has learnt from"
    _show.say(escape(f"{count_of(len(values), 'row')}, {learnt}, fitted in {perf_counter() - start:.2f} s: {model}"))
    if beside:
        facts = _card_facts(made, table, data, how.points)
        leave_scorecard(made, card_paths(model), names, None, facts, how.points)


def _card_facts(card: Scorecard, table: OrderedTable, data: Path, options: PointTableOptions) -> list[str]:
    """What the page of a scorecard tells of the rows."""
    how = options.bin_keywords()
    rows: dict[str, Any] = {"X": table.X, "y": table.y, "groups": table.groups}
    lost = card.auc_lost(**rows, **how), card.auc_lost(**rows, **unbinned(how))
    return [
        f"{count_of(len(table.values), 'row')} of {plainly_named(str(data))}{table.facts}.",
        cost_of_points("concordance", "these rows", *lost),
    ]


def fitted(model: Any, table: OrderedTable) -> Any:
    """The model fitted to these rows, with groups where there are some and the model takes them."""
    X, y, groups = table.X, table.y, table.groups
    if groups is None or "groups" not in signature(last_step(model).fit).parameters:
        return model.fit(X, y)
    return model.fit(X, y, **{"ranker__groups" if isinstance(model, Pipeline) else "groups": groups})


def evaluate(
    model: Path, data: Path, options: OrderOptions, plot: Path | None = None, html: Path | None = None
) -> None:
    """Measure a saved ranker: the concordance, AUC over time of censored times, the mean AUC by group of two levels."""
    evaluation.check_outputs({"MODEL": model, "DATA": data}, evaluation.EvaluationOptions(plot=plot, html=html))
    saved = SavedModel.open(model, ordered=True)
    if not saved.ordered:
        raise DataError(
            f"{model} must be a model of ordered rows, as `auclid fit --ordered` writes it, where --group, --event, "
            "--time or --ordered is given. The AUC of a classifier by the values of a column: --groups."
        )
    made, options = saved.estimator, saved.complete(options)
    table = read(data, options, saved.names)
    scores, every = np.asarray(made.predict(table.X)), np.arange(len(table.values))
    values, more = table.measure(every)
    interval = concordance_interval(values, scores, clusters=table.groups, **more)
    _show.say(f"Concordance {interval.concordance:.4f}, 95 % interval {interval.low:.4f} to {interval.high:.4f}.")
    result = result_of(data, table, every, [compared_scores(model.stem, scores, interval)])
    if table.survival is not None:
        over = auc_over_time(values, scores, table.survival.event)
        for t, auc, low, high in zip(over.times, over.auc, over.low, over.high, strict=True):
            _show.say(f"AUC by time {t:g}: {auc:.4f}, {low:.4f} to {high:.4f}.")
    elif result.has_group_aucs:
        mean = group_auc(values, scores, table.groups)  # type: ignore[arg-type]
        _show.say(f"Mean AUC by group: {mean.auc:.4f}, 95 % interval {mean.low:.4f} to {mean.high:.4f}.")
    if plot is not None:
        draw(result).figure.savefig(plot)
        _show.say(escape(f"Plot: {plot}"))
    if html is not None:
        with replacing(html, "w") as file:
            file.write(ordered_page(result))
        _show.say(escape(f"Page: {html}"))


def learn_on(saved: SavedModel, new: Path, target: str | None) -> int:
    """Let a ranker with the square loss learn from more rows, whose groups are whole and new; returns how many."""
    made, options = saved.estimator, saved.complete(OrderOptions(target))
    last = last_step(made)
    if not isinstance(last, OrderedRanker):
        raise DataError(
            f"MODEL must hold an OrderedRanker with the square loss to learn from more rows; {type(last).__name__} "
            "of ordered rows must be fitted anew, to all rows."
        )
    table = read(new, options, saved.names)
    with names_known():
        X = made[0].transform(table.X) if isinstance(made, Pipeline) else table.X
        last.partial_fit(X, table.y, groups=table.groups)
    return len(table.values)


def draw(result: OrderedResult) -> Any:
    """AUC over time of censored times, AUC by group of two levels within groups, else the interval."""
    from auclid import plot as plots

    row = result.models[0]
    if result.event is not None:
        return plots.auc_over_time(result.values, row.scores, result.event, name=row.name)
    if result.has_group_aucs:
        return plots.group_auc(result.values, row.scores, result.groups)  # type: ignore[arg-type]
    return plots.intervals({row.name: ConcordanceInterval(row.auc, row.low, row.high, np.nan)})


def column_names_of(model: Any) -> list[str]:
    """The columns that a saved model was fitted to."""
    return (model[0] if isinstance(model, Pipeline) else model).feature_names_in_.tolist()
