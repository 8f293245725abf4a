"""min_w (1 - w·δ)² + w·S·w + (alpha/2) w·C·w + (smooth/2) w·CP·w, in closed form; C is what coefficients cost."""

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from auclid.additive._penalty import Penalty, Terms
from auclid.solvers.closed_form import solve_spectral

LARGE = 400
"""Coefficients from which a path of penalties is solved with factors of half the digits, which take half the time."""

CORRECTIONS = 6
"""Times that such a solution is mended, at the most."""

EXACT = 1e-6
"""What may be left of δ then, in its units."""


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
    A, P = S.copy(), terms.P.tocoo()
    each = np.broadcast_to(np.asarray(cost, dtype=np.float64), len(S))
    A[P.row, P.col] += 0.5 * penalty.smooth * each[P.row] * P.data
    A[np.diag_indices_from(A)] += 0.5 * penalty.alpha * each
    return A


def direction(S: np.ndarray, delta: np.ndarray, terms: Terms, penalty: Penalty) -> np.ndarray:
    """u = (S + (smooth/2) CP + (alpha/2) C)^-1 δ, to which the minimiser is parallel."""
    return _solved(penalised(S, delta, terms, penalty), delta)


def directions(
    S: np.ndarray,
    delta: np.ndarray,
    terms: Terms,
    penalties: Sequence[Penalty],
    solution_cache: dict[Penalty, np.ndarray] | None = None,
) -> np.ndarray:
    """The `direction` of each penalty, a column each; those that differ in their focus share their first solution.

    ``solution_cache``: solutions without a focus that are known; those that are found are added.
    """
    solution_cache = {} if solution_cache is None else solution_cache
    coarse = S.astype(np.float32) if len(S) >= LARGE and len(penalties) > 1 else S
    out = []
    for penalty in penalties:
        plain = penalty._replace(focus=0.0)
        if plain not in solution_cache:
            solution_cache[plain] = _mended(S, coarse, delta, terms, plain, 1.0)
        u = solution_cache[plain]
        if penalty.focus:
            u = _mended(S, coarse, delta, terms, penalty, terms.cost(u, S, penalty.focus))
        out.append(u)
    return np.stack(out, axis=1)


def _mended(
    S: np.ndarray, coarse: np.ndarray, delta: np.ndarray, terms: Terms, penalty: Penalty, cost: np.ndarray | float
) -> np.ndarray:
    """A^-1 δ from a factor of ``coarse``, which is S with fewer digits, by iterative refinement.

    Where that does not get near, A is not far from singular, and factored with all digits.
    """
    if coarse is S:
        return _solved(_with_cost(S, terms, penalty, cost), delta)
    try:
        factor = linalg.cho_factor(
            _with_cost(coarse, terms, penalty, cost).T, lower=True, overwrite_a=True, check_finite=False
        )
    except linalg.LinAlgError:
        return _solved(_with_cost(S, terms, penalty, cost), delta)
    u, rest, size = np.zeros_like(delta), delta, float(np.linalg.norm(delta))
    for _ in range(CORRECTIONS):
        left = float(np.linalg.norm(rest))
        if left <= EXACT * size:
            return u
        u = u + left * linalg.cho_solve(factor, (rest / left).astype(np.float32), check_finite=False)
        rest = delta - S @ u - cost * (0.5 * penalty.smooth * (terms.P @ u) + 0.5 * penalty.alpha * u)
        if not np.linalg.norm(rest) < 0.5 * left:
            break
    return u if np.linalg.norm(rest) <= EXACT * size else _solved(_with_cost(S, terms, penalty, cost), delta)


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
