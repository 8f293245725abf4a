"""Quadratic risks of labelled and unlabelled rows: SAMULT's, and PNU-AUC's by way of the class prior.

A family of risks says, for moments of three sets and a weight of the unlabelled rows (0: none), which quadratic is to
be minimised. `auclid.solvers.unlabeled_choice` chooses among weights.
"""

from typing import NamedTuple, Protocol

from auclid.solvers.risks import Quadratic, across, combine, inside
from auclid.stats.sets import Sets

CURVATURE = 0.75
"""The share of the supervised risk's curvature that a direction must keep: where none is left, w runs off along it."""


class Family(Protocol):
    """What a choice of weights needs to know of a family of risks."""

    @property
    def grid(self) -> tuple[float, ...]:
        """Weights that "auto" tries, by size."""

    @property
    def caution(self) -> float:
        """Standard errors by which a weight must beat 0."""

    def risk(self, sets: Sets, weight: float) -> Quadratic:
        """The risk, for sets that hold all rows it needs."""

    def usable(self, sets: Sets, weight: float) -> Quadratic | None:
        """The risk, or None where it should not be minimised."""


class Samult(NamedTuple):
    """(1 − u) R_PN + u (R_PU + R_NU − ½): convex for every weight u in [0, 1], no class prior needed."""

    grid: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5, 1.0)
    caution: float = 0.5

    def risk(self, sets: Sets, weight: float) -> Quadratic:
        """The risk, for sets that hold all rows it needs."""
        supervised = across(sets.pos, sets.neg)
        if weight == 0.0:
            return supervised
        both = (weight, across(sets.pos, sets.unl)), (weight, across(sets.unl, sets.neg))
        return combine((1.0 - weight, supervised), *both, constant=-0.5 * weight)

    def usable(self, sets: Sets, weight: float) -> Quadratic:
        """The risk: it always has a minimum."""
        return self.risk(sets, weight)


class PNU(NamedTuple):
    """(1 − η) R_PN + η R_PU* for η ≥ 0, (1 + η) R_PN − η R_NU* for η < 0; differences of risks, perhaps not convex."""

    prior: float
    grid: tuple[float, ...] = (0.0, 0.1, -0.1, 0.25, -0.25, 0.5, -0.5)
    caution: float = 1.0  # differences of estimated risks are noisy

    def risk(self, sets: Sets, weight: float) -> Quadratic:
        """The risk, for sets that hold all rows it needs."""
        if weight == 0.0:
            return across(sets.pos, sets.neg)
        if weight > 0.0:
            mixed, own, share = across(sets.pos, sets.unl), inside(sets.pos), self.prior
        else:
            mixed, own, share = across(sets.unl, sets.neg), inside(sets.neg), 1.0 - self.prior
        size = abs(weight)
        terms = [(size / (1.0 - share), mixed), (-size * share / (1.0 - share), own)]
        if size < 1.0:
            terms.append((1.0 - size, across(sets.pos, sets.neg)))
        return combine(*terms)

    def usable(self, sets: Sets, weight: float) -> Quadratic | None:
        """The risk, or None where pairs are missing or it is not `steady`."""
        if weight == 0.0:
            return self.risk(sets, weight)
        if (sets.pos if weight > 0.0 else sets.neg).n < 2:
            return None
        risk = self.risk(sets, weight)
        return risk if self.steady(sets, risk) else None

    def steady(self, sets: Sets, risk: Quadratic) -> bool:
        """Whether it is convex and, along every direction, keeps its share of the supervised risk's curvature."""
        if not sets.both_labelled:
            return risk.convex()
        return combine((1.0, risk), (-CURVATURE, across(sets.pos, sets.neg))).convex()

    def steady_share(self, sets: Sets, weight: float) -> float:
        """The largest share of the weight, to one part in a thousand, at which the risk is steady."""
        low, high = 0.0, 1.0
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            if self.steady(sets, self.risk(sets, middle * weight)):
                low = middle
            else:
                high = middle
        return low
