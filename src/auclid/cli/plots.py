"""The plots of a comparison."""

from html import escape

import numpy as np

from auclid._page.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Frame, nice, span, text
from auclid.cli.verdict import measured_by
from auclid.comparison import ComparedModel
from auclid.metrics._roc import roc_curve
from auclid.plot._axes import thin
from auclid.reports import curves


def roc_plot(
    is_pos: np.ndarray,
    rows: list[ComparedModel],
    best: ComparedModel | None,
    rival: ComparedModel | None,
    max_fpr: float = 1.0,
) -> str:
    """ROC curves of all models; bands around the best of ours and the best baseline; the region that counts."""
    frame, bands, lines = Frame((0.0, 1.0), (0.0, 1.0)), [], []
    ticks = np.linspace(0.0, 1.0, 6)
    for row in reversed(rows):
        curve, chosen = roc_curve(is_pos, row.scores), any(row is each for each in (best, rival))
        css = f"{'rival' if row.is_baseline else 'ours'} {'' if chosen else 'faint'}"
        if chosen:
            upper, lower = curves.band(curve)
            edge = np.concatenate([upper[0], lower[0][::-1]]), np.concatenate([upper[1], lower[1][::-1]])
            bands.append(f'<path class="band {css}" d="{frame.path(*edge)}Z"/>')
        keep = thin(curve.fpr, curve.tpr, curves.PIXELS)
        line = frame.path(curve.fpr[keep], curve.tpr[keep])
        lines.append(f'<path class="line {css}" d="{line}"><title>{escape(row.name)}</title></path>')
    chance = f'<path class="chance" d="{frame.path([0, 1], [0, 1])}"/>'
    if max_fpr < 1.0:
        box = frame.path([0, max_fpr, max_fpr, 0], [0, 0, 1, 1])
        chance += f'<path class="region" d="{box}Z"><title>{measured_by(max_fpr)}</title></path>'
    axes = frame.axes("false positive rate", "true positive rate", ticks, ticks)
    return frame.svg("ROC curves", axes + chance + "".join(bands + lines))


def _short(max_fpr: float) -> str:
    return "AUC" if max_fpr == 1.0 else f"partial AUC (FPR ≤ {max_fpr:g})"


def forest_plot(
    rows: list[ComparedModel], rival: ComparedModel | None, max_fpr: float = 1.0, label: str | None = None
) -> str:
    """The AUC of every model with its interval; the dashed line is the best baseline. ``label``: of the axis."""
    low, high = span([row.low for row in rows] + [row.high for row in rows])
    height = TOP + BOTTOM + 30 * len(rows)
    frame = Frame((low, high), (0.0, len(rows)), left=14, height=height)
    body = [frame.axes(label or f"{_short(max_fpr)} with 95 % interval", "", nice(low, high), ())]
    if rival is not None:
        at = float(frame.across(rival.auc))
        body.append(f'<line class="chance" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>')
    for k, row in enumerate(rows):
        y = float(frame.up(len(rows) - k - 0.68))
        a, b, c = (float(frame.across(x)) for x in (row.low, row.high, row.auc))
        css = "rival" if row.is_baseline else "ours"
        body.append(f'<line class="line {css}" x1="{a:.1f}" x2="{b:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        body.append(f'<circle class="dot {css}" cx="{c:.1f}" cy="{y:.1f}" r="4.5"/>')
        late = a > WIDTH / 2.0  # a name that begins on the right would leave the picture
        body.append(text(b if late else a, y - 8, f"{k + 1}  {row.name}", "end" if late else "start", "name"))
    return frame.svg("AUC intervals", "".join(body))


def time_plot(rows: list[ComparedModel], max_fpr: float = 1.0) -> str:
    """AUC against fit time; the numbers are those of the leaderboard."""
    low, high = span([row.auc for row in rows])
    times = [max(row.seconds, 1e-4) for row in rows]
    first, last = np.floor(np.log10(min(times)) - 0.1), np.ceil(np.log10(max(times)) + 0.1)
    frame = Frame((10.0**first, 10.0**last), (low, high), log=True)
    ticks = 10.0 ** np.arange(first, last + 1)
    body = [frame.axes("fit time, seconds (log scale)", _short(max_fpr), ticks, nice(low, high))]
    for k, row in reversed(list(enumerate(rows))):
        x, y = float(frame.across(times[k])), float(frame.up(row.auc))
        css = "rival" if row.is_baseline else "ours"
        label = f"<title>{escape(row.name)}: {_short(max_fpr)} {row.auc:.4f}, {row.seconds:.3f} s</title>"
        body.append(f'<circle class="dot {css}" cx="{x:.1f}" cy="{y:.1f}" r="9">{label}</circle>')
        body.append(text(x, y + 4, str(k + 1), "middle", "inside"))
    return frame.svg("AUC against fit time", "".join(body))


def histogram_plot(is_pos: np.ndarray, row: ComparedModel, threshold: float) -> str:
    """Scores of the positives and of the negatives, each as shares of its class, and the threshold."""
    edges, pos, neg = curves.histogram(is_pos, row.scores)
    top = 1.08 * max(pos.max(), neg.max())
    frame = Frame((edges[0], edges[-1]), (0.0, top))
    ticks = nice(edges[0], edges[-1]), nice(0.0, top, 4)
    body = [frame.axes("score", "share of the class", *ticks, y_format="{:.0%}".format)]
    for css, shares in (("neg", neg), ("pos", pos)):
        x, y = np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(shares, 2), [0.0]])
        body.append(f'<path class="bars {css}" d="{frame.path(x, y)}Z"/>')
    at = float(frame.across(np.clip(threshold, edges[0], edges[-1])))
    body.append(f'<line class="cut" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
    low, high = float(edges[0]), float(edges[-1])
    scale = f'data-low="{low}" data-high="{high}" data-left="{LEFT}" data-right="{WIDTH - RIGHT}"'
    return frame.svg(f"Scores by class, {row.name}", "".join(body), scale)
