"""ROC curves with bands, and lift and gain along the list."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics._band import BANDS, simultaneous_deviate
from auclid.metrics._band import band as roc_band
from auclid.metrics._bootstrap import Plan
from auclid.metrics._interval import interval
from auclid.metrics._rates import wilson
from auclid.metrics._roc import roc_curve
from auclid.metrics._sample import Region, Sample, checked_region, checked_sample
from auclid.plot._axes import DASHED, FAINT, Plot, axes, by_name, checked_level, legend, style, tidy, unit_square
from auclid.validation.parameters import number_in, one_of

MAX_POINTS = 400
"""Points of a line, at the most, along each axis: more than a screen can show."""


@Plot
def roc(
    y_true: ArrayLike,
    y_score: Any,
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
) -> Any:
    """ROC curves with bands, and the AUC of each with its interval in the legend.

    A pointwise band covers the true positive rate at each false positive rate with probability `level`: in simulations
    of 30 and 100 positives, 92 to 100 % for 95 %. A simultaneous band covers the whole true curve at once: 90 to 98 %.
    The legend says which one is drawn.

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
    level : float in (0, 1) or None
        Of bands and intervals; None draws curves alone.
    band : {"pointwise", "simultaneous", None}
        What the band covers: the curve at any one false positive rate, or all of it; None draws none. The second takes
        200 bootstrap draws.
    max_fpr, min_tpr : float in (0, 1] and in [0, 1)
        A region to mark, whose partial AUC the legend then tells.
    sample_weight, groups, pos_label
        As in `auclid.metrics.auc_interval`. With weights or groups the band, which takes rows for independent and
        alike, is left out.

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
    models = by_name(owner, y_score, name)
    region = checked_region(owner, max_fpr, min_tpr)
    level = checked_level(owner, level)
    if band is not None:
        one_of(owner, "band", band, BANDS)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, models, **rows)
    ax = axes(ax, 5.0, 5.0)
    ax.plot([0, 1], [0, 1], **DASHED, zorder=1)
    _mark(ax, region)
    for k, (own, score) in enumerate(zip(models, sample.scores, strict=True)):
        curve, look = roc_curve(sample.is_pos, score, sample.weight), style(k)
        keep = _thin(curve.fpr, curve.tpr)
        told = "" if level is None else _auc_text(sample.with_scores(score), region, level)
        look.line(ax, curve.fpr[keep], curve.tpr[keep], ": ".join(filter(None, (own, told))))
    if level is not None and band is not None and sample.weight is None and sample.cluster is None:
        _draw_bands(ax, sample, level, band)
    ax.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
    if any(models) or level is not None:
        legend(ax, "lower right")
    return tidy(unit_square(ax))


def _auc_text(sample: Any, region: Region, level: float) -> str:
    found = interval(sample, region, Plan(), level)
    what = "AUC" if region.whole else "partial AUC"
    return f"{what} {found.auc:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _mark(ax: Any, region: Region) -> None:
    """The part of the square that counts, shaded and framed."""
    if not region.whole:
        (right, bottom) = region[:2]
        ax.fill([0.0, right, right, 0.0], [bottom, bottom, 1.0, 1.0], color="#f0ead6", zorder=0)
        edge = {"color": FAINT, "linewidth": 0.9, "linestyle": ":"}
        ax.plot([0.0, right, right], [bottom, bottom, 1.0], **edge)


def _draw_bands(ax: Any, sample: Sample, level: float, kind: str) -> None:
    """The band of each score, and a line in the legend that says what they cover."""
    for k, score in enumerate(sample.scores):
        deviate = simultaneous_deviate(sample, score, level) if kind == "simultaneous" else None
        upper, lower = roc_band(roc_curve(sample.is_pos, score), level, deviate)
        style(k).band(ax, upper[0], lower[1], upper[1])
    ax.fill([], [], color=FAINT, alpha=0.3, linewidth=0, label=f"{100 * level:.4g} % band, {kind}")


def _thin(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which points of a line to draw: the first of each pixel, and the last."""
    cell = np.round(x * MAX_POINTS) * (MAX_POINTS + 1) + np.round(y * MAX_POINTS)
    keep = np.concatenate([[True], np.diff(cell) != 0])
    keep[-1] = True
    return keep


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
        curve, look = roc_curve(sample.is_pos, score, sample.weight), style(k)
        share, gain = (curve.tp + curve.fp) / (curve.n_pos + curve.n_neg), curve.tpr
        # The lift of the first few rows is a matter of luck, and would set the scale.
        keep = _thin(share, gain) & (share >= (max(0.005, 10.0 / len(score)) if kind == "lift" else 0.0))
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
