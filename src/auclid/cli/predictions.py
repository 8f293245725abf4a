"""The file that `auclid predict` writes: columns copied from the table, score, probability, label."""

import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from auclid._hints import reads_as_number
from auclid.cli.saved import Answers
from auclid.cli.stdin import STDIN
from auclid.data.readers.open import open_columns
from auclid.datasets import DataError
from auclid.io import replacing

PARQUET = (".parquet", ".pq")

EXCEL = (".xlsx",)

TABLE_ENDINGS = (".csv", *PARQUET, *EXCEL)
"""Endings of files that are written."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a text begins with that a spreadsheet takes for a formula."""

MAX_EXCEL_ROWS = 1 << 20
"""Rows of a sheet of Excel."""

COPIED_ROWS = 1 << 16
"""Rows of columns to copy that are read at a time."""


def _checked(names: list[str], there: list[str]) -> None:
    """Refuse columns to copy that a table lacks, or that are called as what is written beside them."""
    absent = [name for name in names if name not in there]
    if absent:
        raise DataError(f"--id must be a column of DATA; got {absent[0]!r}. There are: {', '.join(there)}.")
    taken = [name for name in names if name in ("score", "probability", "label")]
    if taken:
        raise DataError(f"--id must not be called as what is written beside it; got {taken[0]!r}. Rename the column.")


class Copies:
    """Columns of files that need not fit in memory, as they came, some rows at a time."""

    def __init__(self, data: Path, names: list[str]) -> None:
        reader = open_columns(data)
        if reader is None:
            raise DataError(f"--id must name columns of a csv or parquet file; those of {str(data)!r} have no names.")
        _checked(names, reader.available_columns())
        self.names = list(dict.fromkeys(names))
        self._batches = reader.copies(self.names, COPIED_ROWS)
        self._rest: Any = None

    def next(self, count: int) -> dict[str, Any]:
        """The next ``count`` rows of each column."""
        import pyarrow as pa

        found: list[Any] = []
        while count:
            if self._rest is None or not self._rest.num_rows:
                self._rest = next(self._batches)
            found.append(self._rest.slice(0, count))
            self._rest = self._rest.slice(count)
            count -= found[-1].num_rows
        table = pa.Table.from_batches(found)
        return {name: table[name] for name in self.names}


def is_parquet(path: Path) -> bool:
    """Whether the name of a file asks for Parquet."""
    return path.suffix.lower() in PARQUET


def is_excel(path: Path) -> bool:
    """Whether the name of a file asks for a workbook."""
    return path.suffix.lower() in EXCEL


def check_writer(path: Path) -> None:
    """Say what to install where a workbook is asked for that cannot be written."""
    if is_excel(path) and find_spec("openpyxl") is None:
        raise ImportError("Files of Excel need openpyxl, which is not installed: pip install 'auclid[excel]'.")


def write_scores(path: Path, answers: Iterable[Answers], copies: Copies | None = None) -> int:
    """Write score, and probability and label where the model has them, of each row, by blocks; returns how many.

    ``copies`` are columns to put before the scores.
    """
    count = 0

    def blocks() -> Iterator[dict[str, Any]]:
        nonlocal count
        for answer in answers:
            columns: dict[str, Any] = {} if copies is None else copies.next(len(answer.scores))
            columns["score"] = answer.scores
            if answer.probabilities is not None:
                columns["probability"] = answer.probabilities
            count += len(answer.scores)
            if answer.labels or not len(answer.scores):
                columns["label"] = np.array(answer.labels, dtype=object)
            yield columns

    write_columns(path, blocks())
    return count


def write_columns(path: Path, blocks: Iterable[dict[str, Any]]) -> None:
    """Write columns, block by block: Parquet or Excel where the name says so, else csv; "-" is standard output."""
    write = _parquet if is_parquet(path) else _excel if is_excel(path) else _csv
    opened = nullcontext(sys.stdout.buffer) if path == STDIN else replacing(path, "wb")
    with opened as file, closing(write(file)) as written:
        next(written)
        for columns in blocks:
            written.send(columns)


Writer = Generator[None, dict[str, Any], None]
"""Takes columns, block by block."""


def _csv(file: Any) -> Writer:
    columns = yield
    file.write(csv_line(columns).encode())
    while True:
        lists = [values.to_pylist() if hasattr(values, "to_pylist") else values.tolist() for values in columns.values()]
        file.write("".join(map(csv_line, zip(*lists, strict=True))).encode())
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
            lists = [each.to_pylist() if hasattr(each, "to_pylist") else each.tolist() for each in columns.values()]
            count += len(lists[0])
            if count >= MAX_EXCEL_ROWS:
                raise DataError(f"A sheet of Excel holds less than {MAX_EXCEL_ROWS:,} rows: write .csv or .parquet.")
            for row in zip(*lists, strict=True):
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
    >>> from auclid.cli.predictions import cell
    >>> cell("=1+1"), cell("-5"), cell(-5.0), cell("a,b")
    ("'=1+1", '-5', '-5.0', '"a,b"')
    """
    text = "" if value is None else repr(value) if isinstance(value, float) else str(value)
    # Python takes 1_000 for a number, and spreadsheets do not
    if isinstance(value, str) and text.startswith(FORMULA) and ("_" in text or not reads_as_number(text)):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text
