"""Parameters that are "auto": alpha by the cross-validated square loss, softness by the held-out partial AUC."""

from typing import Any

import numpy as np

from auclid import _sizes
from auclid.data import as_table
from auclid.metrics._roc import area, rates
from auclid.metrics._sample import Region
from auclid.pairwise._objective import Settings, objective
from auclid.solvers import newton
from auclid.solvers.path import Measure, likely_alpha
from auclid.stats.folds import Fold, folds_by_content, folds_of
from auclid.stats.labelled import LabelledDataset, LabelledTable, sampled
from auclid.stats.moments import class_moments

FOLDS = 5
"""Folds that are held out in turn."""

DEFAULT_ALPHA = 1e-3
"""The strength of the penalty where a class has fewer rows than folds."""

SQUARE_LOSS_SHARE = 0.3
"""alpha, in units of the square loss's best: pairs beyond the margin cost nothing, so less need be shrunk."""

PARTIAL_AUC_ALPHAS = np.logspace(0, -5, 6)
"""Penalties that are tried, in units of twice the mean variance of a column within a class, from the strongest on."""

SOFTNESSES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
"""Softness that is tried: the first is nearly that of all pairs, the last nearly the hard cut."""

SOFTNESS_ALPHA = 1e-2
"""The penalty, in the same units, with which softness is chosen before the penalty is."""

MAX_STANDARD_ERRORS = 1.0
"""Of candidates that are worse than the best by less than so many standard errors, the smoothest is taken."""

MAX_FOLD_STEPS = 20
"""Newton steps at the most for one fold and penalty."""

FOLD_TOL = 1e-2
"""The tolerance of a fit that only ranks held-out rows."""


def best_partial_auc_alpha(data: LabelledDataset, settings: Settings) -> float | None:
    """The alpha with the best mean partial AUC on held-out folds; None where a class has too few rows for folds."""
    rows = search_rows(data)
    tried = alpha_unit(rows) * PARTIAL_AUC_ALPHAS
    areas = _held_out_areas(rows, [(float(alpha), settings) for alpha in tried])
    return None if areas is None else float(tried[smoothest(areas)])


def best_softness(data: LabelledDataset, alpha: float | None, settings: Settings) -> float | None:
    """The softness with the best mean partial AUC on held-out folds; None where a class has too few rows."""
    rows = search_rows(data)
    alpha = SOFTNESS_ALPHA * alpha_unit(rows) if alpha is None else alpha
    areas = _held_out_areas(rows, [(alpha, settings._replace(softness=softness)) for softness in SOFTNESSES])
    return None if areas is None else SOFTNESSES[smoothest(areas)]


def alpha_unit(rows: LabelledTable) -> float:
    """Twice the mean variance of a column within a class."""
    moments = class_moments(rows.table, rows.is_pos, rows.weight, full=False)
    variance = float(moments.within) / rows.table.shape[1]
    return 2.0 * variance if variance > 0.0 else 1.0


def smoothest(areas: np.ndarray) -> int:
    """The first candidate that is not clearly worse than the best; ``areas`` has a row a fold, the smoothest first."""
    behind = areas[:, [areas.mean(axis=0).argmax()]] - areas
    error = behind.std(axis=0, ddof=1) / np.sqrt(len(areas))
    return int(np.argmax(behind.mean(axis=0) <= MAX_STANDARD_ERRORS * error))


def search_rows(rows: LabelledDataset, most: int | None = None) -> LabelledTable:
    """The rows that a search looks at, ``most`` of each class at the most; all rows where they are so few."""
    most = most or int(np.clip(_sizes.SEARCH_VALUES / rows.width, _sizes.MIN_SEARCH_ROWS, _sizes.MAX_SEARCH_ROWS))
    if rows.counts.sum(axis=0).max() <= most and not rows.partitioned:
        return rows.labelled_table()
    X, label, weight = sampled(rows, [most, most])
    return LabelledTable(as_table(X), label == 1, weight)


def _take(rows: LabelledTable, chosen: np.ndarray) -> LabelledTable:
    is_pos, weight = rows.held_out(chosen)
    return LabelledTable(as_table(rows.table.take(chosen)), is_pos, weight)


def _held_out_areas(rows: LabelledTable, tried: list[tuple[float, Settings]]) -> np.ndarray | None:
    """The area of each candidate on each fold; candidates start where the one before them ended."""
    if min(rows.is_pos.sum(), (~rows.is_pos).sum()) < FOLDS:
        return None
    folds = folds_of(FOLDS, np.array([False, True]), rows.is_pos, rows.weight)
    return np.array([_fold_areas(rows, fold, tried) for fold in folds])


def _fold_areas(rows: LabelledTable, fold: Fold, tried: list[tuple[float, Settings]]) -> list[float]:
    train = np.flatnonzero(fold.counts(len(rows.is_pos), None))
    train_rows, w, found = _take(rows, train), None, []
    is_pos, weight = rows.held_out(fold.test)
    for alpha, settings in tried:
        w = _fold_weights(train_rows, alpha, settings, w)
        found.append(_area(is_pos, rows.table.matmul(w, fold.test), weight, settings.region))
    return found


def _fold_weights(rows: LabelledTable, alpha: float, settings: Settings, start: np.ndarray | None) -> np.ndarray:
    problem: Any = objective(rows, alpha, settings._replace(tol=max(settings.tol, FOLD_TOL)))
    state = newton.State(problem, problem.at(np.zeros(problem.size) if start is None else start))
    for _ in range(MAX_FOLD_STEPS):
        if state.finished:
            break
        state = newton.update(state)
    return state.point.w


def _area(is_pos: np.ndarray, score: np.ndarray, weight: np.ndarray | None, region: Region) -> float:
    return area(*rates(is_pos, score, weight), region.max_fpr, region.min_tpr)


def best_alpha(rows: LabelledDataset, metric: str = "roc_auc") -> float:
    """What alpha="auto" stands for: a sample of each class says it, in one pass.

    The sample has no fair share of each class, so an average precision refers to the shares of all rows.
    """
    negatives, positives = rows.counts.sum(axis=0)
    measure = Measure(metric, float(negatives) / float(positives))
    few_columns, n_rows = rows.width <= _sizes.MAX_WHOLE_PATH_COLUMNS, int(rows.counts.sum())
    most = _sizes.MAX_SEARCH_ROWS if few_columns else _sizes.MAX_WIDE_SEARCH_ROWS
    some = search_rows(rows, most)
    counted = some.is_pos if some.weight is None else some.is_pos[some.weight > 0.0]
    alpha = None
    if min(counted.sum(), (~counted).sum()) >= FOLDS:
        folds = folds_by_content(*some, FOLDS)
        folds = folds_of(FOLDS, np.array([False, True]), some.is_pos, some.weight) if folds is None else folds
        alpha = likely_alpha(some, folds, measure) if folds else None
    if alpha is None or not np.isfinite(alpha):
        return DEFAULT_ALPHA
    # What is shrunk is noise, and that of a sample is larger by its share of the rows.
    return SQUARE_LOSS_SHARE * alpha * len(counted) / n_rows
