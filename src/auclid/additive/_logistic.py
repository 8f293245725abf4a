"""From the square loss on to the logistic one: Newton steps in the same basis, kept where held-out rows rank better.

The square loss counts a pair that is ranked well by far as much amiss as one that is not ranked at all. The balanced
logistic loss, in which each class weighs one half,

    L(w, b) = -½ mean₊ log σ(z·w + b) - ½ mean₋ log(1 - σ(z·w + b)) + (c/2) w·K·w,

lets go of it. K is the penalty that was chosen for the square loss.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import expit

from auclid import _sizes
from auclid.additive._basis import Basis, add_transpose_product
from auclid.additive._columns import cell_blocks
from auclid.additive._moments import TrainingMoments, class_sums
from auclid.additive._selection import ShapeSelection, basis_products, mean_auc, sure_gain
from auclid.additive._solve import MonotoneColumn, penalised, solve_monotone
from auclid.additive._targets import CardRows
from auclid.stats.odds import fit_sigmoid

PENALTY_FACTOR = 0.03
"""c: 1/16 would weigh as much as K does against the square loss where p is near one half; half of that ranked best on
the development half of the tables."""

FIRST_FOLDS = 2
"""Folds of which one must rank better for the others to be asked."""

MAX_LOGISTIC_STEPS = 6
"""Newton steps at the most."""

CONVERGED_STEP = 0.05
"""A step that moves no score by more than this is the last."""

MAX_STEP = 3.0
"""No step moves a score by more."""

MIN_SIGMOID_SLOPE = 1e-6
"""The least slope of the sigmoid, so that no row is lost."""


class LogisticWeights(NamedTuple):
    """Weights of the basis from all rows and from those outside each fold, and what was gained on held-out rows."""

    w: np.ndarray
    others: list[np.ndarray]
    gain: float


class BalancedRows(NamedTuple):
    """Rows to learn from; the masses of each class add up to one half."""

    cells: Any
    is_pos: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, rows: CardRows, index: np.ndarray) -> "BalancedRows":
        """The rows of these numbers."""
        cells, (label, weight) = rows.cells[index], rows.target.take(index)
        mass = np.ones(len(index)) if weight is None else weight
        return cls(cells, label, 0.5 * mass / np.where(label, mass[label].sum(), mass[~label].sum()))


def affordable(selection: ShapeSelection, cells: Any) -> bool:
    """Whether a step costs no more than `_sizes.NEWTON_STEP_WORK`, and rows are held out to judge the steps by."""
    touched = 2 * cells.shape[1] + 4 * len(selection.pairs)
    work = 0.5 * cells.shape[0] * touched**2 + selection.basis.size**3 / 30.0  # LAPACK's take a tenth of the time
    judged = selection.held_out is not None and selection.fold is not None and len(selection.folds) > 1
    return judged and 0 < selection.basis.size and work <= _sizes.NEWTON_STEP_WORK


def logistic_weights(
    selection: ShapeSelection,
    rows: CardRows,
    w: np.ndarray,
    others: list[np.ndarray],
    monotone: Sequence[MonotoneColumn],
) -> LogisticWeights | None:
    """The weights after steps from those of the square loss, where held-out rows surely rank better; else None."""
    held_out, fold = selection.held_out, selection.fold
    assert held_out is not None and fold is not None
    moved, gains = [], []
    for k, (training, v) in enumerate(zip(selection.folds, others, strict=True)):
        outside = np.flatnonzero((fold >= 0) & (fold != k))
        moved.append(minimise(selection, training, BalancedRows.of(rows, outside), v, monotone))
        gains.append(_gain(selection.basis, held_out, k, np.stack([v, moved[-1]], axis=1)))
        if len(gains) == FIRST_FOLDS and not max(gains) > 0.0:
            return None
    if sure_gain(np.array(gains)) <= 0.0:
        return None
    moments = selection.moments
    total = TrainingMoments(moments.within, moments.delta, moments.all.mean)
    own = minimise(selection, total, BalancedRows.of(rows, np.flatnonzero(fold >= 0)), w, monotone)
    return LogisticWeights(own, moved, float(mean_auc(np.array(gains)[:, None])[0]))


def _gain(basis: Basis, held_out: CardRows, k: int, W: np.ndarray) -> float:
    """How much higher the AUC of fold k is by the second weights than by the first; nan where it has one class only."""
    rows = held_out.in_fold(k)
    scores = np.ascontiguousarray(basis_products(basis, held_out.cells[rows], W).T)
    before, after = held_out.target.take(rows).auc(scores)
    return float(after - before)


def minimise(
    selection: ShapeSelection,
    training: TrainingMoments,
    rows: BalancedRows,
    w: np.ndarray,
    monotone: Sequence[MonotoneColumn],
) -> np.ndarray:
    """The weights of least L on these rows, by Newton's method from those of the square loss.

    Each step is the minimum of a quadratic: where shapes may only rise, of those that do.
    """
    basis = selection.basis
    K = 2.0 * (penalised(training.S, training.delta, selection.terms, selection.penalty) - training.S)
    z = basis_products(basis, rows.cells, w[:, None])[:, 0]
    odds = fit_sigmoid(z, rows.is_pos, len(z) * rows.mass)
    w, z, whole, K = odds.slope * w, odds.slope * z + odds.offset, False, PENALTY_FACTOR * K
    p = expit(z)
    for _ in range(MAX_LOGISTIC_STEPS):
        new, d_b = _newton_step(basis, rows, p, K, w, monotone)
        moved = basis_products(basis, rows.cells, (new - w)[:, None])[:, 0] + d_b
        far = float(np.abs(moved).max())
        whole = far <= MAX_STEP
        share = 1.0 if whole else MAX_STEP / far
        w, z = new if whole else w + share * (new - w), z + share * moved
        p = expit(z)
        if far <= CONVERGED_STEP:
            break
    if whole or not monotone:
        return w
    return solve_monotone(np.eye(len(w)), w, monotone)  # what rises, rises to the bit


def _newton_step(
    basis: Basis, rows: BalancedRows, p: np.ndarray, K: np.ndarray, w: np.ndarray, monotone: Sequence[MonotoneColumn]
) -> tuple[np.ndarray, float]:
    """New weights, and how the offset moves; with it solved for, moments about the mean are all it takes."""
    curvature = rows.mass * np.maximum(p * (1.0 - p), MIN_SIGMOID_SLOPE)
    moments = class_sums(basis, rows.cells, rows.is_pos, curvature).pooled()
    residual = rows.mass * (rows.is_pos - p)
    product, total = np.zeros(basis.size), float(residual.sum())
    for part, block in cell_blocks(rows.cells):
        add_transpose_product(basis, block, residual[part], product)
    gradient, H = product - total * moments.mean - K @ w, moments.scatter + K
    H[np.diag_indices_from(H)] += 1e-12 * max(float(np.trace(H)) / len(H), 1e-300)
    if monotone:
        new = solve_monotone(H, gradient + H @ w, monotone)
    else:
        new = w + linalg.solve(H, gradient, assume_a="pos", check_finite=False)
    return new, total / moments.n - float(moments.mean @ (new - w))
