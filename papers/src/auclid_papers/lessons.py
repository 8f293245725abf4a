"""What we learned, on one screen: six sentences and a table of six methods."""

from pathlib import Path

from auclid._page import signed
from auclid_papers import learned, pays
from auclid_papers.gaps import Gap
from auclid_papers.learned import LOGISTIC, TREES, Gaps
from auclid_papers.render import Cell, Link, Page, Paragraph, Points, Section, Table, counted

NAME, TITLE = "what-we-learned", "What we learned"

SIX = {
    "B-LS-SVM": "all pairs, square loss, in closed form",
    "BAM": "all pairs, squared hinge",
    "PSAM": "a random pair a step",
    "OAMseq": "a buffer of rows, the last iterate, as published",
    "NBAM": "all pairs on 1,600 landmarks",
    "NASAM": "a random pair a step on 1,600 landmarks",
}
"""The rows of the table, one a family, named before the figures were looked at."""

LINEAR = ("B-LS-SVM", "B-SVM-OR", "BAM", "SPAM-L2", "SOLAM-L2", "ASAM", "PSAM", "CBR-FIFO")
ROUGH = ("OAMseq", "OAMgra")
CURVED = ("NBAM", "NASAM")


def page(record: str | Path) -> Page:
    """The page, from the record alone."""
    tasks = learned.runs(record)
    quality, speed = learned.gaps(tasks, learned.auc_gap), learned.gaps(tasks, learned.time_gap)
    lead = (
        f"From {sum(len(run.auc) for methods in tasks.values() for run in methods.values()):,} runs "
        f"on {counted(len({dataset for _, dataset in tasks}), 'dataset')} in "
        f"{counted(len({one for one, _ in tasks}), 'table')} of the record."
    )
    if not quality:
        return Page(NAME, TITLE, lead, "", [Section("In short", [Paragraph("The record has no runs for this yet.")])])
    sentences = [*filter(None, [*_sentences(quality, speed), pays.sentence(record)])]
    words = ("method", f"against {LOGISTIC}", f"against {TREES}", f"speed over {LOGISTIC}")
    columns = [Cell((word,)) for word in words]
    rows = [
        (Cell((name, what)), _row(name, quality, speed)) for name, what in SIX.items() if (name, LOGISTIC) in quality
    ]
    more = Paragraph(Link(learned.NAME, f"More: {learned.TITLE.lower()}"))
    return Page(NAME, TITLE, lead, KEY, [Section("In short", [Points(sentences), Table(columns, rows), more])])


KEY = (
    "Differences of AUC are medians over datasets that both methods were run on, same table and splits, each with the "
    "95 % interval of the sign test; speeds are ratios, 2× is twice as fast."
)


def _row(name: str, quality: Gaps, speed: Gaps) -> list[Cell]:
    return [
        learned.gap_cell(quality.get((name, LOGISTIC)), signed),
        learned.gap_cell(quality.get((name, TREES)), signed),
        learned.gap_cell(speed.get((name, LOGISTIC)), learned.times),
    ]


def _sentences(quality: Gaps, speed: Gaps) -> list[str]:
    return [_linear(quality), _trees(quality), _curved(quality), _rough(quality), _time(speed)]


def _linear(quality: Gaps) -> str:
    found = {name: quality[name, LOGISTIC] for name in LINEAR if (name, LOGISTIC) in quality}
    if not found:
        return ""
    middles = [gap.middle for gap in found.values()]
    return (
        f"Linear rankers and {LOGISTIC} rank alike: of {', '.join(found)} the medians lie from {signed(min(middles))} "
        f"to {signed(max(middles))}; better by their interval: {_named(found, 1)}; worse: {_named(found, -1)}."
    )


def _trees(quality: Gaps) -> str:
    found = {a: gap for (a, b), gap in quality.items() if b == TREES and gap.low is not None}
    if not found:
        return ""
    return (
        f"{TREES} with its defaults ranks better than {sum(gap.sign < 0 for gap in found.values())} of {len(found)} "
        f"methods run beside it on six datasets or more, and worse than {sum(gap.sign > 0 for gap in found.values())}."
    )


def _curved(quality: Gaps) -> str:
    parts = [f"{name} {_told(quality[name, TREES])}" for name in CURVED if (name, TREES) in quality]
    return f"Kernels close that gap: against {TREES}, {'; '.join(parts)}." if parts else ""


def _rough(quality: Gaps) -> str:
    parts = [f"{name} {_told(quality[name, LOGISTIC])}" for name in ROUGH if (name, LOGISTIC) in quality]
    return f"A last iterate costs: against {LOGISTIC}, as published, {'; '.join(parts)}." if parts else ""


def _time(speed: Gaps) -> str:
    parts = [f"{name} {learned.times(speed[name, LOGISTIC].middle)}" for name in SIX if (name, LOGISTIC) in speed]
    return f"Speed beside {LOGISTIC}: {', '.join(parts)}." if parts else ""


def _told(gap: Gap) -> str:
    return f"{signed(gap.middle)} ({learned.across(gap, signed)}, {counted(gap.n, 'dataset')})"


def _named(found: dict[str, Gap], sign: int) -> str:
    return ", ".join(name for name, gap in found.items() if gap.sign == sign) or "none"
