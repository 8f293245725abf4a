"""Random forests: bagged trees whose nodes take the best split of some columns, with out-of-bag predictions."""

from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.trees.extra import BootstrapSample, Growth, extra_trees, side_purity, split_column
from auclid.trees.structs import Trees

N_BINS = 64
"""Bins of a column; more do not change the ranking."""


class BinnedColumns(NamedTuple):
    """Columns in bins: x is above ``cuts[column, k]`` if its code is above k."""

    codes: np.ndarray  # (d, n), uint8
    cuts: np.ndarray  # (d, N_BINS - 1)


class BestSplit(NamedTuple):
    """Splits at the best boundary between a column's bins; with work space for sums by bin."""

    codes: np.ndarray
    cuts: np.ndarray
    masses: np.ndarray
    positives: np.ndarray
    bins: np.ndarray  # work space for the bins of a node's rows


def random_forest(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray, rng: np.random.Generator, growth: Growth
) -> tuple[Trees, np.ndarray]:
    """A random forest, and out-of-bag predictions of all rows.

    A node draws √d columns that are not constant in it and takes, of all their splits between bins of the whole table,
    the one of least Gini impurity. Leaves are pure.
    """
    masses, positives = np.zeros(N_BINS, dtype=np.int64), np.zeros(N_BINS, dtype=np.int64)
    rule = BestSplit(*bin_columns(X), masses, positives, np.empty(len(X), dtype=np.uint8))
    return extra_trees(X, y, weight, rng, growth, rule)


def bin_columns(X: np.ndarray) -> BinnedColumns:
    """A bin for each value of a column with few values, else quantile bins; missing values are in the first bin.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.trees.forest import bin_columns
    >>> bin_columns(np.array([[3.0], [1.0], [np.nan], [1.0]])).codes
    array([[2, 1, 0, 1]], dtype=uint8)
    """
    n, d = X.shape
    codes, cuts = np.zeros((d, n), dtype=np.uint8), np.full((d, N_BINS - 1), np.inf)
    for column in range(d):
        own_cuts = _cuts(X[:, column])
        cuts[column, : len(own_cuts)] = own_cuts
        codes[column] = np.searchsorted(own_cuts, np.nan_to_num(X[:, column], nan=-np.inf), side="left")
    return BinnedColumns(codes, cuts)


def _cuts(x: np.ndarray) -> np.ndarray:
    present = x[~np.isnan(x)]
    values = np.unique(present)
    if not len(values):
        return np.empty(0)
    missing = [values[0] - max(values[-1] - values[0], 1.0)] if len(present) < len(x) else []
    room = N_BINS - 1 - len(missing)
    if len(values) - 1 <= room:
        between = 0.5 * (values[1:] + values[:-1])
        between = np.where(between < values[1:], between, values[:-1])  # if the midpoint rounds up
    else:
        between = np.unique(np.quantile(present, np.arange(1, room + 1) / (room + 1.0), method="lower"))
        between = between[between < values[-1]]
    return np.concatenate([missing, between])


@split_column.implement(BestSplit)
def _(
    rule: BestSplit, sample: BootstrapSample, column: int, lo: int, hi: int, sums: tuple[int, int], draw: float
) -> tuple[float, float]:
    low, high = sum_by_bin(rule, sample, column, lo, hi)
    if low == high:
        return 0.0, -1.0
    last, gain = best_boundary(rule, low, high, sums[0], sums[1])
    return rule.cuts[column, last], gain


@kernel(inner=True)
def sum_by_bin(rule: BestSplit, sample: BootstrapSample, column: int, lo: int, hi: int) -> tuple[int, int]:
    """Sum the mass of a node's rows, and of the positives, by bin; returns the first and the last bin with rows."""
    codes, bins, masses, positives = rule.codes[column], rule.bins, rule.masses, rule.positives
    low, high = N_BINS, -1
    for r in range(lo, hi):
        b = codes[sample.rows[r]]
        bins[r] = b
        low, high = min(low, b), max(high, b)
    if low < high:
        masses[low : high + 1] = 0
        positives[low : high + 1] = 0
        for r in range(lo, hi):
            masses[bins[r]] += sample.mass[r]
            positives[bins[r]] += sample.positive[r]
    return low, high


@kernel(inner=True)
def best_boundary(rule: BestSplit, low: int, high: int, mass: int, positive: int) -> tuple[int, float]:
    """The last bin of the left side in the purest split, and the purity of that split."""
    last, best_gain, mass_left, positive_left = low, -1.0, 0, 0
    for b in range(low, high):
        if rule.masses[b] == 0:
            continue
        mass_left += rule.masses[b]
        positive_left += rule.positives[b]
        gain = side_purity(mass_left, positive_left) + side_purity(mass - mass_left, positive - positive_left)
        if gain > best_gain:
            last, best_gain = b, gain
    return last, best_gain
