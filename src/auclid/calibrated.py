"""Calibrated: probabilities for any ranker."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from auclid import _sizes, validation
from auclid.base import Ranker
from auclid.baselines import scores
from auclid.data.types import OutputFile, RowsLike
from auclid.errors import InvalidValueError
from auclid.square import LeastSquaresAUC, LeastSquaresAUCCV
from auclid.stats.labelled import BoundedSample, LabelledDataset, balanced_sample
from auclid.stats.odds import (
    Odds,
    ScoreWindow,
    class_masses,
    fit_sigmoid,
    log_odds,
    prior_log_odds,
    probability,
    standardize,
)
from auclid.stats.weights import normalize_weights
from auclid.streams import learn_batch, learns_from_streams, score_unit
from auclid.validation import RowAccess, binary_source, checked_table, floating, partwise, take_rows


def _ranker_learns_from_streams(model: "Calibrated") -> bool:
    return model.ranker is None or learns_from_streams(model.ranker)


class Calibrated(Ranker):
    """Probabilities for any ranker, or pipeline that ends in one: Platt's sigmoid on held-out scores.

    P(y = classes_[1] | x) = 1/(1 + exp(−(a f(x) + b))), a > 0, with a and b fitted to the scores f of rows that the
    ranker had not seen. The order of rows, and so the AUC, is the ranker's.

    Parameters
    ----------
    ranker : estimator with decision_function or predict_proba, or None, default=None
        None: `LeastSquaresAUCCV`, and `LeastSquaresAUC` of a stream.
    cv : int in [2, inf), splitter or list of (train, test), default=5
        Stratified folds that are held out in turn.

    Attributes
    ----------
    ranker_ : estimator
        The ranker, fitted on all rows.
    threshold_ : float
        The log-odds above which `predict` answers ``classes_[1]``: those of the share of positives, where Youden's J is
        largest if the probabilities are right, or what `set_threshold` has chosen.
    classes_ : array of shape (2,)
    n_features_in_ : int

    Notes
    -----
    Of rows in files (`auclid.scan`) or in a dask collection the ranker learns from all. The sigmoid comes from all as
    well, or from 20,000 rows of a class that has more, drawn at random, which count for as many as there are.

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
    >>> print(f"mean probability {chances.mean():.2f}, share of positives {y.mean():.2f}")
    mean probability 0.02, share of positives 0.02
    """

    _parameter_constraints: dict = {
        "ranker": [BaseEstimator, None],
        "cv": [validation.at_least(2), HasMethods(["split"]), list],
    }

    _row_access = RowAccess.PARTS

    ranker_: Any
    _odds: Odds
    _window: ScoreWindow | None

    def __init__(self, ranker: Any = None, *, cv: Any = 5) -> None:
        self.ranker = ranker
        self.cv = cv

    @validation.checked_with_parts
    def fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> Self:
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
        rows = validation.labelled_dataset(self, X, y, sample_weight, raw=True)
        return self._fit_sigmoid(self._fit_ranker(*binary_source(rows, X, y, sample_weight)), rows)

    @available_if(_ranker_learns_from_streams)
    @validation.checked_with_parts
    def partial_fit(self, X: RowsLike, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of a stream: the ranker by its own `partial_fit`, the sigmoid from scores given before.

        Each row is scored before the ranker learns from it, but for the first batch. The sigmoid is that of the latest
        1,000 scores of each class. In a pipeline, steps before the ranker that have a `partial_fit` (`Columns`,
        scikit-learn's scalers) learn from the batch as well; others are fitted to the first batch. Before a ranker that
        adds up moments, which has a method `merge`, all of them stay as the first batch, or `fit`, left them.

        Parameters
        ----------
        X : whatever the ranker takes
        y : array of shape (n,)
        classes : the two labels, optional
            Needed on the first call unless that batch holds both.
        sample_weight : array of shape (n,), optional
            As in the ranker's `partial_fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.pipeline import make_pipeline
        >>> from auclid import SPAM, Calibrated, Columns
        >>> rng = np.random.default_rng(0)
        >>> model = Calibrated(make_pipeline(Columns(), SPAM(random_state=0)))
        >>> for _ in range(20):
        ...     y = rng.random(100) < 0.2
        ...     X = rng.standard_normal((100, 3)) + y[:, None]
        ...     model = model.partial_fit(X, y, classes=[False, True])
        >>> print(f"mean probability {model.predict_proba(X)[:, 1].mean():.1f}")
        mean probability 0.2
        """
        X, is_pos, weight, first = self._begin_raw_partial(X, y, classes, sample_weight)
        ranker = self._new_ranker() if first else self.ranker_
        before = ScoreWindow.empty() if first or self._window is None else self._window
        follows = first or self.threshold_ == before.threshold
        with validation.names_known():
            unit, scored = score_unit(ranker), None if first else scores(ranker, X)
            odds = Odds() if first else self._odds._replace(slope=self._odds.slope * unit)
            ranker = learn_batch(ranker, X, is_pos, weight)
            if scored is None:
                unit, scored = score_unit(ranker), scores(ranker, X)
        window = before.plus(np.asarray(scored, dtype=np.float64) / unit, is_pos, weight)
        if window.due or window.has_both > before.has_both:  # or both classes are there for the first time
            odds, window = window.odds(), window._replace(unused=0)
        self._odds = odds._replace(slope=odds.slope / score_unit(ranker))
        if follows:
            self.threshold_ = window.threshold
        self.ranker_, self._window = ranker, window
        return self

    def _new_ranker(self) -> Any:
        """A ranker for a stream, before any row."""
        return LeastSquaresAUC() if self.ranker is None else clone(self.ranker)

    def _fit_around(self, ranker: Any, rows: Any) -> Self:
        """`fit` of the sigmoid alone, around a ranker that has learnt from all labelled rows already, as a stream."""
        return self._fit_sigmoid(ranker, validation.labelled_dataset(self, rows, raw=True))

    def _fit_ranker(self, X: Any, is_pos: Any, weight: Any) -> Any:
        ranker = LeastSquaresAUCCV() if self.ranker is None else clone(self.ranker)
        if weight is None:
            return ranker.fit(X, is_pos)
        return ranker.fit(X, is_pos, **dict.fromkeys(_weighted_steps(ranker), weight))

    def _fit_sigmoid(self, ranker: Any, rows: LabelledDataset) -> Self:
        """Fit the sigmoid to held-out scores of the rows, or of a sample of each class."""
        self.ranker_ = ranker
        sample = self._sample(rows)
        X, is_pos, weight = rows.parts.decode(sample.X), sample.labels == 1, sample.weight
        share = None
        if not sample.complete:
            share = (rows.counts.sum(axis=0) / np.bincount(sample.labels, minlength=2))[sample.labels]
        with validation.names_known():
            held_out = self._held_out_scores(X, is_pos, weight)
        mass = normalize_weights(weight)
        mass = share if mass is None else mass if share is None else share * mass
        judged = ~np.isnan(held_out)  # a splitter may hold out some rows only
        held_out, is_pos, mass = held_out[judged], is_pos[judged], None if mass is None else mass[judged]
        self._odds, masses = fit_sigmoid(held_out, is_pos, mass), class_masses(is_pos, mass)
        self.threshold_ = prior_log_odds(masses)
        self._window = None
        if learns_from_streams(ranker):
            self._window = ScoreWindow.empty().plus(held_out / score_unit(ranker), is_pos, mass)._replace(unused=0)
        return self

    def _sample(self, rows: LabelledDataset) -> BoundedSample:
        """The rows whose held-out scores the sigmoid is fitted to, without those of weight zero unless ``cv`` counts
        them."""
        sample = balanced_sample(rows, _sizes.CALIBRATION_CLASS_ROWS if rows.partitioned else None)
        if isinstance(self.cv, list) and not sample.complete:
            expected = "be a number or a splitter where rows are sampled"
            raise InvalidValueError(owner=self, parameter="cv", expected=expected, got="a list of folds")
        if sample.weight is None or not isinstance(self.cv, Integral):
            return sample
        some = np.flatnonzero(sample.weight)
        return sample._replace(X=take_rows(sample.X, some), labels=sample.labels[some], weight=sample.weight[some])

    def _held_out_scores(self, X: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """A score of each row by a ranker that has not seen it, on the scale of the one that has seen all."""
        whole = np.asarray(scores(self.ranker_, X), dtype=np.float64)
        rarest = int(min(is_pos.sum(), (~is_pos).sum()))
        if rarest < _sizes.MIN_ROWS_TO_CALIBRATE:
            return whole
        _, middle, spread = standardize(whole, weight)
        out = np.full(len(is_pos), np.nan)
        for train, test in self._splitter(rarest).split(is_pos, is_pos):
            own = None if weight is None else weight[train]
            if own is not None and not (own[is_pos[train]].any() and own[~is_pos[train]].any()):
                return whole
            model = self._fit_ranker(take_rows(X, train), is_pos[train], own)
            fold_scores = np.asarray(scores(model, take_rows(X, test)), dtype=np.float64)
            mass = None if weight is None or not weight[test].any() else weight[test]
            out[test] = middle + spread * standardize(fold_scores, mass)[0]
        held = ~np.isnan(out)
        return out if is_pos[held].any() and not is_pos[held].all() else whole

    def _splitter(self, rarest: int) -> Any:
        if not isinstance(self.cv, Integral):
            return check_cv(self.cv)
        return StratifiedKFold(min(int(self.cv), rarest // 2), shuffle=True, random_state=0)

    @partwise
    def decision_function(self, X: RowsLike, *, out: OutputFile = None) -> np.ndarray:
        """The ranker's scores as calibrated log-odds: the higher, the more likely ``classes_[1]``.

        Parameters
        ----------
        X : whatever the ranker takes

        Returns
        -------
        array of shape (n,), of X's floating type
        """
        validation.fitted(self, "ranker_")
        X = checked_table(self, X, reset=False)
        plain = np.asarray(scores(self.ranker_, X), dtype=np.float64)
        return validation.finite_scores(self, log_odds(self._odds, plain), floating(X))

    @partwise
    def predict_proba(self, X: RowsLike, *, out: OutputFile = None) -> np.ndarray:
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = LeastSquaresAUCCV() if self.ranker is None else self.ranker
        tags.input_tags = get_tags(_first_step(inner)).input_tags
        return tags


def _weighted_steps(model: Any, needed: bool = True) -> list[str]:
    """The keywords by which weights reach a ranker, which needs them, and all steps before it that take some.

    Weights of rows in files reach the same steps: they are with their rows.
    """
    if not hasattr(model, "steps"):
        takes = needed or (hasattr(model, "fit") and has_fit_parameter(model, "sample_weight"))
        return ["sample_weight"] * takes
    last = len(model.steps) - 1
    inner = [(name, _weighted_steps(step, needed and k == last)) for k, (name, step) in enumerate(model.steps)]
    return [f"{name}__{keyword}" for name, keywords in inner for keyword in keywords]


def _first_step(ranker: Any) -> Any:
    """What meets the rows first: the ranker, or the first step of a pipeline that does something."""
    if not hasattr(ranker, "steps"):
        return ranker
    steps = [step for _, step in ranker.steps if step is not None and not isinstance(step, str)]
    return _first_step(steps[0]) if steps else ranker
