"""The record as pages: one a paper with its tables and figures, ours beside theirs, and what we learned from it."""

from pathlib import Path
from typing import Any

import numpy as np

from auclid._page import signed
from auclid.registry import algorithms
from auclid_papers import beside, figures, front, learned, lessons, pays
from auclid_papers.definitions import Dataset, Experiment, Method, experiments
from auclid_papers.methods import BASELINES
from auclid_papers.record import Record, Row
from auclid_papers.render import Cell, Notes, Page, Paragraph, Plot, Points, Section, Table, counted, save, short
from auclid_papers.tally import MARKS, Tally, Weight
from auclid_papers.verdicts import Figure, measured, summary

METRICS = {"auc": "AUC", "accuracy_at_optroc": "accuracy", "seconds": "seconds of training"}
BEST_THRESHOLD = (
    "Accuracy is taken at the threshold that is best for it on the test rows' own labels, as the source does (MATLAB's "
    "OPTROC): nobody would have it in use."
)

LEGEND = (
    "In a cell, from above: our mean ± standard deviation over runs; the paper's; the difference with its verdict: ▲ "
    "better, = met, ▼ worse, by more than the larger of the paper's deviation and 0.005; our time for one fit. In "
    "brackets: behind ▲, what the gain comes from (see the end of the page); (–), not counted; a number, a note below. "
    "On the right, baselines that the paper left out, on the same splits, mostly with fewer runs and rows to tune on."
)
WITHOUT_FIGURES = (
    "The paper prints its results as plots only (training time against the number of unlabelled rows, box plots of "
    "AUC), so there is no figure to compare with: these are our own curves, and the medians of our runs in a table. "
    "OptAG (Fujino & Ueda 2016), which the paper names as well, is not here: its text is not to be had."
)
CLOCKS = (
    "In a cell, from above: our mean time for one fit, the paper's on another machine, and ours over theirs. "
    "The machines differ, so there is no verdict: read it as an order of magnitude."
)


Figures = dict[tuple[str, str | None], Figure]
Ours = dict[tuple[str, str], list[Row]]


def write(record: str | Path, folder: str | Path) -> list[Path]:
    """Write all pages of a record: one a paper, what we learned, and an index; return the paths.

    Parameters
    ----------
    record : path
        A folder with the results, one CSV file an experiment.
    folder : path
        Where the HTML and Markdown pages go, with the figures of the latter.
    """
    found = list(summary(record))
    known = beside.causes(found, record)
    named = [one.paper for one in experiments().values()]
    papers = [paper for paper in front.PAPERS if paper in named]
    for old in (Path(folder) / "figures").glob("*-fig-*.svg"):  # of data or figures that are no longer drawn
        old.unlink()
    written = [path for paper in papers for path in save(_paper(paper, found, record, known), folder)]
    others = [lessons.page(record), learned.page(record), pays.page(record)]
    others += [front.uncounted(found), front.index(papers, found, known)]
    return [*written, *(path for page in others for path in save(page, folder))]


# --- one paper -----------------------------------------------------------------------------------------------------


def _paper(paper: str, found: list[Figure], record: str | Path, known: dict[beside.Key, str]) -> Page:
    mine = [f for f in found if f.paper == paper]
    own = [one for one in experiments().values() if one.paper == paper and not one.beside]
    sections = []
    for one in own:
        rows = _rows(one, record)
        blocks: list[Any] = [Paragraph(f"Published: {one.full}", "facts"), Paragraph(f"Here: {one.reduced}", "facts")]
        blocks += _tables(one, [f for f in mine if f.experiment == one.id], rows, known)
        if one.kind != "table":
            blocks += _plots(one, rows)
        sections.append(Section(one.title, blocks))
        others = [beside.section(other, record) for other in beside.variants(one.id) if other.beside[0] == one.id]
        sections += filter(None, others)
    references = "; ".join(dict.fromkeys(one.reference for one in own))
    references += ". The first page has the rules of the record."
    ends = [*beside.gains(mine, known), *_missed(mine), *_names(own), *front.want_of_data(mine)]
    lead = WITHOUT_FIGURES if paper == "QSG" else " ".join(filter(None, [str(Tally.of(mine)), _weight(mine)]))
    return Page(front.slug(paper), front.PAPERS[paper], lead, references, [*sections, *ends])


def _weight(mine: list[Figure]) -> str:
    """What the verdicts on figures of AUC are worth, in a sentence or two."""
    weight = Weight.of(f for f in mine if f.metric == "auc")
    return f"AUC: {weight}" if weight else ""


