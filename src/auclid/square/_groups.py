"""Rows of groups: which group each row belongs to, and the moments of each group and class, wherever rows are."""

from typing import Any

import numpy as np

from auclid.data import as_table
from auclid.data.dataset import Part, Totals
from auclid.stats.labelled import LabelledDataset
from auclid.stats.moments import ClassMoments, Moments, grouped_moments
from auclid.validation.vectors import codes


def group_members(owner: str, groups: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The groups, sorted, and the number of each row's one; without groups all rows are of one."""
    if groups is None:
        return np.zeros(1, np.int64), np.zeros(n, np.intp)
    groups = groups.compute() if hasattr(groups, "compute") else groups
    labels, member = codes(owner, "groups", groups)
    if len(member) != n:
        raise ValueError(f"The 'groups' of {owner} must be one a row; got {len(member)} for {n} rows.")
    return labels, member


def group_moments(rows: LabelledDataset, member: np.ndarray, n_groups: int) -> list[Moments]:
    """The moments of the negatives and of the positives of each group in turn, in one pass."""
    pieces = np.split(member, np.cumsum(rows.every.sum(axis=1))[:-1])
    return list(rows.parts.compute(rows.parts.reduce(part_group_moments, pieces, n_groups)))


def part_group_moments(part: Part, member: list[np.ndarray], n_groups: int) -> Totals:
    """The moments of the negatives and of the positives of each group of a part in turn."""
    assert part.y is not None
    group = 2 * member[part.number] + part.y
    return Totals(grouped_moments(as_table(part.X), group, 2 * n_groups, part.weight))


def all_groups(moments: list[Moments]) -> ClassMoments:
    """The moments of both classes over all groups."""
    neg, pos = (sum(moments[side::2][1:], moments[side]) for side in (0, 1))
    return ClassMoments(pos, neg)


def joined_groups(
    owner: str, a: np.ndarray, of_a: list[Moments], b: np.ndarray, of_b: list[Moments]
) -> tuple[np.ndarray, list[Moments]]:
    """The groups of both, sorted, and the sums of their moments."""
    if (a.dtype.kind in "OUST") != (b.dtype.kind in "OUST"):
        raise ValueError(f"The groups of {owner} must be of one kind; got {b.tolist()[:3]} after {a.tolist()[:3]}.")
    labels = np.union1d(a, b)
    empty = Moments.empty(len(of_a[0].mean))
    joined = [empty] * (2 * len(labels))
    for own, moments in ((a, of_a), (b, of_b)):
        for k, at in enumerate(np.searchsorted(labels, own)):
            for side in (0, 1):
                joined[2 * at + side] = joined[2 * at + side] + moments[2 * k + side]
    return labels, joined


def sound_groups(model: Any) -> bool:
    """Whether groups and moments, as a file has them, fit together."""
    if not hasattr(model, "groups_"):
        return True
    d, size = model.n_features_in_, len(model.groups_)
    kept = isinstance(model._moments, list) and len(model._moments) == 2 * size
    return kept and all(type(m) is Moments and np.shape(m.mean) == (d,) for m in model._moments)
