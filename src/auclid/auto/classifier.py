"""AUCClassifier: compare, choose, blend, calibrate, refit."""

import warnings
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel
from sklearn.base import clone
from sklearn.utils import Tags, estimator_html_repr
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from auclid import _random, _sizes, validation
from auclid._page import table
from auclid._progress import CallbackSupportMixin, fit_iterations
from auclid._threads import limit_threads
from auclid.auto._blend import FILLED, untried
from auclid.auto._candidates import QUALITIES, candidate_names, candidates
from auclid.auto._cost import ExpectedCost, expected_cost
from auclid.auto._folds import repeat_count
from auclid.auto._judge import METRICS, Judge
from auclid.auto._learners import fit_candidate
from auclid.auto._preparation import PreparedRows, TrainingSet, prepare
from auclid.auto._sampling import SampledRows, draw_sample, refit_on_all, with_fitted_rows
from auclid.auto._search import Member, Search, SearchSettings, blend_scores, odds_and_threshold, shape_of
from auclid.base import Ranker
from auclid.baselines import has_missing
from auclid.columns import Columns
from auclid.data.types import OutputFile, RowsLike
from auclid.errors import InvalidValueError
from auclid.metrics._auc import auc_from_parts
from auclid.metrics._periods import time_numbers
from auclid.square import LeastSquaresAUC
from auclid.stats.odds import log_odds, probability
from auclid.trees.structs import Trees
from auclid.validation import (
    RowAccess,
    checked_groups,
    checked_table,
    floating,
    labels_to_score,
    partwise,
    remember_columns,
)


class PreparedTable(NamedTuple):
    """A table as all models of it see it."""

    X: Any
    """The rows as they came."""
    y: np.ndarray
    labels: np.ndarray
    """The number of the class of each row."""
    columns: Columns
    rows: PreparedRows
    weight: np.ndarray | None
    groups: np.ndarray | None
    time: np.ndarray | None
    source: SampledRows | None
    """Where the rows were drawn from, if they are not all."""


