"""Rows of groups: which group each row belongs to, and rankers that learn from the moments of each group and class."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from auclid import validation
from auclid.base import LinearRanker
from auclid.data import as_table
from auclid.data.dataset import Part, Totals
from auclid.data.types import RowsLike
from auclid.stats.labelled import LabelledDataset
from auclid.stats.moments import ClassMoments, Moments, grouped_moments, require_room
from auclid.validation import RowAccess
from auclid.validation.vectors import codes

COLUMNS_HINT = "Choose columns, or map them to fewer; SPAM takes any number, without groups."


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
    group = 2 * member[part.number] + part.labels
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


class GroupMomentsRanker(LinearRanker):
    """A linear ranker that learns from the moments of each group and class, which add up over batches.

    A subclass defines ``_resume(labels, moments)``: learn from the moments of the groups ``labels``.
    """

    groups_: np.ndarray
    _moments: list[Moments]
    _row_access = RowAccess.PARTS

    @validation.checked
    def partial_fit(
        self, X: RowsLike, y: Any, groups: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Add a batch of rows; the model is then that of one `fit` on all rows added so far.

        A batch may hold one class only, and new groups; until both classes were seen, ``coef_`` and all scores are
        zero.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        groups : array of shape (n,), optional
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        table, is_pos, weight, first = self._begin_partial(X, y, classes, sample_weight)
        rows = LabelledDataset.from_table(table, is_pos, weight, self.classes_)
        labels, _, moments = self._group_moments(rows, groups)
        if not first:
            labels, moments = joined_groups(type(self).__name__, self.groups_, self._moments, labels, moments)
        return self._resume(labels, moments)

    def merge(self, other: Self) -> Self:
        """Add the rows another model has seen, of the same groups or others; returns self.

        Parameters
        ----------
        other : estimator of the same class
            Fitted on other rows with the same parameters, features and classes.

        Returns
        -------
        self
        """
        validation.mergeable(self, other)
        owner = type(self).__name__
        return self._resume(*joined_groups(owner, self.groups_, self._moments, other.groups_, other._moments))

    @abstractmethod
    def _resume(self, labels: np.ndarray, moments: list[Moments]) -> Self:
        """Learn from the moments of the groups ``labels``."""

    def _group_moments(self, rows: LabelledDataset, groups: Any) -> tuple[np.ndarray, np.ndarray, list[Moments]]:
        """The groups, the number of each row's one, and the moments of each group and class."""
        owner = type(self).__name__
        require_room(f"The moments of {owner}", rows.width, COLUMNS_HINT)
        labels, member = group_members(owner, groups, rows.n_rows)
        return labels, member, group_moments(rows, member, len(labels))

    def _sound(self) -> bool:
        """Whether groups and moments, as a file has them, fit together."""
        if not hasattr(self, "groups_"):
            return True
        kept = isinstance(self._moments, list) and len(self._moments) == 2 * len(self.groups_)
        return kept and all(type(m) is Moments and np.shape(m.mean) == (self.n_features_in_,) for m in self._moments)
