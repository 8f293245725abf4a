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
from typing import Any
from zipfile import ZipFile

import numpy as np
import sklearn

from auclid.io._container import ModelFileError, check_stored, parse_json
from auclid.io._learnt import check_attributes, parse_specs
from auclid.io._names import class_path, find_class
from auclid.io._sklearn_checks import CHECKS
from auclid.io._sklearn_types import ANY_ESTIMATOR, FUNCTIONS, MAX_UNTIED_FEATURES, SKLEARN_TYPES
from auclid.io._values import Kind, ValueReader, Writer, by_simpler

HOMES = {name: module for module, classes in SKLEARN_TYPES.items() for name in classes}
"""Class to the module that exports it."""


def sklearn_kinds(trusted: Collection[str] = ()) -> list[Kind]:
    """The kinds of values that belong to scikit-learn; the last takes what no other does, and refuses most of it."""
    return [
        Kind("skops", lambda value: class_path(type(value)) in trusted, _write_skops, _read_skops),
        Kind("sklearn", _is_listed, _write_object, _read_object),
        by_simpler("function", lambda value: _function_name(value) is not None, _function_name, _function),
        by_simpler("scorer", lambda value: _scorer_name(value) is not None, _scorer_name, _scorer),
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
            f"If those who load it trust you, pass trusted=[{class_path(cls)!r}]."
        )
    check_object(value)
    return [cls.__name__, {key: out.encode(x) for key, x in state.items()}]


def _read_object(tree: Any, source: ValueReader) -> Any:
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
    """The attributes of a file, with the parameters of this version of scikit-learn."""
    specs, parameters = specifications(cls.__name__), _parameters(cls.__name__)
    unknown = [key for key in state if key not in parameters and specs.get(key, "derived") == "derived"]
    if unknown:
        raise ModelFileError(f"its {cls.__name__} has {unknown[0]!r}, an attribute that auclid does not know.")
    state = {key: x for key, x in state.items() if key in parameters or specs[key] != "versioned"}
    state |= {key: default for key, default in parameters.items() if key not in state or _is_default(key, state[key])}
    absent = [key for key, x in state.items() if x is inspect.Parameter.empty]
    if absent:
        raise ModelFileError(f"its {cls.__name__} lacks {absent[0]!r}.")
    return state


def _is_default(key: str, value: Any) -> bool:
    """Whether a value stands for the default of a parameter in one version of scikit-learn; another may not know it."""
    return isinstance(value, str) and value in ("warn", "deprecated") and key != "handle_unknown"


NEUTRAL = {"n_jobs": None, "memory": None}
"""Parameters that a file may not choose: it could start processes, or make joblib write and read pickles."""


def _neutralize(name: str, state: dict[str, Any], source: ValueReader) -> None:
    """Set parameters that a file may not choose to their defaults."""
    for key, default in NEUTRAL.items():
        if state.get(key, default) is not default:
            source.neutralized.append(f"{key} of {name}")
            state[key] = default
    if "n_threads" in state:
        state["n_threads"] = 1


def check_object(value: Any) -> None:
    """Raise unless the parameters of an object of the table are valid and what it has learnt fits together."""
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
    learnt = (attributes.get(key) for key in per_feature)
    if d > MAX_UNTIED_FEATURES and all(x is None or np.isscalar(x) for x in learnt):  # a count is one number for all
        raise ModelFileError(f"its {name} claims {d} features; at most {MAX_UNTIED_FEATURES} are believed.")


# --- attributes that are computed again ----------------------------------------------------------------


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


def _derive_classes(model: Any) -> None:
    """Labels, which scikit-learn 1.7 keeps in another place."""
    if hasattr(model, "_label_binarizer") and not hasattr(model, "classes_"):
        model.classes_ = model._label_binarizer.classes_


def _derive_fill_dtype(model: Any) -> None:
    """The type that gaps are filled in, which scikit-learn 1.7 does not keep."""
    known = hasattr(model, "_fill_dtype") or sklearn.__version__.startswith("1.7.")
    if hasattr(model, "_fit_dtype") and not known:
        model._fill_dtype = model._fit_dtype


DERIVED: dict[str, Callable[[Any], None]] = {
    "HistGradientBoostingClassifier": _derive_loss,
    "HistGradientBoostingRegressor": _derive_loss,
    "IsotonicRegression": _derive_interpolation,
    "RepeatedStratifiedKFold": _derive_splitter,
    "RidgeClassifier": _derive_classes,
    "RidgeClassifierCV": _derive_classes,
    "SimpleImputer": _derive_fill_dtype,
    "StackingClassifier": _derive_named_estimators,
    "TunedThresholdClassifierCV": _derive_curve_scorer,
    "VotingClassifier": _derive_named_estimators,
}
"""How attributes are computed that are not written."""


# --- functions and scorers ------------------------------------------------------------------------------


def _function_name(value: Any) -> str | None:
    """Module and name of a listed function."""
    if not callable(value) or isinstance(value, type):
        return None
    name = getattr(value, "__name__", "")
    homes = (module for module, names in FUNCTIONS.items() if name in names.split())
    return next((f"{module}.{name}" for module in homes if find_class(f"{module}.{name}") is value), None)


def _function(name: Any) -> Any:
    if not isinstance(name, str) or name not in {f"{module}.{x}" for module, s in FUNCTIONS.items() for x in s.split()}:
        raise ModelFileError(f"it holds a function {name!r}, which auclid does not load.")
    return find_class(name)


def _scorer_name(value: Any) -> str | None:
    """The name by which scikit-learn knows a scorer."""
    if class_path(type(value)) != "sklearn.metrics._scorer._Scorer":
        return None
    from sklearn.metrics import get_scorer, get_scorer_names

    parts = ("_score_func", "_sign", "_kwargs", "_response_method")
    wanted = [getattr(value, part) for part in parts]
    names: Iterable[str] = get_scorer_names()
    return next((name for name in names if [getattr(get_scorer(name), part) for part in parts] == wanted), None)


def _scorer(name: Any) -> Any:
    from sklearn.metrics import get_scorer, get_scorer_names

    if not isinstance(name, str) or name not in get_scorer_names():
        raise ModelFileError(f"it holds a scorer {name!r}, which scikit-learn does not have.")
    return get_scorer(name)


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
            f"If those who load it trust you, pass trusted={strange}."
        )
    return out.add_entry(content, "skops")


def _read_skops(tree: Any, source: ValueReader) -> Any:
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
