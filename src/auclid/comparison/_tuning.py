"""Equal tuning: the same number of settings for each estimator, chosen by inner folds of the training rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline

from auclid.columns import Columns
from auclid.errors import invalid_value
from auclid.metrics import partial_auc_scorer

INNER_FOLDS = 3

Space = Mapping[str, Sequence[Any]]

TREES: dict[str, Sequence[Any]] = {
    "learning_rate": (0.01, 0.02, 0.05, 0.1, 0.2),
    "num_leaves": (4, 8, 16, 31, 63),
    "max_leaf_nodes": (4, 8, 16, 31, 63),
    "min_child_samples": (5, 10, 20, 50, 100),
    "min_samples_leaf": (5, 10, 20, 50, 100),
    "reg_lambda": (0.0, 0.1, 1.0, 10.0),
    "l2_regularization": (0.0, 0.1, 1.0, 10.0),
    "n_estimators": (50, 100, 200, 400, 800),
    "max_iter": (50, 100, 200, 400, 800),
}
"""Values for boosted trees, by the names that LightGBM and scikit-learn give their parameters."""

PENALTIES: dict[str, Sequence[Any]] = {"alpha": np.logspace(-6, 2, 17).tolist(), "C": np.logspace(-4, 4, 17).tolist()}
"""Values for the strength of a penalty, or its inverse."""


def search_space(model: Any) -> dict[str, Sequence[Any]]:
    """Parameters of a model that are worth tuning, with values; none where it chooses its settings itself.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from auclid.comparison._tuning import search_space
    >>> list(search_space(LogisticRegression()))
    ['C']
    """
    params = model.get_params()
    if "learning_rate" in params:
        return {name: values for name, values in TREES.items() if name in params}
    numbers = {name for name, value in params.items() if isinstance(value, int | float)}
    return {name: PENALTIES[name.split("__")[-1]] for name in sorted(numbers) if name.split("__")[-1] in PENALTIES}


def tuned(
    named: Mapping[str, Any], count: int, grids: Mapping[str, Space], max_fpr: float, seed: int
) -> dict[str, Any]:
    """The estimators, each choosing among ``count`` settings, its own the first, by the AUC on inner folds."""
    unknown = [name for name in grids if name not in named]
    if unknown:
        raise invalid_value("compare", "grids", f"name estimators: {', '.join(named)}", unknown[0])
    return {name: _tuned(model, count, grids.get(name), max_fpr, seed) for name, model in named.items()}


def _tuned(model: Any, count: int, space: Space | None, max_fpr: float, seed: int) -> Any:
    if isinstance(model, Pipeline) and len(model) == 2 and isinstance(model[0], Columns):
        return make_pipeline(model[0], _tuned(model[-1], count, space, max_fpr, seed))
    space = search_space(model) if space is None else space
    size = len(ParameterGrid(dict(space))) if space else 0
    if size == 0 or count == 1:
        return model
    drawn = ParameterSampler(dict(space), min(count - 1, size), random_state=seed)
    settings = [{}, *({name: [value] for name, value in each.items()} for each in drawn)]
    folds = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed)
    return GridSearchCV(model, settings, scoring=partial_auc_scorer(max_fpr), cv=folds)
