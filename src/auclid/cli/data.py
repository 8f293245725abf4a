"""The rows a command works on: scanned, with labels 0 and 1, and in memory where they fit."""

import ctypes
import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid import _sizes
from auclid._hints import count_of, listed
from auclid.cli.settings import PointTableOptions
from auclid.cli.wording import LEAVE_OUT
from auclid.columns import Columns
from auclid.data import as_array
from auclid.data.encoding import decode, is_frame, is_missing
from auclid.data.files import Rows, open_rows, read_column
from auclid.data.mapped import mapped
from auclid.data.parallel_read import count_missing
from auclid.data.readers import ColumnSelection
from auclid.data.readers.open import has_own_labels
from auclid.data.sizes import as_bytes
from auclid.datasets import load_mammography
from auclid.datasets.readers import labelled_rows, missing_note
from auclid.errors import ColumnNotFoundError, DataError
from auclid.metrics._periods import time_numbers
from auclid.validation import partial_labels
from auclid.validation.vectors import common_text_on_top

DENSE_SHARE = 0.5
"""A sparse table with a larger share of entries than this is better off as a plain array."""

MOST_CLASSES = 20
"""A target with more different values than this is hardly meant as classes."""

NO_LABELS = "DATA must have labels: name their column with --target (csv, parquet), or store y (npz)."

M_MMAP_THRESHOLD, MAPPED_BYTES = -3, 1 << 20
"""The option of glibc's mallopt, and the size from which on an allocation is returned to the system once freed."""


class Options(NamedTuple):
    """What a user asks of `auclid fit` and `auclid compare`."""

    target: str | None = None
    positive: str | None = None
    drop: Sequence[str] = ()
    method: str = "auto"
    seed: int = 0
    memory: str | None = None
    max_fpr: float = 1.0
    published: bool = False
    time: str | None = None
    """The column with the date of each row, which is not learnt from."""
    settings: Sequence[str] = ()
    """Parameters of the method, NAME=VALUE."""
    points: PointTableOptions = PointTableOptions()
    """How a scorecard's points are made."""


class Task(NamedTuple):
    """Rows of a source with a binary task."""

    source: str
    rows: Rows
    """Those with a label, which is 0 or 1."""
    classes: list[str]
    """The names of the negative and the positive class."""
    notes: list[str]
    in_memory: bool
    """Whether the rows fit in memory."""
    places: np.ndarray = np.zeros(0, dtype=np.intp)
    """The numbers of the rows in the source."""


class BinaryTable(NamedTuple):
    """A table in memory with a binary task."""

    source: str
    X: Any
    is_pos: np.ndarray
    classes: list[str]
    """The names of the negative and the positive class."""
    feature_names: list[str]
    notes: list[str]
    time: np.ndarray | None = None
    """Numbers that grow with time, where rows are to be split by it: days since 1970 of dates."""
    time_is_date: bool = False
    test_rows: np.ndarray | None = None
    """The numbers of the rows to test on, where they come from a file of their own."""


def option_column(path: Path | str, option: str, name: str) -> np.ndarray:
    """The column of a file that an option names."""
    with column_of(option):
        return read_column(path, name)


@contextmanager
def column_of(option: str) -> Iterator[None]:
    """Blame an option where the target that is read is no column."""
    try:
        yield
    except ColumnNotFoundError as error:
        if error.parameter == "target":
            error.parameter = option
        raise


def scan_columns(
    path: Path, target: str | None, memory: str | None, columns: Sequence[str] | None = None, drop: Sequence[str] = ()
) -> Rows:
    """The rows of a source; where it has labels of its own, the name of the target is of another one."""
    own = has_own_labels(path)
    if memory is not None:
        _return_freed_memory()
    selection = ColumnSelection(None if own else target, None, columns, drop)
    return open_rows(path, selection, memory or _sizes.COMMAND_BYTES)


def _return_freed_memory() -> None:
    """Give freed blocks back to the system at once: Arrow's own pools and the C library keep them for later."""
    with suppress(ImportError):
        import pyarrow as pa

        pa.set_memory_pool(pa.system_memory_pool())
    with suppress(OSError, AttributeError, TypeError):  # other C libraries have no mallopt
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)


def open_task(path: Path, options: Options, columns: Sequence[str] | None = None) -> Task:
    """The rows of a source with labels 0 and 1; rows without a label are left out.

    ``columns`` are those to read; else all but those that the options leave out.
    """
    rows = _scan_target(path, options, columns)
    labelled, notes = labelled_rows(rows, options.target)
    levels, counts = _levels(rows, labelled)
    is_pos, classes = _positive_levels(levels, counts, options)
    chosen = partial(is_one_of, levels[is_pos])
    fits = rows.fits_in_memory()
    rows = mapped(rows, labels=chosen, index=labelled if len(labelled) < rows.shape[0] else None)
    return Task(str(path), dense_or_sparse(rows), classes, notes, fits, labelled)


