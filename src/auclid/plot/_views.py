"""What part of a column's values a shape is drawn over, on what scale, and how its rows are shown."""

from typing import Any, NamedTuple

import numpy as np

from auclid._page.svg import nice
from auclid._rounding import compact, roundest

CENTRAL_SHARE = 0.98
"""The share of the rows that an axis shows: a few values far out would press all others together."""

NEARLY_ALL = 1.25
"""An axis shows all values where they reach at most so many times as far as the central ones."""

CROWDED = 0.2
"""Tails are heavy where the middle half of the rows has less than this part of the axis."""

TICKS = 5
"""Ticks of an axis, about."""

MAX_RATE_BARS = 12
"""Bars of rates behind a shape, at the most."""


class View(NamedTuple):
    """An axis from ``low`` to ``high``: linear, or with ``unit`` on the scale asinh(x / unit) about ``center``."""

    low: float
    high: float
    center: float = 0.0
    unit: float | None = None

    def forward(self, x: Any) -> np.ndarray:
        """Places on the axis."""
        x = np.asarray(x, dtype=np.float64)
        return x if self.unit is None else np.arcsinh((x - self.center) / self.unit)

    def inverse(self, u: Any) -> np.ndarray:
        """The values at places on the axis."""
        u = np.asarray(u, dtype=np.float64)
        return u if self.unit is None else self.center + self.unit * np.sinh(u)

    def ticks(self) -> list[float]:
        """Round values, about evenly spaced on the axis, that lie within it."""
        if self.unit is None:
            return nice(self.low, self.high, TICKS)
        ends = self.forward([self.low, self.high])
        width = (ends[1] - ends[0]) / (TICKS - 1)
        places = np.linspace(ends[0], ends[1], TICKS)
        found = [roundest(*map(float, self.inverse([u - 0.3 * width, u + 0.3 * width]))) for u in places]
        inside = sorted({x for x in found if self.low <= x <= self.high})
        kept = inside[:1]
        for x in inside[1:]:
            if float(self.forward(x) - self.forward(kept[-1])) > 0.6 * width:
                kept.append(x)
        return kept


def weighted_quantile(x: np.ndarray, weight: np.ndarray, q: float) -> float:
    """The least x up to which a share q of the weight lies."""
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(weight[order])
    return float(x[order][min(int(np.searchsorted(reached, q * reached[-1])), len(x) - 1)])


def view_of(x: np.ndarray, weight: np.ndarray) -> View:
    """The view of values with weights: the central ones, on a scale that spreads heavy tails.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.plot._views import view_of
    >>> view_of(np.arange(101.0), np.ones(101)).unit is None
    True
    >>> float(view_of(np.append(np.arange(101.0), 1e6), np.ones(102)).high)
    100.0
    """
    weight = np.maximum(np.asarray(weight, dtype=np.float64), 0.0)
    if len(x) < 2 or weight.sum() <= 0.0:
        low, high = (float(x[0]), float(x[-1])) if len(x) else (0.0, 1.0)
        return View(low, high if high > low else low + 1.0)
    tail = 0.5 * (1.0 - CENTRAL_SHARE)
    low, lower, middle, upper, high = (weighted_quantile(x, weight, q) for q in (tail, 0.25, 0.5, 0.75, 1.0 - tail))
    all_low, all_high = float(x.min()), float(x.max())
    if not high > low or all_high - all_low <= NEARLY_ALL * (high - low):
        low, high = all_low, all_high
    if not high > low:
        return View(low, low + 1.0)
    half = upper - lower
    if 0.0 < half < CROWDED * (high - low):
        return View(low, high, middle, 0.5 * half)
    return View(low, high)


def rows_of(record_knots: Any, share: Any, counts: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values of a column and the weight of the rows at each: of narrow bins where they are counted, else of knots."""
    if counts is not None and counts.edges is not None:
        return counts.centers, counts.rows.sum(axis=0)
    knots = np.asarray(record_knots, dtype=np.float64)
    return knots, np.ones(len(knots)) if share is None else np.asarray(share, dtype=np.float64)


def rate_bars(counts: Any, view: View) -> list[tuple[float, float, float]]:
    """(low, high, rate of positives) of a few bins of about as many rows, from left to right, within a view."""
    ends = np.concatenate([[view.low], np.clip(counts.edges, view.low, view.high), [view.high]])
    rows = counts.rows.sum(axis=0)
    middle = np.cumsum(rows) - 0.5 * rows
    group = np.floor(middle / max(float(rows.sum()), 1e-300) * MAX_RATE_BARS * (1.0 - 1e-9)).astype(np.intp)
    out = []
    for g in np.unique(group):
        inside = np.flatnonzero(group == g)
        total, low, high = counts.rows[:, inside].sum(axis=1), ends[inside[0]], ends[inside[-1] + 1]
        if high > low and total.sum() > 0.0:
            out.append((float(low), float(high), float(total[1] / total.sum())))
    return out


def label_on_right(places: np.ndarray, values: np.ndarray, level: float) -> bool:
    """Whether the right end of a curve is farther than its left end from a horizontal line that is to have a label.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.plot._views import label_on_right
    >>> label_on_right(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 5.0]), 0.5)
    True
    """
    ends = np.linspace(places[0], places[-1], 20)
    gaps = np.abs(np.interp(ends, places, values) - level)
    return bool(gaps[-5:].min() > gaps[:5].min())


def tick_text(kind: str, x: float) -> str:
    """A value beside an axis: a date by its month, a number in few letters."""
    if kind == "date":
        return str(np.datetime64("1970-01-01") + np.timedelta64(int(x), "D"))[:7]
    return compact(x)
