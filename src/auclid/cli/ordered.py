"""`fit`, `compare` and `evaluate` of rows with an order: levels, rows compared within groups, censored times."""

import time as clock
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.pipeline import Pipeline

from auclid import io
from auclid.cli import _show
from auclid.cli._show import escape
from auclid.columns import Columns
from auclid.data.encoding import decode
from auclid.data.files import read_column, scan
from auclid.errors import DataError
from auclid.metrics import auc_over_time, compare_concordance, concordance_interval, group_auc
from auclid.ordered import OrderedRanker, SurvivalRanker
from auclid.ordered._base import LOSSES
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
    if names is None:
        left_out = {options.event, options.group, *options.drop}
        names = [name for name in scan(data, target=target).columns if name not in left_out]
    rows = scan(data, target=target, columns=list(names))
    X, _ = rows.gather(np.arange(rows.shape[0]), allow_missing=True, allow_categorical=True)
    X = decode(X, rows.columns, rows.encodings)
    groups = None if options.group is None else group_codes("auclid", read_column(data, options.group), X.shape[0])
    if options.event is None:
        values = ordered_values("auclid", "target", rows.target())
        return OrderedTable(X, values, None, values, groups)
    survival = Survival(
        time_column("auclid", "time", rows.target()), event_column("auclid", _numbers(read_column(data, options.event)))
    )
    y = np.empty(len(survival.time), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = survival.event, survival.time
    return OrderedTable(X, y, survival, survival.time, groups)


def _numbers(values: np.ndarray) -> np.ndarray:
    """Texts True and False as booleans; all else as it is."""
    if values.dtype == object and {str(value).lower() for value in values} <= {"true", "false"}:
        return np.array([str(value).lower() == "true" for value in values])
    return values


def ranker(options: OrderOptions, loss: str) -> Pipeline:
    """Columns of any kind to numbers, then a ranker."""
    model = OrderedRanker(loss) if options.event is None else SurvivalRanker(loss)
    return Pipeline([("columns", Columns()), ("ranker", model)])


def fit(data: Path, model: Path, options: OrderOptions, method: str) -> None:
    """Train a ranker on all rows and save it."""
    loss = "square" if method == "auto" else method
    if loss not in LOSSES:
        raise DataError(f"--method must be auto or one of {', '.join(LOSSES)} for ordered rows; got {method!r}.")
    table = read(data, options)
    made = ranker(options, loss).fit(table.X, table.y, ranker__groups=table.groups)
    io.save(model, made)
    values, more = table.measure(np.arange(len(table.values)))
    found = concordance_interval(values, made.predict(table.X), **more)
    _show.say(escape(f"{len(values):,} rows, concordance {found.concordance:.4f} on the rows it has learnt from."))
    _show.say(escape(f"Model: {model}"))


def evaluate(model: Path, data: Path, options: OrderOptions) -> None:
    """Measure a saved ranker: the concordance, AUC over time of censored times, the mean AUC by group of two levels."""
    made = io.load(model)
    if not isinstance(made, Pipeline) or not isinstance(made[-1], OrderedRanker | SurvivalRanker):
        raise DataError(
            f"{model} must be a model of ordered rows, as `auclid fit --ordered` writes it, where --group, --event, "
            "--time or --ordered is given. The AUC of a classifier by the values of a column: --groups."
        )
    table = read(data, options, made[0].feature_names_in_.tolist())
    scores, every = made.predict(table.X), np.arange(len(table.values))
    values, more = table.measure(every)
    found = concordance_interval(values, scores, clusters=table.groups, **more)
    _show.say(f"Concordance {found.concordance:.4f}, 95 % interval {found.low:.4f} to {found.high:.4f}.")
    if table.survival is not None:
        over = auc_over_time(values, scores, table.survival.event)
        for t, auc, low, high in zip(over.times, over.auc, over.low, over.high, strict=True):
            _show.say(f"AUC by time {t:g}: {auc:.4f}, {low:.4f} to {high:.4f}.")
    elif table.groups is not None and len(np.unique(values)) == 2:
        mean = group_auc(values, scores, table.groups)
        _show.say(f"Mean AUC by group: {mean.auc:.4f}, 95 % interval {mean.low:.4f} to {mean.high:.4f}.")


class OrderedRow(NamedTuple):
    """A model of the comparison: its scores on the held-out rows, and the seconds of its fit."""

    name: str
    ours: bool
    scores: np.ndarray
    seconds: float


def compare(data: Path, options: OrderOptions, test_size: float, seed: int) -> None:
    """Train rankers and what else is installed on the same rows; groups are held out whole."""
    table = read(data, options)
    train, test = _split(table, test_size, seed)
    rows = [_scored(name, ours, model, table, train, test) for name, ours, model in _contenders(options, table)]
    values, more = table.measure(test)
    intervals = [concordance_interval(values, row.scores, clusters=more["groups"], **more) for row in rows]
    peers = [k for k, row in enumerate(rows) if not row.ours]
    best = max(peers, key=lambda k: intervals[k].concordance)
    _show.say(f"{len(train):,} rows to learn from, {len(test):,} to rank. The difference is to the best baseline.")
    order = sorted(range(len(rows)), key=lambda k: -intervals[k].concordance)
    for k in order:
        found = intervals[k]
        figures = f"{found.concordance:.4f} ({found.low:.4f} to {found.high:.4f}), {rows[k].seconds:.2f} s"
        line = f"{rows[k].name:<28} {figures}"
        if rows[k].ours:
            gap = compare_concordance(values, rows[k].scores, rows[best].scores, clusters=more["groups"], **more)
            line += f", {gap.difference:+.4f} (p = {gap.pvalue:.2g})"
        _show.say(escape(line))
    if options.event is None and find_spec("lightgbm") is None:
        _show.say("LightGBM's lambdarank was left out: lightgbm is not installed.")
    if options.event is not None and find_spec("sksurv") is None:
        _show.say("Cox regression was left out: scikit-survival is not installed.")


def _split(table: OrderedTable, test_size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    n = len(table.values)
    if table.groups is not None and len(np.unique(table.groups)) >= 4:
        by_group = GroupShuffleSplit(1, test_size=test_size, random_state=seed)
        return next(by_group.split(np.arange(n), None, table.groups))
    return next(ShuffleSplit(1, test_size=test_size, random_state=seed).split(np.arange(n)))


def _contenders(options: OrderOptions, table: OrderedTable) -> list[tuple[str, bool, Any]]:
    """(name, whether it is ours, estimator) of what suits the rows."""
    found: list[tuple[str, bool, Any]] = [
        (f"{'SurvivalRanker' if options.event else 'OrderedRanker'} {loss}", True, ranker(options, loss))
        for loss in ("square", "squared_hinge")
    ]
    if options.event is None:
        found.append(("ridge regression", False, Pipeline([("columns", Columns()), ("ranker", Ridge())])))
    else:
        found.append(("ridge on log time", False, Pipeline([("columns", Columns()), ("ranker", LogTimeRidge())])))
        if find_spec("sksurv") is not None:
            from sksurv.linear_model import CoxPHSurvivalAnalysis

            cox = CoxPHSurvivalAnalysis(alpha=1e-2)
            found.append(("Cox regression", False, Pipeline([("columns", Columns()), ("ranker", cox)])))
    levels = len(np.unique(table.values))
    if options.event is None and table.groups is not None and levels <= 31 and find_spec("lightgbm") is not None:
        found.append(("LightGBM lambdarank", False, Pipeline([("columns", Columns()), ("ranker", LambdaRank())])))
    return found


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
    name: str, ours: bool, model: Pipeline, table: OrderedTable, train: np.ndarray, test: np.ndarray
) -> OrderedRow:
    """A model fitted on some rows, and its scores of the others."""
    X, y, groups = table.part(train)
    takes_groups = ours or isinstance(model[-1], LambdaRank)
    more = {"ranker__groups": groups} if takes_groups and groups is not None else {}
    start = clock.process_time()
    model.fit(X, y, **more)
    seconds = clock.process_time() - start
    return OrderedRow(name, ours, np.asarray(model.predict(table.part(test)[0])), seconds)
