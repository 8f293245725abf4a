"""The curves of a decision page as SVG: a group of lines for each model, of which the page shows one or two."""

from html import escape

import numpy as np

from auclid._page.svg import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Frame, nice
from auclid.plot._axes import thin
from auclid.reports import curves
from auclid.reports._numbers import Numbers

UNIT = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

VIEWS = {
    "roc": "ROC curve",
    "pr": "Precision and recall",
    "lift": "Lift",
    "calibration": "Calibration",
    "benefit": "Net benefit",
}
"""The curves that one can switch between."""


def charts(models: list[Numbers]) -> dict[str, str]:
    """The SVG of each view; views that no model has numbers for are left out."""
    views = {"roc": _roc(models), "pr": _precision_recall(models), "lift": _lift(models)}
    if any(model.reliability is not None for model in models):
        views |= {"calibration": _calibration(models), "benefit": _benefit(models)}
    return views


def _svg(frame: Frame, view: str, axes: str, parts: list[str], models: list[Numbers]) -> str:
    """Axes, a group for each model, and a mark for the threshold."""
    groups = [
        f'<g data-curve="{k}" class="ours"{"" if k == 0 else " hidden"}><title>{escape(model.name)}</title>{part}</g>'
        for k, (model, part) in enumerate(zip(models, parts, strict=True))
    ]
    mark = "".join(f'<circle class="dot mark {kind}" r="5.5" cx="-20" cy="-20"/>' for kind in ("ours", "rival"))
    x0, x1 = np.log10(frame.x) if frame.log else frame.x
    scale = (
        f'data-view="{view}" data-x0="{x0}" data-x1="{x1}" data-y0="{frame.y[0]}" data-y1="{frame.y[1]}" '
        f'data-log="{int(frame.log)}" data-left="{LEFT}" data-right="{WIDTH - RIGHT}" data-top="{TOP}" '
        f'data-bottom="{frame.height - BOTTOM}"'
    )
    return frame.svg(f"{VIEWS[view]} of the chosen model", axes + "".join(groups) + mark, scale)


def _roc(models: list[Numbers]) -> str:
    frame, parts = Frame((0.0, 1.0), (0.0, 1.0)), []
    for model in models:
        keep = thin(model.curve.fpr, model.curve.tpr, curves.PIXELS)
        line = frame.line(model.curve.fpr[keep], model.curve.tpr[keep])
        parts.append(frame.area(*curves.band(model.curve)) + line)
    axes = frame.axes("false positive rate", "true positive rate (recall)", UNIT, UNIT)
    chance = frame.line([0, 1], [0, 1], "chance")
    return _svg(frame, "roc", axes + chance, parts, models)


def _precision_recall(models: list[Numbers]) -> str:
    frame, parts = Frame((0.0, 1.0), (0.0, 1.0)), []
    for model in models:
        recall, precision = (model.columns[name] for name in ("tpr", "precision"))
        kept = np.isfinite(precision[:, 0])
        x, (y, low, high) = recall[kept, 0], precision[kept].T
        parts.append(frame.band(x, low, high) + frame.line(x, y))
    axes = frame.axes("recall", "precision", UNIT, UNIT)
    share = models[0].curve.n_pos / (models[0].curve.n_pos + models[0].curve.n_neg)
    iso = "".join(_iso_f1(frame, score) for score in (0.2, 0.4, 0.6, 0.8))
    chance = frame.line([0, 1], [share, share], "chance")
    return _svg(frame, "pr", axes + iso + chance, parts, models)


def _iso_f1(frame: Frame, score: float) -> str:
    """The line on which the F1 score is equal."""
    recall = np.linspace(score / (2.0 - score), 1.0, 30)
    return frame.line(recall, score * recall / (2.0 * recall - score), "iso", f"F1 = {score:g}")


def _lift(models: list[Numbers]) -> str:
    rows = models[0].curve.n_pos + models[0].curve.n_neg
    least = max(0.001, 10.0 / rows)
    shown = [model.columns["alert_rate"][:, 0] >= least for model in models]
    tops = [float(np.nanmax(m.columns["lift"][keep, 2], initial=1.0)) for m, keep in zip(models, shown, strict=True)]
    top = min(max(tops), 1.05 * rows / models[0].curve.n_pos)
    frame = Frame((least, 1.0), (0.0, max(top, 2.0)), log=True)
    parts = []
    for model, keep in zip(models, shown, strict=True):
        x, (y, low, high) = model.columns["alert_rate"][keep, 0], model.columns["lift"][keep].T
        parts.append(frame.band(x, np.minimum(low, frame.y[1]), np.minimum(high, frame.y[1])) + frame.line(x, y))
    ticks = [t for t in (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if t >= least]
    axes = frame.axes(
        "share of rows flagged (log scale)", "lift", ticks, nice(0.0, frame.y[1]), x_format="{:.3g}".format
    )
    chance = frame.line([least, 1.0], [1.0, 1.0], "chance")
    return _svg(frame, "lift", axes + chance, parts, models)


def _calibration(models: list[Numbers]) -> str:
    frame, parts = Frame((0.0, 1.0), (0.0, 1.0)), []
    for model in models:
        bins = model.reliability
        if bins is None:
            parts.append("")
            continue
        part = frame.band(bins.line_at, bins.line_low, bins.line_high) + frame.line(bins.line_at, bins.line)
        for x, y, low, high in zip(bins.predicted, bins.observed, bins.low, bins.high, strict=True):
            part += frame.vertical(x, "line", (low, high)) + frame.dot(x, y, "dot", 3.5)
        parts.append(part)
    axes = frame.axes("predicted probability", "share of positives", UNIT, UNIT)
    chance = frame.line([0, 1], [0, 1], "chance")
    return _svg(frame, "calibration", axes + chance, parts, models)


def _benefit(models: list[Numbers]) -> str:
    known = [model.benefit for model in models if model.benefit is not None]
    top = max(max(float(each.high.max()), 1e-3) for each in known)
    right = max(float(each.threshold.max()) for each in known)
    frame = Frame((0.0, right), (-0.2 * top, 1.05 * top))
    parts = []
    for model in models:
        benefit = model.benefit
        if benefit is None:
            parts.append("")
            continue
        low, high = (np.clip(edge, *frame.y) for edge in (benefit.low, benefit.high))
        line = frame.line(benefit.threshold, np.clip(benefit.net_benefit, *frame.y))
        parts.append(frame.band(benefit.threshold, low, high) + line)
    ticks = nice(0.0, right), nice(*frame.y)
    axes = frame.axes("threshold probability", "net benefit", *ticks, y_format="{:.3g}".format)
    seen = known[0].treat_all >= frame.y[0]
    treat_all = frame.line(known[0].threshold[seen], known[0].treat_all[seen], "chance")
    none = frame.line([0.0, right], [0.0, 0.0], "chance", "treat none")
    return _svg(frame, "benefit", axes + treat_all * bool(seen.any()) + none, parts, models)
