"""Blocks of a source as they pass: checked, and read in parallel where the source comes in runs."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from auclid._threads import bounded_thread_map
from auclid.data.blocks import describe_nonfinite, first_nonfinite, is_sparse
from auclid.data.readers import Reader, Run, SourceBlock
from auclid.errors import DataError

MAX_PARALLEL = 4
"""Runs that are read at a time, at the most: each holds its rows decoded, and what decoding needs beside them."""


def check_finite(reader: Reader, number: int, begin: int, X: Any) -> str | None:
    """Refuse a block with infinity; the message for its first missing number, which some estimators allow.

    ``begin`` is the number of its first row.
    """
    place = first_nonfinite(X)
    if place is None:
        return None
    row, column, value = place
    what, hint = describe_nonfinite(value)
    message = (
        f"The columns of {reader.where} must hold finite numbers; block {number} has {what} in "
        f"column {reader.columns[column]!r}, row {begin + row:,}. {hint}, or leave the column out with "
        "columns=[...]."
    )
    if value == value:
        raise DataError(message)
    return message


def count_missing(X: Any, columns: Sequence[str]) -> dict[str, int]:
    """The number of missing values of each column of a block that has some, by name."""
    numbers = X.indices[np.isnan(X.data)] if is_sparse(X) else np.nonzero(np.isnan(X))[1]
    counts = np.bincount(numbers, minlength=len(columns))
    return {columns[k]: int(counts[k]) for k in np.flatnonzero(counts).tolist()}


def check_block_size(reader: Reader, number: int, size: int, sizes: Sequence[int]) -> None:
    """Raise where a block has not as many rows as it had before."""
    if number >= len(sizes) or sizes[number] != size:
        raise DataError(f"{reader.where} must give the same blocks each time it is read; block {number} differs.")


def map_runs(
    reader: Reader, runs: Sequence[Run], sizes: Sequence[int], allow_missing: bool, function: Callable
) -> Iterator[Any]:
    """The function of each run's numbered blocks, in their order; ``sizes`` are those of all blocks of the source."""
    firsts = np.searchsorted(np.cumsum(sizes), [run.begin for run in runs], side="right").tolist()
    numbered = list(zip(runs, firsts, strict=True))
    return bounded_thread_map(partial(_answer, reader, sizes, allow_missing, function), numbered, MAX_PARALLEL)


def _answer(
    reader: Reader, sizes: Sequence[int], allow_missing: bool, function: Callable, numbered: tuple[Run, int]
) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):  # another thread does not know what its caller ignores
        return function(_checked_blocks(reader, sizes, allow_missing, *numbered))


def _checked_blocks(
    reader: Reader, sizes: Sequence[int], allow_missing: bool, run: Run, first: int
) -> Iterator[tuple[int, SourceBlock]]:
    """The blocks of a run with their numbers, from ``first`` on."""
    begin = run.begin
    for number, block in enumerate(run.read(), first):
        missing = check_finite(reader, number, begin, block.X)
        if missing is not None and not allow_missing:
            raise DataError(missing)
        check_block_size(reader, number, block.X.shape[0], sizes)
        begin += block.X.shape[0]
        yield number, block


def refuse_array(rows: Any, *_: Any, **__: Any) -> np.ndarray:
    """`Rows.__array__`: raises where all rows are wanted as an array, as scikit-learn's scalers do."""
    raise TypeError(
        f"Rows of {rows.where} must be given to estimators of auclid, which read them by blocks; something else asked "
        "for them as an array. Put Columns() in the place of a scaler, or take some into memory: "
        "X, y = rows.sample(10_000)."
    )
