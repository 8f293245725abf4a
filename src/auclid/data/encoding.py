"""What a column holds, and how it becomes numbers: one vocabulary for sources of rows, `Columns` and `Scorecard`.

A column is of one of KINDS. `table_columns` gives the columns of a table in memory as NumPy arrays with their kinds;
`as_numbers`, `as_texts` and `level_codes` turn them into floats, texts and codes of levels. Frames of pandas, polars
and pyarrow are recognised by their attributes, so none of the three needs to be installed.

Blocks of rows from files, frames and clusters are arrays of floats, whatever their columns hold: dates are days, texts
are codes. `ColumnEncoding` says what the floats of a column stand for; `decode` turns rows back into an Arrow table.
"""

import datetime
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from itertools import repeat
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid._hints import did_you_mean, listed
from auclid.errors import owner_name

KINDS = ("number", "bool", "date", "category", "text")
"""A duration is a number of days. A time of day is a text. A column of texts that all read as numbers, or all as ISO
dates, holds numbers or dates."""

MISSING_MARKS = ["", "NA", "N/A", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "?"]
"""What stands for a missing cell in text files."""

MAX_LEVELS = 1 << 20
"""Different texts of an encoded column, at the most: more of them identify rows instead of grouping them."""

DAY = np.timedelta64(1, "D")
EPOCH = np.datetime64("1970-01-01", "us")
DATES = (datetime.date, np.datetime64)
DURATIONS = (datetime.timedelta, np.timedelta64)
TEXTS = (str, datetime.time)
MISSING_TYPES = ("NoneType", "NAType", "NaTType")
"""Types of which every value is missing."""
MAYBE_MISSING = (float, np.floating, np.datetime64, np.timedelta64, Decimal)
"""Types with a missing value among others."""


# --- tables in memory ---


class Column(NamedTuple):
    """One column: its name, its kind (one of KINDS), and a value a row."""

    name: str
    kind: str
    values: np.ndarray
    """bool, integer, float, datetime64 or object; missing are NaN, NaT, None, or pandas' NA."""


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns of their own types: of pandas, polars or pyarrow."""
    return not isinstance(X, np.ndarray) and not sparse.issparse(X) and (hasattr(X, "columns") or _is_arrow(X))


def _is_arrow(X: Any) -> bool:
    return hasattr(X, "column_names") and hasattr(X, "schema")


def column_names(X: Any) -> list[str]:
    """The names of the columns; of an array x0, x1, ... as scikit-learn calls them."""
    if _is_arrow(X):
        return [str(name) for name in X.column_names]
    if is_frame(X):
        return [str(name) for name in X.columns]
    return [f"x{k}" for k in range(np.shape(X)[1])]


def table_columns(owner: object, X: Any) -> list[Column]:
    """The columns of a two-dimensional table: a frame, an array (of objects too) or a sparse matrix."""
    return [_column(owner, name, cells) for name, cells in zip(column_names(X), _cells(X), strict=True)]


def _cells(X: Any) -> list:
    """The columns in the types of the table's library."""
    if _is_arrow(X):
        return list(X.columns)
    if hasattr(X, "iloc"):
        return [X.iloc[:, k] for k in range(X.shape[1])]
    if is_frame(X):
        return [X[name] for name in X.columns]
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return list(dense.T)


def _column(owner: object, name: str, cells: Any) -> Column:
    dtype = str(getattr(cells, "dtype", getattr(cells, "type", ""))).lower()
    values = _array(cells, dtype)
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r} of {owner_name(owner)} must hold real numbers.")
    if dtype.startswith(("cat", "enum", "dictionary")):
        return Column(name, "category", values)
    if dtype.startswith("bool"):
        return Column(name, "bool", values)
    kind = {"b": "bool", "i": "number", "u": "number", "f": "number", "m": "number", "M": "date"}.get(values.dtype.kind)
    return Column(name, kind or infer_kind(owner, name, values), values)


def _array(cells: Any, dtype: str) -> np.ndarray:
    """A column as an array. pandas' own types for numbers with missing values become floats, its categories objects."""
    if isinstance(cells, np.ndarray):
        return cells
    if hasattr(cells, "cat") and dtype == "category":
        return np.asarray(cells.astype(object))
    if dtype.startswith("dictionary"):  # pyarrow's own array has the last level where one is missing
        return _objects(cells.to_pylist())
    if dtype.startswith(("int", "uint", "float", "double", "boolean")) and hasattr(cells, "isna"):
        return cells.to_numpy(dtype=np.float64, na_value=np.nan) if cells.isna().any() else _plain(cells.to_numpy())
    if dtype.startswith("datetime64") and hasattr(cells, "dt"):
        return cells.to_numpy(dtype="datetime64[us]")
    if hasattr(cells, "to_numpy"):
        return _plain(cells.to_numpy(zero_copy_only=False) if hasattr(cells, "chunks") else cells.to_numpy())
    return _plain(np.asarray(cells))


