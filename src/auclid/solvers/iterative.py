"""Iterative solvers of linear systems and quadratics: conjugate gradients, Lanczos, coordinate descent.

`run` counts iterations and stops them at a tolerance.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from auclid._generic import kernel

IterationCallback = Callable[[Callable[[], np.ndarray]], Iterable[int]]
"""Counts iterations, and may stop them; it is given a function that tells the weights so far."""


class Iterate(NamedTuple):
    """Weights, and how far they are from the answer: a relative residual or a relative change."""

    w: np.ndarray
    error: float


class Solution(NamedTuple):
    """The last weights, the iterations they took, and whether these came to an end by themselves."""

    w: np.ndarray
    n_iter: int = 1
    converged: bool = True


POWER_STEPS = 30
"""Steps of the power method."""


def largest_eigenvalue(product: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    """The largest eigenvalue of a positive semidefinite matrix, from below, by the power method."""
    v, value = np.random.default_rng(0).standard_normal(size), 0.0
    for _ in range(POWER_STEPS):
        v = product(v / max(float(np.linalg.norm(v)), 1e-300))
        value = float(np.linalg.norm(v))
    return value


def at_most(count: int) -> IterationCallback:
    """At most ``count`` iterations, without callbacks."""
    return lambda weights: range(count)


def run(iterates: Iterator[Iterate], start: np.ndarray, tol: float, rounds: IterationCallback) -> Solution:
    """Iterate from ``start`` until the error is ``tol`` at the most, nothing is left to do, or ``rounds`` ends."""
    latest, n_iter, converged = Iterate(start, np.inf), 0, False
    for _ in rounds(lambda: latest.w):
        step = next(iterates, None)
        if step is None:
            converged = True
            break
        latest, n_iter = step, n_iter + 1
        if latest.error <= tol:
            converged = True
            break
    return Solution(latest.w, max(1, n_iter), converged)


class LinearSolution(NamedTuple):
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
) -> Iterator[LinearSolution]:
    """Yield the solution after each product with A; stop on non-positive curvature, as rounding causes it.

    ``precondition`` is v -> nearly A^-1 v, the preconditioner. ``lift`` makes of an array what `product` and
    `inner` take: the array itself, or something that adds and scales and knows more (its scores, for instance).
    """
    residual = b.copy()
    x, ahead, before, products = None, None, np.inf, 0
    while True:
        z = lift(precondition(residual))
        size = inner(z, residual)
        ahead = z if ahead is None else z + (size / before) * ahead
        image = product(ahead)
        curvature = inner(ahead, image)
        products += 1
        if not (size > 0.0 and curvature > 0.0):
            return
        x = (size / curvature) * ahead if x is None else x + (size / curvature) * ahead
        residual = residual - (size / curvature) * image
        before = size
        yield LinearSolution(x, residual, products)


def shifted_solutions(
    product: Callable[[np.ndarray], np.ndarray], b: np.ndarray, alphas: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """A column for each alpha: what minimises 1/2 w.(B + alpha I).w - b.w over the space of b, Bb, B²b and so on.

    The space is the same for every alpha, and ``most`` products make it. What it lacks of the minimiser is little for
    large alphas; how much, as a share of b, is returned too (the residual).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.solvers.iterative import shifted_solutions
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


def coordinate_descent(A: np.ndarray, b: np.ndarray, l1: float, positive: bool) -> Iterator[Iterate]:
    """Yield the weights after each pass over the columns, with their relative change in it."""
    w, gradient = np.zeros_like(b), -b
    while True:
        yield Iterate(w, descend(A, gradient, l1, positive, w))


@kernel
def descend(A: np.ndarray, gradient: np.ndarray, l1: float, positive: bool, w: np.ndarray) -> float:
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
