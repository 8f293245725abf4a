"""Sums over rows in the basis, block by block; they add up, and class moments come of them."""

from typing import Any

import numpy as np

from auclid.additive._basis import Basis, add_sums
from auclid.additive._table import block, slices
from auclid.stats.moments import ClassMoments, Moments


class Sums:
    """Weight, sum and sum of products of the rows of each group, in the basis.

    The basis lies between -1 and 2 and is mostly zero, so sums of products do not cancel as those of raw columns do;
    moments are about the mean, and those of several `Sums` add as Chan, Golub & LeVeque add them.
    """

    def __init__(self, basis: Basis, n_groups: int) -> None:
        self.basis = basis
        self.total = np.zeros((n_groups, 1))
        self.first = np.zeros((n_groups, basis.size))
        self.second = [np.zeros((basis.size, basis.size)) for _ in range(n_groups)]

    def add(self, cells: np.ndarray, group: np.ndarray, weight: np.ndarray | None) -> None:
        """Add a block of rows of cells; group numbers from 0."""
        weight = np.ones(len(cells)) if weight is None else weight
        for g in range(len(self.total)):  # one after the other: the sums of one group fit the processor's cache
            rows = np.flatnonzero((group == g) & (weight > 0.0))
            if len(rows):
                add_sums(self.basis, cells, rows, weight, self.total[g], self.first[g], self.second[g])

    def moments(self, g: int) -> Moments:
        """Weight, mean and scatter of one group, whose sums are used up: they may be large."""
        n, scatter = float(self.total[g, 0]), self.second[g]
        self.second[g] = np.empty((0, 0))
        if n == 0.0:
            return Moments.empty(self.basis.size)
        mean = self.first[g] / n
        diagonal = np.diag(scatter).copy()
        scatter += scatter.T
        scatter[np.diag_indices_from(scatter)] = diagonal
        scatter -= np.multiply.outer(n * mean, mean)
        return Moments(n, mean, scatter)

    def classes(self, k: int = 0) -> ClassMoments:
        """Moments of the positives (group 2k + 1) and the negatives (group 2k)."""
        return ClassMoments(self.moments(2 * k + 1), self.moments(2 * k))


def class_sums(basis: Basis, cells: Any, group: np.ndarray, n_groups: int, weight: np.ndarray | None) -> Sums:
    """`Sums` of all rows of a table of cells."""
    sums = Sums(basis, n_groups)
    for part in slices(cells):
        sums.add(block(cells, part), group[part], None if weight is None else weight[part])
    return sums
