"""Bagged trees with out-of-bag predictions; here with random splits, as extremely randomised trees."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import generic, kernel
from auclid.trees.structs import SET_WORDS, Trees

MAX_TRIES = 10
"""Columns drawn at a node, per column wanted, before it becomes a leaf because all drawn ones were constant."""

DRAWS_PER_CHUNK = 1 << 20
"""Random numbers that are drawn at once, unless one tree needs more."""

MAX_DRAWS_PER_TREE = 1 << 15
"""Random numbers of one tree; they are reused from the start if a tree needs more."""


class BootstrapSample(NamedTuple):
    """All rows, and the bootstrap sample on which a tree is grown."""

    columns: np.ndarray  # (d, n): X transposed, since a node reads one column after the other
    y: np.ndarray
    times: np.ndarray  # (n,): how often each row was drawn for the tree
    rows: np.ndarray  # (n,): the numbers of the drawn rows, in an order that growing changes; then unused
    mass: np.ndarray  # (n,): how often each of these was drawn, as integers, whose sums vectorise
    positive: np.ndarray  # (n,): the mass of positive rows, zero for others
    values: np.ndarray  # (n,): work space for a column's values in a node


class NodeArrays(NamedTuple):
    """Arrays for the nodes of several trees, one after the other; a right child comes directly after its sibling."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    value: np.ndarray


class OutOfBag(NamedTuple):
    """The sum of predictions for each row by trees that were not grown on it, and the number of these trees."""

    total: np.ndarray
    n_votes: np.ndarray


class Growth(NamedTuple):
    """The size of a forest."""

    n_trees: int
    max_rows: int  # rows drawn for one tree, at most


class RandomSplit(NamedTuple):
    """Splits at a uniformly random threshold in a column's range."""


@generic
def split_column(
    rule: Any, sample: BootstrapSample, column: int, lo: int, hi: int, sums: tuple[int, int], draw: float
) -> tuple[float, float]:
    """A threshold of a column for the sample's rows lo to hi, and the purity of its sides; −1 if all are equal.

    ``sums`` are the mass of these rows and of the positives among them, ``draw`` is a uniform random number.
    """


RANDOM_SPLIT = RandomSplit()


