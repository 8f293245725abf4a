"""The AUC of a way to learn, by cross-validation, and whether two ways differ on the same folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable

from auclid.errors import InvalidValueError
from auclid.metrics._inference import Question, answer, checked_question
from auclid.metrics._placements import AreaTerms, area_terms
from auclid.metrics._results import CrossValAUC, CrossValComparison
from auclid.metrics._sample import Region, Sample, checked_region
from auclid.metrics._scorer import scores_of
from auclid.metrics._variance import share_interval, unit_strata, unit_sums, welch_degrees
from auclid.validation.parameters import number_in, one_of
from auclid.validation.vectors import (
    NUMERIC,
    both_classes,
    codes,
    column,
    declared_positive,
    label_set,
    positives,
    refuse_text,
    same_length,
    weight_column,
)

VARIANCE_METHODS = ("nadeau-bengio", "ledell")


def cross_val_auc(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    cv: Any = 5,
    level: float = 0.95,
    n_jobs: int | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
) -> CrossValAUC:
    """Cross-validated AUC with an interval that allows for the choice of test rows.

    auc = mean of the folds' AUCs A_v. A row of fold v adds (V - A_v) / (K n_v) to its error, V its placement among the
    fold's rows, n_v the rows of its class there and K the folds; se^2 is the sum of squares over rows (or groups), each
    class of a fold times n_v / (n_v - 1) (LeDell).

    The interval is symmetric on the logit scale, by Student's t with Welch's degrees of freedom, and its variance is
    (1 + q) se^2. A row is tested once and trains the models of all other folds, so the errors of the folds are
    correlated where the models depend much on their training rows. q is the share of se^2 that comes from the choice of
    training rows: the delete-a-fold jackknife variance of the placements over the K models, at most 1. Each model
    therefore scores the rows of all folds.

    Parameters
    ----------
    estimator : classifier
        Anything with fit and decision_function or predict_proba; a copy is fitted to each fold.
    X : array, CSR matrix or frame of shape (n, d)
    y : array-like of shape (n,)
        Two labels. The greater one is positive, as scikit-learn's estimators have it; of ordered categories, the last.
        Strings need `pos_label` where `max_fpr` or `min_tpr` cut: the two labels have different regions.
    groups : array-like of shape (n,), optional
        Which rows belong together: the default splitter keeps them in one fold, and the variance is between groups.
    cv : int, splitter or iterable of (train, test)
        An int means that many stratified folds, with `groups` of whole groups.
    level : float in (0, 1)
        Coverage of the interval.
    n_jobs : int, optional
        Folds that are fitted at a time, as joblib counts.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf), given to `fit` (of a pipeline, to its last step) and used in measuring; rows of weight zero
        are left out.
    pos_label : label, optional
        The positive label, where that is not the greater of two numbers or the last of ordered categories.
    max_fpr, min_tpr : float in (0, 1] and in [0, 1)
        The region of `partial_auc`, whose standardised value is then reported.

    Returns
    -------
    CrossValAUC
        Unpacks to (auc, low, high, se, folds).

    Notes
    -----
    What is covered is the mean true AUC of the K models that were fitted, not that of one model on all rows.
    Simulated intervals of 95 % cover 93 to 98 % from 30 positives on; with folds of six positives and six negatives up
    to 99 %. See the page on coverage. Of splits whose test rows overlap (ShuffleSplit) q is not known, and taken to be
    1.

    Examples
    --------
    >>> from auclid import LeastSquaresAUC
    >>> from auclid.datasets import load_mammography
    >>> from auclid.metrics import cross_val_auc
    >>> X, y = load_mammography(return_X_y=True)
    >>> result = cross_val_auc(LeastSquaresAUC(), X, y)
    >>> bool(result.low < result.auc < result.high), len(result.folds)
    (True, 5)

    References
    ----------
    LeDell, Petersen & van der Laan (2015), Computationally efficient confidence intervals for cross-validated area
    under the ROC curve estimates, Electronic Journal of Statistics 9.
    """
    owner = "cross_val_auc"
    level = number_in(owner, "level", level, 0.0, 1.0)
    region = checked_region(owner, max_fpr, min_tpr)
    if not region.whole:
        _refuse_text(owner, y, pos_label)
    rows = checked_splits(owner, X, y, groups, cv, sample_weight, pos_label)
    return mean_area(rows, _folds(owner, [estimator], rows, region, n_jobs), region, level)


def compare_cross_val_auc(
    estimator_a: Any,
    estimator_b: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    cv: Any = 5,
    level: float = 0.95,
    n_jobs: int | None = None,
    alternative: str = "two-sided",
    margin: float = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    method: str = "nadeau-bengio",
) -> CrossValComparison:
    """Difference of the cross-validated AUCs of two estimators on the same folds, with a paired test.

    difference = mean of the J folds' differences d. Folds share training rows, so that their differences are
    correlated: se^2 = (1 / J + n_test / n_train) var(d), and interval and p-value are by Student's t with J - 1 degrees
    of freedom (Nadeau & Bengio 2003). With few folds these are wide; repeated folds make them narrower.

    Parameters
    ----------
    estimator_a, estimator_b : classifiers
        A copy of each is fitted to each fold.
    X, y, groups, cv, level, n_jobs, sample_weight, pos_label, max_fpr, min_tpr
        As in `cross_val_auc`.
    alternative, margin
        As in `compare_auc`.
    method : {"nadeau-bengio", "ledell"}
        Nadeau & Bengio's correction, or the variance (1 + q) se^2 of `cross_val_auc` with differences of placements.
        "ledell" has more degrees of freedom and rejects nearer to the nominal level where the signal is strong.

    Returns
    -------
    CrossValComparison
        Unpacks to (difference, low, high, pvalue, folds).

    Notes
    -----
    Of simulated true null hypotheses the default rejects 3 to 8 % at p < 0.05 where the signal is weak (a best possible
    AUC of .6) and 0.3 to 3 % where it is strong, since the correction allows for more correlation than there is;
    "ledell" rejects 5 to 8 % and 1 to 5 %. Of three repeats of five folds at a weak signal they reject 9 and 5 %.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from auclid import LeastSquaresAUC
    >>> from auclid.datasets import load_mammography
    >>> from auclid.metrics import compare_cross_val_auc
    >>> X, y = load_mammography(return_X_y=True)
    >>> result = compare_cross_val_auc(LeastSquaresAUC(), LogisticRegression(), X, y)
    >>> print(f"{result.difference:.3f} [{result.low:.3f}, {result.high:.3f}]")
    0.011 [-0.003, 0.025]

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.
    LeDell, Petersen & van der Laan (2015), Electronic Journal of Statistics 9.
    """
    owner = "compare_cross_val_auc"
    question: Question = checked_question(owner, level, alternative, margin)
    region = checked_region(owner, max_fpr, min_tpr)
    one_of(owner, "method", method, VARIANCE_METHODS)
    if not region.whole:
        _refuse_text(owner, y, pos_label)
    rows = checked_splits(owner, X, y, groups, cv, sample_weight, pos_label)
    if method == "nadeau-bengio" and len(rows.splits) < 2:
        raise InvalidValueError(owner=owner, parameter="cv", expected="give two splits or more", got="one")
    measure = _folds if method == "ledell" else _own_folds
    parts = measure(owner, [estimator_a, estimator_b], rows, region, n_jobs)

    def gap(areas: list[AreaTerms]) -> AreaTerms:
        return (areas[0] - areas[1]).scaled(region.slope)

    folds = np.array([gap(fold.areas).area for part in parts for fold in part])
    if method == "ledell":
        variance, share, df = _error(rows, parts, gap)
        se = float(np.sqrt((1.0 + share) * variance))
    else:
        se, df = corrected_error(rows, folds)
    a, b = (float(np.mean([region.value(f.areas[k].area) for part in parts for f in part])) for k in (0, 1))
    how = {"folds": folds, "method": method, "estimate_a": a, "estimate_b": b} | rows.counts
    return answer(CrossValComparison, float(folds.mean()), se, _trials(parts), question, df, **how)


class CrossValRows(NamedTuple):
    """Checked rows, and how they are split."""

    X: Any
    y: np.ndarray
    is_pos: np.ndarray
    cluster: np.ndarray | None
    weight: np.ndarray | None
    splits: list[tuple[np.ndarray, np.ndarray]]

    @property
    def counts(self) -> dict[str, Any]:
        """Rows of each class and groups, as results tell them."""
        return Sample(self.is_pos, (), None, self.cluster).counts

    def fit_options(self, estimator: Any, numbers: np.ndarray) -> dict[str, Any]:
        """What `fit` is given beside X and y of the rows of these numbers: their weights, where there are some."""
        return {} if self.weight is None else {weight_name(estimator): self.weight[numbers]}

    def _ranks_positive_low(self, model: Any) -> bool:
        """Whether the scores of a fitted model rise with the other label than the positive one."""
        classes = getattr(model, "classes_", None)
        return classes is not None and not self.is_pos[self.y == classes[-1]].any()

    def scores(self, owner: str, model: Any, X: Any) -> np.ndarray:
        """The scores of the positive label, which are finite."""
        scores = finite_scores(owner, model, scores_of(owner, model, X))
        return -scores if self._ranks_positive_low(model) else scores

    def probabilities(self, model: Any, X: Any) -> np.ndarray | None:
        """The probabilities of the positive label, where the model has them."""
        if not hasattr(model, "predict_proba"):
            return None
        probabilities = np.asarray(model.predict_proba(X))[:, -1]
        return 1.0 - probabilities if self._ranks_positive_low(model) else probabilities


class _Fold(NamedTuple):
    """The test rows of a fold, and the areas on them of each estimator as fitted for each fold of the partition."""

    test: np.ndarray
    sample: Sample
    by_model: list[list[AreaTerms]]
    own: int
    """The number of the models that were fitted without these rows."""

    @property
    def areas(self) -> list[AreaTerms]:
        """The areas of each estimator, fitted to the training rows of this fold."""
        return self.by_model[self.own]


Contrast = Callable[[list[AreaTerms]], AreaTerms]
"""What is asked of the areas of all estimators on one fold: one of them, or a difference of two."""


def _refuse_text(owner: str, y: ArrayLike, pos_label: Any) -> None:
    """Raise where a region is asked for of strings without a positive label."""
    label = column(owner, "y", y)
    if declared_positive(y, pos_label) is None and label.dtype.kind not in NUMERIC:
        refuse_text(owner, label_set(owner, label, "y"), "y")


def checked_splits(
    owner: str, X: Any, y: ArrayLike, groups: ArrayLike | None, cv: Any, sample_weight: ArrayLike | None, pos_label: Any
) -> CrossValRows:
    label, weight = column(owner, "y", y), None
    cluster = None if groups is None else column(owner, "groups", groups)
    pos_label = declared_positive(y, pos_label)
    if sample_weight is not None:
        weight = weight_column(owner, sample_weight)
        same_length(owner, y=label, sample_weight=weight)
        indexable(X, label)
        used = np.flatnonzero(weight > 0.0)
        if cluster is not None:
            same_length(owner, sample_weight=weight, groups=cluster)
            cluster = cluster[used]
        X, label, weight = _safe_indexing(X, used), label[used], weight[used]
    X, label = indexable(X, label)
    same_length(owner, y=label)
    if pos_label is None and label.dtype.kind not in NUMERIC:
        pos_label = label_set(owner, label, "y")[-1]  # what estimators rank on top, by scikit-learn's rule
    is_pos = positives(owner, label, pos_label, name="y")
    both_classes(owner, label, is_pos, pos_label)
    if cluster is not None:
        same_length(owner, y=label, groups=cluster)
        cluster = codes(owner, "groups", cluster)[1]
    grouped = cluster is not None and isinstance(cv, int | np.integer)
    splitter = StratifiedGroupKFold(int(cv)) if grouped else check_cv(cv, label, classifier=True)
    splits = [(row_numbers(train), row_numbers(test)) for train, test in splitter.split(X, label, cluster)]
    return CrossValRows(X, label, is_pos, cluster, weight, splits)


def row_numbers(chosen: ArrayLike) -> np.ndarray:
    """Numbers of rows; a splitter may also give a mask."""
    array = np.asarray(chosen)
    return np.flatnonzero(array) if array.dtype == bool else array


def _partitions(splits: list[tuple[np.ndarray, np.ndarray]]) -> list[list[np.ndarray]]:
    """The test rows of consecutive splits that are disjoint: all folds of K-fold, those of one repeat if repeated."""
    parts: list[list[np.ndarray]] = []
    tested: np.ndarray = np.zeros(1 + max(int(test.max(initial=0)) for _, test in splits), bool)
    for _, test in splits:
        if not parts or tested[test].any():
            parts.append([])
            tested[:] = False
        parts[-1].append(test)
        tested[test] = True
    return parts


def rows_to_score(splits: list[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    """For each split the test rows of its whole partition, fold by fold: every model scores them all."""
    return [np.concatenate(part) for part in _partitions(splits) for _ in part]


def _folds(
    owner: str, estimators: list[Any], rows: CrossValRows, region: Region, n_jobs: int | None
) -> list[list[_Fold]]:
    """The folds of each partition, with every estimator fitted to the training rows of each split."""
    return scored_folds(owner, rows, region, _scores(owner, estimators, rows, rows_to_score(rows.splits), n_jobs))


def _own_folds(
    owner: str, estimators: list[Any], rows: CrossValRows, region: Region, n_jobs: int | None
) -> list[list[_Fold]]:
    """The folds, each by itself, with the areas of the models that were fitted without its rows."""
    tests = [test for _, test in rows.splits]
    found = []
    for test, scores in zip(tests, _scores(owner, estimators, rows, tests, n_jobs), strict=True):
        sample = _test_rows(owner, rows, test)
        found.append([_Fold(test, sample, [[area_terms(sample, each, region) for each in scores]], 0)])
    return found


def _scores(
    owner: str, estimators: list[Any], rows: CrossValRows, tests: list[np.ndarray], n_jobs: int | None
) -> list[list[np.ndarray]]:
    """For each split and estimator the scores of the rows to be scored there."""
    jobs = [(e, train, test) for (train, _), test in zip(rows.splits, tests, strict=True) for e in estimators]
    scores = Parallel(n_jobs=n_jobs)(delayed(_scored)(owner, e, rows, *at) for e, *at in jobs)
    width = len(estimators)
    return [scores[k : k + width] for k in range(0, len(scores), width)]


def scored_folds(owner: str, rows: CrossValRows, region: Region, scores: list[list[np.ndarray]]) -> list[list[_Fold]]:
    """The folds of each partition; ``scores`` has, for each split and estimator, those of `rows_to_score`."""
    found, scored = [], iter(scores)
    for part in _partitions(rows.splits):
        ends = np.cumsum([len(test) for test in part])[:-1]
        by_model = [[np.split(own, ends) for own in next(scored)] for _ in part]
        folds = []
        for k, test in enumerate(part):
            sample = _test_rows(owner, rows, test)
            areas = [[area_terms(sample, each[k], region) for each in of] for of in by_model]
            folds.append(_Fold(test, sample, areas, k))
        found.append(folds)
    return found


def mean_area(rows: CrossValRows, parts: list[list[_Fold]], region: Region, level: float) -> CrossValAUC:
    """The mean of the folds' areas of the first estimator with its interval."""
    sizes = np.array([fold.areas[0].area for part in parts for fold in part])
    variance, share, df = _error(rows, parts, lambda areas: areas[0])
    size, wider = float(sizes.mean()), float(np.sqrt((1.0 + share) * variance))
    ends = share_interval(size / region.best, wider / region.best, _trials(parts), level, df)
    low, high = (region.value(region.best * end) for end in ends)
    told: dict[str, Any] = {"level": level, "method": "ledell", "df": df} | rows.counts
    areas = np.array([region.value(each) for each in sizes])
    return CrossValAUC(region.value(size), low, high, region.slope * float(np.sqrt(variance)), areas, **told)


