"""The search: candidates are tried one after the other; at any time it can be concluded."""

import logging
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel
from scipy import sparse
from sklearn.model_selection import train_test_split

from auclid import _sizes
from auclid.auto._blend import FILLED, choose_blend, leaderboard, untried
from auclid.auto._candidates import Candidate, TableShape, candidates
from auclid.auto._cost import TimeBudget, fit_count
from auclid.auto._folds import make_folds
from auclid.auto._judge import Judge
from auclid.auto._learners import fit_candidate, with_smaller_alphas, without_lightgbm
from auclid.auto._network import Networks
from auclid.auto._preparation import PreparedRows, TrainingSet, canonical, dense, prepare
from auclid.auto._trial import AllRows, Trial, TrialTask, block_scores, run_trial
from auclid.baselines import has_missing
from auclid.columns import Columns
from auclid.stats.odds import class_masses, fit_sigmoid, prior_log_odds, standardize
from auclid.stats.weights import normalize_weights
from auclid.trees.structs import Trees

LOGGER = logging.getLogger("auclid")


class Member(NamedTuple):
    """A fitted model that counts as weight·(score − middle)/spread."""

    name: str
    weight: float
    middle: float
    spread: float
    raw: bool
    model: Any


class SearchSettings(NamedTuple):
    """What a user asked for."""

    names: list[str]
    cv: Any
    seed: int
    judge: Judge
    budget: float | None
    quality: str = "default"
    start: float = 0.0
    """When the fit began, by `time.perf_counter`."""


class Search:
    """Trials of candidates on one table, and the model they lead to."""

    def __init__(self, columns: Columns, given: TrainingSet, settings: SearchSettings) -> None:
        every = canonical(given)
        self.columns, self.rows, self.is_pos, self.weight = columns, every.rows, every.is_pos, every.weight
        rarest = int(min(every.is_pos.sum(), (~every.is_pos).sum()))
        shape = shape_of(every.rows, rarest, settings.judge.max_fpr, settings.quality)
        self.candidates = candidates(settings.names, shape, settings.seed)
        compared = compared_rows(every, settings.seed)
        self.whole = compared is None
        all_rows = None
        if compared is not None and settings.budget is None and not shape.is_sparse:  # which have to be made dense
            all_rows = AllRows(every.rows, every.is_pos, every.weight, every.groups, every.time, compared)
        some = every if compared is None else every.take(compared)
        rarest = int(min(some.is_pos.sum(), (~some.is_pos).sum()))
        folds, size = make_folds(some.cv, some.is_pos, rarest, settings.seed, some.groups, some.time)
        how = every.has_given_folds, settings.judge, all_rows, not self.whole
        self.task = TrialTask(some.rows, some.is_pos, some.weight, folds, size, *how)
        self.budget = TimeBudget(settings.budget, settings.start, shape, len(some.is_pos))
        self.trials: dict[str, Trial] = {}
        self.dropped: dict[str, str] = {}

    def run(self, number: int, parallel: Parallel) -> None:
        """Try one candidate."""
        candidate = self.candidates[number]
        LOGGER.info("AUCClassifier tries %s, candidate %d of %d", candidate.name, number + 1, len(self.candidates))
        count = len(self.task.folds_for(candidate.level))
        if self.trials and not self.budget.has_room(candidate, count):
            self.dropped[candidate.name] = "dropped: more than the budget leaves"
            return
        leader = max(self.trials.values(), key=lambda trial: trial.values.mean(), default=None)
        is_late = partial(self.budget.is_late, candidate) if self.trials else lambda *_, **__: False
        trial = run_trial(self.budget.limited(candidate, count), self.task, parallel, leader, is_late)
        if isinstance(trial, str):
            self.dropped[candidate.name] = trial
            return
        seconds = trial.seconds / (1 if trial.model is None else fit_count(candidate, 1))
        again = not self.whole or trial.model is None
        if again and is_late(seconds, 0):
            self.dropped[candidate.name] = "dropped: no time is left to fit it on all rows"
            return
        self.trials[candidate.name] = trial
        self.budget.add(candidate, seconds, again)

    def conclusion(self) -> dict[str, Any]:
        """The fitted attributes that follow from the trials made so far."""
        blend = choose_blend(self.trials, self.task)
        rows = np.flatnonzero(~np.isnan(blend.scores))
        filled = has_missing(self.rows.plain)
        notes = {candidate.name: FILLED for candidate in self.candidates if filled and not candidate.raw}
        rest = [
            untried(candidate.name, self.dropped.get(candidate.name, "dropped: the search ended before it"))
            for candidate in self.candidates
            if candidate.name not in self.trials
        ]
        members = self.members(blend.weights)
        held_out = blend.scores[rows] * self._widening(members, rows)
        return {
            "_columns": self.columns,
            "members_": members,
            "best_": next(iter(blend.weights)) if len(blend.weights) == 1 else "blend",
            "leaderboard_": leaderboard(self.trials, blend, self.task, notes) + rest,
            **odds_and_threshold(held_out, self.task.is_pos[rows], self.task.weights(rows)),
        }

    def _widening(self, members: list[Member], rows: np.ndarray) -> float:
        """The spread of the fitted blend over that of the held-out blend, on the compared rows.

        Members that were fitted again on many more rows agree more with one another than the models of folds do, so
        their weighted sum is wider. Held-out scores stand in for trees and networks, which fit these
        rows too closely.
        """
        if self.whole or len(members) == 1:
            return 1.0
        before, after = np.zeros(len(rows)), np.zeros(len(rows))
        for member in members:
            held_out = self.trials[member.name].scores[rows]
            before += member.weight * held_out
            fitted = held_out if isinstance(member.model, Trees | Networks) else self._standard_scores(member)[rows]
            after += member.weight * fitted
        weight = self.task.weights(rows)
        return standardize(after, weight)[2] / standardize(before, weight)[2]

    def _standard_scores(self, member: Member) -> np.ndarray:
        """The scores of the compared rows by a fitted member, standardised as in the blend."""
        X = self.task.rows.plain if member.raw else self.task.rows.scaled
        return (block_scores(member.model, X, member.raw) - member.middle) / member.spread

    def members(self, weights: dict[str, float]) -> list[Member]:
        """The models in use, fitted on all rows."""
        members, waiting = [], list(weights)
        for candidate in (each for each in self.candidates if each.name in weights):
            waiting.remove(candidate.name)
            trial = self.trials[candidate.name]
            model = trial.model if self.whole else None
            if model is None:
                model = self._final_model(candidate, trial, waiting)
            judged = model if trial.model is None else trial.model
            placed = trial.middle, trial.spread
            if trial.placement is not None:
                scores = block_scores(model, self.task.rows_for(candidate), candidate.raw)
                placed = trial.placement.apply(scores, self.task.weight)
            member = Member(candidate.name, weights[candidate.name], *placed, candidate.raw, judged)
            members.append(refitted(member, model, self.task.rows, self.task.weight))
        return members

    def _final_model(self, candidate: Candidate, trial: Trial, waiting: list[str]) -> Any:
        """The model of all rows; ``waiting`` are the candidates that are fitted after it."""
        X = dense(self.rows.plain) if candidate.raw else self.rows.scaled
        model = fit_candidate(self._final_recipe(candidate, trial, waiting), X, self.is_pos, self.weight)
        return without_lightgbm(model, X.shape[1])

    def _final_recipe(self, candidate: Candidate, trial: Trial, waiting: list[str]) -> Any:
        """The recipe with what the trial has found: a penalty, or the number of trees that did best, unless later
        candidates need the budget."""
        if trial.stage is None:
            return with_smaller_alphas(candidate.recipe, trial.model)
        seconds = None if self.budget.budget is None else self.budget.left_for(waiting)
        return candidate.recipe._replace(n_trees=trial.stage, seconds=seconds)


