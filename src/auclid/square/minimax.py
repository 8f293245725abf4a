"""MinimaxAUC: the ranker whose worst pair of groups is best, with a certificate, from moments of group and class."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from auclid import validation
from auclid.data.types import RowsLike
from auclid.solvers.multiclass import Worst, least_worst
from auclid.square._groups import GroupMomentsRanker, all_groups
from auclid.stats.moments import Moments

WORST_LOSS_TOL = 1e-8
"""Relative gap at which the solver stops."""


class MinimaxAUC(GroupMomentsRanker):
    """Least-squares ranker that maximises the worst AUC between two groups.

    With R_gh(w) = (1 − w·δ_gh)² + w·(Σ⁺_g + Σ⁻_h)w, the mean square loss over the pairs of a positive of group g and a
    negative of group h, it minimises

        max over g, h of R_gh(w) + (alpha/2) |w|².

    The maximum over weighted means of the R_gh is the same, and for given weights the minimum has a closed form: a
    small concave problem in the weights, whose value bounds the minimum from below, so that the answer comes with a
    proof of how good it is. One pass over the rows is enough; moments of chunks add up exactly.

    Parameters
    ----------
    alpha : float in [0, inf), default=1e-4
        Strength of the squared penalty. 0 gives the minimum-norm solution.

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit` or `merge`, minus
        the score halfway between the class means. It cannot change an AUC.
    classes_ : array of shape (2,)
    groups_ : array of shape (G,)
        The groups, sorted.
    risks_ : array of shape (G, G)
        R_gh at the solution: positives of group g against negatives of group h; nan where there are none.
    pair_weights_ : array of shape (G, G)
        Weights of the pairs; they sum to one, and only the worst pairs have any.
    gap_ : float
        How far, at most, the objective is above its minimum, relative to it.
    n_iter_ : int
        Newton steps made.

    Notes
    -----
    Making the worst pair best can cost the others; `auclid.metrics.auc_by_group` measures both. Without groups it is
    `LeastSquaresAUC`.

    References
    ----------
    Kallus & Zhou, "The fairness of risk scores beyond classification: bipartite ranking and the xAUC metric",
    NeurIPS 2019. Martinez, Bertran & Sapiro, "Minimax Pareto fairness", ICML 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import MinimaxAUC
    >>> rng = np.random.default_rng(0)
    >>> y, group = np.arange(400) % 2, np.arange(400) // 300
    >>> X = rng.normal(size=(400, 3)) + y[:, None] * np.where(group == 0, [[2], [0], [0]], [[0], [1], [0]]).T
    >>> model = MinimaxAUC().fit(X, y, group)
    >>> model.risks_.shape, model.gap_ < 1e-6
    ((2, 2), True)
    """

    _parameter_constraints: dict = {"alpha": [validation.real()]}

    def __init__(self, alpha: float = 1e-4) -> None:
        self.alpha = alpha

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels
        groups : array of shape (n,), optional
            The group of each row. A group may lack a class; its pairs with others count all the same.
        sample_weight : array of shape (n,), optional
            A pair weighs the product of its two rows' weights.

        Returns
        -------
        self
        """
        rows = self._labelled_dataset(X, y, sample_weight)
        labels, _, moments = self._group_moments(rows, groups)
        worst = self._learn(labels, moments)
        self._warn_unless(worst.gap <= 1e-4)
        return self._publish_fit(rows, worst.w)

    def _resume(self, labels: np.ndarray, moments: list[Moments]) -> Self:
        worst = self._learn(labels, moments)
        return self._publish(worst.w, worst.w @ all_groups(moments).midpoint)

    def _learn(self, labels: np.ndarray, moments: list[Moments]) -> Worst:
        """Set everything but the weights themselves: negatives and positives of each group come in turn."""
        with_neg, with_pos = ([k for k, part in enumerate(moments[of::2]) if part.n > 0.0] for of in (0, 1))
        size = len(labels)
        risks, shares = np.full((size, size), np.nan), np.zeros((size, size))
        if with_neg and with_pos:
            pos, neg = [moments[2 * g + 1] for g in with_pos], [moments[2 * h] for h in with_neg]
            worst = least_worst(pos, neg, self.alpha, WORST_LOSS_TOL)
            risks[np.ix_(with_pos, with_neg)] = worst.risks
            shares[np.ix_(with_pos, with_neg)] = worst.weights
        else:
            worst = Worst(np.zeros_like(moments[0].mean), shares, risks, 0.0, 1)
        validation.finite(self, worst.w)
        self.groups_, self._moments = labels, moments
        self.risks_, self.pair_weights_, self.gap_, self.n_iter_ = risks, shares, worst.gap, worst.n_iter
        return worst

    def _warn_unless(self, certified: bool) -> None:
        if not certified:
            warnings.warn(
                f"MinimaxAUC stopped {self.gap_:.1e} above the bound of its objective. Scale the columns of X, or use "
                "a larger alpha.",
                ConvergenceWarning,
                stacklevel=4,
            )
