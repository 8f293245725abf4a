"""`auclid experiments`: list, run and report the tables and figures of the papers.

The sub-commands import the runner themselves, so that `auclid --help` does not wait for it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    from auclid_papers.definitions import Experiment
    from auclid_papers.runner import Progress as RunProgress

app = typer.Typer(help="Rerun the tables and figures of the papers.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option("--record", metavar="DIR", help="The folder of the results.")]
Quick = Annotated[bool, typer.Option("--quick", help="The results of quick runs.")]


@app.command("list")
def list_(record: Folder = Path("record"), quick: Quick = False) -> None:
    """List the tables and figures, and how many results each has."""
    import auclid_papers

    folder = auclid_papers.results_folder(record, quick)
    table = Table("id", "title", "results", box=None, pad_edge=False)
    table.columns[0].no_wrap = True
    for one in auclid_papers.experiments().values():
        count = len(auclid_papers.Record(folder, one.source).frame())
        table.add_row(f"[bold cyan]{one.id}[/]", escape(one.title), str(count or ""))
    Console().print(table)


@app.command()
def run(
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Ids that `list` shows, or `all`.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats, smaller grids: minutes.")] = False,
    datasets: Annotated[str, typer.Option(help="Some of its datasets, separated by commas.")] = "",
    methods: Annotated[str, typer.Option(help="Some of its methods, separated by commas.")] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    runs: Annotated[int, typer.Option(min=0, help="The maximal number of runs of each; 0: all.")] = 0,
    record: Folder = Path("record"),
) -> None:
    """Run what has no result yet. A run can be interrupted at any time; the next one resumes it."""
    import auclid_papers

    failed = False
    names = {"datasets": _split(datasets), "methods": _split(methods)}
    for one in _all_with(**names) if tables == ["all"] else map(auclid_papers.experiment, tables):
        _say(f"[bold cyan]{one.id}[/] {escape(one.title)}")
        with _progress_bar() as tell:
            done = auclid_papers.run(one, record, **names, quick=quick, jobs=jobs, runs=runs or None, tell=tell)
        remarks = [f"{c.method} on {c.dataset}, run {c.run}, failed: {why}" for c, why in done.failed]
        remarks += [f"{dataset} was left out: {why}" for dataset, why in done.plan.missing]
        remarks += [f"{method} was left out: it is not installed" for method in done.plan.not_installed]
        for remark in remarks:
            Console(stderr=True, highlight=False).print(f"[yellow]note:[/yellow] {escape(remark)}", soft_wrap=True)
        failed |= bool(done.failed)
    if failed:
        raise typer.Exit(1)


@app.command()
def report(
    record: Folder = Path("record"),
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder for the pages; default: pages, or quick/pages.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also build the pages as HTML in this folder, with mkdocs.")
    ] = None,
    quick: Quick = False,
) -> None:
    """Write the pages: one per paper with our results beside the published ones, and the figures."""
    import auclid_papers
    from auclid_papers import pages

    folder = auclid_papers.results_folder(record, quick)
    if not folder.is_dir():
        raise ValueError(f"--record must be a folder that `auclid experiments run` wrote to; got {str(folder)!r}.")
    output = output or (folder / "pages" if quick else Path("pages"))
    pages.write(folder, output)
    _say(escape(f"Pages: {output}"))
    if html is not None:
        pages.build_html(output, html)
        _say(escape(f"HTML: {html / 'index.html'}"))


@app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Datasets, or `all`: many gigabytes.")],
    folder: Annotated[Path, typer.Option(envvar="AUCLID_DATA", metavar="DIR", help="Where to.")] = Path("data"),
) -> None:
    """Download the original files from LIBSVM and UCI, and verify the checksums that are known."""
    from auclid_papers import fetch as files

    wanted = list(files.sources()) if names == ["all"] else names
    files.fetch(wanted, folder, tell=lambda sentence: _say(escape(sentence)))


def _say(text: str) -> None:
    Console(highlight=False).print(text, soft_wrap=True)


def _all_with(datasets: list[str], methods: list[str]) -> "Iterator[Experiment]":
    """All experiments that have the named datasets and methods."""
    import auclid_papers

    for one in auclid_papers.experiments().values():
        published, names = {d.published for d in one.datasets}, {m.name for m in one.methods}
        if one.source == one.id and published >= set(datasets) and names >= set(methods):
            yield one


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


@contextmanager
def _progress_bar() -> "Iterator[Callable[[RunProgress], None]]":
    """A progress bar with an estimate of the remaining time; without a terminal, a line for each tenth."""
    console = Console(stderr=True, highlight=False)
    times = TimeElapsedColumn(), TimeRemainingColumn()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *times
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task, tenths = bar.add_task("", total=None), 0

        def tell(progress: "RunProgress") -> None:
            nonlocal tenths
            before, tenths = tenths, 10 * progress.finished // max(1, progress.total)
            if not console.is_terminal and tenths > before:
                console.print(f"{progress.finished} of {progress.total}")
            cell = f"{progress.last.method} · {progress.last.dataset}" if progress.last else ""
            bar.update(task, total=progress.total, completed=progress.finished, description=escape(cell))

        yield tell