def open_semi_supervised_task(path: Path, options: Options) -> Task:
    """The rows of a source with labels 0 and 1, NaN of rows without a label.

    With one label only, its rows are the positives and no row is known to be negative.
    """
    rows = _scan_target(path, options)
    labels = rows.labels()
    labelled, _ = labelled_rows(rows, options.target)
    labelled = labelled[~partial_labels(labels.table()).unlabelled[labels.codes[labelled]]]  # -1 may mark rows as well
    levels, counts = _levels(rows, labelled)
    if len(levels) == 1:
        is_pos, classes = np.array([True]), [f"not {text(levels[0])}", text(levels[0])]
    else:
        is_pos, classes = _positive_levels(levels, counts, options)
    count = rows.shape[0] - len(labelled)
    notes = [f"{count_of(count, 'row')} without a label: {options.method} learns from all rows."] if count else []
    fits = rows.fits_in_memory()
    rows = mapped(rows, labels=partial(looked_up, dict(zip(levels.tolist(), is_pos.tolist(), strict=True))))
    return Task(str(path), dense_or_sparse(rows), classes, notes, fits, labelled)


def _scan_target(path: Path, options: Options, columns: Sequence[str] | None = None) -> Rows:
    """The rows of a source that has labels."""
    if options.target is None and not has_own_labels(path):
        raise DataError(NO_LABELS)
    drop = [*options.drop, *([] if options.time is None or options.time in options.drop else [options.time])]
    rows = scan_columns(path, options.target, options.memory, columns, () if columns is not None else drop)
    if not rows.has_target:
        raise DataError(NO_LABELS)
    return rows


