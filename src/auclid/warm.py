"""Compile the kernels of methods in advance, so that the first fit of any process finds them on disk."""

import warnings
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from auclid.registry import METHODS, Method, find

N_ROWS, N_COLUMNS = 120, 6
SMALL_SETTINGS = {"n_components": 8, "n_iter": 5, "batch_size": 8, "n_epochs": 1, "n_rounds": 2, "buffer_size": 5}
"""Parameters that make a method fast; compiled code does not depend on them."""


def warm(names: Sequence[str] = ()) -> Iterator[tuple[str, float]]:
    """Fit each method to a small table in every storage format of rows, with `fit` and `partial_fit`.

    Compiled code is stored below ``NUMBA_CACHE_DIR`` if that is set, else in the user's cache folder. After an upgrade
    of the package or of Numba it must be compiled again. The command is `auclid warm`.

    Parameters
    ----------
    names : names that `auclid.make` takes; all methods if empty

    Yields
    ------
    (name, seconds) of each method, after it was compiled

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
            for X, y in small_tables(method):
                exercise(method, X, y)
        yield method.name, perf_counter() - start


def small_tables(method: Method) -> Iterator[tuple[Any, np.ndarray]]:
    """A small task in float64 and float32, dense and, if the method takes it, sparse; half labelled if it may be."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_COLUMNS))
    y = (X[:, 0] + rng.standard_normal(N_ROWS) > 0.5).astype(np.int64)
    if method.semi_supervised:
        y[::2] = -1
    for rows in (X, sparse.csr_matrix(X)) if method.sparse else (X,):
        yield rows, y
        yield rows.astype(np.float32), y


def exercise(method: Method, X: Any, y: np.ndarray) -> None:
    """Learn from rows by `fit` and by `partial_fit`, and score them."""
    for learn in ("fit", "partial_fit"):
        model = with_small_settings(method.build())
        try:
            if hasattr(model, learn):
                getattr(model, learn)(X, y).decision_function(X)
        except ValueError:  # the method does not take such rows or labels
            continue


def with_small_settings(model: Any) -> Any:
    """The model with small settings, nested ones included; None stays None."""
    params = model.get_params()
    chosen = {key: SMALL_SETTINGS.get(key.rpartition("__")[2]) for key, value in params.items() if value is not None}
    return model.set_params(**{key: value for key, value in chosen.items() if value is not None})
