"""How well scores rank, period by period."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.errors import InvalidValueError
from auclid.metrics import auc_interval, average_precision_interval
from auclid.metrics._periods import time_periods
from auclid.plot._axes import axes, style, tidy
from auclid.validation.parameters import one_of
from auclid.validation.vectors import column, numbers_column, positives, same_length

MEASURES: dict[str, tuple[Callable[..., Any], str]] = {
    "roc_auc": (auc_interval, "AUC"),
    "average_precision": (average_precision_interval, "average precision"),
}
"""What can be drawn: its interval, and what the axis is called."""


def over_time(
    y_true: ArrayLike,
    y_score: ArrayLike,
    time: Any,
    *,
    period: str = "week",
    metric: str = "roc_auc",
    level: float = 0.95,
    expected: float | None = None,
    pos_label: Any = None,
    ax: Any = None,
    name: str | None = None,
) -> Any:
    """The AUC, or the average precision, of each period with its interval.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind. The greater one is positive.
    y_score : array-like of shape (n,)
    time : array-like of shape (n,)
        A date of each row, or a number that grows with time.
    period : {"week", "day", "month", "quarter", "year"}, default="week"
        What dates are grouped by; each number is a period of its own.
    metric : {"roc_auc", "average_precision"}, default="roc_auc"
    level : float in (0, 1), default=0.95
    expected : float, optional
        What to draw a dashed line at: the AUC when the model was made.
    pos_label : label, optional
        The positive label, where that is not the greater one.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure.
    name : str, optional
        For the legend.

    Returns
    -------
    matplotlib axis
        Periods with fewer than two rows of a class are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import plot
    >>> rng = np.random.default_rng(0)
    >>> y, day = np.arange(400) % 2, np.datetime64("2026-01-05") + np.arange(400) // 20
    >>> ax = plot.over_time(y, y + rng.normal(size=400), day, expected=0.76)
    >>> ax.get_ylabel(), len(ax.get_xticklabels())
    ('AUC', 3)
    """
    owner = "plot.over_time"
    one_of(owner, "metric", metric, tuple(MEASURES))
    y, score = column(owner, "y_true", y_true), numbers_column(owner, "y_score", y_score)
    same_length(owner, y_true=y, y_score=score)
    is_pos = positives(owner, y, pos_label)
    places, names = time_periods(owner, time, period, len(score))
    measure, label = MEASURES[metric]
    at = [k for k in range(len(names)) if 2 <= is_pos[places == k].sum() <= (places == k).sum() - 2]
    if not at:
        raise InvalidValueError(f"{owner} must have a period with two rows of each class; got none.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows, which the interval shows
        measured = np.array([measure(is_pos[places == k], score[places == k], level=level)[:3] for k in at])
    ax = axes(ax, 7.0)
    look = style(len(ax.lines))
    gaps = np.abs(measured[:, 1:] - measured[:, :1]).T
    ax.errorbar(at, measured[:, 0], gaps, color=look.color, marker=look.marker, markersize=4, capsize=2, label=name)
    if expected is not None:
        ax.axhline(float(expected), color="0.5", linestyle="--", linewidth=1.0)
    shown = np.unique(np.linspace(0, len(names) - 1, min(len(names), 8)).astype(int))
    ax.set_xticks(shown, [names[k] for k in shown], rotation=30, ha="right")
    ax.set_ylabel(label)
    if name:
        ax.legend(frameon=False)
    return tidy(ax)
