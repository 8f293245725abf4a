"""The path of alpha, cross-validated on rows that lie apart: by the very folds that rows in memory would get."""

import numpy as np

from auclid.data import sizes
from auclid.solvers.closed_form import minimiser, path
from auclid.solvers.path import CrossValidated, alpha_grid, best_alpha
from auclid.stats.apart import LabelledDataset
from auclid.stats.folds import leave_one_out
from auclid.stats.folds_apart import held_out_areas, moments_of_folds, planned


def cross_validate_apart(
    rows: LabelledDataset, n_folds: int, alphas: np.ndarray | None = None
) -> tuple[CrossValidated, np.ndarray | None]:
    """Penalties tried on stratified folds, and the weights that the best gives to all rows."""
    plan = planned(rows, n_folds)
    folds = moments_of_folds(rows, plan)
    trained, total = leave_one_out(folds)
    if alphas is None:
        alphas = alpha_grid(np.trace(total.within) / rows.parts.width, 50)
    models = [path(moments, alphas) if moments.complete else None for moments in trained]
    usable = [each is not None for each in models]
    W = [np.zeros((rows.parts.width, len(alphas))) if each is None else each for each in models]
    at_once = max(1, 2 * sizes.LARGE_BYTES // (8 * int(rows.counts.sum(axis=0).min())))
    pieces = [[each[:, k : k + at_once] for each in W] for k in range(0, len(alphas), at_once)]
    aucs = np.hstack([held_out_areas(rows, plan, piece, folds) for piece in pieces])
    aucs[~np.array(usable)] = np.nan
    alpha = best_alpha(alphas, aucs)
    return CrossValidated(alphas, aucs, alpha), None if alpha is None else minimiser(total, alpha)
