"""Running statistics of both classes that give E|z|^2, the mean squared length of a pair z = x+ - x-.

`ClassSums` sums rows about a fixed point in O(nnz of a row). `ClassScatter` updates means (Welford 1962) in O(d), and
loses no digits wherever the rows are. Classes are numbered 0 (negative) and 1 (positive).
"""

from typing import NamedTuple

import numpy as np

from auclid._generic import REORDER, generic, kernel
from auclid.data import RowStruct, row_add_raw, row_axpy, row_dot, row_squared_norm


class ClassSums(NamedTuple):
    """Sums over the rows of each class, all minus one fixed point."""

    n: np.ndarray  # (2,): rows of each class
    total: np.ndarray  # (2, d): sums of rows
    square: np.ndarray  # (2,): sums of |x|^2
    cross: np.ndarray  # (1,): total_0 . total_1


class ClassScatter(NamedTuple):
    """The mean of each class, and the trace of its scatter matrix: the sum of |x - mu|^2."""

    mean: np.ndarray  # (2, d)
    n: np.ndarray  # (2,): rows of each class
    trace: np.ndarray  # (2,)


@generic
def mean_pair_square(stats: ClassSums | ClassScatter) -> float:
    """E|z|^2 over all pairs of rows seen; requires rows of both classes."""


@mean_pair_square.implement(ClassSums)
def _(stats: ClassSums) -> float:
    """E|x+|^2 + E|x-|^2 - 2 mu+ . mu-"""
    n, square = stats.n, stats.square
    return square[0] / n[0] + square[1] / n[1] - 2.0 * stats.cross[0] / (n[0] * n[1])


@mean_pair_square.implement(ClassScatter)
def _(stats: ClassScatter) -> float:
    return scatter_pair_square(stats.mean, stats.n, stats.trace)


@kernel(fastmath=REORDER, inner=True)
def scatter_pair_square(mean: np.ndarray, n: np.ndarray, trace: np.ndarray) -> float:
    """tr(Sigma+) + tr(Sigma-) + |mu+ - mu-|^2"""
    total = trace[0] / n[0] + trace[1] / n[1]
    for j in range(mean.shape[1]):
        total += (mean[1, j] - mean[0, j]) ** 2
    return total


def empty_sums(d: int) -> ClassSums:
    """The sums over no rows."""
    return ClassSums(np.zeros(2), np.zeros((2, d)), np.zeros(2), np.zeros(1))


def empty_scatter(d: int) -> ClassScatter:
    """The scatter of no rows."""
    return ClassScatter(np.zeros((2, d)), np.zeros(2), np.zeros(2))


def pair_square_lower_bound(sums: ClassSums, k: int) -> float:
    """A lower bound of E|z|^2 after k more rows, since scatters only grow; 0 if rounding errors dominate."""
    n = np.maximum(sums.n, 1.0)
    with np.errstate(all="ignore"):
        scatter = sums.square - np.einsum("cj,cj->c", sums.total, sums.total) / n
        return float(np.where(scatter > 1e-9 * sums.square, scatter / (n + k), 0.0).sum())


@kernel(allocates=False)
def add_to_sums(sums: ClassSums, rows: RowStruct, at: np.ndarray, label: np.ndarray, pair_squares: np.ndarray) -> None:
    """Add rows to the sums of their classes; writes E|z|^2 after each of them, 0 before both classes were seen."""
    n = sums.n
    for k in range(at.shape[0]):
        i, c = at[k], label[k]
        n[c] += 1.0
        sums.square[c] += row_squared_norm(rows, i)
        sums.cross[0] += row_dot(rows, i, sums.total[1 - c])
        row_axpy(rows, i, 1.0, sums.total[c])
        pair_squares[k] = mean_pair_square(sums) if n[0] > 0.0 and n[1] > 0.0 else 0.0


@kernel(allocates=False, inner=True)
def add_to_scatter(stats: ClassScatter, rows: RowStruct, i: int, c: int, difference: np.ndarray) -> None:
    """Add row i to the mean and the trace of class c; writes ``difference`` = x_i - mu_c with the mean before it."""
    mean, n = stats.mean[c], stats.n
    n[c] += 1.0
    q = subtract_mean(rows, i, mean, difference)
    for j in range(mean.shape[0]):
        mean[j] += difference[j] / n[c]
    stats.trace[c] += q * (n[c] - 1.0) / n[c]


@kernel(fastmath=REORDER, allocates=False, inner=True)
def subtract_mean(rows: RowStruct, i: int, mean: np.ndarray, difference: np.ndarray) -> float:
    """difference <- x_i - mean; returns its squared length."""
    for j in range(mean.shape[0]):
        difference[j] = -mean[j]
    row_add_raw(rows, i, difference)
    return dot(difference, difference)


@kernel(fastmath=REORDER, allocates=False, inner=True)
def dot(u: np.ndarray, v: np.ndarray) -> float:
    """u . v"""
    total = 0.0
    for j in range(u.shape[0]):
        total += u[j] * v[j]
    return total
