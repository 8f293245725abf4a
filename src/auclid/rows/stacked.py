"""Two tables, one above the other."""

import numpy as np

from auclid.rows.blocks import append
from auclid.rows.memory import gathered
from auclid.rows.table import Table


class Stacked(Table):
    """The rows of two tables, one above the other; its blocks are what the upper's are, arrays or CSR matrices."""

    def __init__(self, upper, lower):
        self.upper, self.lower = upper, lower
        self.shape = (upper.shape[0] + lower.shape[0], upper.shape[1])
        self.mixing = upper.mixing if upper.mixing is lower.mixing else None

    def part(self, index):
        return self._gather(index, self.upper.part, self.lower.part)

    def plain(self, index):
        return self.take(index) if self.mixing is None else self._gather(index, self.upper.plain, self.lower.plain)

    def sweep(self, *orders, centre=None):
        return gathered(self, orders, centre, max(1, self.block_rows() // len(orders)))

    def block_rows(self):
        return min(self.upper.block_rows(), self.lower.block_rows())

    def _gather(self, index, from_upper, from_lower):
        index = np.arange(self.shape[0])[index] if isinstance(index, slice) else index
        below = index >= self.upper.shape[0]
        both = append(from_upper(index[~below]), from_lower(index[below] - self.upper.shape[0]))
        return both[np.argsort(np.argsort(below, kind="stable"))]
