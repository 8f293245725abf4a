"""Values as JSON and arrays: how each kind of value is written, and how it is read back.

None, booleans, numbers, strings and lists are JSON as they are. Every other value is a JSON object with one key, its
tag. A `Writer` and a `ValueReader` are given a list of `Kind`, so that a kind may contain values of all others.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid._sparse import fault
from auclid.io._container import ModelFileError, array_from_bytes, array_to_bytes

JSON_TYPES = (type(None), bool, int, float, str)

MAX_INT = 1 << 64
"""Larger integers are written as hexadecimal text. As keys they are refused: multiples of 2^61 - 1 have equal hashes,
so that a dictionary of them takes quadratic time."""

HEXADECIMAL = re.compile(r"-?0x[0-9a-f]{1,256}")


class Kind(NamedTuple):
    """One kind of value: its tag, whether a value is of it, how it becomes JSON, and how JSON becomes it."""

    tag: str
    matches: Callable[[Any], bool]
    write: Callable[[Any, "Writer"], Any]
    read: Callable[[Any, "ValueReader"], Any]


class Writer:
    """Turns values into JSON; arrays become ``entries`` (name to bytes) of the container.

    Parameters
    ----------
    kinds : sequence of Kind
        The first that matches a value writes it; the last should match everything or raise.
    trusted : sequence of str
        Types that whoever loads the file is asked to trust.
    """

    def __init__(self, kinds: Sequence[Kind], trusted: Iterable[str] = ()) -> None:
        self.kinds, self.trusted = kinds, frozenset(trusted)
        self.entries: dict[str, bytes] = {}

    def encode(self, value: Any) -> Any:
        """The JSON of a value."""
        if type(value) in JSON_TYPES and not _is_big(value):
            return value
        if type(value) is list:
            return [self.encode(x) for x in value]
        kind = next(kind for kind in self.kinds if kind.matches(value))
        return {kind.tag: kind.write(value, self)}

    def add_entry(self, content: bytes, suffix: str) -> str:
        """Store bytes as an entry; return its name."""
        name = f"{len(self.entries)}.{suffix}"
        self.entries[name] = content
        return name


class ValueReader:
    """Turns JSON back into values.

    Parameters
    ----------
    kinds : sequence of Kind
    entries : dict of str to bytes
        The entries of the container. Each is read once.
    trusted : sequence of str
        Types that the caller trusts, besides those that can be loaded from anybody.

    Attributes
    ----------
    neutralized : list of str
        What was not taken over from the file, in words.
    has_sklearn_parts : bool
        Whether objects of scikit-learn were read.
    """

    def __init__(self, kinds: Sequence[Kind], entries: dict[str, bytes], trusted: Iterable[str] = ()) -> None:
        self.readers = {kind.tag: kind.read for kind in kinds}
        self.entries, self.trusted = entries, frozenset(trusted)
        self.neutralized: list[str] = []
        self.has_sklearn_parts = False

    def take_entry(self, name: Any) -> bytes:
        """Remove and return an entry: a file that uses one again and again would grow without bound in memory."""
        if not isinstance(name, str) or name not in self.entries:
            raise ModelFileError(f"it names an entry {name!r} that it does not hold, or for the second time.")
        return self.entries.pop(name)

    def decode(self, tree: Any) -> Any:
        """The value of some JSON."""
        if _is_big(tree):
            raise ModelFileError("it holds an integer of more than 64 bits.")
        if type(tree) in JSON_TYPES:
            return tree
        if type(tree) is list:
            return [self.decode(x) for x in tree]
        ((tag, content),) = tree.items()
        if tag not in self.readers:
            raise ModelFileError(f"it holds a {tag!r}, which auclid does not know.")
        return self.readers[tag](content, self)


# --- numbers, tuples, dictionaries ----------------------------------------------------------------------


def _is_big(value: Any) -> bool:
    return type(value) is int and abs(value) >= MAX_INT


def _read_integer(tree: Any, source: ValueReader) -> int:
    if not isinstance(tree, str) or not HEXADECIMAL.fullmatch(tree):
        raise ModelFileError("it holds an integer that is none.")
    return int(tree, 16)


def _write_items(value: Any, out: Writer) -> Any:
    return [out.encode(x) for x in value]


def _read_tuple(tree: Any, source: ValueReader) -> tuple[Any, ...]:
    return tuple(source.decode(x) for x in tree)


def _write_set(value: Any, out: Writer) -> Any:
    return _write_items(sorted(value, key=repr), out)


def _read_set(tree: Any, source: ValueReader) -> set[Any]:
    return {check_key(source.decode(x)) for x in tree}


def _write_dict(value: Any, out: Writer) -> Any:
    return [[out.encode(check_key(key)), out.encode(x)] for key, x in value.items()]


def _read_dict(tree: Any, source: ValueReader) -> dict[Any, Any]:
    return {check_key(source.decode(key)): source.decode(x) for key, x in tree}


def check_key(key: Any) -> Any:
    """Return a dictionary's key if many such keys cannot have one hash: a string, a number or None."""
    if not isinstance(key, str | int | float | bool | np.generic | None) or _is_big(key):
        raise ModelFileError(f"it holds a dictionary with a {type(key).__name__} as a key.")
    return key


