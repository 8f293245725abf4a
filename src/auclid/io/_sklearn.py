"""Objects of scikit-learn: written attribute by attribute, and checked when they are read.

An object is read only if its class is in `auclid.io._sklearn_types`, if each of its attributes is a parameter or in
that table, and if what it has learnt fits together. Classes outside the table are kept through skops, and only where
the caller names them as trusted.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from io import BytesIO
from itertools import pairwise
from typing import Any
from zipfile import ZipFile

import numpy as np

from auclid.io._container import ModelFileError, check_stored, parse_json
from auclid.io._learnt import check_attributes, is_int, parse_specs
from auclid.io._names import class_path, find_class
from auclid.io._sklearn_types import (
    ANY_ESTIMATOR,
    FUNCTIONS,
    MAX_NGRAM,
    MAX_POLYNOMIALS,
    MAX_UNTIED_FEATURES,
    PRE_DISPATCH,
    SKLEARN_TYPES,
    STEP_NAME,
    TOKEN_PATTERNS,
)
from auclid.io._values import Kind, Reader, Writer

HOMES = {name: module for module, classes in SKLEARN_TYPES.items() for name in classes}
"""Class to the module that exports it."""


def sklearn_kinds(trusted: Collection[str] = ()) -> list[Kind]:
    """The kinds of values that belong to scikit-learn; the last takes what no other does, and refuses most of it."""
    return [
        Kind("skops", lambda value: class_path(type(value)) in trusted, _write_skops, _read_skops),
        Kind("sklearn", _is_listed, _write_object, _read_object),
        Kind("function", lambda value: _function_name(value) is not None, _write_function, _read_function),
        Kind("scorer", lambda value: _scorer_name(value) is not None, _write_scorer, _read_scorer),
        Kind("skops", lambda value: True, _write_skops, _read_skops),
    ]


# --- objects of listed classes --------------------------------------------------------------------------


def _is_listed(value: Any) -> bool:
    """Whether its class is in the table."""
    cls = type(value)
    return cls.__module__.startswith("sklearn.") and cls.__name__ in HOMES and find_sklearn(cls.__name__) is cls


def find_sklearn(name: str) -> Any:
    """Import a class of the table."""
    return find_class(f"{HOMES[name]}.{name}")


@cache
def specifications(name: str) -> dict[str, str]:
    """The attributes of a class besides its parameters, with their specifications."""
    return parse_specs(ANY_ESTIMATOR + SKLEARN_TYPES[HOMES[name]][name])


@cache
def _parameters(name: str) -> dict[str, Any]:
    """The parameters of a class with their defaults; `inspect.Parameter.empty` where there is none."""
    cls = find_sklearn(name)
    if not hasattr(cls, "get_params"):
        return {}
    return {
        name: parameter.default
        for name, parameter in inspect.signature(cls.__init__).parameters.items()
        if name != "self" and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def _write_object(value: Any, out: Writer) -> Any:
    """[class, {attribute: value}], without what is derived."""
    cls = type(value)
    specs, parameters = specifications(cls.__name__), _parameters(cls.__name__)
    state = {key: x for key, x in vars(value).items() if specs.get(key) != "derived"}
    unknown = sorted(set(state) - set(specs) - set(parameters))
    if unknown:
        raise TypeError(
            f"save must be given a model of parts it knows; got a {cls.__name__} with {', '.join(unknown)}. "
            f"If whoever loads it will trust you, pass trusted=[{class_path(cls)!r}]."
        )
    check_object(value)
    return [cls.__name__, {key: out.encode(x) for key, x in state.items()}]


def _read_object(tree: Any, source: Reader) -> Any:
    """An object with the attributes of the file, if all of them are known and fit together."""
    name, attributes = tree
    if not isinstance(name, str) or name not in HOMES:
        raise ModelFileError(f"it holds a {name!r}, which auclid does not load.")
    cls = find_sklearn(name)
    state = _known_attributes(cls, {key: source.decode(x) for key, x in attributes.items()})
    _neutralize(name, state, source)
    value = cls.__new__(cls)
    vars(value).update(state)
    check_object(value)
    if name in DERIVED:
        DERIVED[name](value)
    source.has_sklearn_parts = True
    return value


def _known_attributes(cls: type[Any], state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a file without former parameters, and with the defaults of those that are new."""
    specs, parameters = specifications(cls.__name__), _parameters(cls.__name__)
    unknown = [key for key in state if key not in parameters and specs.get(key, "derived") == "derived"]
    if unknown:
        raise ModelFileError(f"its {cls.__name__} has {unknown[0]!r}, an attribute that auclid does not know.")
    state = {key: x for key, x in state.items() if key in parameters or specs[key] != "former"}
    state = {**{key: default for key, default in parameters.items() if key not in state}, **state}
    absent = [key for key, x in state.items() if x is inspect.Parameter.empty]
    if absent:
        raise ModelFileError(f"its {cls.__name__} lacks {absent[0]!r}.")
    return state


