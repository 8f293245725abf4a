"""What a search will take, told before it starts; and whether a budget still has room."""

import time
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from auclid.additive import Scorecard
from auclid.auto._candidates import LANDMARKS, LINEAR, Candidate, Table
from auclid.auto._learners import FOREST_ROWS, Boosting, Forest
from auclid.maps import Kernelized
from auclid.square import LeastSquaresAUCCV


class Expected(NamedTuple):
    """What a fit will take, about: seconds of one core as of 2025, and bytes beyond the table itself."""

    seconds: float
    bytes: int


def fit_seconds(candidate: Candidate, n: float, d: int) -> float:
    """A rough guess at one fit on n rows of d columns, from what the method does with each entry."""
    recipe = candidate.recipe
    if isinstance(recipe, Boosting):
        return recipe.n_trees * (1e-4 + 1.6e-5 * d + 5e-9 * n * d)
    if isinstance(recipe, Forest):
        size = min(n, FOREST_ROWS)
        return recipe.n_trees * 1.2e-8 * size * np.log2(size + 2.0) * np.sqrt(d)
    if candidate.name == "Scorecard":
        return 1e-2 + 1e-9 * n * d * (8.0 + 0.1 * d) + 1e-9 * (8.0 * d) ** 2.5
    if candidate.level == LINEAR:
        return 3e-3 + 1e-7 * n * d + (2e-10 * n * d * d + 3e-9 * d**3 if d <= 1_000 else 0.0)
    m = float(np.clip(n / 20.0, *LANDMARKS))
    return 5e-3 + 1e-8 * n * m * (1.0 + d / 100.0) + 2e-10 * n * m * m + 3e-9 * m**3


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
        seconds += times * fit_seconds(candidate, share, table.d) + fit_seconds(candidate, table.n, table.d)
    width = 8 * table.d * (0.1 if table.is_sparse else 1.0)
    return Expected(seconds, int(3 * width * (table.n + searched) + 8 * 400 * min(table.n, 1 << 14)))


TRIAL = 0.5
"""The share of the time left that a candidate may be on trial, where it can be stopped."""


class Clock:
    """Keeps a budget of seconds, the final fits included; without one, it never says that time is over."""

    def __init__(self, budget: float | None, start: float, table: Table, searched: int) -> None:
        self.budget, self.start, self.table, self.searched = budget, start, table, searched
        self.final, self.pace = 0.0, 1.0

    def room(self, candidate: Candidate, folds: int) -> bool:
        """Whether a candidate can be tried and fitted in what is left, by the guess and how it has fared so far."""
        if self.budget is None:
            return True
        share = self.searched * 0.8
        guess = fits(candidate, folds) * fit_seconds(candidate, share, self.table.d)
        return self.left() > self.pace * (guess + fit_seconds(candidate, self.table.n, self.table.d))

    def left(self) -> float:
        """Seconds that no final fit needs."""
        return float("inf") if self.budget is None else self.budget - (time.perf_counter() - self.start) - self.final

    def end(self) -> float | None:
        """When all must be over."""
        return None if self.budget is None else self.start + self.budget

    def timed(self, candidate: Candidate) -> Candidate:
        """The candidate, told to stop where it can: so that as much time is left as it takes to fit it once more."""
        if self.budget is None or not isinstance(candidate.recipe, Boosting):
            return candidate
        until = time.perf_counter() + TRIAL * max(self.left(), 0.0)
        return candidate._replace(recipe=candidate.recipe._replace(until=until))

    def late(self, seconds: float, folds: int) -> bool:
        """Whether a candidate of so many seconds a fold cannot end in time."""
        return self.left() < seconds * (folds + self.growth())

    def growth(self) -> float:
        """How much longer a fit on all rows takes than one on a fold."""
        return self.table.n / (0.8 * self.searched)

    def took(self, candidate: Candidate, seconds: float, again: float) -> None:
        """Learn from a candidate that was tried in some seconds a fit: it will have to be fitted once more, in as many,
        or in none where it was fitted on all rows."""
        self.final += again * self.growth()
        self.pace = max(self.pace, min(10.0, seconds / fit_seconds(candidate, 0.8 * self.searched, self.table.d)))
