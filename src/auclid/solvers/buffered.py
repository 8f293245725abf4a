"""Online methods whose every row meets the rows in the buffer of the opposite class; with the hinge loss, OAM."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import Table, pair_square, row_axpy_two, row_dot, row_square
from auclid.solvers.iterate import Trail, begin_trail, trail_average
from auclid.solvers.stream import S, StreamSolver
from auclid.stats import class_sums
from auclid.stats.buffers import POLICIES, Buffers, Window, admit, advance, empty
from auclid.stats.class_means import FirstPass, midpoint
from auclid.stats.class_sums import ClassSums, add_to_sums, no_sums

SHARE = 0.03
"""C E|z|^2 of the default C, for buffers of 50 rows."""

LARGEST = 1e150
"""No C is larger: no step is either, since equal rows have none, and products with it stay finite."""


@dataclass(frozen=True)
class Buffered(StreamSolver[S]):
    """What buffered methods share; their states have the fields ``buffers`` and ``sums``."""

    C: float | None
    capacity: int
    policy: str

    @abstractmethod
    def meet(self, window: Window, limit: np.ndarray, state: S) -> S:
        """The state after a window, where ``limit`` holds the C of each step."""

    @abstractmethod
    def mean(self, state: Any) -> np.ndarray:
        """The weights."""

    def update(
        self,
        table: Table,
        is_pos: np.ndarray,
        order: np.ndarray,
        state: Any,
        known: FirstPass | None,
        rng: np.random.Generator,
    ) -> S:
        label, policy = is_pos.astype(np.int8), POLICIES[self.policy]
        stretch = max(table.block_rows(), 2 * self.capacity)
        for start in range(0, len(order), stretch):
            chosen = order[start : start + stretch]
            draws, squares = rng.random(len(chosen)), np.empty(len(chosen))
            window, buffers = advance(state.buffers, table.take(chosen), label[chosen], self.capacity, policy, draws)
            add_to_sums(state.sums, window.rows, window.at, window.label, squares)
            state = self.meet(window, self.limit(squares), state._replace(buffers=buffers))
        return state

    def limit(self, pair_squares: np.ndarray) -> np.ndarray:
        """C, or SHARE/E|z|^2 (50/M) where that is left to the data; 0 while there is no E|z|^2."""
        if self.C is not None:
            return np.full(len(pair_squares), min(self.C, LARGEST))
        share = SHARE * 50.0 / self.capacity
        with np.errstate(over="ignore"):
            return np.divide(share, pair_squares, out=np.zeros(len(pair_squares)), where=pair_squares > 0.0)

    def last_limit(self, state: Any) -> float:
        """The C used last."""
        square = class_sums.pair_square(state.sums) if state.sums.n.min() > 0.0 else 0.0
        return float(self.limit(np.array([square]))[0])

    def weights(self, state: Any) -> tuple[np.ndarray, float]:
        w, sums = self.mean(state), state.sums
        return w, w @ (midpoint(sums.total, sums.n) + state.buffers.centre)


class State(NamedTuple):
    """The weights and their average, which gives the t-th iterate the weight t; and the rows that are held."""

    buffers: Buffers
    sums: ClassSums
    trail: Trail
    t: float
    lengths: np.ndarray  # (2, capacity): |x| of the rows held


@dataclass(frozen=True)
class BufferedHinge(Buffered[State]):
    """Passive-aggressive steps on the pairs of a row in turn, or one gradient step on all of them."""

    sequential: bool
    average: bool

    def init(self, d: int, known: FirstPass | None = None) -> State:
        return State(empty(d), no_sums(d), begin_trail(np.zeros(d)), 0.0, np.zeros((2, self.capacity)))

    def meet(self, window: Window, limit: np.ndarray, state: State) -> State:
        if self.policy == "reservoir":
            opposite = window.number[np.arange(len(limit)), 1 - window.label]
            limit = limit * np.maximum(1.0, opposite / self.capacity)
        if self.sequential:
            trail, t = sweep_in_turn(window, limit, state.trail, state.t, state.lengths)
        else:
            trail, t = sweep_at_once(window, 0.5 * limit, state.trail, state.t)
        return state._replace(trail=trail, t=t)

    def mean(self, state: State) -> np.ndarray:
        return trail_average(state.trail) if self.average else state.trail.w.copy()

    def built_for(self, state: State) -> dict[str, Any]:
        return {"buffer_size": state.lengths.shape[1]}


@kernel(allocates=False)
def sweep_in_turn(window, limit, trail, t, lengths):
    """w += min(C, (1 - w.z)+ / |z|^2) z for the pairs of a row in turn."""
    rows, at, members, held = window.rows, window.at, window.members, window.held
    w, behind, weight = trail.w, trail.behind, trail.weight
    for k in range(at.shape[0]):
        i, c, C = at[k], window.label[k], limit[k]
        y = 1.0 if c else -1.0
        admit(window, k)
        norm = np.sqrt(row_square(rows, i))
        if window.slot[k] >= 0:
            lengths[c, window.slot[k]] = norm
        if held[1 - c] == 0:
            continue
        f = row_dot(rows, i, w)
        for s in range(held[1 - c]):
            j = members[1 - c, s]
            loss = 1.0 - y * (f - row_dot(rows, j, w))
            if loss <= 0.0:
                continue
            step = C
            if C * (norm + lengths[1 - c, s]) ** 2 > loss:  # |z| is needed only where it may bind
                q = pair_square(rows, i, j)
                step = min(C, loss / q) if q > 0.0 else 0.0
            if step > 0.0:
                row_axpy_two(rows, i, y * step, w, y * step * weight, behind)
                row_axpy_two(rows, j, -y * step, w, -y * step * weight, behind)
                f = row_dot(rows, i, w)
        t += 1.0
        weight += t
    return Trail(w=w, behind=behind, weight=weight), t


@kernel
def sweep_at_once(window, limit, trail, t):
    """w += C/2 times the sum of z over the pairs of a row with w.z <= 1; ``limit`` holds C/2."""
    rows, at, members, held = window.rows, window.at, window.members, window.held
    w, behind, weight = trail.w, trail.behind, trail.weight
    active = np.empty(members.shape[1], dtype=np.int64)
    for k in range(at.shape[0]):
        i, c = at[k], window.label[k]
        y = 1.0 if c else -1.0
        admit(window, k)
        if held[1 - c] == 0:
            continue
        f, count = row_dot(rows, i, w), 0
        for s in range(held[1 - c]):
            j = members[1 - c, s]
            if y * (f - row_dot(rows, j, w)) <= 1.0:
                active[count] = j
                count += 1
        step = y * limit[k]
        for j in active[:count]:
            row_axpy_two(rows, j, -step, w, -step * weight, behind)
        row_axpy_two(rows, i, step * count, w, step * count * weight, behind)
        t += 1.0
        weight += t
    return Trail(w=w, behind=behind, weight=weight), t
