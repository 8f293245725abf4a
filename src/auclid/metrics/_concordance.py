"""Concordance: the share of comparable pairs that scores rank rightly, for any order, over time, within groups.

The influence of a row is what its pairs add to the concordance beyond their share: D_i = sum over the pairs of i of
weight · (c − C) / P, with c = 1, 1/2 or 0, C the concordance and P the weight of all pairs. The sum of D_i² is the
infinitesimal jackknife's variance, as R's `survival::concordance` prints it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auclid.errors import Described, invalid_value
from auclid.metrics._inference import answer, checked_question
from auclid.metrics._results import AUCInterval, AUCOverTime, ConcordanceComparison, ConcordanceInterval
from auclid.metrics._variance import quantile, share_interval
from auclid.stats.censoring import CensoringDistribution, censoring_distribution
from auclid.stats.pair_order import PairOrder, level_order
from auclid.validation.outcomes import (
    Survival,
    checked_weights,
    event_column,
    group_codes,
    in_memory,
    order_of,
    ordered_values,
    survival_target,
    time_column,
)
from auclid.validation.parameters import number_in, one_of
from auclid.validation.vectors import column, finite_column, numbers_column, positives, same_length

GROUP_WEIGHTS = ("size", "pairs", "equal")

N_TIMES = 10
"""Times of `auc_over_time` that are chosen where none are given."""


class ConcordanceTerms(NamedTuple):
    """A concordance and the influence of each row on it."""

    concordance: float
    influence: np.ndarray
    upper: np.ndarray
    """The part of the influence that comes from pairs in which the row is the upper one."""


def right_pairs(order: PairOrder, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each sorted row, the weight of its pairs that are ranked rightly, ties counted one half; and the same of
    those in which it is the upper row, minus those in which it is the lower one.

    Scores are replaced by their ranks, so that a threshold of ±1/2 tells ties from wrong pairs exactly.
    """
    rank = np.unique(score[order.rows], return_inverse=True)[1].astype(np.float64)
    wrong, not_right = order.margins(rank, -0.5), order.margins(rank, 0.5)
    right = order.degree - 0.5 * (wrong.degree + not_right.degree)
    return right, order.net - 0.5 * (wrong.net + not_right.net)


def order_terms(order: PairOrder, score: np.ndarray) -> ConcordanceTerms:
    """The concordance of scores with an order, and the influence of each row of the table on it."""
    right, net = right_pairs(order, score)
    value = float(right.sum() / order.degree.sum())
    influence = (right - value * order.degree) / order.total
    of_upper = 0.5 * (right + net - value * (order.degree + order.net)) / order.total
    return ConcordanceTerms(value, order.scattered(influence), order.scattered(of_upper))


class OrderedSample(NamedTuple):
    """Checked columns: what scores are compared with, and which rows are independent of one another."""

    order: PairOrder
    n: int
    cluster: np.ndarray | None
    survival: Survival | None
    censoring: CensoringDistribution | None
    """Whose weights the pairs have (Uno), and how often."""
    own_censoring: bool
    weight: np.ndarray | None

    def terms(self, score: np.ndarray) -> ConcordanceTerms:
        """The concordance of scores and the influence of each row, also by way of the censoring distribution."""
        found = order_terms(self.order, score)
        if self.censoring is None or not self.own_censoring or self.survival is None:
            return found
        through = self.censoring.influence(self.survival.time, self.survival.event, 2.0 * found.upper)
        if self.weight is not None:
            through *= self.weight
        return found._replace(influence=found.influence + through)

    def standard_error(self, influence: np.ndarray) -> float:
        """The root of the sum of squares over independent rows, or clusters of rows."""
        if self.cluster is None:
            return float(np.sqrt(np.sum(influence**2)))
        # A pair is in the influence of both its rows: the sum over a cluster that holds both counts it twice.
        share = 0.5 if self._pairs_within_clusters else 1.0
        return share * float(np.sqrt(np.sum(np.bincount(self.cluster, influence) ** 2)))

    @property
    def _pairs_within_clusters(self) -> bool:
        """Whether each group lies in one cluster, so that no pair is of two."""
        assert self.cluster is not None
        cluster, starts = self.cluster[self.order.rows], self.order.group_ends[:-1]
        return bool((np.minimum.reduceat(cluster, starts) == np.maximum.reduceat(cluster, starts)).all())

    @property
    def trials(self) -> int:
        """About how many pairs of rows are disjoint."""
        upper = int(np.count_nonzero(self.order.mass_below * self.order.upper))
        return max(1, min(upper, int(np.count_nonzero(self.order.mass_above))))


