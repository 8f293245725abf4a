"""What a stochastic square-loss step knows of the class means: all of it (`fit`), or the rows so far (a stream).

Classes are numbered 0 (negative) and 1 (positive). All projections are of rows and means minus the rows' centre.
"""

from typing import NamedTuple

import numpy as np

from auclid._generic import generic
from auclid._rows import centre_dot, recentre, row_add, row_dot, row_square
from auclid.moments import class_moments


class Known(NamedTuple):
    """Class means from a first pass: their products with every row are at hand."""

    inner: np.ndarray  # (steps, 2): x . mu_c of each step's row
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
def mean_inner(means, rows, i, k, c):
    """x_i . mu_c, where row i belongs to step k."""


@generic
def mean_dot(means, rows, c, w):
    """mu_c . w, in O(d)."""


@see.implement(Known)
def _(means, rows, i, c, f, a):
    return f


@mean_inner.implement(Known)
def _(means, rows, i, k, c):
    return means.inner[k, c]


@mean_dot.implement(Known)
def _(means, rows, c, w):
    return np.dot(means.mean[c], w)


@see.implement(Running)
def _(means, rows, i, c, f, a):
    n, square = means.n, means.square
    seen = n[0] + n[1]
    q = row_square(rows, i)
    share = recentre(rows, i, seen + 1.0)
    square[0] += (q * (1.0 - share) - square[0]) / (seen + 1.0)
    row_add(rows, i, means.total[c])
    n[c] += 1.0
    a[0] -= share * f
    a[1] -= share * f
    f -= share * f
    a[c] += (f - a[c]) / n[c]
    return f


@mean_inner.implement(Running)
def _(means, rows, i, k, c):
    return row_dot(rows, i, means.total[c]) / means.n[c] - row_dot(rows, i, means.centre)


@mean_dot.implement(Running)
def _(means, rows, c, w):
    return np.dot(means.total[c], w) / means.n[c] - centre_dot(rows, w)


class Survey(NamedTuple):
    """What a first pass over all rows tells a stochastic method."""

    total: np.ndarray  # (2, d)
    n: np.ndarray
    square: np.ndarray
    centre: np.ndarray
    mean: np.ndarray  # (2, d), minus the centre
    inner: np.ndarray  # (n, 2)


def survey(table, is_pos):
    """Class means, their products with every row, and E|x|^2; dense rows are centred, sparse ones left as they are."""
    moments = class_moments(table, is_pos, full=False)
    both = moments.all
    raw = np.stack([moments.neg.mean, moments.pos.mean])
    n = np.array([moments.neg.n, moments.pos.n])
    centre = both.mean if table.centred else np.zeros_like(both.mean)
    square = float(both.covariance) + (0.0 if table.centred else both.mean @ both.mean)
    mean = raw - centre
    inner = table.matmul(mean.T) - centre @ mean.T
    return Survey(raw * n[:, None], n, np.array([square]), centre, mean, inner)
