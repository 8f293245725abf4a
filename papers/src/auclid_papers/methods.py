"""One cell of a table: a method or a baseline is built, tuned on training rows, fitted, timed and scored."""

import itertools
import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from auclid import AUCClassifier, Kernelized, baselines, make
from auclid.baselines import scores
from auclid.metrics import operating_point, partial_auc, roc_auc
from auclid_papers import protocol
from auclid_papers.definitions import Settings, grid_values
from auclid_papers.record import Row

BASELINES: dict[str, Callable[..., Any]] = {
    "LogisticRegression": baselines.logistic,
    "RidgeClassifier": baselines.ridge,
    "LinearSVC": baselines.linear_svc,
    "LightGBM": partial(baselines.lightgbm, n_jobs=1),
}
"""Baselines that the papers left out, and the linear SVM of figure 1.2."""

ESTIMATORS: dict[str, Callable[..., Any]] = {"AUCClassifier": AUCClassifier}
"""Estimators of auclid without a name in the registry."""

MAX_FPR = 0.1
"""The false-positive rate up to which the partial AUC is taken."""


def is_installed(name: str) -> bool:
    """Whether a method can run here; LightGBM may not be installed."""
    return name != "LightGBM" or baselines.has_lightgbm()


def build(name: str, params: Settings, seed: int) -> Any:
    """An estimator with its parameters and every random_state set."""
    others = BASELINES | ESTIMATORS
    model = others[name](**params) if name in others else make(name, **params)
    states = [param for param in model.get_params() if param.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(states, seed))


def has_published_form(name: str, settings: Settings) -> bool:
    """Whether a protocol builds the algorithm that the paper prints, up to what the protocol itself sets.

    Examples
    --------
    >>> from auclid_papers.methods import has_published_form
    >>> has_published_form("OAMseq", {"grid": {"C": [1.0]}, "fixed": {}})
    True
    >>> has_published_form("OAM", {"grid": {"C": [1.0]}, "fixed": {}})
    False
    """
    if name in BASELINES | ESTIMATORS:
        return True
    params = parameters(settings, candidates(settings)[0])
    mine, printed = (build(name, params | more, 0).get_params() for more in ({}, {"published": True}))
    parts = {"feature_map", "ranker"}  # their own parameters are compared
    return mine.keys() == printed.keys() and all(repr(mine[key]) == repr(printed[key]) for key in mine.keys() - parts)


# --- kernel methods: the methods of a run share a feature map if they ask for the same one --------------------------

_last_features: dict[tuple, tuple[np.ndarray, np.ndarray, float]] = {}
"""The features of the last split and feature map."""


def _features(feature_map: Any, split: protocol.Split) -> tuple[np.ndarray, np.ndarray, float]:
    """(training features, test features, seconds) of a feature map fitted to the training rows."""
    key = (_key(feature_map), split.key)
    if key not in _last_features:
        _last_features.clear()
        X = _float32(split.X)
        clone(feature_map).set_params(n_components=2).fit(X[:200]).transform(X[:200])  # compile before timing
        start = perf_counter()
        Z = feature_map.fit(X).transform(X)
        seconds = perf_counter() - start
        _last_features[key] = Z, feature_map.transform(_float32(split.X_test)), seconds
    return _last_features[key]


def _key(feature_map: Any) -> str:
    return repr(sorted(feature_map.get_params().items()))


def _float32(X: Any) -> Any:
    """Rows for a feature map: in float32 if there are many."""
    return X.astype(np.float32) if X.shape[0] > 1000 else X


def rows_for(model: Any, split: protocol.Split) -> tuple[Any, Any, Any, float]:
    """(ranker, X, X_test, seconds): what is fitted to which rows; a kernel method is a linear one on features."""
    if not isinstance(model, Kernelized):
        return model, split.X, split.X_test, 0.0
    Z, Z_test, seconds = _features(clone(model.feature_map), split)
    return model.ranker, Z, Z_test, seconds


# --- tuning --------------------------------------------------------------------------------------------------------


def candidates(settings: Settings, length: float = 1.0) -> list[Settings]:
    """Every combination of a protocol's grid, for rows of a mean norm."""
    most = settings.get("grid_size")
    grid = {name: _thin(grid_values(text, length), most) for name, text in settings["grid"].items()}
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _thin(grid: list, most: int | None) -> list:
    """At most ``most`` values of a grid, evenly spaced, with both ends."""
    if not most or len(grid) <= most:
        return grid
    return [grid[k] for k in np.unique(np.linspace(0, len(grid) - 1, most).round().astype(int))]


def scales(settings: Settings) -> list[str]:
    """The scalings to choose from; most protocols have one."""
    return settings["scale"] if isinstance(settings["scale"], list) else [settings["scale"]]


