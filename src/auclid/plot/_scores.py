"""How the scores of the classes lie, and whether probabilities mean what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics._points import CRITERIA, operating_point
from auclid.metrics._probabilities import in_unit, reliability_of
from auclid.metrics._sample import checked_sample
from auclid.plot._axes import (
    DASHED,
    STYLES,
    Plot,
    PlotOfProbabilities,
    axes,
    bar_edges,
    by_name,
    checked_level,
    legend,
    style,
    tidy,
    unit_square,
)
from auclid.validation.parameters import number_in, one_of, whole_number
from auclid.validation.vectors import finite_column

MAX_DRAWN_SCORE = 1e300


@Plot
def scores(
    y_true: ArrayLike,
    y_score: Any,
    *,
    ax: Any = None,
    name: str | None = None,
    bins: int = 40,
    threshold: float | str | None = "youden",
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Any:
    """Histograms of the scores of positives and negatives, each as shares of its class, and a threshold.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Finite scores of one model. The outer half percents of a class are put into the end bins.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure.
    name : str, optional
        Of the model, for the label of the axis.
    bins : int in [2, 10000]
        Bars from the lowest score to the highest.
    threshold : float, criterion of `operating_point`, or None
        Where to draw a line.
    sample_weight, pos_label
        As in `auclid.metrics.auc_interval`.

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> from auclid import plot
    >>> plot.scores([0, 0, 1, 0, 1, 1], [1, 2, 3, 4, 5, 6]).get_ylabel()
    'share of the class'

    References
    ----------
    Scott (2015), Multivariate density estimation, chapter 3 (histograms).
    """
    owner = "plot.scores"
    whole_number(owner, "bins", bins, 2, 10_000)
    models = by_name(owner, y_score, name)
    if len(models) > 1:
        raise ValueError(f"{owner} expects the scores of one model. Got {len(models)} instead.")
    (own, score), ax = next(iter(models.items())), axes(ax)
    sample = checked_sample(
        owner,
        y_true,
        {"y_score": finite_column(owner, "y_score", score)},
        sample_weight=sample_weight,
        pos_label=pos_label,
        fewest=1,
    )
    value = sample.scores[0].astype(np.float64)
    edges = _edges(owner, value, sample.is_pos, bins)
    for of, label, look in ((~sample.is_pos, "negative", STYLES[1]), (sample.is_pos, "positive", STYLES[0])):
        mass = None if sample.weight is None else sample.weight[of]
        count = np.histogram(np.clip(value[of], edges[0], edges[-1]), edges, weights=mass)[0]
        ax.stairs(count / count.sum(), edges, fill=True, color=look.color, alpha=0.3)
        ax.stairs(count / count.sum(), edges, color=look.color, linestyle=look.dash, linewidth=1.6, label=label)
    cut = _threshold(owner, threshold, sample)
    if cut is not None:
        ax.axvline(np.clip(cut, edges[0], edges[-1]), color="#1a1a1a", linewidth=1.2, linestyle=":", label="threshold")
    ax.set(xlabel=f"score of {own}" if own else "score", ylabel="share of the class")
    ax.set_ylim(bottom=0.0)
    legend(ax, "best")
    return tidy(ax)


def _edges(owner: str, value: np.ndarray, is_pos: np.ndarray, bins: int) -> np.ndarray:
    edges = bar_edges(is_pos, value, bins)
    low, high = edges[0], edges[-1]
    if max(-low, high) > MAX_DRAWN_SCORE:
        raise ValueError(
            f"{owner} expects scores within {MAX_DRAWN_SCORE:g}, as matplotlib draws no longer axis. "
            f"Got scores from {low:.3g} to {high:.3g}. Rescale them."
        )
    return edges


def _threshold(owner: str, threshold: Any, sample: Any) -> float | None:
    if threshold is None:
        return None
    if isinstance(threshold, str):
        one_of(owner, "threshold", threshold, CRITERIA)
        found = operating_point(sample.is_pos, sample.scores[0], criterion=threshold, sample_weight=sample.weight)
        return found.threshold
    return number_in(owner, "threshold", threshold, -np.inf, np.inf)


@PlotOfProbabilities
def calibration(
    y_true: ArrayLike,
    y_score: Any,
    *,
    ax: Any = None,
    name: str | None = None,
    n_bins: int = 10,
    level: float | None = 0.95,
    band: bool = True,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    pos_label: Any = None,
    colors: str | Sequence[str] | None = None,
    linestyles: str | Sequence[Any] | None = None,
) -> Any:
    """Share of positives against the probability that was predicted, in bins of about equally many rows.

    Rows of one predicted probability are in one bin, whatever their order. Wilson's interval stands at each point; the
    band is that of a logistic regression on the log odds (see `auclid.metrics.reliability`). On the diagonal a
    probability means what it says.

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
    n_bins : int in [2, inf)
        Most bins; of about equal weight, as far as equal probabilities allow.
    level : float in (0, 1) or None
        Of the intervals and of the band; None draws none.
    band : bool
        Whether the band is drawn.
    sample_weight, groups
        As in `auclid.metrics.rates_at`: shares are of weight, and intervals allow for rows that belong together.
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.
    colors, linestyles
        As in `roc`.

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> from auclid import plot
    >>> plot.calibration([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.5, 0.7, 0.9], n_bins=2).get_ylabel()
    'share of positives'

    References
    ----------
    Niculescu-Mizil & Caruana (2005), Predicting good probabilities with supervised learning, ICML.
    """
    owner = "plot.calibration"
    whole_number(owner, "n_bins", n_bins, 2)
    models = by_name(owner, y_score, name)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, models, **rows, fewest=1)
    level = checked_level(owner, level)
    ax = axes(ax, 5.0, 5.0)
    ax.plot([0, 1], [0, 1], **DASHED, label="as predicted")
    for k, (own, given) in enumerate(zip(models, sample.scores, strict=True)):
        look = style(k, colors, linestyles)
        found = reliability_of(sample, in_unit(owner, given), n_bins, 0.95 if level is None else level)
        if level is not None:
            ax.vlines(found.predicted, found.low, found.high, color=look.color, linewidth=1.3, alpha=0.7)
        if level is not None and band and found.line_at is not None:
            look.band(ax, found.line_at, found.line_low, found.line_high)
        line = {"color": look.color, "linestyle": look.dash, "marker": look.marker, "markersize": 5}
        ax.plot(found.predicted, found.observed, label=own or None, **line)
    ax.set(xlabel="predicted probability", ylabel="share of positives", aspect="equal")
    legend(ax, "upper left")
    return tidy(unit_square(ax))
