"""Methods of the registry and honest baselines: made, tuned on training rows, fitted with a clock, scored."""

import itertools
import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from auclid import baselines
from auclid._random import set_random_state
from auclid.auto import AUCClassifier
from auclid.baselines import scores
from auclid.experiments import protocol
from auclid.experiments.definitions import Settings, thinned, values
from auclid.experiments.record import Row
from auclid.kernels import Kernelized
from auclid.metrics import operating_point, partial_auc, roc_auc
from auclid.registry import algorithms, make

BASELINES: dict[str, Callable[..., Any]] = {
    "LogisticRegression": baselines.logistic,
    "RidgeClassifier": baselines.ridge,
    "LinearSVC": baselines.linear_svc,
    "LightGBM": partial(baselines.lightgbm, n_jobs=1),
}
"""What the papers left out, and the plain machine of figure 1.2."""

FRONT: dict[str, Callable[..., Any]] = {"AUCClassifier": AUCClassifier}
"""What is ours and has no name in the registry."""

TOP = 0.1
"""The false positive rate up to which a partial area is taken."""


def known() -> set[str]:
    """Every name a TOML file may give."""
    return {method.name for method in algorithms()} | set(BASELINES) | set(FRONT)


def available(name: str) -> bool:
    """Whether a method can run here: LightGBM may be absent."""
    return name != "LightGBM" or baselines.has_lightgbm()


def build(name: str, params: Settings, seed: int) -> Any:
    """A method with its parameters, every random_state set."""
    known = BASELINES | FRONT
    model = known[name](**params) if name in known else make(name, **params)
    return set_random_state(model, seed)


# --- kernel methods: one feature map a run serves every method that asks for the same one --------------------------


_last: dict = {}
"""The rows that the last feature map gave, by what tells it from others."""


def _embedded(feature_map: Any, parts: protocol.Parts) -> tuple[np.ndarray, np.ndarray, float]:
    """(training rows, test rows, seconds) of a feature map fitted to a run's training rows."""
    key = (repr(sorted(feature_map.get_params().items())), parts.key)
    if key not in _last:
        _last.clear()
        X = _narrow(parts.X)
        clone(feature_map).set_params(n_components=2).fit(X[:200]).transform(X[:200])  # compiles what is to be compiled
        start = perf_counter()
        Z = feature_map.fit(X).transform(X)
        seconds = perf_counter() - start
        _last[key] = Z, feature_map.transform(_narrow(parts.X_test)), seconds
    return _last[key]


def _narrow(X: Any) -> Any:
    """Rows as they are embedded: many of them in float32."""
    return X.astype(np.float32) if X.shape[0] > 1000 else X


def rows_for(model: Any, parts: protocol.Parts) -> tuple[Any, Any, Any, float]:
    """(ranker, X, X_test, seconds): the rows a method learns from, embedded where it is a kernel method."""
    if not isinstance(model, Kernelized):
        return model, parts.X, parts.X_test, 0.0
    Z, Z_test, seconds = _embedded(clone(model.feature_map), parts)
    return model.ranker, Z, Z_test, seconds


# --- one cell ------------------------------------------------------------------------------------------------------


def candidates(how: Settings, length: float = 1.0) -> list[Settings]:
    """Every choice of a protocol's grid for rows of a length, as dictionaries."""
    grid = {name: thinned(values(said, length), how.get("grid_size")) for name, said in how["grid"].items()}
    return [dict(zip(grid, choice, strict=True)) for choice in itertools.product(*grid.values())]


def scales(how: Settings) -> list[str]:
    """The scalings to choose from, one in most protocols."""
    return how["scale"] if isinstance(how["scale"], list) else [how["scale"]]


