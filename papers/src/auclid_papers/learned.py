"""What the record says about methods: paired differences over tables, each with an interval, and a sentence on it."""

import csv
import itertools
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from auclid._page import signed
from auclid.datasets import DataError
from auclid.io import replacing
from auclid.registry import algorithms
from auclid_papers import data
from auclid_papers.definitions import Experiment, experiments
from auclid_papers.gaps import Gap, mean_gap, median_gap
from auclid_papers.methods import BASELINES, build
from auclid_papers.record import Record
from auclid_papers.render import Cell, Page, Paragraph, Points, Section, Table, counted

NAME, TITLE = "what-we-learned-tables", "What we learned: all methods"
FEW = 0.1
"""Positives are few where their share is below this."""
WIDE, THIN = 5_000, 0.05
"""Text has more columns than this, and a smaller share of them filled."""
LOGISTIC, TREES = "LogisticRegression", "LightGBM"
COLOURS = {1: "better", -1: "worse", 0: ""}


# --- facts about the tables ----------------------------------------------------------------------------------------


Task = tuple[str, str]
"""An experiment and a dataset."""


class Facts(NamedTuple):
    """A task: rows, columns, the share of positives, the share of entries that are not zero."""

    rows: int
    columns: int
    positive: float
    filled: float

    @property
    def few(self) -> bool:
        return self.positive < FEW

    @property
    def text(self) -> bool:
        return self.columns > WIDE and self.filled < THIN


def facts(record: str | Path) -> dict[Task, Facts]:
    """{(experiment, dataset): Facts}, kept in the record as ``datasets.csv``; those not in it are counted anew.

    Counting needs the data; a table that is not at hand stays unknown.
    """
    path = Path(record) / "datasets.csv"
    known: dict[Task, Facts] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for one, dataset, *numbers in list(csv.reader(file))[1:]:
                known[one, dataset] = Facts(*map(int, numbers[:2]), *map(float, numbers[2:]))
    unknown = sorted(_tasks(record) - known.keys(), key=lambda key: key[::-1])  # each table is read once
    fresh = {key: found for key in unknown if (found := _count(*key))}
    if fresh:
        known |= fresh
        with replacing(path, "w") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(("experiment", "dataset", *Facts._fields))
            lines.writerows([*key, *(f"{number:.12g}" for number in known[key])] for key in sorted(known))
    return known


def _tasks(record: str | Path) -> set[Task]:
    return {(one.id, row["dataset"]) for one in _with_rows(record) for row in Record(record, one.id).rows()}


def _with_rows(record: str | Path) -> list[Experiment]:
    return [one for one in experiments().values() if one.covers and Record(record, one.id).path.exists()]


def _count(name: str, published: str) -> Facts | None:
    one = experiments()[name]
    dataset = one.dataset(published)
    try:
        X, labels = data.whole(dataset.known_name)
    except (DataError, ValueError):
        return None
    y = data.is_positive(labels, one.settings(dataset, one.methods[0])["positive"])
    entries = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return Facts(X.shape[0], X.shape[1], float(y.mean()), float(entries / np.prod(X.shape, dtype=float)))


# --- the record ----------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """What one method did on one task, by run."""

    auc: dict[int, float]
    seconds: dict[int, float]


Tasks = dict[Task, dict[str, Run]]
Gaps = dict[tuple[str, str], Gap]
Measure = Callable[[Run, Run], float | None]
Show = Callable[[float], str]
Rivals = dict[str, list[str]]


def runs(record: str | Path) -> Tasks:
    """{(experiment, dataset): {method: Run}} of all tables in a record."""
    found: Tasks = {}
    for one in _with_rows(record):
        for row in Record(record, one.id).rows():
            if row["auc"] is None or row["fit_seconds"] is None:
                continue
            methods = found.setdefault((one.id, row["dataset"]), {})
            run = methods.setdefault(row["method"], Run({}, {}))
            run.auc[row["run"]], run.seconds[row["run"]] = row["auc"], row["fit_seconds"]
    return found


@cache
def one_pass(name: str, published: str, method: str) -> bool:
    """Whether a method sees each row once in an experiment, and could go on with a stream."""
    if method not in {m.name for m in algorithms() if m.online}:
        return False
    one = experiments()[name]
    dataset = one.dataset(published)
    column = next(m for m in one.methods if m.name == method)
    params = build(method, one.settings(dataset, column)["fixed"], 0).get_params()
    passes = [value for name, value in params.items() if name.split("__")[-1] == "n_epochs"]
    return passes in ([], [1])


def auc_gap(a: Run, b: Run) -> float | None:
    """How much better a ranks than b, on average over the runs that both made; None where there are none."""
    both = [a.auc[run] - b.auc[run] for run in a.auc.keys() & b.auc.keys()]
    return float(np.mean(both)) if both else None


