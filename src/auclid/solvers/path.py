"""The path of alpha, cross-validated: exactly what fitting anew on each fold gives, for about the price of a fit."""

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from auclid import _sizes
from auclid._threads import thread_map
from auclid.data import DenseTable, Table, as_table
from auclid.data.table import slices
from auclid.metrics._auc import auc_from_parts, auc_of_two
from auclid.metrics._average_precision import ap_of_masses
from auclid.metrics._cells import masses
from auclid.solvers.least_squares import (
    LeastSquares,
    minimiser,
    moments_are_cheaper,
    path,
    project_to_row_space,
    some_path,
)
from auclid.stats.folds import (
    Fold,
    fold_moments,
    folds_of,
    held_out,
    held_out_aucs,
    leave_one_out,
    stratified_folds,
    training_moments,
)
from auclid.stats.labelled import LabelledDataset, LabelledTable
from auclid.stats.moments import class_moments

ROUNDING = 1e-12
"""AUCs nearer than this are equal: how their sums are cut into blocks must not choose between alphas."""


N_ALPHAS = 50
"""Penalties that are tried where none are given."""


METRICS = ("roc_auc", "average_precision")
"""What a penalty can be chosen by."""


class Measure(NamedTuple):
    """What is best on held-out rows: the AUC, or the average precision."""

    name: str = "roc_auc"
    ratio: float | None = None
    """Negatives for each positive that the precision refers to, where held-out rows are not a fair share of each."""

    def value(self, is_pos: np.ndarray, scores: np.ndarray, weight: np.ndarray | None = None) -> float:
        """The measure of some rows."""
        if self.name == "roc_auc":
            return auc_from_parts(is_pos, scores, weight)
        return ap_of_masses(masses(is_pos, scores, weight)[1:], self.ratio)


AUC = Measure()


class CrossValidated(NamedTuple):
    """Penalties, their AUCs (or what counts) on held-out folds, and the best; None where no fold has both classes."""

    alphas: np.ndarray
    aucs: np.ndarray  # (folds, alphas); nan where a fold lacks a class
    alpha: float | None


def best_alpha(alphas: np.ndarray, aucs: np.ndarray) -> float | None:
    """The alpha with the best mean AUC over the folds that have one; of equals, but for rounding, the largest."""
    usable = ~np.isnan(aucs).any(axis=1)
    if not usable.any():
        return None
    mean = aucs[usable].mean(axis=0)
    return float(alphas[mean >= mean.max() - ROUNDING].max())


def alpha_grid(variance: float, count: int) -> np.ndarray:
    """Penalties from 1e-7 to 1e2 times twice the mean variance of a column of S."""
    return 2.0 * (variance if variance > 0.0 else 0.5) * np.logspace(-7, 2, count)


Choice = tuple[CrossValidated, np.ndarray | None]
"""What was tried, and the weights that the best alpha gives to all rows."""


def cross_validate(rows: LabelledDataset, cv: Any, alphas: np.ndarray | None = None, measure: Measure = AUC) -> Choice:
    """Try the penalties, or a grid around the scale of the rows, on each fold of ``cv``; fit all rows with the best."""
    if rows.partitioned and isinstance(cv, Integral):
        return _by_fold_moments(rows, int(cv), alphas, measure)
    labelled = rows.labelled_table()
    folds = folds_of(cv, rows.classes, labelled.is_pos, labelled.weight)
    if isinstance(labelled.table, DenseTable) and labelled.table.shape[0] < rows.width:
        return _by_row_space(labelled, folds, alphas, measure)
    if moments_are_cheaper(rows.width):
        return _by_moments(labelled, folds, alphas, measure=measure)
    tried = _by_products(labelled, folds, alphas, _exact_path, measure)
    w = None if tried.alpha is None else LeastSquares(tried.alpha).from_products(rows).w
    return tried, w


