"""The points of a figure: AUC against epochs, features or seconds, accuracy against imbalance, few labelled rows."""

import copy
import itertools
import operator
import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import StratifiedKFold

from auclid import Kernelized, KMeansNystroem, LeastSquaresAUCCV
from auclid.baselines import scores
from auclid.metrics import roc_auc
from auclid_papers import methods, protocol, rates
from auclid_papers.definitions import Dataset, Experiment, Method, Settings
from auclid_papers.rates import Point


def points(one: Experiment, dataset: Dataset, method: Method, settings: Settings, run: int) -> list[Point]:
    """(x, y) of each point of a method's curve in one run; x is None in a box plot."""
    with warnings.catch_warnings(action="ignore"):
        return SWEEPS[one.sweep["over"]](one.sweep, method.registry_name, dataset.file_name, settings, run)


def _parameter(sweep: Settings, name: str, dataset: str, settings: Settings, run: int) -> list[Point]:
    """Test AUC for each value of a parameter; the others are tuned once."""
    split, chosen = methods.tune(name, dataset, settings, run)
    curve: list[Point] = []
    for value in sweep["values"]:
        params = methods.parameters(settings, chosen) | {sweep["name"]: value}
        ranker, X, X_test, _ = methods.rows_for(methods.build(name, params, run), split)
        curve.append((float(value), roc_auc(split.y_test, scores(clone(ranker).fit(X, split.y), X_test))))
    return curve


def _seconds(sweep: Settings, name: str, dataset: str, settings: Settings, run: int) -> list[Point]:
    """Test AUC against seconds of training, after each batch of a few passes."""
    split, chosen = methods.tune(name, dataset, settings, run)
    model = methods.build(name, methods.parameters(settings, chosen), run)
    warm = partial(clone(model).partial_fit, classes=[False, True])
    methods.warm_up(f"{name}, in batches", warm, split.X, split.y)
    rng, seconds = np.random.default_rng(run), 0.0
    curve: list[Point] = []
    for _ in range(sweep["passes"]):
        for rows in np.array_split(rng.permutation(len(split.y)), sweep["batches"]):
            X, y = split.X[rows], split.y[rows]
            start = perf_counter()
            model.partial_fit(X, y, classes=[False, True])
            seconds += perf_counter() - start
            curve.append((seconds, roc_auc(split.y_test, scores(model, split.X_test))))
    return curve


def _ratio(sweep: Settings, name: str, dataset: str, settings: Settings, run: int) -> list[Point]:
    """Accuracy on the test part, trained with fewer and fewer positives."""
    split, rng = protocol.make_split(dataset, settings, run), np.random.default_rng(run)
    curve: list[Point] = []
    pos, neg = rng.permutation(np.flatnonzero(split.y)), np.flatnonzero(~split.y)
    for ratio in sweep["values"]:
        rows = np.concatenate([pos[: max(2, int(len(neg) / ratio))], neg])
        model = methods.build(name, settings["fixed"], run).fit(split.X[rows], split.y[rows])
        curve.append((float(ratio), float(np.mean(model.predict(split.X_test) == split.y_test))))
    return curve


GAMMAS = tuple(2.0**k for k in range(-3, 4))
LANDMARKS = 200


def choose_gamma(X: Any, y: np.ndarray) -> float:
    """The kernel's gamma by five folds of the labelled rows."""
    folds = min(5, np.bincount(y).min())

    def held_out_auc(gamma: float) -> float:
        Z = Nystroem(gamma=gamma, n_components=len(X), random_state=0).fit_transform(X)
        return LeastSquaresAUCCV(np.logspace(-6, 0, 13), cv=folds).fit(Z, y).cv_auc_.mean(axis=0).max()

    return max(GAMMAS, key=held_out_auc)


def _semi_supervised(name: str, X: Any, y: np.ndarray, settings: Settings, run: int) -> Any:
    """A method that chooses its parameters by itself, with the kernel's width chosen for it, or a fixed one."""
    if settings["fixed"] or name in ("RankBoost", "SSRankBoost"):  # boosted stumps have no kernel
        return methods.build(name, settings["fixed"], run)
    return _with_width(name, {"gamma": choose_gamma(X[y >= 0], y[y >= 0])}, len(y), run)


def _with_width(name: str, params: Settings, n: int, run: int) -> Any:
    """A method with parameters, the width ``gamma`` of its kernel among them, for n rows."""
    if name == "QSG-S2AUC":  # it has random features of its own
        return methods.build(name, params, run)
    own = {key: value for key, value in params.items() if key != "gamma"}
    return Kernelized(_landmarks(params["gamma"], n, run), methods.build(name, own, run))


