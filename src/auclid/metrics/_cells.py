"""Scores counted by value and by cell: what lets a metric sort few of its rows."""

from typing import NamedTuple

import numpy as np


def masses(is_pos, score, weight=None):
    """Distinct scores, ascending, with the weight of positives and of negatives at each."""
    order = np.argsort(score)
    score, is_pos = score[order], is_pos[order]
    start = np.flatnonzero(np.concatenate(([True], score[1:] != score[:-1])))
    one = np.ones(len(score), np.int64) if weight is None else weight[order]
    pos = np.add.reduceat(np.where(is_pos, one, 0), start)
    neg = np.add.reduceat(np.where(is_pos, 0, one), start)
    return score[start], pos, neg


class Cells(NamedTuple):
    """A rising step function of the score with `count` steps: even ones near the centre, ever wider ones far out.

    The bits of a positive float, read as an integer, are about its logarithm and rise with it. So the cell is linear in
    sign(u) (bits(|u| + unit) - bits(unit)), u = score - centre: an asinh made of sums. Each operation rises in floating
    point too, so a greater cell means a greater score, whatever the rounding.
    """

    centre: np.floating
    unit: np.floating
    low: np.floating
    scale: np.floating
    count: int

    @classmethod
    def over(cls, ranked, count):
        """Cells over sorted scores, one more beyond each end; None where their spread is zero or infinite."""
        quarter = len(ranked) // 4
        with np.errstate(all="ignore"):
            unit = ranked[-1 - quarter] - ranked[quarter]
            bend = cls(ranked[len(ranked) // 2], unit, 0, 1, 0)._bend
            low, high = bend(ranked[[0, -1]]) if 0.0 < unit < np.inf else (0.0, 0.0)
            width = high - low
            scale = (count - 1) / width
        if not (0.0 < width < np.inf and 0.0 < scale < np.inf):
            return None
        return cls(ranked[len(ranked) // 2], unit, low, scale, count + 2)

    def __call__(self, score):
        with np.errstate(over="ignore"):
            cell = self._bend(score)
        cell -= self.low
        cell *= self.scale
        np.clip(cell, -1, self.count - 2, out=cell)
        cell += 1
        return cell.astype(np.int32)

    def _bend(self, score):
        integer = np.dtype(f"i{score.dtype.itemsize}")
        apart = score - self.centre
        size = np.abs(apart)
        size += self.unit
        bits = size.view(integer)
        bits -= self.unit.view(integer)
        return np.copysign(bits.astype(score.dtype), apart, out=apart)
