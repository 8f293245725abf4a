"""Which reader a source needs: by what it is, or by the ending of its files."""

import glob
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from auclid._hints import did_you_mean
from auclid.data.readers.arrays import Arrays, Npy
from auclid.data.readers.arrow import Csv, Frame, Ipc
from auclid.data.readers.function import Function
from auclid.data.readers.libsvm import PACKED, Libsvm
from auclid.data.readers.parquet import Parquet
from auclid.data.readers.reader import ColumnSelection, Reader
from auclid.errors import DataError, SourceNotFoundError, invalid_type

ENDINGS = {
    ".parquet": Parquet, ".pq": Parquet, ".arrow": Ipc, ".feather": Ipc, ".ipc": Ipc,
    ".csv": Csv, ".tsv": Csv, ".data": Csv,
    ".libsvm": Libsvm, ".svm": Libsvm, ".svmlight": Libsvm, ".txt": Libsvm, ".t": Libsvm,
    ".npy": Npy,
}  # fmt: skip

FRAMES = {
    ("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("pandas", "DataFrame"),
    ("polars", "DataFrame"), ("polars", "LazyFrame"),
}  # fmt: skip

SOURCE = {"owner": "scan", "parameter": "source"}
"""What an error about files is about."""


def open_source(source: Any, wanted: ColumnSelection) -> Reader:
    """The reader of a source; its files are looked at, not read."""
    if isinstance(source, str | Path):
        return _files(source, wanted)
    if isinstance(source, np.ndarray) or sparse.issparse(source):
        return Arrays("the array", sparse.csr_matrix(source) if sparse.issparse(source) else source, wanted)
    if (type(source).__module__.split(".")[0], type(source).__name__) in FRAMES:
        return Frame(source, wanted)
    if callable(source):
        return Function(source, wanted)
    if hasattr(source, "__next__"):
        hint = "Pass a function that gives a fresh iterator of (X, y) blocks."
        raise invalid_type("scan", "source", "be something that can be read again", source, hint)
    kinds = "a file, a folder or glob of files, a table of pyarrow, pandas or polars, an array, or a function that "
    raise invalid_type("scan", "source", f"be {kinds}gives iterators of (X, y) blocks", source)


def _files(source: str | Path, wanted: ColumnSelection) -> Reader:
    where, paths = repr(str(source)), source_paths(source)
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1:
        names = ", ".join(sorted({path.suffix for path in paths}))
        raise ValueError(f"The files of {where} must be of one kind; got {names}. Name some of them, as '*.parquet'.")
    kind = kinds.pop()
    if kind is Npy:
        if len(paths) > 1:
            raise ValueError(f"A .npy source of scan must be one file; {where} has {len(paths)}.")
        return Npy(paths[0], wanted)
    return kind(paths, where, wanted)


def column_names(source: str | Path) -> list[str]:
    """The names of all columns of files that have some; of a libsvm or npy file, none."""
    paths = source_paths(source)
    kind = _kind(paths[0])
    if kind in (Npy, Libsvm):
        return []
    reader: Any = object.__new__(kind)
    reader.named = not any(".data" in path.suffixes for path in paths)
    return [str(name) for name in reader.schema(paths[0]).names]


def has_own_labels(source: str | Path) -> bool:
    """Whether the files of a source tell labels without a name for their column."""
    return _kind(source_paths(source)[0]) in (Npy, Libsvm)


def source_paths(source: str | Path) -> list[Path]:
    """The files of a source, in the order in which they are read."""
    path = Path(source)
    if path.is_file():
        return [path]
    if path.is_dir():
        found = [each for each in path.rglob("*") if each.is_file() and not _hidden(each.relative_to(path))]
        found = [each for each in found if file_ending(each) in ENDINGS]
    else:
        found = [Path(each) for each in glob.glob(str(source), recursive=True) if Path(each).is_file()]
    if not found and os.path.lexists(path) and not path.is_dir():
        got = f"{str(source)!r}, which is a pipe, a device or a link to nothing,"
        raise DataError(**SOURCE, expected="be a file, folder or glob", got=got)
    if not found and path.is_dir():
        kinds = f"a folder with files of a known kind ({', '.join(ENDINGS)})"
        raise SourceNotFoundError(**SOURCE, expected=f"be {kinds}", got=f"{str(source)!r}, which has none,")
    if not found:
        expected = "be a file, folder or glob that exists"
        raise SourceNotFoundError(**SOURCE, expected=expected, got=repr(str(source)), hint=_near(path))
    return sorted(found)


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def file_ending(path: Path) -> str:
    """The ending of a file that tells its kind, without that of a packed one."""
    endings = [ending for ending in path.suffixes if ending not in PACKED]
    return endings[-1].lower() if endings else ""


def _kind(path: Path) -> type:
    kind = ENDINGS.get(file_ending(path))
    if kind is None:
        raise DataError(**SOURCE, expected=f"be files of a known kind ({', '.join(ENDINGS)})", got=repr(path.name))
    return kind


def _near(path: Path) -> str:
    beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    return did_you_mean(path.name, beside, show=lambda name: repr(str(path.parent / name)))
