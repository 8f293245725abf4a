"""Whether what a file says a model has learnt can be: compiled code trusts the shapes and row numbers in it."""

from copy import copy
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from auclid._sparse import fault
from auclid.base import LinearRanker
from auclid.data import block_from_arrays
from auclid.io._archive import ModelFileError
from auclid.stats.buffers import ClassBuffers
from auclid.stats.moments import ClassMoments, Moments
from auclid.stats.samples import ReservoirSample, SetSamples
from auclid.stats.sets import SemiSupervisedStats, Sets

SIZES = ("buffer_size", "rank")
"""Parameters that a state is as large as."""

MOST = 2**62
"""A count beyond this would overflow in sums."""


def check_state(model: Any) -> None:
    """Raise unless a model, and the state of a stream, is such as its class would have made."""
    name = type(model).__name__
    if hasattr(model, "n_features_in_"):
        d = model.n_features_in_
        if not isinstance(d, int) or not 0 < d < MOST:
            raise ModelFileError(f"its {name} claims to know {d!r} columns.")
        if not _answers(model, d) or not all(_sound(value, d) for value in vars(model).values()):
            raise ModelFileError(f"what its {name} has learnt does not fit {d} columns.")
    if hasattr(model, "_sound") and not model._sound():
        raise ModelFileError(f"what its {name} has learnt does not fit together.")
    if hasattr(model, "_state") and not _goes_on(model):
        raise ModelFileError(f"the state of its {name} does not fit {model.n_features_in_} columns.")


def _answers(model: Any, d: int) -> bool:
    """Whether a linear model has a finite weight for each column, and a finite threshold."""
    if not isinstance(model, LinearRanker) or not hasattr(model, "coef_"):
        return True
    return _floats(model.coef_, (1, d)) and _floats(model.intercept_, (1,))


def _floats(value: Any, shape: tuple[int, ...]) -> bool:
    """Whether it is an array of finite float64 numbers of this shape."""
    known = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == shape
    return known and bool(np.isfinite(value).all())


def _sound(value: Any, d: int) -> bool:
    """Whether statistics of rows are of rows of d columns."""
    if isinstance(value, Moments):
        shapes = ((), (d, d))
        known = isinstance(value.n, Real) and 0.0 <= value.n < np.inf and _floats(value.mean, (d,))
        return known and any(_floats(value.scatter, shape) for shape in shapes)
    if isinstance(value, ClassMoments):
        return all(type(part) is Moments and _sound(part, d) for part in (value.pos, value.neg))
    if isinstance(value, Sets):
        return all(type(part) is Moments and _sound(part, d) for part in (value.neg, value.pos, value.unl))
    if isinstance(value, SemiSupervisedStats):
        known = type(value.sets) is Sets and type(value.samples) is SetSamples and _sound(value.sets, d)
        known = known and isinstance(value.by_content, bool)
        return known and _sound(value.samples, d) and isinstance(value.rng, np.random.Generator)
    if isinstance(value, SetSamples):
        return all(type(sample) is ReservoirSample and _sound(sample, d) for sample in value)
    if isinstance(value, ReservoirSample):
        return _sampled(value, d)
    return True


def _sampled(sample: ReservoirSample, d: int) -> bool:
    """Whether a sample has as many rows of d columns as it says."""
    if not isinstance(sample.seen, int) or not 0 <= sample.seen < MOST:
        return False
    if sample.rows is None:
        return sample.seen == 0
    known = isinstance(sample.rows, np.ndarray) or sparse.issparse(sample.rows)
    return known and sample.rows.dtype == np.float64 and sample.rows.shape == (sample.held, d)


def _goes_on(model: Any) -> bool:
    """Whether the state of a stream has the types and shapes of a fresh one for as many columns.

    A length is a polynomial of the number of columns, of degree two at the most: three small states tell those of any
    other, and nothing is allocated that the file does not hold.
    """
    model._validate_params()
    if not isinstance(model._rng, np.random.Generator):
        return False
    held = _bytes(model._state)
    if any(8 * (getattr(model, size, None) or 0) > held for size in SIZES):
        return False
    twin = copy(model)
    fresh = [twin._fresh_state(d) for d in (1, 2, 3)]
    return _alike(model._state, fresh, model)


def _bytes(value: Any) -> int:
    """How many bytes a state's arrays have."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_bytes, value)) if isinstance(value, tuple) else 0


def _alike(value: Any, fresh: list[Any], model: Any) -> bool:
    """Whether a value is of the type and shape that three fresh ones tell; a length of zero there may have grown."""
    first, d = fresh[0], int(model.n_features_in_)
    if isinstance(first, ClassBuffers):
        return type(value) is ClassBuffers and _held(value, d, getattr(model, "buffer_size", None))
    if isinstance(first, tuple):
        return type(value) is type(first) and all(
            _alike(part, list(parts), model) for part, *parts in zip(value, *fresh, strict=True)
        )
    if isinstance(first, np.ndarray):
        known = isinstance(value, np.ndarray) and value.dtype == first.dtype and value.ndim == first.ndim
        lengths = [_length(a, b, c, d) for a, b, c in zip(*(part.shape for part in fresh), strict=True)]
        return known and all(b in (0, a) for a, b in zip(value.shape, lengths, strict=True))
    if isinstance(first, int):
        return isinstance(value, int) and abs(value) < MOST
    return isinstance(value, Real) and isinstance(first, Real)


def _length(one: int, two: int, three: int, d: int) -> int:
    """A polynomial of degree two at d, from what it is at 1, 2 and 3."""
    return one + (two - one) * (d - 1) + (three - 2 * two + one) * ((d - 1) * (d - 2) // 2)


def _held(buffers: ClassBuffers, d: int, capacity: int | None) -> bool:
    """Whether buffers hold as many rows as they say, of d columns, and no more than they may."""
    counts = (buffers.held, buffers.seen)
    if not all(isinstance(x, np.ndarray) and x.shape == (2,) and x.dtype == np.int64 for x in counts):
        return False
    held, seen = buffers.held, buffers.seen
    if held.min() < 0 or (held > seen).any() or seen.max() >= MOST or not _floats(buffers.centre, (d,)):
        return False
    most = held.max() if capacity is None else capacity  # a class that is not all held has as many as may be
    if held.max() > most or (held[held < seen] != most).any():
        return False
    arrays = buffers.values, buffers.indices, buffers.indptr
    if not all(isinstance(x, np.ndarray) for x in arrays) or buffers.values.dtype != np.float64:
        return False
    if buffers.values.ndim == 1 and not len(buffers.indptr):
        return False
    rows = block_from_arrays(*arrays, d)
    return rows.shape == (held.sum(), d) and not (sparse.issparse(rows) and fault(rows))
