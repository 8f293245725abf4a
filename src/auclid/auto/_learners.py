"""What candidates learn, whichever library they come from: a model of rows, and its scores of others."""

import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from auclid import baselines
from auclid.additive import Scorecard
from auclid.auto._logistic import held_out_scores
from auclid.base import Ranker
from auclid.data import as_table
from auclid.kernels import Kernelized
from auclid.kernels._map import embedded
from auclid.kernels.kernelized import fitted_map
from auclid.solvers.closed_form import minimiser
from auclid.solvers.path import alpha_grid
from auclid.solvers.row_space import project_to_row_space
from auclid.square import LeastSquaresAUCCV
from auclid.stats.folds import Fold as HeldOut
from auclid.stats.folds import training_moments
from auclid.stats.moments import class_moments
from auclid.trees.extra import Growth, concatenate_trees, extra_trees
from auclid.trees.forest import random_forest
from auclid.trees.lightgbm import read_booster
from auclid.trees.structs import Trees
from auclid.trees.structs import scores as tree_scores

FOREST_ROWS = 10_000
"""Rows that one tree of a forest sees at most."""

ALPHAS = 19
"""Penalties that least squares tries."""


class Boosting(NamedTuple):
    """How boosted trees are grown."""

    n_trees: int
    leaves: int
    least: int
    """Rows of a leaf, at the least."""
    seed: int
    categories: tuple[int, ...] = ()
    seconds: float | None = None
    """After which no more trees are grown, whatever number there is."""

    def expected(self, n: float, d: int) -> float:
        """A rough guess at the seconds of a fit on n rows of d columns."""
        return self.n_trees * (3e-4 + 8.5e-5 * d + 5e-9 * n * d)


class Forest(NamedTuple):
    """How averaged trees are grown."""

    n_trees: int
    seed: int
    best_cuts: bool = False
    """Whether nodes take the best cut of a column (a random forest), or a random one (extremely randomised trees)."""

    def expected(self, n: float, d: int) -> float:
        """A rough guess at the seconds of a fit on n rows of d columns."""
        size = min(n, FOREST_ROWS)
        return float(self.n_trees * (1.1e-8 * size * np.log2(size + 2.0) * np.sqrt(d) + 8e-8 * n))