def tuned(name: str, dataset: str, how: Settings, run: int) -> tuple[protocol.Parts, Settings]:
    """(rows, parameters) with the best mean AUC over inner folds of the training part, and nothing else.

    The rows are scaled in the chosen way; ``parameters`` name it where there was a choice.
    """
    means: list[float] = []
    choices: list[tuple[str, Settings]] = []
    for scale in scales(how):
        parts = protocol.parts(dataset, how | {"scale": scale}, run)
        told = {"scale": scale} if len(scales(how)) > 1 else {}
        found = [told | choice for choice in candidates(how, protocol.length(parts.X))]
        choices += [(scale, choice) for choice in found]
        if len(scales(how)) * len(found) > 1:
            means += _held_out_means(name, parts, found, how, run)
    scale, chosen = choices[int(np.argmax(means))] if means else choices[0]
    return protocol.parts(dataset, how | {"scale": scale}, run), chosen


def parameters(how: Settings, chosen: Settings) -> Settings:
    """What a method is built with: what is fixed and what was chosen."""
    return how["fixed"] | {name: value for name, value in chosen.items() if name != "scale"}


def _held_out_means(name: str, parts: protocol.Parts, choices: list[Settings], how: Settings, run: int) -> list[float]:
    """The mean AUC of each choice over inner folds of a run's training part."""
    rows, folds = protocol.inner(parts.y, how, run)
    y = parts.y[rows]
    maps: dict[str, np.ndarray] = {}

    def embedded(feature_map: Any) -> np.ndarray:
        """The rows by a map of their own, where the map itself or the scaling is tuned."""
        key = repr(sorted(feature_map.get_params().items()))
        if key not in maps:
            maps.clear()
            maps[key] = clone(feature_map).fit_transform(_narrow(parts.X[rows]))
        return maps[key]

    def mean(choice: Settings) -> float:
        model = build(name, parameters(how, choice), run)
        if isinstance(model, Kernelized) and set(choice) & {"scale", *model.feature_map.get_params()}:
            ranker, X = model.ranker, embedded(model.feature_map)
        else:
            ranker, X, _, _ = rows_for(model, parts)
            X = X[rows]
        return float(np.mean([_held_out(ranker, X, y, *fold) for fold in folds]))

    return [mean(choice) for choice in choices]


def _held_out(model: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    try:
        return roc_auc(y[test], scores(clone(model).fit(X[train], y[train]), X[test]))
    except (ValueError, FloatingPointError, ArithmeticError):  # a choice that overflows is a bad one
        return 0.0


_warm: set = set()
"""Methods that were compiled in this process, for each kind of rows."""


def warm_up(name: str, model: Any, X: Any, y: np.ndarray) -> None:
    """Compile what a fit needs, on a few rows and once, so that no clock sees it."""
    kind = (name, type(X), X.dtype)
    if kind in _warm:
        return
    few = np.concatenate([np.flatnonzero(y)[:20], np.flatnonzero(~y)[:40]])
    clone(model).fit(X[few], y[few])
    _warm.add(kind)


def cell(name: str, dataset: str, how: Settings, run: int) -> Row:
    """One row of the record: AUC, accuracy at OPTROC, seconds of the final fit, and the parameters chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts, chosen = tuned(name, dataset, how, run)
        ranker, X, X_test, embedding = rows_for(build(name, parameters(how, chosen), run), parts)
        warm_up(name, ranker, X, parts.y)
        model = clone(ranker)
        start = perf_counter()
        model.fit(X, parts.y)
        seconds = perf_counter() - start + embedding
        found = scores(model, X_test)
        return {
            "auc": roc_auc(parts.y_test, found),
            "partial_auc": partial_auc(parts.y_test, found, max_fpr=TOP),
            "accuracy_at_optroc": accuracy_at_optroc(parts.y_test, found),
            "fit_seconds": seconds,
            "chosen": chosen,
        }


def accuracy_at_optroc(y: np.ndarray, found: np.ndarray) -> float:
    """Accuracy at the best point of the ROC curve for it (MATLAB's OPTROC at equal costs).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.experiments.methods import accuracy_at_optroc
    >>> float(accuracy_at_optroc(np.array([False, False, False, True]), np.array([1.0, 2.0, 4.0, 3.0])))
    0.75
    """
    point, share = operating_point(y, found, criterion="accuracy"), y.mean()
    return share * point.tpr + (1.0 - share) * (1.0 - point.fpr)
