"""Tables that the command writes, by blocks of columns: csv, Parquet and Excel."""

import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from auclid._hints import reads_as_number
from auclid.cli.stdin import STDIN
from auclid.errors import DataError
from auclid.io import replacing

PARQUET = (".parquet", ".pq")

EXCEL = (".xlsx",)

TABLE_ENDINGS = (".csv", *PARQUET, *EXCEL)
"""Endings of files that are written."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a text begins with that a spreadsheet takes for a formula."""

MAX_EXCEL_ROWS = 1 << 20
"""Rows of a sheet of Excel."""


def is_excel(path: Path) -> bool:
    """Whether the name of a file asks for a workbook."""
    return path.suffix.lower() in EXCEL


def check_writer(path: Path) -> None:
    """Say what to install where a workbook is asked for that cannot be written."""
    if is_excel(path) and find_spec("openpyxl") is None:
        raise ImportError("Files of Excel need openpyxl, which is not installed: pip install 'auclid[excel]'.")


def write_columns(path: Path, blocks: Iterable[dict[str, Any]]) -> None:
    """Write columns, block by block: Parquet or Excel where the name says so, else csv; "-" is standard output."""
    write = _parquet if path.suffix.lower() in PARQUET else _excel if is_excel(path) else _csv
    opened = nullcontext(sys.stdout.buffer) if path == STDIN else replacing(path, "wb")
    with opened as file, closing(write(file)) as written:
        next(written)
        for columns in blocks:
            written.send(columns)


Writer = Generator[None, dict[str, Any], None]
"""Takes columns, block by block."""


def _rows(columns: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The cells of each row, as Python has them, of arrays and columns of Arrow."""
    lists = [each.to_pylist() if hasattr(each, "to_pylist") else each.tolist() for each in columns.values()]
    return zip(*lists, strict=True)


def _csv(file: Any) -> Writer:
    columns = yield
    file.write(csv_line(columns).encode())
    while True:
        file.write("".join(map(csv_line, _rows(columns))).encode())
        columns = yield


def _parquet(file: Any) -> Writer:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = yield
    schema = pa.schema([(name, _arrow_type(values)) for name, values in columns.items()])
    with pq.ParquetWriter(file, schema) as writer:
        while True:
            writer.write_table(pa.table(columns, schema=schema))
            columns = yield


def _arrow_type(values: Any) -> Any:
    """The type of a column of Arrow or of an array."""
    import pyarrow as pa

    return values.type if hasattr(values, "type") else pa.array(values).type


def _excel(file: Any) -> Writer:
    """One sheet. Texts are never formulas."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet, count = book.create_sheet("table"), 0

    def spreadsheet_cell(value: Any) -> Any:
        plain = WriteOnlyCell(sheet, value=value if isinstance(value, int | float | str | None) else str(value))
        if isinstance(value, str):
            plain.data_type = "s"
        return plain

    columns = yield
    sheet.append([spreadsheet_cell(name) for name in columns])
    try:
        while True:
            count += len(next(iter(columns.values())))
            if count >= MAX_EXCEL_ROWS:
                raise DataError(f"A sheet of Excel holds less than {MAX_EXCEL_ROWS:,} rows: write .csv or .parquet.")
            for row in _rows(columns):
                sheet.append([spreadsheet_cell(value) for value in row])
            columns = yield
    finally:
        book.save(file)


def csv_line(values: Iterable[Any]) -> str:
    """A line of a csv file."""
    return ",".join(map(cell, values)) + "\n"


def cell(value: Any) -> str:
    """A value as csv has it: a float in full, nothing for nothing, quotes where they are needed.

    A text that a spreadsheet would run as a formula gets an apostrophe before it, which spreadsheets take for the sign
    of a text. Numbers written as text stay as they are.

    Examples
    --------
    >>> from auclid.cli.tables import cell
    >>> cell("=1+1"), cell("-5"), cell(-5.0), cell("a,b")
    ("'=1+1", '-5', '-5.0', '"a,b"')
    """
    text = "" if value is None else repr(value) if isinstance(value, float) else str(value)
    # Python takes 1_000 for a number, and spreadsheets do not
    if isinstance(value, str) and text.startswith(FORMULA) and ("_" in text or not reads_as_number(text)):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text
