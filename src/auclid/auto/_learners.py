"""Fitting candidates, whichever library they come from: a model of some rows, and its scores of others."""

import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from auclid import _sizes, baselines
from auclid.additive import Scorecard
from auclid.auto._folds import Split
from auclid.auto._logistic import held_out_scores
from auclid.auto._network import NetworkRecipe, Networks, fit_networks
from auclid.base import Ranker
from auclid.data import as_table
from auclid.kernels import Kernelized
from auclid.kernels._map import embedded
from auclid.kernels.kernelized import fitted_map
from auclid.solvers.least_squares import minimiser, project_to_row_space
from auclid.solvers.path import alpha_grid
from auclid.square import LeastSquaresAUCCV
from auclid.stats.folds import Fold, training_moments
from auclid.stats.moments import class_moments
from auclid.trees.extra import Growth, concatenate_trees, extra_trees
from auclid.trees.forest import random_forest
from auclid.trees.lightgbm import read_booster
from auclid.trees.structs import Trees
from auclid.trees.structs import scores as tree_scores

N_SEARCH_ALPHAS = 19
"""Penalties that least squares tries."""


class Boosting(NamedTuple):
    """How boosted trees are grown."""

    n_trees: int
    leaves: int
    min_leaf_rows: int
    seed: int
    categories: tuple[int, ...] = ()
    seconds: float | None = None
    """After which no more trees are grown, whatever number there is."""
    rate: float = 0.1
    column_share: float = 1.0
    """The share of the columns that a tree may split."""
    row_share: float = 1.0
    """The share of the rows that a tree is grown on (LightGBM only)."""
    l2: float = 0.0
    """Strength of the squared penalty on leaf values."""

    def expected_seconds(self, n: float, d: int) -> float:
        """A rough guess at the seconds of a fit on n rows of d columns."""
        return self.n_trees * (3e-4 + 8.5e-5 * d + 5e-9 * n * d)


class Forest(NamedTuple):
    """How averaged trees are grown."""

    n_trees: int
    seed: int
    best_cuts: bool = False
    """Whether nodes take the best cut of a column (a random forest), or a random one (extremely randomised trees)."""

    def expected_seconds(self, n: float, d: int) -> float:
        """A rough guess at the seconds of a fit on n rows of d columns."""
        size = min(n, _sizes.TREE_ROWS)
        return float(self.n_trees * (1.1e-8 * size * np.log2(size + 2.0) * np.sqrt(d) + 8e-8 * n))


