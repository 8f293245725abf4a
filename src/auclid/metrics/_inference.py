"""From checked rows to an interval or a test: the way of every figure that two classes' scores have.

A `Statistic` says what is estimated. Its terms, what each row adds to the error of the estimate, give a variance and
its degrees of freedom (`_variance`); or rows are drawn anew (`_bootstrap`). `Estimates` has the terms and the draws of
every score of a sample: an interval is of one, a paired test of the difference of two.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from auclid import _sizes
from auclid.metrics._bootstrap import (
    Errors,
    Masses,
    Plan,
    Steps,
    area_of,
    deviation,
    ends,
    replicates,
    runs,
    tail_pvalues,
)
from auclid.metrics._partitioned import PartitionedSample
from auclid.metrics._placements import AreaTerms, area_terms
from auclid.metrics._results import AUCComparison, Comparison, Estimate
from auclid.metrics._sample import WHOLE, Region, Sample
from auclid.metrics._variance import (
    ALTERNATIVES,
    normal_pvalue,
    quantile,
    share_interval,
    sign_pvalue,
    standard_error,
)
from auclid.validation.parameters import number_in, one_of

AnySample = Sample | PartitionedSample
IntervalT = TypeVar("IntervalT", bound=Estimate)
ComparisonT = TypeVar("ComparisonT", bound=Comparison)


class Statistic(NamedTuple):
    """A figure of the scores of two classes."""

    terms: Callable[[Sample, np.ndarray], AreaTerms]
    """Its value for a score, and what each row adds to its error."""
    of_masses: Callable[[Masses], float]
    """Its value for masses of both classes at the steps of a score."""
    steps: Callable[[np.ndarray, np.ndarray], Steps]
    """The steps that it needs of a score, where rows are drawn."""
    region: Region = WHOLE
    """Of which it is the area."""
    always_student: bool = False
    """Whether intervals are by Student's t, however many rows there are."""


def area_statistic(region: Region) -> Statistic:
    """The area under the ROC curve within a region."""
    return Statistic(partial(area_terms, region=region), partial(area_of, region=region), runs, region)


class Question(NamedTuple):
    """What is asked of a difference."""

    level: float = 0.95
    alternative: str = "two-sided"
    margin: float = 0.0

    @property
    def sides(self) -> int:
        """Sides on which the interval ends."""
        return 2 if self.alternative == "two-sided" else 1

    @property
    def null(self) -> float:
        """The difference that the test should rule out."""
        return {"greater": -self.margin, "less": self.margin}.get(self.alternative, 0.0)

    def one_sided(self, low: float, high: float) -> tuple[float, float]:
        """The interval, reaching to the largest or smallest difference on the side that the test does not ask about."""
        return (-1.0 if self.alternative == "less" else low), (1.0 if self.alternative == "greater" else high)

    def pvalue(self, greater: float, less: float) -> float:
        """The p-value, from those of the two one-sided tests."""
        return {"greater": greater, "less": less}.get(self.alternative, min(1.0, 2.0 * min(greater, less)))


def checked_question(owner: str, level: float, alternative: str, margin: float) -> Question:
    """The question, or a sentence where it makes no sense."""
    level = number_in(owner, "level", level, 0.0, 1.0)
    one_of(owner, "alternative", alternative, ALTERNATIVES)
    margin = number_in(owner, "margin", margin, 0.0, 1.0, closed="l")
    if margin > 0.0 and alternative == "two-sided":
        raise ValueError(
            f"The 'margin' parameter of {owner} must come with a one-sided alternative. Got {margin} with "
            "'two-sided' instead. Pass alternative='greater' to show that a is not worse than b by the margin."
        )
    return Question(level, alternative, margin)


