"""Running statistics of both classes that tell E|z|^2, the mean square length of a pair z = x+ - x-.

`ClassSums` adds rows up about a fixed point: O(nnz of a row). `ClassScatter` moves means along (Welford 1962): O(d),
and nothing cancels wherever the rows lie. Classes are numbered 0 (negative) and 1 (positive).
"""

from typing import NamedTuple

import numpy as np

from auclid._generic import REORDER, generic, kernel
from auclid.data import row_add, row_axpy, row_dot, row_square


class ClassSums(NamedTuple):
    """Sums over the rows of each class, all minus one point."""

    n: np.ndarray  # (2,): rows of each class
    total: np.ndarray  # (2, d): sums of rows
    square: np.ndarray  # (2,): sums of |x|^2
    cross: np.ndarray  # (1,): total_0 . total_1


class ClassScatter(NamedTuple):
    """Mean of each class, and the trace of its scatter: the sum of |x - mu|^2."""

    mean: np.ndarray  # (2, d)
    n: np.ndarray  # (2,): rows of each class
    trace: np.ndarray  # (2,)


@generic
def pair_square(stats):
    """E|z|^2 over all pairs of rows seen; both classes must have been."""


@pair_square.implement(ClassSums)
def _(stats):
    """E|x+|^2 + E|x-|^2 - 2 mu+ . mu-"""
    n, square = stats.n, stats.square
    return square[0] / n[0] + square[1] / n[1] - 2.0 * stats.cross[0] / (n[0] * n[1])


@pair_square.implement(ClassScatter)
def _(stats):
    """tr(Sigma+) + tr(Sigma-) + |mu+ - mu-|^2"""
    return scatter_pair_square(stats.mean, stats.n, stats.trace)


@kernel(fastmath=REORDER)
def scatter_pair_square(mean, n, trace):
    """tr(Sigma+) + tr(Sigma-) + |mu+ - mu-|^2"""
    total = trace[0] / n[0] + trace[1] / n[1]
    for j in range(mean.shape[1]):
        total += (mean[1, j] - mean[0, j]) ** 2
    return total


def no_sums(d: int) -> ClassSums:
    """The sums over no rows."""
    return ClassSums(np.zeros(2), np.zeros((2, d)), np.zeros(2), np.zeros(1))


def no_scatter(d: int) -> ClassScatter:
    """The scatter of no rows."""
    return ClassScatter(np.zeros((2, d)), np.zeros(2), np.zeros(2))


def pair_square_floor(sums: ClassSums, k: int) -> float:
    """What E|z|^2 will be at the least after k more rows, as scatters only grow; 0 where rounding decides."""
    n = np.maximum(sums.n, 1.0)
    with np.errstate(all="ignore"):
        scatter = sums.square - np.einsum("cj,cj->c", sums.total, sums.total) / n
        return float(np.where(scatter > 1e-9 * sums.square, scatter / (n + k), 0.0).sum())


@kernel(allocates=False)
def add_to_sums(sums, rows, at, label, out):
    """Add rows to the sums of their classes; writes E|z|^2 as it was after each, 0 while a class is missing."""
    n = sums.n
    for k in range(at.shape[0]):
        i, c = at[k], label[k]
        n[c] += 1.0
        sums.square[c] += row_square(rows, i)
        sums.cross[0] += row_dot(rows, i, sums.total[1 - c])
        row_axpy(rows, i, 1.0, sums.total[c])
        out[k] = pair_square(sums) if n[0] > 0.0 and n[1] > 0.0 else 0.0


@kernel(allocates=False, inner=True)
def add_to_scatter(stats, rows, i, c, gap):
    """Let row i enter the mean and the trace of its class; writes gap = x_i - mu_c as it was before."""
    mean, n = stats.mean[c], stats.n
    n[c] += 1.0
    q = gap_from(rows, i, mean, gap)
    for j in range(mean.shape[0]):
        mean[j] += gap[j] / n[c]
    stats.trace[c] += q * (n[c] - 1.0) / n[c]


@kernel(fastmath=REORDER, allocates=False, inner=True)
def gap_from(rows, i, mean, gap):
    """gap <- x_i - mean; returns its squared length."""
    for j in range(mean.shape[0]):
        gap[j] = -mean[j]
    row_add(rows, i, gap)
    return inner(gap, gap)


@kernel(fastmath=REORDER, allocates=False)
def inner(u, v):
    """u . v"""
    total = 0.0
    for j in range(u.shape[0]):
        total += u[j] * v[j]
    return total
