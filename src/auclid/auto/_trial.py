"""Trying a candidate: its scores on rows that it has not seen."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from joblib import delayed
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold

from auclid.metrics._auc import auc_from_parts
from auclid.rows import as_array

REPEATS = ((30, 3), (100, 2))
"""Fewer rows of the rarer class than this: so many repeats of the folds."""


BLOCK = 1 << 14
"""Rows that are made dense at a time."""


class Trial(NamedTuple):
    """How a candidate did on every fold."""

    level: int
    """How complicated the candidate is."""
    scores: list
    """Held-out scores of each fold, with mean 0 and variance 1."""
    aucs: np.ndarray
    middle: float
    """The mean and spread that the scores had, on average over folds."""
    spread: float
    seconds: float
    """Mean time of a fit."""
    stage: int | None
    """The number of steps that did best, where there was a choice."""


def folds(cv, is_pos, rarest, seed):
    """(train, test) of stratified folds, and how often they are repeated: more where a class is small."""
    repeats = next((times for bound, times in REPEATS if rarest < bound), 1)
    splitter = RepeatedStratifiedKFold(n_splits=min(cv, rarest), n_repeats=repeats, random_state=seed)
    return list(splitter.split(is_pos, is_pos)), repeats


def tried(candidate, X, is_pos, parts, parallel):
    """The `Trial` of a candidate on rows of its kind (scaled, or raw)."""
    runs = parallel(delayed(_run)(candidate, X, is_pos, *part) for part in parts)
    labels = [is_pos[test] for _, test in parts]
    aucs = np.array([[auc_from_parts(y, s) for s in stages] for y, (stages, _) in zip(labels, runs, strict=True)])
    best = int(aucs.mean(axis=0).argmax())
    scores = [stages[best] for stages, _ in runs]
    middles, spreads = [float(s.mean()) for s in scores], [float(s.std()) or 1.0 for s in scores]
    return Trial(
        level=candidate.level,
        scores=[(s - m) / r for s, m, r in zip(scores, middles, spreads, strict=True)],
        aucs=aucs[:, best],
        middle=float(np.mean(middles)),
        spread=float(np.mean(spreads)),
        seconds=float(np.mean([seconds for _, seconds in runs])),
        stage=candidate.stages[best] if candidate.stages else None,
    )


def _run(candidate, X, is_pos, train, test):
    """Held-out scores, one array a stage, and the seconds that the fit took."""
    start = time.perf_counter()
    model = fitted(candidate, X[train], is_pos[train])
    seconds = time.perf_counter() - start
    if not candidate.stages:
        return [scores(model, X[test], candidate.raw)], seconds
    staged = enumerate(model.staged_decision_function(rows(X[test], candidate.raw)), start=1)
    return [s.ravel() for number, s in staged if number in candidate.stages], seconds


def fitted(candidate, X, is_pos, stage=None):
    """The candidate's model, fitted; it need not tell the user what it would tell its own."""
    model = clone(candidate.model)
    if stage is not None:
        model.set_params(max_iter=stage)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows(X, candidate.raw), is_pos)


def rows(X, raw):
    """Raw rows dense, since trees want them so; others as they are."""
    return as_array(X) if raw else X


def scores(model, X, raw):
    """One float64 score a row; rows that are made dense first go in blocks."""
    blocks = [slice(a, a + BLOCK) for a in range(0, X.shape[0], BLOCK)] if raw else [slice(None)]
    return np.concatenate([_scores(model, rows(X[block], raw)) for block in blocks])


def _scores(model, X):
    return np.asarray(model.decision_function(X), dtype=np.float64)