class Estimates(NamedTuple):
    """A statistic of each score of the same rows, and what is known of its error."""

    sample: Sample
    statistic: Statistic
    plan: Plan
    terms: list[AreaTerms]
    drawn: np.ndarray | None
    """(draws, scores): the statistic in each draw of rows; None where the variance of the terms tells the error."""

    @classmethod
    def of(cls, sample: Sample, statistic: Statistic, plan: Plan) -> Estimates:
        """The estimates of every score of a sample."""
        terms, drawn = [statistic.terms(sample, score) for score in sample.scores], None
        if not plan.by_variance:
            steps = [statistic.steps(sample.is_pos, score) for score in sample.scores]
            drawn = replicates(sample, steps, lambda masses: [statistic.of_masses(one) for one in masses], plan)
        return cls(sample, statistic, plan, terms, drawn)

    def interval(self, level: float, kind: Callable[..., IntervalT], score: int = 0) -> IntervalT:
        """The interval of one score's statistic."""
        sample, plan, region, terms = self.sample, self.plan, self.statistic.region, self.terms[score]
        drawn = None if self.drawn is None else self.drawn[:, score]
        if drawn is not None and deviation(drawn) == 0.0:  # all draws alike: a perfect ranking
            drawn, terms = None, terms._replace(pos=0.0 * terms.pos, neg=0.0 * terms.neg)
        errors = Errors.of(sample, terms)
        if drawn is None:
            plain = not self.statistic.always_student and sample.is_plain(_sizes.MIN_ROWS_FOR_NORMAL_INTERVAL)
            error = Error(terms.area, standard_error(sample, terms), np.inf if plain else errors.freedom)
            return error.interval(sample, plan, level, kind, region)
        low, high = (region.value(end) for end in ends(drawn, level, terms.area, errors, plan.method))
        how = plan.told(level, errors.freedom) | sample.counts
        return kind(region.value(terms.area), low, high, region.slope * deviation(drawn), **how)

    def difference(self, question: Question, kind: type[ComparisonT], a: int = 0, b: int = 1) -> ComparisonT:
        """The statistic of score a less that of b, with its paired test."""
        sample, region = self.sample, self.statistic.region
        gap = (self.terms[a] - self.terms[b]).scaled(region.slope)
        errors = Errors.of(sample, gap, difference=True)
        if self.drawn is None:
            df = np.inf if sample.is_plain(_sizes.MIN_ROWS_FOR_NORMAL_TEST) else errors.freedom
            found = answer(kind, gap.area, standard_error(sample, gap), sample.trials, question, df)
        else:
            drawn = region.slope * (self.drawn[:, a] - self.drawn[:, b])
            found = from_draws(kind, gap.area, drawn, errors, self.plan.method, question)
        values = self.value(a), self.value(b)
        return with_estimates(found, self.plan, values, sample.counts)

    def value(self, score: int = 0) -> float:
        """The statistic of a score, as it is reported."""
        return self.statistic.region.value(self.terms[score].area)


class Error(NamedTuple):
    """An estimate, its standard error and the degrees of freedom of that."""

    value: float
    se: float
    df: float

    def interval(
        self, sample: AnySample, plan: Plan, level: float, kind: Callable[..., IntervalT], region: Region = WHOLE
    ) -> IntervalT:
        """On the logit scale of the share of a region; Clopper & Pearson's of its disjoint pairs without an error."""
        n_pos, n_neg = sample.units
        wide, high = region.max_fpr - region.min_fpr, 1.0 - region.min_tpr
        trials = max(1, int(min(n_pos * high, n_neg * wide) + 1e-9))
        share, se = self.value / region.best, self.se / region.best
        found = share_interval(share, se, trials, level, self.df, plan.transform)
        low, high = (region.value(region.best * end) for end in found)
        how = plan.told(level, self.df) | sample.counts
        return kind(region.value(self.value), low, high, region.slope * self.se, **how)


