"""`auclid evaluate`: a model, several of them, or a column of scores, measured on labelled rows."""

from pathlib import Path

import numpy as np
from rich.console import Console

from auclid._hints import count_of
from auclid.cli import _show, evaluation, ordered
from auclid.cli._show import airy_table, escape
from auclid.cli.data import NO_LABELS, ask_for_positive, option_column, positives, unknown_columns
from auclid.cli.evaluation import EvaluatedRows, Evaluation, EvaluationOptions
from auclid.cli.ordered_rows import OrderOptions
from auclid.cli.paths import check_paths
from auclid.cli.saved import Answers, SavedModel
from auclid.cli.verdict import likely, signed
from auclid.data.encoding import is_missing
from auclid.data.readers.open import has_own_labels
from auclid.datasets.readers import labelled_rows, missing_note
from auclid.errors import DataError
from auclid.io import replacing
from auclid.metrics import GroupAUC, LiftTable, compare_auc


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
    _tell_evaluation(_measured(saved, data, target, positive, options, memory), model.name, data)


def _measured(
    saved: SavedModel, data: Path, target: str | None, positive: str | None, options: EvaluationOptions,
    memory: str | None,
) -> Evaluation:  # fmt: skip
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
    measured = EvaluatedRows(is_pos, scores, called, classes, groups, probability, saved.threshold)
    return evaluation.evaluate(measured, options)


def _tell_evaluation(found: Evaluation, name: str, data: Path) -> None:
    """The figures of a model or a column of scores, and its picture and page where they are asked for."""
    options = found.options
    _show.remarks(found.notes)
    _tell_figures(found)
    if options.plot is not None:
        evaluation.draw(found, options.plot)
        _show.say(escape(f"Picture: {options.plot}"))
    if options.html is not None:
        with replacing(options.html, "w") as file:
            file.write(evaluation.page(found, name, data.name))
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
    _show.remarks(dict.fromkeys(note for result in every for note in result.notes))
    for path, result in zip(models, every, strict=True):
        if not np.array_equal(result.rows.is_pos, first.rows.is_pos):
            raise DataError(f"All models must rank the same label on top; {models[0].name} and {path.name} do not.")
        part = result.interval if result.partial is None else result.partial
        name = "AUC" if result.partial is None else f"Partial AUC up to {result.options.max_fpr:g}"
        _show.say(escape(f"{path.name}: {name} {part.auc:.4f}, 95 % interval {part.low:.4f} to {part.high:.4f}"))
    for path, result in zip(models[1:], every[1:], strict=True):
        scores = result.rows.score, first.rows.score
        gap = compare_auc(first.rows.is_pos, *scores, groups=result.clusters, max_fpr=options.max_fpr)
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
    measured = EvaluatedRows(is_pos, values, values > cut, classes, groups, probability, cut, False)
    _tell_evaluation(evaluation.evaluate(measured, options), score, data)


# What is printed


def _tell_figures(result: Evaluation) -> None:
    """The AUC, the confusion matrix of the model's own threshold, and what was asked for besides."""
    interval = result.interval
    _show.say(f"AUC {interval.auc:.4f}, 95 % interval {interval.low:.4f} to {interval.high:.4f} ({escape(result.how)})")
    ap, share = result.ap, float(result.rows.is_pos.mean())
    _show.say(
        f"Average precision {ap.ap:.4f}, 95 % interval {ap.low:.4f} to {ap.high:.4f} ({share:.4f} is guessing); "
        f"Gini {result.gini:.4f}, Kolmogorov-Smirnov {result.ks:.4f}"
    )
    if result.partial is not None:
        part = result.partial
        _show.say(
            f"Partial AUC up to a false-positive rate of {result.options.max_fpr:g}: {part.auc:.4f}, "
            f"95 % interval {part.low:.4f} to {part.high:.4f} (0.5 is guessing)"
        )
    _confusion(result)
    if result.alerts is not None:
        _alerts(result)
    if result.by_group is not None:
        _groups(result.by_group)
    _lift(result.lift)


def _alerts(result: Evaluation) -> None:
    """What a number of alerts finds."""
    rates, score, positive = result.alerts, result.rows.score, escape(result.rows.classes[1])
    assert rates is not None
    flagged = int((score > rates.threshold).sum())
    _show.say(
        f"The {flagged:,} highest of {len(score):,} rows (at most {result.options.alerts:,} alerts, scores above "
        f"{rates.threshold:.6g}): {rates.precision:.1%} are {positive}; that is {rates.tpr:.1%} of "
        f"them ({rates.tpr_low:.1%} to {rates.tpr_high:.1%}), and {rates.fpr:.2%} of the others "
        f"({rates.fpr_low:.2%} to {rates.fpr_high:.2%})"
    )


def _groups(by_group: GroupAUC) -> None:
    """A line for each group, and the worst pair."""
    table = airy_table("group", "AUC", "95 % interval")
    for name, one in by_group.intervals.items():
        table.add_row(escape(str(name)), f"{one.auc:.4f}", f"[dim]{one.low:.4f}–{one.high:.4f}[/dim]")
    Console().print(table)
    worst, gap = by_group.worst, by_group.gap
    _show.say(
        escape(
            f"Worst pair: positives of {worst.first} against negatives of {worst.second}, AUC {worst.auc:.4f}, "
            f"{signed(worst.comparison.difference)} to all rows, p {likely(worst.comparison.pvalue, equals='= ')}."
        )
    )
    _show.say(
        escape(
            f"Most different groups: {gap.first} and {gap.second}, {signed(gap.comparison.difference)}, "
            f"p {likely(gap.comparison.pvalue, equals='= ')}. Both p-values allow for the choice."
        )
    )


def _lift(lift: LiftTable) -> None:
    """The very top and tenths of the list, best scores first: figures are of each part, but gain adds up."""
    table = airy_table("rows", "score from", "positives", "precision", "lift", "gain")
    starts = [0.0, *lift.top[:-1]]
    for k, start in enumerate(starts):
        table.add_row(
            f"{100 * start:.3g}–{100 * lift.top[k]:.3g}%",
            f"{lift.threshold[k]:.4g}",
            f"{round(lift.positives[k], 1):g}",
            f"{lift.precision[k]:.1%}",
            f"{lift.lift[k]:.2f}",
            f"{lift.gain[k]:.1%}",
        )
    Console().print(table)


def _confusion(result: Evaluation) -> None:
    """What the model's own threshold does, or that of a column of scores."""
    is_pos, called, classes = result.rows.is_pos, result.rows.called, result.rows.classes
    table = airy_table("", escape(f"called {classes[1]}"), escape(f"called {classes[0]}"))
    at = "at the model's own threshold," if result.rows.has_model else escape(f"called {classes[1]} above")
    _show.say(f"{count_of(len(is_pos), 'row')} {at} {result.rows.threshold:.6g}:")
    for name, of_class in ((classes[1], is_pos), (classes[0], ~is_pos)):
        table.add_row(escape(f"is {name}"), f"{(called & of_class).sum():,}", f"{(~called & of_class).sum():,}")
    Console().print(table)
    if not called.any():
        _show.say(
            escape(
                f"No row is called {classes[1]}. Go by the order of the scores, as below, or say with --alerts N how "
                "many rows you can look at."
            )
        )