def extra_trees(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    rng: np.random.Generator,
    growth: Growth,
    rule: Any = RANDOM_SPLIT,
) -> tuple[Trees, np.ndarray]:
    """Extremely randomised trees on bootstrap samples, and the out-of-bag prediction of every row.

    A node draws √d columns that are not constant in it, with a uniformly random threshold for each or the one that
    another ``rule`` finds, and takes the split of least Gini impurity. Leaves are pure; their values are shares of
    positives divided by the number of trees. Rows are drawn in proportion to their weights, since a pure leaf would
    ignore weights. If weights differ, a tree draws (Σw)²/Σw² rows, the effective sample size.
    """
    (n, d), (n_trees, max_rows) = X.shape, growth
    draw, size = _bootstrap(weight, max_rows)
    sample = BootstrapSample(
        columns=np.ascontiguousarray(X.T),
        y=y > 0.0,
        times=np.zeros(n, dtype=np.int32),
        rows=np.zeros(n, dtype=np.int32),
        mass=np.zeros(n, dtype=np.int32),
        positive=np.zeros(n, dtype=np.int32),
        values=np.empty(n, dtype=X.dtype),
    )
    wanted, out_of_bag, grown = max(1, round(np.sqrt(d))), OutOfBag(np.zeros(n), np.zeros(n)), []
    n_draws = min(MAX_DRAWS_PER_TREE, 4 * wanted * size + 2)
    trees_per_chunk = max(1, DRAWS_PER_CHUNK // n_draws)
    for first in range(0, n_trees, trees_per_chunk):
        count = min(trees_per_chunk, n_trees - first)
        bags, room = draw(rng, count), 2 * size * count
        nodes = NodeArrays(
            np.empty(room, dtype=np.int32), np.empty(room), np.zeros(room, dtype=np.int32), np.empty(room)
        )
        starts = grow_trees(rule, sample, bags, rng.random((count, n_draws)), wanted, nodes, out_of_bag)
        grown.append(_as_trees(NodeArrays(*(array[: starts[-1]] for array in nodes)), starts[:-1], d))
    total, n_votes = out_of_bag
    voted = n_votes > 0.0
    overall = total[voted].sum() / max(n_votes[voted].sum(), 1.0)
    return concatenate_trees(grown, 1.0 / n_trees), np.where(voted, total / np.maximum(n_votes, 1.0), overall)


def _bootstrap(weight: np.ndarray, max_rows: int) -> tuple[Callable[[np.random.Generator, int], np.ndarray], int]:
    """A function that draws the rows of several trees, (trees, rows), and the number of rows of a tree."""
    n, largest = len(weight), weight.max()
    if weight.min() == largest:
        size = min(n, max_rows)
        return lambda rng, count: rng.integers(n, size=(count, size)), size
    cumulative = np.cumsum(weight / largest)
    effective = cumulative[-1] ** 2 / np.square(weight / largest).sum()
    size = max(1, min(round(effective), max_rows))
    last = np.flatnonzero(weight)[-1]  # for a draw that rounds to the end

    def draw(rng: np.random.Generator, count: int) -> np.ndarray:
        draws = rng.random((count, size)) * cumulative[-1]
        return np.minimum(np.searchsorted(cumulative, draws, side="right"), last)

    return draw, size


def _as_trees(nodes: NodeArrays, roots: np.ndarray, d: int) -> Trees:
    false = np.zeros(len(nodes.feature), dtype=bool)
    return Trees(
        roots=roots,
        feature=nodes.feature,
        threshold=nodes.threshold,
        left=nodes.left,
        right=nodes.left + 1,
        missing_right=false,
        is_set=false,
        sets=np.zeros((1, SET_WORDS), dtype=np.uint32),
        value=nodes.value,
        n_columns=d,
    )


def concatenate_trees(trees: list[Trees], scale: float) -> Trees:
    """Several ensembles as one, with all values multiplied by ``scale``."""
    starts = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1].astype(np.int32)
    set_starts = np.cumsum([0, *(len(tree.sets) for tree in trees)])[:-1]
    return Trees(
        roots=np.concatenate([tree.roots + start for tree, start in zip(trees, starts, strict=True)]),
        feature=np.concatenate([tree.feature for tree in trees]),
        threshold=np.concatenate(
            [
                np.where(tree.is_set, tree.threshold + start, tree.threshold)
                for tree, start in zip(trees, set_starts, strict=True)
            ]
        ),
        left=np.concatenate([tree.left + start for tree, start in zip(trees, starts, strict=True)]),
        right=np.concatenate([tree.right + start for tree, start in zip(trees, starts, strict=True)]),
        missing_right=np.concatenate([tree.missing_right for tree in trees]),
        is_set=np.concatenate([tree.is_set for tree in trees]),
        sets=np.concatenate([tree.sets for tree in trees]),
        value=np.concatenate([tree.value for tree in trees]) * scale,
        n_columns=trees[0].n_columns,
    )


@kernel
def grow_trees(
    rule: Any,
    sample: BootstrapSample,
    bags: np.ndarray,
    draws: np.ndarray,
    wanted: int,
    nodes: NodeArrays,
    out_of_bag: OutOfBag,
) -> np.ndarray:
    """Grow a tree on each bag of rows, and add its predictions for the rows outside of the bag.

    Fills the arrays of nodes; returns the start of each tree in them, followed by the end of the last one.
    """
    times = sample.times
    starts = np.zeros(bags.shape[0] + 1, np.int32)
    for t in range(bags.shape[0]):
        size = load_bag(sample, bags[t])
        starts[t + 1] = grow_tree(rule, sample, size, draws[t], wanted, nodes, starts[t])
        for i in range(times.shape[0]):
            if times[i] == 0:
                out_of_bag.total[i] += nodes.value[leaf_of(nodes, starts[t], sample.columns, i)]
                out_of_bag.n_votes[i] += 1.0
    return starts


@kernel(inner=True)
def load_bag(sample: BootstrapSample, bag: np.ndarray) -> int:
    """Make the drawn rows the sample of a tree; returns the number of different rows."""
    times, size = sample.times, 0
    times[:] = 0
    for k in range(bag.shape[0]):
        times[bag[k]] += 1
    for i in range(times.shape[0]):
        if times[i] > 0:
            sample.rows[size], sample.mass[size] = i, times[i]
            sample.positive[size] = times[i] if sample.y[i] else 0
            size += 1
    return size


@kernel(inner=True)
def leaf_of(nodes: NodeArrays, root: int, columns: np.ndarray, i: int) -> int:
    """The leaf of row i; NaN goes left."""
    node = root
    while nodes.feature[node] >= 0:
        node = nodes.left[node] + (1 if columns[nodes.feature[node], i] > nodes.threshold[node] else 0)
    return node


