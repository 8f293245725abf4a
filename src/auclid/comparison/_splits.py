"""The rows of a comparison, and which of them models learn from and are tested on."""

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, StratifiedShuffleSplit, check_cv

from auclid import _sizes
from auclid.auto._folds import Split, rolling_folds
from auclid.errors import Described, invalid_value
from auclid.metrics._cross_val import CrossValRows, finite_scores, row_numbers
from auclid.metrics._periods import time_numbers
from auclid.validation.parameters import number_in, whole_number

N_FOLDS, N_REPEATS, TEST_SIZE = 5, 3, 0.3
"""What "auto" stands for."""

MIN_TEST_ROWS = 2
"""Rows of each class without which a split cannot be measured."""


class ComparedOrder(NamedTuple):
    """Rows with an order: levels, numbers or censored times, compared within groups where there are some."""

    X: Any
    y: Any
    """What estimators are fitted to."""
    is_pos: np.ndarray
    """What folds are stratified by: whether an event was seen, or whether a value is a high one."""
    cluster: np.ndarray | None
    """Groups that are held out whole."""
    splits: list[tuple[np.ndarray, np.ndarray]]
    values: np.ndarray
    """Levels, numbers or times."""
    event: np.ndarray | None
    groups: np.ndarray | None
    """Only rows of one group are compared."""

    def fit_options(self, estimator: Any, numbers: np.ndarray) -> dict[str, Any]:
        """What `fit` is given beside X and y of the rows of these numbers: their groups, where it takes them."""
        if self.groups is None or "groups" not in signature(estimator.fit).parameters:
            return {}
        return {"groups": self.groups[numbers]}

    def scores(self, owner: str, model: Any, X: Any) -> np.ndarray:
        """What the model predicts, which is finite: the higher, the higher a row is ranked."""
        return finite_scores(owner, model, model.predict(X))

    def probabilities(self, model: Any, X: Any) -> None:
        """None: there is no positive class."""


ComparedRows = CrossValRows | ComparedOrder
"""What estimators are compared on."""


class SplitPlan(NamedTuple):
    """Splits, and what to call the first so many of them: a comparison may stop there for want of time."""

    splits: list[Split]
    descriptions: dict[int, str]


def plan_splits(rows: ComparedRows, cv: Any, repeats: Any, test_size: float | None, time: Any, seed: int) -> SplitPlan:
    """How the rows of a comparison are split; the parameters are those of `auclid.compare`."""
    if test_size is not None:
        number_in("compare", "test_size", test_size, 0.0, 1.0)
    if not isinstance(cv, str | int | np.integer):
        if repeats not in ("auto", 1) or test_size is not None or time is not None:
            raise invalid_value("compare", "cv", "be an int where repeats, test_size or time is given", cv)
        return _given(rows, cv)
    rarest = int(min(rows.is_pos.sum(), (~rows.is_pos).sum()))
    count = _fold_count(cv, rarest)
    if time is not None:
        return _by_time(rows, count, test_size, time_numbers("compare", time, len(rows.y))[0])
    return _by_chance(rows, cv, count, repeats, test_size, rarest, seed)


