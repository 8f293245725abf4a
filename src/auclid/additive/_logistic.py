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

from auclid.additive._basis import Basis, add_transpose_product
from auclid.additive._choose import HeldOut, mean_auc, scores, sure_gain
from auclid.additive._monotone import Rising, solve_monotone
from auclid.additive._plan import Plan
from auclid.additive._solve import penalised
from auclid.additive._sums import Fold, class_sums
from auclid.additive._table import block, slices
from auclid.metrics._auc import auc_from_parts
from auclid.stats.odds import calibrated

WORK = 1.5e8
"""Multiplications of one step, at the most, of some sixty in all: where rows or coefficients are more, the square loss
it is."""

C = 0.03
"""c: 1/16 would weigh as much as K does against the square loss where p is near one half; half of that ranked best on
the development half of the tables."""

STEPS = 10
"""Newton steps at the most."""

NEAR = 0.005
"""Steps that move no score by more than this are the last."""

FAR = 3.0
"""No step moves a score by more."""

FLAT = 1e-6
"""The least slope of the sigmoid, so that no row is lost."""


class Refined(NamedTuple):
    """Weights of the basis from all rows and from those outside each fold, and what was gained on held-out rows."""

    w: np.ndarray
    others: list[np.ndarray]
    gain: float


class Weighed(NamedTuple):
    """Rows to learn from; the masses of each class add up to one half."""

    cells: Any
    is_pos: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, cells: Any, is_pos: np.ndarray, weight: np.ndarray | None, kept: np.ndarray) -> "Weighed":
        """Those that are kept."""
        label = is_pos[kept]
        mass = np.ones(len(kept)) if weight is None else weight[kept]
        return cls(cells[kept], label, 0.5 * mass / np.where(label, mass[label].sum(), mass[~label].sum()))


def affordable(plan: Plan, cells: Any) -> bool:
    """Whether steps are not too dear, and rows are held out to judge them by."""
    touched = 2 * cells.shape[1] + 4 * len(plan.pairs)
    work = 0.5 * cells.shape[0] * touched**2 + plan.basis.size**3 / 30.0  # LAPACK's take a tenth of the time
    held = plan.held is not None and plan.fold is not None and len(plan.folds) > 1
    return held and 0 < plan.basis.size and work <= WORK


def refined(
    plan: Plan,
    cells: Any,
    is_pos: np.ndarray,
    weight: np.ndarray | None,
    w: np.ndarray,
    others: list[np.ndarray],
    rising: Sequence[Rising],
) -> Refined | None:
    """The weights after steps from those of the square loss, where held-out rows surely rank better; else None."""
    assert plan.held is not None and plan.fold is not None
    moved, gains = [], []
    for k, (fold, v) in enumerate(zip(plan.folds, others, strict=True)):
        outside = np.flatnonzero((plan.fold >= 0) & (plan.fold != k))
        moved.append(minimised(plan, fold, Weighed.of(cells, is_pos, weight, outside), v, rising))
        gains.append(_gain(plan.basis, plan.held, k, np.stack([v, moved[-1]], axis=1)))
    if sure_gain(np.array(gains)) <= 0.0:
        return None
    moments, every = plan.moments, np.flatnonzero(plan.fold >= 0)
    total = Fold(moments.within, moments.delta, moments.all.mean)
    own = minimised(plan, total, Weighed.of(cells, is_pos, weight, every), w, rising)
    return Refined(own, moved, float(mean_auc(np.array(gains)[:, None])[0]))


def _gain(basis: Basis, held: HeldOut, k: int, W: np.ndarray) -> float:
    """How much higher the AUC of fold k is by the second weights than by the first; nan where it has one class only."""
    rows = held.rows(k)
    label, weight = held.is_pos[rows], None if held.weight is None else held.weight[rows]
    if not label.any() or label.all():
        return np.nan
    found = np.ascontiguousarray(scores(basis, held.cells[rows], W).T)
    before, after = (auc_from_parts(label, column, weight) for column in found)
    return float(after - before)


def minimised(plan: Plan, fold: Fold, rows: Weighed, w: np.ndarray, rising: Sequence[Rising]) -> np.ndarray:
    """The weights of least L on these rows, by Newton's method from those of the square loss.

    Each step is the minimum of a quadratic: where shapes may only rise, of those that do.
    """
    K = 2.0 * (penalised(fold.S, fold.delta, plan.terms, plan.penalty) - fold.S)
    z = scores(plan.basis, rows.cells, w[:, None])[:, 0]
    odds = calibrated(z, rows.is_pos, len(z) * rows.mass)
    w, z, whole, K = odds.slope * w, odds.slope * z + odds.offset, False, C * K
    p = expit(z)
    for _ in range(STEPS):
        new, d_b = _step(plan.basis, rows, p, K, w, rising)
        moved = scores(plan.basis, rows.cells, (new - w)[:, None])[:, 0] + d_b
        far = float(np.abs(moved).max())
        whole = far <= FAR
        share = 1.0 if whole else FAR / far
        w, z = new if whole else w + share * (new - w), z + share * moved
        p = expit(z)
        if far <= NEAR:
            break
    return w if whole or not rising else solve_monotone(np.eye(len(w)), w, rising)  # what rises, rises to the bit


def _step(
    basis: Basis, rows: Weighed, p: np.ndarray, K: np.ndarray, w: np.ndarray, rising: Sequence[Rising]
) -> tuple[np.ndarray, float]:
    """New weights, and how the offset moves; with it solved for, moments about the mean are all it takes."""
    seen = class_sums(basis, rows.cells, rows.is_pos, rows.mass * np.maximum(p * (1.0 - p), FLAT)).together()
    rest = rows.mass * (rows.is_pos - p)
    turned, total = np.zeros(basis.size), float(rest.sum())
    for part in slices(rows.cells):
        add_transpose_product(basis, block(rows.cells, part), rest[part], turned)
    pull, H = turned - total * seen.mean - K @ w, seen.scatter + K
    H[np.diag_indices_from(H)] += 1e-12 * max(float(np.trace(H)) / len(H), 1e-300)
    if rising:
        new = solve_monotone(H, pull + H @ w, rising)
    else:
        new = w + linalg.solve(H, pull, assume_a="pos", check_finite=False)
    return new, total / seen.n - float(seen.mean @ (new - w))
