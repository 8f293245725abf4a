"""The shapes of an additive ranker: what each column adds to the score."""

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
        Which columns; else the nine that move the score most. Of several, each has a small axis inside the one
        returned.
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
        return _draw(axes(ax, 4.6, 3.6), chosen[0])
    across = min(3, len(chosen))
    down = -(-len(chosen) // across)
    ax = axes(ax, 3.4 * across, 2.9 * down)
    ax.set_axis_off()
    for k, record in enumerate(chosen):
        row, column = divmod(k, across)
        left, bottom = (column + 0.14) / across, 1.0 - (row + 0.82) / down
        _draw(ax.inset_axes((left, bottom, 0.8 / across, 0.68 / down)), record, small=True)
    return ax


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
    wanted = [columns] if isinstance(columns, str) else list(columns)
    by_name = {" × ".join(_names(record)): record for record in records}
    missing = [str(name) for name in wanted if str(name) not in by_name]
    if missing:
        raise ValueError(f"plot.shapes expects some of the columns {', '.join(by_name)}. Got {missing[0]!r} instead.")
    return [by_name[str(name)] for name in wanted]


def _moved(record: Any) -> float:
    """How much a shape moves the score: over the training rows where that is known, else at the most."""
    known = _get(record, "importance")
    return float(np.ptp(np.asarray(_get(record, "values"), dtype=float)) if known is None else known)


def _draw(ax: Any, record: Any, small: bool = False) -> Any:
    names, values = _names(record), np.asarray(_get(record, "values"), dtype=float)
    if len(names) == 2:
        return _grid(ax, record, names, values)
    look, missing = STYLES[0], _get(record, "missing")
    knots, levels = _get(record, "knots"), _get(record, "levels")
    ax.axhline(0.0, color=FAINT, linewidth=0.9, linestyle=(0, (4, 4)))
    error = _get(record, "error")
    reach = np.zeros_like(values) if error is None else Z * np.asarray(error, dtype=float)
    if levels is None:
        ax.fill_between(np.asarray(knots, dtype=float), values - reach, values + reach, color=look.color, alpha=0.15)
        ax.plot(np.asarray(knots, dtype=float), values, color=look.color, marker=look.marker, markersize=3.5)
    else:
        at = np.arange(len(values))
        ax.barh(at, values, xerr=reach if error is not None else None, color=look.color, ecolor="#1a1a1a", height=0.6)
        ax.set_yticks(at, [_short(level) for level in list(levels)[: len(values)]])
        ax.invert_yaxis()
    if missing is not None and np.isfinite(float(missing)) and float(missing) != 0.0:
        line = ax.axhline if levels is None else ax.axvline
        line(float(missing), color=STYLES[1].color, linewidth=1.1, linestyle=":")
    ax.set_xlabel(names[0] if levels is None else f"adds to the score ({names[0]})")
    if levels is None and not small:
        ax.set_ylabel("adds to the score")
    ax.tick_params(labelsize="small")
    return tidy(ax)


def _grid(ax: Any, record: Any, names: tuple[str, ...], values: np.ndarray) -> Any:
    """An interaction: the brighter, the more it adds."""
    across, up = (_marks(record, k, values.shape[k]) for k in (0, 1))
    image = ax.pcolormesh(range(values.shape[0]), range(values.shape[1]), values.T, cmap="cividis", shading="nearest")
    for axis, marks, ticks in ((ax.xaxis, across, values.shape[0]), (ax.yaxis, up, values.shape[1])):
        axis.set_ticks(range(ticks), [_short(mark) for mark in list(marks)[:ticks]], fontsize="x-small")
    ax.set(xlabel=names[0], ylabel=names[1])
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
