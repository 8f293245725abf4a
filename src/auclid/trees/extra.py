"""Extremely randomised trees, each grown on rows drawn with replacement and judged on the others (out of bag)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import generic, kernel
from auclid.trees.structs import WORDS, Trees, add_scores

TRIES = 10
"""Draws of a column, times the number wanted, after which a node in which all looked alike is a leaf."""


class Sample(NamedTuple):
    """The rows that a tree is grown on: their numbers, in an order that growing changes, in a table of all rows."""

    columns: np.ndarray  # (d, n): X transposed, since a node looks at one column after the other
    y: np.ndarray
    weight: np.ndarray
    rows: np.ndarray


class Nodes(NamedTuple):
    """Room for the nodes of one tree; the right child comes after the left one."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    value: np.ndarray


class Growth(NamedTuple):
    """How a forest is grown."""

    n_trees: int
    most_rows: int
    """Rows that one tree sees at most."""


class AnyCut(NamedTuple):
    """A node takes a cut anywhere in a column's range, uniform."""


@generic
def cut_of(cuts, sample, column, lo, hi, sums, draw):
    """A cut of a column for the sample's rows lo to hi, and how pure it leaves the sides: -1 where all look alike.

    ``sums``: the weight of these rows and of the positives among them; ``draw``: a uniform number.
    """


def extra_trees(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray, rng: np.random.Generator, growth: Growth
) -> tuple[Trees, np.ndarray]:
    """Extremely randomised trees, and every row's mean over those that have not seen it.

    A node draws √d columns that are not constant in it and a cut for each, uniform in its range, and takes the one that
    leaves the least of Gini's impurity. Leaves are pure.
    """
    return bagged(X, y, weight, rng, growth, AnyCut())


def bagged(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray, rng: np.random.Generator, growth: Growth, cuts: Any
) -> tuple[Trees, np.ndarray]:
    """Trees on rows drawn with replacement, whose leaves hold shares of positives over the number of trees; and every
    row's mean over the trees that have not seen it (out of bag).

    Rows are drawn by their weights: a pure leaf would not know that its rows weigh little. Where weights are uneven a
    tree draws (Σw)²/Σw² rows, as many as count alike.
    """
    (n, d), (n_trees, most_rows) = X.shape, growth
    X = np.ascontiguousarray(X)
    columns = np.ascontiguousarray(X.T)
    draw, size = _bootstrap(weight, most_rows)
    wanted = max(1, round(np.sqrt(d)))
    grown, said, judges = [], np.zeros(n), np.zeros(n)
    room = 2 * size
    for _ in range(n_trees):
        drawn = np.bincount(draw(rng), minlength=n)
        rows = np.flatnonzero(drawn)
        draws = rng.random(min(1 << 18, 4 * wanted * size + 2))
        whole = Nodes(
            feature=np.full(room, -1, dtype=np.int32),
            threshold=np.zeros(room),
            left=np.zeros(room, dtype=np.int32),
            value=np.zeros(room),
        )
        used = grow(cuts, Sample(columns, y, drawn.astype(np.float64), rows), draws, wanted, whole)
        tree = _tree(Nodes(*(part[:used] for part in whole)), d)
        others = np.flatnonzero(drawn == 0)
        heard = np.zeros(len(others))
        add_scores(tree, X[others], heard)
        said[others] += heard
        judges[others] += 1.0
        grown.append(tree)
    seen = judges > 0.0
    middle = said[seen].sum() / max(judges[seen].sum(), 1.0)
    return joined(grown, 1.0 / n_trees), np.where(seen, said / np.maximum(judges, 1.0), middle)


def _bootstrap(weight: np.ndarray, most_rows: int) -> tuple[Callable[[np.random.Generator], np.ndarray], int]:
    """What draws the rows of a tree, and how many."""
    n, largest = len(weight), weight.max()
    if weight.min() == largest:
        size = min(n, most_rows)
        return lambda rng: rng.integers(n, size=size), size
    up_to = np.cumsum(weight / largest)
    count = up_to[-1] ** 2 / np.square(weight / largest).sum()
    size = max(1, min(round(count), most_rows))
    last = np.flatnonzero(weight)[-1]  # where a draw lands that rounds to the very end
    return lambda rng: np.minimum(np.searchsorted(up_to, rng.random(size) * up_to[-1], side="right"), last), size


def _tree(nodes: Nodes, d: int) -> Trees:
    plain = np.zeros(len(nodes.feature), dtype=bool)
    return Trees(
        roots=np.zeros(1, dtype=np.int32),
        feature=nodes.feature,
        threshold=nodes.threshold,
        left=nodes.left,
        right=nodes.left + 1,
        gap_right=plain,
        is_set=plain,
        sets=np.zeros((1, WORDS), dtype=np.uint32),
        value=nodes.value,
        n_columns=d,
    )


