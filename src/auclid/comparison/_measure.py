"""Fit every estimator to every split, time it, and score the rows that the split holds out."""

import warnings
from collections.abc import Callable, Collection
from contextlib import suppress
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import _safe_indexing

from auclid.columns import Columns
from auclid.comparison._splits import ComparedRows
from auclid.data.encoding import is_frame
from auclid.metrics._cross_val import rows_to_score
from auclid.validation import take_rows

FAILURES = (ValueError, MemoryError, FloatingPointError, np.linalg.LinAlgError)
"""Errors of a fit that are recorded where the caller asks for it."""

WARM_UP_ROWS = 300, 60
"""Negatives and positives of the fit that compiles what is to be compiled, before fits are timed."""

Tell = Callable[[str], None] | None
"""Hears the name of what is fitted next."""


class SplitTrial(NamedTuple):
    """One estimator on one split."""

    scores: Any = None
    """Of the test rows of the split."""
    of_partition: Any = None
    """Of the test rows of all folds of its partition."""
    probabilities: Any = None
    seconds: float = np.nan
    fitted: Any = None
    trouble: str = ""
    converged: bool = True
    warm_up: float = 0.0
    """Seconds of the fit before, which compiles."""


class Budget(NamedTuple):
    """Seconds for a comparison, and the numbers of splits after which it may stop."""

    seconds: float | None
    stops: Collection[int]

    def affordable(self, splits: int, taken: float) -> int:
        """How many of so many splits to run, where the first took so many seconds."""
        if self.seconds is None:
            return splits
        return max([stop for stop in self.stops if stop * taken <= self.seconds], default=min(self.stops))


def run_trials(
    estimators: dict[str, Any], rows: ComparedRows, budget: Budget, n_jobs: int | None, tell: Tell, keep_failures: bool
) -> list[list[SplitTrial]]:
    """The trials of each estimator on each split; of fewer splits where a budget does not last for all.

    The first split runs in this process: it compiles, and its other seconds tell how many splits are affordable.
    """
    start = perf_counter()
    first = _split_trials(estimators, rows, 0, keep_failures, tell)
    taken = perf_counter() - start - sum(trial.warm_up for trial in first)
    count = budget.affordable(len(rows.splits), taken)
    if n_jobs in (None, 1):
        rest = [_split_trials(estimators, rows, k, keep_failures, tell) for k in range(1, count)]
    else:
        work = delayed(_split_trials)
        rest = Parallel(n_jobs=n_jobs)(work(estimators, rows, k, keep_failures) for k in range(1, count))
    return [first, *rest]


def _split_trials(
    estimators: dict[str, Any], rows: ComparedRows, number: int, keep_failures: bool, tell: Tell = None
) -> list[SplitTrial]:
    """All estimators on one split, of which those behind equal `Columns` share the prepared rows."""
    prepared: dict[str, tuple[Any, Any, Any]] = {}
    trials = []
    for name, estimator in estimators.items():
        if tell is not None:
            done = f" ({number + 1} of {len(rows.splits)})" if len(rows.splits) > 1 else ""
            tell(f"{name}{done}")
        try:
            trials.append(_trial(clone(estimator), rows, number, prepared))
        except FAILURES as error:
            if not keep_failures:
                raise
            trials.append(SplitTrial(trouble=" ".join(str(error).split()) or type(error).__name__))
    return trials


def _trial(estimator: Any, rows: ComparedRows, number: int, prepared: dict[str, tuple[Any, Any, Any]]) -> SplitTrial:
    """Fit an estimator to the training rows of a split and score the test rows of its partition."""
    train, test = rows.splits[number][0], rows_to_score(rows.splits)[number]
    own = np.isin(test, rows.splits[number][1])
    y, warm_up = rows.y[train], 0.0
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        columns, model, X, X_test = _prepare(estimator, rows, train, test, prepared)
        if number == 0:  # compile before fits are timed
            start, few = perf_counter(), _few(rows.is_pos[train])
            with suppress(*FAILURES):  # of few rows; the fit itself tells of those of all
                clone(model).fit(_some(X, few), y[few], **rows.fit_options(model, train[few]))
            heard.clear()
            warm_up = perf_counter() - start
        start = process_time()
        model.fit(X, y, **rows.fit_options(model, train))
        seconds = process_time() - start
        scores, probabilities = rows.scores("compare", model, X_test), rows.probabilities(model, X_test)
    converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in heard)
    fitted = model if columns is None else make_pipeline(columns, model)
    return SplitTrial(
        scores[own],
        scores,
        None if probabilities is None else probabilities[own],
        seconds,
        fitted if number == 0 else None,
        converged=converged,
        warm_up=warm_up,
    )


def _prepare(
    estimator: Any, rows: ComparedRows, train: np.ndarray, test: np.ndarray, prepared: dict[str, tuple[Any, Any, Any]]
) -> tuple[Any, Any, Any, Any]:
    """(fitted `Columns` or None, the rest of the estimator, its training rows, its test rows)."""
    if not isinstance(estimator, Pipeline) or len(estimator) != 2 or not isinstance(estimator[0], Columns):
        return None, estimator, _some(rows.X, train), _some(rows.X, test)
    key = repr(sorted(estimator[0].get_params().items(), key=str))
    if key not in prepared:
        X = _some(rows.X, train)
        columns = estimator[0].fit(X)
        prepared[key] = columns, columns.transform(X), columns.transform(_some(rows.X, test))
    columns, X, X_test = prepared[key]
    return columns, estimator[-1], X, X_test


def _few(is_pos: np.ndarray) -> np.ndarray:
    """Numbers of some rows of each class."""
    negatives, positives = WARM_UP_ROWS
    return np.sort(np.concatenate([np.flatnonzero(~is_pos)[:negatives], np.flatnonzero(is_pos)[:positives]]))


def _some(X: Any, numbers: np.ndarray) -> Any:
    """The rows of these numbers of any table."""
    return take_rows(X, numbers) if is_frame(X) else _safe_indexing(X, numbers)
