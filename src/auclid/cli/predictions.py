"""The file that `auclid predict` writes: columns copied from the table, score, probability, label."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from auclid._hints import reads_as_number
from auclid.data.readers.arrow import Files
from auclid.data.readers.open import column_names, open_source
from auclid.data.readers.reader import ColumnSelection
from auclid.datasets import DataError
from auclid.io import replacing

PARQUET = (".parquet", ".pq")

ENDINGS = (".csv", *PARQUET)
"""Endings of files that are written."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a text begins with that a spreadsheet takes for a formula."""

ROWS = 1 << 16
"""Rows of columns to copy that are read at a time."""


def copied(data: Path, names: list[str]) -> dict[str, Any]:
    """Columns of a table of named columns, by name, as they came."""
    return Copies(data, names).all() if names else {}


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
        there = column_names(data)
        if not there:
            raise DataError(f"--id must name columns of a csv or parquet file; those of {str(data)!r} have no names.")
        _checked(names, there)
        self.names = list(dict.fromkeys(names))
        reader = open_source(data, ColumnSelection(None, None, self.names))
        assert isinstance(reader, Files)  # it has columns with names
        self._batches = reader.copies(self.names, ROWS)
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
        return self._by_name(pa.Table.from_batches(found))

    def all(self) -> dict[str, Any]:
        """All rows of each column."""
        import pyarrow as pa

        return self._by_name(pa.Table.from_batches(list(self._batches)))

    def _by_name(self, table: Any) -> dict[str, Any]:
        return {name: table[name] for name in self.names}


def is_parquet(path: Path) -> bool:
    """Whether the name of a file asks for Parquet."""
    return path.suffix.lower() in PARQUET


def write(path: Path, columns: dict[str, Any]) -> None:
    """Write columns of one length, as parquet where the name of the file says so, else as csv."""
    if is_parquet(path):
        import pyarrow as pa
        import pyarrow.parquet

        with replacing(path) as file:
            pyarrow.parquet.write_table(pa.table(columns), file)
        return
    lists = [values.to_pylist() if hasattr(values, "to_pylist") else _plain(values) for values in columns.values()]
    with replacing(path, "w") as file:
        file.write(csv_line(columns))
        file.writelines(map(csv_line, zip(*lists, strict=True)))


def _plain(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


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
