"""min_w (1 - w·δ)² + w·S·w + (alpha/2) |w|² + (smooth/2) w·P·w, in closed form."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from auclid.solvers.closed_form import solve_spectral


class Penalty(NamedTuple):
    """Strengths of the ridge and of the roughness penalty."""

    alpha: float
    smooth: float


def penalised(S: np.ndarray, P: np.ndarray, penalty: Penalty) -> np.ndarray:
    """S + (smooth/2) P + (alpha/2) I"""
    A = S + (0.5 * penalty.smooth) * P
    A[np.diag_indices_from(A)] += 0.5 * penalty.alpha
    return A


def direction(S: np.ndarray, delta: np.ndarray, P: np.ndarray, penalty: Penalty) -> np.ndarray:
    """u = (S + (smooth/2) P + (alpha/2) I)^-1 δ, to which the minimiser is parallel."""
    A = penalised(S, P, penalty)
    try:
        factor = linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return solve_spectral(penalised(S, P, penalty), delta)
    return linalg.cho_solve(factor, delta, check_finite=False)


def minimiser(S: np.ndarray, delta: np.ndarray, P: np.ndarray, penalty: Penalty) -> np.ndarray:
    """The weights themselves: u / (1 + u·δ), by Sherman and Morrison's formula."""
    if not len(delta):
        return np.zeros(0)
    u = direction(S, delta, P, penalty)
    return u / (1.0 + u @ delta)
