"""The columns of a csv or parquet file: numbers as they are, text refused or one-hot, remarks on odd ones."""

import re
from collections import Counter
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from auclid._hints import listed
from auclid.data.readers.dialect import MISSING, sniff_delimiter
from auclid.errors import ColumnNotFoundError, ColumnTypeError, DataError, Setting, unknown_column

MOST_VALUES = 1000
"""A column of text with more values than this is an identifier or prose, and no category."""

FEW_ROWS = 10
"""Below so many rows, all different is nothing to remark on."""


TABLE = {"owner": "read_table", "parameter": "path", "subject": "The table"}
"""What an error about a file's content is about."""


def read_csv(path: Path, has_names: bool = True) -> Any:
    """The Arrow table of a csv file; separated by commas, semicolons or tabs, as its first line is."""
    csv = _arrow("csv")
    import pyarrow as pa

    options = csv.ConvertOptions(null_values=MISSING, strings_can_be_null=True)
    try:
        separator, _ = sniff_delimiter(path)
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(autogenerate_column_names=not has_names),
            parse_options=csv.ParseOptions(delimiter=separator),
            convert_options=options,
        )
        if any(pa.types.is_binary(field.type) for field in table.schema) or "\ufffd" in "".join(table.column_names):
            raise UnicodeError
        return table if has_names else table.rename_columns(numbered(table.num_columns))
    except UnicodeError:
        raise DataError(
            f"{str(path)!r} must be text in UTF-8; it is in another encoding, or no text. Save it as UTF-8."
        ) from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{str(path)!r} must be a csv file with{'' if has_names else 'out'} a line of column names: {_line(error)}."
        ) from None


def read_parquet(path: Path) -> Any:
    """The Arrow table of a parquet file."""
    parquet = _arrow("parquet")
    import pyarrow as pa

    try:
        return parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{str(path)!r} must be a parquet file: {_line(error)}.") from None


def _arrow(part: str) -> Any:
    try:
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            "csv and parquet files are read by pyarrow, which is not installed: pip install 'auclid[io]'."
        ) from None
    return getattr(pyarrow, part)


def _line(error: BaseException) -> str:
    """What a reader says of a file, without its own name and that of the file, which was told already."""
    said = " ".join(str(error).split()).rstrip(".")
    said = re.sub(r"^CSV parse error: |^Could not open Parquet input source '.*?': ", "", said)
    return re.sub(r"Expected (\d+) columns, got (\d+)", r"a line has \2 cells and not \1", said)


def to_frame(
    table: Any, target: str | None, drop: Sequence[str], columns: list[str] | None
) -> tuple[Any, np.ndarray | None, list[str], list[str]]:
    """(X, y, names, notes) of an Arrow table, where X is one too: the columns as they came."""
    notes: list[str] = []
    table, y = _parted(table, target, drop, notes)
    if columns is not None:
        none_missing(columns, set(table.column_names))
        extra = sorted(set(table.column_names) - set(columns))
        if extra:
            notes.append(f"The model does not know {listed(extra)}: left out.")
        table = table.select(columns)
    if not table.num_columns:
        raise DataError(**TABLE, expected="have a column besides the target", got="none")
    holed = [name for name in table.column_names if table[name].null_count]
    if holed:
        count = sum(table[name].null_count for name in holed)
        notes.append(f"{count:,} values are missing, in {listed(holed)}.")
    return table, y, list(table.column_names), notes


def to_numbers(
    table: Any, target: str | None, one_hot: bool, drop: Sequence[str], columns: list[str] | None
) -> tuple[np.ndarray, np.ndarray | None, list[str], list[str]]:
    """(X, y, names, notes) of an Arrow table."""
    notes: list[str] = []
    rows, y = _parted(table, target, drop, notes)
    if columns is None:
        parts = _own_columns(rows, one_hot, notes)
    else:
        parts = _model_columns(rows, columns, notes)
    if not parts:
        raise DataError(**TABLE, expected="have a column besides the target", got="none")
    X = np.column_stack(list(parts.values()))
    return X, y, list(parts), notes + remarks(X, list(parts))


def _parted(table: Any, target: str | None, drop: Sequence[str], notes: list[str]) -> tuple[Any, np.ndarray | None]:
    """The columns besides the target and those to drop, and the labels; rows without a label are left out."""
    names = table.column_names
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise DataError(f"Columns must have different names; got {listed(twice)} more than once.")
    if not table.num_rows:
        raise DataError(**TABLE, expected="hold rows", got="column names only")
    all_known(drop, names, "drop")
    y = None
    if target is not None:
        all_known([target], names, "target")
        table, y = _labels(table, target, notes)
    left = {target, *drop}
    return table.select([name for name in names if name not in left]), y


def _labels(table: Any, target: str, notes: list[str]) -> tuple[Any, np.ndarray]:
    """The table without the rows that have no label, and the labels."""
    import pyarrow.types as kinds

    if kinds.is_nested(table[target].type):
        raise DataError(f"The target {target!r} must hold one label a row; it holds {table[target].type}.")
    y = table[target].to_numpy()
    known = np.array([label is not None for label in y]) if y.dtype == object else y == y
    if not known.any():
        raise DataError(f"The target {target!r} must have values; all are missing.")
    if not known.all():
        notes.append(f"{(~known).sum()} rows have no value in {target!r} and are left out.")
        table, y = table.take(np.flatnonzero(known)), y[known]
    return table, y.astype(str) if y.dtype == object else y


