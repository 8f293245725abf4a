"""Which models a command trains: ours by the registry, the baselines by name, all behind the same scaler."""

from collections.abc import Callable
from typing import Any

from scipy import sparse
from sklearn.base import BaseEstimator

from auclid import baselines
from auclid._hints import did_you_mean
from auclid._random import seeded
from auclid.additive import Scorecard
from auclid.auto import AUCClassifier
from auclid.baselines import behind_scaler
from auclid.registry import find

WIDE = 2_000
"""Columns from which on d × d moments are no longer the quick way."""

SENSIBLE: dict[str, Callable[[int, int, bool], bool]] = {
    "LeastSquaresAUCCV": lambda n, d, is_sparse: d <= WIDE,
    "LeastSquaresAUC": lambda n, d, is_sparse: d > WIDE,
    "RankSVM": lambda n, d, is_sparse: True,
    "SPAM-L2": lambda n, d, is_sparse: True,
    "NPSAM": lambda n, d, is_sparse: not is_sparse and d <= 1_000 and n <= 100_000,
    "RBF-RankSVM": lambda n, d, is_sparse: not is_sparse and n <= 2_000,
}
"""Which of our methods suit n rows of d columns: exact linear ones, a stream, curved ones."""

Named = tuple[str, BaseEstimator]


def sensible(X: Any) -> list[str]:
    """The names of the methods that suit a table."""
    n, d = X.shape
    return [name for name, suits in SENSIBLE.items() if suits(n, d, sparse.issparse(X))]


def ours(name: str, X: Any, seed: int) -> Named:
    """(name, pipeline) of a method by the name of its paper, or of "auto"."""
    if name.casefold() in ("auto", "aucclassifier"):
        return front_door(seed)
    method = find(name)
    if method.semi_supervised:
        raise ValueError(f"{method.name} learns from rows without labels as well; the command has none. Use Python.")
    if method.build is Scorecard:  # it is read in the units of its columns, and knows what a missing cell is
        return method.name, seeded(method.build(), seed)
    return method.name, behind_scaler(seeded(method.build(), seed), X)


def front_door(seed: int) -> Named:
    """The model "auto", for someone who did not choose one: it scales, compares and chooses by itself."""
    return "AUCClassifier", AUCClassifier(random_state=seed)


def _logistic(X: Any, seed: int) -> Named:
    return "LogisticRegression", behind_scaler(baselines.logistic(), X)


def _ridge(X: Any, seed: int) -> Named:
    return "RidgeClassifier (balanced)", behind_scaler(baselines.ridge(), X)


def _lightgbm(X: Any, seed: int) -> Named:
    try:
        return f"LightGBM ({baselines.N_TREES} trees)", baselines.lightgbm(random_state=seed)
    except (ImportError, OSError):  # without its OpenMP library it is installed, yet cannot be loaded
        return _boosting(X, seed)


def _boosting(X: Any, seed: int) -> Named:
    if sparse.issparse(X):
        raise ValueError("HistGradientBoostingClassifier cannot learn from sparse rows.")
    return "HistGradientBoosting", baselines.boosting(random_state=seed)


BASELINES = {"logistic": _logistic, "ridge": _ridge, "lightgbm": _lightgbm, "boosting": _boosting}


def baseline(name: str, X: Any, seed: int) -> Named:
    """(name, model) of something that does not optimise AUC."""
    if name not in BASELINES:
        raise ValueError(
            f"--against must be some of {', '.join(BASELINES)}; got {name!r}. {did_you_mean(name, BASELINES)}".rstrip()
        )
    return BASELINES[name](X, seed)
