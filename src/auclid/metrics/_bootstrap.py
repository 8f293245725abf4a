"""The bootstrap without sorts: rows, or groups of rows, are drawn anew as counts over scores sorted once."""

import numbers
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from auclid import _random
from auclid.errors import InvalidValueError
from auclid.metrics._cells import stepped
from auclid.metrics._placements import AreaTerms, region_area
from auclid.metrics._roc import from_the_top
from auclid.metrics._sample import Region, Sample
from auclid.metrics._variance import TRANSFORMS, degrees, quantile, unit_strata, unit_sums, welch_degrees
from auclid.validation.parameters import one_of, whole_number

INTERVAL_METHODS = ("delong", "bootstrap", "bca")

DRAW_ROUNDING = 1e-12
"""Areas, of which the largest is 1, that differ by less are the same one, added up in another order."""

Masses = tuple[np.ndarray, np.ndarray]
"""Mass of positives and of negatives at each step of a score, ascending."""

Progress = bool | Callable[[int, int], Any]


class Plan(NamedTuple):
    """How an interval is found: by DeLong's variance, or by so many draws."""

    method: str = "delong"
    n_bootstrap: int = 2000
    random_state: Any = None
    progress: Progress = False
    transform: str | None = "logit"
    """The scale on which an interval by DeLong's variance is symmetric; None is that of the AUC itself."""

    @property
    def by_variance(self) -> bool:
        """Whether no rows are drawn."""
        return self.method not in ("bootstrap", "bca")

    def told(self, level: float, df: float) -> dict[str, Any]:
        """How an interval was found, as results tell it."""
        plain = self.method == "delong" and self.transform is None
        return {"level": level, "method": self.method, "df": np.inf if plain else df}


def checked_plan(
    owner: str,
    method: str,
    n_bootstrap: int,
    random_state: Any,
    progress: Progress = False,
    transform: str | None = "logit",
    methods: tuple[str, ...] = INTERVAL_METHODS,
) -> Plan:
    """The plan, or a sentence where it makes no sense."""
    one_of(owner, "method", method, methods)
    if transform not in TRANSFORMS:
        raise InvalidValueError(owner=owner, parameter="transform", expected="be 'logit' or None", got=repr(transform))
    return checked_draws(owner, n_bootstrap, random_state, progress)._replace(method=method, transform=transform)


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
    return region_area(fpr / fpr[-1], tpr / tpr[-1], region)


