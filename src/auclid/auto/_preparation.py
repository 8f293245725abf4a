"""The rows of a table as candidates want them: scaled for some, plain with missing values for others; and in an order
that does not depend on how they came.

Folds, bootstraps and the trees of boosting depend on where a row stands and on how many rows there are. So that equal
tables in another order, and weights of two and rows that come twice, give the same model, small tables are brought into
one form first.
"""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from auclid import _sizes
from auclid.columns import Columns
from auclid.data import as_array, as_table
from auclid.stats.epochs import content_order
from auclid.stats.weights import normalize_weights, repeats


class PreparedRows(NamedTuple):
    """The rows of a table twice: for models that compare numbers, and for trees."""

    scaled: Any
    """Numbers that can be compared, none missing: an array, or a CSR matrix."""
    plain: Any
    """Numbers as they came, missing ones too, then the number of each category's level; not yet dense where sparse."""
    categories: tuple[int, ...] = ()
    """Which columns of ``plain`` hold levels."""

    def rows(self, index: Any) -> "PreparedRows":
        """Some of the rows."""
        return PreparedRows(self.scaled[index], self.plain[index], self.categories)


def prepare(columns: Columns, X: Any) -> PreparedRows:
    """The `PreparedRows` of a checked table; those that were made of it before are returned as they are."""
    if isinstance(X, PreparedRows):
        return X
    numbers, codes = columns._parse(X)
    scaled = columns._apply(numbers, codes)
    if not codes:
        return PreparedRows(scaled, numbers)
    levels = np.column_stack([np.where(code < 0, np.nan, code) for code in codes]).astype(numbers.dtype, copy=False)
    plain = np.column_stack([as_array(numbers), levels])
    return PreparedRows(scaled, plain, tuple(range(plain.shape[1] - len(codes), plain.shape[1])))


def dense(X: Any) -> np.ndarray:
    """Plain rows as an array, since trees want them so."""
    return np.ascontiguousarray(as_array(X))


class TrainingSet(NamedTuple):
    """Prepared rows, with class, weight and group of each, and the folds that were asked for."""

    rows: PreparedRows
    is_pos: np.ndarray
    weight: np.ndarray | None
    groups: np.ndarray | None
    cv: Any
    """A number of folds, or a list of (train, test)."""
    time: np.ndarray | None = None
    """When each row was seen: folds learn from the past."""

    @property
    def has_given_folds(self) -> bool:
        """Whether the user says which rows are held out together: then nothing may be learnt across folds."""
        return self.groups is not None or self.time is not None or not isinstance(self.cv, Integral)

    def take(self, order: np.ndarray) -> "TrainingSet":
        """The rows of these numbers, in this order."""
        cv = self.cv
        if not isinstance(cv, Integral):
            cv = [tuple(np.flatnonzero(np.isin(order, part)) for part in fold) for fold in cv]
        own = (self.weight, self.groups, self.time)
        weight, groups, time = (None if each is None else each[order] for each in own)
        return TrainingSet(self.rows.rows(order), self.is_pos[order], weight, groups, cv, time)


def canonical(given: TrainingSet) -> TrainingSet:
    """The rows without those of weight zero; small tables in an order by content, whole weights as repeated rows.

    Other weights have mean 1: only their ratios count.
    """
    table = _positive_rows(given._replace(cv=_folds(given)))
    if len(table.is_pos) <= _sizes.MAX_SORTED_ROWS:
        table = _sorted_and_repeated(table)
    return table._replace(weight=normalize_weights(table.weight))


def _sorted_and_repeated(table: TrainingSet) -> TrainingSet:
    order, count = content_order(as_table(table.rows.scaled), table.is_pos), _whole_repeats(table)
    assert order is not None  # so few rows, in memory
    if count is None:
        return table.take(order)
    order = np.repeat(order, count[order].astype(np.intp))
    repeated = table.take(order)._replace(weight=None)
    if table.has_given_folds or (count <= 1.0).all():
        return repeated
    return repeated._replace(groups=order)  # a row is not held out from its copies


def _whole_repeats(table: TrainingSet) -> np.ndarray | None:
    """How often each row is repeated, where weights are in proportion to whole numbers that are few in all."""
    if table.weight is None:
        return None
    count = repeats(table.weight, table.is_pos)
    few = count.sum() <= _sizes.MAX_REPEATED_ROWS
    return count if few and not (count % 1.0).any() else None


def _folds(given: TrainingSet) -> Any:
    """A number of folds as it is; of anything else the folds, which know the rows in the order in which they came."""
    if isinstance(given.cv, Integral):
        return given.cv
    return list(check_cv(given.cv).split(given.is_pos, given.is_pos, given.groups))


def _positive_rows(table: TrainingSet) -> TrainingSet:
    """The rows without those of weight zero, which would count as rows of their class in folds and samples."""
    if table.weight is None or table.weight.all():
        return table
    return table.take(np.flatnonzero(table.weight))
