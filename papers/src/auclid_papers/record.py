"""Results on disk: one CSV an experiment, whole after every cell, so that a killed run can go on."""

import csv
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from auclid.io import replacing

try:
    import fcntl
except ImportError:  # Windows: two runs of one table at once are not told apart there
    fcntl = None  # type: ignore[assignment]

TABLE = ("dataset", "method", "run", "auc", "accuracy_at_optroc", "fit_seconds", "chosen", "protocol")
FIGURE = ("dataset", "method", "run", "x", "y", "protocol")
NUMBERS = {"auc", "partial_auc", "accuracy_at_optroc", "fit_seconds", "x", "y"}


Row = dict[str, Any]
"""One line of a record: of a table's cell, or of a point of a figure."""


class Record:
    """The rows of one experiment in a folder.

    The rows of a cell are written with all others beside the file, which they then replace: a kill leaves all of them
    or none. When a run is complete `settle` sorts the file, so that the order in which cells were run leaves no trace.
    """

    def __init__(self, folder: str | Path, name: str, figure: bool = False, extra: tuple[str, ...] = ()) -> None:
        self.path = Path(folder) / f"{name}.csv"
        self.columns = (*(FIGURE if figure else TABLE), *extra)

    def rows(self) -> list[Row]:
        """All whole rows, numbers as numbers and ``chosen`` as a dictionary."""
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        read = csv.DictReader(whole.splitlines())
        try:
            return [_typed(row) for row in read if None not in row.values()]
        except (ValueError, KeyError) as error:
            raise ValueError(f"{str(self.path)!r}, line {read.line_num}, must be a row of a record: {error}.") from None

    def is_of_table(self) -> bool:
        """Whether the file holds a table's rows, not a figure's points."""
        with self.path.open(encoding="utf-8") as file:
            return file.readline().strip().split(",") == list(TABLE)

    def done(self) -> set[tuple]:
        """(dataset, method, run, protocol) of the cells on record: those of the same protocol need not be run again."""
        return {(*_cell(row), row["protocol"]) for row in self.rows()}

    def add(self, rows: Iterable[Row]) -> None:
        """Append the rows of cells, in place of what they had."""
        new = {_cell(row) for row in rows}
        self._write([*(row for row in self.rows() if _cell(row) not in new), *rows])

    def keep(self, cells: set[tuple]) -> None:
        """Drop the rows of all but some (dataset, method, run, protocol): what another protocol made."""
        if self.path.exists() and self.done() - cells:
            self._write([row for row in self.rows() if (*_cell(row), row["protocol"]) in cells])

    def settle(self) -> None:
        """Sort the rows by dataset, method and run."""
        self._write(sorted(self.rows(), key=lambda r: (*_cell(r), r.get("x") or 0.0)))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the record: another run of the same experiment is refused in the meantime."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path.with_name(f".{self.path.stem}.lock"), "w") as file:
            try:
                if fcntl:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ValueError(f"{str(self.path)!r} is being written by another run; wait for its end.") from None
            yield

    def _write(self, rows: Iterable[Row]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path, "w") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerows([self.columns, *([_text(row.get(column)) for column in self.columns] for row in rows)])


def protocols_on_record(folder: str | Path) -> dict[tuple[str, int], Row]:
    """What the tables in a folder have on record, by protocol and run: the same cell may stand in several tables."""
    known: dict[tuple[str, int], Row] = {}
    for path in sorted(Path(folder).glob("*.csv")):
        record = Record(folder, path.stem)
        if record.is_of_table():
            known |= {(row["protocol"], row["run"]): row for row in record.rows() if row["protocol"]}
    return known


def _cell(row: Row) -> tuple[str, str, int]:
    return row["dataset"], row["method"], row["run"]


def _typed(row: dict[str, str]) -> Row:
    found: Row = {"protocol": "", **row}
    for name in NUMBERS & found.keys():
        found[name] = float(found[name]) if found[name] else None
    found["run"] = int(found["run"])
    if "chosen" in found:
        found["chosen"] = json.loads(found["chosen"]) if found["chosen"] else {}
    return found


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
