"""AUCClassifier: the front door, for someone who does not want to choose."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler
from sklearn.utils.validation import validate_data

from auclid import _check, _random
from auclid.base import Ranker
from auclid.maps import Kernelized, KMeansNystroem
from auclid.metrics import auc_interval
from auclid.metrics._auc import auc_from_parts
from auclid.metrics._operating_point import best_threshold
from auclid.pairwise import RankSVM
from auclid.registry import find
from auclid.square import LeastSquaresAUC, LeastSquaresAUCCV

FEW = 10
"""Rows of a class below which nothing is compared: no comparison could be trusted."""

SEARCHED = 50_000
"""Rows at the most on which candidates are compared; the chosen ones are then fitted on all."""

REACH = 16.0
"""Log-odds stay below this, so that no two scores meet in the same probability."""


class Entry(NamedTuple):
    """One line of the leaderboard."""

    name: str
    auc: float
    low: float
    high: float
    fit_seconds: float
    weight: float
    note: str


class AUCClassifier(Ranker):
    """The front door: scales, chooses, tunes and blends by cross-validated AUC, and calibrates.

    Candidates are linear AUC rankers, a kernel ranker, logistic regression and boosted trees, as the table's shape
    allows. They are compared by the AUC of held-out folds. A blend with non-negative weights, itself found by
    maximising AUC on held-out scores, replaces the best of them only where cross-validation says that it is better.

    Parameters
    ----------
    budget : float in (0, inf) or None, default=None
        Seconds for comparing candidates. None: all candidates the shape of the data suggests, so the same seed gives
        the same model. With a budget they run in a fixed order, those left out stand in ``leaderboard_``, and the
        result may vary from run to run.
    methods : "auto" or list of str, default="auto"
        Names of candidates: any that `auclid.algorithms` lists, "logistic" and "boosting".
    cv : int in [2, inf), default=5
        Stratified folds; they are repeated where positives are few.
    n_jobs : int or None, default=None
        Processes for fitting folds, as in joblib.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    best_ : str
        The name of the model in use, or "blend".
    leaderboard_ : list of records
        ``name``, ``auc`` (mean over held-out folds), ``low`` and ``high`` (DeLong interval of the pooled held-out
        scores), ``fit_seconds``, ``weight`` in the model in use, and a ``note``; the best first.
    members_ : list of (weight, middle, spread, estimator)
        What the score is made of, fitted on all rows; a member's score counts as weight·(score − middle)/spread.
    threshold_ : float
        The value of `decision_function` above which Youden's J is largest on held-out rows.
    classes_ : array of shape (2,)
    n_features_in_ : int

    Notes
    -----
    Missing values are replaced by medians (boosted trees see them as they are). With fewer than 10 rows in a class
    there is no search: one strongly regularised linear ranker is fitted, with a warning. `predict_proba` is calibrated
    on held-out rows and puts rows in the order of `decision_function`; `predict` cuts at probability one half, which
    finds few positives where they are rare: ``decision_function(X) > threshold_`` finds more.

    References
    ----------
    Gao, Jin, Zhu & Zhou, "One-pass AUC optimization", ICML 2013 (the square loss that finds the blend).

    Examples
    --------
    >>> from auclid.auto import AUCClassifier
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> model = AUCClassifier(methods=["LeastSquaresAUC", "logistic"], random_state=0).fit(X, y)
    >>> sorted(entry.name for entry in model.leaderboard_ if entry.auc > 0.9)
    ['LeastSquaresAUC', 'logistic']
    """

    _parameter_constraints: dict = {
        "budget": [_check.real(closed="neither"), None],
        "methods": [list, tuple, str],
        "cv": [_check.at_least(2)],
        "n_jobs": [int, None],
        "random_state": _random.RANDOM_STATE,
    }

    def __init__(self, budget=None, *, methods="auto", cv=5, n_jobs=None, random_state=None):
        self.budget = budget
        self.methods = methods
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_check.checked
    def fit(self, X, y):
        """Compare, choose, blend, calibrate; then fit what was chosen on all rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Raw numeric columns; NaN is allowed in a dense one.
        y : array of shape (n,), any two labels

        Returns
        -------
        self
        """
        _check.labelled(self, y)
        X, y = validate_data(self, X, y, **_ROWS)
        y = _check.labels(y)
        self.classes_ = _check.two_classes(self, y)
        is_pos = y == self.classes_[1]
        seed = int(_random.generator(self.random_state).integers(2**31))
        rarest = int(min(is_pos.sum(), (~is_pos).sum()))
        if rarest < FEW:
            return self._fit_few(X, is_pos, rarest)
        rows, label = _searched(X, is_pos, seed)
        named = candidates(self.methods, rows, int(min(label.sum(), (~label).sum())), seed)
        folds = list(_folds(self.cv, label, seed).split(label, label))
        trials, dropped = self._try(named, rows, label, folds)
        names, weights, held_out = choose(trials, label, folds)
        self._calibrate(held_out, np.concatenate([label[test] for _, test in folds]))
        self._refit(X, is_pos, dict(named), trials, dict(zip(names, weights, strict=True)))
        self.best_ = names[0] if len(names) == 1 else "blend"
        self.leaderboard_ = leaderboard(trials, label, folds, dict(zip(names, weights, strict=True))) + dropped
        return self

    def _fit_few(self, X, is_pos, rarest):
        warnings.warn(
            f"AUCClassifier must see at least {FEW} rows of each class to compare models; got {rarest}. "
            "It fits one strongly regularised linear ranker instead.",
            UserWarning,
            stacklevel=3,
        )
        model = _scaled(LeastSquaresAUC(alpha=1.0), X).fit(X, is_pos)
        scores = model.decision_function(X)
        self.members_ = [(1.0, 0.0, 1.0, model)]
        self._calibrate(scores, is_pos)
        self.best_ = "LeastSquaresAUC"
        self.leaderboard_ = [Entry(self.best_, np.nan, np.nan, np.nan, np.nan, 1.0, "too few rows to compare")]
        return self

    def _try(self, named, X, label, folds):
        """Held-out scores of each candidate, while the budget lasts."""
        trials, dropped, start = {}, [], time.perf_counter()
        with Parallel(n_jobs=self.n_jobs) as parallel:
            for name, model in named:
                if trials and self.budget is not None and time.perf_counter() - start > self.budget:
                    dropped.append(Entry(name, np.nan, np.nan, np.nan, np.nan, 0.0, "dropped: the budget was spent"))
                    continue
                trials[name] = parallel(delayed(held_out_scores)(model, X, label, *fold) for fold in folds)
        return trials, dropped

    def _refit(self, X, is_pos, models, trials, weights):
        self.members_ = []
        for name, weight in weights.items():
            middle = float(np.mean([part.middle for part in trials[name]]))
            spread = float(np.mean([part.spread for part in trials[name]]))
            self.members_.append((float(weight), middle, spread, clone(models[name]).fit(X, is_pos)))

    def _calibrate(self, scores, label):
        """Platt's sigmoid on held-out scores, its slope kept positive; and where Youden would cut its log-odds."""
        spread = scores.std() or 1.0
        fitted = LogisticRegression(C=1e3).fit(scores[:, None] / spread, label)
        self._slope = max(float(fitted.coef_[0, 0]), 1e-3) / spread
        self._offset = float(fitted.intercept_[0])
        self.threshold_ = float(best_threshold(label, self._slope * scores + self._offset))

    def decision_function(self, X):
        """Calibrated log-odds of ``classes_[1]``: the higher, the more likely.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        _check.fitted(self, "members_")
        X = validate_data(self, X, reset=False, **_ROWS)
        total = np.zeros(X.shape[0])
        for weight, middle, spread, model in self.members_:
            total += weight * (np.asarray(model.decision_function(X), dtype=np.float64) - middle) / spread
        return (self._slope * total + self._offset).astype(X.dtype, copy=False)

    def predict_proba(self, X):
        """Calibrated probabilities of both classes, in the order of `decision_function`.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n, 2)
        """
        _check.fitted(self, "members_")
        odds = self.decision_function(X).astype(np.float64)
        positive = expit(REACH * odds / (REACH + np.abs(odds)))
        return np.column_stack([1.0 - positive, positive])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


_ROWS = {"accept_sparse": "csr", "dtype": _check.DTYPES, "ensure_all_finite": "allow-nan"}


def candidates(methods, X, rarest, seed):
    """(name, model) of what is worth trying on such rows, the simplest first."""
    if methods == "auto":
        wide, dense = X.shape[1] > 2000, not sparse.issparse(X)
        chosen = ["LeastSquaresAUC", "RankSVM", "logistic"]
        chosen += [] if wide else ["kernel"]
        chosen += ["boosting"] if dense and not wide else []
    else:
        chosen = [methods] if isinstance(methods, str) else list(methods)
    return [(name, _candidate(name, X, rarest, seed)) for name in chosen]


def _candidate(name, X, rarest, seed):
    if name == "boosting":
        leaf = int(np.clip(rarest // 4, 2, 20))
        return HistGradientBoostingClassifier(min_samples_leaf=leaf, early_stopping=False, random_state=seed)
    if name == "logistic":
        return _scaled(LogisticRegression(max_iter=300), X)
    if name == "kernel":
        landmarks = int(min(400, max(20, X.shape[0] // 4)))
        return _scaled(Kernelized(KMeansNystroem(landmarks, random_state=seed), LeastSquaresAUCCV()), X)
    if name == "LeastSquaresAUC" and X.shape[1] <= 1000:
        return _scaled(LeastSquaresAUCCV(), X)
    model = RankSVM(alpha=1e-2) if name == "RankSVM" else find(name).build()
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return _scaled(model, X)


def _scaled(model, X):
    """The model behind what makes raw columns comparable."""
    if sparse.issparse(X):
        return make_pipeline(MaxAbsScaler(), model)
    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler(), FunctionTransformer(_clip), model
    )


def _clip(Z):
    """Ten standard deviations are far enough: one wild value must not outweigh a thousand rows."""
    return np.clip(Z, -10.0, 10.0)


class Part(NamedTuple):
    """Standardised scores of one held-out fold, how they were standardised, and what the fit cost."""

    scores: np.ndarray
    middle: float
    spread: float
    seconds: float


def held_out_scores(model, X, label, train, test):
    """Fit on one part, score the other."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(X[train], label[train])
    seconds = time.perf_counter() - start
    scores = np.asarray(fitted.decision_function(X[test]), dtype=np.float64)
    middle, spread = float(scores.mean()), float(scores.std()) or 1.0
    return Part((scores - middle) / spread, middle, spread, seconds)


