"""OrderedRanker: rows ranked by levels or numbers, within groups where there are some."""

from typing import Any, Self

import numpy as np

from auclid import _sizes, validation
from auclid.errors import invalid_value
from auclid.ordered._alpha import ALPHA
from auclid.ordered._base import LinearOrderRanker
from auclid.ordered._rows import OrderedRows, ordered_rows
from auclid.solvers.ordered_square import OrderedLeastSquares, square_system
from auclid.stats.moments import grouped_moments, require_room
from auclid.stats.ordered_moments import OrderedMoments, SquareSystem
from auclid.stats.pair_order import level_order
from auclid.validation.outcomes import checked_weights, group_codes, ordered_values


class OrderedRanker(LinearOrderRanker):
    """Linear ranking of ordered rows: levels, numbers, and rows that are compared within groups only.

    Minimises over all pairs of a row i and a row j of the same group with y_i > y_j, with z = x_i − x_j,

        mean loss(w·z) + (alpha/2) |w|² + l1 |w|₁.

    The pairs are never formed. The square loss (1 − w·z)² is solved exactly: from the rows in their order, each met
    with the sum of the rows below it. The hinges and the logistic loss are minimised by Newton's method, with value,
    gradient and Hessian products of all pairs in O(n log n): rows are halved by level, again and again, and the halves'
    scores are merged as in merge sort. Two levels without groups give the weights of `LeastSquaresAUC` and `RankSVM`,
    bit for bit.

    Parameters
    ----------
    loss : {"square", "squared_hinge", "hinge", "logistic"}, default="square"
        The loss of a pair.
    alpha : float in [0, inf) or "auto", default="auto"
        Strength of the squared penalty; positive unless ``loss="square"``. "auto": of 17 values the one that ranks best
        on five held-out folds of groups, or of rows where there are fewer than five groups, by the square loss on about
        10,000 rows; 0.3 times that for the other losses.
    l1 : float in [0, inf), default=0
        Strength of the absolute penalty; a large one makes weights exactly zero. Not with the hinge, which is not
        smooth.
    tol : float in (0, inf), default=1e-3
        As in `RankSVM`: where the gradient is ``tol`` times as long as at w = 0, or for the hinge, where the objective
        is within a factor 1 + ``tol`` of its optimum. The square loss is exact.
    max_iter : int, default=1000
        Newton steps, or iterations of the solvers for l1 and for many columns, at the most.

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Zero: it cannot change an order.
    alpha_ : float
        The ``alpha`` in use.
    alphas_ : array of shape (k,)
        Values that were tried, with ``alpha="auto"``.
    cv_concordance_ : array of shape (folds, k)
        Their concordance on each held-out fold; nan where it has no pair.
    n_iter_ : int
        Iterations made; 1 for the closed form.
    objective_, gap_ : float
        The value that was minimised, and how far, at most, it is above the optimum, as a share of it; not for the
        square loss.

    See Also
    --------
    SurvivalRanker : for censored times.
    auclid.metrics.concordance : what `score` is.

    References
    ----------
    Herbrich, Graepel & Obermayer, "Large margin rank boundaries for ordinal regression", 2000.

    Joachims, "Optimizing search engines using clickthrough data", KDD 2002.

    Lee & Lin, "Large-scale linear RankSVM", Neural Computation 26, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid import OrderedRanker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> stage = np.digitize(X[:, 0] + rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> model = OrderedRanker().fit(X, stage)
    >>> round(model.score(X, stage), 2)
    0.81

    Documents within queries:

    >>> query = np.repeat(np.arange(30), 10)
    >>> round(OrderedRanker(loss="squared_hinge").fit(X, stage, groups=query).score(X, stage, groups=query), 2)
    0.82
    """

    @validation.checked
    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all pairs of rows with different y, within groups where they are given.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Or rows of files (`auclid.scan`) or a dask collection; y, groups and weights are then held in memory.
        y : array of shape (n,)
            Numbers, or an ordered categorical; a greater y is ranked above. None: the target of rows of files.
        groups : array of shape (n,), optional
            Which rows are compared: those of one query, session or patient.
        sample_weight : array of shape (n,), optional
            A pair weighs the product of its two rows' weights.

        Returns
        -------
        self
        """
        self._stream = self._fit_rows(self._ordered_rows(X, y, groups, sample_weight), X, y)
        return self

    def _ordered_rows(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> OrderedRows:
        return ordered_rows(self, X, lambda: self._values(X, y), groups, sample_weight)

    def _values(self, X: Any, y: Any) -> np.ndarray:
        """The numbers that rows are ordered by."""
        y = validation.own_outcome(self, X, y)
        validation.require_labels(self, y)
        return ordered_values(type(self).__name__, "y", y)

    @validation.checked
    def partial_fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows; the model is then that of one `fit` on all rows added so far, with the same alpha.

        For the square loss only. Without groups, rows of all batches are compared with each other; their moments are
        kept by level, so y should have few values. With groups, each batch has whole groups.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        groups : array of shape (n,), optional
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        if self.loss != "square":
            raise invalid_value(self, "loss", "be 'square' for partial_fit", self.loss, "Use fit on all rows.")
        first = not hasattr(self, "coef_")
        table = validation.check_rows(self, X, reset=first)
        require_room("The moments of OrderedRanker", table.shape[1], "Use fit on all rows.")
        batch = self._batch(table, y, groups, sample_weight)
        return self._resume(batch if first else self._kept() + batch)

    def _batch(self, table: Any, y: Any, groups: Any, sample_weight: Any) -> OrderedMoments:
        """What a batch adds."""
        owner, (n, d) = type(self).__name__, table.shape
        values = self._values(None, y)
        weight, group = checked_weights(owner, sample_weight, n), group_codes(owner, groups, n)
        if group is not None:
            order = level_order(values, group, weight)
            system = square_system(table, order) if order.total > 0.0 else SquareSystem.empty(d)
            largest = 1.0 if weight is None else float(weight.max())
            return OrderedMoments(np.zeros(0), [], system.scaled(largest**2))
        levels, number = np.unique(values, return_inverse=True)
        self._few_levels(len(levels), d)
        return OrderedMoments(levels, grouped_moments(table, number, len(levels), weight), SquareSystem.empty(d))

    def _few_levels(self, count: int, d: int) -> None:
        if count * d * d > _sizes.MAX_LEVEL_MOMENT_VALUES:
            raise invalid_value(
                self,
                "y",
                f"have few levels for partial_fit, whose moments of {d} columns are kept one by one",
                count,
                "Round y, pass groups that come whole, or use fit on all rows.",
            )

    def merge(self, other: "OrderedRanker") -> Self:
        """Add the rows another model has seen; returns self.

        Parameters
        ----------
        other : OrderedRanker
            Fitted by `partial_fit`, or with groups, on other rows (and other groups), with the same parameters and
            features.

        Returns
        -------
        self
        """
        validation.mergeable(self, other)
        return self._resume(self._kept() + other._kept())

    def _kept(self) -> OrderedMoments:
        kept = getattr(self, "_stream", None)
        if kept is None:
            raise invalid_value(
                self,
                "loss",
                "be 'square', with few levels of y or with groups, for partial_fit or merge after fit",
                self.loss,
                "Start with partial_fit.",
            )
        return kept

    def _resume(self, seen: OrderedMoments) -> Self:
        """Publish what the moments of all rows so far give."""
        self._few_levels(len(seen.levels), len(seen.grouped.b))
        system, w = seen.system(), np.zeros(len(seen.grouped.b))
        self.n_iter_ = 1
        if self.alpha != "auto":
            self.alpha_ = float(self.alpha)
        elif not hasattr(self, "alphas_"):  # else the one that fit has chosen
            self.alpha_ = ALPHA * system.scale if system.total > 0.0 else 0.0
        if system.total > 0.0:
            settings = OrderedLeastSquares(self.alpha_, float(self.l1), min(self.tol, 1e-6))
            w = self._publish_iterations(settings.from_system(system, self._iteration_callback()), 6)
        self._set_weights(validation.finite(self, w), 0.0)
        self._stream = seen
        return self

    def score(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> float:
        """The concordance of `decision_function` with y: the share of pairs in the right order, ties one half.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        groups : array of shape (n,), optional
            Only rows of one group are compared.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float
        """
        values = self._values(X, y)
        weight = validation.own_weight(X, sample_weight)
        return self._concordance(self.decision_function(X), values, groups, weight)

    def _measured(self, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        return self._values(None, y), {}
