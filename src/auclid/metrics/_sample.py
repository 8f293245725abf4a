"""Rows as every interval and test sees them: which are positive, their scores, weights and groups.

Scores are finite numbers wherever an interval, a test, a threshold's rates or a table is told: an infinity there is
mostly a division by zero or a logarithm of it, and it belongs to no sampling distribution. What only ranks rows to a
point (`roc_auc`, `partial_auc`, `gini`, `ks`, `operating_point`, `StreamingAUC.update`) takes infinities as the largest
and the smallest of scores. NaN, which has no place in a ranking, is refused everywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auclid.validation.parameters import number_in
from auclid.validation.vectors import (
    both_classes,
    codes,
    column,
    declared_positive,
    finite_column,
    numbers_column,
    positives,
    row_weights,
    same_length,
)


class Sample(NamedTuple):
    """Checked rows of positive weight."""

    is_pos: np.ndarray
    scores: tuple[np.ndarray, ...]
    weight: np.ndarray | None
    cluster: np.ndarray | None
    """Numbers 0, 1, ... of the groups of rows that belong together; None where each row stands alone."""

    def with_scores(self, *scores: np.ndarray) -> Sample:
        """A sample of these rows with other scores."""
        return self._replace(scores=scores)

    def group(self, rows: np.ndarray) -> Sample:
        """Some rows, which belong to one group: each stands alone."""
        weight = None if self.weight is None else self.weight[rows]
        return Sample(self.is_pos[rows], tuple(score[rows] for score in self.scores), weight, None)

    @property
    def weights(self) -> np.ndarray:
        """The weight of each row, 1 where none is given."""
        return np.ones(len(self.is_pos)) if self.weight is None else self.weight

    def by_unit(self, values: np.ndarray) -> np.ndarray:
        """Sums of a value of each row over the independent units: rows, or groups of rows."""
        return values if self.cluster is None else np.bincount(self.cluster, values)

    @property
    def counts(self) -> dict[str, Any]:
        """Rows of each class and groups, as results tell them."""
        n_pos = int(np.count_nonzero(self.is_pos))
        n_groups = None if self.cluster is None else int(self.cluster.max()) + 1
        return {"n_positive": n_pos, "n_negative": len(self.is_pos) - n_pos, "n_groups": n_groups}

    def is_plain(self, fewest: int) -> bool:
        """Whether rows are independent and of one weight, and each class has at least `fewest` of them."""
        return self.weight is None and self.cluster is None and self.trials >= fewest

    @property
    def trials(self) -> int:
        """Disjoint pairs of independent rows: the smaller number of rows, or of groups, of a class."""
        return min(self.units)

    @property
    def units(self) -> tuple[int, int]:
        """How many independent rows, or groups, hold a positive, and how many a negative."""
        if self.cluster is None:
            n_pos = int(np.count_nonzero(self.is_pos))
            return n_pos, len(self.is_pos) - n_pos
        seen = [np.bincount(self.cluster[of], minlength=1) > 0 for of in (self.is_pos, ~self.is_pos)]
        return int(seen[0].sum()), int(seen[1].sum())


def effective_count(weight: np.ndarray) -> float:
    """Rows of equal weight that rows of these weights are worth: (sum w)^2 / sum w^2 (Kish)."""
    return float(weight.sum() ** 2 / (weight @ weight)) if len(weight) else 0.0


class Region(NamedTuple):
    """The part of the square under the ROC curve that counts: from `min_fpr` to `max_fpr` and above `min_tpr`."""

    max_fpr: float = 1.0
    min_tpr: float = 0.0
    standardize: bool = True
    min_fpr: float = 0.0

    @property
    def whole(self) -> bool:
        """Whether that is all of it."""
        return self.max_fpr == 1.0 and self.min_tpr == 0.0 and self.min_fpr == 0.0

    @property
    def best(self) -> float:
        """The area of a perfect ranking."""
        return (self.max_fpr - self.min_fpr) * (1.0 - self.min_tpr)

    @property
    def chance(self) -> float:
        """The area of the diagonal."""
        return (max(self.max_fpr - self.min_tpr, 0.0) ** 2 - max(self.min_fpr - self.min_tpr, 0.0) ** 2) / 2.0

    @property
    def ends(self) -> list[Region]:
        """Regions from a false positive rate of 0 whose difference this is: up to `max_fpr`, and up to `min_fpr`."""
        bare = self._replace(min_fpr=0.0, standardize=False)
        return [bare] if self.min_fpr == 0.0 else [bare, bare._replace(max_fpr=self.min_fpr)]

    @property
    def slope(self) -> float:
        """What one unit of area is worth in `value`."""
        return 0.5 / (self.best - self.chance) if self.standardize else 1.0

    def value(self, area: float) -> float:
        """The area as it is reported: after McClish, guessing 0.5 and a perfect ranking 1, or bare."""
        if self.whole or not self.standardize:
            return area
        return 0.5 * (1.0 + (area - self.chance) / (self.best - self.chance))


WHOLE = Region()


def checked_region(
    owner: str, max_fpr: float, min_tpr: float, standardize: bool = True, min_fpr: float = 0.0
) -> Region:
    """The region, or a sentence where it is outside the square."""
    right = number_in(owner, "max_fpr", max_fpr, 0.0, 1.0, closed="r")
    bottom = number_in(owner, "min_tpr", min_tpr, 0.0, 1.0, closed="l")
    left = number_in(owner, "min_fpr", min_fpr, 0.0, right, closed="l")
    return Region(right, bottom, bool(standardize), left)


def checked_prevalence(owner: str, prevalence: float | None) -> float | None:
    """The prevalence, or a sentence where it is no share."""
    return None if prevalence is None else number_in(owner, "prevalence", prevalence, 0.0, 1.0)


def checked_sample(
    owner: str,
    y_true: ArrayLike,
    scores: dict[str, Any],
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
    fewest: int = 2,
    only_ranked: bool = False,
) -> Sample:
    """The rows of positive weight, at least `fewest` independent ones of each class; infinities where only ranked.

    With fewest=0 there may be rows of one class, or none.
    """
    numbers = numbers_column if only_ranked else finite_column
    y, pos_label = column(owner, "y_true", y_true), declared_positive(y_true, pos_label)
    columns = {name: numbers(owner, name, values) for name, values in scores.items()}
    same_length(owner, y_true=y, **columns)
    kept = list(columns.values())
    cluster = None
    if groups is not None:
        cluster = codes(owner, "groups", groups)[1]
        same_length(owner, y_true=y, groups=cluster)
    weight = row_weights(owner, y_true, sample_weight)
    if weight is not None:
        used = weight > 0.0
        if not used.all():
            if fewest and not used.any():
                raise ValueError(f"{owner} expects rows of positive weight. Got sample_weight zero on every row.")
            y, weight, kept = y[used], weight[used], [score[used] for score in kept]
            cluster = None if cluster is None else np.unique(cluster[used], return_inverse=True)[1]
    is_pos = positives(owner, y, pos_label) if len(y) else np.zeros(0, bool)
    sample = Sample(is_pos, tuple(kept), weight, cluster)
    if fewest:
        both_classes(owner, y, is_pos, pos_label)
        _enough(owner, sample, fewest)
    return sample


def _enough(owner: str, sample: Sample, fewest: int) -> None:
    n_pos, n_neg = sample.units
    if min(n_pos, n_neg) >= fewest:
        return
    if sample.cluster is None:
        raise ValueError(
            f"{owner} expects at least {fewest} rows of each class, for a variance. "
            f"Got {n_pos} positive and {n_neg} negative instead."
        )
    raise ValueError(
        f"{owner} expects positives of at least {fewest} groups and negatives of as many, for a variance. "
        f"Got positives of {n_pos} and negatives of {n_neg} instead."
    )
