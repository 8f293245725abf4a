"""The pages of a record: one for each paper, with our results beside the published ones, and those across papers."""

import re
from pathlib import Path
from typing import Any

import pandas as pd

from auclid import algorithms
from auclid_papers import claims, figures, lessons, overview, pays, variants
from auclid_papers import markdown as md
from auclid_papers.comparison import (
    MARKS,
    METRICS,
    dataset_run,
    difficulty,
    load_results,
    statistics,
    summary,
    tally_sentences,
)
from auclid_papers.definitions import Dataset, Experiment, Method, experiments, package_text
from auclid_papers.overview import LABELS, PAPERS, slug
from auclid_papers.record import Record

VALUES = [
    "paper", "table", "dataset", "method", "metric", "published", "published_std", "mean", "std", "runs", "difference",
    "verdict", "status", "cause", "same_data", "seconds", "experiment", "ours", "note",
]  # fmt: skip
"""The columns of the file of all values."""

SCRIPT = "sort.js"
"""Sorts the tables of a page in a reader's browser."""


def write(record: str | Path, folder: str | Path) -> list[Path]:
    """Write the pages of a folder of results as Markdown; returns their paths.

    The figures go to the subfolder ``figures`` of ``folder``, as SVG files, all values to ``values.csv``, and the
    script that sorts tables to ``sort.js``.
    """
    folder, report = Path(folder), Report(record, folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SCRIPT).write_text(package_text(SCRIPT), encoding="utf-8")
    report.frame[VALUES].to_csv(folder / overview.VALUES_FILE, index=False, float_format="%.6g", lineterminator="\n")
    for old in (folder / "figures").glob("*-fig-*.svg"):
        old.unlink()
    pages: dict[str, tuple[str, list[str]]] = {}
    for paper, title in PAPERS.items():
        pages[slug(paper)] = title, report.paper(paper)
        pages |= {f"{slug(paper)}-{name}": found for name, found in report.chapters(paper).items()}
    pages |= {
        "claims": claims.page(report.record),
        "what-we-learned": lessons.short_page(report.results),
        "what-we-learned-tables": lessons.full_page(report.results),
        "pays": pays.page(report.results),
        "not-counted": overview.not_counted(report.frame),
        "details": overview.details(report.frame),
        "index": overview.front(report.frame, report.results),
    }
    return [md.write_page(folder / f"{name}.md", title, blocks) for name, (title, blocks) in pages.items()]


def build_html(pages: str | Path, folder: str | Path) -> None:
    """Build the Markdown pages of a folder as HTML in another one, with mkdocs; the result needs no network."""
    from mkdocs.commands.build import build
    from mkdocs.config.defaults import MkDocsConfig

    settings = {
        "site_name": "auclid: the papers, rerun",
        "docs_dir": str(Path(pages).resolve()),
        "site_dir": str(Path(folder).resolve()),
        "theme": {"name": "mkdocs", "highlightjs": False},
        "markdown_extensions": ["md_in_html"],
        "plugins": [],
        "extra_javascript": [SCRIPT],
        "use_directory_urls": False,
    }
    config = MkDocsConfig()
    config.load_dict(settings)
    errors, _ = config.validate()
    if errors:
        raise ValueError("; ".join(f"{name}: {error}" for name, error in errors))
    build(config)


