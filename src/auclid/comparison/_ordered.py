"""Compare rankers of ordered rows on the same held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from auclid.comparison._compare import ComparisonRun, named_estimators, seed_of
from auclid.comparison._results import ModelComparison
from auclid.comparison._splits import MIN_TEST_ROWS, N_FOLDS, ComparedOrder, plan_splits
from auclid.comparison._tests import OrderJudge
from auclid.errors import invalid_value
from auclid.validation.outcomes import group_codes, order_of, ordered_values, survival_target
from auclid.validation.vectors import same_length


def compare_ordered(
    estimators: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    baseline: str | Sequence[str] | None = None,
    cv: Any = "auto",
    repeats: int | str = "auto",
    test_size: float | None = None,
    level: float = 0.95,
    correction: str = "holm",
    budget: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    error: str = "raise",
    progress: Callable[[str], None] | None = None,
) -> ModelComparison:
    """Compare rankers of ordered rows by their concordance on the same held-out rows, with intervals and paired tests.

    What `auclid.compare` does for two classes, for levels, numbers, rows compared within groups and censored times.
    Intervals over several splits take repeats of the same rows for fully dependent; groups that are held out whole are
    clusters.

    Parameters
    ----------
    estimators : dict of name to estimator, or list of estimators
        Anything whose `predict` gives scores. `fit` gets ``groups`` where it has such a parameter.
    X : array, CSR matrix or frame of shape (n, d)
    y : array of shape (n,), or structured array of events and times
        What `OrderedRanker` or `SurvivalRanker` takes.
    groups : array of shape (n,), optional
        Only rows of one group are compared. Groups are held out whole, unless there are fewer of them than folds.
    baseline, cv, repeats, test_size, level, correction, budget, n_jobs, random_state, error, progress
        As in `auclid.compare`; folds are stratified by events, or by whether y is above its median.

    Returns
    -------
    ModelComparison
        As of `auclid.compare`; ``auc`` is the concordance, and there is no average precision.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from auclid import OrderedRanker, compare_ordered
    >>> from auclid.datasets import load_anes96
    >>> table = load_anes96()
    >>> found = compare_ordered({"ranker": OrderedRanker(), "ridge": Ridge()}, table.data, table.target, repeats=1)
    >>> found.how, all(0.75 < model.auc < 0.85 for model in found.models)
    ('5 folds', True)
    """
    owner = "compare_ordered"
    run = ComparisonRun(owner, baseline, level, correction, budget, n_jobs, error, progress)
    named = named_estimators(estimators)
    rows = _checked_rows(owner, X, y, groups, N_FOLDS if isinstance(cv, str) else cv)
    plan = plan_splits(rows, cv, repeats, test_size, None, seed_of(random_state))
    return run.compare(named, rows, plan, lambda measured: OrderJudge(measured, level))


def _checked_rows(owner: str, X: Any, y: Any, groups: Any, folds: Any) -> ComparedOrder:
    """Rows with their order; groups are held out whole where there are enough of them."""
    event = None
    if getattr(getattr(y, "dtype", None), "names", None) or hasattr(y, "columns"):
        survival = survival_target(owner, y)
        values, event, y = survival.time, survival.event, survival.structured()
    else:
        values = y = ordered_values(owner, "y", y)
    same_length(owner, X=np.empty(X.shape[0]), y=values)
    own = group_codes(owner, groups, len(values))
    order_of(owner, values, event, own, None)  # refuses rows of which no two can be compared
    enough = own is not None and (not isinstance(folds, int) or own.max(initial=-1) + 1 >= MIN_TEST_ROWS * folds)
    high = _high(values, event)
    rarer = int(min(high.sum(), (~high).sum()))
    if rarer < 2 * MIN_TEST_ROWS:
        expected = f"hold {2 * MIN_TEST_ROWS} rows or more above and below its median, to learn from and to test on"
        raise invalid_value(owner, "y", expected, rarer)
    return ComparedOrder(X, y, high, own if enough else None, [], values, event, own)


def _high(values: np.ndarray, event: np.ndarray | None) -> np.ndarray:
    """What folds are stratified by: events, where some are censored; else whether a value is above the median."""
    if event is not None and min(event.sum(), (~event).sum()) >= MIN_TEST_ROWS * N_FOLDS:
        return event
    high = values > np.median(values)
    return high if high.any() else values == values.max(initial=0.0)
