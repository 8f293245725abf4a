"""Scorecards in the command: the page and the points that `fit` leaves, `auclid points` and `auclid edit`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auclid._hints import count_of
from auclid.additive import Scorecard
from auclid.additive._editing import edit_text, read_edits
from auclid.additive._point_table import BinSettings, check_bins
from auclid.additive._points import Bin
from auclid.cli import _show
from auclid.cli._show import escape
from auclid.cli.data import BinaryTable, positives
from auclid.cli.ordered_rows import OrderOptions, read
from auclid.cli.paths import check_ending, check_paths
from auclid.cli.saved import SavedModel
from auclid.cli.settings import PointTableOptions
from auclid.cli.stdin import plainly_named
from auclid.cli.tables import TABLE_ENDINGS, check_writer, write_columns
from auclid.datasets.readers import labelled_rows
from auclid.errors import DataError, missing_label
from auclid.io import about, replacing, save
from auclid.validation import names_known

NOTABLE_AUC_LOST = 0.003
"""What points may lose of the AUC without a word."""


def card_facts(
    model: Scorecard,
    rows: BinaryTable,
    options: PointTableOptions,
    count: int | None = None,
    share: float | None = None,
) -> list[str]:
    """What the page tells of the rows: all of them, or some that were drawn of ``count`` with a share of positives."""
    how = options.bin_keywords()
    y, all_rows = rows.is_pos.astype(int), count is None or count == len(rows.is_pos)
    whose = "these rows" if all_rows else f"{len(y):,} of these rows, drawn at random"
    lost = model.auc_lost(rows.X, y, **how)
    if lost > NOTABLE_AUC_LOST:
        _note_loss(model, lost, whose, how)
    return [
        f"{count_of(len(y) if count is None else count, 'row')} of {plainly_named(rows.source)}, "
        f"{y.mean() if share is None else share:.2%} positive (label {rows.classes[1]}).",
        cost_of_points("AUC", whose, lost, model.auc_lost(rows.X, y, **unbinned(how))),
    ]


def cost_of_points(measure: str, whose: str, lost: float, rounded: float) -> str:
    """What the points of a card lose beside its scores, and what they lose with a bin for each whole point."""
    said = f"The points cost {lost:z.5f} of the {measure} on {whose}; rounding alone, without bins, {rounded:z.5f}."
    return said + " A cost below zero is a gain." * (min(lost, rounded) < 0.0)


def unbinned(how: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of points that are rounded but not binned."""
    return {**how, "max_bins": None, "max_lines": "auto"}


def _note_loss(model: Scorecard, lost: float, whose: str, how: Mapping[str, Any]) -> None:
    """Say that the table of points is too short for the card, and what would help."""
    lines, pairs = len(model.point_bins(**how)), len(model.interactions_)
    why = f": {count_of(pairs, 'pair')} of columns do not fit in so few" if pairs else ""
    other = ", or --set interactions=0 for a card of columns alone" if pairs else ""
    _show.note(
        f"the {lines} lines of points lose {lost:.3f} of the AUC on {whose}{why}. The model's scores lose nothing; for "
        f"better points give --max-lines {2 * lines}{other}."
    )


def check_points(name: str, model: Any, options: PointTableOptions) -> None:
    """Refuse options of points that no card can follow, before any work."""
    if not options.given:
        return
    if not isinstance(model, Scorecard):
        names = ", ".join(f"--{name.replace('_', '-')}" for name in options.given)
        raise DataError(f"{names} must be used with --method Scorecard; {name} has no points.")
    how: dict[str, Any] = {"scale": "auto", "base": 600.0, "odds": 50.0, "higher": "riskier"} | options.keywords()
    model._scale(1.0 if how["scale"] == "auto" else how["scale"], how["base"], how["odds"], True, how["higher"])
    check_bins(BinSettings(how.get("max_bins", "auto"), max_lines=how.get("max_lines", "auto")))


def card_paths(path: Path) -> tuple[Path, Path]:
    """The page and the points beside a model file."""
    return path.with_suffix(".html"), path.with_suffix(".points.csv")


def leave_scorecard(
    model: Scorecard,
    paths: tuple[Path | None, Path],
    names: list[str] | None,
    classes: list[str] | None,
    facts: list[str],
    options: PointTableOptions,
) -> None:
    """Write the points, and the page where it is named, and say where they are."""
    (page, points), how = paths, options.keywords()
    if page is not None:
        with replacing(page, "w") as file:
            file.write(model.to_html(names=names, classes=classes, facts=facts, **how))
        _show.say(escape(f"To read: {page}"))
    write_columns(points, [_columns(model.point_bins(names=names, **how))])
    _show.say(escape(f"To read: {points}"))


def _columns(lines: list[Bin]) -> dict[str, np.ndarray]:
    """The columns of a table of points: whole points, and nothing for what is not known."""
    columns = {}
    for name, values in zip(Bin._fields, zip(*lines, strict=True), strict=True):
        if name == "points":
            columns[name] = np.array([int(value) for value in values])
        else:
            cells = [None if isinstance(value, float) and np.isnan(value) else value for value in values]
            columns[name] = np.array(cells, dtype=object)
    return columns