def _landmarks(gamma: float, n: int, run: int) -> KMeansNystroem:
    return KMeansNystroem(min(LANDMARKS, n), gamma=gamma, random_state=run)


TUNING_ITERATIONS = 50
"""Iterations of QSG-S2AUC while its parameters are chosen."""


def _tuned(name: str, X: Any, y: np.ndarray, settings: Settings, run: int) -> Any:
    """A method with the parameters of a grid that have the best mean AUC over five folds of the labelled rows."""
    labelled = np.flatnonzero(y >= 0)
    splits = StratifiedKFold(5, shuffle=True, random_state=run).split(labelled, y[labelled])
    folds = [(labelled[train], labelled[test]) for train, test in splits]
    held_out_auc = _qsg_auc if name == "QSG-S2AUC" else _closed_form_auc

    def by_width(choice: Settings) -> float:
        return choice["gamma"]

    aucs: list[tuple[float, Settings]] = []
    for _, some in itertools.groupby(sorted(methods.candidates(settings), key=by_width), by_width):
        choices = [settings["fixed"] | choice for choice in some]
        aucs += zip(held_out_auc(name, choices, X, y, folds, run), choices, strict=True)
    chosen = max(aucs, key=operator.itemgetter(0))[1]
    return _with_width(name, chosen, len(y), run)


Folds = list[tuple[np.ndarray, np.ndarray]]


def _qsg_auc(name: str, choices: list[Settings], X: Any, y: np.ndarray, folds: Folds, run: int) -> list[float]:
    """The mean AUC on held-out rows of each choice of parameters, after a few iterations."""

    def mean_auc(choice: Settings) -> float:
        aucs = []
        for _, test in folds:
            kept = np.setdiff1d(np.arange(len(y)), test)
            model = methods.build(name, choice | {"n_iter": TUNING_ITERATIONS}, run).fit(X[kept], y[kept])
            aucs.append(roc_auc(y[test], scores(model, X[test])))
        return float(np.mean(aucs))

    return [mean_auc(choice) for choice in choices]


def _closed_form_auc(name: str, choices: list[Settings], X: Any, y: np.ndarray, folds: Folds, run: int) -> list[float]:
    """The mean AUC on held-out rows of each choice of parameters with one width.

    The landmarks and the moments of unlabelled rows are computed once.
    """
    Z, unlabelled = _landmarks(choices[0]["gamma"], len(y), run).fit_transform(X), y < 0
    model = methods.build(name, {}, run).partial_fit(Z[unlabelled], y[unlabelled], classes=[0, 1])

    def mean_auc(choice: Settings) -> float:
        own = {key: value for key, value in choice.items() if key != "gamma"}
        aucs = []
        for train, test in folds:
            fitted = copy.deepcopy(model).set_params(**own).partial_fit(Z[train], y[train])
            aucs.append(roc_auc(y[test], scores(fitted, Z[test])))
        return float(np.mean(aucs))

    return [mean_auc(choice) for choice in choices]


def _semi(sweep: Settings, name: str, dataset: str, settings: Settings, run: int) -> list[Point]:
    """Test AUC with few labels: one value a run, for a box plot."""
    split = protocol.make_split(dataset, settings, run)
    X, y = protocol.hide_labels(split, sweep["labelled"], sweep["unlabelled"], run)
    if name == "PNU-AUC" and settings["grid"]:  # the paper gives it the true share of positives
        settings = settings | {"fixed": {"prior": float(split.y.mean())}}
    model = (_tuned if settings["grid"] else _semi_supervised)(name, X, y, settings, run).fit(X, y)
    return [(None, roc_auc(split.y_test, scores(model, split.X_test)))]


def _unlabelled(sweep: Settings, name: str, dataset: str, settings: Settings, run: int) -> list[Point]:
    """Processor seconds of a fit, which other work of the machine hardly lengthens, against the unlabelled rows."""
    split = protocol.make_split(dataset, settings, run)
    curve: list[Point] = []
    most = len(split.y) - sweep["labelled"]
    for unlabelled in sorted({min(value, most) for value in sweep["values"]}):
        X, y = protocol.hide_labels(split, sweep["labelled"], unlabelled, run)
        model = _semi_supervised(name, X, y, settings, run)
        if not curve:
            clone(model).fit(X, y)  # compile before timing
        start = process_time()
        model.fit(X, y)
        curve.append((float(unlabelled), process_time() - start))
    return curve


SWEEPS: dict[str, Callable[..., list[Point]]] = {
    "parameter": _parameter,
    "seconds": _seconds,
    "ratio": _ratio,
    "semi": _semi,
    "unlabelled": _unlabelled,
    "steps": rates.steps,
    "iterations": rates.iterations,
    "columns": rates.columns,
}
"""What a figure's x axis may be."""
