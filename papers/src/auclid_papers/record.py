"""Results on disk: one CSV file per experiment, complete after every cell, so that an interrupted run can resume."""

import json
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from auclid.io import replacing
from auclid_papers.definitions import Experiment

try:
    import fcntl
except ImportError:  # on Windows two simultaneous runs of one experiment are not detected
    fcntl = None  # type: ignore[assignment]

CELL = ["dataset", "method", "run"]
TABLE = (*CELL, "auc", "accuracy_at_optroc", "fit_seconds", "chosen", "protocol")
FIGURE = (*CELL, "x", "y", "protocol")
NUMBERS = {"auc", "partial_auc", "accuracy_at_optroc", "fit_seconds", "x", "y"}

Row = dict[str, Any]
"""One result: of a cell of a table, or of a point of a figure."""


class Cell(NamedTuple):
    """One run of a method on a dataset, with the hash of its protocol."""

    dataset: str
    method: str
    run: int
    protocol: str = ""


class Record:
    """The results of one experiment in a folder.

    Every change replaces the whole file atomically. When a run is complete, `sort` makes the file independent of the
    order in which its cells were run.
    """

    def __init__(self, folder: str | Path, name: str, figure: bool = False, extra: tuple[str, ...] = ()) -> None:
        self.path = Path(folder) / f"{name}.csv"
        self.columns = [*(FIGURE if figure else TABLE), *extra]

    @classmethod
    def of(cls, folder: str | Path, one: Experiment) -> "Record":
        """The record of an experiment."""
        return cls(folder, one.id, figure=one.kind != "table", extra=one.extra)

    def frame(self) -> pd.DataFrame:
        """All results: missing numbers are NaN, ``chosen`` is a dictionary."""
        if not self.path.exists():
            return pd.DataFrame({name: pd.Series(dtype=float if name in NUMBERS else object) for name in self.columns})
        try:
            found = pd.read_csv(
                self.path,
                keep_default_na=False,
                na_values={name: [""] for name in NUMBERS},
                dtype={"dataset": str, "method": str, "run": int, "protocol": str, **dict.fromkeys(NUMBERS, float)},
                converters={"chosen": lambda text: json.loads(text) if text else {}},
            )
        except ValueError as error:
            raise ValueError(f"{str(self.path)!r} must hold results of an experiment: {error}.") from None
        if not set(CELL) <= set(found.columns):
            raise ValueError(f"{str(self.path)!r} must have the columns {', '.join(self.columns)}.")
        return found

    def done(self) -> set[Cell]:
        """The cells that have results."""
        return set(_cells(self.frame()))

    def add(self, rows: Iterable[Row]) -> None:
        """Add the rows of some cells; they replace earlier rows of the same cells."""
        rows = list(rows)
        if rows:
            cells = {tuple(row[name] for name in CELL) for row in rows}
            kept = [row for row in self.frame().to_dict("records") if tuple(row[name] for name in CELL) not in cells]
            self._write(pd.DataFrame([*kept, *rows], columns=self.columns))

    def discard_others(self, cells: Container[Cell]) -> None:
        """Remove the rows of all other cells, such as those of another protocol."""
        frame = self.frame()
        wanted = [cell in cells for cell in _cells(frame)]
        if not all(wanted):
            self._write(frame[wanted])

    def sort(self) -> None:
        """Sort the rows by dataset, method and run."""
        by = [name for name in (*CELL, "x") if name in self.columns]
        if self.path.exists():
            self._write(self.frame().sort_values(by, kind="stable", na_position="first"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the record; a second run of the same experiment is refused in the meantime."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path.with_name(f".{self.path.stem}.lock"), "w") as file:
            try:
                if fcntl:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ValueError(f"{str(self.path)!r} is being written by another run; wait for its end.") from None
            yield

    def _write(self, frame: pd.DataFrame) -> None:
        if "chosen" in frame:
            texts = [json.dumps(value, sort_keys=True) if isinstance(value, dict) else "" for value in frame["chosen"]]
            frame = frame.assign(chosen=texts)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path, "w") as file:
            frame.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")


def _cells(frame: pd.DataFrame) -> Iterator[Cell]:
    return map(Cell._make, frame[list(Cell._fields)].itertuples(index=False, name=None))


def rows_by_protocol(folder: str | Path) -> dict[tuple[str, int], Row]:
    """The results of all tables in a folder by protocol hash and run: two tables may have a cell in common."""
    found: dict[tuple[str, int], Row] = {}
    for path in sorted(Path(folder).glob("*.csv")):
        if pd.read_csv(path, nrows=0).columns.tolist() == list(TABLE):
            rows = Record(folder, path.stem).frame().to_dict("records")
            found |= {(row["protocol"], row["run"]): row for row in rows if row["protocol"]}
    return found
