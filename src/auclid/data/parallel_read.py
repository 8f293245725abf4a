"""Blocks of a source as they pass: looked at, and read side by side where the source comes in runs."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from auclid._threads import bounded_thread_map
from auclid.data.blocks import describe_nonfinite, first_nonfinite
from auclid.data.readers import Block, Reader, Run

AT_ONCE = 4
"""Runs that are read at a time, at the most: each holds its rows decoded, and what decoding needs beside them."""

ENOUGH = 4
"""Runs from which on reading them side by side pays: of fewer, the last ones would leave a thread idle for long."""


def gap_in(reader: Reader, number: int, begin: int, X: Any) -> str | None:
    """What is said of the first missing number of a block, whose first row is ``begin``; infinity is an error."""
    found = first_nonfinite(X)
    if found is None:
        return None
    row, column, value = found
    what, hint = describe_nonfinite(value)
    words = (
        f"The columns of {reader.where} must hold finite numbers; block {number} has {what} in "
        f"column {reader.columns[column]!r}, row {begin + row:,}. {hint}, or leave the column out with "
        "columns=[...]."
    )
    if value == value:
        raise ValueError(words)
    return words


def require_size(reader: Reader, number: int, size: int, sizes: Sequence[int]) -> None:
    """Raise where a block has not as many rows as it had before."""
    if number >= len(sizes) or sizes[number] != size:
        raise ValueError(f"{reader.where} must give the same blocks each time it is read; block {number} differs.")


def by_runs(reader: Reader, runs: Sequence[Run], sizes: Sequence[int], gaps: bool, function: Callable) -> Iterator[Any]:
    """The function of each run's numbered blocks, in their order; ``sizes`` are those of all blocks of the source."""
    firsts = np.searchsorted(np.cumsum(sizes), [run.begin for run in runs], side="right").tolist()
    return bounded_thread_map(
        partial(_answer, reader, sizes, gaps, function), list(zip(runs, firsts, strict=True)), AT_ONCE
    )


def _answer(reader: Reader, sizes: Sequence[int], gaps: bool, function: Callable, numbered: tuple[Run, int]) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):  # another thread does not know what its caller ignores
        return function(_blocks(reader, sizes, gaps, *numbered))


def _blocks(reader: Reader, sizes: Sequence[int], gaps: bool, run: Run, first: int) -> Iterator[tuple[int, Block]]:
    """The blocks of a run with their numbers, from ``first`` on, looked at."""
    begin = run.begin
    for number, block in enumerate(run.read(), first):
        gap = gap_in(reader, number, begin, block.X)
        if gap is not None and not gaps:
            raise ValueError(gap)
        require_size(reader, number, block.X.shape[0], sizes)
        begin += block.X.shape[0]
        yield number, block


def no_array(rows: Any, *_: Any, **__: Any) -> np.ndarray:
    """What is said where someone wants all rows of a source as an array, as scikit-learn's scalers do."""
    raise TypeError(
        f"Rows of {rows.where} must be given to estimators of auclid, which read them by blocks; something else asked "
        "for them as an array. Put Columns() in the place of a scaler, or take some into memory: "
        "X, y = rows.sample(10_000)."
    )
