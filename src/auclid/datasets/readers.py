"""Tables from files: csv, parquet, libsvm and npz, as numbers, labels and column names."""

import bz2
import gzip
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid._hints import did_you_mean
from auclid._sparse import fault
from auclid.data.readers.libsvm import fault_of, within
from auclid.datasets import _columns
from auclid.datasets._columns import TABLE
from auclid.errors import DataError, SourceNotFoundError


class TableFile(NamedTuple):
    """What a file holds."""

    X: Any  # float64 array (missing values are nan) or CSR matrix
    y: Any  # one label a row, or None where there are none
    feature_names: list[str]
    notes: list[str]  # sentences about what a user should know


def read_table(
    path: str | Path,
    target: str | None = None,
    *,
    one_hot: bool = False,
    drop: Sequence[str] = (),
    columns: list[str] | None = None,
) -> TableFile:
    """The table of a file, by its ending: .csv, .tsv, .data, .parquet, .npz, .libsvm, .svm, .txt (or .gz, .bz2).

    Parameters
    ----------
    path : str or path-like
        A csv or parquet file needs pyarrow. A data file is a csv file without a line of names: its columns
        are x1, x2 and so on. An npz file holds arrays X and y, or a CSR matrix as scipy saves it with y inside
        or beside it in ``NAME.y.npy``. A file of another ending, or of none, is a libsvm file if it begins so.
    target : str, optional
        The column with the labels, of a csv, data or parquet file; the others know theirs. None: no labels.
    one_hot : bool, default=False
        Whether a column of text becomes one column for each of its values, named ``column=value``.
    drop : names of columns to leave out
    columns : list of str, optional
        The feature names of a model: just these columns, in this order. One that is absent is an error, one
        too many is left out, and names like ``colour=red`` are made from a column ``colour``.

    Returns
    -------
    TableFile
        Named tuple (X, y, feature_names, notes).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auclid.datasets import read_table
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("age,sick\\n31,no\\n64,yes\\n")
    >>> X, y, names, notes = read_table(path, target="sick")
    >>> X, y, names
    (array([[31.],
           [64.]]), array(['no', 'yes'], dtype='<U3'), ['age'])
    """
    path = Path(path)
    _check_file(path)
    kind = _kind(path)
    if kind in NAMED:
        table = NAMED[kind](path)
        return TableFile(*_columns.to_numbers(table, target, one_hot, drop, columns))
    X, y, names = (_npz if kind == "npz" else _libsvm)(path, columns)
    if y is not None and X.shape[0] != len(y):
        raise DataError(f"{str(path)!r} must have one label a row; got {X.shape[0]} rows and {len(y)} labels.")
    X, names = _chosen(X, names, drop, columns)
    return TableFile(X, y, names, _columns.remarks(X, names))


def read_frame(
    path: Path, target: str | None = None, *, drop: Sequence[str] = (), columns: list[str] | None = None
) -> TableFile:
    """`read_table`, but X of a file of named columns is an Arrow table, its texts and dates as they came."""
    if not has_columns(path):
        return read_table(path, target, drop=drop, columns=columns)
    return TableFile(*_columns.to_frame(NAMED[_kind(path)](path), target, drop, columns))


def _check_file(path: Path) -> None:
    """Raise where there is no file: nothing, or something else."""
    try:
        kind = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            expected = "be a file that exists"
            raise SourceNotFoundError(**TABLE, expected=expected, got=repr(str(path)), hint=_near_file(path)) from None
        raise DataError(**TABLE, expected="be a file that can be read", got=f"{str(path)!r}: {error}") from None
    if not S_ISREG(kind):
        what = "a folder" if S_ISDIR(kind) else "a pipe or a device"
        raise DataError(**TABLE, expected="be a file", got=f"{str(path)!r}, which is {what}")


NAMED: dict[str, Callable[[Path], Any]] = {
    "csv": _columns.read_csv,
    "data": lambda path: _columns.read_csv(path, has_names=False),
    "parquet": _columns.read_parquet,
}
"""Files of named columns, one of which may be the target."""

PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

ENDINGS = {
    ".csv": "csv", ".tsv": "csv", ".data": "data", ".parquet": "parquet", ".pq": "parquet", ".npz": "npz",
    ".libsvm": "libsvm", ".svm": "libsvm", ".svmlight": "libsvm", ".txt": "libsvm", ".t": "libsvm",
}  # fmt: skip


def _kind(path: Path) -> str:
    endings = [ending for ending in path.suffixes if ending not in PACKED]
    last = endings[-1].lower() if endings else ""
    if last in ENDINGS:
        return ENDINGS[last]
    if path.suffix in PACKED or last in (".train", ".test", ".scale") or _begins_like_libsvm(path):
        return "libsvm"  # the way such files are named where they come from
    hint = f"Known endings are {', '.join(ENDINGS)}, those of text also with .gz or .bz2."
    raise DataError(**TABLE, expected="be a csv, parquet, libsvm or npz file", got=repr(path.name), hint=hint)


