"""The plots of a comparison."""

import numpy as np

from auclid._page.svg import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Frame, nice, span, text
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
            bands.append(frame.area(*curves.band(curve), f"band {css}"))
        keep = thin(curve.fpr, curve.tpr, curves.PIXELS)
        lines.append(frame.line(curve.fpr[keep], curve.tpr[keep], f"line {css}", row.name))
    chance = frame.line([0, 1], [0, 1], "chance")
    if max_fpr < 1.0:
        chance += frame.area([0, max_fpr, max_fpr, 0], [0, 0, 1, 1], "region", measured_by(max_fpr))
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
        body.append(frame.vertical(rival.auc, "chance"))
    for k, row in enumerate(rows):
        y, css = len(rows) - k - 0.68, "rival" if row.is_baseline else "ours"
        a, b = (float(frame.across(x)) for x in (row.low, row.high))
        body += [frame.line([row.low, row.high], [y, y], f"line {css}"), frame.dot(row.auc, y, f"dot {css}", 4.5)]
        late = a > WIDTH / 2.0  # a name that begins on the right would leave the picture
        at, anchor = (b, "end") if late else (a, "start")
        body.append(text(at, float(frame.up(y)) - 8, f"{k + 1}  {row.name}", anchor, "name"))
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
        css = "rival" if row.is_baseline else "ours"
        said = f"{row.name}: {_short(max_fpr)} {row.auc:.4f}, {row.seconds:.3f} s"
        body.append(frame.dot(times[k], row.auc, f"dot {css}", 9, said))
        body.append(text(float(frame.across(times[k])), float(frame.up(row.auc)) + 4, str(k + 1), "middle", "inside"))
    return frame.svg("AUC against fit time", "".join(body))


def histogram_plot(is_pos: np.ndarray, row: ComparedModel, threshold: float) -> str:
    """Scores of the positives and of the negatives, each as shares of its class, and the threshold."""
    edges, pos, neg = curves.histogram(is_pos, row.scores)
    top = 1.08 * max(pos.max(), neg.max())
    frame = Frame((edges[0], edges[-1]), (0.0, top))
    ticks = nice(edges[0], edges[-1]), nice(0.0, top, 4)
    body = [frame.axes("score", "share of the class", *ticks, y_format="{:.0%}".format)]
    body += [frame.histogram(edges, shares, f"bars {css}") for css, shares in (("neg", neg), ("pos", pos))]
    body.append(frame.vertical(np.clip(threshold, edges[0], edges[-1]), "cut"))
    low, high = float(edges[0]), float(edges[-1])
    scale = f'data-low="{low}" data-high="{high}" data-left="{LEFT}" data-right="{WIDTH - RIGHT}"'
    return frame.svg(f"Scores by class, {row.name}", "".join(body), scale)
