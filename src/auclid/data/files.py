"""Rows that need not fit in memory: read by blocks, as often as asked, checked as they pass."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from auclid import _random
from auclid._threads import allowed_threads
from auclid.data.blocks import concatenate_rows, first_nonfinite
from auclid.data.encoding import ColumnEncoding, decode, others
from auclid.data.labels import Labels
from auclid.data.parallel_read import ENOUGH, by_runs, gap_in, no_array, require_size
from auclid.data.readers import Block, ColumnSelection, Reader, Run, open_source
from auclid.data.readers.arrow import not_numbers
from auclid.data.readers.reader import checked_weight
from auclid.data.sizes import as_bytes, as_count
from auclid.data.store import Store


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
        or libsvm file (.libsvm, .svm, .txt; text also with .gz or .bz2), a folder or glob of files of one kind, in the
        order of their names; a ``.npy`` file, which is memory-mapped; a table of pyarrow, pandas or polars, a lazy one
        too; an array or CSR matrix; or a function that gives, each time it is called, a fresh iterator of (X, y) or
        (X, y, weight) blocks. What has named columns needs pyarrow (``pip install 'auclid[io]'``).
    target : str, optional
        The column with the labels. Of a ``.npy`` file or an array: another such file, or the labels themselves; where
        there is a file ``NAME.y.npy`` beside ``NAME.npy``, that is taken. libsvm files and functions have their own.
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
        raise ValueError(f"The 'columns' parameter of scan must be a list of names; got {columns!r}.")
    names = None if columns is None else [str(name) for name in columns]
    kept = as_bytes(memory)
    return Rows(open_source(source, ColumnSelection(target, sample_weight, names)), kept)


class Rows:
    """Rows of a source that is read by blocks, as often as asked; made by `scan`.

    Values are checked as they pass: numbers must be finite, weights not negative; a sentence names block and column.
    Texts are kept as places in a list of those met so far, dates as days (`meanings`). Decoded rows are kept in memory
    up to the bytes that `scan` was given. Of a source that is slow to read, the others are spooled to a temporary file
    at once, of any other when it is read a second time.
    """

    watch: Callable[[int, int | None], None] | None = None
    """Told, in each pass, how many rows have been read, of how many."""
    __array__ = no_array

    def __init__(self, reader: Reader, memory: int) -> None:
        self._reader, self.memory = reader, memory
        self._begin()

    def _begin(self) -> None:
        self._store, self._complete, self._passes = Store(self.memory), False, 0
        self._labels, self._weights, self._sizes = Labels(), [], []  # type: ignore[var-annotated]
        self._count = self._reader.count
        self._labelled = False  # whether labels and weights of all rows are known
        self._gap: str | None = None  # what is said of the first number that is missing

    def __getstate__(self) -> tuple[Reader, int]:
        return self._reader, self.memory  # what was kept is read anew in another process

    def __setstate__(self, state: tuple[Reader, int]) -> None:
        self._reader, self.memory = state
        self._begin()

    @property
    def columns(self) -> list[str]:
        """The names of the columns; a first pass is made where the source tells them only at its end."""
        self._reader.known()
        if self._reader.late and not self._complete:
            self._read_through()
        return list(self._reader.columns)

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
        self._reader.known()
        return self._reader.dtype

    @property
    def has_target(self) -> bool:
        """Whether the rows have labels."""
        self._reader.known()
        return self._reader.has_target

    @property
    def has_weight(self) -> bool:
        """Whether the rows have weights."""
        self._reader.known()
        return self._reader.has_weight

    def target(self) -> np.ndarray | None:
        """The label of each row, an array of n; None where the rows have none.

        Read by themselves where the source allows it, else in a pass over everything.
        """
        return self.labels().values() if self.has_target else None

    def sample_weight(self) -> np.ndarray | None:
        """The weight of each row, an array of n; None where the rows have none."""
        self._reader.known()
        if not self._reader.has_weight:
            return None
        self._label()
        return np.concatenate(self._weights)

    @property
    def named(self) -> bool:
        """Whether the columns have names that the user gave them."""
        self._reader.known()
        return self._reader.named

    @property
    def where(self) -> str:
        """What the rows are of, in words."""
        return self._reader.where

    def block_sizes(self) -> list[int]:
        """The number of rows of each block; read with the labels where there are some, else in a pass."""
        self._label()
        if not (self._labelled or self._passes):
            self._read_through()
        return list(self._sizes)

    def labels(self) -> Labels:
        """The labels as numbers of classes, and where each class was first met."""
        self._label()
        return self._labels

    @property
    def meanings(self) -> Mapping[str, ColumnEncoding]:
        """What the numbers of some columns stand for, by name: truths, dates, places in a list of texts."""
        self._reader.known()
        return self._reader.meanings

    @property
    def others(self) -> dict[str, str]:
        """The columns that are no numbers, by name, and their types."""
        return {name: each.told for name, each in others(self.meanings).items()}

    def numbers_only(self) -> None:
        """Raise where columns hold texts or dates."""
        if self.others:
            raise not_numbers(self.others, self._reader.where)

    def decode(self, X: Any) -> Any:
        """Numbers of these rows as one who knows words sees them: a table where they stand for anything else."""
        return decode(X, self.columns, self.meanings) if self.meanings else X

    def _seen(self, X: Any) -> Any:
        return self.decode(X) if self.others else X  # where there are truths alone, numbers are handier

    def blocks(self, *, gaps: bool = False) -> Iterator[tuple[Any, np.ndarray | None]]:
        """Yield (X, y), rows and labels: arrays, CSR matrices, or tables of texts, dates; ``gaps`` as of `sample`."""
        for block in self.read(gaps, words=True):
            yield self._seen(block.X), block.y

    def head(self, n: int) -> tuple[Any, np.ndarray | None]:
        """(X, y) of the first n rows, as `blocks` gives them."""
        X, y = self._rows_of(self.read(words=True), np.arange(as_count("head", n)))
        return self._seen(X), y

    def sample(self, n: int, random_state: Any = None, *, gaps: bool = False) -> tuple[Any, np.ndarray | None]:
        """(X, y) of n rows drawn without replacement, in their order; all rows where there are no more than n.

        Which rows are drawn depends on their number and ``random_state`` only, never on blocks. A missing number is an
        error, or NaN where ``gaps`` are allowed or some columns are no numbers.
        """
        count, size = self.shape[0], as_count("sample", n)
        index = np.arange(count)
        if size < count:
            index = np.sort(_random.generator(random_state).choice(count, size, replace=False, shuffle=False))
        X, y = self.gather(index, gaps, words=True)
        return self._seen(X), y

    def gather(self, index: np.ndarray, gaps: bool = False, words: bool = False) -> tuple[Any, np.ndarray | None]:
        """(X, y) of the rows of these numbers, which ascend; ``gaps`` and ``words`` as of `read`."""
        if not words:
            self.numbers_only()
        gaps = gaps or bool(self.others)
        if self._gap is not None and not gaps:
            raise ValueError(self._gap)
        X = self._gather_kept(index) if self._complete else self._reader.take(index)
        if X is None or (not gaps and first_nonfinite(X) is not None):  # a pass will say where
            return self._rows_of(self.read(gaps, words), index)
        return X, self.labels().values(index) if self.has_target else None

    def _gather_kept(self, index: np.ndarray) -> Any:
        starts = np.concatenate([[0], np.cumsum(self._sizes)])
        numbers = np.searchsorted(starts, index, side="right") - 1
        return concatenate_rows([
            self._reader.shaped(self._store.get(number))[index[numbers == number] - starts[number]]
            for number in (np.unique(numbers) if len(index) else [0])
        ])  # fmt: skip

    def _rows_of(self, blocks: Iterator[Block], index: np.ndarray) -> tuple[Any, np.ndarray | None]:
        """The same from all blocks, up to the last one needed."""
        parts, labels, start = [], [], 0
        for X, y, _ in blocks:
            here = index[np.searchsorted(index, start) : np.searchsorted(index, start + X.shape[0])] - start
            parts.append(X[here])
            labels.append(None if y is None else y[here])
            start += X.shape[0]
            if not len(index) or start > index[-1]:
                break
        return concatenate_rows(parts), np.concatenate(labels) if self.has_target else None  # type: ignore[arg-type]

    def hold(self) -> None:
        """Make sure that any row can be had at any time: kept, spooled, or in memory or a mapped file by itself."""
        if self._complete or self._reader.take(np.arange(0)) is not None:
            return
        for _ in self._source_blocks(hold=True):
            pass

    def read(self, gaps: bool = False, words: bool = False) -> Iterator[Block]:
        """Blocks with labels and weights: those kept, or those of the source, which are checked and kept.

        A number that is missing is NaN where ``gaps`` are allowed, else an error; so is a column that is no numbers,
        unless ``words`` allows what stands for it, and gaps beside it.
        """
        if self._reader.late and not self._complete:
            self._read_through()
        blocks = self._kept() if self._complete else self._source_blocks()
        blocks = blocks if gaps and words else self._allowed(blocks, gaps, words)
        return blocks if self.watch is None else self._watched(blocks)

    def by_runs(self, function: Callable[[Iterator], Any], gaps: bool = False, words: bool = False) -> Iterator[Any]:
        """The function of each run of consecutive blocks with their numbers, in their order.

        Runs are read side by side where the source allows it and none of its rows are kept; else all blocks are one.
        """
        runs, done = self._runs(), 0
        if not runs:
            yield function(enumerate(self.read(gaps, words)))
            return
        self._reader.unchanged()
        for run, answer in zip(runs, by_runs(self._reader, runs, self._sizes, gaps, function), strict=True):
            yield answer
            done += run.rows
            if self.watch is not None:
                self.watch(done, self._count)
        self._end(len(self._sizes), done)

    def _runs(self) -> list[Run]:
        kept = self._complete or self._passes > 0 or self._may_fit()
        runs = [] if kept or not self._labelled or allowed_threads() < 2 else self._reader.runs()
        return runs if len(runs) >= ENOUGH else []

    def _watched(self, blocks: Iterator[Block]) -> Iterator[Block]:
        done = 0
        for block in blocks:
            yield block
            done += block.X.shape[0]
            self.watch(done, self._count)  # type: ignore[misc]

    def _kept(self) -> Iterator[Block]:
        start = 0
        for number, size in enumerate(self._sizes):
            part = slice(start, start + size)
            y = self._labels.values(part) if self._reader.has_target else None
            yield Block(self._reader.shaped(self._store.get(number)), y, self._weight(part))
            start += size

    def _weight(self, part: slice) -> np.ndarray | None:
        if not self._reader.has_weight:
            return None
        if len(self._weights) != 1:
            self._weights = [np.concatenate(self._weights)]
        return self._weights[0][part]

    def _source_blocks(self, hold: bool = False) -> Iterator[Block]:
        reader, store, begin = self._reader, self._store, 0
        reader.unchanged()
        spool, number = hold or reader.slow or self._passes > 0, -1
        keep = hold or (not reader.resident and (spool or self._may_fit()))
        for number, block in enumerate(reader.read()):
            gap = gap_in(reader, number, begin, block.X)
            self._gap = self._gap or gap
            self._note(number, block)
            if keep and number == len(store):
                keep = store.add(block.X, spool)
            begin += block.X.shape[0]
            yield block._replace(X=reader.shaped(block.X))
        self._end(number + 1, begin)

    def _may_fit(self) -> bool:
        """Whether all rows may be kept in memory: a part of them alone would save no second pass over the source."""
        return self._count is None or self._count * len(self._reader.columns) * self.dtype.itemsize <= self.memory

    def _end(self, blocks: int, rows: int) -> None:
        """A pass is over: it must have met as many rows as the one before."""
        if not rows:
            raise ValueError(f"{self._reader.where} must hold rows; it has none.")
        if self._count is not None and rows != self._count:
            raise ValueError(
                f"{self._reader.where} must give the same rows each time it is read; it gave {rows:,} rows, and "
                f"{self._count:,} were expected. It must not change, nor be an iterator that can be read only once."
            )
        self._count, self._labelled, self._passes = rows, True, self._passes + 1
        self._complete = len(self._store) == blocks

    def _note(self, number: int, block: Block) -> None:
        """Labels, weights and sizes of a block that is met for the first time."""
        size = next(part.shape[0] for part in block if part is not None)
        if number == len(self._sizes):
            self._sizes.append(size)
        else:
            require_size(self._reader, number, size, self._sizes)
        if block.y is not None and number == self._labels.blocks:
            self._labels.add(block.y, self._reader.where)
        if block.weight is not None and number == len(self._weights) and not self._labelled:
            self._weights.append(checked_weight(block.weight, number, self._reader.where))

    def _label(self) -> None:
        """Make sure that labels and weights of all rows are known."""
        self._reader.known()
        if self._labelled or not (self._reader.has_target or self._reader.has_weight):
            return
        blocks = self._reader.read_labels()
        if blocks is None:
            self._read_through()
            return
        self._reader.unchanged()
        for number, block in enumerate(blocks):
            self._note(number, block)
        self._labelled = True

    def _read_through(self) -> None:
        for _ in self._kept() if self._complete else self._source_blocks():
            pass

    def _allowed(self, blocks: Iterator[Block], gaps: bool, words: bool) -> Iterator[Block]:
        for block in blocks:
            if not words:  # of a function it is told by the first block
                self.numbers_only()
            if self._gap is not None and not (gaps or self.others):
                raise ValueError(self._gap)
            yield block

    def __repr__(self) -> str:
        n = "?" if self._count is None else f"{self._count:,}"
        return f"<Rows of {self._reader.where}: {n} rows>"
