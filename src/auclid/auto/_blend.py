"""How much of each candidate to use, and the leaderboard of what was compared."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.optimize import nnls
from scipy.special import expit

from auclid.auto._judge import Judge
from auclid.auto._trial import Trial, TrialTask

STACK_PENALTY = 2.0
"""Over the rows of the rarer class, the penalty on the weights of a blend. Chosen on half of the benchmark tables, and
on parts of them with 25 positives: 1 and 3 do as well, 10 loses .0003 of AUC with many rows, and .3 .0007 with few."""

GREEDY_STEPS = 20
"""Members, with repetition, that greedy selection adds for average precision."""

MIN_WEIGHT = 0.02
"""A member with a smaller share of a blend is left out: it is not worth its time."""

FILLED = "missing values replaced by medians"
"""The note of candidates that see no missing values."""

MAX_STACK_STEPS = 50
"""Newton steps at the most."""

MAX_HALVINGS = 20
"""Times that a Newton step is halved at the most."""

CONVERGED_DECREASE = 1e-9
"""The decrease of the loss at which steps end."""


class Blend(NamedTuple):
    """A weight for each name in use, the held-out scores of that (NaN where there are none), its metric on folds."""

    weights: dict[str, float]
    scores: np.ndarray
    values: np.ndarray


def choose_blend(trials: dict[str, Trial], task: TrialTask) -> Blend:
    """A blend of all that add to it.

    Its held-out scores come from weights that were found without the fold that they score.
    """
    names, S = list(trials), np.column_stack([trial.scores for trial in trials.values()])
    if len(names) == 1:
        return Blend({names[0]: 1.0}, S[:, 0], trials[names[0]].values)
    judged = ~np.isnan(S).any(axis=1)
    held_out, values = np.full(len(S), np.nan), []
    for _, test in task.one_repeat:
        if judged[test].all():
            held_out[test] = S[test] @ blend_weights(S, task, _rows_without(task, judged, test))
            values.append(task.value(test, held_out[test]))
    weights = blend_weights(S, task, np.flatnonzero(judged))
    used = {name: float(w) for name, w in zip(names, weights, strict=True) if w}
    return Blend(used, held_out, np.array(values))


def _rows_without(task: TrialTask, judged: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Rows with held-out scores that are not in a test fold; all where these lack a class, as with a single fold."""
    others = judged.copy()
    others[test] = False
    return np.flatnonzero(others if 0 < task.is_pos[others].sum() < others.sum() else judged)


def blend_weights(S: np.ndarray, task: TrialTask, used: np.ndarray) -> np.ndarray:
    """Weights, not negative and of sum 1, that the held-out scores of some rows give.

    For average precision they are the mean of those of the stack and of greedy selection. For a partial AUC only the
    negatives count that the members together rank highest, twice ``max_fpr`` of them.
    """
    S, y, weight = S[used], task.is_pos[used], task.weights(used)
    max_fpr = task.judge.max_fpr
    if max_fpr < 1.0:
        mean = S.mean(axis=1)
        edge = np.quantile(mean[~y], max(0.0, 1.0 - 2.0 * max_fpr))
        top = y | (mean >= edge)
        S, y, weight = S[top], y[top], None if weight is None else weight[top]
    rarest = min(float(of.sum() if weight is None else weight[of].sum()) for of in (y, ~y))
    w = _shares(stack_weights(S, y, weight, STACK_PENALTY / rarest))
    if task.judge.metric == "average_precision":
        w = 0.5 * (w + greedy_weights(S, partial(task.judge.value, y, weight=weight), GREEDY_STEPS))
    w[w < min(MIN_WEIGHT, w.max())] = 0.0
    return w / w.sum()


def _shares(w: np.ndarray) -> np.ndarray:
    """Weights of sum 1; equal ones where all are 0."""
    return w / w.sum() if w.sum() > 0.0 else np.full(len(w), 1.0 / len(w))


# The leaderboard


class LeaderboardEntry(NamedTuple):
    """One line of the leaderboard."""

    name: str
    auc: float
    low: float
    high: float
    fit_seconds: float
    weight: float
    note: str
    ap: float = np.nan

    def noted(self, note: str) -> "LeaderboardEntry":
        """The line with one more note."""
        return self._replace(note="; ".join(filter(None, [self.note, note])))

    def cells(self) -> dict[str, str]:
        """The line as a notebook shows it; a candidate that was dropped early has no AUC."""
        judged = self.auc == self.auc
        return {
            "model": str(self.name),
            "AUC": f"{self.auc:.4f} [{self.low:.4f}, {self.high:.4f}]" if judged else "",
            "average precision": f"{self.ap:.4f}" if self.ap == self.ap else "",
            "weight": f"{self.weight:.2f}",
            "seconds": f"{self.fit_seconds:.2f}" if judged else "",
            "note": str(self.note),
        }


def untried(name: str, note: str, weight: float = 0.0) -> LeaderboardEntry:
    """The line of a candidate that was not compared."""
    return LeaderboardEntry(name, np.nan, np.nan, np.nan, np.nan, weight, note)