class CensoringOptions(NamedTuple):
    """How censored times are weighted: the options of `concordance`."""

    ipcw: bool
    tau: float | None
    train: Any

    @property
    def given(self) -> bool:
        """Whether any was given."""
        return bool(self.ipcw) or self.tau is not None or self.train is not None


def checked_order(
    owner: str,
    y: Any,
    options: CensoringOptions,
    *,
    event: Any = None,
    groups: Any = None,
    clusters: Any = None,
    sample_weight: Any = None,
) -> OrderedSample:
    """The order of checked columns."""
    values = ordered_values(owner, "y", y) if event is None else time_column(owner, "y", y)
    n = len(values)
    same_length(owner, y=values)
    weight, group = checked_weights(owner, sample_weight, n), group_codes(owner, groups, n)
    cluster = group_codes(owner, clusters, n, "clusters")
    if event is None:
        if options.given:
            raise invalid_value(owner, "event", "be given with ipcw, tau or train", None)
        order = order_of(owner, values, None, group, weight)
        return OrderedSample(order, n, cluster, None, None, False, weight)
    ipcw, tau, train = options
    seen = event_column(owner, event)
    same_length(owner, y=values, event=seen)
    survival, censoring = Survival(values, seen), None
    counted = seen if tau is None else seen & (values < number_in(owner, "tau", tau, 0.0, np.inf))
    factor = counted.astype(np.float64)
    if ipcw:
        censoring, inverse = checked_censoring(owner, survival, counted, weight, train)
        factor = inverse**2
    elif train is not None:
        raise invalid_value(owner, "train", "come with ipcw=True", Described("ipcw=False"))
    order = order_of(owner, values, seen, group, weight, factor)
    return OrderedSample(order, n, cluster, survival, censoring, train is None, weight)


def checked_censoring(
    owner: str, survival: Survival, counted: np.ndarray, weight: np.ndarray | None, train: Any = None
) -> tuple[CensoringDistribution, np.ndarray]:
    """The distribution of censoring and, for each row that counts, 1 / G(t-); 0 for all others."""
    of = survival if train is None else survival_target(owner, train)
    distribution = censoring_distribution(of.time, of.event, weight if train is None else None)
    used = counted if weight is None else counted & (weight > 0.0)
    G = np.where(used, distribution.before(survival.time), 1.0)
    if (G <= 0.0).any():
        raise invalid_value(
            owner, "train", "hold a time as late as each event that counts",
            Described(f"none as late as {float(survival.time[G <= 0.0][0]):g}"), "Count only events before a time tau.",
        )  # fmt: skip
    return distribution, np.where(used, 1.0 / G, 0.0)


def _score(owner: str, name: str, values: Any, n: int) -> np.ndarray:
    score = numbers_column(owner, name, in_memory(values))
    same_length(owner, y=np.empty(n), **{name: score})
    return score


