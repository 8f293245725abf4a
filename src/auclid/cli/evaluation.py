"""What `auclid evaluate` finds out about a model on labelled rows."""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auclid.cli.data import option_column
from auclid.cli.paths import check_ending, check_paths
from auclid.cli.wording import remarks
from auclid.data.encoding import is_missing
from auclid.data.readers.open import has_own_labels
from auclid.errors import DataError
from auclid.io import replacing
from auclid.metrics import (
    APInterval,
    AUCInterval,
    GroupAUC,
    LiftTable,
    RatesAt,
    auc_by_group,
    auc_interval,
    average_precision_interval,
    gini,
    ks,
    lift_table,
    rates_at,
)
from auclid.reports._numbers import Scored
from auclid.reports._report import render
from auclid.reports.curves import lift_ends

PICTURES = (".png", ".svg", ".pdf")
"""Endings of pictures that are drawn."""

MAX_GROUP_LINES = 20
"""Groups up to which each has its own line; beyond, or where all lack a class, they are rows that belong together."""

MIN_GROUP_CLASS_ROWS = 2
"""Rows of each class that a group needs for an AUC of its own."""


class EvaluatedRows(NamedTuple):
    """The rows of an evaluation: labels, scores, groups, and what the model calls positive."""

    is_pos: np.ndarray
    score: np.ndarray
    called: np.ndarray
    classes: list
    groups: np.ndarray | None
    """The group of each row."""
    probability: np.ndarray | None
    threshold: float
    """The score above which a row is called positive."""
    has_model: bool = True
    """Whether the threshold is that of a model, not one for a column of scores."""


class EvaluationOptions(NamedTuple):
    """The options of the command."""

    groups: str | None = None
    """The column of the groups."""
    max_fpr: float = 1.0
    alerts: int | None = None
    plot: Path | None = None
    html: Path | None = None


class Evaluation(NamedTuple):
    """Everything that is printed and drawn."""

    rows: EvaluatedRows
    options: EvaluationOptions
    interval: AUCInterval
    how: str
    """What the interval allows for: DeLong, or groups of rows."""
    partial: AUCInterval | None
    alerts: RatesAt | None
    by_group: GroupAUC | None
    clusters: np.ndarray | None
    """Which rows belong together, where the intervals allow for it."""
    gini: float
    ks: float
    lift: LiftTable
    ap: APInterval
    notes: list[str]
    """What a user should know."""


def check_outputs(reads: dict[str, Path | None], options: EvaluationOptions) -> None:
    """Refuse outputs that cannot be written."""
    check_paths(reads, {"--plot": options.plot, "--html": options.html})
    if options.plot is not None:
        check_ending("--plot", options.plot, PICTURES)
    if options.html is not None:
        check_ending("--html", options.html, (".html", ".htm"))


def evaluate(rows: EvaluatedRows, options: EvaluationOptions) -> Evaluation:
    """All figures of one model's scores."""
    rows = rows._replace(score=np.asarray(rows.score, dtype=np.float64))
    if options.alerts is not None and options.alerts > len(rows.score):
        raise DataError(f"--alerts must be at most the number of rows, {len(rows.score)}; got {options.alerts}.")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        result = _figures(rows, options)
    return result._replace(notes=remarks([*result.notes, *(str(each.message) for each in heard)]))


def _figures(rows: EvaluatedRows, options: EvaluationOptions) -> Evaluation:
    is_pos, score, groups = rows.is_pos, rows.score, rows.groups
    by_group, clusters, how, notes = None, None, "DeLong", []
    if groups is not None:
        measured, left_out = _strata(is_pos, groups)
        if not measured:
            clusters, how = groups, f"allowing for rows that share {options.groups}"
        elif left_out:
            notes = [_left_out(str(options.groups), measured, left_out)]
        if len(measured) > 1:
            some = np.isin(groups, measured)
            by_group = auc_by_group(is_pos[some], score[some], groups[some])
    return Evaluation(
        rows,
        options,
        auc_interval(is_pos, score, groups=clusters),
        how,
        auc_interval(is_pos, score, groups=clusters, max_fpr=options.max_fpr) if options.max_fpr < 1.0 else None,
        None if options.alerts is None else rates_at(is_pos, score, alerts=options.alerts, groups=clusters),
        by_group,
        clusters,
        gini(is_pos, score),
        ks(is_pos, score),
        lift_table(is_pos, score, top=lift_ends(len(score))),
        average_precision_interval(is_pos, score, groups=clusters),
        notes,
    )


