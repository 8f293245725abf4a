"""Which models are worth trying on a shape."""

from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from auclid import _sizes, baselines
from auclid._hints import did_you_mean
from auclid._random import set_random_state
from auclid.additive import Scorecard
from auclid.auto._learners import Boosting, Forest
from auclid.auto._network import NetworkRecipe
from auclid.kernels import Kernelized, KMeansNystroem
from auclid.pairwise import FactorizationRanker, RankSVM
from auclid.registry import ALIASES, METHODS, find
from auclid.square import LeastSquaresAUC, LeastSquaresAUCCV

BOOSTING_STAGES = (25, 50, 100, 200)
"""Numbers of boosted trees to choose from: all come from one fit. Few rows are not tried with the last ones."""

SLOW_STAGES = (25, 50, 75, 100, 150, 200)
"""Numbers of small trees to choose from."""

SLOWEST_STAGES = (50, 100, 150, 200, 300, 400)
"""Numbers of trees of the slowest boosting to choose from."""

FOREST_TREES = {"fast": 100, "default": 200, "best": 400}
"""Trees of a forest, by quality."""

N_NETWORKS = 2
"""Networks whose scores are averaged."""

MIN_LANDMARKS, MAX_LANDMARKS = 50, 400
"""Landmarks of the kernel: one for twenty rows, no fewer and no more than these."""

QUALITIES = ("fast", "default", "best")
"""How much time a search may take."""

LINEAR_MODEL, CURVED = range(2)
"""How complicated a model is: folds are repeated for the simple ones alone."""


class TableShape(NamedTuple):
    """The size of a table, before any model is tried."""

    n: int
    d: int
    """Columns that linear models see."""
    is_sparse: bool
    rarest: int
    """Rows of the rarer class."""
    categories: tuple[int, ...] = ()
    max_fpr: float = 1.0
    quality: str = "default"
    """How much time the search may take: "fast", "default" or "best"."""


def linear_seconds(recipe: Any, n: float, d: int) -> float:
    """A rough guess at the seconds in which a linear model is fitted on n rows of d columns."""
    return 4e-3 + 3e-8 * n * d + (2e-10 * n * d * d + 3e-9 * d**3 if d <= 1_000 else 0.0)


def scorecard_seconds(recipe: Any, n: float, d: int) -> float:
    """A rough guess at the seconds in which a scorecard of eight knots a column is fitted."""
    return 2e-2 + 3.5e-7 * n * d + 1e-9 * (8.0 * d) ** 3


def kernel_seconds(recipe: Any, n: float, d: int) -> float:
    """A rough guess at the seconds in which a model behind a kernel's map, or with a kernel of all rows, is fitted."""
    landmarks = getattr(getattr(recipe, "feature_map", None), "n_components", None)
    m = float(landmarks or np.clip(n / 20.0, MIN_LANDMARKS, MAX_LANDMARKS))
    return 1e-2 + 2e-8 * n * m * (1.0 + d / 100.0) + 5e-11 * n * m * m + 5e-9 * m**3


def factorization_seconds(recipe: Any, n: float, d: int) -> float:
    """A rough guess at the seconds in which a factorization machine of sparse rows is fitted, whatever their width."""
    return 1e-2 + 1.5e-4 * n


class Candidate(NamedTuple):
    """A model with the name it goes by."""

    name: str
    recipe: Any
    """An estimator, or how to grow trees."""
    level: int = LINEAR_MODEL
    raw: bool = False
    """Whether it wants the rows as they came: dense, not scaled, with their gaps."""
    stages: tuple[int, ...] = ()
    """Numbers of trees to choose from: of what grows in stages, can be stopped, and gains most from more rows."""
    cost: Callable[[Any, float, int], float] = linear_seconds
    """A rough guess at the seconds of a fit of the recipe on n rows of d columns."""


def candidates(names: list[str], shape: TableShape, seed: int) -> list[Candidate]:
    """What to try on a table, in order."""
    return [candidate(name, shape, seed) for name in names or suited(shape)]


def suited(shape: TableShape) -> list[str]:
    """The names that suit the shape of a shape."""
    n, d = shape.n, shape.d
    names = ["LeastSquaresAUC", "logistic"] + ["RankSVM"] * (shape.max_fpr < 1.0)
    if d <= (_sizes.MAX_SPARSE_TREE_COLUMNS if shape.is_sparse or n < d else _sizes.MAX_CURVED_COLUMNS):
        names += TREES[shape.quality]
    if shape.quality == "fast":
        return names
    if d <= _sizes.MAX_SCORECARD_COLUMNS and not shape.is_sparse:
        names.append("Scorecard")
    names += ["kernel"] * (d <= _sizes.MAX_CURVED_COLUMNS)
    names += ["FactorizationRanker"] * (shape.is_sparse and shape.rarest >= _sizes.MIN_ROWS_TO_FACTOR)
    return names + ["network"] * (shape.quality == "best" and d <= _sizes.MAX_NETWORK_COLUMNS)


TREES = {
    "fast": ["slow boosting", "forest"],
    "default": ["boosting", "slow boosting", "forest"],
    "best": ["boosting", "slow boosting", "slowest boosting", "forest", "random forest"],
}
"""The candidates that grow trees, by quality."""


def candidate_names(methods: Any) -> list[str]:
    """The names a user gave, each once, those of papers as the registry spells them; nothing for "auto"."""
    names = [methods] if isinstance(methods, str) else list(methods)
    if names == ["auto"]:
        return []
    if not names:
        raise ValueError(f"{EXPECTED} an empty list.")
    return list(dict.fromkeys(_spelled(name) for name in names))


