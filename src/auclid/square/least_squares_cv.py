"""LeastSquaresAUCCV: the whole path of alpha, cross-validated exactly from the moments of the folds."""

import numpy as np
from scipy import linalg
from sklearn.model_selection import check_cv

from auclid import _check
from auclid._rows import LARGE_BYTES, as_table
from auclid.base import LinearRanker
from auclid.metrics._auc import auc_from_parts
from auclid.moments import ClassMoments, class_moments, grouped_moments
from auclid.square._solve import largest_moments, quadratic, solve_symmetric


class LeastSquaresAUCCV(LinearRanker):
    """`LeastSquaresAUC` with ``alpha`` chosen by cross-validated AUC, for about the price of a few fits.

    Each fold's moments are computed once; the training moments of a fold are the sum of all the others (prefix and
    suffix sums, never a difference), and one eigendecomposition of S gives every alpha. The AUCs are exactly those
    that fitting `LeastSquaresAUC` anew on every training part would give.

    Parameters
    ----------
    alphas : array of floats in [0, inf), or None, default=None
        Penalties to try. None: 50 values from 1e-7 to 1e2 times twice the mean eigenvalue of S.
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn; a number means stratified folds.

    Attributes
    ----------
    alpha_ : float
        The alpha with the best mean AUC over folds; of equals, the largest.
    alphas_ : array of shape (k,)
    cv_auc_ : array of shape (folds, k)
        Held-out AUC. A fold that lacks a class, in training or test, is nan and left out of the mean.
    coef_, intercept_, classes_ :
        As in `LeastSquaresAUC`, fitted with ``alpha_`` on all rows.

    References
    ----------
    Gao, Jin, Zhu & Zhou, "One-pass AUC optimization", ICML 2013 (the square loss and its moments).

    Examples
    --------
    >>> from auclid import LeastSquaresAUCCV
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> model = LeastSquaresAUCCV().fit(X, y)
    >>> model.cv_auc_.shape
    (5, 50)
    """

    _parameter_constraints: dict = {"alphas": ["array-like", None], "cv": ["cv_object"]}

    def __init__(self, alphas=None, *, cv=5):
        self.alphas = alphas
        self.cv = cv

    @_check.checked
    def fit(self, X, y, sample_weight=None):
        """Choose alpha by cross-validation, then learn from all rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels
        sample_weight : array of shape (n,), optional
            Weighs rows in training and in the held-out AUC.

        Returns
        -------
        self
        """
        X, is_pos, weight = self._begin_fit(X, y, sample_weight)
        largest_moments(self, X.shape[1])
        table = as_table(X)
        labels = self.classes_[is_pos.astype(np.intp)]
        folds = _folds(check_cv(self.cv, labels, classifier=True), labels)
        trained, total = training_moments(table, is_pos, weight, folds)
        self.alphas_ = self._grid(total)
        aucs = [self._held_out(table, is_pos, weight, m, test) for m, (_, test) in zip(trained, folds, strict=True)]
        self.cv_auc_ = np.array(aucs)
        self.alpha_ = self._choose()
        w = solve_symmetric(*quadratic(total, self.alpha_), minimum_norm=self.alpha_ == 0.0)
        return self._publish_fit(table, is_pos, w, weight)

    def _grid(self, moments):
        if self.alphas is None:
            size = 2.0 * np.trace(moments.within) / len(moments.gap)
            return (size if size > 0.0 else 1.0) * np.logspace(-7, 2, 50)
        alphas = np.asarray(self.alphas, dtype=np.float64).ravel()
        if not len(alphas) or not np.all(np.isfinite(alphas)) or alphas.min() < 0.0:
            raise ValueError(
                f"The 'alphas' parameter of {type(self).__name__} must be one or more floats in [0.0, inf). "
                f"Got {self.alphas!r} instead."
            )
        return alphas

    def _held_out(self, table, is_pos, weight, moments, test):
        label, w = is_pos[test], None if weight is None else weight[test]
        if not moments.complete or not _both(label, w):
            return np.full(len(self.alphas_), np.nan)
        return path_auc(table, test, label, w, path(moments, self.alphas_))

    def _choose(self):
        usable = ~np.isnan(self.cv_auc_).any(axis=1)
        if not usable.any():
            raise ValueError(
                f"{type(self).__name__} must have a fold with both classes in training and test; got none. "
                "Use stratified folds, or fewer of them."
            )
        mean = self.cv_auc_[usable].mean(axis=0)
        return float(self.alphas_[mean >= mean.max()].max())


def path(moments, alphas):
    """One column a value of alpha: the direction of the minimiser (its length cannot change an AUC)."""
    values, vectors = linalg.eigh(moments.within, check_finite=False)
    values = np.maximum(values, 0.0)
    inner = vectors.T @ moments.gap
    columns = np.empty((len(inner), len(alphas)))
    for k, alpha in enumerate(alphas):
        if alpha > 0.0:
            columns[:, k] = vectors @ (inner / (values + 0.5 * alpha))
        else:
            columns[:, k] = solve_symmetric(*quadratic(moments, 0.0), minimum_norm=True)
    return columns


def path_auc(table, test, is_pos, weight, W):
    """The AUC of each column of W on the held-out rows; columns go in groups, so that memory stays bounded."""
    columns = max(1, LARGE_BYTES // (32 * len(test)))
    aucs = []
    for first in range(0, W.shape[1], columns):
        scores = np.ascontiguousarray(table.matmul(W[:, first : first + columns], test).T)
        aucs += [auc_from_parts(is_pos, column, weight) for column in scores]
    return aucs


def _both(is_pos, weight):
    kept = is_pos if weight is None else is_pos[weight > 0.0]
    return bool(kept.any() and not kept.all())


def _folds(cv, labels):
    """(train, test) of each fold; train is None where it is all rows but the tested ones, as it mostly is."""
    n, folds = len(labels), []
    every = np.arange(n)
    for train, test in cv.split(every, labels):
        train, test = every[train], every[test]
        rest = np.ones(n, dtype=bool)
        rest[test] = False
        plain = rest.sum() == len(train) and rest[train].all()
        rest[train] = False
        plain = plain and not rest.any()
        folds.append((None if plain else train, test))
    return folds


def training_moments(table, is_pos, weight, folds):
    """The training moments of each fold, and those of all rows."""
    n, d = table.shape
    if not _partition(n, folds):
        direct = [class_moments(table, is_pos, _only(train, test, n, weight)) for train, test in folds]
        return direct, class_moments(table, is_pos, weight)
    group = is_pos.astype(np.int32)
    for number, (_, test) in enumerate(folds):
        group[test] += 2 * number
    parts = grouped_moments(table, group, 2 * len(folds), weight)
    parts = [ClassMoments(pos, neg) for neg, pos in zip(parts[::2], parts[1::2], strict=True)]
    before, after = [ClassMoments.empty(d)], [ClassMoments.empty(d)]
    for k in range(len(folds)):
        before.append(before[-1] + parts[k])
        after.append(parts[-1 - k] + after[-1])
    return [before[k] + after[-2 - k] for k in range(len(folds))], before[-1]


def _only(train, test, n, weight):
    """Weights under which exactly the training rows count, as often as they are drawn."""
    times = np.ones(n) if train is None else np.bincount(train, minlength=n).astype(np.float64)
    if train is None:
        times[test] = 0.0
    return times if weight is None else times * weight


def _partition(n, folds):
    """Whether each row is tested once, and trained on in all other folds."""
    tested = np.zeros(n, dtype=np.int32)
    for train, test in folds:
        if train is not None:
            return False
        tested[test] += 1
    return bool(np.all(tested == 1))
