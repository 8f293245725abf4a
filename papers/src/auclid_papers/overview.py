"""The first page of the record, with its rules, and the page of values that are compared but not counted."""

import re
from collections import Counter
from itertools import chain
from typing import Any

import pandas as pd

from auclid import algorithms
from auclid_papers import variants
from auclid_papers.comparison import LEAST, MARKS, difficulty, flat_misses, judged, met_share, tally, tally_sentences
from auclid_papers.definitions import experiments
from auclid_papers.markdown import TEXTS, Markdown, Notes, bullets, counted, heading, link, signed, spread, table

PAPERS = {"SPAM": "SPAM", "SOLAM": "SOLAM", "Khalid": "Khalid's dissertation", "QSG": "QSG-S2AUC"}
"""The papers in order, and the titles of their pages."""

OTHER_PAGES = {
    "claims": "What the papers claim, and what we found",
    "details": "Details of the record",
    "what-we-learned": "What we learned",
    "what-we-learned-tables": "What we learned: all methods",
    "pays": "Does it pay?",
    "not-counted": "Compared but not counted",
}
"""The pages across papers, and their titles."""

VALUES_FILE = "values.csv"
"""All values with our results, one a line, to sort and filter."""

SORTABLE = Markdown(f"A click on the head of a column sorts a table; [{VALUES_FILE}]({VALUES_FILE}) has every value.")
"""How to find a value on a page of wide tables."""

LABELS = {"auc": "AUC", "accuracy_at_optroc": "accuracy", "seconds": "seconds of training"}
DIFFERENT = "Methods that differ from the paper's algorithm"


def slug(text: str) -> str:
    """Text as the name of a file."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")


def front(frame: pd.DataFrame, results: pd.DataFrame) -> tuple[str, list[str]]:
    """The first page: three sentences, one table, and what to read next."""
    counts, published = tally(frame), variants.published_tally(results)
    met = counts["met"] + counts["better"]
    as_published = sum((mine for mine in published.values()), Counter())
    lead = (
        f"The papers' tables have {len(frame):,} values, of which {frame['mean'].notna().sum():,} are rerun here. "
        f"With our forms of the methods, {met} of {counts['judged']} counted values are met or beaten. "
        f"Of the cells rerun as published, {as_published['met']} of {as_published['cells']} are."
    )
    rows = [_front_row(paper, title, frame[frame["paper"] == paper], published) for paper, title in PAPERS.items()]
    forms = ("our forms", "as published")
    heads = ["paper", "values", "rerun", "counted", *(f"met or beaten, {form}" for form in forms), "no data"]
    links = [link(name, title) for name, title in OTHER_PAGES.items()]
    links.append(Markdown(f"[All values with our results, one a line, to sort and filter]({VALUES_FILE})"))
    body = table(pd.DataFrame(rows, columns=heads, dtype=object))
    after = [heading("Read next"), bullets(links), *_misses(frame), *_uncovered(frame, results)]
    blocks = [lead, body, TEXTS["index"]["legend"], *after]
    return "Every table and figure of the papers, rerun", blocks


def _misses(frame: pd.DataFrame) -> list[str]:
    """The section on values that are missed on the papers' own data, by cause."""
    same = frame[frame["same_data"].fillna(False).astype(bool)]
    missed = same[same["status"] == "worse"]
    if missed.empty:
        return []
    counts = tally(same)
    met = f"{counts['met'] + counts['better']} of {counts['judged']} counted values are met or beaten"
    lead = f"On the papers' own data {met} ({met_share(counts)}). {TEXTS['index']['missed'].format(n=len(missed))}"
    rows = []
    for cause in sorted(missed["miss"].unique(), key=lambda cause: (-(missed["miss"] == cause).sum(), cause)):
        some = missed[missed["miss"] == cause]
        values = [f"{f.dataset}, {f.method} (table {f.table})" for f in some.itertuples()]
        rows.append([cause, str(len(some)), "; ".join(values)])
    body = table(pd.DataFrame(rows, columns=["why", "missed", "values"]))
    return [heading("Missed on the papers' own data"), lead, body]


def _uncovered(frame: pd.DataFrame, results: pd.DataFrame) -> list[str]:
    """The section on what is not covered: values without data, and cells that were not run in the printed form."""
    lost, tables = int((frame["status"] == "missing").sum()), [one for one in experiments().values() if one.covers]
    cells = list(chain.from_iterable(variants.own_forms(one, results) for one in tables))
    rerun = [cell for cell in cells if cell.rerun]
    names = sorted({cell.method for cell in cells} - {cell.method for cell in rerun})
    but = f", but for {', '.join(names)}" if names else ""
    forms = (
        f"In {counted(len(cells), 'cell')} of the tables our form of the method is not the one that the paper prints. "
        f"Every method with a table was also run as printed{but}, which covers {len(rerun)} of these cells. The "
        "chapters and papers name the others, below the heading of each table."
    )
    return [heading("Not covered"), f"{counted(lost, 'value')} of datasets that we do not have. {forms}"]


def _front_row(paper: str, title: str, mine: pd.DataFrame, published: dict[str, Counter]) -> list[str]:
    counts, cells = tally(mine), published.get(paper, Counter())
    numbers = [f"{len(mine):,}", f"{mine['mean'].notna().sum():,}", f"{counts['judged']:,}"]
    met = f"{counts['met'] + counts['better']} of {counts['judged']}" if counts["judged"] else ""
    as_published = f"{cells['met']} of {cells['cells']}" if cells["cells"] else ""
    return [link(slug(paper), title), *numbers, met, as_published, f"{counts['missing']:,}"]


