"""The published values beside our results: means, differences, verdicts, and how many there are of each."""

from collections.abc import Container
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from auclid_papers.definitions import Dataset, Experiment, experiments, package_text
from auclid_papers.markdown import counted
from auclid_papers.record import Record

LEAST = 0.005
"""The smallest tolerance, however small the published standard deviation is."""

RIVALS = ("LogisticRegression", "LightGBM")
"""Baselines that are run in every cell, to show how hard a published value is to meet."""

METRICS = {"auc": "auc", "accuracy_at_optroc": "accuracy_at_optroc", "seconds": "fit_seconds"}
"""The column of the results for each published metric."""

MARKS = {"better": "▲ better", "met": "= met", "worse": "▼ worse"}

OTHER_STATUSES = {
    "not counted": "compared but not counted",
    "times": "times without a verdict",
    "missing": "without data",
    "not run": "not run yet",
    "not ours": "of methods that auclid does not have",
}
STATUSES = [*MARKS, *OTHER_STATUSES]

VALUE = ["paper", "table", "metric", "dataset", "method"]
"""The columns that identify a published value."""

CELL = ["experiment", "dataset", "ours", "metric"]


def verdict(mean: float, published: float, std: float | None = None) -> str:
    """ "better", "met" or "worse": above, within or below ``published`` by more than max(std, 0.005).

    Examples
    --------
    >>> from auclid_papers import verdict
    >>> verdict(0.91, 0.90, 0.02), verdict(0.91, 0.90, 0.0), verdict(0.89, 0.90, None)
    ('met', 'better', 'worse')
    """
    margin = np.fmax(LEAST, np.nan if std is None else std) + 1e-12
    if mean > published + margin:
        return "better"
    return "met" if mean >= published - margin else "worse"


@cache
def published() -> pd.DataFrame:
    """The values that the papers print: paper, table, dataset, method, metric, published, published_std."""
    text = StringIO(package_text("published.csv"))
    return pd.read_csv(text, dtype={"table": str}).rename(columns={"mean": "published", "std": "published_std"})


def dataset_run(one: Experiment, dataset: Dataset, protocols: Container[str]) -> Dataset:
    """The dataset that results with these protocols are of: a sample, or the whole dataset."""
    whole = dataset.as_whole()
    return whole if any(one.protocol_hash(whole, m) in protocols for m in one.methods if dataset.whole) else dataset


@cache
def _definitions(protocols: frozenset[str]) -> pd.DataFrame:
    """What the definitions of the experiments say about each published value, for results with these protocols."""
    rows = [
        {
            "paper": one.paper, "table": table, "metric": metric, "dataset": d.published, "method": m.published,
            "experiment": one.id, "ours": m.name, "is_ours": m.ours, "unavailable": d.missing or "",
            "same_data": not d.differs, "may_count": d.counted, "miss": one.miss(d, m.published, metric),
            "note": " ".join(filter(None, [
                "" if d.counted else f"Not counted: {d.reason}", d.differs, d.note,
                *one.cell_notes(d, m.published, metric),
            ])),
        }
        for one in experiments().values() for d in (dataset_run(one, d, protocols) for d in one.datasets)
        for table, metric in one.covers for m in one.methods if m.published
    ]  # fmt: skip
    return pd.DataFrame(rows)


def load_results(record: str | Path) -> pd.DataFrame:
    """The results of all tables in a folder, with the id of their experiment."""
    tables = [one for one in experiments().values() if one.kind == "table"]
    frames = [Record.of(record, one).frame().assign(experiment=one.id) for one in tables]
    return pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)


