"""Whether learnt attributes fit together: compiled code follows shapes and row numbers in them unchecked.

A small language says what an attribute must be. ``coef_:double[1,d]`` is an attribute and its specification:

- ``real``, ``finite``, ``int``, ``bool``, ``label``, ``str``, ``any``: with a shape in brackets an array of floats, of
  finite floats, ..., of anything; without one a single such value;
- ``positive[d]``, ``double[d]``: an array of finite positive floats, of finite float64;
- ``sparse[m,d]``: a sparse matrix; ``list<...>[k]``, ``tuple<...>``: k items that each fit what stands between < and >;
- ``=d``: a positive integer that is the size d; ``count``, ``weight``: an integer, a finite number, of at least 0;
- ``Moments``, or any other name with a capital: an object of the class of this name, whose fields fit too;
- ``a|b``: one or the other; ``a?``: a or None;
- ``derived``, ``versioned``: anything, in a table of classes that gives these words a meaning of its own.

A letter for a length stands for the same number wherever it occurs in one object; ``*`` is any length.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cache
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from auclid._sparse import fault
from auclid.io._container import ModelFileError
from auclid.io._names import STRUCTS

MAX_COUNT = 1 << 62
"""Sums of larger counts would overflow."""

Sizes = dict[str, int]
"""The lengths known so far, by letter."""


class Spec(NamedTuple):
    """One alternative of a specification."""

    kind: str
    items: "tuple[Spec, ...]" = ()
    shape: tuple[str, ...] | None = None


ALTERNATIVE = re.compile(r"(=?\w+)(?:<(.*)>)?(?:\[([^\]]*)\])?(\??)")


@cache
def parse_specs(text: str) -> dict[str, str]:
    """Attribute to specification, of text such as ``"coef_:double[1,d] alpha_:real?"``."""
    return dict(pair.split(":", 1) for pair in text.split())


@cache
def parse_spec(text: str) -> tuple[Spec, ...]:
    """The alternatives of a specification."""
    return tuple(spec for alternative in _split(text) for spec in _parse_alternative(alternative))


def _split(text: str) -> Iterator[str]:
    """The alternatives of a text: what the bars outside < and > separate."""
    depth, start = 0, 0
    for k, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">")
        if letter == "|" and depth == 0:
            yield text[start:k]
            start = k + 1
    yield text[start:]


def _parse_alternative(text: str) -> Iterator[Spec]:
    match = ALTERNATIVE.fullmatch(text)
    if match is None:
        raise ValueError(f"A specification must be as auclid.io._learnt describes it; got {text!r}.")
    kind, items, lengths, optional = match.groups()
    shape = None if lengths is None else tuple(lengths.split(",")) if lengths else ()
    yield Spec(kind, parse_spec(items) if items else (), shape)
    if optional:
        yield Spec("none")


def check_attributes(owner: str, holds: str, values: Mapping[str, Any]) -> None:
    """Raise unless the attributes of an object, ``values``, fit the specifications ``holds`` and one another.

    ``owner`` is the name of its class, for the error; attributes without a specification are not looked at.
    """
    sizes: Sizes = {}
    for name, spec in parse_specs(holds).items():
        if name in values and not fits(parse_spec(spec), values[name], sizes):
            where = ", ".join(f"{letter} = {size}" for letter, size in sizes.items())
            wanted = f"{spec} with {where}" if where else spec
            raise ModelFileError(f"what its {owner} has learnt does not fit together: {name} must be {wanted}.")


def fits(specs: tuple[Spec, ...], value: Any, sizes: Sizes) -> bool:
    """Whether a value fits one of the alternatives; ``sizes`` then has the lengths that it determined."""
    for spec in specs:
        trial = dict(sizes)
        if _fits_one(spec, value, trial):
            sizes.update(trial)
            return True
    return False


def _fits_one(spec: Spec, value: Any, sizes: Sizes) -> bool:
    if spec.kind.startswith("="):
        return is_count(value) and value > 0 and _has_shape((int(value),), (spec.kind[1:],), sizes)
    if spec.kind in ("list", "tuple"):
        return _fits_sequence(spec, value, sizes)
    if spec.kind.lstrip("_")[0].isupper():
        return type(value).__name__ == spec.kind and _fields_fit(value, sizes)
    if spec.kind == "sparse":
        return _is_sparse(value) and _has_shape(value.shape, spec.shape, sizes)
    if spec.shape is not None:
        shaped = isinstance(value, np.ndarray) and _has_shape(value.shape, spec.shape, sizes)
        return shaped and ARRAY_KINDS[spec.kind](value)
    return SCALAR_KINDS[spec.kind](value)


def _is_sparse(value: Any) -> bool:
    """Whether a value is a sound sparse matrix of floats."""
    return bool(sparse.issparse(value) and value.dtype.kind == "f" and not fault(value))


def _fits_sequence(spec: Spec, value: Any, sizes: Sizes) -> bool:
    """Whether a value is a list or a tuple, of the length and the items that a specification asks for."""
    if type(value).__name__ != spec.kind or not _has_shape((len(value),), spec.shape, sizes):
        return False
    return not spec.items or all(fits(spec.items, item, sizes) for item in value)


def _fields_fit(value: Any, sizes: Sizes) -> bool:
    """Whether the fields of a struct fit, with lengths that the estimator around it shares."""
    entry = STRUCTS.of(value)
    if entry is None or not entry.holds:
        return True
    specs = parse_specs(entry.holds)
    inside = {letter: sizes[letter] for letter in "d" if letter in sizes}
    known = all(fits(parse_spec(spec), getattr(value, name), inside) for name, spec in specs.items())
    return known and FIELD_CHECKS.get(entry.name, lambda value: True)(value)


def _has_held_rows(sample: Any) -> bool:
    """Whether a sample has as many rows as it says."""
    return sample.seen == 0 if sample.rows is None else sample.rows.shape[0] == sample.held


def _scales_finitely(numbers: Any) -> bool:
    """Whether scaled columns are finite: (x - middle) / spread of x between low and high, where these are finite."""
    bounded = np.isfinite(numbers.low) & np.isfinite(numbers.high)
    with np.errstate(over="ignore", invalid="ignore"):
        ends = [(end - numbers.middle)[bounded] / numbers.spread[bounded] for end in (numbers.low, numbers.high)]
    plain = (numbers.middle[~bounded] == 0.0) & (numbers.spread[~bounded] == 1.0)
    return bool(np.isfinite(ends).all() and plain.all())


FIELD_CHECKS: dict[str, Callable[[Any], bool]] = {"numbers": _scales_finitely, "sample": _has_held_rows}
"""Checks of structs beyond their specifications, by their names in files."""


def _has_shape(shape: tuple[int, ...], wanted: tuple[str, ...] | None, sizes: Sizes) -> bool:
    """Whether a shape is the one wanted; lengths that were open take their values from it."""
    if wanted is None:
        return True
    if len(shape) != len(wanted):
        return False
    return all(
        letter == "*" or length == (int(letter) if letter.isdigit() else sizes.setdefault(letter, length))
        for length, letter in zip(shape, wanted, strict=True)
    )


# --- kinds of values ------------------------------------------------------------------------------------


def is_int(value: Any) -> bool:
    """Whether a value is an integer of 64 bits, and no boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) < 1 << 64


