"""Cells run in another way: as published, with the printed ranges; and what a gain comes from."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from auclid._page import signed
from auclid.experiments.definitions import Experiment, Method, experiments, values
from auclid.experiments.record import Row
from auclid.experiments.render import Cell, Paragraph, Points, Section, Table, short
from auclid.experiments.tally import MARKS, judged
from auclid.experiments.verdicts import Cells, Figure, cells, measured, published, verdict

SCALED = "-scaled"
"""Ends the id of an experiment that tries another scaling than its table."""

CAUSES = {
    "data": "the data at hand is not the paper's",
    "range": "gone with the printed range, and inner folds had mostly chosen outside it",
    "range or scaling": "gone with the printed range and scaling, and inner folds had mostly chosen neither",
    "scaling": "gone with the printed scaling (of SOLAM, with its steps as published), or with columns as they come",
    "method": "it stays when run with the printed range and scaling, or goes with the form of the method as published",
    "not rerun": "not run again with the printed range and scaling yet, so that nothing is said of it",
}
"""What a beaten figure may come from."""

RERUN = (
    "Cells that beat a figure on data like the paper's were run again with the ranges, widths and scaling that the "
    "paper prints, in fewer runs and with fewer rows to choose on; the papers' pages have a table of each such run."
)

WIDTH = "gamma"
"""The parameter of which papers list a few values: near one is within a factor of 2."""

Printed = dict[str, list[float]]
"""The values that a paper prints for each parameter."""


def variants(name: str) -> list[Experiment]:
    """The experiments that run cells of a table in another way."""
    return [one for one in experiments().values() if name in one.beside]


Key = tuple[Any, ...]
"""Paper, table, dataset, method and metric."""


def causes(found: Iterable[Figure], record: str | Path) -> dict[Key, str]:
    """What each beaten figure comes from: one of `CAUSES`."""
    known: dict[str, Cells] = {}

    def rows(one: Experiment, f: Figure) -> list[Row]:
        if one.id not in known:
            known[one.id] = cells(record, one)
        return known[one.id].get((f.dataset, _ours(experiments()[f.experiment], f).name), [])

    return {f[:5]: _cause(f, rows) for f in judged(found) if f.verdict == "better"}


def _ours(one: Experiment, f: Figure) -> Method:
    return next(m for m in one.methods if m.published == f.method)


def _cause(f: Figure, rows: Any) -> str:
    if not f.like:
        return "data"
    plain: list[str] = []
    scaled: list[str] = []
    printed: Printed = {}
    for one in variants(f.experiment):
        mean = measured(rows(one, f), f.metric)[0] if _same_task(one, f) else None
        if mean is not None:
            (scaled if one.id.endswith(SCALED) else plain).append(verdict(mean, f.published, f.published_std))
            printed |= _printed(one, f)
    if not plain and not scaled:
        return "not rerun"
    if "better" in plain:
        return "scaling" if scaled and "better" not in scaled else "method"
    chosen = [row["chosen"] for row in rows(experiments()[f.experiment], f)]
    outside = _mostly(chosen, lambda c: _is_outside(c, printed))
    rescaled = _mostly(chosen, lambda c: c.get("scale", "columns") != "columns")
    return {(1, 1): "range or scaling", (1, 0): "range", (0, 1): "scaling", (0, 0): "method"}[outside, rescaled]


def _printed(one: Experiment, f: Figure) -> Printed:
    """The numbers to choose from in an experiment's cell, but for those that go by the length of rows."""
    method = next(m for m in one.methods if m.name == _ours(experiments()[f.experiment], f).name)
    grid = one.settings(one.dataset(f.dataset), method)["grid"]
    found = {name: values(said) for name, said in grid.items() if "length" not in said}
    return {name: some for name, some in found.items() if not isinstance(some[0], str)}


def _same_task(one: Experiment, f: Figure) -> bool:
    tasks = [d.settings["positive"] for d in one.datasets if d.published == f.dataset]
    return tasks == [experiments()[f.experiment].dataset(f.dataset).settings["positive"]]


def _mostly(chosen: list[dict], test: Any) -> bool:
    return sum(map(test, chosen)) > 0.5 * len(chosen)


def _is_outside(chosen: dict, printed: Printed) -> bool:
    """Whether a value is in no printed range; a width (ours by default too), in none of those that are listed."""
    named = {name: some for name, some in printed.items() if name in chosen or name == WIDTH}
    return not all(_as_printed(name, chosen.get(name), some) for name, some in named.items())