def _levels(rows: Rows, labelled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different labels of some rows, and how many rows have each."""
    labels = rows.labels()
    counts = np.bincount(labels.codes[labelled], minlength=len(labels.levels))
    levels = labels.table()[counts > 0]
    return levels.astype(str) if levels.dtype == object else levels, counts[counts > 0]


def _positive_levels(levels: np.ndarray, counts: np.ndarray, options: Options) -> tuple[np.ndarray, list[str]]:
    """Which labels are positive, and the names of both classes."""
    ask_for_positive(levels.tolist(), counts.tolist(), options.positive)
    return positives(levels, options.positive)


def looked_up(is_pos: dict[Any, bool], y: np.ndarray) -> np.ndarray:
    """1 of a positive label, 0 of another one, NaN of what is no label."""
    return np.array([is_pos.get(label, np.nan) for label in y.tolist()], dtype=np.float64)


def is_one_of(chosen: np.ndarray, y: np.ndarray) -> np.ndarray:
    """1 where a label is among the chosen ones, else 0."""
    return np.isin(y.astype(str) if chosen.dtype.kind == "U" else y, chosen).astype(np.int8)


def embedded_table() -> BinaryTable:
    """The table that comes with the package."""
    table = load_mammography()
    return BinaryTable("mammography", table.data, table.target == 1, ["0", "1"], table.feature_names, [])


def load_table(task: Task, options: Options, scaled: bool = True) -> BinaryTable:
    """The rows of a task in memory, or as many of them as may be there, drawn at random.

    Notes tell how columns will be scaled, unless the model takes values as they are.
    """
    (n, d), rows = task.rows.shape, task.rows
    size = n if task.in_memory else min(n, max(_sizes.MIN_LOADED_ROWS, as_bytes(options.memory) // (8 * d)))
    index = rows.sample_index(size, options.seed)
    X, y = rows.gather(index, allow_missing=True, allow_categorical=True)
    notes = [*task.notes, *missing_note(count_missing(X, rows.columns))]
    if size < n:
        notes.append(f"Compared on {size:,} of {n:,} rows, drawn at random: as many as --memory lets into memory.")
    X = decode(X, rows.columns, rows.encodings) if rows.named else X
    if is_frame(X) and task.in_memory:
        notes += odd_columns(X, scaled)
    table = BinaryTable(task.source, X, y == 1, task.classes, rows.columns, notes)  # type: ignore[arg-type]
    if options.time is None:
        return table
    time, kind = time_column(task, options.time)
    return table._replace(time=time[index], time_is_date=kind == "date")


def time_column(task: Task, name: str) -> tuple[np.ndarray, str]:
    """Numbers that grow with time, of the rows of a task, and whether they are of kind "date" or "number"."""
    if has_own_labels(task.source):
        raise DataError(f"--time must name a column of DATA; the columns of {task.source!r} have no names.")
    values = option_column(task.source, "time", name)[task.places]
    return time_numbers("compare", values, len(values))


def with_test_rows(table: BinaryTable, path: Path, options: Options) -> BinaryTable:
    """The table with the rows of another file below its own, to test on."""
    task = open_task(path, options, table.feature_names if is_frame(table.X) or not has_own_labels(path) else None)
    other = load_table(task, options._replace(time=None))
    if other.classes != table.classes or other.X.shape[1] != table.X.shape[1]:
        raise DataError(
            f"--test must have the classes ({', '.join(table.classes)}) and the {table.X.shape[1]} columns of DATA; "
            f"{str(path)!r} has {', '.join(other.classes)} and {other.X.shape[1]} columns."
        )
    n, is_pos = len(table.is_pos), np.concatenate([table.is_pos, other.is_pos])
    X = stack_rows(table.X, other.X, table.feature_names)
    return table._replace(X=X, is_pos=is_pos, test_rows=np.arange(n, len(is_pos)))


def stack_rows(first: Any, second: Any, names: Sequence[str]) -> Any:
    """The rows of two tables, one below the other: arrays, CSR matrices or tables of Arrow."""
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([sparse.csr_matrix(first), sparse.csr_matrix(second)], format="csr")
    if not is_frame(first) and not is_frame(second):
        return np.vstack([first, second])
    import pyarrow as pa

    tables = [each if is_frame(each) else pa.table(dict(zip(names, each.T, strict=True))) for each in (first, second)]
    return pa.concat_tables(tables, promote_options="permissive")


def dense_or_sparse(rows: Rows) -> Rows:
    """Rows without names of columns as arrays where most of their entries are stored, else as CSR matrices."""
    if rows.named:
        return rows
    stored = total = 0
    for X, _, _ in rows.read(allow_missing=True):
        if not sparse.issparse(X):
            break
        stored, total = stored + X.nnz, total + X.shape[0] * X.shape[1]
    thin = 0 < total and stored <= DENSE_SHARE * total
    return mapped(rows, numbers=sparse.csr_matrix if thin else as_array)


def odd_columns(X: Any, scaled: bool = True) -> list[str]:
    """What `auclid.Columns` finds odd about a table, and the option that leaves a column out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = Columns(scale="auto" if scaled else None).fit(X)
    return [*columns.notes_, *([LEAVE_OUT] if columns.identifiers_ else [])]


def unknown_columns(rows: Rows, ignored: Sequence[str | None]) -> list[str]:
    """A note on columns of a source that are not read, but for those that are ignored."""
    read = set(rows.columns)
    extra = [name for name in rows.available_columns if name not in read and name not in ignored]
    if not rows.named:
        if "0" in extra and "1" in read:
            raise DataError(f"{rows.where} must number its columns from 1, as the model's rows did; it has a column 0.")
        return []
    return [f"The model does not know {listed(sorted(extra))}: left out."] if extra else []


def positives(y: np.ndarray, positive: str | None = None) -> tuple[np.ndarray, list[str]]:
    """Which rows are positive, and the names of both classes; of two labels, the greater one is positive."""
    labels = np.unique(y)
    if len(labels) < 2:
        raise DataError(f"The target must have two classes; all its values are {text(labels[0])!r}.")
    if positive is not None:
        return _against_the_rest(y, labels, positive)
    if len(labels) > 2:
        some = ", ".join(text(label) for label in labels[:3])
        kind = "classes" if len(labels) <= MOST_CLASSES else "different values"
        raise DataError(
            f"The target must have two classes; it has {len(labels)} {kind} ({some}, ...). "
            "Compare one with the rest: --positive LABEL."
        )
    return y == labels[1], [text(label) for label in labels]


def _against_the_rest(y: np.ndarray, labels: np.ndarray, positive: str) -> tuple[np.ndarray, list[str]]:
    found = [label for label in labels if text(label) == text(positive)]
    if not found:
        some = ", ".join(text(label) for label in labels[:MOST_CLASSES])
        raise DataError(f"--positive must be a label of the target; got {positive!r}. There are: {some}.")
    others = [text(label) for label in labels if label != found[0]]
    return y == found[0], [others[0] if len(others) == 1 else "rest", text(found[0])]


def text(label: Any) -> str:
    """A label as people write it: 1 for 1.0, true for True."""
    if isinstance(label, bool | np.bool_):
        return str(label).lower()
    try:
        number = float(label)
    except (TypeError, ValueError):
        return str(label)
    return str(int(number)) if number.is_integer() else str(number)


def label_names(labels: Any) -> list[str | None]:
    """Labels as people write them, None where one is missing."""
    return [None if is_missing(label) else text(label) for label in np.asarray(labels).tolist()]


def ask_for_positive(labels: Sequence[Any], counts: Sequence[int], positive: str | None) -> None:
    """Refuse to take the greater of two words for the positive label where it is the common one.

    ``counts`` are the rows of each of the different labels, ``positive`` is what the user says.
    """
    if positive is not None or not common_text_on_top(labels, counts):
        return
    rare, common = sorted(map(str, labels))
    said = " or ".join(f"--positive {shlex.quote(label)}" for label in (rare, common))
    raise DataError(
        f"--positive must say which label to rank on top: {rare!r}, or {common!r}, which {max(counts):,} of "
        f"{sum(counts):,} rows have. Add {said}."
    )
