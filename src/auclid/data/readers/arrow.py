"""Sources of named columns by way of Arrow: what readers of files and of tables in memory share; Arrow IPC files."""

import lzma
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from auclid._hints import listed
from auclid.data.encoding import ColumnEncoding, as_text, encoded_kind, encoding_of
from auclid.data.readers.reader import (
    ColumnSelection,
    Reader,
    SourceBlock,
    block_rows,
    file_sizes,
    prefetch,
    select_columns,
)
from auclid.errors import ColumnTypeError, DataError

USE_OTHERS = (
    "Choose others with columns=[...], put Columns before the method in a pipeline, or use Scorecard, which knows "
    "texts and dates."
)
"""What to do about columns that are no numbers."""

EXACT_IN_FLOAT32 = {"bool", "int8", "uint8", "int16", "uint16", "halffloat", "float", "null"}


def import_pyarrow() -> Any:
    """The module pyarrow; an ImportError that says how to get it where it is missing."""
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise ImportError("scan reads tables by pyarrow, which is not installed: pip install 'auclid[io]'.") from None
    return pyarrow


@contextmanager
def arrow_errors(path: Path, kind: str) -> Iterator[None]:
    """Raise a DataError that names the file in the place of what Arrow raises."""
    pa = import_pyarrow()
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"{str(path)!r} must stay in its place while scan reads it; it is gone.") from None
    except UnicodeError:
        raise DataError(
            f"{str(path)!r} must hold text in UTF-8; it is in another encoding, or no {kind}. Save it as UTF-8."
        ) from None
    except (pa.ArrowException, OSError, EOFError, lzma.LZMAError) as error:
        raise DataError(f"{str(path)!r} must be a whole {kind}: {_reason(error)}.") from None


