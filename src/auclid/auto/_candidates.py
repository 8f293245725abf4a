"""Which models are worth trying on a table."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid import baselines
from auclid._hints import did_you_mean
from auclid._random import seeded
from auclid.maps import Kernelized, KMeansNystroem
from auclid.pairwise import RankSVM
from auclid.registry import ALIASES, METHODS, find
from auclid.square import LeastSquaresAUC, LeastSquaresAUCCV

PATH_COLUMNS = 1_000
"""Columns up to which least squares chooses its penalty itself."""

CURVED_COLUMNS = 2_000
"""Columns up to which curves are worth looking for."""

TREE_COLUMNS = 500
"""Columns up to which trees are worth their time where rows are sparse, or fewer than columns."""

MANY_ROWS = 5_000
"""Rows from which on 200 trees may be better than 100."""

FEW_POSITIVES = 100
"""Rows of the rarer class below which trees stay small: large ones learn the few by heart."""

STAGES = (25, 50, 100, 200)
"""Numbers of trees to choose from: all come from one fit."""

LINEAR, KERNEL, TREES = range(3)
"""How complicated a model is: where differences are within noise, the simpler one is preferred."""


class Candidate(NamedTuple):
    """A model with the name it goes by."""

    name: str
    model: Any
    level: int = LINEAR
    """How complicated it is."""
    raw: bool = False
    """Whether it wants the rows as they came: dense, not scaled, with their gaps."""
    stages: tuple = ()
    """Numbers of steps (``max_iter``) to choose from."""


def candidates(names, X, rarest, seed):
    """What to try on rows such as X with ``rarest`` rows of the rarer class, in order."""
    return [candidate(name, X.shape, rarest, seed) for name in names or suited(X)]


def suited(X):
    """The names that suit the shape of X."""
    n, d = X.shape
    names = ["LeastSquaresAUC", "logistic", "RankSVM"]
    if d <= CURVED_COLUMNS:
        names.append("kernel")
    if d <= (TREE_COLUMNS if sparse.issparse(X) or n < d else CURVED_COLUMNS):
        names.append("boosting")
    return names


def named(methods):
    """The names a user gave, each once, those of papers as the registry spells them; nothing for "auto"."""
    names = [methods] if isinstance(methods, str) else list(methods)
    if names == ["auto"]:
        return []
    if not names:
        raise ValueError(f"{EXPECTED} an empty list.")
    return list(dict.fromkeys(_known(name) for name in names))


EXPECTED = "The 'methods' parameter of AUCClassifier must be 'auto' or names of candidates; got"


def _known(name):
    if isinstance(name, str) and name.casefold() in BUILT:
        return name.casefold()
    if isinstance(name, str) and name.casefold() == "leastsquaresauc":
        return "LeastSquaresAUC"
    try:
        method = find(name)
    except ValueError:
        names = [*BUILT, *ALIASES, *(method.name for method in METHODS)]
        hint = did_you_mean(name, names) or f"Known are: {', '.join(names)}."
        raise ValueError(f"{EXPECTED} {name!r}. {hint}") from None
    if method.semi_supervised:
        raise ValueError(f"{EXPECTED} {name!r}, which learns from rows without labels as well; there are none here.")
    return method.name


def candidate(name, shape, rarest, seed):
    """The candidate of that name for a table of that shape."""
    if name in BUILT:
        return BUILT[name](name, shape, rarest, seed)
    if name == "LeastSquaresAUC":
        return Candidate(name, LeastSquaresAUCCV() if shape[1] <= PATH_COLUMNS else LeastSquaresAUC())
    method = find(name)
    model = RankSVM(alpha=1e-2) if name == "RankSVM" else method.build()
    return Candidate(name, seeded(model, seed), KERNEL if method.kernel else LINEAR)


def _logistic(name, shape, rarest, seed):
    return Candidate(name, baselines.logistic(max_iter=300))


def _kernel(name, shape, rarest, seed):
    landmarks = int(np.clip(shape[0] // 10, 50, 400))
    return Candidate(name, Kernelized(KMeansNystroem(landmarks, random_state=seed), LeastSquaresAUCCV()), KERNEL)


def _boosting(name, shape, rarest, seed):
    stages = STAGES if shape[0] >= MANY_ROWS else STAGES[:-1]
    trees = baselines.boosting(
        max_iter=stages[-1],
        max_leaf_nodes=8 if rarest < FEW_POSITIVES else 31,
        min_samples_leaf=int(np.clip(rarest // 4, 2, 20)),
        early_stopping=False,
        random_state=seed,
    )
    return Candidate(name, trees, TREES, raw=True, stages=stages)


BUILT = {"logistic": _logistic, "kernel": _kernel, "boosting": _boosting}
"""Candidates that no paper names: scikit-learn's, and the kernel ranker with its penalty cross-validated."""