def time_gap(a: Run, b: Run) -> float | None:
    """How many powers of ten faster a is than b."""
    both = [np.log10(max(b.seconds[run], 1e-6) / max(a.seconds[run], 1e-6)) for run in a.auc.keys() & b.auc.keys()]
    return float(np.mean(both)) if both else None


def gaps(tasks: Tasks, measure: Measure) -> Gaps:
    """{(a, b): Gap} over the datasets that both were run on; one that several tables have counts once."""
    found: dict[tuple[str, str], dict[str | None, list[float]]] = {}
    for (one, dataset), methods in tasks.items():
        unit = experiments()[one].dataset(dataset).name
        for a, b in itertools.permutations(methods, 2):
            gap = measure(methods[a], methods[b])
            if gap is not None:
                found.setdefault((a, b), {}).setdefault(unit, []).append(gap)
    return {pair: median_gap([np.mean(some) for some in units.values()]) for pair, units in found.items()}


# --- the page ------------------------------------------------------------------------------------------------------


def page(record: str | Path) -> Page:
    """The page, from the record alone."""
    tasks, known = runs(record), facts(record)
    few = {key: methods for key, methods in tasks.items() if key in known and known[key].few}
    text = {key: methods for key, methods in tasks.items() if key in known and known[key].text}
    streams = {
        key: {name: run for name, run in methods.items() if name in BASELINES or one_pass(*key, name)}
        for key, methods in tasks.items()
    }
    sections = [
        _situation("Quality", tasks, auc_gap, signed),
        _situation("Time", tasks, time_gap, times),
        _situation(f"Few positives (below {FEW:.0%})", few, auc_gap, signed),
        _situation("Streams: methods that see each row once, beside baselines", streams, auc_gap, signed),
        _situation("Sparse text", text, auc_gap, signed),
        _where_baselines_win(tasks),
    ]
    kept = [section for section in sections if section] or [Section("Quality", [Paragraph(NOTHING)])]
    datasets = {dataset for _, dataset in tasks}
    lead = (
        f"From {sum(len(run.auc) for methods in tasks.values() for run in methods.values()):,} runs "
        f"on {counted(len(datasets), 'dataset')} in {counted(len({one for one, _ in tasks}), 'table')} of the record."
    )
    return Page(NAME, TITLE, lead, METHOD, kept)


NOTHING = "The record has no runs for this yet."

METHOD = (
    "Two methods are compared on the datasets that both were run on in the same table, with the same splits: the "
    "difference is averaged over runs, and over tables where a dataset is in several. The figure is the median over "
    "datasets, with the 95 % interval of the sign test; a method beats another where that interval keeps off zero, "
    "which takes six datasets at least. Speeds are ratios: 2× is twice as fast. Each interval stands on its own: of "
    "twenty true ties, one may look decided."
)


def times(power: float) -> str:
    """A ratio of speeds: 2× is twice as fast."""
    ratio = 10.0**power
    return f"{ratio:,.0f}×" if ratio >= 10.0 else f"{ratio:.2g}×"


def _situation(title: str, tasks: Tasks, measure: Measure, show: Show) -> Section | None:
    """Who beats whom: sentences chosen by the intervals, then the table they come from; None where none can be told."""
    found = gaps(tasks, measure)
    names = sorted({a for a, _ in found})
    if all(gap.low is None for gap in found.values()):
        return None
    beats = {a: [b for b in names if (a, b) in found and found[a, b].sign > 0] for a in names}
    beaten = {a: [b for b in names if (a, b) in found and found[a, b].sign < 0] for a in names}
    rivals = {a: sum((a, b) in found and found[a, b].low is not None for b in names) for a in names}
    faster = "faster" if measure is time_gap else "better"
    sentences = [_leaders(names, beats, beaten, rivals, faster)]
    sentences += [_against(found, names, rival, faster, show) for rival in (LOGISTIC, TREES) if rival in names]
    names.sort(key=lambda a: (len(beaten[a]) - len(beats[a]), a))
    columns = [Cell((word,)) for word in ("method", "beats", "beaten by", "of")]
    columns += [Cell((f"against {rival}",)) for rival in (LOGISTIC, TREES)]
    rows = [
        (
            Cell((a,), "rival" if a in BASELINES else ""),
            [
                *(Cell((str(number),)) for number in (len(beats[a]), len(beaten[a]), rivals[a])),
                *(gap_cell(found.get((a, rival)), show) for rival in (LOGISTIC, TREES)),
            ],
        )
        for a in names
    ]
    return Section(title, [Points(sentences), Table(columns, rows)])


def _leaders(names: list[str], beats: Rivals, beaten: Rivals, rivals: dict[str, int], better: str) -> str:
    best = sorted((a for a in names if beats[a] and not beaten[a]), key=lambda a: -len(beats[a]))
    if not best:
        return f"No method is {better} than some and beaten by none."
    listed = "; ".join(f"{a}, {better} than {len(beats[a])} of {rivals[a]}" for a in best)
    return f"Beaten by none: {listed}."


