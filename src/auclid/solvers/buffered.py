"""Online methods that pair each row with the buffered rows of the opposite class; with the hinge loss, OAM."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import pair_squared_norm, row_axpy_two, row_dot, row_squared_norm
from auclid.solvers.averaging import LaggedAverage, lagged_average, start_average
from auclid.solvers.stream import Batch, S, StreamSolver
from auclid.stats.buffers import (
    POLICIES,
    BufferWindow,
    ClassBuffers,
    admit_row,
    advance_buffers,
    empty_buffers,
)
from auclid.stats.class_means import class_midpoint
from auclid.stats.class_sums import ClassSums, add_to_sums, empty_sums, mean_pair_square

DEFAULT_STEP_SHARE = 0.03
"""C E|z|^2 of the default C, for buffers of 50 rows."""

MAX_C = 1e150
"""A larger C counts as this. No step is longer, since pairs of equal rows have none, and its products are finite."""


@dataclass(frozen=True)
class BufferedSolver(StreamSolver[S]):
    """The base class of buffered methods, whose states have the fields ``buffers`` and ``sums``."""

    C: float | None
    capacity: int
    policy: str

    @abstractmethod
    def learn(self, window: BufferWindow, limit: np.ndarray, state: S) -> S:
        """The state after the steps of a window; ``limit`` is the C of each step."""

    @abstractmethod
    def mean_weights(self, state: Any) -> np.ndarray:
        """The weights."""

    def update(self, batch: Batch, state: Any) -> S:
        label, policy, order = batch.is_pos.astype(np.int8), POLICIES[self.policy], batch.order
        size = max(batch.table.block_rows(), 2 * self.capacity)
        for start in range(0, len(order), size):
            index = order[start : start + size]
            draws, squares = batch.rng.random(len(index)), np.empty(len(index))
            block = batch.table.take(index)
            window, buffers = advance_buffers(state.buffers, block, label[index], self.capacity, policy, draws)
            add_to_sums(state.sums, window.rows, window.at, window.label, squares)
            state = self.learn(window, self.limit(squares), state._replace(buffers=buffers))
        return state

    def limit(self, pair_squares: np.ndarray) -> np.ndarray:
        """The C of each step from its E|z|^2: the given C, or 0.03/E|z|^2 (50/capacity); 0 while E|z|^2 is 0."""
        if self.C is not None:
            return np.full(len(pair_squares), min(self.C, MAX_C))
        share = DEFAULT_STEP_SHARE * 50.0 / self.capacity
        with np.errstate(over="ignore"):
            return np.divide(share, pair_squares, out=np.zeros(len(pair_squares)), where=pair_squares > 0.0)

    def last_limit(self, state: Any) -> float:
        """The C of the last step."""
        square = mean_pair_square(state.sums) if state.sums.n.min() > 0.0 else 0.0
        return float(self.limit(np.array([square]))[0])

    def weights(self, state: Any) -> tuple[np.ndarray, float]:
        w, sums = self.mean_weights(state), state.sums
        return w, w @ (class_midpoint(sums.total, sums.n) + state.buffers.centre)


class BufferedHingeState(NamedTuple):
    """The weights and their average, in which the t-th iterate has the weight t, and the buffered rows."""

    buffers: ClassBuffers
    sums: ClassSums
    average: LaggedAverage
    t: float
    lengths: np.ndarray  # (2, capacity): |x| of the rows held


@dataclass(frozen=True)
class BufferedHingeSolver(BufferedSolver[BufferedHingeState]):
    """Passive-aggressive steps on the pairs of a row one by one, or one gradient step on all of them."""

    sequential: bool
    average: bool

    def init(self, d: int) -> BufferedHingeState:
        lengths = np.zeros((2, self.capacity))
        return BufferedHingeState(empty_buffers(d), empty_sums(d), start_average(np.zeros(d)), 0.0, lengths)

    def learn(self, window: BufferWindow, limit: np.ndarray, state: BufferedHingeState) -> BufferedHingeState:
        if self.policy == "reservoir":
            opposite = window.number[np.arange(len(limit)), 1 - window.label]
            limit = limit * np.maximum(1.0, opposite / self.capacity)
        if self.sequential:
            average, t = sweep_sequential(window, limit, state.average, state.t, state.lengths)
        else:
            average, t = sweep_gradient(window, 0.5 * limit, state.average, state.t)
        return state._replace(average=average, t=t)

    def mean_weights(self, state: BufferedHingeState) -> np.ndarray:
        return lagged_average(state.average) if self.average else state.average.w.copy()

    def fixed_parameters(self, state: BufferedHingeState) -> dict[str, Any]:
        return {"buffer_size": state.lengths.shape[1]}


@kernel(allocates=False)
def sweep_sequential(
    window: BufferWindow, limit: np.ndarray, average: LaggedAverage, t: float, lengths: np.ndarray
) -> tuple[LaggedAverage, float]:
    """w += min(C, (1 - w.z)+ / |z|^2) z for the pairs of a row, one after the other."""
    rows, at, members, held = window.rows, window.at, window.members, window.held
    w, lag, weight = average.w, average.lag, average.weight
    for k in range(at.shape[0]):
        i, c, C = at[k], window.label[k], limit[k]
        y = 1.0 if c else -1.0
        admit_row(window, k)
        norm = np.sqrt(row_squared_norm(rows, i))
        if window.slot[k] >= 0:
            lengths[c, window.slot[k]] = norm
        if held[1 - c] == 0:
            continue
        score = row_dot(rows, i, w)
        for s in range(held[1 - c]):
            j = members[1 - c, s]
            loss = 1.0 - y * (score - row_dot(rows, j, w))
            if loss <= 0.0:
                continue
            step = C
            if C * (norm + lengths[1 - c, s]) ** 2 > loss:  # |z|^2 matters only if it may limit the step
                q = pair_squared_norm(rows, i, j)
                step = min(C, loss / q) if q > 0.0 else 0.0
            if step > 0.0:
                row_axpy_two(rows, i, y * step, w, y * step * weight, lag)
                row_axpy_two(rows, j, -y * step, w, -y * step * weight, lag)
                score = row_dot(rows, i, w)
        t += 1.0
        weight += t
    return LaggedAverage(w=w, lag=lag, weight=weight), t


@kernel
def sweep_gradient(
    window: BufferWindow, limit: np.ndarray, average: LaggedAverage, t: float
) -> tuple[LaggedAverage, float]:
    """w += C/2 times the sum of z over the pairs of a row with w.z <= 1; ``limit`` is C/2."""
    rows, at, members, held = window.rows, window.at, window.members, window.held
    w, lag, weight = average.w, average.lag, average.weight
    active = np.empty(members.shape[1], dtype=np.int64)
    for k in range(at.shape[0]):
        i, c = at[k], window.label[k]
        y = 1.0 if c else -1.0
        admit_row(window, k)
        if held[1 - c] == 0:
            continue
        score, count = row_dot(rows, i, w), 0
        for s in range(held[1 - c]):
            j = members[1 - c, s]
            if y * (score - row_dot(rows, j, w)) <= 1.0:
                active[count] = j
                count += 1
        step = y * limit[k]
        for j in active[:count]:
            row_axpy_two(rows, j, -step, w, -step * weight, lag)
        row_axpy_two(rows, i, step * count, w, step * count * weight, lag)
        t += 1.0
        weight += t
    return LaggedAverage(w=w, lag=lag, weight=weight), t
