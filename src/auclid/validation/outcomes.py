"""Ordered labels, groups, and censored times as people pass them, checked once and turned into plain arrays."""

from typing import Any, NamedTuple

import numpy as np

from auclid.data.dask import is_dask
from auclid.errors import Described, invalid_value
from auclid.stats.pair_order import PairOrder, level_order, survival_order
from auclid.validation.vectors import codes, column, finite_column, same_length, weight_column

EVENT_NAMES = ("event", "status", "cens", "observed", "death", "dead")
"""Names of a column of events, where no column of a frame of times is boolean."""


CENSORED = "Censored times are ranked by SurvivalRanker."


class Survival(NamedTuple):
    """Times, and whether the event was seen at them; else the time is censored."""

    time: np.ndarray
    event: np.ndarray

    def structured(self) -> np.ndarray:
        """The structured array (event, time) that `SurvivalRanker` takes."""
        y = np.empty(len(self.time), dtype=[("event", bool), ("time", float)])
        y["event"], y["time"] = self.event, self.time
        return y


def in_memory(values: Any) -> Any:
    """The values themselves; those of a dask collection are computed, since one number a row fits in memory."""
    return values.compute() if is_dask(values) else values


def ordered_values(owner: str, name: str, values: Any) -> np.ndarray:
    """Numbers in float64, or the numbers of the levels of an ordered categorical."""
    values = in_memory(values)
    levels = _ordered_codes(values)
    if levels is not None:
        if (levels < 0).any():
            raise invalid_value(owner, name, "hold a level in each row", None, "Leave out rows without one.")
        return levels.astype(np.float64)
    array = column(owner, name, values)
    if array.dtype.names:
        raise invalid_value(owner, name, "hold numbers or levels", list(array.dtype.names), CENSORED)
    if array.dtype.kind not in "biuf" and not _all_numbers(array):
        expected = "hold numbers, or levels of an ordered categorical, since words have no order"
        hint = "Pass pandas.Categorical(values, categories=[lowest, ..., highest], ordered=True), or numbers."
        raise invalid_value(owner, name, expected, str(array[0]) if len(array) else None, hint)
    return finite_column(owner, name, array).astype(np.float64)


def _ordered_codes(values: Any) -> np.ndarray | None:
    """The numbers of the levels of an ordered categorical of pandas or of an enumeration of polars."""
    kind = getattr(values, "dtype", None)
    if getattr(kind, "ordered", False) and hasattr(kind, "categories"):
        return np.asarray(getattr(values, "codes", None) if hasattr(values, "codes") else values.cat.codes)
    if type(kind).__name__ == "Enum" and hasattr(values, "to_physical"):
        return values.to_physical().cast(int).fill_null(-1).to_numpy()
    return None


def _all_numbers(array: np.ndarray) -> bool:
    return array.dtype.kind == "O" and all(isinstance(each, int | float | np.number) for each in array.tolist())


def event_column(owner: str, values: Any) -> np.ndarray:
    """Whether each event was seen: booleans, or zeros and ones."""
    array = column(owner, "event", in_memory(values))
    expected = "be True, or 1, where the event was seen, and False, or 0, where the time is censored"
    texts = [each for each in array.tolist() if isinstance(each, str)] if array.dtype.kind in "OU" else []
    if texts:
        raise invalid_value(owner, "event", expected, texts[0])
    if array.dtype.kind != "b":
        numbers = finite_column(owner, "event", array)
        wrong = (numbers != 0.0) & (numbers != 1.0)
        if wrong.any():
            raise invalid_value(owner, "event", expected, float(numbers[wrong][0]))
        array = numbers == 1.0
    return array


def time_column(owner: str, name: str, values: Any) -> np.ndarray:
    """Finite times that are not negative."""
    time = finite_column(owner, name, in_memory(values)).astype(np.float64)
    if len(time) and time.min() < 0.0:
        hint = "Measure times from the start of observation."
        raise invalid_value(owner, name, "hold times in [0.0, inf)", float(time.min()), hint)
    return time


def survival_target(owner: str, y: Any) -> Survival:
    """Events and times of a structured array, as scikit-survival has it, or of a frame with two columns."""
    parts = _two_fields(owner, in_memory(y))
    fields = list(parts)
    booleans = [name for name in fields if parts[name].dtype.kind == "b"]
    named = [name for name in fields if name.lower() in EVENT_NAMES]
    which = (booleans or named or fields)[0]
    (other,) = [name for name in fields if name != which]
    survival = Survival(time_column(owner, "y", parts[other]), event_column(owner, parts[which]))
    if not survival.event.any():
        got, hint = f"{len(survival.time)} times, all censored", "Without an event no row can be ranked above another."
        raise invalid_value(owner, "y", "hold at least one event", Described(got), hint)
    return survival


def _two_fields(owner: str, y: Any) -> dict[str, np.ndarray]:
    """The two fields of a structured array, or the two columns of a frame, by name."""
    fields = list(getattr(getattr(y, "dtype", None), "names", None) or ())
    if not fields and hasattr(y, "columns"):
        fields = [str(name) for name in y.columns]
    if len(fields) != 2:
        kind = Described(f"an array of shape {np.shape(y)}" if hasattr(y, "shape") else type(y).__name__)
        hint = (
            "Use sksurv.util.Surv.from_arrays(event, time), or np.array(list(zip(event, time)), "
            "dtype=[('event', bool), ('time', float)])."
        )
        expected = "be a structured array of an event and a time, or a frame of two such columns"
        raise invalid_value(owner, "y", expected, fields or kind, hint)
    return {name: np.asarray(y[name]) for name in fields}


def group_codes(owner: str, groups: Any, n: int, name: str = "groups") -> np.ndarray | None:
    """The number of each row's group; None where all rows are comparable."""
    if groups is None:
        return None
    values = in_memory(groups)
    number = codes(owner, name, getattr(values, "to_numpy", lambda: values)())[1]
    same_length(owner, rows=np.empty(n), **{name: number})
    return number


def order_of(
    owner: str,
    y: np.ndarray,
    event: np.ndarray | None,
    group: np.ndarray | None,
    weight: np.ndarray | None,
    inverse_censoring: np.ndarray | None = None,
) -> PairOrder:
    """The order of checked columns; a sentence where no two rows can be compared."""
    if event is None:
        order = level_order(y, group, weight)
    else:
        order = survival_order(y, event, group, weight, inverse_censoring)
    if not order.total > 0.0:
        raise incomparable(owner, len(y), event, group is not None)
    return order


def incomparable(owner: str, n: int, event: np.ndarray | None, grouped: bool) -> Exception:
    """The error for rows of which none can be ranked above another."""
    where = " within a group" if grouped else ""
    if event is None:
        expected = f"hold two levels or more{where}, of rows of positive weight"
        return invalid_value(owner, "y", expected, Described(f"one level (n_samples={n})"))
    expected, got = f"hold an event before the time of another row{where}", Described("no such pair of rows")
    return invalid_value(owner, "event", expected, got, "A censored time is comparable with earlier events only.")


def checked_weights(owner: str, sample_weight: Any, n: int) -> np.ndarray | None:
    """Weights in [0, inf), an entry a row; None: all are 1."""
    if sample_weight is None:
        return None
    weight = weight_column(owner, in_memory(sample_weight))
    same_length(owner, y=np.empty(n), sample_weight=weight)
    if not weight.any():
        raise invalid_value(owner, "sample_weight", "be positive for some row", Described("zero on every row"))
    return weight
