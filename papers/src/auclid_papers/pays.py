"""Does it pay? The papers' methods beside what they did not have: the top of the list, scorecards, a front door."""

from pathlib import Path

import numpy as np

from auclid._page import signed
from auclid_papers import learned
from auclid_papers.definitions import experiments
from auclid_papers.gaps import Gap, median_gap
from auclid_papers.learned import LOGISTIC, TREES
from auclid_papers.methods import BASELINES, TOP
from auclid_papers.render import Cell, Page, Paragraph, Points, Section, Table, counted, short
from auclid_papers.verdicts import Cells, cells

NAME, TITLE = "pays", "Does it pay?"
OURS = ("RankSVM up to FPR 0.1", "Scorecard", "AUCClassifier")
METRICS = {"auc": "AUC", "partial_auc": f"AUC up to FPR {TOP}"}

KEY = (
    "Means over tables of data, and differences as medians over them with the 95 % interval of the sign test. Where "
    "flexible models are allowed, boosted trees and AUCClassifier, which includes them, are hard to beat; where a line "
    "or a curve a column must do, the loss is what is left to choose."
)


def page(record: str | Path) -> Page:
    """The page, from the record alone."""
    one = experiments()["pays"]
    found = cells(record, one)
    if not found:
        return Page(NAME, TITLE, one.title, "", [Section("Not run yet", [Paragraph(learned.NOTHING)])])
    sections = [_section(metric, found) for metric in METRICS]
    points = [Points([words]) for words in [sentence(record)] if words]
    return Page(NAME, TITLE, one.title, f"Here: {one.reduced}", [Section("In short", points), *sections, _each(found)])


def sentence(record: str | Path) -> str:
    """The answer in a sentence; nothing without runs."""
    found = cells(record, experiments()["pays"])
    if not found:
        return ""
    parts = []
    for name, metric, rival in (
        ("AUCClassifier", "auc", TREES),
        ("Scorecard", "auc", LOGISTIC),
        ("RankSVM up to FPR 0.1", "partial_auc", LOGISTIC),
    ):
        gap = _gap(found, name, rival, metric)
        if gap:
            told = f"{signed(gap.middle)} ({learned.across(gap, signed)}, {counted(gap.n, 'dataset')})"
            parts.append(f"{name} against {rival} in {METRICS[metric]} {told}")
    return f"What the papers did not have, with defaults and few rows: {'; '.join(parts)}." if parts else ""


def _means(found: Cells, name: str, metric: str) -> dict[str, float]:
    """{dataset: mean over runs} of a method."""
    mine = {dataset: [row[metric] for row in rows] for (dataset, method), rows in found.items() if method == name}
    return {dataset: float(np.mean(values)) for dataset, values in mine.items()}


def _gap(found: Cells, name: str, rival: str, metric: str) -> Gap | None:
    mine, theirs = _means(found, name, metric), _means(found, rival, metric)
    both = [mine[dataset] - theirs[dataset] for dataset in mine.keys() & theirs.keys()]
    return median_gap(both) if both and name != rival else None


def _section(metric: str, found: Cells) -> Section:
    names = [m.name for m in experiments()["pays"].methods]
    words = ("method", "mean", f"against {LOGISTIC}", f"against {TREES}", "best of all on", "seconds of a fit (median)")
    tables = {name: _means(found, name, metric) for name in names}
    common = sorted(set.intersection(*(set(means) for means in tables.values())))
    best = [max(names, key=lambda name: tables[name][dataset]) for dataset in common]
    rows = []
    for name in names:
        seconds = [row["fit_seconds"] for (_, method), some in found.items() if method == name for row in some]
        mean = float(np.mean([tables[name][dataset] for dataset in common])) if common else float("nan")
        gaps = [learned.gap_cell(_gap(found, name, rival, metric), signed) for rival in (LOGISTIC, TREES)]
        tail = [Cell((f"{best.count(name)} of {len(common)}",)), Cell((f"{np.median(seconds):.2g}",))]
        rows.append((Cell((name,), "rival" if name in BASELINES else ""), [Cell((short(mean),)), *gaps, *tail]))
    title = f"{METRICS[metric]}, {counted(len(common), 'table')} of data"
    return Section(title, [Paragraph(KEY, "caption"), Table([Cell((word,)) for word in words], rows)])


def _each(found: Cells) -> Section:
    """Every table of data: both areas of every method."""
    one = experiments()["pays"]
    rows = []
    for dataset in one.datasets:
        line = []
        for method in one.methods:
            some = found.get((dataset.published, method.name), [])
            means = [float(np.mean([row[metric] for row in some])) for metric in METRICS if some]
            line.append(Cell(tuple(short(mean) for mean in means) or ("",)))
        if any(cell.lines != ("",) for cell in line):
            rows.append((Cell((dataset.published, dataset.task)), line))
    key = f"In a cell: {' above '.join(METRICS.values())}, the mean of the runs."
    columns = [Cell(("data",)), *(Cell((m.name,)) for m in one.methods)]
    return Section("Table by table", [Paragraph(key, "caption"), Table(columns, rows)])