def concordance(
    y: ArrayLike,
    s: ArrayLike,
    *,
    event: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ipcw: bool = False,
    tau: float | None = None,
    train: Any = None,
) -> float:
    """The share of comparable pairs of rows that scores rank rightly, ties counted one half; O(n log n).

    Without `event`, a pair is comparable where its y differ, and right where the greater y has the greater score: for
    two values of y this is the AUC. With `event`, y is a time and s a risk: a row whose event was seen is comparable
    with all rows of later times, and with censored ones of the same time, and should have the higher risk (Harrell's
    C, scikit-survival's `concordance_index_censored`).

    Parameters
    ----------
    y : array-like of shape (n,)
        Numbers, an ordered categorical, or with `event` times in [0, inf).
    s : array-like of shape (n,)
        Scores. Infinities are allowed, NaN is not.
    event : array-like of shape (n,), optional
        Whether the event was seen at the time y; else the time is censored.
    groups : array-like of shape (n,), optional
        Only rows of one group (a query, a session, a stratum) are compared.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf). A pair weighs the product of its rows' weights.
    ipcw : bool
        Whether a pair also weighs 1 / G(t)², G being the probability not to be censored before the time t of its event
        (Uno's C): the concordance then does not depend on the distribution of censoring.
    tau : float in (0, inf), optional
        Only events before this time count; choose it where few rows are still observed.
    train : structured array or frame, optional
        Events and times from which G is estimated; None: the rows themselves.

    Returns
    -------
    float

    Examples
    --------
    >>> from auclid.metrics import concordance
    >>> concordance([1, 2, 3], [0.1, 0.4, 0.3])
    0.6666666666666666
    >>> concordance([5.0, 3.0, 1.0], [1, 2, 3], event=[True, False, True])
    1.0

    References
    ----------
    Harrell, Califf, Pryor, Lee & Rosati (1982), JAMA 247. Uno, Cai, Pencina, D'Agostino & Wei (2011), Statistics in
    Medicine 30.
    """
    owner = "concordance"
    options = CensoringOptions(ipcw, tau, train)
    sample = checked_order(owner, y, options, event=event, groups=groups, sample_weight=sample_weight)
    return order_terms(sample.order, _score(owner, "s", s, sample.n)).concordance


def concordance_interval(
    y: ArrayLike,
    s: ArrayLike,
    *,
    event: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ipcw: bool = False,
    tau: float | None = None,
    train: Any = None,
    level: float = 0.95,
) -> ConcordanceInterval:
    """The concordance with its standard error and a confidence interval, symmetric on the logit scale.

    The variance is the infinitesimal jackknife's, that of R's `survival::concordance`; it allows for the estimation of
    the censoring distribution from the same rows. With ``groups`` alone it takes rows for independent, as R does with
    strata, and is too large where groups are small: pass ``clusters=groups`` as well. See the page on coverage.

    Parameters
    ----------
    y, s, event, groups, sample_weight, ipcw, tau, train
        As in `concordance`.
    clusters : array-like of shape (n,), optional
        Which rows are not independent of one another: the rows of a patient, for instance. ``clusters=groups`` takes
        whole groups for independent, as `group_auc` does.
    level : float in (0, 1)
        Coverage of the interval.

    Returns
    -------
    ConcordanceInterval
        Named tuple (concordance, low, high, se).

    Examples
    --------
    >>> from auclid.metrics import concordance_interval
    >>> result = concordance_interval([1, 2, 3, 4, 5, 6, 7], [2, 1, 4, 3, 6, 5, 7])
    >>> f"{result.concordance:.2f} in [{result.low:.2f}, {result.high:.2f}]"
    '0.86 in [0.75, 0.92]'

    References
    ----------
    Therneau & Watson (2017), The concordance statistic and the Cox model, Mayo Clinic technical report 85.
    """
    owner = "concordance_interval"
    level = number_in(owner, "level", level, 0.0, 1.0)
    options = CensoringOptions(ipcw, tau, train)
    columns = {"event": event, "groups": groups, "clusters": clusters, "sample_weight": sample_weight}
    sample = checked_order(owner, y, options, **columns)
    terms = sample.terms(_score(owner, "s", s, sample.n))
    se = sample.standard_error(terms.influence)
    return ConcordanceInterval(terms.concordance, *share_interval(terms.concordance, se, sample.trials, level), se)


def compare_concordance(
    y: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    *,
    event: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ipcw: bool = False,
    tau: float | None = None,
    train: Any = None,
    level: float = 0.95,
    alternative: str = "two-sided",
    margin: float = 0.0,
) -> ConcordanceComparison:
    """Difference of the concordances of two scores of the same rows, with a paired test.

    The variance is that of `concordance_interval` with the difference of the two influences of each row.

    Parameters
    ----------
    y, event, groups, clusters, sample_weight, ipcw, tau, train
        As in `concordance_interval`.
    a, b : array-like of shape (n,)
        Two scores of the same rows.
    level : float in (0, 1)
        Coverage of the interval, which is two-sided whatever the alternative.
    alternative : {"two-sided", "greater", "less"}
        What the test should show: that the two differ, that C(a) > C(b) - margin, or C(a) < C(b) + margin.
    margin : float in [0, 1)
        With alternative="greater", a is shown to be not worse than b by `margin` or more (non-inferiority).

    Returns
    -------
    ConcordanceComparison
        Named tuple (difference, low, high, pvalue).

    Examples
    --------
    >>> from auclid.metrics import compare_concordance
    >>> result = compare_concordance([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5], [6, 1, 2, 5, 4, 3])
    >>> round(result.difference, 2)
    0.33
    """
    owner = "compare_concordance"
    question = checked_question(owner, level, alternative, margin)
    options = CensoringOptions(ipcw, tau, train)
    columns = {"event": event, "groups": groups, "clusters": clusters, "sample_weight": sample_weight}
    sample = checked_order(owner, y, options, **columns)
    first, second = (sample.terms(_score(owner, name, each, sample.n)) for name, each in (("a", a), ("b", b)))
    se = sample.standard_error(first.influence - second.influence)
    gap = first.concordance - second.concordance
    return answer(ConcordanceComparison, gap, se, sample.trials, question)


