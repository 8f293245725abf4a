"""Shapes drawn with matplotlib: one panel a column, ordered by importance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from auclid.additive._shapes import PairShape, Shape
from auclid.plot._shapes import counts_by_name, draw

PANEL = (3.6, 2.9)


def by_importance(shapes: Sequence[Shape | PairShape], most: int | None = None) -> list[Shape | PairShape]:
    """The records whose contributions vary the most, first."""
    return sorted(shapes, key=lambda shape: -shape.importance)[:most]


def plot_shapes(
    shapes: Sequence[Shape | PairShape], axes: Any = None, most: int | None = 12, counts: Any = None
) -> Any:
    """Draw shapes into given axes, or a new figure; returns the array of axes."""
    chosen = by_importance(shapes, most)
    rows = counts_by_name(shapes, counts)
    if axes is None:
        axes = _new_axes(len(chosen))
    flat = np.ravel(np.asarray(axes, dtype=object))
    if len(flat) < len(chosen):
        chosen = chosen[: len(flat)]
    for axis, shape in zip(flat, chosen, strict=False):
        draw(axis, shape, None if isinstance(shape, PairShape) else rows.get((str(shape.name),)))
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
