"""How the command prints: lines and tables by rich, remarks and progress on stderr; lists of methods and of tables."""

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

if TYPE_CHECKING:  # what is only named must not be imported for a list of methods, or for help
    from auclid.data.files import Rows
    from auclid.datasets.entries import CatalogueEntry
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


def airy_table(*names: str, left: int = 0) -> Table:
    """A table without lines: the first column and the ``left`` ones after it are text, the others numbers."""
    table = Table(box=SIMPLE_HEAD, title_justify="left", pad_edge=False, collapse_padding=True)
    for k, name in enumerate(names):
        text = k <= left
        table.add_column(name, justify="left" if text else "right", no_wrap=k == 0 or not text, overflow="fold")
    return table


def methods(records: "Iterable[Method]") -> None:
    """Every method of the registry, and where its defaults are not the paper's algorithm."""
    table = airy_table("method", "kind", "good for", "reference", "default", left=4)
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
