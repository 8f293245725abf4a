"""What the plots share: axes, styles that differ in grey too, and models by name or from an estimator."""

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Generic, NamedTuple, ParamSpec

import numpy as np

from auclid.errors import InvalidValueError
from auclid.metrics._curve import ROC
from auclid.metrics._sample import Sample, checked_sample
from auclid.metrics._scorer import scores_of
from auclid.validation.parameters import number_in

P = ParamSpec("P")


class Style(NamedTuple):
    """How one of several things is drawn: colours of different brightness, and dashes and markers besides."""

    color: str
    dash: Any
    marker: str

    def line(self, ax: Any, x: Any, y: Any, label: str | None, draw: str = "plot", **keywords: Any) -> None:
        """Draw a curve, or with draw="step" a step function."""
        getattr(ax, draw)(x, y, color=self.color, linestyle=self.dash, linewidth=1.8, label=label or None, **keywords)

    def band(self, ax: Any, x: Any, low: Any, high: Any) -> None:
        """Shade a confidence band."""
        ax.fill_between(x, low, high, color=self.color, alpha=0.14, linewidth=0)


STYLES = (
    Style("#0b3c6f", "-", "o"),
    Style("#e07b2a", "--", "s"),
    Style("#86c08a", "-.", "^"),
    Style("#7a4fa3", ":", "D"),
    Style("#1a1a1a", (0, (5, 1, 1, 1, 1, 1)), "v"),
    Style("#b8a13c", (0, (1, 1)), "P"),
)
FAINT = "#8a8a8a"
"""Of what is only there to compare with."""
DASHED: dict[str, Any] = {"color": FAINT, "linewidth": 1.0, "linestyle": (0, (4, 4))}
"""A line to compare with: of chance, of calibrated probabilities."""


GREYS = ("#000000", "#7d7d7d", "#b3b3b3", "#3f3f3f", "#999999", "#5c5c5c")


def style(k: int, colors: str | Sequence[str] | None = None, linestyles: Sequence[Any] | None = None) -> Style:
    """The k-th style, over and over; with other colours ("grey": shades of grey), or other line styles."""
    found = STYLES[k % len(STYLES)]
    if colors is not None:
        chosen = GREYS if colors == "grey" else (colors,) if isinstance(colors, str) else tuple(colors)
        found = found._replace(color=chosen[k % len(chosen)])
    if linestyles is not None:
        dashes = (linestyles,) if isinstance(linestyles, str) else tuple(linestyles)
        found = found._replace(dash=dashes[k % len(dashes)])
    return found


class Plot(Generic[P]):
    """A plot from predictions that can also be made from an estimator, after scikit-learn's displays."""

    def __init__(self, draw: Callable[P, Any]) -> None:
        self.from_predictions = draw
        update_wrapper(self, draw)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        return self.from_predictions(*args, **kwargs)

    def from_estimator(self, estimator: Any, X: Any, y: Any, **keywords: Any) -> Any:
        """The plot of a fitted classifier's scores of the rows X, or of several by name, with labels y.

        The positive label is ``classes_[1]``, whose scores they are, unless `pos_label` is given.
        """
        one = next(iter(estimator.values()), None) if isinstance(estimator, Mapping) else estimator
        classes: Any = getattr(one, "classes_", ())
        if len(classes) == 2:
            keywords.setdefault("pos_label", classes[1])
        if isinstance(estimator, Mapping):
            found: Any = {name: self._predicted(model, X) for name, model in estimator.items()}
        else:
            found = {type(estimator).__name__: self._predicted(estimator, X)}
        return self.from_predictions(y, found, **keywords)

    def _predicted(self, estimator: Any, X: Any) -> np.ndarray:
        return scores_of("from_estimator", estimator, X)


class PlotOfProbabilities(Plot[P]):
    """A plot whose predictions are probabilities, also where an estimator has other scores."""

    def _predicted(self, estimator: Any, X: Any) -> np.ndarray:
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"plot.{self.from_predictions.__name__} expects a classifier with predict_proba. "
                f"Got a {type(estimator).__name__} instead. auclid.Calibrated gives any ranker probabilities."
            )
        return np.asarray(estimator.predict_proba(X))[:, 1]


def axes(ax: Any = None, width: float = 5.0, height: float = 4.2) -> Any:
    """The axis given, or a new one whose figure leaves room for all its labels."""
    return pyplot().subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def pyplot() -> Any:
    """matplotlib.pyplot, or a sentence where it is not installed."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("auclid.plot needs matplotlib: pip install 'auclid[plot]'") from error
    return pyplot


def checked_level(owner: str, level: float | None) -> float | None:
    """The level of bands and intervals; None where none are drawn."""
    return None if level is None else number_in(owner, "level", level, 0.0, 1.0)


def by_name(owner: str, y_score: Any, name: str | None = None) -> dict[str, Any]:
    """Scores of one model or of several, by name."""
    if isinstance(y_score, Mapping):
        if not y_score:
            raise ValueError(f"{owner} expects the scores of one model or more by name. Got none.")
        return {str(key): value for key, value in y_score.items()}
    return {name or "": y_score}


def samples_by_name(owner: str, y_true: Any, y_score: Any, name: str | None, **rows: Any) -> dict[str, Sample]:
    """The checked rows of each model: labels with scores, or a `ROC`, or several of them by name."""
    if y_score is not None:
        models = by_name(owner, y_score, name)
        sample = checked_sample(owner, y_true, models, **rows)
        return {key: sample.with_scores(score) for key, score in zip(models, sample.scores, strict=True)}
    curves = by_name(owner, y_true, name)
    if not all(isinstance(curve, ROC) for curve in curves.values()):
        raise InvalidValueError(
            owner=owner, parameter="y_score", expected="be given, unless the first argument is a ROC or a dict of them",
            got="none",
        )  # fmt: skip
    if any(value is not None for value in rows.values()):
        raise InvalidValueError(
            owner=owner, parameter=next(key for key, value in rows.items() if value is not None),
            expected="be None where a ROC is given, which has its own", got="another",
        )  # fmt: skip
    return {key: curve.sample for key, curve in curves.items()}


def legend(ax: Any, loc: str) -> None:
    """A small legend that curves show through."""
    ax.legend(loc=loc, fontsize="small", framealpha=0.9)


def tidy(ax: Any) -> Any:
    """Fine grid behind the data, and no box around it."""
    ax.grid(True, color="#e3e3e3", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def unit_square(ax: Any) -> Any:
    """Both axes from 0 to 1, with a little room for what lies on the edge."""
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ticks = np.linspace(0.0, 1.0, 6)
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    return ax


def thin(x: np.ndarray, y: np.ndarray, pixels: int) -> np.ndarray:
    """Which points of a line in the unit square to draw: the first of each pixel, and the last."""
    cell = np.round(x * pixels) * (pixels + 1) + np.round(y * pixels)
    keep = np.concatenate([[True], np.diff(cell) != 0])
    keep[-1] = True
    return keep


def bar_edges(is_pos: np.ndarray, scores: np.ndarray, bars: int) -> np.ndarray:
    """Edges of the bars of a histogram; the outer half percents of a class belong to the end bars."""
    ends = np.array([np.quantile(scores[of], [0.005, 0.995]) for of in (is_pos, ~is_pos)])
    low, high = ends[:, 0].min(), ends[:, 1].max()
    return np.linspace(low, high, bars + 1) if low < high else np.linspace(low - 0.5, high + 0.5, bars + 1)
