"""Two buffers of rows, one a class: reservoir sampling, and first in, first out.

Both policies are oblivious: the slot a row takes depends on its number in its class and on one uniform draw,
never on the model. So the slots of a stretch of the stream are known before a kernel learns from it, and rows
need not be copied one by one: a kernel sees the rows held so far above those of the stretch, and slots that
point into them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import anchor, append, pack, rows_of, unpack


class Buffers(NamedTuple):
    """The rows held, as plain arrays; classes are numbered 0 (negative) and 1 (positive)."""

    values: np.ndarray  # the rows as `pack` gives them: the negatives slot by slot, then the positives
    columns: np.ndarray
    ends: np.ndarray
    held: np.ndarray  # (2,): rows held of each class
    seen: np.ndarray  # (2,): rows met of each class
    centre: np.ndarray  # (d,): where dense rows are measured from; zero for sparse ones


class Window(NamedTuple):
    """A stretch of a stream as a kernel meets it."""

    rows: Any  # the rows held before, then those of the stretch
    at: np.ndarray  # (steps,): the row of each step
    label: np.ndarray  # (steps,): its class
    number: np.ndarray  # (steps, 2): rows of each class met by then, this one included
    slot: np.ndarray  # (steps,): the slot it takes in the buffer of its class, or -1
    members: np.ndarray  # (2, capacity): the row in each slot, moved along by `admit`
    held: np.ndarray  # (2,): slots taken, moved along by `admit`


def empty(d: int) -> Buffers:
    """Buffers before any row."""
    none, nothing = np.empty(0, dtype=np.int32), np.zeros(2, dtype=np.int64)
    return Buffers(np.empty((0, d)), none, none, nothing, nothing, np.zeros(d))


def fifo(number: np.ndarray, capacity: int, draws: np.ndarray) -> np.ndarray:
    """The slot of the k-th row of its class: that of the oldest row held."""
    return (number - 1) % capacity


def reservoir(number: np.ndarray, capacity: int, draws: np.ndarray) -> np.ndarray:
    """The slot of the k-th row of its class, or -1: any slot with probability 1/k once all are taken.

    So each of k rows is held with the same probability, capacity/k (Vitter 1985).
    """
    slot = np.where(number <= capacity, number - 1, (draws * number).astype(np.int64))
    return np.where(slot < capacity, slot, -1)


Policy = Callable[[np.ndarray, int, np.ndarray], np.ndarray]

POLICIES: dict[str, Policy] = {"fifo": fifo, "reservoir": reservoir}
"""The policies by the names that estimators take."""


def advance(
    buffers: Buffers, block: Any, label: np.ndarray, capacity: int, policy: Policy, draws: np.ndarray
) -> tuple[Window, Buffers]:
    """The window of a block of float64 rows with one label and one uniform draw each; the buffers after it.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.buffers import advance, empty, fifo
    >>> block, label = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 1, 0, 0], dtype=np.int8)
    >>> window, after = advance(empty(1), block, label, 2, fifo, np.zeros(4))
    >>> after.values[:, 0], after.held
    (array([4., 3., 2.]), array([2, 1]))
    """
    begun = buffers.seen.any()
    upper = unpack(*buffers[:3], block.shape[1]) if begun else block[:0]
    centre = buffers.centre if begun or not block.shape[0] else anchor(block)
    both = append(upper, block)
    at = np.arange(upper.shape[0], both.shape[0])
    number = buffers.seen + np.cumsum(label[:, None] == np.arange(2), axis=0)
    slot = policy(number[np.arange(len(at)), label], capacity, draws)
    members, taken = np.zeros((2, capacity), dtype=np.int64), buffers.held
    members[0, : taken[0]], members[1, : taken[1]] = np.split(np.arange(upper.shape[0]), taken[:1])
    window = Window(rows_of(both, centre), at, label, number, slot, members, taken.copy())

    after, seen = members.copy(), number[-1] if len(at) else buffers.seen
    takes = slot >= 0
    after[label[takes], slot[takes]] = at[takes]  # of several rows for one slot NumPy keeps the last
    held = np.minimum(seen, capacity)
    kept = both[np.concatenate([after[0, : held[0]], after[1, : held[1]]])]
    return window, Buffers(*pack(kept), held, seen, centre)


@kernel(allocates=False)
def admit(window, k):
    """Let the row of step k into the buffer of its class, where its slot says so."""
    c, slot = window.label[k], window.slot[k]
    if slot >= 0:
        window.members[c, slot] = window.at[k]
        window.held[c] = max(window.held[c], slot + 1)
