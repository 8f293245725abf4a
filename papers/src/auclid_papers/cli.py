"""`auclid experiments`: list, run and report the tables and figures of the papers.

Each verb imports the runner itself: the other commands fit models of users and have no need of it.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from auclid.cli import _show
from auclid.cli._show import escape

if TYPE_CHECKING:
    from auclid_papers import Experiment
    from auclid_papers.runner import Progress as Run

app = typer.Typer(help="Every table and figure of the papers, rerun.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option("--record", metavar="DIR", help="The folder of the results.")]
Quick = Annotated[bool, typer.Option("--quick", help="The results of quick runs.")]


@app.command("list")
def list_(record: Folder = Path("record"), quick: Quick = False) -> None:
    """The tables and figures, and how much of each is on record."""
    import auclid_papers

    record = auclid_papers.folder_of(record, quick)
    table = Table(box=None, pad_edge=False)
    for name in ("id", "what", "rows on record"):
        table.add_column(name, no_wrap=name != "what")
    for one in auclid_papers.experiments().values():
        found = len(auclid_papers.Record(record, one.source).rows())
        table.add_row(f"[bold cyan]{one.id}[/]", escape(one.title), str(found or ""))
    Console().print(table)


@app.command()
def run(
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Ids that `list` shows, or `all`.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats, coarser grids: minutes.")] = False,
    datasets: Annotated[str, typer.Option(help="Some of its datasets, with commas.")] = "",
    methods: Annotated[str, typer.Option(help="Some of its methods, with commas.")] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    runs: Annotated[int, typer.Option(min=0, help="At most so many runs of each; 0: all.")] = 0,
    record: Folder = Path("record"),
) -> None:
    """Run what is not on record yet. It may be stopped at any time and goes on where it was."""
    import auclid_papers

    failed = False
    asked_data, asked_methods = _words(datasets), _words(methods)
    for one in _all_with(asked_data, asked_methods) if tables == ["all"] else map(auclid_papers.experiment, tables):
        _show.say(f"[bold cyan]{one.id}[/] {escape(one.title)}")
        with _bar(jobs) as tell:
            done = auclid_papers.run(
                one, record, datasets=asked_data, methods=asked_methods, quick=quick, jobs=jobs, runs=runs or None,
                tell=tell,
            )  # fmt: skip
        for dataset, method, seed, why in done.failed:
            _show.remarks([f"{method} on {dataset}, run {seed}, failed: {why}"])
        if done.plan is not None:
            _show.remarks([f"{dataset} was left out: {why}" for dataset, why in done.plan.missing])
            _show.remarks([f"{method} was left out: it is not installed" for method in done.plan.absent])
        failed |= bool(done.failed)
    if failed:
        raise typer.Exit(1)


@app.command()
def report(
    record: Folder = Path("record"),
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder to write to: pages, or the quick record's own pages.")
    ] = None,
    quick: Quick = False,
) -> None:
    """Write one page a paper: ours beside theirs, with verdicts, and the figures."""
    import auclid_papers
    from auclid_papers import pages

    record = auclid_papers.folder_of(record, quick)
    if not record.is_dir():
        raise ValueError(f"--record must be a folder that `auclid experiments run` wrote to; got {str(record)!r}.")
    output = output or (record / "pages" if quick else Path("pages"))
    pages.write(record, output)
    _show.say(escape(f"Pages: {output}"))


@app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Tables, or `all`: many gigabytes.")],
    folder: Annotated[Path, typer.Option(envvar="AUCLID_DATA", metavar="DIR", help="Where to.")] = Path("data"),
) -> None:
    """Download the original files from LIBSVM and UCI, checked where a checksum is known."""
    from auclid_papers import fetch as files

    wanted = list(files.sources()) if names == ["all"] else names
    files.fetch(wanted, folder, tell=lambda sentence: _show.say(escape(sentence)))


def _all_with(datasets: list[str], methods: list[str]) -> "Iterator[Experiment]":
    """All experiments that have every dataset and method asked for."""
    import auclid_papers

    for one in auclid_papers.experiments().values():
        published, names = {d.published for d in one.datasets}, {m.name for m in one.methods}
        if one.source == one.id and published >= set(datasets) and names >= set(methods):
            yield one


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


class _bar:
    """A bar with the cells made and the time the rest may take; where nobody watches, a line for each tenth."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.console, self.told = Console(stderr=True), 0
        console = self.console
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        self.bar = Progress(*columns, TextColumn("{task.fields[left]}"), console=console, transient=True,
                            disable=not console.is_terminal)  # fmt: skip
        self.task: TaskID | None = None

    def __enter__(self) -> "Callable[[Run], None]":
        self.bar.start()
        return self.tell

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def tell(self, progress: "Run") -> None:
        """Show how far a run is."""
        tenths = 10 * progress.finished // max(1, progress.total)
        if not self.console.is_terminal and tenths > self.told:
            self.told = tenths
            self.console.print(f"{progress.finished} of {progress.total}", highlight=False)
        if self.task is None:
            self.task = self.bar.add_task("", total=progress.total, left="")
        left = progress.remaining(self.jobs)
        said = " · ".join(map(str, progress.last[:2])) if progress.last else ""
        self.bar.update(
            self.task, completed=progress.finished, description=escape(said), left="" if left is None else _spell(left)
        )


def _spell(seconds: float) -> str:
    """A time in words.

    Examples
    --------
    >>> from auclid_papers.cli import _spell
    >>> _spell(42), _spell(200), _spell(9000)
    ('about 42 s left', 'about 3 min left', 'about 2.5 h left')
    """
    if seconds < 100:
        return f"about {seconds:.0f} s left"
    return f"about {seconds / 60:.0f} min left" if seconds < 6000 else f"about {seconds / 3600:.1f} h left"
