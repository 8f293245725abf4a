"""Table: what a solver may ask of its rows, wherever they lie."""

from abc import ABC, abstractmethod

import numpy as np
from scipy import sparse

from auclid.rows import sizes
from auclid.rows.blocks import as_array


class Table(ABC):
    """What every solver may ask of its rows, whatever they are made of."""

    shape: tuple
    mixing = None
    """M where the rows are x = M'e, made of plainer rows e: a moment of those, mixed once, costs less."""

    @property
    def dtype(self):
        """The floating type of the rows."""
        return self.X.dtype

    def centre(self):
        """What kernels that are not translation invariant subtract from each row: here nothing, sparse rows stay so."""
        return np.zeros(self.shape[1])

    @abstractmethod
    def part(self, index):
        """These rows (a slice or an array of numbers) as they are: an array, or a CSR matrix."""

    def take(self, index):
        """These rows in float64 for BLAS: an array, or a CSR matrix."""
        return self.part(index).astype(np.float64, copy=False)

    def plain(self, index):
        """The rows e that `mixing` makes these rows of, in float64; where there is none, the rows themselves."""
        return self.take(index)

    def dense(self, index):
        """These rows as a float64 array, whatever they are made of."""
        return as_array(self.take(index))

    def matmul(self, W, index=None):
        """X W in float64, of the rows of ``index`` only where one is given."""
        if index is None and self._whole():
            return self.X @ W
        n = self.shape[0] if index is None else len(index)
        out = np.empty((n, *W.shape[1:]))
        for part in self.slices(n):
            out[part] = self.take(part if index is None else index[part]) @ W
        return out

    def rmatmul(self, U):
        """X' U in float64."""
        if self._whole():
            return self.X.T @ U
        out = np.zeros((self.shape[1], *U.shape[1:]))
        for part in self.slices():
            out += self.take(part).T @ U[part]
        return out

    def rmatmul_squares(self, u):
        """sum_i u_i x_i^2, an entry a column."""
        out = np.zeros(self.shape[1])
        for part in self.slices():
            block = self.take(part)
            out += (block.multiply(block) if sparse.issparse(block) else block * block).T @ u[part]
        return out

    def _whole(self):
        """Whether a product with all rows at once makes no copy of them."""
        return False

    @abstractmethod
    def sweep(self, *orders, centre=None):
        """Yield (rows, places, steps): a kernel struct, the places in it of each order's rows, and which steps."""

    def block_rows(self):
        """How many rows make one block of bounded memory."""
        return max(1, sizes.BLOCK_BYTES // (8 * max(1, self.shape[1])))

    def slices(self, n=None):
        """Consecutive ranges of all rows, or of n of them, each one block."""
        return slices(self.shape[0] if n is None else n, self.block_rows())


def slices(n, size):
    return [slice(a, min(a + size, n)) for a in range(0, n, size)]
