"""Trying a candidate: its scores on rows that it has not seen."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from auclid import _sizes
from auclid.auto._candidates import LINEAR_MODEL, Candidate
from auclid.auto._cost import fit_count
from auclid.auto._folds import Split
from auclid.auto._judge import Judge
from auclid.auto._learners import (
    Forest,
    OutOfFoldFit,
    fit_candidate,
    fold_scores_at_once,
    forest_stages,
    grow_forest,
    held_out_within,
    merge_forests,
    model_scores,
    staged_scores,
)
from auclid.auto._preparation import PreparedRows, dense
from auclid.stats.odds import standardize
from auclid.trees.structs import Trees

DENSE_BLOCK_ROWS = 1 << 14
"""Rows that are made dense at a time."""

TRIAL_FIRST_FOLDS = 2
"""Folds after which a candidate may be given up."""

MAX_GAP, GAP_ERRORS = 0.01, 2.0
"""A candidate is given up that is behind the leader by so much, and so many standard errors."""

RACE_GAP = 0.03
"""The gap for a candidate that has learnt from `_sizes.RACE_ROWS` rows only, beside a leader that knows all."""

FIRST_TREES, FIRST_TREES_GAP = 100, 0.05
"""Trees after which a forest is given up that is so far behind, and two standard errors. Each row is out of the bag of
37 of a hundred trees: with fewer, a forest looks worse than it is."""


class AllRows(NamedTuple):
    """All rows of a table of which some are compared."""

    rows: PreparedRows
    is_pos: np.ndarray
    weight: np.ndarray | None
    groups: np.ndarray | None
    time: np.ndarray | None
    compared: np.ndarray
    """The numbers of those that are compared."""

    def without(self, test: np.ndarray) -> np.ndarray:
        """The numbers of all rows but those that are held out, by their place among the compared, others of their
        groups, and rows of the same time or later."""
        left = np.ones(len(self.is_pos), dtype=bool)
        left[self.compared[test]] = False
        if self.groups is not None:
            left &= ~np.isin(self.groups, self.groups[self.compared[test]])
        if self.time is not None:
            left &= self.time < self.time[self.compared[test]].min()
        return np.flatnonzero(left)


class TrialTask(NamedTuple):
    """The rows and folds that all candidates are tried on."""

    rows: PreparedRows
    is_pos: np.ndarray
    weight: np.ndarray | None
    folds: list[Split]
    """(train, test): repeat after repeat, each holding out every row once."""
    size: int
    """Folds of a repeat."""
    has_given_folds: bool
    """Whether the user says which rows are held out together."""
    judge: Judge
    all_rows: AllRows | None = None
    """The rows that boosting learns from, if there are more: it gains most from them."""
    is_sample: bool = False
    """Whether there are more rows than are compared."""

    @property
    def one_repeat(self) -> list[Split]:
        """Folds that hold out every row once."""
        return self.folds[: self.size]

    def folds_for(self, level: int) -> list[Split]:
        """The folds of a candidate: all for simple ones, for others as many as hold out enough rows of each class."""
        if level == LINEAR_MODEL:
            return self.folds
        for count in range(TRIAL_FIRST_FOLDS, self.size):
            rows = self.held_out(count)
            if min(self.is_pos[rows].sum(), (~self.is_pos[rows]).sum()) >= _sizes.MIN_ROWS_HELD_OUT:
                return self.folds[:count]
        return self.one_repeat

    def rows_for(self, candidate: Candidate) -> Any:
        """The rows as a candidate wants them."""
        return self.rows.plain if candidate.raw else self.rows.scaled

    def held_out(self, count: int) -> np.ndarray:
        """The rows that the first folds hold out."""
        return np.concatenate([test for _, test in self.folds[:count]])

    def weights(self, index: np.ndarray) -> np.ndarray | None:
        """The weights of some rows."""
        return None if self.weight is None else self.weight[index]

    def value(self, test: np.ndarray, held_out: np.ndarray) -> float:
        """The metric of the search, of scores of the rows ``test``."""
        return self.judge.value(self.is_pos[test], held_out, self.weights(test))


class Trial(NamedTuple):
    """How a candidate did."""

    level: int
    scores: np.ndarray
    """A held-out score of each row: standardised in each fold, averaged over repeats; NaN where none was held out."""
    values: np.ndarray
    """The metric of the search on each fold."""
    middle: float
    """The mean and spread that the scores had, on average over folds."""
    spread: float
    seconds: float
    """Mean time of a fit."""
    stage: int | None = None
    """The number of trees that did best, where there was a choice."""
    model: Any = None
    """The model of all rows, where it was judged by rows that its parts have not seen."""
    placement: "Placement | None" = None
    """Where held-out scores lie beside training scores, where models of folds were fitted one by one."""


class Placement(NamedTuple):
    """Held-out scores beside training scores: how far their mean is moved, and how much wider they are.

    The scale of an AUC ranker's scores is arbitrary and differs from fold to fold, as the penalties do that folds
    choose; so what the scores of a model are standardised by must be learnt relative to its own training scores.
    """

    shift: float
    """In units of the training spread."""
    ratio: float

    @classmethod
    def of(cls, held_out: tuple[float, float], training: tuple[float, float]) -> "Placement":
        """From the mean and spread of both."""
        return cls((held_out[0] - training[0]) / training[1], held_out[1] / training[1])

    def apply(self, scores: np.ndarray, weight: np.ndarray | None) -> tuple[float, float]:
        """The mean and spread that scores of fresh rows have by a model which gives its training rows these scores."""
        _, middle, spread = standardize(scores, weight)
        return middle + self.shift * spread, self.ratio * spread


class FoldRun(NamedTuple):
    """What a fit on a fold gives: held-out scores, an array a stage, and the seconds that it took."""

    stages: list[np.ndarray]
    seconds: float
    training: tuple[float, float] | None = None
    """Mean and spread of the training scores; None for trees, which fit their rows too closely."""


Late = Callable[..., bool]
"""Says, given seconds of a fit and folds to come, whether time runs out."""


def run_trial(
    candidate: Candidate, task: TrialTask, parallel: Parallel, leader: Trial | None, is_late: Late
) -> Trial | str:
    """The `Trial` of a candidate, or why it was given up."""
    curved, rows = candidate.level != LINEAR_MODEL, task.rows_for(candidate)
    if leader is not None and curved and not _learns_from_all(candidate, task):
        reason = _race(candidate, task, rows, leader, is_late)
        if reason is not None:
            return reason
    at_once = None if task.has_given_folds else _trial_at_once(candidate, task, rows, leader)
    if at_once is not None:
        return at_once
    return _trial_by_folds(candidate, task, parallel, leader if curved else None, is_late)


def _learns_from_all(candidate: Candidate, task: TrialTask) -> bool:
    """Whether a candidate learns from rows beyond those that are compared."""
    return task.all_rows is not None and bool(candidate.stages)


def _trial_by_folds(
    candidate: Candidate, task: TrialTask, parallel: Parallel, leader: Trial | None, is_late: Late
) -> Trial | str:
    """The trial of a candidate that is fitted on each fold; after the first ones it may be given up."""
    folds, rows = task.folds_for(candidate.level), task.rows_for(candidate)
    run = _run_on_all if _learns_from_all(candidate, task) else _run
    runs: list[FoldRun] = []
    for some in (folds[:TRIAL_FIRST_FOLDS], folds[TRIAL_FIRST_FOLDS:]):
        runs += parallel(delayed(run)(candidate, task, rows, *fold) for fold in some)
        left, mean = len(folds) - len(runs), float(np.mean([each.seconds for each in runs]))
        if left and is_late(mean, left):
            return f"dropped: it would take {mean:.2g} s a fold, more than the budget leaves"
        if left and leader is not None:
            gap = _gap_of_best_stage(leader, task, [(folds[k][1], each.stages) for k, each in enumerate(runs)])
            if gap is not None:
                return f"dropped: behind by {gap:.3f} after {len(runs)} folds"
    return _trial_of(candidate, task, folds, runs)


def _race(candidate: Candidate, task: TrialTask, rows: Any, leader: Trial, is_late: Late) -> str | None:
    """Why a candidate that learnt from a thousand rows is given up: too far behind to make up for it, or too slow."""
    train, test = task.folds[0]
    some = _race_rows(task, train)
    if some is None:
        return None
    stages, seconds, _ = _run(candidate, task, rows, some, test)
    if is_late(seconds, fit_count(candidate, len(task.folds_for(candidate.level))), rows=_sizes.RACE_ROWS):
        return f"dropped: {seconds:.2g} s for {_sizes.RACE_ROWS:,} rows are more than the budget leaves"
    if task.is_sample and candidate.stages:
        return None  # a thousand of very many rows do not tell what all of them will
    gap = _gap_of_best_stage(leader, task, [(test, stages)], RACE_GAP)
    return None if gap is None else f"dropped: behind by {gap:.3f} when it had learnt from {_sizes.RACE_ROWS:,} rows"


def _race_rows(task: TrialTask, train: np.ndarray) -> np.ndarray | None:
    """A thousand training rows; None where there are not many more, or too few of a class are among them."""
    if len(train) < 3 * _sizes.RACE_ROWS:
        return None
    some = train[np.random.default_rng(0).permutation(len(train))[: _sizes.RACE_ROWS]]
    counted = task.is_pos[some if task.weight is None else some[task.weight[some] > 0.0]]
    return some if min(counted.sum(), (~counted).sum()) >= _sizes.MIN_RACE_CLASS_ROWS else None


def _trial_at_once(candidate: Candidate, task: TrialTask, rows: Any, leader: Trial | None) -> Trial | str | None:
    """The trial of a candidate whose one fit on all rows tells how it would have done without some of them."""
    start = time.perf_counter()
    X = dense(rows) if candidate.raw else rows
    if isinstance(candidate.recipe, Forest):
        within: OutOfFoldFit | str | None = _grow_forest(candidate.recipe, task, X, leader)
    else:
        within = held_out_within(candidate.recipe, X, task.is_pos, task.weight)
    if isinstance(within, str):
        return within
    if within is not None:
        seconds = time.perf_counter() - start
        scores, middle, spread = standardize(within.held_out, task.weight)
        values = np.array([task.value(test, within.held_out[test]) for _, test in task.one_repeat])
        return Trial(candidate.level, scores, values, middle, spread, seconds, model=within.model)
    folds = task.folds if candidate.level == LINEAR_MODEL else task.one_repeat
    repeats = [folds[k : k + task.size] for k in range(0, len(folds), task.size)]
    at_once = fold_scores_at_once(candidate.recipe, X, task.is_pos, task.weight, repeats)
    if at_once is None:
        return None
    model, fold_scores = at_once
    seconds = time.perf_counter() - start
    runs = [FoldRun([scores], seconds) for scores in fold_scores]
    return _trial_of(candidate, task, folds, runs)._replace(model=model)


def _grow_forest(recipe: Forest, task: TrialTask, X: np.ndarray, leader: Trial | None) -> OutOfFoldFit | str:
    """A forest judged out of bag, or why it was given up when it was small."""
    if leader is None or recipe.n_trees <= FIRST_TREES:
        return grow_forest(recipe, X, task.is_pos, task.weight)
    first, rest = forest_stages(recipe, FIRST_TREES)
    begun = grow_forest(first, X, task.is_pos, task.weight)
    gap = _gap_to(leader, task, [(np.arange(len(task.is_pos)), begun.held_out)], FIRST_TREES_GAP)
    if gap is not None:
        return f"dropped: behind by {gap:.3f} with {FIRST_TREES} trees"
    return merge_forests(begun, grow_forest(rest, X, task.is_pos, task.weight), FIRST_TREES / recipe.n_trees)


def _gap_of_best_stage(
    leader: Trial, task: TrialTask, runs: list[tuple[np.ndarray, list[np.ndarray]]], max_gap: float = MAX_GAP
) -> float | None:
    """`_gap_to` of the stage that ranks the rows of all folds best: the last one may have too many trees."""
    values = np.array([[task.value(test, scores) for scores in stages] for test, stages in runs])
    best = int(values.mean(axis=0).argmax())
    return _gap_to(leader, task, [(test, stages[best]) for test, stages in runs], max_gap)


def _gap_to(
    leader: Trial, task: TrialTask, held_out: list[tuple[np.ndarray, np.ndarray]], max_gap: float = MAX_GAP
) -> float | None:
    """How far a candidate is behind the leader on the rows held out so far, where that is beyond noise.

    ``held_out``: the rows of each fold, and the candidate's scores of them.
    """
    rows = np.concatenate([test for test, _ in held_out])
    mine = np.concatenate([standardize(scores, task.weights(test))[0] for test, scores in held_out])
    judged = ~np.isnan(leader.scores[rows])
    rows, mine = rows[judged], mine[judged]
    if min(task.is_pos[rows].sum(), (~task.is_pos[rows]).sum()) < 2:
        return None
    gap, error = task.judge.difference(task.is_pos[rows], leader.scores[rows], mine, task.weights(rows))
    return gap if gap > max_gap + GAP_ERRORS * error else None


def _trial_of(candidate: Candidate, task: TrialTask, folds: list[Split], runs: list[FoldRun]) -> Trial:
    """The trial of the stage that did best on the folds."""
    values = np.array([[task.value(fold[1], s) for s in run.stages] for fold, run in zip(folds, runs, strict=True)])
    best = int(values.mean(axis=0).argmax())
    total, times = np.zeros(len(task.is_pos)), np.zeros(len(task.is_pos))
    placed = []
    for (_, test), run in zip(folds, runs, strict=True):
        scores, middle, spread = standardize(run.stages[best], task.weights(test))
        total[test] += scores
        times[test] += 1.0
        placed.append((middle, spread))
    middle, spread = (float(x) for x in np.mean(placed, axis=0))
    seconds = float(np.mean([run.seconds for run in runs]))
    stage = candidate.stages[best] if candidate.stages else None
    relative = [Placement.of(own, run.training) for own, run in zip(placed, runs, strict=True) if run.training]
    placement = Placement(*(float(x) for x in np.mean(relative, axis=0))) if relative else None
    total[times == 0.0] = np.nan
    scores = total / np.maximum(times, 1.0)
    return Trial(candidate.level, scores, values[:, best], middle, spread, seconds, stage, placement=placement)


def _run_on_all(candidate: Candidate, task: TrialTask, source: Any, _: np.ndarray, test: np.ndarray) -> FoldRun:
    """`_run` of a candidate that learns from all rows that are not held out, compared or not."""
    assert task.all_rows is not None
    every, train = task.all_rows, task.all_rows.without(test)
    weight = None if every.weight is None else every.weight[train]
    training = dense(every.rows.plain[train]), every.is_pos[train], weight
    return _fit_and_score(candidate, training, dense(source[test]))


def _run(candidate: Candidate, task: TrialTask, source: Any, train: np.ndarray, test: np.ndarray) -> FoldRun:
    """The scores of held-out rows by a model of the others."""
    X, held_out = (dense(source[part]) if candidate.raw else source[part] for part in (train, test))
    return _fit_and_score(candidate, (X, task.is_pos[train], task.weights(train)), held_out)


def _fit_and_score(candidate: Candidate, training: tuple[Any, np.ndarray, np.ndarray | None], held_out: Any) -> FoldRun:
    start = time.perf_counter()
    model = fit_candidate(candidate.recipe, *training)
    seconds = time.perf_counter() - start
    if candidate.stages:
        return FoldRun(staged_scores(model, held_out, candidate.stages), seconds)
    scores = [model_scores(model, held_out)]
    if isinstance(model, Trees):
        return FoldRun(scores, seconds)
    X, _, weight = training
    return FoldRun(scores, seconds, standardize(model_scores(model, X), weight)[1:])


def block_scores(model: Any, X: Any, raw: bool, block_rows: int = DENSE_BLOCK_ROWS) -> np.ndarray:
    """One float64 score a row; rows that are made dense first go in blocks."""
    if not raw:
        return model_scores(model, X)
    blocks = [slice(a, a + block_rows) for a in range(0, X.shape[0], block_rows)]
    return np.concatenate([model_scores(model, dense(X[block])) for block in blocks])
