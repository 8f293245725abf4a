"""`auclid compare` of rows with an order: rankers and what else is installed, on the same held-out rows."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline

from auclid.cli import _show
from auclid.cli._show import escape
from auclid.cli.compare import Protocol
from auclid.cli.comparing import Outputs
from auclid.cli.ordered import SCORECARD, method_name, ranker, ranker_class
from auclid.cli.ordered_page import ordered_page, result_of
from auclid.cli.ordered_rows import OrderedTable, OrderOptions, read
from auclid.cli.settings import Settings, settings_by_method
from auclid.columns import Columns
from auclid.comparison import ComparedModel, compare_ordered
from auclid.validation.tables import take_rows

COMPARED_METHODS = ("square", "squared_hinge", SCORECARD)
"""What is compared where no methods are named."""


def compare(
    data: Path,
    options: OrderOptions,
    protocol: Protocol,
    outputs: Outputs,
    seed: int,
    methods: Sequence[str] = (),
    settings: Settings = (),
) -> None:
    """Compare rankers and baselines on the same rows; groups are held out whole."""
    outputs.check({"DATA": data})
    table = read(data, options)
    chosen = contestants(options, table, methods, settings)
    if protocol.budget is not None:
        _show.say(f"At most about {protocol.budget:.0f} s for the comparison (--budget).")
    with _show.progress() as tell:
        comparison = compare_ordered(
            {name: model for name, _, model in chosen},
            table.X,
            table.y,
            groups=table.groups,
            baseline=[name for name, is_baseline, _ in chosen if is_baseline],
            **protocol.splits(),
            budget=protocol.budget,
            n_jobs=protocol.n_jobs,
            random_state=seed,
            error="keep",
            progress=tell,
        )
    _show.say(
        escape(f"Measured by {comparison.how}. The difference is to the best baseline, p adjusted for all of them.")
    )
    for note in comparison.notes:
        _show.say(escape(note))
    for model in comparison.models:
        _show.say(escape(_line(model)))
    _tell_left_out(options)
    outputs.write(
        ordered_page(result_of(data, table, comparison.rows, comparison.ranked, comparison.how)),
        {data.name: comparison},
    )
    outputs.tell()


def _line(model: ComparedModel) -> str:
    """The figures of a model, or why there are none."""
    if model.trouble:
        return f"{model.name:<28} failed: {model.trouble}"
    line = f"{model.name:<28} {model.auc:.4f} ({model.low:.4f} to {model.high:.4f}), {model.seconds:.2f} s"
    gap = model.gap
    return line if gap is None else f"{line}, {gap.difference:+.4f} (p = {gap.adjusted:.2g})"


def _tell_left_out(options: OrderOptions) -> None:
    """Say which baseline was not compared, since its package is missing."""
    if options.event is None and find_spec("lightgbm") is None:
        _show.say("LightGBM's lambdarank was left out: lightgbm is not installed.")
    if options.event is not None and find_spec("sksurv") is None:
        _show.say("Cox regression was left out: scikit-survival is not installed.")


def contestants(
    options: OrderOptions, table: OrderedTable, methods: Sequence[str], settings: Settings
) -> list[tuple[str, bool, Any]]:
    """(name, whether it is a baseline, estimator) of what suits the rows."""
    names = [method_name(name, options) for name in methods] or list(COMPARED_METHODS)
    own = settings_by_method(settings, names)
    of = ranker_class(options).__name__
    entries: list[tuple[str, bool, Any]] = [
        (name if name == SCORECARD else f"{of} {name}", False, ranker(options, name, own[name])) for name in names
    ]

    def baseline(name: str, model: Any) -> None:
        entries.append((name, True, Pipeline([("columns", Columns()), ("ranker", model)])))

    if options.event is not None:
        baseline("ridge on log time", LogTimeRidge())
        if find_spec("sksurv") is not None:
            from sksurv.linear_model import CoxPHSurvivalAnalysis

            baseline("Cox regression", CoxPHSurvivalAnalysis(alpha=1e-2))
        return entries
    levels = len(np.unique(table.values))
    if levels == 2:
        baseline("logistic regression", LogisticScores(max_iter=1000))
    else:
        baseline("ridge regression", Ridge())
    if table.groups is not None and levels <= 31 and find_spec("lightgbm") is not None:
        baseline("LightGBM lambdarank", LambdaRank())
    return entries


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
