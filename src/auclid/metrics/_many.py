"""Many models on the same rows: are they all alike, and if not, which differ?"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from auclid.metrics._bootstrap import Progress, checked_plan
from auclid.metrics._inference import Estimates, Question, area_statistic, warn_of_few
from auclid.metrics._results import AUCComparison, AUCInterval, ManyComparison, PairComparison
from auclid.metrics._sample import checked_region, checked_sample
from auclid.metrics._variance import covariance, sign_pvalue
from auclid.validation.parameters import number_in, one_of

CORRECTIONS = ("holm", "bonferroni", "none")


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
    found, question = Estimates.of(sample, area_statistic(region), plan), Question(level)
    intervals = {name: found.interval(level, AUCInterval, k) for k, name in enumerate(names)}
    gaps = [found.difference(question, AUCComparison, *pair) for pair in combinations(range(len(names)), 2)]
    pvalues = np.array([gap.pvalue for gap in gaps])
    pairs = [
        _pair(a, b, gap, float(adjusted))
        for (a, b), gap, adjusted in zip(combinations(names, 2), gaps, corrected(pvalues, correction), strict=True)
    ]
    cov = covariance(sample, found.terms) if found.drawn is None else np.atleast_2d(np.cov(found.drawn.T))
    value = np.array([found.value(k) for k in range(len(names))])
    statistic, pvalue = _all_alike(value, region.slope**2 * cov, sample.trials)
    if np.isnan(statistic):
        pvalue = float(np.min(corrected(pvalues, "bonferroni")))
    return ManyComparison(intervals, pairs, statistic, pvalue, level=level, method=method, **sample.counts)


def _pair(a: str, b: str, gap: AUCComparison, adjusted: float) -> PairComparison:
    """The comparison of two models, with their names."""
    how = {name: getattr(gap, name) for name in ("se", "statistic", "df", "level", "method")}
    return PairComparison(a, b, *gap, adjusted, **how)


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
