"""Many models on the same rows: are they all alike, and if not, which differ?"""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from auclid._labels import number_in, one_of
from auclid.metrics._compare import Question, answer
from auclid.metrics._interval import AUCInterval, of_parts
from auclid.metrics._placements import parts
from auclid.metrics._sample import Sample, checked_region, checked_sample
from auclid.metrics._variance import covariance

CORRECTIONS = ("holm", "bonferroni", "none")


class PairComparison(NamedTuple):
    """AUC of model `a` minus that of `b`, its interval, p-value, and the p-value allowing for the number of pairs."""

    a: str
    b: str
    difference: float
    low: float
    high: float
    pvalue: float
    adjusted: float


class ManyComparison(NamedTuple):
    """The interval of each model, all pairs, and the test that all AUCs are equal."""

    intervals: dict[str, AUCInterval]
    pairs: list[PairComparison]
    statistic: float
    pvalue: float


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
) -> ManyComparison:
    """Every pair of several models on the same rows, corrected for their number, and one test of them all.

    With areas A and their covariance S after DeLong, the global test is that of T = (L A)' (L S L')^-1 (L A), L the
    differences to the first model, by Hotelling's F with q = rank and m - 1 degrees, m the rows (or groups) of the
    smaller class: F = T (m - q) / (q (m - 1)). Holm's correction multiplies the k-th smallest of K p-values by
    K - k + 1, and lets none be smaller than those before it.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind, at least two rows (or groups) of each. The greater one is positive.
    scores : dict of name to array-like of shape (n,)
        Scores of two or more models, greater for rows thought positive.
    correction : {"holm", "bonferroni", "none"}
        How p-values allow for the number of pairs. Intervals do not.
    level : float in (0, 1)
        Coverage of each interval.
    groups, sample_weight, pos_label, max_fpr, min_tpr
        As in `auc_interval`.

    Returns
    -------
    ManyComparison
        Named tuple (intervals, pairs, statistic, pvalue): by name an `AUCInterval`; for each pair of names a
        `PairComparison`; T and the p-value of no difference at all.

    Examples
    --------
    >>> from auclid.metrics import compare_many
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> models = {"a": [1, 2, 4, 3, 3, 5, 6, 7], "b": [3, 2, 4, 5, 1, 5, 6, 2], "c": [1, 3, 2, 2, 4, 1, 3, 5]}
    >>> result = compare_many(y, models)
    >>> [(pair.a, pair.b, round(pair.adjusted, 2)) for pair in result.pairs]
    [('a', 'b', 0.18), ('a', 'c', 1.0), ('b', 'c', 1.0)]

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44. Holm (1979), Scandinavian Journal of Statistics 6.
    """
    owner = "compare_many"
    level = number_in(owner, "level", level, 0.0, 1.0)
    one_of(owner, "correction", correction, CORRECTIONS)
    if not isinstance(scores, Mapping) or len(scores) < 2:
        raise ValueError(
            f"The 'scores' parameter of {owner} must be a dict of two or more models' scores by name. "
            f"Got {len(scores) if isinstance(scores, Mapping) else type(scores).__name__} instead."
        )
    region = checked_region(owner, max_fpr, min_tpr)
    rows = {"sample_weight": sample_weight, "groups": groups, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {f"scores[{name!r}]": s for name, s in scores.items()}, **rows)
    areas = [parts(sample, score, region) for score in sample.scores]
    intervals = {str(name): of_parts(sample, size, region, level) for name, size in zip(scores, areas, strict=True)}
    cov = region.slope**2 * covariance(sample, areas)
    value = np.array([interval.auc for interval in intervals.values()])
    pairs = _pairs(list(intervals), value, cov, sample, Question(level), correction)
    return ManyComparison(intervals, pairs, *_all_alike(value, cov, sample.trials))


def _pairs(
    names: list[str], value: np.ndarray, cov: np.ndarray, sample: Sample, question: Question, correction: str
) -> list[PairComparison]:
    found = []
    for a, b in combinations(range(len(names)), 2):
        variance = cov[a, a] + cov[b, b] - 2.0 * cov[a, b]
        # Two rankings that agree leave only the rounding of three equal terms.
        se = float(np.sqrt(variance)) if variance > 1e-12 * (cov[a, a] + cov[b, b]) else 0.0
        difference = float(value[a] - value[b]) if se else float(np.round(value[a] - value[b], 12))
        found.append((names[a], names[b], *answer(difference, se, sample.trials, question)))
    adjusted = corrected(np.array([row[-1] for row in found]), correction)
    return [PairComparison(*row, float(p)) for row, p in zip(found, adjusted, strict=True)]


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
    """Statistic and p-value of equal areas; what has no variance and no difference counts for nothing."""
    gap = value[1:] - value[0]
    spread = cov[1:, 1:] - cov[0, 1:] - cov[1:, :1] + cov[0, 0]
    values, vectors = np.linalg.eigh(spread)
    kept = values > 1e-12 * max(np.trace(cov), 1e-300)
    rank = int(kept.sum())
    if rank == 0:
        return 0.0, 1.0
    statistic = float(np.sum((vectors.T @ gap)[kept] ** 2 / values[kept]))
    if units <= rank:
        return statistic, 1.0
    return statistic, float(fdtrc(rank, units - rank, statistic * (units - rank) / (rank * (units - 1.0))))
