"""Random forests: trees whose nodes take the best cut of some columns, judged on rows they have not seen."""

from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.trees.extra import Growth, bagged, cut_of, squared
from auclid.trees.structs import Trees

BINS = 64
"""Cuts of a column that are tried, and one more: beyond that they tell the same."""


class Bins(NamedTuple):
    """The columns cut into bins: x is above ``cuts[column, k]`` where its code is above k."""

    codes: np.ndarray  # (d, n), uint8
    cuts: np.ndarray  # (d, BINS - 1)


class BestCut(NamedTuple):
    """A node takes the best cut between a column's bins; with room for sums by bin."""

    codes: np.ndarray
    cuts: np.ndarray
    masses: np.ndarray
    positives: np.ndarray
    seen: np.ndarray
    """Room for the bins of rows in a node."""


def random_forest(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray, rng: np.random.Generator, growth: Growth
) -> tuple[Trees, np.ndarray]:
    """A random forest, and every row's mean over the trees that have not seen it.

    A node draws √d columns that are not constant in it and takes, of all cuts of these between bins of the whole table,
    the one that leaves the least of Gini's impurity. Leaves are pure.
    """
    masses, positives = np.zeros(BINS, dtype=np.int64), np.zeros(BINS, dtype=np.int64)
    cuts = BestCut(*bins_of(X), masses, positives, np.empty(len(X), dtype=np.uint8))
    return bagged(X, y, weight, rng, growth, cuts)


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


@cut_of.implement(BestCut)
def _(best, sample, column, lo, hi, sums, draw):
    low, high = tally(best, sample, column, lo, hi)
    if low == high:
        return 0.0, -1.0
    last, gain = best_bin(best, low, high, sums[0], sums[1])
    return best.cuts[column, last], gain


@kernel
def tally(best, sample, column, lo, hi):
    """Weights of the rows of a node by bin, and of the positives; the least and the greatest bin that has some."""
    codes, seen, masses, positives = best.codes[column], best.seen, best.masses, best.positives
    low, high = BINS, -1
    for r in range(lo, hi):
        b = codes[sample.rows[r]]
        seen[r] = b
        low, high = min(low, b), max(high, b)
    if low < high:
        masses[low : high + 1] = 0
        positives[low : high + 1] = 0
        for r in range(lo, hi):
            masses[seen[r]] += sample.mass[r]
            positives[seen[r]] += sample.positive[r]
    return low, high


@kernel
def best_bin(best, low, high, mass, positive):
    """The last bin of the left side that leaves the least impurity, and how pure the sides then are."""
    last, best_gain, mass_left, positive_left = low, -1.0, 0, 0
    for b in range(low, high):
        if best.masses[b] == 0:
            continue
        mass_left += best.masses[b]
        positive_left += best.positives[b]
        gain = squared(mass_left, positive_left) + squared(mass - mass_left, positive - positive_left)
        if gain > best_gain:
            last, best_gain = b, gain
    return last, best_gain