def _as_printed(name: str, value: float | None, printed: list[float]) -> bool:
    if name == WIDTH:
        return value is not None and any(0.5 <= value / one <= 2.0 for one in printed)
    return value is not None and 0.99 * min(printed) <= value <= 1.01 * max(printed)


def gains(found: Iterable[Figure], known: dict[Key, str]) -> list[Section]:
    """What beaten figures come from, and how many there are of each kind."""
    some = Counter(known[f[:5]] for f in found if f[:5] in known)
    if not some:
        return []
    kinds = [(cause, words) for cause, words in CAUSES.items() if some[cause]]
    items = [f"{cause}: {some[cause]} of {some.total()}; {words}." for cause, words in kinds]
    return [Section("What beaten figures come from", [Paragraph(RERUN), Points(items)])]


def in_short(known: dict[Key, str]) -> str:
    """What beaten figures come from, in a sentence; nothing without any."""
    some = Counter(known.values())
    if not some:
        return ""
    own = some["range"] + some["scaling"] + some["range or scaling"]
    waiting = f", {some['not rerun']} are not rerun" if some["not rerun"] else ""
    return (
        f"Of {some.total()} beaten, {some['method']} come from the method, {own} from a range or scaling that the "
        f"paper does not print, {some['data']} from other data{waiting}."
    )


# --- pages ---------------------------------------------------------------------------------------------------------

KEY = (
    "In a cell, from above: as published (mean ± standard deviation over its runs), our defaults on the same runs, the "
    "paper's figure, and the verdict on the form as published."
)


def section(one: Experiment, record: str | Path) -> Section | None:
    """The cells of an experiment beside those of its table, and the papers' figures."""
    table = experiments()[one.beside[0]]
    theirs, ours = cells(record, one), cells(record, table)
    if not theirs:
        return None
    papers = {
        (row["dataset"], row["method"]): row
        for row in published()
        if (row["paper"], row["table"], row["metric"]) == (table.paper, table.covers[0][0], "auc")
    }
    columns = [Cell((f"table {table.covers[0][0]}: AUC",)), *(Cell((m.name,)) for m in one.methods)]
    rows: list[tuple[Cell, list[Cell]]] = []
    gaps: list[tuple[float, str]] = []
    for dataset in one.datasets:
        line = []
        for method in one.methods:
            name = next(m.published for m in table.methods if m.name == method.name)
            mine, other = (found.get((dataset.published, method.name), []) for found in (theirs, ours))
            line.append(_cell(mine, other, papers.get((dataset.published, name)), gaps))
        rows.append((Cell((dataset.published,)), line))
    notes = [Points([note["note"] for note in one.notes])] if one.notes else []
    blocks: list[Any] = [Paragraph(f"Published: {one.full}", "facts"), Paragraph(f"Here: {one.reduced}", "facts")]
    blocks += [Paragraph(_worth(gaps)), Paragraph(KEY, "caption"), Table(columns, rows), *notes]
    return Section(one.title, blocks)


def _cell(mine: list[Row], other: list[Row], paper: Row | None, gaps: list[tuple[float, str]]) -> Cell:
    mean, std, _ = measured(mine, "auc")
    if mean is None:
        return Cell(("",))
    runs = {row["run"] for row in mine}
    same = measured([row for row in other if row["run"] in runs], "auc")[0]
    lines = [short(mean, std), "" if same is None else f"ours {short(same)}"]
    if paper is None:
        return Cell(tuple(lines))
    said = verdict(mean, paper["mean"], paper["std"])
    if same is not None:
        gaps.append((same - mean, said))
    lines += [f"paper {short(paper['mean'], paper['std'])}", f"{signed(mean - paper['mean'])} {MARKS[said]}"]
    return Cell(tuple(lines), said)


def _worth(gaps: list[tuple[float, str]]) -> str:
    """What our changes are worth over the cells of a table."""
    if not gaps:
        return ""
    differences = [gap for gap, _ in gaps]
    missed = sum(said == "worse" for _, said in gaps)
    return (
        f"As published, {len(gaps) - missed} of {len(gaps)} cells meet or beat the paper's figure, {missed} miss it. "
        f"Our defaults rank better by {signed(float(np.median(differences)))} in the median, from "
        f"{signed(min(differences))} to {signed(max(differences))}."
    )
