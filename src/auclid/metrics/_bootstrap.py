"""The bootstrap without sorts: rows, or groups of rows, are drawn anew as counts over scores sorted once."""

import numbers
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from auclid import _random
from auclid.metrics._cells import stepped
from auclid.metrics._placements import AreaTerms
from auclid.metrics._roc import area, from_the_top
from auclid.metrics._sample import Region, Sample
from auclid.metrics._variance import degrees, unit_strata, unit_sums
from auclid.validation.parameters import one_of, whole_number

INTERVAL_METHODS = ("delong", "bootstrap", "bca")

Masses = tuple[np.ndarray, np.ndarray]
"""Mass of positives and of negatives at each step of a score, ascending."""

Progress = bool | Callable[[int, int], Any]


class Plan(NamedTuple):
    """How an interval is found: by DeLong's variance, or by so many draws."""

    method: str = "delong"
    n_bootstrap: int = 2000
    random_state: Any = None
    progress: Progress = False


def checked_plan(owner: str, method: str, n_bootstrap: int, random_state: Any, progress: Progress = False) -> Plan:
    """The plan, or a sentence where it makes no sense."""
    one_of(owner, "method", method, INTERVAL_METHODS)
    return checked_draws(owner, n_bootstrap, random_state, progress)._replace(method=method)


def checked_draws(owner: str, n_bootstrap: int, random_state: Any, progress: Progress = False) -> Plan:
    """The plan of a bootstrap, or a sentence where it makes no sense."""
    if not isinstance(progress, bool) and not callable(progress):
        raise ValueError(
            f"The 'progress' parameter of {owner} must be a bool or a function of (done, total). "
            f"Got {progress!r} instead."
        )
    kinds = numbers.Integral, np.random.Generator, np.random.RandomState
    if random_state is not None and (not isinstance(random_state, kinds) or random_state is True):
        raise ValueError(
            f"The 'random_state' parameter of {owner} must be an int, a Generator, a RandomState or None. "
            f"Got {random_state!r} instead."
        )
    return Plan("bootstrap", whole_number(owner, "n_bootstrap", n_bootstrap, 100), random_state, progress)


class Steps(NamedTuple):
    """A score cut into steps: the number of the step of each positive and of each negative, and how many there are."""

    pos: np.ndarray
    neg: np.ndarray
    size: int


def runs(is_pos: np.ndarray, score: np.ndarray) -> Steps:
    """Steps that are all an area can see: neighbours of one class with none of the other between are one step."""
    _, pos, neg, number = stepped(is_pos, score, numbered=True)
    kind = np.where(pos == 0, 0, np.where(neg == 0, 1, 2))
    begins = np.concatenate(([True], (kind[1:] != kind[:-1]) | (kind[1:] == 2)))
    step = (np.cumsum(begins) - 1)[number]
    return Steps(step[is_pos], step[~is_pos], int(begins.sum()))


def distinct(is_pos: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, Steps]:
    """The different scores, ascending, and a step for each."""
    value, step = np.unique(score, return_inverse=True)
    return value, Steps(step[is_pos], step[~is_pos], len(value))


def area_of(masses: Masses, region: Region) -> float:
    """The area under the curve of given masses, within a region."""
    pos, neg = masses
    if region.whole:
        beaten = np.cumsum(neg)
        return float(pos @ (beaten - 0.5 * neg)) / (float(pos.sum()) * float(beaten[-1]))
    fpr, tpr = from_the_top(neg), from_the_top(pos)
    return area(fpr / fpr[-1], tpr / tpr[-1], region.max_fpr, region.min_tpr)


def replicates(
    sample: Sample, steps: list[Steps], statistic: Callable[[list[Masses]], Any], plan: Plan
) -> np.ndarray:
    """The statistic of each of `n_bootstrap` samples drawn with replacement within the classes."""
    rng = _random.generator(plan.random_state)
    draw = _draw_rows if sample.cluster is None else _draw_groups
    drawn = draw(sample, steps, rng)
    return np.array([statistic(next(drawn)) for _ in _counted(plan)], dtype=np.float64)


def _draw_rows(sample: Sample, steps: list[Steps], rng: np.random.Generator) -> Iterator[list[Masses]]:
    """Rows drawn within each class."""
    n_pos, n_neg = sample.units
    w_pos, w_neg = _weights(sample)
    while True:
        pos, neg = _indices(rng, n_pos), _indices(rng, n_neg)
        a, b = (None if w is None else w.take(at) for w, at in ((w_pos, pos), (w_neg, neg)))
        yield [
            (np.bincount(step.pos.take(pos), a, step.size), np.bincount(step.neg.take(neg), b, step.size))
            for step in steps
        ]


