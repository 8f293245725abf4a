"""Cells rerun with other settings, such as the printed ranges: the comparison, and what a beaten value comes from."""

import itertools
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from auclid_papers.comparison import MARKS, published, statistics, verdict
from auclid_papers.definitions import Experiment, experiments, grid_values
from auclid_papers.intervals import standard_error
from auclid_papers.markdown import TEXTS, Notes, bullets, counted, heading, signed, spread, table
from auclid_papers.methods import has_published_form

SCALED = "-scaled"
"""The end of the id of a variant that changes the scaling only."""

CAUSES = TEXTS["cause"]
"""What a beaten value may come from."""

WIDTH = "gamma"
"""The parameter of which papers list a few values: within a factor of 2 is as printed."""


def variants(name: str) -> list[Experiment]:
    """The experiments that rerun cells of a table with other settings."""
    return [one for one in experiments().values() if name in one.beside]


def causes(frame: pd.DataFrame, results: pd.DataFrame) -> pd.Series:
    """What each beaten value of a `summary` comes from: one of `CAUSES`; an empty string for the others."""
    means = statistics(results)["mean"].to_dict()
    chosen = results.groupby(["experiment", "dataset", "method"])["chosen"].agg(list).to_dict()
    found = {f.Index: _cause(f, means, chosen) for f in frame[frame["status"] == "better"].itertuples()}
    return pd.Series(found, dtype=object).reindex(frame.index).fillna("")


def _cause(f: Any, means: dict[tuple, float], chosen: dict[tuple, list[dict]]) -> str:
    if not f.same_data:
        return "data"
    verdicts: dict[bool, list[str]] = {True: [], False: []}
    printed: dict[str, list[float]] = {}
    for one in variants(f.experiment):
        mean = means.get((one.id, f.dataset, f.ours, f.metric), np.nan)
        if _has_task_of(one, f) and not np.isnan(mean):
            verdicts[one.id.endswith(SCALED)].append(verdict(mean, f.published, f.published_std))
            printed |= _printed_values(one, f)
    if not verdicts[True] and not verdicts[False]:
        return "not rerun"
    if "better" in verdicts[False]:
        return "scaling" if verdicts[True] and "better" not in verdicts[True] else "method"
    mine = chosen.get((f.experiment, f.dataset, f.ours), [])
    outside = np.mean([is_outside(choice, printed) for choice in mine]) > 0.5
    rescaled = np.mean([choice.get("scale", "columns") != "columns" for choice in mine]) > 0.5
    return " or ".join(["range"] * bool(outside) + ["scaling"] * bool(rescaled)) or "method"


def _has_task_of(one: Experiment, f: Any) -> bool:
    """Whether an experiment has the dataset of a value with the same positive class."""
    tasks = [d.settings["positive"] for d in one.datasets if d.published == f.dataset]
    return tasks == [experiments()[f.experiment].dataset(f.dataset).settings["positive"]]


def _printed_values(one: Experiment, f: Any) -> dict[str, list[float]]:
    """The numbers of an experiment's grids, except for those that depend on the norm of the rows."""
    grid = one.settings(one.dataset(f.dataset), one.method(f.ours))["grid"]
    values = {name: grid_values(text) for name, text in grid.items() if "length" not in text}
    return {name: some for name, some in values.items() if not isinstance(some[0], str)}


def is_outside(chosen: dict[str, Any], printed: dict[str, list[float]]) -> bool:
    """Whether a chosen parameter is outside the printed range; a width that is not chosen has our default, which is."""
    for name, values in printed.items():
        value = chosen.get(name)
        if name == WIDTH:
            if value is None or not any(0.5 <= value / width <= 2.0 for width in values):
                return True
        elif value is not None and not 0.99 * min(values) <= value <= 1.01 * max(values):
            return True
    return False


def causes_section(frame: pd.DataFrame) -> list[str]:
    """The section on what beaten values come from; no section if none are beaten."""
    counts = frame.loc[frame["cause"] != "", "cause"].value_counts()
    if counts.empty:
        return []
    total = counts.sum()
    items = [f"{cause}: {counts[cause]} of {total}; {words}." for cause, words in CAUSES.items() if cause in counts]
    return [heading("What beaten values come from"), TEXTS["causes"], bullets(items)]


def causes_sentence(frame: pd.DataFrame) -> str:
    """One sentence on what beaten values come from; an empty string if none are beaten."""
    counts = {cause: int((frame["cause"] == cause).sum()) for cause in CAUSES}
    if not any(counts.values()):
        return ""
    tuning = counts["range"] + counts["scaling"] + counts["range or scaling"]
    waiting = f", {counts['not rerun']} are not rerun yet" if counts["not rerun"] else ""
    return (
        f"Of {sum(counts.values())} beaten, {counts['method']} come from the method, {tuning} from a range or scaling "
        f"that the paper does not print, {counts['data']} from other data{waiting}."
    )


# --- the comparison of two settings ----------------------------------------------------------------------------------

DEFAULTS, PUBLISHED = "our defaults", "as published"


def paired_runs(one: Experiment, results: pd.DataFrame) -> pd.DataFrame:
    """The AUC of the runs that a variant and its table both have: dataset, method, run, auc, auc_default."""
    mine, default = (results[results["experiment"] == name] for name in (one.id, one.beside[0]))
    columns = ["dataset", "method", "run", "auc"]
    return mine[columns].merge(default[columns], on=columns[:3], suffixes=("", "_default"))


def published_tally(results: pd.DataFrame) -> dict[str, Counter]:
    """The cells that were rerun as published, and those of them that are met or beaten, by paper."""
    found: dict[str, Counter] = {}
    for one in experiments().values():
        runs = paired_runs(one, results) if one.beside and one.form == PUBLISHED else pd.DataFrame()
        if len(runs):
            verdicts = _cells(one, runs)["mean_verdict"]
            found.setdefault(one.paper, Counter()).update(cells=len(verdicts), met=int((verdicts != "worse").sum()))
    return found


