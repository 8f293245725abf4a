"""Which of the candidates to use, or how much of each."""

from typing import NamedTuple

import numpy as np

from auclid.metrics._auc import auc_from_parts
from auclid.square import LeastSquaresAUC

SHRINK = 0.1
"""The penalty on the weights of a blend: it pulls members that say the same towards equal shares."""

SMALLEST = 0.02
"""A member with a smaller share of a blend is not worth its time."""


class Choice(NamedTuple):
    """A weight for each name in use and the held-out scores of that; how the blend did, used or not."""

    weights: dict
    scores: list
    blend_scores: list | None = None
    blend_aucs: np.ndarray | None = None


def choose(trials, labels, repeats):
    """The `Choice` from trials by name.

    The best single model, or the best of simpler ones that it is not ahead of; a blend where that is ahead of it.
    ``labels`` are those of each fold's held-out rows; the folds are ``repeats`` times all rows.
    """
    names, aucs = list(trials), np.column_stack([trial.aucs for trial in trials.values()])
    best = simplest(aucs, np.array([trial.level for trial in trials.values()]), repeats)
    single = Choice({names[best]: 1.0}, trials[names[best]].scores)
    if len(names) == 1:
        return single
    parts = [np.column_stack(part) for part in zip(*(trial.scores for trial in trials.values()), strict=True)]
    blended = [part @ blend(parts, labels, others(k, len(parts) // repeats)) for k, part in enumerate(parts)]
    blend_aucs = np.array([auc_from_parts(y, scores) for y, scores in zip(labels, blended, strict=True)])
    weights = {name: float(w) for name, w in zip(names, blend(parts, labels, range(len(parts))), strict=True) if w}
    if len(weights) > 1 and ahead(blend_aucs - aucs[:, best], repeats):
        return Choice(weights, blended, blended, blend_aucs)
    return single._replace(blend_scores=blended, blend_aucs=blend_aucs)


def simplest(aucs, levels, repeats):
    """The best column of the lowest level that the best of all is not ahead of; of equals, the first."""
    means = aucs.mean(axis=0)
    firsts = [int(np.where(levels == level, means, -1.0).argmax()) for level in np.unique(levels)]
    best = aucs[:, means.argmax()]
    return next(first for first in firsts if not ahead(best - aucs[:, first], repeats))


def ahead(gains, repeats):
    """Whether gains over folds are beyond noise: their mean above one standard error.

    Repeats hold the same rows again, so they do not count as more folds.
    """
    return bool(gains.mean() > gains.std(ddof=1) / np.sqrt(len(gains) / repeats))


def others(k, size):
    """The other folds of the k-th fold's repeat, ``size`` a repeat: the other repeats hold its rows too."""
    start = k - k % size
    return [fold for fold in range(start, start + size) if fold != k]


def blend(parts, labels, used):
    """Weights, not negative and of sum 1, that maximise AUC on the held-out scores of the folds in use."""
    X, y = np.concatenate([parts[k] for k in used]), np.concatenate([labels[k] for k in used])
    w = LeastSquaresAUC(alpha=SHRINK, positive=True).fit(X, y).coef_[0]
    w = w / w.sum() if w.sum() > 0.0 else np.full(len(w), 1.0 / len(w))
    w[w < SMALLEST] = 0.0
    return w / w.sum()
