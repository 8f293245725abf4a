"""Decoded blocks of rows between passes: in memory up to a number of bytes, the others in a temporary file."""

import errno
import tempfile
import threading
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

DISK_FULL = {errno.ENOSPC, errno.EFBIG, *(getattr(errno, name) for name in ("EDQUOT",) if hasattr(errno, name))}


class SpooledArray(NamedTuple):
    """Position and layout of an array in the file; an F-ordered one is written transposed."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype
    transposed: bool


class SpooledBlock(NamedTuple):
    """A block in the file: one array, or data, indices and indptr of a CSR matrix of the given shape."""

    arrays: list[SpooledArray]
    shape: tuple[int, int] | None


class Store:
    """Blocks by their number, in the order in which they were added.

    The temporary file has no name where the system allows that, so it vanishes with the process, however that ends;
    elsewhere it is removed when it is closed. Several threads may read and add blocks at the same time.
    """

    def __init__(self, memory: int) -> None:
        self.memory, self.used = memory, 0
        self.blocks: list[Any] = []
        self._file: Any = None
        self._lock = threading.Lock()  # the file has one position

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def spooled(self) -> bool:
        """Whether some blocks are in the file."""
        return self._file is not None

    def add(self, X: Any, spool: bool) -> bool:
        """Keep one more block, in memory or, if ``spool`` allows it, in the file; False where there is no room."""
        size = nbytes(X)
        in_memory = self._file is None and self.used + size <= self.memory
        if not in_memory and not spool:
            return False
        self.used += size if in_memory else 0
        self.blocks.append(X if in_memory else self._write(X))
        return True

    def get(self, number: int) -> Any:
        """A block: an array or a CSR matrix."""
        block = self.blocks[number]
        if not isinstance(block, SpooledBlock):
            return block
        arrays = [self._read(array) for array in block.arrays]
        return arrays[0] if block.shape is None else sparse.csr_matrix(tuple(arrays), shape=block.shape)

    def _write(self, X: Any) -> SpooledBlock:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="auclid-")  # noqa: SIM115
        arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        try:
            return SpooledBlock([self._append(array) for array in arrays], X.shape if sparse.issparse(X) else None)
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            self.close()
            raise OSError(
                error.errno,
                f"scan must keep decoded rows between passes, but the disk of {tempfile.gettempdir()!r} is full. "
                "Set TMPDIR to a folder with more room, or give scan more memory=.",
            ) from None

    def _append(self, array: np.ndarray) -> SpooledArray:
        transposed = array.ndim == 2 and not array.flags.c_contiguous and array.flags.f_contiguous
        plain = np.ascontiguousarray(array.T if transposed else array)
        with self._lock:
            offset = self._file.seek(0, 2)
            self._file.write(memoryview(plain.data).cast("B") if plain.size else b"")
            self._file.flush()
        return SpooledArray(offset, plain.shape, plain.dtype, transposed)

    def _read(self, array: SpooledArray) -> np.ndarray:
        out = np.empty(array.shape, array.dtype)
        if out.size:
            with self._lock:
                self._file.seek(array.offset)
                count = self._file.readinto(memoryview(out.data).cast("B"))
            if count != out.nbytes:
                raise OSError(f"scan must read {out.nbytes} bytes of its temporary file; got {count}.")
        return out.T if array.transposed else out

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self._file.close()

    def close(self) -> None:
        """Drop all blocks and remove the file."""
        self.blocks, self.used = [], 0
        if self._file is not None:
            self._file.close()
            self._file = None


def nbytes(X: Any) -> int:
    """The bytes of a block in memory."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes
