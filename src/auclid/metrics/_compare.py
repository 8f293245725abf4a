"""Do two AUCs differ? Paired on the same rows, or of two samples; two-sided, one-sided, or within a margin."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auclid import _random, _sizes
from auclid.metrics._bootstrap import (
    Errors,
    Masses,
    Plan,
    Progress,
    area_of,
    checked_plan,
    deviation,
    ends,
    replicates,
    runs,
    tail_pvalues,
)
from auclid.metrics._decision_results import Equivalence
from auclid.metrics._interval import warn_of_few
from auclid.metrics._partitioned import sample_of_parts
from auclid.metrics._placements import area_terms
from auclid.metrics._results import AUCComparison, Comparison
from auclid.metrics._sample import Region, Sample, checked_region, checked_sample
from auclid.metrics._variance import ALTERNATIVES, normal_pvalue, quantile, sign_pvalue, standard_error
from auclid.validation.parameters import number_in, one_of


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


def compare_auc(
    y_true: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    level: float = 0.95,
    method: str = "delong",
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    min_fpr: float = 0.0,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    alternative: str = "two-sided",
    margin: float = 0.0,
    progress: Progress = False,
) -> AUCComparison:
    """Difference of the AUCs, or partial AUCs, of two scores of the same rows, with a paired test.

    difference = AUC(a) - AUC(b), its variance that of `auc_interval` with V(a) - V(b) for V. The interval is
    difference +- z se and the p-value 2 Phi(-|difference| / se). With groups, weights or fewer than 30 rows of a
    class, both are by Student's t with the degrees of freedom of a sum of two variances, v^2 / (v+^2 / (n+ - 1) + v-^2
    / (n- - 1)) (Welch). Where every row's V differs alike, se = 0:
    the p-value is 1 for no difference, else that of a sign test on the m = min(n+, n-) disjoint pairs, min(1,
    2^(1 - m)), and the interval allows the share 1 - q, q = ((1 - level) / 2)^(1 / m), of unseen pairs to go
    either way.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels, at least two rows (or groups) of each; of two numbers the greater one is positive.
    score_a, score_b : array-like of shape (n,)
        Scores, greater for rows thought positive; the two may be on different scales.
    level : float in (0, 1)
        Coverage of the interval. With a one-sided alternative it has one end, the other being 1 or -1.
    method : {"delong", "bootstrap", "bca"}
        As in `auc_interval`. A bootstrap p-value is 1 - level of the interval that ends at the null, or Student's of
        the difference divided by the draws' deviation where no draw lies beyond the null.
    groups, sample_weight, pos_label, max_fpr, min_tpr, min_fpr, n_bootstrap, random_state, progress
        As in `auc_interval`.
    alternative : {"two-sided", "greater", "less"}
        What the test should show: that the AUCs differ, that AUC(a) > AUC(b) - margin, or AUC(a) < AUC(b) + margin.
    margin : float in [0, 1)
        With alternative="greater", a is shown to be not worse than b by `margin` or more (non-inferiority).

    Returns
    -------
    AUCComparison
        Unpacks to (difference, low, high, pvalue).

    Notes
    -----
    Of simulated true null hypotheses 3.5 to 6.5 % are rejected at p < 0.05 from 30 positives on. Where both rankings
    are nearly perfect (AUC .95 with 30 rows of each class) it is 1 to 3 %; with 10 positives 0 to 8 %. The page on
    coverage has all figures.

    Examples
    --------
    >>> from auclid.metrics import compare_auc
    >>> y, a, b = [0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6], [3, 2, 4, 1, 5, 6]
    >>> result = compare_auc(y, a, b)
    >>> round(result.difference, 3), round(result.pvalue, 3)
    (0.222, 0.438)
    >>> round(compare_auc(y, a, b, alternative="greater", margin=0.2).pvalue, 3)
    0.095

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44. Sun & Xu (2014), IEEE Signal Processing Letters 21.
    Obuchowski (1997), Biometrics 53.
    """
    owner = "compare_auc"
    question = checked_question(owner, level, alternative, margin)
    region = checked_region(owner, max_fpr, min_tpr, min_fpr=min_fpr)
    plan = checked_plan(owner, method, n_bootstrap, random_state, progress)
    asked: dict[str, Any] = {"groups": groups, "method": method, "whole": region.whole}
    parts = sample_of_parts(owner, y_true, [score_a, score_b], sample_weight, pos_label, **asked)
    if parts is not None:
        contrast, areas = np.array([1.0, -1.0]), parts.areas()
        se = float(np.sqrt(max(float(contrast @ parts.covariance() @ contrast), 0.0)))
        plain = sample_weight is None and parts.trials >= _sizes.MIN_ROWS_FOR_NORMAL_TEST
        df = np.inf if plain else parts.welch_degrees(contrast)
        compared = answer(float(contrast @ areas), se, parts.trials, question, df)
        a, b = map(float, areas)
        return compared._replace(method=method, estimate_a=a, estimate_b=b, **parts.row_counts)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"score_a": score_a, "score_b": score_b}, **rows)
    of_a, of_b = (area_terms(sample, score, region) for score in sample.scores)
    gap = (of_a - of_b).scaled(region.slope)
    errors = Errors.of(sample, gap, difference=True)
    if plan.method == "delong":
        warn_of_few(sample, region)
        df = np.inf if sample.is_plain(_sizes.MIN_ROWS_FOR_NORMAL_TEST) else errors.freedom
        compared = answer(gap.area, standard_error(sample, gap), sample.trials, question, df)
    else:
        steps = [runs(sample.is_pos, score) for score in sample.scores]
        drawn = region.slope * replicates(sample, steps, lambda pair: _difference(pair, region), plan)
        compared = from_draws(gap.area, drawn, errors, plan.method, question)
    a, b = region.value(of_a.area), region.value(of_b.area)
    return compared._replace(method=method, estimate_a=a, estimate_b=b, **sample.counts)


def compare_auc_unpaired(
    y_a: ArrayLike,
    score_a: ArrayLike,
    y_b: ArrayLike,
    score_b: ArrayLike,
    *,
    level: float = 0.95,
    method: str = "delong",
    groups_a: ArrayLike | None = None,
    groups_b: ArrayLike | None = None,
    sample_weight_a: ArrayLike | None = None,
    sample_weight_b: ArrayLike | None = None,
    pos_label: Any = None,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    n_bootstrap: int = 2000,
    random_state: Any = None,
    alternative: str = "two-sided",
    margin: float = 0.0,
    progress: Progress = False,
) -> AUCComparison:
    """Difference of the AUCs of two samples of different rows, with a test.

    difference = AUC(a) - AUC(b) and se^2 = se_a^2 + se_b^2, each as in `auc_interval`; the rest as in `compare_auc`.

    Parameters
    ----------
    y_a, y_b : array-like of shape (n_a,) and (n_b,)
        Two labels, at least two rows of each in each sample; of two numbers the greater one is positive.
    score_a, score_b : array-like of shape (n_a,) and (n_b,)
        Scores, greater for rows thought positive.
    level, method, pos_label, max_fpr, min_tpr, n_bootstrap, random_state, alternative, margin, progress
        As in `compare_auc`.
    groups_a, groups_b, sample_weight_a, sample_weight_b : array-like, optional
        As `groups` and `sample_weight`, for each sample. Groups of the two samples are taken to be different ones.

    Returns
    -------
    AUCComparison
        Unpacks to (difference, low, high, pvalue).

    Examples
    --------
    >>> from auclid.metrics import compare_auc_unpaired
    >>> result = compare_auc_unpaired([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6], [0, 0, 1, 1], [1, 4, 2, 5])
    >>> round(result.difference, 3), round(result.pvalue, 3)
    (0.139, 0.743)

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44.
    """
    owner = "compare_auc_unpaired"
    question = checked_question(owner, level, alternative, margin)
    region = checked_region(owner, max_fpr, min_tpr)
    plan = checked_plan(owner, method, n_bootstrap, random_state, progress)
    a = checked_sample(
        owner, y_a, {"score_a": score_a}, sample_weight=sample_weight_a, groups=groups_a, pos_label=pos_label
    )
    b = checked_sample(
        owner, y_b, {"score_b": score_b}, sample_weight=sample_weight_b, groups=groups_b, pos_label=pos_label
    )
    return unpaired(a, b, region, plan, question)


def unpaired(a: Sample, b: Sample, region: Region, plan: Plan, question: Question) -> AUCComparison:
    """`compare_auc_unpaired` of checked samples."""
    areas = [area_terms(sample, sample.scores[0], region) for sample in (a, b)]
    of_a, of_b = (area.scaled(region.slope) for area in areas)
    difference, trials = of_a.area - of_b.area, min(a.trials, b.trials)
    errors = Errors.of(a, of_a).minus(Errors.of(b, of_b))
    if plan.method == "delong":
        for sample in (a, b):
            warn_of_few(sample, region, depth=4)
        se = float(np.hypot(standard_error(a, of_a), standard_error(b, of_b)))
        plain = all(each.is_plain(_sizes.MIN_ROWS_FOR_NORMAL_TEST) for each in (a, b))
        df = np.inf if plain else errors.freedom
        compared = answer(difference, se, trials, question, df)
    else:
        seeded = _with_generators(a, b, plan)
        drawn = [_own_draws(sample, region, plan._replace(random_state=rng)) for sample, rng in seeded]
        compared = from_draws(difference, region.slope * (drawn[0] - drawn[1]), errors, plan.method, question)
    value_a, value_b = (region.value(area.area) for area in areas)
    counts = {name: _sum(a.counts[name], b.counts[name]) for name in a.counts}
    return compared._replace(method=plan.method, estimate_a=value_a, estimate_b=value_b, **counts)


def _sum(a: int | None, b: int | None) -> int | None:
    """The sum of two counts; None where neither sample has any."""
    return None if a is None and b is None else (a or 0) + (b or 0)


def _with_generators(a: Sample, b: Sample, plan: Plan) -> list[tuple[Sample, np.random.Generator]]:
    """Both samples with draws of their own from one seed."""
    rng = _random.generator(plan.random_state)
    return [(sample, np.random.default_rng(rng.integers(1 << 63))) for sample in (a, b)]


def _own_draws(sample: Sample, region: Region, plan: Plan) -> np.ndarray:
    steps = [runs(sample.is_pos, sample.scores[0])]
    return replicates(sample, steps, lambda masses: area_of(masses[0], region), plan)


def _difference(pair: list[Masses], region: Region) -> float:
    return area_of(pair[0], region) - area_of(pair[1], region)


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


def answer(
    difference: float, se: float, trials: int, question: Question, df: float = np.inf
) -> AUCComparison:
    """Interval and p-value from a standard error."""
    level, alternative, margin = question
    how: dict[str, Any] = {"se": se, "level": level, "alternative": alternative, "margin": margin}
    if se == 0.0:
        pvalue = sign_pvalue(difference, trials, alternative, margin)
        seen = 1.0 if difference == 0.0 else ((1.0 - level) / question.sides) ** (1.0 / trials)
        middle, reach = seen * difference, 1.0 - seen
    else:
        pvalue = normal_pvalue(difference, se, alternative, margin, df)
        middle, reach = difference, quantile(level, df, question.sides) * se
        how |= {"statistic": (difference - question.null) / se, "df": df}
    return AUCComparison(difference, *question.one_sided(middle - reach, middle + reach), pvalue, **how)


def from_draws(
    difference: float, drawn: np.ndarray, errors: Errors, method: str, question: Question
) -> AUCComparison:
    """Interval and p-value from bootstrap draws of a difference."""
    se = deviation(drawn)
    compared = answer(difference, se, errors.units, question, errors.freedom if se else np.inf)
    if se == 0.0:
        return compared
    low, high = question.one_sided(*ends(drawn, question.level, difference, errors, method, question.sides))
    greater, less = tail_pvalues(drawn, question.null, difference, errors, method)
    pvalue = {"greater": greater, "less": less}.get(question.alternative, min(1.0, 2.0 * min(greater, less)))
    return compared._replace(low=low, high=high, pvalue=pvalue)


def equivalence(comparison: Comparison, margin: float, *, level: float = 0.95) -> Equivalence:
    """Test that two models differ by less than a margin, from any comparison of this package (TOST).

    Two one-sided tests at 1 - level, against a difference of -margin or less and of margin or more; the p-value is the
    larger of the two. It is below 1 - level exactly where the interval of coverage 1 - 2 (1 - level), which is
    returned, lies within (-margin, margin).

    Parameters
    ----------
    comparison : result of `compare_auc`, `compare_average_precision`, `compare_at`, `compare_brier`, ...
        A difference with its standard error.
    margin : float in (0, inf)
        Differences that are smaller do not matter.
    level : float in (0.5, 1)
        1 - level is the size of the test.

    Returns
    -------
    Equivalence
        Unpacks to (difference, low, high, pvalue); `equivalent` says whether the test succeeds.

    Examples
    --------
    >>> from auclid.datasets import load_mammography
    >>> from auclid.metrics import compare_auc, equivalence
    >>> X, y = load_mammography(return_X_y=True)
    >>> noisy = X[:, 3] + 0.01 * X[:, 0]
    >>> equivalence(compare_auc(y, X[:, 3], noisy), margin=0.02).equivalent
    True

    References
    ----------
    Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach, Journal of
    Pharmacokinetics and Biopharmaceutics 15.
    """
    owner = "equivalence"
    margin = number_in(owner, "margin", margin, 0.0, np.inf)
    level = number_in(owner, "level", level, 0.5, 1.0)
    if not isinstance(comparison, Comparison) or comparison.se is None:
        raise TypeError(
            f"{owner} expects a comparison with a standard error, as compare_auc gives. Got {comparison!r} instead."
        )
    gap, se = comparison.difference, comparison.se
    df = np.inf if comparison.df is None else comparison.df
    how: dict[str, Any] = {name: getattr(comparison, name) for name in ("n_positive", "n_negative", "n_groups")}
    how |= {"margin": margin, "se": se, "df": df, "level": 2.0 * level - 1.0, "method": "tost"}
    if se == 0.0:
        inside = abs(gap) < margin
        return Equivalence(gap, gap, gap, 0.0 if inside else 1.0, equivalent=inside, **how)
    pvalue = max(normal_pvalue(gap, se, side, margin, df) for side in ("greater", "less"))
    reach = quantile(2.0 * level - 1.0, df) * se
    return Equivalence(gap, gap - reach, gap + reach, pvalue, equivalent=pvalue < 1.0 - level, **how)
