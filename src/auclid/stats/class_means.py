"""Class means for stochastic steps: those of all rows (`fit`), or running means of the rows so far (a stream).

Classes are numbered 0 (negative) and 1 (positive). All products are of rows and means minus the rows' centre.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from auclid._generic import generic, kernel
from auclid._threads import bounded_thread_map
from auclid.data import (
    DenseTable,
    RowStruct,
    SparseTable,
    Table,
    centre_dot,
    row_accumulate,
    row_add_raw,
    row_axpy,
    row_dot,
    row_dots,
    row_squared_norm,
    update_centre,
)

MAX_FIRST_PASS_THREADS = 8
"""Threads of a first pass over the rows, at most: memory bandwidth does not serve more."""


class FixedMeans(NamedTuple):
    """Class means of all rows from a first pass, with their products with the row of every step if these are stored.

    Products are stored for sparse rows only. For dense rows it is faster to compute them along with the score than to
    read two more arrays in random order.
    """

    products: np.ndarray  # (steps, 2): x . mu_c of each step's row; or empty
    squares: np.ndarray  # (steps,): |x|^2 of each step's row; or empty
    mean: np.ndarray  # (2, d): mu_c
    n: np.ndarray  # (2,): rows of each class
    mean_square: np.ndarray  # (1,): E|x|^2


class RunningMeans(NamedTuple):
    """Class means of the rows seen so far; the centre follows the mean of all rows seen."""

    total: np.ndarray  # (2, d): sums of rows, not centred
    n: np.ndarray  # (2,): rows of each class
    mean_square: np.ndarray  # (1,): E|x|^2
    centre: np.ndarray  # (d,): the centre of dense rows; zero for sparse ones


ClassMeans: TypeAlias = FixedMeans | RunningMeans

RowProducts: TypeAlias = tuple[float, float, float, float]
"""(x . w, x . mu_0, x . mu_1, |x|^2) of one row."""


@generic
def add_row(means: ClassMeans, rows: RowStruct, i: int, c: int) -> float:
    """Add row i of class c to the means; returns the share of x_i by which the centre moved."""


@generic
def add_scored_row(means: ClassMeans, rows: RowStruct, i: int, c: int, score: float, projections: np.ndarray) -> float:
    """Add row i of class c to the means; updates the projections w . mu_0 and w . mu_1.

    Takes the row's score from the old centre and returns its score from the new one.
    """


@generic
def row_products(means: ClassMeans, rows: RowStruct, i: int, k: int, w: np.ndarray) -> RowProducts:
    """The products of row i, the row of step k, before it is added to the means.

    Running means change when the row is added, so their products, and |x_i|^2, are zero here.
    """


@generic
def updated_row_products(
    means: ClassMeans, rows: RowStruct, i: int, products: RowProducts
) -> tuple[float, float, float]:
    """(x_i . mu_0, x_i . mu_1, |x_i|^2) after row i was added; ``products`` is what `row_products` returned."""


@generic
def step_row_square(means: ClassMeans, rows: RowStruct, i: int, k: int) -> float:
    """|x_i|^2 of row i, the row of step k."""


@generic
def mean_score(means: ClassMeans, rows: RowStruct, c: int, w: np.ndarray) -> float:
    """mu_c . w, in O(d)."""


@add_row.implement(FixedMeans)
def _(means: FixedMeans, rows: RowStruct, i: int, c: int) -> float:
    return 0.0


@add_scored_row.implement(FixedMeans)
def _(means: FixedMeans, rows: RowStruct, i: int, c: int, score: float, projections: np.ndarray) -> float:
    return score


@row_products.implement(FixedMeans)
def _(means: FixedMeans, rows: RowStruct, i: int, k: int, w: np.ndarray) -> RowProducts:
    if means.products.shape[0] == 0:
        return row_dots(rows, i, w, means.mean[0], means.mean[1])
    return row_dot(rows, i, w), means.products[k, 0], means.products[k, 1], means.squares[k]


@updated_row_products.implement(FixedMeans)
def _(means: FixedMeans, rows: RowStruct, i: int, products: RowProducts) -> tuple[float, float, float]:
    return products[1], products[2], products[3]


@step_row_square.implement(FixedMeans)
def _(means: FixedMeans, rows: RowStruct, i: int, k: int) -> float:
    return means.squares[k] if means.squares.shape[0] > 0 else row_squared_norm(rows, i)


@mean_score.implement(FixedMeans)
def _(means: FixedMeans, rows: RowStruct, c: int, w: np.ndarray) -> float:
    return np.dot(means.mean[c], w)


@add_row.implement(RunningMeans)
def _(means: RunningMeans, rows: RowStruct, i: int, c: int) -> float:
    n, mean_square = means.n, means.mean_square
    seen = n[0] + n[1]
    q = row_squared_norm(rows, i)
    share = update_centre(rows, i, seen + 1.0)
    mean_square[0] += (q * (1.0 - share) - mean_square[0]) / (seen + 1.0)
    row_add_raw(rows, i, means.total[c])
    n[c] += 1.0
    return share


@add_scored_row.implement(RunningMeans)
def _(means: RunningMeans, rows: RowStruct, i: int, c: int, score: float, projections: np.ndarray) -> float:
    shift = add_row(means, rows, i, c) * score
    projections[0] -= shift
    projections[1] -= shift
    score -= shift
    projections[c] += (score - projections[c]) / means.n[c]
    return score


@row_products.implement(RunningMeans)
def _(means: RunningMeans, rows: RowStruct, i: int, k: int, w: np.ndarray) -> RowProducts:
    return row_dot(rows, i, w), 0.0, 0.0, 0.0


@updated_row_products.implement(RunningMeans)
def _(means: RunningMeans, rows: RowStruct, i: int, products: RowProducts) -> tuple[float, float, float]:
    total, n, offset = means.total, means.n, row_dot(rows, i, means.centre)
    return (
        row_dot(rows, i, total[0]) / max(n[0], 1.0) - offset,  # no number depends on the mean of an unseen class
        row_dot(rows, i, total[1]) / max(n[1], 1.0) - offset,
        row_squared_norm(rows, i),
    )


@step_row_square.implement(RunningMeans)
def _(means: RunningMeans, rows: RowStruct, i: int, k: int) -> float:
    return row_squared_norm(rows, i)


@mean_score.implement(RunningMeans)
def _(means: RunningMeans, rows: RowStruct, c: int, w: np.ndarray) -> float:
    return np.dot(means.total[c], w) / means.n[c] - centre_dot(rows, w)


@kernel(inner=True)
def stable_step(n: np.ndarray, mean_square: np.ndarray) -> float:
    """1 / (4 p (1-p) E|x|^2), the learning rate at which a row of average length is stable; p = n[1] / (n[0] + n[1])"""
    p = n[1] / (n[0] + n[1])
    size = 4.0 * p * (1.0 - p) * mean_square[0]
    return 1.0 / size if size > 0.0 else 1.0


class FirstPass(NamedTuple):
    """The summary of all rows that `fit` computes for a stochastic method; rows and means are minus the centre."""

    total: np.ndarray  # (2, d): sums of rows, not centred
    n: np.ndarray  # (2,): rows of each class
    mean_square: np.ndarray  # (1,): E|x|^2
    centre: np.ndarray  # (d,)
    mean: np.ndarray  # (2, d): mu_c
    pair_square: float  # E|z|^2 over all pairs z = x+ - x-
    squares: np.ndarray  # (n,): |x|^2 of each row
    products: np.ndarray  # (n, 2): x . mu_c of each row; empty unless asked for, and for dense rows

    def means_for(self, order: np.ndarray) -> FixedMeans:
        """The class means, with the products of the rows of ``order``."""
        if not len(self.products):
            return FixedMeans(self.products, self.squares[:0], self.mean, self.n, self.mean_square)
        products, squares = self.products.take(order, axis=0), self.squares.take(order)
        return FixedMeans(products, squares, self.mean, self.n, self.mean_square)


def first_pass(
    table: Table,
    is_pos: np.ndarray,
    products: bool = False,
    weight: np.ndarray | None = None,
    *,
    centred: bool = True,
) -> FirstPass:
    """Class means and |x|^2 of every row; dense rows are centred unless ``centred`` is False, sparse ones never.

    ``products`` also stores the products of every sparse row with both means. A row counts ``weight`` times.
    """
    n_rows, d = table.shape
    label, order = is_pos.astype(np.int8), np.arange(n_rows)
    centre = table.centre(weight) if centred else np.zeros(d)
    total, squares = np.zeros((2, d)), np.empty(n_rows)
    chunks = _row_chunks(table, order, centre)
    threaded = isinstance(table, DenseTable | SparseTable) and len(table.pieces(n_rows)) > 1  # others gather their rows
    threads = MAX_FIRST_PASS_THREADS if threaded else 1
    for chunk_total in bounded_thread_map(partial(_class_totals, label, weight, squares, d), chunks, threads):
        total += chunk_total
    n = np.array([n_rows - is_pos.sum(), is_pos.sum()], dtype=np.float64)
    if weight is not None:
        n[:] = weight[~is_pos].sum(), weight[is_pos].sum()
    mean, row_mean_products = total / n[:, None], np.empty((0, 2))
    if products and isinstance(table, SparseTable):
        row_mean_products = np.stack([table.matmul(each) for each in mean], axis=1)
        row_mean_products -= centre @ mean.T
    with np.errstate(over="ignore", invalid="ignore"):  # the caller checks for overflow
        size = [_mean(squares[chosen], None if weight is None else weight[chosen]) for chosen in (~is_pos, is_pos)]
        mean_square = np.array([_mean(squares, weight)])
        pair_square = size[1] + size[0] - 2.0 * mean[0] @ mean[1]
    total += n[:, None] * centre
    return FirstPass(total, n, mean_square, centre, mean, max(float(pair_square), 0.0), squares, row_mean_products)


class _RowChunk(NamedTuple):
    """Some rows: a struct, their positions in it, and their numbers in the table."""

    rows: RowStruct
    at: np.ndarray
    numbers: slice


def _row_chunks(table: Table, order: np.ndarray, centre: np.ndarray) -> Iterator[_RowChunk]:
    """All rows, each once, in chunks that do not depend on the number of threads."""
    for rows, (at,), steps in table.sweep(order, centre=centre):
        for piece in table.pieces(len(at)):
            yield _RowChunk(rows, at[piece], slice(steps.start + piece.start, steps.start + piece.stop))


def _class_totals(
    label: np.ndarray, weight: np.ndarray | None, squares: np.ndarray, d: int, chunk: _RowChunk
) -> np.ndarray:
    """The sum of each class's rows in a chunk; writes their |x|^2 into ``squares``."""
    (rows, at, numbers), total = chunk, np.zeros((2, d))
    if weight is None:
        sum_rows(rows, at, label[numbers], total, squares[numbers])
    else:
        sum_weighted_rows(rows, at, label[numbers], weight[numbers], total, squares[numbers])
    return total


