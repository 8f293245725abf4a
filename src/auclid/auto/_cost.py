"""What a search will cost, guessed before it starts; and whether a budget still has room."""

import time
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from auclid.additive import Scorecard
from auclid.auto._candidates import LINEAR_MODEL, Candidate, TableShape
from auclid.auto._learners import Forest
from auclid.kernels import Kernelized
from auclid.square import LeastSquaresAUCCV

TRIAL_SHARE = 0.5
"""The share of the time left that the trial of a candidate may take, where it can be stopped."""

BOOSTING_FOLDS = 2
"""Folds on which boosting is tried, where rows are many."""

CLOSING_SECONDS = 1e-6
"""Seconds a compared row, for each candidate and once more, that weighing and judging them takes in the end."""


class ExpectedCost(NamedTuple):
    """What a fit will take, about: seconds of one core as of 2025, and bytes beyond the table itself."""

    seconds: float
    bytes: int


def fit_seconds(candidate: Candidate, n: float, d: int) -> float:
    """A rough guess at one fit on n rows of d columns, from what the method does with each entry."""
    return candidate.cost(candidate.recipe, n, d)


def fit_count(candidate: Candidate, folds: int) -> int:
    """How many fits it takes, about, to try a candidate on so many folds: one fit of some tells of all folds."""
    if isinstance(candidate.recipe, Forest | Scorecard | Kernelized):
        return 1
    return 2 if isinstance(candidate.recipe, LeastSquaresAUCCV | LogisticRegression) else folds


def expected_cost(every: list[Candidate], shape: TableShape, searched: int, folds: int, repeats: int) -> ExpectedCost:
    """The cost of all candidates on all folds, and of fitting them on all rows."""
    trained = searched * (1.0 - 1.0 / folds)
    seconds = 0.0
    for candidate in every:
        times = fit_count(candidate, folds * (repeats if candidate.level == LINEAR_MODEL else 1))
        if candidate.stages and searched < shape.n:  # with all rows
            seconds += (BOOSTING_FOLDS + 1) * fit_seconds(candidate, shape.n, shape.d)
            continue
        seconds += times * fit_seconds(candidate, trained, shape.d) + fit_seconds(candidate, shape.n, shape.d)
    width = 8 * shape.d * (0.1 if shape.is_sparse else 1.0)
    return ExpectedCost(float(seconds), int(3 * width * (shape.n + searched) + 8 * 400 * min(shape.n, 1 << 14)))


class TimeBudget:
    """Keeps a budget of seconds, the final fits included; without one, there is always time."""

    def __init__(self, budget: float | None, start: float, shape: TableShape, searched: int) -> None:
        self.budget, self.start, self.shape, self.searched = budget, start, shape, searched
        self.finals: dict[str, float] = {}
        """Seconds that the final fit of each candidate will take."""
        self._taken, self._guessed = 0.0, 0.0

    @property
    def pace(self) -> float:
        """How much longer than guessed the candidates have taken so far."""
        return float(np.clip(self._taken / self._guessed, 1.0, 10.0)) if self._guessed else 1.0

    def has_room(self, candidate: Candidate, folds: int) -> bool:
        """Whether a candidate can be tried and fitted in what is left, by the guess and the pace so far."""
        if self.budget is None:
            return True
        fits = fit_count(candidate, folds) + self.growth(candidate)
        return self.left() > self.pace * self.guess(candidate) * fits

    def left(self) -> float:
        """Seconds that neither a final fit nor the conclusion needs."""
        return self.left_for(list(self.finals))

    def left_for(self, others: list[str]) -> float:
        """Seconds that neither the final fits of others nor the conclusion needs."""
        if self.budget is None:
            return float("inf")
        closing = CLOSING_SECONDS * self.searched * (2.0 + len(self.finals))
        return self.budget - (time.perf_counter() - self.start) - closing - sum(self.finals[name] for name in others)

    def limited(self, candidate: Candidate, folds: int) -> Candidate:
        """The candidate, told to stop where it can, so that there is time left to fit it once more."""
        if self.budget is None or not candidate.stages:
            return candidate
        seconds = TRIAL_SHARE * max(self.left(), 0.0) / folds
        return candidate._replace(recipe=candidate.recipe._replace(seconds=seconds))

    def is_late(self, candidate: Candidate, seconds: float, folds: int, rows: int | None = None) -> bool:
        """Whether a candidate cannot end in time, with so many folds to come.

        ``seconds``: what it has taken on a fold, or on so many rows.
        """
        if rows is not None:
            seconds *= self.guess(candidate) / fit_seconds(candidate, rows, self.shape.d)
        return self.left() < seconds * (folds + self.growth(candidate))

    def guess(self, candidate: Candidate) -> float:
        """Seconds of a fit on a fold."""
        return fit_seconds(candidate, 0.8 * self.searched, self.shape.d)

    def growth(self, candidate: Candidate) -> float:
        """How much longer a fit on all rows takes than one on a fold."""
        return fit_seconds(candidate, self.shape.n, self.shape.d) / self.guess(candidate)

    def add(self, candidate: Candidate, seconds: float, again: bool) -> None:
        """Take note of the seconds a fit of a candidate that was tried; ``again``: whether it is fitted once more."""
        self.finals[candidate.name] = seconds * self.growth(candidate) if again else 0.0
        self._taken, self._guessed = self._taken + seconds, self._guessed + self.guess(candidate)
