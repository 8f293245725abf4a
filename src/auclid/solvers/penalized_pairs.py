"""Stochastic steps on random pairs with a penalty that is not smooth: l1 lazily in O(nnz), others in O(d) now and then.

Every ``rskip`` steps w <- prox of the penalty. Between rows that contain column j only the penalty acts on w_j, so a
nonzero column is stored as w_j = scale (u_j - sign(u_j) threshold), with u_j constant meanwhile. It has become zero if
the threshold exceeds |u_j|. The sum of the averaged iterates needs to know when: the thresholds at all averagings of a
sweep are kept, and a bisection finds the first that exceeds |u_j|.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import RowStruct, pair_dot, pair_squared_norm, row_entry, row_span
from auclid.penalties import Penalty, prox
from auclid.solvers.averaging import (
    AveragedIterate,
    ScaleFactors,
    add_to_average,
    prefetch_ahead,
    renormalize,
    step_along_pair,
)
from auclid.solvers.random_pairs import (
    MIN_PAIR_SCALE,
    PairIterate,
    PairSteps,
    RandomPairsSolver,
    absolute_alpha,
    pair_step,
)


@dataclass(frozen=True)
class L1PairsSolver(RandomPairsSolver):
    """Steps on random pairs with the penalty (alpha/2) |w|^2 + l1 |w|_1."""

    l1: float = 0.0

    def sweep(self, rows: RowStruct, pos: np.ndarray, neg: np.ndarray, iterate: PairIterate) -> PairIterate:
        return sweep_pairs_l1(rows, pos, neg, self.steps, self.l1, iterate)


@dataclass(frozen=True)
class PenalizedPairsSolver(RandomPairsSolver):
    """Steps on random pairs with any penalty; alpha sets the step sizes only."""

    penalty: Penalty = None

    def sweep(self, rows: RowStruct, pos: np.ndarray, neg: np.ndarray, iterate: PairIterate) -> PairIterate:
        return sweep_pairs_penalized(rows, pos, neg, self.steps, self.penalty, iterate)


class Averagings(NamedTuple):
    """The averagings of a sweep so far: the threshold at each, and the sums of scale and scale * threshold before."""

    thresholds: np.ndarray  # (count,)
    scales: np.ndarray  # (count + 1,)
    products: np.ndarray  # (count + 1,)


@kernel(allocates=False, inner=True)
def add_column(u: np.ndarray, rest: np.ndarray, j: int, past: Averagings, count: int, threshold: float) -> None:
    """Set column j to zero if the threshold has passed it, and add what it gave to the average until then."""
    size = abs(u[j])
    if size == 0.0 or size > threshold:
        return
    low, high = 0, count
    while low < high:  # the first averaging at which the column is zero
        middle = (low + high) // 2
        if past.thresholds[middle] < size:
            low = middle + 1
        else:
            high = middle
    rest[j] += past.scales[low] * u[j] - past.products[low] * np.sign(u[j])
    u[j] = 0.0


@kernel(allocates=False, inner=True)
def lazy_row_dot(rows: RowStruct, i: int, u: np.ndarray, threshold: float) -> float:
    """x_i . w, divided by the scale."""
    total = 0.0
    first, last = row_span(rows, i)
    for position in range(first, last):
        j, x = row_entry(rows, i, position)
        size = abs(u[j]) - threshold
        if size > 0.0:
            total += x * (size if u[j] > 0.0 else -size)
    return total


@kernel(allocates=False, inner=True)
def lazy_row_step(
    rows: RowStruct, i: int, a: float, u: np.ndarray, rest: np.ndarray, past: Averagings, count: int, threshold: float
) -> None:
    """w += scale a x_i"""
    first, last = row_span(rows, i)
    for position in range(first, last):
        j, x = row_entry(rows, i, position)
        add_column(u, rest, j, past, count, threshold)
        old, old_sign = u[j], np.sign(u[j])
        w = old - old_sign * threshold + a * x
        new_sign = np.sign(w)
        new = w + new_sign * threshold
        rest[j] += past.products[count] * (new_sign - old_sign) - past.scales[count] * (new - old)
        u[j] = new


@kernel(allocates=False, inner=True)
def apply_threshold(
    u: np.ndarray, rest: np.ndarray, past: Averagings, count: int, scale: float, threshold: float
) -> None:
    """u <- w and rest <- the sum of the averaged iterates."""
    for j in range(u.shape[0]):
        add_column(u, rest, j, past, count, threshold)
        s = np.sign(u[j])
        rest[j] += past.scales[count] * u[j] - past.products[count] * s
        u[j] = scale * (u[j] - s * threshold)


@kernel(allocates=False, inner=True)
def shrink_and_cut(w: np.ndarray, factor: float, cut: float) -> None:
    """w <- soft(factor w, cut)"""
    for j in range(w.shape[0]):
        size = abs(factor * w[j]) - cut
        w[j] = (size if factor * w[j] > 0.0 else -size) if size > 0.0 else 0.0


@kernel
def sweep_pairs_l1(
    rows: RowStruct, pos: np.ndarray, neg: np.ndarray, steps: PairSteps, l1: float, iterate: PairIterate
) -> PairIterate:
    """One step per pair, in O(nnz of its rows); all columns are brought up to date at the end."""
    u, rest = iterate.weights.v, iterate.weights.rest
    weight = renormalize(u, rest, iterate.weights.factors).weight
    rule, loss, offset, rskip, askip = steps.rule, steps.loss, steps.offset, steps.rskip, steps.askip
    t, pair_square, n_pairs = iterate.t, iterate.pair_square, iterate.n_pairs
    to_shrink, to_average = rskip - t % rskip, askip - t % askip
    room = pos.shape[0] // askip + 2
    past = Averagings(thresholds=np.empty(room), scales=np.zeros(room + 1), products=np.zeros(room + 1))
    count, scale, threshold = 0, 1.0, 0.0
    for k in range(pos.shape[0]):
        prefetch_ahead(rows, pos, k)
        prefetch_ahead(rows, neg, k)
        i, j = pos[k], neg[k]
        t += 1
        if n_pairs < np.inf:
            n_pairs += 1.0
            pair_square += (pair_squared_norm(rows, i, j) - pair_square) / n_pairs
        alpha = absolute_alpha(steps, pair_square)
        inverse = alpha * t + offset * pair_square
        margin = scale * (lazy_row_dot(rows, i, u, threshold) - lazy_row_dot(rows, j, u, threshold))
        c = pair_step(rule, loss, rows, i, j, margin, 1.0 / inverse)
        if c != 0.0:
            lazy_row_step(rows, i, c / scale, u, rest, past, count, threshold)
            lazy_row_step(rows, j, -c / scale, u, rest, past, count, threshold)
        to_shrink -= 1
        if to_shrink == 0:
            to_shrink = rskip
            factor, cut = 1.0 - rskip * alpha / inverse, l1 * rskip / inverse
            if scale * factor < MIN_PAIR_SCALE:
                apply_threshold(u, rest, past, count, scale, threshold)
                shrink_and_cut(u, factor, cut)
                count, scale, threshold = 0, 1.0, 0.0
            else:
                scale *= factor
                threshold += cut / scale
        to_average -= 1
        if to_average == 0:
            to_average = askip
            past.thresholds[count] = threshold
            past.scales[count + 1] = past.scales[count] + scale
            past.products[count + 1] = past.products[count] + scale * threshold
            count += 1
            weight += 1.0
    apply_threshold(u, rest, past, count, scale, threshold)
    weights = AveragedIterate(v=u, rest=rest, factors=ScaleFactors(scale=1.0, sum_scale=0.0, weight=weight))
    return PairIterate(weights=weights, t=t, pair_square=pair_square, n_pairs=n_pairs)


@kernel
def sweep_pairs_penalized(
    rows: RowStruct, pos: np.ndarray, neg: np.ndarray, steps: PairSteps, penalty: Penalty, iterate: PairIterate
) -> PairIterate:
    """One step per pair, in O(nnz of its rows), and O(d) every ``rskip`` steps."""
    v, rest = iterate.weights.v, iterate.weights.rest
    factors = renormalize(v, rest, iterate.weights.factors)
    rule, loss, offset, rskip, askip = steps.rule, steps.loss, steps.offset, steps.rskip, steps.askip
    t, pair_square, n_pairs = iterate.t, iterate.pair_square, iterate.n_pairs
    to_shrink, to_average = rskip - t % rskip, askip - t % askip
    for k in range(pos.shape[0]):
        i, j = pos[k], neg[k]
        t += 1
        if n_pairs < np.inf:
            n_pairs += 1.0
            pair_square += (pair_squared_norm(rows, i, j) - pair_square) / n_pairs
        inverse = absolute_alpha(steps, pair_square) * t + offset * pair_square
        c = pair_step(rule, loss, rows, i, j, pair_dot(rows, i, j, v), 1.0 / inverse)
        if c != 0.0:
            step_along_pair(v, rest, factors, rows, i, j, c)
        to_shrink -= 1
        if to_shrink == 0:
            to_shrink = rskip
            factors = renormalize(v, rest, factors)
            prox(penalty, v, rskip / inverse)
        to_average -= 1
        if to_average == 0:
            to_average = askip
            factors = add_to_average(factors, 1.0)
    weights = AveragedIterate(v=v, rest=rest, factors=factors)
    return PairIterate(weights=weights, t=t, pair_square=pair_square, n_pairs=n_pairs)