class AUCClassifier(CallbackSupportMixin, Ranker):
    """A classifier for any table: compares, tunes and blends models by cross-validation, and calibrates.

    Columns are prepared by `auclid.Columns`. Candidates are linear AUC rankers, logistic regression, boosted trees,
    extremely randomised trees, a scorecard, a kernel ranker and a factorization machine, as the table's shape allows.
    The result is a blend of those that improve one another,

        f(x) = Σₘ wₘ fₘ(x),  wₘ ≥ 0, Σ wₘ = 1,

    whose weights come from logistic regression on the members' held-out scores, with both classes of equal weight, no
    negative coefficient, and the penalty (1/r) Σ wₘ² for r rows of the rarer class: the fewer there are, the more a
    weight follows what its member achieves alone (stacking with shrinkage).

    Parameters
    ----------
    budget : float in (0, inf) or None, default=None
        Seconds for the whole fit, about. None: all candidates that the shape of the data suggests, so the same seed
        gives the same model. With a budget they run in a fixed order; one that cannot end in time is left out, as its
        note in ``leaderboard_`` says, and the result may vary from run to run.
    metric : {"roc_auc", "average_precision"}, default="roc_auc"
        What is maximised: candidates, numbers of trees and ``leaderboard_`` are judged by it. For average precision the
        weights are the mean of those above and of those that greedy selection finds: members are added one after the
        other, with repetition, while the average precision of the sum rises.
    quality : {"default", "fast", "best"}, default="default"
        How much time the search takes, beside LightGBM with 200 trees on tables of some thousand rows: "fast" about
        three times as long (linear models, one kind of boosting, 100 randomised trees), "default" about six times,
        "best" about forty times (more kinds of boosting, forests of 400 trees, small networks).
    methods : "auto", str or list of str, default="auto"
        Candidates, in the order in which they run: names that `auclid.algorithms` lists, "logistic" (scikit-learn's
        LogisticRegression), "boosting" (LightGBM's trees where it is installed, else scikit-learn's), "slow boosting"
        (200 trees of 8 leaves in smaller steps, each on 80 % of the rows and half of the columns), "slowest boosting"
        (400 trees of up to 24 leaves, smaller steps still), "forest" and "random forest" (extremely randomised trees,
        and trees of best cuts; judged out of bag), "Scorecard", "kernel" (k-means Nyström features with
        `LeastSquaresAUCCV`) and "network" (two networks of two hidden layers on the prepared columns). "auto":
        LeastSquaresAUC and logistic, with RankSVM where ``max_fpr`` is below 1; up to 2,000 columns boosting, slow
        boosting, forest and kernel too (trees up to 500 where X is sparse or has more columns than rows); up to 100
        dense columns Scorecard; FactorizationRanker where X is sparse, with 100 rows of the rarer class or more. With
        quality="fast" only slow boosting and forest of these; with "best" also slowest boosting, random forest, and up
        to 500 columns network.
    cv : int in [2, inf), splitter or list of (train, test), default=5
        Stratified folds. For linear candidates they are repeated below 300 rows of the rarer class, up to six times;
        boosting is judged by as many folds as hold out 100 rows of it, forests out of bag, a scorecard by the folds in
        which it chooses its penalties. A splitter, or a list of folds, is not repeated, and goes for all; it may hold
        out some of the rows only (`TimeSeriesSplit`, `PredefinedSplit`), or some more than once (`ShuffleSplit`).
    n_jobs : int or None, default=None
        Folds that are fitted at a time, each in a process of its own, as in joblib. It does not change the model.
    max_fpr : float in (0, 1], default=1.0
        Candidates are judged, and blended, by the partial AUC up to this false positive rate.
    threads : int in [1, inf) or None, default=1
        Threads that numerical libraries may use while it fits and scores; None leaves them as they are. More than one
        rarely pays: pieces of work are small, and on two cores two threads took a fifth longer.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    best_ : str
        The name of the model in use, or "blend".
    leaderboard_ : list of records
        ``name``, ``auc`` and ``ap`` (means over held-out folds), ``low`` and ``high`` (the 95 % interval of the
        ``metric``), ``fit_seconds`` (mean of a fit), ``weight`` in the model in use, and a ``note``: what was dropped
        and why, and for whom missing values were replaced. The best first; "blend" is among them.
    members_ : list of records
        What the score is made of, fitted on all rows: ``name``, ``weight``, ``middle``, ``spread``, ``raw`` (whether
        it sees the columns as they came), ``model``; each counts as weight·(score − middle)/spread.
    threshold_ : float
        The value of `decision_function` above which `predict` answers ``classes_[1]``: the log-odds of the share of
        positives, where Youden's J (true minus false positive rate) is largest if the probabilities are right, or what
        `set_threshold` has chosen.
    models_ : list of AUCClassifier
        Of more than two classes: for each, the model that tells it from the rest, instead of all of the above.
    classes_ : array of the labels
    n_features_in_ : int
    feature_names_in_ : array of str, where X was a frame

    Notes
    -----
    Columns are prepared once, from all rows and without labels; trees see missing values and categories as they are. So
    are the landmarks of the kernel and the penalties of least squares. More than 10,000 rows are compared on a
    stratified sample of so many, or of as many as hold 500 of the rarer class, up to 50,000. Boosting, which gains most
    from more rows, learns from all that a fold does not hold out, unless rows are sparse or there is a budget. On all
    rows least squares then chooses among the penalty of the sample and two smaller ones, down to a tenth of it. With
    folds of 3,000 rows or more, a curved candidate first learns from 1,000, and is given up if that leaves it .03 and
    two standard errors behind the leader (boosting only where all rows are compared); so is a forest that is .05 behind
    with 100 trees, and a candidate that is .01 behind after two folds. Folds of linear and kernel models follow from
    sums over all rows. With fewer than 10 rows in a class there is no search: one strongly regularised linear ranker is
    fitted, with a warning.

    `decision_function` is the calibrated log-odds (Platt's sigmoid on held-out scores), bent beyond ±8 so that it stays
    below 16: `predict_proba` then is a strictly increasing function of it and has the same AUC. `predict` answers
    ``classes_[1]`` where it exceeds ``threshold_``, and so finds rare positives, of which few have a probability above
    one half; ``set_threshold(0.0)`` cuts at one half. Probabilities are right on fresh rows: on those that were learnt
    from, which trees and networks know too well, their mean is above the rate. `expect` says what a fit will take.

    References
    ----------
    Caruana, Niculescu-Mizil, Crew & Ksikes, "Ensemble selection from libraries of models", ICML 2004.

    Wolpert, "Stacked generalization", Neural Networks 1992; Breiman, "Stacked regressions", Machine Learning 1996.

    Breiman, "Random forests", Machine Learning 2001; Geurts, Ernst & Wehenkel, "Extremely randomized trees", 2006.

    Examples
    --------
    >>> from auclid import AUCClassifier
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> model = AUCClassifier(methods=["LeastSquaresAUC", "logistic"], random_state=0).fit(X, y)
    >>> for entry in sorted(model.leaderboard_):
    ...     print(f"{entry.name} {entry.auc:.2f}")
    LeastSquaresAUC 0.93
    blend 0.93
    logistic 0.93
    """

    _parameter_constraints: dict = {
        "budget": [validation.real(closed="neither"), None],
        "methods": [list, tuple, str],
        "cv": [validation.at_least(2), HasMethods(["split"]), list],
        "n_jobs": [validation.at_least(1), Interval(Integral, None, -1, closed="right"), None],
        "metric": [StrOptions(set(METRICS))],
        "quality": [StrOptions(set(QUALITIES))],
        "max_fpr": [validation.real(0.0, 1.0, closed="right")],
        "threads": [validation.at_least(1), None],
        "random_state": _random.RANDOM_STATE,
    }

    _row_access = RowAccess.PARTS

    def __init__(
        self,
        budget: float | None = None,
        *,
        metric: str = "roc_auc",
        quality: str = "default",
        methods: Any = "auto",
        cv: Any = 5,
        n_jobs: int | None = None,
        max_fpr: float = 1.0,
        threads: int | None = 1,
        random_state: Any = None,
    ) -> None:
        self.budget = budget
        self.metric = metric
        self.quality = quality
        self.methods = methods
        self.cv = cv
        self.n_jobs = n_jobs
        self.max_fpr = max_fpr
        self.threads = threads
        self.random_state = random_state

    @validation.checked
    def fit(self, X: RowsLike, y: Any = None, sample_weight: Any = None, groups: Any = None, time: Any = None) -> Self:
        """Compare, choose, blend, calibrate; then fit what was chosen on all rows.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            Any columns that `auclid.Columns` takes; NaN and None are missing values. Of rows of files (`auclid.scan`)
            that are more than their ``memory`` holds, and of dask collections beyond 64 MiB, columns are prepared from,
            and candidates compared on, a sample of each class by its share, at least 10,000 rows in all and 10 of each
            class; linear members are then fitted on all rows, the others on the sample, as ``leaderboard_`` says.
        y : array of shape (n,), two labels or more
        sample_weight : array of shape (n,), optional
            A pair weighs the product of its two rows' weights, and a row of weight 0 counts for nothing; only the
            ratios of weights count. Where whole numbers in proportion to the weights sum to 2,000 or less, rows are
            repeated so often, and held out together.
        groups : array of shape (n,), optional
            Rows of one group (a customer, a patient) are held out together. Beside dask, also a collection cut as X.
        time : array of shape (n,), optional
            When each row was seen: numbers, dates, or texts of dates in ISO format. Models are then compared as they
            will be used, on rows that are later than those they learnt from: the rows are cut by time into ``cv`` + 1
            blocks of about equal size, and each block but the first is held out once, from models of all earlier
            blocks (rolling origin). Rows of equal time share a block; blocks with one class only are not held out.
            ``cv`` must be an int. What is chosen is fitted on all rows.

        Returns
        -------
        self
        """
        start = perf_counter()
        self._check_settings(time)
        rows = validation.labelled_dataset(self, X, y, sample_weight, multiclass=True, raw=True)
        owner = type(self).__name__
        places = None if groups is None else checked_groups(owner, groups, X, rows)
        times = None if time is None else checked_groups(owner, time, X, rows, "time")
        sample, source = draw_sample(rows)
        X = rows.parts.decode(sample.X)
        y = rows.classes[sample.labels]
        for attribute in ("members_", "models_"):
            self.__dict__.pop(attribute, None)
        if len(self.classes_) == 2:
            validation.warn_if_common_on_top(self, y, self.classes_)
        with limit_threads(self.threads):
            columns = _fit_columns(X, sample.weight)
            remember_columns(columns, getattr(self, "feature_names_in_", None), self.n_features_in_)
            own_groups = None if places is None else places.at(sample.places)
            own_time = None if times is None else time_numbers(owner, times.at(sample.places), len(y))[0]
            prepared = prepare(columns, X)
            table = PreparedTable(X, y, sample.labels, columns, prepared, sample.weight, own_groups, own_time, source)
            if len(self.classes_) > 2:
                self.models_ = [self._one_against_rest(table, number) for number in range(len(self.classes_))]
            else:
                self._fit_binary(table, 1, start)
        return self

    def _check_settings(self, time: Any) -> None:
        """Refuse settings that do not go together."""
        candidate_names(self.methods)
        if self.metric == "average_precision" and self.max_fpr < 1.0:
            raise InvalidValueError(
                owner=self, parameter="max_fpr", expected="be 1.0 where metric='average_precision'",
                got=repr(self.max_fpr), hint="Average precision looks at the top of the list already.",
            )  # fmt: skip
        if time is not None and not isinstance(self.cv, Integral):
            raise InvalidValueError(
                owner=self, parameter="cv", expected="be an int where fit is given time=", got=repr(self.cv),
                hint="Leave time out to use these folds.",
            )  # fmt: skip

    def _one_against_rest(self, table: PreparedTable, number: int) -> "AUCClassifier":
        """A copy that tells one class of many from the rest; all share the budget alike."""
        share = None if self.budget is None else self.budget / len(self.classes_)
        model = clone(self).set_params(budget=share)
        remember_columns(model, getattr(self, "feature_names_in_", None), self.n_features_in_)
        model.classes_ = np.array([False, True])
        return model._fit_copy(table, number, perf_counter())

    @validation.checked
    def _fit_copy(self, *given: Any) -> Self:
        return self._fit_binary(*given)

    def _fit_binary(self, table: PreparedTable, number: int, start: float) -> Self:
        """Tell one class, by its number, from all others."""
        is_pos = table.labels == number
        validation.both_weighed(self, is_pos, table.weight)
        counted = is_pos if table.weight is None else is_pos[table.weight > 0.0]
        rarest = int(min(counted.sum(), (~counted).sum()))
        if rarest < _sizes.MIN_ROWS_TO_COMPARE:
            self.__dict__.update(single_model(table, is_pos, rarest))
        else:
            self.__dict__.update(self._search(table, is_pos, start))
        if table.source is not None:
            self._refit_on_all(table, number, table.source)
        return self

    def _search(self, table: PreparedTable, is_pos: np.ndarray, start: float) -> dict[str, Any]:
        """The fitted attributes after all candidates were tried, or as many as callbacks let be."""
        seed = int(_random.generator(self.random_state).integers(2**31 - 10))
        names = candidate_names(self.methods)
        judge = Judge(self.metric, self.max_fpr)
        settings = SearchSettings(names, self.cv, seed, judge, self.budget, self.quality, start)
        training = TrainingSet(table.rows, is_pos, table.weight, table.groups, self.cv, table.time)
        search = Search(table.columns, training, settings)
        with Parallel(n_jobs=self.n_jobs) as parallel:
            for number in fit_iterations(self, len(search.candidates), search.conclusion, table.X, table.y):
                search.run(number, parallel)
        return search.conclusion()

    def _refit_on_all(self, table: PreparedTable, number: int, source: SampledRows) -> None:
        """Fit the members that can learn from all rows on them, and give the classes their shares among all rows."""
        rest = table.columns, source, table.rows, table.weight
        members, refit = refit_on_all(self.members_, number, *rest)
        lines, shift = with_fitted_rows(self.__dict__["leaderboard_"], refit, source), source.prior_shift(number)
        odds = self._odds._replace(offset=self._odds.offset + shift)
        self.__dict__.update(members_=members, leaderboard_=lines, _odds=odds, threshold_=self.threshold_ + shift)

    def expect(self, X: RowsLike, y: Any = None) -> ExpectedCost:
        """What `fit` will take, about, before it is begun.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), optional
            Its labels; without them there are enough rows of each class.

        Returns
        -------
        ExpectedCost
            Named tuple (seconds, bytes): of one core of an ordinary machine, compiling apart, and beyond the table
            itself. A ``budget`` caps the seconds.
        """
        X = checked_table(AUCClassifier(), X, reset=True)
        counts = [X.shape[0] // 2] if y is None else np.unique(np.asarray(y), return_counts=True)[1]
        shape = shape_of(prepare(_fit_columns(X, None), X), int(min(counts)), self.max_fpr, self.quality)
        folds = int(self.cv) if isinstance(self.cv, Integral) else 5
        every, searched = candidates(candidate_names(self.methods), shape, 0), min(shape.n, _sizes.COMPARED_ROWS)
        seconds, size = expected_cost(every, shape, searched, folds, repeat_count(shape.rarest))
        times = len(counts) if len(counts) > 2 else 1
        return ExpectedCost(float(min(times * seconds, self.budget or np.inf)), size)

    @partwise
    def decision_function(self, X: RowsLike, *, out: OutputFile = None) -> np.ndarray:
        """Calibrated log-odds of ``classes_[1]``: the higher, the more likely.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
            NaN and None are missing values. Columns must bear the names, and have the order, that were fitted.

        Returns
        -------
        array of shape (n,), of X's floating type; of more than two classes (n, classes), each against the rest
        """
        validation.fitted(self, "classes_")
        X = checked_table(self, X, reset=False)
        with limit_threads(self.threads):
            if not hasattr(self, "models_"):
                return self._odds_of(X, floating(X))
            rows = prepare(self.models_[0]._columns, X)  # all have learnt the same of columns
            return np.column_stack([model._odds_of(rows, floating(X)) for model in self.models_])

    def _odds_of(self, X: RowsLike, dtype: np.dtype) -> np.ndarray:
        """The log-odds of a checked table, or of the rows that were made of it."""
        odds = log_odds(self._odds, blend_scores(self.members_, self._columns, X))
        return validation.finite_scores(self, odds, dtype)

    @partwise
    def predict(self, X: RowsLike, *, out: OutputFile = None) -> np.ndarray:
        """The class of each row: ``classes_[1]`` where `decision_function` exceeds ``threshold_``.

        Of more than two classes, the one with the highest score.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        if not hasattr(self, "models_"):
            return super().predict(X)
        return self.classes_[self.decision_function(X).argmax(axis=1)]

    @partwise
    def predict_proba(self, X: RowsLike, *, out: OutputFile = None) -> np.ndarray:
        """Calibrated probabilities of all classes, in the order of `decision_function`.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)

        Returns
        -------
        array of shape (n, classes)
        """
        positive = probability(self.decision_function(X))
        if positive.ndim == 2:
            return positive / positive.sum(axis=1, keepdims=True)
        return np.column_stack([1.0 - positive, positive])

    def score(self, X: RowsLike, y: Any = None, sample_weight: Any = None) -> float:
        """The area under the ROC curve on (X, y): not the accuracy. Of more classes, the mean of each against the rest.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float
        """
        if not hasattr(self, "models_"):
            return super().score(X, y, sample_weight)
        y, sample_weight = labels_to_score(self, X, y, sample_weight)
        scores, y = np.asarray(self.decision_function(X)), np.asarray(y)
        weight = validation.weights(sample_weight, scores)
        present = [k for k, label in enumerate(self.classes_) if (y == label).any() and (y != label).any()]
        return float(np.mean([auc_from_parts(y == self.classes_[k], scores[:, k], weight) for k in present]))

    def _html_repr(self) -> str:
        """What notebooks show: scikit-learn's diagram, and below it the leaderboard once there is one."""
        lines = [entry.cells() for entry in getattr(self, "leaderboard_", ())]
        return estimator_html_repr(self) + (table("Leaderboard", lines) if lines else "")

    def _sound(self) -> bool:
        """Whether trees of a loaded file lead somewhere: what scores rows follows them without looking."""
        models = [member.model for member in getattr(self, "members_", [])]
        return all(model.is_valid() for model in models if isinstance(model, Trees))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_class = True
        return tags


