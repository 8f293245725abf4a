"""The file that `auclid predict` writes: columns copied from the table, score, probability, label."""

from pathlib import Path
from typing import Any

import numpy as np

from auclid.data.readers.open import open_columns
from auclid.datasets import DataError
from auclid.io import replacing

PARQUET = (".parquet", ".pq")

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
        reader = open_columns(data)
        if reader is None:
            raise DataError(f"--id must name columns of a csv or parquet file; those of {str(data)!r} have no names.")
        _checked(names, reader.available_columns())
        self.names = list(dict.fromkeys(names))
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


def write(path: Path, columns: dict[str, Any]) -> None:
    """Write columns of one length, as parquet where the name of the file says so, else as csv."""
    if path.suffix.lower() in PARQUET:
        import pyarrow as pa
        import pyarrow.parquet

        with replacing(path) as file:
            pyarrow.parquet.write_table(pa.table(columns), file)
        return
    lists = [values.to_pylist() if hasattr(values, "to_pylist") else _plain(values) for values in columns.values()]
    with replacing(path, "w") as file:
        file.write(",".join(map(cell, columns)) + "\n")
        file.writelines(",".join(map(cell, row)) + "\n" for row in zip(*lists, strict=True))


def _plain(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def cell(value: Any) -> str:
    """A value as csv has it: a float in full, nothing for nothing, quotes where they are needed."""
    text = "" if value is None else repr(value) if isinstance(value, float) else str(value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text
