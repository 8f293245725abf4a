"""Rows with an order, wherever they are: what an estimator learns from, checked."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_consistent_length

from auclid import _sizes
from auclid.data.array_tables import as_table
from auclid.data.dataset import Dataset, Part, Totals
from auclid.data.memory import MemoryDataset
from auclid.data.table import Table
from auclid.stats.moments import Moments, grouped_moments
from auclid.stats.ordered_moments import OrderedMoments, SquareSystem
from auclid.stats.pair_order import PairOrder
from auclid.validation import check_rows, in_parts, own_weight, remember_columns, unlabelled_parts
from auclid.validation.outcomes import Survival, checked_weights, group_codes, order_of


class Outcome(NamedTuple):
    """What rows are ordered by: numbers, or times with events."""

    values: np.ndarray
    event: np.ndarray | None

    @classmethod
    def of(cls, target: Any) -> "Outcome":
        """Of numbers or of a `Survival`."""
        return cls(target.time, target.event) if isinstance(target, Survival) else cls(target, None)


class PartitionedRows(NamedTuple):
    """Rows in parts that were checked and prepared before, and the size of each part."""

    parts: Dataset
    sizes: np.ndarray


class OrderedRows(NamedTuple):
    """Rows in parts, and in memory their order: a few numbers a row."""

    parts: Dataset
    sizes: np.ndarray
    outcome: Outcome
    group: np.ndarray | None
    weight: np.ndarray | None
    order: PairOrder

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.parts.width

    def table(self) -> Table:
        """All rows as one table; where they are in parts, products with it are computed there."""
        return self.parts.table(self.sizes)

    @property
    def two_classes(self) -> bool:
        """Whether the rows have two levels of one group: then a pair is a positive and a negative."""
        one_group = len(self.order.group_ends) == 2
        return self.outcome.event is None and one_group and self.order.n_levels == 2


def dataset_of(estimator: Any, X: Any) -> PartitionedRows:
    """The rows of X in parts, checked, and the size of each part; sets what scikit-learn wants to know of columns."""
    if isinstance(X, PartitionedRows):
        remember_columns(estimator, X.parts.columns, X.parts.width)
        return X
    if not in_parts(X):
        table = check_rows(estimator, X, reset=True)
        return PartitionedRows(MemoryDataset(table), np.array([table.shape[0]]))
    parts = unlabelled_parts(estimator, X)
    remember_columns(estimator, parts.columns, parts.width)
    return PartitionedRows(parts, parts.part_sizes())


def ordered_rows(
    estimator: Any,
    X: Any,
    target: Callable[[], Any],
    groups: Any,
    sample_weight: Any,
    inverse_censoring: Callable[[np.ndarray | None], np.ndarray | None] | None = None,
) -> OrderedRows:
    """Rows with their order, checked: first X, then what ``target`` gives."""
    owner = type(estimator).__name__
    parts, sizes = dataset_of(estimator, X)
    outcome, n = Outcome.of(target()), int(sizes.sum())
    check_consistent_length(np.empty(n), outcome.values)
    weight = checked_weights(owner, own_weight(X, sample_weight), n)
    group = group_codes(owner, groups, n)
    factor = None if inverse_censoring is None else inverse_censoring(weight)
    order = order_of(owner, outcome.values, outcome.event, group, weight, factor)
    return OrderedRows(parts, sizes, outcome, group, weight, order)


def level_moments(rows: OrderedRows) -> OrderedMoments | None:
    """The moments of each level, in one pass, where all rows are comparable and levels are few; else None."""
    if rows.outcome.event is not None or rows.group is not None:
        return None
    used = rows.outcome.values if rows.weight is None else rows.outcome.values[rows.weight > 0.0]
    levels = np.unique(used)
    if len(levels) > _sizes.MAX_MOMENT_GROUPS:
        return None
    number = np.searchsorted(levels, rows.outcome.values)
    number[levels[np.minimum(number, len(levels) - 1)] != rows.outcome.values] = -1
    ends = np.cumsum(rows.sizes)[:-1]
    weight = None if rows.weight is None else np.split(rows.weight, ends)
    parts = rows.parts
    found = parts.compute(parts.reduce(part_level_moments, np.split(number, ends), weight, len(levels)))
    return OrderedMoments(levels, list(found), SquareSystem.empty(rows.width))


def part_level_moments(part: Part, number: list[np.ndarray], weight: list[np.ndarray] | None, count: int) -> Totals:
    """The moments of each level of one part."""
    own = None if weight is None else weight[part.number]
    found: list[Moments] = grouped_moments(as_table(part.X), number[part.number], count, own)
    return Totals(found)
