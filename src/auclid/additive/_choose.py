"""How many knots, how smooth, how strong a ridge: by cross-validated AUC from the moments of the folds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid.additive._basis import Basis, basis_scores
from auclid.additive._penalty import Penalty, Terms
from auclid.additive._solve import directions
from auclid.additive._sums import Fold
from auclid.additive._table import block, slices
from auclid.metrics._auc import auc_from_parts

ALPHAS = 10.0 ** np.arange(-5.0, 1.5)
"""Strengths of the ridge that are tried, in units of twice the mean variance of the basis."""

SMOOTHS = (0.0, 2e-3, 2e-2, 2e-1, 2.0, 20.0)
"""Strengths of the roughness penalty that are tried."""


class HeldOut(NamedTuple):
    """Rows that are scored by the folds they are not in."""

    cells: np.ndarray
    is_pos: np.ndarray
    weight: np.ndarray | None
    fold: np.ndarray

    def rows(self, k: int) -> np.ndarray:
        """Which rows fold k holds out."""
        return np.flatnonzero(self.fold == k)

    def part(self, rows: np.ndarray) -> "HeldOut":
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return HeldOut(self.cells[rows], self.is_pos[rows], weight, self.fold[rows])

    def some(self, most: int) -> "HeldOut":
        """At most about so many rows, the rarer class first: each so manieth of a class, so evenly of all folds."""
        rare, common = sorted((np.flatnonzero(self.is_pos), np.flatnonzero(~self.is_pos)), key=len)
        rare = rare[:: -(-len(rare) // (most // 2)) or 1]
        common = common[:: -(-len(common) // (most - len(rare))) or 1]
        return self.part(np.sort(np.concatenate([rare, common])))

    def as_only_fold(self, k: int) -> "HeldOut":
        """The rows of fold k, as the only fold."""
        held = self.part(self.rows(k))
        return held._replace(fold=np.zeros_like(held.fold))


def scores(basis: Basis, cells: Any, W: np.ndarray) -> np.ndarray:
    """Z W, of rows by blocks."""
    out = np.empty((cells.shape[0], W.shape[1]))
    for part in slices(cells):
        out[part] = basis_scores(basis, block(cells, part), W)
    return out


def grid_auc(
    folds: Sequence[Fold],
    basis: Basis,
    terms: Terms,
    penalties: Sequence[Penalty],
    held: HeldOut,
    M: Any = None,
    solution_cache: Sequence[dict] | None = None,
) -> np.ndarray:
    """The held-out AUC of each penalty in each fold (folds × penalties); M as in `fewer_knots`.

    ``solution_cache``: for each fold, as in `directions`.
    """
    aucs = np.full((len(folds), len(penalties)), np.nan)
    for k, fold in enumerate(folds):
        rows = held.rows(k)
        label, weight = held.is_pos[rows], None if held.weight is None else held.weight[rows]
        if not label.any() or label.all():
            continue
        W = directions(fold.S, fold.delta, terms, penalties, None if solution_cache is None else solution_cache[k])
        out = np.ascontiguousarray(scores(basis, held.cells[rows], W if M is None else M @ W).T)
        aucs[k] = [auc_from_parts(label, column, weight) for column in out]
    return aucs


def mean_auc(aucs: np.ndarray) -> np.ndarray:
    """The mean over the folds that have both classes."""
    usable = ~np.isnan(aucs).any(axis=1)
    return aucs[usable].mean(axis=0) if usable.any() else np.zeros(aucs.shape[1])


def nearly_best(aucs: np.ndarray) -> np.ndarray:
    """The mean over folds; what is within a standard error of the best (of their paired difference) counts as good.

    So the smoothest of equals is taken, where few rows cannot tell them apart.
    """
    mean = mean_auc(aucs)
    best, usable = int(mean.argmax()), ~np.isnan(aucs).any(axis=1)
    if usable.sum() < 2:
        return mean
    gaps = aucs[usable] - aucs[usable][:, [best]]
    error = gaps.std(axis=0, ddof=1) / np.sqrt(usable.sum())
    return np.where(mean >= mean[best] - error, mean[best], mean)


def sure_gain(gains: np.ndarray) -> float:
    """The mean gain over folds, less its standard error: what surely pays is worth more than it costs in clearness."""
    gains = gains[~np.isnan(gains)]
    return float(gains.mean() - gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else 0.0


def held_out_scores(folds: Sequence[Fold], basis: Basis, weights: Sequence[np.ndarray], held: HeldOut) -> np.ndarray:
    """The score of each held-out row by its fold's weights, less the mean score of that fold's training rows."""
    out = np.zeros(len(held.is_pos))
    for k, w in enumerate(weights):
        rows = held.rows(k)
        out[rows] = scores(basis, held.cells[rows], w[:, None])[:, 0] - folds[k].mean @ w
    return out
