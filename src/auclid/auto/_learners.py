"""What candidates learn, whichever library they come from: a model of rows, and its scores of others."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from auclid import baselines
from auclid.additive import Scorecard
from auclid.maps import Kernelized
from auclid.square import LeastSquaresAUC, LeastSquaresAUCCV
from auclid.trees.extra import Growth, extra_trees
from auclid.trees.forest import random_forest
from auclid.trees.lightgbm import read_booster
from auclid.trees.structs import Trees
from auclid.trees.structs import scores as tree_scores

FOREST_ROWS = 10_000
"""Rows that one tree of a forest sees at most."""


class Boosting(NamedTuple):
    """How boosted trees are grown."""

    n_trees: int
    leaves: int
    least: int
    """Rows of a leaf, at the least."""
    seed: int
    categories: tuple[int, ...] = ()


class Forest(NamedTuple):
    """How averaged trees are grown."""

    n_trees: int
    seed: int
    best_cuts: bool = False
    """Whether nodes take the best cut of a column (a random forest), or a random one (extremely randomised trees)."""


def learn(recipe: Any, X: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> Any:
    """The model of some rows; it need not tell the user what it would tell its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(recipe, Forest):
            return grown(recipe, X, is_pos, weight)[0]
        if isinstance(recipe, Boosting):
            return boosted(recipe, X, is_pos, weight)
        model = clone(recipe)
        return model.fit(X, is_pos) if weight is None else model.fit(X, is_pos, sample_weight=weight)


class Shared(NamedTuple):
    """What all folds of a candidate share, found without labels or too weak to tell them: a map, a penalty."""

    recipe: Any
    """What is left to learn on a fold."""
    rows: Any
    model: Any
    """The model of all rows."""


def shared(recipe: Any, X: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> Shared | None:
    """A kernel's map and the penalties of least squares and of a scorecard, found once from all rows; nothing for
    other candidates."""
    params = {} if weight is None else {"sample_weight": weight}
    if isinstance(recipe, LeastSquaresAUCCV):
        model = clone(recipe).fit(X, is_pos, **params)
        return Shared(LeastSquaresAUC(alpha=float(model.alpha_)), X, model)
    if isinstance(recipe, Kernelized) and isinstance(recipe.ranker, LeastSquaresAUCCV):
        model = clone(recipe).fit(X, is_pos, **params)
        penalty = LeastSquaresAUC(alpha=float(model.ranker_.alpha_))
        return Shared(penalty, model.feature_map_.transform(X), model)
    if isinstance(recipe, Scorecard):
        model = clone(recipe).fit(X, is_pos, **params)
        simpler = clone(recipe).set_params(ranker=LeastSquaresAUC(alpha=float(model.alpha_)), smooth=model.smooth_)
        return Shared(simpler, X, model)
    return None


def grown(recipe: Forest, X: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None) -> tuple[Trees, np.ndarray]:
    """A forest, and what its trees say of the rows that they have not seen."""
    weight = np.ones(len(is_pos)) if weight is None else weight
    rng = np.random.default_rng(recipe.seed)
    grow = random_forest if recipe.best_cuts else extra_trees
    return grow(X, is_pos.astype(np.float64), weight, rng, Growth(recipe.n_trees, FOREST_ROWS))


def boosted(recipe: Boosting, X: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None) -> Any:
    """Boosted trees: LightGBM's where it is installed, scikit-learn's otherwise."""
    if not baselines.has_lightgbm():
        model = baselines.boosting(
            max_iter=recipe.n_trees,
            max_leaf_nodes=recipe.leaves,
            min_samples_leaf=recipe.least,
            early_stopping=False,
            random_state=recipe.seed,
            categorical_features=list(recipe.categories) or None,
        )
        return model.fit(X, is_pos, sample_weight=weight)
    import lightgbm

    settings = {
        "objective": "binary",
        "num_leaves": recipe.leaves,
        "min_data_in_leaf": recipe.least,
        "seed": recipe.seed,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,  # else it times both ways first
        "verbosity": -1,
    }
    data = lightgbm.Dataset(X, is_pos, weight=weight, categorical_feature=list(recipe.categories), free_raw_data=False)
    return lightgbm.train(settings, data, recipe.n_trees)


def staged_scores(model: Any, X: np.ndarray, stages: Sequence[int]) -> list[np.ndarray]:
    """The scores of boosted trees after so many of them."""
    if hasattr(model, "staged_decision_function"):
        staged = enumerate(model.staged_decision_function(X), start=1)
        return [scores.ravel() for number, scores in staged if number in stages]
    return [model.predict(X, raw_score=True, num_iteration=stage) for stage in stages]


def kept(model: Any, d: int) -> Any:
    """A model as it is kept: LightGBM's trees become arrays, so that neither files nor scores need LightGBM."""
    return read_booster(model, -1, d) if hasattr(model, "model_to_string") else model


def scores(model: Any, X: Any) -> np.ndarray:
    """One float64 score a row."""
    if isinstance(model, Trees):
        return tree_scores(model, X)
    if hasattr(model, "model_to_string"):
        return model.predict(X, raw_score=True)
    return np.asarray(model.decision_function(X), dtype=np.float64)
