"""Broken lines that edits cut, replace and bound: straight between knots, with jumps halfway between some."""

import math
from typing import Any, NamedTuple

import numpy as np

from auclid.additive._shapes import Shape

JUMP = 2.0**-30
"""Half the width of a jump, relative to where it is: a power of two, so that it jumps there to the bit."""


class BrokenLine(NamedTuple):
    """A broken line: values at knots, and whether it jumps halfway between a knot and the next."""

    knots: np.ndarray
    values: np.ndarray
    steps: np.ndarray

    def at(self, x: Any) -> np.ndarray:
        """The values at x; level beyond the outer knots."""
        x = np.asarray(x, dtype=np.float64)
        if len(self.knots) < 2:
            return np.full(x.shape, self.values[0])
        k = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, len(self.knots) - 2)
        t = np.clip((x - self.knots[k]) / (self.knots[k + 1] - self.knots[k]), 0.0, 1.0)
        t = np.where(self.steps[k], (t >= 0.5).astype(np.float64), t)
        return self.values[k] + t * (self.values[k + 1] - self.values[k])


def shape_line(shape: Shape) -> BrokenLine:
    """The line of a column of numbers."""
    assert shape.knots is not None and shape.steps is not None
    return BrokenLine(shape.knots, shape.values, shape.steps)


def half_jump(x: float, knots: np.ndarray) -> float:
    """Half the width of a jump at x."""
    size = max(abs(x), JUMP * float(np.ptp(knots)), np.finfo(np.float64).tiny / JUMP)
    return math.ldexp(JUMP, math.frexp(size)[1])


def narrow_jump_around(line: BrokenLine, x: float) -> BrokenLine:
    """Narrow the jumps of wide intervals around x; the values at all knots stay."""
    for k in np.flatnonzero(line.steps[:-1] & (line.knots[:-1] <= x) & (x <= line.knots[1:]))[::-1]:
        middle = float(line.knots[k] + 0.5 * (line.knots[k + 1] - line.knots[k]))
        h = half_jump(middle, line.knots)
        if line.knots[k + 1] - line.knots[k] > 4.0 * h:
            steps = np.where(np.arange(len(line.steps)) == k, False, line.steps)
            line = BrokenLine(
                np.insert(line.knots, k + 1, [middle - h, middle + h]),
                np.insert(line.values, k + 1, line.values[[k, k + 1]]),
                np.insert(steps, k + 1, [True, False]),
            )
    return line


def with_knot(line: BrokenLine, x: float) -> BrokenLine:
    """Add a knot at x, which changes no value of the line."""
    if x in line.knots:
        return line
    line = narrow_jump_around(line, x)
    k, value = int(np.searchsorted(line.knots, x)), float(line.at(x))
    return BrokenLine(np.insert(line.knots, k, x), np.insert(line.values, k, value), np.insert(line.steps, k, False))


def splice(line: BrokenLine, low: float, high: float, inner: BrokenLine) -> BrokenLine:
    """The line with another one for low <= x < high; it jumps at both ends.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.additive._lines import BrokenLine, flat, splice
    >>> line = BrokenLine(np.array([0.0, 10.0]), np.array([0.0, 1.0]), np.zeros(2, dtype=bool))
    >>> splice(line, 2.0, 4.0, flat(5.0, line)).at([1.0, 2.0, 3.0, 4.0, 8.0]).round(6)
    array([0.1, 5. , 5. , 0.4, 0.8])
    """
    for edge in (low, high):
        if np.isfinite(edge):
            line, inner = narrow_jump_around(line, edge), narrow_jump_around(inner, edge)
    parts, start, end = [], low, high
    if np.isfinite(low):
        h = half_jump(low, line.knots)
        parts.append(_part(line, -np.inf, low - h, ends_in_jump=True))
        start = low + h
    if np.isfinite(high):
        end = high - half_jump(high, line.knots)
    parts.append(_part(inner, start, end, ends_in_jump=bool(np.isfinite(high))))
    if np.isfinite(high):
        parts.append(_part(line, high + half_jump(high, line.knots), np.inf, ends_in_jump=False))
    return BrokenLine(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _part(line: BrokenLine, low: float, high: float, ends_in_jump: bool) -> BrokenLine:
    """The line from low to high, with knots at both ends that are finite."""
    inside = (line.knots > low) & (line.knots < high)
    ends = [np.array([x]) if np.isfinite(x) else np.zeros(0) for x in (low, high)]
    knots = np.concatenate([ends[0], line.knots[inside], ends[1]])
    if not len(knots):
        knots = line.knots[:1]
    steps = np.zeros(len(knots), dtype=bool)
    for k in np.flatnonzero(line.steps[:-1]):
        both = np.isin(knots, line.knots[k : k + 2])
        if both.sum() == 2:
            steps[np.flatnonzero(both)[0]] = True
    steps[-1] = ends_in_jump
    return BrokenLine(knots, line.at(knots), steps)


def flat(value: float, line: BrokenLine) -> BrokenLine:
    """A line of one value over the knots of another."""
    ends = line.knots[[0, -1]] if len(line.knots) > 1 else line.knots[0] + np.array([0.0, 1.0])
    return BrokenLine(ends, np.full(2, float(value)), np.zeros(2, dtype=bool))


def clipped(line: BrokenLine, lower: float, upper: float) -> BrokenLine:
    """The line within limits, with knots where it meets them."""
    for limit in (lower, upper):
        a, b = line.values[:-1] - limit, line.values[1:] - limit
        crossing = np.flatnonzero((a * b < 0.0) & ~line.steps[:-1])
        if np.isfinite(limit) and len(crossing):
            t = a[crossing] / (a[crossing] - b[crossing])
            x = line.knots[crossing] + t * (line.knots[crossing + 1] - line.knots[crossing])
            added = zip(line, (x, limit, False), strict=True)
            line = BrokenLine(*(np.insert(old, crossing + 1, new) for old, new in added))
    return line._replace(values=np.clip(line.values, lower, upper))