def _reason(error: BaseException) -> str:
    """What Arrow says of a file, without its own name and that of the file."""
    reason = " ".join(str(error).split()).rstrip(".")
    reason = re.sub(r"^CSV parse error: |^Could not open Parquet input source '.*?': ", "", reason)
    return re.sub(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", _line_length, reason)


def _line_length(match: re.Match) -> str:
    row, expected, cells = match.groups()
    return f"{'a line' if row is None else f'line {row}'} has {cells} cells and not {expected}"


class ArrowReader(Reader):
    """Blocks of numbers from record batches of Arrow.

    Parameters
    ----------
    where : str
        What the source is, for errors.
    names : list of str
        All columns of the source.
    types : dict
        The Arrow types of each column by its name: one for each file.
    selection : ColumnSelection
    """

    def __init__(self, where: str, names: list[str], types: dict[str, list[Any]], selection: ColumnSelection) -> None:
        self.where, self.selection, self._names = where, selection, names
        self.columns = select_columns(selection, self._names, where)
        self.has_target, self.has_weight = selection.target is not None, selection.weight is not None
        self._check_types(types)
        encodings = {name: common_encoding(types[name], name, where) for name in self.columns}
        self.encodings = {name: encoding for name, encoding in encodings.items() if encoding is not None}
        exact = all(str(each) in EXACT_IN_FLOAT32 for name in self.columns for each in types[name])
        self.dtype = np.dtype(np.float32 if exact else np.float64)

    def _check_types(self, types: dict[str, list[Any]]) -> None:
        """Raise where columns cannot be encoded, a target holds several values a row, or weights are no numbers."""
        refused = {name: next((each for each in types[name] if not _is_encodable(each)), None) for name in self.columns}
        refused = {name: each for name, each in refused.items() if each is not None}
        if refused:
            raise not_numbers({name: str(each) for name, each in refused.items()}, self.where)
        target, weight = self.selection.target, self.selection.weight
        nested = [each for each in types.get(target, []) if import_pyarrow().types.is_nested(each)]
        if nested:
            raise DataError(f"The target of {self.where} must hold one label a row; {target!r} holds {nested[0]}.")
        other = [each for each in types.get(weight, []) if not _is_encodable(each) or encoded_kind(each)]
        if other:
            raise DataError(f"The sample_weight of {self.where} must hold numbers; {weight!r} holds {other[0]}.")

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Record batches with these columns, about so many rows each."""

    def available_columns(self) -> list[str]:
        return [name for name in self._names if name not in self._label_columns()]

    def read(self) -> Iterator[SourceBlock]:
        return self._blocks(prefetch(self._all_batches()))

    def _all_batches(self) -> Iterator[Any]:
        return self.batches([*self.columns, *self._label_columns()], block_rows(len(self.columns), self.dtype))

    def _blocks(self, batches: Iterator[Any]) -> Iterator[SourceBlock]:
        return (SourceBlock(self._numbers(batch), *self._labels(batch)) for batch in batches)

    def read_labels(self) -> Iterator[SourceBlock] | None:
        batches = self.batches(self._label_columns(), block_rows(len(self.columns), self.dtype))  # the same blocks
        return (SourceBlock(None, *self._labels(batch)) for batch in batches)

    def _label_columns(self) -> list[str]:
        return [name for name in (self.selection.target, self.selection.weight) if name is not None]

    def _labels(self, batch: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
        index = column_index(batch)
        target, weight = (None if name is None else batch.column(index[name]) for name in self.selection[:2])
        return (
            None if target is None else label_values(target),
            None if weight is None else number_values(weight).astype(np.float64),
        )

    def _numbers(self, batch: Any) -> np.ndarray:
        """An F-ordered block: columns are contiguous in Arrow too, so each is copied at once."""
        out, index = np.empty((len(self.columns), batch.num_rows), self.dtype), column_index(batch)
        for row, name in zip(out, self.columns, strict=True):
            row[:] = self._encode(batch.column(index[name]), name)
        return out.T

    def _encode(self, values: Any, name: str) -> np.ndarray:
        """The numbers of a column, which may be of another type here than in the first block."""
        encoding, kind = self.encodings.get(name), encoded_kind(values.type)
        if encoding is not None and (encoding.is_categorical or kind == encoding.kind):
            return encoding.encode(values, name)
        empty = import_pyarrow().types.is_null(values.type)
        if kind in (None, "bool") and (encoding is None or encoding.kind == "bool" or empty):
            return number_values(values)
        raise not_numbers({name: str(values.type)}, self.where)


def _is_encodable(arrow_type: Any) -> bool:
    """Whether a type holds numbers, or what numbers can stand for."""
    types = import_pyarrow().types
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_null, encoded_kind)
    return any(test(arrow_type) for test in tests)


def common_encoding(types: Sequence[Any], name: str, where: str) -> ColumnEncoding | None:
    """The encoding of a column that has these types in several files; None where it holds numbers."""
    present = [each for each in types if str(each) != "null"]
    kinds = {encoded_kind(each): each for each in reversed(present)}
    if len(kinds) <= 1:
        return encoding_of(present[0]) if present else None
    if kinds.keys() <= {None, "bool"}:
        return None
    if kinds.keys() & {"category", "text"}:
        return ColumnEncoding("text", str(kinds.get("text") or kinds.get("category")))
    listed_types = " and ".join(str(each) for each in kinds.values())
    raise DataError(f"The files of {where} must hold the same in each column; {name!r} holds {listed_types}.")


def column_index(batch: Any) -> dict[str, int]:
    """The index of each column by its name as text: pandas' names may be numbers."""
    return {str(name): k for k, name in enumerate(batch.schema.names)}


def not_numbers(types: dict[str, str], where: str) -> ColumnTypeError:
    """The error for columns that are no numbers, by name with their types, where numbers are wanted."""
    names, first = list(types), next(iter(types.values()))
    return ColumnTypeError(
        columns=names,
        owner="scan",
        parameter="columns",
        subject=f"The columns of {where}",
        expected="be numbers",
        got=f"{first} in {listed(names)}",
        hint=USE_OTHERS,
    )


def number_values(values: Any) -> np.ndarray:
    """An Arrow column of numbers as a NumPy array: NaN where one is missing."""
    kind = str(values.type)
    if kind == "bool":
        values = values.cast("uint8")
    elif kind.startswith("decimal") or kind == "null":
        values = values.cast("float64")
    return values.to_numpy(zero_copy_only=False)


def label_values(values: Any) -> np.ndarray:
    """An Arrow column of labels as a NumPy array: numbers, or objects where they are texts; None or NaN if missing."""
    types = import_pyarrow().types
    if types.is_integer(values.type) or types.is_floating(values.type) or types.is_boolean(values.type):
        return values.to_numpy(zero_copy_only=False)
    encoded = values if types.is_dictionary(values.type) else values.dictionary_encode()
    levels = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
    return levels[encoded.indices.fill_null(len(levels) - 1).to_numpy(zero_copy_only=False)]


class FileReader(ArrowReader):
    """Several files of the same columns, one after the other; a subclass opens one of them."""

    kind: str
    """What a file is called in errors."""

    def __init__(self, paths: Sequence[Path], where: str, selection: ColumnSelection) -> None:
        self.paths, self.files = list(paths), file_sizes(paths)
        self._schemas = {path: self._checked_schema(path) for path in self.paths}
        names = [str(name) for name in self._schemas[self.paths[0]].names]
        super().__init__(where, names, self._file_types(where, names, selection), selection)

    def _file_types(self, where: str, names: list[str], selection: ColumnSelection) -> dict[str, list[Any]]:
        """The types of each column in all files; raises where a file lacks a column that is to be read."""
        first, *others = ({str(field.name): field.type for field in each} for each in self._schemas.values())
        wanted = {*select_columns(selection, names, where), selection.target, selection.weight} - {None}
        for path, types in zip(self.paths[1:], others, strict=True):
            absent = [name for name in names if name in wanted and name not in types]
            if absent:
                raise DataError(
                    f"The files of {where} must have the same columns; {str(path)!r} lacks {listed(absent)}."
                )
        return {name: [types[name] for types in (first, *others) if name in types] for name in names}

    def _checked_schema(self, path: Path) -> Any:
        with arrow_errors(path, self.kind):
            schema = self.schema(path)
            schema.names  # noqa: B018 - decodes them: a damaged one is no UTF-8
            return schema

    @abstractmethod
    def schema(self, path: Path) -> Any:
        """The columns of a file."""

    @abstractmethod
    def open(self, path: Path, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """The batches of one file."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        for path in self.paths:
            with arrow_errors(path, self.kind):
                for batch in self.open(path, columns, rows):
                    batch.validate(full=True)  # a damaged file must not lead compiled code out of its buffers
                    yield batch

    def copies(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Batches of columns as they came, whatever they hold; as texts where files have them in several types."""
        pa = import_pyarrow()
        types = [common_type([schema.field(name).type for schema in self._schemas.values()]) for name in columns]
        schema = pa.schema(list(zip(columns, types, strict=True)))
        for batch in self.batches(columns, rows):
            index = column_index(batch)
            cells = [as_type(batch.column(index[field.name]), field.type) for field in schema]
            yield pa.RecordBatch.from_arrays(cells, schema=schema)


def common_type(types: Sequence[Any]) -> Any:
    """The type for copies of a column with these types: the one they share, of whole numbers int64, else text."""
    pa = import_pyarrow()
    present = list(dict.fromkeys(each for each in types if not pa.types.is_null(each)))
    if len(present) <= 1:
        return present[0] if present else pa.null()
    signed = all(pa.types.is_integer(each) and each != pa.uint64() for each in present)
    return pa.int64() if signed else pa.string()


def as_type(values: Any, arrow_type: Any) -> Any:
    """An Arrow column in that type; a whole number becomes a text without a point."""
    if values.type == arrow_type:
        return values
    if arrow_type == import_pyarrow().string():
        return import_pyarrow().array(map(as_text, values.to_pylist()), arrow_type)
    return values.cast(arrow_type)


class Ipc(FileReader):
    """Arrow IPC files (also called Feather), memory-mapped: a batch is as large as it was written."""

    kind = "Arrow IPC file"

    def schema(self, path: Path) -> Any:
        with import_pyarrow().ipc.open_file(path) as file:
            return file.schema

    def open(self, path: Path, columns: Sequence[str], rows: int) -> Iterator[Any]:
        pa, wanted = import_pyarrow(), set(columns)
        with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as file:
            for k in range(file.num_record_batches):
                batch = file.get_batch(k)
                yield from sliced(batch.select([name for name in batch.schema.names if name in wanted]), rows)


def sliced(batch: Any, rows: int) -> Iterator[Any]:
    """A batch in pieces of at most so many rows."""
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)
