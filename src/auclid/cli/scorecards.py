"""What `auclid fit --method Scorecard` leaves beside the model: a page to read, and the points as csv."""

from pathlib import Path
from typing import Any

import numpy as np

from auclid.additive import Scorecard
from auclid.additive._points import Bin
from auclid.cli.data import BinaryTable
from auclid.cli.predictions import csv_line
from auclid.io import replacing
from auclid.validation import take_rows

EXAMPLES = 3
"""Rows of the highest scores whose reasons are told."""


def card_facts(model: Scorecard, rows: BinaryTable, count: int | None = None, share: float | None = None) -> list[str]:
    """What the page tells of the rows: all of them, or some that were drawn of ``count`` with a share of positives."""
    y, all_rows = rows.is_pos.astype(int), count is None or count == len(rows.is_pos)
    whose = "these rows" if all_rows else f"{len(y):,} of these rows, drawn at random"
    return [
        f"{len(y) if count is None else count:,} rows of {rows.source}, {y.mean() if share is None else share:.2%} "
        f"positive (label {rows.classes[1]}).",
        f"Rounding points to whole numbers costs {model.auc_lost(rows.X, y):.5f} of the AUC on {whose}.",
        *_examples(model, rows, all_rows),
    ]


def card_paths(path: Path) -> tuple[Path, Path]:
    """The page and the points beside a model file."""
    return path.with_suffix(".html"), path.with_suffix(".points.csv")


def leave_scorecard(
    model: Scorecard, path: Path, names: list[str], classes: list[str], facts: list[str]
) -> tuple[Path, Path]:
    """Write the page and the points; returns their paths."""
    page, points = card_paths(path)
    with replacing(page, "w") as file:
        file.write(model.to_html(names=names, classes=classes, facts=facts))
    with replacing(points, "w") as file:
        file.write(csv_line(Bin._fields))
        for line in model.point_bins(names=names):
            ends = [None if np.isnan(end) else float(end) for end in (line.low, line.high)]
            file.write(csv_line([line.column, line.bin, *ends, int(line.points)]))
    return page, points


def _examples(model: Scorecard, rows: BinaryTable, all_rows: bool) -> list[str]:
    """Why the highest scores are so high, a line a row."""
    scores = model.decision_function(rows.X)
    highest = np.argsort(-scores, kind="stable")[:EXAMPLES]
    reasons = model.reasons(take_rows(rows.X, highest), toward=model.classes_[1])
    names = dict(zip([shape.name for shape in model.shapes_], rows.feature_names, strict=False))
    return [
        f"{f'Row {i + 1}' if all_rows else 'A row'} scores {scores[i]:.3f}: "
        + ", ".join(str(_named(reason, names)) for reason in row)
        + "."
        for i, row in zip(highest, reasons, strict=True)
    ]


def _named(reason: Any, names: dict) -> Any:
    """A reason with the table's own names."""
    name = tuple(names[each] for each in reason.name) if isinstance(reason.name, tuple) else names[reason.name]
    return reason._replace(name=name)
