"""LeastSquaresAUCCV: the whole path of alpha, cross-validated exactly from the moments of the folds."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from auclid import validation
from auclid.base import LinearRanker
from auclid.data.types import RowsLike
from auclid.solvers.path import METRICS, CrossValidated, Measure, cross_validate
from auclid.stats.moments import require_room
from auclid.validation import RowAccess


class LeastSquaresAUCCV(LinearRanker):
    """`LeastSquaresAUC` with ``alpha`` chosen by cross-validated AUC, for about the price of a few fits.

    Each fold's moments are computed once; the training moments of a fold are the sum of all the others (prefix and
    suffix sums, never a difference), and one eigendecomposition of S gives every alpha. The AUCs are exactly those
    that fitting `LeastSquaresAUC` anew on every training part would give.

    Parameters
    ----------
    alphas : array of floats in [0, inf), or None, default=None
        Penalties to try. None: 50 values (10 above 3,000 columns, unless dense rows are fewer: there each is solved by
        itself, by conjugate gradients) from 1e-7 to 1e2 times twice the mean eigenvalue of S.
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn; a number means stratified folds.
    metric : {"roc_auc", "average_precision"}, default="roc_auc"
        What the alpha is chosen by.

    Attributes
    ----------
    alpha_ : float
        The alpha with the best mean AUC (or average precision) over folds; of equals, the largest.
    alphas_ : array of shape (k,)
    cv_auc_ : array of shape (folds, k)
        Held-out AUC, or average precision where ``metric`` says so. A fold that lacks a class, in training or test, is
        nan and left out of the mean.
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

    _row_access = RowAccess.PARTS

    _parameter_constraints: dict = {
        "alphas": ["array-like", None],
        "cv": ["cv_object"],
        "metric": [StrOptions(set(METRICS))],
    }

    def __init__(self, alphas: ArrayLike | None = None, *, cv: Any = 5, metric: str = "roc_auc") -> None:
        self.alphas = alphas
        self.cv = cv
        self.metric = metric

    @validation.checked
    def fit(self, X: RowsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
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
        rows = self._labelled_dataset(X, y, sample_weight)
        if rows.partitioned:
            require_room(f"The moments of {type(self).__name__}", rows.width, "Use SPAM, which streams.")
        tried, w = cross_validate(rows, self.cv, self._given(), Measure(self.metric))
        return self._publish_fit(rows, self._set_fitted_attributes(tried, w))

    def _set_fitted_attributes(self, tried: CrossValidated, w: np.ndarray | None) -> np.ndarray:
        """The weights of the best alpha; what was tried is published."""
        if w is None:
            raise ValueError(
                f"{type(self).__name__} must have a fold with both classes in training and test; got none. "
                "Use stratified folds, or fewer of them."
            )
        self.alphas_, self.cv_auc_, self.alpha_ = tried.alphas, tried.aucs, tried.alpha
        return w

    def _given(self) -> np.ndarray | None:
        """The penalties given, checked."""
        if self.alphas is None:
            return None
        alphas = np.asarray(self.alphas, dtype=np.float64).ravel()
        if not len(alphas) or not np.all(np.isfinite(alphas)) or alphas.min() < 0.0:
            raise ValueError(
                f"The 'alphas' parameter of {type(self).__name__} must be one or more floats in [0.0, inf). "
                f"Got {self.alphas!r} instead."
            )
        return alphas
