"""Where each score of one class falls among those of the other: without sorting the larger class."""

import numpy as np

from auclid import _sizes
from auclid._generic import kernel
from auclid.metrics._cells import Cells

MOST_CELLS = 1 << 20
STRETCH = 1 << 10
"""Scores whose cells are found at once."""

COMPARED_EACH = 8
"""Sorted scores in one cell up to which each is compared: nearly always one at the most, so no branch is guessed."""

TOGETHER = 32
"""Scores in one cell up to which they are put in order one by one."""


def twice_places(few: np.ndarray, many: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Twice the many above each of `few`, twice the few below each of `many`), a tie counted once.

    Only `few` is sorted. Each of `many` is placed between them by a look into a table of cells, and what was
    counted between and at two neighbours of `few` then places these.
    """
    order = np.argsort(few)
    ranked = few[order]
    below_many = twice_below(ranked, many)
    above_sorted = twice_above(ranked, np.bincount(below_many, minlength=2 * len(few) + 1))
    above = np.empty(len(few), np.int64)
    above[order] = above_sorted
    return above, below_many


def in_order(scores: np.ndarray) -> np.ndarray:
    """The scores, sorted: dealt out to cells where they are many and spread out, in half the time of `np.sort`."""
    if len(scores) < _sizes.MIN_COMPILED_SCORES:
        return np.sort(scores)
    sample = np.concatenate(([scores.min(), scores.max()], scores[:: len(scores) // 1024]))
    cells, out = _cells_over(np.sort(sample), len(scores)), np.empty_like(scores)
    return out if cells is not None and deal_out(scores, cells, out) else np.sort(scores)


def spread_of_places(few: np.ndarray, many: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """(Twice the pairs that `many` win, `central_sums` of `twice_places` over few and over many): no row is kept."""
    ranked = in_order(few)
    below = twice_below(ranked, many)
    count = np.bincount(below, minlength=2 * len(few) + 1)
    above = twice_above(ranked, count)
    return int(above.sum()), central_sums(above), central_sums(below, count)


def central_sums(values: np.ndarray, count: np.ndarray | None = None) -> np.ndarray:
    """Sums of second and of fourth powers of whole numbers less their mean; zero where all are alike.

    From the counts of the numbers 0, 1, ..., where these are fewer than the values.
    """
    if np.ptp(values) == 0:
        return np.zeros(2)
    if count is None or len(count) > len(values):
        square = (values - values.mean()) ** 2
        return np.array([square.sum(), square @ square])
    number = np.arange(len(count), dtype=np.float64)
    square = (number - float(count @ number) / len(values)) ** 2
    return np.array([count @ square, count @ square**2])


def twice_above(ranked: np.ndarray, count: np.ndarray) -> np.ndarray:
    """A score of many below a tie of few at positions l to r - 1 has 2 l or less, one at it l + r, one above 2 r."""
    upto = np.cumsum(count)
    first = ranked[1:] != ranked[:-1]
    if first.all():
        return 2 * (upto[-1] - upto[:-1:2]) - count[1::2]
    new = np.flatnonzero(np.concatenate(([True], first)))
    last = np.append(new[1:], len(ranked))
    twice = 2 * (upto[-1] - upto[2 * new]) - count[new + last]
    return np.repeat(twice, last - new)


def twice_below(ranked: np.ndarray, many: np.ndarray) -> np.ndarray:
    """Twice how many of the sorted `ranked` lie below each of `many`, in any order; a tie counts once."""
    cells, twice = _cells_of(ranked, many), np.empty(len(many), np.intp)
    if cells is None:
        order = np.argsort(many)  # neighbours bisect alike, which is several times as fast as at random
        values = many[order]
        twice[order] = np.searchsorted(ranked, values, side="left") + np.searchsorted(ranked, values, side="right")
    else:
        place_twice(ranked, many, cells, twice)
    return twice


def sum_twice_below(ranked: np.ndarray, many: np.ndarray) -> int:
    """The sum of `twice_below`."""
    cells = _cells_of(ranked, many)
    if cells is None:
        ordered = np.sort(many)
        return sum(int(np.searchsorted(ranked, ordered, side=side).sum()) for side in ("left", "right"))
    nowhere = np.empty(0, np.intp)
    size = _sizes.SUMMED_SCORES
    return sum(place_twice(ranked, many[a : a + size], cells, nowhere) for a in range(0, len(many), size))


def _cells_of(ranked: np.ndarray, many: np.ndarray) -> Cells | None:
    """Four cells a sorted score, so that most hold none; None where there are few to place, or no cells to be had."""
    return None if len(many) < _sizes.MIN_COMPILED_SCORES else _cells_over(ranked, max(4 * len(ranked), 64))


def _cells_over(ranked: np.ndarray, count: int) -> Cells | None:
    """Up to so many cells over sorted scores, in float64."""
    marks = ranked[np.linspace(0, len(ranked) - 1, 17).astype(int)].astype(np.float64)
    cells = Cells.over(marks, min(count, MOST_CELLS))
    if cells is None:
        return None
    centre, unit, low, scale = (np.float64(x) for x in cells[:4])
    return Cells(centre, unit, low, scale, cells.size)


@kernel(inner=True)
def cell_of(cells: Cells, x: float) -> int:
    """What `Cells.__call__` gives for one score, in float64: it never falls as x rises."""
    distance = x - cells.centre
    bits = np.float64(abs(distance) + cells.unit).view(np.int64) - np.float64(cells.unit).view(np.int64)
    warped = float(bits) if distance >= 0.0 else -float(bits)
    place = float((warped - cells.low) * cells.scale)
    return int(min(max(place, -1.0), cells.size - 2.0) + 1.0)


@kernel
def deal_out(score: np.ndarray, cells: Cells, out: np.ndarray) -> bool:
    """out: the scores in order; False, and nothing to use in it, where too many lie in one cell."""
    cell, starts = np.empty(score.shape[0], np.int32), np.zeros(cells.size + 1, np.int64)
    for j in range(score.shape[0]):
        cell[j] = cell_of(cells, score[j])
        starts[cell[j] + 1] += 1
    for c in range(cells.size):
        if starts[c + 1] > TOGETHER:
            return False
        starts[c + 1] += starts[c]
    for j in range(score.shape[0]):
        out[starts[cell[j]]] = score[j]
        starts[cell[j]] += 1
    for k in range(1, out.shape[0]):
        x, place = out[k], k
        while place > 0 and out[place - 1] > x:
            out[place] = out[place - 1]
            place -= 1
        out[place] = x
    return True


@kernel(inner=True)
def count_twice(ranked: np.ndarray, a: int, b: int, x: float) -> int:
    """Twice how many of the sorted ``ranked`` lie below x, a tie counted once; all but those from a to b are known."""
    if b - a <= COMPARED_EACH:
        twice = 2 * a
        for k in range(a, b):
            twice += int(ranked[k] < x) + int(ranked[k] <= x)
        return twice
    end = b
    while a < b:
        middle = (a + b) >> 1
        if ranked[middle] < x:
            a = middle + 1
        else:
            b = middle
    below, b = a, end
    while a < b:
        middle = (a + b) >> 1
        if ranked[middle] <= x:
            a = middle + 1
        else:
            b = middle
    return below + a


@kernel
def place_twice(ranked: np.ndarray, score: np.ndarray, cells: Cells, out: np.ndarray) -> int:
    """out_j = twice how many of the sorted ``ranked`` lie below score_j, a tie counted once; returns their sum.

    A look into a table of cells leaves a handful to compare. An empty ``out`` is left alone.
    """
    starts = np.zeros(cells.size + 1, np.int64)
    for k in range(ranked.shape[0]):
        starts[cell_of(cells, ranked[k]) + 1] += 1
    for c in range(cells.size):
        starts[c + 1] += starts[c]
    total, kept, cell = 0, out.shape[0] > 0, np.empty(STRETCH, np.int32)
    for first in range(0, score.shape[0], STRETCH):
        stretch = score[first : first + STRETCH]
        for j in range(stretch.shape[0]):  # by itself, so that it is vectorized
            cell[j] = cell_of(cells, stretch[j])
        for j in range(stretch.shape[0]):
            twice = count_twice(ranked, starts[cell[j]], starts[cell[j] + 1], stretch[j])
            total += twice
            if kept:
                out[first + j] = twice
    return total
