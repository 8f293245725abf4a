"""Reader: what every source of rows can do, and the block that it gives."""

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid._hints import listed
from auclid._sparse import fault
from auclid.data.encoding import ColumnEncoding
from auclid.errors import unknown_column

READ_BYTES = 1 << 23
"""Decoded bytes of one block, about: large enough for BLAS, small enough that several are nothing."""


class Block(NamedTuple):
    """Consecutive rows of a source: an array or CSR matrix of numbers, and a label and a weight a row, or None."""

    X: Any
    y: np.ndarray | None
    weight: np.ndarray | None


class Run(NamedTuple):
    """Consecutive rows, in whole blocks, that one thread can read while others read other runs."""

    begin: int
    """The number of the first row."""
    rows: int
    read: Callable[[], Iterator[Block]]


class ColumnSelection(NamedTuple):
    """What the user wants of a source: names of columns (of a ``.npy`` or an array, values), None for the default."""

    target: Any
    weight: Any
    columns: Sequence[str] | None


class Reader(ABC):
    """A source that gives its blocks as often as asked.

    ``columns`` are the names of the numbers' columns, ``dtype`` their floating type, ``count`` the number of rows where
    the source tells it without being read, ``has_target`` whether it has labels, and ``has_weight`` weights.
    ``resident`` says that rows can be had again at no cost, so that none are kept; ``slow`` that reading is dear, so
    that all are kept at once; ``late`` that the columns are known only once it was read through.
    """

    where: str
    columns: list[str]
    dtype: np.dtype
    count: int | None = None
    has_target: bool = False
    has_weight: bool = False
    resident: bool = False
    slow: bool = False
    late: bool = False
    named: bool = True
    """Whether the names of the columns are the user's."""
    meanings: Mapping[str, ColumnEncoding] = MappingProxyType({})
    """What the numbers of some columns stand for, by name; those of all others are numbers."""

    @abstractmethod
    def read(self) -> Iterator[Block]:
        """All blocks, from the first."""

    def read_labels(self) -> Iterator[Block] | None:
        """All blocks without numbers, where labels and weights can be had by themselves."""
        return None

    def runs(self) -> list[Run]:
        """The source in runs that can be read side by side; none where it is read from its beginning only."""
        return []

    def known(self) -> None:  # noqa: B027
        """Find out the columns: of a function, by a look at its first block."""

    def take(self, index: np.ndarray) -> Any:
        """The numbers of these rows, where they can be had without reading all; else None."""
        return None

    def shaped(self, X: Any) -> Any:
        """A block's numbers as they are once all columns are known."""
        return X

    def unchanged(self) -> None:  # noqa: B027
        """Raise where the source is no longer what it was when it was first opened."""


def block_rows(d: int, dtype: np.dtype) -> int:
    """How many rows make a block of READ_BYTES."""
    return max(1, READ_BYTES // (dtype.itemsize * max(1, d)))


DEPTH = 3
"""Blocks that are made beforehand: with one alone, who makes them and who uses them wait for each other in turn."""


def ahead(items: Iterable) -> Iterator:
    """The same items, made in another thread while those before are in use."""
    source, end = iter(items), object()
    with ThreadPoolExecutor(1) as pool:
        coming = deque(pool.submit(next, source, end) for _ in range(DEPTH))
        try:
            while (item := coming.popleft().result()) is not end:
                coming.append(pool.submit(next, source, end))
                yield item
        finally:
            pool.shutdown(cancel_futures=True)  # who wants no more blocks does not wait for them


def in_order(X: Any, where: str) -> Any:
    """X itself; raises where it is a sparse matrix whose indices lead compiled code out of it."""
    wrong = fault(X) if sparse.issparse(X) else None
    if wrong:
        raise ValueError(
            f"{where[0].upper() + where[1:]} must be a sparse matrix whose indices lie inside of it; it has {wrong}. "
            "Make it anew from its entries, for instance with scipy.sparse.coo_array."
        )
    return X


def checked_weight(weight: np.ndarray, number: int, where: str) -> np.ndarray:
    """The weights of a block as float64; raises where one is negative or not finite."""
    weight = np.asarray(weight, np.float64)
    wrong = ~(np.isfinite(weight) & (weight >= 0.0))
    if wrong.any():
        raise ValueError(
            f"The sample_weight of {where} must hold finite numbers that are not negative; "
            f"block {number} has {weight[wrong][0]}."
        )
    return weight


def chosen(wanted: ColumnSelection, names: Sequence[str], where: str) -> list[str]:
    """The names of the columns that are numbers: those wanted, or all but target and weight."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"The columns of {where} must have different names; got {listed(twice)} more than once.")
    apart = [name for name in (wanted.target, wanted.weight) if name is not None]
    for parameter, name in (("target", wanted.target), ("sample_weight", wanted.weight)):
        if name is not None:
            present(parameter, name, names, where)
    if wanted.columns is None:
        columns = [name for name in names if name not in apart]
    else:
        known = dict.fromkeys(names)
        columns = [present("columns", name, known, where) for name in wanted.columns]
        both = [name for name in columns if name in apart]
        if both:
            raise ValueError(f"The 'columns' of scan must be numbers to learn from; got {both[0]!r}, target or weight.")
    if not columns:
        raise ValueError(f"{where} must have a column besides the target; it has none left.")
    return columns


def present(parameter: str, name: str, known: Collection[str], where: str) -> str:
    """The name itself, or a sentence where there is no such column."""
    if name not in known:
        raise unknown_column("scan", parameter, name, list(known), where)
    return name
