"""How much of each candidate to use, and the leaderboard of what was compared."""

from typing import Any, NamedTuple

import numpy as np

from auclid.auto._candidates import LINEAR
from auclid.auto._trial import Trial, TrialTask
from auclid.metrics import auc_interval, compare_auc
from auclid.solvers.least_squares import LeastSquares
from auclid.stats.moments import class_moments

BLEND_PENALTY = 200.0
"""Over the rows of the rarer class, the penalty on the weights of a blend: the fewer they are, the more the weights
follow what each member achieves alone, and the less what they achieve together. Chosen on half of the benchmark tables,
and on parts of them with 40 positives."""

MIN_WEIGHT = 0.02
"""A member with a smaller share of a blend is left out: it is not worth its time."""

BLEND_ERRORS = 1.0
"""Standard errors of the difference by which the blend of all must be ahead of the mean of the simple models: where
folds are noisy it is not, and curves that look well by chance are left out. Chosen on half of the tables (mean
AUC .8973, without it .8958; 15 tables of at most 3,000 rows), confirmed on 15 others (.9517 with and without)."""

SINGLE_ERRORS = 2.0
"""Standard errors of the difference by which one member must be ahead of the blend, to be used alone: the square loss
may weigh one that is far ahead too little. With as many rows as it takes to tell, it does so on two large tables."""

FILLED = "missing values replaced by medians"
"""The note of candidates that see no missing values."""


class Blend(NamedTuple):
    """A weight for each name in use, the held-out scores of that (NaN where there are none), and its AUC on folds."""

    weights: dict[str, float]
    scores: np.ndarray
    aucs: np.ndarray


def choose_blend(trials: dict[str, Trial], task: TrialTask) -> Blend:
    """A blend of all that add to it, where it is surely ahead of the simple ones and none of its members is surely
    ahead of it.

    Its held-out scores come from weights that were found without the fold that they score.
    """
    names, S = list(trials), np.column_stack([trial.scores for trial in trials.values()])
    if len(names) == 1:
        return Blend({names[0]: 1.0}, S[:, 0], trials[names[0]].aucs)
    judged = ~np.isnan(S).any(axis=1)
    weights, held_out, aucs = _stacked(S, task, judged)
    simple = np.array([trial.level == LINEAR for trial in trials.values()])
    mean = simple / max(int(simple.sum()), 1)
    if simple.any() and not simple.all() and not _surely_ahead(task, held_out, S @ mean, BLEND_ERRORS):
        weights = mean
        held_out, aucs = _fixed_weights(task, S @ weights, held_out, judged)
    singles = [_fixed_weights(task, own, held_out, judged) for own in S.T]
    best = int(np.argmax([np.mean(own) for _, own in singles]))
    if _surely_ahead(task, singles[best][0], held_out, SINGLE_ERRORS):
        weights, (held_out, aucs) = np.eye(len(names))[best], singles[best]
    used = {name: float(w) for name, w in zip(names, weights, strict=True) if w}
    return Blend(used, held_out, np.array(aucs))


def _stacked(S: np.ndarray, task: TrialTask, judged: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """The weights of a blend; its held-out scores and their AUC, fold by fold with weights found without the fold."""
    held_out, aucs = np.full(len(S), np.nan), []
    for train, test in task.one_repeat:
        if judged[test].all():
            held_out[test] = S[test] @ blend_weights(S, task, train[judged[train]])
            aucs.append(task.auc(test, held_out[test]))
    return blend_weights(S, task, np.flatnonzero(judged)), held_out, aucs


def _fixed_weights(
    task: TrialTask, scores: np.ndarray, like: np.ndarray, judged: np.ndarray
) -> tuple[np.ndarray, list[float]]:
    """Held-out scores where ``like`` has some, and their AUC on the folds that all members were judged on."""
    aucs = [task.auc(test, scores[test]) for _, test in task.one_repeat if judged[test].all()]
    return np.where(np.isnan(like), np.nan, scores), aucs


def _surely_ahead(task: TrialTask, scores: np.ndarray, others: np.ndarray, errors: float) -> bool:
    """Whether held-out scores rank better than others, by more than so many standard errors of the difference
    (DeLong's)."""
    rows = np.flatnonzero(~np.isnan(scores))
    how: dict[str, Any] = {"sample_weight": task.weights(rows), "max_fpr": task.max_fpr}
    gain = compare_auc(task.is_pos[rows], scores[rows], others[rows], **how)
    return gain.difference > errors * (gain.high - gain.low) / (2.0 * 1.96)


def blend_weights(S: np.ndarray, task: TrialTask, used: np.ndarray) -> np.ndarray:
    """Weights, not negative and of sum 1, that maximise AUC on the held-out scores of the rows in use.

    For a partial AUC only the negatives count that the members together rank highest, twice ``max_fpr`` of them.
    """
    S, y = S[used], task.is_pos[used]
    weight = task.weights(used)
    if task.max_fpr < 1.0:
        mean = S.mean(axis=1)
        edge = np.quantile(mean[~y], max(0.0, 1.0 - 2.0 * task.max_fpr))
        top = y | (mean >= edge)
        S, y, weight = S[top], y[top], None if weight is None else weight[top]
    rarest = min(float(of.sum() if weight is None else weight[of].sum()) for of in (y, ~y))
    w = LeastSquares(BLEND_PENALTY / rarest, positive=True).from_moments(class_moments(S, y, weight)).w
    w = w / w.sum() if w.sum() > 0.0 else np.full(len(w), 1.0 / len(w))
    w[w < MIN_WEIGHT] = 0.0
    return w / w.sum()


# The leaderboard


class Entry(NamedTuple):
    """One line of the leaderboard."""

    name: str
    auc: float
    low: float
    high: float
    fit_seconds: float
    weight: float
    note: str

    def noted(self, note: str) -> "Entry":
        """The line with one more note."""
        return self._replace(note="; ".join(filter(None, [self.note, note])))


def untried(name: str, note: str, weight: float = 0.0) -> Entry:
    """The line of a candidate that was not compared."""
    return Entry(name, np.nan, np.nan, np.nan, np.nan, weight, note)


def leaderboard(trials: dict[str, Trial], blend: Blend, task: TrialTask, notes: dict[str, str]) -> list[Entry]:
    """Lines of all that was compared, the blend too, the best first; all are judged by the same rows."""
    lines, unjudged = [], np.isnan(blend.scores)
    for name, trial in trials.items():
        auc = float(trial.aucs[: len(blend.aucs)].mean())
        low, high = held_out_interval(auc, np.where(unjudged, np.nan, trial.scores), task)
        lines.append(Entry(name, auc, low, high, trial.seconds, blend.weights.get(name, 0.0), notes.get(name, "")))
    if len(trials) > 1:
        auc, used = float(blend.aucs.mean()), len(blend.weights) > 1
        low, high = held_out_interval(auc, blend.scores, task)
        seconds = sum(trial.seconds for trial in trials.values())
        lines.append(Entry("blend", auc, low, high, seconds, float(used), "" if used else "one member has all weight"))
    return sorted(lines, key=lambda line: -line.auc)


def held_out_interval(auc: float, scores: np.ndarray, task: TrialTask) -> tuple[float, float]:
    """The 95 % interval (DeLong's) around a mean over folds, from each row's held-out score."""
    rows = np.flatnonzero(~np.isnan(scores))
    pooled = auc_interval(task.is_pos[rows], scores[rows], sample_weight=task.weights(rows), max_fpr=task.max_fpr)
    return max(0.0, auc + pooled.low - pooled.auc), min(1.0, auc + pooled.high - pooled.auc)
