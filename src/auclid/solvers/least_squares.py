"""Which way to the least squares of all pairs: moments and a d x d system, or products with X alone."""

from typing import NamedTuple

import numpy as np

from auclid.solvers.closed_form import minimiser, quadratic
from auclid.solvers.coordinate import coordinate_descent
from auclid.solvers.iteration import IterationCallback, Solution, at_most, run
from auclid.solvers.products import linear_iterates, pair_quadratic, proximal_iterates
from auclid.stats.labelled import LabelledDataset, class_moments_of
from auclid.stats.moments import ClassMoments

CHEAP = 3000
"""Columns up to which forming and factoring moments beats products with X."""


class LeastSquares(NamedTuple):
    """Settings: mean (1 - w.z)^2 over all pairs + alpha/2 |w|^2 + l1 |w|_1, over w >= 0 if ``positive``."""

    alpha: float
    l1: float = 0.0
    positive: bool = False
    tol: float = 1e-6
    max_iter: int = 1000

    @property
    def smooth(self) -> bool:
        """Whether the objective is a plain quadratic."""
        return self.l1 == 0.0 and not self.positive

    def from_moments(self, moments: ClassMoments, rounds: IterationCallback | None = None) -> Solution:
        """The minimiser from the moments of both classes."""
        if self.smooth:
            return Solution(minimiser(moments, self.alpha))
        A, b = quadratic(moments, self.alpha)
        iterates = coordinate_descent(A, b, float(self.l1), self.positive)
        return run(iterates, np.zeros_like(b), self.tol, rounds or at_most(self.max_iter))

    def from_products(self, rows: LabelledDataset, rounds: IterationCallback | None = None) -> Solution:
        """The minimiser by products with the rows."""
        problem = pair_quadratic(rows.labelled_table(), class_moments_of(rows, full=False), float(self.alpha))
        iterates = linear_iterates(problem) if self.smooth else proximal_iterates(problem, self.l1, self.positive)
        return run(iterates, np.zeros_like(problem.b), self.tol, rounds or at_most(self.max_iter))


def moments_are_cheaper(width: int) -> bool:
    """Whether moments are the cheaper way for so many columns."""
    return width <= CHEAP
