"""The main job: compare our methods and the baselines on the same held-out rows, and say what to make of it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid.additive._point_table import renamed
from auclid.baselines import has_missing
from auclid.baselines import scores as scored
from auclid.cli import models
from auclid.cli.data import BinaryTable
from auclid.cli.defaults import AGAINST, BASELINE_NAMES
from auclid.cli.explain import Reason, reasons
from auclid.cli.leakage import leakage_notes
from auclid.cli.settings import Settings, settings_by_method
from auclid.cli.verdict import Answer, answers, by_average_precision, likely, measured_by
from auclid.comparison import ComparedModel, ModelComparison
from auclid.comparison import compare as compare_estimators
from auclid.data.encoding import is_frame
from auclid.metrics import APInterval, AUCInterval, auc_interval, average_precision_interval, compare_many
from auclid.validation import take_rows


class Protocol(NamedTuple):
    """How rows are split, how models are tuned and how long it may take: options of `auclid.compare`."""

    cv: int | None = None
    repeats: int | None = None
    test_size: float | None = None
    tune: int = 0
    budget: float | None = None
    n_jobs: int | None = None

    def splits(self) -> dict[str, Any]:
        """How rows are split at random, as `auclid.compare` takes it."""
        cv, repeats = ("auto" if number is None else number for number in (self.cv, self.repeats))
        return {"cv": cv, "repeats": repeats, "test_size": self.test_size}


class TimeBlock(NamedTuple):
    """The best model on one block of later rows."""

    start: str
    end: str
    rows: int
    positives: int
    auc: AUCInterval
    ap: APInterval


class HeldOutComparison(NamedTuple):
    """All models, best first, and what to make of them."""

    data: BinaryTable
    comparison: ModelComparison
    seed: int
    answers: list[Answer]
    notes: list[str]
    reasons: list[Reason] = []  # what the best of ours looks at
    shapes: list[Any] = []  # of the best of ours, where it is a scorecard
    max_fpr: float = 1.0  # right end of the region that counts
    tune: int = 0  # settings that each model tried
    blocks: list[TimeBlock] = []  # the best model over time, where rows are split by it

    @property
    def is_pos(self) -> np.ndarray:
        """Which of the held-out rows are positive."""
        return self.data.is_pos[self.comparison.rows]

    def best(self, ours: bool) -> ComparedModel | None:
        """The best of ours, or of the baselines; None where all failed."""
        return next((model for model in self.comparison.ranked if model.is_baseline != ours), None)


def candidates(
    X: Any,
    methods: Sequence[str],
    against: Sequence[str],
    seed: int,
    max_fpr: float = 1.0,
    settings: Settings = (),
) -> tuple[list[tuple[bool, str, Any]], list[str]]:
    """[(ours or not, name, model)] and notes. A name nobody knows is an error before any training."""
    methods = models.every_method() if list(methods) == ["all"] else methods
    suited, notes = (methods, []) if methods else models.sensible(X)
    own = settings_by_method(settings, suited)
    built = {name: models.ours(name, seed, max_fpr, settings=own[name]) for name in suited}
    chosen = [(True, models.as_asked(name, title), model) for name, (title, model) in built.items()]
    notes += _whole_list(chosen, max_fpr)
    for name in against:
        try:
            rival = models.baseline(name, X, seed)
        except ValueError as error:
            if name not in BASELINE_NAMES:
                raise
            notes.append(f"{name} is left out: {error}")
            continue
        if name.startswith("lightgbm") and "LightGBM" not in rival[0]:
            notes.append("LightGBM is not installed (pip install lightgbm): HistGradientBoosting stands in for it.")
        chosen.append((False, *rival))
    return chosen, list(dict.fromkeys(notes))


def compare(
    data: BinaryTable,
    methods: Sequence[str] = (),
    against: Sequence[str] = AGAINST,
    *,
    seed: int = 0,
    protocol: Protocol = Protocol(),  # noqa: B008
    tell: Callable[[str], None] | None = None,
    max_fpr: float = 1.0,
    settings: Settings = (),
) -> HeldOutComparison:
    """Compare every candidate on the same held-out rows; ``tell`` hears of each before it starts.

    With ``max_fpr`` below 1 models learn for that part of the curve where they can, and all are judged by it.
    """
    chosen, notes = candidates(data.X, methods, against, seed, max_fpr, settings)
    notes += leakage_notes(data)
    comparison = compare_estimators(
        {name: model for _, name, model in chosen},
        data.X,
        data.is_pos.astype(int),
        baseline=[name for is_ours, name, _ in chosen if not is_ours],
        **_splits(data, protocol),
        tune=protocol.tune,
        budget=protocol.budget,
        n_jobs=protocol.n_jobs,
        max_fpr=max_fpr,
        random_state=seed,
        error="keep",
        progress=tell,
    )
    notes += [
        *comparison.notes,
        *(f"{m.name} stopped before it had converged." for m in comparison.ranked if not m.converged),
    ]
    notes += _all_alike(comparison, data.is_pos, max_fpr) + by_average_precision(comparison)
    if not is_frame(data.X) and has_missing(data.X):
        notes.append("Missing values were replaced by the median of their column, except for trees and scorecards.")
    told = answers(comparison, data.is_pos, max_fpr)
    result = HeldOutComparison(data, comparison, seed, told, [*data.notes, *notes], max_fpr=max_fpr, tune=protocol.tune)
    result = result._replace(blocks=_over_time(data, comparison))
    best = result.best(ours=True)
    if best is None:
        return result
    test = comparison.splits[0][1]
    rows = take_rows(data.X, test)
    why = reasons(lambda X: scored(best.fitted, X), rows, data.is_pos[test], data.feature_names, seed, max_fpr)
    return result._replace(reasons=why, shapes=_named_shapes(best.fitted, data))


def _named_shapes(model: Any, data: BinaryTable) -> list[Any]:
    """The shapes of a scorecard with the names of the table's columns, which an array has not; else nothing."""
    shapes = list(getattr(model, "shapes_", []))
    if not shapes or is_frame(data.X):
        return shapes
    return renamed(shapes, [column.name for column in model._kept_columns], data.feature_names)


