"""The page "Does it pay?": the papers' methods beside partial AUC, scorecards and AUCClassifier."""

import pandas as pd

from auclid_papers.definitions import experiments
from auclid_papers.markdown import TEXTS, bullets, counted, heading, table
from auclid_papers.methods import MAX_FPR
from auclid_papers.overview import OTHER_PAGES
from auclid_papers.pairwise import LOGISTIC, TREES, Comparison, Measure, complete_runs

METRICS = {"auc": "AUC", "partial_auc": f"AUC up to FPR {MAX_FPR}"}

CLAIMS = (
    ("AUCClassifier", TREES, "auc"),
    ("Scorecard", LOGISTIC, "auc"),
    ("RankSVM up to FPR 0.1", LOGISTIC, "partial_auc"),
)
"""Method, baseline and metric of each comparison in the summary."""


def _runs(results: pd.DataFrame) -> pd.DataFrame:
    return complete_runs(results[results["experiment"] == "pays"])


def page(results: pd.DataFrame) -> tuple[str, list[str]]:
    """The page: title and blocks."""
    one, runs, title = experiments()["pays"], _runs(results), OTHER_PAGES["pays"]
    if runs.empty:
        return title, [one.title, heading("Not run yet"), TEXTS["lessons"]["no_runs"]]
    means = runs.groupby(["method", "dataset"])[list(METRICS)].mean()
    blocks = [one.title, f"Here: {one.reduced}", heading("Summary"), bullets(filter(None, [sentence(results)]))]
    for metric in METRICS:
        blocks += _section(metric, runs, means[metric].unstack("dataset"))
    return title, [*blocks, *_each_dataset(means)]


def sentence(results: pd.DataFrame) -> str:
    """The answer in one sentence; an empty string without runs."""
    runs = _runs(results)
    if runs.empty:
        return ""
    found = {metric: Comparison(runs, Measure(metric)) for metric in METRICS}
    parts = [
        f"in {METRICS[metric]} against {rival}, {found[metric].listed([name], rival)}"
        for name, rival, metric in CLAIMS
        if (name, rival) in found[metric]
    ]
    return f"What the papers did not have, with default parameters and few rows: {'; '.join(parts)}." if parts else ""


def _section(metric: str, runs: pd.DataFrame, means: pd.DataFrame) -> list[str]:
    """The methods compared by one metric; ``means`` has a row per method and a column per dataset."""
    names = [m.name for m in experiments()["pays"].methods if m.name in means.index]
    common = means.loc[names].dropna(axis=1)
    wins, found = common.idxmax().value_counts(), Comparison(runs, Measure(metric))
    seconds = runs.groupby("method")["fit_seconds"].median()
    rows = []
    for name in names:
        best = f"{wins.get(name, 0)} of {common.shape[1]}"
        gaps = [found.lines(name, rival) for rival in (LOGISTIC, TREES)]
        rows.append([name, f"{common.loc[name].mean():.4f}", *gaps, best, f"{seconds[name]:.2g}"])
    heads = ["method", "mean", f"against {LOGISTIC}", f"against {TREES}", "best on", "seconds of a fit (median)"]
    title = f"{METRICS[metric]}, {counted(common.shape[1], 'dataset')}"
    return [heading(title), TEXTS["pays"]["legend"], table(pd.DataFrame(rows, columns=heads))]


def _each_dataset(means: pd.DataFrame) -> list[str]:
    """Both metrics of every method on every dataset."""
    one = experiments()["pays"]
    text = means.apply(lambda row: "\n".join(f"{value:.4f}" for value in row), axis=1).unstack("method")
    kept = [d for d in one.datasets if d.published in text.index]
    body = text.reindex(index=[d.published for d in kept], columns=[m.name for m in one.methods]).fillna("")
    body.insert(0, "data", [f"{d.published}\n{d.task}" for d in kept])
    legend = f"A cell shows {' above '.join(METRICS.values())}, each the mean over runs."
    return [heading("Dataset by dataset"), legend, table(body)]