def _write_slice(value: slice, out: Writer) -> Any:
    return [out.encode(x) for x in (value.start, value.stop, value.step)]


def _read_slice(tree: Any, source: ValueReader) -> slice:
    start, stop, step = (source.decode(x) for x in tree)
    return slice(start, stop, step)


# --- arrays ---------------------------------------------------------------------------------------------


def _write_array(value: Any, out: Writer) -> str:
    return out.add_entry(array_to_bytes(value), "npy")


def _read_array(tree: Any, source: ValueReader) -> np.ndarray:
    return array_from_bytes(source.take_entry(tree))


def _read_scalar(tree: Any, source: ValueReader) -> Any:
    return _read_array(tree, source)[()]


def _write_objects(value: np.ndarray, out: Writer) -> Any:
    """An array of Python objects, such as feature names: shape and entries."""
    return [list(value.shape), [out.encode(x) for x in value.ravel()]]


def _read_objects(tree: Any, source: ValueReader) -> np.ndarray:
    shape, items = tree
    value = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):
        value[k] = source.decode(item)
    return value.reshape(shape)


def _write_masked(value: np.ma.MaskedArray, out: Writer) -> Any:
    return [out.encode(value.data), out.encode(np.ma.getmaskarray(value))]


def _read_masked(tree: Any, source: ValueReader) -> np.ma.MaskedArray:
    data, mask = (source.decode(x) for x in tree)
    return np.ma.MaskedArray(data, mask=mask)


SPARSE = {cls.__name__: cls for cls in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array)}


def _write_sparse(value: Any, out: Writer) -> Any:
    parts = [out.encode(x) for x in (value.data, value.indices, value.indptr)]
    return [type(value).__name__, list(value.shape), *parts]


def _read_sparse(tree: Any, source: ValueReader) -> Any:
    name, shape, *parts = tree
    value = SPARSE[name](tuple(source.decode(x) for x in parts), shape=tuple(shape))
    wrong = fault(value)  # compiled code follows these indices unchecked
    if wrong:
        raise ModelFileError(f"it holds a sparse matrix with {wrong}.")
    return value


SCALAR_TYPES: dict[str, type] = {
    **{cls.__name__: cls for cls in (bool, int, float, str, object)},
    **{f"numpy.{cls.__name__}": cls for cls in {*np.sctypeDict.values()} if not issubclass(cls, np.void | np.object_)},
}
"""Types of numbers by name, as parameters such as ``dtype=np.float64`` hold them."""

SCALAR_TYPE_NAMES = {cls: name for name, cls in SCALAR_TYPES.items()}

DTYPE = re.compile(r"[<>|=]?([biufcO]\d{0,2}|[US]\d{1,5})")


def _read_type(tree: Any, source: ValueReader) -> type:
    return SCALAR_TYPES[tree]


def _read_dtype(tree: Any, source: ValueReader) -> np.dtype:
    if not isinstance(tree, str) or not DTYPE.fullmatch(tree):
        raise ModelFileError("it holds the type of an array that auclid does not know.")
    return np.dtype(tree).newbyteorder("=")


# --- generators of random numbers -----------------------------------------------------------------------