def choose(trials, label, folds):
    """Names and weights of the model to use, and its held-out scores: a blend where it wins, else the best."""
    names = list(trials)
    parts = [np.column_stack([trials[name][k].scores for name in names]) for k in range(len(folds))]
    labels = [label[test] for _, test in folds]
    single = np.array([[auc_from_parts(y, s) for s in part.T] for part, y in zip(parts, labels, strict=True)])
    best = int(single.mean(axis=0).argmax())
    if len(names) > 1:
        blended = [_blend(parts, labels, without=k) for k in range(len(folds))]
        scores = [part @ w for part, w in zip(parts, blended, strict=True)]
        gains = np.array([auc_from_parts(y, s) for s, y in zip(scores, labels, strict=True)]) - single[:, best]
        if gains.mean() > gains.std() / np.sqrt(len(gains)) * 0.5:
            w = _blend(parts, labels)
            kept = np.flatnonzero(w > 0.02 * w.sum())
            held = np.concatenate([part[:, kept] @ w[kept] for part in parts])
            return [names[k] for k in kept], w[kept], held
    return [names[best]], np.ones(1), np.concatenate([part[:, best] for part in parts])


def _blend(parts, labels, without=None):
    """Non-negative weights that maximise AUC on held-out scores, folds other than ``without``."""
    chosen = [k for k in range(len(parts)) if k != without]
    X, y = np.concatenate([parts[k] for k in chosen]), np.concatenate([labels[k] for k in chosen])
    w = LeastSquaresAUC(alpha=0.1, positive=True).fit(X, y).coef_[0]
    return w / w.sum() if w.sum() > 0.0 else np.full(len(w), 1.0 / len(w))


