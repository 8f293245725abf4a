"""Scores counted by value and by cell: what lets a metric sort few of its rows."""

from typing import NamedTuple

import numpy as np


def masses(
    is_pos: np.ndarray, score: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct scores, ascending, with the weight of positives and of negatives at each."""
    return stepped(is_pos, score, weight)[:3]


def stepped(
    is_pos: np.ndarray, score: np.ndarray, weight: np.ndarray | None = None, numbered: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """`masses`, and where it is wanted the number of each row's score among the distinct ones."""
    order = np.argsort(score)
    ranked, is_pos = score[order], is_pos[order]
    new = np.concatenate(([True], ranked[1:] != ranked[:-1]))
    start = np.flatnonzero(new)
    one = np.ones(len(score), np.int64) if weight is None else weight[order]
    pos = np.add.reduceat(np.where(is_pos, one, 0), start)
    neg = np.add.reduceat(np.where(is_pos, 0, one), start)
    number = None
    if numbered:
        number = np.empty(len(score), np.intp)
        number[order] = np.cumsum(new) - 1
    return ranked[start], pos, neg, number


class Cells(NamedTuple):
    """A rising step function of the score in `size` steps: even near the centre, ever wider far out.

    The bits of a positive float, read as an integer, are about its logarithm and rise with it. So the cell is
    linear in sign(u) (bits(|u| + unit) - bits(unit)), u = score - centre: an asinh made of sums. Each
    operation rises in floating point too, so a greater cell means a greater score, whatever the rounding.
    """

    centre: np.floating
    unit: np.floating
    low: np.floating
    scale: np.floating
    size: int

    @classmethod
    def over(cls, ranked: np.ndarray, count: int) -> "Cells | None":
        """Cells over sorted scores, one more beyond each end; None where their spread is zero or infinite."""
        mark = ranked[np.linspace(0, len(ranked) - 1, 17).astype(int)]
        with np.errstate(all="ignore"):
            gap = np.diff(mark)
            densest = np.argmin(np.where(gap > 0.0, gap, np.inf))
            cells = cls(mark[densest], gap[densest], low=np.float64(0), scale=np.float64(1), size=count + 2)
            low, high = cells._warp(mark[[0, -1]])
            scale = (count - 1) / (high - low)
        usable = np.isfinite([mark[0], mark[-1], scale]).all() and 0.0 < cells.unit < np.inf
        return cells._replace(low=low, scale=scale) if usable else None

    def __call__(self, score: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            cell = self._warp(score)
        cell -= self.low
        cell *= self.scale
        np.clip(cell, -1, self.size - 2, out=cell)
        cell += 1
        return cell.astype(np.int32)

    def _warp(self, score: np.ndarray) -> np.ndarray:
        integer = np.dtype(f"i{score.dtype.itemsize}")
        apart = score - self.centre
        distance = np.abs(apart)
        distance += self.unit
        bits = distance.view(integer)
        bits -= self.unit.view(integer)
        return np.copysign(bits.astype(score.dtype), apart, out=apart)
