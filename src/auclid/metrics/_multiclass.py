"""The AUC of several classes: Hand & Till's M, and one against the rest, with intervals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from auclid import _sizes
from auclid.metrics._auc import warn_if_undefined
from auclid.metrics._placements import area_terms
from auclid.metrics._results import AUCInterval
from auclid.metrics._sample import Sample
from auclid.metrics._variance import degrees, share_interval
from auclid.validation.parameters import number_in, one_of
from auclid.validation.vectors import codes, column, finite_column, label_set, row_weights, same_length

Contest = tuple[float, np.ndarray, np.ndarray, int]
"""Share of the mean, positives, negatives, and the column of their scores."""


def multiclass_auc(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    level: float = 0.95,
    multi_class: str = "ovo",
    average: str = "macro",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> AUCInterval:
    """AUC of several classes with a confidence interval.

    multi_class="ovo" is Hand & Till's M: the mean over ordered pairs (a, b) of classes of A(a|b), the probability
    that a row of a has a higher score for a than a row of b. "ovr" is the mean over classes a of the AUC of a against
    all others. A row adds the terms of all pairs it is in to the error, so pairs that share rows are not taken for
    independent; the interval is symmetric on the logit scale.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes or more, at least two rows of each.
    scores : array-like of shape (n, K)
        A column for each class in sorted order (of `labels`, where given): the scores of predict_proba or
        decision_function.
    level : float in (0, 1)
        Coverage of the interval.
    multi_class : {"ovo", "ovr"}
        Pairs of classes, or one class against the rest.
    average : {"macro", "weighted"}
        All pairs (or classes) alike, or by the share of rows they hold.
    labels : array-like of shape (K,), optional
        The classes in the order of the columns, where that is not the sorted one.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf), as in `auc_interval`.
    groups : array-like of shape (n,), optional
        Which rows belong together, at least two groups of each class; the variance is then between groups.

    Returns
    -------
    AUCInterval
        Unpacks to (auc, low, high, se).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.metrics import multiclass_auc
    >>> y = np.repeat(["a", "b", "c"], 4)
    >>> scores = np.random.default_rng(0).normal(size=(12, 3)) + 1.5 * (y[:, None] == np.array(["a", "b", "c"]))
    >>> result = multiclass_auc(y, scores)
    >>> round(result.auc, 3), round(result.se, 3)
    (0.948, 0.046)

    References
    ----------
    Hand & Till (2001), A simple generalisation of the area under the ROC curve for multiple class classification
    problems, Machine Learning 45.
    """
    owner = "multiclass_auc"
    level = number_in(owner, "level", level, 0.0, 1.0)
    one_of(owner, "multi_class", multi_class, ("ovo", "ovr"))
    one_of(owner, "average", average, ("macro", "weighted"))
    label, table, weight, cluster = _checked(owner, y_true, scores, labels, sample_weight, groups)
    count = np.bincount(label, minlength=table.shape[1])
    if len(count) < 2 or count.min() < 2:
        which = int(np.argmin(count))
        name = (np.unique(column(owner, "y_true", y_true)) if labels is None else np.asarray(labels))[which]
        raise ValueError(
            f"{owner} expects two classes or more, at least 2 rows of each. "
            f"Got {int(count[which])} of the label {name} instead."
        )
    auc, terms = _mean(label, table, weight, _contests(label, count, multi_class, average))
    if cluster is None:
        se = float(np.sqrt(np.sum(np.bincount(label, terms**2) * count / (count - 1.0))))
        fewest, n_groups, plain = int(count.min()), None, weight is None
        df = np.inf if plain and fewest >= _sizes.MIN_ROWS_FOR_NORMAL_INTERVAL else degrees(terms, label)
    else:
        se, fewest = _between(owner, terms, label, cluster, len(count))
        n_groups = int(cluster.max()) + 1
        holds = np.zeros((n_groups, len(count)), bool)
        holds[cluster, label] = True
        df = degrees(np.bincount(cluster, terms), np.unique(holds, axis=0, return_inverse=True)[1].ravel())
    low, high = share_interval(auc, se, fewest, level, df)
    return AUCInterval(auc, low, high, se, level=level, method=multi_class, df=df, n_groups=n_groups)


def _between(owner: str, terms: np.ndarray, label: np.ndarray, cluster: np.ndarray, size: int) -> tuple[float, int]:
    """(standard error from sums over groups, fewest groups of a class), after Obuchowski for any number of classes."""
    count = int(cluster.max()) + 1
    sums = np.stack([np.bincount(cluster, np.where(label == a, terms, 0.0), count) for a in range(size)])
    held = [len(np.unique(cluster[label == a])) for a in range(size)]
    if min(held) < 2:
        raise ValueError(f"{owner} expects rows of at least 2 groups of each class. Got {min(held)} of one instead.")
    factor = np.full((size, size), count / (count - 1.0))
    np.fill_diagonal(factor, [n / (n - 1.0) for n in held])
    return float(np.sqrt(max(np.sum(factor * (sums @ sums.T)), 0.0))), min(held)


def mean_auc(
    owner: str, y_true: ArrayLike, scores: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Hand & Till's M of the classes that y holds, of which one row is enough; nan, with a warning, for one class."""
    label, table, weight, _ = _checked(owner, y_true, scores, labels, sample_weight)
    present, label = np.unique(label, return_inverse=True)
    if len(present) < 2:
        return warn_if_undefined(owner, float("nan"))
    return _mean(label, table[:, present], weight, _contests(label, np.bincount(label), "ovo", "macro"))[0]