def tune(name: str, dataset: str, settings: Settings, run: int) -> tuple[protocol.Split, Settings]:
    """(rows, parameters) with the best mean AUC over inner folds of the training part.

    The rows are scaled in the chosen way, which ``parameters`` include if there was a choice.
    """
    options = scales(settings)
    aucs: list[float] = []
    choices: list[tuple[str, Settings]] = []
    for scale in options:
        split = protocol.make_split(dataset, settings | {"scale": scale}, run)
        label = {"scale": scale} if len(options) > 1 else {}
        tried = [label | choice for choice in candidates(settings, protocol.row_norm(split.X))]
        choices += [(scale, choice) for choice in tried]
        if len(options) * len(tried) > 1:
            aucs += _inner_aucs(name, split, tried, settings, run)
    scale, chosen = choices[int(np.argmax(aucs))] if aucs else choices[0]
    return protocol.make_split(dataset, settings | {"scale": scale}, run), chosen


def parameters(settings: Settings, chosen: Settings) -> Settings:
    """The parameters of an estimator: the fixed ones and the chosen ones."""
    return settings["fixed"] | {name: value for name, value in chosen.items() if name != "scale"}


def _inner_aucs(name: str, split: protocol.Split, choices: list[Settings], settings: Settings, run: int) -> list[float]:
    """The mean AUC of each choice over inner folds of the training part."""
    rows, folds = protocol.tuning_folds(split.y, settings, run)
    y = split.y[rows]
    features: dict[str, np.ndarray] = {}

    def embed(feature_map: Any) -> np.ndarray:
        """Features of a map fitted to the tuning rows, if the map or the scaling is tuned."""
        key = _key(feature_map)
        if key not in features:
            features.clear()
            features[key] = clone(feature_map).fit_transform(_float32(split.X[rows]))
        return features[key]

    def mean_auc(choice: Settings) -> float:
        model = build(name, parameters(settings, choice), run)
        if isinstance(model, Kernelized) and set(choice) & {"scale", *model.feature_map.get_params()}:
            ranker, X = model.ranker, embed(model.feature_map)
        else:
            ranker, X, _, _ = rows_for(model, split)
            X = X[rows]
        return float(np.mean([_fold_auc(ranker, X, y, *fold) for fold in folds]))

    return [mean_auc(choice) for choice in choices]


def _fold_auc(model: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    try:
        return roc_auc(y[test], scores(clone(model).fit(X[train], y[train]), X[test]))
    except (ValueError, FloatingPointError, ArithmeticError):  # parameters that overflow are bad ones
        return 0.0


# --- one cell ------------------------------------------------------------------------------------------------------

_compiled: set[tuple] = set()
"""The methods that were compiled in this process, for each type of rows."""


def warm_up(name: str, fit: Callable[..., Any], X: Any, y: np.ndarray) -> None:
    """Fit a few rows once per process, so that no timing includes compilation."""
    key = (name, type(X), X.dtype)
    if key not in _compiled:
        few = np.concatenate([np.flatnonzero(y)[:20], np.flatnonzero(~y)[:40]])
        fit(X[few], y[few])
        _compiled.add(key)


def cell(name: str, dataset: str, settings: Settings, run: int) -> Row:
    """One row of results: AUC, partial AUC, accuracy, seconds of the final fit, and the chosen parameters."""
    with warnings.catch_warnings(action="ignore"):
        split, chosen = tune(name, dataset, settings, run)
        ranker, X, X_test, map_seconds = rows_for(build(name, parameters(settings, chosen), run), split)
        warm_up(name, clone(ranker).fit, X, split.y)
        model = clone(ranker)
        start = perf_counter()
        model.fit(X, split.y)
        seconds = perf_counter() - start + map_seconds
        predicted = scores(model, X_test)
        return {
            "auc": roc_auc(split.y_test, predicted),
            "partial_auc": partial_auc(split.y_test, predicted, max_fpr=MAX_FPR),
            "accuracy_at_optroc": accuracy_at_optroc(split.y_test, predicted),
            "fit_seconds": seconds,
            "chosen": chosen,
        }


def accuracy_at_optroc(y: np.ndarray, predicted: np.ndarray) -> float:
    """The highest accuracy of any threshold (MATLAB's OPTROC at equal costs).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid_papers.methods import accuracy_at_optroc
    >>> float(accuracy_at_optroc(np.array([False, False, False, True]), np.array([1.0, 2.0, 4.0, 3.0])))
    0.75
    """
    point, share = operating_point(y, predicted, criterion="accuracy"), y.mean()
    return share * point.tpr + (1.0 - share) * (1.0 - point.fpr)
