"""Points: shapes in the units of a scorecard, rounded to whole numbers, as a table of bins."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from auclid.additive._binning import BinnedCard, ShapeSteps
from auclid.additive._columns import cell_blocks
from auclid.additive._counts import ColumnCounts
from auclid.additive._shapes import Card, PairShape, Shape, card_contributions
from auclid.plot._shapes import outline
from auclid.stats.odds import Odds

SMOOTHED_ROWS = 0.5
"""Rows that each class of a bin is given besides its own, so that a weight of evidence is finite."""


class Scale(NamedTuple):
    """Points = base + scale·log2(odds of a row / odds): so many points double the odds of a class."""

    scale: float
    base: float
    odds: float
    whole: bool
    sign: float = 1.0
    """1: points rise with the odds of the positive class; -1: with those of the negative class."""

    def per_score(self, odds: Odds) -> float:
        """Points for one unit of score."""
        return self.sign * self.scale / np.log(2.0) * odds.slope

    def offset(self, odds: Odds) -> float:
        """Points of a row to which no column adds anything."""
        return self.base + self.scale / np.log(2.0) * (self.sign * odds.offset - np.log(self.odds))

    def rounded(self, points: np.ndarray) -> np.ndarray:
        """Whole points, halves upwards, where they are to be whole."""
        return np.floor(np.asarray(points) + 0.5) if self.whole else np.asarray(points)


class Bin(NamedTuple):
    """One line of the table: the cells of a column from ``low`` up to ``high``, or of some levels, and their points.

    ``rows`` and ``positives`` are weights of the training rows in the bin, ``rate`` is the share of positives among
    them, ``woe`` the log of the share of the positives over the share of the negatives, ``iv`` what the bin adds to the
    information value of its column. They are nan where bins are not counted.
    """

    column: str
    bin: str
    low: float
    high: float
    points: float
    rows: float = np.nan
    positives: float = np.nan
    rate: float = np.nan
    woe: float = np.nan
    iv: float = np.nan


COUNTED = Bin._fields[5:]
"""The fields of counted bins."""


def base_line(scale: Scale, odds: Odds, offset: float = 0.0) -> Bin:
    """The line of the points that every row has."""
    points = scale.offset(odds) + scale.per_score(odds) * offset
    return Bin("(base)", "every row", np.nan, np.nan, float(scale.rounded(np.array(points))))


# A bin for each whole point


def point_bins(shapes: Sequence[Shape | PairShape], odds: Odds, scale: Scale) -> list[Bin]:
    """The table in which rounding is all that is lost: the base, then every column and pair."""
    out = [base_line(scale, odds)]
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
        return [Bin(shape.name, format_value(shape.kind, x), float(x), float(x), float(p)) for x, p in pairs]
    places, knots = outline(shape.knots, shape.steps)
    cuts, points = _cuts(places, factor * shape.values[knots])
    low, high = np.concatenate([[-np.inf], cuts]), np.concatenate([cuts, [np.inf]])
    lines = zip(low, high, points, strict=True)
    return [Bin(shape.name, range_text(shape.kind, a, b), float(a), float(b), float(p)) for a, b, p in lines]


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


def format_value(kind: str, x: float) -> str:
    """A number, or a date, as a reader writes it."""
    if kind == "date" and np.isfinite(x):
        return str((np.datetime64("1970-01-01", "s") + np.timedelta64(int(x * 86400), "s")).astype("datetime64[D]"))
    return f"{x:.10g}" if float(x).is_integer() else f"{x:.6g}"


def range_text(kind: str, low: float, high: float, whole: bool = False) -> str:
    """The values from ``low`` up to, but without, ``high`` in words; ``whole``: of a column of whole numbers."""
    if np.isinf(low) and np.isinf(high):
        return "every value"
    last = format_value(kind, high - 1.0 if whole else high)
    if np.isinf(low):
        return f"up to {last}" if whole else f"below {last}"
    start = format_value(kind, low)
    if np.isinf(high):
        return f"from {start}"
    if whole:
        return start if start == last else f"{start} to {last}"
    return f"{start} to below {last}"


def row_points(card: Card, cells: Any, odds: Odds, scale: Scale) -> np.ndarray:
    """The points of rows, as a reader of the table finds them: nodes of a grid are rounded before rows are."""
    base, factor = scale.rounded(np.array(scale.offset(odds))), scale.per_score(odds)
    in_points = Card(card.basis, factor * card.values, factor * card.missing, scale.rounded(factor * card.grid))
    return base + scale.rounded(card_contributions(in_points, cells)).sum(axis=1)


# A few bins, counted


def binned_row_points(binned: BinnedCard, cells: Any, odds: Odds, scale: Scale) -> np.ndarray:
    """The points of rows, as a reader of the table of few bins finds them."""
    factor, out = scale.per_score(odds), np.full(cells.shape[0], base_line(scale, odds, binned.offset).points)
    for rows, block in cell_blocks(cells):
        out[rows] += scale.rounded(factor * binned.contributions(block)).sum(axis=1)
    return out


def binned_lines(shapes: Sequence[Shape | PairShape], binned: BinnedCard, odds: Odds, scale: Scale) -> list[Bin]:
    """The table of few bins: the base, then every column and pair that has more than one."""
    out, factor = [base_line(scale, odds, binned.offset)], scale.per_score(odds)
    d = len(binned.columns)
    for j, (shape, bins) in enumerate(zip(shapes[:d], binned.columns, strict=True)):
        assert isinstance(shape, Shape)
        counts = binned.counts.columns[j]
        if len(bins.values) == 1 and not bins.values[0] and not binned.missing[j]:
            continue
        out += _column_lines(shape, counts, bins, scale.rounded(factor * bins.values))
        if counts.missing.any():
            missing = float(scale.rounded(np.array(factor * binned.missing[j])))
            line = Bin(shape.name, "missing", np.nan, np.nan, missing)
            out.append(_counted(line, counts.missing, counts.rows.sum(axis=1) + counts.missing))
    for m, bins in enumerate(binned.pairs):
        if len(bins.values) > 1:
            out += _pair_lines(shapes, binned, m, scale.rounded(factor * bins.values))
    return out


def _counted(line: Bin, rows: np.ndarray, total: np.ndarray) -> Bin:
    """The line with the rows of each class in it, of so many in all."""
    negative, positive = map(float, rows)
    shares = (rows + SMOOTHED_ROWS) / (total + SMOOTHED_ROWS)
    woe = float(np.log(shares[1] / shares[0]))
    rate = positive / (positive + negative) if positive + negative > 0.0 else np.nan
    iv = float(positive / max(total[1], 1e-300) - negative / max(total[0], 1e-300)) * woe
    return line._replace(rows=positive + negative, positives=positive, rate=rate, woe=woe, iv=iv)


def _column_lines(shape: Shape, counts: ColumnCounts, bins: ShapeSteps, points: np.ndarray) -> Iterator[Bin]:
    total = counts.rows.sum(axis=1) + counts.missing
    texts = column_texts(shape, counts, bins)
    for k, (text, low, high) in enumerate(texts):
        line = Bin(shape.name, text, low, high, float(points[k]))
        yield _counted(line, counts.rows[:, bins.label == k].sum(axis=1), total)


def column_texts(shape: Shape, counts: ColumnCounts, bins: ShapeSteps) -> list[tuple[str, float, float]]:
    """What each bin holds, in words, and its ends (nan for levels)."""
    if counts.edges is None:
        levels = shape.levels or []
        groups = [[str(levels[i]) for i in np.flatnonzero(bins.label == k)] for k in range(len(bins.values))]
        return [(", ".join(group), np.nan, np.nan) for group in groups]
    ends = _bin_ends(counts.edges, bins.label)
    whole = is_whole(shape, counts)
    return [(range_text(shape.kind, a, b, whole), a, b) for a, b in pairwise(ends.tolist())]


def _bin_ends(edges: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Where bins begin, and infinity: labels are of the runs of narrow bins between edges."""
    inner = edges[np.flatnonzero(np.diff(label))]
    return np.concatenate([[-np.inf], inner, [np.inf]])


