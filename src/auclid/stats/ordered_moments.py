"""What the square loss over ordered pairs needs of rows that come in batches: it adds up, in any order of batches."""

from dataclasses import dataclass

import numpy as np

from auclid.stats.moments import Moments


@dataclass(frozen=True)
class SquareSystem:
    """A = sum of zz', b = sum of z over pairs, z = x_upper - x_lower, and the weight of the pairs.

    Those of rows that are never compared with each other add up.
    """

    A: np.ndarray
    b: np.ndarray
    total: float

    @classmethod
    def empty(cls, d: int) -> "SquareSystem":
        """That of no pairs."""
        return cls(np.zeros((d, d)), np.zeros(d), 0.0)

    def __add__(self, other: "SquareSystem") -> "SquareSystem":
        return SquareSystem(self.A + other.A, self.b + other.b, self.total + other.total)

    def scaled(self, factor: float) -> "SquareSystem":
        """Multiply the weight of every pair by a factor."""
        return SquareSystem(factor * self.A, factor * self.b, factor * self.total)

    @property
    def scale(self) -> float:
        """The mean of a column's squared differences over pairs."""
        return float(np.trace(self.A)) / (max(1, len(self.b)) * self.total)

    def quadratic(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """H and c of the objective 1/2 w'Hw - c'w."""
        H = self.A * (2.0 / self.total)
        H[np.diag_indices_from(H)] += alpha
        return H, self.b * (2.0 / self.total)


@dataclass(frozen=True)
class OrderedMoments:
    """The moments of each level of rows that are all comparable, and the system of rows in groups that came whole."""

    levels: np.ndarray
    """The levels, ascending."""
    moments: list[Moments]
    """Of each level, the moments of its rows."""
    grouped: SquareSystem

    @classmethod
    def empty(cls, d: int) -> "OrderedMoments":
        """Nothing seen."""
        return cls(np.zeros(0), [], SquareSystem.empty(d))

    def __add__(self, other: "OrderedMoments") -> "OrderedMoments":
        levels = np.union1d(self.levels, other.levels)
        found: dict[float, Moments] = dict(zip(self.levels.tolist(), self.moments, strict=True))
        for level, moments in zip(other.levels.tolist(), other.moments, strict=True):
            found[level] = found[level] + moments if level in found else moments
        return OrderedMoments(levels, [found[level] for level in levels.tolist()], self.grouped + other.grouped)

    def system(self) -> SquareSystem:
        """A, b and the weight of all pairs: A = N S - sum of N_l S_l, with S the scatter of all and of each level."""
        if not self.moments:
            return self.grouped
        mass = np.array([each.n for each in self.moments])
        mean = np.array([each.mean for each in self.moments])
        centre = mass @ mean / mass.sum() if mass.any() else np.zeros(mean.shape[1])
        rest = mean - centre
        within = sum(((mass.sum() - each.n) * each.scatter for each in self.moments), np.zeros_like(self.grouped.A))
        A = within + mass.sum() * (rest.T @ (mass[:, None] * rest))
        below = np.cumsum(mass) - mass
        b = (mass * (below - (mass.sum() - mass - below))) @ rest
        return self.grouped + SquareSystem(A, b, float(mass @ below))