def _by_fold_moments(rows: LabelledDataset, n_folds: int, alphas: np.ndarray | None, measure: Measure) -> Choice:
    """Rows in parts: moments and held-out AUCs of stratified folds, which are those that rows in memory get."""
    folds = stratified_folds(rows, n_folds)
    parts = fold_moments(rows, folds)
    trained, total = leave_one_out(parts)
    if alphas is None:
        alphas = alpha_grid(np.trace(total.within) / rows.width, N_ALPHAS)
    models = [path(moments, alphas) if moments.complete else None for moments in trained]
    W = [np.zeros((rows.width, len(alphas))) if each is None else each for each in models]
    exact = measure.name == "roc_auc"
    values = [
        held_out_aucs(rows, folds, some, parts) if exact else _held_out_measures(rows, folds, some, measure)
        for some in _models_in_memory(rows, W, exact)
    ]
    aucs = np.hstack(values)
    aucs[[each is None for each in models]] = np.nan
    alpha = best_alpha(alphas, aucs)
    return CrossValidated(alphas, aucs, alpha), None if alpha is None else minimiser(total, alpha)


def _models_in_memory(rows: LabelledDataset, W: list[np.ndarray], rarer_class: bool) -> list[list[np.ndarray]]:
    """The models of all folds, as many at once as the memory holds scores for: of the rarer class, or of all rows."""
    counts = rows.counts.sum(axis=0)
    at_once = max(1, 2 * _sizes.LARGE_BYTES // (8 * int(counts.min() if rarer_class else counts.sum())))
    return [[each[:, k : k + at_once] for each in W] for k in range(0, W[0].shape[1], at_once)]


def _held_out_measures(rows: LabelledDataset, folds: Any, W: list[np.ndarray], measure: Measure) -> np.ndarray:
    """(folds, models): the measure of each model on the rows of its fold, whose scores are gathered."""
    both_classes = [rows.parts.merge(_gathered_folds, rows.parts.map(held_out, folds, W, kind)) for kind in (0, 1)]
    negatives, positives = (rows.parts.compute(each) for each in both_classes)
    out = np.full((len(W), W[0].shape[1]), np.nan)
    for k, ((neg, w_neg), (pos, w_pos)) in enumerate(zip(negatives, positives, strict=True)):
        is_pos, scores = np.arange(len(neg) + len(pos)) >= len(neg), np.concatenate([neg, pos])
        weight = None if w_neg is None else np.concatenate([w_neg, w_pos])
        if both(is_pos, weight):
            out[k] = [measure.value(is_pos, np.ascontiguousarray(column), weight) for column in scores.T]
    return out


def _gathered_folds(found: list) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Of each fold: scores and weights of all parts."""
    gathered = []
    for parts in zip(*found, strict=True):
        weights = None if parts[0][1] is None else np.concatenate([weight for _, weight in parts])
        gathered.append((np.concatenate([scores for scores, _ in parts]), weights))
    return gathered


FEW_ALPHAS = 17
"""Penalties on that path: ranking held-out rows by each takes longer than all else, and the best is a flat one."""


def likely_alpha(rows: LabelledTable, folds: Sequence[Fold], measure: Measure = AUC) -> float | None:
    """The penalty that `cross_validate` finds best; of many columns nearly so, in a fraction of the time."""
    if rows.table.shape[1] <= _sizes.MAX_WHOLE_PATH_COLUMNS:
        return _by_moments(rows, folds, None, FEW_ALPHAS, measure)[0].alpha
    return _by_products(rows, folds, None, some_path, measure).alpha


def _by_row_space(rows: LabelledTable, folds: Sequence[Fold], alphas: np.ndarray | None, measure: Measure) -> Choice:
    """More columns than rows: the same in the coordinates of their span."""
    table, is_pos, weight = rows
    if alphas is None:
        alphas = alpha_grid(float(class_moments(table, is_pos, weight, full=False).within) / table.shape[1], N_ALPHAS)
    Z, V = project_to_row_space(table.part(slice(None)))
    found, w = _by_moments(LabelledTable(as_table(Z), is_pos, weight), folds, alphas, measure=measure)
    return found, None if w is None else V @ w


def _by_moments(
    rows: LabelledTable,
    folds: Sequence[Fold],
    alphas: np.ndarray | None,
    count: int = N_ALPHAS,
    measure: Measure = AUC,
) -> Choice:
    """The whole path of each fold from its moments; ``count`` penalties where none are given."""
    table, is_pos, weight = rows
    trained, total = training_moments(table, is_pos, weight, list(folds))
    if alphas is None:
        alphas = alpha_grid(np.trace(total.within) / table.shape[1], count)
    aucs = np.full((len(folds), len(alphas)), np.nan)
    for row, moments, fold in zip(aucs, trained, folds, strict=True):
        label, mass = rows.held_out(fold.test)
        if moments.complete and both(label, mass):
            row[:] = path_auc(table, fold.test, label, mass, path(moments, alphas), measure)
    alpha = best_alpha(alphas, aucs)
    return CrossValidated(alphas, aucs, alpha), None if alpha is None else minimiser(total, alpha)


Path = Callable[[Table, np.ndarray, np.ndarray | None, np.ndarray], np.ndarray]
"""The minimiser for each alpha, a column each."""


def _by_products(
    rows: LabelledTable, folds: Sequence[Fold], alphas: np.ndarray | None, path_of: Path, measure: Measure
) -> CrossValidated:
    """Too many columns for moments: the path of each fold by products with its rows."""
    table, is_pos, weight = rows
    if alphas is None:
        alphas = alpha_grid(float(class_moments(table, is_pos, weight, full=False).within) / table.shape[1], 10)
    aucs = np.full((len(folds), len(alphas)), np.nan)
    for row, fold in zip(aucs, folds, strict=True):
        counts, (label, mass) = fold.counts(len(is_pos), weight), rows.held_out(fold.test)
        if both(is_pos, counts) and both(label, mass):
            W = path_of(table, is_pos, counts, alphas)
            known = np.isfinite(W[0])
            row[known] = path_auc(table, fold.test, label, mass, np.ascontiguousarray(W[:, known]), measure)
            row[~known] = -np.inf  # no alpha to choose
    return CrossValidated(alphas, aucs, best_alpha(alphas, aucs))


def _exact_path(table: Table, is_pos: np.ndarray, weight: np.ndarray | None, alphas: np.ndarray) -> np.ndarray:
    """Conjugate gradients for each alpha."""
    rows = LabelledDataset.from_table(table, is_pos, weight, np.array([False, True]))
    return np.column_stack([LeastSquares(alpha).from_products(rows).w for alpha in alphas])


def path_auc(
    table: Table,
    test: np.ndarray,
    is_pos: np.ndarray,
    weight: np.ndarray | None,
    W: np.ndarray,
    measure: Measure = AUC,
) -> list[float]:
    """The measure of each column of W on the held-out rows; columns go in groups, so that memory stays bounded."""
    columns = max(1, 2 * _sizes.LARGE_BYTES // (8 * len(test)))
    aucs: list[float] = []
    each: Callable[[np.ndarray], float] = partial(measure.value, is_pos, weight=weight)
    if weight is None and measure.name == "roc_auc":  # positives first, so that no score is dealt out again
        test, each = np.concatenate([test[is_pos], test[~is_pos]]), partial(_auc_of_cut, int(is_pos.sum()))
    for first in range(0, W.shape[1], columns):
        some = np.ascontiguousarray(W[:, first : first + columns])
        scores = np.empty((some.shape[1], len(test)))
        # Blocks that fit in the cache make the transpose free; without random access all rows are scored at once.
        for part in slices(len(test), _sizes.SCORED_PATH_ROWS if table.random_access else len(test)):
            scores[:, part] = table.matmul(some, test[part]).T
        aucs += thread_map(each, list(scores)) if scores.size >= _sizes.MIN_THREADED_SCORES else map(each, scores)
    return aucs


def _auc_of_cut(count: int, scores: np.ndarray) -> float:
    """The AUC of scores of which the first so many are the positives'."""
    return auc_of_two(scores[:count], scores[count:])


def both(is_pos: np.ndarray, weight: np.ndarray | None) -> bool:
    """Whether both classes have a row that counts."""
    kept = is_pos if weight is None else is_pos[weight > 0.0]
    return bool(kept.any() and not kept.all())
