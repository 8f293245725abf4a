"""A card of few bins: every shape as a step function of few steps, chosen so that the ranking hardly changes.

Replacing a shape g by steps u moves the difference of the scores of a positive and a negative row by d, the difference
of two errors g - u. At the optimum of the card d is unrelated to the rest of the score, so the AUC, the probability
that this difference D is positive, falls by about

    ½ f'(0) E[d²],      f'(0) = φ(z) z / σ²,  z = mean D / σ,  σ² = var D,

with the density f of D where that is normal. E[d²] is the sum over both classes of the mean squared error, and adds up
over shapes. So the best steps are those of least squares, both classes weighing alike, and the bins go where a bin
lowers the sum of squared errors most, until the AUC lost is below the bound.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from auclid.additive._counts import CardCounts, ColumnCounts, PairCounts, column_bins
from auclid.additive._shapes import Card, card_contributions

LEAST_WEIGHT = 1e-12
"""What a bin without rows weighs, so that its value is defined."""


MAX_SEPARATION = 2.0
"""z is taken to be no more than this, an AUC of .977: classes that are far apart would seem to need no bins at all."""


class BinLimits(NamedTuple):
    """How many bins a card may have, and what they may cost."""

    max_bins: int
    """Bins of a column or pair, at the most."""
    min_share: float
    """The share of the rows that a bin must have, both classes counting alike."""
    max_auc_lost: float
    """The estimated loss of AUC below which no more bins are made."""
    max_lines: float = math.inf
    """Lines of the whole card, at the most: bins, and one for the missing cells of a column that has some. A column
    without missing cells, or a pair, of one bin has no line."""


class ShapeSteps(NamedTuple):
    """The steps of one shape: which of them each narrow bin (or cell of a pair) belongs to, and their values."""

    label: np.ndarray
    values: np.ndarray


class BinnedCard(NamedTuple):
    """A card of step functions."""

    counts: CardCounts
    columns: list[ShapeSteps]
    pairs: list[ShapeSteps]
    pair_columns: list[tuple[int, int]]
    missing: np.ndarray
    """What a missing cell of each column adds."""
    offset: float
    """What columns and pairs of one bin add to every row; they are zero themselves."""
    auc_lost: float
    """The estimated loss of AUC."""

    def contributions(self, cells: np.ndarray) -> np.ndarray:
        """What each column, then each pair, adds to each row."""
        bins = [column_bins(counts, cells[:, j]) for j, counts in enumerate(self.counts.columns)]
        out = np.zeros((len(cells), len(self.columns) + len(self.pairs)))
        for j, (own, at) in enumerate(zip(self.columns, bins, strict=True)):
            out[:, j] = np.where(at < 0, self.missing[j], own.values[own.label[np.maximum(at, 0)]])
        for m, (own, counts, (a, b)) in enumerate(zip(self.pairs, self.counts.pairs, self.pair_columns, strict=True)):
            cell = counts.groups[0][bins[a]], counts.groups[1][bins[b]]
            present = (bins[a] >= 0) & (bins[b] >= 0)
            out[:, len(self.columns) + m] = np.where(present, own.values[own.label[cell]], 0.0)
        return out


class SteppedShape(NamedTuple):
    """One shape on the way to steps: the squared error with 1, 2, … bins, and the labels of so many bins."""

    errors: np.ndarray
    labels: Callable[[int], np.ndarray]
    values: np.ndarray
    weight: np.ndarray

    def bins(self, count: int) -> ShapeSteps:
        """The steps of so many bins."""
        label = self.labels(count)
        flat, weight = label.ravel(), np.maximum(self.weight.ravel(), LEAST_WEIGHT)
        total = np.bincount(flat, weight)
        return ShapeSteps(label, np.bincount(flat, weight * self.values.ravel()) / total)


def binned_card(card: Card, counts: CardCounts, limits: BinLimits) -> BinnedCard:
    """The card with few bins."""
    pair_columns = list(zip(card.basis.pair_a.tolist(), card.basis.pair_b.tolist(), strict=True))
    d = len(counts.columns)
    candidates = [_column_candidate(card, counts, j, limits) for j in range(d)]
    candidates += [_pair_candidate(card, counts, m, pair, limits) for m, pair in enumerate(pair_columns)]
    cost = auc_cost(counts.gap, counts.variance)
    has_missing = [bool(each.missing.any()) for each in counts.columns] + [False] * len(pair_columns)
    chosen = _bin_counts([each.errors for each in candidates], has_missing, cost, limits)
    bins = [each.bins(count) for each, count in zip(candidates, chosen, strict=True)]
    lost = cost * sum(float(each.errors[count - 1]) for each, count in zip(candidates, chosen, strict=True))
    out = BinnedCard(counts, bins[:d], bins[d:], pair_columns, card.missing.copy(), 0.0, lost)
    return _without_constants(out)


def _without_constants(binned: BinnedCard) -> BinnedCard:
    """What shapes of one bin add to every row, in the offset; a column with missing cells keeps its bin."""
    offset, missing = 0.0, binned.missing.copy()
    columns, pairs = list(binned.columns), list(binned.pairs)
    for j, (bins, counts) in enumerate(zip(columns, binned.counts.columns, strict=True)):
        if len(bins.values) == 1 and (not counts.missing.any() or missing[j] == bins.values[0]):
            offset += float(bins.values[0])
            columns[j], missing[j] = bins._replace(values=np.zeros(1)), 0.0
    for m, bins in enumerate(pairs):
        if len(bins.values) == 1:
            pairs[m] = bins._replace(values=np.zeros(1))  # its mean over the rows is zero
    return binned._replace(columns=columns, pairs=pairs, missing=missing, offset=offset)


def auc_cost(gap: float, variance: float) -> float:
    """½ f'(0): the AUC lost for each unit of squared error, where score differences are normal."""
    if not (variance > 0.0 and gap > 0.0):
        return 0.0
    z = min(gap / math.sqrt(variance), MAX_SEPARATION)
    return 0.5 * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) * z / variance


