"""What the command prints: tables by rich, remarks and progress on stderr."""

import codecs
import io
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape as without_markup
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from auclid._hints import count_of
from auclid.cli.stdin import plainly_named
from auclid.cli.verdict import likely, signed

if TYPE_CHECKING:  # what is only named must not be imported for a list of methods, or for help

    from auclid.cli.compare import HeldOutComparison, TimeBlock
    from auclid.cli.evaluation import Evaluation
    from auclid.comparison import ComparedModel, TableComparison
    from auclid.data.files import Rows
    from auclid.datasets.entries import CatalogueEntry
    from auclid.metrics import GroupAUC, LiftTable
    from auclid.registry import Method

LOGGER = logging.getLogger("auclid")

OURS, THEIRS = "bold cyan", "yellow"

PLAIN = {"–": "-", "−": "-", "≤": "<=", "≥": ">=", "…": "...", "×": "x"}
"""What stands for characters that a terminal's encoding lacks; a question mark for all others."""


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Write something else for characters that cannot be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(PLAIN.get(character, "?") for character in missing), error.end


def any_character() -> None:
    """From now on print what the encoding of the output has, and something else for what it has not."""
    codecs.register_error("auclid-plainly", _plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="auclid-plainly")


def escape(text: str) -> str:
    """A text as it is to be seen: no markup, and no control character that a terminal would obey.

    Examples
    --------
    >>> from auclid.cli._show import escape
    >>> escape("[red]")
    '\\\\[red]'
    >>> print(escape("\\x1b[31m"))
    \\x1b[31m
    """
    return without_markup("".join(x if x.isprintable() else repr(x)[1:-1] for x in text))


def say(text: str) -> None:
    """A line on stdout, in rich's markup; not wrapped, since it may hold a path."""
    Console().print(plainly_named(text), soft_wrap=True, highlight=False)


def note(text: str) -> None:
    """A line on stderr, in rich's markup."""
    Console(stderr=True).print(plainly_named(text), soft_wrap=True, highlight=False)


def trouble(sentence: str) -> None:
    """Why nothing was done."""
    note(f"[red]auclid:[/red] {escape(sentence)}")


def remarks(notes: Iterable[str]) -> None:
    """What a user should know, on stderr."""
    for each in notes:
        note(f"[yellow]note:[/yellow] {escape(each)}")


SECONDS_BETWEEN_LINES = 10.0
"""From one line of progress to the next, where there is no terminal."""


class NowAndThen(logging.Filter):
    """Lets a message pass where the last one that passed, or the very first one, was long enough ago."""

    def __init__(self) -> None:
        super().__init__()
        self._last: float | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        now = perf_counter()
        self._last = now if self._last is None else self._last
        if now - self._last < SECONDS_BETWEEN_LINES:
            return False
        self._last = now
        return True


@contextmanager
def logged() -> Iterator[None]:
    """Print messages of the library's logger about its progress as plain lines, where stderr is no terminal."""
    if Console(stderr=True).is_terminal:
        yield
        return
    handler, before = logging.StreamHandler(sys.stderr), LOGGER.level
    handler.setFormatter(logging.Formatter("auclid: %(message)s"))
    handler.addFilter(NowAndThen())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(min(before or logging.INFO, logging.INFO))
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(before)


