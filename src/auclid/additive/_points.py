"""Points: shapes in the units of a scorecard, rounded to whole numbers, as a table of bins."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auclid.additive._basis import REACH
from auclid.additive._shapes import Card, PairShape, Shape, card_contributions
from auclid.stats.odds import Odds


class Scale(NamedTuple):
    """Points = base + scale·log2(odds of a row / odds): so many points double the odds of the positive class."""

    scale: float
    base: float
    odds: float
    whole: bool

    def per_score(self, odds: Odds) -> float:
        """Points for one unit of score."""
        return self.scale / np.log(2.0) * odds.slope

    def offset(self, odds: Odds) -> float:
        """Points of a row to which no column adds anything."""
        return self.base + self.scale / np.log(2.0) * (odds.offset - np.log(self.odds))

    def rounded(self, points: np.ndarray) -> np.ndarray:
        """Whole points, halves upwards, where they are to be whole."""
        return np.floor(np.asarray(points) + 0.5) if self.whole else np.asarray(points)


class Bin(NamedTuple):
    """One line of the table: the cells of a column from ``low`` up to ``high``, or of a level, and their points."""

    column: str
    bin: str
    low: float
    high: float
    points: float


def point_bins(shapes: Sequence[Shape | PairShape], odds: Odds, scale: Scale) -> list[Bin]:
    """The table: the base, then every column and pair."""
    out = [Bin("(base)", "every row", np.nan, np.nan, float(scale.rounded(np.array(scale.offset(odds)))))]
    factor = scale.per_score(odds)
    for shape in shapes:
        if isinstance(shape, PairShape):
            out += _pair_bins(shape, factor, scale)
        else:
            out += _level_bins(shape, factor, scale) if shape.knots is None else _number_bins(shape, factor, scale)
            name, missing = shape.name, float(scale.rounded(np.array(factor * shape.missing)))
            out.append(Bin(name, "missing", np.nan, np.nan, missing))
    return out


def _level_bins(shape: Shape, factor: float, scale: Scale) -> list[Bin]:
    points = scale.rounded(factor * shape.values)
    levels = shape.levels or []
    return [Bin(shape.name, str(a), np.nan, np.nan, float(p)) for a, p in zip(levels, points, strict=True)]


def _number_bins(shape: Shape, factor: float, scale: Scale) -> list[Bin]:
    """Whole points: the stretches of the broken line that round to the same number. Else: its knots."""
    assert shape.knots is not None
    if not scale.whole:
        points = factor * shape.values
        pairs = zip(shape.knots, points, strict=True)
        return [Bin(shape.name, _format_value(shape, x), float(x), float(x), float(p)) for x, p in pairs]
    x, v = _outline(shape.knots, factor * shape.values, shape.steps)
    cuts, points = _cuts(x, v)
    low, high = np.concatenate([[-np.inf], cuts]), np.concatenate([cuts, [np.inf]])
    lines = zip(low, high, points, strict=True)
    return [Bin(shape.name, _range(shape, a, b), float(a), float(b), float(p)) for a, b, p in lines]


def _outline(x: np.ndarray, v: np.ndarray, steps: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The broken line with its jumps, and with the straight piece beyond an end that is not one."""
    if len(x) < 2:
        return x, v
    jumps = np.flatnonzero(steps[:-1]) if steps is not None else np.zeros(0, dtype=np.intp)
    ends = [(k, near) for k, near in ((0, 0), (len(x) - 2, len(x) - 1)) if k not in jumps]
    middle = np.repeat(x[jumps] + 0.5 * (x[jumps + 1] - x[jumps]), 2)
    beside = np.stack([v[jumps], v[jumps + 1]], axis=1).ravel()
    at = np.concatenate([np.arange(len(x)), np.repeat(jumps, 2) + 0.5])
    x_all, v_all = np.concatenate([x, middle]), np.concatenate([v, beside])
    for k, near in ends:
        side = 1.0 if near else -1.0
        at = np.append(at, near + side)
        x_all = np.append(x_all, x[near] + side * REACH * (x[k + 1] - x[k]))
        v_all = np.append(v_all, v[near] + side * REACH * (v[k + 1] - v[k]))
    order = np.argsort(at, kind="stable")
    return x_all[order], v_all[order]


def _cuts(x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the rounded broken line changes, and its values between; a jump is one change."""
    cuts, points = [], [float(np.floor(v[0] + 0.5))]
    for a, b, low, high in zip(x[:-1], x[1:], v[:-1], v[1:], strict=True):
        first, last = np.floor(low + 0.5), np.floor(high + 0.5)
        if a == b and first != last:
            cuts.append(a)
            points.append(float(last))
            continue
        step = 1.0 if last > first else -1.0
        for level in np.arange(first, last, step):
            edge = level + 0.5 if step > 0 else level - 0.5
            cuts.append(a + (edge - low) / (high - low) * (b - a))
            points.append(float(level + step))
    return np.array(cuts), np.array(points)


def _pair_bins(shape: PairShape, factor: float, scale: Scale) -> list[Bin]:
    """The nodes of the grid; between two knots these points are interpolated, then rounded."""
    points, name = scale.rounded(factor * shape.values), " × ".join(shape.name)
    words = [
        [f"{value:.6g}" for value in knots] if levels is None else [str(level) for level in levels]
        for knots, levels in zip(shape.knots, shape.levels, strict=True)
    ]
    return [
        Bin(name, f"{a} × {b}", np.nan, np.nan, float(points[i, j]))
        for i, a in enumerate(words[0])
        for j, b in enumerate(words[1])
    ]


def _format_value(shape: Shape, x: float) -> str:
    """A number, or a date, as a reader writes it."""
    if shape.kind == "date" and np.isfinite(x):
        return str((np.datetime64("1970-01-01", "s") + np.timedelta64(int(x * 86400), "s")).astype("datetime64[D]"))
    return f"{x:.6g}"


def _range(shape: Shape, low: float, high: float) -> str:
    if np.isinf(low) and np.isinf(high):
        return "every value"
    if np.isinf(low):
        return f"below {_format_value(shape, high)}"
    start = _format_value(shape, low)
    return f"from {start}" if np.isinf(high) else f"{start} to {_format_value(shape, high)}"


def row_points(card: Card, cells: Any, odds: Odds, scale: Scale) -> np.ndarray:
    """The points of rows, as a reader of the table finds them: nodes of a grid are rounded before rows are."""
    base, factor = scale.rounded(np.array(scale.offset(odds))), scale.per_score(odds)
    in_points = Card(card.basis, factor * card.values, factor * card.missing, scale.rounded(factor * card.grid))
    return base + scale.rounded(card_contributions(in_points, cells)).sum(axis=1)


def as_frame(bins: Sequence[Bin], whole: bool) -> Any:
    """The table as a frame of pandas; whole points are integers."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("points gives a frame of pandas, which is not installed: pip install pandas.") from None
    frame = pd.DataFrame(list(bins), columns=list(Bin._fields))
    return frame.astype({"points": np.int64}) if whole else frame
