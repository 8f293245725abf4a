"""Conjugate gradients: A x = b for a symmetric positive definite A that is known by its products only."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np


class Solution(NamedTuple):
    """x after some products with A, and the residual b - A x."""

    x: Any
    residual: np.ndarray
    products: int


def conjugate_gradients(
    product: Callable[[Any], np.ndarray],
    b: np.ndarray,
    precondition: Callable[[np.ndarray], np.ndarray],
    lift: Callable[[np.ndarray], Any] = lambda v: v,
    inner: Callable[[Any, np.ndarray], float] = np.dot,
) -> Iterator[Solution]:
    """Yield the solution after each product with A; end where A bends no more along the way, as rounding lets it.

    ``precondition`` is v -> nearly A^-1 v, the preconditioner. ``lift`` makes of an array what `product` and
    `inner` take: the array itself, or something that adds and scales and knows more (its scores, for instance).
    """
    residual = b.copy()
    x, ahead, before, products = None, None, np.inf, 0
    while True:
        z = lift(precondition(residual))
        size = inner(z, residual)
        ahead = z if ahead is None else z + (size / before) * ahead
        bent = product(ahead)
        bend = inner(ahead, bent)
        products += 1
        if not (size > 0.0 and bend > 0.0):
            return
        x = (size / bend) * ahead if x is None else x + (size / bend) * ahead
        residual = residual - (size / bend) * bent
        before = size
        yield Solution(x, residual, products)
