"""Rows with an order in the command: the options that say what orders them, and tables of them in memory."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from auclid._hints import count_of
from auclid.cli.data import column_of, label_names, option_column, text
from auclid.data.encoding import decode, is_missing
from auclid.data.files import scan
from auclid.data.readers.open import open_columns
from auclid.errors import DataError, missing_label
from auclid.monitoring.profiles import unknown_order
from auclid.validation.outcomes import Survival, event_column, group_codes, ordered_values, time_column


class OrderOptions(NamedTuple):
    """The options that say what rows are ordered by."""

    target: str | None = None
    event: str | None = None
    time: str | None = None
    group: str | None = None
    ordered: bool = False
    drop: Sequence[str] = ()
    positive: str | None = None

    @classmethod
    def recorded(cls, told: Any) -> Self | None:
        """The options that a model file holds, as `record` gave them; None where it holds none."""
        names = ("target", "event", "time", "group", "positive")
        if not isinstance(told, Mapping) or not all(isinstance(told.get(name), str | None) for name in names):
            return None
        target, event, time, group, positive = (told.get(name) for name in names)
        return cls(target, event, time, group, bool(told.get("ordered")), positive=positive)

    @property
    def record(self) -> dict[str, Any]:
        """What a model file holds of the options: all but the columns that were dropped."""
        return {name: value for name, value in self._asdict().items() if name != "drop"}

    @property
    def columns(self) -> list[str]:
        """The columns that rows are ordered by, which are none of the model's."""
        return [name for name in (self.target, self.event, self.time, self.group) if name is not None]

    @property
    def asked(self) -> bool:
        """Whether rows have an order that is not that of two classes."""
        return self.ordered or any(name is not None for name in (self.event, self.time, self.group))

    @property
    def outcome(self) -> str:
        """The column of times, or of levels."""
        if (self.event is None) != (self.time is None):
            raise DataError("--event and --time must be given together: whether an event was seen, and when.")
        name = self.target if self.time is None else self.time
        if name is None:
            raise DataError("--target must name the column of levels or numbers, or --event and --time those of times.")
        return name


class OrderedTable(NamedTuple):
    """Rows in memory with what they are ordered by."""

    X: Any
    y: Any
    survival: Survival | None
    values: np.ndarray
    groups: np.ndarray | None

    @property
    def facts(self) -> str:
        """How many events and groups there are, to go after the number of rows."""
        said = [] if self.survival is None else [count_of(int(self.survival.event.sum()), "event")]
        said += [] if self.groups is None else [count_of(len(np.unique(self.groups)), "group")]
        return "".join(f", {each}" for each in said)

    def measure(self, at: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """What metrics need of some rows: values, and the options event and groups."""
        event = None if self.survival is None else self.survival.event[at]
        return self.values[at], {"event": event, "groups": None if self.groups is None else self.groups[at]}


def read(data: Path, options: OrderOptions, names: Sequence[str] | None = None) -> OrderedTable:
    """All rows of a file; ``names`` are the columns of a model, else all that are not options."""
    target = options.outcome
    with column_of("target" if options.time is None else "time"):
        if names is None:
            left_out = {options.event, options.group, *options.drop}
            names = [name for name in scan(data, target=target).columns if name not in left_out]
        rows = scan(data, target=target, columns=list(names))
    X, _ = rows.gather(np.arange(rows.shape[0]), allow_missing=True, allow_categorical=True)
    X = decode(X, rows.columns, rows.encodings)
    groups = None
    if options.group is not None:
        groups = group_codes("auclid", option_column(data, "group", options.group), X.shape[0])
    if options.event is None:
        values = _levels(rows.target(classes=False), options)
        return OrderedTable(X, values, None, values, groups)
    event = event_column("auclid", _numbers(option_column(data, "event", options.event)))
    survival = Survival(time_column("auclid", "time", rows.target(classes=False)), event)
    return OrderedTable(X, survival.structured(), survival, survival.time, groups)


def _levels(target: Any, options: OrderOptions) -> np.ndarray:
    """The numbers that rows are ordered by: 1 for the label --positive, if it is given, and 0 for all others."""
    if options.positive is None:
        return ordered_values("auclid", "target", target)
    names = label_names(target)
    if None in names:
        raise missing_label("missing ones", subject="The target")
    is_pos = np.array([name == options.positive for name in names])
    if not is_pos.any():
        raise DataError(f"--positive must be a label of the target; got {options.positive!r}.")
    return is_pos.astype(np.float64)


def _numbers(values: np.ndarray) -> np.ndarray:
    """Texts True and False as booleans; all else as it is."""
    if values.dtype == object and {str(value).lower() for value in values} <= {"true", "false"}:
        return np.array([str(value).lower() == "true" for value in values])
    return values


def outcomes(data: Path, options: OrderOptions) -> np.ndarray | None:
    """What the rows of a file are ordered by, NaN where it is not known yet; None where the file does not tell."""
    reader, name = open_columns(data), options.outcome
    if reader is None or name not in reader.available_columns():
        return None
    values = option_column(data, "target" if options.time is None else "time", name)
    seen = None if options.event is None else option_column(data, "event", options.event)
    known = _known(values) if seen is None else _known(values) & _known(seen)
    order = unknown_order(len(values))
    if seen is None:
        order["value"][known] = _levels(values[known], options)
    else:
        order["value"][known] = time_column("auclid", "time", values[known])
        order["event"][known] = event_column("auclid", _numbers(seen[known]))
    if options.group is not None:
        order["group"] = [text(each) for each in option_column(data, "group", options.group).tolist()]
    return order


def _known(values: np.ndarray) -> np.ndarray:
    return np.array([not is_missing(each) for each in values.tolist()], dtype=bool)
