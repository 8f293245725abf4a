"""`auclid predict` with a purpose: which rows are called positive, and the threshold that says so."""

from typing import NamedTuple

import numpy as np

from auclid.cli.saved import Answers, SavedModel
from auclid.errors import DataError


class Purpose(NamedTuple):
    """What a threshold is for; at most one is given."""

    alerts: int | None = None
    threshold: float | None = None
    cost: str | None = None
    precision: float | None = None

    @property
    def given(self) -> bool:
        """Whether there is one."""
        return any(each is not None for each in self)

    @property
    def option(self) -> str:
        """The option that gives it."""
        return next(f"--{name}" for name, value in self._asdict().items() if value is not None)

    def check(self) -> None:
        """Refuse two purposes at once, costs that are none, and a threshold that is no number."""
        if sum(each is not None for each in self) > 1:
            raise DataError("Only one of --alerts, --threshold, --cost and --precision may be given; got several.")
        if self.cost is not None:
            costs(self.cost)
        if self.threshold is not None and np.isnan(self.threshold):
            raise DataError("--threshold must be a number; got nan.")


def costs(text: str) -> tuple[float, float]:
    """The costs of a false negative and of a false positive.

    Examples
    --------
    >>> from auclid.cli.thresholds import costs
    >>> costs("100:5")
    (100.0, 5.0)
    """
    try:
        missed, alarm = (float(part) for part in text.split(":"))
    except ValueError:
        missed = alarm = np.nan
    if not (np.isfinite([missed, alarm]).all() and missed > 0.0 and alarm > 0.0):
        raise DataError(f"--cost must be FN:FP, two costs above 0, such as 100:5; got {text!r}.")
    return missed, alarm


def chosen_threshold(purpose: Purpose, saved: SavedModel, answers: Answers, keep: bool = False) -> float:
    """The threshold for a purpose; rows with a higher score are called positive.

    ``keep``: refuse one that says nothing about other rows.
    """
    if purpose.threshold is not None:
        return float(purpose.threshold)
    if purpose.alerts is not None:
        return _of_alerts(answers.scores, purpose.alerts)
    if answers.probabilities is None:
        raise DataError("--cost and --precision need a model with probabilities; MODEL has none. Use --threshold.")
    order = np.argsort(-answers.scores, kind="stable")
    scores, proba = answers.scores[order], answers.probabilities[order]
    if purpose.cost is not None:
        missed, alarm = costs(purpose.cost)
        cut = saved.score_at(alarm / (alarm + missed))
        return _below(scores, int(np.sum(proba > alarm / (alarm + missed)))) if cut is None else cut
    right = np.flatnonzero(np.cumsum(proba) / np.arange(1, len(proba) + 1) >= float(purpose.precision or 0.0))
    flagged = int(right[-1]) + 1 if len(right) else 0
    if keep and flagged in (0, len(proba)):
        which = "no row reaches" if flagged == 0 else "all rows together reach"
        raise DataError(
            f"--keep needs rows above and below the threshold; {which} an expected precision of {purpose.precision:g}. "
            "Use other rows, or --threshold."
        )
    return _below(scores, flagged)


def _of_alerts(scores: np.ndarray, alerts: int) -> float:
    if alerts > len(scores):
        raise DataError(f"--alerts must be at most the number of rows, {len(scores):,}; got {alerts:,}.")
    return _below(np.sort(scores)[::-1], alerts)


def _below(falling: np.ndarray, flagged: int) -> float:
    """A threshold that at most so many scores exceed, all but those that tie with the next one; falling scores."""
    if flagged >= len(falling):
        return float(np.nextafter(falling[-1], -np.inf))
    return float(falling[flagged])


def apply_threshold(saved: SavedModel, answers: Answers, threshold: float) -> Answers:
    """The answers with labels by another threshold."""
    called = answers.scores > threshold
    return answers._replace(called=called, labels=saved.class_names(called))