def class_shares(rows: np.ndarray, total: np.ndarray) -> np.ndarray:
    """The share of both classes in each narrow bin, added up: together they are at most 2."""
    return (rows / np.where(total > 0.0, total, 1.0).reshape(2, *[1] * (rows.ndim - 1))).sum(axis=0)


def _column_candidate(card: Card, counts: CardCounts, j: int, limits: BinLimits) -> SteppedShape:
    own: ColumnCounts = counts.columns[j]
    values = shape_values(card, j, own.centers)
    weight = class_shares(own.rows, own.rows.sum(axis=1) + own.missing)
    order = np.arange(len(values)) if own.edges is not None else np.argsort(values, kind="stable")
    errors, labels = step_path(values[order], weight[order], limits)

    def label(count: int) -> np.ndarray:
        out = np.empty(len(values), dtype=np.intp)
        out[order] = labels(count)
        return out

    return SteppedShape(errors, label, values, weight)


def shape_values(card: Card, j: int, x: np.ndarray) -> np.ndarray:
    """What column j adds at these values."""
    cells = np.full((len(x), len(card.missing)), np.nan)
    cells[:, j] = x
    return card_contributions(card, cells)[:, j]


def _pair_candidate(card: Card, counts: CardCounts, m: int, pair: tuple[int, int], limits: BinLimits) -> SteppedShape:
    own: PairCounts = counts.pairs[m]
    centers = [_group_centers(counts.columns[j], group) for j, group in zip(pair, own.groups, strict=True)]
    cells = np.full((own.rows[0].size, len(card.missing)), np.nan)
    for side, j in enumerate(pair):
        cells[:, j] = np.broadcast_to(np.expand_dims(centers[side], 1 - side), own.rows[0].shape).ravel()
    values = card_contributions(card, cells)[:, len(card.missing) + m].reshape(own.rows[0].shape)
    weight = class_shares(own.rows, own.rows.sum(axis=(1, 2)))
    orders = [np.arange(n) for n in values.shape]
    for side, j in enumerate(pair):
        if counts.columns[j].edges is None:
            along = (weight + LEAST_WEIGHT) * values
            means = along.sum(axis=1 - side) / (weight + LEAST_WEIGHT).sum(axis=1 - side)
            orders[side] = np.argsort(means, kind="stable")
    at = np.ix_(*orders)
    errors, labels = rectangle_path(values[at], weight[at], limits)

    def label(count: int) -> np.ndarray:
        out = np.empty(values.shape, dtype=np.intp)
        out[at] = labels(count)
        return out

    return SteppedShape(errors, label, values, weight)