def _begins_like_libsvm(path: Path) -> bool:
    with open(path, "rb") as file:
        return re.search(rb"^\s*[-+.\deE]+\s+\d+:\S", file.read(1 << 16), re.MULTILINE) is not None


def has_columns(path: Path) -> bool:
    """Whether it is a file of named columns, one of which may be the target."""
    return path.is_file() and _kind(path) in NAMED


def _near_file(path: Path) -> str:
    beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    return did_you_mean(path.name, beside, show=lambda name: repr(str(path.parent / name)))


def _libsvm(path: Path, columns: list[str] | None) -> tuple[Any, Any, list[str]]:
    """Columns are named by their number in the file, from 1, or from 0 where such a column occurs."""
    from sklearn.datasets import load_svmlight_file

    try:
        with PACKED.get(path.suffix, open)(path, "rb") as file:
            X, y = load_svmlight_file(file, zero_based=True)
        X = within(X, None if columns is None else len(columns) + 1)
    except (ValueError, OSError, EOFError, IndexError, OverflowError, lzma.LZMAError, zlib.error) as error:
        raise DataError(
            f"{str(path)!r} must be a libsvm file, lines of 'label column:value ...': {fault_of(error)}."
        ) from None
    if not X.shape[0]:
        raise DataError(f"{str(path)!r} must hold rows; it is empty.")
    uses_zero = X[:, :1].nnz > 0
    from_zero = uses_zero if columns is None else columns[:1] == ["0"]
    if columns is not None and not all(name.isdigit() for name in columns):
        raise DataError(
            f"{str(path)!r} must have the columns {', '.join(map(repr, columns[:3]))}, ... by name; "
            "a libsvm file has numbers only. Use a csv, parquet or npz file with these names."
        )
    if uses_zero and not from_zero:
        raise DataError(f"{str(path)!r} must number its columns from 1, as the model's rows did; it has a column 0.")
    X = X if from_zero else X[:, 1:]
    names = [str(k) for k in range(not from_zero, X.shape[1] + (not from_zero))]
    if columns is not None and X.shape[1] < len(columns):
        X.resize(X.shape[0], len(columns))
        names = list(columns)
    return X.tocsr(), y, names


UNREADABLE = (
    KeyError, ValueError, TypeError, NotImplementedError, OSError, EOFError, AttributeError, IndexError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""How a file that is no npz file, or another one, fails."""


def _npz(path: Path, columns: list[str] | None) -> tuple[Any, Any, list[str]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files if name in ("X", "y", "feature_names")}
            scipys = "indptr" in file.files
        X = _load_sparse(path) if scipys else parts["X"]
        y, labels = parts.get("y"), path.with_suffix(".y.npy")
        if y is None and labels.exists():
            y = np.load(labels, allow_pickle=False)
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X holds {X.dtype}, no real numbers")
        X = X.astype(np.float32 if X.dtype == np.float32 else np.float64)
    except UNREADABLE as error:
        reason = str(error).strip("'")
        raise DataError(
            f"{str(path)!r} must hold arrays X and y, or a CSR matrix with y inside or beside it: {reason}."
        ) from None
    if X.ndim != 2 or (y is not None and y.ndim != 1):
        shapes = " and ".join(str(part.shape) for part in (X, y) if part is not None)
        raise DataError(f"{str(path)!r} must hold a table X and a column y; got shapes {shapes}.")
    if not X.shape[0]:
        raise DataError(f"{str(path)!r} must hold rows; it is empty.")
    names = [str(name) for name in np.ravel(parts.get("feature_names", _columns.numbered(X.shape[1])))]
    if len(names) != X.shape[1]:
        counts = f"{len(names)} feature_names for {X.shape[1]} columns"
        raise DataError(f"{str(path)!r} must name each column of X; got {counts}.")
    if len(set(names)) < len(names):
        raise DataError(f"{str(path)!r} must have different names in feature_names; one is there more than once.")
    return X, y, names


def _load_sparse(path: Path) -> sparse.csr_matrix:
    """The CSR matrix of a file that scipy wrote, if its indices lie inside of it: compiled code does not look."""
    X = sparse.load_npz(path)
    wrong = fault(X)
    if wrong:
        raise ValueError(f"the matrix has {wrong}")
    return X.tocsr()


def _chosen(X: Any, names: list[str], drop: Sequence[str], columns: list[str] | None) -> tuple[Any, list[str]]:
    """The columns that are not dropped, or just those of a model."""
    _columns.all_known(drop, names, "drop")
    if columns is None:
        columns = [name for name in names if name not in drop]
    if columns == names:
        return X, names
    place = {name: k for k, name in enumerate(names)}
    _columns.none_missing(columns, place)
    return X[:, [place[name] for name in columns]], list(columns)
