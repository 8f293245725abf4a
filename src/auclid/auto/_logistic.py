"""Logistic regression without some of the rows: a few Newton steps away from the model of all rows."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from auclid import _sizes
from auclid.data import as_array

MAX_CHORD_STEPS = 30
"""Newton steps at the most."""

CONVERGED_DECREMENT = 1e-9
"""The Newton decrement, over the weight of all rows, at which steps end."""

SLOW_DECREASE = 0.1
"""The share of the last decrement that may be left after a step before second derivatives are found anew."""


def held_out_scores(
    model: LogisticRegression, X: Any, is_pos: np.ndarray, weight: np.ndarray | None, tests: Iterable[np.ndarray]
) -> list[np.ndarray] | None:
    """The scores of the rows of each test by the model of all others, from the fitted model of all rows; None where
    there are too many columns for it, or steps do not converge."""
    if X.shape[1] > _sizes.MAX_NEWTON_COLUMNS or X.shape[0] * X.shape[1] > _sizes.MAX_NEWTON_ENTRIES:
        return None
    Z = np.column_stack([as_array(X).astype(np.float64, copy=False), np.ones(X.shape[0])])
    problem = _Problem(Z, is_pos, np.append(np.full(X.shape[1], 1.0 / model.C), 0.0))
    mass, scores = np.ones(len(is_pos)) if weight is None else weight, []
    start = np.append(model.coef_[0], model.intercept_[0])
    hessian = problem.hessian(start, mass)
    for test in tests:
        left = mass.copy()
        left[test] = 0.0
        w = problem.minimiser(left, start, hessian - problem.hessian(start, mass, test))
        if w is None:
            return None
        scores.append(Z[test] @ w)
    return scores


class _Problem(NamedTuple):
    """Σ weight·log(1 + exp(∓w·z)) + ½ Σ ridge·w², to be minimised for several weights."""

    Z: np.ndarray
    is_pos: np.ndarray
    ridge: np.ndarray

    def gradient(self, w: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The gradient at w."""
        return (weight * (expit(self.Z @ w) - self.is_pos)) @ self.Z + self.ridge * w

    def hessian(self, w: np.ndarray, weight: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """What some rows add to the matrix of second derivatives at w."""
        Z = self.Z[rows]
        p = expit(Z @ w)
        return (Z * (weight[rows] * p * (1.0 - p))[:, None]).T @ Z

    def minimiser(self, weight: np.ndarray, w: np.ndarray, hessian: np.ndarray | None) -> np.ndarray | None:
        """Newton's method from w, whose second derivatives are known; while they serve, they are kept (the chord
        method). None where it does not converge."""
        before = np.inf
        for _ in range(MAX_CHORD_STEPS):
            if hessian is not None:
                try:
                    factor = linalg.cho_factor(hessian + np.diag(self.ridge), check_finite=False)
                except linalg.LinAlgError:
                    return None
            gradient = self.gradient(w, weight)
            step = linalg.cho_solve(factor, gradient, check_finite=False)
            decrement = float(gradient @ step) / weight.sum()
            if decrement <= CONVERGED_DECREMENT:
                return w - step
            if not np.isfinite(decrement):
                return None
            w = w - step
            hessian = self.hessian(w, weight) if decrement > SLOW_DECREASE * before else None
            before = decrement
        return None
