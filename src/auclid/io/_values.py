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
        Types that loading the file asks to trust.
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


def by_simpler(
    tag: str, matches: Callable[[Any], bool], simplify: Callable[[Any], Any], make: Callable[[Any], Any]
) -> Kind:
    """A kind whose values are written as simpler ones, and made of them again."""
    return Kind(
        tag, matches, lambda value, out: out.encode(simplify(value)), lambda tree, source: make(source.decode(tree))
    )


# --- numbers, dictionaries, types -----------------------------------------------------------------------


def _is_big(value: Any) -> bool:
    return type(value) is int and abs(value) >= MAX_INT


def _integer(text: Any) -> int:
    if not isinstance(text, str) or not HEXADECIMAL.fullmatch(text):
        raise ModelFileError("it holds an integer that is none.")
    return int(text, 16)


def check_key(key: Any) -> Any:
    """Return a dictionary's key if many such keys cannot have one hash: a string, a number or None."""
    if not isinstance(key, str | int | float | bool | np.generic | None) or _is_big(key):
        raise ModelFileError(f"it holds a dictionary with a {type(key).__name__} as a key.")
    return key


SCALAR_TYPES: dict[str, type] = {
    **{cls.__name__: cls for cls in (bool, int, float, str, object)},
    **{f"numpy.{cls.__name__}": cls for cls in {*np.sctypeDict.values()} if not issubclass(cls, np.void | np.object_)},
}
"""Types of numbers by name, as parameters such as ``dtype=np.float64`` hold them."""

SCALAR_TYPE_NAMES = {cls: name for name, cls in SCALAR_TYPES.items()}

DTYPE = re.compile(r"[<>|=]?([biufcO]\d{0,2}|[US]\d{1,5})")


def _dtype(text: Any) -> np.dtype:
    if not isinstance(text, str) or not DTYPE.fullmatch(text):
        raise ModelFileError("it holds the type of an array that auclid does not know.")
    return np.dtype(text).newbyteorder("=")


# --- arrays ---------------------------------------------------------------------------------------------


def _write_array(value: Any, out: Writer) -> str:
    return out.add_entry(array_to_bytes(value), "npy")


def _read_array(tree: Any, source: ValueReader) -> np.ndarray:
    return array_from_bytes(source.take_entry(tree))


def _objects(parts: Any) -> np.ndarray:
    """An array of Python objects, such as feature names, of its shape and entries."""
    shape, items = parts
    value = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):
        value[k] = item
    return value.reshape(shape)


SPARSE = {cls.__name__: cls for cls in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array)}


def _sparse_parts(value: Any) -> list[Any]:
    return [type(value).__name__, list(value.shape), value.data, value.indices, value.indptr]


def _sparse(parts: Any) -> Any:
    name, shape, *arrays = parts
    value = SPARSE[name](tuple(arrays), shape=tuple(shape))
    wrong = fault(value)  # compiled code follows these indices unchecked
    if wrong:
        raise ModelFileError(f"it holds a sparse matrix with {wrong}.")
    return value


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


def _generator(state: Any) -> np.random.Generator:
    _check_generator_state(state)
    bits = BIT_GENERATORS[state["bit_generator"]]()
    bits.state = state
    return np.random.Generator(bits)


def _random_state(state: Any) -> np.random.RandomState:
    """The generator of a state, which holds the normal variate that may be cached too."""
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
    by_simpler("integer", _is_big, hex, _integer),
    by_simpler("tuple", _is_exactly(tuple), list, tuple),
    by_simpler(
        "dict",
        _is_exactly(dict),
        lambda value: [[check_key(key), x] for key, x in value.items()],
        lambda pairs: {check_key(key): x for key, x in pairs},
    ),
    by_simpler(
        "set",
        _is_exactly(set, frozenset),
        lambda value: sorted(value, key=repr),
        lambda items: {check_key(x) for x in items},
    ),
    by_simpler(
        "slice", _is_exactly(slice), lambda value: [value.start, value.stop, value.step], lambda ends: slice(*ends)
    ),
    Kind("array", _is_numeric, _write_array, _read_array),
    by_simpler("objects", _is_objects, lambda value: [list(value.shape), list(value.ravel())], _objects),
    by_simpler(
        "masked",
        _is_exactly(np.ma.MaskedArray),
        lambda value: [value.data, np.ma.getmaskarray(value)],
        lambda parts: np.ma.MaskedArray(parts[0], mask=parts[1]),
    ),
    Kind("scalar", _is(np.generic), _write_array, lambda tree, source: _read_array(tree, source)[()]),
    by_simpler("sparse", _is_exactly(*SPARSE.values()), _sparse_parts, _sparse),
    by_simpler("type", _is_scalar_type, SCALAR_TYPE_NAMES.__getitem__, SCALAR_TYPES.__getitem__),
    by_simpler("dtype", _is(np.dtype), lambda value: value.str, _dtype),
    by_simpler("generator", _is(np.random.Generator), lambda value: value.bit_generator.state, _generator),
    by_simpler("random_state", _is(np.random.RandomState), lambda value: value.get_state(legacy=False), _random_state),
]
"""The kinds that hold data only; `auclid.io._model` adds those of estimators and structs."""
