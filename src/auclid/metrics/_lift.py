"""The top of the list as marketing and credit read it: precision at k, lift and gain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from auclid.metrics._results import LiftTable
from auclid.metrics._roc import roc_curve
from auclid.metrics._sample import Sample, checked_sample
from auclid.validation.parameters import number_in, whole_number


def precision_at_k(
    y_true: ArrayLike, y_score: ArrayLike, k: int, *, sample_weight: ArrayLike | None = None, pos_label: Any = None
) -> float:
    """Share of positives among the k rows of highest score; of rows tied at the cut, the expected share.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive.
    k : int in [1, n]
        Rows at the top.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf): the share is one of weight, k still counts rows.
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Returns
    -------
    float

    Examples
    --------
    >>> from auclid.metrics import precision_at_k
    >>> precision_at_k([0, 1, 0, 1, 1], [1, 2, 3, 3, 4], 2)
    0.75

    References
    ----------
    Manning, Raghavan & Schütze (2008), Introduction to information retrieval, chapter 8.
    """
    sample = _checked("precision_at_k", y_true, y_score, sample_weight, pos_label)
    whole_number("precision_at_k", "k", k, 1, len(sample.is_pos))
    hit, mass = _cumulated(sample, np.array([float(k)]))
    return float(hit[0] / mass[0])


def lift_table(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    n_bins: int = 10,
    top: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> LiftTable:
    """The list cut into parts of equal size, best scores first: how many positives each holds, lift and gain.

    precision = positives / rows of the part; lift = precision / precision of all rows; gain = share of all
    positives in this part and those above it; cumulative_lift = gain / share of rows. Rows of equal score are spread
    evenly over the parts they fall in.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two labels; of two numbers the greater one is positive.
    y_score : array-like of shape (n,)
        Scores, greater for rows thought positive.
    n_bins : int in [1, n]
        Parts of equal size; ten are deciles.
    top : array-like of shares in (0, 1], optional
        Ends of the parts instead, as shares of the rows: 0.001, 0.005, 0.01, 0.02 and 0.05 show the top of a long list.
        The rest of the list is a last part.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf): rows and positives are then sums of weight, while parts hold equal numbers of rows.
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.

    Returns
    -------
    LiftTable
        Unpacks to arrays (top, threshold, rows, positives, precision, lift, gain, cumulative_lift): `top` is the
        share of rows down to here and `threshold` the lowest score in the part.

    Examples
    --------
    >>> from auclid.metrics import lift_table
    >>> table = lift_table([0, 0, 0, 1, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8], n_bins=4)
    >>> table.gain.tolist(), table.lift.tolist()
    ([0.5, 0.75, 1.0, 1.0], [2.0, 1.0, 1.0, 0.0])

    References
    ----------
    Ling & Li (1998), Data mining for direct marketing, KDD.
    """
    sample = _checked("lift_table", y_true, y_score, sample_weight, pos_label)
    if top is None:
        whole_number("lift_table", "n_bins", n_bins, 1, len(sample.is_pos))
        end = np.arange(1, n_bins + 1) / n_bins
    else:
        shares = np.atleast_1d(np.asarray(top)).tolist()
        end = np.unique([*(number_in("lift_table", "top", share, 0.0, 1.0, closed="r") for share in shares), 1.0])
    count = end * len(sample.is_pos)
    hit, mass = _cumulated(sample, count)
    positives, rows = np.diff(hit, prepend=0.0), np.diff(mass, prepend=0.0)
    precision, base = positives / rows, hit[-1] / mass[-1]
    ranked = np.sort(sample.scores[0])[::-1]
    threshold = ranked[np.minimum(np.ceil(count - 1e-9).astype(np.intp), len(ranked)) - 1]
    gain = hit / hit[-1]
    return LiftTable(end, threshold, rows, positives, precision, precision / base, gain, gain / (mass / mass[-1]))


def _cumulated(sample: Sample, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass of positives and of all rows among the first `count` rows of the list, ties spread evenly."""
    rows = roc_curve(sample.is_pos, sample.scores[0])
    curve = rows if sample.weight is None else roc_curve(sample.is_pos, sample.scores[0], sample.weight)
    place = rows.tp + rows.fp
    return np.interp(count, place, curve.tp), np.interp(count, place, curve.tp + curve.fp)


def _checked(
    owner: str, y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> Sample:
    rows = {"sample_weight": sample_weight, "pos_label": pos_label}
    return checked_sample(owner, y_true, {"y_score": y_score}, **rows, fewest=1)
