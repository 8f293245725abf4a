"""Ours beside theirs: every published figure with our mean, the difference and the verdict."""

import csv
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np

from auclid_papers.definitions import Dataset, Experiment, Method, experiments
from auclid_papers.record import Record, Row

LEAST = 0.005
"""The least that counts as a difference, however small a published deviation is."""

RIVALS = ("LogisticRegression", "LightGBM")
"""Baselines that are put into every cell, to see what a verdict is worth."""

COLUMN = {"auc": "auc", "accuracy_at_optroc": "accuracy_at_optroc", "seconds": "fit_seconds"}


class Figure(NamedTuple):
    """A figure of a paper and what we found."""

    paper: str
    table: str
    dataset: str
    method: str
    metric: str
    published: float
    published_std: float | None
    mean: float | None
    std: float | None
    runs: int
    difference: float | None
    verdict: str  # better, met, worse; shown (seconds); not run, missing, not ours
    counted: bool
    note: str
    experiment: str
    like: bool = True  # whether the data at hand is the paper's
    rivals: dict[str, str] = {}  # what the verdict on a baseline's mean would be

    @property
    def tolerance(self) -> float:
        """What counts as no difference: the paper's deviation, and 0.005 at the least."""
        return max(self.published_std or 0.0, LEAST)

    @property
    def errors(self) -> float | None:
        """The difference over its standard error, sqrt((s^2 + S^2) / runs); None where a deviation is unknown.

        s and S are the deviations of our runs and the paper's, which made as many at the least.
        """
        if self.difference is None or not self.std or not self.published_std:
            return None
        return float(self.difference / np.sqrt((self.std**2 + self.published_std**2) / self.runs))


def verdict(mean: float, published: float, std: float | None = None) -> str:
    """ "better", "met" or "worse": above, within or below ``published`` by more than max(std, 0.005).

    Examples
    --------
    >>> from auclid_papers import verdict
    >>> verdict(0.91, 0.90, 0.02), verdict(0.91, 0.90, 0.0), verdict(0.89, 0.90, None)
    ('met', 'better', 'worse')
    """
    margin = max(std or 0.0, LEAST) + 1e-12
    if mean > published + margin:
        return "better"
    return "met" if mean >= published - margin else "worse"


@cache
def published() -> list[Row]:
    """The figures of the papers, as dictionaries of paper, table, dataset, method, metric, mean, std."""
    text = (resources.files("auclid_papers") / "published.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return [{**row, "mean": float(row["mean"]), "std": float(row["std"]) if row["std"] else None} for row in rows]


Cells = dict[tuple[str, str], list[Row]]
"""Rows of a record by dataset and method."""


def cells(record: str | Path, one: Experiment) -> Cells:
    """What is on record of an experiment, by dataset and method."""
    found: Cells = {}
    for row in Record(record, one.id, extra=one.extra).rows():
        found.setdefault((row["dataset"], row["method"]), []).append(row)
    return found


def measured(rows: list[Row], metric: str) -> tuple[float | None, float | None, int]:
    """(mean, standard deviation, number) of a metric over rows of a record; None where there are too few."""
    values = [row[COLUMN[metric]] for row in rows if row[COLUMN[metric]] is not None]
    mean = float(np.mean(values)) if values else None
    return mean, float(np.std(values, ddof=1)) if len(values) > 1 else None, len(values)


def summary(record: str | Path) -> Iterator[Figure]:
    """Yield a `Figure` for each published figure, as the results in a folder stand.

    Parameters
    ----------
    record : path
        A folder that `run` wrote to.
    """
    owner = {(one.paper, *cover): one for one in experiments().values() for cover in one.covers}
    found = {one.id: cells(record, one) for one in owner.values()}
    for row in published():
        one = owner[row["paper"], row["table"], row["metric"]]
        yield _figure(row, one, found[one.id])


def _figure(row: Row, one: Experiment, found: Cells) -> Figure:
    dataset = one.dataset(row["dataset"])
    method = next(m for m in one.methods if m.published == row["method"])
    mean, std, runs = measured(found.get((row["dataset"], method.name), []), row["metric"])
    said = _said(row, dataset, method, mean)
    absent = bool(dataset.missing) and mean is None
    counted = row["metric"] != "seconds" and not absent and dataset.counted and method.ours
    missing = f"Missing: {dataset.missing}." if absent else ""
    uncounted = "" if dataset.counted else f"Not counted: {dataset.reason}"
    note = " ".join(filter(None, [missing, uncounted, one.note(dataset, method.published, row["metric"])]))
    return Figure(
        row["paper"], row["table"], row["dataset"], row["method"], row["metric"], row["mean"], row["std"], mean, std,
        runs, None if mean is None else mean - row["mean"], said, counted, note, one.id,
        not dataset.differs, _rivals(row, found),
    )  # fmt: skip


def _rivals(row: Row, found: Cells) -> dict[str, str]:
    """The verdict on each baseline, had it stood in the cell."""
    if row["metric"] == "seconds":
        return {}
    means = {name: measured(found.get((row["dataset"], name), []), row["metric"])[0] for name in RIVALS}
    return {name: verdict(mean, row["mean"], row["std"]) for name, mean in means.items() if mean is not None}


def _said(row: Row, dataset: Dataset, method: Method, mean: float | None) -> str:
    if not method.ours:
        return "not ours"
    if mean is None:
        return "missing" if dataset.missing else "not run"
    return "shown" if row["metric"] == "seconds" else verdict(mean, row["mean"], row["std"])
