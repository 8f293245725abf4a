"""Runs the cells of an experiment that have no result, in one process or several."""

import multiprocessing
import os
import threading
import traceback
from collections.abc import Callable, Collection, Container, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from auclid_papers import data, fetch, methods, sweeps
from auclid_papers.definitions import Dataset, Experiment, experiment
from auclid_papers.record import Cell, Record, Row, rows_by_protocol

Result = tuple[Cell, list[Row] | str]
"""A cell and its rows, or the error message."""


def results_folder(record: str | Path, quick: bool = False) -> Path:
    """The folder of the results; quick ones have a folder of their own below it."""
    if Path(record).is_file():
        raise NotADirectoryError(f"--record must be a folder; got the file {str(record)!r}.")
    return Path(record) / "quick" if quick else Path(record)


def all_cells(one: Experiment, quick: bool = False) -> Iterator[Cell]:
    """Every cell of an experiment, run by run on each dataset, so that methods share cached rows."""
    for dataset in (d for d in one.datasets if d.name):
        ours = [m for m in one.methods if m.ours]
        columns = [(m.name, one.runs(dataset, m, quick), one.protocol_hash(dataset, m, quick)) for m in ours]
        for run in range(max((runs for _, runs, _ in columns), default=0)):
            yield from (Cell(dataset.published, name, run, key) for name, runs, key in columns if run < runs)


class Plan(NamedTuple):
    """The cells to run, and what cannot be run."""

    experiment: Experiment
    cells: tuple[Cell, ...]
    missing: tuple[tuple[str, str], ...]  # (dataset, reason)
    not_installed: tuple[str, ...]  # methods
    quick: bool = False

    @classmethod
    def of(
        cls,
        one: Experiment,
        done: Container[Cell] = (),
        *,
        datasets: Collection[str] = (),
        methods_: Collection[str] = (),
        quick: bool = False,
        runs: int | None = None,
    ) -> "Plan":
        """The cells of an experiment that are not ``done``, of some datasets and methods (default: all)."""
        _check_names("--datasets", datasets, [d.published for d in one.datasets])
        _check_names("--methods", methods_, [m.name for m in one.methods])
        chosen = [d for d in one.datasets if not datasets or d.published in datasets]
        ours = [m for m in one.methods if m.ours and (not methods_ or m.name in methods_)]
        available = {d.published for d in chosen if d.name is not None and data.is_available(d.name)}
        installed = {m.name for m in ours if methods.is_installed(m.registry_name)}
        cells = [c for c in all_cells(one, quick) if c.dataset in available and c.method in installed and c not in done]
        return cls(
            one,
            tuple(cell for cell in cells if runs is None or cell.run < runs),
            tuple((d.published, _reason(d)) for d in chosen if d.published not in available),
            tuple(m.name for m in ours if m.name not in installed),
            quick,
        )


def _check_names(option: str, wanted: Collection[str], names: Collection[str]) -> None:
    for name in wanted:
        if name not in names:
            raise ValueError(f"{option} must be some of {', '.join(names)}; got {name!r}.")


def _reason(dataset: Dataset) -> str:
    hint = f"put it into AUCLID_DATA as {dataset.name}.npz or {dataset.name}.libsvm"
    if dataset.name in fetch.sources():
        hint = f"`auclid experiments fetch {dataset.name}` downloads it"
    return f"{dataset.missing or f'{dataset.name} is not in AUCLID_DATA'}; {hint}"


def with_whole_datasets(one: Experiment) -> Experiment:
    """The experiment on whole datasets in place of samples, where AUCLID_DATA has them."""
    datasets = [d.as_whole() if d.whole and data.is_available(d.whole) else d for d in one.datasets]
    return replace(one, datasets=tuple(datasets))


def run(
    name: str | Experiment,
    record: str | Path = "record",
    *,
    datasets: Collection[str] = (),
    methods: Collection[str] = (),
    quick: bool = False,
    jobs: int = 1,
    runs: int | None = None,
    tell: "Callable[[Progress], object]" = id,
) -> "Progress":
    """Run the cells of an experiment that have no result; returns its `Progress`.

    Parameters
    ----------
    name : str or Experiment
        Such as "spam-2"; for a figure of a table's times, the table is run.
    record : path
        Folder of the results; quick ones go to its subfolder ``quick``.
    datasets, methods : names, optional
        Some of the experiment's.
    quick : bool
        Fewer repeats and smaller grids.
    jobs : int
        Number of processes.
    runs : int, optional
        The maximal number of runs of each dataset and method; a later call makes the others.
    tell : callable, optional
        Called with a `Progress` before the first cell and after each.
    """
    one = name if isinstance(name, Experiment) else experiment(name)
    if one.source != one.id:
        one = experiment(one.source)
    one = with_whole_datasets(one)
    limits: dict[str, Any] = {"datasets": datasets, "methods_": methods, "quick": quick, "runs": runs}
    results = Record.of(results_folder(record, quick), one)
    with results.locked():
        results.discard_others(set(all_cells(one, quick)))
        plan = Plan.of(one, results.done(), **limits)
        if one.kind == "table":
            results.add(_shared_rows(plan, results.path.parent))
            plan = Plan.of(one, results.done(), **limits)
        return _run(plan, results, jobs, tell)


def _run(plan: Plan, results: Record, jobs: int, tell: "Callable[[Progress], object]") -> "Progress":
    progress = Progress(plan)
    tell(progress)
    for cell, found in _results(plan, jobs):
        if isinstance(found, str):
            progress.failed.append((cell, found))
        else:
            results.add(cell._asdict() | row for row in found)
        progress.finished, progress.last = progress.finished + 1, cell
        tell(progress)
    results.sort()
    return progress


def _shared_rows(plan: Plan, folder: Path) -> list[Row]:
    """The results of cells that another table has with the same data, protocol, method and seed."""
    known = rows_by_protocol(folder)
    return [known[c.protocol, c.run] | c._asdict() for c in plan.cells if (c.protocol, c.run) in known]


@dataclass
class Progress:
    """The plan of a run, how many of its cells are finished, the last one, and those that failed with their errors."""

    plan: Plan
    finished: int = 0
    last: Cell | None = None
    failed: list[tuple[Cell, str]] = field(default_factory=list)

    @property
    def total(self) -> int:
        """The number of cells."""
        return len(self.plan.cells)


def run_cell(one: Experiment, cell: Cell, quick: bool = False) -> Result:
    """The rows of a cell, one for a table and one per point for a figure, or the message of its error."""
    dataset, method = one.dataset(cell.dataset), one.method(cell.method)
    settings = one.settings(dataset, method, quick)
    rows: list[Row] | str
    try:
        with threadpool_limits(1):
            if one.kind == "table":
                rows = [methods.cell(method.registry_name, dataset.file_name, settings, cell.run)]
            else:
                rows = [{"x": x, "y": y} for x, y in sweeps.points(one, dataset, method, settings, cell.run)]
    except Exception as error:  # one cell that fails must not end the others
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        rows = f"{type(error).__name__}: {' '.join(str(error).split())[:300]} ({place})"
    return cell, rows


def _results(plan: Plan, jobs: int) -> Iterator[Result]:
    """The result of each cell as soon as it is finished."""
    if jobs == 1:
        yield from (run_cell(plan.experiment, cell, plan.quick) for cell in plan.cells)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_exit_with_parent) as pool:
        futures = [pool.submit(run_cell, plan.experiment, cell, plan.quick) for cell in plan.cells]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool:
            raise ChildProcessError("A process of the run was killed; the finished cells are saved.") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _exit_with_parent() -> None:
    """End this process as soon as its parent is killed."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
