"""auclid's own objects: estimators by the name auclid exports, and the plain structs they are made of."""

import dataclasses
import sys

from sklearn.base import BaseEstimator

from auclid.io._archive import ModelFileError
from auclid.io._state import check_state


def is_ours(value):
    """Whether it is an estimator of auclid, or of a class made from one."""
    return isinstance(value, BaseEstimator) and any(_inside(cls) for cls in type(value).__mro__)


def is_struct(value):
    """Whether it is a named tuple or a dataclass of auclid."""
    return _inside(type(value)) and _fields(type(value)) is not None


def _inside(cls):
    return cls.__module__.startswith("auclid.")


def _fields(cls):
    """The names of a struct's fields, or None where the class is no struct."""
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    return list(cls._fields) if issubclass(cls, tuple) and hasattr(cls, "_fields") else None


def write_struct(value, out):
    """[module.Class, {field: value}]"""
    cls = type(value)
    name = f"{cls.__module__.removeprefix('auclid.')}.{cls.__qualname__}"
    return [name, {field: out.item(getattr(value, field)) for field in _fields(cls)}]


def read_struct(tree, source):
    """Only classes of modules of auclid that are loaded already: the estimator around it brought them in."""
    name, state = tree
    module, _, last = name.rpartition(".")
    cls = getattr(sys.modules.get(f"auclid.{module}"), last, None)
    if not isinstance(cls, type) or cls.__module__ != f"auclid.{module}" or _fields(cls) is None:
        raise ModelFileError(f"it holds a struct {name!r}, which this version of auclid does not have.")
    if list(state) != _fields(cls):
        raise ModelFileError(f"it holds a struct {name!r} with the fields {list(state)}, not {_fields(cls)}.")
    return cls(**{field: source.item(x) for field, x in state.items()})


def write_estimator(value, out):
    """[name, {attribute: value}]: parameters and fitted attributes alike."""
    name = type(value).__name__
    if _exported().get(name) is not type(value):
        raise TypeError(
            f"save must be given estimators that auclid exports; got {name}, whose code it cannot keep."
        )
    for key, x in vars(value).items():
        if callable(x) and not isinstance(x, BaseEstimator) and not is_struct(x):
            raise TypeError(
                "save must be given a model without functions, since a file may not bring code along; "
                f"{key} of {name} is one. Use what goes by a name instead, such as kernel='rbf'."
            )
    return [name, {key: out.item(x) for key, x in vars(value).items()}]


def read_estimator(tree, source):
    """Attributes become what they were; none may stand in the way of a method."""
    name, state = tree
    cls = _exported().get(name)
    if cls is None:
        raise ModelFileError(f"it holds an estimator {name!r}, which this version of auclid does not have.")
    hidden = [key for key in state if callable(getattr(cls, key, None))]
    absent = set(cls._get_param_names()) - set(state)
    if hidden or absent:
        raise ModelFileError(
            f"its {name} has attributes that no {name} has, or lacks some: {[*hidden, *absent]}."
        )
    value = cls.__new__(cls)
    vars(value).update({key: source.item(x) for key, x in state.items()})
    check_state(value)
    return value


def _exported():
    """The estimators that auclid exports, by name: the only ones a file can name."""
    package = sys.modules["auclid"]
    public = {name: getattr(package, name) for name in package.__all__}
    return {
        name: cls for name, cls in public.items() if isinstance(cls, type) and issubclass(cls, BaseEstimator)
    }
