"""Figures drawn from our runs, as SVG: curves with their spread, and box plots."""

from collections.abc import Iterable
from html import escape

import numpy as np

from auclid._page import style
from auclid._page.svg import BOTTOM, HEIGHT, TOP, WIDTH, Frame, nice, text
from auclid_papers.definitions import Experiment
from auclid_papers.record import Row

DECADES = 1.5
"""An axis that spans more powers of ten than this is a logarithmic one."""

COLOURS = 8


def draw(one: Experiment, rows: list[Row]) -> dict[str, str]:
    """{dataset: SVG} of a figure's experiment, from the rows of its record.

    Parameters
    ----------
    one : Experiment
        Its ``kind`` is "curve" or "box"; its ``figure`` names the axes as ``x`` and ``y``.
    rows : list of dictionaries with dataset, method, run, x, y
    """
    plot = {"curve": curves, "box": boxes}[one.kind]
    x, y = (one.figure.get(axis, "") for axis in "xy")
    drawn = {}
    for dataset in one.datasets:
        some = [row for row in rows if row["dataset"] == dataset.published and row["y"] is not None]
        found = {m.name: [row for row in some if row["method"] == m.name] for m in one.methods}
        found = {name: mine for name, mine in found.items() if mine}
        if found:
            drawn[dataset.published] = plot(f"{one.title}: {dataset.published}", found, x, y)
    return drawn


def alone(svg: str) -> str:
    """An SVG as a file of its own, with the part of the style sheet that it needs."""
    paint = f"<style>svg {{ background: var(--card); font-family: sans-serif; }}\n{style('svg')}</style>"
    head, end, rest = svg.partition(">")
    return head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + end + paint + rest


