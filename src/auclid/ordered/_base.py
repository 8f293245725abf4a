"""What both rankers of ordered rows share: losses, penalties, solvers and scikit-learn's interface."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions

from auclid import _sizes, validation
from auclid._progress import CallbackSupportMixin
from auclid.base import LinearScores
from auclid.data import SparseTable
from auclid.errors import invalid_value
from auclid.metrics._concordance import concordance
from auclid.metrics._sample import WHOLE
from auclid.ordered._alpha import choose_alpha
from auclid.ordered._rows import OrderedRows, level_moments
from auclid.pairwise._objective import (
    Settings,
    checked_loss,
    dataset_objective,
    initial_state,
    l1_penalty,
    publish_solution,
    warn_unless_converged,
)
from auclid.pairwise._search import best_alpha as best_alpha_of_classes
from auclid.solvers.iterative import IterationCallback, Solution
from auclid.solvers.least_squares import LeastSquares, moments_are_cheaper
from auclid.solvers.ordered_pairs import ordered_objective
from auclid.solvers.ordered_square import OrderedLeastSquares, square_system
from auclid.solvers.path import cross_validate
from auclid.stats.labelled import LabelledDataset, class_moments_of
from auclid.stats.ordered_moments import OrderedMoments, SquareSystem
from auclid.validation import RowAccess, partwise

ORDERED_LOSS_NAMES = ("square", "squared_hinge", "hinge", "logistic")
"""The losses whose sums over ordered pairs there are."""

FOLDS = 5
"""Folds of two classes that are held out in turn."""


class LinearOrderRanker(CallbackSupportMixin, LinearScores, BaseEstimator):
    """A linear score whose order is learnt: mean over comparable pairs of a loss + alpha/2 |w|² + l1 |w|₁."""

    _parameter_constraints: dict = {
        "loss": [StrOptions(set(ORDERED_LOSS_NAMES))],
        "alpha": [validation.real(), StrOptions({"auto"})],
        "l1": [validation.real()],
        "tol": [validation.real(closed="neither")],
        "max_iter": [validation.at_least(1)],
    }

    _row_access = RowAccess.PARTS

    def __init__(
        self,
        loss: str = "square",
        alpha: float | str = "auto",
        *,
        l1: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.l1 = l1
        self.tol = tol
        self.max_iter = max_iter

    @partwise
    def predict(self, X: Any) -> Any:
        """The scores of `decision_function`.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        return self.decision_function(X)

    @abstractmethod
    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all comparable pairs of rows."""

    @abstractmethod
    def _ordered_rows(self, X: Any, y: Any, groups: Any, sample_weight: Any) -> OrderedRows:
        """Rows with their order, checked."""

    @abstractmethod
    def _measured(self, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        """What `concordance` and `compare_concordance` take: the values of y, and options."""

    def _concordance(self, scores: Any, y: Any, groups: Any, sample_weight: Any) -> float:
        """The concordance of scores with y."""
        values, options = self._measured(y)
        return concordance(values, scores, groups=groups, sample_weight=sample_weight, **options)

    def _fit_rows(self, rows: OrderedRows, X: Any = None, y: Any = None) -> OrderedMoments | None:
        """Learn from checked rows; sets all fitted attributes. Returns what further rows can be added to, if known.

        X and y are shown to callbacks.
        """
        if self.loss != "square" and self.alpha == 0.0:
            raise invalid_value(self, "alpha", "be positive unless loss='square'", self.alpha)
        for name in {"alphas_", "cv_concordance_", "objective_", "gap_"} & vars(self).keys():
            delattr(self, name)
        moments, labelled = None, self._labelled(rows) if rows.two_classes else None
        rounds = self._iteration_callback() if rows.parts.partitioned else self._iteration_callback(X, y)
        if self.loss != "square":
            w = self._fit_newton(rows, labelled, rounds)
        elif labelled is not None:
            w, moments = self._fit_square_classes(labelled, rounds)
        else:
            w, moments = self._fit_square(rows, rounds)
        self._set_weights(validation.finite(self, w), 0.0)
        return moments

    def _labelled(self, rows: OrderedRows) -> LabelledDataset:
        """Rows of two levels as two classes."""
        levels = np.unique(rows.outcome.values[rows.order.rows])
        is_pos = rows.outcome.values == levels[1]
        if rows.parts.partitioned:
            return LabelledDataset.from_parts(rows.parts, rows.sizes, is_pos, rows.weight, levels)
        return LabelledDataset.from_table(rows.table(), is_pos, rows.weight, levels)

    # The square loss

    def _fit_square_classes(
        self, rows: LabelledDataset, rounds: IterationCallback
    ) -> tuple[np.ndarray, OrderedMoments | None]:
        """Two classes: what `LeastSquaresAUC` and `LeastSquaresAUCCV` do."""
        moments, by_moments, w = None, moments_are_cheaper(rows.width), None
        self.alpha_ = 1e-4 if self.alpha == "auto" else float(self.alpha)
        if by_moments:
            moments = class_moments_of(rows)
        if self.alpha == "auto" and rows.counts.sum(axis=0).min() >= FOLDS:
            tried, w = cross_validate(rows, FOLDS)
            if tried.alpha is not None:
                self.alpha_, self.alphas_, self.cv_concordance_ = tried.alpha, tried.alphas, tried.aucs
        if w is None or self.l1 > 0.0:
            settings = LeastSquares(self.alpha_, float(self.l1), False, min(self.tol, 1e-6), self.max_iter)
            found = settings.from_products(rows, rounds) if moments is None else settings.from_moments(moments, rounds)
        else:
            found = Solution(w)
        kept = None
        if moments is not None:
            kept = OrderedMoments(rows.classes, [moments.neg, moments.pos], SquareSystem.empty(rows.width))
        return self._publish_iterations(found, 6), kept

    def _fit_square(self, rows: OrderedRows, rounds: IterationCallback) -> tuple[np.ndarray, OrderedMoments | None]:
        """The weights, and what further rows can be added to: of few levels, or of groups."""
        settings = OrderedLeastSquares(self._choose_alpha(rows), float(self.l1), min(self.tol, 1e-6))
        sparse_and_wide = rows.width > _sizes.MAX_WHOLE_PATH_COLUMNS and isinstance(rows.table(), SparseTable)
        if not moments_are_cheaper(rows.width) or sparse_and_wide:
            found = settings.from_products(rows.table(), rows.order, rounds)
            return self._publish_iterations(found, 6), None
        moments = level_moments(rows)
        if moments is None:
            system = square_system(rows.table(), rows.order)
            if rows.group is not None:
                largest = 1.0 if rows.weight is None else float(rows.weight.max())
                moments = OrderedMoments(np.zeros(0), [], system.scaled(largest**2))
        else:
            system = moments.system()
        return self._publish_iterations(settings.from_system(system, rounds), 6), moments

    def _choose_alpha(self, rows: OrderedRows) -> float:
        """The alpha in use; where it is chosen, with what was tried."""
        if self.alpha != "auto":
            self.alpha_ = float(self.alpha)
        else:
            chosen = choose_alpha(rows.table(), rows.order, self.loss == "square")
            self.alpha_, self.alphas_, self.cv_concordance_ = chosen
        return self.alpha_

    # Hinges and the logistic loss

    def _fit_newton(self, rows: OrderedRows, labelled: LabelledDataset | None, rounds: IterationCallback) -> np.ndarray:
        penalty = l1_penalty(type(self).__name__, float(self.l1), self.loss)
        if labelled is not None:
            self.alpha_ = best_alpha_of_classes(labelled) if self.alpha == "auto" else float(self.alpha)
            settings = Settings(checked_loss(type(self).__name__, self.loss, WHOLE), float(self.tol), WHOLE, 0.1)
            objective: Any = dataset_objective(labelled, self.alpha_, settings)
        else:
            alpha = self._choose_alpha(rows)
            objective = ordered_objective(rows.table(), rows.order, self.loss, alpha, float(self.tol))
        validation.finite(self, np.array(objective.start_norm))
        state = initial_state(objective, penalty, float(self.tol))
        for _ in rounds(lambda: state.point.w):
            if state.finished:
                break
            state = state.step()
        warn_unless_converged(self, state)
        return publish_solution(self, state)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
