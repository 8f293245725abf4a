"""The square loss over all pairs of any order, exactly.

With A the sum of zz' and b the sum of z over the pairs, z = x_upper - x_lower, by weight, and P their weight:

    (2A/P + alpha I) w = 2b/P,    A = X'LX with L the Laplacian of the graph of comparable pairs.

Rows are taken in the order of their levels: each meets the sum of the rows below it, which grows as one goes up.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from auclid import _sizes
from auclid.data import DenseTable, Table
from auclid.solvers.iterative import IterationCallback, Solution, coordinate_descent, run
from auclid.solvers.least_squares import PairQuadratic, linear_iterates, proximal_iterates, solve_symmetric
from auclid.stats.order_sums import SortedWeights, paired_rows
from auclid.stats.ordered_moments import SquareSystem
from auclid.stats.pair_order import PairOrder

BLOCK_VALUES = 20_000
"""Numbers of a block of sorted rows, so that it stays in the processor's cache."""


def square_path(system: SquareSystem, alphas: np.ndarray) -> np.ndarray:
    """The minimiser for each alpha, a column each, from one eigendecomposition."""
    H, c = system.quadratic(0.0)
    if not np.isfinite(np.trace(H)):
        return np.zeros((len(c), len(alphas)))
    values, vectors = linalg.eigh(H, driver="evd", check_finite=False)
    values = np.maximum(values, 0.0)
    floor = values[-1] * len(c) * np.finfo(float).eps
    shifted = values[:, None] + np.asarray(alphas)
    inner = np.where(shifted > floor, (vectors.T @ c)[:, None] / np.where(shifted > floor, shifted, 1.0), 0.0)
    return vectors @ inner


def square_product(table: Table, order: PairOrder) -> Callable[[np.ndarray], np.ndarray]:
    """v -> 2A/P v, by products with the rows."""
    return lambda v: (2.0 / order.total) * table.rmatmul(order.laplacian(table.matmul(v)))


def square_slope(table: Table, order: PairOrder) -> np.ndarray:
    """2b/P"""
    return (2.0 / order.total) * table.rmatmul(order.scattered(order.net))


def square_system(table: Table, order: PairOrder) -> SquareSystem:
    """A, b and the weight of the pairs of a table's rows."""
    if table.random_access:
        return SquareSystem(*_sums_in_order(table, order), order.total)
    A = _scatter_by_columns(table, order)
    return SquareSystem(A, table.rmatmul(order.scattered(order.net)), order.total)


def _sums_in_order(table: Table, order: PairOrder) -> tuple[np.ndarray, np.ndarray]:
    """A and b from the rows in their order, a block at a time, from the lowest level up; rows are centred."""
    d, n = table.shape[1], len(order.rows)
    A, b, centre, sums, net = np.zeros((d, d)), np.zeros(d), table.centre(), np.zeros((2, d)), order.net
    size = max(256, BLOCK_VALUES // max(1, d))
    weights = SortedWeights(order.level_end, order.group_end, 0.5 * order.degree, order.upper, order.lower)
    Z, Y = np.empty((size, d)), np.empty((size, d))
    for begin in range((n - 1) // size * size if n else 0, -1, -size):
        rows = order.rows[begin : begin + size]
        X = whole_array(table)
        if X is None:
            X, rows = table.dense(rows), np.arange(len(rows))
        count = len(rows)
        paired_rows(X, rows, centre, begin, weights, sums, Z[:count], Y[:count])
        A += Z[:count].T @ Y[:count]
        b += net[begin : begin + count] @ Z[:count]
    return A + A.T, b


def whole_array(table: Table) -> np.ndarray | None:
    """The array of a dense table in memory, whose rows a kernel can take as they are; None: there is none."""
    if isinstance(table, DenseTable) and table.X.flags.c_contiguous:
        return table.X
    return None


def _scatter_by_columns(table: Table, order: PairOrder) -> np.ndarray:
    """X'L(X e_k) for some columns k at a time: for rows that cannot be taken in any order."""
    d = table.shape[1]
    at_once = max(1, _sizes.LARGE_BYTES // (8 * max(1, table.shape[0])))
    unit = np.eye(d)
    parts = []
    for first in range(0, d, at_once):
        parts.append(table.rmatmul(order.laplacian(table.matmul(unit[:, first : first + at_once]))))
    A = np.concatenate(parts, axis=1)
    return 0.5 * (A + A.T)


class OrderedLeastSquares(NamedTuple):
    """Settings: mean (1 - m)² over all pairs + alpha/2 |w|² + l1 |w|₁."""

    alpha: float
    l1: float
    tol: float

    def from_system(self, system: SquareSystem, rounds: IterationCallback) -> Solution:
        """The minimiser from A and b."""
        H, c = system.quadratic(self.alpha)
        if self.l1 == 0.0:
            return Solution(solve_symmetric(H, c, minimum_norm=self.alpha == 0.0))
        return run(coordinate_descent(H, c, self.l1, False), np.zeros_like(c), self.tol, rounds)

    def from_products(self, table: Table, order: PairOrder, rounds: IterationCallback) -> Solution:
        """The minimiser by products with the rows, for many columns: no d x d matrix is formed."""
        c, multiply = square_slope(table, order), square_product(table, order)
        degree = order.scattered(order.degree) * (2.0 / order.total)
        mean = table.rmatmul(degree) / degree.sum()
        diagonal = np.maximum(table.rmatmul_squares(degree) - degree.sum() * mean**2, 0.0) + self.alpha

        problem = PairQuadratic(lambda v: multiply(v) + self.alpha * v, diagonal, c, self.alpha)
        iterates = linear_iterates(problem) if self.l1 == 0.0 else proximal_iterates(problem, self.l1, False)
        return run(iterates, np.zeros_like(c), self.tol, rounds)
