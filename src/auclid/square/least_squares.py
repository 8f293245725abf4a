"""LeastSquaresAUC: the exact minimiser of the square loss over all pairs, from class moments."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import StrOptions

from auclid import validation
from auclid._progress import CallbackSupportMixin
from auclid.base import LinearRanker
from auclid.data.types import RowsLike
from auclid.solvers.iterative import Solution
from auclid.solvers.least_squares import LeastSquares, moments_are_cheaper
from auclid.stats.labelled import class_moments_of
from auclid.stats.moments import ClassMoments, class_moments, require_room
from auclid.validation import RowAccess


class LeastSquaresAUC(CallbackSupportMixin, LinearRanker):
    """Exact least-squares AUC maximiser.

    Minimises over all pairs of a positive and a negative row, with z = x⁺ − x⁻,

        mean (1 − w·z)² + (alpha/2) |w|² + l1 |w|₁.

    The mean over all n₊·n₋ pairs equals (1 − w·δ)² + w·S·w, where δ is the difference of the class means and S the
    sum of the class covariances, so one pass over the rows is enough. Moments of chunks add up exactly: `partial_fit`
    on any chunks in any order, or `merge` of models fitted elsewhere, gives the model of one `fit` on all rows.

    Parameters
    ----------
    alpha : float in [0, inf), default=1e-4
        Strength of the squared penalty. 0 gives the minimum-norm solution.
    l1 : float in [0, inf), default=0
        Strength of the absolute penalty; a large one makes weights exactly zero.
    positive : bool, default=False
        Whether weights may not be negative.
    solver : {"auto", "moments", "products"}, default="auto"
        "moments" forms the d × d moments; "products" only multiplies with X (conjugate gradients), for wide or sparse
        X. "auto" takes moments while they fit and are cheaper.
    tol : float in (0, inf), default=1e-6
        Relative accuracy of the iterating solvers ("products", and any with l1 or positive).
    max_iter : int, default=1000
        Largest number of iterations of these solvers.

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit` or `merge`, minus the
        score halfway between the class means. It cannot change an AUC.
    classes_ : array of shape (2,)
    n_iter_ : int
        Iterations made; 1 for the closed form.
    solver_ : str
        The solver that `fit` used.

    Notes
    -----
    There is no ``max_fpr``: the square loss also rises for pairs far in the right order, so the highest-scored
    negatives are not those with the largest loss, and a mean over them is not convex. `RankSVM` has it.

    There is no ``class_weight``: every pair holds one row of each class, so classes are balanced already.

    References
    ----------
    Gao, Jin, Zhu & Zhou, "One-pass AUC optimization", ICML 2013 (the batch solution the papers call B-LS-SVM).

    Examples
    --------
    >>> from auclid import LeastSquaresAUC
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> print(f"{LeastSquaresAUC().fit(X, y).score(X, y):.2f}")
    0.93
    """

    _row_access = RowAccess.PARTS

    _parameter_constraints: dict = {
        "alpha": [validation.real()],
        "l1": [validation.real()],
        "positive": ["boolean"],
        "solver": [StrOptions({"auto", "moments", "products"})],
        "tol": [validation.real(closed="neither")],
        "max_iter": [validation.at_least(1)],
    }

    def __init__(
        self,
        alpha: float = 1e-4,
        *,
        l1: float = 0.0,
        positive: bool = False,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.alpha = alpha
        self.l1 = l1
        self.positive = positive
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    @validation.checked
    def fit(self, X: RowsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels
        sample_weight : array of shape (n,), optional
            A pair weighs the product of its two rows' weights.

        Returns
        -------
        self
        """
        rows = self._labelled_dataset(X, y, sample_weight)
        rounds, settings = self._iteration_callback(X, y), self._settings()
        moments: ClassMoments | None = None
        self.solver_ = "moments" if self._by_moments(rows.width) else "products"
        if self.solver_ == "moments":
            moments = class_moments_of(rows)
            found = settings.from_moments(moments, rounds)
        else:
            found = settings.from_products(rows, rounds)
        self._moments = moments
        return self._publish_fit(rows, self._publish_iterations(found, 5))

    def _settings(self) -> LeastSquares:
        return LeastSquares(self.alpha, self.l1, self.positive, self.tol, self.max_iter)

    def _by_moments(self, width: int) -> bool:
        if self.solver == "moments":
            self._require_room(width)
        return self.solver == "moments" or (self.solver == "auto" and moments_are_cheaper(width))

    def _require_room(self, d: int) -> None:
        instead = "Use fit on all rows, or SPAM, which streams in memory of one row."
        require_room(f"The moments of {type(self).__name__}", d, instead)

    @validation.checked
    def partial_fit(
        self, X: RowsLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add a batch of rows; the model is then that of one `fit` on all rows added so far.

        A batch may hold one class only; until both were seen, ``coef_`` and all scores are zero.
        Each call solves a d × d system: with very many columns, prefer batches to single rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        table, is_pos, weight, first = self._begin_partial(X, y, classes, sample_weight)
        self._require_room(table.shape[1])
        seen = ClassMoments.empty(table.shape[1]) if first else self._kept_moments()
        return self._resume(seen + class_moments(table, is_pos, weight))

    def merge(self, other: "LeastSquaresAUC") -> Self:
        """Add the rows another model has seen; returns self.

        Parameters
        ----------
        other : LeastSquaresAUC
            Fitted on other rows with the same parameters, features and classes.

        Returns
        -------
        self
        """
        validation.mergeable(self, other)
        return self._resume(self._kept_moments() + other._kept_moments())

    def _kept_moments(self) -> ClassMoments:
        if self._moments is None:
            self._require_room(self.n_features_in_)
            raise ValueError(
                "LeastSquaresAUC must have its moments to add rows, but fit went by products and kept none. "
                "Use solver='moments', or start with partial_fit."
            )
        return self._moments

    def _resume(self, moments: ClassMoments) -> Self:
        nothing = Solution(np.zeros_like(moments.pos.mean))
        found = self._settings().from_moments(moments) if moments.complete else nothing
        validation.finite(self, found.w)
        w = self._publish_iterations(found, 5)
        self._moments = moments
        return self._publish(w, w @ moments.midpoint)