def is_count(value: Any) -> bool:
    """Whether a value is an integer of at least 0, of any type of number, whose sums do not overflow."""
    return is_real(value) and 0 <= value < MAX_COUNT and float(value).is_integer()


def is_real(value: Any) -> bool:
    """Whether a value is a number, and no boolean."""
    return isinstance(value, Real | np.integer | np.floating) and not isinstance(value, bool | np.bool_)


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number."""
    return is_real(value) and bool(np.isfinite(float(value)))


def is_label(value: Any) -> bool:
    """Whether a value may name a class or a category."""
    return value is None or isinstance(value, str | bool | np.bool_ | float | np.floating) or is_int(value)


def is_label_array(value: np.ndarray) -> bool:
    """Whether an array has labels only."""
    return all(map(is_label, value.ravel().tolist())) if value.dtype == object else value.dtype.kind in "biufUS"


def _is_text_array(value: np.ndarray) -> bool:
    if value.dtype == object:
        return all(isinstance(item, str) for item in value.ravel().tolist())
    return value.dtype.kind == "U"


def _is_finite_array(value: np.ndarray) -> bool:
    return value.dtype.kind == "f" and bool(np.isfinite(value).all())


def _is_output_config(value: Any) -> bool:
    """Whether a value is a configuration that `set_output` stores."""
    known = isinstance(value, dict) and set(value) <= {"transform"}
    return known and all(choice in ("default", "pandas", "polars", None) for choice in value.values())


ARRAY_KINDS: dict[str, Callable[[np.ndarray], bool]] = {
    "any": lambda value: True,
    "real": lambda value: value.dtype.kind == "f",
    "finite": _is_finite_array,
    "positive": lambda value: _is_finite_array(value) and bool((value > 0.0).all()),
    "double": lambda value: value.dtype == np.float64 and _is_finite_array(value),
    "int": lambda value: value.dtype.kind in "iu",
    "bool": lambda value: value.dtype.kind == "b",
    "label": is_label_array,
    "str": _is_text_array,
}

SCALAR_KINDS: dict[str, Callable[[Any], bool]] = {
    "any": lambda value: True,
    "none": lambda value: value is None,
    "real": is_real,
    "finite": is_finite,
    "weight": lambda value: is_finite(value) and value >= 0,
    "count": is_count,
    "int": is_int,
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "label": is_label,
    "str": lambda value: isinstance(value, str),
    "dict": lambda value: isinstance(value, dict),
    "dtype": lambda value: isinstance(value, np.dtype),
    "generator": lambda value: isinstance(value, np.random.Generator),
    "part": lambda value: isinstance(value, BaseEstimator),
    "output": _is_output_config,
    "derived": lambda value: True,
    "versioned": lambda value: True,
}


# --- states of streams ----------------------------------------------------------------------------------

STATE_SIZES = ("buffer_size", "rank")
"""Parameters that the size of a state is proportional to."""


def check_estimator(model: Any, holds: str) -> None:
    """Raise unless an estimator of auclid is such as its class would have made; ``holds`` specifies its attributes."""
    name = type(model).__name__
    check_attributes(name, holds, vars(model))
    model._validate_params()
    if hasattr(model, "_sound") and not model._sound():
        raise ModelFileError(f"what its {name} has learnt does not fit together.")
    if hasattr(model, "_state") and not _state_fits(model):
        raise ModelFileError(f"the state of its {name} does not fit {model.n_features_in_} columns.")


def _state_fits(model: Any) -> bool:
    """Whether the state of a stream has the types and shapes of a fresh one for as many columns.

    A length is a polynomial of the number of columns, of degree two at the most. Three small states determine those of
    any other, and nothing is allocated that the file does not hold.
    """
    held = _count_bytes(model._state)
    if any(8 * (getattr(model, size, None) or 0) > held for size in STATE_SIZES):
        return False
    twin = copy(model)
    return _is_like(model._state, [twin._fresh_state(d) for d in (1, 2, 3)], model)


def _count_bytes(value: Any) -> int:
    """The bytes of a state's arrays."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_count_bytes, value)) if isinstance(value, tuple) else 0


