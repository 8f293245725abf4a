"""What came out of the comparison, a line a candidate."""

from typing import NamedTuple

import numpy as np

from auclid.auto._choose import Choice
from auclid.auto._trial import Task, Trial
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


def untried(name: str, note: str, weight: float = 0.0) -> Entry:
    """The line of a candidate that was not compared."""
    return Entry(name, np.nan, np.nan, np.nan, np.nan, weight, note)


def noted(lines: list[Entry], note: str) -> list[Entry]:
    """The lines with one more note each."""
    return [line._replace(note="; ".join(filter(None, [line.note, note]))) for line in lines]


def leaderboard(trials: dict[str, Trial], choice: Choice, task: Task, notes: dict[str, str]) -> list[Entry]:
    """Lines of all that was compared, the blend too, the best first."""
    lines, judged = [], np.isnan(choice.scores)  # all by the same rows
    for name, trial in trials.items():
        auc = float(trial.aucs[: len(choice.aucs)].mean())
        low, high = interval(auc, np.where(judged, np.nan, trial.scores), task)
        lines.append(Entry(name, auc, low, high, trial.seconds, choice.weights.get(name, 0.0), notes.get(name, "")))
    if len(trials) > 1:
        auc, used = float(choice.aucs.mean()), len(choice.weights) > 1
        low, high = interval(auc, choice.scores, task)
        seconds = sum(trial.seconds for trial in trials.values())
        lines.append(Entry("blend", auc, low, high, seconds, float(used), "" if used else "one member has all weight"))
    return sorted(lines, key=lambda line: -line.auc)


def interval(auc: float, scores: np.ndarray, task: Task) -> tuple[float, float]:
    """The 95 % interval (DeLong's) around a mean over folds, from each row's held-out score."""
    rows = np.flatnonzero(~np.isnan(scores))
    pooled = auc_interval(task.is_pos[rows], scores[rows], sample_weight=task.mass(rows), max_fpr=task.max_fpr)
    return max(0.0, auc + pooled.low - pooled.auc), min(1.0, auc + pooled.high - pooled.auc)
