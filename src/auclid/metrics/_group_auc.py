"""The mean AUC over groups (GAUC): how well rows are ranked within a session, a query or a patient."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.errors import invalid_value
from auclid.metrics._concordance import right_pairs
from auclid.metrics._results import AUCInterval
from auclid.metrics._variance import quantile
from auclid.stats.pair_order import level_order
from auclid.validation.outcomes import checked_weights, group_codes, in_memory
from auclid.validation.parameters import number_in, one_of
from auclid.validation.vectors import column, numbers_column, positives, same_length

WEIGHTS = ("size", "pairs", "equal")


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
        raise invalid_value(
            owner, "groups", "hold rows of both classes in some group", "one class in each", "Use larger groups."
        )
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
    one_of(owner, "weight", weight, WEIGHTS)
    auc, size, pairs = group_aucs(owner, y, s, groups, sample_weight, pos_label)
    share = {"size": size, "pairs": pairs, "equal": np.ones(len(auc))}[weight]
    share = share / share.sum()
    mean, count = float(share @ auc), len(auc)
    if count < 2:
        return AUCInterval(mean, 0.0, 1.0, np.nan)
    se = float(np.sqrt(count / (count - 1.0) * np.sum((share * (auc - mean)) ** 2)))
    reach = quantile(level, count - 1.0) * se
    return AUCInterval(mean, max(0.0, mean - reach), min(1.0, mean + reach), se)
