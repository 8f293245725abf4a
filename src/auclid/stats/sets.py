"""What is known of negative, positive and unlabelled rows: moments and samples of each, which add up."""

from dataclasses import dataclass

import numpy as np

from auclid import _random
from auclid.data import Table
from auclid.stats.labelled import LabelledDataset, set_moments
from auclid.stats.moments import Moments, grouped_moments
from auclid.stats.samples import SetSamples

NEGATIVE, POSITIVE, UNLABELED = 0, 1, 2
"""Numbers of the three sets, as `grouped_moments` takes them."""


def members(sets: np.ndarray) -> list[np.ndarray]:
    """The numbers of the rows of each set."""
    return [np.flatnonzero(sets == number) for number in (NEGATIVE, POSITIVE, UNLABELED)]


@dataclass(frozen=True)
class Sets:
    """Moments of the negatives, the positives and the unlabelled rows: a commutative monoid under +."""

    neg: Moments
    pos: Moments
    unl: Moments

    def __add__(self, other: "Sets") -> "Sets":
        return Sets(self.neg + other.neg, self.pos + other.pos, self.unl + other.unl)

    @property
    def midpoint(self) -> np.ndarray:
        """Halfway between the class means; unlabelled rows stand in for a class without labelled ones."""
        lower, upper = (labelled if labelled.n else self.unl for labelled in (self.neg, self.pos))
        return 0.5 * (lower.mean + upper.mean)

    @property
    def both_labelled(self) -> bool:
        """Whether there are labelled rows of both classes."""
        return self.neg.n > 0.0 and self.pos.n > 0.0


@dataclass(frozen=True)
class SemiSupervisedStats:
    """All that is kept of the rows seen."""

    sets: Sets
    samples: SetSamples
    rng: np.random.Generator  # for the samples

    @classmethod
    def nothing(cls, d: int) -> "SemiSupervisedStats":
        """Before any row. Draws only thin out samples, so their seed is no parameter."""
        return cls(Sets(*[Moments.empty(d)] * 3), SetSamples(), np.random.default_rng(0))

    @classmethod
    def of(cls, rows: LabelledDataset) -> "SemiSupervisedStats":
        """All rows of a dataset; of rows in parts, in one pass for the moments and one for a sample of each set."""
        if not rows.partitioned:
            return cls.nothing(rows.width).after(rows.table(), *rows.labels())
        return cls(Sets(*set_moments(rows, 3)), SetSamples.from_dataset(rows), np.random.default_rng(0))

    def after(self, table: Table, sets: np.ndarray, count: np.ndarray | None = None) -> "SemiSupervisedStats":
        """With the rows of a table, each of its set; a row may count more or less than one."""
        rng, rows = _random.copy_generator(self.rng), members(sets)
        if count is None:
            samples = self.samples.after(table, rows, rng)
        else:
            samples = self.samples.after_weighted(table, rows, count, rng)
        return SemiSupervisedStats(self.sets + Sets(*grouped_moments(table, sets, 3, count)), samples, rng)

    def __add__(self, other: "SemiSupervisedStats") -> "SemiSupervisedStats":
        rng = _random.copy_generator(self.rng)
        return SemiSupervisedStats(self.sets + other.sets, self.samples.union(other.samples, rng), rng)
