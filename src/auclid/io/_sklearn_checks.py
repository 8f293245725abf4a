"""What classes of scikit-learn have learnt, checked beyond the table of `auclid.io._sklearn_types`.

Each check is given an object and returns what is wrong with it, or an empty string. An object that is not fitted
passes.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from auclid.io._learnt import is_int
from auclid.io._sklearn_types import MAX_NGRAM, MAX_POLYNOMIALS, PRE_DISPATCH, STEP_NAME, TOKEN_PATTERNS


def _vocabulary(model: Any) -> str:
    """SciPy follows the columns of words unchecked."""
    vocabulary = getattr(model, "vocabulary_", {})
    known = all(isinstance(word, str) and is_int(at) for word, at in vocabulary.items())
    if not known or sorted(vocabulary.values()) != list(range(len(vocabulary))):
        return "has a vocabulary that does not number its words from 0 on"
    names = getattr(model, "feature_names_", vocabulary)
    return "" if len(names) == len(vocabulary) else "has more or fewer names than words"


ENCODINGS = {"ascii", "cp1252", "iso-8859-1", "latin-1", "latin1", "utf-16", "utf-8", "utf-8-sig", "utf8"}


def _text(model: Any) -> str:
    """What a text costs is bounded, and no file is opened."""
    if model.token_pattern is not None and model.token_pattern not in TOKEN_PATTERNS:
        return "has a token_pattern that may take exponential time; only the usual ones are loaded from anybody"
    if model.ngram_range[1] > MAX_NGRAM:
        return f"has an ngram_range up to {model.ngram_range[1]}; at most {MAX_NGRAM} is loaded from anybody"
    if model.input != "content":
        return f"has input={model.input!r}: it would open the files that rows name"
    return "" if model.encoding.lower() in ENCODINGS else f"has the encoding {model.encoding[:20]!r}"


def _categories(model: Any) -> str:
    """SciPy follows the numbers of categories unchecked: they must be below the number of categories."""
    if not hasattr(model, "categories_"):
        return ""
    if not all(map(_is_category_list, model.categories_)):
        return "has categories that are neither texts nor sorted numbers"
    if not model._infrequent_enabled:
        return ""
    counts = map(len, model.categories_)
    known = all(map(_is_grouping, counts, model._infrequent_indices, model._default_to_infrequent_mappings))
    return "" if known else "groups infrequent categories that it does not have"


def _is_category_list(categories: np.ndarray) -> bool:
    """Whether all are texts, or numbers in ascending order; None and NaN come last."""
    values = [x for x in categories.tolist() if x is not None and x == x]
    if any(x is None or x != x for x in categories.tolist()[: len(values)]):
        return False
    if all(isinstance(x, str | bytes) for x in values):
        return len(set(values)) == len(values)
    numbers = all(isinstance(x, bool | int | float) for x in values)
    return numbers and all(a < b for a, b in pairwise(values))


def _is_grouping(n: int, group: np.ndarray | None, mapping: np.ndarray | None) -> bool:
    """Whether a mapping sends the categories of a group to one number, after those of all others in their order."""
    if group is None or mapping is None:
        return group is None and mapping is None
    if not len(group) or not _ascends(group, n):
        return False
    wanted = np.full(n, n - len(group))
    wanted[np.setdiff1d(np.arange(n), group)] = np.arange(n - len(group))
    return np.array_equal(mapping, wanted)


def _ascends(indices: np.ndarray, end: int) -> bool:
    """Whether indices ascend strictly from at least 0 to below ``end``."""
    return bool((np.diff(indices.astype(np.int64)) > 0).all() and 0 <= indices[0] and indices[-1] < end)


def _grouped_widths(model: Any) -> list[int]:
    """Categories of each feature; those of a group of infrequent ones count as one."""
    widths = [len(categories) for categories in model.categories_]
    if not model._infrequent_enabled:
        return widths
    sizes = [0 if group is None else len(group) - 1 for group in model._infrequent_indices]
    return [n - size for n, size in zip(widths, sizes, strict=True)]


def _one_hot_widths(model: Any) -> str:
    """The columns of each feature, which SciPy trusts, follow from categories, groups and what is dropped."""
    if not hasattr(model, "categories_"):
        return ""
    widths = _grouped_widths(model)
    dropped = model._drop_idx_after_grouping
    drops = [None] * len(widths) if dropped is None else dropped.tolist()
    if not all(drop is None or (is_int(drop) and 0 <= drop < n) for drop, n in zip(drops, widths, strict=True)):
        return "drops categories that it does not have"
    widths = [n - (drop is not None) for drop, n in zip(drops, widths, strict=True)]
    return "" if list(model._n_features_outs) == widths else "has more or fewer columns than categories"


def _bins(model: Any) -> str:
    """Each feature has ascending edges, and a category for each bin."""
    if not hasattr(model, "bin_edges_"):
        return ""
    for edges, n in zip(model.bin_edges_.tolist(), model.n_bins_.tolist(), strict=True):
        known = isinstance(edges, np.ndarray) and edges.dtype.kind == "f" and edges.shape == (n + 1,)
        if not known or not (np.diff(edges) >= 0.0).all():
            return "has bins whose edges do not ascend"
    encoder = getattr(model, "_encoder", None)
    counts = model.n_bins_.tolist() if encoder is None else [len(x) for x in encoder.categories_]
    return "" if counts == model.n_bins_.tolist() else "has an encoder of other bins"


def _polynomials(model: Any) -> str:
    """Degrees and numbers of columns are those of the parameters, and not too many."""
    if not hasattr(model, "n_output_features_"):
        return ""
    degree = max(np.atleast_1d(model.degree).tolist())
    columns = max(model.n_output_features_, model._n_out_full)
    if degree > 64 or model.n_features_in_ * max(columns, 1) > MAX_POLYNOMIALS:
        return f"makes {columns} columns of {model.n_features_in_}, more than are believed"
    twin = type(model)(**model.get_params(deep=False)).fit(np.zeros((1, model.n_features_in_)))
    names = ("_min_degree", "_max_degree", "n_output_features_", "_n_out_full")
    same = all(getattr(twin, name) == getattr(model, name) for name in names)
    return "" if same else "has other degrees than its parameters say"


def _boosted(model: Any) -> str:
    """Children of a node come after it, so that no walk is endless; features are among those known."""
    if not hasattr(model, "_predictors"):
        return ""
    if model._preprocessor is not None:
        return "splits categories, which it encodes with a function"
    mapper = model._bin_mapper
    known = len(mapper.bin_thresholds_) == model.n_features_in_ and not mapper.is_categorical_.any()
    trees = (tree for trees in model._predictors for tree in trees)
    return "" if known and all(_is_tree(tree.nodes, model.n_features_in_) for tree in trees) else LOST


LOST = "has trees that lead nowhere"


def _is_tree(nodes: Any, d: int) -> bool:
    """Whether the nodes of a tree lead to later nodes, by numeric splits of the first d features."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    if nodes.dtype != PREDICTOR_RECORD_DTYPE or not len(nodes):
        return False
    at = np.flatnonzero(nodes["is_leaf"] == 0)
    inner = nodes[at]
    forward = all(((at < inner[side]) & (inner[side] < len(nodes))).all() for side in ("left", "right"))
    columns = ((0 <= inner["feature_idx"]) & (inner["feature_idx"] < d)).all()
    return bool(forward and columns and not inner["is_categorical"].any())


