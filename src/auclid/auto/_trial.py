"""Trying a candidate: its scores on rows that it has not seen."""

import time
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

from auclid.auto._candidates import LINEAR, Candidate
from auclid.auto._cost import fits
from auclid.auto._learners import (
    Fold,
    Forest,
    Judged,
    grown,
    judged_from_all,
    judged_within,
    learn,
    one_forest,
    rungs,
    staged_scores,
)
from auclid.auto._learners import scores as model_scores
from auclid.auto._rows import Rows, dense
from auclid.metrics import compare_auc, partial_auc
from auclid.metrics._auc import auc_from_parts

REPEATS = ((30, 6), (100, 4), (300, 2))
"""Fewer rows of the rarer class than this: so many repeats of the folds, for simple models."""

BLOCK = 1 << 14
"""Rows that are made dense at a time."""

ENOUGH = 100
"""Rows of the rarer class that are held out before a curved candidate is judged: two folds, or as many as it takes."""

FIRST, BEHIND, ERRORS = 2, 0.01, 2.0
"""After so many folds a candidate is given up that is behind the leader by so much, and so many standard errors."""

HEAT, SLOWER = 1_000, 0.03
"""Where folds have three times so many rows, a curved candidate first learns from so many of them: it is given up where
it is behind the leader, who knew all, by that much and two standard errors (racing on growing samples)."""

RUNG, SMALLER = 25, 0.05
"""Trees after which a forest is given up that is so far behind, and two standard errors: more of them gain some .03."""

LEAST = 25
"""Rows of the rarer class, among those thousand, below which they tell nothing."""


class Beyond(NamedTuple):
    """All rows of a table of which some are compared."""

    rows: Rows
    is_pos: np.ndarray
    weight: np.ndarray | None
    groups: np.ndarray | None
    part: np.ndarray
    """The numbers of those that are compared."""

    def without(self, test: np.ndarray) -> np.ndarray:
        """The numbers of all rows but those that are held out, by their place in the part, and others of their
        groups."""
        left = np.ones(len(self.is_pos), dtype=bool)
        left[self.part[test]] = False
        if self.groups is not None:
            left &= ~np.isin(self.groups, self.groups[self.part[test]])
        return np.flatnonzero(left)


class Task(NamedTuple):
    """What all candidates are tried on."""

    rows: Rows
    is_pos: np.ndarray
    weight: np.ndarray | None
    folds: list[Fold]
    """(train, test): repeat after repeat, each holding out every row once."""
    size: int
    """Folds of a repeat."""
    given: bool
    """Whether it was said which rows are held out together."""
    max_fpr: float
    beyond: Beyond | None = None
    """The rows that boosting learns from, if there are more: it gains most from them."""
    more: bool = False
    """Whether there are more rows than are compared."""

    def parts(self, level: int) -> list[Fold]:
        """The folds of a candidate: all for simple ones, for others as many as tell enough."""
        if level == LINEAR:
            return self.folds
        for count in range(FIRST, self.size):
            rows = self.held_out(count)
            if min(self.is_pos[rows].sum(), (~self.is_pos[rows]).sum()) >= ENOUGH:
                return self.folds[:count]
        return self.folds[: self.size]

    def held_out(self, count: int) -> np.ndarray:
        """The rows that the first folds hold out."""
        return np.concatenate([test for _, test in self.folds[:count]])

    def mass(self, index: np.ndarray) -> np.ndarray | None:
        """The weights of some rows."""
        return None if self.weight is None else self.weight[index]

    def area(self, test: np.ndarray, held_out: np.ndarray) -> float:
        """The AUC, or partial AUC, of scores of the rows ``test``."""
        weight = self.mass(test)
        if self.max_fpr == 1.0:
            return auc_from_parts(self.is_pos[test], held_out, weight)
        return partial_auc(self.is_pos[test], held_out, max_fpr=self.max_fpr, sample_weight=weight)


class Trial(NamedTuple):
    """How a candidate did."""

    level: int
    scores: np.ndarray
    """A held-out score of each row: standardised in each fold, averaged over repeats; NaN where none was held out."""
    aucs: np.ndarray
    middle: float
    """The mean and spread that the scores had, on average over folds."""
    spread: float
    seconds: float
    """Mean time of a fit."""
    stage: int | None = None
    """The number of trees that did best, where there was a choice."""
    model: Any = None
    """The model of all rows, where it was judged by rows that its parts have not seen."""


