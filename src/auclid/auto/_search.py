"""The search: candidates are tried one after the other; at any time it can be concluded."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from auclid.auto._candidates import candidates
from auclid.auto._choose import choose
from auclid.auto._columns import has_missing, learnt, scaled
from auclid.auto._leaderboard import FILLED, leaderboard, untried
from auclid.auto._odds import calibrated, log_odds
from auclid.auto._trial import fitted, folds, scores, tried
from auclid.metrics._operating_point import best_threshold

SEARCHED = 50_000
"""Rows on which candidates are compared, where there are more; the chosen ones are then fitted on all."""

ENOUGH = 200
"""Rows of the rarer class that should be among them, if it takes more rows."""


class Member(NamedTuple):
    """A fitted model that counts as weight·(score − middle)/spread."""

    name: str
    weight: float
    middle: float
    spread: float
    raw: bool
    model: Any


class Search:
    """Trials of candidates on one table, and the model they lead to."""

    def __init__(self, X, is_pos, names, cv, seed):
        self.X, self.is_pos, self.columns = X, is_pos, learnt(X)
        self.part = sample(is_pos, seed)
        self.raw, self.label = X[self.part], is_pos[self.part]
        self.scaled = scaled(self.columns, self.raw)
        rarest = int(min(self.label.sum(), (~self.label).sum()))
        self.candidates = candidates(names, X, rarest, seed)
        self.folds, self.repeats = folds(cv, self.label, rarest, seed)
        self.trials = {}

    def run(self, number, parallel):
        """Try one candidate."""
        candidate = self.candidates[number]
        rows = self.raw if candidate.raw else self.scaled
        self.trials[candidate.name] = tried(candidate, rows, self.label, self.folds, parallel)

    def conclusion(self):
        """The fitted attributes that follow from the trials made so far."""
        tests = [test for _, test in self.folds]
        labels = [self.label[test] for test in tests]
        choice = choose(self.trials, labels, self.repeats)
        filled, names = has_missing(self.X), [candidate.name for candidate in self.candidates]
        notes = {candidate.name: FILLED for candidate in self.candidates if filled and not candidate.raw}
        rest = [untried(name, "dropped: the search ended before it") for name in names if name not in self.trials]
        return {
            "_columns": self.columns,
            "members_": self.members(choice.weights),
            "best_": next(iter(choice.weights)) if len(choice.weights) == 1 else "blend",
            "leaderboard_": leaderboard(self.trials, choice, self.label, tests, notes) + rest,
            **placed(np.concatenate(choice.scores), np.concatenate(labels)),
        }

    def members(self, weights):
        """The models in use, fitted on all rows."""
        whole, members = None, []
        for candidate in self.candidates:
            if candidate.name not in weights:
                continue
            trial = self.trials[candidate.name]
            if whole is None and not candidate.raw:
                whole = scaled(self.columns, self.X)
            model = fitted(candidate, self.X if candidate.raw else whole, self.is_pos, trial.stage)
            weight = weights[candidate.name]
            members.append(Member(candidate.name, weight, trial.middle, trial.spread, candidate.raw, model))
        return members


def sample(is_pos, seed):
    """All rows, or the numbers of a stratified part of very many."""
    n, rarest = len(is_pos), min(is_pos.sum(), (~is_pos).sum())
    size = max(SEARCHED, int(n * min(1.0, ENOUGH / rarest)))
    if n <= size:
        return slice(None)
    return train_test_split(np.arange(n), train_size=size, random_state=seed, stratify=is_pos)[0]


def placed(held_out, is_pos):
    """The sigmoid that makes log-odds of scores, and where Youden would cut them."""
    odds = calibrated(held_out, is_pos)
    return {"_odds": odds, "threshold_": float(best_threshold(is_pos, log_odds(odds, held_out)))}


def total(members, columns, X):
    """The weighted sum of the members' scores."""
    Z = None if all(member.raw for member in members) else scaled(columns, X)
    parts = (
        member.weight * (scores(member.model, X if member.raw else Z, member.raw) - member.middle) / member.spread
        for member in members
    )
    return sum(parts)
