"""The threshold of Youden's J for the scores of a dataset, in memory or in parts.

J is largest just below a positive, and just above a negative. So where rows are in parts, the rarer class, gathered and
sorted, has all candidates; the larger one is counted between them, part by part. The threshold is the one that
`metrics._operating_point.best_threshold` finds for all scores together.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from auclid import validation
from auclid.data import as_table
from auclid.data.dataset import Dataset, Part, Totals
from auclid.metrics._operating_point import best_threshold
from auclid.metrics._roc import between, just_above
from auclid.stats.labelled import LabelledDataset


class Threshold(NamedTuple):
    """Where to cut scores, and the least and the greatest of them."""

    value: float
    low: float
    high: float


class Cuts(NamedTuple):
    """The distinct scores of the rarer class, ascending, and the weight of each."""

    value: np.ndarray
    mass: np.ndarray
    is_pos: bool


def youden_threshold(owner: str, rows: LabelledDataset, w: np.ndarray) -> Threshold:
    """The threshold of the scores X w with the largest Youden's J; ``owner`` is named where scores overflow.

    One pass over the rows; their scores are kept where the rows are.
    """
    scored = rows.parts.cached(partial(scored_part, owner, w))
    if not rows.partitioned:
        ((scores, is_pos, weight),) = scored.compute(scored.map(all_scores))
        if not len(scores):
            return Threshold(0.0, 0.0, 0.0)
        return Threshold(best_threshold(is_pos, scores, weight), float(scores.min()), float(scores.max()))
    few = int(rows.counts.sum(axis=0)[:2].argmin())
    found = scored.compute(scored.map(class_scores, few))
    value, number = np.unique(np.concatenate([each[0] for each in found]), return_inverse=True)
    cuts = Cuts(value, np.bincount(number, np.concatenate([each[1] for each in found])), few == 1)
    counts, ends = scored.compute(scored.reduce(many_counts, cuts))
    low, high = min(ends.low, value[0]), max(ends.high, value[-1])
    return Threshold(_best(scored, cuts, counts, low, high), low, high)


class Ends(NamedTuple):
    """The least and the greatest of some numbers."""

    low: float
    high: float

    def __add__(self, other: Any) -> "Ends":
        return Ends(min(self.low, other.low), max(self.high, other.high))


def scored_part(owner: str, w: np.ndarray, part: Part) -> Part:
    """The part with one column, its scores."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = as_table(part.X).matmul(w)
    return part._replace(X=validation.finite_scores(owner, scores, np.float64)[:, None])


def all_scores(part: Part) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Scores, classes and weights of the labelled rows of a part."""
    if part.labels.max(initial=0) < 2:
        return part.X[:, 0], part.labels == 1, part.weight
    at = np.flatnonzero(part.labels < 2)
    return part.X[at, 0], part.labels[at] == 1, None if part.weight is None else part.weight[at]


def class_scores(part: Part, label: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and weights of the rows of a class that weigh something."""
    at = part.members(label)
    return part.X[at, 0], part.weights(at)


def many_counts(part: Part, cuts: Cuts) -> Totals:
    """The weight of the larger class between neighbouring cuts, and its extreme scores."""
    score, weight = class_scores(part, 0 if cuts.is_pos else 1)
    below = np.searchsorted(cuts.value, score, side="right" if cuts.is_pos else "left")
    counts = np.bincount(below, weight, minlength=len(cuts.value) + 1)
    return Totals([counts, Ends(score.min(initial=np.inf), score.max(initial=-np.inf))])


def _best(scored: Dataset, cuts: Cuts, counts: np.ndarray, low: float, high: float) -> float:
    """The threshold, once it is known how much of the larger class lies at or above each score of the rarer."""
    few, many = float(cuts.mass.sum()), float(counts.sum())
    above = np.cumsum(counts[::-1])[::-1][1:]  # of the larger class: not below a positive, or above a negative
    own = np.cumsum(cuts.mass[::-1])[::-1]
    if cuts.is_pos:
        total = many * own - few * above
    else:
        total = few * above - many * (own - cuts.mass)
    best = len(total) - 1 - int(np.argmax(total[::-1]))
    if total[best] <= 0.0:
        return just_above(np.float64(high), np.float64(low), np.float64(high))
    cut = cuts.value[best]
    near = scored.compute(scored.reduce(nearest, cut, cuts.is_pos))
    if cuts.is_pos:
        below = max(near.high, cuts.value[best - 1] if best else -np.inf)
        return between(np.float64(below), cut, np.float64(low), np.float64(high))
    kept = min(near.low, cuts.value[best + 1] if best + 1 < len(cuts.value) else np.inf)
    return between(cut, np.float64(kept), np.float64(low), np.float64(high))


def nearest(part: Part, cut: float, is_pos: bool) -> Ends:
    """The scores of the larger class that are next to a cut: below a positive, or above a negative."""
    score, _ = class_scores(part, 0 if is_pos else 1)
    return Ends(score.min(where=score > cut, initial=np.inf), score.max(where=score < cut, initial=-np.inf))
