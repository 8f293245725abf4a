"""Cyclic coordinate descent: min_w 1/2 w.A.w - b.w + l1 |w|_1, and w >= 0 where that is asked for."""

from collections.abc import Iterator

import numpy as np

from auclid._generic import kernel
from auclid.solvers.iteration import Iterate


def coordinate_descent(A: np.ndarray, b: np.ndarray, l1: float, positive: bool) -> Iterator[Iterate]:
    """Yield the weights after each pass over the columns, with their relative change in it."""
    w, gradient = np.zeros_like(b), -b
    while True:
        yield Iterate(w, descend(A, gradient, l1, positive, w))


@kernel
def descend(A, gradient, l1, positive, w):
    """One pass of cyclic coordinate descent; changes w and its gradient A w - b, returns the relative change."""
    change, size = 0.0, 0.0
    for k in range(w.shape[0]):
        if A[k, k] <= 0.0:
            continue
        target = w[k] - gradient[k] / A[k, k]
        length = abs(target) - l1 / A[k, k]
        new = (length if target > 0.0 else -length) if length > 0.0 else 0.0
        if positive and new < 0.0:
            new = 0.0
        step = new - w[k]
        if step != 0.0:
            for j in range(w.shape[0]):
                gradient[j] += step * A[k, j]
            w[k] = new
        scale = np.sqrt(A[k, k])
        change = max(change, abs(step) * scale)
        size = max(size, abs(new) * scale)
    return change / size if size > 0.0 else 0.0
