"""Saving and loading a model."""

import json
import os
import warnings
from collections.abc import Sequence
from typing import Any

import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from auclid.io._container import ModelFileError, parse_json, read_container, write_container
from auclid.io._learnt import check_estimator, parse_specs
from auclid.io._names import ESTIMATORS, STRUCTS
from auclid.io._sklearn import sklearn_kinds
from auclid.io._values import VALUE_KINDS, Kind, ValueReader, Writer

Path = str | os.PathLike[str]

MODEL = "model.json"

MAX_REFUSAL = 400
"""Characters of the reason for a refusal: some quote what a hostile file holds."""

TRANSIENT = {"_skl_callbacks", "_skl_callbacks_to_teardown", "_parent_callback_ctx"}
"""Attributes through which scikit-learn reports the progress of a fit; they are not part of a model."""


def save(path: Any, model: Any, *, about: Any = None, trusted: Sequence[str] = ()) -> None:
    """Write a model to a file that anybody may load: arrays and JSON, no pickle.

    Estimators of auclid are kept with their state, so that a loaded online model goes on learning to the same bits.
    Parts of scikit-learn around and inside them (pipelines, scalers, encoders, linear models, boosted trees,
    calibrators, searches) are kept from a fixed list of types. The file is written beside ``path``, then renamed.

    Parameters
    ----------
    path : str or path-like
        It may also come second, as in joblib: ``save(model, path)``.
    model : estimator, fitted
        One that auclid exports, or a scikit-learn one. Functions, such as a callable kernel, are refused.
    about : dict, optional
        Anything JSON can hold, to go along with the model; `auclid.io.about` reads it back.
    trusted : sequence of str, optional
        Types of scikit-learn, with their modules, to keep through skops (``pip install 'auclid[io]'``) although they
        are not on the list of those that `load` takes from anybody. `load` needs the same names.

    Examples
    --------
    >>> import tempfile, auclid
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> model = auclid.LeastSquaresAUC().fit(X, y)
    >>> path = tempfile.mkdtemp() + "/model.auclid"
    >>> auclid.save(path, model)
    >>> bool((auclid.load(path).decision_function(X) == model.decision_function(X)).all())
    True
    """
    path, model = _in_order(path, model)
    writer = Writer([*VALUE_KINDS, *OBJECT_KINDS, *sklearn_kinds(trusted)], trusted)
    try:
        structure = json.dumps(writer.encode(model)).encode()
    except ModelFileError as error:  # what would be refused by load
        raise TypeError(f"save must be given a model that can be loaded from anybody; {error}") from None
    if not is_fitted(model):
        raise NotFittedError(
            f"save must be given a fitted model; this {type(model).__name__} has learnt nothing yet. Fit it first."
        )
    write_container(path, {MODEL: structure, **writer.entries}, {"about": about})


def _in_order(path: Any, model: Any) -> tuple[Any, Any]:
    """(path, model), whichever came first."""
    if isinstance(path, BaseEstimator) and not isinstance(model, BaseEstimator):
        path, model = model, path
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"save must be given an estimator; got {type(model).__name__}.")
    if isinstance(path, BaseEstimator):
        raise TypeError(f"save must be given a path for the model; got another one, {type(path).__name__}.")
    return path, model


def is_fitted(model: BaseEstimator) -> bool:
    """Whether a model has learnt anything: scikit-learn's own question, or attributes that no parameter is."""
    while isinstance(model, Pipeline) and model.steps:
        model = model.steps[-1][1]
    if not isinstance(model, BaseEstimator) or not get_tags(model).requires_fit:
        return True
    if hasattr(model, "__sklearn_is_fitted__"):
        return bool(model.__sklearn_is_fitted__())
    return bool(set(vars(model)) - set(model.get_params(deep=False)) - TRANSIENT)


def load(path: Path, *, trusted: Sequence[str] = ()) -> Any:
    """The model that `save` wrote. No code from the file runs, whoever wrote it.

    Parameters
    ----------
    path : str or path-like
    trusted : sequence of str, optional
        Types of scikit-learn, with their modules, to load besides those that can be taken from anybody. Such a file can
        end the process (an index out of range in compiled code), so name them only if you know who made it.

    Returns
    -------
    estimator

    Raises
    ------
    auclid.io.ModelFileError
        A ValueError: the file is damaged, hostile, of a newer format or no model file at all.

    Warns
    -----
    UserWarning
        If the file sets ``n_jobs`` or ``memory`` of a part of scikit-learn. They are left at None, since a file may not
        start processes or choose a folder to write to.
    sklearn.exceptions.InconsistentVersionWarning
        If another version of scikit-learn wrote parts of the model.
    """
    head, entries = read_container(path)
    reader = ValueReader([*VALUE_KINDS, *OBJECT_KINDS, *sklearn_kinds()], entries, trusted)
    try:
        model = reader.decode(parse_json(entries.pop(MODEL)))
        if not isinstance(model, BaseEstimator):
            raise ModelFileError(f"it describes a {type(model).__name__}, no estimator.")
    except ImportError:
        raise
    except Exception as error:  # a file with a right checksum may still hold anything
        reason = str(error) if isinstance(error, ModelFileError) else f"{type(error).__name__}: {error}"
        reason = " ".join(reason.split())[:MAX_REFUSAL]
        raise ModelFileError(f"{str(path)!r} must describe a model that auclid knows; {reason}") from None
    _warn(model, reader, str(head.get("scikit-learn"))[:20])
    return model


