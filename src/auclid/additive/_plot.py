"""Shapes drawn with matplotlib: one panel a column, ordered by importance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from auclid.additive._shapes import PairShape, Shape

BAND = 1.96
"""Standard errors on either side of a shape: a 95 % band."""

PANEL = (3.4, 2.6)


def by_importance(shapes: Sequence[Shape | PairShape], most: int | None = None) -> list[Shape | PairShape]:
    """The records whose contributions vary the most, first."""
    return sorted(shapes, key=lambda shape: -shape.importance)[:most]


def plot_shapes(shapes: Sequence[Shape | PairShape], axes: Any = None, most: int | None = 12) -> Any:
    """Draw shapes into given axes, or a new figure; returns the array of axes."""
    chosen = by_importance(shapes, most)
    if axes is None:
        axes = _new_axes(len(chosen))
    flat = np.ravel(np.asarray(axes, dtype=object))
    if len(flat) < len(chosen):
        chosen = chosen[: len(flat)]
    for axis, shape in zip(flat, chosen, strict=False):
        if isinstance(shape, PairShape):
            _draw_pair(axis, shape)
        elif shape.knots is None:
            _draw_levels(axis, shape)
        else:
            _draw_line(axis, shape)
    for axis in flat[len(chosen) :]:
        axis.set_axis_off()
    return axes


def _new_axes(count: int) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("matplotlib draws plots, and is not installed: pip install 'auclid[plot]'.") from None
    columns = min(3, max(count, 1))
    rows = -(-max(count, 1) // columns)
    size = PANEL[0] * columns, PANEL[1] * rows
    return plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)[1]


def _draw_line(axis: Any, shape: Shape) -> None:
    assert shape.knots is not None
    x: Any = shape.knots
    if shape.kind == "date":
        x = np.datetime64("1970-01-01", "s") + (shape.knots * 86400).astype("timedelta64[s]")
    _distribution(axis, x, shape)
    if shape.error is not None:
        low, high = shape.values - BAND * shape.error, shape.values + BAND * shape.error
        axis.fill_between(x, low, high, alpha=0.2, lw=0, color="C0")
    axis.plot(x, shape.values, color="C0", marker="." if len(x) <= 2 else None)
    if shape.missing:
        axis.axhline(shape.missing, color="C1", ls=":", lw=1)
        axis.annotate("missing", (0.02, shape.missing), xycoords=("axes fraction", "data"), color="C1", fontsize=7)
    axis.axhline(0.0, color="0.6", lw=0.6)
    axis.set_title(shape.name, fontsize=9)


def _distribution(axis: Any, x: Any, shape: Shape) -> None:
    """Where the training rows are: the share of each knot, as grey bars in the lower quarter."""
    below = axis.twinx()
    middle = x[:-1] + (x[1:] - x[:-1]) / 2
    edges = np.concatenate([x[:1], middle, x[-1:]])
    if len(x) > 1:
        below.bar(edges[:-1], shape.share, width=edges[1:] - edges[:-1], align="edge", color="0.85", lw=0)
    below.set_ylim(0.0, 4.0 * max(shape.share.max(initial=0.0), 1e-9))
    below.set_yticks([])
    below.set_zorder(-1)
    axis.patch.set_visible(False)


def _draw_levels(axis: Any, shape: Shape) -> None:
    levels = shape.levels or []
    order = np.argsort(shape.values)
    error = None if shape.error is None else BAND * shape.error[order]
    axis.barh(np.arange(len(order)), shape.values[order], xerr=error, color="C0", alpha=0.6, ecolor="C0")
    words = [f"{levels[k]} ({shape.share[k]:.0%})" for k in order]
    axis.set_yticks(np.arange(len(order)), words, fontsize=7)
    axis.axvline(0.0, color="0.6", lw=0.6)
    axis.set_title(shape.name, fontsize=9)


def _draw_pair(axis: Any, shape: PairShape) -> None:
    most = max(float(np.abs(shape.values).max()), 1e-12)
    axis.imshow(shape.values.T, origin="lower", aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most)
    for side, mark in ((0, axis.set_xticks), (1, axis.set_yticks)):
        knots, levels = shape.knots[side], shape.levels[side]
        words = [f"{value:.3g}" for value in knots] if levels is None else list(levels)
        mark(np.arange(len(words)), words, fontsize=7)
    axis.set_xlabel(shape.name[0], fontsize=8)
    axis.set_ylabel(shape.name[1], fontsize=8)
    axis.set_title(" × ".join(shape.name), fontsize=9)
