"""How much of each candidate to use."""

from typing import Any, NamedTuple

import numpy as np

from auclid.auto._candidates import LINEAR
from auclid.auto._trial import Task, Trial
from auclid.metrics import compare_auc
from auclid.solvers.least_squares import LeastSquares
from auclid.stats.moments import class_moments

SHRINK = 200.0
"""Over the rows of the rarer class, the penalty on the weights of a blend: the fewer they are, the more the weights
follow what each member achieves alone, and the less what they achieve together. Chosen on half of the benchmark tables,
and on parts of them with 40 positives."""

SMALLEST = 0.02
"""A member with a smaller share of a blend is not worth its time."""


ERRORS = 1.0
"""Standard errors of the difference by which the blend of all must be ahead of the mean of the simple models: where
folds are noisy it is not, and curves that look well by chance are left out. Chosen on half of the tables (mean
AUC .8973, without it .8958; 15 tables of at most 3,000 rows), confirmed on 15 others (.9517 with and without)."""


SURELY = 2.0
"""Standard errors of the difference by which one member must be ahead of the blend, to be used alone: the square loss
may weigh one that is far ahead too little. With as many rows as it takes to tell, it does so on two large tables."""


class Choice(NamedTuple):
    """A weight for each name in use, the held-out scores of that (NaN where there are none), and its AUC on folds."""

    weights: dict[str, float]
    scores: np.ndarray
    aucs: np.ndarray


def choose(trials: dict[str, Trial], task: Task) -> Choice:
    """The `Choice` from trials by name: a blend of all that add to it, where it is surely ahead of the simple ones and
    none of its members is surely ahead of it.

    Its held-out scores come from weights that were found without the fold that they score.
    """
    names, S = list(trials), np.column_stack([trial.scores for trial in trials.values()])
    if len(names) == 1:
        return Choice({names[0]: 1.0}, S[:, 0], trials[names[0]].aucs)
    judged = ~np.isnan(S).any(axis=1)
    held_out, areas = np.full(len(S), np.nan), []
    for train, test in task.folds[: task.size]:
        if judged[test].all():
            held_out[test] = S[test] @ blend(S, task, train[judged[train]])
            areas.append(task.area(test, held_out[test]))
    found = blend(S, task, np.flatnonzero(judged))
    simple = np.array([trial.level == LINEAR for trial in trials.values()])
    if simple.any() and not simple.all() and not _ahead(task, held_out, S @ (simple / simple.sum()), ERRORS):
        found = simple / simple.sum()
        held_out, areas = _fixed(task, S @ found, held_out, judged)
    singles = [_fixed(task, own, held_out, judged) for own in S.T]
    best = int(np.argmax([np.mean(own) for _, own in singles]))
    if _ahead(task, singles[best][0], held_out, SURELY):
        found, (held_out, areas) = np.eye(len(names))[best], singles[best]
    weights = {name: float(w) for name, w in zip(names, found, strict=True) if w}
    return Choice(weights, held_out, np.array(areas))


def _fixed(task: Task, scores: np.ndarray, like: np.ndarray, judged: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """Held-out scores where others have some, and their AUC on the folds that these were judged on."""
    areas = [task.area(test, scores[test]) for _, test in task.folds[: task.size] if judged[test].all()]
    return np.where(np.isnan(like), np.nan, scores), areas


def _ahead(task: Task, scores: np.ndarray, others: np.ndarray, errors: float) -> bool:
    """Whether held-out scores rank better than others, by more than so many standard errors of the difference
    (DeLong's)."""
    rows = np.flatnonzero(~np.isnan(scores))
    how: dict[str, Any] = {"sample_weight": task.mass(rows), "max_fpr": task.max_fpr}
    gain = compare_auc(task.is_pos[rows], scores[rows], others[rows], **how)
    return gain.difference > errors * (gain.high - gain.low) / (2.0 * 1.96)


def blend(S: np.ndarray, task: Task, used: np.ndarray) -> np.ndarray:
    """Weights, not negative and of sum 1, that maximise AUC on the held-out scores of the rows in use.

    For a partial AUC only the negatives count that the members together rank highest, twice ``max_fpr`` of them.
    """
    S, y = S[used], task.is_pos[used]
    weight = task.mass(used)
    if task.max_fpr < 1.0:
        mean = S.mean(axis=1)
        edge = np.quantile(mean[~y], max(0.0, 1.0 - 2.0 * task.max_fpr))
        top = y | (mean >= edge)
        S, y, weight = S[top], y[top], None if weight is None else weight[top]
    rarest = min(float(of.sum() if weight is None else weight[of].sum()) for of in (y, ~y))
    w = LeastSquares(SHRINK / rarest, positive=True).from_moments(class_moments(S, y, weight)).w
    w = w / w.sum() if w.sum() > 0.0 else np.full(len(w), 1.0 / len(w))
    w[w < SMALLEST] = 0.0
    return w / w.sum()
