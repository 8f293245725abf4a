"""Results on disk: one CSV an experiment, a row appended as soon as it is known, so that a killed run can go on."""

import csv
import json
import os
from pathlib import Path

TABLE = ("dataset", "method", "run", "auc", "accuracy_at_optroc", "fit_seconds", "chosen")
FIGURE = ("dataset", "method", "run", "x", "y")


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

    def done(self):
        """The cells that need not be run again."""
        return {(row["dataset"], row["method"], row["run"]) for row in self.rows()}

    def add(self, rows):
        """Append the rows of a cell."""
        self._write([*self.rows(), *rows])

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


def _typed(row):
    found = dict(row)
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
