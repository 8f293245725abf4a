"""Calibrated: probabilities for any ranker."""

from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _check_y, check_consistent_length, has_fit_parameter

from auclid import _check
from auclid._apart import begin_apart, by_parts, knows_gaps, knows_words, lies_apart
from auclid.auto._trial import standardised
from auclid.base import Ranker
from auclid.baselines import scores
from auclid.columns._table import checked_table, floating, taken
from auclid.data.files import Rows
from auclid.data.mapped import is_label, mapped
from auclid.square import LeastSquaresAUCCV
from auclid.stats.labelled import sampled
from auclid.stats.odds import calibrated, log_odds, probability

FEWEST = 4
"""Rows of the rarer class without which the ranker's own scores must do."""

SAMPLED = 20_000
"""Rows of each class that are held out in turn where rows lie in files or on a cluster: the sigmoid has two numbers."""


class Calibrated(Ranker):
    """Probabilities for any ranker, or pipeline that ends in one: Platt's sigmoid on held-out scores.

    P(y = classes_[1] | x) = 1/(1 + exp(−(a f(x) + b))), a > 0, with a and b fitted to the scores f of rows that the
    ranker had not seen. The order of rows, and so the AUC, is the ranker's.

    Parameters
    ----------
    ranker : estimator with decision_function or predict_proba, or None, default=None
        None: `LeastSquaresAUCCV`.
    cv : int in [2, inf), splitter or list of (train, test), default=5
        Stratified folds that are held out in turn.

    Attributes
    ----------
    ranker_ : estimator
        The ranker, fitted on all rows.
    classes_ : array of shape (2,)
    n_features_in_ : int

    Notes
    -----
    Of rows in files (`auclid.scan`) or in a dask collection the ranker learns from all, and the sigmoid from up to
    20,000 of each class, which count for as many as there are.

    References
    ----------
    Platt, "Probabilistic outputs for support vector machines", 1999.

    Examples
    --------
    >>> from auclid import Calibrated, RankSVM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> model = Calibrated(RankSVM()).fit(X / X.std(axis=0), y)
    >>> chances = model.predict_proba(X / X.std(axis=0))[:, 1]
    >>> bool(abs(chances.mean() - y.mean()) < 0.005)
    True
    """

    _parameter_constraints: dict = {
        "ranker": [BaseEstimator, None],
        "cv": [_check.at_least(2), HasMethods(["split"]), list],
    }

    def __init__(self, ranker: Any = None, *, cv: Any = 5) -> None:
        self.ranker = ranker
        self.cv = cv

    @_check.checked_with_parts
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the ranker on all rows, and the sigmoid to scores of held-out ones.

        Parameters
        ----------
        X : whatever the ranker takes
        y : array of shape (n,), any two labels
        sample_weight : array of shape (n,), optional
            Where the ranker takes one. In a pipeline it also goes to all steps before that take one.

        Returns
        -------
        self
        """
        if lies_apart(X):
            return self._fit_apart(X, y, sample_weight)
        _check.labelled(self, y)
        X = checked_table(self, X, reset=True)
        y = _check.labels(_check_y(y, estimator=self))
        check_consistent_length(X, y)
        weight = _check.check_relative_weights(sample_weight, X)
        self.classes_ = _check.two_classes(self, y)
        is_pos = y == self.classes_[1]
        _check.both_weighed(self, is_pos, weight)
        self.ranker_ = self._fitted(X, is_pos, weight)
        if weight is not None and isinstance(self.cv, Integral):  # what weighs nothing is in no fold
            some = np.flatnonzero(weight)
            X, is_pos, weight = taken(X, some), is_pos[some], weight[some]
        held_out = self._held_out(X, is_pos, weight)
        self._odds = calibrated(held_out, is_pos, weight)
        return self

    def _fit_apart(self, X: Any, y: Any, sample_weight: Any, fitted: Any = None) -> Self:
        """`fit` of rows in files or on a cluster; a sample of each class stands for all rows of it.

        ``fitted``: the ranker, where it has learnt from all rows already, as from a stream.
        """
        rows = begin_apart(self, X, y, sample_weight)
        some, label, weight = sampled(rows, [SAMPLED, SAMPLED])
        some = rows.parts.decode(some)
        is_pos, drawn = label == 1, np.bincount(label, minlength=2)
        share = (rows.counts.sum(axis=0) / drawn)[label]
        if fitted is not None:
            self.ranker_ = fitted
        elif isinstance(X, Rows):
            labelled = mapped(X, labels=partial(is_label, self.classes_[1]))
            self.ranker_ = self._fitted(labelled, None, None)
        else:
            self.ranker_ = self._fitted(X, y == self.classes_[1], sample_weight)
        with _check.names_known():
            held_out = self._held_out(some, is_pos, weight)
        self._odds = calibrated(held_out, is_pos, share if weight is None else share * weight)
        return self

    def _fitted(self, X: Any, is_pos: Any, weight: Any) -> Any:
        ranker = LeastSquaresAUCCV() if self.ranker is None else clone(self.ranker)
        if weight is None:
            return ranker.fit(X, is_pos)
        return ranker.fit(X, is_pos, **dict.fromkeys(_weighed_steps(ranker), weight))

    def _held_out(self, X: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """A score of each row by a ranker that has not seen it, on the scale of the one that has seen all."""
        whole = np.asarray(scores(self.ranker_, X), dtype=np.float64)
        rarest = int(min(is_pos.sum(), (~is_pos).sum()))
        if rarest < FEWEST:
            return whole
        _, middle, spread = standardised(whole, weight)
        out = np.empty(len(is_pos))
        few = isinstance(self.cv, Integral)
        folds = StratifiedKFold(min(self.cv, rarest // 2), shuffle=True, random_state=0) if few else check_cv(self.cv)
        for train, test in folds.split(is_pos, is_pos):
            own = None if weight is None else weight[train]
            if own is not None and not (own[is_pos[train]].any() and own[~is_pos[train]].any()):
                return whole
            said = np.asarray(scores(self._fitted(taken(X, train), is_pos[train], own), taken(X, test)))
            mass = None if weight is None or not weight[test].any() else weight[test]
            out[test] = middle + spread * standardised(said.astype(np.float64), mass)[0]
        return out

    _takes_tables = False

    @property
    def _knows_gaps(self) -> bool:
        return knows_gaps(_entrance(self.ranker))

    @property
    def _knows_words(self) -> bool:
        return knows_words(_entrance(self.ranker))

    @by_parts
    def decision_function(self, X: Any) -> np.ndarray:
        """The ranker's scores as calibrated log-odds: the higher, the more likely ``classes_[1]``.

        Parameters
        ----------
        X : whatever the ranker takes

        Returns
        -------
        array of shape (n,), of X's floating type
        """
        _check.fitted(self, "ranker_")
        X = checked_table(self, X, reset=False)
        said = np.asarray(scores(self.ranker_, X), dtype=np.float64)
        return _check.finite_scores(self, log_odds(self._odds, said), floating(X))

    @by_parts
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of both classes, in the order of `decision_function`.

        Parameters
        ----------
        X : whatever the ranker takes

        Returns
        -------
        array of shape (n, 2)
        """
        positive = probability(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = LeastSquaresAUCCV() if self.ranker is None else self.ranker
        tags.input_tags = inner.__sklearn_tags__().input_tags
        return tags


def _weighed_steps(model: Any, needed: bool = True) -> list[str]:
    """The keywords by which weights reach a ranker, which needs them, and all steps before it that take some: as those
    of files do, which are with their rows."""
    if not hasattr(model, "steps"):
        takes = needed or (hasattr(model, "fit") and has_fit_parameter(model, "sample_weight"))
        return ["sample_weight"] * takes
    last = len(model.steps) - 1
    inner = [(name, _weighed_steps(step, needed and k == last)) for k, (name, step) in enumerate(model.steps)]
    return [f"{name}__{word}" for name, found in inner for word in found]


def _entrance(ranker: Any) -> Any:
    """What meets the rows first: the ranker, or the first step of a pipeline."""
    return _entrance(ranker.steps[0][1]) if hasattr(ranker, "steps") else ranker
