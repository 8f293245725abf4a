"""Folds of rows, and the moments of what each fold trains on: sums of the other folds', never a difference."""

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from auclid.data import Table
from auclid.data.array_tables import as_table
from auclid.data.dataset import Part, Totals
from auclid.stats.epochs import content_order
from auclid.stats.labelled import LabelledDataset
from auclid.stats.moments import ClassMoments, class_moments, grouped_moments
from auclid.stats.pair_sums import count_below, running_sums

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

    Rows of weight zero are dealt out separately, so that the others are spread evenly over the folds.
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


class StratifiedFolds(NamedTuple):
    """Stratified folds of rows in parts, by the number of a row among those of its stratum, as scikit-learn deals them.

    Strata are the negatives, the positives and, where there are enough of them, the rows of weight zero.
    """

    before: np.ndarray
    """(parts, kinds): rows of each kind in the parts before."""
    ends: np.ndarray
    """(kinds, folds): the number of a kind's row at which a fold ends."""

    def kinds(self, part: Part) -> np.ndarray:
        """The kind of each row."""
        if part.weight is None or self.ends.shape[0] == 2:
            return part.labels
        return np.where(part.weight > 0.0, part.labels, 2)

    def of(self, part: Part) -> np.ndarray:
        """The fold of each row."""
        kinds = self.kinds(part)
        fold = np.empty(len(kinds), np.int32)
        for kind, (before, ends) in enumerate(zip(self.before[part.number], self.ends, strict=True)):
            at = np.flatnonzero(kinds == kind)
            fold[at] = np.searchsorted(ends, before + np.arange(len(at)), side="right")
        return fold


def stratified_folds(rows: LabelledDataset, n_folds: int) -> StratifiedFolds:
    """Stratified folds without shuffling; rows of weight zero are dealt out separately if there are enough of them."""
    idle = (rows.every - rows.counts).sum(axis=1)
    separate = int(idle.sum()) >= n_folds
    counts = np.column_stack([rows.counts, idle]) if separate else rows.every
    total, ends = counts.sum(axis=0), np.zeros((counts.shape[1], n_folds), dtype=np.int64)
    start = 0
    for kind in _by_first(rows, separate):
        # Kinds lie end to end in the order of their first rows, and are dealt out like cards.
        ends[kind] = np.cumsum([_dealt(start, start + total[kind], fold, n_folds) for fold in range(n_folds)])
        start += total[kind]
    return StratifiedFolds(np.cumsum(counts, axis=0) - counts, ends)


def _dealt(start: int, stop: int, fold: int, n_folds: int) -> int:
    """How many of the numbers from start to stop - 1 leave the remainder ``fold``."""
    return len(range(fold + max(0, -(-(start - fold) // n_folds)) * n_folds, stop, n_folds))


def _by_first(rows: LabelledDataset, separate: bool) -> list[int]:
    """The kinds in the order in which their first rows come."""
    first = rows.first_weighed if separate else rows.first
    return sorted((kind for kind in range(len(first)) if first[kind] is not None), key=lambda kind: first[kind])


def part_fold_moments(part: Part, folds: StratifiedFolds) -> Totals:
    """The moments of negatives and positives of each fold of a part: two a fold."""
    group = part.labels + 2 * folds.of(part)
    return Totals(grouped_moments(as_table(part.X), group, 2 * folds.ends.shape[1], part.weight))


def fold_moments(rows: LabelledDataset, folds: StratifiedFolds) -> list[ClassMoments]:
    """The moments of each fold, in one pass."""
    found = rows.parts.compute(rows.parts.reduce(part_fold_moments, folds))
    return [ClassMoments(pos, neg) for neg, pos in zip(found[::2], found[1::2], strict=True)]


def held_out(part: Part, folds: StratifiedFolds, W: list, number: int) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Of each fold, scores (a column a model) and weights of a part's rows of one class, by models of the others."""
    table, fold, members = as_table(part.X), folds.of(part), part.members(number)
    found = []
    for k, models in enumerate(W):
        at = members[fold[members] == k]
        own = None if part.weight is None else part.weight[at]
        found.append((table.matmul(models, at) if len(at) else np.empty((0, models.shape[1])), own))
    return found


def ranked_folds(found: list) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Of each fold: the scores of all parts, sorted for each model, and the weight up to each place."""
    ranked = []
    for parts in zip(*found, strict=True):
        scores = np.concatenate([scores for scores, _ in parts]).T
        order = np.argsort(scores, axis=1, kind="stable")
        mass = None
        if parts[0][1] is not None:
            own = np.concatenate([weight for _, weight in parts])
            mass = np.array([running_sums(own[each]) for each in order])
        ranked.append((np.take_along_axis(scores, order, axis=1), mass))
    return ranked


def twice_below(part: Part, folds: StratifiedFolds, W: list, number: int, ranked: list) -> np.ndarray:
    """(folds, models): summed over a part's rows of a class, twice the weight of the ranked ones below, ties once."""
    out = np.zeros((len(W), W[0].shape[1]))
    for k, (scores, own) in enumerate(held_out(part, folds, W, number)):
        sorted_scores, mass = ranked[k]
        if not len(scores) or not sorted_scores.shape[1]:
            continue
        for column, (few, many) in enumerate(zip(sorted_scores, scores.T, strict=True)):
            below, not_above = (count_below(few, np.ascontiguousarray(s)) for s in (many, np.nextafter(many, np.inf)))
            if mass is not None:
                below, not_above = mass[column][below], mass[column][not_above]
            out[k, column] = float((below + not_above).sum()) if own is None else own @ (below + not_above)
    return out


def held_out_aucs(
    rows: LabelledDataset, folds: StratifiedFolds, W: list, parts_moments: list[ClassMoments]
) -> np.ndarray:
    """(folds, models): the AUC of each model on the rows of its fold, in two passes; NaN where a class is missing."""
    counts = rows.counts.sum(axis=0)
    few = 1 if counts[1] <= counts[0] else 0
    ranked = rows.parts.merge(ranked_folds, rows.parts.map(held_out, folds, W, few))
    twice: Any = rows.parts.compute(rows.parts.reduce(twice_below, folds, W, 1 - few, ranked))
    areas = np.full(twice.shape, np.nan)
    for k, moments in enumerate(parts_moments):
        if moments.complete:
            below = 0.5 * twice[k] / (moments.pos.n * moments.neg.n)
            areas[k] = below if few == 0 else 1.0 - below
    return areas
