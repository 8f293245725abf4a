"""Weights of a stochastic method and the weighted average of their iterates (Polyak averaging), in O(nnz) per step.

With w = scale v, shrinking w changes one number. With the sum of the iterates written as sum_scale v + rest, adding w
to it changes one number, too; and a step along a row x changes v and rest in the nonzero entries of x only.
"""

from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import RowStruct, pair_axpy_two, row_axpy_two, row_prefetch

MIN_SCALE = 1e-6
"""The scale of w = scale v below which v is renormalised: sum_scale v + rest loses as many digits."""


PREFETCH_STEPS = 6
"""How many steps ahead a row is prefetched."""


class ScaleFactors(NamedTuple):
    """The numbers of an averaged iterate: w = scale v, and the weighted sum of iterates is sum_scale v + rest."""

    scale: float
    sum_scale: float
    weight: float  # the sum of the averaging weights


class AveragedIterate(NamedTuple):
    """Weights w = scale v, and the weighted sum of the iterates so far, sum_scale v + rest."""

    v: np.ndarray
    rest: np.ndarray
    factors: ScaleFactors


class LaggedAverage(NamedTuple):
    """Weights w that are never rescaled; the average of their iterates is w - lag / weight."""

    w: np.ndarray
    lag: np.ndarray
    weight: float  # the sum of the averaging weights


def zero_iterate(d: int) -> AveragedIterate:
    """Zero weights, before any averaging."""
    return AveragedIterate(np.zeros(d), np.zeros(d), ScaleFactors(1.0, 0.0, 0.0))


def start_average(w: np.ndarray) -> LaggedAverage:
    """These weights, before any averaging."""
    return LaggedAverage(w, np.zeros_like(w), 0.0)


def current_weights(iterate: AveragedIterate) -> np.ndarray:
    """w"""
    return iterate.factors.scale * iterate.v


def average_weights(iterate: AveragedIterate) -> np.ndarray:
    """The weighted mean of the averaged iterates; w itself if there are none."""
    factors = iterate.factors
    if factors.weight == 0.0:
        return current_weights(iterate)
    return (factors.sum_scale * iterate.v + iterate.rest) / factors.weight


def lagged_average(average: LaggedAverage) -> np.ndarray:
    """The weighted mean of the averaged iterates; w itself if there are none."""
    return average.w - average.lag / max(average.weight, 1.0)


@kernel(allocates=False, inner=True)
def prefetch_ahead(rows: RowStruct, at: np.ndarray, k: int) -> None:
    """Prefetch the row of a later step: in random order, waiting for memory takes longer than the arithmetic."""
    if k + PREFETCH_STEPS < at.shape[0]:
        row_prefetch(rows, at[k + PREFETCH_STEPS])


@kernel(allocates=False, inner=True)
def step_along_row(v: np.ndarray, rest: np.ndarray, factors: ScaleFactors, rows: RowStruct, i: int, a: float) -> None:
    """w += a x_i"""
    row_axpy_two(rows, i, a / factors.scale, v, -factors.sum_scale * a / factors.scale, rest)


@kernel(allocates=False, inner=True)
def step_along_pair(
    v: np.ndarray, rest: np.ndarray, factors: ScaleFactors, rows: RowStruct, i: int, j: int, a: float
) -> None:
    """w += a (x_i - x_j)"""
    a /= factors.scale
    pair_axpy_two(rows, i, j, a, v, -factors.sum_scale * a, rest)


@kernel(inner=True)
def with_scale(factors: ScaleFactors, scale: float) -> ScaleFactors:
    """w <- scale v"""
    return ScaleFactors(scale=scale, sum_scale=factors.sum_scale, weight=factors.weight)


@kernel(inner=True)
def add_to_average(factors: ScaleFactors, weight: float) -> ScaleFactors:
    """Add w to the average, with this weight."""
    return ScaleFactors(
        scale=factors.scale, sum_scale=factors.sum_scale + weight * factors.scale, weight=factors.weight + weight
    )


@kernel(allocates=False, inner=True)
def renormalize(v: np.ndarray, rest: np.ndarray, factors: ScaleFactors) -> ScaleFactors:
    """Rewrite v and rest for scale = 1 and sum_scale = 0, leaving w and the average unchanged."""
    for j in range(v.shape[0]):
        rest[j] += factors.sum_scale * v[j]
        v[j] *= factors.scale
    return ScaleFactors(scale=1.0, sum_scale=0.0, weight=factors.weight)
