"""Sums over all comparable pairs of ordered rows, in O(n log n) time and O(n) memory.

Rows lie by group and, within a group, by level from the top down. Rows are compared with all rows of later levels of
their group. The recursion halves a group between two levels: at each node, all rows of the first half are above all
rows of the second, which makes two classes of sorted scores. Merging them, as merge sort does, sorts the node.
"""

from typing import NamedTuple

import numpy as np

from auclid._generic import kernel, prefetch

LEAF = 16
"""Rows up to which pairs are formed one by one: a shorter recursion costs less."""

ROW_FIELDS = 8
"""Numbers of a row while it is sorted, one cache line: score, two weights, x, three sums and its position."""


class MarginSums(NamedTuple):
    """For each row, sums over the comparable pairs with a margin m = s_upper - s_lower below a threshold.

    A pair weighs the upper row's weight times the lower row's weight.
    """

    degree: np.ndarray
    """The weight of the row's pairs."""
    cross: np.ndarray
    """The sum of the other row's x, by weight."""
    net: np.ndarray
    """The weight of the pairs in which the row is the upper one, minus that of those in which it is the lower one."""


@kernel
def recursion_nodes(level: np.ndarray, group_ends: np.ndarray) -> np.ndarray:
    """The nodes (first, middle, last) of the recursion over sorted rows, each after its halves; middle -1: a leaf.

    ``level`` never falls and changes between groups; ``group_ends`` are 0 and the end of each group.
    """
    n = level.shape[0]
    first = np.zeros(level[n - 1] + 2 if n else 1, np.int64)
    for p in range(n):
        first[level[p] + 1] = p + 1
    nodes = np.empty((2 * n + 1, 3), np.int64)
    stack = np.empty((128, 2), np.int64)
    count = 0
    for g in range(group_ends.shape[0] - 2, -1, -1):
        stack[0, 0], stack[0, 1] = group_ends[g], group_ends[g + 1]
        height = 1
        while height > 0:
            height -= 1
            low, high = stack[height, 0], stack[height, 1]
            middle = -1
            if high - low > LEAF and level[low] != level[high - 1]:
                centre = (low + high) // 2
                begin, end = first[level[centre]], first[level[centre] + 1]
                middle = begin if begin > low and (end >= high or centre - begin <= end - centre) else end
            nodes[count, 0], nodes[count, 1], nodes[count, 2] = low, middle, high
            count += 1
            if middle >= 0:
                # The shorter half goes on top, so that the stack stays as short as the recursion is deep.
                left_is_longer = middle - low >= high - middle
                a, b = (0, 1) if left_is_longer else (1, 0)
                stack[height + a, 0], stack[height + a, 1] = low, middle
                stack[height + b, 0], stack[height + b, 1] = middle, high
                height += 2
    return nodes[:count][::-1].copy()