def _fit_columns(X: Any, weight: np.ndarray | None) -> Columns:
    """Columns, whose warnings are shown as from where the user called."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        columns = Columns().fit(X, sample_weight=weight)
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            warnings.warn(warning.message, stacklevel=5)
    return columns


def single_model(table: PreparedTable, is_pos: np.ndarray, rarest: int) -> dict[str, Any]:
    """The fitted attributes where there is nothing to compare by: one linear ranker, strongly regularised."""
    warnings.warn(
        f"AUCClassifier must see at least {_sizes.MIN_ROWS_TO_COMPARE} rows of each class to compare models; got "
        f"{rarest}. It fits one strongly regularised linear ranker instead.",
        UserWarning,
        stacklevel=6,
    )
    rows, weight, name = table.rows, table.weight, "LeastSquaresAUC"
    model = fit_candidate(LeastSquaresAUC(alpha=1.0), rows.scaled, is_pos, weight)
    members = [Member(name, 1.0, 0.0, 1.0, False, model)]
    note = "; ".join(["too few rows to compare", *([FILLED] if has_missing(rows.plain) else [])])
    return {
        "_columns": table.columns,
        "members_": members,
        "best_": name,
        "leaderboard_": [untried(name, note, weight=1.0)],
        **odds_and_threshold(blend_scores(members, table.columns, rows), is_pos, weight),
    }
