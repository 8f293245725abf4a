"""Figures of our runs, drawn with matplotlib: mean curves with their standard deviation, and box plots."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from auclid.io import replacing
from auclid_papers.definitions import Experiment
from auclid_papers.rates import BOUNDS, LAST

STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "auclid", "font.size": 9.0, "axes.grid": True, "grid.alpha": 0.3}
"""Text stays text in the SVG files, and the same data gives the same file."""

LOG_DECADES = 1.5
"""An axis is logarithmic if its values span more powers of ten than this."""


def draw(one: Experiment, rows: pd.DataFrame) -> dict[str, Figure]:
    """A figure for each dataset of an experiment; ``rows`` has the columns dataset, method, run, x and y."""
    drawn = {}
    for dataset in one.datasets:
        some = rows[(rows["dataset"] == dataset.published) & rows["y"].notna()]
        groups = {m.name: some[some["method"] == m.name] for m in one.methods}
        groups = {name: mine for name, mine in groups.items() if len(mine)}
        if groups:
            with matplotlib.rc_context(STYLE):
                figure = Figure(figsize=(4.8, 4.0), layout="constrained")
                labels = {f"{axis}label": one.figure.get(axis, "") for axis in "xy"}
                axes = figure.add_subplot(title=dataset.published, **labels)
                {"curve": curves, "box": boxes}[one.kind](axes, groups)
                if "bound" in one.figure:
                    slope_of(axes, one.figure["bound"])
                if one.kind == "curve":
                    figure.legend(loc="outside lower center", ncols=3)
            drawn[dataset.published] = figure
    return drawn


def save(figure: Figure, path: Path, title: str) -> None:
    """Write a figure as SVG, without a date."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE), replacing(path, "w") as file:
        figure.savefig(file, format="svg", metadata={"Title": title, "Date": None, "Creator": None})


def mean_curve(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean over runs of x and y, and the standard deviation of y, point by point; as far as every run goes."""
    ordered = rows.sort_values("x", kind="stable")
    ordered = ordered.assign(point=ordered.groupby("run").cumcount())
    common = ordered[ordered["point"] < ordered.groupby("run").size().min()]
    return common.groupby("point").agg(x=("x", "mean"), y=("y", "mean"), std=("y", "std")).fillna(0.0)


def curves(axes: Any, groups: dict[str, pd.DataFrame]) -> None:
    """A line for each method: the mean of its runs, in a band of one standard deviation, above zero."""
    means = {name: mean_curve(rows) for name, rows in groups.items()}
    for name, curve in means.items():
        (line,) = axes.plot(curve["x"], curve["y"], label=name, gid=f"curve {name}")
        low = np.maximum(curve["y"] - curve["std"], curve["y"] / 10.0)
        axes.fill_between(curve["x"], low, curve["y"] + curve["std"], color=line.get_color(), alpha=0.15, linewidth=0)
    for axis, scale in (("x", axes.set_xscale), ("y", axes.set_yscale)):
        if _is_wide(pd.concat([curve[axis] for curve in means.values()])):
            scale("log")


def slope_of(axes: Any, bound: str) -> None:
    """A dashed line in proportion to a bound, from the first of the points that the first curve's exponent is of."""
    axes.set(xscale="log", yscale="log")
    x, y = (values[-LAST:] for values in axes.lines[0].get_data())
    axes.plot(x, y[0] * BOUNDS[bound](x) / BOUNDS[bound](x[0]), "--", color="0.4", label=f"in proportion to {bound}")


def boxes(axes: Any, groups: dict[str, pd.DataFrame]) -> None:
    """A box for each method: median, quartiles, and whiskers to the last points within 1.5 box lengths."""
    values = [rows["y"].to_numpy() for rows in groups.values()]
    for name, box in zip(groups, axes.boxplot(values)["boxes"], strict=True):
        box.set_gid(f"box {name}")
    axes.set_xticks(np.arange(1, len(values) + 1), list(groups), rotation=45, ha="right", rotation_mode="anchor")
    if _is_wide(np.concatenate(values)):
        axes.set_yscale("log")


def _is_wide(values: Any) -> bool:
    return bool(values.min() > 0.0 and np.log10(values.max() / values.min()) > LOG_DECADES)