def joined(trees: list[Trees], scale: float) -> Trees:
    """Trees one after the other, their values times ``scale``."""
    starts = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1].astype(np.int32)
    sets = np.cumsum([0, *(len(tree.sets) for tree in trees)])[:-1]
    return Trees(
        roots=np.concatenate([tree.roots + start for tree, start in zip(trees, starts, strict=True)]),
        feature=np.concatenate([tree.feature for tree in trees]),
        threshold=np.concatenate(
            [np.where(tree.is_set, tree.threshold + at, tree.threshold) for tree, at in zip(trees, sets, strict=True)]
        ),
        left=np.concatenate([tree.left + start for tree, start in zip(trees, starts, strict=True)]),
        right=np.concatenate([tree.right + start for tree, start in zip(trees, starts, strict=True)]),
        gap_right=np.concatenate([tree.gap_right for tree in trees]),
        is_set=np.concatenate([tree.is_set for tree in trees]),
        sets=np.concatenate([tree.sets for tree in trees]),
        value=np.concatenate([tree.value for tree in trees]) * scale,
        n_columns=trees[0].n_columns,
    )


@kernel
def grow(cuts, sample, draws, wanted, nodes):
    """Grow one tree on the rows of a sample; fills the nodes' arrays and returns how many.

    A node looks at ``wanted`` columns, and at one cut of each. ``draws`` are uniform numbers, used in turn and, should
    they run out, from the beginning again.
    """
    columns, y, weight, rows = sample.columns, sample.y, sample.weight, sample.rows
    feature, threshold, left, value = nodes.feature, nodes.threshold, nodes.left, nodes.value
    d, n_draws = columns.shape[0], draws.shape[0]
    looked_at = np.full(d, -1, np.int64)  # the last node in which a column was looked at
    begin, end = np.zeros(feature.shape[0], np.int64), np.zeros(feature.shape[0], np.int64)
    end[0] = rows.shape[0]
    used, node, at = 1, 0, 0
    while node < used:
        lo, hi = begin[node], end[node]
        mass, positive = 0.0, 0.0
        for r in range(lo, hi):
            mass += weight[rows[r]]
            positive += weight[rows[r]] * y[rows[r]]
        value[node] = positive / mass if mass > 0.0 else 0.5
        best, best_gain, best_cut, found = -1, -1.0, 0.0, 0
        if hi - lo > 1 and 0.0 < positive < mass:
            for _ in range(TRIES * wanted):
                column = min(int(draws[at] * d), d - 1)
                at = (at + 1) % n_draws
                if looked_at[column] == node:
                    continue
                looked_at[column] = node
                cut, gain = cut_of(cuts, sample, column, lo, hi, (mass, positive), draws[at])
                if gain < 0.0:
                    continue
                at = (at + 1) % n_draws
                if gain > best_gain:
                    best, best_gain, best_cut = column, gain, cut
                found += 1
                if found == wanted:
                    break
        if best >= 0:
            middle = parted(columns[best], rows, lo, hi, best_cut)
            feature[node], threshold[node], left[node] = best, best_cut, used
            begin[used], end[used] = lo, middle
            begin[used + 1], end[used + 1] = middle, hi
            used += 2
        node += 1
    return used


@cut_of.implement(AnyCut)
def _(cuts, sample, column, lo, hi, sums, draw):
    x = sample.columns[column]
    low, high = span(x, sample.rows, lo, hi)
    if not low < high:
        return low, -1.0
    cut = low + draw * (high - low)
    if not cut < high:
        cut = low
    return cut, purity(x, sample, lo, hi, cut, sums[0], sums[1])


@kernel
def span(x, rows, lo, hi):
    """The least and the greatest value of a column; NaN, which goes left, is below all others."""
    low, high, gaps = np.inf, -np.inf, False
    for r in range(lo, hi):
        value = x[rows[r]]
        if np.isnan(value):
            gaps = True
        else:
            low, high = min(low, value), max(high, value)
    if gaps and high > -np.inf:
        low -= max(high - low, 1.0)  # a cut below the least value parts the missing from the others
    return low, high


@kernel
def purity(x, sample, lo, hi, cut, mass, positive):
    """Σ over sides of (weight of positives)²/weight: the larger, the less impure."""
    y, weight, rows = sample.y, sample.weight, sample.rows
    mass_right, positive_right = 0.0, 0.0
    for r in range(lo, hi):
        if x[rows[r]] > cut:
            mass_right += weight[rows[r]]
            positive_right += weight[rows[r]] * y[rows[r]]
    mass_left, positive_left = mass - mass_right, positive - positive_right
    gain = 0.0
    if mass_left > 0.0:
        gain += positive_left * positive_left / mass_left
    if mass_right > 0.0:
        gain += positive_right * positive_right / mass_right
    return gain


@kernel
def parted(x, rows, lo, hi, cut):
    """Bring the rows that go left before those that go right; where the latter begin."""
    i, j = lo, hi - 1
    while i <= j:
        if x[rows[i]] > cut:
            rows[i], rows[j] = rows[j], rows[i]
            j -= 1
        else:
            i += 1
    return i
