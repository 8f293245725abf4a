"""Store: decoded blocks between passes, in memory up to a number of bytes, the others in a temporary file."""

import errno
import tempfile
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

FULL = {errno.ENOSPC, errno.EFBIG, *(getattr(errno, name) for name in ("EDQUOT",) if hasattr(errno, name))}


class Piece(NamedTuple):
    """Where an array lies in the file, and how: the axes of an F-ordered one are turned round."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype
    turned: bool


class Spooled(NamedTuple):
    """A block in the file: an array, or the three of a CSR matrix and its shape."""

    pieces: list[Piece]
    shape: tuple[int, int] | None


class Store:
    """Blocks by their number, in the order they were added.

    The file has no name where the system allows that, so it is gone with the process, however that ends; elsewhere it
    goes when it is closed.
    """

    def __init__(self, memory: int) -> None:
        self.memory, self.used = memory, 0
        self.blocks: list[Any] = []
        self._file: Any = None

    def __len__(self) -> int:
        return len(self.blocks)

    def add(self, X: Any, spool: bool) -> bool:
        """Keep one more block in memory or else, if that is allowed, in the file; says whether it was kept."""
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes
        in_memory = self._file is None and self.used + size <= self.memory
        if not in_memory and not spool:
            return False
        self.used += size if in_memory else 0
        self.blocks.append(X if in_memory else self._write(X))
        return True

    def get(self, number: int) -> Any:
        """A block: an array or a CSR matrix."""
        kept = self.blocks[number]
        if not isinstance(kept, Spooled):
            return kept
        arrays = [self._read(piece) for piece in kept.pieces]
        return arrays[0] if kept.shape is None else sparse.csr_matrix(tuple(arrays), shape=kept.shape)

    def _write(self, X: Any) -> Spooled:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="auclid-")  # noqa: SIM115
        arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        try:
            return Spooled([self._append(array) for array in arrays], X.shape if sparse.issparse(X) else None)
        except OSError as error:
            if error.errno not in FULL:
                raise
            self.close()
            raise OSError(
                error.errno,
                f"scan must keep decoded rows between passes, but the disk of {tempfile.gettempdir()!r} is full. "
                "Set TMPDIR to a folder with more room, or give scan more memory=.",
            ) from None

    def _append(self, array: np.ndarray) -> Piece:
        turned = array.ndim == 2 and not array.flags.c_contiguous and array.flags.f_contiguous
        plain = np.ascontiguousarray(array.T if turned else array)
        offset = self._file.seek(0, 2)
        self._file.write(memoryview(plain.data).cast("B") if plain.size else b"")
        self._file.flush()
        return Piece(offset, plain.shape, plain.dtype, turned)

    def _read(self, piece: Piece) -> np.ndarray:
        out = np.empty(piece.shape, piece.dtype)
        if out.size:
            self._file.seek(piece.offset)
            got = self._file.readinto(memoryview(out.data).cast("B"))
            if got != out.nbytes:
                raise OSError(f"scan must read {out.nbytes} bytes of its temporary file; got {got}.")
        return out.T if piece.turned else out

    def close(self) -> None:
        """Forget everything; the file is removed."""
        self.blocks, self.used = [], 0
        if self._file is not None:
            self._file.close()
            self._file = None