def folds(
    cv: Any, is_pos: np.ndarray, rarest: int, seed: int, groups: np.ndarray | None = None
) -> tuple[list[Fold], int]:
    """(train, test) of stratified folds and how many there are in a repeat; more repeats where a class is small.

    Rows of a group stay together. Where ``cv`` is a splitter, or gives the folds, it is as it says.
    """
    if not isinstance(cv, Integral):
        found = [(np.asarray(a), np.asarray(b)) for a, b in check_cv(cv).split(is_pos, is_pos, groups)]
        if not found:
            raise ValueError(f"The 'cv' parameter of AUCClassifier must have a fold; got {cv!r}.")
        return _both_in_each(found, is_pos, "cv"), len(found)
    repeats = next((times for bound, times in REPEATS if rarest < bound), 1)
    size, found = min(int(cv), rarest), []
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    if groups is not None and len(np.unique(groups)) < size:
        raise ValueError(
            f"The groups of AUCClassifier must be at least as many as folds, {size}; got {len(np.unique(groups))}. "
            "Use fewer folds (cv=), or finer groups."
        )
    for k in range(repeats):
        found += list(kind(size, shuffle=True, random_state=seed + k).split(is_pos, is_pos, groups))
    return _both_in_each(found, is_pos, "groups"), size


def _both_in_each(found: list[Fold], is_pos: np.ndarray, what: str) -> list[Fold]:
    for part in (part for fold in found for part in fold):
        if is_pos[part].all() or not is_pos[part].any():
            raise ValueError(
                f"The {what} of AUCClassifier must leave rows of both classes in every fold, to learn and to hold out; "
                "got a fold with rows of one class. Use fewer folds, or finer groups."
            )
    return found


def tried(candidate: Candidate, task: Task, parallel: Parallel, leader: Trial | None, late: Any) -> Trial | str:
    """The `Trial` of a candidate, or why it was given up; ``late(seconds, folds)`` says so where time runs out."""
    rows = task.rows.plain if candidate.raw else task.rows.scaled
    wide = task.beyond is not None and bool(candidate.stages)
    if leader is not None and candidate.level != LINEAR and not wide:
        hopeless = _heat(candidate, task, rows, leader, late)
        if hopeless is not None:
            return hopeless
    found = None if task.given else _judged_at_once(candidate, task, rows, leader)
    if found is not None:
        return found
    parts = task.parts(candidate.level)
    runs: list = []
    for some in (parts[:FIRST], parts[FIRST:]):
        runs += parallel(delayed(_run_beyond if wide else _run)(candidate, task, rows, *part) for part in some)
        mean = float(np.mean([own for _, own in runs]))
        if len(runs) < len(parts) and late(mean, len(parts) - len(runs)):
            return f"dropped: it would take {mean:.2g} s a fold, more than the budget leaves"
        if candidate.level != LINEAR and leader is not None and len(runs) < len(parts):
            gap = _behind(task, [(parts[k][1], run[0][-1]) for k, run in enumerate(runs)], leader)
            if gap is not None:
                return f"dropped: behind by {gap:.3f} after {len(runs)} folds"
    return _trial(candidate, task, parts, runs)


def _heat(candidate: Candidate, task: Task, rows: Any, leader: Trial, late: Any) -> str | None:
    """Why a candidate that learnt from a thousand rows is given up: too far behind to make up for it, or too slow."""
    train, test = task.folds[0]
    if len(train) < 3 * HEAT:
        return None
    some = train[np.random.default_rng(0).permutation(len(train))[:HEAT]]
    counted = task.is_pos[some if task.weight is None else some[task.weight[some] > 0.0]]
    if min(counted.sum(), (~counted).sum()) < LEAST:
        return None
    stages, seconds = _run(candidate, task, rows, some, test)
    if late(seconds, fits(candidate, len(task.parts(candidate.level))), rows=HEAT):
        return f"dropped: {seconds:.2g} s for {HEAT:,} rows are more than the budget leaves"
    if task.more and candidate.stages:
        return None  # a thousand of very many rows do not tell what all of them will
    gap = _behind(task, [(test, stages[-1])], leader, SLOWER)
    return None if gap is None else f"dropped: behind by {gap:.3f} when it had learnt from {HEAT:,} rows"


def _judged_at_once(candidate: Candidate, task: Task, rows: Any, leader: Trial | None) -> Trial | str | None:
    """The trial of a candidate whose one fit on all rows tells how it would have done without some of them."""
    start = time.perf_counter()
    seen = dense(rows) if candidate.raw else rows
    if isinstance(candidate.recipe, Forest):
        within: Judged | str | None = _forest(candidate.recipe, task, seen, leader)
    else:
        within = judged_within(candidate.recipe, seen, task.is_pos, task.weight)
    if isinstance(within, str):
        return within
    if within is not None:
        model, said = within
        seconds = time.perf_counter() - start
        scores, middle, spread = standardised(said, task.weight)
        areas = np.array([task.area(test, said[test]) for _, test in task.folds[: task.size]])
        return Trial(candidate.level, scores, areas, middle, spread, seconds, model=model)
    parts = task.folds if candidate.level == LINEAR else task.folds[: task.size]
    repeats = [parts[k : k + task.size] for k in range(0, len(parts), task.size)]
    summed = judged_from_all(candidate.recipe, seen, task.is_pos, task.weight, repeats)
    if summed is None:
        return None
    seconds = time.perf_counter() - start
    runs = [([scores], seconds) for scores in summed[1]]
    return _trial(candidate, task, parts, runs)._replace(model=summed[0])