def _objects(cells: list) -> np.ndarray:
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


def _plain(values: np.ndarray) -> np.ndarray:
    """Texts of fixed width become objects, as all others are."""
    return np.asarray(values, dtype=object) if values.dtype.kind in "USTV" else np.asarray(values)


# --- kinds of cells ---


def infer_kind(owner: object, name: str, values: np.ndarray) -> str:
    """The kind of a column of objects, by all of its values."""
    types = _types_of(values)
    strange = [each for each in types if not issubclass(each, (Real, Decimal, np.bool_, *TEXTS, *DATES, *DURATIONS))]
    if strange:
        raise TypeError(
            f"Column {name!r} of {owner_name(owner)} holds a {strange[0].__name__}; the argument must be a string, "
            "a number, a boolean or a date in each cell. Turn it into one of these first."
        )
    if not types:
        return "number"
    kinds = {"bool": (bool, np.bool_), "date": DATES, "duration": DURATIONS, "number": (Real, Decimal), "text": TEXTS}
    kind = next((kind for kind, classes in kinds.items() if all(issubclass(each, classes) for each in types)), None)
    if kind == "text" and all(issubclass(each, str) for each in types):
        return text_kind(values)
    return {None: "category", "duration": "number"}.get(kind) or str(kind)


def _types_of(values: np.ndarray) -> set[type]:
    """The types of the values that are not missing; most types have no missing value, and need no look at each."""
    types = set(map(type, values))
    doubtful = {each for each in types if issubclass(each, MAYBE_MISSING) or each.__name__ in MISSING_TYPES}
    if not doubtful:
        return types
    return (types - doubtful) | {type(value) for value in values if type(value) in doubtful and not is_missing(value)}


def text_kind(values: Iterable) -> str:
    """What texts are, by all of them: numbers, dates, or texts."""
    texts = {str(value).strip() for value in set(values) if not is_missing(value)} - {""}
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


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, or pandas' NA, which is neither equal nor unequal to itself."""
    if type(value).__name__ in MISSING_TYPES:
        return True
    return isinstance(value, MAYBE_MISSING) and bool(value != value)


# --- cells to numbers, texts and codes ---


def as_numbers(owner: object, column: Column, missing_allowed: bool = True) -> np.ndarray:
    """A column of numbers, booleans or dates (days since 1970) as float64; NaN where a value is missing.

    Raises where a cell is not of the column's kind, and where a number is infinite: the sentence advises NaN only to
    owners that allow missing values.
    """
    values = column.values
    if column.kind == "date":
        dates = values if values.dtype.kind == "M" else _converted(owner, column, _date, "datetime64[us]")
        out = np.where(np.isnat(dates), np.nan, (dates - EPOCH) / DAY)
    elif values.dtype.kind in "biuf":
        out = values.astype(np.float64)
    elif values.dtype.kind == "m":
        out = np.where(np.isnat(values), np.nan, values / DAY)
    else:
        out = _converted(owner, column, _number, "float64")
    if np.isinf(out).any():
        nan, hint = (", or NaN where one is missing", ", or make it NaN") if missing_allowed else ("", "")
        raise ValueError(
            f"Column {column.name!r} of {owner_name(owner)} must hold finite numbers{nan}; got infinity. Clip it{hint}."
        )
    return out


def _converted(owner: object, column: Column, convert: Callable[[Any], Any], dtype: str) -> np.ndarray:
    """The cells of a column of objects, each converted; missing and empty ones are NaN or NaT."""
    out = np.empty(len(column.values), dtype)
    for i, value in enumerate(column.values):
        missing = is_missing(value) or (isinstance(value, str) and not value.strip())
        try:
            out[i] = (np.nan if dtype == "float64" else np.datetime64("NaT", "us")) if missing else convert(value)
        except (TypeError, ValueError, OverflowError):
            raise _unlike(owner, column, value) from None
    return out


def _number(value: Any) -> float:
    return np.timedelta64(value) / DAY if isinstance(value, DURATIONS) else float(value)


def _date(value: Any) -> np.datetime64:
    """One date, in universal time where it has a zone."""
    day = datetime.datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    if getattr(day, "tzinfo", None) is not None:
        day = day.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(day, "us")


