"""`fit`, `compare` and `evaluate` of rows with an order: levels, rows compared within groups, censored times."""

import time as clock
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.pipeline import Pipeline

from auclid import io
from auclid._hints import count_of
from auclid.additive import Scorecard
from auclid.cli import _show, evaluation, predictions
from auclid.cli._show import escape
from auclid.cli.data import column_of, option_column, scan_columns, text
from auclid.cli.ordered_page import OrderedResult, ordered_page
from auclid.cli.paths import check_paths
from auclid.columns import Columns
from auclid.comparison import ComparedModel
from auclid.data.encoding import decode, is_missing
from auclid.data.files import scan
from auclid.errors import DataError, missing_label
from auclid.metrics import auc_over_time, compare_concordance, concordance_interval, group_auc
from auclid.metrics._results import ConcordanceInterval, PairComparison
from auclid.ordered import OrderedRanker, SurvivalRanker
from auclid.ordered._base import LOSSES
from auclid.ordered._meta import ranks_order
from auclid.validation import names_known
from auclid.validation.outcomes import Survival, event_column, group_codes, ordered_values, time_column
from auclid.validation.tables import take_rows


class OrderOptions(NamedTuple):
    """The options that say what rows are ordered by."""

    target: str | None = None
    event: str | None = None
    time: str | None = None
    group: str | None = None
    ordered: bool = False
    drop: Sequence[str] = ()
    positive: str | None = None

    @property
    def asked(self) -> bool:
        """Whether rows have an order that is not that of two classes."""
        return self.ordered or any(name is not None for name in (self.event, self.time, self.group))

    @property
    def outcome(self) -> str:
        """The column of times, or of levels."""
        if (self.event is None) != (self.time is None):
            raise DataError("--event and --time must be given together: whether an event was seen, and when.")
        name = self.target if self.time is None else self.time
        if name is None:
            raise DataError("--target must name the column of levels or numbers, or --event and --time those of times.")
        return name


