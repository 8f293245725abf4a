"""min_w (1 - w·δ)² + w·S·w + (alpha/2) w·C·w + (smooth/2) w·CP·w, in closed form; C is what coefficients cost."""

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from auclid.additive._penalty import Penalty, Terms
from auclid.solvers.closed_form import solve_spectral


def penalised(S: np.ndarray, delta: np.ndarray, terms: Terms, penalty: Penalty) -> np.ndarray:
    """S + (smooth/2) CP + (alpha/2) C

    C is the identity, or with a focus, what a first solution without one says of the columns: those that add little
    are made dearer (the adaptive ridge).
    """
    if not penalty.focus:
        return _with_cost(S, terms, penalty, 1.0)
    first = direction(S, delta, terms, penalty._replace(focus=0.0))
    return _with_cost(S, terms, penalty, terms.cost(first, S, penalty.focus))


def _with_cost(S: np.ndarray, terms: Terms, penalty: Penalty, cost: np.ndarray | float) -> np.ndarray:
    A = terms.P * (0.5 * penalty.smooth * np.reshape(cost, (-1, 1)))
    A += S
    A[np.diag_indices_from(A)] += 0.5 * penalty.alpha * cost
    return A


def direction(S: np.ndarray, delta: np.ndarray, terms: Terms, penalty: Penalty) -> np.ndarray:
    """u = (S + (smooth/2) CP + (alpha/2) C)^-1 δ, to which the minimiser is parallel."""
    return _solved(penalised(S, delta, terms, penalty), delta)


def directions(S: np.ndarray, delta: np.ndarray, terms: Terms, penalties: Sequence[Penalty]) -> np.ndarray:
    """The `direction` of each penalty, a column each; those that differ in their focus share their first solution."""
    firsts: dict[Penalty, np.ndarray] = {}
    out = []
    for penalty in penalties:
        plain = penalty._replace(focus=0.0)
        if plain not in firsts:
            firsts[plain] = direction(S, delta, terms, plain)
        u = firsts[plain]
        if penalty.focus:
            u = _solved(_with_cost(S, terms, penalty, terms.cost(u, S, penalty.focus)), delta)
        out.append(u)
    return np.stack(out, axis=1)


def _solved(A: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """A^-1 δ of a symmetric A, whose upper triangle is used up: it may be large."""
    diagonal = A.diagonal().copy()
    try:
        factor = linalg.cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        A = np.tril(A, -1)
        A += A.T
        A[np.diag_indices_from(A)] = diagonal
        return solve_spectral(A, delta)
    return linalg.cho_solve(factor, delta, check_finite=False)


def minimiser(S: np.ndarray, delta: np.ndarray, terms: Terms, penalty: Penalty) -> np.ndarray:
    """The weights themselves: u / (1 + u·δ), by Sherman and Morrison's formula."""
    if not len(delta):
        return np.zeros(0)
    u = direction(S, delta, terms, penalty)
    return u / (1.0 + u @ delta)
