"""The search: candidates are tried one after the other; at any time it can be concluded."""

from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel
from scipy import sparse
from sklearn.model_selection import train_test_split

from auclid.auto._arranged import Arranged, arranged
from auclid.auto._candidates import MANY_ROWS, Candidate, Table, candidates, with_more_trees
from auclid.auto._choose import choose
from auclid.auto._cost import Clock, fits
from auclid.auto._leaderboard import FILLED, leaderboard, untried
from auclid.auto._learners import kept, learn, less_penalised
from auclid.auto._rows import Rows, dense, rows_of
from auclid.auto._trial import Beyond, Task, Trial, block_scores, folds, standardised, tried
from auclid.baselines import has_missing
from auclid.columns import Columns
from auclid.metrics._operating_point import best_threshold
from auclid.stats.odds import calibrated, log_odds
from auclid.trees.structs import Trees

SEARCHED = 10_000
"""Rows on which candidates are compared, where there are more; the chosen ones are then fitted on all."""

ENOUGH = 500
"""Rows of the rarer class that should be among them, if it takes more rows."""

MOST = 5
"""Times SEARCHED, beyond which no rows are added for the sake of the rarer class."""


class Member(NamedTuple):
    """A fitted model that counts as weight·(score − middle)/spread."""

    name: str
    weight: float
    middle: float
    spread: float
    raw: bool
    model: Any


class Plan(NamedTuple):
    """What a user asked for."""

    names: list[str]
    cv: int
    seed: int
    max_fpr: float
    budget: float | None
    start: float = 0.0
    """When the fit began, by `time.perf_counter`."""


class Search:
    """Trials of candidates on one table, and the model they lead to."""

    def __init__(
        self,
        columns: Columns,
        X: Any,
        is_pos: np.ndarray,
        weight: np.ndarray | None,
        groups: np.ndarray | None,
        plan: Plan,
    ) -> None:
        found = arranged(Arranged(rows_of(columns, X), is_pos, weight, groups, plan.cv))
        self.columns, self.rows, self.is_pos, self.weight = columns, found.rows, found.is_pos, found.weight
        is_pos, weight, groups = found.is_pos, found.weight, found.groups
        part: Any = sample(is_pos, plan.seed) if isinstance(found.cv, Integral) else slice(None)  # folds know all rows
        label, own = is_pos[part], None if weight is None else weight[part]
        self.whole = isinstance(part, slice)
        rarest = int(min(label.sum(), (~label).sum()))
        table = shape_of(self.rows, int(min(is_pos.sum(), (~is_pos).sum())), plan.max_fpr)
        self.candidates = candidates(plan.names, table, plan.seed)
        parts, size = folds(found.cv, label, rarest, plan.seed, None if groups is None else groups[part])
        rows = self.rows if self.whole else self.rows.part(part)
        more = None
        if not self.whole and plan.budget is None and not table.is_sparse:  # which have to be made dense
            more = Beyond(self.rows, is_pos, weight, groups, part)
            self.candidates = [with_more_trees(each) for each in self.candidates]
        self.task = Task(rows, label, own, parts, size, found.given, plan.max_fpr, more, not self.whole)
        self.clock = Clock(plan.budget, plan.start, table, len(label))
        self.trials: dict[str, Trial] = {}
        self.dropped: dict[str, str] = {}

    def run(self, number: int, parallel: Parallel) -> None:
        """Try one candidate."""
        candidate = self.candidates[number]
        count = len(self.task.parts(candidate.level))
        if self.trials and not self.clock.room(candidate, count):
            self.dropped[candidate.name] = "dropped: more than the budget leaves"
            return
        leader = max(self.trials.values(), key=lambda trial: trial.aucs.mean(), default=None)
        late = partial(self.clock.late, candidate) if self.trials else lambda *_, **__: False
        found = tried(self.clock.timed(candidate, count), self.task, parallel, leader, late)
        if isinstance(found, str):
            self.dropped[candidate.name] = found
            return
        seconds = found.seconds / (1 if found.model is None else fits(candidate, 1))
        again = not self.whole or found.model is None
        if again and late(seconds, 0):
            self.dropped[candidate.name] = "dropped: no time is left to fit it on all rows"
            return
        self.trials[candidate.name] = found
        self.clock.took(candidate, seconds, again)

    def conclusion(self) -> dict[str, Any]:
        """The fitted attributes that follow from the trials made so far."""
        choice = choose(self.trials, self.task)
        rows = np.flatnonzero(~np.isnan(choice.scores))
        filled, names = has_missing(self.rows.plain), [candidate.name for candidate in self.candidates]
        notes = {candidate.name: FILLED for candidate in self.candidates if filled and not candidate.raw}
        rest = [
            untried(name, self.dropped.get(name, "dropped: the search ended before it"))
            for name in names
            if name not in self.trials
        ]
        members = self.members(choice.weights)
        held_out = choice.scores[rows] * self._widening(members, rows)
        return {
            "_columns": self.columns,
            "members_": members,
            "best_": next(iter(choice.weights)) if len(choice.weights) == 1 else "blend",
            "leaderboard_": leaderboard(self.trials, choice, self.task, notes) + rest,
            **odds_and_threshold(held_out, self.task.is_pos[rows], self.task.mass(rows)),
        }

    def _widening(self, members: list[Member], rows: np.ndarray) -> float:
        """The spread of the fitted blend over that of the held-out blend, on the compared rows.

        Members that were fitted again on many more rows agree more with one another than the models of folds do, so
        their weighted sum is wider. Held-out scores stand in for trees, which fit these rows too closely.
        """
        if self.whole or len(members) == 1:
            return 1.0
        before, after = np.zeros(len(rows)), np.zeros(len(rows))
        for member in members:
            held_out = self.trials[member.name].scores[rows]
            before += member.weight * held_out
            said = held_out if isinstance(member.model, Trees) else self._standard_scores(member)[rows]
            after += member.weight * said
        mass = self.task.mass(rows)
        return standardised(after, mass)[2] / standardised(before, mass)[2]

    def _standard_scores(self, member: Member) -> np.ndarray:
        """What a fitted member says of the compared rows, standardised as in the blend."""
        X = self.task.rows.plain if member.raw else self.task.rows.scaled
        return (block_scores(member.model, X, member.raw) - member.middle) / member.spread

    def members(self, weights: dict[str, float]) -> list[Member]:
        """The models in use, fitted on all rows."""
        members, waiting = [], list(weights)
        for candidate in self.candidates:
            if candidate.name not in weights:
                continue
            waiting.remove(candidate.name)
            trial, X = self.trials[candidate.name], self.rows.plain if candidate.raw else self.rows.scaled
            model = trial.model if self.whole else None
            if model is None:
                recipe = self._final(candidate, trial, waiting)
                model = kept(learn(recipe, dense(X) if candidate.raw else X, self.is_pos, self.weight), X.shape[1])
            weight = weights[candidate.name]
            judged = model if trial.model is None else trial.model
            member = Member(candidate.name, weight, trial.middle, trial.spread, candidate.raw, judged)
            members.append(refitted(member, model, self.task.rows, self.task.weight))
        return members

    def _final(self, candidate: Candidate, trial: Trial, waiting: list[str]) -> Any:
        """The recipe with what the trial has found: a penalty, or the number of trees that did best; twice the last
        number, where more rows or trees help, unless those who wait need the time."""
        if trial.stage is None:
            return less_penalised(candidate.recipe, trial.model)
        last = candidate.stages[-1]
        more = len(self.is_pos) >= MANY_ROWS and (trial.stage == last or not self.whole) and self.task.beyond is None
        seconds = None if self.clock.budget is None else self.clock.left_for(waiting)
        return candidate.recipe._replace(n_trees=2 * last if more else trial.stage, seconds=seconds)