def _fold_count(cv: Any, rarest: int) -> int:
    """The number of folds that ``cv`` asks for, of so many rows of the rarer class."""
    if cv == "auto":
        return max(2, min(N_FOLDS, rarest // MIN_TEST_ROWS))
    if isinstance(cv, str):
        raise invalid_value("compare", "cv", "be 'auto', an int, a splitter or a list of (train, test)", cv)
    return whole_number("compare", "cv", int(cv), 2)


def _by_chance(
    rows: ComparedRows, cv: Any, count: int, repeats: Any, test_size: float | None, rarest: int, seed: int
) -> SplitPlan:
    """One hold-out, where it was asked for or is precise enough; else repeated folds."""
    left_open = cv == "auto" and repeats == "auto"
    if test_size is not None or (left_open and rows.cluster is None and rarest >= _sizes.MIN_ROWS_TO_HOLD_OUT):
        return _hold_out(rows, TEST_SIZE if test_size is None else test_size, seed)
    if repeats == "auto":
        repeats = N_REPEATS if rarest < _sizes.MIN_ROWS_TO_HOLD_OUT else 1
    return _repeated_folds(rows, count, whole_number("compare", "repeats", repeats, 1), seed, left_open)


def _given(rows: ComparedRows, cv: Any) -> SplitPlan:
    splits = [(row_numbers(a), row_numbers(b)) for a, b in check_cv(cv, rows.y).split(rows.X, rows.y, rows.cluster)]
    if not splits:
        raise invalid_value("compare", "cv", "give one split or more", cv)
    return SplitPlan(splits, {len(splits): "one given split" if len(splits) == 1 else f"{len(splits)} given splits"})


def _hold_out(rows: ComparedRows, share: float, seed: int) -> SplitPlan:
    splitter = StratifiedShuffleSplit(1, test_size=share, random_state=seed)
    splits = [(np.sort(train), np.sort(test)) for train, test in splitter.split(rows.is_pos, rows.is_pos)]
    for part in splits[0]:
        _check_classes(rows.is_pos, part, "test_size")
    return SplitPlan(splits, {1: f"one split, {share:.0%} of the rows held out"})


def _repeated_folds(rows: ComparedRows, count: int, repeats: int, seed: int, left_open: bool) -> SplitPlan:
    """Stratified folds, drawn anew for each repeat; where the user left the choice, the first fold alone may do."""
    rarest = int(min(rows.is_pos.sum(), (~rows.is_pos).sum()))
    if rarest < MIN_TEST_ROWS * count:
        expected = f"hold at least {MIN_TEST_ROWS * count} rows of each class, for {count} folds"
        raise invalid_value("compare", "y", expected, rarest)
    kind = StratifiedKFold if rows.cluster is None else StratifiedGroupKFold
    splits: list[Split] = []
    for repeat in range(repeats):
        folds = kind(count, shuffle=True, random_state=seed + repeat)
        splits += list(folds.split(rows.is_pos, rows.is_pos, rows.cluster))
    descriptions = {1: f"one split, {1 / count:.0%} of the rows held out"} if left_open else {}
    for number in range(1, repeats + 1):
        descriptions[number * count] = f"{count} folds" if number == 1 else f"{number} repeats of {count} folds"
    return SplitPlan(splits, descriptions)


def _by_time(rows: ComparedRows, count: int, test_size: float | None, time: np.ndarray) -> SplitPlan:
    """Models learn from earlier rows than those they are tested on."""
    if test_size is None:
        folds = rolling_folds(time, count, rows.is_pos, rows.cluster, owner="compare", min_rows=MIN_TEST_ROWS)
        blocks = "one block" if len(folds) == 1 else f"{len(folds)} blocks"
        return SplitPlan(folds, {len(folds): f"{blocks} of later rows, from all rows before (rolling origin)"})
    cut = np.quantile(time, 1.0 - test_size, method="higher")  # rows of equal time stay together
    cut = cut if cut > time.min() else np.nextafter(cut, np.inf)
    train, test = np.flatnonzero(time < cut), np.flatnonzero(time >= cut)
    for part in (train, test):
        _check_classes(rows.is_pos, part, "time")
    return SplitPlan([(train, test)], {1: f"the latest {len(test) / len(time):.0%} of the rows, from all before"})


def _check_classes(is_pos: np.ndarray, part: np.ndarray, parameter: str) -> None:
    """Refuse a part of the rows with too few of a class to learn from or to test on."""
    positives = int(is_pos[part].sum())
    if min(positives, len(part) - positives) < MIN_TEST_ROWS:
        expected = f"leave {MIN_TEST_ROWS} rows of each class or more, to learn from and to test on"
        raise invalid_value("compare", parameter, expected, Described(f"{positives} positives of {len(part)} rows"))
