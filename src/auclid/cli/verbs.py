"""What the verbs of the command do: read, train or score, write, and say what came out."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from auclid._hints import count_of
from auclid.cli import _show, evaluation, fitting, ordered, predictions
from auclid.cli._show import escape
from auclid.cli.data import NO_LABELS, Options, ask_for_positive, option_column, positives, unknown_columns
from auclid.cli.evaluation import EvaluationOptions
from auclid.cli.ordered_rows import OrderOptions
from auclid.cli.paths import check_ending, check_paths
from auclid.cli.saved import Answers, CountedAnswers, SavedModel
from auclid.cli.stdin import STDIN, is_copy
from auclid.cli.thresholds import Purpose, apply_threshold, chosen_threshold
from auclid.data.encoding import is_missing
from auclid.data.readers.open import has_own_labels
from auclid.datasets.readers import labelled_rows, missing_note
from auclid.errors import DataError
from auclid.io import replacing, save
from auclid.metrics import compare_auc


def fit(
    data: Path,
    model: Path,
    how: Options,
    stream: tuple[Path, int] | None,
    scheduler: str | None,
) -> None:
    """Train a model on all rows and save it."""
    if stream is not None and is_copy(data):
        raise DataError("--checkpoint must be used with files, which can be read again; got standard input.")
    if stream is not None and scheduler is not None:
        raise DataError("--checkpoint must be used without --scheduler: a cluster learns from all rows at once.")
    check_paths({"DATA": data}, fitting.outputs(model, how.method, stream))
    fitting.fit(data, model, how, stream, scheduler)


def predict(
    model: Path,
    data: Path,
    output: Path,
    identifiers: list[str],
    memory: str | None,
    purpose: Purpose = Purpose(),  # noqa: B008
    keep: bool = False,
) -> None:
    """Write score, probability and label of every row; labels by a purpose, where one is given."""
    purpose.check()
    if keep and not purpose.given:
        raise DataError("--keep must come with --alerts, --threshold, --cost or --precision: it keeps their threshold.")
    check_paths({"MODEL": model, "DATA": data}, {"--output": output})
    check_ending("--output", output, predictions.TABLE_ENDINGS)
    predictions.check_writer(output)
    saved = SavedModel.open(model, ordered=True)
    if keep:
        saved.check_keep()
    rows = saved.scan(data, None, memory, drop=identifiers)
    notes = unknown_columns(rows, [*identifiers, *saved.outcome_columns])
    copies = predictions.Copies(data, identifiers) if identifiers else None
    counted = CountedAnswers(saved, rows)
    with _show.passes(rows):
        answers: Iterable[Answers] = counted
        if purpose.given:
            every = Answers.joined(counted)
            threshold = chosen_threshold(purpose, saved, every, keep)
            answers = [apply_threshold(saved, every, threshold)]
            called = f"{int(np.sum(every.scores > threshold)):,} of {count_of(len(every.scores), 'row')}"
            notes.append(f"{called} are called {saved.positive}: those with a score above {threshold:.6g}.")
        count = predictions.write_scores(output, answers, copies)
    _show.remarks([*notes, *counted.notes(), *missing_note(rows.missing_counts())])
    say = _show.note if output == STDIN else _show.say
    say(escape(f"{count_of(count, 'score')}: {output}"))
    if keep:
        saved.keep_threshold(threshold)
        save(model, saved.estimator, about=saved.known or None)
        say(escape(f"Kept in {model}: predict, evaluate and monitor call scores above it {saved.positive}."))


def evaluate(
    model: Path, data: Path, target: str | None, positive: str | None, options: EvaluationOptions, memory: str | None
) -> None:
    """Measure a model on labelled rows; draw it, or write a page about it, where that is asked for."""
    evaluation.check_outputs({"MODEL": model, "DATA": data}, options)
    saved = SavedModel.open(model, ordered=True)
    if saved.ordered:
        if options.groups is not None or options.max_fpr < 1.0 or options.alerts is not None:
            raise DataError(
                "--groups, --max-fpr and --alerts must come with a model of two classes; MODEL ranks ordered rows."
            )
        ordered.evaluate(model, data, OrderOptions(target, positive=positive), options.plot, options.html)
        return
    found = _measured(saved, data, target, positive, options, memory)
    _tell_evaluation(found, options, f"{model.name} on {data.name}")


def _measured(
    saved: SavedModel, data: Path, target: str | None, positive: str | None, options: EvaluationOptions,
    memory: str | None,
) -> evaluation.Evaluation:  # fmt: skip
    """The figures of a model on labelled rows."""
    target = target or saved.target
    rows = saved.scan_labelled(data, target, memory)
    with _show.passes(rows):
        labelled, notes = labelled_rows(rows, target)
        every = Answers.joined(saved.answers(rows))
    scores, called = every.scores[labelled], every.called[labelled]
    probability = None if every.probabilities is None else every.probabilities[labelled]
    y = rows.labels().values(labelled)
    y = y.astype(str) if y.dtype == object else y
    if positive is None:
        saved.expect(y)
    is_pos, classes = positives(y, positive or saved.positive)
    groups = None if options.groups is None else evaluation.group_column(data, options.groups, labelled)
    if positive not in (None, saved.positive):
        probability = None  # that of the other label
    _show.remarks([*unknown_columns(rows, [target, options.groups]), *notes, *missing_note(rows.missing_counts())])
    measured = evaluation.EvaluatedRows(is_pos, scores, called, classes, groups, probability, saved.threshold)
    return evaluation.evaluate(measured, options)


def _tell_evaluation(found: evaluation.Evaluation, options: EvaluationOptions, title: str) -> None:
    _show.remarks(found.notes)
    _show.evaluation(found)
    if options.plot is not None:
        evaluation.draw(found, options.plot)
        _show.say(escape(f"Picture: {options.plot}"))
    if options.html is not None:
        with replacing(options.html, "w") as file:
            file.write(evaluation.page(found, title))
        _show.say(escape(f"Report: {options.html}"))


def evaluate_several(
    models: list[Path], data: Path, target: str | None, positive: str | None, options: EvaluationOptions,
    memory: str | None,
) -> None:  # fmt: skip
    """Measure several models on the same rows, and compare each with the first one by paired tests."""
    if options.plot is not None or options.html is not None:
        raise DataError("--plot and --html must be used with one model; got several.")
    check_paths({"--data": data} | {f"MODEL ({path})": path for path in models}, {})
    every = [_measured(SavedModel.open(path), data, target, positive, options, memory) for path in models]
    first = every[0]
    _show.remarks(dict.fromkeys(note for found in every for note in found.notes))
    for path, found in zip(models, every, strict=True):
        if not np.array_equal(found.is_pos, first.is_pos):
            raise DataError(f"All models must rank the same label on top; {models[0].name} and {path.name} do not.")
        part = found.interval if found.partial is None else found.partial
        name = "AUC" if found.partial is None else f"Partial AUC up to {found.max_fpr:g}"
        _show.say(escape(f"{path.name}: {name} {part.auc:.4f}, 95 % interval {part.low:.4f} to {part.high:.4f}"))
    for path, found in zip(models[1:], every[1:], strict=True):
        gap = compare_auc(first.is_pos, found.score, first.score, groups=found.clusters, max_fpr=found.max_fpr)
        said = f"{path.name} − {models[0].name}: {gap.difference:+.4f}, 95 % interval {gap.low:+.4f} to {gap.high:+.4f}"
        _show.say(escape(f"{said}, p = {gap.pvalue:.2g}"))


def evaluate_scores(
    data: Path, score: str, target: str | None, positive: str | None, options: EvaluationOptions
) -> None:
    """Measure a column of scores against a column of labels, without a model."""
    evaluation.check_outputs({"SCORES": data}, options)
    if target is None:
        raise DataError(NO_LABELS)
    if has_own_labels(data):
        raise DataError(f"--score must name a column of a csv or parquet file; those of {str(data)!r} have no names.")
    y, scores = option_column(data, "target", target), option_column(data, "score", score)
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"--score must name a column of numbers; {score!r} holds others.") from None
    known = np.array([not is_missing(label) for label in y.tolist()]) & np.isfinite(values)
    y = y[known].astype(str) if y.dtype == object else y[known]
    levels, counts = np.unique(y, return_counts=True)
    ask_for_positive(levels.tolist(), counts.tolist(), positive)
    is_pos, classes = positives(y, positive)
    values = values[known]
    is_share = bool(values.min() >= 0.0 and values.max() <= 1.0)
    cut = 0.5 if is_share else 0.0
    notes = [f"{classes[1]} is called where {score} is above {cut:g}."]
    if not known.all():
        notes.append(f"Left out: {count_of(int((~known).sum()), 'row')} without a label or a score.")
    _show.remarks(notes)
    groups = None if options.groups is None else evaluation.group_column(data, options.groups, np.flatnonzero(known))
    probability = values if is_share else None
    measured = evaluation.EvaluatedRows(is_pos, values, values > cut, classes, groups, probability, cut)
    found = evaluation.evaluate(measured, options)
    _tell_evaluation(found._replace(has_model=False), options, f"{score} of {data.name}")
