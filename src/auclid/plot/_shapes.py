"""The shapes of an additive ranker: what each column adds to the score."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from auclid._rounding import compact
from auclid.plot._axes import DASHED, FAINT, STYLES, axes, pyplot, tidy
from auclid.plot._views import label_on_right, rate_bars, rows_of, tick_text, view_of

MOST = 9
"""Shapes drawn where none are named: those that move the score most."""

Z = 1.96
"""Standard errors on each side of a shape that its band reaches."""

MOST_LEVELS = 14
"""Levels of a category that are drawn: those of the most rows."""


def shapes(model: Any, columns: Any = None, *, ax: Any = None) -> Any:
    """The shapes of a fitted `Scorecard`: what each value of a column adds to the score, with 95 % bands.

    A dotted line is what a missing value adds; the grid of two columns is the brighter, the more they add together. The
    axis of a column shows its central 98 %, on a scale that spreads heavy tails; ticks at the foot are where its rows
    lie, and of a fitted model grey bars are the rates of positives (right axis).

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
    counts = counts_by_name(getattr(model, "shapes_", []), getattr(model, "_counts", None))
    if len(chosen) == 1:
        return draw(axes(ax, 4.6, 3.6), chosen[0], counts.get(_names(chosen[0])))
    across = min(3, len(chosen))
    down = -(-len(chosen) // across)
    ax = axes(ax, 3.6 * across, 3.1 * down)
    ax.set_axis_off()
    for place, record in zip(_places(ax, down, across), chosen, strict=False):
        draw(place, record, counts.get(_names(record)))
    return ax


def panels(records: Any, into: Any, most: int | None, counts: Any) -> Any:
    """The records that move the score most, each in one of the axes given or of a new figure; returns the axes."""
    chosen, counted = sorted(records, key=_moved, reverse=True)[:most], counts_by_name(records, counts)
    if into is None:
        across = min(3, max(len(chosen), 1))
        down = -(-max(len(chosen), 1) // across)
        size = 3.6 * across, 2.9 * down
        into = pyplot().subplots(down, across, figsize=size, layout="constrained", squeeze=False)[1]
    flat = np.ravel(np.asarray(into, dtype=object))
    for axis, record in zip(flat, chosen, strict=False):
        draw(axis, record, counted.get(_names(record)))
    for axis in flat[len(chosen) :]:
        axis.set_axis_off()
    return into


def counts_by_name(records: Any, counts: Any) -> dict[tuple[str, ...], Any]:
    """The counted rows of each column of a card, where it has some."""
    return {} if counts is None else dict(zip(map(_names, records), counts.columns, strict=False))


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
            f"plot.shapes expects a fitted Scorecard, or its shapes_. Got a {type(records).__name__} instead."
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


def draw(ax: Any, record: Any, counts: Any = None) -> Any:
    """One shape: a line with its band, bars, or a grid; behind a line, where the rows are and their rates."""
    names, values = _names(record), np.asarray(_get(record, "values"), dtype=float)
    if len(names) == 2:
        return _grid(ax, record, names, values)
    error, share = (_numbers(_get(record, field)) for field in ("error", "share"))
    tidy(ax)
    if _get(record, "levels") is None:
        _line(ax, record, values, error, counts)
    else:
        _bars(ax, [str(level) for level in _get(record, "levels")], values, error, share)
    ax.set_title(names[0], fontsize="medium")
    ax.tick_params(labelsize="small")
    return ax


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


def _line(ax: Any, record: Any, values: np.ndarray, error: np.ndarray | None, counts: Any) -> None:
    """What a number adds: straight between knots, or with a jump halfway."""
    x, kind = np.asarray(_get(record, "knots"), dtype=float), _get(record, "kind")
    view = view_of(*rows_of(x, _get(record, "share"), counts))
    _rows_behind(ax, view, *rows_of(x, _get(record, "share"), counts), counts)
    along, at = outline(x, _get(record, "steps"))
    if view.low < along[0]:
        along, at = np.append(view.low, along), np.append(at[0], at)
    if view.high > along[-1]:
        along, at = np.append(along, view.high), np.append(at, at[-1])
    reach = np.zeros(len(at)) if error is None else Z * error[at]
    if error is not None:
        STYLES[0].band(ax, along, values[at] - reach, values[at] + reach)
    ax.axhline(0.0, **DASHED)
    ax.plot(along, values[at], color=STYLES[0].color)
    inside = (along >= view.low) & (along <= view.high)
    missing = _mark_missing(ax, _get(record, "missing"), view.forward(along[inside]), values[at][inside])
    seen = np.concatenate([(values[at] - reach)[inside], (values[at] + reach)[inside], [0.0, missing]])
    room = 0.08 * float(np.ptp(seen)) or 0.5
    ax.set_ylim(float(seen.min()) - 2.0 * room, float(seen.max()) + room)
    if view.unit is not None:
        ax.set_xscale("function", functions=(view.forward, view.inverse))
    ax.set_xlim(view.low, view.high)
    ticks = view.ticks() if kind != "date" else [view.low + t * (view.high - view.low) for t in (0.1, 0.5, 0.9)]
    ax.set_xticks(ticks, [tick_text(kind, tick) for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set(xlabel=_names(record)[0], ylabel="adds to the score")


def _mark_missing(ax: Any, missing: Any, places: np.ndarray, values: np.ndarray) -> float:
    """Draw a line at what a missing value adds, where it adds something; returns that.

    Its label stands where the curve, through ``values`` at ``places``, is farther away.
    """
    value = 0.0 if missing is None or not np.isfinite(float(missing)) else float(missing)
    if value != 0.0:
        ax.axhline(value, color=STYLES[1].color, linewidth=1.1, linestyle=":")
        right = label_on_right(places, values, value)
        side = {"ha": "right" if right else "left", "va": "bottom", "fontsize": "x-small"}
        box = {"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5}
        ax.annotate("missing", (0.98 if right else 0.02, value), xycoords=("axes fraction", "data"), bbox=box, **side)
    return value


def _rows_behind(ax: Any, view: Any, x: np.ndarray, weight: np.ndarray, counts: Any) -> None:
    """A rug of where rows lie, and the rates of positives of a few bins on a right axis."""
    near = x[(weight > 0.0) & (x >= view.low) & (x <= view.high)]
    ax.plot(near, np.zeros(len(near)), "|", color="0.55", markersize=4, transform=ax.get_xaxis_transform(), zorder=1)
    if counts is None or counts.edges is None or not len(counts.edges):
        return
    behind = ax.twinx()
    bars = rate_bars(counts, view)
    for low, high, rate in bars:
        behind.bar(low, rate, width=high - low, align="edge", color="0.92", edgecolor="white", linewidth=0.5)
    most = max((rate for *_, rate in bars), default=1.0) or 1.0
    behind.set_ylim(0.0, 2.2 * most)
    behind.set_yticks([most], [f"{most:.0%}" if most >= 0.1 else f"{most:.1%}"])
    behind.tick_params(labelsize="x-small", length=0, colors="0.5")
    for side in ("top", "right", "left", "bottom"):
        behind.spines[side].set_visible(False)
    behind.set_zorder(-1)
    ax.patch.set_visible(False)


def _bars(ax: Any, levels: list[str], values: np.ndarray, error: np.ndarray | None, share: np.ndarray | None) -> None:
    """What each level adds, the least first; with the share of the training rows that have it."""
    order = np.argsort(values, kind="stable")
    if share is not None and len(order) > MOST_LEVELS:
        order = order[np.isin(order, np.argsort(-share, kind="stable")[:MOST_LEVELS])]
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
        words = [_short(list(marks)[k]) for k in some]
        axis.set_ticks(some, words, fontsize="x-small")
        if axis is ax.xaxis and max(map(len, words)) > 6:
            axis.set_tick_params(rotation=25)
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
    is_number = isinstance(mark, (int, float, np.number)) and not isinstance(mark, bool)
    text = compact(float(f"{mark:.3g}")) if is_number else str(mark)
    return text if len(text) <= 18 else text[:17] + "…"