def _strata(is_pos: np.ndarray, groups: np.ndarray) -> tuple[list, list]:
    """The groups that can be measured by themselves, where there are few, and those that have too few rows."""
    labels, member = np.unique(groups, return_inverse=True)
    if not 2 <= len(labels) <= MAX_GROUP_LINES:
        return [], []
    counts = np.bincount(2 * member + is_pos, minlength=2 * len(labels)).reshape(-1, 2)
    enough = counts.min(axis=1) >= MIN_GROUP_CLASS_ROWS
    return labels[enough].tolist(), labels[~enough].tolist()


def _left_out(name: str, measured: list, left_out: list) -> str:
    """A sentence about groups without an AUC of their own."""
    few = f"fewer than {MIN_GROUP_CLASS_ROWS} rows of a class"
    if len(measured) == 1:
        return f"There is no AUC by {name}: all of its values but {measured[0]} have {few}."
    return f"The AUC by {name} leaves out {', '.join(map(str, left_out))}: {few}. All other figures are of all rows."


def page(found: Evaluation, name: str, data: str) -> str:
    """The interactive report on a model or a column of scores, and on the rows of a file."""
    rows, by_group = found.rows, [] if found.by_group is None else [found.by_group]
    scored = [Scored(name, rows.score, rows.probability, rows.threshold if rows.has_model else None)]
    classes = str(rows.classes[0]), str(rows.classes[1])
    return render(rows.is_pos, scored, classes, groups=found.clusters, by_group=by_group, title=f"{name} on {data}")


def group_column(path: Path, name: str, rows: np.ndarray) -> np.ndarray:
    """The groups of some rows by their numbers, as they stand in a column; refused where a row has none."""
    if has_own_labels(path):
        raise DataError(f"--groups must name a column of DATA; the columns of {str(path)!r} have no names.")
    groups = option_column(path, "groups", name)[rows]
    missing = np.array([is_missing(group) for group in groups.tolist()])
    if missing.any():
        raise DataError(
            f"--groups must name a column with a value in each row; {name!r} has none in {missing.sum():,} of "
            f"{len(missing):,} labelled rows. Leave these rows out, or give each a group of its own."
        )
    return groups.astype(str) if groups.dtype == object else groups


def draw(result: Evaluation, path: Path) -> None:
    """A picture of four plots (or five, with groups), in the format of the file's ending."""
    from auclid import plot

    is_pos, score, max_fpr = result.rows.is_pos, result.rows.score, result.options.max_fpr
    plots: list[Any] = [
        lambda ax: plot.roc(is_pos, score, max_fpr=max_fpr, groups=result.clusters, ax=ax),
        lambda ax: plot.scores(is_pos, score, threshold=result.rows.threshold, ax=ax),
        lambda ax: plot.lift(is_pos, score, name="model", ax=ax),
        lambda ax: plot.lift(is_pos, score, name="model", kind="lift", ax=ax),
    ]
    if result.by_group is not None:
        groups = {f"{name}": one for name, one in result.by_group.intervals.items()}
        plots.append(lambda ax: plot.intervals({"all rows": result.interval, **groups}, sort=False, ax=ax))
    _paint(plots, path)


def _paint(plots: list[Any], path: Path) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("--plot needs matplotlib: pip install 'auclid[plot]'") from error
    down = -(-len(plots) // 2)
    figure = Figure(figsize=(10.0, 4.6 * down), layout="constrained")
    FigureCanvasAgg(figure)
    for k, one in enumerate(plots):
        one(figure.add_subplot(down, 2, k + 1))
    with replacing(path) as file:
        figure.savefig(file, dpi=120, format=path.suffix[1:].lower() or "png")
