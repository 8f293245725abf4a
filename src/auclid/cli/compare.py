"""The main job: train ours and the baselines on the same rows, and rank the same others."""

import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from auclid.baselines import has_missing
from auclid.baselines import scores as scored
from auclid.cli import models
from auclid.cli.data import Rows
from auclid.cli.verdict import likely, verdict
from auclid.datasets import DataError
from auclid.metrics import auc_interval, compare_auc, compare_many

FEWEST = 8
"""Rows of each class without which a split leaves nothing to measure."""

AGAINST = ("logistic", "ridge", "lightgbm")


class Row(NamedTuple):
    """One model on the test rows; ``trouble`` is why it has no figures."""

    name: str
    ours: bool
    interval: Any = None  # auc, low, high, se
    gap: Any = None  # difference, low, high, pvalue: against the best baseline, None for that one itself
    seconds: float = np.nan
    scores: Any = None
    trouble: str = ""


class Comparison(NamedTuple):
    """All models, best first, and what to make of them."""

    data: Rows
    train: np.ndarray
    test: np.ndarray
    seed: int
    rows: list[Row]
    verdict: str
    notes: list[str]

    @property
    def ranked(self) -> list[Row]:
        """The models that have scores."""
        return [row for row in self.rows if not row.trouble]

    def best(self, ours: bool) -> Row | None:
        """The best of ours, or of the baselines; None where all failed."""
        return next((row for row in self.ranked if row.ours == ours), None)


def candidates(
    X: Any, methods: Sequence[str], against: Sequence[str], seed: int
) -> tuple[list[tuple[bool, str, Any]], list[str]]:
    """[(ours or not, name, model)] and notes. A name nobody knows is an error before any training."""
    chosen = [(True, *models.ours(name, X, seed)) for name in methods or models.sensible(X)]
    notes: list[str] = []
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


def split(is_pos: np.ndarray, test_size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the training and of the test rows, stratified."""
    count = int(min(is_pos.sum(), (~is_pos).sum()))
    if count < FEWEST:
        raise DataError(f"compare must have at least {FEWEST} rows of each class, to learn and to test; got {count}.")
    train, test = train_test_split(np.arange(len(is_pos)), test_size=test_size, stratify=is_pos, random_state=seed)
    if min(is_pos[test].sum(), (~is_pos[test]).sum()) < 2:
        raise DataError("--test-size must leave two rows of each class to test on; it is too small.")
    return np.sort(train), np.sort(test)


def compare(
    data: Rows,
    methods: Sequence[str] = (),
    against: Sequence[str] = AGAINST,
    *,
    seed: int = 0,
    test_size: float = 0.3,
    tell: Callable[[str], None] = lambda name: None,
) -> Comparison:
    """Train every candidate on the same rows and rank the others; ``tell`` hears of each before it starts."""
    chosen, notes = candidates(data.X, methods, against, seed)
    train, test = split(data.is_pos, test_size, seed)
    rows = []
    for is_ours, name, model in chosen:
        tell(name)
        rows.append(measure(name, is_ours, model, data, train, test, notes))
    rows = _against_best(sorted(rows, key=_order), data.is_pos[test])
    notes += _all_alike(rows, data.is_pos[test])
    if has_missing(data.X):
        notes.append("Missing values were replaced by the median of their column, except for boosted trees.")
    return Comparison(data, train, test, seed, rows, verdict(rows), [*data.notes, *notes])


def _all_alike(rows: list[Row], is_pos: np.ndarray) -> list[str]:
    """One test of all models at once, which no choice among them has made too hopeful."""
    scores = {f"{k} {row.name}": row.scores for k, row in enumerate(rows) if not row.trouble}
    if len(scores) < 2:
        return []
    found = compare_many(is_pos, scores)
    return [f"That all {len(scores)} models rank alike has p {likely(found.pvalue, equals='= ')}, by one test of all."]


def _order(row: Row) -> tuple[int, float]:
    return (1, 0.0) if row.trouble else (0, -row.interval.auc)


def measure(
    name: str, is_ours: bool, model: Any, data: Rows, train: np.ndarray, test: np.ndarray, notes: list[str]
) -> Row:
    """Fit, time and score one model. A failure is a row of the table, too."""
    X, y = data.X[train], data.is_pos[train].astype(int)
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            few = _few(y)
            model.fit(X[few], y[few])  # compiles what is to be compiled
            heard.clear()
            start = perf_counter()
            model.fit(X, y)
            seconds = perf_counter() - start
            scores = scored(model, data.X[test])
        interval = auc_interval(data.is_pos[test], scores)
    except (ValueError, MemoryError, FloatingPointError, np.linalg.LinAlgError) as error:
        return Row(name, is_ours, trouble=" ".join(str(error).split()) or type(error).__name__)
    if any(issubclass(warning.category, ConvergenceWarning) for warning in heard):
        notes.append(f"{name} stopped before it had converged.")
    return Row(name, is_ours, interval, None, seconds, np.asarray(scores, dtype=np.float64))


def _few(y: np.ndarray, negatives: int = 300, positives: int = 60) -> np.ndarray:
    return np.sort(np.concatenate([np.flatnonzero(y == 0)[:negatives], np.flatnonzero(y == 1)[:positives]]))


def _against_best(rows: list[Row], is_pos: np.ndarray) -> list[Row]:
    """The rows with their paired test against the best baseline."""
    best = next((row for row in rows if not row.ours and not row.trouble), None)
    if best is None:
        return rows
    return [
        row if row is best or row.trouble else row._replace(gap=compare_auc(is_pos, row.scores, best.scores))
        for row in rows
    ]
