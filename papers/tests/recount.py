"""The record counted anew: raw files, the papers' figures and the tables' own files, by arithmetic of its own.

Nothing of `auclid` is imported here: what the pages say must follow from the files without the code that writes them.
"""

import csv
import json
import re
import statistics
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RECORD = ROOT / "docs" / "record"
OWN = ROOT / "papers" / "src" / "auclid_papers"
WORD = {"better": "▲ better", "met": "= met", "worse": "▼ worse"}
COLUMN = {"auc": "auc", "accuracy_at_optroc": "accuracy_at_optroc", "seconds": "fit_seconds"}
RIVALS = ("LogisticRegression", "LightGBM")
PLAIN = {*RIVALS, "RidgeClassifier", "LinearSVC"}


def tables():
    """The tables' own files, by id."""
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted((OWN / "tables").glob("*.toml"))}


TABLES = tables()
SHARED = tomllib.loads((OWN / "datasets.toml").read_text("utf-8"))
PAPERS = list(csv.DictReader((OWN / "published.csv").read_text("utf-8").splitlines()))


def data(one, name):
    """What an experiment says of a table of data."""
    entry = next(d for d in TABLES[one]["datasets"] if d["published"] == name)
    return SHARED.get(name, {}) | entry


def raw(one):
    """{(dataset, method): rows} of an experiment's raw file."""
    found = defaultdict(list)
    path = RECORD / "raw" / f"{one}.csv"
    if path.exists():
        for row in csv.DictReader(path.read_text("utf-8").splitlines()):
            found[row["dataset"], row["method"]].append(row)
    return found


RAW = {one: raw(one) for one in TABLES}
RUN = {one for one in TABLES if RAW[one]}


def spread(rows, column):
    """(mean, deviation or None, number)"""
    values = [float(row[column]) for row in rows if row.get(column)]
    if not values:
        return None, None, 0
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values)


def judge(mean, paper, std, least=0.005):
    """better, met or worse"""
    margin = max(std or 0.0, least) + 1e-12
    return "better" if mean > paper + margin else "worse" if mean < paper - margin else "met"


class Figure:
    """A published figure and what the raw files have for it."""

    def __init__(self, row):
        self.paper, self.table, self.dataset, self.method = (row[k] for k in ("paper", "table", "dataset", "method"))
        self.metric, self.theirs = row["metric"], float(row["mean"])
        self.their_std = float(row["std"]) if row["std"] else None
        cover = {"table": self.table, "metric": self.metric}
        self.one = next(k for k, t in TABLES.items() if t["paper"] == self.paper and cover in t.get("covers", []))
        self.entry = data(self.one, self.dataset)
        column = next(m for m in TABLES[self.one]["methods"] if m.get("published") == self.method)
        self.name, self.ours = column["name"], column.get("ours", True)
        self.rows = RAW[self.one][self.dataset, self.name]
        self.mean, self.std, self.n = spread(self.rows, COLUMN[self.metric])
        self.like = not self.entry.get("differs")
        run = self.mean is not None
        self.absent = bool(self.entry.get("missing")) and not run
        timed = self.metric == "seconds"
        self.counted = not timed and not self.absent and self.entry.get("counted", True) and self.ours
        self.verdict = judge(self.mean, self.theirs, self.their_std) if run and not timed else None
        self.rivals = {}
        for name in RIVALS if not timed else ():
            other = spread(RAW[self.one][self.dataset, name], COLUMN[self.metric])[0]
            if other is not None:
                self.rivals[name] = judge(other, self.theirs, self.their_std)

    @property
    def key(self):
        return self.paper, self.table, self.dataset, self.method, self.metric

    @property
    def errors(self):
        if not self.std or not self.their_std:
            return None
        return abs(self.mean - self.theirs) / ((self.std**2 + self.their_std**2) / self.n) ** 0.5


FIGURES = [Figure(row) for row in PAPERS]


# --- words ---------------------------------------------------------------------------------------------------------


def told(mean, std=None):
    return f"{mean:.4f}" if std is None else f"{mean:.4f} ± {std:.4f}"


def signed(x, digits=4):
    """With a sign, and the minus that typesetters use."""
    return f"{x:+.{digits}f}".replace("-", "−")


def duration(seconds):
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.2f} s" if seconds < 9.95 else f"{seconds:,.0f} s"


def page(name):
    """The text of a page, with those of its chapters."""
    chapters = sorted(RECORD.glob(f"{name}-[0-9]*.md"))
    return "\n".join(path.read_text("utf-8") for path in (RECORD / f"{name}.md", *chapters))


def plain(words):
    """Markdown's words as they are read."""
    words = re.sub(r"\[([^\]]*)\]\(([\w.-]+\.md)\)", r"\1", words)
    return re.sub(r"\\([\\`*|_(])", r"\1", words).replace("&lt;", "<")


def read_tables(text):
    """[(heading of the section, header, [[cell, ...], ...])] of a page; a cell is the list of its lines."""
    found, heading, lines = [], "", []
    for line in [*text.splitlines(), ""]:
        if line.startswith("## "):
            heading = plain(line[3:])
        if line.startswith("|"):
            lines.append([plain(c).split("<br>") for c in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif lines:
            cells = [[[part.strip() for part in cell] for cell in row] for row in lines]
            found.append((heading, [c[0] for c in cells[0]], cells[2:]))
            lines = []
    return found


def section(text, title):
    """A section's text, without its tables."""
    body = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return plain("\n".join(line for line in body.splitlines() if not line.startswith("|")))


def lead(text):
    """The paragraph below the title."""
    return plain(text.split("\n\n")[1])


def numbers(words):
    """All numbers of a sentence, as they stand."""
    return re.findall(r"[+−]?\d[\d,]*(?:\.\d+)?", words)


def json_of(row):
    return json.loads(row["chosen"]) if row.get("chosen") else {}
