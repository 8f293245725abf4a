"""Results on disk: one CSV an experiment, a row appended as soon as it is known, so that a killed run can go on."""

import csv
import json
import os
from pathlib import Path

TABLE = ("dataset", "method", "run", "auc", "accuracy_at_optroc", "fit_seconds", "chosen")
FIGURE = ("dataset", "method", "run", "x", "y")


class Record:
    """The rows of one experiment in a folder.

    A row is written at once and whole; a row cut off by a kill is dropped when the file is opened again. When a run
    is complete `settle` sorts the file, so that the order in which cells were run leaves no trace.
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
        """Append rows and hand them to the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._mend()
        lines = "".join(_line([_text(row.get(column)) for column in self.columns]) for row in rows)
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

    def _mend(self):
        """Give an empty file its heading, and cut off a row that a kill left half-written."""
        if not self.path.exists() or not self.path.stat().st_size:
            self.path.write_text(_line(self.columns), encoding="utf-8")
        with self.path.open("rb+") as file:
            text = file.read()
            if not text.endswith(b"\n"):
                file.truncate(text.rfind(b"\n") + 1)

    def settle(self):
        """Sort the rows by dataset, method and run."""
        rows = self.rows()
        rows.sort(key=lambda row: (row["dataset"], row["method"], row["run"], row.get("x") or 0.0))
        beside = self.path.with_suffix(".part")
        text = [_line(self.columns)]
        text += [_line([_text(row.get(column)) for column in self.columns]) for row in rows]
        beside.write_text("".join(text), encoding="utf-8")
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
