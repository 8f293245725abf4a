"""A table whose rows are psi(x) of the rows of another: made block by block, when a solver asks for them."""

from functools import cached_property

import numpy as np

from auclid.rows import sizes
from auclid.rows.memory import DenseTable, as_table, gathered
from auclid.rows.table import Table

EXACT_BYTES = 1 << 24
"""Bytes of embedded rows up to which float64 stays float64."""

KEPT_VALUES = 3 << 30
"""Bytes of plain values that are kept for a solver that comes again and again."""

KEPT_ROWS = 1 << 30
"""Bytes of embedded rows that are kept for a solver that steps from row to row."""

SWEPT_ROWS = 1 << 29
"""Bytes of embedded rows that are made for one stretch of such steps, where they are not kept."""


def working_type(n, columns, dtype):
    """The floating type in which n rows are embedded: float32, unless rows are float64 and few."""
    return np.dtype(dtype if 8 * n * columns <= EXACT_BYTES else np.float32)


class Embedded(Table):
    """Rows psi(x) = M'e(x) of the rows x of X.

    ``feature_map`` gives the plain values e (``_values``, from a block of rows), M (``_mixing``, None where psi = e),
    the floating type it works in (``_dtype``) and the number of columns (``_n_features_out``). ``width`` is how many
    plain values a row has.

    Products with all rows are products with e, and M is applied to vectors. Rows are made only for a solver that steps
    from one to the next: all of them where they fit, and otherwise those of one stretch of steps.
    """

    def __init__(self, X, feature_map):
        self._raw = as_table(X)
        self._values, self._work = feature_map._values(), feature_map._dtype
        self.shape, self._mixing = (X.shape[0], feature_map._n_features_out), feature_map._mixing
        self.width = self.shape[1] if self._mixing is None else len(self._mixing)
        self._visits, self._kept_values, self._kept_rows = 0, None, None

    centre = DenseTable.centre

    @property
    def dtype(self):
        return self._raw.dtype

    def part(self, index):
        if self._kept_rows is not None:
            return self._kept_rows.part(index)
        return self._gather(index, self.shape[1], self._mix)

    def values(self, index):
        """The plain values e of these rows."""
        return self._values(self._raw.part(index)) if self._kept_values is None else self._kept_values[index]

    @property
    def mixing(self):
        """M, but for rows in float64, whose eigenvalues are cut so late that mixed moments would lose digits."""
        return self._mixing if self._work == np.float32 else None

    def plain(self, index):
        return self.take(index) if self.mixing is None else self._wide(index)

    def _wide(self, index):
        return self.values(index).astype(np.float64, copy=False)

    def matmul(self, W, index=None):
        self._visit()
        if self._kept_rows is not None:
            return self._kept_rows.matmul(W, index)
        return self.values_matmul(self.values_weights(W), index)

    def values_weights(self, W):
        """M W: psi(x).w = e.(M w)."""
        return W if self._mixing is None else self._mixing @ W

    def values_matmul(self, V, index=None):
        """e V in float64, of the rows of ``index`` only where one is given."""
        n = self.shape[0] if index is None else len(index)
        out = np.empty((n, *V.shape[1:]))
        for part in self.slices(n):
            out[part] = self._wide(part if index is None else index[part]) @ V
        return out

    def rmatmul(self, U):
        self._visit()
        if self._kept_rows is not None:
            return self._kept_rows.rmatmul(U)
        out = np.zeros((self.width, *U.shape[1:]))
        for part in self.slices():
            out += self._wide(part).T @ U[part]
        return out if self._mixing is None else self._mixing.T @ out

    def sweep(self, *orders, centre=None):
        if self._kept_rows is None and self._fits(self.shape[1], KEPT_ROWS):
            self._kept_rows, self._kept_values = DenseTable(self.part(slice(None))), None
        if self._kept_rows is not None:
            yield from self._kept_rows.sweep(*orders, centre=centre)
            return
        size = max(1, SWEPT_ROWS // (self._work.itemsize * self.shape[1] * len(orders)))
        yield from gathered(self, orders, centre, size)

    def block_rows(self):
        return max(1, sizes.BLOCK_BYTES // (8 * max(1, self.width)))

    def _visit(self):
        """Who comes a third time for a product with the rows will come again: from then on, values are kept."""
        self._visits += 1
        nothing_kept = self._kept_rows is None and self._kept_values is None
        if self._visits == 3 and nothing_kept and self._fits(self.width, KEPT_VALUES):
            self._kept_values = self._gather(slice(None), self.width, self.values)

    def _fits(self, columns, limit):
        """Whether all rows may be kept; in float64, only few of them ever are."""
        limit = limit if self._work == np.float32 else EXACT_BYTES
        return self.shape[0] * columns * self._work.itemsize <= limit

    def _gather(self, index, columns, make):
        index = np.arange(self.shape[0])[index]
        out = np.empty((len(index), columns), self._work)
        for part in self.slices(len(index)):
            out[part] = make(index[part])
        return out

    def _mix(self, index):
        return self.values(index) if self._mixing is None else self.values(index) @ self._working_mixing

    @cached_property
    def _working_mixing(self):
        return self._mixing.astype(self._work, copy=False)
