"""Logistic regression without some of the rows: a few Newton steps away from the model of all rows."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from auclid.data import as_array

COLUMNS, ENTRIES = 200, 1 << 23
"""Columns, and entries of the table, up to which Newton steps cost less than fitting anew, which takes scikit-learn two
milliseconds of checks alone."""

STEPS, CLOSE, SLOW = 30, 1e-9, 0.1
"""Steps at the most; the Newton decrement, over the weight of all rows, at which they end; and how much of the last one
may be left after a step before second derivatives are found anew."""


def held_out_scores(
    model: LogisticRegression, X: Any, is_pos: np.ndarray, weight: np.ndarray | None, tests: Iterable[np.ndarray]
) -> list[np.ndarray] | None:
    """The scores of the rows of each test by the model of all others, from the fitted model of all rows; None where
    there are too many columns for it, or steps do not converge."""
    if X.shape[1] > COLUMNS or X.shape[0] * X.shape[1] > ENTRIES:
        return None
    Z = np.column_stack([as_array(X).astype(np.float64, copy=False), np.ones(X.shape[0])])
    problem = _Problem(Z, is_pos, np.append(np.full(X.shape[1], 1.0 / model.C), 0.0))
    mass, said = np.ones(len(is_pos)) if weight is None else weight, []
    start = np.append(model.coef_[0], model.intercept_[0])
    bend = problem.bend(start, mass)
    for test in tests:
        left = mass.copy()
        left[test] = 0.0
        w = problem.minimiser(left, start, bend - problem.bend(start, mass, test))
        if w is None:
            return None
        said.append(Z[test] @ w)
    return said


class _Problem(NamedTuple):
    """Σ weight·log(1 + exp(∓w·z)) + ½ Σ ridge·w², to be minimised for several weights."""

    Z: np.ndarray
    is_pos: np.ndarray
    ridge: np.ndarray

    def slope(self, w: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The gradient."""
        return (weight * (expit(self.Z @ w) - self.is_pos)) @ self.Z + self.ridge * w

    def bend(self, w: np.ndarray, weight: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """What some rows add to the matrix of second derivatives."""
        Z = self.Z[rows]
        p = expit(Z @ w)
        return (Z * (weight[rows] * p * (1.0 - p))[:, None]).T @ Z

    def minimiser(self, weight: np.ndarray, w: np.ndarray, bend: np.ndarray | None) -> np.ndarray | None:
        """Newton's method from w, whose second derivatives are known: while they serve, they are kept (the chord
        method). None where it does not converge."""
        before = np.inf
        for _ in range(STEPS):
            if bend is not None:
                try:
                    factor = linalg.cho_factor(bend + np.diag(self.ridge), check_finite=False)
                except linalg.LinAlgError:
                    return None
            slope = self.slope(w, weight)
            step = linalg.cho_solve(factor, slope, check_finite=False)
            decrement = float(slope @ step) / weight.sum()
            if decrement <= CLOSE:
                return w - step
            if not np.isfinite(decrement):
                return None
            w = w - step
            bend, before = self.bend(w, weight) if decrement > SLOW * before else None, decrement
        return None
