"""AUC against the gap between groups, along the bounds of `ConstrainedAUC`."""

from collections.abc import Sequence
from typing import Any

from auclid.plot._axes import axes, style, tidy


def gap_curve(points: Sequence[Any], *, ax: Any = None, name: str | None = None) -> Any:
    """The AUC against the largest measured gap between two groups, one point for each bound.

    Parameters
    ----------
    points : list of GapPoint
        What `ConstrainedAUC.gap_curve` returns.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure.
    name : str, optional
        For the legend.

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import ConstrainedAUC, plot
    >>> rng = np.random.default_rng(0)
    >>> y, group = np.arange(600) % 2, np.arange(600) // 400
    >>> X = rng.normal(size=(600, 2)) + y[:, None] * [1.0, 0.5] + group[:, None] * [0.0, 1.0]
    >>> model = ConstrainedAUC().fit(X, y, group)
    >>> ax = plot.gap_curve(model.gap_curve(X, y, group, n_points=5))
    >>> ax.get_ylabel()
    'AUC'
    """
    if not len(points):
        raise ValueError("plot.gap_curve expects one point or more, from ConstrainedAUC.gap_curve. Got none.")
    ax = axes(ax)
    look = style(len(ax.lines))
    gaps, aucs = [point.gap for point in points], [point.auc for point in points]
    ax.plot(gaps, aucs, color=look.color, linestyle=look.dash, marker=look.marker, markersize=4, label=name)
    ax.set_xlabel("largest measured gap between two groups")
    ax.set_ylabel("AUC")
    ax.set_xlim(left=0.0)
    if name:
        ax.legend(frameon=False)
    return tidy(ax)
