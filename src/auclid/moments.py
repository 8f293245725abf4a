"""Count, mean and scatter of rows: a commutative monoid under +, so any order of chunks gives the same."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from auclid._rows import as_table


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
    >>> from auclid.moments import class_moments
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
    return [_moments(table, np.flatnonzero(group == g), weight, full) for g in range(n_groups)]


def _moments(table, index, weight, full):
    d = table.shape[1]
    total = Moments.empty(d, full)
    size = max(table.block_rows() if not full else min(table.block_rows(), 4 * d + 4096), 1)
    for start in range(0, len(index), size):
        chosen = index[start : start + size]
        total = total + block_moments(table.take(chosen), None if weight is None else weight[chosen], full)
    return total


def block_moments(block, weight=None, full=True):
    """Moments of one block: a float64 array or a CSR matrix."""
    count = block.shape[0]
    w = np.full(count, 1.0) if weight is None else weight
    n = w.sum()
    if n == 0.0:
        return Moments.empty(block.shape[1], full)
    kind = _sparse_scatter if sparse.issparse(block) else _dense_scatter
    mean, scatter = kind(block, w, n, full, weight is None)
    return Moments(float(n), mean, np.asarray(scatter))


def _dense_scatter(block, w, n, full, uniform):
    mean = (w @ block) / n
    rest = block - mean
    correction = (w @ rest) / n
    if not uniform:
        rest *= np.sqrt(w)[:, None]
    if full:
        return mean + correction, rest.T @ rest
    return mean + correction, np.einsum("ij,ij->", rest, rest)


def _sparse_scatter(block, w, n, full, uniform):
    """Full columns are centred in place, so no mean is ever subtracted that dwarfs the spread around it."""
    d = block.shape[1]
    count = np.bincount(block.indices, minlength=d)
    first = np.asarray(w @ block).ravel() / n
    shift = np.where(count == block.shape[0], first, 0.0)
    moved = sparse.csr_array((block.data - shift[block.indices], block.indices, block.indptr), shape=block.shape)
    mean = np.asarray(w @ moved).ravel() / n
    scaled = moved if uniform else moved.multiply(np.sqrt(w)[:, None]).tocsr()
    if full:
        scatter = (scaled.T @ scaled).toarray()
        scatter -= n * np.multiply.outer(mean, mean)
    else:
        scatter = scaled.data @ scaled.data - n * (mean @ mean)
    return mean + shift, scatter
