"""AUCClassifier: compare, choose, blend, calibrate, refit."""

import time
import warnings
from numbers import Integral

import numpy as np
from joblib import Parallel
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import validate_data

from auclid import _check, _random
from auclid._progress import CallbackSupportMixin, steps
from auclid.auto._candidates import Candidate, named
from auclid.auto._columns import has_missing, learnt, scaled
from auclid.auto._leaderboard import FILLED, untried
from auclid.auto._odds import log_odds, probability
from auclid.auto._search import Member, Search, placed, total
from auclid.auto._trial import fitted
from auclid.base import Ranker
from auclid.square import LeastSquaresAUC

FEW = 10
"""Rows of a class below which nothing is compared: no comparison could be trusted."""


class AUCClassifier(CallbackSupportMixin, Ranker):
    """The front door: scales, chooses, tunes and blends by cross-validated AUC, and calibrates.

    Candidates are linear AUC rankers, logistic regression, a kernel ranker and boosted trees, as the table's shape
    allows, and are compared by their AUC on held-out folds. The best one is used, or a simpler one that it is not ahead
    of by more than a standard error, or a blend

        f(x) = Σₘ wₘ fₘ(x),  wₘ ≥ 0,

    whose weights maximise AUC on held-out scores, where cross-validation says that it is ahead of that one by more than
    a standard error.

    Parameters
    ----------
    budget : float in (0, inf) or None, default=None
        Seconds for comparing candidates. None: all candidates that the shape of the data suggests, so the same seed
        gives the same model. With a budget they run in a fixed order; one that was begun is finished, those left out
        stand in ``leaderboard_``, and the result may vary from run to run.
    methods : "auto", str or list of str, default="auto"
        Candidates, in the order in which they run: names that `auclid.algorithms` lists, "logistic" (scikit-learn's
        LogisticRegression), "kernel" (k-means Nyström features with `LeastSquaresAUCCV`) and "boosting" (scikit-learn's
        HistGradientBoostingClassifier). "auto": LeastSquaresAUC, logistic and RankSVM; up to 2,000 columns kernel and
        boosting too, the latter up to 500 where X is sparse or has more columns than rows.
    cv : int in [2, inf), default=5
        Stratified folds; repeated twice below 100 rows of the rarer class, three times below 30.
    n_jobs : int or None, default=None
        Folds that are fitted at a time, each in a process of its own, as in joblib. It does not change the model.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    best_ : str
        The name of the model in use, or "blend".
    leaderboard_ : list of records
        ``name``, ``auc`` (mean over held-out folds), ``low`` and ``high`` (DeLong's 95 % interval), ``fit_seconds``
        (mean of a fit), ``weight`` in the model in use, and a ``note``: what was dropped and why, and for whom missing
        values were replaced. The best first; "blend" is among them.
    members_ : list of records
        What the score is made of, fitted on all rows: ``name``, ``weight``, ``middle``, ``spread``, ``raw`` (whether
        it sees the columns as they came), ``model``; each counts as weight·(score − middle)/spread.
    threshold_ : float
        The value of `decision_function` above which Youden's J is largest on held-out rows.
    classes_ : array of shape (2,)
    n_features_in_ : int

    Notes
    -----
    Columns are scaled once, from all rows and without labels. A dense value farther from the quartiles than 10 times
    their distance is brought that near. Missing values are replaced by medians, except for boosted trees, which know
    them; the ``note`` in ``leaderboard_`` says so. Linear models count as simpler than kernel ones, these as simpler
    than boosted trees. More than 50,000 rows are compared on a stratified sample of so many, or of as many as hold 200
    of the rarer class. With fewer than 10 rows in a class there is no search: one strongly regularised linear ranker is
    fitted, with a warning.

    `decision_function` is the calibrated log-odds (Platt's sigmoid on held-out scores), bent beyond ±8 so that it stays
    below 16: `predict_proba` then is a strictly increasing function of it and has the same AUC. `predict` cuts at
    probability one half, which finds few positives where they are rare; ``decision_function(X) > threshold_`` finds
    more.

    References
    ----------
    Gao, Jin, Zhu & Zhou, "One-pass AUC optimization", ICML 2013 (the square loss that finds the blend).

    Breiman, Friedman, Olshen & Stone, "Classification and regression trees", 1984 (the rule of one standard error).

    Examples
    --------
    >>> from auclid import AUCClassifier
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> model = AUCClassifier(methods=["LeastSquaresAUC", "logistic"], random_state=0).fit(X, y)
    >>> sorted(entry.name for entry in model.leaderboard_ if entry.auc > 0.9)
    ['LeastSquaresAUC', 'blend', 'logistic']
    """

    _parameter_constraints: dict = {
        "budget": [_check.real(closed="neither"), None],
        "methods": [list, tuple, str],
        "cv": [_check.at_least(2)],
        "n_jobs": [_check.at_least(1), Interval(Integral, None, -1, closed="right"), None],
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
            Raw numeric columns; NaN is a missing value.
        y : array of shape (n,), any two labels

        Returns
        -------
        self
        """
        names = named(self.methods)
        _check.labelled(self, y)
        X, y = validate_data(self, _check.in_order(self, X), y, **ROWS)
        y = _check.labels(y)
        self.classes_ = _check.two_classes(self, y)
        is_pos = y == self.classes_[1]
        rarest = int(min(is_pos.sum(), (~is_pos).sum()))
        if rarest < FEW:
            vars(self).update(only(X, is_pos, rarest))
            return self
        seed = int(_random.generator(self.random_state).integers(2**31))
        search = Search(X, is_pos, names, self.cv, seed)
        with Parallel(n_jobs=self.n_jobs) as parallel:
            start = time.perf_counter()
            for number in steps(self, len(search.candidates), search.conclusion, X, y):
                if number and self.budget is not None and time.perf_counter() - start > self.budget:
                    break
                search.run(number, parallel)
        vars(self).update(search.conclusion())
        return self

    def decision_function(self, X):
        """Calibrated log-odds of ``classes_[1]``: the higher, the more likely.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            NaN is a missing value.

        Returns
        -------
        array of shape (n,), of X's floating type
        """
        _check.fitted(self, "members_")
        X = validate_data(self, _check.in_order(self, X), reset=False, **ROWS)
        scores = log_odds(self._odds, total(self.members_, self._columns, X))
        return _check.finite_scores(self, scores, X.dtype)

    def predict_proba(self, X):
        """Calibrated probabilities of both classes, in the order of `decision_function`.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            NaN is a missing value.

        Returns
        -------
        array of shape (n, 2)
        """
        positive = probability(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


ROWS = {"accept_sparse": "csr", "dtype": _check.DTYPES, "ensure_all_finite": "allow-nan"}
"""What rows may be like."""


def only(X, is_pos, rarest):
    """The fitted attributes where there is nothing to compare by: one linear ranker, strongly regularised."""
    warnings.warn(
        f"AUCClassifier must see at least {FEW} rows of each class to compare models; got {rarest}. "
        "It fits one strongly regularised linear ranker instead.",
        UserWarning,
        stacklevel=5,
    )
    columns, candidate = learnt(X), Candidate("LeastSquaresAUC", LeastSquaresAUC(alpha=1.0))
    members = [Member(candidate.name, 1.0, 0.0, 1.0, False, fitted(candidate, scaled(columns, X), is_pos))]
    note = "; ".join(["too few rows to compare", *([FILLED] if has_missing(X) else [])])
    return {
        "_columns": columns,
        "members_": members,
        "best_": candidate.name,
        "leaderboard_": [untried(candidate.name, note, weight=1.0)],
        **placed(total(members, columns, X), is_pos),
    }
