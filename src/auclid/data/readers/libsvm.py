"""libsvm files, a few megabytes of lines at a time; how many columns there are is known after the first pass."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from auclid.data.readers.reader import (
    COMPRESSED,
    UNREADABLE,
    ColumnSelection,
    Reader,
    SourceBlock,
    check_column,
    file_sizes,
    prefetch,
)
from auclid.errors import ColumnNotFoundError, DataError

MAX_COLUMN_NUMBER = 1 << 22
"""Columns that a libsvm file may have, since one short line can name any: every column costs memory, used or not."""

PIECE_BYTES = 1 << 22
"""Bytes of text that are parsed at once."""


class Libsvm(Reader):
    """Lines of 'label column:value ...'; columns are named by their number, from 1, or from 0 where that occurs."""

    slow, has_target, named = True, True, False
    dtype = np.dtype(np.float64)

    def __init__(self, paths: Sequence[Path], where: str, selection: ColumnSelection) -> None:
        if selection.target is not None or selection.weight is not None:
            raise DataError(
                f"The 'target' and 'sample_weight' parameters of scan must be None for a libsvm file, which has its "
                f"labels at the beginning of each line; got {(selection.target or selection.weight)!r}."
            )
        self.paths, self.where, self.files = list(paths), where, file_sizes(paths)
        self.width, self.from_zero, self._drop = 1, False, list(selection.drop)
        self._chosen = None if selection.columns is None else [column_number(name) for name in selection.columns]
        self.late_columns = self._chosen is None

    @property
    def columns(self) -> list[str]:  # type: ignore[override]
        return [str(k) for k in self._numbers()]

    def _numbers(self) -> list[int]:
        """The numbers of the columns that are read, as far as they are known."""
        if self._chosen is not None:
            return self._chosen
        names = self.available_columns()
        dropped = {check_column("drop", name, names, self.where) for name in self._drop}
        return [int(name) for name in names if name not in dropped]

    def available_columns(self) -> list[str]:
        return [str(k) for k in range(not self.from_zero, self.width)]

    def read(self) -> Iterator[SourceBlock]:
        return prefetch(block for path in self.paths for block in self._blocks(path))

    def conform(self, X: Any) -> Any:
        X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], max(self.width, X.shape[1])))
        if self._chosen is not None or self._drop:
            return X[:, self._numbers()]
        return X if self.from_zero else X[:, 1:]

    def _blocks(self, path: Path) -> Iterator[SourceBlock]:
        from sklearn.datasets import load_svmlight_file

        number = 0
        try:
            with COMPRESSED.get(path.suffix.lower(), open)(path, "rb") as file:
                for lines in whole_lines(file):
                    X, y = load_svmlight_file(BytesIO(lines), zero_based=True)
                    X = self._within(X)
                    number += 1
                    if len(y):
                        yield SourceBlock(X, y, None)
        except FileNotFoundError:
            raise FileNotFoundError(f"{str(path)!r} must stay in its place while scan reads it; it is gone.") from None
        except UNREADABLE as error:
            reason = f"it names a column beyond {MAX_COLUMN_NUMBER}" if isinstance(error, OverflowError) else str(error)
            raise DataError(
                f"{str(path)!r} must be a libsvm file, lines of 'label column:value ...'; block {number} is not: "
                f"{reason.rstrip('.')}."
            ) from None

    def _within(self, X: Any) -> Any:
        """X without columns beyond those chosen; raises where none are chosen and there are too many."""
        if self._chosen is None and X.shape[1] > MAX_COLUMN_NUMBER + 1:
            raise ValueError(
                f"it names a column {X.shape[1] - 1}, and numbers up to {MAX_COLUMN_NUMBER} are read; "
                "number those that occur anew, or say which columns are wanted"
            )
        X = X if self._chosen is None else X[:, : max(self._chosen, default=0) + 1]
        self.width = max([self.width, X.shape[1], *(k + 1 for k in self._chosen or ())])
        self.from_zero = self.from_zero or bool(X[:, :1].nnz)
        return X


def whole_lines(file: Any) -> Iterator[bytes]:
    """The file by pieces that end where lines do."""
    begun: list[bytes] = []  # of a line whose end was not read yet
    while piece := file.read(PIECE_BYTES):
        lines, end, rest = piece.rpartition(b"\n")
        if end:
            yield b"".join([*begun, lines, end])
            begun = []
        begun.append(rest)
    if last := b"".join(begun).strip():
        yield last


def column_number(name: str) -> int:
    """The number that is the name of a column of a libsvm file."""
    if not str(name).isdigit():
        raise ColumnNotFoundError(
            columns=[str(name)],
            owner="scan",
            parameter="columns",
            expected="hold numbers of columns for a libsvm file",
            got=repr(name),
            hint="A libsvm file has numbers only; csv, Parquet and Arrow files have names.",
        )
    return int(name)
