"""Do AUCs differ? Of two scores, paired or of two samples, or of many; two-sided, one-sided, or within a margin."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from auclid import _random, _sizes
from auclid.metrics._bootstrap import Plan, Progress, checked_plan
from auclid.metrics._inference import (
    Estimates,
    Question,
    answer,
    area_statistic,
    checked_question,
    unpaired,
    warn_of_few,
    with_estimates,
)
from auclid.metrics._partitioned import PartitionedSample, sample_anywhere
from auclid.metrics._results import (
    AUCComparison,
    AUCInterval,
    Comparison,
    Equivalence,
    ManyComparison,
    PairComparison,
)
from auclid.metrics._sample import checked_region, checked_sample
from auclid.metrics._variance import covariance, normal_pvalue, quantile, sign_pvalue
from auclid.validation.parameters import number_in, one_of

CORRECTIONS = ("holm", "bonferroni", "none")


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
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    scores = {"score_a": score_a, "score_b": score_b}
    sample = sample_anywhere(owner, y_true, scores, method=method, whole=region.whole, **rows)
    if isinstance(sample, PartitionedSample):
        return _partitioned(sample, plan, question)
    if plan.by_variance:
        warn_of_few(sample, region)
    return Estimates.of(sample, area_statistic(region), plan).difference(question, AUCComparison)


def _partitioned(sample: PartitionedSample, plan: Plan, question: Question) -> AUCComparison:
    """The difference of the AUCs of two scores in the parts of a Dask collection."""
    contrast, (a, b) = (1.0, -1.0), map(float, sample.areas())
    df = np.inf if sample.is_plain(_sizes.MIN_ROWS_FOR_NORMAL_TEST) else sample.welch_degrees(contrast)
    found = answer(AUCComparison, a - b, sample.standard_error(contrast), sample.trials, question, df)
    return with_estimates(found, plan, (a, b), sample.counts)


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
    a, b = (
        checked_sample(owner, y, {name: score}, sample_weight=weight, groups=groups, pos_label=pos_label)
        for y, name, score, weight, groups in (
            (y_a, "score_a", score_a, sample_weight_a, groups_a),
            (y_b, "score_b", score_b, sample_weight_b, groups_b),
        )
    )
    if plan.by_variance:
        for sample in (a, b):
            warn_of_few(sample, region)
    rng = None if plan.by_variance else _random.generator(plan.random_state)
    seeds = [None if rng is None else np.random.default_rng(rng.integers(1 << 63)) for _ in range(2)]
    of_a, of_b = (
        Estimates.of(sample, area_statistic(region), plan._replace(random_state=seed))
        for sample, seed in zip((a, b), seeds, strict=True)
    )
    return unpaired(of_a, of_b, question)


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


def compare_many(
    y_true: ArrayLike,
    scores: Mapping[str, ArrayLike],
    correction: str = "holm",
    *,
    level: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    method: str = "delong",
    n_bootstrap: int = 2000,
    random_state: Any = None,
    progress: Progress = False,
) -> ManyComparison:
    """Every pair of several models on the same rows, corrected for their number, and one test of them all.

    With areas A and their covariance S, DeLong's or that of bootstrap draws, the global test is that of T = (L A)'
    (L S L')^-1 (L A), L the differences to the first model, by Hotelling's F with q = rank and m - 1 degrees, m the
    rows (or groups) of the smaller class: F = T (m - q) / (q (m - 1)). Holm's correction multiplies the k-th smallest
    of K p-values by K - k + 1, and lets none be smaller than those before it. Differences without variance have no
    part in T; where they are not zero (one model ranks perfectly, another upside down) they have the sign test of
    `compare_auc`. Where there are more models than rows (or groups) of the smaller class, the F distribution does not
    exist: the statistic is NaN, and the p-value the smallest of all pairs times their number (Bonferroni).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels, at least two rows (or groups) of each; of two numbers the greater one is positive.
    scores : dict of name to array-like of shape (n,)
        Scores of two or more models, greater for rows thought positive.
    correction : {"holm", "bonferroni", "none"}
        How p-values allow for the number of pairs. Intervals do not.
    level : float in (0, 1)
        Coverage of each interval.
    groups, sample_weight, pos_label, max_fpr, min_tpr, method, n_bootstrap, random_state, progress
        As in `auc_interval` and, for pairs, `compare_auc`; all models are drawn together.

    Returns
    -------
    ManyComparison
        Unpacks to (intervals, pairs, statistic, pvalue): by name an `AUCInterval`; for each pair of names a
        `PairComparison`; T and the p-value of no difference at all.

    Examples
    --------
    >>> from auclid.metrics import compare_many
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> models = {"a": [1, 2, 4, 3, 3, 5, 6, 7], "b": [3, 2, 4, 5, 1, 5, 6, 2], "c": [1, 3, 2, 2, 4, 1, 3, 5]}
    >>> result = compare_many(y, models)
    >>> [(pair.a, pair.b, round(pair.adjusted, 2)) for pair in result.pairs]
    [('a', 'b', 0.43), ('a', 'c', 1.0), ('b', 'c', 1.0)]

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44. Holm (1979), Scandinavian Journal of Statistics 6.
    """
    owner = "compare_many"
    level = number_in(owner, "level", level, 0.0, 1.0)
    one_of(owner, "correction", correction, CORRECTIONS)
    names = _model_names(owner, scores)
    region = checked_region(owner, max_fpr, min_tpr)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {f"scores[{name!r}]": s for name, s in scores.items()}, **rows)
    plan = checked_plan(owner, method, n_bootstrap, random_state, progress)
    if plan.by_variance:
        warn_of_few(sample, region)
    estimates, question = Estimates.of(sample, area_statistic(region), plan), Question(level)
    intervals = {name: estimates.interval(level, AUCInterval, k) for k, name in enumerate(names)}
    gaps = [estimates.difference(question, AUCComparison, *pair) for pair in combinations(range(len(names)), 2)]
    pvalues = np.array([gap.pvalue for gap in gaps])
    pairs = [
        _pair(a, b, gap, float(adjusted))
        for (a, b), gap, adjusted in zip(combinations(names, 2), gaps, corrected(pvalues, correction), strict=True)
    ]
    cov = covariance(sample, estimates.terms) if estimates.drawn is None else np.atleast_2d(np.cov(estimates.drawn.T))
    value = np.array([estimates.value(k) for k in range(len(names))])
    statistic, pvalue = _all_alike(value, region.slope**2 * cov, sample.trials)
    if np.isnan(statistic):
        pvalue = float(np.min(corrected(pvalues, "bonferroni")))
    return ManyComparison(intervals, pairs, statistic, pvalue, level=level, method=method, **sample.counts)


def _pair(a: str, b: str, gap: AUCComparison, adjusted: float) -> PairComparison:
    """The comparison of two models, with their names."""
    difference, low, high, pvalue = gap
    how = {name: getattr(gap, name) for name in ("se", "statistic", "df", "level", "method")}
    return PairComparison(a, b, difference, low, high, pvalue, adjusted, **how)


def _model_names(owner: str, scores: Mapping[str, ArrayLike]) -> list[str]:
    """The names of two models or more, all different."""
    if not isinstance(scores, Mapping) or len(scores) < 2:
        raise ValueError(
            f"The 'scores' parameter of {owner} must be a dict of two or more models' scores by name. "
            f"Got {len(scores) if isinstance(scores, Mapping) else type(scores).__name__} instead."
        )
    names = [str(name) for name in scores]
    if len(set(names)) < len(names):
        raise ValueError(
            f"The 'scores' parameter of {owner} must have names that differ as texts. Got {names} instead."
        )
    return names


def corrected(pvalue: np.ndarray, correction: str) -> np.ndarray:
    """P-values that allow for their own number."""
    if correction == "none":
        return pvalue
    if correction == "bonferroni":
        return np.minimum(1.0, len(pvalue) * pvalue)
    order = np.argsort(pvalue, kind="stable")
    rising = np.maximum.accumulate(np.arange(len(pvalue), 0, -1) * pvalue[order])
    adjusted = np.empty(len(pvalue))
    adjusted[order] = np.minimum(1.0, rising)
    return adjusted


def _all_alike(value: np.ndarray, cov: np.ndarray, units: int) -> tuple[float, float]:
    """Statistic and p-value of equal areas; NaN where there are no more units than differences to test.

    What has no variance and no difference counts for nothing; a difference without variance has the sign test of
    `compare_auc`, and beside others that have one the smaller p-value counts, twice.
    """
    gap = value[1:] - value[0]
    spread = cov[1:, 1:] - cov[0, 1:] - cov[1:, :1] + cov[0, 0]
    values, vectors = np.linalg.eigh(spread)
    kept = values > 1e-12 * max(np.trace(cov), 1e-300)
    rank = int(kept.sum())
    along = vectors.T @ gap
    unvaried = float(np.round(np.abs(along[~kept]).max(initial=0.0), 9))
    certain = sign_pvalue(unvaried, units, "two-sided")
    if rank == 0:
        return 0.0, certain
    if len(gap) >= units:
        return np.nan, np.nan
    statistic = float(np.sum(along[kept] ** 2 / values[kept]))
    pvalue = float(fdtrc(rank, units - rank, statistic * (units - rank) / (rank * (units - 1.0))))
    return statistic, pvalue if unvaried == 0.0 else min(1.0, 2.0 * min(pvalue, certain))