def auc_over_time(
    y: ArrayLike,
    s: ArrayLike,
    event: ArrayLike,
    times: ArrayLike | None = None,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    train: Any = None,
) -> AUCOverTime:
    """Cumulative/dynamic AUC(t): how well risks separate rows with an event by time t from rows later than t.

    AUC(t) is the share of pairs of a case (event seen at or before t) and a control (time after t) in which the case
    has the higher risk, ties counted one half. A case weighs 1 / G at its time, G being the probability not to be
    censored before it (Kaplan & Meier), so that censored rows do not bias it. The standard errors are the
    infinitesimal jackknife's and allow for the estimation of G.

    Parameters
    ----------
    y : array-like of shape (n,)
        Times in [0, inf).
    s : array-like of shape (n,)
        Risks, higher for earlier events.
    event : array-like of shape (n,)
        Whether the event was seen at the time y; else the time is censored.
    times : array-like of shape (k,), optional
        Times t, each with a case and a control. None: ten quantiles of the event times, from 10 to 90 %.
    level : float in (0, 1)
        Coverage of each interval.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).
    train : structured array or frame, optional
        Events and times from which G is estimated; None: the rows themselves.

    Returns
    -------
    AUCOverTime
        Named tuple (times, auc, low, high, se) of arrays.

    Examples
    --------
    >>> from auclid.metrics import auc_over_time
    >>> result = auc_over_time([1, 2, 3, 4, 5, 6], [6, 3, 5, 2, 4, 1], [1, 1, 0, 1, 1, 0], times=[2, 4])
    >>> result.auc.round(3).tolist()
    [0.75, 0.65]

    References
    ----------
    Uno, Cai, Tian & Wei (2007), JASA 102. Hung & Chiang (2010), Canadian Journal of Statistics 38. Blanche, Dartigues &
    Jacqmin-Gadda (2013), Statistics in Medicine 32.
    """
    owner = "auc_over_time"
    level = number_in(owner, "level", level, 0.0, 1.0)
    survival = Survival(time_column(owner, "y", y), event_column(owner, event))
    score = numbers_column(owner, "s", in_memory(s))
    same_length(owner, y=survival.time, s=score, event=survival.event)
    weight = checked_weights(owner, sample_weight, len(score))
    if not survival.event.any():
        raise invalid_value(owner, "event", "hold at least one event", Described("censored times only"))
    if times is None:
        when = np.unique(np.quantile(survival.time[survival.event], np.linspace(0.1, 0.9, N_TIMES)))
    else:
        when = np.atleast_1d(finite_column(owner, "times", np.atleast_1d(in_memory(times)))).astype(np.float64)
    cases = survival.event & (survival.time <= when.max())
    censoring, inverse = checked_censoring(owner, survival, cases, weight, train)
    own = np.ones(len(score)) if weight is None else weight
    found = []
    for t in when:
        order = _cases_above_controls(owner, survival, float(t), own, inverse)
        terms = order_terms(order, score)
        influence = terms.influence
        if train is None:
            through = censoring.influence(survival.time, survival.event, terms.upper)
            influence = influence + own * through
        se = float(np.sqrt(np.sum(influence**2)))
        trials = int(min(np.diff(np.append(order.level_begin[np.diff(order.level, prepend=-1) > 0], len(order.rows)))))
        found.append((terms.concordance, *share_interval(terms.concordance, se, max(1, trials), level), se))
    return AUCOverTime(when, *np.array(found).T)


