"""Arrays: an array or CSR matrix in memory, a memory-mapped ``.npy`` file, an ``.npz`` archive."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from auclid.data.readers.reader import (
    UNREADABLE,
    ColumnSelection,
    Reader,
    SourceBlock,
    block_rows,
    check_csr,
    file_sizes,
    select_columns,
)
from auclid.errors import DataError


class Arrays(Reader):
    """An array X of shape (n, d), with labels and weights of n values beside it; a subclass may `open` X anew."""

    resident, named = True, False

    def __init__(self, where: str, X: Any, selection: ColumnSelection, names: Sequence[str] | None = None) -> None:
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise DataError(f"{where} must be a table of numbers (n, d); got {X.dtype} of shape {X.shape}.")
        self.where, self._X = where, check_csr(X, where)
        self._names = [f"x{k}" for k in range(X.shape[1])] if names is None else list(names)
        self.columns = select_columns(selection._replace(target=None, weight=None), self._names, where)
        index = {name: k for k, name in enumerate(self._names)}
        self._chosen = None if self.columns == self._names else [index[name] for name in self.columns]
        self.dtype = np.dtype(np.float32 if X.dtype in (np.float32, np.float16) else np.float64)
        self.count = int(X.shape[0])
        self._target = self._vector("target", selection.target)
        self._weight = self._vector("sample_weight", selection.weight)
        self.has_target, self.has_weight = self._target is not None, self._weight is not None

    def _vector(self, parameter: str, values: Any) -> np.ndarray | None:
        """One value a row: given, or in a file."""
        if values is None:
            return None
        values = load_npy(Path(values)) if isinstance(values, str | Path) else np.asarray(values)
        if values.shape != (self.count,):
            raise DataError(
                f"The '{parameter}' parameter of scan must have a value a row, {self.count} of them; "
                f"got shape {values.shape}."
            )
        return values

    def open(self) -> Any:
        """The array."""
        return self._X

    def available_columns(self) -> list[str]:
        return self._names

    def nbytes(self, count: int | None) -> int | None:
        X = self._X
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else super().nbytes(count)

    def take(self, index: np.ndarray) -> Any:
        return self._typed(self.open()[index])

    def _typed(self, X: Any) -> Any:
        X = X if self._chosen is None else X[:, self._chosen]
        return sparse.csr_matrix(X, dtype=self.dtype) if sparse.issparse(X) else np.asarray(X, self.dtype)

    def _parts(self) -> list[slice]:
        rows, count = block_rows(len(self._names), self.dtype), self.count or 0
        return [slice(start, min(start + rows, count)) for start in range(0, count, rows)]

    def read(self) -> Iterator[SourceBlock]:
        return (SourceBlock(self._typed(self.open()[part]), *self._labels(part)) for part in self._parts())

    def read_labels(self) -> Iterator[SourceBlock] | None:
        return (SourceBlock(None, *self._labels(part)) for part in self._parts())

    def _labels(self, part: slice) -> tuple[np.ndarray | None, np.ndarray | None]:
        y, weight = self._target, self._weight
        return (
            None if y is None else np.asarray(y[part]),
            None if weight is None else np.asarray(weight[part], np.float64),
        )


class Npy(Arrays):
    """A ``.npy`` file; labels are in the file that ``target`` names, or beside it in ``NAME.y.npy``."""

    def __init__(self, path: Path, selection: ColumnSelection) -> None:
        self.path, self.files = path, file_sizes([path])
        super().__init__(repr(str(path)), load_npy(path), _with_labels_beside(path, selection))
        self._X = None

    def open(self) -> Any:
        """The array, mapped anew, so that the pages that were read before can be dropped."""
        return load_npy(self.path)


def _with_labels_beside(path: Path, selection: ColumnSelection) -> ColumnSelection:
    beside = path.with_suffix(".y.npy")
    return selection._replace(target=beside) if selection.target is None and beside.is_file() else selection


def load_npy(path: Path) -> Any:
    """The array of a ``.npy`` file, memory-mapped."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise FileNotFoundError(f"scan must be given a file that exists; there is no {str(path)!r}.") from None
    except UNREADABLE as error:
        raise DataError(f"{str(path)!r} must be a .npy file of numbers: {error}.") from None


class Npz(Arrays):
    """An ``.npz`` archive, read whole: arrays X, y and ``feature_names``, or a CSR matrix as SciPy saves it.

    Labels are in y, in the array that ``target`` names, or beside the archive in ``NAME.y.npy``.
    """

    def __init__(self, path: Path, selection: ColumnSelection) -> None:
        where, target = repr(str(path)), "y" if selection.target is None else selection.target
        wanted = {"target": target, "weight": selection.weight}
        wanted = {field: name for field, name in wanted.items() if isinstance(name, str)}
        try:
            X, parts = load_npz(path, [*wanted.values(), "feature_names"])
        except UNREADABLE as error:
            reason = str(error).strip("'")
            raise DataError(
                f"{where} must hold arrays X and y, or a CSR matrix with y inside or beside it: {reason}."
            ) from None
        for field, name in wanted.items():
            if name in parts:
                selection = selection._replace(**{field: parts[name]})  # type: ignore[arg-type]
        names = parts.get("feature_names")
        self.named = names is not None
        super().__init__(where, X, _with_labels_beside(path, selection), _checked(names, X, where))


def load_npz(path: Path, names: Sequence[str]) -> tuple[Any, dict[str, np.ndarray]]:
    """X of an archive, and those of the named arrays that it has."""
    # np.load leaves a file that it opened itself open where the archive is damaged.
    with path.open("rb") as archive, np.load(archive, allow_pickle=False) as file:
        X = sparse.load_npz(path) if "indptr" in file.files else file["X"]
        parts = {name: file[name] for name in names if name in file.files}
    return check_csr(X, "its matrix").tocsr() if sparse.issparse(X) else X, parts


def _checked(names: np.ndarray | None, X: Any, where: str) -> list[str] | None:
    if names is None or X.ndim != 2:
        return None
    if np.size(names) != X.shape[1]:
        counts = f"{np.size(names)} feature_names for {X.shape[1]} columns"
        raise DataError(f"{where} must name each column of X; got {counts}.")
    return [str(name) for name in np.ravel(names)]