def _group_centers(counts: ColumnCounts, group: np.ndarray) -> np.ndarray:
    """A value of a column that stands for each group of its narrow bins: their mean, or the commonest level."""
    rows, centers = counts.rows.sum(axis=0) + LEAST_WEIGHT, counts.centers
    if counts.edges is None:
        return np.array([centers[group == g][rows[group == g].argmax()] for g in range(int(group.max()) + 1)])
    return np.bincount(group, rows * centers) / np.bincount(group, rows)


# Steps along a line


def step_path(
    values: np.ndarray, weight: np.ndarray, limits: BinLimits
) -> tuple[np.ndarray, Callable[[int], np.ndarray]]:
    """The least squared error of at most 1, 2, … steps (by dynamic programming), and which step each value is in.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.additive._binning import BinLimits, step_path
    >>> errors, labels = step_path(np.array([0.0, 0.1, 5.0]), np.ones(3), BinLimits(2, 0.0, 0.0))
    >>> errors.round(3).tolist(), labels(2).tolist()
    ([16.34, 0.005], [0, 0, 1])
    """
    n = len(values)
    cost = _segment_costs(values, weight, 2.0 * limits.min_share)
    best, back = [cost[0]], [np.zeros(n + 1, dtype=np.intp)]
    for _ in range(1, min(limits.max_bins, n)):
        through = best[-1][:, None] + cost
        back.append(through.argmin(axis=0))
        best.append(through.min(axis=0))
    exact = np.array([each[n] for each in best])
    errors = np.minimum.accumulate(exact)

    def labels(count: int) -> np.ndarray:
        used = int(exact[:count].argmin())
        end, out = n, np.zeros(n, dtype=np.intp)
        for k in range(used, 0, -1):
            end = int(back[k][end])
            out[end:] += 1
        return out

    return errors, labels


def _segment_costs(values: np.ndarray, weight: np.ndarray, least: float) -> np.ndarray:
    """The squared error about its mean of each run i..j - 1; infinite where it weighs too little, unless it is all."""
    sums = [np.concatenate([[0.0], np.cumsum(x)]) for x in (weight, weight * values, weight * values**2)]
    mass, first, second = (each[None, :] - each[:, None] for each in sums)
    cost = np.maximum(second - first**2 / np.where(mass > 0.0, mass, 1.0), 0.0)
    upper = np.triu(np.ones_like(mass, dtype=bool), 1)
    everything = cost[0, -1]
    cost = np.where(upper & (mass >= least - 1e-12), cost, np.inf)
    cost[0, -1] = everything
    return cost


# Rectangles in a grid


class Rectangle(NamedTuple):
    """Lines a..b - 1 and columns c..d - 1 of a grid."""

    a: int
    b: int
    c: int
    d: int

    def cut(self, axis: int, at: int) -> tuple["Rectangle", "Rectangle"]:
        """Both parts, before and from line or column ``at`` on."""
        if axis == 0:
            return self._replace(b=at), self._replace(a=at)
        return self._replace(d=at), self._replace(c=at)


