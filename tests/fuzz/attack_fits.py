"""Attacks on `fit` and `partial_fit`: finite scores or one clear sentence, inputs untouched, nothing half-changed."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

import auclid
from auclid.registry import algorithms
from hostile import EXTREMES, POLITE, Found, attempt, finite, frozen, pick
from hostile_tables import broken, dressed, labels, numbers, weights

CLASSES = [
    cls
    for cls in (getattr(auclid, name) for name in auclid.__all__)
    if isinstance(cls, type) and issubclass(cls, BaseEstimator) and cls is not auclid.AUCClassifier
]
METHODS = [method.name for method in algorithms() if method.target == "classes"]

SMALL = {"n_components": 6, "n_iter": 5, "n_rounds": 5, "max_iter": 20, "buffer_size": 7, "batch_size": 4}
"""What keeps a fit short: an attack makes thousands."""

NUMBERS = ("alpha", "C", "step", "delta", "gamma", "radius", "zeta", "l1", "tol", "theta", "t0", "coef0")
"""Parameters that are tried at extremes."""


def small(model: Any) -> Any:
    """The model with every size cut down and every seed set."""
    given = model.get_params()
    for name in given:
        last = name.split("__")[-1]
        if last in SMALL and isinstance(given[name], int):
            model.set_params(**{name: SMALL[last]})
        elif last == "random_state":
            model.set_params(**{name: 0})
        elif last == "n_epochs":
            model.set_params(**{name: 1})
    return model


def some_model(rng: np.random.Generator) -> Any:
    """A method by name or class, with a parameter or two at an extreme now and then."""
    if rng.random() < 0.5:
        model = small(auclid.make(pick(rng, METHODS)))
    else:
        model = small(pick(rng, CLASSES)())
    names = [name for name in model.get_params() if name.split("__")[-1] in NUMBERS]
    if names and rng.random() < 0.3:
        value = pick(rng, [*EXTREMES, 1e-30, 1e30, 1e-4, True, "auto", None, -3])
        model.set_params(**{pick(rng, names): value})
    return model


def ends_case(cls: type, name: str, value: float, stream: bool) -> None:
    """One fit, or a stream of two batches, on a good table with one parameter at an end of its range."""
    model, y = small(cls()).set_params(**{name: value}), np.arange(40) % 2
    X = np.random.default_rng(0).normal(size=(40, 4)) + 0.5 * y[:, None]
    what = f"{cls.__name__}({name} = {value if isinstance(value, float) else f'2**{value.bit_length() - 1}'})"
    if stream:
        call = lambda: model.partial_fit(X[:20], y[:20], classes=[0, 1]).partial_fit(X[20:], y[20:])  # noqa: E731
    else:
        call = lambda: model.fit(X, y)  # noqa: E731
    if attempt(f"fit of {what}", call) is not None:
        for told in (attempt(f"scores of {what}", lambda: scores_of(model, X)), *published(model)):
            finite(f"what {what} tells", told)


def published(model: Any) -> list[Any]:
    return [getattr(model, name, None) for name in ("coef_", "intercept_")]


def scores_of(model: Any, X: Any) -> Any:
    for name in ("decision_function", "transform", "predict_proba"):
        if hasattr(model, name):
            return getattr(model, name)(X)
    return None


def fit_case(rng: np.random.Generator) -> None:
    """One fit on a hostile table, and its scores on the same table and on another."""
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 7))
    model, X, y = some_model(rng), dressed(rng, numbers(rng, n, d)), labels(rng, n)
    what = repr(model)[:120]
    params = {}
    if rng.random() < 0.4 and "sample_weight" in _arguments(model):
        params["sample_weight"] = weights(rng, n)
    before = frozen(X), frozen(y)
    fitted = attempt(f"fit of {what}", lambda: model.fit(X, y, **params))
    if (frozen(X), frozen(y)) != before:
        raise Found("input changed", what)
    if fitted is None:
        return
    finite(f"scores of {what}", attempt(f"scores of {what}", lambda: scores_of(model, X)))
    other = numbers(rng, 5, d)
    finite(f"scores of {what} elsewhere", attempt(f"scores of {what}", lambda: scores_of(model, other)))
    for told in published(model):
        finite(f"coefficients of {what}", told)


def _arguments(model: Any) -> tuple[str, ...]:
    return type(model).fit.__wrapped__.__code__.co_varnames if hasattr(type(model).fit, "__wrapped__") else ()


def broken_case(rng: np.random.Generator) -> None:
    """A sparse matrix with indices out of range is refused by whoever gets it."""
    model, n = some_model(rng), int(rng.integers(4, 40))
    X, y = broken(rng, numbers(rng, n, 4)), labels(rng, n)
    what = repr(model)[:120]
    attempt(f"fit of {what}", lambda: model.fit(X, y))
    good = np.random.default_rng(0).normal(size=(n, 4))
    if attempt(f"fit of {what}", lambda: model.fit(sparse.csr_matrix(good), y)) is not None:
        attempt(f"scores of {what}", lambda: scores_of(model, X))


def batch_case(rng: np.random.Generator) -> None:
    """A bad batch is refused whole, or learnt from; the stream then goes on with finite scores."""
    model = some_model(rng)
    if not hasattr(model, "partial_fit"):
        return
    n, d = 30, 4
    X, y = rng.normal(size=(n, d)), labels(rng, n)
    what = repr(model)[:120]
    if attempt(f"first batch of {what}", lambda: model.partial_fit(X, y, classes=np.unique(y))) is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = scores_of(model, X)
    bad, bad_y = bad_batch(rng, X, y)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.partial_fit(bad, bad_y)
    except POLITE:
        now = attempt(f"scores of {what}", lambda: scores_of(model, X))
        if now is None or np.asarray(now).tobytes() != np.asarray(said).tobytes():
            raise Found("half-changed", what) from None
    except Exception as error:
        raise Found("unclear error", f"batch of {what}: {type(error).__name__}: {str(error)[:150]}") from error
    good = attempt(f"next batch of {what}", lambda: model.partial_fit(X, y))
    if good is None and attempt(f"batches of {what}", lambda: clone(model).partial_fit(X, y).partial_fit(X, y)):
        raise Found("poisoned", f"{what}: a good batch is refused after a bad one")
    if good is None:
        return
    finite(f"scores of {what} after a bad batch", attempt(f"scores of {what}", lambda: scores_of(model, X)))


def bad_batch(rng: np.random.Generator, X: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    """A batch with something wrong or extreme in it."""
    kind = rng.integers(8)
    n, d = X.shape
    if kind == 0:
        return np.where(rng.random(X.shape) < 0.1, pick(rng, [np.nan, np.inf, -np.inf]), X), y
    if kind == 1:
        return X[:, : d - 1], y
    if kind == 2:
        return X, y[: n - 1]
    if kind == 3:
        return X, np.array(["strange"] * n)
    if kind == 4:
        return np.where(rng.random(X.shape) < 0.1, pick(rng, [1e308, -1e308, 1e200, 1e155]), X), y
    if kind == 5:
        return np.full_like(X, pick(rng, EXTREMES)), y
    if kind == 6:
        return broken(rng, X), y
    return X[:0], y[:0]


def clone_case(rng: np.random.Generator) -> None:
    """Cloning, printing and setting parameters never fit anything nor fail."""
    model = some_model(rng)
    attempt("clone", lambda: repr(clone(model)))
