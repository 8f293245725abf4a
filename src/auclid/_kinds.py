"""What a column holds: numbers, truths, dates, categories or texts; of arrays and of frames alike.

`table_columns` gives the columns of any table as NumPy arrays with their kind. `numbers`, `words` and `level_codes`
turn one into floats, or into codes of levels. Frames of pandas, polars and pyarrow are met by what they can do, so
none of the three needs to be installed.
"""

import datetime
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid._hints import did_you_mean, listed

KINDS = ("number", "bool", "date", "category", "text")
"""A text whose every cell reads as a number or as an ISO date is a column of numbers or dates."""

DAY = np.timedelta64(1, "D")
EPOCH = np.datetime64("1970-01-01", "us")


class Column(NamedTuple):
    """One column: its name, its kind (one of KINDS), and a value a row."""

    name: str
    kind: str
    values: np.ndarray
    """bool, integer, float, datetime64 or object; missing are NaN, NaT, None, or pandas' NA."""


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns of their own types: of pandas, polars or pyarrow."""
    return not isinstance(X, np.ndarray) and not sparse.issparse(X) and (hasattr(X, "columns") or _is_arrow(X))


def column_names(X: Any) -> list[str]:
    """The names of the columns; of an array x0, x1, ... as scikit-learn calls them."""
    if _is_arrow(X):
        return [str(name) for name in X.column_names]
    if is_frame(X):
        return [str(name) for name in X.columns]
    return [f"x{k}" for k in range(np.shape(X)[1])]


def table_columns(owner: object, X: Any) -> list[Column]:
    """The columns of a two-dimensional table: a frame, an array (of objects too) or a sparse matrix."""
    names = column_names(X)
    return [_column(owner, name, part) for name, part in zip(names, _parts(X), strict=True)]


def numbers(owner: object, column: Column) -> np.ndarray:
    """A column of numbers, truths or dates (days since 1970) as float64; NaN where a value is missing.

    A column that reads otherwise than it did when its kind was learnt, and infinities, get one sentence.
    """
    values = column.values
    if column.kind == "date":
        out = _days(owner, column)
    elif values.dtype.kind in "biuf":
        out = values.astype(np.float64)
    elif values.dtype.kind == "m":
        out = np.where(np.isnat(values), np.nan, values / DAY)
    else:
        out = _parsed(owner, column)
    if np.isinf(out).any():
        raise ValueError(
            f"Column {column.name!r} of {_name(owner)} must hold finite numbers, or NaN where one is missing; "
            "got infinity. Clip it, or make it NaN."
        )
    return out


def words(column: Column) -> np.ndarray:
    """The values of a column as texts, None where one is missing; whole numbers are written without a point."""
    out = np.empty(len(column.values), dtype=object)
    cells = column.values.tolist() if column.values.dtype.kind in "biufUS" else column.values
    known: dict = {}
    for i, value in enumerate(cells):
        try:
            text = known[value, type(value)]
        except KeyError:
            text = known[value, type(value)] = word(value)
        out[i] = text
    return out


def level_codes(texts: np.ndarray, levels: Sequence[str]) -> np.ndarray:
    """The place of each text among the levels; -1 where it is missing, ``len(levels)`` where it is another."""
    place: dict = {level: k for k, level in enumerate(levels)}
    place[None] = -1
    return np.fromiter((place.get(text, len(levels)) for text in texts), dtype=np.int64, count=len(texts))


def column_numbers(owner: object, parameter: str, wanted: Iterable, names: Sequence[str]) -> list[int]:
    """Which columns a parameter means, given by name or by number."""
    return [_place(owner, parameter, each, names) for each in wanted]


def _place(owner: object, parameter: str, wanted: Any, names: Sequence[str]) -> int:
    if isinstance(wanted, Integral) and not isinstance(wanted, bool) and -len(names) <= int(wanted) < len(names):
        return int(wanted) % len(names)
    if isinstance(wanted, str) and wanted in names:
        return list(names).index(wanted)
    hint = did_you_mean(wanted, names, show=repr) or f"There are: {listed(names)}."
    raise ValueError(
        f"The '{parameter}' parameter of {_name(owner)} must name columns of X, or number them from 0; "
        f"got {wanted!r}. {hint}"
    )


def _name(owner: object) -> str:
    return owner if isinstance(owner, str) else type(owner).__name__


def _is_arrow(X: Any) -> bool:
    return hasattr(X, "column_names") and hasattr(X, "schema")


def _parts(X: Any) -> list:
    """The columns as they lie in the table."""
    if _is_arrow(X):
        return list(X.columns)
    if hasattr(X, "iloc"):
        return [X.iloc[:, k] for k in range(X.shape[1])]
    if is_frame(X):
        return [X[name] for name in X.columns]
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return list(dense.T)


def _column(owner: object, name: str, part: Any) -> Column:
    dtype = str(getattr(part, "dtype", getattr(part, "type", ""))).lower()
    values = _array(part, dtype)
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r} of {_name(owner)} must hold real numbers.")
    if dtype.startswith(("cat", "enum", "dictionary")):
        return Column(name, "category", values)
    if dtype.startswith("bool"):
        return Column(name, "bool", values)
    kind = {"b": "bool", "i": "number", "u": "number", "f": "number", "m": "number", "M": "date"}.get(values.dtype.kind)
    return Column(name, kind or looked_at(owner, name, values), values)


def _array(part: Any, dtype: str) -> np.ndarray:
    """A column as an array. pandas' own types for numbers with gaps become floats, its categories objects."""
    if isinstance(part, np.ndarray):
        return part
    if hasattr(part, "cat") and dtype == "category":
        return np.asarray(part.astype(object))
    if dtype.startswith("dictionary"):  # pyarrow's own array has the last level where one is missing
        return _objects(part.to_pylist())
    if dtype.startswith(("int", "uint", "float", "double", "boolean")) and hasattr(part, "isna") and part.isna().any():
        return part.to_numpy(dtype=np.float64, na_value=np.nan)
    if dtype.startswith("datetime64") and hasattr(part, "dt"):
        return part.to_numpy(dtype="datetime64[us]")
    if hasattr(part, "to_numpy"):
        return _plain(part.to_numpy(zero_copy_only=False) if hasattr(part, "chunks") else part.to_numpy())
    return _plain(np.asarray(part))


