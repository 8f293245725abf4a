"""The square loss over all pairs is a quadratic: min_w 1/2 w.A.w - b.w, A = 2(S + dd') + alpha I, b = 2d.

Here d is the difference of the class means and S the sum of the class covariances, so class moments are all it takes.
"""

import numpy as np
from scipy import linalg

from auclid.stats.moments import ClassMoments


def quadratic(moments: ClassMoments, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """A and b of the objective, from class moments."""
    delta = moments.delta
    A = moments.within
    A += np.multiply.outer(delta, delta)
    A *= 2.0
    A[np.diag_indices_from(A)] += alpha
    return A, 2.0 * delta


def minimiser(moments: ClassMoments, alpha: float) -> np.ndarray:
    """The w of the least objective; for alpha = 0, the shortest one."""
    return solve_symmetric(*quadratic(moments, alpha), minimum_norm=alpha == 0.0)


def path(moments: ClassMoments, alphas: np.ndarray) -> np.ndarray:
    """One column a value of alpha: the direction of the minimiser (its length cannot change an AUC).

    For alpha > 0 that is (S + alpha/2 I)^-1 d, so one eigendecomposition of S serves all.
    """
    columns = np.zeros((len(moments.delta), len(alphas)))
    if not np.isfinite(np.trace(moments.within)):  # no alpha is better than another; whoever asked meets it in the fit
        return columns
    values, vectors = linalg.eigh(moments.within, driver="evd", check_finite=False)
    values = np.maximum(values, 0.0)
    inner = vectors.T @ moments.delta
    for k, alpha in enumerate(alphas):
        if alpha > 0.0:
            columns[:, k] = vectors @ (inner / (values + 0.5 * alpha))
        else:
            columns[:, k] = minimiser(moments, 0.0)
    return columns


def solve_symmetric(A: np.ndarray, b: np.ndarray, minimum_norm: bool = False) -> np.ndarray:
    """A^-1 b by Cholesky, columns scaled first; by eigenvalues where A is singular. An empty column gets no weight."""
    used = np.diag(A) != 0.0
    if not used.all():
        w = np.zeros_like(b)
        w[used] = solve_symmetric(A[np.ix_(used, used)], b[used], minimum_norm) if used.any() else 0.0
        return w
    scale = 1.0 / np.sqrt(np.diag(A))
    try:
        scaled = A * scale
        scaled *= scale[:, None]
        size = np.abs(scaled).sum(axis=0).max() if minimum_norm else 0.0
        factor = linalg.cholesky(scaled, lower=True, overwrite_a=True, check_finite=False)
        if not minimum_norm or linalg.lapack.dpocon(factor, size, uplo="L")[0] > 1e-12:
            return scale * linalg.cho_solve((factor, True), scale * b, check_finite=False)
    except linalg.LinAlgError:
        pass
    return solve_spectral(A, b)


def solve_spectral(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The minimum-norm solution of A w = b, directions within rounding of zero left out; NaN where A overflowed."""
    if not np.isfinite(np.trace(A)):
        return np.full_like(b, np.nan)
    values, vectors = linalg.eigh(A, driver="evd", check_finite=False)
    kept = values > values[-1] * len(b) * np.finfo(float).eps
    return vectors[:, kept] @ ((vectors[:, kept].T @ b) / values[kept])
