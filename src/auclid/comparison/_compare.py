"""Compare ways to learn on the same held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from auclid._random import generator
from auclid.additive import Scorecard
from auclid.auto import AUCClassifier
from auclid.columns import Columns
from auclid.comparison._measure import Budget, run_trials
from auclid.comparison._results import ModelComparison
from auclid.comparison._splits import ComparedRows, SplitPlan, plan_splits
from auclid.comparison._tests import ClassJudge, ComparedModel, SplitJudge, measured, paired_differences
from auclid.comparison._tuning import tuned
from auclid.errors import invalid_type, invalid_value
from auclid.metrics._cross_val import checked_splits
from auclid.metrics._sample import checked_region
from auclid.registry import make
from auclid.validation.parameters import number_in, one_of, whole_number
from auclid.validation.vectors import column, weight_column


def compare(
    estimators: Any,
    X: Any,
    y: ArrayLike,
    *,
    baseline: str | Sequence[str] | None = None,
    cv: Any = "auto",
    repeats: int | str = "auto",
    test_size: float | None = None,
    time: ArrayLike | None = None,
    tune: int = 0,
    grids: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    correction: str = "holm",
    max_fpr: float = 1.0,
    budget: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    error: str = "raise",
    progress: Callable[[str], None] | None = None,
) -> ModelComparison:
    """Compare estimators by their AUC on the same held-out rows, with intervals and paired tests.

    Every estimator is fitted to the training rows of every split. With several splits, differences have the test of
    Nadeau and Bengio, which allows for training rows that splits share; with one split they have DeLong's. Adjusted
    p-values allow for the number of tests. `auclid compare` does this in the command.

    Parameters
    ----------
    estimators : dict of name to estimator, or list of estimators and names of methods
        A name that `auclid.algorithms` lists stands for that method, behind `Columns` unless it reads all columns
        itself (`Scorecard`), "auto" for `AUCClassifier`. An estimator in a list goes by the name of its class.
    X : array, CSR matrix or frame of shape (n, d)
    y : array-like of shape (n,)
        Two labels. The greater one is positive.
    baseline : str or list of str, optional
        The name of the estimator that all others are compared with; of several names, the one with the highest AUC.
        Without it all pairs are compared.
    cv : "auto", int, splitter or iterable of (train, test), default="auto"
        An int means stratified folds. "auto": five folds, or one hold-out where each class has 1,000 rows or more.
    repeats : "auto" or int of at least 1, default="auto"
        How often the folds are drawn anew, where ``cv`` is an int or "auto". "auto": 3, or 1 where each class has 1,000
        rows or more.
    test_size : float in (0, 1), optional
        The share of the rows in a single hold-out, instead of folds. With ``time`` these are the latest rows.
    time : array-like of shape (n,), optional
        A date or number of each row. Models learn from earlier rows than those they are tested on: rows are cut by time
        into ``cv`` + 1 blocks, and each block but the first is held out once, from models of all earlier blocks.
    tune : int of at least 0, default=0
        Settings that are tried for each estimator, its own among them, by three inner folds of the training rows. Each
        estimator gets the same number, from ``grids`` or from a space that suits its class; those that choose their own
        settings (`Scorecard`, `AUCClassifier`, ...) are left to do so.
    grids : dict of name to dict of parameter to values, optional
        What ``tune`` draws settings from.
    groups : array-like of shape (n,), optional
        Which rows belong together: they share a fold.
    sample_weight : array-like of shape (n,), optional
        Rows of weight zero are left out.
    level : float in (0, 1), default=0.95
    correction : {"holm", "bonferroni", "none"}, default="holm"
    max_fpr : float in (0, 1], default=1.0
        Below 1, the partial AUC up to this false positive rate is compared.
    budget : float in (0, inf), optional
        Seconds, about. The first split tells how many repeats fit into it; one repeat is always run, unless ``cv`` and
        ``repeats`` are "auto": then the first split may have to do. ``how`` says what was run.
    n_jobs : int, optional
        Splits at a time, as joblib counts.
    random_state : int, RandomState, Generator or None, default=0
        Of the splits and of the settings that are tried.
    error : {"raise", "keep"}, default="raise"
        What happens where an estimator cannot be fitted: the error is raised, or kept as the model's ``trouble``.
    progress : callable, optional
        Called with the name of each estimator before it is fitted.

    Returns
    -------
    ModelComparison
        ``models``, the best first: name, auc, low, high, folds, ap, ap_low, ap_high, seconds, ...; ``pairs``: a, b,
        difference, low, high, pvalue, adjusted; ``how`` rows were split.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.

    DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver operating
    characteristic curves, Biometrics 44.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from auclid import compare
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> found = compare({"least squares": "LeastSquaresAUC", "logistic": LogisticRegression()}, X, y)
    >>> sorted(model.name for model in found.models), len(found.pairs), found.how
    (['least squares', 'logistic'], 1, '3 repeats of 5 folds')
    """
    owner = "compare"
    if getattr(getattr(y, "dtype", None), "names", None):
        hint = "Censored times are compared by compare_ordered."
        raise invalid_value(owner, "y", "hold two labels", list(y.dtype.names), hint)  # type: ignore[union-attr]
    run = ComparisonRun(owner, baseline, level, correction, budget, n_jobs, error, progress)
    named, seed = named_estimators(estimators), seed_of(random_state)
    region = checked_region(owner, max_fpr, 0.0)
    if time is not None and sample_weight is not None:
        time = column(owner, "time", time)[weight_column(owner, sample_weight) > 0.0]
    rows = checked_splits(owner, X, y, groups, [], sample_weight, None)
    plan = plan_splits(rows, cv, repeats, test_size, time, seed)
    if whole_number(owner, "tune", tune, 0):
        named = tuned(named, tune, grids or {}, region.max_fpr, seed)
    return run.compare(named, rows, plan, lambda measured: ClassJudge(measured, level, region))


@dataclass(frozen=True)
class ComparisonRun:
    """How estimators are run and compared, whatever their rows are measured by: checked parameters of `compare`."""

    owner: str
    baseline: str | Sequence[str] | None
    level: float
    correction: str
    budget: float | None
    n_jobs: int | None
    error: str
    progress: Callable[[str], None] | None

    def __post_init__(self) -> None:
        number_in(self.owner, "level", self.level, 0.0, 1.0)
        one_of(self.owner, "correction", self.correction, ("holm", "bonferroni", "none"))
        one_of(self.owner, "error", self.error, ("raise", "keep"))
        if self.budget is not None:
            number_in(self.owner, "budget", self.budget, 0.0, np.inf)

    def compare(
        self, named: dict[str, Any], rows: ComparedRows, plan: SplitPlan, judge_of: Callable[[Any], SplitJudge]
    ) -> ModelComparison:
        """The comparison of these estimators on the splits of a plan."""
        rivals = _baseline_names(self.baseline, list(named))
        rows, budget = rows._replace(splits=plan.splits), Budget(self.budget, plan.descriptions)
        with threadpool_limits(1):
            trials = run_trials(named, rows, budget, self.n_jobs, self.progress, self.error == "keep")
        judge = judge_of(rows._replace(X=None, splits=plan.splits[: len(trials)]))
        models = [measured(name, [each[k] for each in trials], judge) for k, name in enumerate(named)]
        models, pairs = _compared(models, rivals, judge, self.correction)
        how, planned = plan.descriptions[len(trials)], plan.descriptions[len(plan.splits)]
        notes = [] if how == planned else [f"Measured by {how} instead of {planned}, for want of time."]
        return ModelComparison(models, pairs, judge.level, how, judge.rows.splits, judge.held_out, notes, judge)


def _compared(
    models: list[ComparedModel], rivals: list[str], judge: SplitJudge, correction: str
) -> tuple[list[ComparedModel], list[Any]]:
    """The models, the best first, with their differences to the best baseline; and all differences."""
    models = [model._replace(is_baseline=model.name in rivals) for model in models]
    fitted = [model for model in models if not model.trouble]
    ranked = sorted(fitted, key=lambda model: -model.auc)
    order = [*ranked, *(model for model in models if model.trouble)]
    best = next((model for model in ranked if model.is_baseline), None)
    if best is None:
        return order, [] if rivals else paired_differences(list(combinations(fitted, 2)), judge, correction)
    pairs = [(model, best) for model in fitted if model.name != best.name]
    gaps = {metric: paired_differences(pairs, judge, correction, metric) for metric in judge.tests}
    of_auc, of_ap = ({gap.a: gap for gap in gaps.get(metric, [])} for metric in ("auc", "ap"))
    return [m._replace(gap=of_auc.get(m.name), ap_gap=of_ap.get(m.name)) for m in order], gaps["auc"]


def seed_of(random_state: Any) -> int:
    """The seed that splits and settings are drawn from."""
    is_seed = isinstance(random_state, int | np.integer)
    return int(random_state) if is_seed else int(generator(random_state).integers(2**31))


def _baseline_names(baseline: str | Sequence[str] | None, names: list[str]) -> list[str]:
    """The names of the baselines, which must be names of estimators."""
    rivals = [] if baseline is None else [baseline] if isinstance(baseline, str) else list(baseline)
    unknown = [name for name in rivals if name not in names]
    if unknown:
        raise invalid_value("compare", "baseline", f"be one of {', '.join(names)}", unknown[0])
    return rivals


def named_estimators(estimators: Any) -> dict[str, Any]:
    """Estimators by name; methods by the names of their papers are built."""
    if isinstance(estimators, Mapping):
        pairs = [(str(name), each) for name, each in estimators.items()]
    elif isinstance(estimators, Sequence) and not isinstance(estimators, str):
        pairs = [(each if isinstance(each, str) else type(each).__name__, each) for each in estimators]
    else:
        expected = "be a dict of estimators by name, or a list of estimators and names of methods"
        raise invalid_type("compare", "estimators", expected, estimators)
    names = [name for name, _ in pairs]
    if not names or len(set(names)) < len(names):
        raise invalid_value("compare", "estimators", "have one name or more, each once", names, "Use a dict.")
    return {name: _built(each) for name, each in pairs}


def behind_columns(model: Any) -> Any:
    """The model behind `Columns`; a `Scorecard`, which reads columns in their own units, as it is."""
    return model if isinstance(model, Scorecard) else make_pipeline(Columns(), model)


def _built(estimator: Any) -> Any:
    if isinstance(estimator, str) and estimator.casefold() == "auto":
        return AUCClassifier(random_state=0)
    if isinstance(estimator, str):
        return behind_columns(make(estimator))
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise invalid_type("compare", "estimators", "hold estimators, or names of methods", estimator)
    return estimator
