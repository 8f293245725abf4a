"""Rows as the search meets them: of small tables sorted by what they hold, with whole weights as repeats.

Folds, bootstraps and the trees of boosting hang on where a row stands and on how many rows there are. So that equal
tables in another order, and weights of two and rows that come twice, give the same model, small tables are brought into
one form first.
"""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from auclid._weights import repeats
from auclid.auto._rows import Rows
from auclid.data import as_table
from auclid.stats.epochs import MAX_SORTED_ROWS, content_order

REPEATED = 2_000
"""Rows in all, up to which a row of weight two is put there twice."""


class Arranged(NamedTuple):
    """Rows, their labels, and what is said of each of them."""

    rows: Rows
    is_pos: np.ndarray
    weight: np.ndarray | None
    groups: np.ndarray | None
    cv: Any
    """A number of folds, or a list of (train, test)."""

    @property
    def given(self) -> bool:
        """Whether it is said which rows are held out together: then nothing may be learnt across folds."""
        return self.groups is not None or not isinstance(self.cv, Integral)


def arranged(found: Arranged) -> Arranged:
    """The rows in the form that the search meets."""
    found = _weighed(found._replace(cv=_folds(found)))
    if len(found.is_pos) > MAX_SORTED_ROWS:
        return found
    order, count = content_order(as_table(found.rows.scaled), found.is_pos), None
    assert order is not None  # so few rows, in memory
    if found.weight is not None:
        count = repeats(found.weight, found.is_pos)
        if count.sum() > REPEATED or (count % 1.0).any():
            count = None
    if count is None:
        return _taken(found, order)
    order = np.repeat(order, count[order].astype(np.intp))
    repeated = _taken(found, order)._replace(weight=None)
    if found.given or (count <= 1.0).all():
        return repeated
    return repeated._replace(groups=order)  # a row is not held out from its copies


def _folds(found: Arranged) -> Any:
    """A number as it is; of anything else the folds, which know the rows in the order in which they came."""
    if isinstance(found.cv, Integral):
        return found.cv
    return list(check_cv(found.cv).split(found.is_pos, found.is_pos, found.groups))


def _weighed(found: Arranged) -> Arranged:
    """The rows without those of weight zero, which would count as rows of their class in folds and samples."""
    if found.weight is None or found.weight.all():
        return found
    return _taken(found, np.flatnonzero(found.weight))


def _taken(found: Arranged, order: np.ndarray) -> Arranged:
    """The rows of these numbers, in this order."""
    cv = found.cv
    if not isinstance(cv, Integral):
        cv = [tuple(np.flatnonzero(np.isin(order, part)) for part in fold) for fold in cv]
    weight, groups = (None if each is None else each[order] for each in (found.weight, found.groups))
    return Arranged(found.rows.part(order), found.is_pos[order], weight, groups, cv)
