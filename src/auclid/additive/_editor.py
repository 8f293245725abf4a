"""The editor of a scorecard: one HTML page on which shapes are dragged; it saves a JSON file of edits."""

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from auclid._page import embedded_json, filled, page, read
from auclid.additive._binning import BinnedCard
from auclid.additive._counts import ColumnCounts
from auclid.additive._lines import shape_line
from auclid.additive._points import column_texts, format_value
from auclid.additive._shapes import Shape


class EvaluationRows(NamedTuple):
    """Rows that a page holds, to measure what an edit changes."""

    cells: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    contributions: np.ndarray


def editor_page(
    title: str,
    shapes: Sequence[Any],
    binned: BinnedCard,
    points_per_score: float,
    rows: EvaluationRows | None,
) -> str:
    """The page, as text."""
    columns = [shape for shape in shapes if isinstance(shape, Shape)]
    data = {
        "columns": [_column(shape, binned, j) for j, shape in enumerate(columns)],
        "factor": float(points_per_score),
        "rows": None if rows is None else _rows(rows),
    }
    said, measures = "This page holds no rows: nothing is measured here.", "<p>No evaluation rows.</p>"
    if rows is not None:
        said = f"This page holds the values of {len(rows.labels):,} rows, on which changes are measured."
        head = "<tr><th>On the rows of this page</th><th>before</th><th>after</th></tr>"
        measures = f"<table class='numbers'><thead>{head}</thead><tbody id='measures'></tbody></table>"
    body = filled("editor.html", title=escape(title), said=said, measures=measures, card=embedded_json(data))
    return page(escape(title), body, read("editor.js"))


def _number(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


def _column(shape: Shape, binned: BinnedCard, j: int) -> dict[str, Any]:
    """A column as the script has it."""
    counts = binned.counts.columns[j]
    rows = _rows_at_slots(shape, counts)
    texts = (
        [str(level) for level in shape.levels or []]
        if shape.knots is None
        else [format_value(shape.kind, x) for x in shape.knots]
    )
    return {
        "name": shape.name,
        "knots": None if shape.knots is None else shape.knots.tolist(),
        "levels": None if shape.knots is not None else texts,
        "steps": [] if shape.steps is None else shape.steps.tolist(),
        "values": shape.values.tolist(),
        "missing": float(shape.missing),
        "texts": texts,
        "rows": rows.sum(axis=0).tolist(),
        "rates": [_rate(each) for each in rows.T],
        "missingRows": float(counts.missing.sum()),
        "missingRate": _rate(counts.missing),
        "bins": _bins(shape, binned, j),
    }


def _rate(rows: np.ndarray) -> float | None:
    total = float(rows.sum())
    return float(rows[1]) / total if total > 0.0 else None


def _rows_at_slots(shape: Shape, counts: ColumnCounts) -> np.ndarray:
    """The rows of each class nearest to each knot, or of each level."""
    if shape.knots is None:
        return counts.rows
    near = np.searchsorted(0.5 * (shape.knots[1:] + shape.knots[:-1]), counts.centers, side="right")
    return np.stack([np.bincount(near, side, len(shape.knots)) for side in counts.rows])


def _bins(shape: Shape, binned: BinnedCard, j: int) -> list[dict[str, Any]]:
    """The bins of a column, each a part that can be moved as a whole."""
    counts, own = binned.counts.columns[j], binned.columns[j]
    values = shape.values if shape.knots is None else shape_line(shape).at(counts.centers)
    out = []
    for k, (text, low, high) in enumerate(column_texts(shape, counts, own)):
        inside = own.label == k
        rows = counts.rows[:, inside]
        center = float(counts.centers[inside][rows.sum(axis=0).argmax()])
        levels = np.flatnonzero(inside).tolist() if shape.knots is None else None
        out.append({"text": text, "low": _number(low), "high": _number(high), "levels": levels, "center": center,
                    "value": float(np.average(values[inside], weights=rows.sum(axis=0) + 1e-12)),
                    "rows": float(rows.sum()), "rate": _rate(rows.sum(axis=1))})  # fmt: skip
    return out


def _rows(rows: EvaluationRows) -> dict[str, Any]:
    cells = [[_number(x) for x in column] for column in rows.cells.T]
    return {
        "cells": cells,
        "labels": rows.labels.astype(int).tolist(),
        "scores": rows.scores.tolist(),
        "contributions": rows.contributions[:, : rows.cells.shape[1]].T.tolist(),
    }