NEUTRAL = {"n_jobs": None, "memory": None}
"""Parameters that a file may not choose: it could start processes, or make joblib write and read pickles."""


def _neutralize(name: str, state: dict[str, Any], source: Reader) -> None:
    """Set parameters that a file may not choose to their defaults."""
    for key, default in NEUTRAL.items():
        if state.get(key, default) is not default:
            source.neutralized.append(f"{key} of {name}")
            state[key] = default
    if "n_threads" in state:
        state["n_threads"] = 1


def check_object(value: Any) -> None:
    """Raise unless parameters are valid and what the object has learnt fits together.

    Parameters
    ----------
    value : object of a class in the table
    """
    name = type(value).__name__
    check_attributes(name, ANY_ESTIMATOR + SKLEARN_TYPES[HOMES[name]][name], vars(value))
    _check_feature_count(value)
    if hasattr(value, "_parameter_constraints"):
        value._validate_params()
    for check in CHECKS.get(name, ()):
        reason = check(value)
        if reason:
            raise ModelFileError(f"its {name} {reason}.")


def _check_feature_count(value: Any) -> None:
    """Raise if an object claims very many features without having learnt anything of them."""
    name, attributes = type(value).__name__, vars(value)
    d = attributes.get("n_features_in_", 0)
    per_feature = (key for key, spec in specifications(name).items() if re.search(r"\[(.*,)?d\]", spec))
    if d > MAX_UNTIED_FEATURES and all(attributes.get(key) is None for key in per_feature):
        raise ModelFileError(f"its {name} claims {d} features; at most {MAX_UNTIED_FEATURES} are believed.")


# --- what classes need besides the table ----------------------------------------------------------------


def _derive_loss(model: Any) -> None:
    """The loss of boosted trees, which has compiled parts."""
    if hasattr(model, "n_trees_per_iteration_"):
        model._loss = model._get_loss(sample_weight=None)


def _derive_interpolation(model: Any) -> None:
    """The function of an isotonic regression."""
    if hasattr(model, "X_thresholds_"):
        model._build_f(model.X_thresholds_, model.y_thresholds_)


def _derive_named_estimators(model: Any) -> None:
    """The members of an ensemble by name."""
    if hasattr(model, "estimators_"):
        from sklearn.utils import Bunch

        fitted = iter(model.estimators_)
        named = {name: "drop" if isinstance(member, str) else next(fitted) for name, member in model.estimators}
        model.named_estimators_ = Bunch(**named)


def _derive_curve_scorer(model: Any) -> None:
    """The scorer of a tuned threshold."""
    if hasattr(model, "best_threshold_"):
        model._curve_scorer = model._get_curve_scorer()


def _derive_splitter(model: Any) -> None:
    """The class whose splits are repeated."""
    model.cv = find_sklearn("StratifiedKFold")


DERIVED: dict[str, Callable[[Any], None]] = {
    "HistGradientBoostingClassifier": _derive_loss,
    "HistGradientBoostingRegressor": _derive_loss,
    "IsotonicRegression": _derive_interpolation,
    "RepeatedStratifiedKFold": _derive_splitter,
    "StackingClassifier": _derive_named_estimators,
    "TunedThresholdClassifierCV": _derive_curve_scorer,
    "VotingClassifier": _derive_named_estimators,
}
"""How attributes are computed that are not written."""


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


def _one_hot_widths(model: Any) -> str:
    """The columns of each feature, which SciPy trusts, follow from categories, groups and what is dropped."""
    if not hasattr(model, "categories_"):
        return ""
    widths = [len(categories) for categories in model.categories_]
    if model._infrequent_enabled:
        sizes = [0 if group is None else len(group) - 1 for group in model._infrequent_indices]
        widths = [n - size for n, size in zip(widths, sizes, strict=True)]
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
"""Checks beyond the table: each returns what is wrong, or nothing."""