class OwnForm(NamedTuple):
    """A cell of a paper's table that has our form of a method, where the paper prints another one."""

    method: str
    dataset: str
    rerun: bool  # whether it was also run in the form that the paper prints


def own_forms(one: Experiment, results: pd.DataFrame) -> list[OwnForm]:
    """The cells of a paper's table in which our form of a method is not the printed one."""
    run = set(results[["experiment", "dataset", "method"]].itertuples(index=False, name=None))
    reruns = [other for other in variants(one.id) if other.form == PUBLISHED]
    found = []
    for method, dataset in itertools.product(filter(lambda m: m.published, one.methods), one.datasets):
        cell = dataset.published, method.name
        if (one.id, *cell) in run and not has_published_form(method.registry_name, one.settings(dataset, method)):
            rerun = any((other.id, *cell) in run for other in reruns)
            found.append(OwnForm(method.name, dataset.published, rerun))
    return found


def only_our_form(one: Experiment, results: pd.DataFrame) -> str:
    """A sentence on the cells of a table that were not run in the printed form; empty if all were."""
    waiting: dict[str, list[str]] = {}
    for cell in own_forms(one, results):
        if not cell.rerun:
            waiting.setdefault(cell.method, []).append(cell.dataset)
    parts = [f"{method} on {', '.join(datasets)}" for method, datasets in waiting.items()]
    return f"Not run in the form that the paper prints: {'; '.join(parts)}." if parts else ""


def section(one: Experiment, results: pd.DataFrame) -> list[str]:
    """The section of a variant: its cells beside those of its table; no section if it has no runs."""
    runs = paired_runs(one, results)
    if runs.empty:
        return []
    notes, rows, cells = Notes(), [], _cells(one, runs)
    for method in one.methods:
        mine = cells[cells["method"] == method.name]
        for cell in mine.itertuples():
            mark = notes.mark(" ".join(one.cell_notes(one.dataset(cell.dataset), method.name)))
            rows.append(_row(cell, mark))
        if len(mine) > 1:
            rows.append(_mean_row(mine))
    number = experiments()[one.beside[0]].covers[0][0]
    heads = [f"table {number}: AUC", one.form, DEFAULTS, "difference", "paper", f"{one.form} minus paper"]
    facts = [f"Published: {one.full}", f"Here: {one.reduced}", _gain_sentences(one.form, cells)]
    body = table(pd.DataFrame(rows, columns=heads))
    return [heading(one.title), *facts, TEXTS["variant_legend"].format(form=one.form), body, *notes.blocks()]


def _cells(one: Experiment, runs: pd.DataFrame) -> pd.DataFrame:
    """Statistics of each method on each dataset, in the order of the definition, with the paper's value."""
    base = experiments()[one.beside[0]]
    runs = runs.assign(difference=runs["auc_default"] - runs["auc"])
    stats = runs.groupby(["method", "dataset"]).agg(
        mean=("auc", "mean"), std=("auc", "std"), default=("auc_default", "mean"), default_std=("auc_default", "std"),
        difference=("difference", "mean"), error=("difference", standard_error), n=("run", "count"),
    )  # fmt: skip
    papers = published().query("paper == @base.paper and table == @base.covers[0][0] and metric == 'auc'")
    papers = papers.set_index(["method", "dataset"])[["published", "published_std"]]
    order = [(m.name, d.published) for m in one.methods for d in one.datasets if (m.name, d.published) in stats.index]
    cells = stats.loc[order].reset_index()
    printed = [(base.method(cell.method).published, cell.dataset) for cell in cells.itertuples()]
    cells[["published", "published_std"]] = papers.loc[printed].to_numpy()
    for name in ("mean", "default"):
        values = zip(cells[name], cells["published"], cells["published_std"], strict=True)
        cells[f"{name}_verdict"] = [verdict(*value) for value in values]
    return cells


def _row(cell: Any, mark: str) -> tuple[str, ...]:
    return (
        f"{cell.method}, {cell.dataset}\n{counted(cell.n, 'run')}",
        spread(cell.mean, cell.std),
        spread(cell.default, cell.default_std),
        _difference(cell.difference, cell.error),
        spread(cell.published, cell.published_std),
        f"{signed(cell.mean - cell.published)} {MARKS[cell.mean_verdict]}{mark}",
    )


def _mean_row(cells: pd.DataFrame) -> tuple[str, ...]:
    """The mean of a method over datasets."""
    differences = cells["default"] - cells["mean"]
    return (
        f"{cells['method'].iloc[0]}, mean of {len(cells)}",
        spread(cells["mean"].mean()),
        spread(cells["default"].mean()),
        _difference(differences.mean(), standard_error(differences, overlap=0.0)),
        "",
        "",
    )


def _difference(mean: float, error: float) -> str:
    return signed(mean) if np.isnan(error) else f"{signed(mean)} ± {error:.4f}"


def _gain_sentences(form: str, cells: pd.DataFrame) -> str:
    """How much our defaults gain over the cells of a variant."""
    met, default = (int((cells[f"{name}_verdict"] != "worse").sum()) for name in ("mean", "default"))
    gains = cells["difference"]
    ends = f", from {signed(gains.min())} to {signed(gains.max())}" if len(gains) > 1 else ""
    return (
        f"Met or beaten, {form}: {met} of {counted(len(cells), 'cell')}; our defaults on the same runs: {default}. "
        f"Median difference, our defaults minus {form}: {signed(gains.median())}{ends}."
    )
