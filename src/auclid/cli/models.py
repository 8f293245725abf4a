"""Which models a command trains: ours by the registry, the baselines by name, all behind the same `Columns`."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from auclid import _sizes, baselines
from auclid._hints import did_you_mean, plain
from auclid._random import set_random_state
from auclid.auto import AUCClassifier
from auclid.cli.defaults import BASELINE_NAMES
from auclid.cli.settings import Settings, with_settings
from auclid.columns import Columns
from auclid.comparison import behind_columns
from auclid.data.encoding import is_frame
from auclid.metrics._sample import checked_region
from auclid.pairwise import RankSVM
from auclid.registry import ALIASES, METHODS, find

SENSIBLE: dict[str, Callable[[int, int, bool], bool]] = {
    "auto": lambda n, d, is_sparse: True,
    "LeastSquaresAUCCV": lambda n, d, is_sparse: d <= _sizes.MAX_QUICK_COLUMNS,
    "LeastSquaresAUC": lambda n, d, is_sparse: d > _sizes.MAX_QUICK_COLUMNS,
    "RankSVM": lambda n, d, is_sparse: True,
    "Scorecard": lambda n, d, is_sparse: not is_sparse and d <= _sizes.MAX_SCORECARD_COLUMNS,
    "SPAM-L2": lambda n, d, is_sparse: True,
    "NPSAM": lambda n, d, is_sparse: not is_sparse and d <= _sizes.MAX_MAP_COLUMNS and n <= _sizes.MAX_MAP_ROWS,
    "RBF-RankSVM": lambda n, d, is_sparse: not is_sparse and n <= _sizes.MAX_KERNEL_ROWS,
}
"""Which of our methods suit n rows of d columns: what `auclid fit` makes, exact linear ones, a stream, curved ones."""

FRONT_DOOR = ("auto", "aucclassifier")
"""Names of the model that is used where no method is named."""

Named = tuple[str, BaseEstimator]


WHY_NOT = {
    "NPSAM": f"a kernel method, for up to {_sizes.MAX_MAP_ROWS:,} dense rows of {_sizes.MAX_MAP_COLUMNS:,} columns",
    "RBF-RankSVM": f"a kernel method, for up to {_sizes.MAX_KERNEL_ROWS:,} dense rows",
    "Scorecard": f"a curve for each column, for up to {_sizes.MAX_SCORECARD_COLUMNS} dense columns",
}
"""What is said of a method that is left out."""


def sensible(X: Any) -> tuple[list[str], list[str]]:
    """The names of the methods that suit a table, and a sentence about each of the slower ones that does not."""
    n, d = X.shape
    suited = [name for name, suits in SENSIBLE.items() if suits(n, d, sparse.issparse(X))]
    return suited, [f"{name} is left out: {why}." for name, why in WHY_NOT.items() if name not in suited]


def ours(name: str, seed: int, max_fpr: float = 1.0, published: bool = False, settings: Settings = ()) -> Named:
    """(name, pipeline) of a method by the name of its paper, or of "auto"; for the top, if it can learn that.

    ``settings`` are parameters of the method, as --set gives them.
    """
    require_method(name, published)
    if name.casefold() in FRONT_DOOR:
        return "AUCClassifier", with_settings(AUCClassifier(max_fpr=max_fpr, random_state=seed), settings)
    method = find(name)
    model = with_settings(aimed(set_random_state(method.builder(published)(), seed), max_fpr), settings)
    title = f"{method.name} (as published)" if published and method.differs else method.name
    return title, behind_columns(model)


def require_method(name: str, published: bool) -> None:
    """A sentence where someone asks for the published form of "auto"."""
    if published and name.casefold() in FRONT_DOOR:
        raise ValueError("--published must have a --method with a paper of its own; got auto. Try --method SOLAM.")


def learns_without_labels(name: str) -> bool:
    """Whether a method learns from rows without labels as well.

    Examples
    --------
    >>> from auclid.cli.models import learns_without_labels
    >>> learns_without_labels("SAMULT"), learns_without_labels("auto")
    (True, False)
    """
    return name.casefold() not in FRONT_DOOR and find(name).semi_supervised


def as_asked(asked: str, title: str) -> str:
    """The title of a method with the name that was asked for, where it has several.

    Examples
    --------
    >>> from auclid.cli.models import as_asked
    >>> as_asked("leastsquaresauc", "B-LS-SVM"), as_asked("auto", "AUCClassifier")
    ('LeastSquaresAUC', 'AUCClassifier')
    """
    alias = next((name for name in ALIASES if plain(name) == plain(asked)), None)
    return title if alias is None else title.replace(find(alias).name, alias, 1)


def aimed(model: BaseEstimator, max_fpr: float) -> BaseEstimator:
    """The model, told that only the top counts, where it or a ranker in it has a word for that and chose no other."""
    if max_fpr == 1.0:
        return model
    params = model.get_params()
    places = [name for name in params if name.split("__")[-1] == "max_fpr" and params[name] != "top"]
    model.set_params(**dict.fromkeys(places, max_fpr))
    if isinstance(model, RankSVM) and places:
        model.set_params(alpha="auto", softness="auto")
    return model


def for_the_top(model: BaseEstimator) -> bool:
    """Whether a model learns for the top of the list rather than for all of it."""
    return any(value != 1.0 for name, value in model.get_params().items() if name.split("__")[-1] == "max_fpr")


def aims(name: str, max_fpr: float) -> bool:
    """Whether `auclid fit --method NAME` learns for the top up to a rate."""
    return max_fpr < 1.0 and (name == "auto" or for_the_top(aimed(find(name).build(), max_fpr)))


def refuse_whole_list(name: str, model: BaseEstimator, max_fpr: float) -> None:
    """A sentence where someone asks for the top of the list of a method that only knows all of it."""
    checked_region("fit", max_fpr, 0.0)
    if max_fpr < 1.0 and not for_the_top(model):
        raise ValueError(f"--max-fpr is for methods that learn for the top: auto, RankSVM, SVMpAUC; {name} does not.")


def baseline(name: str, X: Any, seed: int) -> Named:
    """(name, model) of something that does not optimise AUC."""
    small = known_baseline(name).endswith("-small")
    if name == "logistic":
        return "LogisticRegression", make_pipeline(Columns(), baselines.logistic())
    if name == "ridge":
        return "RidgeClassifier (balanced)", make_pipeline(Columns(), baselines.ridge())
    if name.startswith("lightgbm"):
        with suppress(ImportError, OSError):  # without its OpenMP library it is installed, yet cannot be loaded
            return _lightgbm(X, seed, small)
    return _boosting(X, seed, small)


def _lightgbm(X: Any, seed: int, small: bool) -> Named:
    model = baselines.lightgbm(random_state=seed, n_jobs=1)
    if small:
        return "LightGBM (small trees)", _trees(baselines.SmallLightGBM(random_state=seed), X)
    return f"LightGBM ({baselines.N_TREES} trees)", _trees(model, X)


def _boosting(X: Any, seed: int, small: bool) -> Named:
    if sparse.issparse(X):
        raise ValueError("HistGradientBoostingClassifier cannot learn from sparse rows.")
    if small:
        return "HistGradientBoosting (small trees)", _trees(baselines.small_boosting(random_state=seed), X)
    return "HistGradientBoosting", _trees(baselines.boosting(random_state=seed), X)


def _trees(model: BaseEstimator, X: Any) -> BaseEstimator:
    """Trees want no scale, and know what is missing; only texts must become numbers for them."""
    return make_pipeline(Columns(scale=None), model) if is_frame(X) else model


def known_baseline(name: str) -> str:
    """The name, or a sentence where there is no such baseline."""
    if name not in BASELINE_NAMES:
        near = did_you_mean(name, BASELINE_NAMES)
        raise ValueError(f"--against must be some of {', '.join(BASELINE_NAMES)}; got {name!r}. {near}".rstrip())
    return name


def every_method() -> list[str]:
    """The names of all methods that learn from labelled rows alone, and "auto"."""
    return ["auto", *(method.name for method in METHODS if not method.semi_supervised)]


def refuse_unknown(methods: list[str], against: list[str]) -> None:
    """A sentence about the first name that is none, before any work."""
    for name in every_method() if methods == ["all"] else methods:
        ours(name, 0, 1.0)
        if learns_without_labels(name):
            raise ValueError(
                f"--methods must be of methods that learn from labelled rows; {name} learns from rows without labels "
                "as well. `auclid fit` trains it."
            )
    for name in against:
        known_baseline(name)
