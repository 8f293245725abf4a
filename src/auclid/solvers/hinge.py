"""The hinge over all pairs, by a continuation of smooth losses that come ever nearer to it (Nesterov smoothing)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from auclid.solvers.all_pairs import PairPoint, SquaredHinges


class Gap(NamedTuple):
    """How far an objective may be above the optimum, and a lower bound of the optimum."""

    gap: float
    bound: float


def smooth_hinge(width: float) -> tuple[tuple[float, float], ...]:
    """The hinge with a parabola of a width in place of its kink, as a difference of squared hinges."""
    return (0.5 / width, 1.0), (-0.5 / width, 1.0 - width)


def narrower(width: float, tol: float, gap: Gap) -> float:
    """The next width: the gap falls about as the width squared."""
    ratio = np.sqrt(0.5 * tol * max(gap.bound, 0.0) / gap.gap)
    return width * float(np.clip(ratio, 0.1, 0.5))


class SmoothHingePoint(PairPoint):
    """A point of the smoothed hinge, with the dual's bound on how far the hinge itself is from its optimum."""

    objective: "SmoothHinge"

    @cached_property
    def hinge_value(self) -> float:
        """The objective with the hinge itself."""
        return self.active[0][1].linear_value() + 0.5 * self.objective.alpha * self.square

    @cached_property
    def gap(self) -> Gap:
        """How far the hinge's objective may be above its optimum."""
        alpha, (_, outer), (_, inner) = self.objective.alpha, *self.active
        dual = self.w - self.gradient / alpha
        slopes = (outer.linear_value() - inner.linear_value()) / self.objective.width
        bound = slopes - 0.5 * alpha * self.objective.space.norm(dual) ** 2
        return Gap(max(self.hinge_value - bound, 0.0), bound)

    @property
    def certified(self) -> bool:
        """Whether the objective is within ``tol`` of the optimum. w = 0 ranks nothing, so it never is."""
        near = self.gap.gap <= self.objective.tol * self.gap.bound + 1e-12
        return near and (self.square > 0.0 or self.norm == 0.0)


@dataclass(frozen=True, eq=False)
class SmoothHinge(SquaredHinges):
    """((1-m)_+^2 - (1-width-m)_+^2) / (2 width): the hinge, with a parabola in place of its kink.

    It lies below the hinge by width/2 at the most, and its slopes a_ij in [0, 1] are a point of the dual

        max over 0 <= a <= 1 of  mean a_ij - |mean a_ij z_ij|^2 / (2 alpha),

    so each w comes with a bound on how far its objective is above the optimum. The width falls until that is
    at most ``tol`` times the optimum.
    """

    hinges: tuple[tuple[float, float], ...] = smooth_hinge(1.0)
    width: float = 1.0
    point_class: ClassVar[type[PairPoint]] = SmoothHingePoint

    def narrowed(self, width: float) -> Self:
        """The same with a narrower parabola."""
        return replace(self, width=width, hinges=smooth_hinge(width))

    def target(self, point: Any) -> float:
        """The gradient's part of the gap, |g|^2 / (2 alpha), shall be small against the whole."""
        return float(np.sqrt(0.4 * self.alpha * point.gap.gap))

    def reached(self, point: Any) -> bool:
        """Whether the gap is small enough, or is mostly that between this loss and the hinge."""
        return point.certified or point.norm <= self.target(point)

    def refined(self, point: Any) -> Self | None:
        """A narrower parabola: the gap falls about as the width squared."""
        return None if point.certified else self.narrowed(narrower(self.width, self.tol, point.gap))

    def sample(self) -> Self | None:
        """The same for an eighth of the rows, to the same tolerance."""
        sample = super().sample()
        return None if sample is None else replace(sample, tol=self.tol)

    def resumed(self, sample: Self) -> Self:
        """Go on from a width near the one that was narrow enough for a sample."""
        return self.narrowed(min(1.0, 2.0 * sample.width))

    def published_value(self, point: Any) -> float:
        """The objective with the hinge itself."""
        return float(point.hinge_value)

    def relative_gap(self, point: Any) -> float:
        """How far, at most, the hinge's objective is above its optimum, as a share of the objective."""
        return min(1.0, point.gap.gap / point.hinge_value)
