"""Goals of Newton's method for RankSVM: where to stop, and by which smooth losses to come near the hinge."""

from typing import NamedTuple

import numpy as np


class SquaredHinge(NamedTuple):
    """(1 - m)_+^2, until the gradient is ``tol`` times as long as at w = 0."""

    tol: float

    @property
    def parts(self):
        """One squared hinge."""
        return ((1.0, 1.0),)

    def length(self, solver):
        """How short the gradient must become."""
        return self.tol * solver.steepest

    def settled(self, solver):
        """Whether it is."""
        return solver.point.norm <= self.length(solver)

    def refined(self, solver):
        """No other loss follows."""

    def coarse(self):
        """The same for a sample of the rows, which need not be solved beyond what it knows."""
        return SquaredHinge(max(self.tol, 1e-2))

    def after(self, guide):
        """What is left to do on all rows once a sample has reached its goal."""
        return self

    def objective(self, point):
        """The value of the objective."""
        return point.value


class SmoothHinge(NamedTuple):
    """((1-m)_+^2 - (1-width-m)_+^2) / (2 width): the hinge, with a parabola in place of its kink.

    It lies below the hinge by width/2 at the most, and its slopes a_ij in [0, 1] are a point of the dual

        max over 0 <= a <= 1 of  mean a_ij - |mean a_ij z_ij|^2 / (2 alpha),

    so each w comes with a bound on how far its objective is above the optimum. The width falls until that is
    at most ``tol`` times the optimum.
    """

    tol: float
    width: float = 1.0

    @property
    def parts(self):
        """The difference of two squared hinges."""
        return ((0.5 / self.width, 1.0), (-0.5 / self.width, 1.0 - self.width))

    def length(self, solver):
        """The gradient's part of the gap, |g|^2 / (2 alpha), shall be small against the whole."""
        return float(np.sqrt(0.4 * solver.problem.alpha * self.gap(solver.point)[0]))

    def settled(self, solver):
        """Whether the gap is small enough, or is mostly that between this loss and the hinge."""
        return self.certified(solver.point) or solver.point.norm <= self.length(solver)

    def refined(self, solver):
        """A narrower parabola: the gap falls about as the width squared."""
        if self.certified(solver.point):
            return None
        gap, bound = self.gap(solver.point)
        ratio = np.sqrt(0.5 * self.tol * max(bound, 0.0) / gap)
        return self._replace(width=self.width * float(np.clip(ratio, 0.1, 0.5)))

    def coarse(self):
        """A sample of the rows is asked the same."""
        return self

    def after(self, guide):
        """Go on from a width near the one that was narrow enough for a sample."""
        return self._replace(width=min(1.0, 2.0 * guide.width))

    def certified(self, point):
        """Whether the objective is within ``tol`` of the optimum. w = 0 ranks nothing, so it never is."""
        gap, bound = self.gap(point)
        return gap <= self.tol * bound + 1e-12 and (point.square > 0.0 or point.norm == 0.0)

    def gap(self, point):
        """How far the objective may be above the optimum, and a lower bound of the optimum."""
        problem = point.problem
        (_, hinge), (_, inner) = point.cuts
        dual = point.w - point.gradient / problem.alpha
        slopes = (hinge.linear_value() - inner.linear_value()) / self.width
        bound = slopes - 0.5 * problem.alpha * problem.space.norm(dual) ** 2
        return max(self.objective(point) - bound, 0.0), bound

    def objective(self, point):
        """The value of the objective with the hinge itself."""
        return point.cuts[0][1].linear_value() + 0.5 * point.problem.alpha * point.square


GOALS = {"squared_hinge": SquaredHinge, "hinge": SmoothHinge}
"""By the names RankSVM takes."""
