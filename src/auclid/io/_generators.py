"""Generators of random numbers: their states hold places in buffers, which NumPy follows without looking."""

from typing import TYPE_CHECKING, Any

import numpy as np

from auclid.io._archive import ModelFileError

if TYPE_CHECKING:
    from auclid.io._values import Reader, Writer

BITS = {name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")}

ARRAYS: dict[str, dict[str, tuple[type, int]]] = {
    "MT19937": {"key": (np.uint32, 624)},
    "Philox": {"counter": (np.uint64, 4), "key": (np.uint64, 2), "buffer": (np.uint64, 4)},
    "SFC64": {"state": (np.uint64, 4)},
}
"""The arrays of a state, with their type and length; the others are made of two whole numbers of 128 bits."""

PLACES = {"MT19937": ("pos", 624), "Philox": ("buffer_pos", 4)}
"""The place in such an array, and the last one it may be at."""


def write_generator(value: np.random.Generator, out: "Writer") -> Any:
    """The state of its source of bits."""
    return out.item(value.bit_generator.state)


def read_generator(tree: Any, source: "Reader") -> np.random.Generator:
    """A generator that stands where the written one stood."""
    state = source.item(tree)
    check_generator_state(state)
    bits = BITS[state["bit_generator"]]()
    bits.state = state
    return np.random.Generator(bits)


def write_random_state(value: np.random.RandomState, out: "Writer") -> Any:
    """The state, with the normal draw that may be waiting."""
    return out.item(value.get_state(legacy=False))


def read_random_state(tree: Any, source: "Reader") -> np.random.RandomState:
    """A RandomState that stands where the written one stood."""
    state = source.item(tree)
    check_generator_state(state)
    value = np.random.RandomState(BITS[state["bit_generator"]]())
    value.set_state(state)
    return value


def check_generator_state(state: Any) -> None:
    """Raise unless a state is one that its source of bits could be in."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if name not in BITS:
        raise ModelFileError(f"it holds a generator of random numbers {name!r}, which auclid does not know.")
    if not _possible(state, name):
        raise ModelFileError(f"it holds a generator of random numbers {name} in a state that none can be in.")


def _possible(state: dict[str, Any], name: str) -> bool:
    parts = {**state, **state["state"]}
    place, last = PLACES.get(name, ("", 0))
    if name in ARRAYS:
        inner = all(_is_array(parts[key], *kind) for key, kind in ARRAYS[name].items())
    else:
        inner = all(_whole(parts[key], 2**128) for key in ("state", "inc"))
    waiting = _whole(state.get("has_uint32", 0), 2) and _whole(state.get("uinteger", 0), 2**32)
    normal = _whole(state.get("has_gauss", 0), 2) and isinstance(state.get("gauss", 0.0), float)
    return inner and (not place or _whole(parts[place], last + 1)) and waiting and normal


def _is_array(value: Any, dtype: type, length: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == (length,)


def _whole(value: Any, end: int) -> bool:
    return isinstance(value, int | np.integer) and 0 <= int(value) < end
