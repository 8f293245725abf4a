"""The papers' protocols on real tables, for the long tests: splits, standardising, grids, mean AUC."""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import auclid

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))
import tables

needs_data = pytest.mark.skipif(
    not os.environ.get("AUCLID_DATA"), reason="set AUCLID_DATA to the folder with the benchmark tables"
)


def whole(name):
    """All rows of a table (training and test parts together) and which are positive."""
    parts = [tables.raw(name, part) for part in (("train", "test") if _in_parts(name) else (None,))]
    labels = np.concatenate([y for _, y in parts])
    return np.concatenate([X for X, _ in parts]).astype(np.float64), tables.positive(name, labels)


def _in_parts(name):
    return (Path(os.environ["AUCLID_DATA"]) / f"{name}.train.npz").exists()


def mean_auc(name, method, grid, splits):
    """Mean test AUC of a method by its paper's name, parameters chosen by 5 folds of each training part."""
    X, y = whole(name)
    scores = []
    for seed, (train, test) in enumerate(splits.split(X, y)):
        estimator = auclid.make(method)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=seed)
        step = type(estimator).__name__.lower()
        grid_here = {f"{step}__{key}": values for key, values in grid.items()}
        search = GridSearchCV(make_pipeline(StandardScaler(), estimator), grid_here, scoring="roc_auc", cv=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X[train], y[train])
        scores.append(search.score(X[test], y[test]))
    return float(np.mean(scores))


def met(ours, published, std):
    """Whether a figure lies within max(published std, 0.005) of the published one, or above it."""
    return ours >= published - max(std, 0.005)


def surely_below(ours, published, std, runs):
    """Whether our folds lie below a figure that a paper has as the mean of so many runs with deviation ``std``.

    They do where the record would call it missed (by more than the deviation, and 0.005 at the least), and surely so:
    by more than two standard errors of the difference of the two means, so that the luck of few draws does not decide.
    """
    error = np.hypot(np.std(ours, ddof=1) / np.sqrt(len(ours)), std / np.sqrt(runs))
    return published - np.mean(ours) > max(std, 0.005, 2.0 * error)


TWENTY_SPLITS = StratifiedShuffleSplit(20, test_size=0.2, random_state=0)
FIVE_BY_FIVE = RepeatedStratifiedKFold(n_splits=5, n_repeats=5, random_state=0)
