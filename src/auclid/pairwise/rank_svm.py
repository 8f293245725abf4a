"""RankSVM: the exact minimiser of the hinge or squared hinge over all pairs, by Newton's method."""

from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from auclid import validation
from auclid._progress import CallbackSupportMixin, fit_iterations
from auclid.base import LinearRanker, linear_attributes
from auclid.data.types import RowsLike
from auclid.metrics._operating_point import best_threshold
from auclid.pairwise._objective import (
    LOSS_NAMES,
    Settings,
    checked_loss,
    dataset_objective,
    initial_state,
    l1_penalty,
    publish_solution,
    require_smooth,
    warn_unless_converged,
)
from auclid.pairwise._search import best_alpha, best_partial_auc_alpha, best_softness
from auclid.penalties import Penalty, penalty_value, prox
from auclid.solvers import newton
from auclid.solvers.partial_auc import checked_region, class_sizes
from auclid.solvers.path import METRICS
from auclid.stats.labelled import LabelledDataset
from auclid.validation import RowAccess

SOFTNESS = 0.1
"""The softness of the top."""


class RankSVM(CallbackSupportMixin, LinearRanker):
    """Linear ranking support vector machine over all pairs.

    Minimises over all pairs of a positive and a negative row, with z = x⁺ − x⁻,

        mean (1 − w·z)₊² + (alpha/2) |w|² + l1 |w|₁,

    or the same with (1 − w·z)₊ or another loss. The pairs are never formed: with the smaller class sorted by score,
    value, gradient and Hessian of all n₊·n₋ pairs take O(n log n) and a few products with X. Newton's method starts
    at w = 0, where every pair is active, so its first step is the square-loss solution of `LeastSquaresAUC`.
    Where rows are many, an eighth of them is solved first and leaves one or two steps to be made on all.

    Parameters
    ----------
    alpha : float in (0, inf) or "auto", default="auto"
        Strength of the squared penalty; C = 1/(alpha·n₊·n₋) in ½|w|² + C Σ loss. "auto": 0.3 times the one that
        `LeastSquaresAUCCV` finds best in five folds of up to 10,000 rows of each class, times their share of all
        (of 17 values, or nearly so where columns are more than 500);
        where only the top counts and ``softness="auto"``, the largest that is not clearly worse than the best, by
        partial AUC in five folds of as many (fewer of more than 200 columns): some .001 more partial AUC in six times
        the time. 1e-3 where a class has fewer rows than folds.
    loss : {"squared_hinge", "hinge", "logistic"} or struct, default="squared_hinge"
        The hinge is approached by smooth losses; it takes several times as long. "logistic" is log(1 + e⁻ᵐ), summed
        over all pairs in O(n) to rounding. A struct of your own must be convex, with `auclid.losses.hinges`
        implemented, or ``value``, ``slope`` and ``curvature``; then a step takes O(n₊·n₋), or O(n) with ``smooth``.
    l1 : float in [0, inf), default=0
        Strength of the absolute penalty, which makes weights zero; by proximal Newton steps, for smooth losses, thus
        not for the hinge.
    penalty : struct with a `prox` and a `penalty_value`, or None, default=None
        Replaces ``alpha`` and ``l1`` by any penalty of `auclid.penalties` or of your own; ``alpha`` and ``l1`` must
        then keep their defaults.
    tol : float in (0, inf), default=1e-3
        Squared hinge: stop where the gradient is ``tol`` times as long as at w = 0. Hinge: where the dual
        proves the objective to be within a factor 1 + ``tol`` of the optimum; so, too, where only the top counts.
    max_iter : int, default=100
        Newton steps at the most.
    max_fpr : float in (0, 1] or "top", default=1
        Only pairs of the ``max_fpr``·n₋ highest-scored negatives count: partial AUC left of this false-positive rate.
        "top": the one highest negative (TopPush).
    min_tpr : float in [0, 1), default=0
        Only pairs of the (1 − ``min_tpr``)·n₊ lowest-scored positives count: partial AUC above this true-positive rate.
    softness : float in (0, inf) or "auto", default=0.1
        How gradually rows are in the top or out of it, in units of the loss; without effect where all pairs count.
        "auto": of 10, 3, 1, 0.3, 0.1 and 0.03 the largest that is not clearly worse than the best, by partial AUC in
        five folds. The fewer rows the top has, the more softness pays.
    metric : {"roc_auc", "average_precision"}, default="roc_auc"
        What ``alpha="auto"`` is chosen by; the loss that is minimised stays the same.

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores. It cannot change an AUC.
    alpha_ : float
        The ``alpha`` in use; 0 if a ``penalty`` replaces it.
    classes_ : array of shape (2,)
    n_iter_ : int
        Newton steps made on all rows.
    objective_ : float
        The value that was minimised, at its minimiser.
    gap_ : float in [0, 1]
        How far, at most, that is above the optimum, as a share of it; proved, by strong convexity or by the dual. 1,
        which says nothing, for a ``penalty``.
    softness_ : float
        The ``softness`` in use.

    Notes
    -----
    **Only the top counts** (``max_fpr`` below 1 or ``min_tpr`` above 0). With k and m the numbers of rows that are
    left, the objective is

        max over p, q of Σ p_i q_j l(w·z_ij) − softness/2 (k|q|² − 1) − softness/2 (m|p|² − 1)  +  (alpha/2) |w|²,

    with 0 ≤ q_j ≤ 1/k and 0 ≤ p_i ≤ 1/m that add up to 1. For losses that fall as margins rise this is convex, and for
    softness → 0 it is the mean over the k highest negatives and the m lowest positives. That hard cut is best at
    w = 0 wherever the top is hard to rank, so it is not offered; the soft one never vanishes, and weights that come
    near it are scaled up. A step still takes O(n log n) and no pair is formed.

    There is no ``class_weight``: every pair holds one row of each class, so classes are balanced already.

    ``make("SVMpAUC")`` and ``make("TopPush")`` are the papers' objectives with a softened top; with
    ``published=True`` so little of the softness is left that the optimum is the papers'.

    References
    ----------
    Chapelle & Keerthi, "Efficient algorithms for ranking with SVMs", Information Retrieval 13, 2010.

    Lee & Lin, "Large-scale linear RankSVM", Neural Computation 26, 2014.

    Narasimhan & Agarwal, "SVM_pAUC^tight: a new support vector method for optimizing partial AUC based on a tight
    convex upper bound", KDD 2013.

    Li, Jin & Zhou, "Top rank optimization in linear time", NIPS 2014 (TopPush).

    Examples
    --------
    >>> from auclid import RankSVM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(RankSVM().fit(X, y).score(X, y), 2)
    0.93

    The part of the list that one looks at, up to a false-positive rate of 5 %:

    >>> from auclid.metrics import partial_auc
    >>> top = RankSVM(max_fpr=0.05).fit(X, y)
    >>> print(f"{partial_auc(y, top.decision_function(X), max_fpr=0.05):.2f}")
    0.82
    """

    _row_access = RowAccess.PARTS

    _parameter_constraints: dict = {
        "alpha": [validation.real(closed="neither"), StrOptions({"auto"})],
        "loss": [StrOptions(set(LOSS_NAMES)), tuple],
        "l1": [validation.real()],
        "penalty": [tuple, None],
        "tol": [validation.real(closed="neither")],
        "max_iter": [validation.at_least(1)],
        "max_fpr": [validation.real(0.0, 1.0, closed="right"), StrOptions({"top"})],
        "min_tpr": [validation.real(0.0, 1.0, closed="left")],
        "softness": [validation.real(closed="neither"), StrOptions({"auto"})],
        "metric": [StrOptions(set(METRICS))],
    }

    def __init__(
        self,
        alpha: float | str = "auto",
        *,
        loss: Any = "squared_hinge",
        l1: float = 0.0,
        penalty: Any = None,
        tol: float = 1e-3,
        max_iter: int = 100,
        max_fpr: float | str = 1.0,
        min_tpr: float = 0.0,
        softness: float | str = SOFTNESS,
        metric: str = "roc_auc",
    ) -> None:
        self.alpha = alpha
        self.loss = loss
        self.l1 = l1
        self.penalty = penalty
        self.tol = tol
        self.max_iter = max_iter
        self.max_fpr = max_fpr
        self.min_tpr = min_tpr
        self.softness = softness
        self.metric = metric

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> Self:
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
        penalty = self._penalty()
        rows = self._labelled_dataset(X, y, sample_weight)
        minimised = self._objective(rows)
        validation.finite(self, np.array(minimised.start_norm))
        state = initial_state(minimised, penalty, self.tol)
        attributes = weights_alone if rows.partitioned else fitted_attributes
        seen = (None, None) if rows.partitioned else (X, y)
        for _ in fit_iterations(self, self.max_iter, lambda: attributes(state), *seen):
            if state.finished:
                break
            state = state.step()
        warn_unless_converged(self, state)
        return self._publish_fit(rows, publish_solution(self, state))

    def _penalty(self) -> Penalty | None:
        """The penalty beside (alpha/2) |w|², or in its place; None if there is none."""
        if self.penalty is None:
            return l1_penalty(type(self).__name__, self.l1, self.loss)
        require_smooth(type(self).__name__, self.loss)
        if self.l1 or self.alpha != "auto":
            raise ValueError("penalty of RankSVM must stand alone; got alpha or l1 as well. Put them into the penalty.")
        return validation.implements(self, "penalty", self.penalty, (prox, penalty_value))

    def _objective(self, rows: LabelledDataset) -> Any:
        """The objective; keeps the alpha and the softness in use."""
        owner, cut = type(self).__name__, self.max_fpr != 1.0 or self.min_tpr != 0.0
        region = checked_region(owner, self.max_fpr, self.min_tpr, *class_sizes(rows, weighted=cut))
        loss = checked_loss(owner, self.loss, region)
        settings = Settings(loss, float(self.tol), region, SOFTNESS)
        given = None if self.alpha == "auto" else float(self.alpha)
        given = 0.0 if self.penalty is not None else given
        if self.softness != "auto":
            settings = settings._replace(softness=float(self.softness))
        elif not region.whole:
            settings = settings._replace(softness=best_softness(rows, given, settings) or SOFTNESS)
        if given is None:
            for_the_top = self.softness == "auto" and not region.whole and self.metric == "roc_auc"
            given = (best_partial_auc_alpha(rows, settings) if for_the_top else None) or best_alpha(rows, self.metric)
        self.alpha_, self.softness_ = given, settings.softness
        return dataset_objective(rows, given, settings)


def weights_alone(state: newton.State) -> dict[str, np.ndarray]:
    """The fitted attributes as they would be now, for callbacks; the threshold of rows in parts would take a pass."""
    return linear_attributes(state.point.w)


def fitted_attributes(state: newton.State) -> dict[str, np.ndarray]:
    """The fitted attributes as they would be now, for callbacks."""
    pairs, point = state.point.objective.pairs, state.point
    return linear_attributes(point.w, best_threshold(pairs.is_pos, point.scores, pairs.weight))
