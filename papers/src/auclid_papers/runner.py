"""Runs an experiment: its cells in order, those already on record left out, one process or several."""

import multiprocessing
import os
import queue
import threading
import traceback
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from auclid_papers import curves, data, fetch, methods
from auclid_papers.definitions import Dataset, Experiment, Method, experiment
from auclid_papers.record import Record, Row, protocols_on_record

Cell = tuple[str, str, int]
"""Dataset, method and run, by their published names."""

Found = tuple[str, str, int, list[Row] | str, float]
"""A cell, its rows (or why there are none) and the seconds it took."""


def folder_of(record: str | Path, quick: bool = False) -> Path:
    """Where results are: quick ones in a folder of their own below the record's, not to be taken for the full ones."""
    if Path(record).is_file():
        raise NotADirectoryError(f"--record must be a folder; got the file {str(record)!r}.")
    return Path(record) / "quick" if quick else Path(record)


@dataclass(frozen=True)
class Plan:
    """What is to be done: groups of (dataset, run, methods) that share their rows, and what cannot be done."""

    experiment: Experiment
    groups: tuple[tuple[Dataset, int, tuple[Method, ...]], ...]
    missing: tuple[tuple[str, str], ...]  # (dataset, why)
    absent: tuple[str, ...]  # methods that need something which is not installed
    quick: bool = False

    @property
    def cells(self) -> list[Cell]:
        """(dataset, method, run) by their published names, in order."""
        return [_cell(d, m, run) for d, run, some in self.groups for m in some]

    @classmethod
    def of(
        cls,
        one: Experiment,
        done: Container[tuple] = (),
        *,
        datasets: Sequence[str] = (),
        methods_: Sequence[str] = (),
        quick: bool = False,
        runs: int | None = None,
    ) -> "Plan":
        """The cells of an experiment that are not done, for the datasets and methods asked for (all by default).

        ``done`` holds (dataset, method, run, protocol): what another protocol made is run again.
        """
        _known(datasets, [d.published for d in one.datasets], "--datasets")
        _known(methods_, [m.name for m in one.methods], "--methods")
        chosen = [d for d in one.datasets if not datasets or d.published in datasets]
        absent_data = [d for d in chosen if not _at_hand(d)]
        missing = tuple((d.published, _why(d)) for d in absent_data)
        ours = [m for m in one.methods if m.ours and (not methods_ or m.name in methods_)]
        absent = tuple(m.name for m in ours if not methods.available(m.built))
        ours = [m for m in ours if methods.available(m.built)]
        groups: list[tuple[Dataset, int, tuple[Method, ...]]] = []
        for dataset in filter(_at_hand, chosen):
            most = max((one.runs(dataset, m, quick) for m in ours), default=0)
            for run in range(min(most, runs or most)):
                some = [m for m in ours if run < one.runs(dataset, m, quick)]
                some = [m for m in some if (*_cell(dataset, m, run), one.protocol_of(dataset, m, quick)) not in done]
                if some:
                    groups.append((dataset, run, tuple(some)))
        return cls(one, tuple(groups), missing, absent, quick)


def _at_hand(dataset: Dataset) -> bool:
    return dataset.name is not None and data.at_hand(dataset.name)


def _why(dataset: Dataset) -> str:
    hint = f"; `auclid experiments fetch {dataset.name}` gets it" if dataset.name in fetch.sources() else ""
    return f"{dataset.missing or f'{dataset.name} is not in AUCLID_DATA'}{hint}"


def _cell(dataset: Dataset, method: Method, run: int) -> Cell:
    return dataset.published, method.name, run


def _known(asked: Sequence[str], names: Sequence[str], option: str) -> None:
    for name in asked:
        if name not in names:
            raise ValueError(f"{option} must be some of {', '.join(names)}; got {name!r}.")


def run(
    name: str | Experiment,
    record: str | Path = "record",
    *,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    quick: bool = False,
    jobs: int = 1,
    runs: int | None = None,
    tell: "Callable[[Progress], None] | None" = None,
) -> "Progress":
    """Run what is missing of an experiment; returns its `Progress`.

    Parameters
    ----------
    name : str or Experiment
        Such as "spam-2"; for a figure of a table's times, that table is run.
    record : path
        Folder of the results; quick ones go to a folder ``quick`` below it.
    datasets, methods : names, optional
        Some of the experiment's.
    quick : bool
        Fewer repeats and coarser grids.
    jobs : int
        Processes.
    runs : int, optional
        At most so many runs of each dataset and method; a later call makes the others.
    tell : callable, optional
        Called with a `Progress` before the first cell and after each.
    """
    one = name if isinstance(name, Experiment) else experiment(name)
    if one.source != one.id:
        one = experiment(one.source)
    limits: dict[str, Any] = {"datasets": datasets, "methods_": methods, "quick": quick, "runs": runs}
    rows = Record(folder_of(record, quick), one.id, figure=one.kind != "table", extra=one.extra)
    with rows.alone():
        rows.keep(_cells(one, quick))
        plan = Plan.of(one, rows.done(), **limits)
        if one.kind == "table" and (taken := _taken(plan, rows.path.parent)):
            rows.add(taken)
            plan = Plan.of(one, rows.done(), **limits)
        return _run(plan, rows, jobs, tell or (lambda progress: None))


