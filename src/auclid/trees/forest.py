"""Random forests: trees whose nodes take the best cut of some columns, judged on rows they have not seen."""

from functools import partial
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.trees.extra import TRIES, Growth, bagged, parted
from auclid.trees.structs import Trees

BINS = 64
"""Cuts of a column that are tried, and one more: beyond that they tell the same."""


class Bins(NamedTuple):
    """The columns cut into bins: x is above ``cuts[column, k]`` where its code is above k."""

    codes: np.ndarray  # (d, n), uint8
    cuts: np.ndarray  # (d, BINS - 1)


def random_forest(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray, rng: np.random.Generator, growth: Growth
) -> tuple[Trees, np.ndarray]:
    """A random forest, and every row's mean over the trees that have not seen it.

    A node draws √d columns that are not constant in it and takes, of all cuts of these between bins of the whole table,
    the one that leaves the least of Gini's impurity. Leaves are pure.
    """
    return bagged(X, y, weight, rng, growth, partial(grow_best, bins_of(X)))


def bins_of(X: np.ndarray) -> Bins:
    """Bins between all values of a column where these are few, else between quantiles; a missing value has the least.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.trees.forest import bins_of
    >>> bins_of(np.array([[3.0], [1.0], [np.nan], [1.0]])).codes
    array([[2, 1, 0, 1]], dtype=uint8)
    """
    n, d = X.shape
    codes, cuts = np.zeros((d, n), dtype=np.uint8), np.full((d, BINS - 1), np.inf)
    for column in range(d):
        found = _cuts(X[:, column])
        cuts[column, : len(found)] = found
        codes[column] = np.searchsorted(found, np.nan_to_num(X[:, column], nan=-np.inf), side="left")
    return Bins(codes, cuts)


def _cuts(x: np.ndarray) -> np.ndarray:
    there = x[~np.isnan(x)]
    values = np.unique(there)
    if not len(values):
        return np.empty(0)
    gaps = [values[0] - max(values[-1] - values[0], 1.0)] if len(there) < len(x) else []
    room = BINS - 1 - len(gaps)
    if len(values) - 1 <= room:
        between = 0.5 * (values[1:] + values[:-1])
        between = np.where(between < values[1:], between, values[:-1])  # of neighbours among floats
    else:
        between = np.unique(np.quantile(there, np.arange(1, room + 1) / (room + 1.0), method="lower"))
        between = between[between < values[-1]]
    return np.concatenate([gaps, between])


@kernel
def grow_best(bins, sample, draws, wanted, nodes):
    """Grow one tree on the rows of a sample; fills the nodes' arrays and returns how many."""
    columns, y, weight, rows = sample.columns, sample.y, sample.weight, sample.rows
    feature, threshold, left, value = nodes.feature, nodes.threshold, nodes.left, nodes.value
    codes, d, n_draws = bins.codes, columns.shape[0], draws.shape[0]
    looked_at = np.full(d, -1, np.int64)  # the last node in which a column was looked at
    begin, end = np.zeros(feature.shape[0], np.int64), np.zeros(feature.shape[0], np.int64)
    masses, positives = np.zeros(BINS), np.zeros(BINS)
    end[0] = rows.shape[0]
    used, node, at = 1, 0, 0
    while node < used:
        lo, hi = begin[node], end[node]
        mass, positive = 0.0, 0.0
        for r in range(lo, hi):
            mass += weight[rows[r]]
            positive += weight[rows[r]] * y[rows[r]]
        value[node] = positive / mass if mass > 0.0 else 0.5
        best, best_gain, best_cut, found = -1, -1.0, 0, 0
        if hi - lo > 1 and 0.0 < positive < mass:
            for _ in range(TRIES * wanted):
                column = min(int(draws[at] * d), d - 1)
                at = (at + 1) % n_draws
                if looked_at[column] == node:
                    continue
                looked_at[column] = node
                low, high = tally(codes[column], sample, lo, hi, masses, positives)
                if low == high:
                    continue
                cut, gain = best_bin(masses, positives, low, high, mass, positive)
                if gain > best_gain:
                    best, best_gain, best_cut = column, gain, cut
                found += 1
                if found == wanted:
                    break
        if best >= 0:
            cut = bins.cuts[best, best_cut]
            middle = parted(columns[best], rows, lo, hi, cut)
            feature[node], threshold[node], left[node] = best, cut, used
            begin[used], end[used] = lo, middle
            begin[used + 1], end[used + 1] = middle, hi
            used += 2
        node += 1
    return used


@kernel
def tally(codes, sample, lo, hi, masses, positives):
    """Weights of the rows of a node by bin, and of the positives; the least and the greatest bin that has some."""
    y, weight, rows = sample.y, sample.weight, sample.rows
    low, high = BINS, -1
    for r in range(lo, hi):
        b = codes[rows[r]]
        low, high = min(low, b), max(high, b)
    for b in range(low, high + 1):
        masses[b], positives[b] = 0.0, 0.0
    for r in range(lo, hi):
        i = rows[r]
        masses[codes[i]] += weight[i]
        positives[codes[i]] += weight[i] * y[i]
    return low, high


@kernel
def best_bin(masses, positives, low, high, mass, positive):
    """The last bin of the left side that leaves the least impurity, and how pure the sides then are."""
    best, best_gain, mass_left, positive_left = low, -1.0, 0.0, 0.0
    for b in range(low, high):
        mass_left += masses[b]
        positive_left += positives[b]
        mass_right, positive_right = mass - mass_left, positive - positive_left
        gain = 0.0
        if mass_left > 0.0:
            gain += positive_left * positive_left / mass_left
        if mass_right > 0.0:
            gain += positive_right * positive_right / mass_right
        if gain > best_gain:
            best, best_gain = b, gain
    return best, best_gain
