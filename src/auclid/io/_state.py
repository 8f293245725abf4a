"""Whether a loaded model can go on: kernels trust the shapes and row numbers in what it has learnt."""

from copy import copy
from numbers import Real

import numpy as np

from auclid.io._archive import ModelFileError
from auclid.rows import unpack
from auclid.stats.buffers import Buffers


def check_state(model):
    """Raise unless a model, and the state of a stream, is such as its class would have made."""
    if hasattr(model, "_sound") and not model._sound():
        raise ModelFileError(f"what its {type(model).__name__} has learnt does not fit together.")
    if not hasattr(model, "_state"):
        return
    d = model.coef_.shape[1]
    if model.n_features_in_ != d or not _alike(model._state, copy(model)._open(d, None), d):
        raise ModelFileError(f"the state of its {type(model).__name__} does not fit {d} columns.")


def _alike(value, fresh, d):
    """Whether a value is of the type and shape of a fresh one; a length of zero there may have grown."""
    if isinstance(fresh, Buffers):
        return type(value) is Buffers and _sound(value, d)
    if isinstance(fresh, tuple):
        return type(value) is type(fresh) and all(_alike(a, b, d) for a, b in zip(value, fresh, strict=True))
    if isinstance(fresh, np.ndarray):
        return isinstance(value, np.ndarray) and value.dtype == fresh.dtype and _grown(value, fresh)
    return isinstance(value, Real) and isinstance(fresh, Real)


def _grown(value, fresh):
    pairs = zip(value.shape, fresh.shape, strict=False)
    return value.ndim == fresh.ndim and all(a == b or b == 0 for a, b in pairs)


def _sound(buffers, d):
    """Whether buffers hold as many rows as they say, of d columns."""
    rows = unpack(*buffers[:3], d)
    if isinstance(rows, np.ndarray):
        whole = rows.dtype == np.float64
    else:
        rows.check_format(full_check=True)
        whole = rows.data.dtype == np.float64
    counts = all(
        x.shape == (2,) and x.dtype == np.int64 and x.min() >= 0 for x in (buffers.held, buffers.seen)
    )
    return whole and counts and rows.shape == (buffers.held.sum(), d) and buffers.centre.shape == (d,)