def _splits(data: BinaryTable, protocol: Protocol) -> dict[str, Any]:
    """How the rows are split, as `auclid.compare` takes it: by a file of its own, by time, or at random."""
    if data.test_rows is not None:
        return {"cv": [(np.setdiff1d(np.arange(len(data.is_pos)), data.test_rows), data.test_rows)]}
    return {**protocol.splits(), "time": data.time}


def _over_time(data: BinaryTable, comparison: ModelComparison) -> list[TimeBlock]:
    """The best model on each block of later rows, where there are several."""
    if data.time is None or len(comparison.splits) < 2 or not comparison.ranked:
        return []
    blocks, every = [], np.full(len(data.is_pos), np.nan)
    every[comparison.rows] = comparison.best.scores
    for _, test in comparison.splits:
        is_pos, scores, ends = data.is_pos[test], every[test], [data.time[test].min(), data.time[test].max()]
        first, last = (str(np.datetime64(int(end), "D")) if data.time_is_date else f"{end:g}" for end in ends)
        auc, ap = auc_interval(is_pos, scores), average_precision_interval(is_pos, scores)
        blocks.append(TimeBlock(first, last, len(test), int(is_pos.sum()), auc, ap))
    return blocks


def _whole_list(chosen: list[tuple[bool, str, Any]], max_fpr: float) -> list[str]:
    """Which of ours know nothing of the region."""
    names = [name for _, name, model in chosen if not models.for_the_top(model)]
    if max_fpr == 1.0 or not names:
        return []
    learn = "learns" if len(names) == 1 else "learn"
    return [f"{', '.join(names)} {learn} the whole list; all are judged by {measured_by(max_fpr)}."]


def _all_alike(comparison: ModelComparison, is_pos: np.ndarray, max_fpr: float) -> list[str]:
    """One omnibus test of all models, free of selection bias, where there is one split."""
    scores = {model.name: model.scores for model in comparison.ranked}
    if len(scores) < 2 or len(comparison.splits) > 1:
        return []
    pvalue = compare_many(is_pos[comparison.rows], scores, max_fpr=max_fpr).pvalue
    return [f"That all {len(scores)} models rank alike has p {likely(pvalue, equals='= ')}, by one test of all."]
