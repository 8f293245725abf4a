"""Two buffers of rows, one per class, filled by reservoir sampling or first in, first out.

Both policies ignore the model: the slot of a row depends on its number in its class and on one uniform draw. The slots
of a chunk of the stream are therefore known before a kernel learns from it, and rows need not be copied one by one: a
kernel reads the held rows, followed by the rows of the chunk, through slots that contain their positions.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import RowStruct, append_rows, block_arrays, block_from_arrays, kernel_rows, reference_point
from auclid.data.blocks import Block


class ClassBuffers(NamedTuple):
    """The held rows as plain arrays; classes are numbered 0 (negative) and 1 (positive)."""

    values: np.ndarray  # the rows as `block_arrays` gives them: the negatives slot by slot, then the positives
    indices: np.ndarray
    indptr: np.ndarray
    held: np.ndarray  # (2,): rows held of each class
    seen: np.ndarray  # (2,): rows seen of each class
    centre: np.ndarray  # (d,): the centre of dense rows; zero for sparse ones


class BufferWindow(NamedTuple):
    """A chunk of a stream together with the buffers, as a kernel reads them."""

    rows: RowStruct  # the rows held before, then those of the chunk
    at: np.ndarray  # (steps,): the row of each step
    label: np.ndarray  # (steps,): its class
    number: np.ndarray  # (steps, 2): rows of each class seen up to and including each step
    slot: np.ndarray  # (steps,): the slot it takes in the buffer of its class, or -1
    members: np.ndarray  # (2, capacity): the row in each slot, updated by `admit_row`
    held: np.ndarray  # (2,): slots in use, updated by `admit_row`


def empty_buffers(d: int) -> ClassBuffers:
    """Buffers before any row."""
    no_index, no_count = np.empty(0, dtype=np.int32), np.zeros(2, dtype=np.int64)
    return ClassBuffers(np.empty((0, d)), no_index, no_index, no_count, no_count, np.zeros(d))


def fifo(number: np.ndarray, capacity: int, draws: np.ndarray) -> np.ndarray:
    """The slot of the k-th row of its class: that of the oldest row held."""
    return (number - 1) % capacity


def reservoir(number: np.ndarray, capacity: int, draws: np.ndarray) -> np.ndarray:
    """The slot of the k-th row of its class, or -1: each slot with probability 1/k once all are taken.

    Each of k rows is then held with the same probability, capacity/k (Vitter 1985).
    """
    slot = np.where(number <= capacity, number - 1, (draws * number).astype(np.int64))
    return np.where(slot < capacity, slot, -1)


Policy = Callable[[np.ndarray, int, np.ndarray], np.ndarray]

POLICIES: dict[str, Policy] = {"fifo": fifo, "reservoir": reservoir}
"""The policies by the names that estimators take."""


def advance_buffers(
    buffers: ClassBuffers, block: Block, label: np.ndarray, capacity: int, policy: Policy, draws: np.ndarray
) -> tuple[BufferWindow, ClassBuffers]:
    """The window of a block of float64 rows with a label and a uniform draw each, and the buffers after it.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.buffers import advance_buffers, empty_buffers, fifo
    >>> block, label = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 1, 0, 0], dtype=np.int8)
    >>> window, after = advance_buffers(empty_buffers(1), block, label, 2, fifo, np.zeros(4))
    >>> after.values[:, 0], after.held
    (array([4., 3., 2.]), array([2, 1]))
    """
    started = buffers.seen.any()
    held_rows = block_from_arrays(*buffers[:3], block.shape[1]) if started else block[:0]
    centre = buffers.centre if started or not block.shape[0] else reference_point(block)
    rows = append_rows(held_rows, block)
    at = np.arange(held_rows.shape[0], rows.shape[0])
    number = buffers.seen + np.cumsum(label[:, None] == np.arange(2), axis=0)
    slot = policy(number[np.arange(len(at)), label], capacity, draws)
    members, held = np.zeros((2, capacity), dtype=np.int64), buffers.held
    members[0, : held[0]], members[1, : held[1]] = np.split(np.arange(held_rows.shape[0]), held[:1])
    window = BufferWindow(kernel_rows(rows, centre), at, label, number, slot, members, held.copy())

    final_members, seen = members.copy(), number[-1] if len(at) else buffers.seen
    admitted = slot >= 0
    final_members[label[admitted], slot[admitted]] = at[admitted]  # of several rows for one slot NumPy keeps the last
    held = np.minimum(seen, capacity)
    final_rows = rows[np.concatenate([final_members[0, : held[0]], final_members[1, : held[1]]])]
    return window, ClassBuffers(*block_arrays(final_rows), held, seen, centre)


@kernel(allocates=False, inner=True)
def admit_row(window: BufferWindow, k: int) -> None:
    """Put the row of step k into the buffer of its class, if it has a slot."""
    c, slot = window.label[k], window.slot[k]
    if slot >= 0:
        window.members[c, slot] = window.at[k]
        window.held[c] = max(window.held[c], slot + 1)
