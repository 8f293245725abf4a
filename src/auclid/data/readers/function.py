"""A function that gives, each time it is called, a fresh iterator of (X, y) or (X, y, weight) blocks."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from auclid.data.encoding import ColumnEncoding
from auclid.data.readers.arrow import Frame
from auclid.data.readers.reader import Block, ColumnSelection, Reader, in_order, present


class Function(Reader):
    """Blocks that a user's function makes: arrays, CSR matrices or frames with their labels."""

    slow = True

    def __init__(self, function: Callable, wanted: ColumnSelection) -> None:
        if wanted.target is not None or wanted.weight is not None:
            raise ValueError(
                "The 'target' and 'sample_weight' parameters of scan must be None where the source is a function: "
                "its blocks (X, y) or (X, y, weight) bring their own."
            )
        self.function, self.where, self.wanted = function, "the function given to scan", wanted
        self._looked = False
        self._known: dict[str, ColumnEncoding] | None = None

    def known(self) -> None:
        if not self._looked:
            for _ in self.read():
                return
            raise ValueError(f"{self.where} must give blocks of rows; it gave none.")

    def read(self) -> Iterator[Block]:
        for number, item in enumerate(self._fresh()):
            yield self._block(number, item)

    def _fresh(self) -> Iterator:
        items = self.function()
        if iter(items) is items and items is self.function():
            raise ValueError(
                f"{self.where} must give a fresh iterator each time it is called; it gave the same one twice, which "
                "can be read only once. Make the iterator inside of the function."
            )
        return iter(items)

    def _block(self, number: int, item: Any) -> Block:
        if not isinstance(item, tuple) or len(item) not in (2, 3):
            raise TypeError(
                f"Block {number} of {self.where} must be a tuple (X, y) or (X, y, weight); got {type(item).__name__}."
            )
        X, y, weight = (*item, None)[:3]
        X, names, meanings = block_numbers(X, f"block {number} of {self.where}", self._known)
        if not self._looked:
            self._known = meanings
            self._take_first(X, names, y, weight)
        if X.shape[1] != len(self._names):
            raise ValueError(
                f"Block {number} of {self.where} must have the {len(self._names)} columns of the first; "
                f"got {X.shape[1]}."
            )
        for name, values, expected in (("y", y, self.has_target), ("weight", weight, self.has_weight)):
            if (values is not None) != expected:
                raise ValueError(f"Block {number} of {self.where} must have {name} if and only if the first block has.")
            if values is not None and np.shape(values) != (X.shape[0],):
                raise ValueError(
                    f"Block {number} of {self.where} must have one value of {name} a row, {X.shape[0]}; "
                    f"got shape {np.shape(values)}."
                )
        X = X if self._chosen is None else X[:, self._chosen]
        X = X.astype(self.dtype, copy=False)
        return Block(X, *(None if values is None else np.asarray(values) for values in (y, weight)))

    def _take_first(self, X: Any, names: list[str] | None, y: Any, weight: Any) -> None:
        """What the first block tells of all: names, types, and what comes beside the rows."""
        self.named = names is not None
        self._names = [f"x{k}" for k in range(X.shape[1])] if names is None else names
        wanted = self.wanted.columns
        self.columns = self._names if wanted is None else [
            present("columns", name, self._names, self.where) for name in wanted
        ]  # fmt: skip
        place = {name: k for k, name in enumerate(self._names)}
        self._chosen = None if wanted is None else [place[name] for name in self.columns]
        self.dtype = np.dtype(np.float32 if X.dtype in (np.float32, np.float16) else np.float64)
        self.meanings = {name: each for name, each in (self._known or {}).items() if name in self.columns}
        self.has_target, self.has_weight = y is not None, weight is not None
        self._looked = True


def block_numbers(
    X: Any, where: str, known: dict[str, ColumnEncoding] | None = None
) -> tuple[Any, list[str] | None, dict[str, ColumnEncoding]]:
    """A block as a CSR matrix or a two-dimensional array, names of its columns where it has them, and what they mean.

    ``known`` is what is known of that from other blocks.
    """
    if sparse.issparse(X):
        return sparse.csr_matrix(in_order(X, where)), None, {}
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        frame = Frame(X, ColumnSelection(None, None, None), known)
        parts = [block.X for block in frame.read()] or [np.empty((0, len(frame.columns)), frame.dtype)]
        return np.concatenate(parts), frame.columns, dict(frame.meanings)
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            f"{where[0].upper() + where[1:]} must be a table of numbers (n, d); got {X.dtype} of shape {X.shape}."
        )
    return X, None, {}