class GridSums(NamedTuple):
    """Cumulated sums of weight, weight * value and weight * value^2 over a grid."""

    weight: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, weight: np.ndarray) -> "GridSums":
        """Sums of all entries above and to the left of each corner."""
        terms = (weight, weight * values, weight * values**2)
        return cls(*(np.pad(x.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0))) for x in terms))

    def inside(self, r: Rectangle) -> tuple[float, ...]:
        """The three sums within a rectangle."""
        return tuple(float(x[r.b, r.d] - x[r.a, r.d] - x[r.b, r.c] + x[r.a, r.c]) for x in self)

    def error(self, r: Rectangle) -> float:
        """The squared error about the mean of a rectangle."""
        mass, first, second = self.inside(r)
        return max(second - first * first / mass, 0.0) if mass > 0.0 else 0.0

    def best_cut(self, r: Rectangle, min_mass: float) -> tuple[float, tuple[Rectangle, Rectangle] | None]:
        """The cut that saves most error, and what it saves; both parts weigh at least ``min_mass``."""
        cuts = [r.cut(0, at) for at in range(r.a + 1, r.b)] + [r.cut(1, at) for at in range(r.c + 1, r.d)]
        heavy = [two for two in cuts if min(self.inside(each)[0] for each in two) >= min_mass]
        scored = [(self.error(r) - self.error(two[0]) - self.error(two[1]), two) for two in heavy]
        return max(scored, key=lambda item: item[0], default=(0.0, None))


def rectangle_path(
    values: np.ndarray, weight: np.ndarray, limits: BinLimits
) -> tuple[np.ndarray, Callable[[int], np.ndarray]]:
    """The squared error of 1, 2, … rectangles, each the best cut of one before, and which one each cell is in."""
    sums, min_mass = GridSums.of(values, weight), 2.0 * limits.min_share
    whole = Rectangle(0, values.shape[0], 0, values.shape[1])
    leaves = [[whole]]
    cuts = {whole: sums.best_cut(whole, min_mass)}
    while len(leaves[-1]) < limits.max_bins:
        target = max(leaves[-1], key=lambda r: cuts[r][0])
        saved, parts = cuts[target]
        if parts is None or saved <= 0.0:
            break
        cuts.update({part: sums.best_cut(part, min_mass) for part in parts})
        leaves.append([r for r in leaves[-1] if r != target] + list(parts))
    errors = np.array([sum(map(sums.error, each)) for each in leaves])

    def labels(count: int) -> np.ndarray:
        out = np.zeros(values.shape, dtype=np.intp)
        for k, r in enumerate(sorted(leaves[min(count, len(leaves)) - 1])):
            out[r.a : r.b, r.c : r.d] = k
        return out

    return errors, labels


# How many bins each shape gets


def _bin_counts(paths: Sequence[np.ndarray], has_missing: Sequence[bool], cost: float, limits: BinLimits) -> list[int]:
    """How many bins each shape gets: more where they save most a bin, until the loss is below the bound."""
    counts = [1] * len(paths)
    lines = sum(_line_count(1, missing) for missing in has_missing)
    left = sum(float(errors[0]) for errors in paths)
    saving = [_best_step(errors, 1) for errors in paths]
    while saving and cost * left > limits.max_auc_lost:
        k = max(range(len(paths)), key=lambda i: saving[i][0])
        more = _line_count(saving[k][1], has_missing[k]) - _line_count(counts[k], has_missing[k])
        if saving[k][0] <= 0.0 or lines + more > limits.max_lines:
            break
        left -= float(paths[k][counts[k] - 1] - paths[k][saving[k][1] - 1])
        counts[k], lines = saving[k][1], lines + more
        saving[k] = _best_step(paths[k], counts[k])
    return counts


def _line_count(bins: int, has_missing: bool) -> int:
    """The lines of a shape of so many bins."""
    return bins + has_missing if bins > 1 or has_missing else 0


def _best_step(errors: np.ndarray, count: int) -> tuple[float, int]:
    """The largest saving a bin beyond ``count`` of them, and the number of bins that has it."""
    more = np.arange(count + 1, len(errors) + 1)
    if not len(more):
        return 0.0, count
    saved = (errors[count - 1] - errors[more - 1]) / (more - count)
    k = int(saved.argmax())
    return float(saved[k]), int(more[k])
