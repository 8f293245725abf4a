"""From the square loss on to the logistic one: Newton steps in the same basis, kept where held-out rows rank better.

The square loss counts a pair that is ranked well by far as much amiss as one that is not ranked at all. The balanced
logistic loss, in which each class weighs one half,

    L(w, b) = -½ mean₊ log σ(z·w + b) - ½ mean₋ log(1 - σ(z·w + b)) + (c/2) w·K·w,

lets go of it. K is the penalty that was chosen for the square loss.

The models of all folds and of all rows take their steps together: each step is found by conjugate gradients, whose
products with the rows serve all models, preconditioned by the Hessian of the first step of the model of all rows. The
scores of the rows that a fold holds out come with each step: where they rank no better after two, the others are not
taken. The later a step, the more products it needs.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import expit

from auclid import _sizes
from auclid.additive._basis import Basis
from auclid.additive._folds import RowFolds, WeighedRows, fold_masses
from auclid.additive._moments import class_sums
from auclid.additive._selection import ShapeSelection, mean_auc, sure_gain
from auclid.additive._solve import (
    MonotoneColumn,
    Penalty,
    PenaltyTerms,
    coefficient_cost,
    made_monotone,
    penalty_product,
    solve_monotone,
    with_penalty,
)
from auclid.additive._targets import CardRows
from auclid.solvers.iterative import conjugate_gradients
from auclid.solvers.newton import Move
from auclid.stats.odds import fit_sigmoid

PENALTY_FACTOR = 0.03
"""c: 1/16 would weigh as much as K does against the square loss where p is near one half; half of that ranked best on
the development half of the tables."""

MAX_LOGISTIC_STEPS = 6
"""Newton steps at the most."""

MAX_LOGISTIC_PRODUCTS = 25
"""Conjugate gradients of a Newton step, at the most."""

STEP_RESIDUAL = 0.03
"""What a Newton step may leave of the gradient."""

FIRST_STEPS = 2
"""Steps after which held-out rows must rank better for others to follow."""

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


class LogisticModels(NamedTuple):
    """Several logistic losses L on the same rows, each of which gives the rows other masses."""

    rows: WeighedRows
    terms: PenaltyTerms
    penalty: Penalty
    """The strengths of c K."""
    cost: np.ndarray | float
    """The C of K: one for all models, or (coefficients, models)."""

    @classmethod
    def of(
        cls, selection: ShapeSelection, rows: CardRows, mass: np.ndarray, cost: np.ndarray | float
    ) -> "LogisticModels":
        """The models whose rows have these weights, (rows, models)."""
        penalty = selection.penalty
        strengths = (2.0 * PENALTY_FACTOR * each for each in (penalty.alpha, penalty.smooth))
        weighed = WeighedRows.of(selection.basis, rows.cells, rows.target.is_pos, mass)
        return cls(weighed, selection.terms, Penalty(*strengths), cost)

    @property
    def Z(self) -> Any:
        """The rows in the basis, CSR."""
        return self.rows.Z

    @property
    def mass(self) -> np.ndarray:
        """(rows, models): the masses of each class of a model add up to one half."""
        return 0.5 * self.rows.share

    def penalised(self, W: np.ndarray) -> np.ndarray:
        """c K W"""
        return penalty_product(self.terms, self.penalty, self.cost, W)


def affordable(selection: ShapeSelection, cells: Any) -> bool:
    """Whether a step costs no more than `_sizes.NEWTON_STEP_WORK`, and rows are held out that could gain by it."""
    touched = 2 * cells.shape[1] + 4 * len(selection.pairs)
    work = 0.5 * cells.shape[0] * touched**2 + selection.basis.size**3 / 30.0  # LAPACK's take a tenth of the time
    if selection.held_out is None or selection.fold is None or len(selection.folds) < 2 or not selection.basis.size:
        return False
    left = selection.held_out.target.left_to_gain(selection.cv_auc)
    return left > _sizes.MIN_LEFT_TO_GAIN and work <= _sizes.NEWTON_STEP_WORK


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
    judged = CardRows(rows.cells, rows.target._replace(measure=held_out.target.measure), fold)
    models = LogisticModels.of(selection, rows, fold_masses(fold, rows.target.weight), _fold_costs(selection))
    steps = newton_iterates(models, selection.basis, rows, np.stack([*others, w], axis=1), monotone)
    W, scores = next(steps)
    before = _held_out_aucs(judged, scores)
    for count, point in enumerate(steps, 1):
        W, scores = point
        if count == FIRST_STEPS and _mean_gain(before, _held_out_aucs(judged, scores)) <= 0.0:
            return None
    after = _held_out_aucs(judged, scores)
    if sure_gain(after - before) <= 0.0:
        return None
    if monotone:  # what rises, rises to the bit
        W = np.stack([made_monotone(v, monotone) for v in W.T], axis=1)
    return LogisticWeights(W[:, -1], list(W[:, :-1].T), _mean_gain(before, after))


def _fold_costs(selection: ShapeSelection) -> np.ndarray | float:
    """The C of the rows outside each fold, and of all rows: those that the square loss had."""
    folds, moments, terms, penalty = selection.folds, selection.moments, selection.terms, selection.penalty
    cost = coefficient_cost(moments.within, moments.delta, terms, penalty)
    if not penalty.focus or isinstance(folds, RowFolds):
        return cost
    return np.stack([*(coefficient_cost(each.S, each.delta, terms, penalty) for each in folds), cost], axis=1)


def _held_out_aucs(rows: CardRows, scores: np.ndarray) -> np.ndarray:
    """The AUC (or what counts) of each fold by its own scores, (rows, folds + 1); nan where it has one class only."""
    folds = [rows.in_fold(k) for k in range(scores.shape[1] - 1)]
    return np.array([rows.target.take(at).auc(scores[at, k][None])[0] for k, at in enumerate(folds)])


def _mean_gain(before: np.ndarray, after: np.ndarray) -> float:
    """The mean gain over the folds that have both classes."""
    return float(mean_auc((after - before)[:, None])[0])


def newton_iterates(
    models: LogisticModels, basis: Basis, rows: CardRows, W: np.ndarray, monotone: Sequence[MonotoneColumn]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Weights of each model (a column each) and the log-odds of all rows by them, on the way to the least L.

    They begin with the weights of the square loss, in the unit of log-odds, and end where a step moves hardly a score.
    """
    W, z = _in_log_odds(models, W)
    yield W, z
    factor = None
    for _ in range(MAX_LOGISTIC_STEPS):
        at = _Expansion.of(models, z, W)
        if monotone:
            step = _monotone_step(models, at, basis, rows, W, monotone)
        else:
            factor = _preconditioner(models, at, basis, rows) if factor is None else factor
            step = _newton_step(models, at, factor)
        far = np.abs(step.scores).max(axis=0)
        share = MAX_STEP / np.maximum(far, MAX_STEP)
        W, z = W + share * step.w, z + share * step.scores
        yield W, z
        if far.max() <= CONVERGED_STEP:
            break


