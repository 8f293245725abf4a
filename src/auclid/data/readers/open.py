"""Which reader a source needs: by what it is, or by the ending of its files."""

import glob
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from auclid._hints import did_you_mean
from auclid.data.readers.arrays import Arrays, Npy, Npz
from auclid.data.readers.arrow import FileReader, Ipc
from auclid.data.readers.csv import Csv
from auclid.data.readers.frame import FrameReader, is_readable_frame
from auclid.data.readers.function import Function
from auclid.data.readers.libsvm import Libsvm
from auclid.data.readers.parquet import Parquet
from auclid.data.readers.reader import COMPRESSED, ColumnSelection, Reader
from auclid.errors import DataError, SourceNotFoundError, invalid_type

ENDINGS: dict[str, Callable[..., Reader]] = {
    ".parquet": Parquet, ".pq": Parquet, ".arrow": Ipc, ".feather": Ipc, ".ipc": Ipc,
    ".csv": Csv, ".tsv": Csv, ".data": Csv,
    ".libsvm": Libsvm, ".svm": Libsvm, ".svmlight": Libsvm, ".txt": Libsvm, ".t": Libsvm,
    ".npy": Npy, ".npz": Npz,
}  # fmt: skip

LIBSVM_ENDINGS = (".train", ".test", ".scale")
"""Endings of libsvm files where the tables of the literature come from."""

SOURCE = {"owner": "scan", "parameter": "source"}
"""What an error about files is about."""


def open_source(source: Any, selection: ColumnSelection) -> Reader:
    """The reader of a source; of files only names and types of columns are read."""
    if isinstance(source, str | Path):
        return _open_files(source, selection)
    if isinstance(source, np.ndarray) or sparse.issparse(source):
        return Arrays("the array", sparse.csr_matrix(source) if sparse.issparse(source) else source, selection)
    if is_readable_frame(source):
        return FrameReader(source, selection)
    if callable(source):
        return Function(source, selection)
    if hasattr(source, "__next__"):
        hint = "Pass a function that gives a fresh iterator of (X, y) blocks."
        raise invalid_type("scan", "source", "be something that can be read again", source, hint)
    kinds = "a file, a folder or glob of files, a table of pyarrow, pandas or polars, an array, or a function that "
    raise invalid_type("scan", "source", f"be {kinds}gives iterators of (X, y) blocks", source)


def _open_files(source: str | Path, selection: ColumnSelection) -> Reader:
    where, paths = repr(str(source)), source_paths(source)
    readers = {reader_of(path) for path in paths}
    if len(readers) > 1:
        names = ", ".join(sorted({path.suffix for path in paths}))
        raise DataError(f"The files of {where} must be of one kind; got {names}. Name some of them, as '*.parquet'.")
    reader = readers.pop()
    if reader in (Npy, Npz):
        if len(paths) > 1:
            raise DataError(f"A {paths[0].suffix} source of scan must be one file; {where} has {len(paths)}.")
        return reader(paths[0], selection)
    return reader(paths, where, selection)


def has_own_labels(source: str | Path) -> bool:
    """Whether the files of a source have labels that need no name of a column."""
    return reader_of(source_paths(source)[0]) in (Npy, Npz, Libsvm)


def open_columns(source: str | Path) -> FileReader | None:
    """The reader of files of named columns, for `FileReader.copies`; None where columns have no names."""
    reader = None if has_own_labels(source) else _open_files(source, ColumnSelection(columns=[]))
    return reader if isinstance(reader, FileReader) else None


def source_paths(source: str | Path) -> list[Path]:
    """The files of a source, in the order of their names, each once."""
    path = Path(source)
    if path.is_file():
        return [path]
    if path.is_dir():
        candidates = [each for each in path.rglob("*") if file_ending(each) in ENDINGS]
        candidates = [each for each in candidates if not _hidden(each.relative_to(path))]
    else:
        candidates = [Path(each) for each in glob.glob(str(source), recursive=True)]
    files = _without_repeats(each for each in candidates if each.is_file())
    if files:
        return files
    if path.is_dir():
        kinds = f"a folder with files of a known kind ({', '.join(ENDINGS)})"
        raise SourceNotFoundError(**SOURCE, expected=f"be {kinds}", got=f"a folder without any at {str(source)!r}")
    if os.path.lexists(path):
        got = f"a pipe, a device or a link to nothing at {str(source)!r}"
        raise DataError(**SOURCE, expected="be a file, folder or glob", got=got)
    expected = "be a file, folder or glob that exists"
    raise SourceNotFoundError(**SOURCE, expected=expected, got=repr(str(source)), hint=_near(path))


def _without_repeats(paths: Iterable[Path]) -> list[Path]:
    """The paths sorted, without those that lead to a file again by way of a link."""
    shortest: dict[str, Path] = {}
    for path in sorted(paths, key=lambda path: (len(path.parts), path)):
        shortest.setdefault(os.path.realpath(path), path)
    return sorted(shortest.values())


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def file_ending(path: Path) -> str:
    """The ending that tells the kind of a file."""
    endings = [ending.lower() for ending in path.suffixes if ending.lower() not in COMPRESSED]
    return endings[-1] if endings else ""


def reader_of(path: Path) -> Callable[..., Reader]:
    """The class that reads a file: by its ending, or a libsvm file by its beginning."""
    ending = file_ending(path)
    if ending in ENDINGS:
        return ENDINGS[ending]
    if path.suffix.lower() in COMPRESSED or ending in LIBSVM_ENDINGS or _begins_like_libsvm(path):
        return Libsvm
    hint = "Files of text may be compressed (.gz, .bz2, .xz)."
    expected = f"be files of a known kind ({', '.join(ENDINGS)})"
    raise DataError(**SOURCE, expected=expected, got=repr(path.name), hint=hint)


def _begins_like_libsvm(path: Path) -> bool:
    with open(path, "rb") as file:
        return re.search(rb"^\s*[-+.\deE]+\s+\d+:\S", file.read(1 << 16), re.MULTILINE) is not None


def _near(path: Path) -> str:
    beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    return did_you_mean(path.name, beside, show=lambda name: repr(str(path.parent / name)))
