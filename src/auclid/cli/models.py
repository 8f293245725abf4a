"""Which models a command trains: ours by the registry, the baselines by name, all behind the same scaler."""

import difflib

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from auclid.auto import AUCClassifier
from auclid.experiments.methods import scores as scores  # one meaning of a score, for the record and the command
from auclid.registry import find

WIDE = 2_000
"""Columns from which on d × d moments are no longer the quick way."""

SENSIBLE = {
    "LeastSquaresAUCCV": lambda n, d, is_sparse: d <= WIDE,
    "LeastSquaresAUC": lambda n, d, is_sparse: d > WIDE,
    "RankSVM": lambda n, d, is_sparse: True,
    "SPAM-L2": lambda n, d, is_sparse: True,
    "NPSAM": lambda n, d, is_sparse: not is_sparse and d <= 1_000 and n <= 100_000,
    "RBF-RankSVM": lambda n, d, is_sparse: not is_sparse and n <= 2_000,
}
"""Which of our methods suit n rows of d columns: exact linear ones, a stream, curved ones."""


def sensible(X):
    """The names of the methods that suit a table."""
    return [name for name, suits in SENSIBLE.items() if suits(*X.shape, sparse.issparse(X))]


def ours(name, X, seed):
    """(name, pipeline) of a method by the name of its paper, or of "auto"."""
    if name.casefold() in ("auto", "aucclassifier"):
        return front_door(seed)
    method = find(name)
    if method.semi_supervised:
        raise ValueError(
            f"{method.name} learns from rows without labels as well; the command has none. Use Python."
        )
    return method.name, behind_scaler(seeded(method.build(), seed), X)


def front_door(seed):
    """The model "auto", for someone who did not choose one: it scales, compares and chooses by itself."""
    return "AUCClassifier", AUCClassifier(random_state=seed)


def seeded(model, seed):
    """The model with every random_state set, its parts' too."""
    names = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(names, seed))


def behind_scaler(model, X):
    """Imputer and scaler before a model: mean 0 and variance 1, or largest size 1 where X is sparse."""
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    if sparse.issparse(X):
        return make_pipeline(*([imputer] if has_missing(X) else []), MaxAbsScaler(), model)
    return make_pipeline(imputer, StandardScaler(), model)


def has_missing(X):
    """Whether a table, dense or sparse, has missing values."""
    return bool(np.isnan(X.data if sparse.issparse(X) else X).any())


def _logistic(X, seed):
    return "LogisticRegression", behind_scaler(LogisticRegression(max_iter=1000), X)


def _ridge(X, seed):
    return "RidgeClassifier (balanced)", behind_scaler(RidgeClassifier(class_weight="balanced"), X)


def _lightgbm(X, seed):
    """Boosted trees need no scaler and know what a missing value is."""
    try:
        from lightgbm import LGBMClassifier
    except (ImportError, OSError):  # without its OpenMP library it is installed, yet cannot be loaded
        return _boosting(X, seed)
    return "LightGBM (200 trees)", LGBMClassifier(n_estimators=200, random_state=seed, verbose=-1)


def _boosting(X, seed):
    if sparse.issparse(X):
        raise ValueError("HistGradientBoostingClassifier cannot learn from sparse rows.")
    return "HistGradientBoosting", HistGradientBoostingClassifier(random_state=seed)


BASELINES = {"logistic": _logistic, "ridge": _ridge, "lightgbm": _lightgbm, "boosting": _boosting}


def baseline(name, X, seed):
    """(name, model) of something that does not optimise AUC."""
    if name not in BASELINES:
        near = difflib.get_close_matches(name.casefold(), BASELINES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(f"--against must be some of {', '.join(BASELINES)}; got {name!r}.{hint}")
    return BASELINES[name](X, seed)
