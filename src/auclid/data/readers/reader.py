"""Reader: the interface of every source of rows, and the blocks that it gives."""

import bz2
import gzip
import lzma
import zlib
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tokenize import TokenError
from types import MappingProxyType
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from auclid._hints import listed
from auclid._sparse import fault
from auclid.data.encoding import ColumnEncoding
from auclid.errors import DataError, unknown_column

READ_BYTES = 1 << 23
"""Decoded bytes of one block, about: large enough for BLAS, small enough that several are nothing."""

COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""How text files of these endings are opened."""


UNREADABLE = (
    KeyError, ValueError, TypeError, NotImplementedError, OSError, EOFError, AttributeError, IndexError, SyntaxError,
    OverflowError, TokenError, BadZipFile, lzma.LZMAError, zlib.error,
)  # fmt: skip
"""What parsers raise for a damaged file, or one of another kind."""


class SourceBlock(NamedTuple):
    """Consecutive rows of a source: an array or CSR matrix of numbers, and a label and a weight a row, or None."""

    X: Any
    y: np.ndarray | None
    weight: np.ndarray | None

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return next(part.shape[0] for part in self if part is not None)

    def take(self, rows: Any) -> "SourceBlock":
        """Some of its rows."""
        return SourceBlock(*(None if part is None else part[rows] for part in self))


def first_rows(blocks: Iterable[SourceBlock], n: int) -> Iterator[SourceBlock]:
    """Consecutive blocks up to the n-th row."""
    for block in blocks:
        yield block.take(slice(n))
        n -= block.rows
        if n <= 0:
            return


def select_rows(blocks: Iterable[SourceBlock], index: np.ndarray) -> Iterator[SourceBlock]:
    """The rows of these numbers, which ascend, of consecutive blocks up to the last one needed."""
    start = 0
    for block in blocks:
        stop = start + block.rows
        first, last = np.searchsorted(index, [start, stop])
        yield block.take(index[first:last] - start)
        start = stop
        if last == len(index):
            return


class Run(NamedTuple):
    """Consecutive rows, in whole blocks, that one thread can read while others read other runs."""

    begin: int
    """The number of the first row."""
    rows: int
    read: Callable[[], Iterator[SourceBlock]]


class ColumnSelection(NamedTuple):
    """Which columns of a source to read, by name; of an array, ``target`` and ``weight`` may be the values."""

    target: Any = None
    weight: Any = None
    columns: Sequence[str] | None = None
    """None: all but target, weight and ``drop``."""
    drop: Sequence[str] = ()


class SchemaChanged(Exception):
    """A cell does not fit the type of its column: the reader must `widen` the type and be read from the start."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


class Reader(ABC):
    """A source that gives its blocks as often as asked, to several threads at a time."""

    where: str
    """What the source is, for errors."""
    columns: list[str]
    """The names of the columns that are read."""
    dtype: np.dtype
    """The floating type of their numbers."""
    count: int | None = None
    """The number of rows, where the source tells it without being read."""
    has_target: bool = False
    has_weight: bool = False
    resident: bool = False
    """Whether rows can be read again at no cost, so that none need be kept."""
    slow: bool = False
    """Whether reading is expensive, so that all rows are kept at once."""
    late_columns: bool = False
    """Whether the columns are known only once all rows were read."""
    late_types: bool = False
    """Whether the encodings are final only once all rows were read."""
    named: bool = True
    """Whether the names of the columns are the user's."""
    encodings: Mapping[str, ColumnEncoding] = MappingProxyType({})
    """What the numbers of some columns stand for, by name; those of all others are numbers."""
    files: Mapping[Path, int] = MappingProxyType({})
    """The files of the source and their bytes when they were opened."""

    @abstractmethod
    def read(self) -> Iterator[SourceBlock]:
        """All blocks, from the first. Raises `SchemaChanged` where a provisional type does not hold."""

    def read_labels(self) -> Iterator[SourceBlock] | None:
        """All blocks without numbers, where labels and weights can be read by themselves."""
        return None

    def runs(self) -> list[Run]:
        """The source in runs that can be read in parallel; none where it is read from its beginning only."""
        return []

    def resolve_schema(self) -> None:  # noqa: B027
        """Find out names and types of the columns, if need be by a look at the first block."""

    def available_columns(self) -> list[str]:
        """The names of all columns of the source, those that are not read too."""
        return self.columns

    def nbytes(self, count: int | None) -> int | None:
        """The bytes of so many decoded rows; None where the number of rows is not known."""
        return None if count is None else count * len(self.columns) * self.dtype.itemsize

    def take(self, index: np.ndarray) -> Any:
        """The numbers of these rows, where they can be read without reading all; else None."""
        return None

    def widen(self, column: str) -> None:  # noqa: B027
        """Take a column for one of texts."""

    def conform(self, X: Any) -> Any:
        """The numbers of a block with the columns that were found in all rows."""
        return X

    def check_unchanged(self) -> None:
        """Raise where a file is gone or has another size than when it was opened: it was written again."""
        for path, size in self.files.items():
            now = path.stat().st_size if path.is_file() else None
            if now != size:
                change = "it is gone" if now is None else f"it had {size:,} bytes and has {now:,}"
                raise DataError(f"{str(path)!r} must stay as it is while it is read again and again; {change}.")


