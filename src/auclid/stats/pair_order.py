"""PairOrder: which rows must be ranked above which others, for levels, numbers, groups and censored times.

Row i is above row j where both are in one group and the level of i is higher. Of censored times the earlier one is
above, if its event was seen: a censored row is above no other. A pair weighs upper_i * lower_j.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from auclid.stats.order_sums import MarginSums, margin_sums, order_masses, recursion_nodes
from auclid.stats.pair_sums import running_sums
from auclid.stats.sorting import stable_argsort


@dataclass(frozen=True, eq=False)
class PairOrder:
    """Rows sorted by group and, within a group, by level from the top down.

    Arrays with an entry per sorted row are in that order; results with an entry per row are in the order of the table.
    """

    n: int
    """Rows of the table."""
    rows: np.ndarray
    """The numbers of the sorted rows; rows without weight are left out."""
    level: np.ndarray
    """The number of each sorted row's level, counted over all groups."""
    group_ends: np.ndarray
    """0 and the end of each group."""
    upper: np.ndarray
    """The weight of each sorted row as the upper row of a pair; 0 where it is above no other."""
    lower: np.ndarray
    """The weight of each sorted row as the lower row of a pair."""

    @cached_property
    def group(self) -> np.ndarray:
        """The number of each sorted row's group."""
        return np.repeat(np.arange(len(self.group_ends) - 1), np.diff(self.group_ends))

    @cached_property
    def _masses(self) -> tuple[np.ndarray, ...]:
        return order_masses(self.level, self.group_ends, self.upper, self.lower)

    @property
    def mass_below(self) -> np.ndarray:
        """The weight of the rows that each sorted row is above of."""
        return self._masses[0]

    @property
    def mass_above(self) -> np.ndarray:
        """The weight of the rows that are above each sorted row."""
        return self._masses[1]

    @property
    def level_begin(self) -> np.ndarray:
        """Where the level of each sorted row begins."""
        return self._masses[2]

    @property
    def level_end(self) -> np.ndarray:
        """Where the level of each sorted row ends."""
        return self._masses[3]

    @property
    def group_end(self) -> np.ndarray:
        """Where the group of each sorted row ends."""
        return self._masses[4]

    @property
    def n_levels(self) -> int:
        """Levels of all groups."""
        return int(self.level[-1]) + 1 if len(self.level) else 0

    @cached_property
    def nodes(self) -> np.ndarray:
        """The nodes of the recursion."""
        return recursion_nodes(self.level, self.group_ends)

    def below(self, x: np.ndarray) -> np.ndarray:
        """For each sorted row: the sum of x (sorted, a column each if it has some) over the rows of later levels."""
        sums = _running(x)
        return sums[self.group_end] - sums[self.level_end]

    def above(self, x: np.ndarray) -> np.ndarray:
        """For each sorted row: the sum of x over the rows of earlier levels."""
        sums = _running(x)
        return sums[self.level_begin] - sums[self.group_ends[:-1][self.group]]

    @cached_property
    def degree(self) -> np.ndarray:
        """The weight of the pairs that hold each sorted row."""
        return self.upper * self.mass_below + self.lower * self.mass_above

    @cached_property
    def net(self) -> np.ndarray:
        """The weight of the pairs in which a sorted row is the upper one, minus those in which it is the lower one."""
        return self.upper * self.mass_below - self.lower * self.mass_above

    @cached_property
    def total(self) -> float:
        """The weight of all pairs."""
        return float(self.upper @ self.mass_below)

    def centred(self, x: np.ndarray, whole: bool = False) -> np.ndarray:
        """The values x of sorted rows, minus the mean of their group: no pair sees it, and sums keep their digits.

        ``whole``: minus the nearest whole number, so that margins of exactly 1 between round scores stay exact.
        """
        counts = np.diff(self.group_ends)
        mean = np.bincount(self.group, x, minlength=len(counts)) / np.maximum(counts, 1)
        return x - (np.rint(mean) if whole else mean)[self.group]

    def laplacian(self, U: np.ndarray) -> np.ndarray:
        """L u, with u'Lu the sum over pairs of (u_i - u_j)², for each column of U: both in the order of the table."""
        x = U[self.rows] - U[self.rows].mean(axis=0)
        shape = (-1,) + (1,) * (x.ndim - 1)
        upper, lower = self.upper.reshape(shape), self.lower.reshape(shape)
        out = np.zeros(U.shape)
        out[self.rows] = self.degree.reshape(shape) * x - upper * self.below(lower * x) - lower * self.above(upper * x)
        return out

    def margins(self, score: np.ndarray, threshold: float, x: np.ndarray | None = None) -> MarginSums:
        """Sums over the pairs with a margin below a threshold, for each sorted row; score and x are sorted too."""
        values = score if x is None else x
        parts = self.nodes, self.level, self.group_ends, score, self.upper, self.lower, values, float(threshold)
        return MarginSums(*margin_sums(*parts))

    def scattered(self, values: np.ndarray) -> np.ndarray:
        """Values of sorted rows in the order of the table; 0 for rows that were left out."""
        out = np.zeros(self.n)
        out[self.rows] = values
        return out

    def coarsened(self, most: int) -> "PairOrder":
        """The order with at most ``most`` levels, of about as many rows each, where it has one group."""
        if self.n_levels <= most or len(self.group_ends) > 2:
            return self
        block = self.level_begin * most // len(self.rows)
        level = np.unique(block, return_inverse=True)[1]
        return PairOrder(self.n, self.rows, level, self.group_ends, self.upper, self.lower)

    def subset(self, chosen: np.ndarray) -> "PairOrder":
        """The pairs among chosen rows of the table, numbered in their order."""
        number = np.full(self.n, -1)
        number[chosen] = np.arange(len(chosen))
        kept = number[self.rows] >= 0
        level = np.unique(self.level[kept], return_inverse=True)[1]
        counts = np.bincount(self.group[kept], minlength=len(self.group_ends) - 1)
        ends = np.concatenate([[0], np.cumsum(counts[counts > 0])])
        return PairOrder(len(chosen), number[self.rows[kept]], level, ends, self.upper[kept], self.lower[kept])