def details(frame: pd.DataFrame) -> tuple[str, list[str]]:
    """The page with all counts, terms and rules: title and blocks."""
    hard = difficulty(frame[frame["metric"] == "auc"])
    lead = [tally_sentences(frame), _by_data(frame), variants.causes_sentence(frame), hard and f"AUC alone: {hard}"]
    names = {method.registry_name for one in experiments().values() for method in one.methods}
    unused = [f"{m.name}: {m.differs}" for m in algorithms() if m.differs and m.name not in names]
    different = [heading(DIFFERENT), TEXTS["index"]["unused"], bullets(unused)]
    blocks = [
        " ".join(filter(None, lead)),
        heading("Paper by paper"),
        _papers_table(frame),
        heading("Same and other data"),
        _data_table(frame),
        *variants.causes_section(frame),
        heading("Terms"),
        bullets([*TEXTS["index"]["terms"], *_duplicates(frame)]),
        heading("Rules"),
        bullets(TEXTS["index"]["rules"]),
        *(different if unused else []),
        *missing_data(frame),
    ]
    return OTHER_PAGES["details"], blocks


def _by_data(frame: pd.DataFrame) -> str:
    """The share of met values on the papers' own data, and on other data."""
    parts = []
    for same, words in ((True, "the papers' own data"), (False, "other data")):
        counts = tally(frame[frame["same_data"] == same])
        if counts["judged"]:
            met = f"{counts['met'] + counts['better']} of {counts['judged']}"
            parts.append(f"on {words} {met} ({met_share(counts)})")
    return f"Met or beaten {', '.join(parts)}." if parts else ""


def _papers_table(frame: pd.DataFrame) -> str:
    """The papers, with the number of values of each status."""
    heads = {"judged": "counted", "met": "met", "better": "beaten", "worse": "missed", "not counted": "not counted",
             "times": "times", "missing": "no data"}  # fmt: skip
    rows = []
    for paper, title in PAPERS.items():
        mine = frame[frame["paper"] == paper]
        numbers = [len(mine), *tally(mine)[list(heads)]]
        rows.append([link(slug(paper), title), *(f"{number:,}" for number in numbers)])
    return table(pd.DataFrame(rows, columns=["paper", "values", *heads.values()], dtype=object))


def _data_table(frame: pd.DataFrame) -> str:
    """Verdicts on the papers' own data and on other data."""
    same, rows = frame["same_data"], []
    for words, some in (("same", frame[same]), ("other", frame[~same]), ("all", frame)):
        counts = tally(some)
        numbers = [*counts[["judged", "met", "better", "worse"]], met_share(counts), flat_misses(some)]
        rows.append([words, *map(str, numbers)])
    heads = ["data", "counted", "met", "beaten", "missed", "share met or beaten", f"missed by more than {LEAST}"]
    return table(pd.DataFrame(rows, columns=heads))


def _duplicates(frame: pd.DataFrame) -> list[str]:
    """How many different cells and files the counted values have."""
    some = judged(frame)
    if some.empty:
        return []
    cells = {(_protocol(f), f.metric, f.runs) for f in some.itertuples()}
    rerun = frame[frame["mean"].notna()]
    files = {f.dataset: experiments()[f.experiment].dataset(f.dataset).name for f in rerun.itertuples()}
    return [
        f"Tables share cells: the {len(some)} counted values belong to {len(cells)} cells of data, protocol, method "
        f"and metric, and the {len(files)} names of datasets to {len(set(files.values()))} files."
    ]


def _protocol(f: Any) -> str:
    one = experiments()[f.experiment]
    return one.protocol_hash(one.dataset(f.dataset), one.method(f.ours))


def not_counted(frame: pd.DataFrame) -> tuple[str, list[str]]:
    """The page of values that are compared and not counted: title and blocks."""
    some = frame[frame["status"] == "not counted"]
    numbers = {name: int((some["verdict"] == name).sum()) for name in MARKS}
    reasons = [experiments()[f.experiment].dataset(f.dataset).reason for f in some.itertuples()]
    lead = (
        f"{counted(len(some), 'value')} compared but not counted: {numbers['better']} better, {numbers['met']} met, "
        f"{numbers['worse']} worse. They are not counted because the paper does not define their task, or because its "
        "values are not those of the task in its text."
    )
    body = value_table(some.assign(note=reasons), with_paper=True) if len(some) else ["There are none."]
    return OTHER_PAGES["not-counted"], [lead, heading("Values"), *body]


def value_table(frame: pd.DataFrame, with_paper: bool = False) -> list[str]:
    """A table with a line for each value, ours beside theirs, and its notes."""
    notes, rows = Notes(), []
    for f in frame.itertuples():
        place = f"{f.paper}, table {f.table}" if with_paper else f"table {f.table}, {LABELS[f.metric]}"
        difference = f"{signed(f.difference)} {MARKS[f.verdict]}" if with_paper else signed(f.difference)
        ours, theirs = spread(f.mean, f.std), spread(f.published, f.published_std)
        rows.append([f"{f.dataset}, {f.method}\n{place}", ours, theirs, difference, notes.mark(f.note).strip()])
    return [table(pd.DataFrame(rows, columns=["value", "ours", "theirs", "difference", "note"])), *notes.blocks()]


def missing_data(frame: pd.DataFrame) -> list[str]:
    """The section on datasets that we do not have: where they are published, and how many values need them."""
    lost = frame[frame["status"] == "missing"].groupby(["dataset", "unavailable"]).size()
    if lost.empty:
        return []
    items = [f"{dataset}: {counted(n, 'value')}; {place}." for (dataset, place), n in lost.items()]
    return [heading("Datasets that we do not have"), bullets(items)]
