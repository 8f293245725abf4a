"""Arrays: a memory-mapped ``.npy`` file, an array or CSR matrix in memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from auclid.data.readers.reader import Block, ColumnSelection, Reader, block_rows, in_order, present


class Arrays(Reader):
    """An array X of shape (n, d), with labels and weights of n values beside it; ``open`` gives X anew."""

    resident, named = True, False

    def __init__(self, where: str, X: Any, wanted: ColumnSelection) -> None:
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError(f"{where} must be a table of numbers (n, d); got {X.dtype} of shape {X.shape}.")
        self.where, self._X, self._names = where, in_order(X, where), [f"x{k}" for k in range(X.shape[1])]
        self.columns = self._names if wanted.columns is None else _names(wanted.columns, self._names, where)
        place = {name: k for k, name in enumerate(self._names)}
        self._chosen = None if wanted.columns is None else [place[name] for name in self.columns]
        self.dtype = np.dtype(np.float32 if X.dtype in (np.float32, np.float16) else np.float64)
        self.count = int(X.shape[0])
        self._target = self._vector("target", wanted.target)
        self._weight = self._vector("sample_weight", wanted.weight)
        self.has_target, self.has_weight = self._target is not None, self._weight is not None

    def _vector(self, parameter: str, given: Any) -> np.ndarray | None:
        """One value a row: given, or in a file."""
        if given is None:
            return None
        values = _load(Path(given)) if isinstance(given, str | Path) else np.asarray(given)
        if values.shape != (self.count,):
            raise ValueError(
                f"The '{parameter}' parameter of scan must have a value a row, {self.count} of them; "
                f"got shape {values.shape}."
            )
        return values

    def open(self) -> Any:
        """The array; of a file, mapped anew, so that what was read before is let go."""
        return self._X

    def take(self, index: np.ndarray) -> Any:
        return self._typed(self.open()[index])

    def _typed(self, X: Any) -> Any:
        X = X if self._chosen is None else X[:, self._chosen]
        return sparse.csr_matrix(X, dtype=self.dtype) if sparse.issparse(X) else np.asarray(X, self.dtype)

    def read(self) -> Iterator[Block]:
        rows = block_rows(len(self._names), self.dtype)
        for start in range(0, self.count or 0, rows):
            yield Block(self._typed(self.open()[start : start + rows]), *self._labels(start, rows))

    def read_labels(self) -> Iterator[Block] | None:
        rows = block_rows(len(self._names), self.dtype)
        return (Block(None, *self._labels(start, rows)) for start in range(0, self.count or 0, rows))

    def _labels(self, start: int, rows: int) -> tuple[np.ndarray | None, np.ndarray | None]:
        y, w = self._target, self._weight
        return (
            None if y is None else np.asarray(y[start : start + rows]),
            None if w is None else np.asarray(w[start : start + rows], np.float64),
        )


class Npy(Arrays):
    """A ``.npy`` file; labels are in the file that ``target`` names, or beside it in ``NAME.y.npy``."""

    def __init__(self, path: Path, wanted: ColumnSelection) -> None:
        beside = path.with_suffix(".y.npy")
        if wanted.target is None and beside.is_file():
            wanted = wanted._replace(target=beside)
        self.path = path
        super().__init__(repr(str(path)), _load(path), wanted)
        self._size = path.stat().st_size
        self._X = None

    def open(self) -> Any:
        return _load(self.path)

    def unchanged(self) -> None:
        now = self.path.stat().st_size if self.path.is_file() else None
        if now != self._size:
            said = "it is gone" if now is None else f"it had {self._size:,} bytes and has {now:,}"
            raise ValueError(f"{self.where} must stay as it is while it is read again and again; {said}.")


def _load(path: Path) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise FileNotFoundError(f"scan must be given a file that exists; there is no {str(path)!r}.") from None
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{str(path)!r} must be a .npy file of numbers: {error}.") from None


def _names(columns: Any, names: list[str], where: str) -> list[str]:
    known = dict.fromkeys(names)
    return [present("columns", name, known, where) for name in columns]
