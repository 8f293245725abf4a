"""scikit-learn's parts: shells around our estimators natively, everything else through skops."""

from importlib import import_module
from typing import Any

from auclid.io import _skops
from auclid.io._archive import ModelFileError
from auclid.io._objects import is_ours

SHELLS = {
    "Pipeline": "sklearn.pipeline",
    "FeatureUnion": "sklearn.pipeline",
    "ColumnTransformer": "sklearn.compose",
    "CalibratedClassifierCV": "sklearn.calibration",
    "_CalibratedClassifier": "sklearn.calibration",
    "FrozenEstimator": "sklearn.frozen",
    "GridSearchCV": "sklearn.model_selection",
    "RandomizedSearchCV": "sklearn.model_selection",
    "FixedThresholdClassifier": "sklearn.model_selection",
    "TunedThresholdClassifierCV": "sklearn.model_selection",
    "VotingClassifier": "sklearn.ensemble",
    "StackingClassifier": "sklearn.ensemble",
    "BaggingClassifier": "sklearn.ensemble",
    "OneVsRestClassifier": "sklearn.multiclass",
    "_PassthroughScorer": "sklearn.metrics._scorer",
    "Bunch": "sklearn.utils",
}
"""What may stand around an estimator of ours, and where it is found."""


def is_shell(value: Any) -> bool:
    """Whether it is scikit-learn's and one of our estimators is somewhere inside."""
    return _from(value, "sklearn") and _holds_ours(value)


def _from(value: Any, package: str) -> bool:
    return type(value).__module__.partition(".")[0] == package


def _holds_ours(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_ours(x) for x in value.values())
    if isinstance(value, list | tuple):
        return any(_holds_ours(x) for x in value)
    inside = _from(value, "sklearn") and hasattr(value, "__dict__")
    return is_ours(value) or (inside and _holds_ours(vars(value)))


def write_shell(value: Any, out: Any) -> list:
    """[class, {attribute: value}]"""
    name = type(value).__name__
    if name not in SHELLS:
        raise TypeError(f"save must be given a model of parts it knows; got {name} around an estimator of auclid.")
    state = dict(value) if isinstance(value, dict) else value.__getstate__()
    return [name, {key: out.item(x) for key, x in state.items()}]


def read_shell(tree: Any, source: Any) -> Any:
    """The same class with the same attributes; scikit-learn warns where its version was another."""
    name, state = tree
    if name not in SHELLS:
        raise ModelFileError(f"it holds a {name!r}, which auclid does not load.")
    cls = getattr(import_module(SHELLS[name]), name)
    state = {key: source.item(x) for key, x in state.items()}
    if issubclass(cls, dict):
        return cls(**state)
    value = cls.__new__(cls)
    getattr(value, "__setstate__", vars(value).update)(state)
    return value


def write_part(value: Any, out: Any) -> str:
    """The name of a member in skops' format."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if not any(_from(value, package) for package in ("sklearn", "numpy", "scipy", "builtins")):
        raise TypeError(f"save must be given a model of parts it knows, auclid's and scikit-learn's; got {kind}.")
    content = _skops.dumped(value)
    strange = _skops.strange_types(content, out.trusted)
    if strange:
        raise TypeError(
            f"save must be given a model of parts it knows; got {', '.join(strange)} in a {kind}. "
            f"If whoever loads it will trust you, pass trusted={strange}."
        )
    return out.member(content, "skops")


def read_part(tree: Any, source: Any) -> Any:
    """Loaded only where every type in it is trusted, and what it holds is sound."""
    return _skops.loaded(source.member(tree), source.trusted)
