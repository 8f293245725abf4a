"""The ranker base classes: all of scikit-learn's demands, once.

`Ranker` knows labels, `predict` and `score`. `LinearRanker` adds ``coef_``, ``intercept_`` and
`decision_function`. `StreamRanker` owns the loop of every method that learns a row (or a pair) a step.
"""

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from auclid import _check, _random
from auclid._progress import CallbackSupportMixin, steps
from auclid.metrics._auc import checked_auc
from auclid.metrics._operating_point import best_threshold
from auclid.rows import alike


class Ranker(ClassifierMixin, BaseEstimator):
    """A binary classifier whose `decision_function` ranks: higher means more likely ``classes_[1]``."""

    _parameter_constraints: dict = {}

    def predict(self, X):
        """The class of each row: ``classes_[1]`` where `decision_function` is positive.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(np.intp)]

    def score(self, X, y, sample_weight=None):
        """The area under the ROC curve of `decision_function` on (X, y): not the accuracy.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float
        """
        scores = self.decision_function(X)
        return checked_auc(f"{type(self).__name__}.score", y, scores, sample_weight, self.classes_[1])

    def _begin_fit(self, X, y, sample_weight=None):
        """Check everything before anything changes; returns the table, which rows are positive, and their weights."""
        table, y = _check.rows_and_labels(self, X, y, reset=True)
        weight = _check.weights(sample_weight, table)
        classes = _check.two_classes(self, y)
        is_pos = y == classes[1]
        _check.both_weighed(self, is_pos, weight)
        self.classes_ = classes
        return table, is_pos, _check.tamed(weight)

    def _begin_partial(self, X, y, classes=None, sample_weight=None):
        """The same for a batch of a stream; also says whether it is the first."""
        first = not hasattr(self, "classes_")
        table, y = _check.rows_and_labels(self, X, y, reset=first)
        weight = _check.weights(sample_weight, table)
        known = self._stream_classes(y, classes, first)
        _check.known_labels(self, y, known)
        self.classes_ = known
        return table, y == known[1], weight, first

    def _stream_classes(self, y, classes, first):
        if not first:
            if classes is not None and not np.array_equal(np.unique(classes), np.unique(self.classes_)):
                raise ValueError(
                    f"classes={np.asarray(classes).tolist()} must be the classes {type(self).__name__} "
                    f"was started with: {self.classes_.tolist()}."
                )
            return self.classes_
        if classes is None and len(np.unique(y)) < 2:
            raise ValueError(
                f"classes must be passed on the first call to {type(self).__name__}.partial_fit "
                "when that batch holds rows of one class only; for instance classes=[0, 1]."
            )
        return _check.two_classes(self, y if classes is None else classes)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


class LinearRanker(Ranker):
    """A ranker f(x) = coef . x + intercept; the intercept only serves `predict`, it cannot change an AUC."""

    def decision_function(self, X):
        """Scores f(x): the higher, the more likely ``classes_[1]``.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n,), of X's floating type
        """
        _check.fitted(self, "coef_")
        table = _check.rows(self, X)
        with np.errstate(over="ignore", invalid="ignore"):  # said in a sentence
            scores = table.matmul(self.coef_[0]) + self.intercept_[0]
        return _check.finite_scores(self, scores, table.dtype)

    def _publish(self, w, threshold):
        """Set ``coef_`` and ``intercept_`` from weights and the score above which a row is called positive."""
        self.coef_ = _check.finite(self, w).reshape(1, -1)
        self.intercept_ = _check.finite(self, np.array([-float(threshold)]))
        return self

    def _publish_fit(self, table, is_pos, w, weight=None):
        """`_publish` with the threshold that maximises Youden's J on the training scores."""
        _check.finite(self, w)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = _check.finite_scores(self, table.matmul(w), np.float64)
        _check.told_apart(self, table, scores)
        return self._publish(w, best_threshold(is_pos, scores, weight))


