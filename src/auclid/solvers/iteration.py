"""Iterating to a tolerance: what iterative solvers yield, and the loop that counts and stops them."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

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


def at_most(count: int) -> IterationCallback:
    """So many rounds, watched by nobody."""
    return lambda weights: range(count)


def run(iterates: Iterator[Iterate], start: np.ndarray, tol: float, rounds: IterationCallback) -> Solution:
    """Iterate from ``start`` until the error is ``tol`` at the most, nothing is left to do, or ``rounds`` ends."""
    found, n_iter, converged = Iterate(start, np.inf), 0, False
    for _ in rounds(lambda: found.w):
        step = next(iterates, None)
        if step is None:
            converged = True
            break
        found, n_iter = step, n_iter + 1
        if found.error <= tol:
            converged = True
            break
    return Solution(found.w, max(1, n_iter), converged)
