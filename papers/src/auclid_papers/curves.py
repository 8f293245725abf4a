"""The points of a figure: AUC against epochs, features or seconds, accuracy against imbalance, few labelled rows."""

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem

from auclid import kernels
from auclid.baselines import scores
from auclid.metrics import roc_auc
from auclid.square import LeastSquaresAUCCV
from auclid_papers import methods, protocol
from auclid_papers.definitions import Dataset, Experiment, Method, Settings

Point = tuple[float | None, float]


def points(one: Experiment, dataset: Dataset, method: Method, how: Settings, run: int) -> list[Point]:
    """(x, y) of each point of a method's curve in one run; x is None in a box plot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SWEEPS[one.sweep["over"]](one.sweep, method.built, dataset.known_name, how, run)


def _parameter(sweep: Settings, name: str, dataset: str, how: Settings, run: int) -> list[Point]:
    """Test AUC for each value of a parameter, the others tuned once."""
    parts, chosen = methods.tuned(name, dataset, how, run)
    found: list[Point] = []
    for value in sweep["values"]:
        params = methods.parameters(how, chosen) | {sweep["name"]: value}
        ranker, X, X_test, _ = methods.rows_for(methods.build(name, params, run), parts)
        found.append((float(value), roc_auc(parts.y_test, scores(clone(ranker).fit(X, parts.y), X_test))))
    return found


def _seconds(sweep: Settings, name: str, dataset: str, how: Settings, run: int) -> list[Point]:
    """Test AUC against seconds of training, after each batch of a few passes."""
    parts, chosen = methods.tuned(name, dataset, how, run)
    model = methods.build(name, methods.parameters(how, chosen), run)
    methods.warm_up(f"{name}, in batches", _Stream(model), parts.X, parts.y)
    rng, spent = np.random.default_rng(run), 0.0
    found: list[Point] = []
    for _ in range(sweep["passes"]):
        for rows in np.array_split(rng.permutation(len(parts.y)), sweep["batches"]):
            X, y = parts.X[rows], parts.y[rows]
            start = perf_counter()
            model.partial_fit(X, y, classes=[False, True])
            spent += perf_counter() - start
            found.append((spent, roc_auc(parts.y_test, scores(model, parts.X_test))))
    return found


class _Stream:
    """Lets `warm_up` compile what partial_fit needs."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: np.ndarray) -> Any:
        return clone(self.model).partial_fit(X, y, classes=[False, True])

    def __sklearn_clone__(self) -> "_Stream":
        return self


def _ratio(sweep: Settings, name: str, dataset: str, how: Settings, run: int) -> list[Point]:
    """Accuracy of predictions on the test part, trained with ever fewer positives."""
    parts, rng = protocol.parts(dataset, how, run), np.random.default_rng(run)
    found: list[Point] = []
    pos, neg = rng.permutation(np.flatnonzero(parts.y)), np.flatnonzero(~parts.y)
    for ratio in sweep["values"]:
        rows = np.concatenate([pos[: max(2, int(len(neg) / ratio))], neg])
        model = methods.build(name, how["fixed"], run).fit(parts.X[rows], parts.y[rows])
        found.append((float(ratio), float(np.mean(model.predict(parts.X_test) == parts.y_test))))
    return found


# --- few labelled rows, many unlabelled ones ------------------------------------------------------------------------

WIDTHS = tuple(2.0**k for k in range(-3, 4))
LANDMARKS = 200


def _few_labels(parts: protocol.Parts, labelled: int, unlabelled: int, run: int) -> tuple[Any, np.ndarray]:
    """Rows with most labels hidden (-1)."""
    order = np.random.default_rng(run).permutation(len(parts.y))
    pos, neg = order[parts.y[order]], order[~parts.y[order]]
    if min(len(pos), len(neg), labelled // 2) < 2:
        got = f"{len(pos)} positives, {len(neg)} negatives and {labelled} labels"
        raise ValueError(f"Few labels expect two rows of each class at least, all labelled; got {got}.")
    first = np.isin(order, np.concatenate([pos[:2], neg[:2]]))  # these are labelled, the others as they come
    order = np.concatenate([order[first], order[~first]])[: labelled + unlabelled]
    return parts.X[order], np.where(np.arange(len(order)) < labelled, parts.y[order].astype(int), -1)


def width(X: Any, y: np.ndarray) -> float:
    """The kernel's gamma, by five folds of the labelled rows."""
    folds = min(5, np.bincount(y).min())

    def held_out(gamma: float) -> float:
        Z = Nystroem(gamma=gamma, n_components=len(X), random_state=0).fit_transform(X)
        return LeastSquaresAUCCV(np.logspace(-6, 0, 13), cv=folds).fit(Z, y).cv_auc_.mean(axis=0).max()

    return max(WIDTHS, key=held_out)


def _semi_model(name: str, X: Any, y: np.ndarray, run: int) -> Any:
    """The method with the kernel's width chosen: closed forms on landmarks of all rows, QSG on its own waves.

    Stumps have no kernel.
    """
    if name in ("RankBoost", "SSRankBoost"):
        return methods.build(name, {}, run)
    gamma = width(X[y >= 0], y[y >= 0])
    if name == "QSG-S2AUC":
        return methods.build(name, {"gamma": gamma}, run)
    landmarks = min(LANDMARKS, len(y))
    return kernels.Kernelized(
        kernels.KMeansNystroem(landmarks, gamma=gamma, random_state=run), methods.build(name, {}, run)
    )


def _semi(sweep: Settings, name: str, dataset: str, how: Settings, run: int) -> list[Point]:
    """Test AUC, once a run: a box plot is made of many."""
    parts = protocol.parts(dataset, how, run)
    X, y = _few_labels(parts, sweep["labelled"], sweep["unlabelled"], run)
    model = _semi_model(name, X, y, run).fit(X, y)
    return [(None, roc_auc(parts.y_test, scores(model, parts.X_test)))]


def _unlabelled(sweep: Settings, name: str, dataset: str, how: Settings, run: int) -> list[Point]:
    """Seconds of a fit against the number of unlabelled rows."""
    parts = protocol.parts(dataset, how, run)
    found: list[Point] = []
    most = len(parts.y) - sweep["labelled"]
    for unlabelled in sorted({min(value, most) for value in sweep["values"]}):
        X, y = _few_labels(parts, sweep["labelled"], unlabelled, run)
        model = _semi_model(name, X, y, run)
        if not found:
            clone(model).fit(X, y)  # compiles what the clock must not see
        start = perf_counter()
        model.fit(X, y)
        found.append((float(unlabelled), perf_counter() - start))
    return found


SWEEPS: dict[str, Callable[..., list[Point]]] = {
    "parameter": _parameter,
    "seconds": _seconds,
    "ratio": _ratio,
    "semi": _semi,
    "unlabelled": _unlabelled,
}
