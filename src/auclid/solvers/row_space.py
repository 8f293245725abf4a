"""Rows of more columns than there are rows, seen in as many coordinates as rows."""

import numpy as np
from scipy import linalg


def project_to_row_space(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Z, V) with X = Z Vᵀ and VᵀV = I: n coordinates in place of d > n columns, and the way back.

    A weight vector u of the coordinates scores the rows as V u does, |V u| = |u|, and what a ridge has no use for is
    what lies outside the span: so a model with a ridge may be learnt on Z, and its weights are V u.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.solvers.row_space import project_to_row_space
    >>> Z, V = project_to_row_space(np.array([[1.0, 2.0, 2.0]]))
    >>> Z.shape, np.allclose(Z @ V.T, [[1.0, 2.0, 2.0]])
    ((1, 1), True)
    """
    Q, R = linalg.qr(X.T.astype(np.float64, copy=False), mode="economic", check_finite=False)
    return np.ascontiguousarray(R.T), Q
