"""RankSVM: the exact minimiser of the hinge or squared hinge over all pairs, by Newton's method."""

import numpy as np
from sklearn.utils._param_validation import StrOptions

from auclid import _check
from auclid._progress import CallbackSupportMixin, steps
from auclid.base import LinearRanker
from auclid.metrics._operating_point import best_threshold
from auclid.pairwise._warning import warn_unless_converged
from auclid.rows import Table
from auclid.solvers import newton
from auclid.solvers.all_pairs import LinearSpace, SquaredHinges
from auclid.solvers.hinge import SmoothHinge
from auclid.solvers.path import Labelled, cross_validate
from auclid.stats.folds import folds_of
from auclid.stats.pair_sums import Pairs

OBJECTIVES = {"squared_hinge": SquaredHinges, "hinge": SmoothHinge}
"""By the names of losses that RankSVM takes."""

ALPHA = 1e-3
"""The default strength of the penalty."""

FOLDS = 5
"""Folds that choose alpha="auto"."""

SHARE = 0.3
"""alpha="auto", in units of the square loss's best: pairs beyond the margin cost nothing, so less need be shrunk."""


class RankSVM(CallbackSupportMixin, LinearRanker):
    """Linear ranking support vector machine over all pairs.

    Minimises over all pairs of a positive and a negative row, with z = x⁺ − x⁻,

        mean (1 − w·z)₊² + (alpha/2) |w|²,

    or the same with (1 − w·z)₊. The pairs are never formed: with the smaller class sorted by score, value,
    gradient and Hessian of all n₊·n₋ pairs take O(n log n) and a few products with X. Newton's method starts
    at w = 0, where every pair is active, so its first step is the square-loss solution of `LeastSquaresAUC`.
    Where rows are many, an eighth of them is solved first and leaves one or two steps to be made on all.

    Parameters
    ----------
    alpha : float in (0, inf) or "auto", default=1e-3
        Strength of the squared penalty; C = 1/(alpha·n₊·n₋) in ½|w|² + C Σ loss. "auto": 0.3 times the one that
        `LeastSquaresAUCCV` finds best in five folds; 1e-3 where a class has fewer rows than that.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The hinge is approached by smooth losses; it takes several times as long.
    tol : float in (0, inf), default=1e-3
        Squared hinge: stop where the gradient is ``tol`` times as long as at w = 0. Hinge: where the dual
        proves the objective to be within a factor 1 + ``tol`` of the optimum.
    max_iter : int, default=100
        Newton steps at the most.

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores. It cannot change an AUC.
    alpha_ : float
        The ``alpha`` in use.
    classes_ : array of shape (2,)
    n_iter_ : int
        Newton steps made on all rows.
    objective_ : float
        The value that was minimised, at ``coef_``.

    Notes
    -----
    There is no ``class_weight``: every pair holds one row of each class, so classes are balanced already.

    References
    ----------
    Chapelle & Keerthi, "Efficient algorithms for ranking with SVMs", Information Retrieval 13, 2010.

    Lee & Lin, "Large-scale linear RankSVM", Neural Computation 26, 2014.

    Examples
    --------
    >>> from auclid import RankSVM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(RankSVM().fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        "alpha": [_check.real(closed="neither"), StrOptions({"auto"})],
        "loss": [StrOptions(set(OBJECTIVES))],
        "tol": [_check.real(closed="neither")],
        "max_iter": [_check.at_least(1)],
    }

    def __init__(self, alpha=ALPHA, *, loss="squared_hinge", tol=1e-3, max_iter=100):
        self.alpha = alpha
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter

    @_check.checked
    def fit(self, X, y, sample_weight=None):
        """Learn from all pairs of rows.

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
        table, is_pos, weight = self._begin_fit(X, y, sample_weight)
        pairs = Pairs(is_pos, weight)
        self.alpha_ = best_alpha(table, is_pos, weight) if self.alpha == "auto" else float(self.alpha)
        objective = OBJECTIVES[self.loss](LinearSpace(table), pairs, self.alpha_, float(self.tol))
        _check.finite(self, np.array(objective.start.norm))
        state = newton.init(objective)
        for _ in steps(self, self.max_iter, lambda: fitted_attributes(state), X, y):
            if state.finished:
                break
            state = newton.update(state)
        warn_unless_converged(self, state)
        self.n_iter_ = max(1, state.n_iter)
        self.objective_ = state.objective.published_value(state.point)
        return self._publish_fit(table, is_pos, state.point.w, weight)


def best_alpha(table: Table, is_pos: np.ndarray, weight: np.ndarray | None) -> float:
    """What alpha="auto" stands for."""
    counted = is_pos if weight is None else is_pos[weight > 0.0]
    if min(counted.sum(), (~counted).sum()) < FOLDS:
        return ALPHA
    folds = folds_of(FOLDS, np.array([False, True]), is_pos, weight)
    tried, _ = cross_validate(Labelled(table, is_pos, weight), folds)
    return ALPHA if tried.alpha is None else SHARE * tried.alpha


def fitted_attributes(state: newton.State) -> dict[str, np.ndarray]:
    """The fitted attributes as they would be now, for callbacks."""
    pairs, point = state.point.objective.pairs, state.point
    threshold = best_threshold(pairs.is_pos, point.scores, pairs.weight)
    return {"coef_": point.w.reshape(1, -1), "intercept_": np.array([-threshold])}