def leaderboard(
    trials: dict[str, Trial], blend: Blend, task: TrialTask, notes: dict[str, str]
) -> list[LeaderboardEntry]:
    """Lines of all that was compared, the blend too, the best first; all are judged by the same rows."""
    lines, unjudged = [], np.isnan(blend.scores)
    for name, trial in trials.items():
        scores, values = np.where(unjudged, np.nan, trial.scores), trial.values[: len(blend.values)]
        own = blend.weights.get(name, 0.0), notes.get(name, "")
        lines.append(_entry(name, scores, values, task, trial.seconds, *own))
    if len(trials) > 1:
        used, seconds = len(blend.weights) > 1, sum(trial.seconds for trial in trials.values())
        own = float(used), "" if used else "one member has all weight"
        lines.append(_entry("blend", blend.scores, blend.values, task, seconds, *own))
    by_precision = task.judge.metric == "average_precision"
    return sorted(lines, key=lambda line: -(line.ap if by_precision else line.auc))


def _entry(
    name: str, scores: np.ndarray, values: np.ndarray, task: TrialTask, seconds: float, weight: float, note: str
) -> LeaderboardEntry:
    """The line of a model with these held-out scores and this metric on each fold."""
    mean = float(values.mean())
    low, high = _interval_around(mean, scores, task)
    by_precision = task.judge.metric == "average_precision"
    other = Judge() if by_precision else Judge("average_precision")
    tests = [test for _, test in task.one_repeat if not np.isnan(scores[test]).any()]
    second = float(np.mean([other.value(task.is_pos[test], scores[test], task.weights(test)) for test in tests]))
    auc, ap = (second, mean) if by_precision else (mean, second)
    return LeaderboardEntry(name, auc, low, high, seconds, weight, note, ap)


def _interval_around(mean: float, scores: np.ndarray, task: TrialTask) -> tuple[float, float]:
    """The 95 % interval around a mean over folds, as wide as that of all held-out scores together."""
    rows = np.flatnonzero(~np.isnan(scores))
    pooled, low, high = task.judge.interval(task.is_pos[rows], scores[rows], task.weights(rows))
    return max(0.0, mean + low - pooled), min(1.0, mean + high - pooled)


def stack_weights(S: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None, penalty: float) -> np.ndarray:
    """Minimise over w ≥ 0 and b the balanced logistic loss of S w + b plus (penalty/2) |w|²; returns w.

    S (n, m) has held-out scores of m models, each with mean 0 and variance 1. Each class has half of the weight,
    whatever its share of the rows. The stronger the penalty, the more a weight follows what its model achieves alone,
    and the more alike the weights of equally good models are.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.auto._blend import stack_weights
    >>> S = np.array([[-1.0, 1.0], [0.0, -1.0], [0.2, 1.0], [1.0, -1.0]])
    >>> w = stack_weights(S, np.array([False, False, True, True]), None, 0.1)
    >>> bool(w[0] > w[1] >= 0.0)
    True
    """
    mass = np.ones(len(S)) if weight is None else weight
    mass = np.where(is_pos, 0.5 / mass[is_pos].sum(), 0.5 / mass[~is_pos].sum()) * mass
    sign, m = np.where(is_pos, 1.0, -1.0), S.shape[1]
    w = np.append(np.full(m, 1.0 / m), 0.0)

    def loss(w: np.ndarray) -> float:
        margin = sign * (S @ w[:-1] + w[-1])
        return float(mass @ np.logaddexp(0.0, -margin) + 0.5 * penalty * w[:-1] @ w[:-1])

    before = loss(w)
    for _ in range(MAX_STACK_STEPS):
        target = _newton_target(S, sign, mass, penalty, w)
        step, after, share = target - w, np.inf, 1.0
        for _ in range(MAX_HALVINGS):
            after = loss(w + share * step)
            if after <= before:
                break
            share /= 2.0
        if after > before:
            break
        w, before, decrease = w + share * step, after, before - after
        if decrease <= CONVERGED_DECREASE:
            break
    return w[:-1]


def _newton_target(S: np.ndarray, sign: np.ndarray, mass: np.ndarray, penalty: float, w: np.ndarray) -> np.ndarray:
    """The minimiser of the quadratic model at w, among weights that are not negative; b is eliminated first."""
    p = expit(-sign * (S @ w[:-1] + w[-1]))
    curvature, slope = np.maximum(mass * p * (1.0 - p), 1e-12 * mass), -mass * sign * p
    gradient, at_b = S.T @ slope + penalty * w[:-1], float(slope.sum())
    mixed, total = S.T @ curvature, float(curvature.sum())
    hessian = (S * curvature[:, None]).T @ S - np.outer(mixed, mixed) / total
    hessian[np.diag_indices_from(hessian)] += penalty
    factor = linalg.cholesky(hessian, lower=True, check_finite=False)
    aim = hessian @ w[:-1] - (gradient - mixed * at_b / total)
    moved, _ = nnls(factor.T, linalg.solve_triangular(factor, aim, lower=True, check_finite=False))
    return np.append(moved, w[-1] - (at_b + mixed @ (moved - w[:-1])) / total)


def greedy_weights(S: np.ndarray, value: Callable[[np.ndarray], float], steps: int) -> np.ndarray:
    """Shares of models in the sum of those that, added one after the other with repetition, raise a metric most.

    The sum with the best value is used, which may come before the last step (Caruana et al. 2004).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.auto._blend import greedy_weights
    >>> S, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]]), np.array([0.0, 1.0, 2.0])
    >>> greedy_weights(S, lambda scores: -np.abs(scores - y).sum(), 3)
    array([1., 0.])
    """
    total, times = np.zeros(len(S)), np.zeros(S.shape[1])
    best, best_times = -np.inf, times
    for _ in range(steps):
        values = [value(total + column) for column in S.T]
        added = int(np.argmax(values))
        total, times = total + S[:, added], times + np.eye(S.shape[1])[added]
        if values[added] > best:
            best, best_times = values[added], times
    return best_times / best_times.sum()
