"""What a class is called in a file, how older files called it, and how their fields become today's.

A name in a file is no place in the package: modules move, and files stay. `auclid.io._names` is the table.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from auclid.io._archive import ModelFileError


class Was(NamedTuple):
    """A name that older files use, and how the fields beside it become a struct of today."""

    name: str
    renamed: Mapping[str, str]
    added: Mapping[str, Any]
    build: Callable[..., Any] | None


def was(
    name: str,
    *,
    renamed: Mapping[str, str] | None = None,
    added: Mapping[str, Any] | None = None,
    build: Callable[..., Any] | None = None,
) -> Was:
    """An older name of a struct.

    Parameters
    ----------
    name : str
        What the files say.
    renamed : dict of str to str, optional
        What a field was called, to what it is called now.
    added : dict of str to anything, optional
        Fields that such files do not have, and what they are then.
    build : function, optional
        Given the file's fields by name, it makes today's struct; for what the two above cannot say.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from auclid.io._wire import Struct, structs, was
    >>> class State(NamedTuple):
    ...     w: float
    ...     behind: float
    ...     n: int
    >>> table = structs(Struct("state", State, was("square.State", renamed={"lag": "behind"}, added={"n": 0})))
    >>> table["square.State"]({"w": 1.0, "lag": 2.0})
    State(w=1.0, behind=2.0, n=0)
    """
    return Was(name, renamed or {}, added or {}, build)


class Struct:
    """A named tuple or a dataclass: its name in files, and its older names."""

    def __init__(self, name: str, cls: type[Any], *older: Was) -> None:
        self.name, self.cls, self.older, self.fields = name, cls, older, field_names(cls)

    def read(self, fields: dict[str, Any]) -> Any:
        """The struct of fields that bear today's names."""
        if set(fields) != set(self.fields):
            raise ModelFileError(f"it holds a struct {self.name!r} with the fields {list(fields)}, not {self.fields}.")
        return self.cls(**fields)

    def read_older(self, older: Was, fields: dict[str, Any]) -> Any:
        """The struct of fields that an older file holds."""
        if older.build is not None:
            return older.build(**fields)
        return self.read({**older.added, **{older.renamed.get(name, name): value for name, value in fields.items()}})


def structs(*entries: Struct) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Every name, today's and older ones, to what makes the struct of the fields beside it."""
    found: dict[str, Callable[[dict[str, Any]], Any]] = {}
    for entry in entries:
        _add(found, entry.name, entry.read)
        for older in entry.older:
            _add(found, older.name, lambda fields, entry=entry, older=older: entry.read_older(older, fields))
    return found


class Estimator(NamedTuple):
    """An estimator: its class, and what files of older releases lack or say differently.

    ``added`` are parameters that such files do not have, and what they are then. ``upgrade`` is given all attributes
    of a file, whichever release wrote it, and returns those of today; it must leave today's alone.
    """

    cls: type[Any]
    added: Mapping[str, Any] = {}
    upgrade: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    older: tuple[str, ...] = ()

    def read(self, state: dict[str, Any]) -> dict[str, Any]:
        """The attributes of today's class."""
        state = {**self.added, **state}
        return state if self.upgrade is None else self.upgrade(state)


def estimators(*entries: Estimator) -> dict[str, Estimator]:
    """Every name, today's and older ones, to its entry; an estimator is called by the name of its class."""
    found: dict[str, Estimator] = {}
    for entry in entries:
        for name in (entry.cls.__name__, *entry.older):
            _add(found, name, entry)
    return found


def field_names(cls: type[Any]) -> list[str]:
    """The fields of a named tuple or a dataclass, in their order."""
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    fields: Iterable[str] = cls._fields
    return list(fields)


def _add(found: dict[str, Any], name: str, value: Any) -> None:
    if name in found:
        raise ValueError(f"A name in files must mean one class; {name!r} means two.")
    found[name] = value
