"""Compare ways to learn on the same folds: what `auclid compare` asks, with estimators of one's own."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline

from auclid.columns import Columns
from auclid.errors import InvalidValueError, invalid_type, invalid_value
from auclid.metrics import PairComparison
from auclid.metrics._compare import answer, checked_question
from auclid.metrics._cross_val import _checked_rows, _corrected_error, _error, _folds, _trials
from auclid.metrics._many import corrected
from auclid.metrics._sample import checked_region
from auclid.metrics._variance import share_interval
from auclid.registry import make
from auclid.validation.parameters import number_in, whole_number

__all__ = ["ComparedModel", "ModelComparison", "compare"]


class ComparedModel(NamedTuple):
    """The cross-validated AUC of one way to learn, its interval, and the AUC of each fold."""

    name: str
    auc: float
    low: float
    high: float
    folds: np.ndarray


class ModelComparison(NamedTuple):
    """Models, the best first, and paired differences; ``str`` of it is a table."""

    models: list[ComparedModel]
    pairs: list[PairComparison]
    """Each model against the baseline, or all pairs where there is none."""
    level: float

    @property
    def best(self) -> ComparedModel:
        """The model with the highest AUC."""
        return self.models[0]

    def __str__(self) -> str:
        width = max(len(model.name) for model in self.models)
        lines = [f"{m.name:<{width}}  {m.auc:.4f}  ({m.low:.4f} to {m.high:.4f})" for m in self.models]
        lines += [f"{p.a} − {p.b}: {p.difference:+.4f}, adjusted p = {p.adjusted:.2g}" for p in self.pairs]
        return "\n".join(lines)


def compare(
    estimators: Any,
    X: Any,
    y: ArrayLike,
    *,
    baseline: str | None = None,
    cv: Any = 5,
    repeats: int = 1,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    correction: str = "holm",
    max_fpr: float = 1.0,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> ModelComparison:
    """Compare estimators by their AUC on the same held-out rows, with intervals and paired tests.

    Every estimator is fitted to the training rows of every fold. Differences have the test of Nadeau and Bengio, which
    allows for training rows that folds share, and p-values that allow for the number of tests.

    Parameters
    ----------
    estimators : dict of name to estimator, or list of estimators and names of methods
        A name that `auclid.algorithms` lists stands for that method behind `Columns`. An estimator in a list goes by
        the name of its class.
    X : array, CSR matrix or frame of shape (n, d)
    y : array-like of shape (n,)
        Two labels. The greater one is positive.
    baseline : str, optional
        The name of the estimator that all others are compared with; else all pairs are compared.
    cv : int, splitter or iterable of (train, test), default=5
        An int means stratified folds.
    repeats : int of at least 1, default=1
        How often the folds are drawn anew, where ``cv`` is an int and there are no groups.
    groups : array-like of shape (n,), optional
        Which rows belong together: they share a fold.
    sample_weight : array-like of shape (n,), optional
    level : float in (0, 1), default=0.95
    correction : {"holm", "bonferroni", "none"}, default="holm"
    max_fpr : float in (0, 1], default=1.0
        Below 1, the partial AUC up to this false positive rate is compared.
    n_jobs : int, optional
        Fits at a time, as joblib counts.
    random_state : int, RandomState or None, default=0
        Of the folds, where they are repeated.

    Returns
    -------
    ModelComparison
        ``models`` (name, auc, low, high, folds), the best first; ``pairs`` (a, b, difference, low, high, pvalue,
        adjusted).

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from auclid import compare
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> found = compare({"least squares": "LeastSquaresAUC", "logistic": LogisticRegression()}, X, y, cv=3)
    >>> sorted(model.name for model in found.models), len(found.pairs)
    (['least squares', 'logistic'], 1)
    """
    owner = "compare"
    named = _named(estimators)
    names = list(named)
    if baseline is not None and baseline not in named:
        raise invalid_value(owner, "baseline", f"be one of {', '.join(names)}", baseline)
    number_in(owner, "level", level, 0.0, 1.0)
    if correction not in ("holm", "bonferroni", "none"):
        raise invalid_value(owner, "correction", "be 'holm', 'bonferroni' or 'none'", correction)
    region = checked_region(owner, max_fpr, 0.0)
    splitter = _splitter(cv, whole_number(owner, "repeats", repeats, 1), groups, random_state)
    rows = _checked_rows(owner, X, y, groups, splitter, sample_weight, None)
    if len(rows.splits) < 2:
        raise InvalidValueError(owner=owner, parameter="cv", expected="give two splits or more", got="one")
    folds = _folds(owner, list(named.values()), rows, region, n_jobs)
    models = [_measured(name, k, rows, folds, region, level) for k, name in enumerate(names)]
    pairs = [(a, baseline) for a in names if a != baseline] if baseline else list(combinations(names, 2))
    question, aucs = checked_question(owner, level, "two-sided", 0.0), {model.name: model.folds for model in models}
    found = []
    for a, b in pairs:
        gaps = aucs[a] - aucs[b]
        se, df = _corrected_error(rows, gaps)
        found.append(answer(float(gaps.mean()), se, _trials(folds), question, df))
    adjusted = corrected(np.array([each.pvalue for each in found]), correction)
    compared = [
        PairComparison(a, b, each.difference, each.low, each.high, each.pvalue, float(p))
        for (a, b), each, p in zip(pairs, found, adjusted, strict=True)
    ]
    return ModelComparison(sorted(models, key=lambda model: -model.auc), compared, level)


def _named(estimators: Any) -> dict[str, Any]:
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


def _built(estimator: Any) -> Any:
    if isinstance(estimator, str):
        return make_pipeline(Columns(), make(estimator))
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise invalid_type("compare", "estimators", "hold estimators, or names of methods", estimator)
    return estimator


def _splitter(cv: Any, repeats: int, groups: Any, random_state: Any) -> Any:
    if repeats == 1:
        return cv
    if not isinstance(cv, int | np.integer) or groups is not None:
        raise invalid_value("compare", "repeats", "be 1 where cv is a splitter, or groups are given", repeats)
    return RepeatedStratifiedKFold(n_splits=int(cv), n_repeats=repeats, random_state=random_state)


def _measured(name: str, number: int, rows: Any, folds: Any, region: Any, level: float) -> ComparedModel:
    """The AUC of one estimator over all folds."""
    areas = [fold.areas[number] for fold in folds]
    se, df = _error(rows, folds, areas)
    size = float(np.mean([each.area for each in areas]))
    ends = share_interval(size / region.best, se / region.best, _trials(folds), level, df)
    low, high = (region.value(region.best * end) for end in ends)
    return ComparedModel(name, region.value(size), low, high, np.array([region.value(each.area) for each in areas]))
