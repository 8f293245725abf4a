"""scikit-learn's parts: shells around our estimators natively, everything else through skops."""

from importlib import import_module
from io import BytesIO
from zipfile import ZipFile

from auclid.io._archive import ModelFileError, stored
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

TRUSTED = {
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._ranking.roc_auc_score",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.RepeatedStratifiedKFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.utils._bunch.Bunch",
}
"""Types that may be loaded besides those that skops trusts: scikit-learn's estimators, NumPy's types."""


def is_shell(value):
    """Whether it is scikit-learn's and one of our estimators is somewhere inside."""
    return _from(value, "sklearn") and _holds_ours(value)


def _from(value, package):
    return type(value).__module__.partition(".")[0] == package


def _holds_ours(value):
    if isinstance(value, dict):
        return any(_holds_ours(x) for x in value.values())
    if isinstance(value, list | tuple):
        return any(_holds_ours(x) for x in value)
    inside = _from(value, "sklearn") and hasattr(value, "__dict__")
    return is_ours(value) or (inside and _holds_ours(vars(value)))


def write_shell(value, out):
    """[class, {attribute: value}]"""
    name = type(value).__name__
    if name not in SHELLS:
        raise TypeError(
            f"save must be given a model of parts it knows; got {name} around an estimator of auclid."
        )
    state = dict(value) if isinstance(value, dict) else value.__getstate__()
    return [name, {key: out.item(x) for key, x in state.items()}]


def read_shell(tree, source):
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


def write_part(value, out):
    """The name of a member in skops' format."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if not any(_from(value, package) for package in ("sklearn", "numpy", "scipy", "builtins")):
        raise TypeError(
            f"save must be given a model of parts it knows, auclid's and scikit-learn's; got {kind}."
        )
    content = _skops().dumps(value)
    strange = _strange(content)
    if strange:
        raise TypeError(
            f"save must be given a model of parts it knows; got {', '.join(strange)} in a {kind}."
        )
    return out.member(content, "skops")


def read_part(tree, source):
    """Loaded only where every type in it is known, and nothing in it is compressed."""
    content = source.members[tree]
    with ZipFile(BytesIO(content)) as archive:
        stored(archive.infolist(), len(content))
    strange = _strange(content)
    if strange:
        raise ModelFileError(f"it holds {', '.join(strange)}, which auclid does not load.")
    return _skops().loads(content, trusted=sorted(TRUSTED))


def _strange(content):
    return sorted(set(_skops().get_untrusted_types(data=content)) - TRUSTED)


def _skops():
    try:
        import skops.io
    except ImportError:
        raise ImportError(
            "Models with parts of scikit-learn are saved and loaded through skops, which is not installed: "
            "pip install 'auclid[io]'."
        ) from None
    return skops.io
