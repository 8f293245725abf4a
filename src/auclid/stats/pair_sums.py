"""Sums over all pairs of a positive and a negative row, in O(n log n) time and O(n) memory, in parts that add up.

One class is sorted by score. Each row of the other is placed into it and needs nothing else, so that class may lie
in blocks: what the sorted rows need of a block is one number for each place (`ActiveBlock.place_sums`), and
those arrays add. `Pairs`, `Ranking` and `ActivePairs` are the same for rows that lie in one piece.
"""

from copy import copy
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel

MIN_NORMAL = float(np.finfo(np.float64).tiny)


class SortedClass(NamedTuple):
    """One class by ascending score.

    ``own`` is the weight of each row; ``mass[k]``, ``mean[k]`` and ``spread[k]`` are weight, mean score and sum of
    squares about the mean of the first k (a mean of rows that weigh nothing is 0). Squares about a mean are only ever
    added, so far scores cost no digits.
    """

    score: np.ndarray
    own: np.ndarray
    mass: np.ndarray
    mean: np.ndarray
    spread: np.ndarray


def sorted_class(score: np.ndarray, own: np.ndarray) -> SortedClass:
    """The sums of ascending scores that weigh ``own``."""
    mass, mean = running_sums(own), running_sums(own * score)
    some = np.where(mass[1:] > 0.0, mass[1:], 1.0)
    mean[1:] /= some
    jump = score - mean[:-1]
    return SortedClass(score, own, mass, mean, running_sums(own * mass[:-1] / some * jump * jump))


class ActiveBlock:
    """The pairs with margin m < c of a sorted class and a block of rows of the other, and sums of (c − m), (c − m)².

    One array t_i = fl(s_i − c) decides for both rows of a pair: ``below[j]`` sorted rows have t_i < s_j, and they
    are the first ones. `count_below(t, score)` finds them; all sorted rows, in its place, make all pairs active.
    """

    def __init__(
        self, ranked: SortedClass, score: np.ndarray, own: np.ndarray, margin: float, below: np.ndarray
    ) -> None:
        self.ranked, self.score, self.own, self.margin, self.below = ranked, score, own, margin, below
        self.t = ranked.score - margin
        self.mass = ranked.mass[below]
        self.shortfall = score - (ranked.mean[below] - margin)

    def facing(self, ranked: SortedClass) -> "ActiveBlock":
        """These pairs with other weights of the sorted rows, at the same scores."""
        other = copy(self)
        other.ranked = ranked
        other.mass = ranked.mass[self.below]
        other.shortfall = self.score - (ranked.mean[self.below] - self.margin)
        return other

    def linear(self) -> np.ndarray:
        """For each row of the block: the sum of (c − m) over its active pairs."""
        return self.mass * self.shortfall

    def squares(self) -> np.ndarray:
        """For each row of the block: the sum of (c − m)² over its active pairs."""
        return self.mass * self.shortfall * self.shortfall + self.ranked.spread[self.below]

    def differences(self, u: np.ndarray, sorted_sums: np.ndarray) -> np.ndarray:
        """For each row j of the block: the sum of u_j − u_i over its active pairs, given `running_sums` of own u_i."""
        return self.mass * u - sorted_sums[self.below]

    def place_sums(self, u: np.ndarray | None = None) -> np.ndarray:
        """The weight, or weighted sum of u, of the block's rows at each place: these arrays add over blocks."""
        return np.bincount(self.below, self.own if u is None else self.own * u, minlength=len(self.t) + 1)

    def reweighed(self, own: np.ndarray, index: np.ndarray | slice = slice(None)) -> "ActiveBlock":
        """These pairs with weights ``own`` of the rows of the block, for those at ``index`` only."""
        other = copy(self)
        other.own = own
        other.score, other.below, other.mass, other.shortfall = (
            x[index] for x in (self.score, self.below, self.mass, self.shortfall)
        )
        return other


def partner_sums(place_sums: np.ndarray) -> np.ndarray:
    """For each sorted row: the sum over the rows it is active with, of what `ActiveBlock.place_sums` found."""
    return place_sums[:0:-1].cumsum()[::-1]