def _objects(cells: list) -> np.ndarray:
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


def _plain(values: np.ndarray) -> np.ndarray:
    """Texts of fixed width become objects, as all others are."""
    return np.asarray(values, dtype=object) if values.dtype.kind in "USTV" else np.asarray(values)


def looked_at(owner: object, name: str, values: np.ndarray) -> str:
    """The kind of a column of objects, by all of its values."""
    found = {type(value) for value in values if not _is_missing(value)}
    strange = [kind for kind in found if not issubclass(kind, (str, Real, Decimal, np.bool_, *DATES, *SPANS))]
    if strange:
        raise TypeError(
            f"Column {name!r} of {_name(owner)} holds a {strange[0].__name__}; the argument must be a string, "
            "a number, a boolean or a date in each cell. Turn it into one of these first."
        )
    for kind, classes in (("bool", (bool, np.bool_)), ("date", DATES), ("number", SPANS), ("number", (Real, Decimal))):
        if found and all(issubclass(each, classes) for each in found):
            return kind
    if not found:
        return "number"
    return text_kind(values) if all(issubclass(each, str) for each in found) else "category"


DATES = (datetime.date, np.datetime64)

SPANS = (datetime.timedelta, np.timedelta64)
"""Durations: numbers of days."""


def text_kind(values: Iterable) -> str:
    """What texts are, by all of them: numbers, dates, or texts."""
    texts = {str(value).strip() for value in values if not _is_missing(value)} - {""}
    if texts and all(map(_reads_as_number, texts)):
        return "number"
    return "date" if texts and all(map(_reads_as_date, texts)) else "text"


def _reads_as_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text))) and "_" not in text
    except ValueError:
        return False


def _reads_as_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) >= 10


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT, or pandas' NA, which is neither equal nor unequal to itself."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating, np.datetime64, np.timedelta64, Decimal)) and bool(value != value)


def word(value: Any) -> str | None:
    """A value as a text, None where it is missing; a whole number is written without a point."""
    if _is_missing(value):
        return None
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _parsed(owner: object, column: Column) -> np.ndarray:
    out = np.empty(len(column.values))
    for i, value in enumerate(column.values):
        missing = _is_missing(value) or (isinstance(value, str) and not value.strip())
        try:
            out[i] = np.nan if missing else np.timedelta64(value) / DAY if isinstance(value, SPANS) else float(value)
        except (TypeError, ValueError, OverflowError):
            raise _unlike(owner, column, value) from None
    return out


def _days(owner: object, column: Column) -> np.ndarray:
    values = column.values
    if values.dtype.kind != "M":
        out = np.empty(len(values), dtype="datetime64[us]")
        for i, value in enumerate(values):
            out[i] = _moment(owner, column, value)
        values = out
    return np.where(np.isnat(values), np.nan, (values - EPOCH) / DAY)


def _moment(owner: object, column: Column, value: Any) -> np.datetime64:
    """One date, in universal time where it knows its zone."""
    if _is_missing(value) or (isinstance(value, str) and not value.strip()):
        return np.datetime64("NaT", "us")
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]")
    try:
        day = datetime.datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
        if getattr(day, "tzinfo", None) is not None:
            day = day.astimezone(datetime.UTC).replace(tzinfo=None)
        return np.datetime64(day, "us")
    except (ValueError, TypeError):
        raise _unlike(owner, column, value) from None


def _unlike(owner: object, column: Column, value: Any) -> ValueError:
    what = {"number": "numbers", "bool": "truths or numbers", "date": "dates"}[column.kind]
    return ValueError(
        f"Column {column.name!r} of {_name(owner)} must hold {what}, as it did when it was fitted; got {value!r}. "
        "Make it missing (None), or fit with rows that hold such values."
    )