def _against(found: Gaps, names: list[str], rival: str, better: str, show: Show) -> str:
    """Which methods are on which side of a baseline."""
    mine = {a: found[a, rival] for a in names if (a, rival) in found}
    sides = {sign: [a for a, gap in mine.items() if gap.sign == sign and gap.low is not None] for sign in (1, -1, 0)}
    apart = [a for a, gap in mine.items() if gap.low is None]
    worse = {"better": "worse", "faster": "slower"}[better]
    parts = []
    for sign, word in ((1, better), (-1, worse)):
        some = sorted(sides[sign], key=lambda a: -sign * mine[a].middle)
        listed = "; ".join(f"{a} ({_gap(mine[a], show)})" for a in some)
        parts.append(f"{word} than {rival}: {listed}." if some else f"No method is {word} than {rival}.")
    if sides[0]:
        parts.append(f"Not to be told from it: {', '.join(sides[0])}.")
    if apart:
        parts.append(f"Run beside it on too few datasets to tell: {', '.join(apart)}.")
    return " ".join(part[0].upper() + part[1:] for part in parts)


def _gap(gap: Gap, show: Show) -> str:
    return f"{show(gap.middle)}, {across(gap, show)}, {counted(gap.n, 'dataset')}"


def across(gap: Gap, show: Show) -> str:
    if gap.low is None or gap.high is None:
        return "too few for an interval"
    return f"{show(gap.low)} to {show(gap.high)}"


def gap_cell(gap: Gap | None, show: Show) -> Cell:
    if gap is None:
        return Cell(("",))
    return Cell((show(gap.middle), across(gap, show), counted(gap.n, "dataset")), COLOURS[gap.sign])


# --- where a baseline wins -----------------------------------------------------------------------------------------


def _where_baselines_win(tasks: Tasks) -> Section | None:
    """The best of ours against the best baseline, task by task, over the runs of both."""
    rows: list[tuple[Cell, list[Cell]]] = []
    winners: dict[str, list[str]] = {"ours": [], "undecided": []}
    for (one, dataset), methods in sorted(tasks.items(), key=lambda item: item[0][::-1]):
        ours, theirs = (_best(methods, baseline=baseline) for baseline in (False, True))
        if ours is None or theirs is None:
            continue
        a, b = methods[ours].auc, methods[theirs].auc
        both = sorted(a.keys() & b.keys())
        if not both:
            continue
        gap = mean_gap(_apart(one, dataset, [a[run] - b[run] for run in both]))
        winner = {1: "ours", -1: theirs, 0: "undecided"}[gap.sign]
        winners.setdefault(winner, []).append(f"{dataset} ({one}, {signed(gap.middle)})")
        across = "one run has no interval" if gap.low is None else f"{signed(gap.low)} to {signed(gap.high)}"
        difference = Cell((signed(gap.middle), across, counted(gap.n, "run")), COLOURS[gap.sign])
        rows.append((Cell((dataset, one)), [Cell((ours,)), Cell((theirs,)), difference]))
    if not rows:
        return None
    sentences = [
        f"Of {len(rows)} tasks with both, the best of ours ranks better in {len(winners['ours'])}, a baseline in "
        f"{len(rows) - len(winners['ours']) - len(winners['undecided'])}; {len(winners['undecided'])} cannot be told."
    ]
    sentences += [f"{name} wins on {', '.join(some)}." for name, some in winners.items() if name in BASELINES] or [
        "No baseline wins on any of them."
    ]
    columns = [Cell((word,)) for word in ("task", "best of ours", "best baseline", "difference")]
    caution = (
        "The best of each side is chosen by the same test rows that it is measured on, and we have more methods to "
        "choose from, which favours ours. A task is a dataset in a table; tables share cells, so some stand twice. "
        "Differences are means over runs, with 95 % intervals that allow for training rows in common "
        "(Nadeau & Bengio 2003)."
    )
    title = "Where logistic regression or boosted trees win"
    return Section(title, [Points(sentences), Paragraph(caution, "caption"), Table(columns, rows)])


def _apart(one: str, dataset: str, differences: list[float]) -> list[float]:
    """Differences of runs with test rows of their own: those on a given test part are as one."""
    table = experiments()[one]
    given = table.settings(table.dataset(dataset), table.methods[0])["split"] == "given"
    return [float(np.mean(differences))] if given else differences


def _best(methods: dict[str, Run], baseline: bool) -> str | None:
    some = {name: np.mean(list(run.auc.values())) for name, run in methods.items() if (name in BASELINES) == baseline}
    return max(some, key=some.__getitem__) if some else None
