"""Columns of dates: the day as a number, and where in the year, the week and the day it falls."""

from typing import Any, NamedTuple

import numpy as np

PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}
"""In days. Each gives a sine and a cosine, so that the last hour of a day is near the first."""


class Span(NamedTuple):
    """The first and the last of some dates (days since 1970; NaN where there are none), and whether they have hours."""

    first: float
    last: float
    hours: bool

    def __add__(self, other: Any) -> "Span":
        ends = np.fmin(self.first, other.first), np.fmax(self.last, other.last)
        return Span(float(ends[0]), float(ends[1]), self.hours or other.hours)


def span_of(days: np.ndarray) -> Span:
    """The `Span` of dates, NaN where one is missing."""
    known = days[~np.isnan(days)]
    if not len(known):
        return Span(np.nan, np.nan, False)
    return Span(float(known.min()), float(known.max()), bool((known != np.floor(known)).any()))


def learn_periods(span: Span) -> list[str]:
    """The periods that dates tell something about."""
    found = [name for name in ("year", "week") if span.last - span.first >= PERIODS[name]]
    return found + ["day"] * span.hours


def apply_periods(days: np.ndarray, periods: list[str]) -> list[np.ndarray]:
    """The columns: days, then sine and cosine of each period; these are 0 where the date is missing."""
    out, known = [days], ~np.isnan(days)
    for name in periods:
        angle = 2.0 * np.pi * np.mod(days / PERIODS[name], 1.0)
        out += [np.where(known, wave(angle), 0.0) for wave in (np.sin, np.cos)]
    return out


def names(name: str, periods: list[str]) -> list[str]:
    """The names of the columns that come out."""
    return [name, *(f"{name} ({of} of {period})" for period in periods for of in ("sine", "cosine"))]