def _bagged(model: Any) -> str:
    """As many members as the parameter says, each of columns that are there."""
    if not hasattr(model, "estimators_"):
        return ""
    if len(model.estimators_) != model.n_estimators:
        return "has more or fewer members than its parameters say"
    inside = all(_is_inside(columns, model.n_features_in_) for columns in model.estimators_features_)
    return "" if inside else "has members of columns that are not there"


def _is_inside(indices: np.ndarray, end: int) -> bool:
    return not len(indices) or bool(0 <= indices.min() and indices.max() < end)


def _missing_columns(model: Any) -> str:
    inside = not hasattr(model, "features_") or _is_inside(model.features_, model._n_features)
    return "" if inside else "has columns that are not there"


def _stacked(model: Any) -> str:
    methods, widths = getattr(model, "stack_method_", []), getattr(model, "_n_feature_outs", [])
    if not set(methods) <= {"predict_proba", "decision_function", "predict", "drop"}:
        return "calls other methods than those that predict"
    return "" if all(width <= len(model.classes_) for width in widths) else "has more columns than classes"


def _discriminant(model: Any) -> str:
    most = len(getattr(model, "classes_", ()))
    known = max(getattr(model, "_n_features_out", 0), getattr(model, "_max_components", 0)) <= most
    return "" if known else "has more components than classes"