def _unlike(owner: object, column: Column, value: Any) -> ValueError:
    what = {"number": "numbers", "bool": "booleans or numbers", "date": "dates"}[column.kind]
    return ValueError(
        f"Column {column.name!r} of {owner_name(owner)} must hold {what}, as it did when it was fitted; got "
        f"{value!r}. Make it missing (None), or fit with rows that hold such values."
    )


def as_texts(column: Column) -> np.ndarray:
    """The values of a column as texts, None where one is missing; whole numbers are written without a point."""
    cells = column.values.tolist() if column.values.dtype.kind in "biufUS" else column.values
    if column.kind == "text":
        return _objects(list(map(_TextOf().__getitem__, cells)))
    return _objects(list(map(_TextOfTyped().__getitem__, zip(cells, map(type, cells), strict=True))))


class _TextOf(dict):
    """{value: its text} of a column that holds strings only, made when a value first appears: few of them differ."""

    def __missing__(self, value: Any) -> str | None:
        text = self[value] = as_text(value)
        return text


class _TextOfTyped(dict):
    """{(value, its type): its text}: 1, 1.0 and True are equal, and their texts differ."""

    def __missing__(self, key: tuple[Any, type]) -> str | None:
        text = self[key] = as_text(key[0])
        return text


def as_text(value: Any) -> str | None:
    """A value as a text, None where it is missing; a whole number is written without a point."""
    if is_missing(value):
        return None
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def level_codes(texts: np.ndarray, levels: Sequence[str]) -> np.ndarray:
    """The index of each text in the levels; -1 where it is missing, ``len(levels)`` where it is another."""
    index: dict = {level: k for k, level in enumerate(levels)}
    index[None] = -1
    return np.fromiter(map(index.get, texts, repeat(len(levels))), dtype=np.int64, count=len(texts))


def column_indices(owner: object, parameter: str, wanted: Iterable, names: Sequence[str]) -> list[int]:
    """The indices of the columns that a parameter gives by name or by number."""
    return [_index(owner, parameter, each, names) for each in wanted]


def _index(owner: object, parameter: str, wanted: Any, names: Sequence[str]) -> int:
    if isinstance(wanted, Integral) and not isinstance(wanted, bool) and -len(names) <= int(wanted) < len(names):
        return int(wanted) % len(names)
    if isinstance(wanted, str) and wanted in names:
        return list(names).index(wanted)
    hint = did_you_mean(wanted, names, show=repr) or f"There are: {listed(names)}."
    raise ValueError(
        f"The '{parameter}' parameter of {owner_name(owner)} must name columns of X, or number them from 0; "
        f"got {wanted!r}. {hint}"
    )


# --- columns of Arrow as floats, and back ---

_growing = threading.Lock()  # several threads may encode blocks of one column


class ColumnEncoding:
    """What the floats of a column stand for; NaN stands for a missing cell.

    Parameters
    ----------
    kind : str
        "bool" (0 or 1), "date" (days since 1970), "duration" (days), "category" or "text" (indices in ``levels``).
    source_type : str
        The type of the column in its source, as Arrow writes it.
    levels : iterable of str
        The different texts, in the order in which they first occurred.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from auclid.data.encoding import ColumnEncoding
    >>> colours = ColumnEncoding("text", "string")
    >>> colours.encode(pa.array(["red", None, "blue", "red"]), "colour")
    array([ 0., nan,  1.,  0.])
    >>> colours.levels
    ['red', 'blue']
    """

    def __init__(self, kind: str, source_type: str, levels: Iterable[str] = ()) -> None:
        self.kind, self.source_type = kind, source_type
        self._index = {text: k for k, text in enumerate(levels)}

    @property
    def levels(self) -> list[str]:
        """The different texts that occurred so far."""
        return list(self._index)

    @property
    def is_categorical(self) -> bool:
        """Whether floats are indices in ``levels``."""
        return self.kind in ("category", "text")

    def encode(self, values: Any, name: str, max_levels: int = MAX_LEVELS) -> np.ndarray:
        """The floats of an Arrow column; ``name`` is for errors."""
        return self._codes(values, name, max_levels) if self.is_categorical else _ENCODERS[self.kind](values)

    def decode(self, numbers: np.ndarray) -> Any:
        """The Arrow column of these floats."""
        import pyarrow as pa

        missing = np.isnan(numbers)
        filled = np.where(missing, 0.0, numbers)
        if self.is_categorical:
            codes = pa.array(filled.astype(np.int32), mask=missing)
            encoded = pa.DictionaryArray.from_arrays(codes, pa.array(self.levels, pa.string()))
            return encoded if self.kind == "category" else encoded.cast(pa.string())
        if self.kind in ("date", "duration"):
            unit = "timedelta64[us]" if self.kind == "date" else self.source_type.replace("duration", "timedelta64")
            days = np.rint(filled * (DAY / np.array(1, unit))).astype(unit)
            return pa.array(EPOCH + days if self.kind == "date" else days, mask=missing)
        return pa.array(filled == 1.0, mask=missing)

    def _codes(self, values: Any, name: str, max_levels: int) -> np.ndarray:
        texts, index = _distinct_texts(values, name)
        with _growing:
            for text in texts:
                if text is not None and text not in self._index:
                    self._index[text] = len(self._index)
            if len(self._index) > max_levels:
                raise ValueError(
                    f"Column {name!r} must hold at most {max_levels:,} different texts; it has more, so that it "
                    "identifies rows instead of grouping them. Leave it out with columns=[...]."
                )
        return np.array([*(self._index.get(text, np.nan) for text in texts), np.nan])[index]  # type: ignore[arg-type]

    def __add__(self, other: "ColumnEncoding") -> "ColumnEncoding":
        """The encoding of two parts of a column: of texts if either part holds some."""
        first = self if self.is_categorical or not other.is_categorical else other
        return ColumnEncoding(first.kind, first.source_type, dict.fromkeys([*self._index, *other._index]))