def leaderboard(trials, label, folds, weights):
    """A line a candidate, the best first."""
    order = np.concatenate([test for _, test in folds])
    lines = []
    for name, parts in trials.items():
        aucs = [auc_from_parts(label[test], part.scores) for part, (_, test) in zip(parts, folds, strict=True)]
        pooled = np.bincount(order, np.concatenate([part.scores for part in parts]), minlength=len(label))
        interval = auc_interval(label, pooled)
        auc, seconds = float(np.mean(aucs)), float(np.mean([part.seconds for part in parts]))
        lines.append(Entry(name, auc, interval.low, interval.high, seconds, weights.get(name, 0.0), ""))
    return sorted(lines, key=lambda line: -line.auc)


def _searched(X, is_pos, seed):
    """All rows, or a stratified part of very many."""
    if X.shape[0] <= SEARCHED:
        return X, is_pos
    kept, _ = train_test_split(np.arange(X.shape[0]), train_size=SEARCHED, random_state=seed, stratify=is_pos)
    return X[kept], is_pos[kept]


def _folds(cv, label, seed):
    """Stratified folds; repeated where positives are few."""
    rarest = int(min(label.sum(), (~label).sum()))
    repeats = 1 if rarest >= 100 else 2 if rarest >= 30 else 3
    return RepeatedStratifiedKFold(n_splits=min(cv, rarest), n_repeats=repeats, random_state=seed)
