"""auclid's own objects: estimators and the plain structs they are made of, by their names in files."""

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from auclid.io._archive import ModelFileError
from auclid.io._names import ESTIMATORS, STRUCTS, WRITTEN
from auclid.io._state import check_state

if TYPE_CHECKING:
    from auclid.io._values import Reader, Writer

Named = tuple[str, dict[str, Any]]
"""A class by its name in files, and the values of its fields or attributes."""


def is_ours(value: Any) -> bool:
    """Whether it is an estimator of auclid, or of a class made from one."""
    return isinstance(value, BaseEstimator) and any(cls.__module__.startswith("auclid.") for cls in type(value).__mro__)


def is_struct(value: Any) -> bool:
    """Whether it is a named tuple or a dataclass that files know."""
    return type(value) in WRITTEN


def write_struct(value: Any, out: "Writer") -> Named:
    """[name, {field: value}]"""
    entry = WRITTEN[type(value)]
    return entry.name, {field: out.item(getattr(value, field)) for field in entry.fields}


def read_struct(tree: Named, source: "Reader") -> Any:
    """Only structs of the table, made of the fields they have or had."""
    name, fields = tree
    if name not in STRUCTS:
        raise ModelFileError(f"it holds a struct {name!r}, which this version of auclid does not have.")
    return STRUCTS[name]({field: source.item(x) for field, x in fields.items()})


def write_estimator(value: Any, out: "Writer") -> Named:
    """[name, {attribute: value}]: parameters and fitted attributes alike."""
    name = type(value).__name__
    if name not in ESTIMATORS or ESTIMATORS[name].cls is not type(value):
        raise TypeError(f"save must be given estimators that auclid exports; got {name}, whose code it cannot keep.")
    for key, x in vars(value).items():
        if callable(x) and not isinstance(x, BaseEstimator) and not is_struct(x):
            raise TypeError(
                "save must be given a model without functions, since a file may not bring code along; "
                f"{key} of {name} is one. Use what goes by a name instead, such as kernel='rbf'."
            )
    return name, {key: out.item(x) for key, x in vars(value).items()}


def read_estimator(tree: Named, source: "Reader") -> Any:
    """Attributes become what they were; none may stand in the way of a method."""
    name, attributes = tree
    entry = ESTIMATORS.get(name)
    if entry is None:
        raise ModelFileError(f"it holds an estimator {name!r}, which this version of auclid does not have.")
    cls, state = entry.cls, entry.read({key: source.item(x) for key, x in attributes.items()})
    hidden = [key for key in state if callable(getattr(cls, key, None))]
    absent = set(cls._get_param_names()) - set(state)
    if hidden or absent:
        raise ModelFileError(f"its {name} has attributes that no {name} has, or lacks some: {[*hidden, *absent]}.")
    value = object.__new__(cls)
    vars(value).update(state)
    check_state(value)
    return value
