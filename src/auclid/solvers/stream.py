"""What every method that learns from a stream of rows is: settings, and a state that they lead from batch to batch."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from auclid import _random
from auclid.data import Table
from auclid.stats.class_means import FirstPass

S = TypeVar("S")
"""The state of a stream: a NamedTuple of arrays and floats, so that a copy of it is a checkpoint."""

T = TypeVar("T")


@dataclass(frozen=True)
class StreamSolver(ABC, Generic[S]):
    """The settings of a method; it knows no estimator, and all it learns is in the state.

    ``known`` is what `fit` found out in a first pass over all rows, None in a stream.
    """

    @abstractmethod
    def init(self, d: int, known: FirstPass | None = None) -> S:
        """The state before any step, for rows of d columns."""

    @abstractmethod
    def update(
        self,
        table: Table,
        is_pos: np.ndarray,
        order: np.ndarray,
        state: S,
        known: FirstPass | None,
        rng: np.random.Generator,
    ) -> S:
        """The state after one step for each row of ``order``; writes on the arrays of the state it is given.

        Draws from ``rng`` a row at a time, in the order of the rows: cutting a stream otherwise changes nothing.
        """

    @abstractmethod
    def weights(self, state: S) -> tuple[np.ndarray, float]:
        """The weights, and the score above which a row is called positive."""

    def built_for(self, state: S) -> dict[str, Any]:
        """The parameters that the state was built for, which must stay what they are: none, by default."""
        return {}

    def writable(self, state: S, table: Table) -> S:
        """A state that `update` may write on while this one stays what it is, in case the batch fails.

        A solver whose state is much larger than a row may share arrays with it where this batch cannot fail.
        """
        return copied(state)


def copied(value: T) -> T:
    """A struct with arrays and random generators of its own."""
    if isinstance(value, tuple):
        return type(value)._make(map(copied, value))  # type: ignore[attr-defined]
    if isinstance(value, np.random.Generator):
        return _random.copied(value)  # type: ignore[return-value]
    return value.copy() if isinstance(value, np.ndarray) else value
