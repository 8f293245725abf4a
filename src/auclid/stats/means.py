"""What a stochastic step knows of the class means: all of it (`fit`), or the rows so far (a stream).

Classes are numbered 0 (negative) and 1 (positive). All projections are of rows and means minus the rows' centre.
"""

from typing import NamedTuple

import numpy as np

from auclid._generic import generic, kernel
from auclid.rows import centre_dot, recentre, row_add, row_axpy, row_dot, row_square

TINY = 1e-6
"""The scale of averaged weights w = scale v below which v is made anew: lag v + total loses as many digits."""


class Known(NamedTuple):
    """Class means from a first pass: their products with every row are at hand."""

    inner: np.ndarray  # (steps, 2): x . mu_c of each step's row
    length: np.ndarray  # (steps,): |x|^2 of each step's row
    mean: np.ndarray  # (2, d): mu_c
    n: np.ndarray  # (2,): rows of each class
    square: np.ndarray  # (1,): E|x|^2


class Running(NamedTuple):
    """Class means of the rows seen so far."""

    total: np.ndarray  # (2, d): sums of raw rows
    n: np.ndarray
    square: np.ndarray
    centre: np.ndarray


@generic
def see(means, rows, i, c, f, a):
    """Let row i of class c, whose score is f, enter the means; moves a_c = w . mu_c along, returns the score anew."""


@generic
def enter(means, rows, i, c):
    """Let row i of class c enter what is known of all rows; says by which share of x_i the centre moved."""


@generic
def mean_inner(means, rows, i, k, c):
    """x_i . mu_c, where row i belongs to step k."""


@generic
def row_length(means, rows, i, k):
    """|x_i|^2, where row i belongs to step k."""


@generic
def mean_dot(means, rows, c, w):
    """mu_c . w, in O(d)."""


@enter.implement(Known)
def _(means, rows, i, c):
    return 0.0


@see.implement(Known)
def _(means, rows, i, c, f, a):
    return f


@mean_inner.implement(Known)
def _(means, rows, i, k, c):
    return means.inner[k, c]


@row_length.implement(Known)
def _(means, rows, i, k):
    return means.length[k]


@mean_dot.implement(Known)
def _(means, rows, c, w):
    return np.dot(means.mean[c], w)


@enter.implement(Running)
def _(means, rows, i, c):
    n, square = means.n, means.square
    seen = n[0] + n[1]
    q = row_square(rows, i)
    share = recentre(rows, i, seen + 1.0)
    square[0] += (q * (1.0 - share) - square[0]) / (seen + 1.0)
    row_add(rows, i, means.total[c])
    n[c] += 1.0
    return share


@see.implement(Running)
def _(means, rows, i, c, f, a):
    moved = enter(means, rows, i, c) * f
    a[0] -= moved
    a[1] -= moved
    f -= moved
    a[c] += (f - a[c]) / means.n[c]
    return f


@mean_inner.implement(Running)
def _(means, rows, i, k, c):
    return row_dot(rows, i, means.total[c]) / means.n[c] - row_dot(rows, i, means.centre)


@row_length.implement(Running)
def _(means, rows, i, k):
    return row_square(rows, i)


@mean_dot.implement(Running)
def _(means, rows, c, w):
    return np.dot(means.total[c], w) / means.n[c] - centre_dot(rows, w)


class Survey(NamedTuple):
    """What a first pass over all rows tells a stochastic method; rows and means are minus the centre."""

    total: np.ndarray  # (2, d): sums of raw rows
    n: np.ndarray
    square: np.ndarray  # (1,): E|x|^2
    centre: np.ndarray
    mean: np.ndarray  # (2, d)
    inner: np.ndarray  # (n, 2): x . mu_c
    length: np.ndarray  # (n,): |x|^2


def survey(table, is_pos):
    """Class means, their products with every row, and |x|^2; dense rows are centred, sparse ones left as they are."""
    n_rows, d = table.shape
    centre, label, order = table.centre(), is_pos.astype(np.int8), np.arange(n_rows)
    total, length = np.zeros((2, d)), np.empty(n_rows)
    for rows, (at,), steps in table.sweep(order, centre=centre):
        first_look(rows, at, label[steps], total, length[steps])
    n = np.array([n_rows - is_pos.sum(), is_pos.sum()], dtype=np.float64)
    mean = total / n[:, None]
    inner = table.matmul(mean.T)
    inner -= centre @ mean.T
    return Survey(total + n[:, None] * centre, n, np.array([length.mean()]), centre, mean, inner, length)


def opened(d, survey):
    """(sums, n, square, centre) before any step: of all rows in `fit`, of none in a stream."""
    if survey is None:
        return np.zeros((2, d)), np.zeros(2), np.zeros(1), np.zeros(d)
    return survey.total.copy(), survey.n.copy(), survey.square.copy(), survey.centre.copy()


def means_of(state, survey, order):
    """What the steps for the rows of ``order`` know of the class means."""
    if survey is None:
        return Running(state.sums, state.n, state.square, state.centre)
    return Known(survey.inner[order], survey.length[order], survey.mean, survey.n, survey.square)


def middle(total, n):
    """Halfway between the class means, from the sums and numbers of the rows of each class."""
    mean = total / np.maximum(n, 1.0)[:, None]
    return 0.5 * (mean[0] + mean[1])


@kernel
def first_look(rows, at, label, total, length):
    """Add each row to its class's sum, and note its |x|^2."""
    for k in range(at.shape[0]):
        row_axpy(rows, at[k], 1.0, total[label[k]])
        length[k] = row_square(rows, at[k])
