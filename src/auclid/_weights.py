"""Weights of rows, of which only the ratios count."""

import numpy as np


def tamed(weight: np.ndarray) -> np.ndarray:
    """Weights, or, where the largest is far from 1, a power of two times them: sums and products stay finite.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid._weights import tamed
    >>> tamed(np.array([1.0, 2.0])), tamed(np.array([1e200, 2e200])).round(2)
    (array([1., 2.]), array([0.33, 0.65]))
    """
    largest = weight.max(initial=0.0)
    if 1e-100 < largest < 1e100 or not largest:
        return weight
    return np.ldexp(weight, -int(np.frexp(largest)[1]))