def _forest(recipe: Forest, task: Task, seen: np.ndarray, leader: Trial | None) -> Judged | str:
    """A forest judged out of bag, or why it was given up when it was small."""
    if leader is None or recipe.n_trees <= RUNG:
        return grown(recipe, seen, task.is_pos, task.weight)
    first, rest = rungs(recipe, RUNG)
    begun = grown(first, seen, task.is_pos, task.weight)
    gap = _behind(task, [(np.arange(len(task.is_pos)), begun[1])], leader, SMALLER)
    if gap is not None:
        return f"dropped: behind by {gap:.3f} with {RUNG} trees"
    return one_forest(begun, grown(rest, seen, task.is_pos, task.weight), RUNG / recipe.n_trees)


def _behind(task: Task, found: list, leader: Trial, margin: float = BEHIND) -> float | None:
    """How far the candidate is behind the leader on the rows held out so far, where that is beyond noise."""
    rows = np.concatenate([test for test, _ in found])
    mine = np.concatenate([standardised(held_out, task.mass(test))[0] for test, held_out in found])
    judged = ~np.isnan(leader.scores[rows])
    rows, mine = rows[judged], mine[judged]
    if min(task.is_pos[rows].sum(), (~task.is_pos[rows]).sum()) < 2:
        return None
    weight = task.mass(rows)
    gap = compare_auc(task.is_pos[rows], leader.scores[rows], mine, sample_weight=weight, max_fpr=task.max_fpr)
    error = (gap.high - gap.low) / (2.0 * 1.96)
    return gap.difference if gap.difference > margin + ERRORS * error else None


def _trial(candidate: Candidate, task: Task, parts: list[Fold], runs: list) -> Trial:
    areas = np.array([[task.area(part[1], s) for s in run[0]] for part, run in zip(parts, runs, strict=True)])
    best = int(areas.mean(axis=0).argmax())
    total, repeats = np.full(len(task.is_pos), np.nan), max(1, len(parts) // task.size)
    total[task.held_out(len(parts))] = 0.0
    placed = []
    for (_, test), (stages, _) in zip(parts, runs, strict=True):
        said, middle, spread = standardised(stages[best], task.mass(test))
        total[test] += said / repeats
        placed.append((middle, spread))
    middle, spread = (float(x) for x in np.mean(placed, axis=0))
    seconds = float(np.mean([run[1] for run in runs]))
    stage = candidate.stages[best] if candidate.stages else None
    return Trial(candidate.level, total, areas[:, best], middle, spread, seconds, stage)


def standardised(held_out: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, float, float]:
    """Scores with mean 0 and variance 1, and what mean and spread they had."""
    middle = float(np.average(held_out, weights=weight))
    spread = float(np.sqrt(np.average(np.square(held_out - middle), weights=weight))) or 1.0
    return (held_out - middle) / spread, middle, spread


def _run_beyond(
    candidate: Candidate, task: Task, source: Any, _: np.ndarray, test: np.ndarray
) -> tuple[list[np.ndarray], float]:
    """`_run` of a candidate that learns from all rows that are not held out, compared or not."""
    assert task.beyond is not None
    train, whole = task.beyond.without(test), task.beyond
    weight = None if whole.weight is None else whole.weight[train]
    learnt = dense(whole.rows.plain[train]), whole.is_pos[train], weight
    return _learnt_and_scored(candidate, learnt, dense(source[test]))


def _run(
    candidate: Candidate, task: Task, source: Any, train: np.ndarray, test: np.ndarray
) -> tuple[list[np.ndarray], float]:
    """Held-out scores, one array a stage, and the seconds that the fit took."""
    seen, held_out = (dense(source[part]) if candidate.raw else source[part] for part in (train, test))
    return _learnt_and_scored(candidate, (seen, task.is_pos[train], task.mass(train)), held_out)


def _learnt_and_scored(candidate: Candidate, learnt: tuple, held_out: Any) -> tuple[list[np.ndarray], float]:
    start = time.perf_counter()
    model = learn(candidate.recipe, *learnt)
    seconds = time.perf_counter() - start
    if candidate.stages:
        return staged_scores(model, held_out, candidate.stages), seconds
    return [model_scores(model, held_out)], seconds


def block_scores(model: Any, X: Any, raw: bool) -> np.ndarray:
    """One float64 score a row; rows that are made dense first go in blocks."""
    if not raw:
        return model_scores(model, X)
    blocks = [slice(a, a + BLOCK) for a in range(0, X.shape[0], BLOCK)]
    return np.concatenate([model_scores(model, dense(X[block])) for block in blocks])
