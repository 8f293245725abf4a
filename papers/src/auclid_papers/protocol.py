"""One train/test run: its rows, their scaling, and the folds for tuning. Test rows serve for the final score only."""

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
"""Sparse columns are not centred: differences of pairs, and so the AUC, do not depend on the mean."""

SPLITS = ("folds", "holdout", "given")
"""Cross-validation; a random part held out; the test part that comes with the dataset."""


@dataclass(frozen=True)
class Split:
    """The rows of one run: training and test part, scaled by the statistics of the training part."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    key: tuple  # identifies the split, for caches


def make_split(name: str, settings: Settings, run: int) -> Split:
    """The training and test part of a run on a dataset."""
    keys = "split folds test_size scale dense only max_rows train_rows test_rows".split()
    positive = settings["positive"]
    positive = positive if isinstance(positive, str) else tuple(positive)
    return _make_split(name, tuple((key, settings.get(key)) for key in keys), positive, run, data.folder())


@lru_cache(maxsize=2)
def _make_split(name: str, items: tuple, positive: str | tuple, run: int, folder: Path) -> Split:
    settings = dict(items)
    X, labels = data.required_part(name, settings["only"]) if settings["only"] else data.whole(name)
    y = data.is_positive(labels, positive)
    train, test = _train_and_test(name, y, settings, run)
    train, test = subsample(train, y, settings["train_rows"], run), subsample(test, y, settings["test_rows"], run)
    X_train, X_test = (data.as_dense(X[rows], settings["dense"]) for rows in (train, test))
    scaler = SCALERS[settings["scale"]](X_train).fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    return Split(X_train, y[train], X_test, y[test], (name, items, positive, run, folder))


def _train_and_test(name: str, y: np.ndarray, settings: Settings, run: int) -> tuple[np.ndarray, np.ndarray]:
    """The indices of the training and test rows."""
    if settings["split"] == "given":
        n = data.required_part(name)[0].shape[0]
        if n == len(y):
            raise data.DataError(f"{name} must come with a test part here; AUCLID_DATA has none.")
        return np.arange(n), np.arange(n, len(y))
    kept = np.arange(len(y))
    if settings["max_rows"] and len(y) > settings["max_rows"]:
        kept = np.sort(np.random.default_rng(0).permutation(len(y))[: settings["max_rows"]])
    if settings["split"] == "holdout":
        train, test = train_test_split(kept, test_size=settings["test_size"], random_state=run, stratify=y[kept])
        return train, test
    folds, labels = settings["folds"], y[kept]
    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=run // folds + 1, random_state=0)
    train, test = list(splitter.split(labels, labels))[run]
    return kept[train], kept[test]


def subsample(rows: np.ndarray, y: np.ndarray, most: int | None, seed: int) -> np.ndarray:
    """At most ``most`` of the rows, stratified by class."""
    if not most or len(rows) <= most:
        return rows
    return train_test_split(rows, train_size=most, random_state=seed, stratify=y[rows])[0]


def hide_labels(split: Split, labelled: int, unlabelled: int, run: int) -> tuple[Any, np.ndarray]:
    """Some of the training rows with most labels replaced by -1; at least two rows of each class keep theirs."""
    order = np.random.default_rng(run).permutation(len(split.y))
    pos, neg = order[split.y[order]], order[~split.y[order]]
    if min(len(pos), len(neg), labelled // 2) < 2:
        got = f"{len(pos)} positives, {len(neg)} negatives and {labelled} labels"
        raise ValueError(f"Few labels expect two rows of each class at least, all labelled; got {got}.")
    first = np.isin(order, np.concatenate([pos[:2], neg[:2]]))
    order = np.concatenate([order[first], order[~first]])[: labelled + unlabelled]
    return split.X[order], np.where(np.arange(len(order)) < labelled, split.y[order].astype(int), -1)


def row_norm(X: Any) -> float:
    """The root mean square of the Euclidean norms of the rows."""
    squares = X.multiply(X).sum() if sparse.issparse(X) else np.einsum("ij,ij->", X, X, dtype=np.float64)
    return float(np.sqrt(squares / X.shape[0]))


def tuning_folds(y: np.ndarray, settings: Settings, run: int) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """(rows, folds): the training rows that parameters are tuned on, and inner folds of them."""
    rows = subsample(np.arange(len(y)), y, settings.get("tune_rows"), run)
    folds = min(settings["inner_folds"], np.bincount(y[rows].astype(int), minlength=2).min())
    if folds < 2:
        raise ValueError(f"Tuning expects two rows of each class at least; the training part of run {run} has fewer.")
    splitter = StratifiedKFold(folds, shuffle=True, random_state=run)
    return rows, list(splitter.split(rows, y[rows]))
