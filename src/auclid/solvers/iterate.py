"""The weights of a stochastic method and the average of all its iterates (Polyak averaging), in O(nnz of a row) a step.

Written w = now v, a shrinking of w changes one number. Written past v + rest, so does the sum of the iterates when w
enters it; and a step along x changes both v and rest in the entries of x alone.
"""

from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import pair_axpy_two, row_axpy_two, row_fetch

TINY = 1e-6
"""The factor of w = now v below which v is made anew: past v + rest loses as many digits."""


AHEAD = 6
"""How many steps before its own a row is asked for from memory."""


class Factors(NamedTuple):
    """The numbers of an iterate: w = now v, and the weighted sum of the iterates averaged is past v + rest."""

    now: float
    past: float
    weight: float  # the sum of the weights


class Iterate(NamedTuple):
    """Weights w = now v, and the weighted sum of the iterates so far, past v + rest."""

    v: np.ndarray
    rest: np.ndarray
    factors: Factors


class Trail(NamedTuple):
    """Weights that never shrink, and how far their average is behind them: it is w - behind / weight."""

    w: np.ndarray
    behind: np.ndarray
    weight: float  # the sum of the weights of the iterates averaged


def begin(d: int) -> Iterate:
    """Zero weights, nothing averaged."""
    return Iterate(np.zeros(d), np.zeros(d), Factors(1.0, 0.0, 0.0))


def begin_trail(w: np.ndarray) -> Trail:
    """These weights, nothing averaged."""
    return Trail(w, np.zeros_like(w), 0.0)


def current(iterate: Iterate) -> np.ndarray:
    """w"""
    return iterate.factors.now * iterate.v


def average(iterate: Iterate) -> np.ndarray:
    """The weighted mean of the iterates that were averaged; w itself while there are none."""
    factors = iterate.factors
    if factors.weight == 0.0:
        return current(iterate)
    return (factors.past * iterate.v + iterate.rest) / factors.weight


def trail_average(trail: Trail) -> np.ndarray:
    """The weighted mean of the iterates that were averaged; w itself while there are none."""
    return trail.w - trail.behind / max(trail.weight, 1.0)


@kernel(allocates=False, inner=True)
def fetch_ahead(rows, at, k):
    """Ask for the row of a step soon to come: in random order, rows are waited for longer than computed with."""
    if k + AHEAD < at.shape[0]:
        row_fetch(rows, at[k + AHEAD])


@kernel(allocates=False, inner=True)
def step_row(v, rest, factors, rows, i, a):
    """w += a x_i"""
    row_axpy_two(rows, i, a / factors.now, v, -factors.past * a / factors.now, rest)


@kernel(allocates=False, inner=True)
def step_pair(v, rest, factors, rows, i, j, a):
    """w += a (x_i - x_j)"""
    a /= factors.now
    pair_axpy_two(rows, i, j, a, v, -factors.past * a, rest)


@kernel(inner=True)
def scaled(factors, now):
    """w <- now v"""
    return Factors(now=now, past=factors.past, weight=factors.weight)


@kernel(inner=True)
def averaged(factors, weight):
    """w enters the average with this weight."""
    return Factors(now=factors.now, past=factors.past + weight * factors.now, weight=factors.weight + weight)


@kernel(allocates=False, inner=True)
def renewed(v, rest, factors):
    """Make v anew: v = w, with now = 1 and past = 0."""
    for j in range(v.shape[0]):
        rest[j] += factors.past * v[j]
        v[j] *= factors.now
    return Factors(now=1.0, past=0.0, weight=factors.weight)
