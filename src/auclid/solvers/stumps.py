"""Boosting stumps on the exponential loss of all pairs, no pair formed: a round costs O(n d).

A stump h(x) is 1 where column k lies above a threshold, and 0 elsewhere. The weight of a pair (i, j) is u_i v_j, so all
that a stump does to all pairs is known from how much of u and of v it calls 1.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel

KINDS = 4
"""Kinds of entries: labelled negatives and positives (0, 1), unlabelled rows that carry such a label (2, 3)."""

NOTHING_GAINED = 1e-9
"""A stump must lower the bound by more than this share of it."""


TIE = 1.0 + 1e-10
"""By which factor a stump must be better than one found before: of equals but for rounding, the first is taken."""


class Stump(NamedTuple):
    """alpha h(x), with h(x) = 1 where x_k > threshold; a missing value counts as above if ``missing``."""

    column: int
    threshold: float
    alpha: float
    missing: bool


class Entries(NamedTuple):
    """Rows to rank, each with its kind and weight; a row that carries both labels is there twice."""

    X: np.ndarray  # (n, d), may hold NaN
    kind: np.ndarray  # (n,): 0 to 3
    weight: np.ndarray  # (n,)
    share: float  # what the mean over pairs of kinds 2 and 3 weighs beside that of kinds 0 and 1


class Sorted(NamedTuple):
    """The entries by the values of each column."""

    order: np.ndarray  # (d, n): entries by ascending value, missing ones last
    ends: np.ndarray  # (d, n): whether the next entry has a greater value, or is missing
    known: np.ndarray  # (d,): how many are not missing


def sort_columns(X: np.ndarray) -> Sorted:
    """One sort a column serves all rounds."""
    n, d = X.shape
    order, ends = np.empty((d, n), dtype=np.int32), np.zeros((d, n), dtype=bool)
    known = np.empty(d, dtype=np.int64)
    for k in range(d):
        column = X[:, k]
        order[k] = np.argsort(column, kind="stable")
        known[k] = n - np.count_nonzero(np.isnan(column))
        values = column[order[k, : known[k]]]
        ends[k, : max(0, known[k] - 1)] = values[:-1] < values[1:]
        if known[k]:
            ends[k, known[k] - 1] = known[k] < n  # all that are known, against the missing ones
    return Sorted(order, ends, known)


def boost(entries: Entries) -> Iterator[Stump]:
    """Yield stumps, each the one that lowers the bound on the loss most; ends where none does.

    With W₊ (W₋) the weight of the pairs that h puts right (wrong), the bound falls to 1 − (√W₊ − √W₋)², by
    α = ½ ln(W₊/W₋), smoothed by half a pair.
    """
    kind, columns = entries.kind, sort_columns(entries.X)
    mass = np.bincount(kind, entries.weight, minlength=KINDS)
    weight, smooth = entries.weight / mass[kind], 0.5 / (mass[0] * mass[1] + mass[2] * mass[3])
    parts = np.array([1.0, entries.share if mass[2] * mass[3] > 0.0 else 0.0])
    parts /= parts.sum()
    while True:
        gain, k, place, missing = best_stump(columns, kind, weight, parts)
        if gain <= NOTHING_GAINED:
            return
        threshold = _threshold(entries.X[:, k], columns.order[k], place, columns.known[k])
        above = stump_values(entries.X[:, k], threshold, missing)
        right, wrong = pair_weights(np.bincount(kind, weight * (1.0 - above), minlength=KINDS), parts)
        alpha = 0.5 * np.log((right + smooth) / (wrong + smooth))
        weight *= np.exp(np.where(kind % 2 == 1, -alpha, alpha) * above)  # a positive that is above needs less
        mass = np.bincount(kind, weight, minlength=KINDS)
        weight /= mass[kind]
        parts *= (mass[0] * mass[1], mass[2] * mass[3])
        parts /= parts.sum()
        yield Stump(int(k), float(threshold), float(alpha), bool(missing))


def _threshold(column: np.ndarray, order: np.ndarray, place: int, known: int) -> float:
    """Midway between the values on either side of a place; the greatest known value where only missing ones follow."""
    low = float(column[order[place]])
    if place + 1 >= known:
        return low
    high = float(column[order[place + 1]])
    middle = low + 0.5 * (high - low)
    return middle if low <= middle < high else low


def stump_values(column: np.ndarray, threshold: float, missing: bool) -> np.ndarray:
    """h(x) of each value of a column."""
    above = column > threshold
    return np.where(np.isnan(column), missing, above).astype(np.float64)


@kernel
def pair_weights(low, parts):
    """The weight of the pairs that a stump puts right and wrong, if it leaves ``low`` of the mass 1 of each kind below.

    ``parts``: what the pairs of given, and of carried labels weigh in all.
    """
    right = parts[0] * (1.0 - low[1]) * low[0] + parts[1] * (1.0 - low[3]) * low[2]
    wrong = parts[0] * low[1] * (1.0 - low[0]) + parts[1] * low[3] * (1.0 - low[2])
    return max(right, 0.0), max(wrong, 0.0)


@kernel
def best_stump(columns, kind, weight, parts):
    """(gain, column, place, side of the missing) of the stump that lowers the bound most: (√W₊ − √W₋)² is its gain."""
    gain, where, at, side, n = 0.0, -1, -1, False, kind.shape[0]
    low, missing = np.zeros(KINDS), np.zeros(KINDS)
    for k in range(columns.order.shape[0]):
        order, ends, known = columns.order[k], columns.ends[k], columns.known[k]
        missing[:] = 0.0
        for p in range(known, n):
            missing[kind[order[p]]] += weight[order[p]]
        low[:] = 0.0
        for p in range(known):
            e = order[p]
            low[kind[e]] += weight[e]
            if ends[p]:
                new = stump_gain(low, parts)
                if new > TIE * gain:
                    gain, where, at, side = new, k, p, True
                if known < n and p < known - 1:
                    new = stump_gain(low + missing, parts)
                    if new > TIE * gain:
                        gain, where, at, side = new, k, p, False
    return gain, where, at, side


@kernel(inner=True)
def stump_gain(low, parts):
    """(√W₊ − √W₋)² of a stump that leaves ``low`` of the mass of each kind below."""
    right, wrong = pair_weights(low, parts)
    root = np.sqrt(right) - np.sqrt(wrong)
    return root * root


@kernel
def add_stumps(X, columns, thresholds, alphas, missing, out):
    """out += sum of alpha h(x) of each row."""
    for i in range(X.shape[0]):
        total = 0.0
        for t in range(columns.shape[0]):
            x = X[i, columns[t]]
            if x > thresholds[t] or (missing[t] and np.isnan(x)):
                total += alphas[t]
        out[i] += total
