"""A scorecard as one HTML page: shapes, points and how to read them; nothing is fetched."""

from collections.abc import Sequence
from html import escape

import numpy as np

from auclid._page import page as whole_page
from auclid._page.svg import HEIGHT, Frame, nice, text
from auclid.additive._counts import CardCounts, ColumnCounts
from auclid.additive._points import Bin
from auclid.additive._shapes import PairShape, Shape, by_importance
from auclid.plot._shapes import Z, counts_by_name, outline
from auclid.plot._views import View, label_on_right, rate_bars, rows_of, tick_text, view_of

BAR_HEIGHT = 22
"""The height of a level's bar."""

LETTER_WIDTH, MAX_LABEL_LETTERS = 8.2, 24
"""The width of a letter, on a phone, and how many of a level's name have room beside its bar."""


def scorecard_page(
    title: str,
    facts: Sequence[str],
    shapes: Sequence[Shape | PairShape],
    bins: Sequence[Bin],
    counts: CardCounts | None = None,
) -> str:
    """The page, as text."""
    rows = counts_by_name(shapes, counts)
    chosen = [shape for shape in by_importance(shapes) if shape.importance > 0.0]
    drawn = ((escape(shape_title(shape)), shape_figure(shape, rows.get((shape_title(shape),)))) for shape in chosen)
    figures = "".join(f"<section><h2>{name}</h2><figure>{figure}</figure></section>" for name, figure in drawn)
    idle = [shape_title(shape) for shape in shapes if shape.importance <= 0.0]
    rest = f"<p class='caption'>Add nothing: {escape(', '.join(idle))}.</p>" if idle else ""
    lines = "".join(f"<li>{escape(fact)}</li>" for fact in facts)
    return whole_page(
        escape(title),
        f"<header><h1>{escape(title)}</h1><ul class='facts'>{lines}</ul></header><main>{figures}"
        f"<section class='wide'><h2>Points</h2>{_table(bins)}"
        "<p class='caption'>The points of a row are those of the base, and those of its bin in every column, added up. "
        "Rows, rates, weights of evidence (WoE) and information values (IV) are of the training rows.</p>"
        f"{rest}</section></main>\n",
    )


def shape_title(shape: Shape | PairShape) -> str:
    """The name of the column, or of both."""
    return " × ".join(shape.name) if isinstance(shape.name, tuple) else shape.name


def shape_figure(shape: Shape | PairShape, counts: ColumnCounts | None = None) -> str:
    """The picture of a shape, as SVG; ``counts``: the training rows of its column."""
    if isinstance(shape, PairShape):
        return _heat_map(shape)
    return _bars(shape) if shape.knots is None else _line(shape, counts)


def _line(shape: Shape, counts: ColumnCounts | None) -> str:
    assert shape.knots is not None
    error = _reach(shape)
    x = shape.knots if len(shape.knots) > 1 else np.array([shape.knots[0], shape.knots[0] + 1.0])
    view = view_of(*rows_of(x, shape.share if len(shape.share) == len(x) else None, counts))
    along, at = outline(x, shape.steps if len(shape.knots) > 1 else None)
    v, e = np.broadcast_to(shape.values, x.shape)[at], np.broadcast_to(error, x.shape)[at]
    along, v, e = _within(view, along, v, e)
    low, high = _room(v, e, shape.missing)
    frame = Frame(tuple(view.forward([view.low, view.high]).tolist()), (low, high))
    places = view.forward(along)
    ticks = view.ticks()
    words = dict(zip(view.forward(ticks).tolist(), [tick_text(shape.kind, tick) for tick in ticks], strict=True))
    body = [frame.axes(shape.name, "adds to the score", words, nice(low, high), x_format=words.__getitem__)]
    body.append(_rates(frame, view, counts))
    body += [frame.band(places, v - e, v + e, "band ours"), frame.line(places, v, "line ours")]
    if shape.missing:
        body.append(frame.line(frame.x, [shape.missing, shape.missing], "chance rival"))
        right = label_on_right(places, v, shape.missing)
        at_end = float(frame.across(frame.x[right])) + (-4 if right else 4)
        body.append(text(at_end, float(frame.up(shape.missing)) - 4, "missing", "end" if right else "start"))
    return frame.svg(f"What {shape.name} adds", "".join(body))


