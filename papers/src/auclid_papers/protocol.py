"""One train/test run: which rows, how scaled, how a grid is searched. Test rows meet nothing but the final score."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, train_test_split
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from auclid_papers import data
from auclid_papers.definitions import Settings

SCALERS: dict[str, Callable[[Any], Any]] = {
    "columns": lambda X: StandardScaler(with_mean=not sparse.issparse(X)),
    "rows": lambda X: Normalizer(),
    "largest": lambda X: MaxAbsScaler(),
    "range": lambda X: MinMaxScaler(),
    "none": lambda X: FunctionTransformer(),
}
"""Columns to mean 0 (no matter to pairs, so not where sparse) and variance 1; rows to length 1; and so on."""

SPLITS = ("folds", "holdout", "given")
"""Cross-validation; a random part held out; the test part that comes with the table."""


@dataclass(frozen=True)
class Parts:
    """The rows of one run: training and test part, scaled by what the training part tells."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    key: tuple  # tells one from another


def parts(name: str, how: Settings, run: int) -> Parts:
    """The training and test part of a run of a dataset."""
    keys = "split folds test_size scale dense only max_rows train_rows test_rows".split()
    frozen = {key: how.get(key) for key in keys}
    positive = how["positive"]
    positive = positive if isinstance(positive, str) else tuple(positive)
    return _parts(name, tuple(frozen.items()), positive, run, data.folder())


@lru_cache(maxsize=2)
def _parts(name: str, frozen: tuple, positive: str | tuple, run: int, where: Path) -> Parts:
    how = dict(frozen)
    X, y, train, test = _rows(name, how, positive, run)
    train, test = capped(train, y, how["train_rows"], run), capped(test, y, how["test_rows"], run)
    X_train, X_test = (data.densely(X[rows], how["dense"]) for rows in (train, test))
    scaler = SCALERS[how["scale"]](X_train).fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    return Parts(X_train, y[train], X_test, y[test], (name, frozen, positive, run, where))


def length(X: Any) -> float:
    """The root mean square of the lengths of rows."""
    squares = X.multiply(X).sum() if sparse.issparse(X) else np.einsum("ij,ij->", X, X, dtype=np.float64)
    return float(np.sqrt(squares / X.shape[0]))


def _rows(name: str, how: Settings, positive: str | tuple, run: int) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """X, which rows are positive, and the numbers of the training and test rows."""
    X, labels = data.required(name, how["only"]) if how["only"] else data.whole(name)
    y = data.is_positive(labels, positive)
    if how["split"] == "given":
        n = data.required(name)[0].shape[0]
        if n == len(y):
            raise data.DataError(f"{name} must come with a test part here; AUCLID_DATA has none.")
        return X, y, np.arange(n), np.arange(n, len(y))
    kept = np.arange(len(y))
    if how["max_rows"] and len(y) > how["max_rows"]:
        kept = np.sort(np.random.default_rng(0).permutation(len(y))[: how["max_rows"]])
    if how["split"] == "holdout":
        train, test = train_test_split(kept, test_size=how["test_size"], random_state=run, stratify=y[kept])
        return X, y, train, test
    train, test = fold(y[kept], how["folds"], run)
    return X, y, kept[train], kept[test]


def fold(y: np.ndarray, folds: int, run: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of the run-th fold; each pass over the folds shuffles anew."""
    splits = RepeatedStratifiedKFold(n_splits=folds, n_repeats=run // folds + 1, random_state=0).split(y, y)
    return list(splits)[run]


def capped(rows: np.ndarray, y: np.ndarray, most: int | None, seed: int) -> np.ndarray:
    """At most so many of the rows, classes in their shares."""
    if not most or len(rows) <= most:
        return rows
    return train_test_split(rows, train_size=most, random_state=seed, stratify=y[rows])[0]


def inner(y: np.ndarray, how: Settings, run: int) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """(rows to tune on, their folds): some of the training part and inner folds of it."""
    rows = capped(np.arange(len(y)), y, how.get("tune_rows"), run)
    folds = min(how["inner_folds"], np.bincount(y[rows].astype(int), minlength=2).min())
    if folds < 2:
        raise ValueError(f"Tuning expects two rows of each class at least; the training part of run {run} has fewer.")
    splitter = StratifiedKFold(folds, shuffle=True, random_state=run)
    return rows, list(splitter.split(rows, y[rows]))