# --- functions and scorers ------------------------------------------------------------------------------


def _function_name(value: Any) -> str | None:
    """Module and name of a listed function."""
    if not callable(value) or isinstance(value, type):
        return None
    name = getattr(value, "__name__", "")
    homes = (module for module, names in FUNCTIONS.items() if name in names.split())
    return next((f"{module}.{name}" for module in homes if find_class(f"{module}.{name}") is value), None)


def _write_function(value: Any, out: Writer) -> str | None:
    return _function_name(value)


def _read_function(tree: Any, source: Reader) -> Any:
    if not isinstance(tree, str) or tree not in {f"{module}.{x}" for module, s in FUNCTIONS.items() for x in s.split()}:
        raise ModelFileError(f"it holds a function {tree!r}, which auclid does not load.")
    return find_class(tree)


def _scorer_name(value: Any) -> str | None:
    """The name by which scikit-learn knows a scorer."""
    if class_path(type(value)) != "sklearn.metrics._scorer._Scorer":
        return None
    from sklearn.metrics import get_scorer, get_scorer_names

    parts = ("_score_func", "_sign", "_kwargs", "_response_method")
    wanted = [getattr(value, part) for part in parts]
    names: Iterable[str] = get_scorer_names()
    return next((name for name in names if [getattr(get_scorer(name), part) for part in parts] == wanted), None)


def _write_scorer(value: Any, out: Writer) -> str | None:
    return _scorer_name(value)


def _read_scorer(tree: Any, source: Reader) -> Any:
    from sklearn.metrics import get_scorer, get_scorer_names

    if not isinstance(tree, str) or tree not in get_scorer_names():
        raise ModelFileError(f"it holds a scorer {tree!r}, which scikit-learn does not have.")
    return get_scorer(tree)


# --- classes outside the table, through skops -----------------------------------------------------------


def _write_skops(value: Any, out: Writer) -> str:
    """The name of an entry in skops' format, where all of its types are trusted."""
    kind = class_path(type(value))
    if kind.partition(".")[0] not in ("sklearn", "numpy", "scipy", "builtins"):
        raise TypeError(f"save must be given a model of parts it knows, auclid's and scikit-learn's; got {kind}.")
    content: bytes = _skops().dumps(value)
    strange = _untrusted_types(content, out.trusted)
    if any(name.startswith("auclid.") for name in strange):
        raise TypeError(f"save must be given a model of parts it knows; got {kind} around an estimator of auclid.")
    if strange:
        raise TypeError(
            f"save must be given a model of parts it knows; got {', '.join(strange)} in a {kind}. "
            f"If whoever loads it will trust you, pass trusted={strange}."
        )
    return out.add_entry(content, "skops")


def _read_skops(tree: Any, source: Reader) -> Any:
    """An object in skops' format, where the caller trusts all of its types."""
    content = source.take_entry(tree)
    strange = _untrusted_types(content, source.trusted)
    if strange or not source.trusted:
        raise ModelFileError(
            f"it holds {', '.join(strange) or 'parts in the format of skops'}, which auclid loads from nobody it does "
            f"not know. If you know who made the file, pass trusted={strange}."
        )
    source.has_sklearn_parts = True
    return _skops().loads(content, trusted=sorted(source.trusted))


def _untrusted_types(content: bytes, trusted: Collection[str]) -> list[str]:
    """The types of scikit-learn, and those that skops does not trust, which the caller did not name."""
    with ZipFile(BytesIO(content)) as archive:
        check_stored(archive.infolist(), len(content))
        named = {name for name in _named_types(parse_json(archive.read("schema.json"))) if name.startswith("sklearn.")}
    return sorted((named | set(_skops().get_untrusted_types(data=content))) - set(trusted))


def _named_types(tree: Any) -> Iterator[str]:
    """Every type that skops' description names."""
    if isinstance(tree, dict):
        if "__class__" in tree and "__module__" in tree:
            yield f"{tree['__module__']}.{tree['__class__']}"
        tree = list(tree.values())
    if isinstance(tree, list):
        for inside in tree:
            yield from _named_types(inside)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ImportError(
            "Types of scikit-learn that you trust are saved and loaded through skops, which is not installed: "
            "pip install 'auclid[io]'."
        ) from None
    return skops.io
