"""The AUC within and between groups of rows, and whether the worst of them is worse by more than chance."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from auclid._labels import codes, column, number_in, same_length, weight_column
from auclid.metrics._bootstrap import Plan
from auclid.metrics._compare import AUCComparison, Question, answer, unpaired
from auclid.metrics._interval import AUCInterval, interval
from auclid.metrics._placements import AreaTerms, area_terms
from auclid.metrics._sample import WHOLE, Sample, checked_sample
from auclid.metrics._variance import covariance, standard_error


class GroupPair(NamedTuple):
    """Two groups, and a comparison of what is said of them; its p-value allows for the choice of the pair."""

    first: Any
    second: Any
    auc: float
    comparison: AUCComparison


class GroupAUC(NamedTuple):
    """AUCs by group: within each, of all pairs of groups, the worst pair, and the two groups that differ most."""

    intervals: dict[Any, AUCInterval]
    table: np.ndarray
    worst: GroupPair
    gap: GroupPair


def auc_by_group(
    y_true: ArrayLike,
    y_score: ArrayLike,
    groups: ArrayLike,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> GroupAUC:
    """AUC of each group, of the positives of each against the negatives of each, and tests of the worst.

    table[g, h] is the AUC of the positives of group g against the negatives of group h; its diagonal is the AUC of each
    group by itself. A model can rank well within every group and badly across them, if the scores of one group lie
    higher: hence all pairs.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels of any kind. The greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive.
    groups : array-like of shape (n,)
        The group of each row; every group has at least two rows of each class.
    level : float in (0, 1)
        Coverage of each interval.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).
    pos_label : label, optional
        The positive label, where that is not the greater one.

    Returns
    -------
    GroupAUC
        Named tuple (intervals, table, worst, gap). `intervals` has an `AUCInterval` by group, `table` is G x G in the
        sorted order of groups. `worst` is the pair (positives of, negatives of) with the lowest AUC, and its
        difference to the AUC of all rows with a test; `gap` the two groups whose own AUCs differ most, and their
        difference with a test. Both p-values allow for the pair being the most extreme of all (the first, a one-sided
        test, of G x G; the second of G (G - 1) / 2).

    Examples
    --------
    >>> from auclid.metrics import auc_by_group
    >>> y, s = [0, 1, 0, 1, 0, 1, 0, 1], [1, 2, 2, 4, 3, 3, 6, 5]
    >>> result = auc_by_group(y, s, ["a", "a", "a", "a", "b", "b", "b", "b"])
    >>> result.table.tolist(), (result.worst.first, result.worst.second)
    ([[0.875, 0.25], [1.0, 0.375]], ('a', 'b'))

    References
    ----------
    Kallus & Zhou (2019), The fairness of risk scores beyond classification: bipartite ranking and the xAUC metric.
    """
    owner = "auc_by_group"
    level = number_in(owner, "level", level, 0.0, 1.0)
    sample = checked_sample(
        owner, y_true, {"y_score": y_score}, sample_weight=sample_weight, pos_label=pos_label, fewest=1
    )
    names, member = _members(owner, y_true, groups, sample_weight)
    _refuse_half_groups(owner, sample, member, names)
    own = [_only(sample, member == g) for g in range(len(names))]
    intervals = {name: interval(rows, WHOLE, Plan(), level) for name, rows in zip(names, own, strict=True)}
    cells = {(g, h): _cell(sample, member == g, member == h) for g in range(len(names)) for h in range(len(names))}
    table = np.array([[cells[g, h].area for h in range(len(names))] for g in range(len(names))])
    worst = _worst(sample, cells, names, Question(level))
    return GroupAUC(intervals, table, worst, _gap(own, names, table, Question(level)))


def _members(
    owner: str, y_true: ArrayLike, groups: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[list[Any], np.ndarray]:
    """The groups of rows of positive weight, and the number of each row's one."""
    group = column(owner, "groups", groups)
    same_length(owner, y_true=column(owner, "y_true", y_true), groups=group)
    if sample_weight is not None:
        group = group[weight_column(owner, sample_weight) > 0.0]
    labels, member = codes(owner, "groups", group)
    if len(labels) < 2:
        raise ValueError(f"{owner} expects two groups or more. Got only {labels.tolist()}; see auc_interval.")
    return labels.tolist(), member


