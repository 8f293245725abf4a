"""libsvm files, a few megabytes of lines at a time; how many columns there are is known after the first pass."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from auclid.data.readers.reader import Block, ColumnSelection, Reader, ahead

PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

MOST_COLUMNS = 1 << 22
"""Columns that a libsvm file may have, since one short line can name any: every column costs memory, used or not."""

LINES = 1 << 22
"""Bytes of text that are parsed at once."""


class Libsvm(Reader):
    """Lines of 'label column:value ...'; columns are named by their number, from 1, or from 0 where that occurs."""

    slow, has_target, named = True, True, False
    dtype = np.dtype(np.float64)

    def __init__(self, paths: Sequence[Path], where: str, wanted: ColumnSelection) -> None:
        if wanted.target is not None or wanted.weight is not None:
            raise ValueError(
                f"The 'target' and 'sample_weight' parameters of scan must be None for a libsvm file, which has its "
                f"labels at the beginning of each line; got {(wanted.target or wanted.weight)!r}."
            )
        self.paths, self.where = list(paths), where
        self.width, self.from_zero = 1, False
        self.wanted = None if wanted.columns is None else [_number(name) for name in wanted.columns]
        self.late = self.wanted is None

    @property
    def columns(self) -> list[str]:  # type: ignore[override]
        return [str(k) for k in (range(not self.from_zero, self.width) if self.wanted is None else self.wanted)]

    def read(self) -> Iterator[Block]:
        return ahead(block for path in self.paths for block in self._file(path))

    def shaped(self, X: Any) -> Any:
        X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], max(self.width, X.shape[1])))
        if self.wanted is not None:
            return X[:, self.wanted]
        return X if self.from_zero else X[:, 1:]

    def _file(self, path: Path) -> Iterator[Block]:
        from sklearn.datasets import load_svmlight_file

        at = 0
        try:
            with PACKED.get(path.suffix, open)(path, "rb") as file:
                for lines in _pieces(file):
                    X, y = load_svmlight_file(BytesIO(lines), zero_based=True)
                    X = within(X, None if self.wanted is None else max(self.wanted, default=0) + 1)
                    at += 1
                    if len(y):
                        self.width = max([self.width, X.shape[1], *(k + 1 for k in self.wanted or ())])
                        self.from_zero = self.from_zero or bool(X[:, :1].nnz)
                        yield Block(X, y, None)
        except FileNotFoundError:
            raise FileNotFoundError(f"{str(path)!r} must stay in its place while scan reads it; it is gone.") from None
        except (ValueError, OSError, EOFError, IndexError, OverflowError, lzma.LZMAError, zlib.error) as error:
            raise ValueError(
                f"{str(path)!r} must be a libsvm file, lines of 'label column:value ...'; block {at} is not: "
                f"{fault_of(error)}."
            ) from None


def fault_of(error: Exception) -> str:
    """What is wrong with a file, by the error that reading it gave; without a full stop."""
    if isinstance(error, OverflowError):
        return f"it names a column beyond {MOST_COLUMNS}, too large a number for any"
    return str(error).rstrip(".")


def within(X: Any, asked: int | None) -> Any:
    """The columns below ``asked``, where a number is given; otherwise all, unless they are too many."""
    if asked is not None:
        return X[:, :asked]
    if X.shape[1] > MOST_COLUMNS + 1:
        raise ValueError(
            f"it names a column {X.shape[1] - 1}, and numbers up to {MOST_COLUMNS} are read; "
            "number those that occur anew, or say which columns are wanted"
        )
    return X


def _pieces(file: Any) -> Iterator[bytes]:
    """The file by pieces that end where lines do."""
    rest = b""
    while piece := file.read(LINES):
        lines, end, after = (rest + piece).rpartition(b"\n")
        rest = after
        if end:
            yield lines + end
    if rest.strip():
        yield rest


def _number(name: str) -> int:
    if not str(name).isdigit():
        raise ValueError(
            f"The 'columns' parameter of scan must hold numbers of columns for a libsvm file; got {name!r}. "
            "Only csv, Parquet and Arrow files have names."
        )
    return int(name)