def _votes(model: Any) -> str:
    return "" if model.voting == "soft" else "counts votes in an array as long as the largest label; use voting='soft'"


def _dummy(model: Any) -> str:
    return "has sparse output" if getattr(model, "sparse_output_", False) else ""


def _one_vs_one(model: Any) -> str:
    k = len(getattr(model, "classes_", ()))
    known = not hasattr(model, "estimators_") or len(model.estimators_) == k * (k - 1) // 2
    return "" if known else "has more or fewer members than pairs of classes"


def _isotonic(model: Any) -> str:
    known = not hasattr(model, "X_thresholds_") or (np.diff(model.X_thresholds_) >= 0.0).all()
    return "" if known else "has thresholds that do not ascend"


def _importances(model: Any) -> str:
    getter = model.importance_getter
    known = isinstance(getter, str) and re.fullmatch(r"auto|(named_steps\.\w+\.)?(coef_|feature_importances_)", getter)
    return "" if known else "has an importance_getter of its own"


def _function_arguments(model: Any) -> str:
    return "passes arguments to its function" if model.kw_args or model.inv_kw_args else ""


def _search(model: Any) -> str:
    known = re.fullmatch(PRE_DISPATCH, str(model.pre_dispatch))
    return "" if known else "has a pre_dispatch of its own"


def _step_names(model: Any) -> str:
    """Names of steps hold no characters that act in HTML."""
    for attribute in ("steps", "transformer_list", "transformers", "transformers_", "estimators"):
        for step in getattr(model, attribute, None) or ():
            if not isinstance(step[0], str) or not re.fullmatch(STEP_NAME, step[0]):
                return "has a step whose name is no plain text"
    return ""


CHECKS: dict[str, tuple[Callable[[Any], str], ...]] = {
    "BaggingClassifier": (_bagged,),
    "ColumnTransformer": (_step_names,),
    "CountVectorizer": (_vocabulary, _text),
    "DictVectorizer": (_vocabulary,),
    "DummyClassifier": (_dummy,),
    "FeatureUnion": (_step_names,),
    "FunctionTransformer": (_function_arguments,),
    "GridSearchCV": (_search,),
    "HistGradientBoostingClassifier": (_boosted,),
    "HistGradientBoostingRegressor": (_boosted,),
    "IsotonicRegression": (_isotonic,),
    "KBinsDiscretizer": (_bins,),
    "LinearDiscriminantAnalysis": (_discriminant,),
    "MissingIndicator": (_missing_columns,),
    "OneHotEncoder": (_categories, _one_hot_widths),
    "OneVsOneClassifier": (_one_vs_one,),
    "OrdinalEncoder": (_categories,),
    "Pipeline": (_step_names,),
    "PolynomialFeatures": (_polynomials,),
    "RandomizedSearchCV": (_search,),
    "SelectFromModel": (_importances,),
    "StackingClassifier": (_step_names, _stacked),
    "TfidfVectorizer": (_vocabulary, _text),
    "VotingClassifier": (_step_names, _votes),
}
"""The checks of each class."""
