"""Stratified folds of rows that lie apart, by a row's number among those of its kind: as scikit-learn deals them."""

from typing import Any, NamedTuple

import numpy as np

from auclid.data.dataset import Part, Totals
from auclid.data.memory import as_table
from auclid.stats.apart import LabelledDataset
from auclid.stats.moments import ClassMoments, grouped_moments
from auclid.stats.pair_sums import count_below, running_sums


class Plan(NamedTuple):
    """Which fold a row belongs to. Kinds are negative, positive and, where they are dealt out apart, weight zero."""

    before: np.ndarray
    """(parts, kinds): rows of each kind in the parts before."""
    ends: np.ndarray
    """(kinds, folds): the number of a kind's row at which a fold ends."""

    def kinds(self, part: Part) -> np.ndarray:
        """The kind of each row."""
        assert part.y is not None
        if part.weight is None or self.ends.shape[0] == 2:
            return part.y
        return np.where(part.weight > 0.0, part.y, 2)

    def folds(self, part: Part) -> np.ndarray:
        """The fold of each row."""
        kinds = self.kinds(part)
        fold = np.empty(len(kinds), np.int32)
        for kind, (before, ends) in enumerate(zip(self.before[part.number], self.ends, strict=True)):
            at = np.flatnonzero(kinds == kind)
            fold[at] = np.searchsorted(ends, before + np.arange(len(at)), side="right")
        return fold


def planned(rows: LabelledDataset, n_folds: int) -> Plan:
    """Stratified folds without shuffling; rows of weight zero are dealt out apart where there are enough of them."""
    idle = (rows.every - rows.counts).sum(axis=1)
    apart = int(idle.sum()) >= n_folds
    counts = np.column_stack([rows.counts, idle]) if apart else rows.every
    total, ends = counts.sum(axis=0), np.zeros((counts.shape[1], n_folds), dtype=np.int64)
    start = 0
    for kind in _by_first(rows, apart):
        # Kinds lie end to end in the order of their first rows, and are dealt out like cards.
        ends[kind] = np.cumsum([_dealt(start, start + total[kind], fold, n_folds) for fold in range(n_folds)])
        start += total[kind]
    return Plan(np.cumsum(counts, axis=0) - counts, ends)


def _dealt(start: int, stop: int, fold: int, n_folds: int) -> int:
    """How many of the numbers from start to stop - 1 leave the remainder ``fold``."""
    return len(range(fold + max(0, -(-(start - fold) // n_folds)) * n_folds, stop, n_folds))


def _by_first(rows: LabelledDataset, apart: bool) -> list[int]:
    """The kinds in the order in which their first rows come."""
    first = rows.first_weighed if apart else rows.first
    return sorted((kind for kind in range(len(first)) if first[kind] is not None), key=lambda kind: first[kind])


def fold_moments(part: Part, plan: Plan) -> Totals:
    """The moments of negatives and positives of each fold of a part: two a fold."""
    assert part.y is not None
    group = part.y + 2 * plan.folds(part)
    return Totals(grouped_moments(as_table(part.X), group, 2 * plan.ends.shape[1], part.weight))


def moments_of_folds(rows: LabelledDataset, plan: Plan) -> list[ClassMoments]:
    """The moments of each fold, in one pass."""
    found = rows.parts.compute(rows.parts.reduce(fold_moments, plan))
    return [ClassMoments(pos, neg) for neg, pos in zip(found[::2], found[1::2], strict=True)]


def held_out(part: Part, plan: Plan, W: list, number: int) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Of each fold, scores (a column a model) and weights of a part's rows of one class, by models of the others."""
    table, fold, members = as_table(part.X), plan.folds(part), part.members(number)
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


def twice_below(part: Part, plan: Plan, W: list, number: int, ranked: list) -> np.ndarray:
    """(folds, models): summed over a part's rows of a class, twice the weight of the ranked ones below, ties once."""
    out = np.zeros((len(W), W[0].shape[1]))
    for k, (scores, own) in enumerate(held_out(part, plan, W, number)):
        sorted_scores, mass = ranked[k]
        if not len(scores) or not sorted_scores.shape[1]:
            continue
        for column, (few, many) in enumerate(zip(sorted_scores, scores.T, strict=True)):
            below, not_above = (count_below(few, np.ascontiguousarray(s)) for s in (many, np.nextafter(many, np.inf)))
            if mass is not None:
                below, not_above = mass[column][below], mass[column][not_above]
            out[k, column] = float((below + not_above).sum()) if own is None else own @ (below + not_above)
    return out


def held_out_areas(rows: LabelledDataset, plan: Plan, W: list, parts_moments: list[ClassMoments]) -> np.ndarray:
    """(folds, models): the AUC of each model on the rows of its fold, in two passes; NaN where a class is missing."""
    counts = rows.counts.sum(axis=0)
    few = 1 if counts[1] <= counts[0] else 0
    ranked = rows.parts.merge(ranked_folds, rows.parts.map(held_out, plan, W, few))
    twice: Any = rows.parts.compute(rows.parts.reduce(twice_below, plan, W, 1 - few, ranked))
    areas = np.full(twice.shape, np.nan)
    for k, moments in enumerate(parts_moments):
        if moments.complete:
            below = 0.5 * twice[k] / (moments.pos.n * moments.neg.n)
            areas[k] = below if few == 0 else 1.0 - below
    return areas
