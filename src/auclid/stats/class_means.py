"""What a stochastic step knows of the class means: those of all rows (`fit`), or of the rows so far (a stream).

Classes are numbered 0 (negative) and 1 (positive). All products are of rows and means minus the rows' centre.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auclid._generic import generic, kernel
from auclid._threads import bounded_thread_map
from auclid.data import (
    DenseTable,
    SparseTable,
    Table,
    centre_dot,
    recentre,
    row_add,
    row_axpy,
    row_dot,
    row_dots,
    row_square,
    row_sum,
)

THREADS = 8
"""Threads that a first pass over rows takes, at the most: memory gives no more of them enough to do."""


class Known(NamedTuple):
    """Class means from a first pass, and their products with the row of every step, where those are at hand.

    They are for sparse rows. A dense row that is read anyway tells them sooner than two arrays in random order do.
    """

    products: np.ndarray  # (steps, 2): x . mu_c of each step's row; or empty
    squares: np.ndarray  # (steps,): |x|^2 of each step's row; or empty
    mean: np.ndarray  # (2, d): mu_c
    n: np.ndarray  # (2,): rows of each class
    mean_square: np.ndarray  # (1,): E|x|^2


class Running(NamedTuple):
    """Class means of the rows seen so far; the centre moves along with their mean."""

    total: np.ndarray  # (2, d): sums of raw rows
    n: np.ndarray  # (2,): rows of each class
    mean_square: np.ndarray  # (1,): E|x|^2
    centre: np.ndarray  # (d,): where dense rows are measured from; zero for sparse ones


ClassMeans: TypeAlias = Known | Running


@generic
def add_row(means, rows, i, c):
    """Let row i of class c enter the means; returns the share of x_i by which the centre moved."""


@generic
def add_scored_row(means, rows, i, c, f, projections):
    """Let row i of class c, whose score is f, enter the means; returns its score from the new centre.

    Moves the projections w . mu_0 and w . mu_1 along.
    """


@generic
def met_row(means, rows, i, k, w):
    """(x_i . w, x_i . mu_0, x_i . mu_1, |x_i|^2) of the row of step k, before it enters the means; the last three are
    zero where the means move."""


@generic
def entered_row(means, rows, i, met):
    """(x_i . mu_0, x_i . mu_1, |x_i|^2) once row i has entered the means; ``met`` is what `met_row` told."""


@generic
def square_length(means, rows, i, k):
    """|x_i|^2, where row i belongs to step k."""


@generic
def mean_score(means, rows, c, w):
    """mu_c . w, in O(d)."""


@add_row.implement(Known)
def _(means, rows, i, c):
    return 0.0


@add_scored_row.implement(Known)
def _(means, rows, i, c, f, projections):
    return f


@met_row.implement(Known)
def _(means, rows, i, k, w):
    if means.products.shape[0] == 0:
        return row_dots(rows, i, w, means.mean[0], means.mean[1])
    return row_dot(rows, i, w), means.products[k, 0], means.products[k, 1], means.squares[k]


@entered_row.implement(Known)
def _(means, rows, i, met):
    return met[1], met[2], met[3]


@square_length.implement(Known)
def _(means, rows, i, k):
    return means.squares[k] if means.squares.shape[0] > 0 else row_square(rows, i)


@mean_score.implement(Known)
def _(means, rows, c, w):
    return np.dot(means.mean[c], w)


@add_row.implement(Running)
def _(means, rows, i, c):
    n, mean_square = means.n, means.mean_square
    seen = n[0] + n[1]
    q = row_square(rows, i)
    share = recentre(rows, i, seen + 1.0)
    mean_square[0] += (q * (1.0 - share) - mean_square[0]) / (seen + 1.0)
    row_add(rows, i, means.total[c])
    n[c] += 1.0
    return share


@add_scored_row.implement(Running)
def _(means, rows, i, c, f, projections):
    moved = add_row(means, rows, i, c) * f
    projections[0] -= moved
    projections[1] -= moved
    f -= moved
    projections[c] += (f - projections[c]) / means.n[c]
    return f


@met_row.implement(Running)
def _(means, rows, i, k, w):
    return row_dot(rows, i, w), 0.0, 0.0, 0.0


@entered_row.implement(Running)
def _(means, rows, i, met):
    total, n, away = means.total, means.n, row_dot(rows, i, means.centre)
    return row_dot(rows, i, total[0]) / n[0] - away, row_dot(rows, i, total[1]) / n[1] - away, row_square(rows, i)


@square_length.implement(Running)
def _(means, rows, i, k):
    return row_square(rows, i)


@mean_score.implement(Running)
def _(means, rows, c, w):
    return np.dot(means.total[c], w) / means.n[c] - centre_dot(rows, w)


class FirstPass(NamedTuple):
    """What a first pass over all rows of `fit` tells a stochastic method; rows and means are minus the centre."""

    total: np.ndarray  # (2, d): sums of raw rows
    n: np.ndarray  # (2,): rows of each class
    mean_square: np.ndarray  # (1,): E|x|^2
    centre: np.ndarray  # (d,)
    mean: np.ndarray  # (2, d): mu_c
    pair_square: float  # E|z|^2 over all pairs z = x+ - x-
    squares: np.ndarray  # (n,): |x|^2 of each row
    products: np.ndarray  # (n, 2): x . mu_c of each row; empty unless asked for, and of dense rows

    def at(self, order: np.ndarray) -> Known:
        """What steps for the rows of ``order`` know."""
        if not len(self.products):
            return Known(self.products, self.squares[:0], self.mean, self.n, self.mean_square)
        return Known(self.products.take(order, axis=0), self.squares.take(order), self.mean, self.n, self.mean_square)


def first_pass(table: Table, is_pos: np.ndarray, products: bool = False, weight: np.ndarray | None = None) -> FirstPass:
    """Class means and |x|^2 of every row; dense rows are centred, sparse ones left as they are.

    ``products`` also keeps those of every row with both means, where rows are sparse. A row weighs ``weight`` rows.
    """
    n_rows, d = table.shape
    centre, label, order = table.centre(weight), is_pos.astype(np.int8), np.arange(n_rows)
    total, squares = np.zeros((2, d)), np.empty(n_rows)
    parts = _parts(table, order, centre)
    many = isinstance(table, DenseTable | SparseTable) and len(table.pieces(n_rows)) > 1  # others gather their rows
    for found in bounded_thread_map(partial(_sums_of, label, weight, squares, d), parts, THREADS if many else 1):
        total += found
    n = np.array([n_rows - is_pos.sum(), is_pos.sum()], dtype=np.float64)
    if weight is not None:
        n[:] = weight[~is_pos].sum(), weight[is_pos].sum()
    mean, inner = total / n[:, None], np.empty((0, 2))
    if products and isinstance(table, SparseTable):
        inner = np.stack([table.matmul(each) for each in mean], axis=1)
        inner -= centre @ mean.T
    with np.errstate(over="ignore", invalid="ignore"):  # who cannot go on with infinite ones says so
        size = [_mean(squares[chosen], None if weight is None else weight[chosen]) for chosen in (~is_pos, is_pos)]
        mean_square = np.array([_mean(squares, weight)])
        pair_square = size[1] + size[0] - 2.0 * mean[0] @ mean[1]
    total += n[:, None] * centre
    return FirstPass(total, n, mean_square, centre, mean, max(float(pair_square), 0.0), squares, inner)


class _Part(NamedTuple):
    """Some rows: a struct, their places in it, and their numbers in the table."""

    rows: Any
    at: np.ndarray
    steps: slice


def _parts(table: Table, order: np.ndarray, centre: np.ndarray) -> Iterator[_Part]:
    """All rows once through, in pieces that do not depend on the number of threads."""
    for rows, (at,), steps in table.sweep(order, centre=centre):
        for piece in table.pieces(len(at)):
            yield _Part(rows, at[piece], slice(steps.start + piece.start, steps.start + piece.stop))


def _sums_of(label: np.ndarray, weight: np.ndarray | None, squares: np.ndarray, d: int, part: _Part) -> np.ndarray:
    """The sum of the rows of each class among some; their |x|^2 are noted."""
    (rows, at, steps), total = part, np.zeros((2, d))
    if weight is None:
        sum_rows(rows, at, label[steps], total, squares[steps])
    else:
        sum_weighted_rows(rows, at, label[steps], weight[steps], total, squares[steps])
    return total


def _mean(values: np.ndarray, weight: np.ndarray | None) -> float:
    return float(values.mean() if weight is None else np.average(values, weights=weight))


def running(d: int, known: FirstPass | None = None) -> Running:
    """The means before any step: of no rows in a stream; in `fit` of all rows, for a stream that follows."""
    if known is None:
        return Running(np.zeros((2, d)), np.zeros(2), np.zeros(1), np.zeros(d))
    return Running(known.total.copy(), known.n.copy(), known.mean_square.copy(), known.centre.copy())


def midpoint(total: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Halfway between the class means, from the sums and numbers of the rows of each class."""
    mean = total / np.maximum(n, 1.0)[:, None]
    return 0.5 * (mean[0] + mean[1])


@kernel(allocates=False)
def sum_rows(rows, at, label, total, squares):
    """Add each row to its class's sum, and note its |x|^2."""
    for k in range(at.shape[0]):
        squares[k] = row_sum(rows, at[k], total[label[k]])


@kernel(allocates=False)
def sum_weighted_rows(rows, at, label, weight, total, squares):
    """Add each row to its class's sum by its weight, and note its |x|^2: zero where it does not count."""
    for k in range(at.shape[0]):
        squares[k] = 0.0
        if weight[k] > 0.0:
            row_axpy(rows, at[k], weight[k], total[label[k]])
            squares[k] = row_square(rows, at[k])
