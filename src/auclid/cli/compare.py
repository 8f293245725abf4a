"""The main job: train ours and the baselines on the same rows, and rank the same others."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from auclid.baselines import has_missing
from auclid.baselines import scores as scored
from auclid.cli import models
from auclid.cli.data import BinaryTable
from auclid.cli.defaults import AGAINST
from auclid.cli.explain import Reason, reasons
from auclid.cli.leakage import leakage_notes
from auclid.cli.verdict import SIGNIFICANCE, likely, measured_by, verdict
from auclid.cli.wording import sentence
from auclid.columns import Columns
from auclid.data.encoding import is_frame
from auclid.datasets import DataError
from auclid.metrics import (
    auc_interval,
    average_precision_interval,
    compare_auc,
    compare_average_precision,
    compare_many,
)
from auclid.metrics._sample import checked_region
from auclid.validation import take_rows

MIN_SPLIT_CLASS_ROWS = 8
"""Rows of each class without which a split leaves nothing to measure."""


class Row(NamedTuple):
    """One model on the test rows; ``trouble`` is why it has no figures."""

    name: str
    ours: bool
    interval: Any = None  # auc, low, high, se
    gap: Any = None  # difference, low, high, pvalue: against the best baseline, None for that one itself
    seconds: float = np.nan
    scores: Any = None
    trouble: str = ""
    score: Any = None  # a function from rows of the table to scores
    ap: Any = None  # average precision: ap, low, high, se
    ap_gap: Any = None  # its difference to the best baseline, with a paired test
    probabilities: Any = None  # of the test rows, where the model has them


class HeldOutComparison(NamedTuple):
    """All models, best first, and what to make of them."""

    data: BinaryTable
    train: np.ndarray
    test: np.ndarray
    seed: int
    rows: list[Row]
    verdict: str
    notes: list[str]
    reasons: list[Reason] = []  # what the best of ours looks at
    shapes: list[Any] = []  # of the best of ours, where it is a scorecard
    max_fpr: float = 1.0  # right end of the region that counts

    @property
    def ranked(self) -> list[Row]:
        """The models that have scores."""
        return [row for row in self.rows if not row.trouble]

    def best(self, ours: bool) -> Row | None:
        """The best of ours, or of the baselines; None where all failed."""
        return next((row for row in self.ranked if row.ours == ours), None)


def candidates(
    X: Any, methods: Sequence[str], against: Sequence[str], seed: int, max_fpr: float = 1.0
) -> tuple[list[tuple[bool, str, Any]], list[str]]:
    """[(ours or not, name, model)] and notes. A name nobody knows is an error before any training."""
    methods = models.every_method() if list(methods) == ["all"] else methods
    suited, notes = (methods, []) if methods else models.sensible(X)
    chosen = [(True, *models.ours(name, seed, max_fpr)) for name in suited]
    notes += _whole_list(chosen, max_fpr)
    for name in against:
        try:
            built = models.baseline(name, X, seed)
        except ValueError as error:
            if name not in models.BASELINES:
                raise
            notes.append(f"{name} is left out: {error}")
            continue
        if name == "lightgbm" and "LightGBM" not in built[0]:
            notes.append(f"LightGBM is not installed (pip install lightgbm): {built[0]} stands in for it.")
        chosen.append((False, *built))
    return chosen, notes


def split_table(data: BinaryTable, test_size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the training and of the test rows: those of a file of their own, the latest, or a random share."""
    n = len(data.is_pos)
    if data.test_rows is not None:
        train, test = np.setdiff1d(np.arange(n), data.test_rows), data.test_rows
    elif data.time is not None:
        cut = np.quantile(data.time, 1.0 - test_size, method="higher")  # rows of equal time stay together
        cut = cut if cut > data.time.min() else np.nextafter(cut, np.inf)
        train, test = np.flatnonzero(data.time < cut), np.flatnonzero(data.time >= cut)
    else:
        return split(data.is_pos, test_size, seed)
    for what, rows in (("learn from", train), ("test on", test)):
        pos = int(data.is_pos[rows].sum())
        if min(pos, len(rows) - pos) < 2:
            raise DataError(f"compare must have two rows of each class to {what}; got {pos} positives of {len(rows)}.")
    return train, test


