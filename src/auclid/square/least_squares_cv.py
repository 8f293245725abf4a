"""LeastSquaresAUCCV: the whole path of alpha, cross-validated exactly from the moments of the folds."""

from numbers import Integral

import numpy as np
from scipy import linalg
from sklearn.model_selection import check_cv

from auclid import _check
from auclid.base import LinearRanker
from auclid.metrics._auc import auc_from_parts
from auclid.rows import sizes
from auclid.solvers.closed_form import moments_fit, quadratic, solve_products, solve_symmetric
from auclid.square.least_squares import LeastSquaresAUC
from auclid.stats.moments import ClassMoments, class_moments, grouped_moments


class LeastSquaresAUCCV(LinearRanker):
    """`LeastSquaresAUC` with ``alpha`` chosen by cross-validated AUC, for about the price of a few fits.

    Each fold's moments are computed once; the training moments of a fold are the sum of all the others (prefix and
    suffix sums, never a difference), and one eigendecomposition of S gives every alpha. The AUCs are exactly those
    that fitting `LeastSquaresAUC` anew on every training part would give.

    Parameters
    ----------
    alphas : array of floats in [0, inf), or None, default=None
        Penalties to try. None: 50 values (10 above 3,000 columns, where each is solved by itself, by conjugate
        gradients) from 1e-7 to 1e2 times twice the mean eigenvalue of S.
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
        table, is_pos, weight = self._begin_fit(X, y, sample_weight)
        folds = _folds(self.cv, self.classes_, is_pos, weight)
        w = (self._by_moments if moments_fit(table) else self._by_products)(table, is_pos, weight, folds)
        return self._publish_fit(table, is_pos, w, weight)

    def _by_moments(self, table, is_pos, weight, folds):
        """The whole path of each fold from its moments."""
        trained, total = training_moments(table, is_pos, weight, folds)
        self.alphas_ = self._grid(np.trace(total.within) / table.shape[1], 50)
        aucs = [self._held_out(table, is_pos, weight, m, test) for m, (_, test) in zip(trained, folds, strict=True)]
        self.cv_auc_ = np.array(aucs)
        self.alpha_ = self._choose()
        return solve_symmetric(*quadratic(total, self.alpha_), minimum_norm=self.alpha_ == 0.0)

    def _by_products(self, table, is_pos, weight, folds):
        """Too many columns for moments: conjugate gradients for each fold and alpha."""
        total = class_moments(table, is_pos, weight, full=False)
        self.alphas_ = self._grid(float(total.within) / table.shape[1], 10)
        models = [LeastSquaresAUC(alpha) for alpha in self.alphas_]
        self.cv_auc_ = np.full((len(folds), len(models)), np.nan)
        for aucs, (train, test) in zip(self.cv_auc_, folds, strict=True):
            counts, label, w = _only(train, test, len(is_pos), weight), is_pos[test], _part(weight, test)
            if _both(is_pos, counts) and _both(label, w):
                W = [solve_products(table, is_pos, counts, model)[0] for model in models]
                aucs[:] = path_auc(table, test, label, w, np.column_stack(W))
        self.alpha_ = self._choose()
        return solve_products(table, is_pos, weight, LeastSquaresAUC(self.alpha_))[0]

    def _grid(self, size, count):
        """The penalties given, or ``count`` of them around twice the mean variance of a column of S."""
        if self.alphas is None:
            return 2.0 * (size if size > 0.0 else 0.5) * np.logspace(-7, 2, count)
        alphas = np.asarray(self.alphas, dtype=np.float64).ravel()
        if not len(alphas) or not np.all(np.isfinite(alphas)) or alphas.min() < 0.0:
            raise ValueError(
                f"The 'alphas' parameter of {type(self).__name__} must be one or more floats in [0.0, inf). "
                f"Got {self.alphas!r} instead."
            )
        return alphas

    def _held_out(self, table, is_pos, weight, moments, test):
        label, w = is_pos[test], _part(weight, test)
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
    values, vectors = linalg.eigh(moments.within, driver="evd", check_finite=False)
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
    columns = max(1, sizes.LARGE_BYTES // (16 * len(test)))
    aucs = []
    for first in range(0, W.shape[1], columns):
        scores = np.ascontiguousarray(table.matmul(np.ascontiguousarray(W[:, first : first + columns]), test).T)
        aucs += [auc_from_parts(is_pos, column, weight) for column in scores]
    return aucs


def _both(is_pos, weight):
    kept = is_pos if weight is None else is_pos[weight > 0.0]
    return bool(kept.any() and not kept.all())


def _part(weight, index):
    return None if weight is None else weight[index]


def _folds(cv, classes, is_pos, weight=None):
    """(train, test) of each fold; train is None where it is all rows but the tested ones, as it mostly is.

    Rows of weight zero are dealt out apart from the others, so that these are spread evenly over the folds.
    """
    n, folds = len(is_pos), []
    every, labels = np.arange(n), is_pos if isinstance(cv, Integral) else classes[is_pos.astype(np.intp)]
    if isinstance(cv, Integral) and weight is not None and (weight == 0.0).sum() >= cv:
        labels = np.where(weight > 0.0, is_pos, 2)
    for train, test in check_cv(cv, labels, classifier=True).split(every, labels):
        train, test = every[train], every[test]
        rest = np.ones(n, dtype=bool)
        rest[test] = False
        plain = rest.sum() == len(train) and rest[train].all()
        rest[train] = False
        plain = plain and not rest.any()
        folds.append((None if plain else train, test))
    return folds


def training_moments(table, is_pos, weight, folds):
    """The training moments of each fold, one after the other as they are asked for, and those of all rows."""
    n, d = table.shape
    if not _partition(n, folds):
        direct = (class_moments(table, is_pos, _only(train, test, n, weight)) for train, test in folds)
        return direct, class_moments(table, is_pos, weight)
    group = is_pos.astype(np.int32)
    for number, (_, test) in enumerate(folds):
        group[test] += 2 * number
    parts = grouped_moments(table, group, 2 * len(folds), weight)
    parts = [ClassMoments(pos, neg) for neg, pos in zip(parts[::2], parts[1::2], strict=True)]
    after = [ClassMoments.empty(d)]
    for part in reversed(parts):
        after.append(part + after[-1])
    total = after.pop()
    return _without_each(parts, after), total


def _without_each(parts, after):
    """The sum of all parts but the k-th, for each k: those before it, plus those after it."""
    before = ClassMoments.empty(len(parts[0].gap))
    for part in parts:
        yield before + after.pop()
        before = before + part


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