class StreamRanker(CallbackSupportMixin, LinearRanker):
    """A linear ranker that learns from one row a step; subclasses say how.

    A subclass gives

    - ``_survey(table, is_pos)``: what `fit` finds out in a first look at all rows (nothing, by default);
    - ``_open(d, survey)``: the state before any step, a struct of arrays and floats (``survey`` is None in a stream);
    - ``_learn(table, is_pos, order, state, survey)``: the state after one step for each row of ``order``;
    - ``_answer(state)``: weights, and the score above which a row is called positive.

    `_learn` may draw from ``self._rng``, a row at a time in the order of the rows. State is plain data, so a
    copy of it is a checkpoint. A method whose `fit` must be the very stream of `partial_fit` sets ``_causal``:
    its threshold too then comes from rows as they passed.
    """

    _parameter_constraints: dict = {
        "n_epochs": [_check.at_least(1)],
        "shuffle": ["boolean"],
        "random_state": _random.RANDOM_STATE,
    }

    _causal = False

    @_check.checked
    def fit(self, X, y):
        """Learn from all rows, ``n_epochs`` times over.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels

        Returns
        -------
        self
        """
        table, is_pos, _ = self._begin_fit(X, y)
        table, self._filled = alike(table, filled=False)
        rng = _random.generator(self.random_state)
        survey = self._survey(table, is_pos)
        state, self._rng = self._open(table.shape[1], survey), rng
        for number in steps(self, self.n_epochs, lambda: self._look(state), X, y):
            state = self._epoch(table, is_pos, state, survey)
            self.n_iter_ = number + 1
        self._state = state
        del survey  # it may hold several numbers a row, and finding the threshold wants some too
        w, threshold = self._finite_answer(state)
        if self._causal:
            _check.told_apart(self, table, w)
            self._publish(w, threshold)
        else:
            self._publish_fit(table, is_pos, w)
        self._settle(state)
        return self

    @_check.checked
    def partial_fit(self, X, y, classes=None):
        """Learn from the rows of a batch, once, in their order.

        A batch may hold one class only; until both were seen, ``coef_`` and all scores are zero.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.

        Returns
        -------
        self
        """
        table, is_pos, _, first = self._begin_partial(X, y, classes)
        table, self._filled = alike(table, filled=not first and self._filled)
        if first:
            self._state, self._rng = self._open(table.shape[1], None), _random.generator(self.random_state)
            self.n_iter_ = 1
        self._rng = deepcopy(self._rng)  # a batch that fails has drawn nothing
        state = self._learn(table, is_pos, np.arange(table.shape[0]), _copy(self._state), None)
        self._publish(*self._finite_answer(state))
        self._state = state
        self._settle(state)
        return self

    def _survey(self, table, is_pos):
        """Nothing, unless a method wants to look at all rows first."""

    def _epoch(self, table, is_pos, state, survey):
        """The state after one epoch of `fit`: a step for each row, unless a method draws its own."""
        order = _random.epoch(self._rng, table.shape[0], self.shuffle)
        return self._learn(table, is_pos, order, state, survey)

    def _finite_answer(self, state: Any) -> tuple[np.ndarray, float]:
        """`_answer`, unless the state overflowed. What is as large as d × d is not looked at: its trace is."""
        _check.finite_state(self, state, 4 * self.n_features_in_ + 8)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._answer(state)

    def _settle(self, state):
        """Nothing, unless a method has attributes beside its weights, or something to say at the end."""

    def _look(self, state):
        """The fitted attributes as they would be now, for callbacks."""
        w, threshold = self._answer(state)
        return {"coef_": w.reshape(1, -1), "intercept_": np.array([-threshold])}


def _copy(state):
    """The state with arrays of its own, so that a batch that fails changes nothing."""
    if isinstance(state, tuple):
        return state._make(_copy(x) for x in state)
    return state.copy() if isinstance(state, np.ndarray) else state
