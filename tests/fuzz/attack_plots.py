"""Attacks on plots: a picture, or one clear sentence; the axis given is the axis returned."""

import inspect
from typing import Any

import numpy as np

import auclid
from attack_metrics import scores, truths
from auclid import plot
from hostile import EXTREMES, Found, attempt, pick

FUNCTIONS = [getattr(plot, name) for name in plot.__all__]

_cards: list[Any] = []


def card() -> Any:
    """A fitted scorecard with gaps and a category."""
    if not _cards:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(80, 3))
        X[:, 2] = rng.integers(4, size=80)
        X[:5, 0] = np.nan
        y = np.arange(80) % 2
        _cards.append(auclid.Scorecard(n_knots=4, categories=[2], interactions=1, random_state=0).fit(X, y))
    return _cards[0]


def plot_case(rng: np.random.Generator) -> None:
    """One plot of hostile arrays, with one hostile keyword now and then, drawn to the end."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    function = pick(rng, FUNCTIONS)
    n = int(pick(rng, [0, 1, 2, 3, 30, 300]))
    parameters = inspect.signature(function).parameters
    if function is plot.shapes:
        given: dict[str, Any] = {"model": pick(rng, [card(), card(), None, auclid.SPAM(), card().shapes_, [], 3])}
        given["columns"] = pick(rng, [None, 0, [0, 1], ["x0"], ["nobody"], [], [99], "x0", -1])
    else:
        y, s = truths(rng, n), scores(rng, n)
        several = {"a": s, "\x1b[31m$\\frac{": scores(rng, n)}
        no_result = pick(rng, [[], None, 3, s, {"a": s}])
        arguments = {
            "y_true": y, "y": y, "s": s, "y_score": pick(rng, [s, s, several, {}, {"a": s}, {3: s}]),
            "event": truths(rng, n), "groups": truths(rng, n), "time": scores(rng, n), "points": no_result,
            "ranks": no_result, "results": no_result,
        }  # fmt: skip
        needed = [name for name, p in parameters.items() if p.kind is not p.KEYWORD_ONLY and p.default is p.empty]
        given = {name: arguments[name] for name in needed}
        optional = [name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY and name != "ax"]
        if optional and rng.random() < 0.5:
            odd = [0.0, 1.0, 0.5, -1.0, 2.0, np.nan, "x", None, 3, 10**9, rng.random(n), -rng.random(n), *EXTREMES]
            given[pick(rng, optional)] = pick(rng, odd)
    figure, ax = plt.subplots(figsize=(2, 2))
    try:
        drawn = attempt(f"plot.{function.__name__}", lambda: function(**given, ax=ax))
        if drawn is not None:
            attempt(f"drawing of plot.{function.__name__}", figure.canvas.draw)
            if function is not plot.shapes and drawn is not ax:
                raise Found("another axis", function.__name__)
    finally:
        plt.close("all")
