"""Rows that need not fit in memory: read by blocks, as often as asked, checked as they pass."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from auclid import _random, _sizes
from auclid._threads import allowed_threads
from auclid.data.blocks import concatenate_rows, first_nonfinite, stack_rows
from auclid.data.encoding import ColumnEncoding, decode, non_numeric
from auclid.data.labels import Labels
from auclid.data.parallel_read import check_block_size, check_finite, count_missing, map_runs, refuse_array
from auclid.data.readers import ColumnSelection, Reader, Run, SchemaChanged, SourceBlock, open_source
from auclid.data.readers.arrow import not_numbers
from auclid.data.readers.reader import check_weight, first_rows, select_rows
from auclid.data.sizes import as_bytes, as_count
from auclid.data.store import Store
from auclid.errors import DataError, invalid_value


def scan(
    source: Any,
    *,
    target: Any = None,
    sample_weight: Any = None,
    columns: Sequence[str] | None = None,
    memory: int | str | None = None,
) -> "Rows":
    """Rows of files, tables or a function, which need not fit in memory (out of core).

    Nothing but names and types of columns is read before rows are asked for. Every estimator's `fit`,
    `decision_function`, `predict` and `score` take the result as they take arrays.

    Parameters
    ----------
    source : str, path, table, array or function
        A Parquet (.parquet, .pq), Arrow IPC (.arrow, .feather, .ipc), csv (.csv, .tsv; .data without a line of names)
        or libsvm file (.libsvm, .svm, .txt; text also with .gz, .bz2 or .xz), a folder or glob of files of one kind,
        in the order of their names; a ``.npy`` file, which is memory-mapped; an ``.npz`` archive of X and y, which is
        read whole; a table of pyarrow, pandas or polars, a lazy one too; an array or CSR matrix; or a function that
        gives, each time it is called, a fresh iterator of (X, y) or (X, y, weight) blocks. What has named columns
        needs pyarrow (``pip install 'auclid[io]'``).
    target : str, optional
        The column with the labels. Of a ``.npy`` file or an array: another such file, or the labels themselves; where
        there is a file ``NAME.y.npy`` beside ``NAME.npy``, that is taken. libsvm files, archives and functions have
        their own.
    sample_weight : str, optional
        The column with the weights, in the same way.
    columns : list of str, optional
        The columns to learn from, in this order; others are not even read. None: all but target and weight.
    memory : int, or str such as "2GB", optional
        Bytes of decoded rows that may be kept between passes; more is spooled once to a temporary file, in the
        floating type of the source. None: 64 MiB. It does not change a result.

    Returns
    -------
    Rows

    Notes
    -----
    A column has the kind that all its cells allow, in all files: numbers of several types take the widest one, and a
    column of a csv file with a text anywhere is a column of texts. csv files must be in UTF-8; cells lie between
    commas, semicolons or tabs, and a decimal comma is recognised where it is not the delimiter. Empty cells and NA,
    N/A, #N/A, NaN, nan, -nan, null, NULL, None and ? are missing values; any other text makes a column one of texts.

    Examples
    --------
    >>> import numpy as np
    >>> import auclid
    >>> def blocks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(10):
    ...         y = rng.random(100) < 0.1
    ...         yield rng.normal(size=(100, 3)) + y[:, None], y
    >>> rows = auclid.scan(blocks)
    >>> rows.shape, rows.columns
    ((1000, 3), ['x0', 'x1', 'x2'])
    """
    if columns is not None and (isinstance(columns, str) or not len(columns)):
        raise invalid_value("scan", "columns", "be a list of names", columns)
    names = None if columns is None else [str(name) for name in columns]
    return open_rows(source, ColumnSelection(target, sample_weight, names), memory)


def open_rows(source: Any, selection: ColumnSelection, memory: int | str | None) -> "Rows":
    """`scan` of a selection of columns."""
    kept = as_bytes(memory)
    return Rows(open_source(source, selection), kept)


def read_column(source: Any, name: str) -> np.ndarray:
    """The values of one column of named ones: numbers, or objects where they are texts; None or NaN if missing."""
    reader = open_source(source, ColumnSelection(target=name, columns=[]))
    while True:
        try:
            blocks = reader.read_labels() or reader.read()
            return np.concatenate([np.empty(0, object) if block.y is None else block.y for block in blocks])
        except SchemaChanged as change:
            reader.widen(change.column)


class Rows:
    """Rows of a source that is read by blocks, as often as asked; made by `scan`.

    Values are checked as they pass: numbers must be finite, weights not negative; an error names block and column.
    Texts are indices in a list of those that occurred so far, dates are days (`encodings`). Decoded rows are kept in
    memory up to the bytes that `scan` was given. Of a source that is slow to read, the others are spooled to a
    temporary file at once, of any other when it is read a second time. Several threads may use the same rows.
    """

    watch: Callable[[int, int | None], None] | None = None
    """Called in each pass with the number of rows read so far, and of all rows if known."""
    __array__ = refuse_array

    def __init__(self, reader: Reader, memory: int) -> None:
        self._reader, self.memory = reader, memory
        self._lock = threading.RLock()  # held while what is known of the rows changes
        self._reset()

    def _reset(self) -> None:
        self._store, self._complete, self._passes = Store(self.memory), False, 0
        self._labels, self._weights, self._sizes = Labels(), [], []  # type: ignore[var-annotated]
        self._missing, self._counted = Counter[str](), 0  # missing values of columns in so many blocks
        self._count = self._reader.count
        self._labelled = False  # whether labels and weights of all rows are known
        self._missing_error: str | None = None  # for estimators that need every value

    def __getstate__(self) -> tuple[Reader, int]:
        return self._reader, self.memory  # another process reads anew

    def __setstate__(self, state: tuple[Reader, int]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    @property
    def columns(self) -> list[str]:
        """The names of the columns; a first pass is made where the source tells them only at its end."""
        self._reader.resolve_schema()
        if self._reader.late_columns and not self._passes:
            self._read_through()
        return list(self._reader.columns)

    @property
    def available_columns(self) -> list[str]:
        """The names of all columns of the source but target and weight, those that are not read too."""
        return list(self._reader.available_columns()) if self.columns else []

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d); a first pass is made where the source does not tell n."""
        if self._count is None:
            self._read_through()
        assert self._count is not None
        return self._count, len(self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def passes(self) -> int:
        """How often the source was read through."""
        return self._passes

    @property
    def dtype(self) -> np.dtype:
        """The floating type of the numbers: float32 where all columns fit into it."""
        self._reader.resolve_schema()
        return self._reader.dtype

    @property
    def has_target(self) -> bool:
        """Whether the rows have labels."""
        self._reader.resolve_schema()
        return self._reader.has_target

    @property
    def has_weight(self) -> bool:
        """Whether the rows have weights."""
        self._reader.resolve_schema()
        return self._reader.has_weight

    def target(self, classes: bool = True) -> np.ndarray | None:
        """The label of each row, an array of n; None where the rows have none.

        Read by themselves where the source allows it, else in a pass over everything. More than 1,000 different labels
        are refused, unless ``classes`` is False and they are numbers.
        """
        if not self.has_target:
            return None
        if classes:
            self.labels().require_classes()
        return self.labels().values()

    def sample_weight(self) -> np.ndarray | None:
        """The weight of each row, an array of n; None where the rows have none."""
        if not self.has_weight:
            return None
        self._read_labels()
        return np.concatenate(self._weights)

    @property
    def named(self) -> bool:
        """Whether the columns have names that the user gave them."""
        self._reader.resolve_schema()
        return self._reader.named

    @property
    def where(self) -> str:
        """What the rows are of, for errors."""
        return self._reader.where

    def block_sizes(self) -> list[int]:
        """The number of rows of each block; read with the labels where there are some, else in a pass."""
        self._read_labels()
        if not (self._labelled or self._passes):
            self._read_through()
        return list(self._sizes)

    def labels(self) -> Labels:
        """The labels as numbers of classes, and where each class first occurs."""
        self._read_labels()
        return self._labels

    @property
    def encodings(self) -> Mapping[str, ColumnEncoding]:
        """What the numbers of some columns stand for, by name: booleans, dates, texts."""
        self._reader.resolve_schema()
        self._settle()
        return self._reader.encodings

    @property
    def non_numeric(self) -> dict[str, str]:
        """The columns that hold neither numbers nor booleans, by name, and their types."""
        return {name: each.source_type for name, each in non_numeric(self.encodings).items()}

    def require_numeric(self) -> None:
        """Raise where columns hold texts or dates."""
        if self.non_numeric:
            raise not_numbers(self.non_numeric, self._reader.where)

    def missing_counts(self) -> dict[str, int]:
        """The number of missing values of each column that has some; a pass is made where none was."""
        if self._counted < len(self._sizes) or not self._sizes:
            self._read_through()
        return {name: self._missing[name] for name in self.columns if name in self._missing}

    def fits_in_memory(self) -> bool:
        """Whether all decoded rows fit into the memory that `scan` was given."""
        if self._count is None or (self._reader.slow and not self._passes):
            self._read_through()
        return not self._store.spooled if self._complete else self._may_fit()

    def decode(self, X: Any) -> Any:
        """The numbers of some rows as an Arrow table with texts and dates; X itself where all columns are numbers."""
        return decode(X, self.columns, self.encodings) if self.encodings else X

    def _decode_for_user(self, X: Any) -> Any:
        encodings = self._reader.encodings  # booleans alone stay numbers
        return decode(X, self._reader.columns, encodings) if non_numeric(encodings) else X

    def blocks(self, *, allow_missing: bool = False) -> Iterator[tuple[Any, np.ndarray | None]]:
        """Yield (X, y), rows and labels: arrays, CSR matrices, or tables of texts and dates.

        A missing number is an error unless ``allow_missing`` is set, or some columns are no numbers.
        """
        for block in self.read(allow_missing, allow_categorical=True):
            yield self._decode_for_user(block.X), block.y

    def head(self, n: int) -> tuple[Any, np.ndarray | None]:
        """(X, y) of the first n rows, as `blocks` gives them."""
        rows = as_count("head", n)
        self._reader.resolve_schema()
        with self._lock:
            try:
                X, y = self._join(first_rows(self._check_blocks(self._first_blocks(), False, True), rows))
            except SchemaChanged as change:
                self._restart(change)
                X, y = self._join(first_rows(self.read(allow_categorical=True), rows))
        return self._decode_for_user(X), y

    def _first_blocks(self) -> Iterator[SourceBlock]:
        """Blocks without a pass over all rows before, where the columns are known without one."""
        if self._reader.late_columns or self._passes:
            return self.read(allow_missing=True, allow_categorical=True)
        return self._source_blocks()

    def sample(self, n: int, random_state: Any = None, *, allow_missing: bool = False) -> tuple[Any, np.ndarray | None]:
        """(X, y) of n rows drawn without replacement, in their order; all rows where there are no more than n.

        Which rows are drawn depends on their number and ``random_state`` only, never on blocks. A missing number is an
        error, or NaN where ``allow_missing`` is set or some columns are no numbers.
        """
        X, y = self.gather(self.sample_index(n, random_state), allow_missing, allow_categorical=True)
        return self._decode_for_user(X), y

    def sample_index(self, n: int, random_state: Any = None) -> np.ndarray:
        """The numbers of the rows that `sample` draws."""
        count, size = self.shape[0], as_count("sample", n)
        if size >= count:
            return np.arange(count)
        return np.sort(_random.generator(random_state).choice(count, size, replace=False, shuffle=False))

    def gather(
        self, index: np.ndarray, allow_missing: bool = False, allow_categorical: bool = False
    ) -> tuple[Any, np.ndarray | None]:
        """(X, y) of the rows of these numbers, which ascend; flags as of `read`."""
        if not allow_categorical:
            self.require_numeric()
        allow_missing = allow_missing or bool(self.non_numeric)
        if self._missing_error is not None and not allow_missing:
            raise DataError(self._missing_error)
        X = self._gather_stored(index) if self._complete else self._reader.take(index)
        if X is None or (not allow_missing and first_nonfinite(X) is not None):  # a pass will say where
            return self._join(select_rows(self.read(allow_missing, allow_categorical), index))
        return X, self.labels().values(index) if self.has_target else None

    def _gather_stored(self, index: np.ndarray) -> Any:
        starts = np.concatenate([[0], np.cumsum(self._sizes)])
        numbers = np.searchsorted(starts, index, side="right") - 1
        parts = (
            self._reader.conform(self._store.get(number))[index[numbers == number] - starts[number]]
            for number in (np.unique(numbers) if len(index) else [0])
        )
        return stack_rows(parts, len(index))

    def _join(self, blocks: Iterator[SourceBlock]) -> tuple[Any, np.ndarray | None]:
        """(X, y) of blocks."""
        parts = list(blocks)
        y = np.concatenate([block.y for block in parts]) if self.has_target else None
        return concatenate_rows([block.X for block in parts]), y

    def materialize(self) -> None:
        """Make every row available at random: kept, spooled, or already in memory or in a mapped file."""
        if self._complete or self._reader.take(np.arange(0)) is not None:
            return
        for _ in self._source_blocks(keep_all=True):
            pass

    def read(self, allow_missing: bool = False, allow_categorical: bool = False) -> Iterator[SourceBlock]:
        """Blocks with labels and weights: those kept, or those of the source, which are checked and kept.

        Parameters
        ----------
        allow_missing : bool
            Whether a missing number is NaN, not an error.
        allow_categorical : bool
            Whether columns that are no numbers are encoded (`encodings`), not an error; they may have missing values.
        """
        self._settle()
        blocks = self._stored_blocks() if self._complete else self._source_blocks()
        if not (allow_missing and allow_categorical):
            blocks = self._check_blocks(blocks, allow_missing, allow_categorical)
        return blocks if self.watch is None else self._watched(blocks)

    def map_runs(
        self, function: Callable[[Iterator], Any], allow_missing: bool = False, allow_categorical: bool = False
    ) -> Iterator[Any]:
        """The function of each run of consecutive blocks with their numbers, in their order.

        Runs are read in parallel where the source allows it and none of its rows are kept; else all blocks are one.
        """
        runs, done = self._runs(), 0
        if not runs:
            yield function(enumerate(self.read(allow_missing, allow_categorical)))
            return
        self._reader.check_unchanged()
        answers = map_runs(self._reader, runs, self._sizes, allow_missing, function)
        for run, answer in zip(runs, answers, strict=True):
            yield answer
            done += run.rows
            if self.watch is not None:
                self.watch(done, self._count)
        self._end_pass(len(self._sizes), done)

    def _runs(self) -> list[Run]:
        kept = self._complete or self._passes > 0 or self._may_fit()
        runs = [] if kept or not self._labelled or allowed_threads() < 2 else self._reader.runs()
        return runs if len(runs) >= _sizes.MIN_RUNS else []

    def _watched(self, blocks: Iterator[SourceBlock]) -> Iterator[SourceBlock]:
        done = 0
        for block in blocks:
            yield block
            done += block.X.shape[0]
            self.watch(done, self._count)  # type: ignore[misc]

    def _check_blocks(
        self, blocks: Iterator[SourceBlock], allow_missing: bool, allow_categorical: bool
    ) -> Iterator[SourceBlock]:
        for block in blocks:
            other = non_numeric(self._reader.encodings)  # of a function known by its first block
            if other and not allow_categorical:
                self.require_numeric()
            if self._missing_error is not None and not (allow_missing or other):
                raise DataError(self._missing_error)
            yield block

    def _stored_blocks(self) -> Iterator[SourceBlock]:
        start = 0
        for number, size in enumerate(self._sizes):
            part = slice(start, start + size)
            y = self._labels.values(part) if self._reader.has_target else None
            yield SourceBlock(self._reader.conform(self._store.get(number)), y, self._weight(part))
            start += size

    def _weight(self, part: slice) -> np.ndarray | None:
        if not self._reader.has_weight:
            return None
        with self._lock:
            if len(self._weights) != 1:
                self._weights = [np.concatenate(self._weights)]
        return self._weights[0][part]

    def _source_blocks(self, keep_all: bool = False) -> Iterator[SourceBlock]:
        """A pass over the source, whose blocks are checked, and kept as far as memory and the source call for it."""
        reader, begin, number = self._reader, 0, -1
        reader.check_unchanged()
        spool = keep_all or reader.slow or self._passes > 0
        keep = keep_all or (not reader.resident and (spool or self._may_fit()))
        for number, block in enumerate(reader.read()):
            X = reader.conform(block.X)
            missing = check_finite(reader, number, begin, X)
            with self._lock:
                self._record(number, block)
                self._record_missing(number, X, missing)
                if keep and number == len(self._store):
                    keep = self._store.add(block.X, spool)
            begin += X.shape[0]
            yield block._replace(X=X)
        self._end_pass(number + 1, begin)

    def _may_fit(self) -> bool:
        """Whether all rows may be kept in memory: a part of them alone would save no second pass over the source."""
        size = self._reader.nbytes(self._count)
        return size is None or size <= self.memory

    def _end_pass(self, blocks: int, rows: int) -> None:
        """A pass must have read as many rows as the one before."""
        if not rows:
            raise DataError(f"{self._reader.where} must hold rows; it has none.")
        with self._lock:
            if self._count is not None and rows != self._count:
                raise DataError(
                    f"{self._reader.where} must give the same rows each time it is read; it gave {rows:,} rows, and "
                    f"{self._count:,} were expected. It must not change, nor be an iterator that can be read only once."
                )
            self._count, self._labelled, self._passes = rows, True, self._passes + 1
            self._complete = len(self._store) == blocks

    def _record(self, number: int, block: SourceBlock) -> None:
        """Keep labels, weights and size of a block that is read for the first time."""
        if number == len(self._sizes):
            self._sizes.append(block.rows)
        else:
            check_block_size(self._reader, number, block.rows, self._sizes)
        if block.y is not None and number == self._labels.blocks:
            self._labels.add(block.y, self._reader.where)
        if block.weight is not None and number == len(self._weights) and not self._labelled:
            self._weights.append(check_weight(block.weight, number, self._reader.where))

    def _record_missing(self, number: int, X: Any, message: str | None) -> None:
        """Count the missing values of a block that is read for the first time."""
        self._missing_error = self._missing_error or message
        if number != self._counted:
            return
        self._counted += 1
        if message is not None:
            self._missing.update(count_missing(X, self._reader.columns))

    def _read_labels(self) -> None:
        """Make sure that labels and weights of all rows are known."""
        with self._lock:
            self._reader.resolve_schema()
            if self._labelled or not (self._reader.has_target or self._reader.has_weight):
                return
            blocks = self._reader.read_labels()
            if blocks is None:
                self._read_through()
                return
            self._reader.check_unchanged()
            for number, block in enumerate(blocks):
                self._record(number, block)
            self._labelled = True

    def _settle(self) -> None:
        """Make sure that columns and encodings are final, where all rows must be read for that."""
        if (self._reader.late_columns or self._reader.late_types) and not self._passes:
            self._read_through()

    def _read_through(self) -> None:
        """Make a pass; once more where a type turns out to be too narrow."""
        with self._lock:
            while True:
                try:
                    blocks = self._stored_blocks() if self._complete else self._source_blocks()
                    for _ in blocks if self.watch is None else self._watched(blocks):
                        pass
                    return
                except SchemaChanged as change:
                    self._restart(change)

    def _restart(self, change: SchemaChanged) -> None:
        """Forget what was read with a type that does not hold."""
        self._reader.widen(change.column)
        self._reset()

    def __repr__(self) -> str:
        n = "?" if self._count is None else f"{self._count:,}"
        return f"<Rows of {self._reader.where}: {n} rows>"