def _rows(one: Experiment, record: str | Path) -> list[Row]:
    """What is on record of an experiment; a figure of times has milliseconds of the table it names."""
    if one.source == one.id:
        return Record(record, one.id, figure=one.kind != "table").rows()
    found = [row for row in Record(record, one.source).rows() if row["fit_seconds"] is not None]
    return [row | {"x": None, "y": 1000.0 * row["fit_seconds"]} for row in found]


def _plots(one: Experiment, rows: list[Row]) -> list[Any]:
    drawn = figures.draw(one, rows)
    waiting = [d.published for d in one.datasets if not d.missing and d.published not in drawn]
    lost = [d for d in one.datasets if d.missing and d.published not in drawn]
    notes = [f"Not run yet: {', '.join(waiting)}."] if waiting else []
    notes += _said_of("Not at hand", "see the end of the page", one, lost, [f"{d.missing}." for d in lost])
    other = [d for d in one.datasets if d.published in drawn and (d.differs or d.note)]
    words = [" ".join(filter(None, [d.differs, d.note])) for d in other]
    notes += _said_of("Not the paper's data, or a part of it", "see the tables above", one, other, words)
    plots = [Plot(f"{one.id}-{front.slug(name)}", name, svg) for name, svg in drawn.items()]
    return [*_medians(one, rows), *plots, *([Points(notes)] if notes else [])]


def _said_of(what: str, where: str, one: Experiment, some: list[Dataset], words: list[str]) -> list[str]:
    """What is to be said of a figure's data: by name only where the tables of the same page say it at length."""
    tables = [other for other in experiments().values() if other.paper == one.paper and other.covers]
    told = {(d.published, d.missing, d.differs, d.note) for other in tables for d in other.datasets}
    short = [d.published for d in some if (d.published, d.missing, d.differs, d.note) in told]
    long = [f"{d.published}: {said}" for d, said in zip(some, words, strict=True) if d.published not in short]
    return [*([f"{what} ({where}): {', '.join(short)}."] if short else []), *long]


def _medians(one: Experiment, rows: list[Row]) -> list[Any]:
    """The numbers of a box plot of AUCs: median and quartiles over runs."""
    if one.sweep.get("over") != "semi" or not rows:
        return []
    lines = []
    for dataset in one.datasets:
        mine = [row for row in rows if row["dataset"] == dataset.published]
        found = [[row["y"] for row in mine if row["method"] == m.name] for m in one.methods]
        if any(found):
            lines.append((Cell((dataset.published,)), [_quartiles(values) for values in found]))
    return [
        Paragraph("In a cell: the median AUC over runs, and the quartiles.", "caption"),
        Table([Cell((one.figure["y"],)), *(Cell((m.name,)) for m in one.methods)], lines),
    ]


def _quartiles(values: list[float]) -> Cell:
    if not values:
        return Cell(("",))
    first, middle, third = (float(v) for v in np.quantile(values, [0.25, 0.5, 0.75]))
    return Cell((short(middle), f"{short(first)} to {short(third)}"))


def _tables(one: Experiment, found: list[Figure], rows: list[Row], known: dict[beside.Key, str]) -> list[Any]:
    """A table for each table of the paper that the experiment covers, with a legend and its notes."""
    ours: Ours = {}
    for row in rows:
        ours.setdefault((row["dataset"], row["method"]), []).append(row)
    blocks: list = []
    for table, metric in one.covers:
        of_table: Figures = {(f.dataset, f.method): f for f in found if (f.table, f.metric) == (table, metric)}
        notes = Notes()
        lines = [_line(one, dataset, metric, of_table, ours, known, notes) for dataset in one.datasets]
        heads = [Cell((f"table {table}: {METRICS[metric]}",)), *(_head(method) for method in one.methods)]
        weight = Weight.of(of_table.values())
        blocks += [Paragraph(f"Table {table}. {weight}")] if weight else []
        blocks += [Paragraph(BEST_THRESHOLD)] if metric == "accuracy_at_optroc" else []
        blocks.append(Paragraph(CLOCKS if metric == "seconds" else LEGEND, "caption"))
        blocks.append(Table(heads, [line for line in lines if line]))
        if notes.all:
            blocks.append(Points(notes.all, numbered=True))
    return blocks


def _head(method: Method) -> Cell:
    if method.name in BASELINES:
        return Cell((method.name,), "rival")
    other = () if method.published in (None, method.name) else (f"ours: {method.name}",)
    return Cell((method.published or method.name, *other))


