"""The verbs of the `auclid` command."""

import os
import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from scipy import sparse
from sklearn.base import is_classifier
from typer.core import TyperGroup

from auclid._kinds import is_frame
from auclid._version import __version__
from auclid.additive import Scorecard
from auclid.auto import AUCClassifier
from auclid.baselines import scores as scored
from auclid.calibrated import Calibrated
from auclid.cli import _show, evaluation, experiments, large, models, predictions
from auclid.cli._show import escape
from auclid.cli.compare import AGAINST, compare
from auclid.cli.data import NO_LABELS, positives, read, read_rows, text
from auclid.cli.fitting import fit_large
from auclid.cli.report import report
from auclid.cli.scorecards import card_facts, leave_scorecard
from auclid.cli.verdict import measured_by
from auclid.cli.wording import rate, remarks, sentence
from auclid.datasets import DataError, catalogue
from auclid.io import about, load, may_write, replacing, save
from auclid.registry import algorithms
from auclid.warm import warm as compiled

UsageProblem: type[Exception] = typer.BadParameter.__mro__[2]
"""Click's exception for what cannot be understood; newer versions of typer carry a copy of their own."""


class Polite(TyperGroup):
    """Bad input is answered with one sentence and exit code 2, never with a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (UsageProblem, typer.Exit, typer.Abort):
            raise
        except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
            _show.trouble(sentence(error))
            raise typer.Exit(2) from error
        except Exception as error:
            if os.environ.get("AUCLID_DEBUG"):
                raise
            said = " ".join(f"{type(error).__name__}: {error}".split())
            _show.trouble(f"Something went wrong that was not foreseen ({said}). Set AUCLID_DEBUG=1 to see where.")
            raise typer.Exit(1) from error


app = typer.Typer(
    cls=Polite,
    help="Train models that put positives above negatives, and see whether that pays.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(experiments.app, name="experiments")

Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="A csv, parquet, arrow, libsvm, npz or npy file, a folder or a glob.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `auclid fit` wrote.")]
Target = Annotated[str | None, typer.Option(help="The column with the labels (csv, parquet).")]
Positive = Annotated[str | None, typer.Option(help="The label to rank on top; else the greater of two.")]
OneHot = Annotated[bool, typer.Option("--one-hot", help="Make a column of each value of a text column.")]
Drop = Annotated[list[str] | None, typer.Option(metavar="NAME", help="A column to leave out; repeatable.")]
Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Read by blocks, and keep no more rows in memory than this: 2GB.")
]
MaxFPR = Annotated[float, typer.Option(callback=rate, help="Partial AUC: only the top counts, up to this FPR.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the split and of the methods.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"auclid {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


@app.command("compare")
def compare_(
    data: Annotated[Path | None, typer.Argument(metavar="[DATA]", help="Default: the embedded table.")] = None,
    target: Target = None,
    methods: Annotated[
        str, typer.Option(help="Names from `auclid methods`, with commas, and `auto`; else those that suit.")
    ] = "",
    against: Annotated[str, typer.Option(help=f"Some of {', '.join(models.BASELINES)}.")] = ",".join(AGAINST),
    positive: Positive = None,
    one_hot: OneHot = False,
    drop: Drop = None,
    test_size: Annotated[float, typer.Option(min=0.05, max=0.95, help="Share of rows to test on.")] = 0.3,
    seed: Seed = 0,
    output: Annotated[Path, typer.Option(help="The report to write.")] = Path("report.html"),
    max_fpr: MaxFPR = 1.0,
    memory: Memory = None,
) -> None:
    """Train a sensible set of methods and baselines; does optimising AUC pay on this table?"""
    _apart(output, data)
    models.refuse_unknown(_words(methods), _words(against))
    if data is not None and large.by_blocks(data, memory):
        found = large.task(data, target, positive, drop or [], memory)
        rows = large.sampled(found, str(data), memory, seed)
    else:
        rows = read_rows(data, target, positive=positive, one_hot=one_hot, drop=drop or ())
    _show.introduce(rows)
    with _show.progress() as tell:
        how: dict[str, Any] = {"seed": seed, "test_size": test_size, "max_fpr": max_fpr}
        result = compare(rows, _words(methods), _words(against), tell=tell, **how)
    _show.comparison(result)
    with replacing(output, "w") as file:
        file.write(report(result))
    _show.say(escape(f"Report: {output}"))
    _show.say(escape(f"Next: {_next_line(data, target, positive, drop or (), result)}"))


def _next_line(data: Path | None, target: str | None, positive: str | None, drop: Sequence[str], result: Any) -> str:
    """The line that keeps the best of ours."""
    if data is None:
        return "auclid compare DATA --target NAME, with a table of your own."
    best = result.best(ours=True)
    method = "auto" if best is None or best.name == "AUCClassifier" else best.name
    chosen = [
        ("--target", target),
        ("--positive", positive),
        *(("--drop", name) for name in drop),
        ("--method", method),
        ("--max-fpr", f"{result.max_fpr:g}" if models.aims(method, result.max_fpr) else None),
    ]
    words = [str(data), *(word for name, value in chosen if value is not None for word in (name, value))]
    return f"auclid fit {' '.join(map(shlex.quote, words))} --model model.auclid"


def _apart(output: Path, *inputs: Path | None) -> None:
    """Refuse, before any work, an output that is an input, or that cannot be written."""
    if os.path.realpath(output) in {os.path.realpath(path) for path in inputs if path is not None}:
        raise DataError(f"The file to write must be another than the one to read; got {str(output)!r} for both.")
    if not Path(os.path.realpath(output)).parent.is_dir():
        raise DataError(f"{str(output)!r} must be in a folder that exists; there is no {str(output.parent)!r}.")
    may_write(output)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


@app.command()
def fit(
    data: Data,
    model: Annotated[Path, typer.Option(metavar="FILE", help="The model file to write.")] = Path("model.auclid"),
    target: Target = None,
    method: Annotated[str, typer.Option(help="A name from `auclid methods`; auto: AUCClassifier chooses.")] = "auto",
    positive: Positive = None,
    one_hot: OneHot = False,
    drop: Drop = None,
    seed: Seed = 0,
    memory: Memory = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Learn in one pass, writing down where the stream is.")
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Rows from one checkpoint to the next.")] = 1_000_000,
    scheduler: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A running dask cluster.")] = None,
    max_fpr: MaxFPR = 1.0,
) -> None:
    """Train a model on all rows and save it."""
    _apart(model, data)
    if checkpoint is not None or scheduler is not None or large.by_blocks(data, memory):
        kept = None if checkpoint is None else (checkpoint, every)
        how = large.Options(target, positive, drop or [], method, seed, memory, max_fpr)
        fit_large(data, model, how, kept, scheduler)
        return
    name, estimator = models.ours(method, seed, max_fpr)
    models.refuse_whole_list(name, estimator, max_fpr)
    scaled = not isinstance(estimator, Scorecard)
    rows = read_rows(data, target, positive=positive, one_hot=one_hot, drop=drop or (), scaled=scaled)
    _show.introduce(rows)
    if isinstance(estimator, AUCClassifier):
        with warnings.catch_warnings(action="ignore"):  # the fit will say it again
            told = estimator.expect(rows.X, rows.is_pos)
        _show.say(escape(f"It will take about {max(told.seconds, 1.0):.0f} s and {told.bytes / 1e6:,.0f} MB."))
    elif not hasattr(estimator, "predict_proba"):
        estimator = Calibrated(estimator)
    with _show.progress() as tell, warnings.catch_warnings(record=True) as caught:
        tell(name)
        start = perf_counter()
        estimator.fit(rows.X, rows.is_pos.astype(int))
    known: dict[str, Any] = {"method": name, "columns": rows.feature_names, "target": target, "classes": rows.classes}
    known["dense"], known["frame"] = not sparse.issparse(rows.X), is_frame(rows.X)
    save(model, estimator, about=known)
    _show.remarks(remarks([*rows.notes, *(each.message for each in caught)]))
    if hasattr(estimator, "leaderboard_"):
        best = estimator.leaderboard_[0]
        judged = f"held-out {measured_by(max_fpr)} {best.auc:.4f}"
        _show.say(escape(f"Chosen: {estimator.best_}. Best candidate: {best.name}, {judged}."))
    _show.say(escape(f"{name}, fitted in {perf_counter() - start:.2f} s: {model}"))
    if isinstance(estimator, Scorecard):
        facts = card_facts(estimator, rows)
        for path in leave_scorecard(estimator, model, rows.feature_names, rows.classes, facts):
            _show.say(escape(f"To read: {path}"))


@app.command()
def predict(
    model: Model,
    data: Data,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The csv or parquet file.")] = Path("scores.csv"),
    identifier: Annotated[
        list[str] | None, typer.Option("--id", metavar="NAME", help="A column to copy beside the scores; repeatable.")
    ] = None,
    memory: Memory = None,
) -> None:
    """Write score, probability and label of every row: the higher, the more likely positive."""
    _apart(output, model, data)
    estimator, known = _opened(model)
    if large.by_blocks(data, memory):
        rows = large.scanned(data, None, [], memory, columns=_names(estimator, known))
        copies = predictions.Copies(data, identifier) if identifier else None
        with _show.passes(rows):
            count = large.predict_rows(estimator, rows, output, lambda predicted: _labels(predicted, known), copies)
        _show.say(escape(f"{count:,} scores: {output}"))
        return
    columns: dict[str, Any] = predictions.copied(data, identifier or [])
    X, _, notes = _rows(estimator, known, data, but=identifier or ())
    with _show.progress() as tell:
        tell("predict")
        columns["score"] = np.asarray(scored(estimator, X))
        if hasattr(estimator, "predict_proba"):
            columns["probability"] = estimator.predict_proba(X)[:, 1]
        columns["label"] = _labels(estimator.predict(X), known)
    predictions.write(output, columns)
    _show.remarks(notes)
    _show.say(escape(f"{len(columns['label']):,} scores: {output}"))


@app.command()
def evaluate(
    model: Model,
    data: Data,
    target: Target = None,
    positive: Positive = None,
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="AUC by this column, or allowing for rows that share a value.")
    ] = None,
    max_fpr: Annotated[
        float, typer.Option(callback=rate, help="Also the partial AUC up to this false-positive rate.")
    ] = 1.0,
    alerts: Annotated[int | None, typer.Option(min=1, help="What happens if so many rows are looked at.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="A picture to draw: .png, .svg or .pdf.")] = None,
    memory: Memory = None,
) -> None:
    """The AUC of a model on labelled rows, with its interval, and what its threshold does."""
    if plot is not None:
        _apart(plot, model, data)
    estimator, known = _opened(model)
    target, names = target or known.get("target"), _names(estimator, known)
    by_blocks = large.by_blocks(data, memory)
    if by_blocks:
        rows = large.scanned(data, target, [], memory, columns=names)
        with _show.passes(rows):
            y, kept, notes = large.labels_of(rows, target)
            scores, predicted = (each[kept] for each in large.scores_of(estimator, rows))
    else:
        X, y, notes = _rows(estimator, known, data, target)
        scores, predicted = scored(estimator, X), estimator.predict(X)
    if y is None:
        raise DataError(NO_LABELS)
    if positive is None:
        _expected(y, known.get("classes"))
    is_pos, classes = positives(y, positive or _positive(estimator, known))
    called = predicted == estimator.classes_[1]
    column = None
    if groups is not None:
        column = (
            large.group_column(data, groups, names, kept)
            if by_blocks
            else evaluation.group_column(data, groups, target)
        )
    wishes = evaluation.Wishes(column, groups, max_fpr, alerts)
    found = evaluation.evaluate(is_pos, scores, called, classes, wishes)
    _show.remarks(notes)
    _show.evaluation(found)
    if plot is not None:
        evaluation.draw(found, plot)
        _show.say(escape(f"Picture: {plot}"))


def _expected(y: np.ndarray, classes: list[str] | None) -> None:
    """Refuse labels that a model of two named classes has never seen."""
    if classes is None or classes[0] == "rest":
        return
    strange = [text(label) for label in np.unique(y) if text(label) not in classes]
    if strange:
        raise DataError(
            f"The target must hold the model's classes, {classes[0]} and {classes[1]}; it has {strange[0]!r}. "
            "Compare one with the rest: --positive LABEL."
        )


def _opened(model: Path) -> tuple[Any, dict[str, Any]]:
    if not model.exists():
        raise DataError(f"MODEL must be a file that `auclid fit` wrote; there is no {str(model)!r}.")
    estimator = load(model)
    if not is_classifier(estimator) or not hasattr(estimator, "classes_"):
        what = type(estimator).__name__
        raise DataError(f"MODEL must hold a fitted classifier; {str(model)!r} holds a {what}, which gives no labels.")
    return estimator, _known(model)


def _known(model: Path) -> dict[str, Any]:
    """What `fit` recorded with a model; nothing where the model was saved otherwise."""
    told = about(model)
    if not isinstance(told, dict) or not told.keys() >= {"columns", "classes", "dense"}:
        return {}
    columns, classes, target = told["columns"], told["classes"], told.get("target")
    texts = all(isinstance(names, list) and all(isinstance(x, str) for x in names) for names in (columns, classes))
    if not texts or len(classes) != 2 or not isinstance(target, str | None):
        raise DataError(f"MODEL must say the names of its columns and of two classes; {str(model)!r} does not.")
    return told


def _rows(
    estimator: Any, known: dict[str, Any], data: Path, target: str | None = None, but: Sequence[str] = ()
) -> tuple[Any, np.ndarray | None, list[str]]:
    """Rows as the model knows them: columns by the names that were recorded, dense or sparse.

    Those of ``but`` are left out without a word, unless the model knows them.
    """
    names = _names(estimator, known)
    how: dict[str, Any] = {}
    if known.get("frame") or (not known and names is not None):
        how = {"as_frame": True, "drop": [name for name in but if name not in (names or ())]}
    X, y, _, notes = read(data, target, columns=names, **how)
    return X.toarray() if known.get("dense") and sparse.issparse(X) else X, y, notes


def _names(estimator: Any, known: dict[str, Any]) -> list[str] | None:
    """The columns a model was fitted to, where that was recorded."""
    names = known.get("columns")
    if names is None and hasattr(estimator, "feature_names_in_"):
        names = [str(name) for name in estimator.feature_names_in_]
    return names


def _positive(estimator: Any, known: dict[str, Any]) -> str:
    return str(known["classes"][1] if "classes" in known else estimator.classes_[1])


def _labels(predicted: np.ndarray, known: dict[str, Any]) -> list[str]:
    """Predictions by the names of their classes in the training file."""
    names = known.get("classes")
    return [names[int(label)] for label in predicted] if names else [str(label) for label in predicted]


@app.command()
def methods() -> None:
    """List every method by the name its paper gives it."""
    _show.methods(algorithms())


@app.command()
def warm(names: Annotated[list[str] | None, typer.Argument(metavar="METHOD", help="Which; else all.")] = None) -> None:
    """Compile methods beforehand, so that no fit has to wait for it: a few minutes for all, once an installation."""
    for name, seconds in compiled(names or ()):
        _show.say(f"{name:<24} {seconds:6.1f} s")


@app.command()
def datasets() -> None:
    """List the tables of the literature, and where they are to be had."""
    _show.datasets(catalogue())
