"""Results on disk: one CSV an experiment, a row appended as soon as it is known, so that a killed run can go on."""

import csv
import json
import os
from pathlib import Path

TABLE = ("dataset", "method", "run", "auc", "accuracy_at_optroc", "fit_seconds", "chosen", "protocol")
FIGURE = ("dataset", "method", "run", "x", "y", "protocol")


class Record:
    """The rows of one experiment in a folder.

    The rows of a cell are written beside the file, which they then replace: a kill leaves all of them or none. When a
    run is complete `settle` sorts the file, so that the order in which cells were run leaves no trace.
    """

    def __init__(self, folder, name, figure=False):
        self.path = Path(folder) / f"{name}.csv"
        self.columns = FIGURE if figure else TABLE

    def rows(self):
        """All whole rows, numbers as numbers and ``chosen`` as a dictionary."""
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        return [_typed(row) for row in csv.DictReader(whole.splitlines()) if None not in row.values()]

    def is_of_table(self):
        """Whether the file holds a table's rows, not a figure's points."""
        with self.path.open(encoding="utf-8") as file:
            return file.readline().strip().split(",") == list(TABLE)

    def done(self):
        """(dataset, method, run, protocol) of the cells on record: those of the same protocol need not be run again."""
        return {(*_cell(row), row["protocol"]) for row in self.rows()}

    def add(self, rows):
        """Append the rows of cells, in place of what they had."""
        new = {_cell(row) for row in rows}
        self._write([*(row for row in self.rows() if _cell(row) not in new), *rows])

    def settle(self):
        """Sort the rows by dataset, method and run."""
        self._write(sorted(self.rows(), key=lambda r: (r["dataset"], r["method"], r["run"], r.get("x") or 0.0)))

    def _write(self, rows):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = [_line([_text(row.get(column)) for column in self.columns]) for row in rows]
        beside = self.path.with_suffix(".part")
        with beside.open("w", encoding="utf-8", newline="") as file:
            file.write("".join([_line(self.columns), *lines]))
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self.path)


def alike(folder):
    """What the tables in a folder have on record, by protocol and run: the same cell may stand in several tables."""
    known = {}
    for path in sorted(Path(folder).glob("*.csv")):
        record = Record(folder, path.stem)
        if record.is_of_table():
            known |= {(row["protocol"], row["run"]): row for row in record.rows() if row["protocol"]}
    return known


def _cell(row):
    return row["dataset"], row["method"], row["run"]


def _typed(row):
    found: dict = {"protocol": "", **row}
    for name in ("auc", "accuracy_at_optroc", "fit_seconds", "x", "y"):
        if name in found:
            found[name] = float(found[name]) if found[name] else None
    found["run"] = int(found["run"])
    if "chosen" in found:
        found["chosen"] = json.loads(found["chosen"]) if found["chosen"] else {}
    return found


def _text(value):
    if value is None:
        return ""
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _line(cells):
    """One line of a CSV file."""
    return ",".join('"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\n') else cell for cell in cells) + "\n"
