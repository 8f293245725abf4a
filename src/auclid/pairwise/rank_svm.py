"""RankSVM: the exact minimiser of the hinge or squared hinge over all pairs, by Newton's method."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from auclid import _check
from auclid._progress import CallbackSupportMixin, steps
from auclid.base import LinearRanker
from auclid.metrics._operating_point import best_threshold
from auclid.pairs import Pairs
from auclid.pairwise._goals import GOALS
from auclid.pairwise._newton import Linear, Problem, guided
from auclid.rows import as_table
from auclid.square.least_squares_cv import LeastSquaresAUCCV

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
        "loss": [StrOptions(set(GOALS))],
        "tol": [_check.real(closed="neither")],
        "max_iter": [_check.at_least(1)],
    }

    def __init__(self, alpha=1e-3, *, loss="squared_hinge", tol=1e-3, max_iter=100):
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
        X, is_pos, weight = self._begin_fit(X, y, sample_weight)
        table = as_table(X)

        def rounds(look):
            return steps(self, self.max_iter, look, X, y)

        self.alpha_ = best_alpha(table, is_pos, weight) if self.alpha == "auto" else float(self.alpha)
        w, self.n_iter_, self.objective_ = solve(table, is_pos, weight, self, rounds, self.alpha_)
        return self._publish_fit(table, is_pos, w, weight)


def best_alpha(table, is_pos, weight):
    """What alpha="auto" stands for."""
    counted = is_pos if weight is None else is_pos[weight > 0.0]
    if min(counted.sum(), (~counted).sum()) < FOLDS:
        return RankSVM().alpha
    return SHARE * LeastSquaresAUCCV(cv=FOLDS).fit(table, is_pos, weight).alpha_


def solve(table, is_pos, weight, settings, rounds=None, alpha=None):
    """The minimiser, the Newton steps it took and the objective there.

    ``settings`` is a `RankSVM`; ``rounds`` counts the steps, given a function that shows the fitted attributes;
    ``alpha`` replaces that of the settings.
    """
    alpha = float(settings.alpha if alpha is None else alpha)
    goal = GOALS[settings.loss](float(settings.tol))
    solver = guided(Problem(Linear(table), Pairs(is_pos, weight), alpha, goal.parts))
    _check.finite(settings, np.array(solver.steepest))
    counted = range(settings.max_iter) if rounds is None else rounds(lambda: _look(solver.point))
    n_iter = run(solver, goal, settings, counted)
    return solver.point.w, n_iter, float(goal.objective(solver.point))


def run(solver, goal, settings, counted):
    """Newton steps until the goal is reached or ``counted`` ends; gives their number."""
    path, n_iter, ended = solver.path(goal), 0, False
    for _ in counted:
        ended = next(path, path) is path
        if ended:
            break
        n_iter += 1
    if (ended or n_iter == settings.max_iter) and not solver.reached():
        warnings.warn(
            f"{type(settings).__name__} stopped after {n_iter} Newton steps "
            f"before reaching tol={settings.tol}. Scale the columns of X, or raise max_iter, alpha or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return max(1, n_iter)


def _look(point):
    """The fitted attributes as they would be now, for callbacks."""
    pairs = point.problem.pairs
    threshold = best_threshold(pairs.is_pos, point.score, pairs.weight)
    return {"coef_": point.w.reshape(1, -1), "intercept_": np.array([-threshold])}
