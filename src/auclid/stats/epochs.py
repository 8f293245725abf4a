"""Which rows an epoch of a stochastic method meets, and how often: each once, or by its weight."""

from functools import cached_property

import numpy as np

from auclid._weights import drawn, repeats
from auclid.data import Table

SORTED = 10_000
"""Rows up to which a random order depends on what the rows hold, and not on where they stand."""


class EpochSampler:
    """The rows of an epoch. A row of weight two is met twice as often as one of weight one: its pairs weigh as much."""

    def __init__(self, table: Table, is_pos: np.ndarray, weight: np.ndarray | None = None) -> None:
        count = None if weight is None else repeats(weight, is_pos)
        self.table, self.is_pos = table, is_pos
        self.count = None if count is None or (count == 1.0).all() else count
        """How often each row is met, in the mean; None: once."""

    @property
    def length(self) -> int:
        """Steps of an epoch, in the mean."""
        return self.table.shape[0] if self.count is None else max(1, round(float(self.count.sum())))

    def order(self, rng: np.random.Generator, shuffle: bool | None = True) -> np.ndarray:
        """The rows of one epoch: in random order, as they stand, or (None) in any order."""
        order = self.table.order(rng, bool(shuffle)) if shuffle is False or self._sorted is None else self._sorted
        if self.count is not None:
            order = order[self.count[order] > 0.0]  # who does not count draws nothing
            order = np.repeat(order, drawn(self.count[order], rng))
        return rng.permutation(order) if shuffle and self._sorted is not None else order

    @cached_property
    def _sorted(self) -> np.ndarray | None:
        return sorted_rows(self.table, self.is_pos)


def sorted_rows(table: Table, is_pos: np.ndarray) -> np.ndarray | None:
    """The rows by class and by what they hold, so that equal tables in another order give the same; None where many.

    Without it a model of repeated rows would differ from that of weighted ones by the luck of the draw.
    """
    if table.shape[0] > SORTED:
        return None
    keys = table.keys()
    return None if keys is None else np.lexsort((keys, is_pos))