def mean_curve(rows: list[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x, mean of y, deviation of y) over runs, point by point in the order of x; as far as every run goes."""
    runs: dict[int, list[tuple[float, float]]] = {}
    for row in sorted(rows, key=lambda row: row["x"]):
        runs.setdefault(row["run"], []).append((row["x"], row["y"]))
    shortest = min(map(len, runs.values()))
    x, y = np.array([points[:shortest] for points in runs.values()]).transpose(2, 0, 1)
    return x.mean(axis=0), y.mean(axis=0), y.std(axis=0, ddof=1) if len(y) > 1 else np.zeros(shortest)


def curves(title: str, found: dict[str, list[Row]], x_label: str, y_label: str) -> str:
    """A line for each method: the mean of its runs, in a band of one standard deviation."""
    means = {name: mean_curve(rows) for name, rows in found.items()}
    x, y, spread = (np.concatenate(parts) for parts in zip(*means.values(), strict=True))
    log, up = _is_log(x), _room(y - spread, y + spread)
    frame = Frame(_wide(x, log), up, log=log, below=20 * -(-len(means) // 2) + 4)
    body, marks = [_axes(frame, x_label, y_label, nice(*up))], []
    for k, (name, (x, y, spread)) in enumerate(means.items()):
        css, low, high = f"c{k % COLOURS}", np.maximum(y - spread, up[0]), np.minimum(y + spread, up[1])
        edge = np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]])
        body.append(f'<path class="band {css}" d="{frame.path(*edge)}Z"/>')
        body.append(f'<path class="line {css}" d="{frame.path(x, y)}"><title>{escape(name)}</title></path>')
        at = (2 * k + 1) * len(x) // (2 * len(means))  # staggered, since curves often end at one place
        marks.append(_mark(float(frame.across(x[at])), float(frame.up(y[at])), k))
        marks.append(_legend(k, name))
    return frame.svg(title, "".join(body + marks))


def _mark(x: float, y: float, k: int) -> str:
    dot = f'<circle class="dot solid c{k % COLOURS}" cx="{x:.1f}" cy="{y:.1f}" r="8"/>'
    return dot + text(x, y + 4, str(k + 1), "middle", "inside")


def _legend(k: int, name: str) -> str:
    x, y = 24 + (k % 2) * WIDTH / 2, HEIGHT + 12 + 20 * (k // 2)
    line = f'<path class="line c{k % COLOURS}" d="M{x + 12:.1f} {y:.1f}L{x + 44:.1f} {y:.1f}"/>'
    return line + _mark(x, y, k) + text(x + 50, y + 4, name, "start", "name")


def boxes(title: str, found: dict[str, list[Row]], x_label: str, y_label: str) -> str:
    """A box for each method: median, quartiles, and whiskers to the last points within 1.5 box lengths."""
    groups: dict[str, np.ndarray] = {}
    for name, rows in found.items():
        for x in sorted({row["x"] for row in rows}, key=lambda x: (x is not None, x)):
            label = name if x is None else f"{name}, {x_label} {x:g}"
            groups[label] = np.array([row["y"] for row in rows if row["x"] == x])
    every = np.concatenate(list(groups.values()))
    log, height = _is_log(every), TOP + BOTTOM + 38 * len(groups)
    frame = Frame(_wide(every, log), (0.0, len(groups)), left=14, height=height, log=log)
    body = [_axes(frame, y_label, "", ())]
    body += [_box(frame, values, len(groups) - k - 0.68, name) for k, (name, values) in enumerate(groups.items())]
    return frame.svg(title, "".join(body))


def _box(frame: Frame, values: np.ndarray, level: float, name: str) -> str:
    first, middle, third = np.quantile(values, [0.25, 0.5, 0.75])
    reach = 1.5 * (third - first)
    inside = values[(values >= first - reach) & (values <= third + reach)]
    y = float(frame.up(level))
    a, b, c, d, e = (float(frame.across(v)) for v in (inside.min(), first, middle, third, inside.max()))
    outside = values[(values < first - reach) | (values > third + reach)]
    dots = "".join(f'<circle class="dot" cx="{frame.across(v):.1f}" cy="{y:.1f}" r="2.5"/>' for v in outside)
    label = f"{name}: median {middle:.4f}, half of {len(values)} runs between {first:.4f} and {third:.4f}"
    return (
        f'<g class="c0"><title>{escape(label)}</title>'
        f'<path class="line" d="M{a:.1f} {y:.1f}L{b:.1f} {y:.1f}M{d:.1f} {y:.1f}L{e:.1f} {y:.1f}"/>'
        f'<rect class="bars" x="{b:.1f}" y="{y - 7:.1f}" width="{max(d - b, 0.5):.1f}" height="14"/>'
        f'<path class="line" d="M{c:.1f} {y - 7:.1f}L{c:.1f} {y + 7:.1f}"/>{dots}</g>'
        + text(frame.left, y - 11, name, "start", "name")
    )


def _axes(frame: Frame, x_label: str, y_label: str, y_ticks: Iterable[float]) -> str:
    """Axes with round numbers on x, or the powers of ten."""
    if not frame.log:
        return frame.axes(x_label, y_label, nice(*frame.x), y_ticks)
    first, last = np.log10(frame.x)
    return frame.axes(f"{x_label} (log scale)", y_label, 10.0 ** np.arange(np.ceil(first), last + 1e-9), y_ticks)


def _is_log(x: np.ndarray) -> bool:
    return bool(x.min() > 0.0 and np.log10(x.max() / x.min()) > DECADES)


def _wide(x: np.ndarray, log: bool) -> tuple[float, float]:
    """The ends of an x axis."""
    low, high = float(x.min()), float(x.max())
    if log:
        return low / 1.1, high * 1.1
    room = 0.03 * (high - low) or 0.5
    return low - room, high + room


def _room(low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """The ends of an axis of values, which are never negative."""
    lowest, highest = float(np.min(low)), float(np.max(high))
    room = max(0.06 * (highest - lowest), 0.002)
    return max(lowest - room, 0.0), highest + room
