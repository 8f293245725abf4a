"""Placements: what share of the other class each row beats; and from them, how sure an area is.

With placements V of the rows, an area A differs from the truth by about sum_i w_i (V_i - A) / W over the positives
plus the same over the negatives. `AreaTerms` holds these terms, and every variance is made of them.
"""

from typing import NamedTuple

import numpy as np

from auclid.metrics._cells import stepped
from auclid.metrics._places import twice_places
from auclid.metrics._roc import area, from_the_top
from auclid.metrics._sample import WHOLE, Region, Sample

SNAP = 1e-9
"""A cut closer than this to a step of the curve, in shares of a class, is taken to lie on it."""


class AreaTerms(NamedTuple):
    """An area, and what each positive and each negative adds to its error: they sum to zero in each class."""

    area: float
    pos: np.ndarray
    neg: np.ndarray

    def __sub__(self, other: "AreaTerms") -> "AreaTerms":
        """The difference of two areas of the same rows."""
        return AreaTerms(self.area - other.area, self.pos - other.pos, self.neg - other.neg)

    def scaled(self, factor: float) -> "AreaTerms":
        """The area and its terms times a factor."""
        return AreaTerms(factor * self.area, factor * self.pos, factor * self.neg)


def area_terms(sample: Sample, score: np.ndarray, region: Region = WHOLE) -> AreaTerms:
    """The area of a score within a region, and the terms of its error."""
    if region.min_fpr > 0.0:
        right, left = (area_terms(sample, score, end) for end in region.ends)
        return right - left
    is_pos, weight = sample.is_pos, sample.weight
    if weight is None and region.whole:
        twice_pos, twice_neg = twice_counts(is_pos, score)
        n_pos, n_neg = len(twice_pos), len(twice_neg)
        auc = int(twice_pos.sum()) / (2 * n_pos * n_neg)
        return AreaTerms(auc, _centred(twice_pos / (2.0 * n_neg)), _centred(twice_neg / (2.0 * n_pos)))
    size, of_pos, of_neg = placements(is_pos, score, weight, region)
    w_pos, w_neg = (None, None) if weight is None else (weight[is_pos], weight[~is_pos])
    return AreaTerms(size, _centred(of_pos, w_pos), _centred(of_neg, w_neg))


def region_area(fpr: np.ndarray, tpr: np.ndarray, region: Region) -> float:
    """The bare area under a curve within a region."""
    areas = [area(fpr, tpr, end.max_fpr, end.min_tpr) for end in region.ends]
    return areas[0] - sum(areas[1:])


def _centred(value: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """w_i (V_i - mean V) / W; exactly zero where all are alike, whatever the rounding."""
    if np.ptp(value) <= 1e-14:
        return np.zeros(len(value))
    if weight is None:
        return (value - value.mean()) / len(value)
    share = weight / weight.sum()
    return share * (value - share @ value)


def twice_counts(is_pos: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Twice the negatives below each positive, and twice the positives above each negative; a tie is one."""
    pos, neg = score.compress(is_pos), score.compress(~is_pos)
    if len(pos) <= len(neg):
        above_few, below_many = twice_places(pos, neg)
        return 2 * len(neg) - above_few, 2 * len(pos) - below_many
    above_few, below_many = twice_places(neg, pos)
    return below_many, above_few


def placements(
    is_pos: np.ndarray, score: np.ndarray, weight: np.ndarray | None, region: Region
) -> tuple[float, np.ndarray, np.ndarray]:
    """The area, and placements of the positives and of the negatives, less what is common to a class.

    The area is the integral of (R(u) - t)_+ over u up to f, where R is the ROC curve, straight through ties. A row
    of mass e added to a class changes R; the derivative by e is the row's placement. For a positive it is the
    length of [u_t, f] that lies beyond the row's own step of the curve, u_t being where R reaches t; for a negative
    minus the height of R that lies beyond it. The ends u_t and R(f) are estimates too, which the derivative knows;
    where the sample leaves them open (f or t on a step of the curve) they are taken midway.
    """
    _, pos, neg, number = stepped(is_pos, score, weight, numbered=True)
    step_pos, step_neg = _by_step(pos[::-1] / pos.sum(), neg[::-1] / neg.sum(), region)
    fpr, tpr = from_the_top(neg), from_the_top(pos)
    size = area(fpr / fpr[-1], tpr / tpr[-1], region.max_fpr, region.min_tpr)
    assert number is not None
    # Steps are counted from the top of the curve, scores from the lowest.
    return size, step_pos[::-1][number[is_pos]], step_neg[::-1][number[~is_pos]]


def _by_step(p: np.ndarray, q: np.ndarray, region: Region) -> tuple[np.ndarray, np.ndarray]:
    """Placement of a positive, and of a negative, on each step of the curve from the top: rises p, widths q."""
    fpr, tpr = np.concatenate(([0.0], np.cumsum(q))), np.concatenate(([0.0], np.cumsum(p)))
    right, bottom = region.max_fpr, region.min_tpr
    left = float(np.minimum(_crossing(tpr, fpr, bottom), right).mean())
    top = float(np.maximum(_crossing(fpr, tpr, right), bottom).mean())
    start, stop = np.clip(fpr[:-1], left, right), np.clip(fpr[1:], left, right)
    # Over the part of a step inside the region, a tie grows from nothing to a whole along the step.
    grown = np.divide(
        (stop - fpr[:-1]) ** 2 - (start - fpr[:-1]) ** 2, 2.0 * q, out=np.zeros_like(q), where=stop > start
    )
    slope = np.divide(p, q, out=np.zeros_like(q), where=stop > start)
    beyond = np.where(stop < fpr[1:], tpr[:-1] + slope * (stop - fpr[:-1]), tpr[1:])
    height = np.maximum(top - np.maximum(beyond, bottom), 0.0)
    inside = fpr[:-1] < right - SNAP if region.max_fpr < 1.0 else np.ones(len(q), bool)
    return right - stop + grown, -np.where(inside, height + slope * grown, 0.0)


def _crossing(x: np.ndarray, y: np.ndarray, at: float) -> np.ndarray:
    """y where the rising polygon (x, y) passes x = at: the first and the last one, where it stands still there."""
    low, high = np.searchsorted(x, at - SNAP), np.searchsorted(x, at + SNAP, side="right")
    if high > low:
        return y[[low, high - 1]]
    return np.array([np.interp(at, x[low - 1 : low + 1], y[low - 1 : low + 1])])
