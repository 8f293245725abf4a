"""Precision against recall, and the net benefit of decisions, with bands."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics._at import CurvePoint, checked_prevalence, cut_at
from auclid.metrics._average_precision import average_precision_interval
from auclid.metrics._confusion import METRICS, measure
from auclid.metrics._net_benefit import checked_thresholds, net_benefit
from auclid.metrics._roc import roc_curve
from auclid.metrics._sample import Sample, checked_sample
from auclid.plot._axes import (
    DASHED,
    FAINT,
    Plot,
    PlotOfProbabilities,
    axes,
    by_name,
    checked_level,
    legend,
    style,
    tidy,
    unit_square,
)

BAND_POINTS = 40
"""Recalls at which the band of a precision is found."""

ISO_F1 = (0.2, 0.4, 0.6, 0.8)
"""F1 scores whose lines are drawn."""


@Plot
def precision_recall(
    y_true: ArrayLike,
    y_score: Any,
    *,
    ax: Any = None,
    name: str | None = None,
    level: float | None = 0.95,
    iso_f1: bool = True,
    prevalence: float | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
) -> Any:
    """Precision against recall with bands, lines of equal F1, and the average precision of each model in the legend.

    The band is pointwise: at each recall it is the interval of the precision there (see `interval_at`), which allows
    for the threshold being an estimate.

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
    iso_f1 : bool
        Whether lines of equal F1 are drawn.
    prevalence : float in (0, 1), optional
        A known share of positives that the precision should refer to.
    sample_weight, groups, pos_label
        As in `auclid.metrics.average_precision_interval`.

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
    models, prevalence = by_name(owner, y_score, name), checked_prevalence(owner, prevalence)
    level = checked_level(owner, level)
    rows: dict[str, Any] = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, models, **rows)
    ax = axes(ax, 5.0, 5.0)
    share = float(np.average(sample.is_pos, weights=sample.weight)) if prevalence is None else prevalence
    if iso_f1:
        _iso_lines(ax)
    ax.plot([0, 1], [share, share], **DASHED, zorder=1)
    for k, (own, score) in enumerate(zip(models, sample.scores, strict=True)):
        look, label = style(k), own
        recall, precision = pr_curve(sample, score, prevalence)
        if level is not None:
            at, low, high = precision_band(sample, score, prevalence, level)
            look.band(ax, at, low, high)
            found = average_precision_interval(
                y_true, models[own], level=level, prevalence=prevalence, **rows
            )
            label = ": ".join(filter(None, (own, f"AP {found.ap:.3f} [{found.low:.3f}, {found.high:.3f}]")))
        look.line(ax, recall, precision, label, draw="step", where="pre")
    ax.set(xlabel="recall", ylabel="precision", aspect="equal")
    if any(models) or level is not None:
        legend(ax, "upper right")
    return tidy(unit_square(ax))


def pr_curve(sample: Sample, score: np.ndarray, prevalence: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Recall and precision at each threshold that finds one positive more, recall ascending."""
    curve = roc_curve(sample.is_pos, score, sample.weight)
    share = curve.n_pos / (curve.n_pos + curve.n_neg) if prevalence is None else prevalence
    kept = np.flatnonzero(np.diff(curve.tp) > 0.0) + 1
    tp, fp = share * curve.tpr[kept], (1.0 - share) * curve.fpr[kept]
    return curve.tpr[kept], tp / (tp + fp)


def precision_band(
    sample: Sample, score: np.ndarray, prevalence: float | None, level: float, points: int = BAND_POINTS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Recalls, and the ends of the precision's interval at each."""
    order = np.argsort(score)  # sorted once, so that each point need not
    sample = Sample(
        sample.is_pos[order],
        (score[order],),
        None if sample.weight is None else sample.weight[order],
        None if sample.cluster is None else sample.cluster[order],
    )
    at, found = np.linspace(0.0, 1.0, points + 1)[1:], []
    for recall in at:
        cut = cut_at("plot.precision_recall", sample, sample.scores[0], CurvePoint("tpr", float(recall)), prevalence)
        found.append(measure(sample, cut, METRICS["precision"], prevalence=prevalence, level=level))
    return at, np.array([each.low for each in found]), np.array([each.high for each in found])


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
        look = style(k)
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
