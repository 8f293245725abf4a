"""What the verbs of the command do: read, train or score, write, and say what came out."""

import shlex
from pathlib import Path

from auclid.cli import _show, evaluation, fitting, models, predictions
from auclid.cli._show import escape
from auclid.cli.compare import Comparison
from auclid.cli.compare import compare as compared
from auclid.cli.data import (
    NO_LABELS,
    Options,
    embedded_table,
    load_table,
    open_task,
    positives,
    unknown_columns,
    with_test_rows,
)
from auclid.cli.paths import check_ending, check_paths
from auclid.cli.report import report
from auclid.cli.saved import SavedModel
from auclid.data.readers.open import has_own_labels
from auclid.datasets.readers import labelled_rows, missing_note
from auclid.errors import DataError
from auclid.io import replacing


def compare(
    data: Path | None,
    output: Path,
    how: Options,
    methods: list[str],
    against: list[str],
    *,
    test_size: float,
    test: Path | None = None,
) -> None:
    """Train methods and baselines on the same rows, write the report, and say what came out."""
    check_paths({"DATA": data, "--test": test}, {"--output": output})
    if data is None and (test is not None or how.time is not None):
        raise DataError("DATA must be given with --test and --time.")
    if test is not None and how.time is not None:
        raise DataError("--time must be used without --test: a file of its own says which rows to test on.")
    check_ending("--output", output, (".html", ".htm"))
    models.refuse_unknown(methods, against)
    table = embedded_table() if data is None else load_table(open_task(data, how), how)
    table = table if test is None else with_test_rows(table, test, how)
    _show.introduce(table.source, table.X.shape, table.is_pos.mean(), table.classes[1])
    with _show.progress() as tell:
        result = compared(table, methods, against, tell=tell, seed=how.seed, test_size=test_size, max_fpr=how.max_fpr)
    with replacing(output, "w") as file:
        file.write(report(result))
    _show.comparison(result)
    _show.say(escape(f"Report: {output}"))
    _show.say(escape(f"Next: {_next_line(data, how, result)}"))


def _next_line(data: Path | None, how: Options, result: Comparison) -> str:
    """The line that keeps the best of ours."""
    if data is None:
        return "auclid compare DATA --target NAME, with a table of your own."
    best = result.best(ours=True)
    method = "auto" if best is None or best.name == "AUCClassifier" else best.name
    chosen = [
        ("--target", how.target),
        ("--positive", how.positive),
        *(("--drop", name) for name in how.drop),
        ("--drop", how.time),
        ("--method", method),
        ("--max-fpr", f"{result.max_fpr:g}" if models.aims(method, result.max_fpr) else None),
    ]
    words = [str(data), *(word for name, value in chosen if value is not None for word in (name, value))]
    return f"auclid fit {' '.join(map(shlex.quote, words))} --model model.auclid"


def fit(
    data: Path,
    model: Path,
    how: Options,
    stream: tuple[Path, int] | None,
    scheduler: str | None,
) -> None:
    """Train a model on all rows and save it."""
    if stream is not None and scheduler is not None:
        raise DataError("--checkpoint must be used without --scheduler: a cluster learns from all rows at once.")
    check_paths({"DATA": data}, fitting.outputs(model, how.method, stream))
    fitting.fit(data, model, how, stream, scheduler)


def predict(model: Path, data: Path, output: Path, identifiers: list[str], memory: str | None) -> None:
    """Write score, probability and label of every row."""
    check_paths({"MODEL": model, "DATA": data}, {"--output": output})
    check_ending("--output", output, predictions.ENDINGS)
    saved = SavedModel.open(model)
    rows = saved.scan(data, None, memory, drop=identifiers)
    notes = unknown_columns(rows, identifiers)
    copies = predictions.Copies(data, identifiers) if identifiers else None
    with _show.passes(rows):
        count = predictions.write_scores(output, saved.answers(rows), copies)
    _show.remarks([*notes, *missing_note(rows.missing_counts())])
    _show.say(escape(f"{count:,} scores: {output}"))


def evaluate(
    model: Path, data: Path, target: str | None, positive: str | None, wishes: evaluation.Wishes, memory: str | None
) -> None:
    """Measure a model on labelled rows; draw it, or write a page about it, where that is asked for."""
    written = {"--plot": wishes.plot, "--html": wishes.html}
    check_paths({"MODEL": model, "DATA": data}, {name: path for name, path in written.items() if path is not None})
    for name, endings in (("--plot", evaluation.PICTURES), ("--html", (".html", ".htm"))):
        path = written[name]
        if path is not None:
            check_ending(name, path, endings)
    saved = SavedModel.open(model)
    target = target or saved.target
    if target is None and not has_own_labels(data):
        raise DataError(NO_LABELS)
    rows = saved.scan(data, target, memory)
    if not rows.has_target:
        raise DataError(NO_LABELS)
    with _show.passes(rows):
        labelled, notes = labelled_rows(rows, target)
        scores, called, probability = evaluation.scores_of(saved.answers(rows), labelled)
    y = rows.labels().values(labelled)
    y = y.astype(str) if y.dtype == object else y
    if positive is None:
        saved.expect(y)
    is_pos, classes = positives(y, positive or saved.positive)
    groups = None if wishes.groups is None else evaluation.group_column(data, wishes.groups, labelled)
    if positive not in (None, saved.positive):
        probability = None  # that of the other label
    found = evaluation.evaluate(is_pos, scores, called, classes, groups, wishes, probability)
    _show.remarks([*unknown_columns(rows, [target, wishes.groups]), *notes, *missing_note(rows.missing_counts())])
    _show.evaluation(found)
    if wishes.plot is not None:
        evaluation.draw(found, wishes.plot)
        _show.say(escape(f"Picture: {wishes.plot}"))
    if wishes.html is not None:
        with replacing(wishes.html, "w") as file:
            file.write(evaluation.page(found, f"{model.name} on {data.name}"))
        _show.say(escape(f"Report: {wishes.html}"))