def _draw_groups(sample: Sample, steps: list[Steps], rng: np.random.Generator) -> Iterator[list[Masses]]:
    """Whole groups drawn among those that hold the same classes: positives, negatives, or both."""
    assert sample.cluster is not None
    of_pos, of_neg = sample.cluster[sample.is_pos], sample.cluster[~sample.is_pos]
    kind = unit_strata(sample)
    size, strata = len(kind), [np.flatnonzero(kind == k) for k in (1, 2, 3)]
    w_pos, w_neg = _weights(sample)
    while True:
        count = np.zeros(size)
        for stratum in strata:
            if len(stratum):
                count += np.bincount(stratum.take(_indices(rng, len(stratum))), minlength=size)
        a, b = count[of_pos], count[of_neg]
        a, b = (a if w_pos is None else a * w_pos), (b if w_neg is None else b * w_neg)
        yield [(np.bincount(step.pos, a, step.size), np.bincount(step.neg, b, step.size)) for step in steps]


def _weights(sample: Sample) -> tuple[np.ndarray | None, np.ndarray | None]:
    weight = sample.weight
    return (None, None) if weight is None else (weight[sample.is_pos], weight[~sample.is_pos])


def _indices(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(n, size=n, dtype=np.int32 if n < 1 << 31 else np.int64)


def _counted(plan: Plan) -> Iterator[int]:
    """The numbers of the draws; a bar in the terminal, or the user's own function, hears of them."""
    numbers = range(plan.n_bootstrap)
    if plan.progress is True:
        yield from _bar(numbers)
    elif plan.progress is False:
        yield from numbers
    else:
        for number in numbers:
            yield number
            plan.progress(number + 1, plan.n_bootstrap)


def _bar(numbers: range) -> Iterator[int]:
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError as error:
        raise ImportError("progress=True needs rich: pip install 'auclid[cli]', or pass a function.") from error
    yield from track(numbers, "bootstrap", console=Console(stderr=True), transient=True)


def deviation(drawn: np.ndarray) -> float:
    """The standard deviation of draws; exactly zero where all are alike, whatever the rounding."""
    return float(drawn.std(ddof=1)) if np.ptp(drawn) > 1e-14 else 0.0


class Errors(NamedTuple):
    """What each independent unit adds to the error of an estimate, and its stratum; units of the smaller class."""

    terms: np.ndarray
    stratum: np.ndarray
    units: int

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the estimate's variance."""
        return degrees(self.terms, self.stratum, self.units - 1.0)

    @classmethod
    def of(cls, sample: Sample, area: AreaTerms) -> "Errors":
        """The errors of an area."""
        return cls(unit_sums(sample, area), unit_strata(sample), sample.trials)

    def minus(self, other: "Errors") -> "Errors":
        """The errors of the difference of two estimates from other rows."""
        stratum = np.concatenate((self.stratum, other.stratum + self.stratum.max() + 1))
        return Errors(np.concatenate((self.terms, -other.terms)), stratum, min(self.units, other.units))


def ends(drawn: np.ndarray, level: float, estimate: float, errors: Errors, method: str) -> tuple[float, float]:
    """Ends of a bootstrap interval: quantiles of the draws, or BCa's.

    Draws from n units vary by (n - 1) / n too little, and their variance is estimated: so the quantiles are those of
    Student's t times sqrt(n / (n - 1)) (Hesterberg 2015), n the units of the smaller class, with as many degrees of
    freedom as the variance has. BCa (Efron 1987) moves them by the bias z0 = Phi^-1(share of draws below the estimate)
    and the acceleration sum t^3 / (6 (sum t^2)^(3/2)) of the terms t.
    """
    terms, units = errors.terms, errors.units
    deviate = stdtrit(errors.freedom, (1.0 + level) / 2.0) * np.sqrt(units / (units - 1.0))
    tails = ndtr(np.array([-deviate, deviate]))
    if method == "bca" and np.any(terms):
        below = (np.count_nonzero(drawn < estimate) + 0.5 * np.count_nonzero(drawn == estimate)) / len(drawn)
        bias = ndtri(np.clip(below, 0.5 / len(drawn), 1.0 - 0.5 / len(drawn)))
        speed = np.sum(terms**3) / (6.0 * np.sum(terms**2) ** 1.5)
        moved = bias + np.array([-deviate, deviate])
        tails = ndtr(bias + moved / np.maximum(1.0 - speed * moved, 1e-3))
    low, high = np.quantile(drawn, tails)
    return float(low), float(high)