def unpaired(a: Estimates, b: Estimates, question: Question) -> AUCComparison:
    """The difference of a statistic of two samples of different rows, with its test."""
    region, samples = a.statistic.region, (a.sample, b.sample)
    of_a, of_b = (each.terms[0].scaled(region.slope) for each in (a, b))
    difference, errors = of_a.area - of_b.area, Errors.of(a.sample, of_a).minus(Errors.of(b.sample, of_b))
    if a.drawn is None or b.drawn is None:
        se = float(np.hypot(standard_error(a.sample, of_a), standard_error(b.sample, of_b)))
        plain = all(sample.is_plain(_sizes.MIN_ROWS_FOR_NORMAL_TEST) for sample in samples)
        df = np.inf if plain else errors.freedom
        found = answer(AUCComparison, difference, se, errors.units, question, df)
    else:
        drawn = region.slope * (a.drawn[:, 0] - b.drawn[:, 0])
        found = from_draws(AUCComparison, difference, drawn, errors, a.plan.method, question)
    both = [sample.counts for sample in samples]
    counts = {name: sum(filter(None, (each[name] for each in both))) or None for name in both[0]}
    return with_estimates(found, a.plan, (a.value(), b.value()), counts)


def with_estimates(found: ComparisonT, plan: Plan, values: tuple[float, float], counts: dict[str, Any]) -> ComparisonT:
    """A comparison with its two estimates, and with how and from what it was made."""
    return found._replace(method=plan.method, estimate_a=values[0], estimate_b=values[1], **counts)


def answer(
    kind: type[ComparisonT],
    difference: float,
    se: float,
    trials: int,
    question: Question,
    df: float = np.inf,
    **told: Any,
) -> ComparisonT:
    """Interval and p-value of a difference from its standard error."""
    level, alternative, margin = question
    told |= {"se": se, "level": level, "alternative": alternative, "margin": margin}
    if se == 0.0:
        pvalue = sign_pvalue(difference, trials, alternative, margin)
        seen = 1.0 if difference == 0.0 else ((1.0 - level) / question.sides) ** (1.0 / trials)
        middle, reach = seen * difference, 1.0 - seen
    else:
        pvalue = normal_pvalue(difference, se, alternative, margin, df)
        middle, reach = difference, quantile(level, df, question.sides) * se
        told |= {"statistic": (difference - question.null) / se, "df": df}
    return kind(difference, *question.one_sided(middle - reach, middle + reach), pvalue, **told)


def from_draws(
    kind: type[ComparisonT], difference: float, drawn: np.ndarray, errors: Errors, method: str, question: Question
) -> ComparisonT:
    """Interval and p-value of a difference from bootstrap draws of it."""
    se = deviation(drawn)
    compared = answer(kind, difference, se, errors.units, question, errors.freedom if se else np.inf)
    if se == 0.0:
        return compared
    low, high = question.one_sided(*ends(drawn, question.level, difference, errors, method, question.sides))
    pvalue = question.pvalue(*tail_pvalues(drawn, question.null, difference, errors, method))
    return compared._replace(low=low, high=high, pvalue=pvalue)


def warn_of_few(sample: Sample, region: Region, depth: int = 3) -> None:
    """Warn where there are few groups, or where a two-way region holds few positives of a score."""
    if sample.cluster is not None and (groups := int(sample.cluster.max()) + 1) < _sizes.MIN_CERTAIN_GROUPS:
        warnings.warn(
            f"Only {groups} groups: a variance between so few is uncertain, and intervals of 95 % cover 91 to 97 %. "
            f"From {_sizes.MIN_CERTAIN_GROUPS} groups on they cover 93 to 97 %.",
            UserWarning,
            stacklevel=depth,
        )
    if region.min_tpr == 0.0:
        return
    inside = min(_positives_in(sample.is_pos, score, region) for score in sample.scores)
    if inside < _sizes.MIN_POSITIVES_IN_REGION:
        warnings.warn(
            f"Only {inside} positives lie in the two-way region, so that DeLong's interval is too short "
            f"(it wants {_sizes.MIN_POSITIVES_IN_REGION} or more). Pass method='bootstrap'.",
            UserWarning,
            stacklevel=depth,
        )


def _positives_in(is_pos: np.ndarray, score: np.ndarray, region: Region) -> int:
    """Positives between the two edges of a region."""
    pos, neg = score[is_pos], score[~is_pos]
    low = np.quantile(neg, 1.0 - region.max_fpr, method="inverted_cdf")
    high = np.quantile(pos, 1.0 - region.min_tpr, method="inverted_cdf")
    return int(np.count_nonzero((pos >= low) & (pos <= high)))