@contextmanager
def _bar(*columns: ProgressColumn) -> Iterator[Progress]:
    """A line that is gone at its end, in a terminal; elsewhere nothing: rich before 14.3 would end an empty one."""
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar if console.is_terminal else nullcontext():
        yield bar


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A line with the name of what runs and its time, in a terminal; yields a function to tell the name.

    Where there is no terminal, names are logged.
    """
    with _bar(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as bar:
        task = bar.add_task("", total=None)

        def tell(name: str) -> None:
            LOGGER.info("fitting %s", name)
            bar.reset(task, description=escape(name), total=None)

        yield tell


@contextmanager
def passes(rows: "Rows") -> Iterator[None]:
    """A line with the number of the pass, rows a second and the time left in it, in a terminal; logged elsewhere."""
    words = TextColumn("pass {task.fields[number]}"), TextColumn("{task.fields[pace]}")
    with _bar(words[0], BarColumn(), words[1], TimeRemainingColumn()) as bar:
        task = bar.add_task("", total=None, number=1, pace="")
        number, before, start = 1, 0, perf_counter()

        def watch(done: int, count: int | None) -> None:
            nonlocal number, before, start
            if done <= before:
                number, start = number + 1, perf_counter()
                bar.reset(task, total=count, number=number, pace="")
            before = done
            pace = f"{done / max(perf_counter() - start, 1e-9):,.0f} rows/s"
            LOGGER.info("pass %d: %s rows%s, %s", number, f"{done:,}", f" of {count:,}" if count else "", pace)
            bar.update(task, completed=done, total=count, pace=pace, number=number)

        rows.watch = watch
        try:
            yield
        finally:
            rows.watch = None


def introduce(source: str, shape: tuple[int, int], share: float, label: str, by_blocks: bool = False) -> None:
    """One line about a table with a share of rows of the positive label."""
    size = f"{count_of(shape[0], 'row')}, {count_of(shape[1], 'column')}"
    line = f"{source}: {size}, {share:.2%} positive (label {label})"
    say(escape(line + ", read by blocks" * by_blocks))


def comparison(result: "HeldOutComparison") -> None:
    """The leaderboard, the notes and the answers."""
    measure = "AUC" if result.max_fpr == 1.0 else "partial AUC"
    table = _table("model", measure, "95 % interval", "gap", "p", "AP", "fit, s")
    table.columns[0].no_wrap = False  # in a narrow terminal names fold; figures never do
    table.columns[0].overflow = "fold"
    table.title = f"Measured on {len(result.found.rows):,} rows, by {result.found.how}"
    for model in result.found.models:
        name = f"[{THEIRS if model.is_baseline else OURS}]{escape(model.name)}[/]"
        table.add_row(name, *(["failed"] if model.trouble else _figures(model)))
    Console().print(table)
    colours = f"[{OURS}]Ours[/] and [{THEIRS}]baselines[/]. " if Console().color_system else ""
    test = "DeLong's" if len(result.found.splits) == 1 else "Nadeau and Bengio's"
    say(f"{colours}The gap is to the best baseline; p is {test}, paired. AP: average precision.")
    say("A fit is timed in seconds of one processor, after one on a few rows: compiling is not counted.")
    if result.blocks:
        _blocks(result.found.best.name, result.blocks)
    remarks([*result.notes, *(f"{m.name} failed: {m.trouble}" for m in result.found.models if m.trouble)])
    say("")
    for answer in result.answers:
        say(f"[bold]{escape(answer.question)}[/] {escape(answer.text)}")


def _blocks(name: str, blocks: "list[TimeBlock]") -> None:
    """The AUC and the average precision of a model over time."""
    table = _table("from", "rows", "positives", "AUC (95 %)", "AP (95 %)")
    table.title = f"{escape(name)} over time, until {blocks[-1].end}"
    for block in blocks:
        auc, ap = block.auc, block.ap
        figures = f"{auc.auc:.4f} ({auc.low:.2f}–{auc.high:.2f})", f"{ap.ap:.4f} ({ap.low:.2f}–{ap.high:.2f})"
        table.add_row(block.start, f"{block.rows:,}", f"{block.positives:,}", *figures)
    Console().print(table)


def ranks(found: "TableComparison") -> None:
    """Mean ranks over several tables, and which models differ."""
    table = _table("model", "mean rank", "mean AUC")
    table.title = f"Mean ranks over {len(found.tables)} tables"
    for name, rank, aucs in zip(found.names, found.ranks, found.aucs, strict=True):
        table.add_row(escape(name), f"{rank:.2f}", f"{aucs.mean():.4f}")
    Console().print(table)
    friedman = "" if found.pvalue != found.pvalue else f"; that all rank alike has p {likely(found.pvalue, '= ')}"
    say(f"Mean ranks less than {found.critical_difference:.2f} apart cannot be told apart (Nemenyi){friedman}.")


def _figures(model: "ComparedModel") -> tuple[str, ...]:
    gap = ("", "") if model.gap is None else (signed(model.gap.difference), likely(model.gap.pvalue))
    interval = f"[dim]{model.low:.4f}–{model.high:.4f}[/dim]"
    return f"{model.auc:.4f}", interval, *gap, f"{model.ap:.4f}", f"{model.seconds:.3f}"


def _table(*names: str, left: int = 0) -> Table:
    """An airy table: the first column and the ``left`` ones after it are text, the others numbers."""
    table = Table(box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for k, name in enumerate(names):
        text = k <= left
        table.add_column(name, justify="left" if text else "right", no_wrap=k == 0 or not text, overflow="fold")
    return table


def evaluation(found: "Evaluation") -> None:
    """The AUC, the confusion matrix of the model's own threshold, and what was asked for besides."""
    interval = found.interval
    say(f"AUC {interval.auc:.4f}, 95 % interval {interval.low:.4f} to {interval.high:.4f} ({escape(found.how)})")
    ap, share = found.ap, float(found.is_pos.mean())
    say(
        f"Average precision {ap.ap:.4f}, 95 % interval {ap.low:.4f} to {ap.high:.4f} ({share:.4f} is guessing); "
        f"Gini {found.gini:.4f}, Kolmogorov-Smirnov {found.ks:.4f}"
    )
    if found.partial is not None:
        part = found.partial
        say(
            f"Partial AUC up to a false-positive rate of {found.max_fpr:g}: {part.auc:.4f}, "
            f"95 % interval {part.low:.4f} to {part.high:.4f} (0.5 is guessing)"
        )
    _confusion(found)
    if found.alerts is not None:
        _alerts(found)
    if found.by_group is not None:
        _groups(found.by_group)
    _lift(found.lift)