class Pairs:
    """All pairs of rows of weight above zero, one of each class.

    The smaller class (``few``) is sorted, and each row of the larger one (``many``) is placed into it, unless
    ``sort_positives`` says which is sorted. That only turns the scores round: a pair is active where s_j > s_i − 1,
    or else where −s_i > −s_j − 1.
    """

    def __init__(
        self, is_pos: np.ndarray, weight: np.ndarray | None = None, sort_positives: bool | None = None
    ) -> None:
        pos, neg = (np.flatnonzero(c if weight is None else c & (weight > 0.0)) for c in (is_pos, ~is_pos))
        self.is_pos, self.weight, self.n, self.sort_positives = is_pos, weight, len(is_pos), sort_positives
        positives_first = len(pos) <= len(neg) if sort_positives is None else sort_positives
        self.sign = 1.0 if positives_first else -1.0
        self.few, self.many = (pos, neg) if positives_first else (neg, pos)
        self.few_mass, self.many_mass = (class_mass(weight, index) for index in (self.few, self.many))
        self.total = float(self.few_mass.sum()) * float(self.many_mass.sum())

    @property
    def n_weighed(self) -> int:
        """Rows of weight above zero."""
        return len(self.few) + len(self.many)

    def rank(self, score: np.ndarray) -> "Ranking":
        """The scores in the order that every sum over pairs needs."""
        return Ranking(self, score)

    def sample(self, size: int) -> np.ndarray:
        """Up to ``size`` rows of each class, the same ones every time, in the order of the rows."""
        rng = np.random.default_rng(0)
        return np.sort(np.concatenate([draw(index, size, rng) for index in (self.few, self.many)]))

    def subset(self, chosen: np.ndarray) -> "Pairs":
        """The pairs among the chosen rows."""
        weight = None if self.weight is None else self.weight[chosen]
        return Pairs(self.is_pos[chosen], weight, self.sort_positives)


def draw(index: np.ndarray, size: int, rng: np.random.Generator | None = None) -> np.ndarray:
    """Up to ``size`` of some numbers, the same ones every time."""
    rng = np.random.default_rng(0) if rng is None else rng
    return index if len(index) <= size else rng.choice(index, size, replace=False, shuffle=False)


def class_mass(weight: np.ndarray | None, index: np.ndarray) -> np.ndarray:
    """Weights of one class, the largest 1, so that no product of weights overflows."""
    if weight is None:
        return np.ones(len(index))
    return weight[index] / weight[index].max()


class Ranking:
    """The scores of all rows: the smaller class sorted (``few``), the larger one as it stands (``many``).

    ``rows`` are the numbers of the sorted rows.
    """

    def __init__(self, pairs: Pairs, score: np.ndarray) -> None:
        few, many = score[pairs.few], score[pairs.many]
        # A whole number, so that margins of exactly 1 between round scores stay exact.
        centre = np.rint((few.sum() + many.sum()) / pairs.n_weighed)
        order = np.argsort(pairs.sign * few)
        self.pairs, self.rows, self.order = pairs, pairs.few[order], order
        self.few = sorted_class(pairs.sign * (few[order] - centre), pairs.few_mass[order])
        self.many = pairs.sign * (many - centre)

    def reweighed(self, inside: np.ndarray) -> "Ranking":
        """This ranking with the weights of the sorted rows times ``inside``, in the order of the class's rows."""
        other = copy(self)
        other.few = sorted_class(self.few.score, self.few.own * inside[self.order])
        return other

    def active(self, margin: float, below: np.ndarray) -> "ActivePairs":
        """The pairs with margin below ``margin``: of each placed row, those with the first ``below`` sorted rows."""
        block = ActiveBlock(self.few, self.many, self.pairs.many_mass, margin, below)
        return ActivePairs(self, block, self.pairs.many, self.pairs.total)

    def within(self, margin: float) -> "ActivePairs":
        """The pairs with margin below ``margin``."""
        return self.active(margin, count_below(self.few.score - margin, self.many))