def _own_columns(table: Any, one_hot: bool, notes: list[str]) -> dict[str, np.ndarray]:
    """Each column as numbers, by name; the first sight of a table."""
    text = [name for name in table.column_names if not _is_number(table[name])]
    if text and not one_hot:
        one_hot_it, leave_it = Setting("one_hot", "True"), Setting("drop", "[NAME]")
        raise ColumnTypeError(
            columns=text,
            **TABLE,
            expected="have columns of numbers",
            got=f"{_sample(table[text[0]])} in {listed(text)}",
            hint=("Pass ", one_hot_it, " to make a column of each value, or ", leave_it, "."),
        )
    parts, is_text = {}, set(text)
    for name in table.column_names:
        column = table[name]
        if name not in is_text:
            parts[name] = _numbers(column, name)
            continue
        words = _words(column)
        values = sorted({word for word in words if word is not None})
        if len(values) > MOST_VALUES or (len(values) == len(words) >= FEW_ROWS):
            notes.append(f"Column {name!r} has {len(values)} different texts in {len(words)} rows: it is left out.")
            continue
        parts.update({f"{name}={value}": _equal(words, value) for value in values})
    return parts


def _model_columns(table: Any, columns: list[str], notes: list[str]) -> dict[str, np.ndarray]:
    """The columns that a model knows; those of one-hot names are made from their texts."""
    present, absent = set(table.column_names), []
    parts: dict[str, np.ndarray] = {}
    words: dict[str, list[str | None]] = {}
    for name in columns:
        base, _, value = name.partition("=")
        if name in present:
            parts[name] = _numbers(table[name], name)
        elif value and base in present:
            words.setdefault(base, _words(table[base]))
            parts[name] = _equal(words[base], value)
        else:
            absent.append(name)
    none_missing(absent, present)
    extra = sorted(present - set(columns) - set(words))
    if extra:
        notes.append(f"The model does not know {listed(extra)}: left out.")
    for base, texts in words.items():
        strange = {text for text in texts if text is not None and f"{base}={text}" not in parts}
        if strange:
            notes.append(f"Column {base!r} has values that the model does not know: {listed(sorted(strange))}.")
    return parts


def _is_number(column: Any) -> bool:
    import pyarrow.types as kinds

    tests = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal, kinds.is_null)
    return any(test(column.type) for test in tests)


def _numbers(column: Any, name: str) -> np.ndarray:
    if not _is_number(column):
        raise DataError(f"Column {name!r} must hold numbers, as it did for the model; it holds {_sample(column)}.")
    if str(column.type) == "bool":
        column = column.cast("int8")
    values = column.cast("float64", safe=False).to_numpy()
    if np.isinf(values).any():
        raise DataError(f"Column {name!r} must hold finite numbers; it holds infinite ones.")
    return values


def _words(column: Any) -> list[str | None]:
    """A column as texts, with None where one is missing."""
    return [None if value is None else str(value) for value in column.to_pylist()]


def _equal(words: list[str | None], value: str) -> np.ndarray:
    return np.array([word == value for word in words], dtype=np.float64)


def _sample(column: Any) -> str:
    shown = list(dict.fromkeys(text for text in _words(column.slice(0, 100)) if text is not None))[:2]
    return f"text ({', '.join(map(repr, shown))}, ...)"


def remarks(X: Any, names: list[str]) -> list[str]:
    """Sentences on missing values, constant columns, and columns that look like identifiers."""
    if sparse.issparse(X):
        return ["Some values are missing."] if np.isnan(X.data).any() else []
    missing = np.isnan(X)
    notes: list[str] = []
    if missing.any():
        where = [name for name, some in zip(names, missing.any(axis=0), strict=True) if some]
        notes.append(f"{int(missing.sum()):,} values are missing, in {listed(where)}.")
    low, high = (
        np.min(X, axis=0, initial=np.inf, where=~missing),
        np.max(X, axis=0, initial=-np.inf, where=~missing),
    )
    constant = [name for name, same in zip(names, (low >= high) & (len(X) > 1), strict=True) if same]
    if constant:
        notes.append(f"{listed(constant)} {_verb(constant)} the same value in every row.")
    ids = [name for name, column in zip(names, X.T, strict=True) if _like_an_id(column)]
    if ids:
        notes.append(
            f"{listed(ids)} {_verb(ids)} a different whole number in every row, like an identifier: "
            "leave it out unless it means something."
        )
    return notes


def _like_an_id(column: np.ndarray) -> bool:
    whole = len(column) >= FEW_ROWS and bool(np.all(column == np.floor(column)))
    return whole and len(np.unique(column)) == len(column)


def all_known(wanted: Sequence[str], names: Sequence[str], parameter: str) -> None:
    """Raise when a parameter names a column that is not there; a near name is suggested."""
    for name in wanted:
        if name not in names:
            raise unknown_column("read_table", parameter, name, names, "the table")


def none_missing(columns: Sequence[str], present: Container[str]) -> None:
    """Raise when columns that a model was fitted with are not there."""
    absent = [name for name in columns if name not in present]
    if absent:
        expected, got = "have the columns the model was fitted with", f"a table without {listed(absent)}"
        raise ColumnNotFoundError(columns=absent, **TABLE, expected=expected, got=got)


def numbered(d: int) -> list[str]:
    """Names for columns without one."""
    return [f"x{k}" for k in range(1, d + 1)]


def _verb(names: Sequence[str]) -> str:
    return "have" if len(names) > 1 else "has"