def points(model: Path, output: Path, page: Path | None, options: PointTableOptions) -> None:
    """Write the points of a scorecard, and its page."""
    check_paths({"MODEL": model}, {"--output": output, "--page": page})
    check_ending("--output", output, (*TABLE_ENDINGS, ".txt"))
    check_writer(output)
    saved = _open(model)
    options = PointTableOptions(**{**saved.known.get("points", {}), **options.given})
    leave_scorecard(saved.estimator, (page, output), saved.names, saved.known.get("classes"), [], options)


def _open(model: Path) -> SavedModel:
    """A model file that holds a scorecard."""
    saved = SavedModel.open(model, ordered=True)
    if not isinstance(saved.estimator, Scorecard):
        raise DataError(
            f"MODEL must hold a Scorecard; {str(model)!r} holds a {type(saved.estimator).__name__}. "
            "Fit one with --method Scorecard."
        )
    return saved


class EditOptions(NamedTuple):
    """What `auclid edit` reads and writes besides the model and the edits."""

    output: Path | None
    data: Path | None
    target: str | None
    page: Path | None
    with_rows: bool
    replace: bool


def edit(model: Path, edits: Path | None, options: EditOptions, memory: str | None) -> None:
    """Apply a file of edits to a scorecard and save it; write the page of the editor."""
    output = model if options.output is None else options.output
    _check_edit_options(model, output, edits, options)
    saved = _open(model)
    X, y = (None, None) if options.data is None else _labelled(saved, options.data, options.target, memory)
    with names_known():
        if edits is not None:
            _apply_edits(saved, model, output, edits, X, y, options.replace)
        if options.page is not None:
            page = saved.estimator.editor(names=saved.names, **({"X": X, "y": y} if options.with_rows else {}))
            with replacing(options.page, "w") as file:
                file.write(page)
            _show.say(escape(f"To edit: {options.page}"))


def _check_edit_options(model: Path, output: Path, edits: Path | None, options: EditOptions) -> None:
    """Refuse paths that would overwrite one another, and options that do not go together."""
    reads = {"EDITS": edits, "--data": options.data} | ({} if output == model else {"MODEL": model})
    check_paths(reads, {"--output": output, "--page": options.page})
    if edits is None and options.page is None:
        raise DataError("auclid edit must be given EDITS, a JSON file, or --page FILE for the editor's page.")
    if options.with_rows and (options.data is None or options.page is None):
        raise DataError("--with-rows must be used with --page and --data, whose rows are written into the page.")


def _apply_edits(
    saved: SavedModel, model: Path, output: Path, edits: Path, X: Any, y: np.ndarray | None, replace: bool
) -> None:
    """Apply a file of edits, save the card, and print what each edit did."""
    card, own = saved.estimator, _own_names(saved)
    before = 0 if replace else len(card.edits_)
    card.apply([_renamed(each, own) for each in read_edits(edits)], X, y, replace=replace)
    save(output, card, about=about(model))
    shown = {name: other for other, name in own.items()}
    for each in card.edits_[before:]:
        _show.say(escape(edit_text(_renamed(each, shown), card.shapes_)))
    _show.say(escape(f"Edits: {len(card.edits_) - before}, in all {len(card.edits_)}: {output}"))


def _own_names(saved: SavedModel) -> dict[str, str]:
    """From the names of the columns in files to those that the card has for them."""
    own = [str(spec.name) for spec in saved.estimator._kept_columns]
    return dict(zip(saved.names or own, own, strict=False))


def _renamed(edit: Any, names: Mapping[str, str]) -> Any:
    """An edit with other names for its columns."""
    if not isinstance(edit, Mapping) or "column" not in edit:
        return edit
    column = edit["column"]
    if isinstance(column, (list, tuple)):
        return {**edit, "column": [names.get(str(name), name) for name in column]}
    return {**edit, "column": names.get(str(column), column)}


def _labelled(saved: SavedModel, data: Path, target: str | None, memory: str | None) -> tuple[Any, np.ndarray]:
    """The rows of a source, and their labels, levels or times as the card knows them."""
    if saved.ordered:
        order = saved.complete(OrderOptions(target))
        if order.group is not None:
            raise DataError("--data must come with a card of rows that are all compared; MODEL compares within groups.")
        table = read(data, order, saved.names)
        return table.X, table.y
    target = target or saved.target
    rows = saved.scan_labelled(data, target, memory)
    labelled, _ = labelled_rows(rows, target)
    if len(labelled) < rows.shape[0]:
        missing = rows.shape[0] - len(labelled)
        raise missing_label(f"missing ones in {missing:,} of {rows.shape[0]:,} rows", subject="--data")
    y = rows.labels().values(labelled)
    y = y.astype(str) if y.dtype == object else y
    saved.expect(y)
    is_pos, _ = positives(y, saved.positive)
    return rows, np.where(is_pos, saved.estimator.classes_[1], saved.estimator.classes_[0])