class Report:
    """The results of a record and the comparison with the papers, and the papers' pages made of them."""

    def __init__(self, record: str | Path, folder: str | Path) -> None:
        self.record, self.folder = Path(record), Path(folder)
        self.results = load_results(record)
        self.statistics = statistics(self.results).to_dict("index")
        self.frame = summary(self.results)
        self.frame["cause"] = variants.causes(self.frame, self.results)

    def paper(self, paper: str) -> list[str]:
        """The blocks of a paper's page."""
        mine = self.frame[self.frame["paper"] == paper]
        own = [one for one in experiments().values() if one.paper == paper and not one.beside]
        references = "; ".join(dict.fromkeys(one.reference for one in own))
        hard = difficulty(mine[mine["metric"] == "auc"])
        lead = f"{tally_sentences(mine)} {hard and f'AUC: {hard}'}".strip() if len(mine) else md.TEXTS["no_tables"]
        blocks = [lead, f"{references}. The first page explains the rules.", overview.SORTABLE]
        pages = self.chapters(paper)
        if pages:
            links = [md.link(f"{slug(paper)}-{name}", title) for name, (title, _) in pages.items()]
            blocks += [md.heading("Chapters"), md.bullets(links)]
        else:
            blocks += self.experiments(own)
        missed = mine[mine["status"] == "worse"].sort_values("difference", kind="stable")
        blocks += variants.causes_section(mine)
        blocks += [md.heading("Missed values"), *overview.value_table(missed)] if len(missed) else []
        return [*blocks, *_different_methods(own), *overview.missing_data(mine)]

    def experiments(self, own: list[Experiment]) -> list[str]:
        """The sections of some experiments, figures first, each table with its reruns."""
        blocks: list[str] = []
        for one in sorted(own, key=lambda one: one.kind == "table"):
            blocks += [md.heading(one.title), f"Published: {one.full}", f"Here: {one.reduced}"]
            blocks += [variants.only_our_form(one, self.results)] if one.kind == "table" else []
            blocks += self.tables(one) if one.kind == "table" else self.figures(one)
            for other in variants.variants(one.id):
                blocks += variants.section(other, self.results) if other.beside[0] == one.id else []
        return blocks

    def chapters(self, paper: str) -> dict[str, tuple[str, list[str]]]:
        """The pages of a paper's chapters, by number: title and blocks; none for a short paper."""
        own = [one for one in experiments().values() if one.paper == paper and not one.beside]
        by_chapter: dict[str, list[Experiment]] = {}
        for one in own:
            found = re.fullmatch(rf"{paper.lower()}-(?:fig-)?(\d+)\.\d+", one.id)
            if found:
                by_chapter.setdefault(found[1], []).append(one)
        pages = {}
        for number, some in sorted(by_chapter.items()):
            covered = {table for one in some for table, _ in one.covers}
            mine = self.frame[(self.frame["paper"] == paper) & self.frame["table"].isin(covered)]
            lead = [tally_sentences(mine), overview.SORTABLE] if len(mine) else []
            title = f"{PAPERS[paper]}, chapter {number}"
            pages[number] = title, [*lead, *self.experiments(some), *_different_methods(some)]
        return pages

    def tables(self, one: Experiment) -> list[str]:
        """A table for each table of the paper that an experiment covers, with its legend and notes."""
        blocks: list[str] = []
        for number, metric in one.covers:
            is_here = (self.frame["experiment"] == one.id) & (self.frame["table"] == number)
            values = self.frame[is_here & (self.frame["metric"] == metric)]
            notes, hard = md.Notes(), difficulty(values)
            by_cell = {(f.dataset, f.ours): f for f in values.itertuples()}
            rows = [self.row(one, dataset, metric, by_cell, notes) for dataset in one.datasets]
            heads = [f"table {number}: {LABELS[metric]}", *(_head(method) for method in one.methods)]
            blocks += [hard and f"Table {number}. {hard}"]
            blocks += [md.TEXTS["best_threshold"]] if metric == "accuracy_at_optroc" else []
            blocks += [md.TEXTS["times_legend" if metric == "seconds" else "legend"]]
            blocks += [md.table(pd.DataFrame([row for row in rows if row], columns=heads)), *notes.blocks()]
        return blocks

    def row(
        self, one: Experiment, dataset: Dataset, metric: str, by_cell: dict[tuple, Any], notes: md.Notes
    ) -> list[str]:
        """A row of a table; empty if the paper does not have it. A note on all its values is marked at the dataset."""
        mine = [by_cell.get((dataset.published, method.name)) for method in one.methods]
        texts = [f.note for f in mine if f]
        if not texts:
            return []
        shared = min(texts, key=len)
        shared = shared if all(text.startswith(shared) for text in texts) else ""
        keys = [(one.id, dataset.published, method.name) for method in one.methods]
        counts = [self.statistics[*key, "auc"]["runs"] for key in keys if (*key, "auc") in self.statistics]
        lines = [dataset.published + notes.mark(shared), dataset.task, _runs(counts)]
        cells = ["\n".join(filter(None, lines))]
        for key, f in zip(keys, mine, strict=True):
            mark = notes.mark(f.note[len(shared) :].strip()) if f else ""
            cells.append(_cell(f, mark) if f else self.baseline_cell(key, metric))
        return cells

    def baseline_cell(self, key: tuple[str, str, str], metric: str) -> str:
        """The text of a cell without a published value."""
        if (*key, metric) not in self.statistics:
            return ""
        own, seconds = self.statistics[*key, metric], self.statistics[*key, "seconds"]["mean"]
        mean = [md.spread(own["mean"], own["std"])] if metric != "seconds" else []
        return "\n".join([*mean, md.duration(seconds)])

    def figures(self, one: Experiment) -> list[str]:
        """The figures of an experiment, one for each dataset, and notes on its data."""
        rows = figure_rows(one, self.record)
        drawn = figures.draw(one, rows)
        blocks: list[str] = _medians(one, rows) if one.sweep.get("over") == "semi" and len(rows) else []
        for dataset, figure in drawn.items():
            name = f"figures/{one.id}-{slug(dataset)}.svg"
            figures.save(figure, self.folder / name, f"{one.title}: {dataset}")
            blocks.append(md.Markdown(f"![{dataset}]({name})"))
        waiting = [d.published for d in one.datasets if not d.missing and d.published not in drawn]
        notes = [f"Not run yet: {', '.join(waiting)}."] if waiting else []
        lost = [(d, f"{d.missing}.") for d in one.datasets if d.missing and d.published not in drawn]
        notes += _data_notes("No data (see the end of the page)", one, lost)
        here = [dataset_run(one, d, set(rows["protocol"])) for d in one.datasets if d.published in drawn]
        shown = [d for d in here if d.differs or d.note]
        other = [(d, f"{d.differs} {d.note}".strip()) for d in shown]
        notes += _data_notes("Not the paper's data, or a part of it (see the tables above)", one, other)
        notes += [note["note"] for note in one.notes]
        return [*blocks, md.bullets(notes)]


