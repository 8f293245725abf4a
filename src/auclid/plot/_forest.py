"""Intervals below one another, best first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from auclid.metrics._bootstrap import Plan
from auclid.metrics._interval import interval
from auclid.metrics._sample import checked_region, checked_sample
from auclid.plot._axes import FAINT, STYLES, Plot, axes, by_name, tidy
from auclid.validation.parameters import number_in


@Plot
def intervals(
    y_true: Any,
    y_score: Any = None,
    *,
    ax: Any = None,
    name: str | None = None,
    level: float = 0.95,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
    sort: bool = True,
) -> Any:
    """AUCs with their confidence intervals, a line for each model (a forest plot).

    Parameters
    ----------
    y_true : array-like of shape (n,), or dict of intervals by name
        Labels; or in place of labels and scores what `auc_interval`, `compare_many(...).intervals`,
        `auc_by_group(...).intervals`, `cross_val_auc` or `concordance_interval` gave.
    y_score : array-like of shape (n,), or dict of them by name
        Scores of one model or of several.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure.
    name : str, optional
        Of a single model.
    level, max_fpr, min_tpr, sample_weight, groups, pos_label
        As in `auclid.metrics.auc_interval`.
    sort : bool
        Whether the best comes first; else in the order given.

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> from auclid import plot
    >>> y = [0, 0, 1, 0, 1, 1]
    >>> ax = plot.intervals(y, {"a": [1, 2, 3, 4, 5, 6], "b": [2, 1, 5, 3, 2, 6]})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']

    References
    ----------
    Lewis & Clarke (2001), Forest plots: trying to see the wood and the trees, BMJ 322.
    """
    owner = "plot.intervals"
    region = checked_region(owner, max_fpr, min_tpr)
    if y_score is None:
        found = _given(owner, y_true)
        title = "concordance" if all(hasattr(one, "concordance") for one in found.values()) else "AUC"
    else:
        level = number_in(owner, "level", level, 0.0, 1.0)
        models = by_name(owner, y_score, name)
        rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
        sample = checked_sample(owner, y_true, models, **rows)
        pairs = zip(models, sample.scores, strict=True)
        found = {own: interval(sample.with_scores(score), region, Plan(), level) for own, score in pairs}
        title = f"{'AUC' if region.whole else 'partial AUC'} with {100 * level:.3g} % interval"
    items = sorted(found.items(), key=lambda item: -_value(item[1])) if sort else list(found.items())
    ax = axes(ax, 5.0, 1.1 + 0.34 * len(items))
    look = STYLES[0]
    for k, (_, one) in enumerate(items):
        ax.plot([one.low, one.high], [k, k], color=look.color, linewidth=1.8, solid_capstyle="butt")
        ax.plot([one.low, one.high], [k, k], "|", color=look.color, markersize=9)
        ax.plot(_value(one), k, look.marker, color=look.color, markersize=6)
    ax.axvline(max(map(_value, found.values())), color=FAINT, linewidth=1.0, linestyle=":")
    ax.set_yticks(range(len(items)), [own for own, _ in items])
    ax.set_ylim(len(items) - 0.4, -0.6)
    ax.set_xlabel(title)
    tidy(ax).grid(False, axis="y")
    return ax


def _value(one: Any) -> float:
    """The estimate of an interval: an AUC, or a concordance."""
    return one.auc if hasattr(one, "auc") else one.concordance


def _given(owner: str, intervals: Any) -> dict[str, Any]:
    """Intervals that were measured before, by name."""
    if not isinstance(intervals, Mapping):
        intervals = {"": intervals}
    for one in intervals.values():
        estimate = "concordance" if hasattr(one, "concordance") else "auc"
        if not all(hasattr(one, field) for field in (estimate, "low", "high")):
            raise ValueError(
                f"{owner} expects labels and scores, or intervals with auc, low and high by name. "
                f"Got a {type(one).__name__} instead."
            )
    if not intervals:
        raise ValueError(f"{owner} expects one interval or more. Got none.")
    return {str(name): one for name, one in intervals.items()}