def _refuse_half_groups(owner: str, sample: Sample, member: np.ndarray, names: list[Any]) -> None:
    for g, name in enumerate(names):
        n_pos = int(np.count_nonzero(sample.is_pos & (member == g)))
        n_neg = int(np.count_nonzero(~sample.is_pos & (member == g)))
        if min(n_pos, n_neg) < 2:
            raise ValueError(
                f"{owner} expects at least 2 rows of each class in every group. Got {n_pos} positive and {n_neg} "
                f"negative in group {name!r} instead. Leave it out, or join it with another."
            )


def _only(sample: Sample, rows: np.ndarray) -> Sample:
    weight = None if sample.weight is None else sample.weight[rows]
    return Sample(sample.is_pos[rows], (sample.scores[0][rows],), weight, None)


def _cell(sample: Sample, first: np.ndarray, second: np.ndarray) -> AreaTerms:
    """AUC of the positives of one group against the negatives of another, with its terms for all rows of the sample."""
    rows = np.where(sample.is_pos, first, second)
    chosen = _only(sample, rows)
    size = area_terms(chosen, chosen.scores[0])
    pos, neg = np.zeros(int(sample.is_pos.sum())), np.zeros(int((~sample.is_pos).sum()))
    pos[rows[sample.is_pos]], neg[rows[~sample.is_pos]] = size.pos, size.neg
    return AreaTerms(size.area, pos, neg)


def _worst(sample: Sample, cells: dict[tuple[int, int], AreaTerms], names: list[Any], question: Question) -> GroupPair:
    """The lowest AUC of all pairs, and its difference to that of all rows."""
    whole = area_terms(sample, sample.scores[0])
    g, h = min(cells, key=lambda pair: cells[pair].area)
    gaps = [cell - whole for cell in cells.values()]
    cov = covariance(sample, gaps)
    at = list(cells).index((g, h))
    found = answer(gaps[at].area, float(np.sqrt(max(cov[at, at], 0.0))), sample.trials, question)
    return GroupPair(names[g], names[h], cells[g, h].area, _allowing(found, gaps[at].area, cov, at, both_sides=False))


def _gap(own: list[Sample], names: list[Any], table: np.ndarray, question: Question) -> GroupPair:
    """The two groups whose own AUCs differ most."""
    pairs = list(combinations(range(len(names)), 2))
    g, h = max(pairs, key=lambda pair: abs(table[pair[0], pair[0]] - table[pair[1], pair[1]]))
    at = pairs.index((g, h))
    if table[g, g] > table[h, h]:
        g, h = h, g
    found = unpaired(own[g], own[h], WHOLE, Plan(), question)
    spread = np.diag([standard_error(rows, area_terms(rows, rows.scores[0])) ** 2 for rows in own])
    contrast = np.zeros((len(pairs), len(names)))
    for k, (a, b) in enumerate(pairs):
        contrast[k, a], contrast[k, b] = 1.0, -1.0
    cov = contrast @ spread @ contrast.T
    return GroupPair(
        names[g], names[h], float(table[g, g]), _allowing(found, found.difference, cov, at, both_sides=True)
    )


def _allowing(
    found: AUCComparison, difference: float, cov: np.ndarray, at: int, *, both_sides: bool
) -> AUCComparison:
    """The p-value of having chosen the most extreme of several differences, that of the largest of so many normals.

    By 20,000 draws from a seed of its own; in the far tail, where draws are few and pairs no longer matter to each
    other, by their number (Bonferroni).
    """
    size = np.sqrt(np.maximum(np.diag(cov), 0.0))
    if size[at] <= 0.0:
        return found._replace(pvalue=min(1.0, len(cov) * found.pvalue))
    z = abs(difference) / size[at] if both_sides else -difference / size[at]
    bonferroni = len(cov) * float(ndtr(-z)) * (2.0 if both_sides else 1.0)
    if bonferroni < 1e-3 or len(cov) == 1:
        return found._replace(pvalue=min(1.0, bonferroni))
    values, vectors = np.linalg.eigh(cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = np.random.default_rng(0).normal(size=(20_000, len(cov))) @ root.T
    drawn /= np.where(size > 0.0, size, np.inf)
    extreme = (np.abs(drawn) if both_sides else drawn).max(axis=1)
    return found._replace(pvalue=float(min(np.mean(extreme >= z), bonferroni, 1.0)))
