"""Compile what methods need beforehand, so that the first fit of any process finds it on disk."""

import warnings
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from auclid.registry import METHODS, Method, find

N_ROWS, N_COLUMNS = 120, 6
SMALL = {"n_components": 8, "n_iter": 5, "batch_size": 8, "n_epochs": 1, "n_rounds": 2, "buffer_size": 5}
"""Parameters that make a method quick, where it has them: compiled code does not depend on them."""


def warm(names: Sequence[str] = ()) -> Iterator[tuple[str, float]]:
    """Fit each method to a small table in every layout of rows, and stream to it where it can: (name, seconds).

    Compiled code is kept where that of any fit is kept: below ``NUMBA_CACHE_DIR``, or in the user's cache folder. An
    upgrade of the package or of Numba wants it anew. The command is `auclid warm`.

    Parameters
    ----------
    names : names that `auclid.make` takes; all methods where there are none

    Yields
    ------
    (name, seconds) of each method, once it is compiled

    Examples
    --------
    >>> from auclid.warm import warm
    >>> [name for name, seconds in warm(["B-LS-SVM"])]
    ['B-LS-SVM']
    """
    for method in [find(name) for name in names] or METHODS:
        start = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for X, y in tables(method):
                used(method, X, y)
        yield method.name, perf_counter() - start


def tables(method: Method) -> Iterator[tuple[Any, np.ndarray]]:
    """A small task as float64 and float32, dense and, for who takes them, sparse; half of the labels where few do."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_COLUMNS))
    y = (X[:, 0] + rng.standard_normal(N_ROWS) > 0.5).astype(np.int64)
    if method.semi_supervised:
        y[::2] = -1
    for laid in (X, sparse.csr_matrix(X)) if method.sparse else (X,):
        yield laid, y
        yield laid.astype(np.float32), y


def used(method: Method, X: Any, y: np.ndarray) -> None:
    """Let the method learn from rows, by `fit` and as a stream, and score them."""
    for learn in ("fit", "partial_fit"):
        model = quick(method.build())
        try:
            if hasattr(model, learn):
                getattr(model, learn)(X, y).decision_function(X)
        except ValueError:  # rows that the method does not take, or labels that it wants otherwise
            continue


def quick(model: Any) -> Any:
    """The model with small settings, those of its parts too; None stays None."""
    params = model.get_params()
    chosen = {key: SMALL.get(key.rpartition("__")[2]) for key, value in params.items() if value is not None}
    return model.set_params(**{key: value for key, value in chosen.items() if value is not None})
