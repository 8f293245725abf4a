"""Buffered confidence-weighted steps: the weights are a Gaussian, each pair a constraint on it (CBR)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import Table, row_dot
from auclid.solvers.buffered import Buffered
from auclid.solvers.gaussian import (
    SLACK,
    Full,
    cheap_bound,
    judged_variance,
    load_row,
    move_along_pair,
    pair_bound,
    pair_variance,
    tightened,
    unit_covariance,
    unload_row,
    work_on,
)
from auclid.solvers.stream import copied
from auclid.stats.buffers import Buffers, Window, admit, empty
from auclid.stats.class_means import FirstPass
from auclid.stats.class_sums import ClassSums, no_sums, pair_square_floor

DUPLICATE = 1e-300
"""z . cov z below which a pair counts as two equal rows: its reciprocal would overflow."""

FEW = 32
"""Rows of a batch beside which a copy of a d x d matrix would count."""

MODERATE = 1e30
"""Rows, weights and C below this cannot make a step overflow."""


class State(NamedTuple):
    """The model N(mean, cov), and the rows that are held."""

    buffers: Buffers
    sums: ClassSums
    mean: np.ndarray
    cov: Any  # Full or Diagonal
    bound: np.ndarray  # (2, capacity): no less than x . cov x of each row held


@dataclass(frozen=True)
class Confident(Buffered[State]):
    """Soft confidence-weighted steps; phi is the quantile of the confidence."""

    phi: float
    full: bool
    printed: bool = False  # whether a diagonal covariance's steps are as the dissertation prints them

    def init(self, d: int, known: FirstPass | None = None) -> State:
        cov = unit_covariance(d, self.full)
        return State(empty(d), no_sums(d), np.zeros(d), cov, np.zeros((2, self.capacity)))

    def meet(self, window: Window, limit: np.ndarray, state: State) -> State:
        work = work_on(state.cov, window.rows, window.held.sum() + len(window.at), self.printed)
        sweep(window, limit, self.phi, work, state.mean, state.bound)
        return state

    def mean(self, state: State) -> np.ndarray:
        return state.mean.copy()

    def built_for(self, state: State) -> dict[str, Any]:
        kind = "full" if isinstance(state.cov, Full) else "printed" if self.printed else "diagonal"
        return {"buffer_size": state.bound.shape[1], "covariance": kind}

    def writable(self, state: State, table: Table) -> State:
        """A full covariance is shared where this batch cannot fail: it only shrinks, and C bounds the weights."""
        if isinstance(state.cov, Full) and table.shape[0] <= FEW and self._moderate(state, table):
            return copied(state._replace(cov=None))._replace(cov=state.cov)
        return copied(state)

    def _moderate(self, state: State, table: Table) -> bool:
        limit = self.limit(np.array([pair_square_floor(state.sums, table.shape[0])]))[0]
        sizes = table.dense(slice(None)), state.buffers.values, state.mean
        return 0.0 < limit < MODERATE and all(np.abs(x).max(initial=0.0) < MODERATE for x in sizes)


@kernel
def confident_step(m, root_v, phi, C):
    """alpha, and the root of z . cov z after the step, from that before it; for a margin m < phi root_v."""
    zeta, psi = 1.0 + phi * phi, 1.0 + 0.5 * phi * phi
    r = m / root_v
    root = np.sqrt(0.25 * r * r * phi**4 + phi * phi * zeta)
    if r > 0.0:  # the same number, without the difference of two like ones
        alpha = (phi * phi - r * r) / (root + r * psi)
    else:
        alpha = (root - r * psi) / zeta
    alpha = min(C, alpha / root_v)
    a = alpha * root_v * phi
    return alpha, 2.0 * root_v / (a + np.sqrt(a * a + 4.0))


@kernel(allocates=False)
def sweep(window, limit, phi, work, mean, bound):
    """Each row meets the opposite buffer; changes mean, covariance and bounds; returns how many pairs had a loss."""
    rows, at, members, held = window.rows, window.at, window.members, window.held
    losses = 0
    for t in range(at.shape[0]):
        i, c = at[t], window.label[t]
        y = 1.0 if c else -1.0
        own = load_row(work, rows, i)
        admit(window, t)
        if window.slot[t] >= 0:
            bound[c, window.slot[t]] = own
        f = row_dot(rows, i, mean)
        for s in range(held[1 - c]):
            j, other = members[1 - c, s], bound[1 - c, s]
            m = y * (f - row_dot(rows, j, mean))
            # No covariance ever grows, so a variance once known bounds all later ones.
            if m > 0.0 and m * m >= phi * phi * cheap_bound(work, own, other):
                continue
            top, slack = pair_bound(work, rows, j, own, other), SLACK * (own + other)
            if m > 0.0 and m * m >= phi * phi * (top + slack):
                continue
            v = pair_variance(work, rows, i, j, own, top)
            bound[1 - c, s] = min(other, other + v - top + slack)  # its variance now, and no less
            if v <= DUPLICATE or m >= phi * np.sqrt(v):
                continue
            judged = judged_variance(work, rows, i, j, v, limit[t])
            if judged <= DUPLICATE or m >= phi * np.sqrt(judged):
                continue
            alpha, root = confident_step(m, np.sqrt(judged), phi, limit[t])
            kappa = tightened(work, alpha * phi, root, judged)
            own, f = move_along_pair(work, rows, i, j, alpha * y, kappa, v, mean)
            losses += 1
        unload_row(work, rows, i)
    return losses