def _is_like(value: Any, fresh: list[Any], model: Any) -> bool:
    """Whether a value has the type and shape that fresh ones for 1, 2 and 3 columns predict."""
    first = fresh[0]
    entry = STRUCTS.of(first)
    if entry is not None and entry.name == "buffers":
        return type(value) is type(first) and _buffers_fit(value, int(model.n_features_in_), model)
    if isinstance(first, tuple):
        return type(value) is type(first) and all(
            _is_like(part, list(parts), model) for part, *parts in zip(value, *fresh, strict=True)
        )
    if isinstance(first, np.ndarray):
        return _is_like_array(value, fresh, int(model.n_features_in_))
    if isinstance(first, int):
        return isinstance(value, int) and abs(value) < MAX_COUNT
    return isinstance(value, Real) and isinstance(first, Real)


def _is_like_array(value: Any, fresh: list[np.ndarray], d: int) -> bool:
    """Whether a value is an array of the predicted type and shape; a predicted length of zero may have grown."""
    if not isinstance(value, np.ndarray) or value.dtype != fresh[0].dtype or value.ndim != fresh[0].ndim:
        return False
    lengths = [_extrapolate(a, b, c, d) for a, b, c in zip(*(part.shape for part in fresh), strict=True)]
    return all(length in (0, size) for size, length in zip(value.shape, lengths, strict=True))


def _extrapolate(one: int, two: int, three: int, d: int) -> int:
    """A polynomial of degree two at d, from its values at 1, 2 and 3."""
    return one + (two - one) * (d - 1) + (three - 2 * two + one) * ((d - 1) * (d - 2) // 2)


BUFFERS = "values:double[*]|double[*,*] indices:any[*] indptr:any[*] held:any[2] seen:any[2] centre:double[d]"


def _buffers_fit(buffers: Any, d: int, model: Any) -> bool:
    """Whether buffers hold as many rows as they say, of d columns, and no more than they may."""
    sizes = {"d": d}
    known = all(fits(parse_spec(spec), getattr(buffers, name), sizes) for name, spec in parse_specs(BUFFERS).items())
    if not known or buffers.held.dtype != np.int64 or buffers.seen.dtype != np.int64:
        return False
    return _counts_fit(buffers.held, buffers.seen, getattr(model, "buffer_size", None)) and _rows_fit(buffers, d)


def _counts_fit(held: np.ndarray, seen: np.ndarray, capacity: int | None) -> bool:
    """Whether both classes hold what they may: all rows seen, or the capacity."""
    if held.min() < 0 or (held > seen).any() or seen.max() >= MAX_COUNT:
        return False
    most = held.max() if capacity is None else capacity
    return bool(held.max() <= most and (held[held < seen] == most).all())


def _rows_fit(buffers: Any, d: int) -> bool:
    """Whether the packed rows are as many as are held, with indices in range."""
    from auclid.data import block_from_arrays

    if buffers.values.ndim == 1 and not len(buffers.indptr):
        return False
    rows = block_from_arrays(buffers.values, buffers.indices, buffers.indptr, d)
    return rows.shape == (buffers.held.sum(), d) and not (sparse.issparse(rows) and fault(rows))