def _run(plan: Plan, rows: Record, jobs: int, tell: "Callable[[Progress], None]") -> "Progress":
    one, progress = plan.experiment, Progress(plan.cells, plan)
    tell(progress)
    told = {(d.published, m.name): one.protocol_of(d, m, plan.quick) for d, _, some in plan.groups for m in some}
    for dataset, method, seed, found, seconds in (_here if jobs == 1 else _elsewhere)(plan, jobs):
        cell = {"dataset": dataset, "method": method, "run": seed, "protocol": told[dataset, method]}
        if isinstance(found, str):
            progress.failed.append((dataset, method, seed, found))
        else:
            rows.add([cell | row for row in found])
        progress.after(dataset, method, seed, seconds)
        tell(progress)
    if rows.path.exists():
        rows.settle()
    return progress


def _cells(one: Experiment, quick: bool) -> set[tuple]:
    """(dataset, method, run, protocol) of every cell that an experiment has."""
    pairs = [(d, m) for d in one.datasets if d.name for m in one.methods if m.ours]
    return {(*_cell(d, m, run), one.protocol_of(d, m, quick)) for d, m in pairs for run in range(one.runs(d, m, quick))}


def _taken(plan: Plan, folder: Path) -> list[Row]:
    """Rows of cells that another table of the record has run alike: same data, protocol, method and seed."""
    known, found = protocols_on_record(folder), []
    for dataset, run, some in plan.groups:
        for method in some:
            row = known.get((plan.experiment.protocol_of(dataset, method, plan.quick), run))
            if row is not None:
                found.append(row | dict(zip(("dataset", "method", "run"), _cell(dataset, method, run), strict=True)))
    return found


class Progress:
    """How far a run is, and how long the rest may take."""

    def __init__(self, cells: Sequence[Cell], plan: Plan | None = None) -> None:
        self.plan = plan
        self.left = list(cells)
        self.total = len(cells)
        self.last: Cell | None = None
        self.failed: list[tuple[str, str, int, str]] = []
        self._seconds: dict[Any, list[float]] = {}

    @property
    def finished(self) -> int:
        """Cells made."""
        return self.total - len(self.left)

    def after(self, dataset: str, method: str, run: int, seconds: float) -> None:
        """Note that a cell is finished."""
        self.left.remove((dataset, method, run))
        self.last = (dataset, method, run)
        for key in ((dataset, method), dataset, method, None):
            self._seconds.setdefault(key, []).append(seconds)

    def remaining(self, jobs: int = 1) -> float | None:
        """Seconds the rest may take: by like cells where there were some; None before the first."""
        if not self._seconds:
            return None
        return sum(self._guess(dataset, method) for dataset, method, _ in self.left) / jobs

    def _guess(self, dataset: str, method: str) -> float:
        known = next(key for key in ((dataset, method), dataset, method, None) if key in self._seconds)
        return float(np.mean(self._seconds[known]))


def _group(plan: Plan, dataset: Dataset, run: int, some: tuple[Method, ...]) -> Iterator[Found]:
    """Yield (dataset, method, run, rows, seconds) for the methods of a group; rows is a sentence where it failed."""
    for method in some:
        start = perf_counter()
        found: list[Row] | str
        try:
            with threadpool_limits(1):
                found = rows_of(plan.experiment, dataset, method, run, plan.quick)
        except Exception as error:  # one cell that fails must not end the others
            found = f"{type(error).__name__}: {' '.join(str(error).split())[:300]} ({_where(error)})"
        yield dataset.published, method.name, run, found, perf_counter() - start


def _where(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def rows_of(one: Experiment, dataset: Dataset, method: Method, run: int, quick: bool = False) -> list[Row]:
    """The rows of one cell: one for a table, one a point for a figure."""
    how = one.settings(dataset, method, quick)
    if one.kind != "table":
        return [{"x": x, "y": y} for x, y in curves.points(one, dataset, method, how, run)]
    return [methods.cell(method.built, dataset.known_name, how, run)]


def _here(plan: Plan, jobs: int) -> Iterator[Found]:
    for dataset, run, some in plan.groups:
        yield from _group(plan, dataset, run, some)


def _elsewhere(plan: Plan, jobs: int) -> Iterator[Found]:
    """The same by several processes; rows come as soon as they are known."""
    context = multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    for k in [*range(len(plan.groups)), *[None] * jobs]:
        tasks.put(k)
    workers = [context.Process(target=_work, args=(plan, tasks, results), daemon=True) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    try:
        yield from _results(workers, results)
    finally:
        for worker in workers:
            worker.terminate()


def _results(workers: list, results: Any) -> Iterator[Found]:
    """What the workers find, as it comes, until every one of them has said None."""
    ended = 0
    while ended < len(workers):
        try:
            found = results.get(timeout=1.0)
        except queue.Empty:
            if sum(not worker.is_alive() for worker in workers) > ended:
                sentence = "A process of the run was ended from outside; what it had finished is on record."
                raise ChildProcessError(sentence) from None
            continue
        if found is None:
            ended += 1
        else:
            yield found


def _end_with_parent() -> None:
    """A killed run ends its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(plan: Plan, tasks: Any, results: Any) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while (k := tasks.get()) is not None:
        for found in _group(plan, *plan.groups[k]):
            results.put(found)
    results.put(None)
