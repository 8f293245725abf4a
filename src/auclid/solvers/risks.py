"""Risks of two sets of rows under the square loss: exact quadratics of the weights, known from the sets' moments."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from auclid.solvers.closed_form import solve_symmetric
from auclid.stats.moments import Moments


class Quadratic(NamedTuple):
    """A risk of the weights: constant − 2 linear·w + w·square·w."""

    constant: float
    linear: np.ndarray
    square: np.ndarray

    def value(self, w: np.ndarray) -> float:
        """The risk at w."""
        return float(self.constant - 2.0 * self.linear @ w + w @ self.square @ w)

    def minimiser(self, alpha: float) -> np.ndarray:
        """argmin of the risk + alpha/2 |w|^2; of several, the shortest. The risk must be convex."""
        A = 2.0 * self.square
        A[np.diag_indices_from(A)] += alpha
        return solve_symmetric(A, 2.0 * self.linear, minimum_norm=alpha == 0.0)

    def convex(self) -> bool:
        """Whether it has a minimum: no eigenvalue below zero but for rounding."""
        A = self.square.copy()
        A[np.diag_indices_from(A)] += 1e-12 * np.trace(A) + np.finfo(float).tiny
        try:
            linalg.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return False
        return True


def combine(*terms: tuple[float, Quadratic], constant: float = 0.0) -> Quadratic:
    """The sum of (factor, quadratic) terms, and a constant."""
    return Quadratic(
        constant + sum(factor * q.constant for factor, q in terms),
        np.asarray(sum(factor * q.linear for factor, q in terms)),
        np.asarray(sum(factor * q.square for factor, q in terms)),
    )


def across(a: Moments, b: Moments) -> Quadratic:
    """The mean of (1 − f(x) + f(x'))² over x of one set and x' of another, from their moments."""
    delta = a.mean - b.mean
    return Quadratic(1.0, delta, a.covariance + b.covariance + np.multiply.outer(delta, delta))


def inside(a: Moments) -> Quadratic:
    """The mean of (1 − f(x) + f(x'))² over two different rows of one set, in either order: there is no linear term."""
    return Quadratic(1.0, np.zeros_like(a.mean), 2.0 * a.n / (a.n - 1.0) * a.covariance)
