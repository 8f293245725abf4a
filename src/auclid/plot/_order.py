"""Plots of orders: the AUC over time of risks, and the AUC of each group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics import auc_over_time as measure_over_time
from auclid.metrics import group_auc as mean_over_groups
from auclid.metrics._concordance import group_aucs
from auclid.plot._axes import DASHED, axes, by_name, legend, style, tidy
from auclid.validation.parameters import number_in

GROUP_BINS = np.linspace(0.0, 1.0, 21)
"""Edges of the bars of a histogram of AUCs."""


def auc_over_time(
    y: ArrayLike,
    s: Any,
    event: ArrayLike,
    times: ArrayLike | None = None,
    *,
    ax: Any = None,
    name: str | None = None,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    train: Any = None,
) -> Any:
    """Cumulative/dynamic AUC(t) of risk scores with bands of pointwise intervals.

    Parameters
    ----------
    y : array-like of shape (n,)
        Times in [0, inf).
    s : array-like of shape (n,), or dict of them by name
        Risks of one model or of several, higher for earlier events.
    event : array-like of shape (n,)
        Whether the event was seen at the time y; else the time is censored.
    times, sample_weight, train
        As in `auclid.metrics.auc_over_time`.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure.
    name : str, optional
        Of a single model, for the legend.
    level : float in (0, 1), default=0.95

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> from auclid import plot
    >>> ax = plot.auc_over_time([1, 2, 3, 4, 5, 6], [6, 3, 5, 2, 4, 1], [1, 1, 0, 1, 1, 0], times=[2, 4])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('time', 'AUC of events by then')
    """
    models, ax = by_name("plot.auc_over_time", s, name), axes(ax, 6.0)
    for k, (own, risk) in enumerate(models.items()):
        result = measure_over_time(y, risk, event, times, level=level, sample_weight=sample_weight, train=train)
        look = style(k)
        look.band(ax, result.times, result.low, result.high)
        look.line(ax, result.times, result.auc, own)
    ax.axhline(0.5, **DASHED)
    ax.set(xlabel="time", ylabel="AUC of events by then")
    if any(models):
        legend(ax, "best")
    return tidy(ax)


def group_auc(
    y: ArrayLike,
    s: ArrayLike,
    groups: ArrayLike,
    *,
    ax: Any = None,
    weight: str = "size",
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Any:
    """The AUC within each group as a histogram, with their mean (GAUC) and its interval.

    Parameters
    ----------
    y : array-like of shape (n,)
        Two labels of any kind. The greater one is positive.
    s : array-like of shape (n,)
    groups : array-like of shape (n,)
        The group of each row. Groups of one class are left out.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure.
    weight, level, sample_weight, pos_label
        As in `auclid.metrics.group_auc`.

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> from auclid import plot
    >>> y, s, session = [0, 1, 0, 1, 0, 1], [1, 2, 2, 1, 0, 3], [0, 0, 1, 1, 2, 2]
    >>> plot.group_auc(y, s, session).get_xlabel()
    'AUC within a group'
    """
    owner = "plot.group_auc"
    level = number_in(owner, "level", level, 0.0, 1.0)
    found = group_aucs(owner, y, s, groups, sample_weight, pos_label)[0]
    mean = mean_over_groups(y, s, groups, weight=weight, level=level, sample_weight=sample_weight, pos_label=pos_label)
    ax, look = axes(ax), style(0)
    ax.hist(found, GROUP_BINS, color=look.color, alpha=0.35)
    ax.axvspan(mean.low, mean.high, color=style(1).color, alpha=0.25, linewidth=0)
    label = f"mean {mean.auc:.3f} [{mean.low:.3f}, {mean.high:.3f}]"
    ax.axvline(mean.auc, color=style(1).color, linewidth=1.8, label=label)
    ax.set(xlabel="AUC within a group", ylabel="groups", xlim=(0.0, 1.0))
    legend(ax, "upper left")
    return tidy(ax)
