"""The interface of solvers that learn from a stream of rows: frozen settings that advance a state batch by batch."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from auclid import _random
from auclid.data import RowStruct, Table
from auclid.stats.class_means import FirstPass

S = TypeVar("S")
"""The state of a stream: a NamedTuple of arrays and floats, so that a copy of it is a checkpoint."""

T = TypeVar("T")


class Chunk(NamedTuple):
    """Consecutive steps that one kernel call makes."""

    rows: RowStruct
    at: np.ndarray  # (steps,): the position in ``rows`` of each step's row
    label: np.ndarray  # (steps,): its class, 0 or 1
    numbers: np.ndarray  # (steps,): its number in the table


class Batch(NamedTuple):
    """Rows to learn from, one step for each entry of ``order``."""

    table: Table
    is_pos: np.ndarray  # (n,)
    order: np.ndarray  # (steps,): the row of each step
    rng: np.random.Generator
    summary: FirstPass | None = None  # of all rows of `fit`; None in a stream
    group: np.ndarray | None = None  # (n,): pairs are of one group, where there are some

    def chunks(self, centre: np.ndarray | None = None) -> Iterator[Chunk]:
        """The steps in chunks of bounded memory; dense rows are minus the centre, which a kernel may move.

        Without a centre, rows are as they are.
        """
        label = self.is_pos.astype(np.int8)
        for rows, (at,), steps in self.table.sweep(self.order, centre=centre):
            numbers = self.order[steps]
            yield Chunk(rows, at, label[numbers], numbers)


@dataclass(frozen=True)
class StreamSolver(ABC, Generic[S]):
    """The settings of a method. A solver knows no estimator, and the state holds everything that it learns."""

    @abstractmethod
    def init(self, d: int) -> S:
        """The state before any row, for rows of d columns."""

    def init_fit(self, summary: FirstPass) -> S:
        """The state at the start of `fit`, which has made a first pass over all rows."""
        return self.init(len(summary.centre))

    @abstractmethod
    def update(self, batch: Batch, state: S) -> S:
        """The state after one step for each row of a batch; overwrites the arrays of the given state.

        Random numbers are drawn one row at a time, so results do not depend on how a stream is cut into batches.
        """

    @abstractmethod
    def weights(self, state: S) -> tuple[np.ndarray, float]:
        """The weights, and the score above which a row is predicted positive."""

    def fixed_parameters(self, state: S) -> dict[str, Any]:
        """The estimator's parameters that the state depends on, which a stream must not change."""
        return {}

    def writable(self, state: S, table: Table) -> S:
        """A state that `update` may overwrite with the rows of a table, while the given one survives a failure.

        A solver with a large state may share arrays with it if these rows cannot make a step fail.
        """
        return copy_state(state)


def copy_state(value: T) -> T:
    """A struct with its own copies of arrays and random generators."""
    if isinstance(value, tuple):
        return type(value)._make(map(copy_state, value))  # type: ignore[attr-defined]
    if isinstance(value, np.random.Generator):
        return _random.copy_generator(value)  # type: ignore[return-value]
    return value.copy() if isinstance(value, np.ndarray) else value