def statistics(results: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard deviation and number of runs by experiment, dataset, our method and metric."""
    renamed = results.rename(columns={"method": "ours", **{column: metric for metric, column in METRICS.items()}})
    long = renamed.melt(id_vars=CELL[:3], value_vars=list(METRICS), var_name="metric")
    return long.groupby(CELL)["value"].agg(mean="mean", std="std", runs="count")


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """One row for each published value, with our result.

    Parameters
    ----------
    results : DataFrame
        As `load_results` returns them.

    Returns
    -------
    DataFrame
        In addition to the columns of `published`: ``experiment``; ``ours``, our name of the method; ``mean``, ``std``
        and ``runs`` of our result; ``seconds`` of a fit; ``difference``; ``verdict``, or an empty string; ``status``,
        one of `STATUSES`; ``same_data``, whether our data is the paper's; ``note``; and for each of `RIVALS` the
        verdict on its result in the same cell, or None.
    """
    definitions, stats = _definitions(frozenset(results["protocol"])), statistics(results)
    frame = published().merge(definitions, on=VALUE, how="left").join(stats, on=CELL)
    frame["runs"] = frame["runs"].fillna(0).astype(int)
    frame["seconds"] = _means(frame, stats, metric="seconds")
    frame["difference"] = frame["mean"] - frame["published"]
    frame["verdict"] = _verdicts(frame, frame["mean"]).fillna("")
    frame["status"] = [_status(f) for f in frame.itertuples()]
    missing = np.where(frame["status"] == "missing", "Missing: " + frame["unavailable"] + ". ", "")
    frame["note"] = (missing + frame["note"]).str.strip()
    return frame.assign(**{rival: _verdicts(frame, _means(frame, stats, ours=rival)) for rival in RIVALS})


def _means(frame: pd.DataFrame, stats: pd.DataFrame, **other: str) -> pd.Series:
    """The means of the cells of a frame, with another metric or method."""
    return frame[CELL].assign(**other).join(stats["mean"], on=CELL)["mean"]


def _verdicts(frame: pd.DataFrame, means: pd.Series) -> pd.Series:
    """The verdict on each mean in the place of ours; None without a mean, and for times."""
    judged = means.notna() & (frame["metric"] != "seconds")
    values = zip(judged, means, frame["published"], frame["published_std"], strict=True)
    return pd.Series([verdict(*rest) if known else None for known, *rest in values], index=frame.index, dtype=object)


def _status(f: Any) -> str:
    if not f.is_ours:
        return "not ours"
    if np.isnan(f.mean):
        return "missing" if f.unavailable else "not run"
    if f.metric == "seconds":
        return "times"
    return f.verdict if f.may_count else "not counted"


def judged(frame: pd.DataFrame) -> pd.DataFrame:
    """The published values that count and have a result."""
    return frame[frame["status"].isin(MARKS)]


def tally(frame: pd.DataFrame) -> pd.Series:
    """The number of values of each status, and of all that were ``judged``."""
    counts = frame["status"].value_counts().reindex(STATUSES, fill_value=0)
    counts["judged"] = counts[list(MARKS)].sum()
    return counts


def met_share(counts: pd.Series) -> str:
    """The share of the judged values that are met or beaten."""
    return f"{(counts['met'] + counts['better']) / counts['judged']:.1%}" if counts["judged"] else ""


def tally_sentences(frame: pd.DataFrame) -> str:
    """The numbers of published values, rerun values and verdicts."""
    counts = tally(frame)
    rerun = counts["judged"] + counts["not counted"] + counts["times"]
    rest = ", ".join(f"{counts[status]:,} {words}" for status, words in OTHER_STATUSES.items() if counts[status])
    share = f" ({met_share(counts)} met or beaten)" if counts["judged"] else ""
    verdicts = f"{counts['met']:,} met, {counts['better']:,} beaten, {counts['worse']:,} missed{share}"
    also = f" Also: {rest}." if rest else ""
    total = counted(len(frame), "published value")
    return f"{total}, {rerun:,} rerun. Of {counts['judged']:,} counted, {verdicts}.{also}"


def flat_misses(frame: pd.DataFrame) -> int:
    """How many judged values would be missed if the tolerance were 0.005 everywhere."""
    some = judged(frame)
    return int((some["mean"] < some["published"] - LEAST - 1e-12).sum())


def difficulty(frame: pd.DataFrame) -> str:
    """A few sentences on how hard the judged values are to meet; an empty string if there are none."""
    some = judged(frame)
    if some.empty:
        return ""
    good = int((some["status"] != "worse").sum())
    sentences = [f"Of {counted(len(some), 'counted value')}, {good} are met or beaten ({good / len(some):.0%})."]
    for rival in RIVALS:
        verdicts = some[rival].dropna()
        if len(verdicts):
            met = int((verdicts != "worse").sum())
            share = f"{met / len(verdicts):.0%}"
            sentences.append(f"{rival} would meet or beat {met} of {len(verdicts)} in the same cells ({share}).")
    tolerance = np.fmax(some["published_std"], LEAST).median()
    flat = f"with a tolerance of {LEAST} everywhere, {flat_misses(some)} would be missed"
    sentences.append(f"The median tolerance is {tolerance:.4f}; {flat}.")
    variance = (some["std"] ** 2 + some["published_std"] ** 2) / some["runs"]
    errors = (some["difference"].abs() / np.sqrt(variance))[(some["std"] > 0.0) & (some["published_std"] > 0.0)]
    if len(errors):
        sentences.append(f"The median distance from the paper is {errors.median():.1f} standard errors.")
    return " ".join(sentences)
