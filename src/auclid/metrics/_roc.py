"""The ROC curve: its points, and areas under it."""

from typing import Any, NamedTuple

import numpy as np

from auclid.metrics._cells import masses
from auclid.validation.parameters import number_in

RATE_ROUNDING = 1e-12
"""A rate that misses a bound by less meets it."""


class Curve(NamedTuple):
    """The mass of positives and of negatives above each of a falling sequence of thresholds, from none to all.

    A unit of mass is a row, or a unit of weight.
    """

    threshold: np.ndarray
    tp: np.ndarray
    fp: np.ndarray

    @property
    def n_pos(self) -> float:
        """Mass of all positives."""
        return self.tp[-1].item()

    @property
    def n_neg(self) -> float:
        """Mass of all negatives."""
        return self.fp[-1].item()

    @property
    def tpr(self) -> np.ndarray:
        """Share of the positives predicted positive."""
        return self.tp / self.n_pos

    @property
    def fpr(self) -> np.ndarray:
        """Share of the negatives predicted positive."""
        return self.fp / self.n_neg


class CurvePoint(NamedTuple):
    """A point of a curve, by what is held fixed ("fpr", "tpr", "alerts", "alert_rate" or "threshold") and its value."""

    name: str
    value: float

    def place(self, tp: np.ndarray, fp: np.ndarray, share: float | None = None) -> int:
        """The number of the point with the most rows flagged that keeps to it; of a "tpr", with the fewest.

        ``share`` of positives is what an alert rate refers to; None: that of the rows.
        """
        name, value = self
        if name == "tpr":
            return int(np.argmax(tp >= (value - RATE_ROUNDING) * tp[-1]))
        if name == "fpr":
            met = fp <= (value + RATE_ROUNDING) * fp[-1]
        elif name == "alerts":
            met = tp + fp <= value
        else:
            share = tp[-1] / (tp[-1] + fp[-1]) if share is None else share
            met = share * (tp / tp[-1]) + (1.0 - share) * (fp / fp[-1]) <= value + RATE_ROUNDING
        return int(np.flatnonzero(met)[-1])


def checked_point(owner: str, name: str, value: Any, shown: str) -> CurvePoint:
    """The point, or a sentence where its value makes no sense; a number of alerts is not looked at."""
    if name == "alerts":
        return CurvePoint(name, value)
    if name == "threshold":
        return CurvePoint(name, number_in(owner, shown, value, -np.inf, np.inf))
    number = number_in(owner, shown, value, 0.0, 1.0, closed="lr" if name in ("fpr", "specificity") else "r")
    return CurvePoint("fpr", 1.0 - number) if name == "specificity" else CurvePoint(name, number)


def roc_curve(is_pos: np.ndarray, score: np.ndarray, weight: np.ndarray | None = None) -> Curve:
    """The curve of checked rows: a point for each distinct score, and one for no row at all."""
    value, pos, neg = masses(is_pos, score, weight)
    return Curve(thresholds(value), *(from_the_top(mass) for mass in (pos, neg)))


def rates(is_pos: np.ndarray, score: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """False and true positive rates of the curve, without its thresholds."""
    _, pos, neg = masses(is_pos, score, weight)
    return from_the_top(neg) / neg.sum(), from_the_top(pos) / pos.sum()


def from_the_top(mass: np.ndarray) -> np.ndarray:
    """What lies above each of the thresholds of ascending masses, from none to all."""
    return np.concatenate(([0], np.cumsum(mass[::-1])))


def thresholds(value: np.ndarray) -> np.ndarray:
    """Finite numbers t, falling, for distinct scores, ascending: `score > t` is no row, then one score more each."""
    low, high = value[0], value[-1]
    ends = just_above(high, low, high), between(value.dtype.type(-np.inf), low, low, high)
    with np.errstate(invalid="ignore", over="ignore"):
        middle = value[:-1] / 2 + value[1:] / 2
    good = (value[:-1] <= middle) & (middle < value[1:]) & np.isfinite(middle)
    inner = np.where(good, middle, np.clip(value[:-1], -np.finfo(value.dtype).max, None))
    return np.concatenate(([ends[0]], inner[::-1], [ends[1]]))


def area(fpr: np.ndarray, tpr: np.ndarray, max_fpr: float, min_tpr: float) -> float:
    """Integral of (tpr - min_tpr)_+ from 0 to `max_fpr` along a piecewise linear, rising curve."""
    stop = int(np.searchsorted(fpr, max_fpr, side="right"))
    end = np.interp(max_fpr, fpr[stop - 1 : stop + 1], tpr[stop - 1 : stop + 1])
    width = np.diff(np.append(fpr[:stop], max_fpr))
    rise = np.diff(np.append(tpr[:stop], end))
    height = np.maximum(np.append(tpr[:stop], end) - min_tpr, 0.0)
    # A segment that crosses the bottom counts from the crossing on.
    part = np.divide(np.diff(height), rise, out=np.ones_like(rise), where=(height[:-1] == 0.0) & (rise > 0.0))
    return float(np.sum(width * part * (height[:-1] + height[1:])) / 2.0)


def between(a: np.floating, b: np.floating, low: np.floating, high: np.floating) -> float:
    """A finite t with a <= t < b, midway where both are finite; low and high are the extreme scores."""
    if not np.isfinite(b):
        return _outside(a, low, high, upwards=True) if np.isfinite(a) else 0.0
    if not np.isfinite(a):
        return _outside(b, low, high, upwards=False)
    middle = a / 2 + b / 2
    return float(middle if a <= middle < b else a)


def _outside(score: np.floating, low: np.floating, high: np.floating, *, upwards: bool) -> float:
    """A finite number just above or just below `score`: by a thousandth of the range of the scores."""
    if not np.isfinite(score):
        return 0.0
    with np.errstate(over="ignore"):
        width = high - low
    step = (width if 0.0 < width < np.inf else abs(score) or score.dtype.type(1)) / 1024
    towards = score.dtype.type(np.inf if upwards else -np.inf)
    with np.errstate(over="ignore"):
        far = score + step if upwards else score - step
    near = np.nextafter(score, towards)
    moved = max(far, near) if upwards else min(far, near)
    return float(np.clip(moved, -np.finfo(score.dtype).max, np.finfo(score.dtype).max))


def just_above(score: np.floating, low: np.floating, high: np.floating) -> float:
    """A finite number just above `score`: nothing is predicted positive there if `score` is the highest."""
    return _outside(score, low, high, upwards=True)
