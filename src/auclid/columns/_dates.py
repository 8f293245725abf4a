"""Columns of dates: the day as a number, and where in the year, the week and the day it falls."""

import numpy as np

PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}
"""In days. Each gives a sine and a cosine, so that the last hour of a day is near the first."""


def learn_periods(days: np.ndarray) -> list[str]:
    """The periods that dates (days since 1970, NaN where missing) tell something about."""
    known = days[~np.isnan(days)]
    if not len(known):
        return []
    span = known.max() - known.min()
    found = [name for name in ("year", "week") if span >= PERIODS[name]]
    return found + ["day"] * bool((known != np.floor(known)).any())


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
