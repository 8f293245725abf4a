"""Boosting of stumps on the exponential loss of all pairs, in O(n d) per round, without forming pairs.

A stump h(x) is 1 if column k is above a threshold, and 0 otherwise. The weight of a pair (i, j) is u_i v_j, so the sums
of u and of v over the rows above the threshold determine a stump's effect on all pairs.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel

N_KINDS = 4
"""Kinds of entries: labelled negatives and positives (0, 1), unlabelled rows with an assigned label (2, 3)."""

MIN_GAIN = 1e-9
"""A stump must lower the bound by more than this share of it."""

TIE_FACTOR = 1.0 + 1e-10
"""The factor by which a stump must beat earlier ones: of stumps that are equal up to rounding, the first is taken."""


class Stump(NamedTuple):
    """alpha h(x), with h(x) = 1 if x_k > threshold, or if x_k is missing and ``missing`` is true."""

    column: int
    threshold: float
    alpha: float
    missing: bool


class Entries(NamedTuple):
    """Rows to rank, each with its kind and weight; a row with both labels has two entries."""

    X: np.ndarray  # (n, d), may hold NaN
    kind: np.ndarray  # (n,): 0 to 3
    weight: np.ndarray  # (n,)
    share: float  # the weight of the mean over pairs of kinds 2 and 3, relative to that of kinds 0 and 1


class SortedColumns(NamedTuple):
    """The entries sorted by each column."""

    order: np.ndarray  # (d, n): entries by ascending value, missing ones last
    is_cut: np.ndarray  # (d, n): whether the next entry has a greater value, or is missing
    present: np.ndarray  # (d,): the number of entries that are not missing


def sort_columns(X: np.ndarray) -> SortedColumns:
    """Sort each column once, for all rounds."""
    n, d = X.shape
    order, is_cut = np.empty((d, n), dtype=np.int32), np.zeros((d, n), dtype=bool)
    present = np.empty(d, dtype=np.int64)
    for k in range(d):
        column = X[:, k]
        order[k] = np.argsort(column, kind="stable")
        present[k] = n - np.count_nonzero(np.isnan(column))
        values = column[order[k, : present[k]]]
        is_cut[k, : max(0, present[k] - 1)] = values[:-1] < values[1:]
        if present[k]:
            is_cut[k, present[k] - 1] = present[k] < n  # all present entries against the missing ones
    return SortedColumns(order, is_cut, present)


def boost(entries: Entries) -> Iterator[Stump]:
    """Yield stumps, each the one that lowers the bound of the loss most, until none lowers it.

    With W₊ (W₋) the weight of the pairs that h ranks correctly (wrongly), the bound falls to 1 − (√W₊ − √W₋)² with
    α = ½ ln(W₊/W₋), smoothed by half a pair.
    """
    kind, columns = entries.kind, sort_columns(entries.X)
    mass = np.bincount(kind, entries.weight, minlength=N_KINDS)
    weight, smooth = entries.weight / mass[kind], 0.5 / (mass[0] * mass[1] + mass[2] * mass[3])
    parts = np.array([1.0, entries.share if mass[2] * mass[3] > 0.0 else 0.0])
    parts /= parts.sum()
    while True:
        gain, k, position, missing = best_stump(columns, kind, weight, parts)
        if gain <= MIN_GAIN:
            return
        threshold = _threshold(entries.X[:, k], columns.order[k], position, columns.present[k])
        above = stump_values(entries.X[:, k], threshold, missing)
        right, wrong = pair_weights(np.bincount(kind, weight * (1.0 - above), minlength=N_KINDS), parts)
        alpha = 0.5 * np.log((right + smooth) / (wrong + smooth))
        weight *= np.exp(np.where(kind % 2 == 1, -alpha, alpha) * above)  # positives above the threshold lose weight
        mass = np.bincount(kind, weight, minlength=N_KINDS)
        weight /= mass[kind]
        parts *= (mass[0] * mass[1], mass[2] * mass[3])
        parts /= parts.sum()
        yield Stump(int(k), float(threshold), float(alpha), bool(missing))


def _threshold(column: np.ndarray, order: np.ndarray, position: int, present: int) -> float:
    """The midpoint of the values before and after a cut; the greatest value if only missing ones follow."""
    low = float(column[order[position]])
    if position + 1 >= present:
        return low
    high = float(column[order[position + 1]])
    middle = low + 0.5 * (high - low)
    return middle if low <= middle < high else low


def stump_values(column: np.ndarray, threshold: float, missing: bool) -> np.ndarray:
    """h(x) of each value of a column."""
    above = column > threshold
    return np.where(np.isnan(column), missing, above).astype(np.float64)


@kernel(inner=True)
def pair_weights(low: np.ndarray, parts: np.ndarray) -> tuple[float, float]:
    """The weight of the pairs that a stump ranks correctly and wrongly.

    ``low`` is the share of each kind's weight below the threshold, ``parts`` the total weights of the pairs of given
    and of assigned labels.
    """
    right = parts[0] * (1.0 - low[1]) * low[0] + parts[1] * (1.0 - low[3]) * low[2]
    wrong = parts[0] * low[1] * (1.0 - low[0]) + parts[1] * low[3] * (1.0 - low[2])
    return max(right, 0.0), max(wrong, 0.0)


@kernel
def best_stump(
    columns: SortedColumns, kind: np.ndarray, weight: np.ndarray, parts: np.ndarray
) -> tuple[float, int, int, bool]:
    """(gain, column, cut, side of missing values) of the stump with the largest gain (√W₊ − √W₋)²."""
    gain, where, at, side, n = 0.0, -1, -1, False, kind.shape[0]
    low, missing = np.zeros(N_KINDS), np.zeros(N_KINDS)
    for k in range(columns.order.shape[0]):
        order, is_cut, present = columns.order[k], columns.is_cut[k], columns.present[k]
        missing[:] = 0.0
        for p in range(present, n):
            missing[kind[order[p]]] += weight[order[p]]
        low[:] = 0.0
        for p in range(present):
            e = order[p]
            low[kind[e]] += weight[e]
            if is_cut[p]:
                new = stump_gain(low, parts)
                if new > TIE_FACTOR * gain:
                    gain, where, at, side = new, k, p, True
                if present < n and p < present - 1:
                    new = stump_gain(low + missing, parts)
                    if new > TIE_FACTOR * gain:
                        gain, where, at, side = new, k, p, False
    return gain, where, at, side


@kernel(inner=True)
def stump_gain(low: np.ndarray, parts: np.ndarray) -> float:
    """(√W₊ − √W₋)² of a stump; the arguments are those of `pair_weights`."""
    right, wrong = pair_weights(low, parts)
    root = np.sqrt(right) - np.sqrt(wrong)
    return root * root


@kernel
def add_stumps(
    X: np.ndarray,
    columns: np.ndarray,
    thresholds: np.ndarray,
    alphas: np.ndarray,
    missing: np.ndarray,
    out: np.ndarray,
) -> None:
    """out += sum of alpha h(x) of each row."""
    for i in range(X.shape[0]):
        total = 0.0
        for t in range(columns.shape[0]):
            x = X[i, columns[t]]
            if x > thresholds[t] or (missing[t] and np.isnan(x)):
                total += alphas[t]
        out[i] += total
