"""The shapes of an additive ranker: what each column adds to the score."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from auclid.plot._axes import FAINT, STYLES, axes, tidy

MOST = 9
"""Shapes drawn where none are named: those that move the score most."""

Z = 1.96
"""Standard errors on each side of a shape that its band reaches."""


def shapes(model: Any, columns: Any = None, *, ax: Any = None) -> Any:
    """The shapes of a fitted `Scorecard`: what each value of a column adds to the score, with 95 % bands.

    A dotted line is what a missing value adds; the grid of two columns is the brighter, the more they add together.

    Parameters
    ----------
    model : Scorecard, or a list of its records ``shapes_``
        Each record has name, kind, knots or levels, values and missing; one of an interaction two names and a grid.
    columns : name or list of names, optional
        Which columns; else the nine that move the score most. Of several, each has a small axis in the place of
        the one returned.
    ax : matplotlib axis, optional
        Where to draw; else in a new figure.

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> from auclid import plot
    >>> record = {"name": "age", "kind": "numeric", "knots": [20, 40, 60], "values": [-1, 0, 2], "missing": 0.5}
    >>> plot.shapes([record]).get_xlabel()
    'age'

    References
    ----------
    Hastie & Tibshirani (1990), Generalized additive models.
    """
    chosen = _chosen(getattr(model, "shapes_", model), columns)
    if len(chosen) == 1:
        return draw(axes(ax, 4.6, 3.6), chosen[0])
    across = min(3, len(chosen))
    down = -(-len(chosen) // across)
    ax = axes(ax, 3.6 * across, 3.1 * down)
    ax.set_axis_off()
    for place, record in zip(_places(ax, down, across), chosen, strict=False):
        draw(place, record)
    return ax


def _places(ax: Any, down: int, across: int) -> Iterator[Any]:
    """Small axes where one was: by the layout of its figure, or inside it where it has none."""
    spec = ax.get_subplotspec()
    grid = None if spec is None else spec.subgridspec(down, across)
    for row in range(down):
        for column in range(across):
            if grid is not None:
                yield ax.figure.add_subplot(grid[row, column])
            else:
                corner = (column + 0.2) / across, 1.0 - (row + 0.8) / down
                yield ax.inset_axes((*corner, 0.7 / across, 0.62 / down))


def _get(record: Any, field: str, default: Any = None) -> Any:
    return record.get(field, default) if isinstance(record, dict) else getattr(record, field, default)


def _names(record: Any) -> tuple[str, ...]:
    name = _get(record, "names", None) or _get(record, "name")
    return tuple(map(str, name)) if isinstance(name, (tuple, list)) else (str(name),)


def _chosen(records: Any, columns: Any) -> list[Any]:
    if not isinstance(records, (list, tuple)) or not records:
        raise ValueError(
            "plot.shapes expects a fitted Scorecard, or its shapes_. "
            f"Got a {type(records).__name__} instead."
        )
    if columns is None:
        return sorted(records, key=_moved, reverse=True)[:MOST]
    wanted = [columns] if isinstance(columns, str) or np.ndim(columns) == 0 else list(columns)
    if not wanted:
        raise ValueError("plot.shapes expects the name of a column or a list of names. Got an empty list instead.")
    by_name = {" × ".join(_names(record)): record for record in records}
    missing = [str(name) for name in wanted if str(name) not in by_name]
    if missing:
        raise ValueError(f"plot.shapes expects some of the columns {', '.join(by_name)}. Got {missing[0]!r} instead.")
    return [by_name[str(name)] for name in wanted]


def _moved(record: Any) -> float:
    """How much a shape moves the score: over the training rows where that is known, else at the most."""
    known = _get(record, "importance")
    return float(np.ptp(np.asarray(_get(record, "values"), dtype=float)) if known is None else known)


def draw(ax: Any, record: Any) -> Any:
    """One shape: a line with its band, bars, or a grid; grey bars below tell where the training rows are."""
    names, values = _names(record), np.asarray(_get(record, "values"), dtype=float)
    if len(names) == 2:
        return _grid(ax, record, names, values)
    error, share = (_numbers(_get(record, field)) for field in ("error", "share"))
    if _get(record, "levels") is None:
        _line(ax, record, values, error, share)
    else:
        _bars(ax, [str(level) for level in _get(record, "levels")], values, error, share)
    ax.set_title(names[0], fontsize="medium")
    ax.tick_params(labelsize="small")
    return tidy(ax)


def _numbers(values: Any) -> np.ndarray | None:
    return None if values is None else np.asarray(values, dtype=float)


def outline(x: Any, steps: Any) -> tuple[Any, np.ndarray]:
    """Where a shape is drawn, and the number of the knot whose value it has there; a jump is two points halfway.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.plot._shapes import outline
    >>> outline(np.array([0.0, 2.0, 3.0]), np.array([True, False, False]))
    (array([0., 1., 1., 2., 3.]), array([0, 0, 1, 1, 2]))
    """
    knots = np.arange(len(x))
    jumps = np.zeros(0, dtype=np.intp) if steps is None else np.flatnonzero(np.asarray(steps, dtype=bool)[:-1])
    middle = x[jumps] + (x[jumps + 1] - x[jumps]) / 2
    order = np.argsort(np.concatenate([knots, jumps + 0.3, jumps + 0.6]), kind="stable")
    return np.concatenate([x, middle, middle])[order], np.concatenate([knots, jumps, jumps + 1])[order]


def _line(ax: Any, record: Any, values: np.ndarray, error: np.ndarray | None, share: np.ndarray | None) -> None:
    """What a number adds: straight between knots, or with a jump halfway."""
    x: Any = np.asarray(_get(record, "knots"), dtype=float)
    if _get(record, "kind") == "date":
        x = np.datetime64("1970-01-01", "s") + (x * 86400).astype("timedelta64[s]")
    if share is not None and len(x) > 1:
        _distribution(ax, x, share)
    look, missing = STYLES[0], _get(record, "missing")
    along, at = outline(x, _get(record, "steps"))
    if error is not None:
        reach = Z * error[at]
        ax.fill_between(along, values[at] - reach, values[at] + reach, color=look.color, alpha=0.15, linewidth=0)
    ax.axhline(0.0, color=FAINT, linewidth=0.9, linestyle=(0, (4, 4)))
    ax.plot(along, values[at], color=look.color, marker=look.marker if len(x) <= 2 else ".", markersize=4)
    if missing is not None and np.isfinite(float(missing)) and float(missing) != 0.0:
        ax.axhline(float(missing), color=STYLES[1].color, linewidth=1.1, linestyle=":")
        place = (0.02, float(missing))
        ax.annotate("missing", place, xycoords=("axes fraction", "data"), fontsize="x-small", va="bottom")
    ax.set(xlabel=_names(record)[0], ylabel="adds to the score")


def _distribution(ax: Any, x: Any, share: np.ndarray) -> None:
    """Where the training rows are: the share of each knot, as grey bars in the lower quarter."""
    below = ax.twinx()
    edges = np.concatenate([x[:1], x[:-1] + (x[1:] - x[:-1]) / 2, x[-1:]])
    below.bar(edges[:-1], share, width=edges[1:] - edges[:-1], align="edge", color="0.88", linewidth=0)
    below.set_ylim(0.0, 4.0 * max(float(share.max()), 1e-9))
    below.set_axis_off()
    below.set_zorder(-1)
    ax.patch.set_visible(False)


def _bars(
    ax: Any, levels: list[str], values: np.ndarray, error: np.ndarray | None, share: np.ndarray | None
) -> None:
    """What each level adds, the least first; with the share of the training rows that have it."""
    order = np.argsort(values, kind="stable")
    at = np.arange(len(order))
    reach = None if error is None else Z * error[order]
    ax.barh(at, values[order], xerr=reach, color=STYLES[0].color, ecolor="#1a1a1a", height=0.6)
    words = [_short(levels[k]) + ("" if share is None else f" ({share[k]:.0%})") for k in order]
    ax.set_yticks(at, words)
    ax.axvline(0.0, color=FAINT, linewidth=0.9)
    ax.set_xlabel("adds to the score")


def _grid(ax: Any, record: Any, names: tuple[str, ...], values: np.ndarray) -> Any:
    """An interaction: the brighter, the more it adds."""
    across, up = (_marks(record, k, values.shape[k]) for k in (0, 1))
    image = ax.pcolormesh(range(values.shape[0]), range(values.shape[1]), values.T, cmap="cividis", shading="nearest")
    for axis, marks, ticks in ((ax.xaxis, across, values.shape[0]), (ax.yaxis, up, values.shape[1])):
        some = range(0, ticks, -(-ticks // 5))  # labels of all cells would lie on one another
        axis.set_ticks(some, [_short(list(marks)[k]) for k in some], fontsize="x-small")
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.set_title(" × ".join(names), fontsize="medium")
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.08)
    bar.ax.tick_params(labelsize="x-small")
    return ax


def _marks(record: Any, k: int, count: int) -> Any:
    """What stands at the cells of one side of a grid: levels, knots, or numbers."""
    for field in ("levels", "knots"):
        both = _get(record, field)
        if both is not None and both[k] is not None:
            return both[k]
    return range(count)


def _short(mark: Any) -> str:
    text = f"{mark:.3g}" if isinstance(mark, (int, float, np.number)) and not isinstance(mark, bool) else str(mark)
    return text if len(text) <= 18 else text[:17] + "…"
