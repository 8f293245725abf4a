"""From `random_state` to NumPy generators and index arrays: the only module that reads `random_state`.

Kernels draw nothing: they take arrays of indices and uniform numbers. Draws are made one row at a time in the order of
the rows, so the numbers that a row gets do not depend on how a stream is cut into batches.
"""

from copy import deepcopy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

RANDOM_STATE = [Interval(Integral, 0, None, closed="left"), np.random.RandomState, np.random.Generator, None]
"""Parameter constraints of `random_state`."""


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


def copy_generator(rng: np.random.Generator) -> np.random.Generator:
    """An independent generator in the same state."""
    return deepcopy(rng)


def set_random_state(model: Any, seed: int | None) -> Any:
    """The model with every ``random_state`` parameter set, nested ones included.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from auclid import SPAM, RandomFourier
    >>> from auclid._random import set_random_state
    >>> set_random_state(make_pipeline(RandomFourier(10), SPAM()), 3).get_params()["spam__random_state"]
    3
    """
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "random_state"]
    return model.set_params(**dict.fromkeys(names, seed))


def draw_pairs(rng: np.random.Generator, n_pos: int, n_neg: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The positive's and the negative's index of ``size`` pairs, uniform over all pairs."""
    draws = rng.random((size, 2))
    return (draws[:, 0] * n_pos).astype(np.int64), (draws[:, 1] * n_neg).astype(np.int64)
