"""Extremely randomised trees, each grown on rows drawn with replacement and judged on the others (out of bag)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import generic, kernel
from auclid.trees.structs import WORDS, Trees

TRIES = 10
"""Draws of a column, times the number wanted, after which a node in which all looked alike is a leaf."""


DRAWS = 1 << 20
"""Random numbers that are drawn at a time, at the most, unless one tree needs more."""


class Sample(NamedTuple):
    """All rows, and of these the ones that a tree is grown on."""

    columns: np.ndarray  # (d, n): X transposed, since a node looks at one column after the other
    y: np.ndarray
    times: np.ndarray
    """How often each row was drawn for the tree."""
    rows: np.ndarray
    """The numbers of those that were, in an order that growing changes; then room."""
    mass: np.ndarray
    """How often each of these was drawn, in their order: whole numbers, whose sums a processor makes many at a time."""
    positive: np.ndarray
    """The same of positives, and zero of others."""
    seen: np.ndarray
    """Room for the values of a column in a node."""


class Nodes(NamedTuple):
    """Room for the nodes of trees, one tree after the other; the right child comes after the left one."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    value: np.ndarray


class Votes(NamedTuple):
    """What trees say of the rows that they have not seen: the sum, and how many trees."""

    said: np.ndarray
    judges: np.ndarray


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
    draw, size = _bootstrap(weight, most_rows)
    sample = Sample(
        columns=np.ascontiguousarray(X.T),
        y=y > 0.0,
        times=np.zeros(n, dtype=np.int32),
        rows=np.zeros(n, dtype=np.int32),
        mass=np.zeros(n, dtype=np.int32),
        positive=np.zeros(n, dtype=np.int32),
        seen=np.empty(n, dtype=X.dtype),
    )
    wanted, votes, grown = max(1, round(np.sqrt(d))), Votes(np.zeros(n), np.zeros(n)), []
    length = min(1 << 15, 4 * wanted * size + 2)
    at_once = max(1, DRAWS // length)
    for first in range(0, n_trees, at_once):
        count = min(at_once, n_trees - first)
        bags, room = draw(rng, count), 2 * size * count
        whole = Nodes(np.empty(room, dtype=np.int32), np.empty(room), np.zeros(room, dtype=np.int32), np.empty(room))
        starts = grow_some(cuts, sample, bags, rng.random((count, length)), wanted, whole, votes)
        grown.append(_trees(Nodes(*(part[: starts[-1]] for part in whole)), starts[:-1], d))
    said, judges = votes
    seen = judges > 0.0
    middle = said[seen].sum() / max(judges[seen].sum(), 1.0)
    return joined(grown, 1.0 / n_trees), np.where(seen, said / np.maximum(judges, 1.0), middle)


def _bootstrap(weight: np.ndarray, most_rows: int) -> tuple[Callable[[np.random.Generator, int], np.ndarray], int]:
    """What draws the rows of some trees, a line for each, and how many there are of a tree."""
    n, largest = len(weight), weight.max()
    if weight.min() == largest:
        size = min(n, most_rows)
        return lambda rng, count: rng.integers(n, size=(count, size)), size
    up_to = np.cumsum(weight / largest)
    enough = up_to[-1] ** 2 / np.square(weight / largest).sum()
    size = max(1, min(round(enough), most_rows))
    last = np.flatnonzero(weight)[-1]  # where a draw lands that rounds to the very end

    def draw(rng: np.random.Generator, count: int) -> np.ndarray:
        return np.minimum(np.searchsorted(up_to, rng.random((count, size)) * up_to[-1], side="right"), last)

    return draw, size


def _trees(nodes: Nodes, roots: np.ndarray, d: int) -> Trees:
    plain = np.zeros(len(nodes.feature), dtype=bool)
    return Trees(
        roots=roots,
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
def grow_some(cuts, sample, bags, draws, wanted, nodes, votes):
    """Grow a tree on each bag of rows, and let it judge the rows outside; fills the nodes' arrays and returns where in
    them each tree begins, and the last one ends."""
    times = sample.times
    starts = np.zeros(bags.shape[0] + 1, np.int32)
    for t in range(bags.shape[0]):
        times[:] = 0
        for k in range(bags.shape[1]):
            times[bags[t, k]] += 1
        size = 0
        for i in range(times.shape[0]):
            if times[i] > 0:
                sample.rows[size], sample.mass[size] = i, times[i]
                sample.positive[size] = times[i] if sample.y[i] else 0
                size += 1
        starts[t + 1] = grow(cuts, sample, size, draws[t], wanted, nodes, starts[t])
        for i in range(times.shape[0]):
            if times[i] == 0:
                votes.said[i] += nodes.value[leaf_of(nodes, starts[t], sample.columns, i)]
                votes.judges[i] += 1.0
    return starts


@kernel(inner=True)
def leaf_of(nodes, root, columns, i):
    """The leaf that row i comes to; NaN goes left."""
    node = root
    while nodes.feature[node] >= 0:
        node = nodes.left[node] + (1 if columns[nodes.feature[node], i] > nodes.threshold[node] else 0)
    return node


@kernel
def grow(cuts, sample, size, draws, wanted, nodes, start):
    """Grow one tree on the first ``size`` rows of a sample; fills the nodes' arrays from ``start``, returns its end.

    A node looks at ``wanted`` columns, and at one cut of each. ``draws`` are uniform numbers, used in turn and, should
    they run out, from the beginning again.
    """
    d, n_draws = sample.columns.shape[0], draws.shape[0]
    looked_at = np.full(d, -1, np.int64)  # the last node in which a column was looked at
    begin, end = np.zeros(2 * size, np.int64), np.zeros(2 * size, np.int64)
    alike = np.empty((2 * size, d), np.bool_)  # columns that are known to be constant in a node, as they stay below it
    alike[0] = False
    end[0] = size
    used, node, at = 1, 0, 0
    while node < used:
        lo, hi = begin[node], end[node]
        mass, positive = 0, 0
        for r in range(lo, hi):
            mass += sample.mass[r]
            positive += sample.positive[r]
        best, best_gain, best_cut, found = -1, -1.0, 0.0, 0
        if hi - lo > 1 and 0 < positive < mass:
            for _ in range(TRIES * wanted):
                column = min(int(draws[at] * d), d - 1)
                at = (at + 1) % n_draws
                if looked_at[column] == node or alike[node, column]:
                    continue
                looked_at[column] = node
                cut, gain = cut_of(cuts, sample, column, lo, hi, (mass, positive), draws[at])
                if gain < 0.0:
                    alike[node, column] = True
                    continue
                at = (at + 1) % n_draws
                if gain > best_gain:
                    best, best_gain, best_cut = column, gain, cut
                found += 1
                if found == wanted:
                    break
        here = start + node
        nodes.feature[here], nodes.threshold[here] = best, best_cut
        nodes.value[here] = positive / mass
        nodes.left[here] = 0
        if best >= 0:
            middle = parted(sample, best, lo, hi, best_cut)
            nodes.left[here] = start + used
            begin[used], end[used] = lo, middle
            begin[used + 1], end[used + 1] = middle, hi
            alike[used], alike[used + 1] = alike[node], alike[node]
            used += 2
        node += 1
    return start + used


@cut_of.implement(AnyCut)
def _(cuts, sample, column, lo, hi, sums, draw):
    low, high = span(sample, column, lo, hi)
    if not low < high:
        return low, -1.0
    cut = low + draw * (high - low)
    if not cut < high:
        cut = low
    return cut, purity(sample, lo, hi, cut, sums[0], sums[1])


@kernel
def span(sample, column, lo, hi):
    """The least and the greatest value of a column, NaN, which goes left, being below all others; all are now seen."""
    x, rows, seen = sample.columns[column], sample.rows, sample.seen
    low, high, gaps = np.inf, -np.inf, False
    for r in range(lo, hi):
        value = x[rows[r]]
        seen[r] = value
        if np.isnan(value):
            gaps = True
        else:
            low, high = min(low, value), max(high, value)
    if gaps and high > -np.inf:
        low -= max(high - low, 1.0)  # a cut below the least value parts the missing from the others
    return low, high


@kernel
def purity(sample, lo, hi, cut, mass, positive):
    """Σ over sides of (weight of positives)²/weight, by the values seen: the larger, the less impure."""
    seen = sample.seen
    mass_right, positive_right = 0, 0
    for r in range(lo, hi):
        right = seen[r] > cut
        mass_right += sample.mass[r] if right else 0
        positive_right += sample.positive[r] if right else 0
    return squared(mass - mass_right, positive - positive_right) + squared(mass_right, positive_right)


@kernel
def squared(mass, positive):
    """(weight of positives)²/weight of one side."""
    return float(positive) * float(positive) / float(mass) if mass > 0 else 0.0


@kernel(inner=True)
def parted(sample, column, lo, hi, cut):
    """Bring the rows that go left before those that go right; where the latter begin."""
    x, rows, mass, positive = sample.columns[column], sample.rows, sample.mass, sample.positive
    i, j = lo, hi - 1
    while i <= j:
        if x[rows[i]] > cut:
            rows[i], rows[j] = rows[j], rows[i]
            mass[i], mass[j] = mass[j], mass[i]
            positive[i], positive[j] = positive[j], positive[i]
            j -= 1
        else:
            i += 1
    return i