def _alerts(found: "Evaluation") -> None:
    """What a number of alerts finds."""
    rates = found.alerts
    assert rates is not None
    flagged = int((found.score > rates.threshold).sum())
    say(
        f"The {flagged:,} highest of {len(found.score):,} rows (at most {found.wanted:,} alerts, scores above "
        f"{rates.threshold:.6g}): {rates.precision:.1%} are {escape(found.classes[1])}; that is {rates.tpr:.1%} of "
        f"them ({rates.tpr_low:.1%} to {rates.tpr_high:.1%}), and {rates.fpr:.2%} of the others "
        f"({rates.fpr_low:.2%} to {rates.fpr_high:.2%})"
    )


def _groups(by_group: "GroupAUC") -> None:
    """A line for each group, and the worst pair."""
    table = _table("group", "AUC", "95 % interval")
    for name, one in by_group.intervals.items():
        table.add_row(escape(str(name)), f"{one.auc:.4f}", f"[dim]{one.low:.4f}–{one.high:.4f}[/dim]")
    Console().print(table)
    worst, gap = by_group.worst, by_group.gap
    say(
        escape(
            f"Worst pair: positives of {worst.first} against negatives of {worst.second}, AUC {worst.auc:.4f}, "
            f"{signed(worst.comparison.difference)} to all rows, p {likely(worst.comparison.pvalue, equals='= ')}."
        )
    )
    say(
        escape(
            f"Most different groups: {gap.first} and {gap.second}, {signed(gap.comparison.difference)}, "
            f"p {likely(gap.comparison.pvalue, equals='= ')}. Both p-values allow for the choice."
        )
    )


def _lift(lift: "LiftTable") -> None:
    """The very top and tenths of the list, best scores first: figures are of each part, but gain adds up."""
    table = _table("rows", "score from", "positives", "precision", "lift", "gain")
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


def _confusion(found: "Evaluation") -> None:
    """What the model's own threshold does, or that of a column of scores."""
    is_pos, called, classes = found.is_pos, found.called, found.classes
    table = _table("", escape(f"called {classes[1]}"), escape(f"called {classes[0]}"))
    at = "at the model's own threshold," if found.has_model else escape(f"called {classes[1]} above")
    say(f"{count_of(len(is_pos), 'row')} {at} {found.threshold:.6g}:")
    for name, of_class in ((classes[1], is_pos), (classes[0], ~is_pos)):
        table.add_row(escape(f"is {name}"), f"{(called & of_class).sum():,}", f"{(~called & of_class).sum():,}")
    Console().print(table)
    if not called.any():
        say(
            escape(
                f"No row is called {classes[1]}. Go by the order of the scores, as below, or say with --alerts N how "
                "many rows you can look at."
            )
        )


def methods(records: "Iterable[Method]") -> None:
    """Every method of the registry, and where its defaults are not the paper's algorithm."""
    table = _table("method", "kind", "good for", "reference", "default", left=4)
    different: dict[str, list[str]] = {}
    for method in records:
        kinds = {"stream": method.online, "kernel": method.kernel, "semi-supervised": method.semi_supervised}
        kinds[method.target] = method.target != "classes"
        kind = ", ".join(name for name, is_so in kinds.items() if is_so) or "batch"
        if method.differs:
            different.setdefault(method.differs, []).append(method.name)
        form = "ours" if method.ours else "differs" if method.differs else "as published"
        name = f"[{OURS}]{escape(method.name)}[/]"
        table.add_row(name, kind, escape(method.good_for), escape(method.reference), form)
    Console().print(table)
    say("Where the defaults differ from the paper's algorithm (of ours, no paper prints one):")
    for text, names in different.items():
        say(f"- [{OURS}]{escape(', '.join(names))}[/]: {escape(text)}")
    say("Levels and times: auclid fit --ordered, or --event and --time.")
    say("The published form, where it differs: auclid fit --method NAME --published, make(NAME, published=True).")


def datasets(records: "Iterable[CatalogueEntry]") -> None:
    """Every table of the catalogue."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("table", "rows", "columns", "positive", "home"):
        table.add_column(name, justify="right" if name in ("rows", "columns") else "left", no_wrap=name == "table")
    for data in records:
        table.add_row(f"[{OURS}]{data.name}[/]", f"{data.rows:,}", f"{data.columns:,}", data.positive, data.home)
    Console().print(table)
