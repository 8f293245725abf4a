"""The page "What the papers claim, and what we found": a verdict on each claim, counted from the raw results."""

import itertools
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from auclid_papers.comparison import METRICS
from auclid_papers.definitions import experiments, package_text
from auclid_papers.markdown import TEXTS, bullets, counted, heading, signed, table
from auclid_papers.overview import PAPERS
from auclid_papers.rates import BOUNDS, exponent, fitted
from auclid_papers.record import Record

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "cannot be told here"

MIN_DATASETS = 3
"""The datasets that a claim about methods is judged on, at least."""

MIN_RUNS = 10
"""The runs of each method that a claim about named datasets is judged on, at least."""


class Claim(NamedTuple):
    """A sentence of a paper, and the comparison that decides it; see claims.toml."""

    id: str
    paper: str
    place: str
    claim: str
    experiment: str = ""
    ours: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    measure: str = "auc"
    margin: float = 0.0
    need: float = 1.0
    only: tuple[str, ...] = ()
    why: str = ""

    @property
    def bound(self) -> str:
        """What the curve of its figure is of the order of; empty where methods are compared."""
        return str(experiments()[self.experiment].figure.get("bound", "")) if self.experiment else ""


class Finding(NamedTuple):
    """What the record says about a claim."""

    claim: Claim
    won: int = 0
    compared: int = 0
    datasets: int = 0
    runs: int = 0  # the fewest of a method on a dataset
    median: float = float("nan")  # of the differences, in favour of the claim, or of the exponents
    lost: tuple[str, ...] = ()  # the datasets of the comparisons that were not won
    exponent: float = float("nan")  # of the bound

    @property
    def is_enough(self) -> bool:
        """Whether there are enough runs of the datasets that the claim names, or enough datasets if it names none."""
        return self.runs >= MIN_RUNS if self.claim.only else self.datasets >= MIN_DATASETS

    @property
    def verdict(self) -> str:
        """Whether the claim holds here."""
        if not self.is_enough:
            return UNKNOWN
        if self.won >= self.claim.need * self.compared:
            return HOLDS
        return UNKNOWN if self.claim.bound else FAILS

    def sentence(self) -> str:
        """The figure that decides it."""
        if not self.compared:
            return self.claim.why
        if self.claim.bound:
            return self._rate()
        unit = " s" if self.claim.measure in ("seconds", "time") else ""
        word = "Faster" if unit else "Better"
        word = f"At most {self.claim.margin:g} worse" if self.claim.margin else word
        text = (
            f"{word} in {self.won} of {counted(self.compared, 'comparison')} on "
            f"{counted(self.datasets, 'dataset')}, {counted(self.runs, 'run')} or more of each; "
            f"median difference {signed(self.median)}{unit}."
        )
        if not self.is_enough:
            return f"{text} {TEXTS['claims']['too_few']}"
        if self.verdict == FAILS:
            return f"{text} Lost on {', '.join(self.lost)}. {self.claim.why}".strip()
        return text

    def _rate(self) -> str:
        """The sentence of a claim with a bound."""
        text = (
            f"The exponent is the bound's or lower on {self.won} of {counted(self.compared, 'dataset')}, "
            f"{counted(self.runs, 'run')} or more of each; median {self.median:.2f}, the bound's {self.exponent:.2f}."
        ).replace("-", "−")
        return f"{text} {self.claim.why}".strip()


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, in the order of the papers."""
    entries: list[dict[str, Any]] = tomllib.loads(package_text("claims.toml"))["claims"]
    lists = ("ours", "rivals", "only")
    return tuple(Claim(**{**each, **{name: tuple(each[name]) for name in lists if name in each}}) for each in entries)


def _first(points: pd.DataFrame) -> float:
    """The mean of y at the smallest x."""
    return float(points.loc[points["x"] == points["x"].min(), "y"].mean())


SCORES: dict[str, Callable[[pd.DataFrame], float]] = {
    "auc": lambda runs: float(runs["auc"].mean()),
    "seconds": lambda runs: -float(runs[METRICS["seconds"]].mean()),
    "area": lambda points: float(points["y"].mean()),
    "first": _first,
    "time": lambda points: -float(points["y"].mean()),
    "median": lambda runs: float(runs["y"].median()),
}
"""What a method has on a dataset, the higher the better."""


def _over_time(points: pd.DataFrame, end: float) -> float:
    """The mean AUC of the latest model over the time from 0 to `end`; before the first model it is one half."""
    curve = points[points["x"] <= end].sort_values("x")
    widths = np.diff(np.concatenate([[0.0], curve["x"], [end]]))
    return float(widths @ np.concatenate([[0.5], curve["y"]])) / end


def difference(claim: Claim, ours: pd.DataFrame, rival: pd.DataFrame) -> float:
    """What one method has on a dataset beyond another. Curves over time are compared until the first of them ends."""
    if claim.measure == "over_time":
        end = min(ours["x"].max(), rival["x"].max())
        return _over_time(ours, end) - _over_time(rival, end)
    return SCORES[claim.measure](ours) - SCORES[claim.measure](rival)


def find(claim: Claim, record: str | Path) -> Finding:
    """Count the comparisons of a claim."""
    if not claim.experiment:
        return Finding(claim)
    rows = Record.of(record, experiments()[claim.experiment]).frame()
    parts: dict[tuple[str, str], pd.DataFrame] = {}
    for (dataset, method), some in rows.groupby(["dataset", "method"]):
        if not claim.only or dataset in claim.only:
            parts[str(dataset), str(method)] = some
    if claim.bound:
        return _rates(claim, {dataset: some for (dataset, method), some in parts.items() if method in claim.ours})
    datasets = sorted({dataset for dataset, _ in parts})
    pairs = [
        (parts[dataset, ours], parts[dataset, rival])
        for dataset, ours, rival in itertools.product(datasets, claim.ours, claim.rivals)
        if (dataset, ours) in parts and (dataset, rival) in parts
    ]
    compared = [str(ours["dataset"].iloc[0]) for ours, _ in pairs]
    differences = [difference(claim, *pair) for pair in pairs]
    lost = [dataset for dataset, one in zip(compared, differences, strict=True) if one <= -claim.margin]
    runs = min((side["run"].nunique() for pair in pairs for side in pair), default=0)
    median = float(pd.Series(differences, dtype=float).median())
    won, kinds = len(pairs) - len(lost), tuple(dict.fromkeys(lost))
    return Finding(claim, won, len(pairs), len(set(compared)), runs, median, kinds)


def _rates(claim: Claim, curves: dict[str, pd.DataFrame]) -> Finding:
    """The exponents of a method on each dataset against that of a bound at the same points."""
    found = {dataset: fitted(points) for dataset, points in curves.items()}
    x = np.unique(np.concatenate([points["x"] for points in curves.values()] or [np.array([])]))
    bound = exponent(x, BOUNDS[claim.bound](x)) if len(x) else float("nan")
    lost = tuple(dataset for dataset, (slope, error) in found.items() if slope > bound + 2.0 * error)
    runs = min((points["run"].nunique() for points in curves.values()), default=0)
    median = float(pd.Series([slope for slope, _ in found.values()], dtype=float).median())
    return Finding(claim, len(found) - len(lost), len(found), len(found), runs, median, lost, bound)


def page(record: str | Path) -> tuple[str, list[str]]:
    """The page: title and blocks."""
    found = [find(claim, record) for claim in claims()]
    count = {verdict: sum(one.verdict == verdict for one in found) for verdict in (HOLDS, FAILS, UNKNOWN)}
    lead = (
        f"{counted(len(found), 'claim')} of the abstracts, conclusions and experiments: {count[HOLDS]} hold here, "
        f"{count[FAILS]} do not, {count[UNKNOWN]} cannot be told here."
    )
    blocks: list[str] = [lead, TEXTS["claims"]["method"]]
    for paper, title in PAPERS.items():
        mine = [one for one in found if one.claim.paper == paper]
        rows = [[one.claim.claim, one.claim.place, one.verdict, one.sentence()] for one in mine]
        heads = ["the paper claims", "where", "verdict", "what decides it"]
        blocks += [heading(title), table(pd.DataFrame(rows, columns=heads))]
    return "What the papers claim, and what we found", [*blocks, heading("Rules"), bullets(TEXTS["claims"]["rules"])]