def _line(
    one: Experiment,
    dataset: Dataset,
    metric: str,
    found: Figures,
    ours: Ours,
    known: dict[beside.Key, str],
    notes: Notes,
) -> tuple[Cell, list[Cell]] | None:
    """A row of a table: what is said of every figure in it is said at its name."""
    mine = [found.get((dataset.published, method.published)) for method in one.methods]
    if not any(mine):
        return None
    shared = min((f.note for f in mine if f), key=len)
    if not all(f.note.startswith(shared) for f in mine if f):
        shared = ""
    name = Cell((dataset.published + notes.mark(shared), *filter(None, [dataset.task, _runs(one, dataset, ours)])))
    cells = []
    for method, figure in zip(one.methods, mine, strict=True):
        rows = ours.get((dataset.published, method.name), [])
        if figure is None:
            cells.append(_baseline(method, metric, rows))
        else:
            mark = notes.mark(figure.note[len(shared) :].strip())
            cells.append(_cell(figure, rows, mark, known.get(figure[:5], "")))
    return name, cells


def _runs(one: Experiment, dataset: Dataset, ours: Ours) -> str:
    counts = [len(ours.get((dataset.published, method.name), [])) for method in one.methods]
    counts = [count for count in counts if count]
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return counted(low, "run") if low == high else f"{low} to {high} runs"


def _cell(f: Figure, rows: list[Row], mark: str, cause: str) -> Cell:
    theirs = _spread(f.published, f.published_std, f.metric)
    if f.mean is None:
        return Cell((f"no run{mark}", theirs), "faint")
    mine = _spread(f.mean, f.std, f.metric)
    if f.metric == "seconds":
        ratio = f"× {f.mean / f.published:.2g}" if f.published else "–"
        return Cell((mine + mark, theirs, ratio))
    behind = " (–)" if not f.counted else f" ({cause})" if cause else ""
    said = f"{signed(f.difference)} {MARKS.get(f.verdict, f.verdict)}{behind}"
    return Cell((mine + mark, theirs, said, *_time(rows)), f.verdict if f.counted else "")


def _baseline(method: Method, metric: str, rows: list[Row]) -> Cell:
    mean, std, _ = measured(rows, metric)
    kind = "rival" if method.name in BASELINES else ""
    if mean is None:
        return Cell(("",), kind)
    return Cell((_spread(mean, std, metric), *(() if metric == "seconds" else _time(rows))), kind)


def _time(rows: list[Row]) -> tuple[str, ...]:
    mean, _, _ = measured(rows, "seconds")
    return () if mean is None else (duration(mean),)


def _spread(mean: float | None, std: float | None, metric: str) -> str:
    if mean is None:
        return ""
    if metric == "seconds":
        return duration(mean)
    return short(mean, std)


def duration(seconds: float) -> str:
    """A time with two or three digits.

    Examples
    --------
    >>> from auclid_papers.pages import duration
    >>> duration(0.00321), duration(0.5), duration(75.2)
    ('3.2 ms', '0.50 s', '75 s')
    """
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.2f} s" if seconds < 9.95 else f"{seconds:,.0f} s"


# --- what was missed, and what could not be run --------------------------------------------------------------------


def _missed(found: list[Figure]) -> list[Section]:
    """Every counted figure that we do not reach, the farthest first, with what is known about it."""
    missed = sorted((f for f in found if f.counted and f.verdict == "worse"), key=lambda f: f.difference or 0.0)
    if not missed:
        return []
    columns = [Cell((word,)) for word in ("figure", "ours", "theirs", "difference")] + [Cell(("note",), "words")]
    rows = [
        (
            Cell((f"{f.dataset}, {f.method}", f"table {f.table}, {METRICS[f.metric]}")),
            [
                Cell((_spread(f.mean, f.std, f.metric),)),
                Cell((_spread(f.published, f.published_std, f.metric),)),
                Cell((signed(f.difference),)),
                Cell((f.note,), "words"),
            ],
        )
        for f in missed
    ]
    return [Section("Missed figures", [Table(columns, rows)])]


def _names(own: list[Experiment]) -> list[Section]:
    """Where the name of a method in these tables is not the paper's algorithm."""
    used = {method.built for one in own for method in one.methods}
    items = [f"{method.name}: {method.differs}" for method in algorithms() if method.name in used and method.differs]
    if not items:
        return []
    caution = (
        "What a name gives by default; a step or C that a table lists is chosen there. A form as published that was "
        "run has a table of its own."
    )
    return [Section("Names that are not the paper's algorithm", [Paragraph(caution), Points(items)])]