def _mean(
    label: np.ndarray, table: np.ndarray, weight: np.ndarray | None, contests: Iterator[Contest]
) -> tuple[float, np.ndarray]:
    """The mean of AUCs, and what each row adds to its error."""
    terms, auc = np.zeros(len(label)), 0.0
    for share, of_pos, of_neg, k in contests:
        used = of_pos | of_neg
        mass = None if weight is None else weight[used]
        size = area_terms(Sample(of_pos[used], (), mass, None), table[used, k])
        auc += share * size.area
        terms[of_pos] += share * size.pos
        terms[of_neg] += share * size.neg
    return float(auc), terms


def _contests(label: np.ndarray, count: np.ndarray, multi_class: str, average: str) -> Iterator[Contest]:
    """Each AUC that is averaged."""
    classes = np.arange(len(count))
    if multi_class == "ovr":
        share = count / count.sum() if average == "weighted" else np.full(len(count), 1.0 / len(count))
        for a in classes:
            yield float(share[a]), label == a, label != a, int(a)
        return
    held = np.add.outer(count, count) * (1.0 - np.eye(len(count)))
    weight = held if average == "weighted" else 1.0 - np.eye(len(count))
    for a in classes:
        for b in classes[classes != a]:
            yield float(weight[a, b] / weight.sum()), label == a, label == b, int(a)


def _checked(
    owner: str,
    y_true: ArrayLike,
    scores: ArrayLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """The number of each row's class, the table of scores, weights and groups; of rows of positive weight."""
    y = column(owner, "y_true", y_true)
    table = np.asarray(scores)
    if table.ndim != 2:
        raise ValueError(
            f"The 'scores' parameter of {owner} must be an array of shape (n, K), a column for each class. "
            f"Got shape {table.shape} instead."
        )
    table = np.stack([finite_column(owner, "scores", table[:, k]) for k in range(table.shape[1])], axis=1)
    same_length(owner, y_true=y, scores=table)
    cluster = None if groups is None else codes(owner, "groups", groups)[1]
    if cluster is not None:
        same_length(owner, y_true=y, groups=cluster)
    weight = row_weights(owner, y_true, sample_weight)
    if weight is not None:
        used = weight > 0.0
        y, table, weight = y[used], table[used], weight[used]
        cluster = None if cluster is None else np.unique(cluster[used], return_inverse=True)[1]
    known = label_set(owner, y) if labels is None else column(owner, "labels", labels)
    if len(known) != table.shape[1] or len(set(known.tolist())) != len(known):
        raise ValueError(
            f"The 'scores' parameter of {owner} must have a column for each of the {len(known)} classes. "
            f"Got {table.shape[1]} columns instead. Name the classes of the columns with labels."
        )
    return _numbers(owner, y, known), table, weight, cluster


def _numbers(owner: str, y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The number of each row's class among the known ones."""
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known[order], y), len(known) - 1)
    strange = known[order][at] != y
    if strange.any():
        raise ValueError(f"The 'y_true' parameter of {owner} must hold only the given labels. Got {y[strange][0]} too.")
    return order[at]