def _mean(values: np.ndarray, weight: np.ndarray | None) -> float:
    return float(values.mean() if weight is None else np.average(values, weights=weight))


def empty_means(d: int) -> RunningMeans:
    """Running means of no rows."""
    return RunningMeans(np.zeros((2, d)), np.zeros(2), np.zeros(1), np.zeros(d))


def means_of(first_pass: FirstPass) -> RunningMeans:
    """Running means of all rows of a first pass, for a stream that follows a fit."""
    return RunningMeans(
        first_pass.total.copy(), first_pass.n.copy(), first_pass.mean_square.copy(), first_pass.centre.copy()
    )


def class_midpoint(total: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The point halfway between the class means, from each class's sum and number of rows."""
    mean = total / np.maximum(n, 1.0)[:, None]
    return 0.5 * (mean[0] + mean[1])


@kernel(allocates=False)
def sum_rows(rows: RowStruct, at: np.ndarray, label: np.ndarray, total: np.ndarray, squares: np.ndarray) -> None:
    """Add each row to its class's sum, and write its |x|^2."""
    for k in range(at.shape[0]):
        squares[k] = row_accumulate(rows, at[k], total[label[k]])


@kernel(allocates=False)
def sum_weighted_rows(
    rows: RowStruct, at: np.ndarray, label: np.ndarray, weight: np.ndarray, total: np.ndarray, squares: np.ndarray
) -> None:
    """Add weight times each row to its class's sum, and write its |x|^2, zero for a row of weight zero."""
    for k in range(at.shape[0]):
        squares[k] = 0.0
        if weight[k] > 0.0:
            row_axpy(rows, at[k], weight[k], total[label[k]])
            squares[k] = row_squared_norm(rows, at[k])