class OrderedTable(NamedTuple):
    """Rows in memory with what they are ordered by."""

    X: Any
    y: Any
    survival: Survival | None
    values: np.ndarray
    groups: np.ndarray | None

    def measure(self, at: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """What metrics need of some rows: values, and the options event and groups."""
        event = None if self.survival is None else self.survival.event[at]
        return self.values[at], {"event": event, "groups": None if self.groups is None else self.groups[at]}

    def part(self, at: np.ndarray) -> tuple[Any, Any, np.ndarray | None]:
        """X, y and groups of some rows."""
        return take_rows(self.X, at), self.y[at], None if self.groups is None else self.groups[at]


def read(data: Path, options: OrderOptions, names: Sequence[str] | None = None) -> OrderedTable:
    """All rows of a file; ``names`` are the columns of a model, else all that are not options."""
    target = options.outcome
    with column_of("target" if options.time is None else "time"):
        if names is None:
            left_out = {options.event, options.group, *options.drop}
            names = [name for name in scan(data, target=target).columns if name not in left_out]
        rows = scan(data, target=target, columns=list(names))
    X, _ = rows.gather(np.arange(rows.shape[0]), allow_missing=True, allow_categorical=True)
    X = decode(X, rows.columns, rows.encodings)
    groups = None
    if options.group is not None:
        groups = group_codes("auclid", option_column(data, "group", options.group), X.shape[0])
    if options.event is None:
        values = _levels(rows.target(classes=False), options)
        return OrderedTable(X, values, None, values, groups)
    event = event_column("auclid", _numbers(option_column(data, "event", options.event)))
    survival = Survival(time_column("auclid", "time", rows.target(classes=False)), event)
    y = np.empty(len(survival.time), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = survival.event, survival.time
    return OrderedTable(X, y, survival, survival.time, groups)


def _levels(target: Any, options: OrderOptions) -> np.ndarray:
    """The numbers that rows are ordered by: 1 for the label --positive, if it is given, and 0 for all others."""
    if options.positive is None:
        return ordered_values("auclid", "target", target)
    labels = np.asarray(target).tolist()
    if any(is_missing(label) for label in labels):
        raise missing_label("missing ones", subject="The target")
    is_pos = np.array([text(label) == options.positive for label in labels])
    if not is_pos.any():
        raise DataError(f"--positive must be a label of the target; got {options.positive!r}.")
    return is_pos.astype(np.float64)


def _numbers(values: np.ndarray) -> np.ndarray:
    """Texts True and False as booleans; all else as it is."""
    if values.dtype == object and {str(value).lower() for value in values} <= {"true", "false"}:
        return np.array([str(value).lower() == "true" for value in values])
    return values


SCORECARD = "Scorecard"
"""The method of an additive model with pairs."""


def ranker(options: OrderOptions, method: str) -> Any:
    """A scorecard of columns of any kind; or columns as numbers, then a linear ranker with a loss."""
    made: Any = OrderedRanker if options.event is None else SurvivalRanker
    if method == SCORECARD:
        return Scorecard(made())
    return Pipeline([("columns", Columns()), ("ranker", made(method))])


def fit(data: Path, model: Path, options: OrderOptions, method: str) -> None:
    """Train a ranker on all rows and save it."""
    known = {name.casefold(): name for name in (*LOSSES, SCORECARD)} | {"auto": "square"}
    if method.casefold() not in known:
        names = ", ".join((*LOSSES, SCORECARD))
        raise DataError(f"--method must be auto or one of {names} for ordered rows; got {method!r}.")
    table = read(data, options)
    made = fitted(ranker(options, known[method.casefold()]), table.X, table.y, table.groups)
    io.save(model, made)
    values, more = table.measure(np.arange(len(table.values)))
    found = concordance_interval(values, made.predict(table.X), **more)
    learnt = f"concordance {found.concordance:.4f} on the rows it has learnt from."
    _show.say(escape(f"{count_of(len(values), 'row')}, {learnt}"))
    _show.say(escape(f"Model: {model}"))


def fitted(model: Any, X: Any, y: Any, groups: np.ndarray | None) -> Any:
    """The model fitted to these rows, with groups where there are some and the model takes them."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if groups is None or "groups" not in signature(last.fit).parameters:
        return model.fit(X, y)
    return model.fit(X, y, **{"ranker__groups" if isinstance(model, Pipeline) else "groups": groups})


def evaluate(
    model: Path, data: Path, options: OrderOptions, plot: Path | None = None, html: Path | None = None
) -> None:
    """Measure a saved ranker: the concordance, AUC over time of censored times, the mean AUC by group of two levels."""
    evaluation.check_outputs({"MODEL": model, "DATA": data}, evaluation.EvaluationOptions(plot=plot, html=html))
    made = load_ranker(model)
    table = read(data, options, column_names_of(made))
    scores, every = np.asarray(made.predict(table.X)), np.arange(len(table.values))
    values, more = table.measure(every)
    found = concordance_interval(values, scores, clusters=table.groups, **more)
    _show.say(f"Concordance {found.concordance:.4f}, 95 % interval {found.low:.4f} to {found.high:.4f}.")
    result = _result(data, table, every, [_compared(model.stem, False, scores, found)])
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
        html.write_text(ordered_page(result), encoding="utf-8")
        _show.say(escape(f"Page: {html}"))


def predict(path: Path, data: Path, output: Path, identifiers: list[str], memory: str | None) -> None:
    """Write the score of every row by a model of ordered rows, block by block: the higher, the higher it is ranked."""
    made, count = load_ranker(path), 0
    rows = scan_columns(data, None, memory, column_names_of(made), ())
    copies = predictions.Copies(data, identifiers) if identifiers else None

    def blocks() -> Iterator[dict[str, Any]]:
        nonlocal count
        for block in rows.read(allow_missing=True, allow_categorical=True):
            with names_known():
                scores = np.asarray(made.predict(rows.decode(block.X)), np.float64)
            count += len(scores)
            yield {**({} if copies is None else copies.next(len(scores))), "score": scores}

    predictions.write_columns(output, blocks())
    _show.say(escape(f"{count_of(count, 'score')}: {output}"))


def draw(result: OrderedResult) -> Any:
    """AUC over time of censored times, AUC by group of two levels within groups, else the interval."""
    from auclid import plot as plots

    row = result.models[0]
    if result.event is not None:
        return plots.auc_over_time(result.values, row.scores, result.event, name=row.name)
    if result.has_group_aucs:
        return plots.group_auc(result.values, row.scores, result.groups)  # type: ignore[arg-type]
    return plots.intervals({row.name: ConcordanceInterval(row.auc, row.low, row.high, np.nan)})


def load_ranker(path: Path) -> Any:
    """A saved model of ordered rows."""
    made = io.load(path)
    if not ranks_order(made):
        raise DataError(
            f"{path} must be a model of ordered rows, as `auclid fit --ordered` writes it, where --group, --event, "
            "--time or --ordered is given. The AUC of a classifier by the values of a column: --groups."
        )
    return made


def column_names_of(model: Any) -> list[str]:
    """The columns that a saved model was fitted to."""
    return (model[0] if isinstance(model, Pipeline) else model).feature_names_in_.tolist()


def _compared(
    name: str, is_baseline: bool, scores: np.ndarray, found: ConcordanceInterval, seconds: float = np.nan
) -> ComparedModel:
    value = found.concordance
    more: dict[str, Any] = {"scores": scores, "seconds": seconds, "is_baseline": is_baseline}
    return ComparedModel(name, value, found.low, found.high, np.array([value]), **more)


def _result(data: Path, table: OrderedTable, at: np.ndarray, models: list[ComparedModel]) -> OrderedResult:
    values, more = table.measure(at)
    facts = [count_of(len(at), "row")]
    if more["event"] is not None:
        facts.append(count_of(int(more["event"].sum()), "event"))
    if more["groups"] is not None:
        facts.append(count_of(len(np.unique(more["groups"])), "group"))
    return OrderedResult(data.name, ", ".join(facts) + ".", models, values, more["event"], more["groups"])


def compare(data: Path, options: OrderOptions, test_size: float, seed: int, output: Path | None = None) -> None:
    """Train rankers and what else is installed on the same rows; groups are held out whole."""
    if output is not None:
        check_paths({"DATA": data}, {"--output": output})
    table = read(data, options)
    train, test = _split(table, test_size, seed)
    values, more = table.measure(test)
    rows = [
        _scored(name, is_baseline, model, table, train, test)
        for name, is_baseline, model in _contenders(options, table)
    ]
    best = max((row for row in rows if row.is_baseline), key=lambda row: row.auc)
    rows = [row if row is best else row._replace(gap=_gap(row, best, values, more)) for row in rows]
    rows.sort(key=lambda row: -row.auc)
    learnt = count_of(len(train), "row")
    _show.say(f"{learnt} to learn from, {len(test):,} to rank. The difference is to the best baseline.")
    for row in rows:
        line = f"{row.name:<28} {row.auc:.4f} ({row.low:.4f} to {row.high:.4f}), {row.seconds:.2f} s"
        gap = row.gap
        _show.say(escape(line if gap is None else f"{line}, {gap.difference:+.4f} (p = {gap.pvalue:.2g})"))
    _tell_left_out(options)
    if output is not None:
        output.write_text(ordered_page(_result(data, table, test, rows)), encoding="utf-8")
        _show.say(escape(f"Report: {output}"))


def _tell_left_out(options: OrderOptions) -> None:
    """Say which baseline was not compared, since its package is missing."""
    if options.event is None and find_spec("lightgbm") is None:
        _show.say("LightGBM's lambdarank was left out: lightgbm is not installed.")
    if options.event is not None and find_spec("sksurv") is None:
        _show.say("Cox regression was left out: scikit-survival is not installed.")


def _gap(row: ComparedModel, best: ComparedModel, values: np.ndarray, more: dict[str, Any]) -> PairComparison:
    """The concordance of a model minus that of the best baseline."""
    gap = compare_concordance(values, row.scores, best.scores, clusters=more["groups"], **more)
    return PairComparison(row.name, best.name, gap.difference, gap.low, gap.high, gap.pvalue, gap.pvalue)


def _split(table: OrderedTable, test_size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    n = len(table.values)
    if table.groups is not None and len(np.unique(table.groups)) >= 4:
        by_group = GroupShuffleSplit(1, test_size=test_size, random_state=seed)
        return next(by_group.split(np.arange(n), None, table.groups))
    return next(ShuffleSplit(1, test_size=test_size, random_state=seed).split(np.arange(n)))


def _contenders(options: OrderOptions, table: OrderedTable) -> list[tuple[str, bool, Any]]:
    """(name, whether it is a baseline, estimator) of what suits the rows."""
    own = "SurvivalRanker" if options.event else "OrderedRanker"
    methods = ("square", "squared_hinge", SCORECARD)
    found: list[tuple[str, bool, Any]] = [
        (method if method == SCORECARD else f"{own} {method}", False, ranker(options, method)) for method in methods
    ]

    def baseline(name: str, model: Any) -> None:
        found.append((name, True, Pipeline([("columns", Columns()), ("ranker", model)])))

    if options.event is not None:
        baseline("ridge on log time", LogTimeRidge())
        if find_spec("sksurv") is not None:
            from sksurv.linear_model import CoxPHSurvivalAnalysis

            baseline("Cox regression", CoxPHSurvivalAnalysis(alpha=1e-2))
        return found
    levels = len(np.unique(table.values))
    if levels == 2:
        baseline("logistic regression", LogisticScores(max_iter=1000))
    else:
        baseline("ridge regression", Ridge())
    if table.groups is not None and levels <= 31 and find_spec("lightgbm") is not None:
        baseline("LightGBM lambdarank", LambdaRank())
    return found


class LogisticScores(LogisticRegression):
    """Logistic regression whose prediction is its score."""

    def predict(self, X: Any) -> np.ndarray:
        """The log-odds of the higher level."""
        return self.decision_function(X)


class LogTimeRidge(Ridge):
    """Ridge regression of minus the logarithm of the time of the rows whose event was seen: a simple baseline."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LogTimeRidge":
        """Learn from the rows with an event."""
        seen = np.flatnonzero(y["event"])
        return super().fit(take_rows(X, seen), -np.log1p(y["time"][seen]))


class LambdaRank(BaseEstimator):
    """LightGBM's lambdarank with groups as queries."""

    def fit(self, X: Any, y: np.ndarray, groups: np.ndarray) -> "LambdaRank":
        """Learn from rows by query."""
        from lightgbm import LGBMRanker

        order = np.argsort(groups, kind="stable")
        sizes = np.unique(groups[order], return_counts=True)[1]
        levels = np.unique(y, return_inverse=True)[1]
        self.model_ = LGBMRanker(verbose=-1, random_state=0).fit(take_rows(X, order), levels[order], group=sizes)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The scores of the trees."""
        return np.asarray(self.model_.predict(X))


def _scored(
    name: str, is_baseline: bool, model: Any, table: OrderedTable, train: np.ndarray, test: np.ndarray
) -> ComparedModel:
    """A model fitted on some rows, and what its scores of the others are worth."""
    start = clock.process_time()
    fitted(model, *table.part(train))
    seconds = clock.process_time() - start
    scores = np.asarray(model.predict(table.part(test)[0]))
    values, more = table.measure(test)
    return _compared(
        name, is_baseline, scores, concordance_interval(values, scores, clusters=more["groups"], **more), seconds
    )
