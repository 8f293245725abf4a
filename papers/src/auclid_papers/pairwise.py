"""Methods compared in pairs: paired differences of AUC or speed over datasets, with confidence intervals."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from auclid_papers.comparison import RIVALS
from auclid_papers.definitions import experiments
from auclid_papers.intervals import Interval, median_interval
from auclid_papers.markdown import counted, signed

LOGISTIC, TREES = RIVALS

TASK = ["experiment", "dataset"]


def ratio(power: float) -> str:
    """A ratio of speeds from its logarithm: 2× is twice as fast."""
    value = 10.0**power
    return f"{value:,.0f}×" if value >= 10.0 else f"{value:.2g}×"


class Measure(NamedTuple):
    """A column to compare methods by, how to show a difference of it, and the words for its sign."""

    column: str
    show: Callable[[float], str] = signed
    better: str = "better"
    worse: str = "worse"


AUC, SPEED = Measure("auc"), Measure("speed", ratio, "faster", "slower")


def complete_runs(results: pd.DataFrame) -> pd.DataFrame:
    """The runs with an AUC and a time, with ``speed`` (-log10 of the seconds) and the ``file`` of the dataset."""
    runs = results.dropna(subset=["auc", "fit_seconds"])
    files = [experiments()[one].dataset(dataset).name for one, dataset in runs[TASK].itertuples(index=False)]
    return runs.assign(speed=-np.log10(runs["fit_seconds"].clip(lower=1e-6)), file=files)


class Comparison(dict[tuple[str, str], Interval]):
    """The median difference of a measure over datasets, for every ordered pair of methods.

    Two methods are compared on the runs that both have in the same table. Differences are averaged over runs, then over
    the tables that use the same file.
    """

    def __init__(self, runs: pd.DataFrame, measure: Measure) -> None:
        self.measure = measure
        narrow = runs[[*TASK, "file", "run", "method"]].assign(value=runs[measure.column])
        pairs = narrow.merge(narrow, on=[*TASK, "file", "run"], suffixes=("", "_rival"))
        pairs = pairs[pairs["method"] != pairs["method_rival"]]
        pairs = pairs.assign(difference=pairs["value"] - pairs["value_rival"])
        by_table = pairs.groupby(["method", "method_rival", "file", *TASK])["difference"].mean()
        by_file = by_table.groupby(level=[0, 1, 2]).mean()
        super().__init__({(a, b): median_interval(values) for (a, b), values in by_file.groupby(level=[0, 1])})

    def _parts(self, name: str, rival: str) -> list[str]:
        gap, show = self[name, rival], self.measure.show
        ends = f"{show(gap.low)} to {show(gap.high)}" if gap.known else "too few for an interval"
        return [show(gap.estimate), ends, counted(gap.n, "dataset")]

    def lines(self, name: str, rival: str) -> str:
        """A difference as the lines of a cell; an empty string if the two were not compared."""
        return "\n".join(self._parts(name, rival)) if (name, rival) in self else ""

    def listed(self, names: Iterable[str], rival: str) -> str:
        """The differences of some methods to a rival, in a sentence; methods that were not compared are left out."""
        parts = {name: self._parts(name, rival) for name in names if (name, rival) in self}
        return "; ".join(f"{name} {estimate} ({', '.join(rest)})" for name, (estimate, *rest) in parts.items())