def fit_candidate(recipe: Any, X: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> Any:
    """The model of some rows; its warnings are not shown."""
    if isinstance(recipe, Forest):
        return grow_forest(recipe, X, is_pos, weight).model
    if isinstance(recipe, Boosting):
        return _quietly(partial(fit_boosting, recipe), X, is_pos, weight)
    if isinstance(recipe, NetworkRecipe):
        return _quietly(partial(fit_networks, recipe), X, is_pos, weight)
    if isinstance(recipe, Scorecard):
        model = clone(recipe)
        _quietly(partial(model._fit_and_hold_out, coarse=True), X, is_pos, weight)
        return model
    return _quietly(clone(recipe).fit, X, is_pos, weight)


class OutOfFoldFit(NamedTuple):
    """The model of all rows, and each row's score by parts of it that have not seen the row."""

    model: Any
    held_out: np.ndarray


def held_out_within(recipe: Any, X: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> OutOfFoldFit | None:
    """A scorecard with the held-out scores of the folds in which it chose its penalties; None for other candidates, or
    where it had too few rows for folds."""
    if not isinstance(recipe, Scorecard):
        return None
    model = clone(recipe)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held_out = model._fit_and_hold_out(X, is_pos, weight, coarse=True)
    return None if held_out is None else OutOfFoldFit(model, held_out)


def fold_scores_at_once(
    recipe: Any, X: Any, is_pos: np.ndarray, weight: np.ndarray | None, folds: Sequence[Sequence[Split]]
) -> tuple[Any, list[np.ndarray]] | None:
    """The model of all rows, and the scores of the rows that each fold holds out, without a fit for each fold.

    So it is for least squares, also behind a kernel's map, whose moments add up, and for logistic regression, whose
    models of folds are a few Newton steps away; None for others. The map and the penalty are found once from all rows:
    they are found without labels, or too weak to tell them. ``folds``: repeat after repeat, each holding out every row
    once; the scores are those of all folds in turn.
    """
    if isinstance(recipe, LogisticRegression | LeastSquaresAUCCV) and _is_wide(X):
        Z, back = project_to_row_space(X)
        projected = fold_scores_at_once(recipe, Z, is_pos, weight, folds)
        return None if projected is None else (_widened(projected[0], back), projected[1])
    if isinstance(recipe, LogisticRegression):
        model = _quietly(clone(recipe).fit, X, is_pos, weight)
        scores = held_out_scores(model, X, is_pos, weight, [test for repeat in folds for _, test in repeat])
        return None if scores is None else (model, scores)
    if isinstance(recipe, LeastSquaresAUCCV):
        model = _quietly(_with_fewer_alphas(recipe, X, is_pos, weight).fit, X, is_pos, weight)
        return model, _fold_scores(X, is_pos, weight, folds, float(model.alpha_))
    if not isinstance(recipe, Kernelized) or not isinstance(recipe.ranker, LeastSquaresAUCCV):
        return None
    feature_map = fitted_map(recipe.feature_map, as_table(X), None, X.shape[0])
    rows = embedded(as_table(X), feature_map)
    Z = rows.part(slice(None))
    ranker = _quietly(_with_fewer_alphas(recipe.ranker, Z, is_pos, weight).fit, Z, is_pos, weight)
    model = clone(recipe)._assemble(feature_map, ranker, rows)
    return model, _fold_scores(Z, is_pos, weight, folds, float(ranker.alpha_))


def _fold_scores(
    X: Any, is_pos: np.ndarray, weight: np.ndarray | None, folds: Sequence[Sequence[Split]], alpha: float
) -> list[np.ndarray]:
    """The scores of the rows that each fold holds out, by least squares on the moments of the others."""
    table, scores = as_table(X), []
    for repeat in folds:
        trained, _ = training_moments(table, is_pos, weight, [Fold(None, test) for _, test in repeat])
        pairs = zip(trained, repeat, strict=True)
        scores += [table.matmul(minimiser(moments, alpha), test) for moments, (_, test) in pairs]
    return scores


def _is_wide(X: Any) -> bool:
    """Whether rows are fewer than columns, so that coordinates in their span are fewer."""
    return isinstance(X, np.ndarray) and len(X) < X.shape[1]


def _widened(model: Any, back: np.ndarray) -> Any:
    """A linear model of coordinates as one of the columns that these came from."""
    model.coef_, model.n_features_in_ = (back @ model.coef_[0])[None], len(back)
    return model


def _with_fewer_alphas(
    recipe: LeastSquaresAUCCV, X: Any, is_pos: np.ndarray, weight: np.ndarray | None
) -> LeastSquaresAUCCV:
    """A copy that tries fewer penalties, two in a power of ten: an AUC for each of fifty takes longer than the rest."""
    if recipe.alphas is not None:
        return clone(recipe)
    variance = float(class_moments(X, is_pos, weight, full=False).within) / X.shape[1]
    return clone(recipe).set_params(alphas=alpha_grid(variance, N_SEARCH_ALPHAS))


def with_smaller_alphas(recipe: Any, model: Any) -> Any:
    """Least squares, also behind a kernel's map, that chooses between the penalty of a model of fewer rows and smaller
    ones, down to a tenth of it: more rows need no stronger one. Other recipes as they are."""
    ranker = getattr(model, "ranker_", model)
    if not hasattr(ranker, "alpha_") or not isinstance(getattr(recipe, "ranker", recipe), LeastSquaresAUCCV):
        return recipe
    name = "ranker__alphas" if isinstance(recipe, Kernelized) else "alphas"
    return clone(recipe).set_params(**{name: float(ranker.alpha_) * np.array([1.0, 10.0**-0.5, 0.1])})


def _quietly(fit: Any, X: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> Any:
    """What ``fit`` gives, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(X, is_pos) if weight is None else fit(X, is_pos, sample_weight=weight)


def grow_forest(recipe: Forest, X: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None) -> OutOfFoldFit:
    """A forest, and the score of each row by trees that have not seen it."""
    weight = np.ones(len(is_pos)) if weight is None else weight
    rng = np.random.default_rng(recipe.seed)
    grow = random_forest if recipe.best_cuts else extra_trees
    return OutOfFoldFit(*grow(X, is_pos.astype(np.float64), weight, rng, Growth(recipe.n_trees, _sizes.TREE_ROWS)))


def forest_stages(recipe: Forest, first: int) -> tuple[Forest, Forest]:
    """The first trees of a forest, and the rest."""
    rest = recipe._replace(n_trees=recipe.n_trees - first, seed=recipe.seed + 1)
    return recipe._replace(n_trees=first), rest


def merge_forests(first: OutOfFoldFit, rest: OutOfFoldFit, share: float) -> OutOfFoldFit:
    """Two forests as one, to which the first adds that share of the trees."""
    pairs = ((first.model, share), (rest.model, 1.0 - share))
    trees = [forest._replace(value=forest.value * part) for forest, part in pairs]
    return OutOfFoldFit(concatenate_trees(trees, 1.0), share * first.held_out + (1.0 - share) * rest.held_out)


def fit_boosting(recipe: Boosting, X: np.ndarray, is_pos: np.ndarray, sample_weight: np.ndarray | None = None) -> Any:
    """Boosted trees: LightGBM's where it is installed, scikit-learn's otherwise."""
    if not baselines.has_lightgbm():
        model = baselines.boosting(
            max_iter=recipe.n_trees,
            max_leaf_nodes=recipe.leaves,
            min_samples_leaf=recipe.min_leaf_rows,
            learning_rate=recipe.rate,
            max_features=recipe.column_share,
            l2_regularization=recipe.l2,
            early_stopping=False,
            random_state=recipe.seed,
            categorical_features=list(recipe.categories) or None,
        )
        return model.fit(X, is_pos, sample_weight=sample_weight)
    import lightgbm

    start = time.perf_counter()
    settings = {
        "objective": "binary",
        "num_leaves": recipe.leaves,
        "min_data_in_leaf": recipe.min_leaf_rows,
        "learning_rate": recipe.rate,
        "feature_fraction": recipe.column_share,
        "bagging_fraction": recipe.row_share,
        "bagging_freq": int(recipe.row_share < 1.0),
        "lambda_l2": recipe.l2,
        "seed": recipe.seed,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,  # else it times both ways first
        "verbosity": -1,
    }
    categories = list(recipe.categories)
    data = lightgbm.Dataset(X, is_pos, weight=sample_weight, categorical_feature=categories, free_raw_data=False)
    stops = [] if recipe.seconds is None else [partial(_stop, start + recipe.seconds)]
    how: dict[str, Any] = {"keep_training_booster": True, "callbacks": stops}  # else it is written and read again
    return lightgbm.train(settings, data, recipe.n_trees, **how)


def _stop(until: float, progress: Any) -> None:
    """Tell LightGBM that no more trees are wanted when time is over."""
    if time.perf_counter() > until:
        from lightgbm.callback import EarlyStopException

        raise EarlyStopException(progress.iteration, [])


def staged_scores(model: Any, X: np.ndarray, stages: Sequence[int]) -> list[np.ndarray]:
    """The scores of boosted trees after so many of them."""
    if hasattr(model, "staged_decision_function"):
        staged = enumerate(model.staged_decision_function(X), start=1)
        return [scores.ravel() for number, scores in staged if number in stages]
    return [_raw_score(model, X, stage) for stage in stages]


def _raw_score(booster: Any, X: np.ndarray, n_trees: int | None = None) -> np.ndarray:
    """LightGBM's score of each row, by one thread: left to itself it takes as many as there are, for any few rows."""
    return booster.predict(X, raw_score=True, num_iteration=n_trees, num_threads=1)


def without_lightgbm(model: Any, d: int) -> Any:
    """A model with LightGBM's trees as arrays, so that neither files nor scores need LightGBM."""
    return read_booster(model, -1, d) if hasattr(model, "model_to_string") else model


def model_scores(model: Any, X: Any) -> np.ndarray:
    """One float64 score a row, without the intercept of an AUC ranker.

    That intercept only places the threshold of `predict`. It differs between the models of folds and the model of all
    rows, so scores that carry it cannot be standardised by the mean of held-out scores.
    """
    if isinstance(model, Trees):
        return tree_scores(model, X)
    if isinstance(model, Networks):
        return model.scores(X)
    if hasattr(model, "model_to_string"):
        return _raw_score(model, X)
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    return scores - _intercept(model) if isinstance(model, Ranker) else scores


def _intercept(model: Any) -> float:
    """The intercept of a fitted ranker, also of the one behind a feature map."""
    ranker = getattr(model, "ranker_", model)
    return float(np.ravel(getattr(ranker, "intercept_", 0.0))[0])