def refitted(member: Member, model: Any, rows: Rows, weight: np.ndarray | None) -> Member:
    """The member with a model that was fitted again on more rows than these, on which the first one was judged.

    Another penalty gives other coefficients, so mean and spread are moved by what changed on these rows. Trees keep
    theirs: they fit the rows they were grown on too closely for these rows to tell.
    """
    if model is member.model or isinstance(model, Trees):
        return member._replace(model=model)
    X = rows.plain if member.raw else rows.scaled
    _, before, narrow = standardised(block_scores(member.model, X, member.raw), weight)
    _, after, wide = standardised(block_scores(model, X, member.raw), weight)
    ratio = wide / narrow
    return member._replace(middle=after + (member.middle - before) * ratio, spread=member.spread * ratio, model=model)


def shape_of(rows: Rows, rarest: int, max_fpr: float) -> Table:
    """What is known of a table before any model is tried."""
    n, d = rows.scaled.shape
    return Table(n, d, sparse.issparse(rows.plain), rarest, rows.categories, max_fpr)


def sample(is_pos: np.ndarray, seed: int) -> Any:
    """All rows, or the numbers of a stratified part of very many."""
    n, rarest = len(is_pos), min(is_pos.sum(), (~is_pos).sum())
    size = min(MOST * SEARCHED, max(SEARCHED, int(n * min(1.0, ENOUGH / rarest))))
    if n <= size:
        return slice(None)
    return train_test_split(np.arange(n), train_size=size, random_state=seed, stratify=is_pos)[0]


def odds_and_threshold(held_out: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None = None) -> dict[str, Any]:
    """The sigmoid that makes log-odds of scores, and where Youden would cut them."""
    odds = calibrated(held_out, is_pos, weight)
    return {"_odds": odds, "threshold_": float(best_threshold(is_pos, log_odds(odds, held_out), weight))}


def total(members: list[Member], columns: Columns, X: Any) -> np.ndarray:
    """The weighted sum of the members' scores."""
    rows = rows_of(columns, X)
    out = np.zeros(rows.scaled.shape[0])
    for member in members:
        said = block_scores(member.model, rows.plain if member.raw else rows.scaled, member.raw)
        out += member.weight * (said - member.middle) / member.spread
    return out
