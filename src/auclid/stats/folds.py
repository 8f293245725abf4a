"""Folds of rows, and the moments of what each fold trains on: sums of the other folds', never a difference."""

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from auclid.data import Table
from auclid.stats.epochs import content_order
from auclid.stats.moments import ClassMoments, class_moments, grouped_moments

ALIKE = 1e-9
"""Keys, relative to the largest, that are no further apart than this are those of equal rows, but for rounding."""


class Fold(NamedTuple):
    """Numbers of the rows to train on (None: all but the tested ones, as it mostly is) and to test on."""

    train: np.ndarray | None
    test: np.ndarray

    def counts(self, n: int, weight: np.ndarray | None) -> np.ndarray:
        """Weights under which exactly the training rows count, as often as they are drawn."""
        times = np.ones(n) if self.train is None else np.bincount(self.train, minlength=n).astype(np.float64)
        if self.train is None:
            times[self.test] = 0.0
        return times if weight is None else times * weight


def folds_by_content(table: Table, is_pos: np.ndarray, weight: np.ndarray | None, n_folds: int) -> list[Fold] | None:
    """Folds of each class in which equal rows are together, whatever their order and number: so are weights repeats.

    None where rows are too many to look at; none at all where a class has fewer unlike rows than folds.
    """
    order = content_order(table, is_pos)
    keys = None if order is None else table.keys()
    if order is None or keys is None:
        return None
    order = order if weight is None else order[weight[order] > 0.0]
    label, keys = is_pos[order], keys[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(keys) > ALIKE * np.abs(keys).max(initial=0.0)) | (label[1:] != label[:-1])
    number = np.cumsum(new) - 1
    number[label] -= number[~label].max(initial=-1) + 1
    if min(number[label].max(initial=-1), number[~label].max(initial=-1)) + 1 < n_folds:
        return []
    return [Fold(None, np.sort(order[number % n_folds == k])) for k in range(n_folds)]


def folds_of(cv: Any, classes: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None = None) -> list[Fold]:
    """The folds of a number (stratified), a splitter or an iterable, as scikit-learn takes them.

    Rows of weight zero are dealt out apart from the others, so that these are spread evenly over the folds.
    """
    n, folds = len(is_pos), []
    every, labels = np.arange(n), is_pos if isinstance(cv, Integral) else classes[is_pos.astype(np.intp)]
    if isinstance(cv, Integral) and weight is not None and (weight == 0.0).sum() >= cv:
        labels = np.where(weight > 0.0, is_pos, 2)
    for train, test in check_cv(cv, labels, classifier=True).split(every, labels):
        folds.append(_fold(every[train], every[test], n))
    return folds


def _fold(train: np.ndarray, test: np.ndarray, n: int) -> Fold:
    rest = np.ones(n, dtype=bool)
    rest[test] = False
    is_rest = rest.sum() == len(train) and rest[train].all()
    rest[train] = False
    return Fold(None if is_rest and not rest.any() else train, test)


def training_moments(
    table: Table, is_pos: np.ndarray, weight: np.ndarray | None, folds: list[Fold]
) -> tuple[Iterable[ClassMoments], ClassMoments]:
    """The training moments of each fold, one after the other as they are asked for, and those of all rows."""
    n = table.shape[0]
    if not _partition(n, folds):
        direct = (class_moments(table, is_pos, fold.counts(n, weight)) for fold in folds)
        return direct, class_moments(table, is_pos, weight)
    group = is_pos.astype(np.int16)
    for number, fold in enumerate(folds):
        group[fold.test] += 2 * number
    parts = grouped_moments(table, group, 2 * len(folds), weight)
    return leave_one_out([ClassMoments(pos, neg) for neg, pos in zip(parts[::2], parts[1::2], strict=True)])


def leave_one_out(parts: list[ClassMoments]) -> tuple[Iterator[ClassMoments], ClassMoments]:
    """The sum of all parts but the k-th, for each k, as they are asked for; and the sum of all."""
    after = [ClassMoments.empty(len(parts[0].delta))]
    for part in reversed(parts):
        after.append(part + after[-1])
    total = after.pop()
    return _without_each(parts, after), total


def _without_each(parts: list[ClassMoments], after: list[ClassMoments]) -> Iterator[ClassMoments]:
    """The sum of all parts but the k-th, for each k: those before it, plus those after it."""
    before = ClassMoments.empty(len(parts[0].delta))
    for part in parts:
        yield before + after.pop()
        before = before + part


def _partition(n: int, folds: list[Fold]) -> bool:
    """Whether each row is tested once, and trained on in all other folds."""
    tested = np.zeros(n, dtype=np.int32)
    for fold in folds:
        if fold.train is not None:
            return False
        tested[fold.test] += 1
    return bool(np.all(tested == 1))
