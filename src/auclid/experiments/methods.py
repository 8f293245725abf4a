"""Methods of the registry and honest baselines: made, tuned on training rows, fitted with a clock, scored."""

import importlib.util
import itertools
import warnings
from functools import lru_cache
from time import perf_counter

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

from auclid.experiments import protocol
from auclid.maps import Kernelized
from auclid.metrics import operating_point, roc_auc
from auclid.registry import algorithms, make

BASELINES = {
    "LogisticRegression": lambda **params: LogisticRegression(max_iter=1000, **params),
    "RidgeClassifier": lambda **params: RidgeClassifier(class_weight="balanced", **params),
    "LinearSVC": lambda **params: LinearSVC(**params),
    "LightGBM": lambda **params: _lightgbm(**params),
}
"""What the papers left out, and the plain machine of figure 1.2."""


def _lightgbm(**params):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1, **params)


def known():
    """Every name a TOML file may give."""
    return {method.name for method in algorithms()} | set(BASELINES)


def available(name):
    """Whether a method can run here: LightGBM may be absent."""
    return name != "LightGBM" or importlib.util.find_spec("lightgbm") is not None


def build(name, params, seed):
    """A method with its parameters, every random_state set."""
    model = BASELINES[name](**params) if name in BASELINES else make(name, **params)
    names = [key for key in model.get_params() if key.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(names, seed))


def scores(model, X):
    """One number a row, higher for positives."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]


# --- kernel methods: one feature map a run serves every method that asks for the same one --------------------------


@lru_cache(maxsize=1)
def _shared_map(told, parts_key, keep):
    feature_map, parts = keep.feature_map, keep.parts
    few = _narrow(parts.X)[:200]
    clone(feature_map).set_params(n_components=2).fit(few).transform(few)  # compiles what is to be compiled
    start = perf_counter()
    feature_map.fit(_narrow(parts.X))
    Z = feature_map.transform(_narrow(parts.X))
    seconds = perf_counter() - start
    return Z, feature_map.transform(_narrow(parts.X_test)), seconds


class _Keep:
    """Things that a cache must not compare."""

    def __init__(self, feature_map, parts):
        self.feature_map, self.parts = feature_map, parts

    def __eq__(self, other):
        return isinstance(other, _Keep)

    def __hash__(self):
        return 0


def _narrow(X):
    """Rows as they are embedded: many of them in float32."""
    return X.astype(np.float32) if X.shape[0] > 1000 else X


def rows_for(model, parts):
    """(ranker, X, X_test, seconds): the rows a method learns from, embedded where it is a kernel method."""
    if not isinstance(model, Kernelized):
        return model, parts.X, parts.X_test, 0.0
    keep = _Keep(clone(model.feature_map), parts)
    Z, Z_test, seconds = _shared_map(repr(sorted(model.feature_map.get_params().items())), parts.key, keep)
    return model.ranker, Z, Z_test, seconds


# --- one cell ------------------------------------------------------------------------------------------------------


def candidates(grid):
    """Every choice of a grid, as dictionaries."""
    return [dict(zip(grid, choice, strict=True)) for choice in itertools.product(*grid.values())]


def tuned(name, parts, how, run):
    """The choice of the grid with the best mean AUC over inner folds of the training part, and nothing else."""
    choices = candidates(how["grid"])
    if len(choices) == 1:
        return choices[0]
    rows, folds = protocol.inner(parts.y, how, run)
    means = []
    for choice in choices:
        ranker, X = _tuning_rows(build(name, how["fixed"] | choice, run), parts, rows, how["grid"])
        means.append(np.mean([_held_out(ranker, X, parts.y[rows], *fold) for fold in folds]))
    return choices[int(np.argmax(means))]


def _tuning_rows(model, parts, rows, grid):
    """(ranker, some training rows), embedded by the run's map, or by one of its own where the map itself is tuned."""
    if not isinstance(model, Kernelized) or not set(grid) & set(model.feature_map.get_params()):
        ranker, X, _, _ = rows_for(model, parts)
        return ranker, X[rows]
    X = _narrow(parts.X[rows])
    return model.ranker, clone(model.feature_map).fit(X).transform(X)


def _held_out(model, X, y, train, test):
    try:
        return roc_auc(y[test], scores(clone(model).fit(X[train], y[train]), X[test]))
    except (ValueError, FloatingPointError, ArithmeticError):  # a choice that overflows is a bad one
        return 0.0


_warm: set = set()
"""Methods that were compiled in this process, for each kind of rows."""


def warm_up(name, model, X, y):
    """Compile what a fit needs, on a few rows and once, so that no clock sees it."""
    kind = (name, type(X), X.dtype)
    if kind in _warm:
        return
    few = np.concatenate([np.flatnonzero(y)[:20], np.flatnonzero(~y)[:40]])
    clone(model).fit(X[few], y[few])
    _warm.add(kind)


def cell(name, parts, how, run):
    """One row of the record: AUC, accuracy at OPTROC, seconds of the final fit, and the parameters chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = tuned(name, parts, how, run)
        ranker, X, X_test, embedding = rows_for(build(name, how["fixed"] | chosen, run), parts)
        warm_up(name, ranker, X, parts.y)
        model = clone(ranker)
        start = perf_counter()
        model.fit(X, parts.y)
        seconds = perf_counter() - start + embedding
        found = scores(model, X_test)
    return {
        "auc": roc_auc(parts.y_test, found),
        "accuracy_at_optroc": accuracy_at_optroc(parts.y_test, found),
        "fit_seconds": seconds,
        "chosen": chosen,
    }


def accuracy_at_optroc(y, found):
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
