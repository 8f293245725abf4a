"""The matrix of the Gaussian kernel between rows: one triangle of it, since no solver reads the other."""

import numpy as np

from auclid.data import row_squared_norms

ROWS = 64
"""Rows of the matrix that are made at once: they stay in the processor's cache."""

LOG2E = 1.4426950408889634

HUGE = 1e300
"""Squares from which sums of them may overflow."""


def gaussian_matrix(X: np.ndarray, gamma: float) -> np.ndarray:
    """exp(-gamma |x_i - x_j|²) where j ≥ i, by way of powers of two; below the diagonal, not to be read.

    Rows are measured from their mean: a distance is a difference of large numbers. NaN where one is beyond floating
    point.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.pairwise._matrix import gaussian_matrix
    >>> K = gaussian_matrix(np.array([[0.0], [1.0], [2.0]]), 0.5)
    >>> bool(np.allclose(K[0], np.exp([0.0, -0.5, -2.0])))
    True
    """
    n = len(X)
    Z = X - X.mean(axis=0)
    Z *= np.sqrt(gamma * LOG2E)
    K, double, lengths = np.zeros((n, n)), 2.0 * Z.T, row_squared_norms(Z)
    for start in range(0, n, ROWS):
        part = slice(start, start + ROWS)
        powers = Z[part] @ double[:, start:]
        powers -= lengths[part, None]
        powers -= lengths[start:]
        np.minimum(powers, 0.0, out=powers)
        K[part, start:] = np.exp2(powers, out=powers)
    K[np.diag_indices(n)] = np.where(lengths < HUGE, 1.0, np.nan)
    return K
