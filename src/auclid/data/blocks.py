"""Operations on a block of rows, an array or a CSR matrix: the only module that asks which of the two it is."""

from collections.abc import Iterable
from itertools import chain
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from scipy import sparse

from auclid.data.structs import CSR, Dense

Block: TypeAlias = np.ndarray | sparse.csr_array | sparse.csr_matrix
"""Some rows: a two-dimensional array, or a CSR matrix."""


def is_sparse(block: Block) -> TypeGuard[Any]:
    """Whether a block is a CSR matrix."""
    return sparse.issparse(block)


def first_nonfinite(block: Block) -> tuple[int, int, float] | None:
    """(row, column, value) of the first infinity, else of the first NaN; None if all values are finite."""
    if is_sparse(block):
        if np.isfinite(block.data).all():
            return None
        block = block.tocoo()
        values, (rows, columns) = block.data, block.coords
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            if np.isfinite(np.add.reduce(block, axis=0)).all() or np.isfinite(block).all():
                return None
        rows, columns = np.nonzero(~np.isfinite(block))
        values = block[rows, columns]
    chosen = np.isinf(values) if np.isinf(values).any() else np.isnan(values)
    return int(rows[chosen][0]), int(columns[chosen][0]), float(values[chosen][0])


def describe_nonfinite(value: float) -> tuple[str, str]:
    """The name of a value that is not finite, and the start of a hint for the error message."""
    if np.isinf(value):
        return "infinity", "Clip it first"
    return "NaN", "Fill in missing values first, use Scorecard, which takes missing values"


def kernel_rows(block: Block, centre: np.ndarray) -> Dense | CSR:
    """The struct with which kernels read a float64 block."""
    if is_sparse(block):
        columns, ends = (x.astype(np.int32, copy=False) for x in (block.indices, block.indptr))
        return CSR(block.data, columns, ends)
    return Dense(block, centre)


def reference_point(block: Block) -> np.ndarray:
    """A point near the rows to subtract from them: the first row, or the origin if the block is sparse."""
    return np.zeros(block.shape[1]) if is_sparse(block) else block[0].copy()


def append_rows(upper: Block, lower: Block) -> Block:
    """The rows of two blocks, one above the other, in the format of the upper block."""
    if is_sparse(upper):
        return sparse.vstack([upper, sparse.csr_array(lower)], format="csr")
    # Fortran-ordered blocks would give a Fortran-ordered result: another type for kernels, with slow rows.
    return np.ascontiguousarray(np.vstack([upper, lower.toarray() if is_sparse(lower) else lower]))


def concatenate_rows(blocks: list[Any]) -> Any:
    """The rows of several blocks of one format, in their order."""
    return sparse.vstack(blocks, format="csr") if is_sparse(blocks[0]) else np.concatenate(blocks)


def stack_rows(blocks: Iterable[Any], rows: int) -> Any:
    """`concatenate_rows` of blocks that have so many rows in all: dense ones are written one after the other."""
    each = iter(blocks)
    first = next(each)
    if is_sparse(first):
        return concatenate_rows([first, *each])
    out, start = np.empty((rows, first.shape[1]), first.dtype), 0
    for block in chain([first], each):
        out[start : start + len(block)] = block
        start += len(block)
    return out


def block_arrays(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A block as plain arrays: its values, and a CSR matrix's indices and indptr, which are empty otherwise."""
    if is_sparse(block):
        return block.data, block.indices, block.indptr
    return block, np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)


def block_from_arrays(values: np.ndarray, indices: np.ndarray, indptr: np.ndarray, d: int) -> Block:
    """The block of d columns whose plain arrays `block_arrays` gave."""
    if values.ndim == 2:
        return values
    return sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, d))


def as_array(block: Block) -> np.ndarray:
    """A block as a dense array."""
    return block.toarray() if is_sparse(block) else np.asarray(block)


def centre_rows(block: Block, centre: np.ndarray) -> tuple[Block, np.ndarray]:
    """The block minus a centre, and the centre that was subtracted.

    Of a sparse block only columns without zeros are centred, so it stays sparse. A column that contains zeros cannot
    have a mean much larger than its spread.
    """
    if not is_sparse(block):
        return block - centre, centre
    full = np.bincount(block.indices, minlength=block.shape[1]) == block.shape[0]
    shift = np.where(full, np.ravel(centre), 0.0)
    data = block.data - shift[block.indices]
    return sparse.csr_array((data, block.indices, block.indptr), shape=block.shape), shift


def with_int32_indices(block: Block) -> Block:
    """The block with 32-bit indices, if it is sparse and they suffice."""
    if not is_sparse(block) or block.indices.dtype == np.int32 or max(block.nnz, *block.shape) >= 2**31:
        return block
    return sparse.csr_matrix((block.data, block.indices.astype(np.int32), block.indptr.astype(np.int32)), block.shape)


def gram_matrix(block: Block) -> np.ndarray:
    """X' X of a block, a dense array."""
    product = block.T @ block
    return product.toarray() if is_sparse(product) else product


def row_squared_norms(block: Block) -> np.ndarray:
    """|x|^2 of each row of a block."""
    if is_sparse(block):
        return np.asarray(block.multiply(block).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", block, block)


def scaled_products(block: Block, centre: np.ndarray, scale: float, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Z V and |z|^2 of each row z = scale (x - centre) of a block, in V's floating type."""
    if not is_sparse(block):
        Z = block - centre
        Z *= scale  # in place: a second temporary of a wide block would cost as much as all kernel values
        Z = Z.astype(V.dtype, copy=False)
        return Z @ V, row_squared_norms(Z)
    Z, centre = (block * scale).astype(V.dtype, copy=False), (centre * scale).astype(V.dtype, copy=False)
    squares = row_squared_norms(Z) - 2.0 * (Z @ centre) + centre @ centre
    return Z @ V - centre @ V, squares.astype(V.dtype, copy=False)