def learn(recipe: Any, X: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> Any:
    """The model of some rows; it need not tell the user what it would tell its own."""
    if isinstance(recipe, Forest):
        return grown(recipe, X, is_pos, weight)[0]
    if isinstance(recipe, Boosting):
        return _quietly(partial(boosted, recipe), X, is_pos, weight)
    if isinstance(recipe, Scorecard):
        model = clone(recipe)
        _quietly(partial(model._fit_and_hold_out, coarse=True), X, is_pos, weight)
        return model
    return _quietly(clone(recipe).fit, X, is_pos, weight)


Fold = tuple[np.ndarray, np.ndarray]
"""Numbers of the rows to learn from, and of those to hold out."""


Judged = tuple[Any, np.ndarray]
"""The model of all rows, and each row's score by parts of it that have not seen the row."""


def judged_within(recipe: Any, X: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> Judged | None:
    """A scorecard judged by the folds in which it chose its penalties; None for other candidates, or where it had too
    few rows for folds."""
    if not isinstance(recipe, Scorecard):
        return None
    model = clone(recipe)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held_out = model._fit_and_hold_out(X, is_pos, weight, coarse=True)
    return None if held_out is None else (model, held_out)


def judged_from_all(
    recipe: Any, X: Any, is_pos: np.ndarray, weight: np.ndarray | None, folds: Sequence[Sequence[Fold]]
) -> tuple[Any, list[np.ndarray]] | None:
    """The model of all rows, and the scores of the rows that each fold holds out: of least squares, also behind a
    kernel's map, whose moments add up, and of logistic regression, which is not far from it. None for others.

    The map and the penalty are found once from all rows: they are found without labels, or too weak to tell them.
    ``folds``: repeat after repeat, each holding out every row once; the scores are those of all folds in turn.
    """
    if isinstance(recipe, LogisticRegression | LeastSquaresAUCCV) and _wide(X):
        Z, back = project_to_row_space(X)
        found = judged_from_all(recipe, Z, is_pos, weight, folds)
        return None if found is None else (_widened(found[0], back), found[1])
    if isinstance(recipe, LogisticRegression):
        model = _quietly(clone(recipe).fit, X, is_pos, weight)
        said = held_out_scores(model, X, is_pos, weight, [test for repeat in folds for _, test in repeat])
        return None if said is None else (model, said)
    if isinstance(recipe, LeastSquaresAUCCV):
        model = ranker = _quietly(_fewer(recipe, X, is_pos, weight).fit, X, is_pos, weight)
    elif isinstance(recipe, Kernelized) and isinstance(recipe.ranker, LeastSquaresAUCCV):
        feature_map = fitted_map(recipe.feature_map, as_table(X), None)
        rows = embedded(as_table(X), feature_map)
        X = rows.part(slice(None))
        ranker = _quietly(_fewer(recipe.ranker, X, is_pos, weight).fit, X, is_pos, weight)
        model = clone(recipe)._assemble(feature_map, ranker, rows)
    else:
        return None
    table, said = as_table(X), []
    for repeat in folds:
        trained, _ = training_moments(table, is_pos, weight, [HeldOut(None, test) for _, test in repeat])
        said += [
            table.matmul(minimiser(moments, float(ranker.alpha_)), test)
            for moments, (_, test) in zip(trained, repeat, strict=True)
        ]
    return model, said


def _wide(X: Any) -> bool:
    """Whether rows are better seen in the coordinates of their span."""
    return isinstance(X, np.ndarray) and len(X) < X.shape[1]


def _widened(model: Any, back: np.ndarray) -> Any:
    """A linear model of coordinates as one of the columns that these came from."""
    model.coef_, model.n_features_in_ = (back @ model.coef_[0])[None], len(back)
    return model


def _fewer(recipe: LeastSquaresAUCCV, X: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> LeastSquaresAUCCV:
    """A copy that tries fewer penalties, two in a power of ten: an AUC for each of fifty takes longer than the rest."""
    if recipe.alphas is not None:
        return clone(recipe)
    variance = float(class_moments(X, is_pos, weight, full=False).within) / X.shape[1]
    return clone(recipe).set_params(alphas=alpha_grid(variance, ALPHAS))


def less_penalised(recipe: Any, tried: Any) -> Any:
    """Least squares, also behind a kernel's map, that looks no farther than a tenth of the penalty that fewer rows have
    found: more rows need no stronger one. Other recipes as they are."""
    ranker = getattr(tried, "ranker_", tried)
    if not hasattr(ranker, "alpha_") or not isinstance(getattr(recipe, "ranker", recipe), LeastSquaresAUCCV):
        return recipe
    name = "ranker__alphas" if isinstance(recipe, Kernelized) else "alphas"
    return clone(recipe).set_params(**{name: float(ranker.alpha_) * np.array([1.0, 10.0**-0.5, 0.1])})


def _quietly(fit: Any, X: Any, is_pos: np.ndarray, weight: np.ndarray | None) -> Any:
    """What ``fit`` gives; it need not tell the user what it would tell its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(X, is_pos) if weight is None else fit(X, is_pos, sample_weight=weight)


def grown(recipe: Forest, X: np.ndarray, is_pos: np.ndarray, weight: np.ndarray | None) -> Judged:
    """A forest, and what its trees say of the rows that they have not seen."""
    weight = np.ones(len(is_pos)) if weight is None else weight
    rng = np.random.default_rng(recipe.seed)
    grow = random_forest if recipe.best_cuts else extra_trees
    return grow(X, is_pos.astype(np.float64), weight, rng, Growth(recipe.n_trees, FOREST_ROWS))


def rungs(recipe: Forest, first: int) -> tuple[Forest, Forest]:
    """The first trees of a forest, and the rest."""
    rest = recipe._replace(n_trees=recipe.n_trees - first, seed=recipe.seed + 1)
    return recipe._replace(n_trees=first), rest


def one_forest(first: Judged, rest: Judged, share: float) -> Judged:
    """Two forests as one, to which the first adds that share of the trees."""
    trees = [forest._replace(value=forest.value * part) for (forest, _), part in ((first, share), (rest, 1.0 - share))]
    return concatenate_trees(trees, 1.0), share * first[1] + (1.0 - share) * rest[1]


def boosted(recipe: Boosting, X: np.ndarray, is_pos: np.ndarray, sample_weight: np.ndarray | None = None) -> Any:
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
        return model.fit(X, is_pos, sample_weight=sample_weight)
    import lightgbm

    start = time.perf_counter()
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
    """What LightGBM says of each row, by one thread: left to itself it takes as many as there are, for any few rows."""
    return booster.predict(X, raw_score=True, num_iteration=n_trees, num_threads=1)


def kept(model: Any, d: int) -> Any:
    """A model as it is kept: LightGBM's trees become arrays, so that neither files nor scores need LightGBM."""
    return read_booster(model, -1, d) if hasattr(model, "model_to_string") else model


def scores(model: Any, X: Any) -> np.ndarray:
    """One float64 score a row, without the intercept of an AUC ranker.

    That intercept only places the threshold of `predict`. It differs between the models of folds and the model of all
    rows, so scores that carry it cannot be standardised by the mean of held-out scores.
    """
    if isinstance(model, Trees):
        return tree_scores(model, X)
    if hasattr(model, "model_to_string"):
        return _raw_score(model, X)
    said = np.asarray(model.decision_function(X), dtype=np.float64)
    return said - _intercept(model) if isinstance(model, Ranker) else said


def _intercept(model: Any) -> float:
    """The intercept of a fitted ranker, also of the one behind a feature map."""
    ranker = getattr(model, "ranker_", model)
    return float(np.ravel(getattr(ranker, "intercept_", 0.0))[0])
