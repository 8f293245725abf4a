"""A block of rows in Python, an array or a CSR matrix: the only place that asks which."""

from typing import Any, TypeAlias, TypeGuard

import numpy as np
from scipy import sparse

from auclid.data.structs import CSR, Dense

Block: TypeAlias = np.ndarray | sparse.csr_array | sparse.csr_matrix
"""Some rows: a two-dimensional array, or a CSR matrix."""


def is_sparse(block: Block) -> TypeGuard[Any]:
    """Whether a block is a CSR matrix."""
    return sparse.issparse(block)


def first_fault(block: Block) -> tuple[int, int, float] | None:
    """(row, column, value) of the first infinity, else of the first NaN; None where all numbers are finite."""
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
    wrong = np.isinf(values) if np.isinf(values).any() else np.isnan(values)
    return int(rows[wrong][0]), int(columns[wrong][0]), float(values[wrong][0])


def fault_words(value: float) -> tuple[str, str]:
    """What a number that is not finite is called, and the beginning of what to do about it."""
    if np.isinf(value):
        return "infinity", "Clip it first"
    return "NaN", "Fill in missing values first, use Scorecard, which knows gaps"


def rows_of(block: Block, centre: np.ndarray) -> Dense | CSR:
    """The kernel struct of a float64 block: an array, or a CSR matrix."""
    if is_sparse(block):
        columns, ends = (x.astype(np.int32, copy=False) for x in (block.indices, block.indptr))
        return CSR(block.data, columns, ends)
    return Dense(block, centre)


def anchor(block: Block) -> np.ndarray:
    """A point near the rows to measure them from: the first row; the origin for sparse rows, which stay so."""
    return np.zeros(block.shape[1]) if is_sparse(block) else block[0].copy()


def append(upper: Block, lower: Block) -> Block:
    """The rows of two blocks, one above the other: an array or a CSR matrix, whichever the upper one is."""
    if is_sparse(upper):
        return sparse.vstack([upper, sparse.csr_array(lower)], format="csr")
    # Fortran-ordered blocks would make a Fortran-ordered one: another type for kernels, and slow rows.
    return np.ascontiguousarray(np.vstack([upper, lower.toarray() if is_sparse(lower) else lower]))


def joined(blocks: list[Any]) -> Any:
    """The rows of blocks of one kind, in their order."""
    return sparse.vstack(blocks, format="csr") if is_sparse(blocks[0]) else np.concatenate(blocks)


def pack(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A block as plain arrays: its values; columns and ends of its rows, empty unless it is a CSR matrix."""
    if is_sparse(block):
        return block.data, block.indices, block.indptr
    return block, np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)


def unpack(values: np.ndarray, columns: np.ndarray, ends: np.ndarray, d: int) -> Block:
    """The block of plain arrays."""
    if values.ndim == 2:
        return values
    return sparse.csr_array((values, columns, ends), shape=(len(ends) - 1, d))


def as_array(block: Block) -> np.ndarray:
    """A block as an array, whatever it is made of."""
    return block.toarray() if is_sparse(block) else np.asarray(block)


def centred(block: Block, centre: np.ndarray) -> tuple[Block, np.ndarray]:
    """The block minus a centre, and that centre. A sparse one moves in its full columns only, so it stays sparse;
    in the others zero is among the values, so no mean can dwarf the spread around it."""
    if not is_sparse(block):
        return block - centre, centre
    full = np.bincount(block.indices, minlength=block.shape[1]) == block.shape[0]
    shift = np.where(full, np.ravel(centre), 0.0)
    data = block.data - shift[block.indices]
    return sparse.csr_array((data, block.indices, block.indptr), shape=block.shape), shift


def narrow(block: Block) -> Block:
    """The block with 32-bit indices, where it is sparse and they suffice."""
    if not is_sparse(block) or block.indices.dtype == np.int32 or max(block.nnz, *block.shape) >= 2**31:
        return block
    return sparse.csr_matrix((block.data, block.indices.astype(np.int32), block.indptr.astype(np.int32)), block.shape)


def gram(block: Block) -> np.ndarray:
    """X' X of a block, an array."""
    product = block.T @ block
    return product.toarray() if is_sparse(product) else product


def squares(block: Block) -> np.ndarray:
    """|x|^2 of each row of a block: an array, or a CSR matrix."""
    if is_sparse(block):
        return np.asarray(block.multiply(block).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", block, block)


def about(block: Block, centre: np.ndarray, scale: float, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Z V and |z|^2 of each row z = scale (x - centre) of a block, in V's floating type."""
    if not is_sparse(block):
        Z = block - centre
        Z *= scale  # in place: a second temporary of a wide block would cost as much as all kernel values
        Z = Z.astype(V.dtype, copy=False)
        return Z @ V, squares(Z)
    Z, centre = (block * scale).astype(V.dtype, copy=False), (centre * scale).astype(V.dtype, copy=False)
    return Z @ V - centre @ V, (squares(Z) - 2.0 * (Z @ centre) + centre @ centre).astype(V.dtype, copy=False)
