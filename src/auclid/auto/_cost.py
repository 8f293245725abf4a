"""What a search will take, told before it starts; and whether a budget still has room."""

import time
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from auclid.additive import Scorecard
from auclid.auto._candidates import LINEAR, MANY_ROWS, Candidate, Table
from auclid.auto._learners import Forest
from auclid.kernels import Kernelized
from auclid.square import LeastSquaresAUCCV


class Expected(NamedTuple):
    """What a fit will take, about: seconds of one core as of 2025, and bytes beyond the table itself."""

    seconds: float
    bytes: int


def fit_seconds(candidate: Candidate, n: float, d: int) -> float:
    """A rough guess at one fit on n rows of d columns, from what the method does with each entry."""
    return candidate.cost(candidate.recipe, n, d)


def fits(candidate: Candidate, folds: int) -> int:
    """How many fits it takes, about, to try a candidate on so many folds: one fit of some tells of all folds."""
    if isinstance(candidate.recipe, Forest | Scorecard | Kernelized):
        return 1
    return 2 if isinstance(candidate.recipe, LeastSquaresAUCCV | LogisticRegression) else folds


def expected(found: list[Candidate], table: Table, searched: int, folds: int, repeats: int) -> Expected:
    """The cost of all candidates on all folds, and of fitting them on all rows."""
    share = searched * (1.0 - 1.0 / folds)
    seconds = 0.0
    for candidate in found:
        times = fits(candidate, folds * (repeats if candidate.level == LINEAR else 1))
        if candidate.stages and searched < table.n:  # with all rows, and twice the trees
            seconds += 2.0 * (FOLDS + 1) * fit_seconds(candidate, table.n, table.d)
            continue
        seconds += times * fit_seconds(candidate, share, table.d) + fit_seconds(candidate, table.n, table.d)
    width = 8 * table.d * (0.1 if table.is_sparse else 1.0)
    return Expected(float(seconds), int(3 * width * (table.n + searched) + 8 * 400 * min(table.n, 1 << 14)))


TRIAL = 0.5
"""The share of the time left that a candidate may be on trial, where it can be stopped."""

FOLDS = 2
"""On which boosting is tried, where rows are many."""

CLOSING = 1e-6
"""Seconds a row that is compared, for each candidate and once more, that weighing and judging them takes in the end."""


class Clock:
    """Keeps a budget of seconds, the final fits included; without one, it never says that time is over."""

    def __init__(self, budget: float | None, start: float, table: Table, searched: int) -> None:
        self.budget, self.start, self.table, self.searched = budget, start, table, searched
        self.finals: dict[str, float] = {}
        self.taken, self.guessed = 0.0, 0.0

    @property
    def pace(self) -> float:
        """How much longer than guessed the candidates have taken so far."""
        return float(np.clip(self.taken / self.guessed, 1.0, 10.0)) if self.guessed else 1.0

    def room(self, candidate: Candidate, folds: int) -> bool:
        """Whether a candidate can be tried and fitted in what is left, by the guess and how it has fared so far."""
        if self.budget is None:
            return True
        return self.left() > self.pace * self.guess(candidate) * (fits(candidate, folds) + self.growth(candidate))

    def left(self) -> float:
        """Seconds that neither a final fit nor the conclusion needs."""
        return self.left_for(list(self.finals))

    def left_for(self, others: list[str]) -> float:
        """Seconds that neither the final fits of others nor the conclusion needs."""
        if self.budget is None:
            return float("inf")
        closing = CLOSING * self.searched * (2.0 + len(self.finals))
        return self.budget - (time.perf_counter() - self.start) - closing - sum(self.finals[name] for name in others)

    def timed(self, candidate: Candidate, folds: int) -> Candidate:
        """The candidate, told to stop where it can: so that as much time is left as it takes to fit it once more."""
        if self.budget is None or not candidate.stages:
            return candidate
        seconds = TRIAL * max(self.left(), 0.0) / folds
        return candidate._replace(recipe=candidate.recipe._replace(seconds=seconds))

    def late(self, candidate: Candidate, seconds: float, folds: int, rows: int | None = None) -> bool:
        """Whether a candidate that took so many seconds on a fold, or on so many rows, cannot end in time with as many
        folds to come."""
        if rows is not None:
            seconds *= self.guess(candidate) / fit_seconds(candidate, rows, self.table.d)
        return self.left() < seconds * (folds + self.growth(candidate))

    def guess(self, candidate: Candidate) -> float:
        """Seconds of a fit on a fold."""
        return fit_seconds(candidate, 0.8 * self.searched, self.table.d)

    def growth(self, candidate: Candidate) -> float:
        """How much longer a fit on all rows takes than one on a fold; boosting may then have twice the trees."""
        longer = fit_seconds(candidate, self.table.n, self.table.d) / self.guess(candidate)
        return longer * (2.0 if candidate.stages and self.table.n >= MANY_ROWS else 1.0)

    def took(self, candidate: Candidate, seconds: float, again: bool) -> None:
        """Learn from a candidate that was tried in some seconds a fit, and will have to be fitted once more or not."""
        self.finals[candidate.name] = seconds * self.growth(candidate) if again else 0.0
        self.taken, self.guessed = self.taken + seconds, self.guessed + self.guess(candidate)