EXPECTED = "The 'methods' parameter of AUCClassifier must be 'auto' or names of candidates; got"


def _spelled(name: Any) -> str:
    """A name as the registry spells it."""
    plain = {own.casefold(): own for own in BUILT}
    if isinstance(name, str) and name.casefold() in plain:
        return plain[name.casefold()]
    try:
        method = find(name)
    except ValueError:
        names = list(dict.fromkeys([*BUILT, *ALIASES, *(method.name for method in METHODS)]))
        hint = did_you_mean(name, names) or f"Known are: {', '.join(names)}."
        raise ValueError(f"{EXPECTED} {name!r}. {hint}") from None
    if method.semi_supervised:
        raise ValueError(f"{EXPECTED} {name!r}, which learns from rows without labels as well; there are none here.")
    return method.name


def candidate(name: str, shape: TableShape, seed: int) -> Candidate:
    """The candidate of that name for a shape."""
    if name in BUILT:
        return BUILT[name](name, shape, seed)
    method = find(name)
    how: dict[str, Any] = {"level": CURVED, "cost": kernel_seconds} if method.kernel else {}
    return Candidate(name, set_random_state(method.build(), seed), **how)


def _least_squares(name: str, shape: TableShape, seed: int) -> Candidate:
    narrow = shape.d <= _sizes.MAX_PATH_COLUMNS or (shape.n <= _sizes.MAX_PATH_COLUMNS and not shape.is_sparse)
    return Candidate(name, LeastSquaresAUCCV() if narrow else LeastSquaresAUC())


def _rank_svm(name: str, shape: TableShape, seed: int) -> Candidate:
    model = RankSVM(alpha=1e-2)
    if shape.max_fpr < 1.0 and "max_fpr" in signature(RankSVM).parameters:
        model.set_params(max_fpr=shape.max_fpr)
    return Candidate(name, model)


def _logistic(name: str, shape: TableShape, seed: int) -> Candidate:
    return Candidate(name, baselines.logistic(max_iter=300))


def _kernel(name: str, shape: TableShape, seed: int) -> Candidate:
    landmarks = int(np.clip(shape.n // 20, MIN_LANDMARKS, MAX_LANDMARKS))
    model = Kernelized(KMeansNystroem(landmarks, random_state=seed), LeastSquaresAUCCV())
    return Candidate(name, model, CURVED, cost=kernel_seconds)


def _factorization(name: str, shape: TableShape, seed: int) -> Candidate:
    return Candidate(name, FactorizationRanker(random_state=seed), CURVED, cost=factorization_seconds)


def _boosting(name: str, shape: TableShape, seed: int) -> Candidate:
    leaves = 8 if shape.rarest < _sizes.MIN_ROWS_FOR_LARGE_TREES else 31
    min_leaf_rows = int(np.clip(shape.rarest // 4, 2, 20))
    few = sum(shape.n < bound for bound in (_sizes.MIN_ROWS_FOR_MANY_TREES, _sizes.MANY_ROWS))
    stages = BOOSTING_STAGES[: len(BOOSTING_STAGES) - few]
    recipe = Boosting(stages[-1], leaves, min_leaf_rows, seed, shape.categories)
    return Candidate(name, recipe, CURVED, raw=True, stages=stages, cost=Boosting.expected_seconds)


def _slow_boosting(name: str, shape: TableShape, seed: int) -> Candidate:
    """Small steps on parts of rows and columns: trees that differ more from one another than those of "boosting"."""
    slowest = name == "slowest boosting"
    stages, rate = (SLOWEST_STAGES, 0.04) if slowest else (SLOW_STAGES, 0.08)
    recipe = Boosting(
        stages[-1],
        leaves=24 if slowest and shape.rarest >= _sizes.MIN_ROWS_FOR_LARGE_TREES else 8,
        min_leaf_rows=int(np.clip(shape.rarest // 4, 2, 20)),
        seed=seed,
        categories=shape.categories,
        rate=rate,
        column_share=0.5 if shape.d >= _sizes.MIN_COLUMNS_TO_SAMPLE else 1.0,
        row_share=0.8,
        l2=3.0,
    )
    return Candidate(name, recipe, CURVED, raw=True, stages=stages, cost=Boosting.expected_seconds)


def _forest(name: str, shape: TableShape, seed: int) -> Candidate:
    recipe = Forest(FOREST_TREES[shape.quality], seed, best_cuts=name == "random forest")
    return Candidate(name, recipe, CURVED, raw=True, cost=Forest.expected_seconds)


def _network(name: str, shape: TableShape, seed: int) -> Candidate:
    return Candidate(name, NetworkRecipe(N_NETWORKS, seed), CURVED, cost=NetworkRecipe.expected_seconds)


def _scorecard(name: str, shape: TableShape, seed: int) -> Candidate:
    card = Scorecard(n_knots=8, interactions=0, categories=list(shape.categories) or "auto", random_state=seed)
    return Candidate(name, card, CURVED, raw=True, cost=scorecard_seconds)


BUILT = {
    "LeastSquaresAUC": _least_squares,
    "logistic": _logistic,
    "RankSVM": _rank_svm,
    "forest": _forest,
    "random forest": _forest,
    "boosting": _boosting,
    "slow boosting": _slow_boosting,
    "slowest boosting": _slow_boosting,
    "Scorecard": _scorecard,
    "kernel": _kernel,
    "FactorizationRanker": _factorization,
    "network": _network,
}
"""Candidates with settings of their own; all others are built as the registry has them."""
