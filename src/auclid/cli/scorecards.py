"""What `auclid fit --method Scorecard` leaves beside the model: a page to read, and the points as csv."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from auclid.additive import Scorecard
from auclid.additive._points import Bin
from auclid.cli.data import Rows
from auclid.columns._notes import RANKED
from auclid.columns._table import taken
from auclid.io import replacing

EXAMPLES = 3
"""Rows of the highest scores whose reasons are told."""


def true_notes(model: Any, notes: list[str]) -> list[str]:
    """What is odd about a table, less what is not so of a scorecard, which has values as they are."""
    return [note for note in notes if not isinstance(model, Scorecard) or RANKED not in note]


def leave_scorecard(model: Scorecard, rows: Rows, path: Path) -> list[Path]:
    """Write the page and the points; returns their paths."""
    page, points = path.with_suffix(".html"), path.with_suffix(".points.csv")
    y = rows.is_pos.astype(int)
    facts = [
        f"{len(y):,} rows of {rows.source}, {y.mean():.2%} positive (label {rows.classes[1]}).",
        f"Rounding points to whole numbers costs {model.auc_lost(rows.X, y):.5f} of the AUC on these rows.",
        *_examples(model, rows),
    ]
    with replacing(page, "w") as file:
        file.write(model.to_html(names=rows.feature_names, classes=rows.classes, facts=facts))
    with replacing(points, "w") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(Bin._fields)
        table.writerows(line._replace(points=int(line.points)) for line in model.point_bins(names=rows.feature_names))
    return [page, points]


def _examples(model: Scorecard, rows: Rows) -> list[str]:
    """Why the highest scores are so high, a line a row."""
    scores = model.decision_function(rows.X)
    highest = np.argsort(-scores, kind="stable")[:EXAMPLES]
    reasons = model.reasons(taken(rows.X, highest), toward=model.classes_[1])
    names = dict(zip([shape.name for shape in model.shapes_], rows.feature_names, strict=False))
    return [
        f"Row {i + 1} scores {scores[i]:.3f}: " + ", ".join(str(_named(reason, names)) for reason in row) + "."
        for i, row in zip(highest, reasons, strict=True)
    ]


def _named(reason: Any, names: dict) -> Any:
    """A reason with the table's own names."""
    name = tuple(names[each] for each in reason.name) if isinstance(reason.name, tuple) else names[reason.name]
    return reason._replace(name=name)
