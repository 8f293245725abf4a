"""random_state into blocks of indices: the only reader of random_state.

Kernels draw nothing: they are handed arrays of indices and uniforms. Draws are made one row at a time in
the order of the rows, so cutting a stream into other batches does not change the numbers a row gets.
"""

from copy import deepcopy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

RANDOM_STATE = [Interval(Integral, 0, None, closed="left"), np.random.RandomState, np.random.Generator, None]
"""What `random_state` may be, for parameter constraints."""


RandomState = int | np.random.RandomState | np.random.Generator | None


def generator(random_state: RandomState) -> np.random.Generator:
    """The NumPy generator of a seed, RandomState, Generator or None.

    Examples
    --------
    >>> from auclid._random import generator
    >>> bool(generator(0).random() == generator(0).random())
    True
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if isinstance(random_state, Integral) and random_state < 0:
        raise ValueError(f"The 'random_state' parameter must be a number of 0 or more. Got {random_state} instead.")
    return np.random.default_rng(random_state)


def copied(rng: np.random.Generator) -> np.random.Generator:
    """A generator that draws the same numbers without moving this one."""
    return deepcopy(rng)


def seeded(model: Any, seed: int | None) -> Any:
    """The model with every ``random_state`` set, also those of its parts.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from auclid import SPAM, RandomFourier
    >>> from auclid._random import seeded
    >>> seeded(make_pipeline(RandomFourier(10), SPAM()), 3).get_params()["spam__random_state"]
    3
    """
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "random_state"]
    return model.set_params(**dict.fromkeys(names, seed))


def epoch(rng: np.random.Generator, n: int, shuffle: bool = True) -> np.ndarray:
    """The order in which one epoch meets its n rows."""
    return rng.permutation(n) if shuffle else np.arange(n)


def pairs(rng: np.random.Generator, n_pos: int, n_neg: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays: a positive and a negative for each of ``size`` pairs, uniform over all pairs."""
    draws = rng.random((size, 2))
    return (draws[:, 0] * n_pos).astype(np.int64), (draws[:, 1] * n_neg).astype(np.int64)
