"""What buffered online methods share: the stream, its buffers, and how far one pair may move the model."""

from typing import NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions

from auclid import _check
from auclid._generic import kernel
from auclid.base import StreamRanker
from auclid.rows import row_axpy, row_dot, row_square
from auclid.stats.buffers import POLICIES, advance
from auclid.stats.means import middle

SHARE = 0.03
"""C E|z|^2 of the default C, for buffers of 50 rows."""


class Seen(NamedTuple):
    """Running sums over the rows of each class, all minus the stream's centre."""

    n: np.ndarray  # (2,)
    total: np.ndarray  # (2, d): sums of rows
    square: np.ndarray  # (2,): sums of |x|^2
    cross: np.ndarray  # (1,): total_0 . total_1


def nothing_seen(d):
    """The sums over no rows."""
    return Seen(np.zeros(2), np.zeros((2, d)), np.zeros(2), np.zeros(1))


@kernel
def spread(seen):
    """E|z|^2 over all pairs of rows seen: E|x+|^2 + E|x-|^2 - 2 mu+ . mu-; zero while a class is missing."""
    n, square = seen.n, seen.square
    if n[0] == 0.0 or n[1] == 0.0:
        return 0.0
    return square[0] / n[0] + square[1] / n[1] - 2.0 * seen.cross[0] / (n[0] * n[1])


@kernel
def watch(window, seen, out):
    """Add a window's rows to the sums; writes the spread as it was after each."""
    rows = window.rows
    for k in range(window.at.shape[0]):
        i, c = window.at[k], window.label[k]
        seen.n[c] += 1.0
        seen.square[c] += row_square(rows, i)
        seen.cross[0] += row_dot(rows, i, seen.total[1 - c])
        row_axpy(rows, i, 1.0, seen.total[c])
        out[k] = spread(seen)


class BufferedRanker(StreamRanker):
    """A stream whose every row meets the rows in the buffer of the opposite class.

    A subclass gives ``_meet(window, limit, state)``, the state after a window, where ``limit`` holds the C of
    each step; and ``_weights(state)``. Its state has the fields ``buffers`` and ``seen``.
    """

    _causal = True

    _parameter_constraints: dict = {
        **StreamRanker._parameter_constraints,
        "C": [_check.real(closed="neither"), None],
        "buffer_size": [_check.at_least(1)],
        "buffer": [StrOptions(set(POLICIES))],
    }

    def _limit(self, spreads):
        """C, or SHARE/E|z|^2 (50/M) where that is left to the data; 0 while there is no spread."""
        if self.C is not None:
            return np.full(len(spreads), float(self.C))
        share = SHARE * 50.0 / self.buffer_size
        with np.errstate(over="ignore"):
            return np.divide(share, spreads, out=np.zeros(len(spreads)), where=spreads > 0.0)

    def _learn(self, table, is_pos, order, state, survey):
        _check.unchanged(self, "buffer_size", self.buffer_size, state[-1].shape[1])
        label, policy = is_pos.astype(np.int8), POLICIES[self.buffer]
        stretch = max(table.block_rows(), 2 * self.buffer_size)
        for start in range(0, len(order), stretch):
            chosen = order[start : start + stretch]
            draws = self._rng.random(len(chosen))
            block = table.take(chosen)
            window, buffers = advance(state.buffers, block, label[chosen], self.buffer_size, policy, draws)
            spreads = np.empty(len(chosen))
            watch(window, state.seen, spreads)
            _check.finite(self, spreads)
            state = self._meet(window, self._limit(spreads), state._replace(buffers=buffers))
        return state

    def _answer(self, state):
        """The weights, and the score halfway between the class means."""
        w, seen = self._weights(state), state.seen
        return w, w @ (middle(seen.total, seen.n) + state.buffers.centre)

    def _settle(self, state):
        self.C_ = float(self._limit(np.array([spread(state.seen)]))[0])
