"""Count, mean and scatter of rows: a commutative monoid under +, so any order of chunks gives the same."""

from dataclasses import dataclass

import numpy as np

from auclid.rows import as_table, centred, gram, squares

LARGEST = 8192
"""Columns up to which a d x d matrix is kept (half a gigabyte)."""

BLOCKS = 16
"""Blocks of rows, at the most, whose scatter is formed at once."""

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Moments:
    """Weight, mean and scatter (sum of squares about the mean) of the rows seen.

    ``scatter`` is a d x d matrix, or only its trace where that is all a method needs.
    """

    n: float
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def empty(cls, d, full=True):
        """The moments of no rows."""
        return cls(0.0, np.zeros(d), np.zeros((d, d) if full else ()))

    def __add__(self, other):
        """Moments of both sets of rows (Chan, Golub & LeVeque 1983): never a difference of large numbers."""
        n = self.n + other.n
        if other.n == 0.0:
            return self
        if self.n == 0.0:
            return other
        gap = other.mean - self.mean
        between = np.multiply.outer(gap, gap) if self.scatter.ndim else gap @ gap
        between *= self.n * (other.n / n)
        between += self.scatter
        between += other.scatter
        return Moments(n, self.mean + gap * (other.n / n), np.asarray(between))

    def mixed(self, M):
        """The moments of the rows M'x."""
        return Moments(self.n, self.mean @ M, M.T @ self.scatter @ M)

    @property
    def covariance(self):
        """Scatter divided by the weight (zero while no row was seen)."""
        return self.scatter / self.n if self.n > 0.0 else self.scatter


@dataclass(frozen=True)
class ClassMoments:
    """Moments of the positives and of the negatives."""

    pos: Moments
    neg: Moments

    @classmethod
    def empty(cls, d, full=True):
        """Nothing seen of either class."""
        return cls(Moments.empty(d, full), Moments.empty(d, full))

    def __add__(self, other):
        return ClassMoments(self.pos + other.pos, self.neg + other.neg)

    @property
    def complete(self):
        """Whether both classes were seen."""
        return self.pos.n > 0.0 and self.neg.n > 0.0

    @property
    def gap(self):
        """delta = mu+ - mu-"""
        return self.pos.mean - self.neg.mean

    @property
    def within(self):
        """S = Sigma+ + Sigma- (its trace where only traces were kept)."""
        return self.pos.covariance + self.neg.covariance

    @property
    def all(self):
        """Moments of all rows, whatever their class."""
        return self.pos + self.neg

    @property
    def midpoint(self):
        """Halfway between the class means."""
        return 0.5 * (self.pos.mean + self.neg.mean)


def class_moments(X, is_pos, weight=None, full=True):
    """Moments of both classes in one pass; ``full=False`` keeps the trace of the scatter only.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.moments import class_moments
    >>> m = class_moments(np.array([[0.0], [2.0], [5.0]]), np.array([False, False, True]))
    >>> m.gap, m.within
    (array([4.]), array([[1.]]))
    """
    neg, pos = grouped_moments(X, is_pos.astype(np.intp), 2, weight, full)
    return ClassMoments(pos, neg)


def grouped_moments(X, group, n_groups, weight=None, full=True):
    """Moments of each group of rows (numbers 0 to n_groups - 1; any other number is left out)."""
    table = as_table(X)
    if weight is not None:
        group = np.where(weight > 0.0, group, -1)
    if not full:
        return _traces(table, group, n_groups, weight)
    return [_moments(table, np.flatnonzero(group == g), weight) for g in range(n_groups)]


def _moments(table, index, weight):
    """Moments of the rows of ``index``, a block of them at a time: large blocks, since each costs a d x d sum."""
    d = max(1, table.shape[1])
    size = max(table.block_rows(), min(4 * d, BLOCKS * table.block_rows()))
    total = None
    for start in range(0, max(1, len(index)), size):
        chosen = index[start : start + size]
        moments = block_moments(table.plain(chosen), None if weight is None else weight[chosen])
        total = moments if total is None else total + moments
    return total if table.mixing is None else total.mixed(table.mixing)


def block_moments(block, weight=None):
    """Moments of one block: a float64 array or a CSR matrix."""
    w = np.ones(block.shape[0]) if weight is None else weight
    n = w.sum()
    if n == 0.0:
        return Moments.empty(block.shape[1])
    rest, shift = centred(block, (w @ block) / n)
    mean = (w @ rest) / n
    if weight is not None:
        rest = rest * np.sqrt(w)[:, None]
    scatter = gram(rest)
    scatter -= np.multiply.outer(n * mean, mean)
    return Moments(float(n), shift + mean, scatter)


def _traces(table, group, n_groups, weight):
    """Moments with the trace of the scatter only, all groups in one sequential pass over the rows."""
    total = [Moments.empty(table.shape[1], full=False)] * n_groups
    centre = None
    for part in table.slices():
        member, block = group[part, None] == np.arange(n_groups), table.take(part)
        member = member.astype(np.float64) if weight is None else member * weight[part, None]
        used = member.any(axis=1)
        if not used.all():  # rows that count for nothing must not move the centre either
            member, block = member[used], block[used]
        if not used.any():
            continue
        n = member.sum(axis=0)
        rest, shift = centred(block, block.mean(axis=0) if centre is None else centre)
        mean = (rest.T @ member).T / np.maximum(n, TINY)[:, None]
        spread = squares(rest) @ member - n * np.einsum("gj,gj->g", mean, mean)
        centre = shift + rest.mean(axis=0)
        for g in range(n_groups):
            total[g] = total[g] + Moments(float(n[g]), shift + mean[g], np.asarray(max(spread[g], 0.0)))
    return total