def refitted(member: Member, model: Any, rows: PreparedRows, weight: np.ndarray | None) -> Member:
    """The member with a model that was fitted again on more rows than these, on which the first one was judged.

    Another penalty gives other coefficients, so mean and spread are moved by what changed on these rows. Trees keep
    theirs: they fit the rows they were grown on too closely for these rows to tell.
    """
    if model is member.model or isinstance(model, Trees):
        return member._replace(model=model)
    X = rows.plain if member.raw else rows.scaled
    _, before, old_spread = standardize(block_scores(member.model, X, member.raw), weight)
    _, after, new_spread = standardize(block_scores(model, X, member.raw), weight)
    ratio = new_spread / old_spread
    return member._replace(middle=after + (member.middle - before) * ratio, spread=member.spread * ratio, model=model)


def shape_of(rows: PreparedRows, rarest: int, max_fpr: float, quality: str) -> TableShape:
    """The shape of prepared rows with so many of the rarer class, and what was asked for."""
    n, d = rows.scaled.shape
    return TableShape(n, d, sparse.issparse(rows.plain), rarest, rows.categories, max_fpr, quality)


def compared_rows(every: TrainingSet, seed: int) -> np.ndarray | None:
    """The numbers of a stratified sample of very many rows; None: all, as it is where folds of one's own know all."""
    if not isinstance(every.cv, Integral):
        return None
    n, rarest = len(every.is_pos), min(every.is_pos.sum(), (~every.is_pos).sum())
    enough = int(n * min(1.0, _sizes.MIN_COMPARED_CLASS_ROWS / rarest))
    size = min(_sizes.MAX_COMPARED_FACTOR * _sizes.COMPARED_ROWS, max(_sizes.COMPARED_ROWS, enough))
    if n <= size:
        return None
    return train_test_split(np.arange(n), train_size=size, random_state=seed, stratify=every.is_pos)[0]


def odds_and_threshold(held_out: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None = None) -> dict[str, Any]:
    """The fitted attributes that held-out scores give: the sigmoid, and the threshold of `predict`."""
    odds = fit_sigmoid(held_out, is_pos, normalize_weights(weight))
    return {"_odds": odds, "threshold_": prior_log_odds(class_masses(is_pos, weight))}


def blend_scores(members: list[Member], columns: Columns, X: Any) -> np.ndarray:
    """The weighted sum of the members' scores."""
    rows = prepare(columns, X)
    out = np.zeros(rows.scaled.shape[0])
    for member in members:
        scores = block_scores(member.model, rows.plain if member.raw else rows.scaled, member.raw)
        out += member.weight * (scores - member.middle) / member.spread
    return out
