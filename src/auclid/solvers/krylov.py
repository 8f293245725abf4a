"""One Krylov space for many penalties: (B + alpha I) w = b for each alpha, by a few products with B (Lanczos)."""

from collections.abc import Callable

import numpy as np
from scipy import linalg


def shifted_solutions(
    product: Callable[[np.ndarray], np.ndarray], b: np.ndarray, alphas: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """A column for each alpha: what minimises 1/2 w.(B + alpha I).w - b.w over the space of b, Bb, B²b and so on.

    The space is the same for every alpha, and ``most`` products make it. What it lacks of the minimiser is little for
    large alphas; how much, as a share of b, is returned too (the residual).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.solvers.krylov import shifted_solutions
    >>> B, b = np.diag([1.0, 3.0]), np.array([2.0, 4.0])
    >>> W, residual = shifted_solutions(lambda v: B @ v, b, np.array([1.0, 0.0]), 2)
    >>> bool(np.allclose(W, [[1.0, 2.0], [1.0, 4.0 / 3.0]])), residual.round(6)
    (True, array([0., 0.]))
    """
    size = float(np.linalg.norm(b))
    if not 0.0 < size < np.inf:
        return np.zeros((len(b), len(alphas))), np.zeros(len(alphas))
    basis, diagonal, beside = [b / size], [], []
    while True:
        v = product(basis[-1])
        diagonal.append(float(basis[-1] @ v))
        for _ in range(2):  # rounding takes the vectors out of each other's right angles
            for u in basis:
                v -= (u @ v) * u
        length = float(np.linalg.norm(v))
        exhausted = not length > 1e-10 * abs(diagonal[0])
        if exhausted or len(basis) == most:
            break
        beside.append(length)
        basis.append(v / length)
    values, vectors = linalg.eigh_tridiagonal(np.array(diagonal), np.array(beside))
    shifted = np.maximum(values, 0.0)[:, None] + alphas
    inside = vectors @ (size * vectors[0][:, None] / np.where(shifted > 0.0, shifted, np.inf))
    residual = np.zeros(len(alphas)) if exhausted else length / size * np.abs(inside[-1])
    return np.stack(basis, axis=1) @ inside, residual
