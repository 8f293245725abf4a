"""What came out of the comparison, a line a candidate."""

from typing import NamedTuple

import numpy as np

from auclid.metrics import auc_interval

FILLED = "missing values replaced by medians"


class Entry(NamedTuple):
    """One line of the leaderboard."""

    name: str
    auc: float
    low: float
    high: float
    fit_seconds: float
    weight: float
    note: str


def untried(name, note, weight=0.0):
    """The line of a candidate that was not compared."""
    return Entry(name, np.nan, np.nan, np.nan, np.nan, weight, note)


def leaderboard(trials, choice, is_pos, tests, notes):
    """Lines of all that was compared, the blend too, the best first; ``tests`` are the held-out rows of each fold."""
    lines = []
    for name, trial in trials.items():
        auc = float(trial.aucs.mean())
        low, high = interval(auc, trial.scores, is_pos, tests)
        lines.append(Entry(name, auc, low, high, trial.seconds, choice.weights.get(name, 0.0), notes.get(name, "")))
    if choice.blend_aucs is not None:
        auc, used = float(choice.blend_aucs.mean()), len(choice.weights) > 1
        note = "" if used else "not ahead by a standard error"
        low, high = interval(auc, choice.blend_scores, is_pos, tests)
        seconds = sum(trial.seconds for trial in trials.values())
        lines.append(Entry("blend", auc, low, high, seconds, float(used), note))
    return sorted(lines, key=lambda line: -line.auc)


def interval(auc, scores, is_pos, tests):
    """DeLong's 95 % interval around a mean AUC over folds, from each row's mean held-out score."""
    total = np.bincount(np.concatenate(tests), np.concatenate(scores), minlength=len(is_pos))
    pooled = auc_interval(is_pos, total)
    return max(0.0, auc + pooled.low - pooled.auc), min(1.0, auc + pooled.high - pooled.auc)
