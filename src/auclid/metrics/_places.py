"""Where each score of one class falls among those of the other: without sorting the larger class."""

import numpy as np

from auclid.metrics._cells import Cells

BLOCK = 1 << 14
MOST_CELLS = 1 << 22


def twice_places(few: np.ndarray, many: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Twice the many above each of `few`, twice the few below each of `many`), a tie counted once.

    Only `few` is sorted. Each of `many` is placed between them by a look into a table of cells, and what was
    counted between and at two neighbours of `few` then places these.
    """
    order = np.argsort(few)
    ranked = few[order]
    below_many = twice_below(ranked, many)
    above_sorted = _above_few(ranked, np.bincount(below_many, minlength=2 * len(few) + 1))
    above_few = np.empty(len(few), np.int64)
    above_few[order] = above_sorted
    return above_few, below_many


def spread_of_places(few: np.ndarray, many: np.ndarray) -> tuple[int, float, float]:
    """(Twice the pairs that `many` win, variance of `twice_places` over few and over many): no row is kept apart."""
    ranked = np.sort(few)
    below = twice_below(ranked, many)
    count = np.bincount(below, minlength=2 * len(few) + 1)
    above = _above_few(ranked, count)
    return int(above.sum()), _variance(above), _variance(below, count)


def _variance(values: np.ndarray, count: np.ndarray | None = None) -> float:
    """With n - 1; exactly zero where all values are alike. From the counts of whole numbers, where these are fewer."""
    if np.ptp(values) == 0:
        return 0.0
    if count is None or len(count) > len(values):
        return float(values.var(ddof=1))
    number = np.arange(len(count), dtype=np.float64)
    number -= float(count @ number) / len(values)
    return float(count @ number**2) / (len(values) - 1.0)


def _above_few(ranked: np.ndarray, count: np.ndarray) -> np.ndarray:
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
    table = cell_table(ranked) if len(many) >= 1024 else None
    if table is None:
        return _by_bisection(ranked, many)
    above, cell = table
    twice, crowded = np.empty(len(many), np.intp), []
    for start in range(0, len(many), BLOCK):
        place = above.take(cell(many[start : start + BLOCK]))
        np.multiply(place, -2, out=twice[start : start + BLOCK])
        crowded.append(np.flatnonzero(place < 0) + start)
    twice += 2 * len(ranked)
    rest = np.concatenate(crowded)
    twice[rest] = _by_bisection(ranked, many[rest])
    return twice


def _by_bisection(ranked: np.ndarray, many: np.ndarray) -> np.ndarray:
    order = np.argsort(many)  # neighbours bisect alike, which is several times as fast as at random
    values = many[order]
    twice = np.empty(len(many), np.intp)
    twice[order] = np.searchsorted(ranked, values, side="left") + np.searchsorted(ranked, values, side="right")
    return twice


def cell_table(few: np.ndarray) -> tuple[np.ndarray, Cells] | None:
    """(How many of the sorted `few` lie above each cell, -1 where a cell holds some; score -> cell), or None."""
    cell = Cells.over(few, min(16 * len(few), MOST_CELLS))
    if cell is None:
        return None
    taken = cell(few)
    gaps = np.diff(taken, prepend=-1, append=cell.size - 1)
    above = np.repeat(np.arange(len(few), -1, -1, dtype=np.int32), gaps)
    above[taken] = -1
    return above, cell
