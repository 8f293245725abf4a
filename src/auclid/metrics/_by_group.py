"""What differs between groups of rows: the AUC within and between them, and the rates of one threshold."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from auclid.errors import quoted_value
from auclid.metrics._bootstrap import Plan
from auclid.metrics._confusion import METRICS, Cut, metric_terms, wilson_interval
from auclid.metrics._inference import Estimates, Question, answer, area_statistic, unpaired
from auclid.metrics._interval import interval
from auclid.metrics._placements import area_terms
from auclid.metrics._results import AUCComparison, GroupAUC, GroupPair, GroupRates, MetricInterval
from auclid.metrics._sample import WHOLE, Sample, checked_sample, effective_count
from auclid.metrics._variance import quantile, standard_error
from auclid.validation.parameters import number_in
from auclid.validation.vectors import codes, column, row_weights, same_length

MIN_DRAWS, MAX_DRAWS, MAX_DRAWN = 2_000, 20_000, 2_000_000
"""Normal draws that tell how extreme the most extreme of several differences is, and differences drawn in all."""

DRAWS_AT_ONCE = 1_000
"""Draws that are in memory at a time."""


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
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive.
    groups : array-like of shape (n,)
        The group of each row; every group has at least two rows of each class.
    level : float in (0, 1)
        Coverage of each interval.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Returns
    -------
    GroupAUC
        Unpacks to (intervals, table, worst, gap). `intervals` has an `AUCInterval` by group, `table` is G x G in the
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
    if len(names) < 2:
        raise ValueError(f"{owner} expects two groups or more. Got only {names}; see auc_interval.")
    _refuse_half_groups(owner, sample, member, names)
    own = [sample.group(member == g) for g in range(len(names))]
    intervals = {name: interval(rows, WHOLE, Plan(), level) for name, rows in zip(names, own, strict=True)}
    cells = _cells(sample, member, len(names))
    worst = _worst(sample, cells, names, Question(level))
    return GroupAUC(intervals, cells.table, worst, _gap(own, names, cells.table, Question(level)))


def _members(
    owner: str, y_true: ArrayLike, groups: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[list[Any], np.ndarray]:
    """The groups of rows of positive weight, and the number of each row's one."""
    group = column(owner, "groups", groups)
    same_length(owner, y_true=column(owner, "y_true", y_true), groups=group)
    weight = row_weights(owner, y_true, sample_weight)
    if weight is not None:
        group = group[weight > 0.0]
    labels, member = codes(owner, "groups", group)
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


class _Cells(NamedTuple):
    """AUCs of the positives of each group against the negatives of each, less that of all rows: terms of their errors.

    ``pos[g]`` has a row for each group h, with the terms that the positives of g add to the cell (g, h), and a last one
    with what they add to the AUC of all rows; ``neg[h]`` has the terms of the negatives of h in the cells (g, h).
    """

    table: np.ndarray
    whole: float
    pos: list[np.ndarray]
    neg: list[np.ndarray]

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.table)


def _cells(sample: Sample, member: np.ndarray, size: int) -> _Cells:
    whole = area_terms(sample, sample.scores[0])
    of_pos, of_neg = (np.zeros(len(member)) for _ in range(2))
    of_pos[sample.is_pos], of_neg[~sample.is_pos] = whole.pos, whole.neg
    rows_pos = [np.flatnonzero(sample.is_pos & (member == g)) for g in range(size)]
    rows_neg = [np.flatnonzero(~sample.is_pos & (member == g)) for g in range(size)]
    n_pos, n_neg = len(whole.pos), len(whole.neg)
    table = np.empty((size, size))
    pos, neg = ([np.empty((size + 1, len(rows))) for rows in side] for side in (rows_pos, rows_neg))
    for g in range(size):
        pos[g][size], neg[g][size] = of_pos[rows_pos[g]], of_neg[rows_neg[g]]
        for h in range(size):
            chosen = sample.group(np.concatenate([rows_pos[g], rows_neg[h]]))
            cell = area_terms(chosen, chosen.scores[0])
            table[g, h], pos[g][h], neg[h][g] = cell.area, cell.pos, cell.neg
    for each in pos:
        each *= np.sqrt(n_pos / (n_pos - 1.0))
    for each in neg:
        each *= np.sqrt(n_neg / (n_neg - 1.0))
    return _Cells(table, whole.area, pos, neg)


