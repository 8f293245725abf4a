"""AUC over time of risk scores for censored times: cumulative cases against dynamic controls."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.errors import Described, invalid_value
from auclid.metrics._concordance import checked_censoring, order_terms
from auclid.metrics._results import AUCOverTime
from auclid.metrics._variance import share_interval
from auclid.stats.pair_order import PairOrder
from auclid.validation.outcomes import Survival, checked_weights, event_column, in_memory, time_column
from auclid.validation.parameters import number_in
from auclid.validation.vectors import finite_column, numbers_column, same_length

N_TIMES = 10
"""Times that are chosen where none are given."""


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
        raise invalid_value(owner, "event", "hold at least one event", "censored times only")
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