def _cases_above_controls(owner: str, survival: Survival, t: float, own: np.ndarray, inverse: np.ndarray) -> PairOrder:
    """The order of two levels at a time t: rows with an event by then, and rows that are later."""
    case = np.flatnonzero(survival.event & (survival.time <= t) & (own > 0.0))
    control = np.flatnonzero((survival.time > t) & (own > 0.0))
    if not len(case) or not len(control):
        what = "no event by then" if not len(case) else "no row later"
        got = Described(f"{t:g}, with {what}")
        raise invalid_value(owner, "times", "lie between the first event and the last time", got)
    rows = np.concatenate([case, control])
    level = np.repeat([0, 1], [len(case), len(control)])
    upper = np.concatenate([own[case] * inverse[case], np.zeros(len(control))])
    return PairOrder(len(own), rows, level, np.array([0, len(rows)]), upper, own[rows])


def group_aucs(
    owner: str, y: Any, s: Any, groups: Any, sample_weight: Any, pos_label: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(AUC, weight of rows, weight of pairs) of each group that has rows of both classes."""
    y = column(owner, "y", in_memory(y))
    score = numbers_column(owner, "s", in_memory(s))
    same_length(owner, y=y, s=score)
    weight, group = checked_weights(owner, sample_weight, len(y)), group_codes(owner, groups, len(y))
    order = level_order(positives(owner, y, pos_label, "y").astype(np.float64), group, weight)
    n_groups = len(order.group_ends) - 1
    pairs = np.bincount(order.group, order.upper * order.mass_below, minlength=n_groups)
    if not pairs.any():
        got = Described("one class in each")
        raise invalid_value(owner, "groups", "hold rows of both classes in some group", got, "Use larger groups.")
    right = 0.5 * np.bincount(order.group, right_pairs(order, score)[0], minlength=n_groups)  # by both rows of a pair
    size, usable = np.bincount(order.group, order.lower, minlength=n_groups), pairs > 0.0
    return right[usable] / pairs[usable], size[usable], pairs[usable]


def group_auc(
    y: ArrayLike,
    s: ArrayLike,
    groups: ArrayLike,
    *,
    weight: str = "size",
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> AUCInterval:
    """The mean over groups of the AUC within each (GAUC), with an interval over groups; O(n log n).

    Rows are compared within their group only: the clicked and the other items of one session. Groups of one class are
    left out. The groups are the independent units of the standard error: with weights w_g and AUCs A_g of G groups,
    se² = G/(G − 1) Σ w_g² (A_g − A)² / (Σ w_g)².

    Parameters
    ----------
    y : array-like of shape (n,)
        Two labels of any kind. The greater one is positive.
    s : array-like of shape (n,)
        Scores, greater for rows thought positive.
    groups : array-like of shape (n,)
        The group of each row.
    weight : {"size", "pairs", "equal"}
        What a group counts: its rows, as GAUC is mostly defined, its pairs, or one each.
    level : float in (0, 1)
        Coverage of the interval.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).
    pos_label : label, optional
        The positive label, where that is not the greater one.

    Returns
    -------
    AUCInterval
        Named tuple (auc, low, high, se). With one group the interval is [0, 1].

    Examples
    --------
    >>> from auclid.metrics import group_auc
    >>> y, s = [0, 1, 0, 1, 0, 1, 1], [1, 2, 3, 2, 1, 5, 4]
    >>> round(group_auc(y, s, ["a", "a", "b", "b", "c", "c", "c"]).auc, 4)
    0.7143
    """
    owner = "group_auc"
    level = number_in(owner, "level", level, 0.0, 1.0)
    one_of(owner, "weight", weight, GROUP_WEIGHTS)
    auc, size, pairs = group_aucs(owner, y, s, groups, sample_weight, pos_label)
    share = {"size": size, "pairs": pairs, "equal": np.ones(len(auc))}[weight]
    share = share / share.sum()
    mean, count = float(share @ auc), len(auc)
    if count < 2:
        return AUCInterval(mean, 0.0, 1.0, np.nan)
    se = float(np.sqrt(count / (count - 1.0) * np.sum((share * (auc - mean)) ** 2)))
    reach = quantile(level, count - 1.0) * se
    return AUCInterval(mean, max(0.0, mean - reach), min(1.0, mean + reach), se)