def _in_log_odds(models: LogisticModels, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and scores of all models in the unit in which those of the last are log-odds, all of the same mean."""
    z = models.Z @ W
    mean = (models.mass * z).sum(axis=0)
    odds = fit_sigmoid(z[:, -1], models.rows.is_pos, len(z) * models.mass[:, -1])
    return odds.slope * W, odds.slope * (z - mean + mean[-1]) + odds.offset


class _Expansion(NamedTuple):
    """The losses of all models around their weights, to second order, with the offsets solved for."""

    curvature: np.ndarray
    """(rows, models): the mass of each row times the slope of the sigmoid."""
    share: np.ndarray
    """The same, divided by its sum for each model."""
    offset: np.ndarray
    """How far the offset of each model would move if the weights did not."""
    descent: np.ndarray
    """(coefficients, models): the negative gradient."""

    @classmethod
    def of(cls, models: LogisticModels, z: np.ndarray, W: np.ndarray) -> "_Expansion":
        """Around these log-odds and weights."""
        p = expit(z)
        curvature = models.mass * np.maximum(p * (1.0 - p), MIN_SIGMOID_SLOPE)
        residual, size = models.mass * (models.rows.is_pos[:, None] - p), curvature.sum(axis=0)
        offset, share = residual.sum(axis=0) / size, curvature / size
        descent = models.Z.T @ (residual - offset * curvature) - models.penalised(W)
        return cls(curvature, share, offset, descent)

    def with_offset(self, move: Move) -> Move:
        """The move of weights and scores, with that of the offset."""
        return Move(move.w, move.scores + self.offset - (self.share * move.scores).sum(axis=0))

    def hessian(self, models: LogisticModels, basis: Basis, rows: CardRows, cost: Any) -> np.ndarray:
        """The Hessian of the last model: moments about the mean, and the penalty at this cost."""
        sums = class_sums(basis, rows.cells, rows.target.is_pos, np.ascontiguousarray(self.curvature[:, -1]))
        H = with_penalty(sums.pooled().scatter, models.terms, models.penalty, cost)
        H[np.diag_indices_from(H)] += 1e-12 * max(float(np.trace(H)) / len(H), 1e-300)
        return H


def _preconditioner(models: LogisticModels, at: _Expansion, basis: Basis, rows: CardRows) -> Any:
    """The Cholesky factor of the Hessian of the last model, with half the digits."""
    cost: Any = models.cost
    H = at.hessian(models, basis, rows, cost[:, -1] if np.ndim(cost) > 1 else cost).astype(np.float32)
    H[np.diag_indices_from(H)] *= 1.0 + 1e-5
    return linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)


def _newton_step(models: LogisticModels, at: _Expansion, factor: Any) -> Move:
    """How weights and scores of all models move."""

    def product(move: Move) -> np.ndarray:
        centred = move.scores - (at.share * move.scores).sum(axis=0)
        return models.Z.T @ (at.curvature * centred) + models.penalised(move.w)

    def precondition(v: np.ndarray) -> np.ndarray:
        size = float(np.abs(v).max()) or 1.0
        return size * linalg.cho_solve(factor, (v / size).astype(np.float32), check_finite=False)

    step, most = Move(np.zeros_like(at.descent), np.zeros_like(at.share)), STEP_RESIDUAL * np.linalg.norm(at.descent)
    iterates = conjugate_gradients(
        product, at.descent, precondition, lambda v: Move(v, models.Z @ v), lambda move, v: float(np.vdot(move.w, v))
    )
    for found in iterates:
        step = found.x
        if found.products == MAX_LOGISTIC_PRODUCTS or np.linalg.norm(found.residual) <= most:
            break
    return at.with_offset(step)


def _monotone_step(
    models: LogisticModels,
    at: _Expansion,
    basis: Basis,
    rows: CardRows,
    W: np.ndarray,
    monotone: Sequence[MonotoneColumn],
) -> Move:
    """`_newton_step` to the least of each quadratic whose shapes rise or fall as they may.

    The Hessian of the model of all rows serves those of the folds, too, which share four fifths of its rows, with the
    largest cost of any: a smaller one would make steps too long.
    """
    cost: Any = models.cost
    H = at.hessian(models, basis, rows, cost.max(axis=1) if np.ndim(cost) > 1 else cost)
    new = solve_monotone(H, at.descent + H @ W, monotone, W)
    return at.with_offset(Move(new - W, models.Z @ (new - W)))
