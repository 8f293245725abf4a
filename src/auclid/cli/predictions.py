"""The file that `auclid predict` writes: columns copied from the table, score, probability, label."""

from pathlib import Path
from typing import Any

import numpy as np

from auclid.cli.data import read
from auclid.datasets import DataError
from auclid.datasets.readers import has_columns
from auclid.io import replacing

PARQUET = (".parquet", ".pq")


def copied(data: Path, names: list[str]) -> dict[str, Any]:
    """Columns of a table of named columns, by name, as they came."""
    if not names:
        return {}
    if not has_columns(data):
        raise DataError(f"--id must name columns of a csv or parquet file; {str(data)!r} has columns without names.")
    table = read(data, None, as_frame=True).X
    absent = [name for name in names if name not in table.column_names]
    if absent:
        raise DataError(
            f"--id must be a column of DATA; got {absent[0]!r}. There are: {', '.join(table.column_names)}."
        )
    taken = [name for name in names if name in ("score", "probability", "label")]
    if taken:
        raise DataError(f"--id must not be called as what is written beside it; got {taken[0]!r}. Rename the column.")
    return {name: table[name] for name in names}


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
        file.write(",".join(map(_cell, columns)) + "\n")
        file.writelines(",".join(map(_cell, row)) + "\n" for row in zip(*lists, strict=True))


def _plain(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _cell(value: Any) -> str:
    """A value as csv has it: a float in full, nothing for nothing, quotes where they are needed."""
    text = "" if value is None else repr(value) if isinstance(value, float) else str(value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text
