"""How an error falls with the number of steps, how a step's time grows with the columns, and the fitted exponents."""

from collections.abc import Callable
from statistics import linear_regression
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from auclid import LeastSquaresAUC, make
from auclid_papers import methods, protocol
from auclid_papers.definitions import Settings

Point = tuple[float | None, float]
Error = Callable[[Any], float]

LAST = 6
"""The points, counted from the last one, that an exponent is fitted to."""

BOUNDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "1/T": lambda x: 1.0 / x,
    "log T / T": lambda x: np.log(x) / x,
    "log T √(log(4T/0.05)) / √T": lambda x: np.log(x) * np.sqrt(np.log(4.0 * x / 0.05)) / np.sqrt(x),
    "d": lambda x: x,
}
"""The bounds that the papers prove, up to a constant."""


def exponent(x: np.ndarray, y: np.ndarray) -> float:
    """The slope of the straight line through the last points on log-log axes.

    Examples
    --------
    >>> from auclid_papers.rates import exponent
    >>> round(exponent([1, 2, 4, 8], [8, 4, 2, 1]), 6)
    -1.0
    """
    return float(linear_regression(np.log(x)[-LAST:], np.log(y)[-LAST:]).slope)


def fitted(points: pd.DataFrame) -> tuple[float, float]:
    """(exponent, standard error) of the mean over runs; the error is that of the mean of the runs' own exponents."""
    by_run = points.pivot(index="x", columns="run", values="y").sort_index()
    each = [exponent(by_run.index, by_run[run]) for run in by_run]
    return exponent(by_run.index, by_run.mean(axis=1)), float(np.std(each, ddof=1) / np.sqrt(len(each)))


# --- the points ------------------------------------------------------------------------------------------------------


def _distance(X: Any, y: np.ndarray, params: Settings) -> Error:
    """The squared distance to the minimiser on all rows."""
    best = LeastSquaresAUC(params["alpha"]).fit(X, y).coef_
    return lambda model: float(np.sum((model.coef_ - best) ** 2))


def _gap(X: Any, y: np.ndarray, params: Settings) -> Error:
    """The duality gap on all rows."""
    return lambda model: model.duality_gap(X, y)


ERRORS = {"distance": _distance, "gap": _gap}


def steps(sweep: Settings, name: str, dataset: str, settings: Settings, run: int) -> list[Point]:
    """The error of one pass over T rows, drawn independently from the training part of run 0, for each T."""
    split, params = protocol.make_split(dataset, settings, 0), settings["fixed"]
    error = ERRORS[sweep["error"]](split.X, split.y, params)
    curve: list[Point] = []
    for most in sweep["values"]:
        rows = np.random.default_rng([run, most]).integers(len(split.y), size=most)
        curve.append((float(most), error(methods.build(name, params, run).fit(split.X[rows], split.y[rows]))))
    return curve


def iterations(sweep: Settings, name: str, dataset: str, settings: Settings, run: int) -> list[Point]:
    """The mean squared difference of QSG-S2AUC's scores after T iterations from those of the exact minimiser.

    The minimiser is SAMULT's on the kernel matrix of the same rows. Scores are centred: no risk depends on a constant.
    """
    split, params = protocol.make_split(dataset, settings, 0), settings["fixed"]
    X, y = protocol.hide_labels(split, sweep["labelled"], sweep["unlabelled"], 0)
    exact = make("SAMULT", **params).fit(X, y).decision_function(X)
    curve: list[Point] = []
    for most in sweep["values"]:
        model = methods.build(name, params | {"n_iter": most}, run).fit(X, y)
        curve.append((float(most), float(np.var(model.decision_function(X) - exact))))
    return curve


PASSES = 100, 400
ROWS = 16
REPEATS = 5


def columns(sweep: Settings, name: str, dataset: str, settings: Settings, run: int) -> list[Point]:
    """Processor seconds of a step on dense rows, for each number of columns, the least of some fits.

    The rows are few, so that they stay in the processor's cache, and have the columns that are most often not zero.
    Fits of more and of fewer passes are compared, so that what a fit costs besides its steps does not count.
    """
    split = protocol.make_split(dataset, settings, run)
    few = np.concatenate([np.flatnonzero(split.y)[: ROWS // 2], np.flatnonzero(~split.y)[: ROWS // 2]])
    often = np.argsort(-np.diff(sparse.csc_matrix(split.X).indptr), kind="stable")
    curve: list[Point] = []
    for width in sweep["values"]:
        X, y = split.X[few][:, often[:width]].toarray(), split.y[few]

        def seconds(passes: int, X: np.ndarray = X, y: np.ndarray = y) -> float:
            model = methods.build(name, settings["fixed"] | {"n_epochs": passes}, run)
            start = process_time()
            model.fit(X, y)
            return process_time() - start

        seconds(1)  # compile before timing
        fewer, more = (min(seconds(passes) for _ in range(REPEATS)) for passes in PASSES)
        curve.append((float(width), max(more - fewer, 1e-9) / (ROWS * (PASSES[1] - PASSES[0]))))
    return curve