def replicates(sample: Sample, steps: list[Steps], statistic: Callable[[list[Masses]], Any], plan: Plan) -> np.ndarray:
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
    difference: bool = False
    """Whether they are of a difference of two estimates, whose errors are more even than those of each."""

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the estimate's variance: Welch's of a difference, else by the spread of squares."""
        if self.difference:
            return welch_degrees(np.bincount(self.stratum, self.terms**2), np.bincount(self.stratum))
        return degrees(self.terms, self.stratum)

    @classmethod
    def of(cls, sample: Sample, area: AreaTerms, difference: bool = False) -> "Errors":
        """The errors of an area, or of a difference of two."""
        return cls(unit_sums(sample, area), unit_strata(sample), sample.trials, difference)

    def minus(self, other: "Errors") -> "Errors":
        """The errors of the difference of two estimates from other rows."""
        stratum = np.concatenate((self.stratum, other.stratum + self.stratum.max() + 1))
        return Errors(np.concatenate((self.terms, -other.terms)), stratum, min(self.units, other.units), True)


def ends(
    drawn: np.ndarray, level: float, estimate: float, errors: Errors, method: str, sides: int = 2
) -> tuple[float, float]:
    """Ends of a bootstrap interval: quantiles of the draws, or BCa's; of one side, each at `level` by itself.

    Draws from n units vary by (n - 1) / n too little, and their variance is estimated: so the quantiles are those of
    Student's t times sqrt(n / (n - 1)) (Hesterberg 2015), n the units of the smaller class, with as many degrees of
    freedom as the variance has. BCa (Efron 1987) moves them by the bias z0 = Phi^-1(share of draws below the estimate)
    and the acceleration sum t^3 / (6 (sum t^2)^(3/2)) of the terms t.
    """
    deviate = quantile(level, errors.freedom, sides) * _wider(errors)
    bias, speed = _bca(drawn, estimate, errors, method)
    moved = bias + np.array([-deviate, deviate])
    tails = ndtr(bias + moved / np.maximum(1.0 - speed * moved, 1e-3))
    low, high = np.quantile(drawn, tails)
    return float(low), float(high)


def tail_pvalues(drawn: np.ndarray, at: float, estimate: float, errors: Errors, method: str) -> tuple[float, float]:
    """One-sided p-values of `at`, against larger and against smaller values: where an end of `ends` meets it.

    (The smallest tail whose lower end is above `at`, the smallest whose upper end is below.) No draw lies beyond the
    first and the last one; there the p-value is that of Student's t, if it is smaller.
    """
    ranked, share = np.sort(drawn), np.linspace(0.0, 1.0, len(drawn))
    bias, speed = _bca(drawn, estimate, errors, method)
    pvalues = []
    for values, sign in ((ranked, 1.0), (-ranked[::-1], -1.0)):
        tail = _last_share(values, share, sign * at)
        # z solves Phi^-1(tail) = bias + (bias + z) / (1 - speed (bias + z)), as `ends` has it, for a lower end.
        lean, quick = sign * bias, sign * speed
        deviate = ndtri(tail) - lean
        z = deviate / (1.0 + quick * deviate) - lean if 1.0 + quick * deviate > 0.0 else np.inf
        pvalue = float(stdtr(errors.freedom, z / _wider(errors)))
        if tail <= share[1]:
            pvalue = min(pvalue, _deviation_pvalue(drawn, at, estimate, errors, sign))
        pvalues.append(pvalue)
    return pvalues[0], pvalues[1]


def _deviation_pvalue(drawn: np.ndarray, at: float, estimate: float, errors: Errors, sign: float) -> float:
    """The one-sided p-value of `at` by the deviation of the draws: Student's t of the estimate's distance from it."""
    return float(stdtr(errors.freedom, -sign * (estimate - at) / (_wider(errors) * deviation(drawn))))


def _last_share(ranked: np.ndarray, share: np.ndarray, at: float) -> float:
    """The largest tail whose quantile of the draws is not above `at`, within the tails that the draws can tell."""
    ranked = _met(ranked, at)
    stop = int(np.searchsorted(ranked, at, side="right"))
    if stop == 0:
        return float(share[1])
    if stop == len(ranked):
        return float(share[-2])
    low, high = ranked[stop - 1], ranked[stop]
    part = (at - low) / (high - low)
    return float(np.clip(share[stop - 1] + part * share[1], share[1], share[-2]))


def _met(drawn: np.ndarray, at: float) -> np.ndarray:
    """The draws; those that differ from a value by rounding only are that value."""
    return np.where(np.abs(drawn - at) <= DRAW_ROUNDING, at, drawn)


def _wider(errors: Errors) -> float:
    """What the draws' deviation lacks where units are few."""
    return float(np.sqrt(errors.units / (errors.units - 1.0)))


def _bca(drawn: np.ndarray, estimate: float, errors: Errors, method: str) -> tuple[float, float]:
    """BCa's bias and acceleration; zero for quantiles of the draws themselves."""
    terms = errors.terms
    if method != "bca" or not np.any(terms):
        return 0.0, 0.0
    drawn = _met(drawn, estimate)
    below = (np.count_nonzero(drawn < estimate) + 0.5 * np.count_nonzero(drawn == estimate)) / len(drawn)
    bias = float(ndtri(np.clip(below, 0.5 / len(drawn), 1.0 - 0.5 / len(drawn))))
    return bias, float(np.sum(terms**3) / (6.0 * np.sum(terms**2) ** 1.5))