BIT_GENERATORS = {name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")}

STATE_ARRAYS: dict[str, dict[str, tuple[type, int]]] = {
    "MT19937": {"key": (np.uint32, 624)},
    "Philox": {"counter": (np.uint64, 4), "key": (np.uint64, 2), "buffer": (np.uint64, 4)},
    "SFC64": {"state": (np.uint64, 4)},
}
"""The arrays of a generator's state, with type and length; the state of the others is two integers of 128 bits."""

STATE_POSITIONS = {"MT19937": ("pos", 624), "Philox": ("buffer_pos", 4)}
"""The position in such an array, which NumPy follows unchecked, and its largest value."""


def _write_generator(value: np.random.Generator, out: Writer) -> Any:
    return out.encode(value.bit_generator.state)


def _read_generator(tree: Any, source: ValueReader) -> np.random.Generator:
    state = source.decode(tree)
    _check_generator_state(state)
    bits = BIT_GENERATORS[state["bit_generator"]]()
    bits.state = state
    return np.random.Generator(bits)


def _write_random_state(value: np.random.RandomState, out: Writer) -> Any:
    """The state, with the normal variate that may be cached."""
    return out.encode(value.get_state(legacy=False))


def _read_random_state(tree: Any, source: ValueReader) -> np.random.RandomState:
    state = source.decode(tree)
    _check_generator_state(state)
    value = np.random.RandomState(BIT_GENERATORS[state["bit_generator"]]())
    value.set_state(state)
    return value


def _check_generator_state(state: Any) -> None:
    """Raise unless a state is one that its bit generator can be in."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if name not in BIT_GENERATORS:
        raise ModelFileError(f"it holds a generator of random numbers {name!r}, which auclid does not know.")
    if not (_core_is_valid(state, name) and _cache_is_valid(state)):
        raise ModelFileError(f"it holds a generator of random numbers {name} in a state that none can be in.")


def _core_is_valid(state: dict[str, Any], name: str) -> bool:
    """Whether arrays, integers and position of a state are in their ranges."""
    parts = {**state, **state["state"]}
    if name not in STATE_ARRAYS:
        return all(_in_range(parts[key], 1 << 128) for key in ("state", "inc"))
    position, largest = STATE_POSITIONS.get(name, ("", 0))
    arrays = all(_is_array(parts[key], *kind) for key, kind in STATE_ARRAYS[name].items())
    return arrays and (not position or _in_range(parts[position], largest + 1))


def _cache_is_valid(state: dict[str, Any]) -> bool:
    """Whether the half of a 64-bit draw and the normal variate that may be cached are valid."""
    integer = _in_range(state.get("has_uint32", 0), 2) and _in_range(state.get("uinteger", 0), 1 << 32)
    return integer and _in_range(state.get("has_gauss", 0), 2) and isinstance(state.get("gauss", 0.0), float)


def _is_array(value: Any, dtype: type, length: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == (length,)


def _in_range(value: Any, end: int) -> bool:
    return isinstance(value, int | np.integer) and 0 <= int(value) < end


# --- the list -------------------------------------------------------------------------------------------


def _is_numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray) and not value.dtype.hasobject


def _is_objects(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype == object


def _is_scalar_type(value: Any) -> bool:
    return isinstance(value, type) and value in SCALAR_TYPE_NAMES


def _is_exactly(*classes: type) -> Callable[[Any], bool]:
    return lambda value: type(value) in classes


def _is(*classes: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, classes)


VALUE_KINDS = [
    Kind("integer", _is_big, lambda value, out: hex(value), _read_integer),
    Kind("tuple", _is_exactly(tuple), _write_items, _read_tuple),
    Kind("dict", _is_exactly(dict), _write_dict, _read_dict),
    Kind("set", _is_exactly(set, frozenset), _write_set, _read_set),
    Kind("slice", _is_exactly(slice), _write_slice, _read_slice),
    Kind("array", _is_numeric, _write_array, _read_array),
    Kind("objects", _is_objects, _write_objects, _read_objects),
    Kind("masked", _is_exactly(np.ma.MaskedArray), _write_masked, _read_masked),
    Kind("scalar", _is(np.generic), _write_array, _read_scalar),
    Kind("sparse", _is_exactly(*SPARSE.values()), _write_sparse, _read_sparse),
    Kind("type", _is_scalar_type, lambda value, out: SCALAR_TYPE_NAMES[value], _read_type),
    Kind("dtype", _is(np.dtype), lambda value, out: value.str, _read_dtype),
    Kind("generator", _is(np.random.Generator), _write_generator, _read_generator),
    Kind("random_state", _is(np.random.RandomState), _write_random_state, _read_random_state),
]
"""The kinds that hold data only; `auclid.io._model` adds those of estimators and structs."""