def _scored(owner: str, estimator: Any, rows: CrossValRows, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    X, y = _safe_indexing(rows.X, train), _safe_indexing(rows.y, train)
    model = clone(estimator).fit(X, y, **rows.fit_options(estimator, train))
    return rows.scores(owner, model, _safe_indexing(rows.X, test))


def finite_scores(owner: str, model: Any, scores: Any) -> np.ndarray:
    """Scores as finite float64; a sentence where some are not."""
    found = np.asarray(scores).astype(np.float64)
    if not np.isfinite(found).all():
        raise ValueError(f"{owner} expects finite scores. Got others from {type(model).__name__}.")
    return found


def weight_name(estimator: Any) -> str:
    """What `fit` calls the weights: those of a pipeline go to its last step."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{weight_name(last)}"
    return "sample_weight"


def _test_rows(owner: str, rows: CrossValRows, test: np.ndarray) -> Sample:
    cluster = None if rows.cluster is None else np.unique(rows.cluster[test], return_inverse=True)[1]
    sample = Sample(rows.is_pos[test], (), None if rows.weight is None else rows.weight[test], cluster)
    n_pos, n_neg = sample.units
    if min(n_pos, n_neg) < 2:
        what = "rows" if cluster is None else "groups"
        raise ValueError(
            f"{owner} expects at least 2 {what} of each class among the test rows of every fold. "
            f"Got {n_pos} with positives and {n_neg} with negatives instead. Use fewer folds, or stratified ones."
        )
    return sample


def _error(rows: CrossValRows, parts: list[list[_Fold]], contrast: Contrast) -> tuple[float, float, float]:
    """(Variance of the mean of the folds' areas given the models, share due to training rows, degrees of freedom).

    The terms of a row, or group, are added up over repeats.
    """
    whole = Sample(rows.is_pos, (), None, rows.cluster)
    own = [_unit_sums(whole, part, [contrast(fold.areas) for fold in part]) for part in parts]
    count = sum(map(len, parts))
    sums = np.sum(own, axis=0) / count
    shares = [_training_share(whole, part, contrast, mine) for part, mine in zip(parts, own, strict=True)]
    stratum = unit_strata(whole)
    df = welch_degrees(np.bincount(stratum, sums**2), np.bincount(stratum))
    return float(np.sum(sums**2)), float(np.mean(shares)) if count > 1 else 0.0, df


def _unit_sums(whole: Sample, part: list[_Fold], areas: list[AreaTerms]) -> np.ndarray:
    """What each row, or group, adds to the error of the sum of a partition's areas."""
    terms: np.ndarray = np.zeros(len(whole.is_pos))
    for fold, area in zip(part, areas, strict=True):
        n_pos, n_neg = fold.sample.units
        of = fold.sample.is_pos
        terms[fold.test[of]] = area.pos * np.sqrt(n_pos / (n_pos - 1.0))
        terms[fold.test[~of]] = area.neg * np.sqrt(n_neg / (n_neg - 1.0))
    return unit_sums(whole, AreaTerms(0.0, terms[whole.is_pos], terms[~whole.is_pos]))


def _training_share(whole: Sample, part: list[_Fold], contrast: Contrast, own: np.ndarray) -> float:
    """The share of the variance of a partition's areas that is due to the choice of training rows, at most 1.

    A pair of rows in two folds meets twice, each row once in training and once in testing, so this share counts twice.
    It is the delete-a-fold jackknife variance of the terms of the rows: K - 1 times their variance over the K models.
    """
    if len(part) < 2:
        return 1.0
    by_model = [_unit_sums(whole, part, [contrast(fold.by_model[k]) for fold in part]) for k in range(len(part))]
    noise, total = (len(part) - 1.0) * float(np.var(by_model, axis=0, ddof=1).sum()), float(np.sum(own**2))
    return min(1.0, noise / total) if total > 0.0 else 0.0


def corrected_error(rows: CrossValRows, folds: np.ndarray) -> tuple[float, float]:
    """(Standard error of the mean of differences, degrees of freedom) after Nadeau & Bengio."""
    if np.ptp(folds) <= 1e-14:
        return 0.0, np.inf
    ratio = float(np.mean([len(test) / len(train) for train, test in rows.splits]))
    return float(np.sqrt((1.0 / len(folds) + ratio) * folds.var(ddof=1))), len(folds) - 1.0


def _trials(parts: list[list[_Fold]]) -> int:
    """Rows, or groups, of the smaller class in all folds."""
    return sum(fold.sample.trials for part in parts for fold in part)