@kernel
def margin_sums(
    nodes: np.ndarray,
    level: np.ndarray,
    group_ends: np.ndarray,
    score: np.ndarray,
    upper: np.ndarray,
    lower: np.ndarray,
    x: np.ndarray,
    threshold: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The degree, cross and net of `MarginSums`, for sorted rows that weigh ``upper`` and ``lower``."""
    n = level.shape[0]
    work, spare = np.empty((n, ROW_FIELDS)), np.empty((n, ROW_FIELDS))
    for p in range(n):
        row = work[p]
        row[0], row[1], row[2], row[3] = score[p], upper[p], lower[p], x[p]
        row[4], row[5], row[6], row[7] = 0.0, 0.0, 0.0, float(p)
    g = 0
    for k in range(nodes.shape[0]):
        low, middle, high = nodes[k, 0], nodes[k, 1], nodes[k, 2]
        while group_ends[g + 1] <= low:
            g += 1
        is_root = low == group_ends[g] and high == group_ends[g + 1]
        if middle < 0:
            if level[low] != level[high - 1]:
                add_direct_pairs(work, level, low, high, threshold)
            if not is_root:
                sort_by_score(work, spare, low, high)
        else:
            add_pairs_between(work, low, middle, high, threshold)
            if not is_root:
                merge_halves(work, spare, low, middle, high)
    degree, cross, net = np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        row = work[k]
        p = int(row[7])
        degree[p], cross[p], net[p] = row[4], row[5], row[6]
    return degree, cross, net


@kernel(inner=True)
def add_direct_pairs(work: np.ndarray, level: np.ndarray, low: int, high: int, threshold: float) -> None:
    """Add the pairs of a few unsorted rows of several levels, one by one."""
    for i in range(low, high):
        a = work[i]
        if a[1] == 0.0:
            continue
        t = a[0] - threshold
        for j in range(i + 1, high):
            b = work[j]
            if level[i] != level[j] and t < b[0]:
                mass = a[1] * b[2]
                a[4] += mass
                b[4] += mass
                a[5] += mass * b[3]
                b[5] += mass * a[3]
                a[6] += mass
                b[6] -= mass


@kernel(inner=True)
def add_pairs_between(work: np.ndarray, low: int, middle: int, high: int, threshold: float) -> None:
    """Add the pairs of two sorted halves, of which all rows of the first are above all of the second."""
    mass, total, j = 0.0, 0.0, high
    for i in range(middle - 1, low - 1, -1):
        a = work[i]
        t = a[0] - threshold
        while j > middle and t < work[j - 1, 0]:
            j -= 1
            mass += work[j, 2]
            total += work[j, 2] * work[j, 3]
        a[4] += a[1] * mass
        a[5] += a[1] * total
        a[6] += a[1] * mass
    mass, total, i = 0.0, 0.0, low
    for j in range(middle, high):
        b = work[j]
        while i < middle and work[i, 0] - threshold < b[0]:
            mass += work[i, 1]
            total += work[i, 1] * work[i, 3]
            i += 1
        b[4] += b[2] * mass
        b[5] += b[2] * total
        b[6] -= b[2] * mass


@kernel(inner=True)
def sort_by_score(work: np.ndarray, spare: np.ndarray, low: int, high: int) -> None:
    """Sort rows by score: by insertion where they are few."""
    if high - low > 2 * LEAF:
        order = np.argsort(work[low:high, 0])
        for k in range(high - low):
            for f in range(ROW_FIELDS):
                spare[low + k, f] = work[low + order[k], f]
        for k in range(low, high):
            for f in range(ROW_FIELDS):
                work[k, f] = spare[k, f]
        return
    for k in range(low + 1, high):
        j = k
        while j > low and work[j - 1, 0] > work[j, 0]:
            for f in range(ROW_FIELDS):
                work[j, f], work[j - 1, f] = work[j - 1, f], work[j, f]
            j -= 1


@kernel(inner=True)
def merge_halves(work: np.ndarray, spare: np.ndarray, low: int, middle: int, high: int) -> None:
    """Merge two sorted halves: the first is set aside, then rows are written from the front."""
    for k in range(low, middle):
        for f in range(ROW_FIELDS):
            spare[k, f] = work[k, f]
    i, j = low, middle
    for k in range(low, high):
        if i >= middle:
            return
        if j >= high or spare[i, 0] <= work[j, 0]:
            for f in range(ROW_FIELDS):
                work[k, f] = spare[i, f]
            i += 1
        else:
            for f in range(ROW_FIELDS):
                work[k, f] = work[j, f]
            j += 1


AHEAD = 12
"""Rows whose memory is asked for in advance: rows in another order than the table's are waited for longest."""


class SortedWeights(NamedTuple):
    """Of each sorted row: where its level and its group end, half the weight of its pairs, and its two weights."""

    level_end: np.ndarray
    group_end: np.ndarray
    half_degree: np.ndarray
    upper: np.ndarray
    lower: np.ndarray


@kernel(allocates=False)
def paired_rows(
    X: np.ndarray,
    rows: np.ndarray,
    centre: np.ndarray,
    begin: int,
    order: SortedWeights,
    sums: np.ndarray,
    Z: np.ndarray,
    Y: np.ndarray,
) -> None:
    """z_i = x_i - centre and y_i = half_degree_i z_i - upper_i * (sum of lower_j z_j over the rows j below i).

    The rows are those at ``rows`` of X: the sorted rows from ``begin`` on. Blocks come from the last one to the first.
    ``sums[0]`` is the sum over the rows of later levels, ``sums[1]`` that over the rows of the same level. All rows are
    fetched before any sum is formed: the processor then waits for several of them at a time.
    """
    d = X.shape[1]
    suffix, pending = sums[0], sums[1]
    for k in range(rows.shape[0] - 1, -1, -1):
        if k >= AHEAD:
            prefetch(X, rows[k - AHEAD] * d, d)
        x, z = X[rows[k]], Z[k]
        for f in range(d):
            z[f] = x[f] - centre[f]
    for k in range(rows.shape[0] - 1, -1, -1):
        p, z, y = begin + k, Z[k], Y[k]
        if order.group_end[p] == p + 1:
            for f in range(d):
                suffix[f] = 0.0
                pending[f] = 0.0
        elif order.level_end[p] == p + 1:
            for f in range(d):
                suffix[f] += pending[f]
                pending[f] = 0.0
        h, a, b = order.half_degree[p], order.upper[p], order.lower[p]
        for f in range(d):
            y[f] = h * z[f] - a * suffix[f]
            pending[f] += b * z[f]


@kernel
def order_masses(
    level: np.ndarray, group_ends: np.ndarray, upper: np.ndarray, lower: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """For each sorted row: the weight of the rows below it and above it, and where its level begins and ends, and
    where its group ends."""
    n = level.shape[0]
    below, above = np.empty(n), np.empty(n)
    level_begin, level_end, group_end = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for g in range(group_ends.shape[0] - 1):
        first, last = group_ends[g], group_ends[g + 1]
        mass, own, begin = 0.0, 0.0, first
        for p in range(first, last):
            if p > first and level[p] != level[p - 1]:
                mass += own
                own, begin = 0.0, p
            own += upper[p]
            above[p], level_begin[p] = mass, begin
        mass, own, end = 0.0, 0.0, last
        for p in range(last - 1, first - 1, -1):
            if p < last - 1 and level[p] != level[p + 1]:
                mass += own
                own, end = 0.0, p + 1
            own += lower[p]
            below[p], level_end[p], group_end[p] = mass, end, last
    return below, above, level_begin, level_end, group_end
