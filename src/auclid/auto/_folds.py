"""Folds of a search: stratified, grouped, given by the user, or by time."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

from auclid import _sizes
from auclid.errors import InvalidValueError

Split = tuple[np.ndarray, np.ndarray]
"""Numbers of the rows to learn from, and of those to hold out."""


def make_folds(
    cv: Any,
    is_pos: np.ndarray,
    rarest: int,
    seed: int,
    groups: np.ndarray | None = None,
    time: np.ndarray | None = None,
) -> tuple[list[Split], int]:
    """(train, test) of each fold, and how many folds there are in a repeat; more repeats where a class is small.

    Folds are stratified and rows of a group stay together. With ``time`` a fold learns from earlier rows than it holds
    out. Where ``cv`` is a splitter, or gives the folds, they are those.
    """
    if time is not None:
        folds = rolling_folds(time, int(cv), is_pos, groups)
        return folds, len(folds)
    if not isinstance(cv, Integral):
        given = [(np.asarray(a), np.asarray(b)) for a, b in check_cv(cv).split(is_pos, is_pos, groups)]
        if not given:
            raise ValueError(f"The 'cv' parameter of AUCClassifier must have a fold; got {cv!r}.")
        return _both_in_each(given, is_pos, "cv"), len(given)
    size, splits = min(int(cv), rarest), []
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    if groups is not None and len(np.unique(groups)) < size:
        raise ValueError(
            f"The groups of AUCClassifier must be at least as many as folds, {size}; got {len(np.unique(groups))}. "
            "Use fewer folds (cv=), or finer groups."
        )
    for k in range(repeat_count(rarest)):
        splits += list(kind(size, shuffle=True, random_state=seed + k).split(is_pos, is_pos, groups))
    return _both_in_each(splits, is_pos, "groups"), size


def repeat_count(rarest: int) -> int:
    """How often the folds of simple models are repeated, with so many rows of the rarer class."""
    return next((times for bound, times in _sizes.FOLD_REPEATS if rarest < bound), 1)


def rolling_folds(
    time: np.ndarray,
    count: int,
    is_pos: np.ndarray,
    groups: np.ndarray | None = None,
    *,
    owner: str = "AUCClassifier",
    min_rows: int = 1,
) -> list[Split]:
    """Rolling-origin folds: rows are cut by time into ``count`` + 1 blocks of about equal size; each block but the
    first is held out once, and the rows before it are learnt from.

    Rows of equal time are in one block. Rows of a group that is held out are not learnt from. A fold with fewer than
    ``min_rows`` rows of a class on either side is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.auto._folds import rolling_folds
    >>> for train, test in rolling_folds(np.arange(6), 2, np.array([True, False] * 3)):
    ...     print(train, test)
    [0 1] [2 3]
    [0 1 2 3] [4 5]
    """
    first = np.searchsorted(np.sort(time), time, side="left")
    block, folds = first * (count + 1) // len(time), []
    for number in range(1, count + 1):
        is_test, is_train = block == number, block < number
        if groups is not None:
            is_train &= ~np.isin(groups, groups[is_test])
        counts = [int(of_class[part].sum()) for part in (is_train, is_test) for of_class in (is_pos, ~is_pos)]
        if min(counts) >= min_rows:
            folds.append((np.flatnonzero(is_train), np.flatnonzero(is_test)))
    if not folds:
        raise InvalidValueError(
            owner=owner,
            subject=f"The times given to {owner}",
            expected="leave rows of both classes before and after at least one cut",
            got=f"{len(np.unique(time)):,} different times in which they do not",
            hint="Use finer times, or fewer folds (cv=).",
        )
    return folds


def _both_in_each(folds: list[Split], is_pos: np.ndarray, what: str) -> list[Split]:
    for part in (part for fold in folds for part in fold):
        if is_pos[part].all() or not is_pos[part].any():
            raise ValueError(
                f"The {what} of AUCClassifier must leave rows of both classes in every fold, to learn and to hold out; "
                "got a fold with rows of one class. Use fewer folds, or finer groups."
            )
    return folds