def _different_methods(own: list[Experiment]) -> list[str]:
    """The section on methods whose defaults are not the paper's algorithm."""
    names = {method.registry_name for one in own for method in one.methods}
    items = [f"{method.name}: {method.differs}" for method in algorithms() if method.name in names and method.differs]
    return [md.heading(overview.DIFFERENT), md.TEXTS["differs"], md.bullets(items)] if items else []


def _head(method: Method) -> str:
    """The head of a column: the paper's name, and ours if it is another one."""
    if method.published in (None, method.name):
        return method.name
    return f"{method.published}\nours: {method.name}"


def _runs(counts: list[int]) -> str:
    """How many runs the methods of a row have."""
    if len(set(counts)) < 2:
        return md.counted(counts[0], "run") if counts else ""
    return f"{min(counts)} to {max(counts)} runs"


def _cell(f: Any, mark: str) -> str:
    """The text of a cell with a published value."""
    if f.metric == "seconds":
        ours, theirs = (md.duration(value) for value in (f.mean, f.published))
    else:
        ours, theirs = md.spread(f.mean, f.std), md.spread(f.published, f.published_std)
    if pd.isna(f.mean):
        return f"no run{mark}\n{theirs}"
    lines = [f"{ours}{mark}", theirs]
    if f.metric == "seconds":
        return "\n".join([*lines, f"× {f.mean / f.published:.2g}" if f.published else "–"])
    behind = " (–)" if f.status == "not counted" else f" ({f.cause})" if f.cause else ""
    time = [md.duration(f.seconds)] if pd.notna(f.seconds) else []
    return "\n".join([*lines, f"{md.signed(f.difference)} {MARKS[f.verdict]}{behind}", *time])


def figure_rows(one: Experiment, record: str | Path) -> pd.DataFrame:
    """The points of a figure; a figure of times has the milliseconds of the fits of the table that it names."""
    if one.source == one.id:
        return Record.of(record, one).frame()
    times = Record(record, one.source).frame()
    return times.assign(x=float("nan"), y=1000.0 * times[METRICS["seconds"]])


def _data_notes(what: str, one: Experiment, texts: list[tuple[Dataset, str]]) -> list[str]:
    """Notes on datasets; those that the tables of the same page explain are only named."""
    tables = [other for other in experiments().values() if other.paper == one.paper and other.covers]
    explained = {(d.published, d.missing, d.differs, d.note) for other in tables for d in other.datasets}
    named = [d.published for d, _ in texts if (d.published, d.missing, d.differs, d.note) in explained]
    long = [f"{d.published}: {text}" for d, text in texts if d.published not in named]
    return [*([f"{what}: {', '.join(named)}."] if named else []), *long]


def _medians(one: Experiment, rows: pd.DataFrame) -> list[str]:
    """The numbers of a box plot of AUCs: median and quartiles over runs."""
    quartiles = rows.groupby(["dataset", "method"])["y"].quantile([0.25, 0.5, 0.75]).unstack()
    text = quartiles.apply(lambda q: f"{q[0.5]:.4f}\n{q[0.25]:.4f} to {q[0.75]:.4f}", axis=1).unstack().fillna("")
    kept = [d.published for d in one.datasets if d.published in text.index]
    body = text.reindex(index=kept, columns=[m.name for m in one.methods], fill_value="")
    return [md.TEXTS["medians_legend"], md.table(body.rename_axis(one.figure["y"]).reset_index())]