def _running(x: np.ndarray) -> np.ndarray:
    if x.ndim == 1:
        return running_sums(x)
    sums = np.zeros((len(x) + 1, *x.shape[1:]))
    np.cumsum(x, axis=0, out=sums[1:])
    return sums


def level_order(y: np.ndarray, group: np.ndarray | None = None, weight: np.ndarray | None = None) -> PairOrder:
    """The order of numbers: a greater y is above; within a group only, where groups are given.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.pair_order import level_order
    >>> order = level_order(np.array([1.0, 3.0, 2.0, 3.0]))
    >>> order.rows, order.total
    (array([1, 3, 2, 0]), 5.0)
    """
    rows = _sorted(-y, group, weight)
    new_group = _changes(None if group is None else group[rows], len(rows))
    return _order(len(y), rows, new_group, new_group | _changes(y[rows]), weight)


def survival_order(
    time: np.ndarray,
    event: np.ndarray,
    group: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    inverse_censoring: np.ndarray | None = None,
) -> PairOrder:
    """The order of censored times: a seen event is above all rows of later times, and above censored ones of its time.

    ``inverse_censoring`` multiplies the weight of each row as the upper one of a pair.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.pair_order import survival_order
    >>> order = survival_order(np.array([3.0, 1.0, 2.0, 1.0]), np.array([True, True, False, False]))
    >>> order.rows, order.total
    (array([1, 3, 2, 0]), 3.0)
    """
    rows = _sorted(time, group, weight, ~event)
    when, seen = time[rows], event[rows]
    new_group = _changes(None if group is None else group[rows], len(rows))
    # Censored rows between two events lose to the same rows and win over none: they are one level.
    new_level = new_group | _changes(seen) | (_changes(when) & seen)
    factor = seen.astype(np.float64) if inverse_censoring is None else np.where(seen, inverse_censoring[rows], 0.0)
    return _order(len(time), rows, new_group, new_level, weight, factor)


def _sorted(
    value: np.ndarray, group: np.ndarray | None, weight: np.ndarray | None, second: np.ndarray | None = None
) -> np.ndarray:
    """Rows of positive weight by group, value and a second key."""
    kept = None if weight is None else np.flatnonzero(weight > 0.0)
    if kept is not None:
        value, second = value[kept], None if second is None else second[kept]
    order = stable_argsort(value, second)
    order = order if kept is None else kept[order]
    return order if group is None else order[stable_argsort(group[order].astype(np.float64))]


def _changes(values: np.ndarray | None, size: int = 0) -> np.ndarray:
    """Whether each value differs from the one before; True for the first. None: ``size`` values that are all alike."""
    new = np.zeros(size, dtype=bool) if values is None else np.empty(len(values), dtype=bool)
    if values is not None:
        np.not_equal(values[1:], values[:-1], out=new[1:])
    new[:1] = True
    return new


def _order(
    n: int,
    rows: np.ndarray,
    new_group: np.ndarray,
    new_level: np.ndarray,
    weight: np.ndarray | None,
    factor: np.ndarray | None = None,
) -> PairOrder:
    own = np.ones(len(rows)) if weight is None else weight[rows] / weight[rows].max(initial=0.0)
    ends = np.append(np.flatnonzero(new_group), len(rows))
    return PairOrder(n, rows, np.cumsum(new_level) - 1, ends, own if factor is None else factor * own, own)