def split(is_pos: np.ndarray, test_size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the training and of the test rows, stratified."""
    count = int(min(is_pos.sum(), (~is_pos).sum()))
    if count < MIN_SPLIT_CLASS_ROWS:
        raise DataError(
            f"compare must have at least {MIN_SPLIT_CLASS_ROWS} rows of each class, to learn and to test; got {count}."
        )
    train, test = train_test_split(np.arange(len(is_pos)), test_size=test_size, stratify=is_pos, random_state=seed)
    if min(is_pos[test].sum(), (~is_pos[test]).sum()) < 2:
        raise DataError("--test-size must leave two rows of each class to test on; it is too small.")
    return np.sort(train), np.sort(test)


def compare(
    data: BinaryTable,
    methods: Sequence[str] = (),
    against: Sequence[str] = AGAINST,
    *,
    seed: int = 0,
    test_size: float = 0.3,
    tell: Callable[[str], None] = lambda name: None,
    max_fpr: float = 1.0,
) -> HeldOutComparison:
    """Train every candidate on the same rows and rank the others; ``tell`` hears of each before it starts.

    With ``max_fpr`` below 1 models learn for that part of the curve where they can, and all are judged by it.
    """
    max_fpr = checked_region("compare", max_fpr, 0.0).max_fpr
    chosen, notes = candidates(data.X, methods, against, seed, max_fpr)
    train, test = split_table(data, test_size, seed)
    notes += leakage_notes(data)
    rows, shared = [], Shared(data, train, test)
    with threadpool_limits(1):
        for is_ours, name, model in chosen:
            tell(name)
            rows.append(measure(name, is_ours, model, shared, notes, max_fpr))
    rows = _against_best(sorted(rows, key=_order), data.is_pos[test], max_fpr)
    notes += _all_alike(rows, data.is_pos[test], max_fpr) + _by_average_precision(rows)
    if not is_frame(data.X) and has_missing(data.X):
        notes.append("Missing values were replaced by the median of their column, except for trees and scorecards.")
    told = verdict(rows, max_fpr)
    result = HeldOutComparison(data, train, test, seed, rows, told, [*data.notes, *notes], max_fpr=max_fpr)
    best = result.best(ours=True)
    if best is None:
        return result
    why = reasons(best.score, shared.plain[1], data.is_pos[test], data.feature_names, seed, max_fpr)
    return result._replace(reasons=why, shapes=list(getattr(shared.last(best.name), "shapes_", [])))


def _whole_list(chosen: list[tuple[bool, str, Any]], max_fpr: float) -> list[str]:
    """Which of ours know nothing of the region."""
    names = [name for _, name, model in chosen if not models.for_the_top(model)]
    if max_fpr == 1.0 or not names:
        return []
    learn = "learns" if len(names) == 1 else "learn"
    return [f"{', '.join(names)} {learn} the whole list; all are judged by {measured_by(max_fpr)}."]


def _all_alike(rows: list[Row], is_pos: np.ndarray, max_fpr: float) -> list[str]:
    """One test of all models at once, which no choice among them has made too hopeful."""
    scores = {f"{k} {row.name}": row.scores for k, row in enumerate(rows) if not row.trouble}
    if len(scores) < 2:
        return []
    found = compare_many(is_pos, scores, max_fpr=max_fpr)
    return [f"That all {len(scores)} models rank alike has p {likely(found.pvalue, equals='= ')}, by one test of all."]


def _order(row: Row) -> tuple[int, float]:
    return (1, 0.0) if row.trouble else (0, -row.interval.auc)


class Shared:
    """Rows to learn from and to rank, the numbers that `Columns` makes of them made once for all contestants."""

    def __init__(self, data: BinaryTable, train: np.ndarray, test: np.ndarray) -> None:
        self.is_pos, self.test = data.is_pos, test
        self.y = data.is_pos[train].astype(int)
        self.plain = take_rows(data.X, train), take_rows(data.X, test)
        self.made: dict[str | None, tuple[Any, Any]] = {}
        self.columns: dict[str | None, Columns] = {}
        self.fitted: dict[str, Any] = {}

    def last(self, name: str) -> Any:
        """The model of that name, fitted, without what stands before it."""
        return self.fitted.get(name)

    def score(self, model: Any, last: Any) -> Callable[[Any], np.ndarray]:
        """A function from rows of the table to scores."""
        if last is model:
            return lambda X: np.asarray(scored(last, X))
        columns = self.columns[model[0].scale]
        return lambda X: np.asarray(scored(last, columns.transform(X)))

    def rows(self, model: Any) -> tuple[Any, Any, Any]:
        """(what is left of the model, its rows to learn from, and those to rank)."""
        if not isinstance(model, Pipeline) or not isinstance(model[0], Columns):
            return model, *self.plain
        scale = model[0].scale
        if scale not in self.made:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                columns = model[0].fit(self.plain[0])
            self.columns[scale] = columns
            self.made[scale] = columns.transform(self.plain[0]), columns.transform(self.plain[1])
        return model[-1], *self.made[scale]


def measure(
    name: str, is_ours: bool, model: Any, shared: Shared, notes: list[str], max_fpr: float = 1.0
) -> Row:
    """Fit, time (seconds of one processor) and score one model. A failure is a row of the table, too."""
    y = shared.y
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            last, X, X_test = shared.rows(model)
            few = _few(y)
            last.fit(take_rows(X, few), y[few])  # compiles what is to be compiled
            heard.clear()
            start = process_time()
            last.fit(X, y)
            seconds = process_time() - start
            scores = scored(last, X_test)
        shared.fitted[name] = last
        interval = auc_interval(shared.is_pos[shared.test], scores, max_fpr=max_fpr)
        ap = average_precision_interval(shared.is_pos[shared.test], scores)
        probabilities = np.asarray(last.predict_proba(X_test))[:, 1] if hasattr(last, "predict_proba") else None
    except (ValueError, MemoryError, FloatingPointError, np.linalg.LinAlgError) as error:
        return Row(name, is_ours, trouble=sentence(error))
    if any(issubclass(warning.category, ConvergenceWarning) for warning in heard):
        notes.append(f"{name} stopped before it had converged.")
    scores = np.asarray(scores, dtype=np.float64)
    return Row(
        name,
        is_ours,
        interval,
        None,
        seconds,
        scores,
        score=shared.score(model, last),
        ap=ap,
        probabilities=probabilities,
    )


def _few(y: np.ndarray, negatives: int = 300, positives: int = 60) -> np.ndarray:
    return np.sort(np.concatenate([np.flatnonzero(y == 0)[:negatives], np.flatnonzero(y == 1)[:positives]]))


def _against_best(rows: list[Row], is_pos: np.ndarray, max_fpr: float) -> list[Row]:
    """The rows with their paired test against the best baseline."""
    best = next((row for row in rows if not row.ours and not row.trouble), None)
    if best is None:
        return rows
    test = partial(compare_auc, is_pos, score_b=best.scores, max_fpr=max_fpr)
    by_precision = partial(compare_average_precision, is_pos, score_b=best.scores)
    return [
        row
        if row is best or row.trouble
        else row._replace(gap=test(score_a=row.scores), ap_gap=by_precision(score_a=row.scores))
        for row in rows
    ]


def _by_average_precision(rows: list[Row]) -> list[str]:
    """What average precision says of the best of ours and the best baseline, and whether that is what the AUC says."""
    measured = [row for row in rows if not row.trouble]
    best, rival = (next((row for row in measured if row.ours == ours), None) for ours in (True, False))
    if best is None or rival is None or best.ap_gap is None:
        return []
    gap = best.ap_gap
    figures = f"{best.ap.ap:.4f} against {rival.ap.ap:.4f}, p {likely(gap.pvalue, equals='= ')}"
    of_auc, of_ap = (each.pvalue < SIGNIFICANCE for each in (best.gap, gap))
    if of_auc and of_ap:
        same = (best.gap.difference > 0.0) == (gap.difference > 0.0)
        told = "both differ, and in the same direction" if same else "both differ, in opposite directions"
    else:
        told = {
            (True, False): "only the AUC differs by more than chance",
            (False, True): "only the average precision differs by more than chance",
        }.get((of_auc, of_ap), "neither differs by more than chance")
    return [f"Average precision of {best.name} and {rival.name}: {figures}; of AUC and average precision, {told}."]
