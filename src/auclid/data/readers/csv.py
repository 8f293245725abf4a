"""csv files: their dialect, the types of their columns, and their blocks."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auclid.data.encoding import MISSING_MARKS, ColumnEncoding
from auclid.data.readers.arrow import FileReader, arrow_errors, import_pyarrow, sliced
from auclid.data.readers.reader import COMPRESSED, ColumnSelection, SchemaChanged, SourceBlock

DELIMITERS = ",;\t"

SNIFFED_BYTES = 1 << 16
"""Bytes from which the dialect of a file is found."""

PARSED_BYTES = 1 << 22
"""Bytes of text that are parsed at a time; types are guessed from the first block of each file."""

BOOLEANS = {"true_values": ["true", "True", "TRUE"], "false_values": ["false", "False", "FALSE"]}

NUMBER = r"\s*[-+]?\d+{}\d+([eE][-+]?\d+)?\s*"


class CsvDialect(NamedTuple):
    """How a csv file is written."""

    delimiter: str
    cells: int
    """Cells of the first line."""
    decimal_point: str


def sniff_dialect(path: Path) -> CsvDialect:
    """The dialect of a csv file, compressed or not, by its first lines; raises UnicodeError where they are not UTF-8.

    The delimiter is the most frequent one of the first line, outside of quotes. Where it is not the comma, a comma is
    the decimal point if some cells are numbers with a comma and none are numbers with a point.
    """
    with open_text(path) as stream:
        start = stream.read(SNIFFED_BYTES)
    if b"\0" in start:
        raise UnicodeError("null bytes")
    first, _, rest = start.partition(b"\n")
    line = re.sub('"[^"]*"', "", first.decode("utf-8"))
    delimiter = max(DELIMITERS, key=line.count)
    return CsvDialect(delimiter, line.count(delimiter) + 1, _decimal_point(rest.decode("utf-8", "replace"), delimiter))


def _decimal_point(text: str, delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip('"') for line in text.splitlines() for cell in line.split(delimiter)]
    comma, point = (any(re.fullmatch(NUMBER.format(mark), cell) for cell in cells) for mark in (",", r"\."))
    return "," if comma and not point else "."


def open_text(path: Path) -> Any:
    """A file of text as a stream of bytes for Arrow, decompressed where its ending says so."""
    if path.suffix.lower() == ".xz":  # which Arrow does not know
        return COMPRESSED[".xz"](path, "rb")
    return import_pyarrow().input_stream(str(path), compression="detect")


class Csv(FileReader):
    """Text files of cells between commas, semicolons or tabs; in UTF-8, line breaks in quotes are part of a cell.

    The types of the columns are guessed from the first block of each file. A column with a cell of another kind later
    holds texts: that is found in the first pass, which then starts again.
    """

    slow, late_types = True, True

    def __init__(self, paths: Sequence[Path], where: str, selection: ColumnSelection) -> None:
        self.named = not any(".data" in path.suffixes for path in paths)
        self.kind = f"csv file with{'' if self.named else 'out'} a line of column names"
        super().__init__(paths, where, selection)
        self.dtype = np.dtype(np.float64)

    def _file_types(self, where: str, names: list[str], selection: ColumnSelection) -> dict[str, list[Any]]:
        guesses = super()._file_types(where, names, selection)
        self._types = {name: common_guess(each, name == selection.target) for name, each in guesses.items()}
        return {name: [each] for name, each in self._types.items()}

    def widen(self, column: str) -> None:
        self._types[column] = import_pyarrow().string()
        if column in self.columns:
            self.encodings = {**self.encodings, column: ColumnEncoding("text", "string")}

    def schema(self, path: Path) -> Any:
        pa = import_pyarrow()
        with self._open_csv(path) as reader:
            if any(pa.types.is_binary(field.type) for field in reader.schema):
                raise UnicodeError("cells that are not UTF-8")
            times = [pa.types.is_time(field.type) for field in reader.schema]
            fields = zip(reader.schema, times, strict=True)
            return pa.schema([field.with_type(pa.string()) if time else field for field, time in fields])

    def read_labels(self) -> Iterator[SourceBlock] | None:
        return None  # lines have to be parsed whole

    def open(self, path: Path, columns: Sequence[str], rows: int) -> Iterator[Any]:
        types = {name: self._types[name] for name in columns}
        try:
            with self._open_csv(path, include_columns=list(columns), column_types=types) as reader:
                for batch in reader:
                    yield from sliced(batch, rows)
        except import_pyarrow().ArrowInvalid as error:
            match = re.match(r"In CSV column #(\d+): ", str(error))
            name = None if match is None else str(self._schemas[path].names[int(match[1])])
            if name is None or name == self.selection.weight:
                raise
            if self._types[name] == import_pyarrow().string():
                raise UnicodeError("cells that are not UTF-8") from None
            raise SchemaChanged(name) from None

    def copies(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        types = dict.fromkeys(columns, import_pyarrow().string())  # 007 stays 007, NA stays NA
        as_they_are = {"include_columns": list(columns), "column_types": types, "null_values": []}
        for path in self.paths:
            with arrow_errors(path, self.kind), self._open_csv(path, **as_they_are) as reader:
                for batch in reader:
                    yield from sliced(batch, rows)

    def _open_csv(self, path: Path, **convert: Any) -> Any:
        csv, dialect = import_pyarrow().csv, sniff_dialect(path)
        names = None if self.named else [f"x{k}" for k in range(1, dialect.cells + 1)]
        options = {"null_values": MISSING_MARKS, "strings_can_be_null": True, **BOOLEANS, **convert}
        return csv.open_csv(
            open_text(path),
            read_options=csv.ReadOptions(block_size=PARSED_BYTES, column_names=names),
            parse_options=csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(decimal_point=dialect.decimal_point, **options),
        )


def common_guess(types: Sequence[Any], is_target: bool) -> Any:
    """How a column is read in every file: as the guesses of all files allow; days may have hours later."""
    pa = import_pyarrow()
    guesses = {*types} - {pa.null()}
    if guesses <= {pa.int64(), pa.float64()}:
        kept = guesses or {pa.string()}
        return kept.pop() if is_target and len(kept) == 1 else pa.float64()
    if not all(map(pa.types.is_temporal, guesses)):
        return pa.bool_() if guesses == {pa.bool_()} else pa.string()
    zones = {getattr(each, "tz", None) for each in guesses}
    unit = "ns" if any("ns" in str(each) for each in guesses) else "us"
    return pa.timestamp(unit, zones.pop()) if len(zones) == 1 else pa.string()