def file_sizes(paths: Iterable[Path]) -> dict[Path, int]:
    """The bytes of files."""
    return {path: path.stat().st_size for path in paths}


def block_rows(d: int, dtype: np.dtype) -> int:
    """How many rows make a block of READ_BYTES."""
    return max(1, READ_BYTES // (dtype.itemsize * max(1, d)))


PREFETCHED = 3
"""Blocks that are read ahead: with one alone, reader and consumer would wait for each other in turn."""


def prefetch(items: Iterable) -> Iterator:
    """Items that are made in another thread while those before are in use."""
    source, end = iter(items), object()
    with ThreadPoolExecutor(1) as pool:
        pending = deque(pool.submit(next, source, end) for _ in range(PREFETCHED))
        try:
            while (item := pending.popleft().result()) is not end:
                pending.append(pool.submit(next, source, end))
                yield item
        finally:
            pool.shutdown(cancel_futures=True)  # a consumer that stops early does not wait for blocks


def check_csr(X: Any, where: str) -> Any:
    """X itself; raises where it is a sparse matrix whose indices lead compiled code out of it."""
    wrong = fault(X) if sparse.issparse(X) else None
    if wrong:
        raise DataError(
            f"{where[0].upper() + where[1:]} must be a sparse matrix whose indices lie inside of it; it has {wrong}. "
            "Make it anew from its entries, for instance with scipy.sparse.coo_array."
        )
    return X


def check_weight(weight: np.ndarray, number: int, where: str) -> np.ndarray:
    """The weights of a block as float64; raises where one is negative or not finite."""
    weight = np.asarray(weight, np.float64)
    wrong = ~(np.isfinite(weight) & (weight >= 0.0))
    if wrong.any():
        raise DataError(
            f"The sample_weight of {where} must hold finite numbers that are not negative; "
            f"block {number} has {weight[wrong][0]}."
        )
    return weight


def select_columns(selection: ColumnSelection, names: Sequence[str], where: str) -> list[str]:
    """The names of the columns to read: those selected, or all but target, weight and those to drop."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise DataError(f"The columns of {where} must have different names; got {listed(twice)} more than once.")
    apart = {}
    for parameter, name in (("target", selection.target), ("sample_weight", selection.weight)):
        if name is not None:
            apart[check_column(parameter, name, names, where)] = parameter
    if selection.columns is None:
        return _remaining(selection.drop, apart, names, where)
    available = dict.fromkeys(names)
    columns = [check_column("columns", name, available, where) for name in selection.columns]
    both = [name for name in columns if name in apart]
    if both:
        raise DataError(f"The 'columns' of scan must be numbers to learn from; got {both[0]!r}, target or weight.")
    return columns


def _remaining(drop: Sequence[str], apart: Collection[str], names: Sequence[str], where: str) -> list[str]:
    """The names without those to drop and those of target and weight."""
    dropped = {check_column("drop", name, names, where) for name in drop}
    columns = [name for name in names if name not in apart and name not in dropped]
    if not columns:
        raise DataError(f"{where} must have a column besides the target; it has none left.")
    return columns


def check_column(parameter: str, name: str, available: Collection[str], where: str) -> str:
    """The name itself; raises where there is no such column."""
    if not isinstance(name, str) or name not in available:
        raise unknown_column("read_table" if parameter == "drop" else "scan", parameter, name, list(available), where)
    return name