def _worst(sample: Sample, cells: _Cells, names: list[Any], question: Question) -> GroupPair:
    """The lowest AUC of all pairs, and its difference to that of all rows."""
    size, total = cells.size, sum(float(each[-1] @ each[-1]) for each in (*cells.pos, *cells.neg))
    variance = np.empty((size, size))
    for g in range(size):
        for h in range(size):
            (a, of_a), (b, of_b) = cells.pos[g][[h, size]], cells.neg[h][[g, size]]
            variance[g, h] = a @ a + b @ b - 2.0 * (a @ of_a + b @ of_b) + total
    error = np.sqrt(np.maximum(variance, 0.0))
    g, h = divmod(int(cells.table.argmin()), size)
    gap = float(cells.table[g, h] - cells.whole)
    result = answer(AUCComparison, gap, float(error[g, h]), sample.trials, question)
    if error[g, h] > 0.0:
        roots = [[_root(each) for each in side] for side in (cells.pos, cells.neg)]
        result = _allowing(result, -gap / error[g, h], size * size, 1.0, partial(_drawn_cells, roots, error))
    else:
        result = result._replace(pvalue=min(1.0, size * size * result.pvalue))
    return GroupPair(names[g], names[h], float(cells.table[g, h]), result)


def _root(terms: np.ndarray) -> np.ndarray:
    """A root of the covariance of sums of terms, a row each."""
    values, vectors = np.linalg.eigh(terms @ terms.T)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _drawn_cells(roots: list[list[np.ndarray]], error: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    """The largest standardised error of all cells, in each of so many draws."""
    size = len(error)
    pos, neg = (np.stack([rng.normal(size=(count, size + 1)) @ root.T for root in side]) for side in roots)
    whole = pos[:, :, size].sum(axis=0) + neg[:, :, size].sum(axis=0)
    out = np.full(count, -np.inf)
    for g in range(size):
        drawn = pos[g][:, :size] + neg[:, :, g].T - whole[:, None]
        out = np.maximum(out, (drawn / np.where(error[g] > 0.0, error[g], np.inf)).max(axis=1))
    return out


def _gap(own: list[Sample], names: list[Any], table: np.ndarray, question: Question) -> GroupPair:
    """The two groups whose own AUCs differ most."""
    auc = np.diag(table)
    g, h = int(auc.argmin()), int(auc.argmax())
    if g == h:  # all are equal
        h = 1 if g == 0 else 0
    of_g, of_h = (Estimates.of(own[k], area_statistic(WHOLE), Plan()) for k in (g, h))
    result = unpaired(of_g, of_h, question)
    error = np.array([standard_error(rows, area_terms(rows, rows.scores[0])) for rows in own])
    pairs = len(names) * (len(names) - 1) // 2
    spread = float(np.hypot(error[g], error[h]))
    if spread > 0.0:
        result = _allowing(result, abs(result.difference) / spread, pairs, 2.0, partial(_drawn_differences, error))
    else:
        result = result._replace(pvalue=min(1.0, pairs * result.pvalue))
    return GroupPair(names[g], names[h], float(auc[g]), result)


def _drawn_differences(error: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    """The largest standardised difference of two groups, in each of so many draws."""
    drawn, out = rng.normal(size=(count, len(error))) * error, np.zeros(count)
    for g in range(len(error) - 1):
        spread = np.hypot(error[g], error[g + 1 :])
        gap = np.abs(drawn[:, g + 1 :] - drawn[:, [g]])
        out = np.maximum(out, (gap / np.where(spread > 0.0, spread, np.inf)).max(axis=1))
    return out


def _allowing(found: AUCComparison, z: float, pairs: int, sides: float, extremes: Any) -> AUCComparison:
    """The p-value of having chosen the most extreme of several differences: that of the largest of so many normals.

    By 2,000 to 20,000 draws from a seed of its own; in the far tail, where draws are few and pairs no longer matter
    to each other, by their number (Bonferroni). ``extremes(rng, count)`` draws the most extreme one.
    """
    if pairs == 1:
        return found
    bonferroni = pairs * sides * float(ndtr(-z))
    if bonferroni < 1e-3:
        return found._replace(pvalue=min(1.0, bonferroni))
    rng, count = np.random.default_rng(0), int(np.clip(MAX_DRAWN // pairs, MIN_DRAWS, MAX_DRAWS)) // DRAWS_AT_ONCE
    drawn = np.concatenate([extremes(rng, DRAWS_AT_ONCE) for _ in range(count)])
    return found._replace(pvalue=min(float(np.mean(drawn >= z)), bonferroni, 1.0))


GROUP_METRICS = ("alert_rate", "tpr", "fpr", "precision", "npv", "accuracy")


def rates_by_group(
    y_true: ArrayLike,
    y_score: ArrayLike,
    groups: ArrayLike,
    threshold: float,
    *,
    reference: Any = None,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> GroupRates:
    """Selection rates, error rates and predictive values of each group at one threshold, with intervals.

    The selection ratio of a group is its share of flagged rows divided by that of the reference group; its interval is
    symmetric in the logarithm. Below 0.8 the "four-fifths rule" speaks of adverse impact, where being flagged is what
    people want; where it is a burden, take the group of lowest rate for the reference.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Finite scores, greater for rows thought positive.
    groups : array-like of shape (n,)
        The group of each row. A group may lack a class; rates of it are then nan with the interval [0, 1].
    threshold : float
        Rows that score higher are flagged.
    reference : label, optional
        The group that others are compared with; else the one of highest selection rate.
    level : float in (0, 1)
        Coverage of each interval.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Returns
    -------
    GroupRates
        `rates[group][name]` and `ratios[group]` unpack to (value, low, high, se); `to_frame()` is a table of them.

    Examples
    --------
    >>> from auclid.metrics import rates_by_group
    >>> y, s = [0, 1, 0, 1, 0, 1, 0, 1], [1, 4, 2, 6, 3, 3, 6, 5]
    >>> result = rates_by_group(y, s, ["a", "a", "a", "a", "b", "b", "b", "b"], 2.5)
    >>> {group: result.rates[group]["alert_rate"].value for group in result.groups}
    {'a': 0.5, 'b': 1.0}
    >>> result.reference, result.ratios["a"].value
    ('b', 0.5)

    References
    ----------
    Katz et al. (1978), Obtaining confidence intervals for the risk ratio in cohort studies, Biometrics 34. Hardt, Price
    & Srebro (2016), Equality of opportunity in supervised learning, NeurIPS.
    """
    owner = "rates_by_group"
    level = number_in(owner, "level", level, 0.0, 1.0)
    threshold = number_in(owner, "threshold", threshold, -np.inf, np.inf)
    rows = {"sample_weight": sample_weight, "pos_label": pos_label}
    sample = checked_sample(owner, y_true, {"y_score": y_score}, fewest=1, **rows)
    names, member = _members(owner, y_true, groups, sample_weight)
    rates = {name: _rates(sample.group(member == k), threshold, level) for k, name in enumerate(names)}
    if reference is None:
        reference = max(names, key=lambda name: rates[name]["alert_rate"].value)
    elif reference not in names:
        got = quoted_value(reference)
        raise ValueError(f"The 'reference' parameter of {owner} must be one of the groups. Got {got} instead.")
    base = rates[reference]["alert_rate"]
    ratios = {name: _ratio(rates[name]["alert_rate"], base, name == reference, level) for name in names}
    return GroupRates(names, rates, ratios, reference, threshold)


def _rates(sample: Sample, threshold: float, level: float) -> dict[str, MetricInterval]:
    """All rates of one group, which may lack a class."""
    cut, rates = Cut.at(sample.scores[0], threshold), {}
    for name in GROUP_METRICS:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = metric_terms(sample, cut, METRICS[name])
        low, high = map(float, wilson_interval(terms.value, terms.se, _basis(sample, cut, name), level, terms.df))
        told: dict[str, Any] = {"metric": name, "threshold": cut.threshold, "level": level, "method": "wilson"}
        rates[name] = MetricInterval(terms.value, low, high, terms.se, **told, **sample.counts)
    return rates


def _basis(sample: Sample, cut: Cut, name: str) -> float:
    """The rows that a share is one of, in effective numbers."""
    flagged = cut.flagged > 0.0
    of = {"tpr": sample.is_pos, "fpr": ~sample.is_pos, "precision": flagged, "npv": ~flagged}.get(name)
    return effective_count(sample.weights if of is None else sample.weights[of])


def _ratio(rate: MetricInterval, base: MetricInterval, same: bool, level: float) -> MetricInterval:
    """The ratio of two independent shares; half a row is added where one of them is zero."""
    told: dict[str, Any] = {"metric": "selection ratio", "level": level, "method": "log"}
    if same:
        return MetricInterval(1.0, 1.0, 1.0, 0.0, **told)
    sizes = [max((each.n_positive or 0) + (each.n_negative or 0), 1) for each in (rate, base)]
    shares = [each.value for each in (rate, base)]
    value = shares[0] / shares[1] if shares[1] > 0.0 else float("nan")
    errors = [each.se / each.value if each.value > 0.0 else 0.0 for each in (rate, base)]
    if min(shares) <= 0.0:
        shares = [(share * n + 0.5) / (n + 0.5) for share, n in zip(shares, sizes, strict=True)]
        errors = [np.sqrt((1.0 - share) / (share * n)) for share, n in zip(shares, sizes, strict=True)]
    centre, se = shares[0] / shares[1], float(np.hypot(errors[0], errors[1]))
    reach = np.exp(quantile(level) * se)
    return MetricInterval(value, float(centre / reach), float(centre * reach), float(centre * se), **told)
