"""A function that gives, each time it is called, a fresh iterator of (X, y) or (X, y, weight) blocks."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from auclid.data.encoding import ColumnEncoding
from auclid.data.readers.frame import FrameReader
from auclid.data.readers.reader import ColumnSelection, Reader, SourceBlock, check_csr, select_columns
from auclid.errors import DataError, InvalidTypeError


class Function(Reader):
    """Blocks that a user's function makes: arrays, CSR matrices or frames with their labels."""

    slow = True

    def __init__(self, function: Callable, selection: ColumnSelection) -> None:
        if selection.target is not None or selection.weight is not None:
            raise DataError(
                "The 'target' and 'sample_weight' parameters of scan must be None where the source is a function: "
                "its blocks (X, y) or (X, y, weight) bring their own."
            )
        self.function, self.where, self.selection = function, "the function given to scan", selection
        self._resolved = False
        self._encodings: dict[str, ColumnEncoding] | None = None
        self._lock = threading.Lock()  # several threads may be at the first block

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def resolve_schema(self) -> None:
        if not self._resolved:
            for _ in self.read():
                return
            raise DataError(f"{self.where} must give blocks of rows; it gave none.")

    def available_columns(self) -> list[str]:
        return self._names

    def read(self) -> Iterator[SourceBlock]:
        for number, item in enumerate(self._fresh()):
            yield self._block(number, item)

    def _fresh(self) -> Iterator:
        items = self.function()
        if iter(items) is items and items is self.function():
            raise DataError(
                f"{self.where} must give a fresh iterator each time it is called; it gave the same one twice, which "
                "can be read only once. Make the iterator inside of the function."
            )
        return iter(items)

    def _block(self, number: int, item: Any) -> SourceBlock:
        where = f"Block {number} of {self.where}"
        if not isinstance(item, tuple) or len(item) not in (2, 3):
            raise InvalidTypeError(f"{where} must be a tuple (X, y) or (X, y, weight); got {type(item).__name__}.")
        X, y, weight = (*item, None)[:3]
        with self._lock:
            X, names, encodings = block_numbers(X, where, self._encodings)
            if not self._resolved:
                self._encodings = encodings
                self._take_first(X, names, y, weight)
        if X.shape[1] != len(self._names):
            raise DataError(f"{where} must have the {len(self._names)} columns of the first; got {X.shape[1]}.")
        labels = self._vector(where, "y", y, X.shape[0], self.has_target)
        weights = self._vector(where, "weight", weight, X.shape[0], self.has_weight)
        X = X if self._chosen is None else X[:, self._chosen]
        return SourceBlock(X.astype(self.dtype, copy=False), labels, weights)

    def _vector(self, where: str, name: str, values: Any, rows: int, expected: bool) -> np.ndarray | None:
        """One value a row, in every block or in none."""
        if (values is not None) != expected:
            raise DataError(f"{where} must have {name} if and only if the first block has.")
        if values is not None and np.shape(values) != (rows,):
            raise DataError(f"{where} must have one value of {name} a row, {rows}; got shape {np.shape(values)}.")
        return None if values is None else np.asarray(values)

    def _take_first(self, X: Any, names: list[str] | None, y: Any, weight: Any) -> None:
        """What the first block tells of all: names, types, and whether there are labels and weights."""
        self.named = names is not None
        self._names = [f"x{k}" for k in range(X.shape[1])] if names is None else names
        self.columns = select_columns(self.selection, self._names, self.where)
        index = {name: k for k, name in enumerate(self._names)}
        self._chosen = None if self.columns == self._names else [index[name] for name in self.columns]
        self.dtype = np.dtype(np.float32 if X.dtype in (np.float32, np.float16) else np.float64)
        self.encodings = {name: each for name, each in (self._encodings or {}).items() if name in self.columns}
        self.has_target, self.has_weight = y is not None, weight is not None
        self._resolved = True


def block_numbers(
    X: Any, where: str, encodings: dict[str, ColumnEncoding] | None = None
) -> tuple[Any, list[str] | None, dict[str, ColumnEncoding]]:
    """A block as a CSR matrix or a two-dimensional array, names of its columns where it has them, and their encodings.

    ``encodings`` are those of other blocks.
    """
    if sparse.issparse(X):
        return sparse.csr_matrix(check_csr(X, where)), None, {}
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        frame = FrameReader(X, ColumnSelection(), encodings)
        parts = [block.X for block in frame.read()] or [np.empty((0, len(frame.columns)), frame.dtype)]
        return np.concatenate(parts), frame.columns, dict(frame.encodings)
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataError(
            f"{where[0].upper() + where[1:]} must be a table of numbers (n, d); got {X.dtype} of shape {X.shape}."
        )
    return X, None, {}
