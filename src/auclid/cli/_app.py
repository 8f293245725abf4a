"""The verbs of the `auclid` command: their options and help.

What a verb does is in a module of its own, which is imported when the verb runs: help and mistyped options need no
NumPy.
"""

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from auclid._version import __version__
from auclid.cli import _plugins, _show, stdin
from auclid.cli.defaults import AGAINST, BASELINE_NAMES, BUDGET
from auclid.cli.wording import memory_size, rate, sentence

UsageProblem: type[Exception] = typer.BadParameter.__mro__[2]
"""Click's exception for what cannot be understood; newer versions of typer carry a copy of their own."""


class Polite(TyperGroup):
    """Bad input is answered with one sentence and exit code 2, never with a traceback.

    Sub-commands that other packages add are loaded when they are asked for.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *_plugins.names()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or _plugins.command(cmd_name)

    def invoke(self, ctx: Any) -> Any:
        _show.any_character()
        try:
            with _show.logged():
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

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        callback=stdin.source,
        help="A csv, parquet, arrow, libsvm, npz or npy file, a folder or a glob; -: standard input.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `auclid fit` wrote.")]
Card = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `auclid fit --method Scorecard` wrote.")]
Target = Annotated[str | None, typer.Option(help="The column with the labels (csv, parquet).")]
Positive = Annotated[
    str | None, typer.Option(help="The label to rank on top; else the greater of two, if it is a number or the rarer.")
]
Drop = Annotated[list[str] | None, typer.Option(metavar="NAME", help="A column to leave out; repeatable.")]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        callback=memory_size,
        help="Rows to keep in memory, such as 500MB; more are read by blocks. Default: 512MiB. "
        "The process needs 300 to 450MB besides; methods that step from row to row (SPAM) up to 650MB.",
    ),
]
MaxFPR = Annotated[float, typer.Option(callback=rate, help="Partial AUC: only the top counts, up to this FPR.")]
Group = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Compare rows of one group only: a query, a session, a patient.")
]
Event = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Censored times: whether the event was seen; with --time.")
]
Time = Annotated[str | None, typer.Option(metavar="COLUMN", help="Censored times: when; with --event.")]
Ordered = Annotated[bool, typer.Option("--ordered", help="The target has ordered levels or numbers, not two labels.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A parameter, as in Python; METHOD:NAME=VALUE of one method; repeatable."
    ),
]
Scale = Annotated[
    str | None, typer.Option(help="Scorecard: points that double the odds. Default: auto, as rounding allows.")
]
Base = Annotated[float | None, typer.Option(help="Scorecard: points of a row with the odds --odds. Default: 600.")]
Odds = Annotated[
    float | None, typer.Option(help="Scorecard: odds of the label, to one, of a row with --base points. Default: 50.")
]
MaxBins = Annotated[
    str | None,
    typer.Option(metavar="N", help="Scorecard: bins of a column, at the most; auto; none: one for each whole point."),
]
MaxLines = Annotated[
    int | None,
    typer.Option(metavar="N", help="Scorecard: lines of the table of points, at most. Default: 120, or 6 a column."),
]
Higher = Annotated[
    str | None,
    typer.Option(help="Scorecard: riskier (default): points rise with the odds of the positive label; safer: fall."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the split and of the methods.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"auclid {__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def compare(
    context: typer.Context,
    data: Annotated[
        list[Path] | None, typer.Argument(metavar="DATA", help="One table or several; else the embedded one.")
    ] = None,
    target: Target = None,
    methods: Annotated[
        str, typer.Option(help="Names from `auclid methods`, with commas, `auto`, or `all`; else those that suit.")
    ] = "",
    against: Annotated[str, typer.Option(help=f"Some of {', '.join(BASELINE_NAMES)}.")] = ",".join(AGAINST),
    positive: Positive = None,
    drop: Drop = None,
    cv: Annotated[int | None, typer.Option(min=2, help="Folds; with --time, blocks of later rows. Default: 5.")] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="How often folds are drawn anew. Default: 3 below 1,000 positives.")
    ] = None,
    test_size: Annotated[
        float | None, typer.Option(min=0.05, max=0.95, help="One hold-out of this share of the rows, instead of folds.")
    ] = None,
    test: Annotated[Path | None, typer.Option(metavar="FILE", help="Rows to test on, instead of folds.")] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Learn from the past, test on later rows by this column.")
    ] = None,
    tune: Annotated[int, typer.Option(min=0, help="Settings to try for each model, by inner folds.")] = 0,
    settings: Settings = None,
    budget: Annotated[float, typer.Option(min=1.0, help="Seconds, about: fewer repeats are run if need be.")] = BUDGET,
    jobs: Annotated[int | None, typer.Option(help="Splits to run at a time, each in a process of its own.")] = None,
    seed: Seed = 0,
    output: Annotated[Path, typer.Option(help="The report to write, .html.")] = Path("report.html"),
    table: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The figures too: .csv, .parquet or .xlsx.")
    ] = None,
    max_fpr: MaxFPR = 1.0,
    memory: Memory = None,
    group: Group = None,
    event: Event = None,
    ordered: Ordered = False,
) -> None:
    """Compare methods and baselines: which model to take, how good it will be, and whether optimising AUC pays."""
    from auclid.cli import data as rows

    if _has_order(group, event, None, ordered):
        from auclid.cli import comparing, ordered_compare
        from auclid.cli.ordered_rows import OrderOptions

        known = "data", "drop", "cv", "repeats", "test_size", "budget", "jobs", "seed", "output", "table"
        _refuse_all_but(context, *known, "methods", "settings")
        if not data or len(data) > 1:
            raise typer.BadParameter("rows with an order are compared one table at a time.", param_hint="DATA")
        options = OrderOptions(target, event, time, group, ordered, drop or [], positive)
        protocol = comparing.Protocol(cv, repeats, test_size, 0, budget, jobs)
        outputs, names = comparing.Outputs(output, table), _words(methods)
        ordered_compare.compare(data[0], options, protocol, outputs, seed, names, settings or [])
        return
    from auclid.cli import comparing

    how = rows.Options(target, positive, drop or [], "", seed, memory, max_fpr, time=time, settings=settings or [])
    protocol = comparing.Protocol(cv, repeats, test_size, tune, budget, jobs)
    chosen = comparing.Contestants(_words(methods), _words(against))
    comparing.compare(data or [], how, chosen, protocol, comparing.Outputs(output, table), test)


def _has_order(group: str | None, event: str | None, time: str | None, ordered: bool) -> bool:
    """Whether the options say that rows have an order that is not that of two classes."""
    return ordered or any(name is not None for name in (group, event, time))


def _refuse_all_but(context: typer.Context, *names: str) -> None:
    """Refuse options that mean nothing for rows with an order, rather than ignore them."""
    known = {"target", "group", "event", "time", "ordered", *names}
    if context.params["event"] is None and not context.params["ordered"]:  # two labels within groups
        known.add("positive")
    for option in context.command.params:
        source: Any = context.get_parameter_source(option.name or "")
        if source is not None and source.name == "COMMANDLINE" and option.name not in known:
            raise typer.BadParameter(
                "it must not be given with --ordered, --group or --event, which do not know it.",
                param_hint=option.opts[0],
            )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


@app.command()
def fit(
    context: typer.Context,
    data: Data,
    model: Annotated[Path, typer.Option(metavar="FILE", help="The model file to write.")] = Path("model.auclid"),
    target: Target = None,
    method: Annotated[str, typer.Option(help="A name from `auclid methods`; auto: AUCClassifier chooses.")] = "auto",
    positive: Positive = None,
    drop: Drop = None,
    seed: Seed = 0,
    memory: Memory = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Learn in one pass, writing down where the stream is.")
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Rows from one checkpoint to the next.")] = 1_000_000,
    scheduler: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A running dask cluster.")] = None,
    max_fpr: MaxFPR = 1.0,
    published: Annotated[
        bool, typer.Option("--published", help="The method exactly as its paper prints it; see `auclid methods`.")
    ] = False,
    settings: Settings = None,
    scale: Scale = None,
    base: Base = None,
    odds: Odds = None,
    max_bins: MaxBins = None,
    max_lines: MaxLines = None,
    higher: Higher = None,
    group: Group = None,
    event: Event = None,
    time: Time = None,
    ordered: Ordered = False,
) -> None:
    """Train a model on all rows and save it."""
    from auclid.cli import data as rows
    from auclid.cli import fitting

    points = rows.PointTableOptions(scale, base, odds, max_bins, higher, max_lines)
    how = rows.Options(
        target, positive, drop or [], method, seed, memory, max_fpr, published, settings=settings or [], points=points
    )
    if _has_order(group, event, time, ordered):
        from auclid.cli import ordered as orders

        known = "data", "model", "method", "drop", "seed", "settings", "published", *rows.PointTableOptions._fields
        _refuse_all_but(context, *known)
        options = orders.OrderOptions(target, event, time, group, ordered, drop or [], positive)
        orders.fit(data, model, options, how)
        return
    stream = None if checkpoint is None else (checkpoint, every)
    fitting.fit(data, model, how, stream, scheduler)


@app.command()
def predict(
    model: Model,
    data: Data,
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="The csv, parquet or xlsx file; -: csv on standard output.")
    ] = Path("scores.csv"),
    identifier: Annotated[
        list[str] | None, typer.Option("--id", metavar="NAME", help="A column to copy beside the scores; repeatable.")
    ] = None,
    alerts: Annotated[int | None, typer.Option(min=1, help="Call the so many highest rows positive.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Call higher scores positive.")] = None,
    cost: Annotated[
        str | None, typer.Option(metavar="FN:FP", help="Call positive what costs less so, by the probabilities.")
    ] = None,
    precision: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Call the most rows positive with this expected precision.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the threshold in MODEL, for every later command.")] = False,
    memory: Memory = None,
) -> None:
    """Write score, probability and label of every row: the higher, the more likely positive."""
    from auclid.cli import predicting, thresholds

    purpose = thresholds.Purpose(alerts, threshold, cost, precision)
    predicting.predict(model, data, output, identifier or [], memory, purpose, keep)


@app.command()
def evaluate(
    context: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL DATA",
            callback=stdin.source,
            help="Also: MODEL... --data DATA, or a table with --score COLUMN.",
        ),
    ],
    data: Annotated[Path | None, typer.Option(help="Rows for several models, compared with the first.")] = None,
    score: Annotated[str | None, typer.Option(metavar="COLUMN", help="A column of scores, without a model.")] = None,
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
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="A page to decide on a threshold with.")] = None,
    memory: Memory = None,
    group: Group = None,
    event: Event = None,
    time: Time = None,
    ordered: Ordered = False,
) -> None:
    """The AUC of a model on labelled rows, with its interval, and what its threshold does."""
    from auclid.cli import evaluating, evaluation

    if _has_order(group, event, time, ordered):
        from auclid.cli import ordered as orders

        _refuse_all_but(context, "paths", "data", "score", "plot", "html")
        if len(paths) + (data is not None) != 2 or score is not None:
            raise typer.BadParameter("rows with an order are measured by one model: MODEL DATA.", param_hint="MODEL")
        order = orders.OrderOptions(target, event, time, group, ordered, positive=positive)
        orders.evaluate(paths[0], data or paths[1], order, plot, html)
        return
    options = evaluation.EvaluationOptions(groups, max_fpr, alerts, plot, html)
    if score is not None:
        if len(paths) != 1 or data is not None:
            raise typer.BadParameter("with --score there is one table and no model.", param_hint="--score")
        evaluating.evaluate_scores(paths[0], score, target, positive, options)
    elif data is not None and len(paths) > 1:
        evaluating.evaluate_several(paths, data, target, positive, options, memory)
    elif len(paths) + (data is not None) == 2:
        evaluating.evaluate(paths[0], data or paths[1], target, positive, options, memory)
    else:
        raise typer.BadParameter("give MODEL DATA, MODEL... --data DATA, or a table with --score.", param_hint="MODEL")


@app.command()
def export(
    model: Model,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write; else the code is printed, but for ONNX.")
    ] = None,
    to: Annotated[str, typer.Option(help="sql, onnx, pmml, json or python; else by the ending of --output.")] = "",
    dialect: Annotated[
        str | None, typer.Option(help="Of SQL: ansi (default), sqlite, duckdb, postgresql or spark.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="The table that SQL selects from. Default: t.")] = None,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="SQL: a column to select beside the score; repeatable.")
    ] = None,
    probability: Annotated[bool, typer.Option("--probability", help="SQL: select the probability too.")] = False,
) -> None:
    """Write a model as code that scores rows without auclid: SQL, ONNX, PMML, JSON or Python."""
    from auclid.cli import exporting

    exporting.export(model, output, to, dialect=dialect, table=table, keep=keep, probability=probability)


@app.command()
def monitor(
    model: Model,
    new: Annotated[
        list[Path],
        typer.Argument(metavar="NEW", callback=stdin.source, help="Files of new rows, with or without labels."),
    ],
    target: Target = None,
    time: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column with the date of each row.")] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows to compare with, labelled ones unseen by the model.")
    ] = None,
    period: Annotated[str, typer.Option(help="day, week, month, quarter or year.")] = "week",
    threshold: Annotated[float | None, typer.Option(help="Scores above are alerts; else the model's own.")] = None,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The page to write, .html.")] = Path("monitor.html"),
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="A JSON file to write as well.")] = None,
    memory: Memory = None,
) -> None:
    """Compare new rows with those a model has learnt from; exit code 3 where something calls for action."""
    from auclid.cli import monitoring

    options = monitoring.MonitoringOptions(target, time, reference, period, threshold, output, json, memory)
    raise typer.Exit(monitoring.monitor(model, new, options))


@app.command()
def points(
    model: Card,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The csv, parquet or xlsx file.")] = Path("points.csv"),
    page: Annotated[Path | None, typer.Option(metavar="FILE", help="The page of the scorecard too, .html.")] = None,
    scale: Scale = None,
    base: Base = None,
    odds: Odds = None,
    max_bins: MaxBins = None,
    max_lines: MaxLines = None,
    higher: Higher = None,
) -> None:
    """Write the points of a scorecard: bins with counts, rates and what each is worth.

    Options that are not given are those of `auclid fit`.
    """
    from auclid.cli import scorecards, settings

    scorecards.points(model, output, page, settings.PointTableOptions(scale, base, odds, max_bins, higher, max_lines))


@app.command()
def edit(
    model: Card,
    edits: Annotated[
        Path | None, typer.Argument(metavar="EDITS", help="A JSON file of edits, as the editor's page saves it.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="The model file to write; else MODEL.")] = None,
    data: Annotated[Path | None, typer.Option(help="Labelled rows to measure the change in AUC on.")] = None,
    target: Target = None,
    page: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the editor's page, .html.")] = None,
    with_rows: Annotated[
        bool, typer.Option("--with-rows", help="Write values of up to 2,000 rows of --data into the page.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Take earlier edits back first.")] = False,
    memory: Memory = None,
) -> None:
    """Edit a scorecard by hand: apply a file of edits, which the model keeps, or write the editor's page."""
    from auclid.cli import scorecards

    options = scorecards.EditOptions(output, data, target, page, with_rows, replace)
    scorecards.edit(model, edits, options, memory)


@app.command()
def update(
    model: Model,
    new: Annotated[
        Path, typer.Argument(metavar="NEW", callback=stdin.source, help="Labelled rows; -: standard input.")
    ],
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="The model file to write; else MODEL.")] = None,
    target: Target = None,
    memory: Memory = None,
) -> None:
    """Let a model that learns from streams learn from more rows."""
    from auclid.cli import updating

    updating.update(model, new, output, target, memory)


@app.command()
def methods() -> None:
    """List every method by the name its paper gives it."""
    from auclid.registry import algorithms

    _show.methods(algorithms())


@app.command()
def warm(names: Annotated[list[str] | None, typer.Argument(metavar="METHOD", help="Which; else all.")] = None) -> None:
    """Compile methods beforehand, so that no fit has to wait for it: a few minutes for all, once an installation."""
    from auclid.warm import warm as compiled

    for name, seconds in compiled(names or ()):
        _show.say(f"{name:<24} {seconds:6.1f} s")


@app.command()
def datasets() -> None:
    """List the tables of the literature, and where they are to be had."""
    from auclid.datasets import catalogue

    _show.datasets(catalogue())