@kernel(inner=True)
def grow_tree(
    rule: Any, sample: BootstrapSample, size: int, draws: np.ndarray, wanted: int, nodes: NodeArrays, start: int
) -> int:
    """Grow one tree on the first ``size`` rows of a sample; fills the arrays of nodes from ``start``, returns its end.

    A node considers one split of each of ``wanted`` columns. ``draws`` are uniform numbers, used in turn, and again
    from the start if they run out.
    """
    d, n_draws = sample.columns.shape[0], draws.shape[0]
    drawn_at = np.full(d, -1, np.int64)  # the last node at which a column was drawn
    begin, end = np.zeros(2 * size, np.int64), np.zeros(2 * size, np.int64)
    constant = np.empty((2 * size, d), np.bool_)  # columns known to be constant in a node, hence in its descendants
    constant[0] = False
    end[0] = size
    used, node, at = 1, 0, 0
    while node < used:
        lo, hi = begin[node], end[node]
        mass, positive = node_sums(sample, lo, hi)
        best, best_gain, best_cut, found = -1, -1.0, 0.0, 0
        if hi - lo > 1 and 0 < positive < mass:
            for _ in range(MAX_TRIES * wanted):
                column = min(int(draws[at] * d), d - 1)
                at = (at + 1) % n_draws
                if drawn_at[column] == node or constant[node, column]:
                    continue
                drawn_at[column] = node
                cut, gain = split_column(rule, sample, column, lo, hi, (mass, positive), draws[at])
                if gain < 0.0:
                    constant[node, column] = True
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
            middle = partition_rows(sample, best, lo, hi, best_cut)
            nodes.left[here] = start + used
            begin[used], end[used] = lo, middle
            begin[used + 1], end[used + 1] = middle, hi
            constant[used], constant[used + 1] = constant[node], constant[node]
            used += 2
        node += 1
    return start + used


@kernel(inner=True)
def node_sums(sample: BootstrapSample, lo: int, hi: int) -> tuple[int, int]:
    """The mass of the sample's rows lo to hi, and of the positives among them."""
    mass, positive = 0, 0
    for r in range(lo, hi):
        mass += sample.mass[r]
        positive += sample.positive[r]
    return mass, positive


@split_column.implement(RandomSplit)
def _(
    rule: RandomSplit, sample: BootstrapSample, column: int, lo: int, hi: int, sums: tuple[int, int], draw: float
) -> tuple[float, float]:
    low, high = column_range(sample, column, lo, hi)
    if not low < high:
        return low, -1.0
    cut = low + draw * (high - low)
    if not cut < high:
        cut = low
    return cut, purity(sample, lo, hi, cut, sums[0], sums[1])


@kernel(inner=True)
def column_range(sample: BootstrapSample, column: int, lo: int, hi: int) -> tuple[float, float]:
    """The least and the greatest value of a column, which it copies into the work space; NaN counts as the least."""
    x, rows, values = sample.columns[column], sample.rows, sample.values
    low, high, has_missing = np.inf, -np.inf, False
    for r in range(lo, hi):
        value = x[rows[r]]
        values[r] = value
        if np.isnan(value):
            has_missing = True
        else:
            low, high = min(low, value), max(high, value)
    if has_missing and high > -np.inf:
        low -= max(high - low, 1.0)  # a threshold below the least value separates the missing ones
    return low, high


@kernel(inner=True)
def purity(sample: BootstrapSample, lo: int, hi: int, cut: float, mass: int, positive: int) -> float:
    """Σ over both sides of (mass of positives)²/mass, by the values in the work space; greater is purer."""
    values = sample.values
    mass_right, positive_right = 0, 0
    for r in range(lo, hi):
        right = values[r] > cut
        mass_right += sample.mass[r] if right else 0
        positive_right += sample.positive[r] if right else 0
    return side_purity(mass - mass_right, positive - positive_right) + side_purity(mass_right, positive_right)


@kernel(inner=True)
def side_purity(mass: int, positive: int) -> float:
    """(mass of positives)²/mass of one side."""
    return float(positive) * float(positive) / float(mass) if mass > 0 else 0.0


@kernel(inner=True)
def partition_rows(sample: BootstrapSample, column: int, lo: int, hi: int, cut: float) -> int:
    """Move the rows that go left before those that go right; returns the start of the latter."""
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
