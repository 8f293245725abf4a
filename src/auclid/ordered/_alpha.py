"""What alpha="auto" stands for: the penalty of the square loss that ranks held-out groups, or rows, best."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from auclid import _sizes
from auclid.data import Table, as_table
from auclid.metrics._concordance import right_pairs
from auclid.solvers.iterative import shifted_solutions
from auclid.solvers.least_squares import MAX_PATH_RESIDUAL, PATH_PRODUCTS
from auclid.solvers.ordered_square import square_path, square_product, square_slope, square_system
from auclid.solvers.path import FEW_ALPHAS, alpha_grid, best_alpha
from auclid.stats.folds import ALIKE
from auclid.stats.ordered_moments import SquareSystem
from auclid.stats.pair_order import PairOrder

ALPHA = 1e-3
"""The strength of the penalty where no rows can be held out, in units of the mean squared difference of a column."""

FOLDS = 5
"""Folds that are held out in turn."""

HINGE_ALPHA_RATIO = 0.3
"""alpha of the hinges, in units of the square loss's best: pairs beyond the margin cost nothing, so less is shrunk."""


class ChosenAlpha(NamedTuple):
    """The best of several penalties, and the concordance of each on each held-out fold."""

    alpha: float
    alphas: np.ndarray
    concordance: np.ndarray


def choose_alpha(table: Table, order: PairOrder, square: bool) -> ChosenAlpha:
    """The alpha that ranks held-out groups best; held-out rows, where there are fewer groups than folds."""
    some, part = _sample(table, order)
    fold = _folds(some, part)
    alphas = alpha_grid(_mean_square(some, part), FEW_ALPHAS)
    concordances = np.full((FOLDS, len(alphas)), np.nan)
    for k, W in _training_paths(some, part, fold, alphas):
        held_out = part.subset(np.flatnonzero(fold == k))
        known = np.isfinite(W[:1]).all(axis=0)
        if held_out.total > 0.0 and known.any():
            scores = some.matmul(np.ascontiguousarray(W), np.flatnonzero(fold == k))
            concordances[k] = [
                _concordance(held_out, s) if good else -np.inf for s, good in zip(scores.T, known, strict=True)
            ]
    alpha = best_alpha(alphas, concordances)
    if alpha is None:
        return ChosenAlpha(ALPHA * _mean_square(some, part), alphas, concordances)
    # What is shrunk is noise, and that of a sample is larger by its share of the rows.
    share = len(part.rows) / len(order.rows)
    return ChosenAlpha((1.0 if square else HINGE_ALPHA_RATIO) * alpha * share, alphas, concordances)


def _concordance(order: PairOrder, score: np.ndarray) -> float:
    return float(right_pairs(order, score)[0].sum() / order.degree.sum())


def _mean_square(table: Table, order: PairOrder) -> float:
    """The mean over columns and pairs of the squared difference of a column."""
    degree = order.scattered(order.degree)
    mean = table.rmatmul(degree) / degree.sum()
    return float(np.maximum(table.rmatmul_squares(degree) / degree.sum() - mean**2, 0.0).mean())


def _sample(table: Table, order: PairOrder) -> tuple[Table, PairOrder]:
    """Up to `_sizes.MAX_ALPHA_ROWS` rows: evenly over the order, or whole groups; all where these hold no pair."""
    n_groups = len(order.group_ends) - 1
    if len(order.rows) <= _sizes.MAX_ALPHA_ROWS:
        chosen = np.sort(order.rows)
    elif n_groups >= FOLDS:
        shuffled = np.random.default_rng(0).permutation(n_groups)
        count = max(FOLDS, int(np.searchsorted(np.cumsum(np.diff(order.group_ends)[shuffled]), _sizes.MAX_ALPHA_ROWS)))
        chosen = np.sort(order.rows[np.isin(order.group, shuffled[:count])])
    else:
        places = np.linspace(0, len(order.rows) - 1, _sizes.MAX_ALPHA_ROWS).astype(int)
        chosen = np.sort(order.rows[places])
    if not order.subset(chosen).total > 0.0:
        chosen = np.sort(order.rows)
    if len(chosen) == table.shape[0] and table.random_access:
        return table, order
    return as_table(table.take(chosen)), order.subset(chosen)


def _folds(table: Table, order: PairOrder) -> np.ndarray:
    """The fold of each row of the table: groups are dealt out whole; rows of one group in turn, along the order.

    Equal rows of one level share a fold, so an integer weight equals repeated rows.
    """
    fold = np.full(order.n, -1)
    if len(order.group_ends) > FOLDS:
        fold[order.rows] = order.group % FOLDS
        return fold
    keys = table.keys()
    if keys is None:
        fold[order.rows] = np.arange(len(order.rows)) % FOLDS
        return fold
    key = keys[order.rows]
    along = np.lexsort((key, order.level))
    key, level = key[along], order.level[along]
    new = np.ones(len(key), dtype=bool)
    new[1:] = (np.diff(key) > ALIKE * np.abs(key).max(initial=0.0)) | (np.diff(level) > 0)
    fold[order.rows[along]] = np.cumsum(new) % FOLDS
    return fold


def _training_paths(
    table: Table, order: PairOrder, fold: np.ndarray, alphas: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """(fold, minimiser for each alpha of the rows outside it), for each fold whose other rows hold a pair.

    Groups are never compared with each other, so the system of several folds of groups is the sum of theirs.
    """
    wide, grouped = table.shape[1] > _sizes.MAX_WHOLE_PATH_COLUMNS, len(order.group_ends) > FOLDS
    systems = [_fold_system(table, order, fold == k) for k in range(FOLDS)] if grouped and not wide else []
    for k in range(FOLDS):
        training = np.flatnonzero((fold >= 0) & (fold != k))
        if systems:
            system = sum((each for j, each in enumerate(systems) if j != k), SquareSystem.empty(table.shape[1]))
            if system.total > 0.0:
                yield k, square_path(system, alphas)
            continue
        part = order.subset(training)
        if not part.total > 0.0:
            continue
        rows = as_table(table.take(training))
        if not wide:
            yield k, square_path(square_system(rows, part), alphas)
        else:
            W, rest = shifted_solutions(square_product(rows, part), square_slope(rows, part), alphas, PATH_PRODUCTS)
            W[:, rest > MAX_PATH_RESIDUAL] = np.nan
            yield k, W


def _fold_system(table: Table, order: PairOrder, chosen: np.ndarray) -> SquareSystem:
    rows = np.flatnonzero(chosen)
    part = order.subset(rows)
    return square_system(as_table(table.take(rows)), part) if part.total > 0.0 else SquareSystem.empty(table.shape[1])