class ActivePairs:
    """The pairs with margin m < c of all rows, and means over *all* pairs of (c − m)₊ and (c − m)₊².

    ``rows`` are the numbers of the placed rows, ``total`` is the weight of all pairs.
    """

    def __init__(self, ranking: Ranking, block: ActiveBlock, rows: np.ndarray, total: float) -> None:
        self.ranking, self.block, self.rows = ranking, block, rows
        self.total = total or MIN_NORMAL  # of a class that weighs next to nothing, the product of all weights vanishes

    def reweighed(self, own: np.ndarray, total: float, index: np.ndarray | slice = slice(None)) -> "ActivePairs":
        """These pairs with weights ``own`` (any sign) of placed rows, those at ``index`` only, and ``total`` of all."""
        return ActivePairs(self.ranking, self.block.reweighed(own, index), self.rows[index], total)

    def facing(self, ranking: Ranking) -> "ActivePairs":
        """These pairs with the weights of the sorted rows from another ranking of the same scores."""
        return ActivePairs(ranking, self.block.facing(ranking.few), self.rows, self.total)

    def linear_value(self) -> float:
        """The mean over all pairs of (c − m)₊."""
        return float(self.block.own @ self.block.linear()) / self.total

    def square_value(self) -> float:
        """The mean over all pairs of (c − m)₊²."""
        return float(self.block.own @ self.block.squares()) / self.total

    def linear_slope(self) -> np.ndarray:
        """The gradient of `linear_value`, an entry a row."""
        return self._rows(-self.partners(), self.block.mass, self.ranking.pairs.sign)

    def square_slope(self) -> np.ndarray:
        """The gradient of `square_value`, an entry a row."""
        few = self.partners() * self.block.t - partner_sums(self.block.place_sums(self.block.score))
        return self._rows(few, self.block.linear(), 2.0 * self.ranking.pairs.sign)

    def square_product(self, u: np.ndarray) -> np.ndarray:
        """The second derivatives of `square_value`, times u."""
        u = u - u.mean()  # a constant moves no margin, and its digits are wanted elsewhere
        few, many = u[self.ranking.rows], u[self.rows]
        of_few = self.partners() * few - partner_sums(self.block.place_sums(many))
        return self._rows(of_few, self.block.differences(many, running_sums(self.ranking.few.own * few)), 2.0)

    def share(self) -> np.ndarray:
        """The share of pairs that are active and hold a row, an entry a row."""
        return self._rows(self.partners(), self.block.mass, 1.0)

    def partners(self) -> np.ndarray:
        """For each sorted row: the weight of the rows it is active with."""
        return partner_sums(self.block.place_sums())

    def _rows(self, few: np.ndarray, many: np.ndarray, factor: float) -> np.ndarray:
        """What was found for sorted and placed rows, weighted, where the rows stand in the table."""
        out = np.zeros(self.ranking.pairs.n)
        out[self.ranking.rows] = few * self.ranking.few.own
        out[self.rows] = many * self.block.own
        out *= factor / self.total
        return out


def running_sums(values: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, ... values."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


@kernel
def count_below(t: np.ndarray, s: np.ndarray) -> np.ndarray:
    """For each of s, in any order: how many of the sorted t lie below it, as numpy.searchsorted(t, s) says.

    A look into a table of equal cells leaves a handful of t to search, so nothing else needs sorting.
    """
    n = t.shape[0]
    count = 4 * n
    low, width = t[n // 64], t[n - 1 - n // 64] - t[n // 64]
    scale = min(count / width, 1e300) if width > 0.0 else 0.0
    starts = np.zeros(count + 1, np.int64)
    for k in range(n):
        starts[cell(t[k], low, scale, count) + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    out = np.empty(s.shape[0], np.int64)
    for j in range(s.shape[0]):
        c = cell(s[j], low, scale, count)
        a, b = starts[c], starts[c + 1]
        while a < b:
            middle = (a + b) >> 1
            if t[middle] < s[j]:
                a = middle + 1
            else:
                b = middle
        out[j] = a
    return out


@kernel(inner=True)
def cell(x: float, low: float, scale: float, count: int) -> int:
    """Which cell holds x: never falls as x rises, so cells keep the order of what is in them; NaN goes to the first."""
    place = (x - low) * scale
    if not place > 0.0:
        return 0
    return int(place) if place < count - 1.0 else count - 1
