"""Mean ranks over several tables."""

from typing import Any

import numpy as np

from auclid.plot._axes import FAINT, STYLES, axes

LINE = 0.45
"""Inches between two names."""


def critical_difference(ranks: Any, *, ax: Any = None) -> Any:
    """A critical-difference diagram: mean ranks of estimators, the best on the left, with bars over those that do not
    differ significantly.

    Parameters
    ----------
    ranks : TableComparison
        What `auclid.compare_tables` or `auclid.mean_ranks` gave.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure.

    Returns
    -------
    matplotlib axis

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7.

    Examples
    --------
    >>> from auclid import mean_ranks, plot
    >>> found = mean_ranks({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6], "c": [0.7, 0.75, 0.5]})
    >>> ax = plot.critical_difference(found)
    >>> [text.get_text().strip() for text in ax.texts]
    ['CD = 1.91', 'a  1.00', 'b  2.33', '2.67  c']
    """
    count = len(ranks.names)
    left = (count + 1) // 2
    bars = ranks.groups
    ax = axes(ax, 8.0, 1.2 + 0.15 * len(bars) + LINE * left)
    ink, low = STYLES[0].color, -1.0 - 0.35 * len(bars)
    ax.plot([1, 1 + ranks.critical_difference], [1.0, 1.0], color=FAINT, linewidth=2.0, marker="|", clip_on=False)
    ax.text(1 + ranks.critical_difference / 2, 1.15, f"CD = {ranks.critical_difference:.2f}", ha="center", va="bottom")
    ends = 1.0 - 0.12 * count, count + 0.12 * count
    for k, (name, rank) in enumerate(zip(ranks.names, ranks.ranks, strict=True)):
        is_left = k < left
        height = low - (k if is_left else count - 1 - k)
        end = ends[0] if is_left else ends[1]
        ax.plot([rank, rank, end], [0.0, height, height], color=ink, linewidth=1.2)
        text, side = (f"{name}  {rank:.2f} ", "right") if is_left else (f" {rank:.2f}  {name}", "left")
        ax.text(end, height, text, ha=side, va="center")
    for k, (first, last) in enumerate(bars):
        at = -0.45 - 0.35 * k
        ax.plot(ranks.ranks[[first, last]] + np.array([-0.04, 0.04]), [at, at], color=STYLES[1].color, linewidth=4.0)
    ax.set_xlim(0.6, count + 0.4)
    ax.set_ylim(low - left, 1.8)
    ax.xaxis.set_ticks_position("top")
    ax.spines["top"].set_position(("data", 0.0))
    ax.spines["top"].set_visible(True)
    ax.spines["top"].set_bounds(1, count)
    for side in ("left", "right", "bottom"):
        ax.spines[side].set_visible(False)
    ax.set_xticks(range(1, count + 1))
    ax.set_yticks([])
    ax.set_title(f"Mean rank over {len(ranks.tables)} tables; bars join what does not differ ({ranks.level:.0%})")
    return ax