def _distinct_texts(values: Any, name: str) -> tuple[list[str | None], np.ndarray]:
    """The different cells of a column as texts, and the index of each cell in them; missing ones come last."""
    import pyarrow as pa

    try:
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        texts = [as_text(value) for value in encoded.dictionary.to_pylist()]
    except pa.ArrowException:
        raise TypeError(
            f"Column {name!r} holds {values.type}; the argument must be a string, a number, a boolean or a date in "
            "each cell. Turn it into one of these first."
        ) from None
    return texts, encoded.indices.cast("int64").fill_null(len(texts)).to_numpy(zero_copy_only=False)


def _encode_dates(values: Any) -> np.ndarray:
    import pyarrow as pa

    zone = getattr(values.type, "tz", None)
    moments = values.cast(pa.timestamp("us", zone), safe=False).to_numpy(zero_copy_only=False)
    return np.where(np.isnat(moments), np.nan, (moments - EPOCH) / DAY)


def _encode_durations(values: Any) -> np.ndarray:
    durations = values.to_numpy(zero_copy_only=False)
    return np.where(np.isnat(durations), np.nan, durations / DAY)


def _encode_booleans(values: Any) -> np.ndarray:
    return values.cast("uint8").to_numpy(zero_copy_only=False)


_ENCODERS: dict[str, Callable[[Any], np.ndarray]] = {
    "date": _encode_dates, "duration": _encode_durations, "bool": _encode_booleans
}  # fmt: skip


def encoding_of(arrow_type: Any) -> ColumnEncoding | None:
    """The encoding of a column of an Arrow type; None where it holds plain numbers, or cannot be encoded."""
    kind = encoded_kind(arrow_type)
    return None if kind is None else ColumnEncoding(kind, str(arrow_type))


@cache
def encoded_kind(arrow_type: Any) -> str | None:
    """The kind of that encoding; cached because it is asked for every column of every block."""
    import pyarrow as pa

    types = pa.types
    tests = {
        "bool": (types.is_boolean,),
        "date": (types.is_date, types.is_timestamp),
        "duration": (types.is_duration,),
        "category": (types.is_dictionary,),
        "text": (types.is_string, types.is_large_string, types.is_time, getattr(types, "is_string_view", None)),
    }
    return next((kind for kind, each in tests.items() if any(test(arrow_type) for test in each if test)), None)


def decode(X: np.ndarray, columns: Iterable[str], encodings: Mapping[str, ColumnEncoding]) -> Any:
    """The rows as an Arrow table of what their floats stand for."""
    import pyarrow as pa

    def column(name: str, numbers: np.ndarray) -> Any:
        return encodings[name].decode(numbers) if name in encodings else pa.array(np.ascontiguousarray(numbers))

    return pa.table({name: column(name, X[:, k]) for k, name in enumerate(columns)})


def non_numeric(encodings: Mapping[str, ColumnEncoding]) -> dict[str, ColumnEncoding]:
    """The columns that an estimator of numbers cannot use: all encoded ones but booleans."""
    return {name: each for name, each in encodings.items() if each.kind != "bool"}


def merge_encodings(a: Mapping[str, ColumnEncoding], b: Mapping[str, ColumnEncoding]) -> dict[str, ColumnEncoding]:
    """The encodings of the columns of two parts."""
    return {name: a[name] + b[name] if name in a and name in b else (a.get(name) or b[name]) for name in {**a, **b}}
