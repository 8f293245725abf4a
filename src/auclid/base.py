"""The ranker base classes: all of scikit-learn's demands, once.

`Ranker` knows labels, `predict` and `score`. `TableScores` has `decision_function`, `LinearRanker` adds ``coef_`` and
``intercept_``. `StreamRanker` owns the loop of every method that learns a row (or a pair) a step.
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.validation import _check_y

from auclid import _random, validation
from auclid._progress import CallbackSupportMixin, fit_iterations
from auclid.data import SparseTable, Table, as_table, to_dense
from auclid.data.types import OutputFile, RowsLike
from auclid.errors import DataError
from auclid.metrics._auc import checked_auc
from auclid.solvers.iterative import IterationCallback, Solution
from auclid.solvers.stream import Batch, StreamSolver, copy_state
from auclid.solvers.threshold import youden_threshold
from auclid.stats.class_means import FirstPass
from auclid.stats.epochs import EpochSampler
from auclid.stats.labelled import LabelledDataset
from auclid.stats.weights import drawn
from auclid.validation import RowAccess, partwise
from auclid.validation.outcomes import group_codes, order_of
from auclid.validation.parameters import number_in


class Ranker(ClassifierMixin, BaseEstimator):
    """A binary classifier whose `decision_function` ranks: higher means more likely ``classes_[1]``."""

    _parameter_constraints: dict = {}

    _row_access: ClassVar[RowAccess] = RowAccess.SEQUENTIAL
    _out_of_core_alternative: ClassVar[str] = ""
    """What to use where rows do not fit in memory, of an estimator that needs them there."""

    threshold_: float = 0.0
    """The score above which `predict` answers ``classes_[1]``; `set_threshold` chooses another."""

    @partwise
    def predict(self, X: RowsLike, *, out: OutputFile = None) -> Any:
        """The class of each row: ``classes_[1]`` where `decision_function` exceeds ``threshold_``.

        Unless `set_threshold` has chosen another, it is the threshold with the largest Youden's J (true minus false
        positive rate) on the training rows, or, of a model that calibrates its scores, the log-odds of the share of
        positives.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Rows of files (`auclid.scan`) are answered by blocks. Of a Dask collection the answer is lazy.
        out : path of a ``.npy`` file, optional
            Where to write the answers for rows of files.

        Returns
        -------
        array of shape (n,)
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > self.threshold_).astype(np.intp)]

    def set_threshold(self, threshold: float) -> Self:
        """Choose the score above which `predict` answers ``classes_[1]``.

        The model keeps this number, also in its file, through `partial_fit` and until the next `fit`. Scores and
        probabilities stay as they are. `auclid.metrics.choose_threshold` finds one for a purpose. Choose again where
        scores change their unit: a `Scorecard` fitted by the logistic loss learns on by the square loss.

        Parameters
        ----------
        threshold : float
            A value of `decision_function`.

        Returns
        -------
        self
        """
        if len(getattr(self, "classes_", ())) != 2:
            raise DataError(f"{type(self).__name__}.set_threshold needs a fitted model of two classes.")
        self.threshold_ = number_in(f"{type(self).__name__}.set_threshold", "threshold", threshold, -np.inf, np.inf)
        return self

    def score(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> float:
        """The area under the ROC curve of `decision_function` on (X, y): not the accuracy.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
            Rows of files (`auclid.scan`) have labels and weights of their own, where none are given.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float
        """
        y, sample_weight = validation.labels_to_score(self, X, y, sample_weight)
        scores = self.decision_function(X)
        return checked_auc(f"{type(self).__name__}.score", y, scores, sample_weight, self.classes_[1])

    def _labelled_dataset(
        self, X: RowsLike, y: Any = None, sample_weight: Any = None, X_unlabeled: Any = None
    ) -> LabelledDataset:
        """The rows to learn from, checked, with two classes; sets ``classes_`` and what is known of the columns."""
        if X_unlabeled is not None:
            raise TypeError(f"{type(self).__name__} takes no X_unlabeled, it learns from labels; SAMULT takes it.")
        return validation.labelled_dataset(self, X, y, sample_weight)

    def _begin_partial(
        self, X: RowsLike, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> tuple[Any, np.ndarray, np.ndarray | None, bool]:
        """Check a batch of a stream; returns table, classes, weights, and whether it is the first batch."""
        first = not hasattr(self, "classes_")
        table, y = validation.check_rows_and_labels(self, X, y, reset=first)
        weight = validation.weights(sample_weight, table)
        self.classes_ = self._stream_classes(y, classes, first)
        return table, y == self.classes_[1], weight, first

    def _begin_raw_partial(
        self, X: RowsLike, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> tuple[Any, np.ndarray, np.ndarray | None, bool]:
        """`_begin_partial` of a batch that may have any columns: the table stays as it came."""
        first = not hasattr(self, "classes_")
        validation.require_every_label(self, y)
        y = validation.labels(_check_y(y, estimator=self))
        X = validation.checked_table(self, X, reset=first)
        check_consistent_length(X, y)
        weight = validation.weights(sample_weight, X)
        self.classes_ = self._stream_classes(y, classes, first)
        return X, y == self.classes_[1], weight, first

    def _stream_classes(self, y: np.ndarray, classes: Any, first: bool) -> np.ndarray:
        """The classes of a stream, which y must not go beyond."""
        known = self._first_classes(y, classes) if first else self.classes_
        if classes is not None and not np.array_equal(np.unique(classes), np.unique(known)):
            raise ValueError(
                f"classes={np.asarray(classes).tolist()} must be the classes {type(self).__name__} "
                f"was started with: {known.tolist()}."
            )
        validation.known_labels(self, y, known)
        return known

    def _first_classes(self, y: np.ndarray, classes: Any) -> np.ndarray:
        """The classes of a stream that begins with a batch."""
        if classes is None and len(np.unique(y)) < 2:
            raise ValueError(
                f"classes must be passed on the first call to {type(self).__name__}.partial_fit "
                "when that batch holds rows of one class only; for instance classes=[0, 1]."
            )
        return validation.two_classes(self, y if classes is None else classes)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


class TableScores:
    """Scores of a fitted estimator: a subclass computes those of a checked table in ``_table_scores``."""

    _fitted_attribute: ClassVar[str] = "coef_"
    """The name of an attribute that `fit` sets."""

    @partwise
    def decision_function(self, X: RowsLike, *, out: OutputFile = None) -> Any:
        """Scores f(x): the higher, the higher a row is ranked.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            With the columns of the training rows; with a precomputed kernel, a column for each training row. Rows of
            files (`auclid.scan`) are answered by blocks. Of a Dask collection the answer is lazy.
        out : path of a ``.npy`` file, optional
            Where to write the scores of rows of files.

        Returns
        -------
        array of shape (n,), of X's floating type
        """
        validation.fitted(self, self._fitted_attribute)
        table = validation.check_rows(self, X)
        with np.errstate(over="ignore", invalid="ignore"):  # said in a sentence
            scores = self._table_scores(table)
        return validation.finite_scores(self, scores, table.dtype)

    @abstractmethod
    def _table_scores(self, table: Table) -> np.ndarray:
        """The score of each row, which may overflow."""


class LinearScores(TableScores):
    """Scores f(x) = coef . x + intercept of a fitted estimator."""

    coef_: np.ndarray
    intercept_: np.ndarray
    max_iter: int

    def _table_scores(self, table: Table) -> np.ndarray:
        return table.matmul(self.coef_[0]) + self.intercept_[0]

    def _set_weights(self, w: np.ndarray, threshold: float) -> Self:
        """Set ``coef_`` and ``intercept_`` from weights that are known to be finite."""
        self.coef_ = w.reshape(1, -1)
        self.intercept_ = validation.finite(self, np.array([-float(threshold)]))
        return self

    def _publish_iterations(self, found: Solution, stacklevel: int) -> np.ndarray:
        """The weights that an iterating solver found; publishes how many iterations it made, and warns of too few."""
        self.n_iter_ = found.n_iter
        if not found.converged and found.n_iter >= self.max_iter:  # else a callback asked to stop
            warnings.warn(
                f"{type(self).__name__} stopped after {found.n_iter} iterations before reaching its tolerance. "
                "Scale the columns of X, or raise max_iter, alpha or tol.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        return found.w

    def _iteration_callback(self, X: Any = None, y: Any = None) -> IterationCallback:
        """What counts a solver's iterations: it shows callbacks the weights so far."""

        def rounds(weights: Callable[[], np.ndarray]) -> Iterable[int]:
            return fit_iterations(self, self.max_iter, lambda: linear_attributes(weights()), X, y)

        return rounds


class LinearRanker(LinearScores, Ranker):
    """A ranker f(x) = coef . x + intercept; the intercept only serves `predict`, it cannot change an AUC."""

    def _publish(self, w: np.ndarray, threshold: float) -> Self:
        """Set ``coef_`` and ``intercept_`` from weights and the score above which a row is called positive."""
        return self._set_weights(validation.finite(self, w), threshold)

    def _publish_fit(self, rows: LabelledDataset, w: np.ndarray) -> Self:
        """Set ``coef_`` and ``intercept_`` from weights and their best threshold on the training rows."""
        validation.finite(self, w)
        return self._set_weights(w, self._best_threshold(rows, w))

    def _best_threshold(self, rows: LabelledDataset, w: np.ndarray) -> float:
        """The threshold that maximises Youden's J on the training scores, which must be finite."""
        threshold = youden_threshold(type(self).__name__, rows, w)
        if threshold.low == threshold.high:
            validation.warn_if_constant_scores(self, rows.table(), np.array([threshold.low]))
        return threshold.value


class StreamRanker(CallbackSupportMixin, LinearRanker):
    """A linear ranker that learns from one row per step, with a solver that its subclass chooses.

    A subclass defines

    - ``_solver()``: the solver of its parameters, for a stream;
    - ``_fit_solver(summary)``: the solver for `fit`, if it depends on the first pass;
    - ``_first_pass(table, is_pos, weight)``: a first pass over all rows of `fit`, if the method makes one;
    - ``_publish_settings(solver, state)``: fitted attributes other than the weights, and warnings.

    A method whose `fit` must do exactly what `partial_fit` does sets ``_causal``: its threshold, too, then comes from
    the rows in the order of the stream.
    """

    _parameter_constraints: dict = {
        "n_epochs": [validation.at_least(1)],
        "shuffle": ["boolean"],
        "random_state": _random.RANDOM_STATE,
    }

    _causal = False

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all rows, ``n_epochs`` times over.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels
        sample_weight : array of shape (n,), optional
            Relative frequencies of the rows in an epoch: a row of weight 2 occurs twice as often as one of weight 1.
            Numbers of occurrences are fixed if the weights are proportional to small integers, else random.

        Returns
        -------
        self
        """
        return self._fit_epochs(X, y, sample_weight)

    def _fit_epochs(self, X: RowsLike, y: Any, sample_weight: Any, groups: Any = None) -> Self:
        """`fit`; of pairs within groups, where they are given."""
        rows = self._labelled_dataset(X, y, sample_weight)
        table, is_pos, weight = rows.labelled_table()
        group = group_codes(type(self).__name__, groups, table.shape[0])
        if group is not None:
            # An error where no group holds both classes.
            order_of(type(self).__name__, is_pos.astype(np.float64), None, group, weight)
        epochs = EpochSampler(table, is_pos, weight)
        rng, summary = _random.generator(self.random_state), self._first_pass(table, is_pos, epochs.count)
        solver = self._solver() if summary is None else self._fit_solver(summary)
        state = solver.init(table.shape[1]) if summary is None else solver.init_fit(summary)
        for number in fit_iterations(self, self.n_epochs, lambda: linear_attributes(*solver.weights(state)), X, y):
            batch = Batch(table, is_pos, epochs.order(rng, self.shuffle), rng, summary, group)
            state = solver.update(batch, state)
            self.n_iter_ = number + 1
        del batch, summary  # frees several numbers per row before the threshold search allocates its own
        w, threshold = self._finite_weights(solver, state)
        if self._causal:
            validation.warn_if_constant_scores(self, table, w)
        else:
            threshold = self._best_threshold(rows, w)
        self._set_weights(w, threshold)
        self._state, self._rng, self._dense = state, rng, not isinstance(table, SparseTable)
        self._publish_settings(solver, state)
        return self

    @validation.checked
    def partial_fit(self, X: RowsLike, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows of a batch, once, in their order.

        A batch may contain one class only; before both were seen, ``coef_`` and all scores are zero. A batch that
        raises an error changes nothing.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.
        sample_weight : array of shape (n,), optional
            The number of times each row is used: 2 is twice in succession, 0.5 is with probability one half. Later
            batches are not known, so divide weights whose mean is far from 1 by their mean.

        Returns
        -------
        self
        """
        table, is_pos, weight, first = self._begin_partial(X, y, classes, sample_weight)
        validation.check_weight_scale(self, weight)
        solver = self._solver()
        if first:
            self._state, self._rng = solver.init(table.shape[1]), _random.generator(self.random_state)
            self._dense, self.n_iter_ = False, 1
        for name, initial in solver.fixed_parameters(self._state).items():
            validation.unchanged(self, name, getattr(self, name), initial)
        # Dense rows are centred and sparse ones are not, so once rows were dense, sparse ones become dense too.
        self._dense = self._dense or not isinstance(table, SparseTable)
        table = to_dense(table) if self._dense else table
        self._rng = copy_state(self._rng)
        if weight is not None:
            repeated = np.repeat(np.arange(table.shape[0]), drawn(weight, self._rng))
            table, is_pos = as_table(table.part(repeated)), is_pos[repeated]
        batch = Batch(table, is_pos, np.arange(table.shape[0]), self._rng)
        state = solver.update(batch, solver.writable(self._state, table))
        self._set_weights(*self._finite_weights(solver, state))
        self._state = state
        self._publish_settings(solver, state)
        return self

    @abstractmethod
    def _solver(self) -> StreamSolver[Any]:
        """The solver of the parameters, for a stream."""

    def _fit_solver(self, summary: FirstPass) -> StreamSolver[Any]:
        """The solver of the parameters for `fit`, which knows the summary of all rows."""
        return self._solver()

    def _fresh_state(self, d: int) -> Any:
        """The state of a stream of d columns before any row."""
        return self._solver().init(d)

    def _finite_weights(self, solver: StreamSolver[Any], state: Any) -> tuple[np.ndarray, float]:
        """Weights and threshold; raises if the weights or the state overflowed. Of d × d matrices the trace tells."""
        with np.errstate(over="ignore", invalid="ignore"):
            w, threshold = solver.weights(state)
        validation.finite(self, w)
        validation.finite_state(self, state, 4 * self.n_features_in_ + 8)
        return w, threshold

    def _first_pass(self, table: Table, is_pos: np.ndarray, weight: np.ndarray | None) -> FirstPass | None:
        """The summary of all rows for `fit`; None by default."""
        return None

    def _publish_settings(self, solver: Any, state: Any) -> None:
        """Set fitted attributes other than the weights; none by default."""


def linear_attributes(w: np.ndarray, threshold: float = 0.0) -> dict[str, np.ndarray]:
    """The fitted attributes of weights and a threshold, for callbacks."""
    return {"coef_": w.reshape(1, -1), "intercept_": np.array([-threshold])}
