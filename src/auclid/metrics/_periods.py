"""Stretches of time: the period that each row belongs to."""

from typing import Any

import numpy as np

from auclid.data.encoding import Column, as_numbers, infer_kind
from auclid.errors import Described, invalid_value
from auclid.validation.parameters import one_of

PERIODS: dict[str, float | None] = {"day": 1.0, "week": 7.0, "month": None, "quarter": None, "year": None}
"""Days of a period; months and longer ones are those of the calendar."""

FIRST_MONDAY = 4.0
"""Days since 1970-01-01: weeks begin on Mondays."""


def time_periods(owner: str, time: Any, period: str, rows: int) -> tuple[np.ndarray, list[str]]:
    """The number of each row's period, and the names of the periods in order.

    ``time`` holds a date of each row, which is grouped by ``period`` and goes by the first day of it, or a number,
    which is a period of its own; None: all rows are one period.
    """
    one_of(owner, "period", period, tuple(PERIODS))
    if time is None:
        return np.zeros(rows, dtype=np.intp), ["all"]
    numbers, kind = time_numbers(owner, time, rows)
    if kind == "number":
        every, places = np.unique(numbers, return_inverse=True)
        return places, [f"{key:g}" for key in every.tolist()]
    starts, places = np.unique(_calendar(numbers, period), return_inverse=True)
    return places, [str(start) for start in starts.tolist()]


def time_numbers(owner: str, time: Any, rows: int) -> tuple[np.ndarray, str]:
    """Numbers that grow with time, days since 1970 of dates; and whether they are of kind "date" or "number"."""
    values = np.asarray(time)
    if values.shape != (rows,):
        raise invalid_value(owner, "time", f"have a value for each of {rows} rows", Described(f"shape {values.shape}"))
    if values.dtype.kind in "biufM":
        kind = "date" if values.dtype.kind == "M" else "number"
    else:
        values = values.astype(object)
        kind = infer_kind(owner, "time", values)
    if kind not in ("date", "number"):
        some = values[0] if len(values) else None
        raise invalid_value(owner, "time", "hold dates or numbers in each row, dates such as 2024-05-31", some)
    numbers = as_numbers(owner, Column("time", kind, values))
    missing = int(np.isnan(numbers).sum())
    if missing:
        raise invalid_value(owner, "time", "be known in each row", Described(f"none in {missing} of {rows} rows"))
    return numbers, kind


def _calendar(days: np.ndarray, period: str) -> np.ndarray:
    """The first day of each date's period."""
    whole, length = np.floor(days), PERIODS[period]
    if length is not None:
        whole = FIRST_MONDAY + length * np.floor((whole - FIRST_MONDAY) / length)
        return np.datetime64(0, "D") + whole.astype("timedelta64[D]")
    months = (np.datetime64(0, "D") + whole.astype("timedelta64[D]")).astype("datetime64[M]").astype(np.int64)
    step = {"month": 1, "quarter": 3, "year": 12}[period]
    return (months // step * step).astype("datetime64[M]").astype("datetime64[D]")