def _within(view: View, along: np.ndarray, v: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The part of an outline that is in view, up to both ends of the axis."""
    inside = (along >= view.low) & (along <= view.high)
    ends = np.array([view.low, view.high])
    parts = [np.interp(ends, along, values) for values in (v, e)]
    new = [np.concatenate([part[:1], values[inside], part[1:]]) for part, values in zip(parts, (v, e), strict=True)]
    return np.concatenate([ends[:1], along[inside], ends[1:]]), new[0], new[1]


def _rates(frame: Frame, view: View, counts: ColumnCounts | None) -> str:
    """The rates of positives of a few bins, as bars at the foot."""
    if counts is None or counts.edges is None or not len(counts.edges):
        return ""
    bars, foot = rate_bars(counts, view), float(frame.up(frame.y[0]))
    most = max((rate for *_, rate in bars), default=0.0) or 1.0
    out = []
    for low, high, rate in bars:
        a, b = (float(frame.across(float(view.forward(x)))) for x in (low, high))
        h = 90.0 * rate / most
        out.append(
            f'<rect class="band" x="{a:.1f}" y="{foot - h:.1f}" width="{max(b - a - 1.0, 1.0):.1f}" '
            f'height="{h:.1f}"><title>{rate:.1%} positive</title></rect>'
        )
    return "".join(out)


def _reach(shape: Shape) -> np.ndarray:
    """How far the band of each value goes on either side."""
    return np.zeros_like(shape.values) if shape.error is None else Z * shape.error


def _room(values: np.ndarray, error: np.ndarray, missing: float) -> tuple[float, float]:
    """From where to where a shape and its band go, with some room."""
    ends = np.concatenate([values - error, values + error, [0.0, missing]])
    low, high = float(ends.min()), float(ends.max())
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room


def _bars(shape: Shape) -> str:
    levels, order, error = shape.levels or [], np.argsort(-shape.values), _reach(shape)
    low, high = _room(shape.values, error, shape.missing)
    lines = [(_named(str(levels[k]), float(shape.share[k])), float(shape.values[k]), float(error[k])) for k in order]
    lines += [("missing", shape.missing, 0.0)] * bool(shape.missing)
    left = 12.0 + LETTER_WIDTH * max(len(word) for word, *_ in lines)
    frame = Frame((low, high), (0.0, float(len(lines))), left=left, height=52 + BAR_HEIGHT * len(lines))
    body = [frame.axes("adds to the score", "", nice(low, high, 3), ())]
    for k, (word, value, reach) in enumerate(lines):
        y = float(frame.up(len(lines) - k - 0.2))
        a, b = sorted((float(frame.across(0.0)), float(frame.across(value))))
        body.append(f'<rect class="bars ours" x="{a:.1f}" y="{y:.1f}" width="{b - a:.1f}" height="{BAR_HEIGHT - 8}"/>')
        if reach > 0.0:
            a, b = (float(frame.across(value + side * reach)) for side in (-1.0, 1.0))
            body.append(f'<path class="line ours" d="M{a:.1f} {y + BAR_HEIGHT / 2 - 4:.1f}H{b:.1f}"/>')
        body.append(text(left - 6.0, y + 11, word, "end"))
    return frame.svg(f"What {shape.name} adds", "".join(body))


def _named(level: str, share: float) -> str:
    """A level's name, as much of it as there is room for, and its share of the rows."""
    percent = f" ({share:.1%})"
    room = MAX_LABEL_LETTERS - len(percent)
    return (level if len(level) <= room else level[: room - 1] + "…") + percent


def _heat_map(shape: PairShape) -> str:
    most = max(float(np.abs(shape.values).max()), 1e-12)
    rows, columns = shape.values.shape
    frame = Frame((0.0, float(rows)), (0.0, float(columns)), left=90)
    body = []
    for i in range(rows):
        for j in range(columns):
            a, b = float(frame.across(i)), float(frame.across(i + 1))
            top, foot = float(frame.up(j + 1)), float(frame.up(j))
            value = float(shape.values[i, j])
            css = "pos" if value > 0 else "rival"
            body.append(
                f'<rect x="{a:.1f}" y="{top:.1f}" width="{b - a:.1f}" height="{foot - top:.1f}" '
                f'fill="var(--{css})" fill-opacity="{abs(value) / most:.2f}"><title>{value:+.3f}</title></rect>'
            )
    for side, count in ((0, rows), (1, columns)):
        for k, word in enumerate(_words(shape, side)[:count]):
            if side == 0:
                body.append(text(float(frame.across(k + 0.5)), HEIGHT - 24, word, "middle"))
            else:
                body.append(text(84, float(frame.up(k + 0.5)) + 4, word, "end"))
    body.append(text(250, HEIGHT - 6, str(shape.name[0]), "middle", "label"))
    body.append(text(8, 12, str(shape.name[1]), "start", "label"))
    return frame.svg(f"What {shape_title(shape)} adds", "".join(body))


def _words(shape: PairShape, side: int) -> list[str]:
    knots, levels = shape.knots[side], shape.levels[side]
    return [f"{value:.3g}" for value in knots] if levels is None else [str(level) for level in levels]


def _table(bins: Sequence[Bin]) -> str:
    counted = any(np.isfinite(line.rows) for line in bins)
    names = ["column", "bin", "points", *(["rows", "positives", "rate", "WoE", "IV"] if counted else [])]
    head = "".join(f"<th>{name}</th>" for name in names)
    lines = "".join(_row(line, counted) for line in bins)
    return (
        f"<div class='scroll'><table class='numbers'><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _row(line: Bin, counted: bool) -> str:
    numbers = [f"{line.points:g}"]
    if counted and np.isfinite(line.rows):
        numbers += [f"{line.rows:,.6g}", f"{line.positives:,.6g}", f"{line.rate:.1%}" if np.isfinite(line.rate) else ""]
        numbers += [f"{line.woe:z.2f}", f"{line.iv:z.3f}"]
    elif counted:
        numbers += [""] * 5
    cells = "".join(f"<td>{number}</td>" for number in numbers)
    return f"<tr><th scope='row'>{escape(line.column)}</th><td>{escape(line.bin)}</td>{cells}</tr>"