def is_whole(shape: Shape, counts: ColumnCounts) -> bool:
    """Whether a column holds whole numbers only, as far as its knots and edges tell."""
    if shape.knots is None or counts.edges is None or shape.kind == "date":
        return False
    return bool(np.all(np.mod(shape.knots, 1.0) == 0.0) and np.all(np.mod(counts.edges, 1.0) == 0.0))


def _pair_lines(shapes: Sequence[Shape | PairShape], binned: BinnedCard, m: int, points: np.ndarray) -> Iterator[Bin]:
    pair, counts, bins = binned.pair_columns[m], binned.counts.pairs[m], binned.pairs[m]
    total = counts.rows.sum(axis=(1, 2))
    name = " × ".join(shapes[len(binned.columns) + m].name)
    for k in range(len(bins.values)):
        inside = bins.label == k
        sides = [np.flatnonzero(inside.any(axis=1 - side)) for side in (0, 1)]
        words = []
        for side, j in enumerate(pair):
            shape, column = shapes[j], binned.counts.columns[j]
            assert isinstance(shape, Shape)
            narrow = np.isin(counts.groups[side], sides[side])
            words.append(_part_text(shape, column, narrow))
        line = Bin(name, " and ".join(f"{shapes[j].name} {text}" for j, text in zip(pair, words, strict=True)),
                   np.nan, np.nan, float(points[k]))  # fmt: skip
        yield _counted(line, counts.rows[:, inside].sum(axis=1), total)


def _part_text(shape: Shape, counts: ColumnCounts, narrow: np.ndarray) -> str:
    """Some narrow bins of a column, which lie together, in words."""
    if narrow.all():
        return "every value"
    if counts.edges is None:
        levels = shape.levels or []
        return ", ".join(str(levels[i]) for i in np.flatnonzero(narrow))
    at = np.flatnonzero(narrow)
    ends = np.concatenate([[-np.inf], counts.edges, [np.inf]])
    return range_text(shape.kind, float(ends[at[0]]), float(ends[at[-1] + 1]), is_whole(shape, counts))


def as_frame(bins: Sequence[Bin], whole: bool, counted: bool) -> Any:
    """The table as a frame of pandas; whole points are integers."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("points gives a frame of pandas, which is not installed: pip install pandas.") from None
    frame = pd.DataFrame(list(bins), columns=list(Bin._fields))
    if not counted:
        frame = frame.drop(columns=list(COUNTED))
    return frame.astype({"points": np.int64}) if whole else frame
