"""The duality gap of an approximate saddle point of the square loss, from class moments."""

from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from auclid.stats.moments import ClassMoments

NEGLIGIBLE = 1e-12
"""Eigenvalues of a covariance below this share of the largest count as zero."""


class SaddleProblem(NamedTuple):
    """The saddle function f(w, a, b, dual) of SOLAM, and its constraints |w| <= radius and |dual| <= dual_bound.

    With p the share of positives, means and covariances of both classes, and the penalty alpha, f is p(1-p) times

        w.S w + (w.mu+ - a)^2 + (w.mu- - b)^2 - 2 (1 + dual) w.delta - dual^2 + alpha/2 |w|^2,

    where S is the sum of the covariances and delta = mu+ - mu-.
    """

    moments: ClassMoments
    alpha: float
    radius: float
    dual_bound: float

    @property
    def _share(self) -> float:
        """p (1 - p)"""
        pos, neg = self.moments.pos.n, self.moments.neg.n
        return float(pos * neg / (pos + neg) ** 2)

    def highest(self, w: np.ndarray, a: float, b: float) -> float:
        """The maximum of f over the dual variable."""
        moments, apart = self.moments, float(w @ self.moments.delta)
        dual = float(np.clip(-apart, -self.dual_bound, self.dual_bound))
        misses = (w @ moments.pos.mean - a) ** 2 + (w @ moments.neg.mean - b) ** 2
        spread = w @ moments.within @ w + 0.5 * self.alpha * w @ w
        return self._share * float(spread + misses - 2.0 * (1.0 + dual) * apart - dual**2)

    def lowest(self, dual: float) -> float:
        """The minimum of f over (w, a, b), minus infinity if there is none.

        The best a and b are w.mu+ and w.mu-, which keep to their bounds for every |w| <= radius.
        """
        values, vectors = linalg.eigh(self.moments.within)
        values = np.maximum(values, 0.0) + 0.5 * self.alpha
        b = (1.0 + dual) * (vectors.T @ self.moments.delta)
        null = values <= NEGLIGIBLE * max(values[-1], 1e-300)
        if np.isinf(self.radius) and np.linalg.norm(b[null]) > NEGLIGIBLE * np.linalg.norm(b):
            return -np.inf
        w = b / (values + self._multiplier(np.where(null, 0.0, values), b))
        w[~np.isfinite(w)] = 0.0
        return self._share * float(values @ w**2 - 2.0 * b @ w - dual**2)

    def _multiplier(self, values: np.ndarray, b: np.ndarray) -> float:
        """The multiplier of |w| <= radius at the minimum of w.values w - 2 b.w: zero if the bound is idle."""

        def excess(multiplier: float) -> float:
            with np.errstate(divide="ignore", invalid="ignore"):
                w = np.where(b == 0.0, 0.0, b / (values + multiplier))
            return float(np.linalg.norm(w)) - self.radius

        if excess(0.0) <= 0.0:
            return 0.0
        high = float(np.linalg.norm(b)) / self.radius
        return float(optimize.brentq(excess, 0.0 if np.isfinite(excess(0.0)) else 1e-16 * high, high, xtol=1e-300))


def duality_gap(problem: SaddleProblem, w: np.ndarray, a: float, b: float, dual: float) -> float:
    """max over the dual variable of f(w, a, b, .) minus min over (w, a, b) of f(., dual): zero at a saddle point."""
    return problem.highest(w, a, b) - problem.lowest(dual)
