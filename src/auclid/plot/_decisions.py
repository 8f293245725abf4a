"""Precision against recall, and the net benefit of decisions, with bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics._average_precision import average_precision_interval
from auclid.metrics._band import band_at_points
from auclid.metrics._net_benefit import checked_thresholds, net_benefit
from auclid.metrics._roc import roc_curve
from auclid.metrics._sample import Sample, checked_prevalence
from auclid.plot._axes import (
    DASHED,
    FAINT,
    Plot,
    PlotOfProbabilities,
    axes,
    by_name,
    checked_level,
    legend,
    samples_by_name,
    style,
    tidy,
    unit_square,
)

ISO_F1 = (0.2, 0.4, 0.6, 0.8)
"""F1 scores whose lines are drawn."""


@Plot
def precision_recall(
    y_true: Any,
    y_score: Any = None,
    *,
    ax: Any = None,
    name: str | None = None,
    level: float | None = 0.95,
    iso_f1: bool = True,
    prevalence: float | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
    colors: str | Sequence[str] | None = None,
    linestyles: str | Sequence[Any] | None = None,
) -> Any:
    """Precision against recall with bands, lines of equal F1, and the average precision of each model in the legend.

    The band is pointwise: at each recall it is the interval of the precision there (see `interval_at`), which allows
    for the threshold being an estimate.

    Parameters
    ----------
    y_true : array-like of shape (n,), `auclid.metrics.ROC`, or dict of those by name
        Two labels; of two numbers the greater one is positive. A `ROC` has scores, weights and groups of its own.
    y_score : array-like of shape (n,), or dict of them by name; None where a `ROC` is given
        Scores of one model or of several.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure.
    name : str, optional
        Of a single model, for the legend.
    level : float in (0, 1) or None
        Of bands and intervals; None draws curves alone.
    iso_f1 : bool
        Whether lines of equal F1 are drawn.
    prevalence : float in (0, 1), optional
        A known share of positives that the precision should refer to.
    sample_weight, groups, pos_label
        As in `auclid.metrics.average_precision_interval`.
    colors, linestyles
        As in `roc`.

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> from auclid import plot
    >>> ax = plot.precision_recall([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6], name="mine")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('recall', 'precision')

    References
    ----------
    Davis & Goadrich (2006), The relationship between precision-recall and ROC curves, ICML.
    """
    owner = "plot.precision_recall"
    prevalence, level = checked_prevalence(owner, prevalence), checked_level(owner, level)
    rows: dict[str, Any] = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    models = samples_by_name(owner, y_true, y_score, name, **rows)
    ax = axes(ax, 5.0, 5.0)
    if iso_f1:
        _iso_lines(ax)
    shares = {_share(sample, prevalence) for sample in models.values()}
    for share in shares:
        ax.plot([0, 1], [share, share], **DASHED, zorder=1)
    for k, (own, sample) in enumerate(models.items()):
        look, label = style(k, colors, linestyles), own
        recall, precision = pr_curve(sample, prevalence)
        if level is not None:
            look.band(ax, *band_at_points(owner, sample, "tpr", "precision", level, prevalence))
            interval = average_precision_interval(
                sample.is_pos, sample.scores[0], level=level, prevalence=prevalence,
                sample_weight=sample.weight, groups=sample.cluster,
            )  # fmt: skip
            label = ": ".join(filter(None, (own, f"AP {interval.ap:.3f} [{interval.low:.3f}, {interval.high:.3f}]")))
        look.line(ax, recall, precision, label, draw="step", where="pre")
    ax.set(xlabel="recall", ylabel="precision", aspect="equal")
    if any(models) or level is not None:
        legend(ax, "upper right")
    return tidy(unit_square(ax))


def _share(sample: Sample, prevalence: float | None) -> float:
    """The share of positives that the precision refers to."""
    return float(np.average(sample.is_pos, weights=sample.weight)) if prevalence is None else prevalence


def pr_curve(sample: Sample, prevalence: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Recall and precision at each threshold that finds one positive more, recall ascending."""
    curve, share = roc_curve(sample.is_pos, sample.scores[0], sample.weight), _share(sample, prevalence)
    kept = np.flatnonzero(np.diff(curve.tp) > 0.0) + 1
    tp, fp = share * curve.tpr[kept], (1.0 - share) * curve.fpr[kept]
    return curve.tpr[kept], tp / (tp + fp)


def _iso_lines(ax: Any) -> None:
    """Lines on which the F1 score is equal."""
    for score in ISO_F1:
        recall = np.linspace(score / (2.0 - score), 1.0, 60)
        ax.plot(recall, score * recall / (2.0 * recall - score), color="#d0d0d0", linewidth=0.8, zorder=0)
        end = 0.99, score / (2.0 - score) + 0.01
        ax.annotate(f"F1 = {score:g}", end, color=FAINT, fontsize="x-small", ha="right")


@PlotOfProbabilities
def decision_curve(
    y_true: ArrayLike,
    y_score: Any,
    *,
    ax: Any = None,
    name: str | None = None,
    thresholds: ArrayLike | None = None,
    level: float | None = 0.95,
    prevalence: float | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
    colors: str | Sequence[str] | None = None,
    linestyles: str | Sequence[Any] | None = None,
) -> Any:
    """Net benefit against the threshold probability, with bands, beside treating every row and treating none.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,), or dict of them by name
        Probabilities in [0, 1] of one model or of several.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure.
    name : str, optional
        Of a single model, for the legend.
    thresholds : array-like of probabilities in (0, 1), optional
        Where the net benefit is found; else from 0.01 to 0.99, or to where no row is treated.
    level : float in (0, 1) or None
        Of the pointwise bands; None draws none.
    prevalence, sample_weight, groups, pos_label
        As in `auclid.metrics.net_benefit`.
    colors, linestyles
        As in `roc`.

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> from auclid import plot
    >>> plot.decision_curve([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.5, 0.7, 0.9]).get_ylabel()
    'net benefit'

    References
    ----------
    Vickers & Elkin (2006), Decision curve analysis, Medical Decision Making 26.
    """
    owner = "plot.decision_curve"
    models = by_name(owner, y_score, name)
    at = default_thresholds(models) if thresholds is None else checked_thresholds(owner, thresholds)
    rows: dict[str, Any] = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    ax = axes(ax)
    top, curve = 0.0, None
    for k, (own, prob) in enumerate(models.items()):
        look = style(k, colors, linestyles)
        curve = net_benefit(y_true, prob, at, level=0.95 if level is None else level, prevalence=prevalence, **rows)
        if level is not None:
            look.band(ax, at, curve.low, curve.high)
        look.line(ax, at, curve.net_benefit, own or "model")
        top = max(top, float(curve.high.max()))
    assert curve is not None
    ax.plot(at, curve.treat_all, **DASHED, label="treat all")
    ax.axhline(0.0, color="#1a1a1a", linewidth=1.0, linestyle=":", label="treat none")
    ax.set(xlabel="threshold probability", ylabel="net benefit", xlim=(0.0, float(at.max())))
    ax.set_ylim(-0.25 * top - 1e-3, 1.05 * top + 1e-3)
    legend(ax, "upper right")
    return tidy(ax)


def default_thresholds(models: dict[str, Any]) -> np.ndarray:
    """Probabilities from 0.01 to 0.99, or to the highest that is predicted."""
    highest = max(float(np.max(np.asarray(prob), initial=0.0)) for prob in models.values())
    return np.linspace(0.01, min(0.99, max(highest, 0.02)), 99)
