"""Values as JSON and arrays: each kind of value with the way out and the way back side by side.

None, booleans, numbers, text and lists are JSON as they are. The rest is an object with one key: its tag.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid._sparse import fault
from auclid.io import _generators, _objects, _sklearn
from auclid.io._archive import ModelFileError
from auclid.io._arrays import array_of, bytes_of

PLAIN = (type(None), bool, int, float, str)


class Writer:
    """Turns values into JSON; arrays and scikit-learn parts become ``members`` (name to bytes)."""

    def __init__(self, trusted: tuple[str, ...] = ()) -> None:
        self.members: dict[str, bytes] = {}
        self.trusted = trusted

    def item(self, value: Any) -> Any:
        """JSON for a value."""
        if type(value) in PLAIN:
            return value
        if type(value) is list:
            return [self.item(x) for x in value]
        kind = next((kind for kind in KINDS if kind.fits(value)), SKLEARN_PART)
        return {kind.tag: kind.write(value, self)}

    def member(self, content: bytes, suffix: str) -> str:
        """Keep bytes; the name they are found by."""
        name = f"{len(self.members)}.{suffix}"
        self.members[name] = content
        return name


class Reader:
    """Turns JSON back into values."""

    def __init__(self, members: dict[str, bytes], trusted: tuple[str, ...] = ()) -> None:
        self.members = members
        self.trusted = trusted

    def member(self, name: str) -> bytes:
        """The bytes of a member, once: a file that asks for one again and again would grow without end."""
        if not isinstance(name, str) or name not in self.members:
            raise ModelFileError(f"it names a member {name!r} that it does not hold, or for the second time.")
        return self.members.pop(name)

    def item(self, tree: Any) -> Any:
        """The value of some JSON."""
        if type(tree) in PLAIN:
            return tree
        if type(tree) is list:
            return [self.item(x) for x in tree]
        ((tag, content),) = tree.items()
        if tag not in READERS:
            raise ModelFileError(f"it holds a {tag!r}, which auclid does not know.")
        return READERS[tag](content, self)


class Kind(NamedTuple):
    """One kind of value: its tag, whether a value is of it, to JSON, and back."""

    tag: str
    fits: Callable[[Any], bool]
    write: Callable
    read: Callable


def _write_tuple(value: Any, out: Writer) -> Any:
    return [out.item(x) for x in value]


def _read_tuple(tree: Any, source: Reader) -> Any:
    return tuple(source.item(tree))


def _write_dict(value: Any, out: Writer) -> Any:
    return [[out.item(key), out.item(x)] for key, x in value.items()]


def _read_dict(tree: Any, source: Reader) -> Any:
    return {source.item(key): source.item(x) for key, x in tree}


def _write_array(value: Any, out: Writer) -> Any:
    """The name of a member in NumPy's own format."""
    return out.member(bytes_of(value), "npy")


def _read_array(tree: Any, source: Reader) -> Any:
    return array_of(source.member(tree))


def _write_objects(value: Any, out: Writer) -> Any:
    """An array of Python objects, such as feature names: shape and entries."""
    return [list(value.shape), [out.item(x) for x in value.ravel()]]


def _read_objects(tree: Any, source: Reader) -> Any:
    shape, items = tree
    value = np.empty(len(items), dtype=object)
    value[:] = [source.item(x) for x in items]
    return value.reshape(shape)


def _read_scalar(tree: Any, source: Reader) -> Any:
    return _read_array(tree, source)[()]


SPARSE = {cls.__name__: cls for cls in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array)}


def _write_sparse(value: Any, out: Writer) -> Any:
    parts = [out.item(x) for x in (value.data, value.indices, value.indptr)]
    return [type(value).__name__, list(value.shape), *parts]


def _read_sparse(tree: Any, source: Reader) -> Any:
    name, shape, *parts = tree
    value = SPARSE[name](tuple(source.item(x) for x in parts), shape=tuple(shape))
    wrong = fault(value)  # kernels trust these indices
    if wrong:
        raise ModelFileError(f"it holds a sparse matrix with {wrong}.")
    return value


def _numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray) and not value.dtype.hasobject


def _objects_array(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype == object


def _is(*classes: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, classes)


def _is_just(*classes: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in classes


KINDS = [
    Kind("tuple", _is_just(tuple), _write_tuple, _read_tuple),
    Kind("dict", _is_just(dict), _write_dict, _read_dict),
    Kind("array", _numeric, _write_array, _read_array),
    Kind("objects", _objects_array, _write_objects, _read_objects),
    Kind("scalar", _is(np.generic), _write_array, _read_scalar),
    Kind("sparse", _is_just(*SPARSE.values()), _write_sparse, _read_sparse),
    Kind("generator", _is(np.random.Generator), _generators.write_generator, _generators.read_generator),
    Kind("random_state", _is(np.random.RandomState), _generators.write_random_state, _generators.read_random_state),
    Kind("struct", _objects.is_struct, _objects.write_struct, _objects.read_struct),
    Kind("estimator", _objects.is_ours, _objects.write_estimator, _objects.read_estimator),
    Kind("shell", _sklearn.is_shell, _sklearn.write_shell, _sklearn.read_shell),
]

SKLEARN_PART = Kind("skops", lambda value: True, _sklearn.write_part, _sklearn.read_part)

READERS = {kind.tag: kind.read for kind in [*KINDS, SKLEARN_PART]}
