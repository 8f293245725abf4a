"""ROC curves with bands, lift and gain along the list, and AUC against the gap between groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics._band import BANDS, band_at_points, effective_rows, simultaneous_deviate
from auclid.metrics._band import band as roc_band
from auclid.metrics._bootstrap import Plan
from auclid.metrics._interval import interval
from auclid.metrics._rates import wilson
from auclid.metrics._roc import roc_curve
from auclid.metrics._sample import Region, Sample, checked_region, checked_sample
from auclid.plot._axes import (
    DASHED,
    FAINT,
    Plot,
    axes,
    by_name,
    checked_level,
    legend,
    samples_by_name,
    style,
    thin,
    tidy,
    unit_square,
)
from auclid.validation.parameters import number_in, one_of

MAX_POINTS = 400
"""Points of a line, at the most, along each axis: more than a screen can show."""


@Plot
def roc(
    y_true: Any,
    y_score: Any = None,
    *,
    ax: Any = None,
    name: str | None = None,
    level: float | None = 0.95,
    band: str | None = "pointwise",
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
    x_axis: str = "fpr",
    colors: str | Sequence[str] | None = None,
    linestyles: str | Sequence[Any] | None = None,
) -> Any:
    """ROC curves with bands, and the AUC of each with its interval in the legend.

    A pointwise band covers the true positive rate at each false positive rate with probability `level`: in simulations
    of 30 and 100 positives, 92 to 100 % for 95 %. A simultaneous band covers the whole true curve at once: 90 to 98 %.
    The legend says which one is drawn.

    Parameters
    ----------
    y_true : array-like of shape (n,), `auclid.metrics.ROC`, or dict of those by name
        Two labels; of two numbers the greater one is positive. A `ROC` has scores, weights and groups of its own.
    y_score : array-like of shape (n,), or dict of them by name; None where a `ROC` is given
        Scores of one model or of several.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure. ``ax.figure.savefig("roc.pdf")`` saves it.
    name : str, optional
        Of a single model, for the legend.
    level : float in (0, 1) or None
        Of bands and intervals; None draws curves alone.
    band : {"pointwise", "simultaneous", None}
        What the band covers: the curve at any one false positive rate, or all of it; None draws none. The second takes
        200 bootstrap draws.
    max_fpr, min_tpr : float in (0, 1] and in [0, 1)
        A region to mark, whose partial AUC the legend then tells.
    sample_weight, groups, pos_label
        As in `auclid.metrics.auc_interval`. With weights or groups the pointwise band is that of `interval_at` at 40
        false positive rates, and the draws of the simultaneous one are weighted, or of whole groups.
    x_axis : {"fpr", "specificity"}
        What runs along the horizontal axis: the false positive rate, or the specificity from 1 down to 0.
    colors : sequence of colours, one colour or "grey", optional
        In place of the six of this package, which differ in brightness; "grey" has shades of grey.
    linestyles : sequence of line styles, or one of them, optional
        As matplotlib has them, in place of those of this package, which all differ.

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> from auclid import plot
    >>> ax = plot.roc([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6], name="mine")
    >>> ax.get_xlabel()
    'false positive rate'

    References
    ----------
    Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27. Wilson (1927), JASA 22.
    Zou & Donner (2008), Construction of confidence limits about effect measures, Statistics in Medicine 27.
    """
    owner = "plot.roc"
    region = checked_region(owner, max_fpr, min_tpr)
    level = checked_level(owner, level)
    one_of(owner, "x_axis", x_axis, tuple(X_AXES))
    if band is not None:
        one_of(owner, "band", band, BANDS)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    models = samples_by_name(owner, y_true, y_score, name, **rows)
    ax = axes(ax, 5.0, 5.0)
    x_of: Callable[[np.ndarray], np.ndarray] = np.positive if x_axis == "fpr" else partial(np.subtract, 1.0)
    ax.plot(x_of(np.array([0.0, 1.0])), [0, 1], **DASHED, zorder=1)
    _mark(ax, region, x_of)
    for k, (own, sample) in enumerate(models.items()):
        curve, look = roc_curve(sample.is_pos, sample.scores[0], sample.weight), style(k, colors, linestyles)
        keep = thin(curve.fpr, curve.tpr, MAX_POINTS)
        told = "" if level is None else _auc_text(sample, region, level)
        look.line(ax, x_of(curve.fpr[keep]), curve.tpr[keep], ": ".join(filter(None, (own, told))))
        if level is not None and band is not None:
            at, low, high = _band(sample, level, band)
            look.band(ax, x_of(at), low, high)
    if level is not None and band is not None:
        ax.fill([], [], color=FAINT, alpha=0.3, linewidth=0, label=f"{100 * level:.4g} % band, {band}")
    ax.set(**X_AXES[x_axis], aspect="equal")
    if any(models) or level is not None:
        legend(ax, "lower right")
    tidy(unit_square(ax))
    if x_axis == "specificity":
        ax.invert_xaxis()
    return ax


X_AXES = {
    "fpr": {"xlabel": "false positive rate", "ylabel": "true positive rate"},
    "specificity": {"xlabel": "specificity", "ylabel": "sensitivity"},
}
"""What the horizontal axis of a ROC curve can show, and the labels of both."""


def _auc_text(sample: Sample, region: Region, level: float) -> str:
    result = interval(sample, region, Plan(), level)
    what = "AUC" if region.whole else "partial AUC"
    return f"{what} {result.auc:.3f} [{result.low:.3f}, {result.high:.3f}]"


def _mark(ax: Any, region: Region, x_of: Callable[[np.ndarray], np.ndarray]) -> None:
    """The part of the square that counts, shaded and framed."""
    if not region.whole:
        right, bottom = region[:2]
        corners = x_of(np.array([0.0, right, right, 0.0]))
        ax.fill(corners, [bottom, bottom, 1.0, 1.0], color="#f0ead6", zorder=0)
        edge = {"color": FAINT, "linewidth": 0.9, "linestyle": ":"}
        ax.plot(corners[:3], [bottom, bottom, 1.0], **edge)


def _band(sample: Sample, level: float, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """False positive rates, and the edges of the band around the curve there."""
    plain, score = sample.weight is None and sample.cluster is None, sample.scores[0]
    if kind == "pointwise" and not plain:
        return band_at_points("plot.roc", sample, "fpr", "tpr", level)
    deviate = simultaneous_deviate(sample, score, level) if kind == "simultaneous" else None
    curve = roc_curve(sample.is_pos, score, sample.weight)
    upper, lower = roc_band(curve, level, deviate, effective_rows(sample))
    return upper[0], lower[1], upper[1]


@Plot
def lift(
    y_true: ArrayLike,
    y_score: Any,
    *,
    ax: Any = None,
    name: str | None = None,
    kind: str = "gain",
    level: float | None = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    colors: str | Sequence[str] | None = None,
    linestyles: str | Sequence[Any] | None = None,
) -> Any:
    """Gain (share of the positives found) or lift, against the share of the list looked at.

    lift = gain / share of rows, from the tenth row on. The band is Wilson's interval of the share of positives found.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,), or dict of them by name
        Scores of one model or of several.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure.
    name : str, optional
        Of a single model, for the legend.
    kind : {"gain", "lift"}
        What is drawn.
    level : float in (0, 1) or None
        Of the bands; None draws none.
    sample_weight, pos_label
        As in `auclid.metrics.auc_interval`; with weights there is no band.
    colors, linestyles
        As in `roc`.

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> from auclid import plot
    >>> plot.lift([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6], kind="lift").get_ylabel()
    'lift'

    References
    ----------
    Ling & Li (1998), Data mining for direct marketing, KDD.
    """
    owner = "plot.lift"
    one_of(owner, "kind", kind, ("gain", "lift"))
    models = by_name(owner, y_score, name)
    sample = checked_sample(owner, y_true, models, sample_weight=sample_weight, pos_label=pos_label, fewest=1)
    ax = axes(ax)
    for k, (own, score) in enumerate(zip(models, sample.scores, strict=True)):
        curve, look = roc_curve(sample.is_pos, score, sample.weight), style(k, colors, linestyles)
        share, gain = (curve.tp + curve.fp) / (curve.n_pos + curve.n_neg), curve.tpr
        # The lift of the first few rows is a matter of luck, and would set the scale.
        keep = thin(share, gain, MAX_POINTS) & (share >= (max(0.005, 10.0 / len(score)) if kind == "lift" else 0.0))
        share, found = share[keep], gain[keep]
        unit = share if kind == "lift" else 1.0
        if level is not None and sample.weight is None:
            low, high = wilson(curve.tp[keep], curve.n_pos, number_in(owner, "level", level, 0.0, 1.0))
            look.band(ax, share, low / unit, high / unit)
        look.line(ax, share, found / unit, own)
    if kind == "gain":
        rate = float(np.average(sample.is_pos, weights=sample.weight))
        ax.plot([0, rate, 1], [0, 1, 1], color=FAINT, linewidth=1.0, linestyle=":", label="perfect")
        ax.plot([0, 1], [0, 1], **DASHED, label="by chance")
        unit_square(ax)
        ax.set(xlabel="share of the list, best scores first", ylabel="share of positives found")
    else:
        ax.axhline(1.0, **DASHED, label="by chance")
        ax.set(xlabel="share of the list, best scores first", ylabel="lift", xlim=(-0.01, 1.01))
        ax.set_ylim(bottom=0.0)
    legend(ax, "lower right" if kind == "gain" else "upper right")
    return tidy(ax)


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
