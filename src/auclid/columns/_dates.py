"""Columns of dates: the day as a number, and sine and cosine of its place in the year, the week and the day."""

from typing import Any, NamedTuple

import numpy as np

PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}
"""In days. Each gives a sine and a cosine, so that the last hour of a day is near the first."""

WAVE_DIGITS = 12
"""Digits of sines and cosines: dates at the same place in a period have the same value, without rounding errors that
ranks, knots and cuts would take for differences."""


class DateRange(NamedTuple):
    """The first and the last of some dates (days since 1970; NaN where there are none), and whether they have hours."""

    first: float
    last: float
    hours: bool

    def __add__(self, other: Any) -> "DateRange":
        ends = np.fmin(self.first, other.first), np.fmax(self.last, other.last)
        return DateRange(float(ends[0]), float(ends[1]), self.hours or other.hours)


def date_range(days: np.ndarray) -> DateRange:
    """The `DateRange` of dates, NaN where one is missing."""
    present = days[~np.isnan(days)]
    if not len(present):
        return DateRange(np.nan, np.nan, False)
    return DateRange(float(present.min()), float(present.max()), bool((present != np.floor(present)).any()))


def learn_periods(dates: DateRange) -> list[str]:
    """The periods that dates cover: a year and a week where they span one, a day where they have hours."""
    covered = [name for name in ("year", "week") if dates.last - dates.first >= PERIODS[name]]
    return covered + ["day"] * dates.hours


def apply_periods(days: np.ndarray, periods: list[str]) -> list[np.ndarray]:
    """The columns: days, then sine and cosine of each period; these are 0 where the date is missing."""
    out, present = [days], ~np.isnan(days)
    for name in periods:
        angle = 2.0 * np.pi * np.mod(days / PERIODS[name], 1.0)
        out += [np.where(present, np.round(wave(angle), WAVE_DIGITS), 0.0) for wave in (np.sin, np.cos)]
    return out


def period_names(name: str, periods: list[str]) -> list[str]:
    """The names of the columns that come out."""
    return [name, *(f"{name} ({of} of {period})" for period in periods for of in ("sine", "cosine"))]
