"""Class moments of rows in the basis: sums over blocks of rows, by class and fold, which add up."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.additive._basis import Basis, add_sums
from auclid.additive._columns import cell_blocks
from auclid.stats.moments import ClassMoments, Moments

TILE = 64
"""Rows and columns of a tile of a matrix."""


class TrainingMoments(NamedTuple):
    """S, δ and the mean of the rows that a fold trains on: those outside it."""

    S: np.ndarray
    delta: np.ndarray
    mean: np.ndarray

    def projected(self, M: Any) -> "TrainingMoments":
        """The moments of the rows M'z."""
        return TrainingMoments(congruence(self.S, M), M.T @ self.delta, M.T @ self.mean)

    def leading(self, size: int) -> "TrainingMoments":
        """The moments of the first coefficients only."""
        return TrainingMoments(np.ascontiguousarray(self.S[:size, :size]), self.delta[:size], self.mean[:size])


def congruence(S: np.ndarray, M: Any) -> np.ndarray:
    """M'SM of a symmetric S and a sparse M."""
    return M.T @ np.ascontiguousarray((M.T @ S).T)


@kernel
def add_scatter(
    second: np.ndarray, groups: np.ndarray, n: float, mean: np.ndarray, share: float, out: np.ndarray
) -> None:
    """Add share · (sum of products of these groups − n mean mean') to the upper triangle of out."""
    size, p = mean.shape[0], 0
    total = np.empty(size)
    for i in range(size):  # one group after another: the entries of a line lie together
        line, sums, m = out[i], total[: size - i], n * mean[i]
        sums[:] = 0.0
        for g in groups:
            of_group = second[g, p : p + size - i]
            for j in range(size - i):
                sums[j] += of_group[j]
        for j in range(size - i):
            line[i + j] += share * (sums[j] - m * mean[i + j])
        p += size - i


@kernel
def mirror(out: np.ndarray) -> None:
    """Copy the upper triangle to the lower one, a tile at a time: lines of both stay in the processor's cache."""
    size = out.shape[0]
    for a in range(0, size, TILE):
        for b in range(a, size, TILE):
            for i in range(a, min(a + TILE, size)):
                for j in range(max(b, i + 1), min(b + TILE, size)):
                    out[j, i] = out[i, j]


class BasisSums:
    """Weight, sum and sum of products (its upper triangle, line by line) of the rows of each group, in the basis.

    Group 2k holds the negatives of fold k, group 2k + 1 its positives. The basis lies between -1 and 2 and is mostly
    zero, so sums of products do not cancel as those of raw columns do; moments are about the mean, and those of several
    `BasisSums` add as Chan, Golub & LeVeque add them.
    """

    def __init__(self, basis: Basis, n_folds: int) -> None:
        self.basis, self.n_folds = basis, n_folds
        self.total = np.zeros((2 * n_folds, 1))
        self.first = np.zeros((2 * n_folds, basis.size))
        self.second = np.zeros((2 * n_folds, basis.size * (basis.size + 1) // 2))

    def add(self, cells: np.ndarray, group: np.ndarray, weight: np.ndarray | None) -> None:
        """Add a block of rows of cells; groups are numbered from 0, and -1 is none."""
        weight = np.ones(len(cells)) if weight is None else weight
        for g in range(len(self.total)):  # one after the other: the sums of one group fit the processor's cache
            rows = np.flatnonzero((group == g) & (weight > 0.0))
            if len(rows):
                add_sums(self.basis, cells, rows, weight, self.total[g], self.first[g], self.second[g])

    def moments(self) -> ClassMoments:
        """Moments of the positives and of the negatives of all folds."""
        neg, pos = (self._moments(np.arange(side, len(self.total), 2)) for side in (0, 1))
        return ClassMoments(pos, neg)

    def pooled(self) -> Moments:
        """Moments of all rows, of whichever class."""
        return self._moments(np.arange(len(self.total)))

    def outside(self, k: int) -> TrainingMoments:
        """The moments of the rows outside fold k, by sums and never by a difference; -1: of all rows."""
        S = np.zeros((self.basis.size, self.basis.size))
        for part in self._outside_groups(k):
            n, mean = self._mass_and_mean(part)
            if n > 0.0:
                add_scatter(self.second, part, n, mean, 1.0 / n, S)
        mirror(S)
        return TrainingMoments(S, *self.training_mean(k))

    def training_mean(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """δ and the mean of the rows outside fold k."""
        (n_neg, neg), (n_pos, pos) = (self._mass_and_mean(part) for part in self._outside_groups(k))
        share = n_pos / (n_pos + n_neg) if n_pos > 0.0 else 0.0
        return pos - neg, neg + share * (pos - neg)

    def _outside_groups(self, k: int) -> list[np.ndarray]:
        """The numbers of the groups of negatives and of positives outside fold k."""
        return [np.array([2 * j + side for j in range(self.n_folds) if j != k], dtype=np.int64) for side in (0, 1)]

    def _mass_and_mean(self, groups: np.ndarray) -> tuple[float, np.ndarray]:
        """The weight and the mean of these groups, pooled."""
        n, first = float(self.total[groups].sum()), self.first[groups].sum(axis=0)
        return n, first / n if n > 0.0 else first

    def _moments(self, groups: np.ndarray) -> Moments:
        n, mean = self._mass_and_mean(groups)
        scatter = np.zeros((self.basis.size, self.basis.size))
        if n > 0.0:
            add_scatter(self.second, groups, n, mean, 1.0, scatter)
            mirror(scatter)
        return Moments(n, mean, scatter)


class LazyFolds(Sequence):
    """The `TrainingMoments` of all folds of some sums, made when they are asked for: each may be large."""

    def __init__(self, sums: Any) -> None:
        self.sums = sums

    def __len__(self) -> int:
        return self.sums.n_folds

    def __getitem__(self, k: Any) -> Any:
        places = range(len(self))[k]
        return self.sums.outside(places) if isinstance(places, int) else [self.sums.outside(j) for j in places]

    @property
    def means(self) -> list[np.ndarray]:
        """The mean of the training rows of each fold."""
        return [self.sums.training_mean(k)[1] for k in range(len(self))]


def class_sums(
    basis: Basis, cells: Any, is_pos: np.ndarray, weight: np.ndarray | None, fold: np.ndarray | None = None
) -> BasisSums:
    """`BasisSums` of all rows of a table of cells; ``fold``: the fold of each row, -1 where it is in none."""
    sums = BasisSums(basis, 1 if fold is None else int(fold.max()) + 1)
    group = is_pos.astype(np.int64) if fold is None else np.where(fold >= 0, 2 * fold + is_pos, -1)
    for rows, block in cell_blocks(cells):
        sums.add(block, group[rows], None if weight is None else weight[rows])
    return sums
