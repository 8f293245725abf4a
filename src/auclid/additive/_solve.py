"""min_w (1 - w·δ)² + w·S·w + (alpha/2) w·C·w + (smooth/2) w·CP·w, in closed form; C is what coefficients cost."""

import numpy as np
from scipy import linalg

from auclid.additive._penalty import Penalty, Terms
from auclid.solvers.closed_form import solve_spectral


def penalised(S: np.ndarray, delta: np.ndarray, terms: Terms, penalty: Penalty) -> np.ndarray:
    """S + (smooth/2) CP + (alpha/2) C

    C is the identity, or with a focus, what a first solution without one says of the columns: those that add little
    are made dearer (the adaptive ridge).
    """
    A = S + (0.5 * penalty.smooth) * terms.P
    A[np.diag_indices_from(A)] += 0.5 * penalty.alpha
    if not penalty.focus:
        return A
    cost = terms.cost(_solved(A, delta), S, penalty.focus)
    A = S + (0.5 * penalty.smooth) * cost[:, None] * terms.P
    A[np.diag_indices_from(A)] += 0.5 * penalty.alpha * cost
    return A


def direction(S: np.ndarray, delta: np.ndarray, terms: Terms, penalty: Penalty) -> np.ndarray:
    """u = (S + (smooth/2) CP + (alpha/2) C)^-1 δ, to which the minimiser is parallel."""
    return _solved(penalised(S, delta, terms, penalty), delta)


def _solved(A: np.ndarray, delta: np.ndarray) -> np.ndarray:
    try:
        factor = linalg.cho_factor(A, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return solve_spectral(A, delta)
    return linalg.cho_solve(factor, delta, check_finite=False)


def minimiser(S: np.ndarray, delta: np.ndarray, terms: Terms, penalty: Penalty) -> np.ndarray:
    """The weights themselves: u / (1 + u·δ), by Sherman and Morrison's formula."""
    if not len(delta):
        return np.zeros(0)
    u = direction(S, delta, terms, penalty)
    return u / (1.0 + u @ delta)