def _warn(model: Any, reader: ValueReader, version: str) -> None:
    """Say what of a file was not taken over, and that another scikit-learn wrote it."""
    if reader.neutralized:
        names = ", ".join(sorted(set(reader.neutralized)))
        warnings.warn(
            f"The file sets {names}; left at None, since a file may not start processes or choose a folder to write "
            "to. Set them with set_params.",
            UserWarning,
            stacklevel=3,
        )
    if reader.has_sklearn_parts and version != sklearn.__version__:
        warnings.warn(
            InconsistentVersionWarning(
                estimator_name=type(model).__name__,
                current_sklearn_version=sklearn.__version__,
                original_sklearn_version=version,
            ),
            stacklevel=3,
        )


def about(path: Path) -> Any:
    """What `save` was given to go along with the model.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict or None
    """
    return read_container(path)[0].get("about")


# --- auclid's own objects -------------------------------------------------------------------------------


def _is_ours(value: Any) -> bool:
    """Whether an object is an estimator of auclid, or of a class derived from one."""
    return isinstance(value, BaseEstimator) and any(cls.__module__.startswith("auclid.") for cls in type(value).__mro__)


def _is_struct(value: Any) -> bool:
    """Whether an object is a named tuple or a dataclass that files know."""
    return STRUCTS.of(value) is not None


def _write_struct(value: Any, out: Writer) -> Any:
    """[name, {field: value}]"""
    entry = STRUCTS.of(value)
    assert entry is not None
    return [entry.name, {field: out.encode(getattr(value, field)) for field in _field_names(type(value))}]


def _read_struct(tree: Any, source: ValueReader) -> Any:
    """A struct of the table, if the file has just the fields that it needs."""
    name, fields = tree
    entry, change = STRUCTS.find(name)
    fields = change.apply({field: source.decode(x) for field, x in fields.items()})
    wanted = _field_names(entry.cls)
    if set(fields) != set(wanted):
        raise ModelFileError(f"it holds a struct {name!r} with the fields {list(fields)}, not {wanted}.")
    return entry.cls(**fields)


def _field_names(cls: Any) -> list[str]:
    """The fields of a named tuple or a dataclass."""
    return list(cls._fields if issubclass(cls, tuple) else cls.__dataclass_fields__)


def _write_estimator(value: Any, out: Writer) -> Any:
    """[name, {attribute: value}]: parameters and fitted attributes alike."""
    entry, name = ESTIMATORS.of(value), type(value).__name__
    if entry is None:
        raise TypeError(f"save must be given estimators that auclid exports; got {name}, whose code it cannot keep.")
    attributes = {key: x for key, x in vars(value).items() if key not in TRANSIENT}
    for key, x in attributes.items():
        if callable(x) and not isinstance(x, BaseEstimator) and not _is_struct(x):
            raise TypeError(
                "save must be given a model without functions, since a file may not bring code along; "
                f"{key} of {name} is one. Use what goes by a name instead, such as kernel='rbf'."
            )
    unknown = set(attributes) - set(parse_specs(entry.holds)) - set(type(value)._get_param_names())
    if unknown:
        raise TypeError(
            f"save must be given models with the attributes that auclid.io._names lists; {name} has {sorted(unknown)}."
        )
    return [entry.name, {key: out.encode(x) for key, x in attributes.items()}]


def _read_estimator(tree: Any, source: ValueReader) -> Any:
    """An estimator of the table, if it has all parameters, known attributes only, and they fit together."""
    name, attributes = tree
    entry, change = ESTIMATORS.find(name)
    cls, state = entry.cls, change.apply({key: source.decode(x) for key, x in attributes.items()})
    parameters = set(cls._get_param_names())
    wrong = [*sorted(set(state) - parameters - set(parse_specs(entry.holds))), *sorted(parameters - set(state))]
    if wrong:
        raise ModelFileError(f"its {name} has attributes that no {name} has, or lacks some: {wrong}.")
    value = object.__new__(cls)
    vars(value).update(state)
    check_estimator(value, entry.holds)
    return value


OBJECT_KINDS = [
    Kind("struct", _is_struct, _write_struct, _read_struct),
    Kind("estimator", _is_ours, _write_estimator, _read_estimator),
]
