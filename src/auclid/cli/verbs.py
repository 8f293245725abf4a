"""What the verbs of the command do: read, train or score, write, and say what came out."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from auclid.baselines import scores as scored
from auclid.cli import _show, evaluation, fitting, large, models, predictions
from auclid.cli._show import escape
from auclid.cli.compare import Comparison
from auclid.cli.compare import compare as compared
from auclid.cli.data import NO_LABELS, positives, read_rows
from auclid.cli.paths import check_ending, check_paths
from auclid.cli.report import report
from auclid.cli.saved import SavedModel
from auclid.errors import DataError
from auclid.io import replacing


def compare(
    data: Path | None,
    output: Path,
    how: large.Options,
    methods: list[str],
    against: list[str],
    *,
    one_hot: bool,
    test_size: float,
) -> None:
    """Train methods and baselines on the same rows, write the report, and say what came out."""
    check_paths({"DATA": data}, {"--output": output})
    check_ending("--output", output, (".html", ".htm"))
    models.refuse_unknown(methods, against)
    if data is not None and large.by_blocks(data, how.memory):
        found = large.task(data, how.target, how.positive, how.drop, how.memory)
        rows = large.sampled(found, str(data), how.memory, how.seed)
    else:
        rows = read_rows(data, how.target, positive=how.positive, one_hot=one_hot, drop=how.drop)
    _show.introduce(rows)
    with _show.progress() as tell:
        result = compared(
            rows, methods, against, tell=tell, seed=how.seed, test_size=test_size, max_fpr=how.max_fpr
        )
    with replacing(output, "w") as file:
        file.write(report(result))
    _show.comparison(result)
    _show.say(escape(f"Report: {output}"))
    _show.say(escape(f"Next: {_next_line(data, how, result)}"))


def _next_line(data: Path | None, how: large.Options, result: Comparison) -> str:
    """The line that keeps the best of ours."""
    if data is None:
        return "auclid compare DATA --target NAME, with a table of your own."
    best = result.best(ours=True)
    method = "auto" if best is None or best.name == "AUCClassifier" else best.name
    chosen = [
        ("--target", how.target),
        ("--positive", how.positive),
        *(("--drop", name) for name in how.drop),
        ("--method", method),
        ("--max-fpr", f"{result.max_fpr:g}" if models.aims(method, result.max_fpr) else None),
    ]
    words = [str(data), *(word for name, value in chosen if value is not None for word in (name, value))]
    return f"auclid fit {' '.join(map(shlex.quote, words))} --model model.auclid"


def fit(
    data: Path,
    model: Path,
    how: large.Options,
    stream: tuple[Path, int] | None,
    scheduler: str | None,
    *,
    one_hot: bool,
) -> None:
    """Train a model on all rows and save it."""
    if stream is not None and scheduler is not None:
        raise DataError("--checkpoint must be used without --scheduler: a cluster learns from all rows at once.")
    check_paths({"DATA": data}, fitting.outputs(model, how.method, stream))
    if stream is not None or scheduler is not None or large.by_blocks(data, how.memory):
        fitting.fit_large(data, model, how, stream, scheduler)
    else:
        fitting.fit_in_memory(data, model, how, one_hot=one_hot)


def predict(model: Path, data: Path, output: Path, identifiers: list[str], memory: str | None) -> None:
    """Write score, probability and label of every row."""
    check_paths({"MODEL": model, "DATA": data}, {"--output": output})
    check_ending("--output", output, predictions.ENDINGS)
    saved = SavedModel.open(model)
    estimator = saved.estimator
    if large.by_blocks(data, memory):
        rows = large.scanned(data, None, [], memory, columns=saved.names)
        copies = predictions.Copies(data, identifiers) if identifiers else None
        with _show.passes(rows):
            count = large.predict_rows(estimator, rows, output, saved.labels, copies)
        _show.say(escape(f"{count:,} scores: {output}"))
        return
    columns: dict[str, Any] = predictions.copied(data, identifiers)
    X, _, notes = saved.rows(data, but=identifiers)
    with _show.progress() as tell:
        tell("predict")
        columns["score"] = np.asarray(scored(estimator, X))
        if hasattr(estimator, "predict_proba"):
            columns["probability"] = estimator.predict_proba(X)[:, 1]
        columns["label"] = saved.labels(estimator.predict(X))
    predictions.write(output, columns)
    _show.remarks(notes)
    _show.say(escape(f"{len(columns['label']):,} scores: {output}"))


def evaluate(
    model: Path, data: Path, target: str | None, positive: str | None, wishes: evaluation.Wishes, memory: str | None
) -> None:
    """Measure a model on labelled rows, and draw it where a picture is asked for."""
    if wishes.plot is not None:
        check_paths({"MODEL": model, "DATA": data}, {"--plot": wishes.plot})
        check_ending("--plot", wishes.plot, evaluation.PICTURES)
    saved = SavedModel.open(model)
    target = target or saved.target
    by_blocks = large.by_blocks(data, memory)
    kept: Any = slice(None)
    if by_blocks:
        rows = large.scanned(data, target, [], memory, columns=saved.names)
        with _show.passes(rows):
            y, kept, notes = large.labels_of(rows, target)
            scores, predicted = (each[kept] for each in large.scores_of(saved.estimator, rows))
    else:
        X, y, notes = saved.rows(data, target)
        scores, predicted = scored(saved.estimator, X), saved.estimator.predict(X)
    if y is None:
        raise DataError(NO_LABELS)
    if positive is None:
        saved.expect(y)
    is_pos, classes = positives(y, positive or saved.positive)
    groups = None
    if wishes.groups is not None and by_blocks:
        groups = large.group_column(data, wishes.groups, saved.names, kept)
    elif wishes.groups is not None:
        groups = evaluation.group_column(data, wishes.groups, target)
    called = predicted == saved.estimator.classes_[1]
    found = evaluation.evaluate(is_pos, scores, called, classes, groups, wishes)
    _show.remarks(notes)
    _show.evaluation(found)
    if wishes.plot is not None:
        evaluation.draw(found, wishes.plot)
        _show.say(escape(f"Picture: {wishes.plot}"))
