"""Cells run in another way: as published, with the printed ranges; and what a gain comes from."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, NamedTuple

import numpy as np

from auclid._page import signed
from auclid_papers.definitions import Experiment, Method, experiments, values
from auclid_papers.gaps import standard_error
from auclid_papers.record import Row
from auclid_papers.render import Cell, Notes, Paragraph, Points, Section, Table, counted, short
from auclid_papers.tally import MARKS, judged
from auclid_papers.verdicts import Cells, Figure, cells, measured, published, verdict

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

OURS = "our defaults"
KEY = (
    "Two forms of a method on the same runs: {form}, and with our defaults; mean ± standard deviation over runs. "
    "Difference: our defaults less {form} ± its standard error over runs, widened for the training rows that runs "
    "share (Nadeau & Bengio 2003); of one run there is none. Then the paper's figure, and {form} less that, with the "
    "verdict; a number in brackets is a note below. A mean over tables has the standard error over tables."
)


class Pair(NamedTuple):
    """A cell run in another way, and as in its table, on the same runs; and the paper's figure."""

    theirs: tuple[float, ...]
    ours: tuple[float, ...]
    paper: Row

    @property
    def gain(self) -> float:
        """Ours less theirs."""
        return fmean(self.ours) - fmean(self.theirs)

    def verdict(self, values: Sequence[float]) -> str:
        """better, met or worse than the paper."""
        return verdict(fmean(values), self.paper["mean"], self.paper["std"])


def pairs(one: Experiment, record: str | Path) -> dict[tuple[str, str], Pair]:
    """The cells of an experiment beside those of its table, by method and dataset."""
    table = experiments()[one.beside[0]]
    theirs, ours = cells(record, one), cells(record, table)
    names = {m.name: m.published for m in table.methods}
    papers = {
        (row["method"], row["dataset"]): row
        for row in published()
        if (row["paper"], row["table"], row["metric"]) == (table.paper, table.covers[0][0], "auc")
    }
    found = {}
    for method in one.methods:
        for dataset in one.datasets:
            key = dataset.published, method.name
            mine, other = ({row["run"]: row["auc"] for row in some.get(key, [])} for some in (theirs, ours))
            runs = sorted(mine.keys() & other.keys())
            if runs:
                paper = papers[names[method.name] or "", dataset.published]
                both = [tuple(values[run] for run in runs) for values in (mine, other)]
                found[method.name, dataset.published] = Pair(both[0], both[1], paper)
    return found


def section(one: Experiment, record: str | Path) -> Section | None:
    """The cells of an experiment beside those of its table, a column each, and the papers' figures."""
    found = pairs(one, record)
    if not found:
        return None
    notes, rows = Notes(), []
    for method in one.methods:
        mine = {dataset: pair for (name, dataset), pair in found.items() if name == method.name}
        for dataset, pair in mine.items():
            mark = notes.mark(" ".join(one.reasons(one.dataset(dataset), method.name)))
            rows.append(_line(f"{method.name}, {dataset}", pair, mark))
        if len(mine) > 1:
            rows.append(_mean(method.name, list(mine.values())))
    table = experiments()[one.beside[0]].covers[0][0]
    heads = (f"table {table}: AUC", one.form, OURS, "difference", "paper", f"{one.form} less paper")
    blocks: list[Any] = [Paragraph(f"Published: {one.full}", "facts"), Paragraph(f"Here: {one.reduced}", "facts")]
    blocks += [Paragraph(_worth(one.form, list(found.values()))), Paragraph(KEY.format(form=one.form), "caption")]
    blocks.append(Table([Cell((head,)) for head in heads], rows))
    return Section(one.title, [*blocks, *([Points(notes.all, numbered=True)] if notes.all else [])])


def _line(name: str, pair: Pair, mark: str) -> tuple[Cell, list[Cell]]:
    said = pair.verdict(pair.theirs)
    error = standard_error(np.subtract(pair.ours, pair.theirs))
    beside = fmean(pair.theirs) - pair.paper["mean"]
    cells = [
        Cell((_spread(pair.theirs),)),
        Cell((_spread(pair.ours),)),
        Cell((_gain(pair.gain, error),)),
        Cell((short(pair.paper["mean"], pair.paper["std"]),)),
        Cell((f"{signed(beside)} {MARKS[said]}{mark}",), said),
    ]
    return Cell((name, counted(len(pair.theirs), "run"))), cells


def _mean(name: str, some: list[Pair]) -> tuple[Cell, list[Cell]]:
    """A method's row over all tables of data."""
    theirs, ours = ([fmean(values) for values in side] for side in zip(*(p[:2] for p in some), strict=True))
    error = standard_error(np.subtract(ours, theirs), overlap=0.0)
    figures = [short(fmean(values)) for values in (theirs, ours)]
    cells = [*figures, _gain(fmean(ours) - fmean(theirs), error), "", ""]
    return Cell((f"{name}, mean of {len(some)}",)), [Cell((text,)) for text in cells]


def _spread(values: Sequence[float]) -> str:
    return short(fmean(values), stdev(values) if len(values) > 1 else None)


def _gain(gain: float, error: float | None) -> str:
    return signed(gain) if error is None else f"{signed(gain)} ± {error:.4f}"


def _worth(form: str, some: list[Pair]) -> str:
    """What our changes are worth over the cells of a table."""
    theirs = sum(pair.verdict(pair.theirs) != "worse" for pair in some)
    ours = sum(pair.verdict(pair.ours) != "worse" for pair in some)
    gains = [pair.gain for pair in some]
    across = f" in the median, from {signed(min(gains))} to {signed(max(gains))}" if len(gains) > 1 else ""
    return (
        f"Met or beaten {form}: {theirs} of {counted(len(some), 'cell')}; with our defaults on the same runs: {ours}. "
        f"Our defaults less {form}: {signed(median(gains))}{across}."
    )
