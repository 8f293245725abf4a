"""OAM: online AUC maximisation with two buffers and the hinge loss."""

from typing import NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions

from auclid._generic import kernel
from auclid.online._buffered import BufferedRanker, Seen, nothing_seen
from auclid.rows import pair_square, row_axpy_two, row_dot, row_square
from auclid.stats.buffers import Buffers, admit, empty


class State(NamedTuple):
    """The weights w after t rows that met others; the average of the iterates is w - lag/(t(t+1)/2)."""

    buffers: Buffers
    seen: Seen
    w: np.ndarray
    lag: np.ndarray
    t: float
    length: np.ndarray  # (2, capacity): |x| of the rows held


class OAM(BufferedRanker):
    """Online AUC maximisation with two buffers and the hinge loss.

    Each new row meets the rows of the opposite class that are still in a buffer. With z = y (x − x') for such
    a pair,

        sequential:  w ← w + min(C, (1 − w·z)₊/|z|²) z      for one pair after the other,
        gradient:    w ← w + (C/2) Σ z                      over the pairs with w·z ≤ 1, at once.

    A row costs O(buffer_size · nnz); memory is two buffers and two vectors, however long the stream.

    Parameters
    ----------
    C : float in (0, inf) or None, default=None
        How far one pair may move the weights. None takes 0.03/E|z|² · 50/buffer_size, where the mean is over
        all pairs of rows seen so far.
    buffer_size : int, default=100
        Rows kept of each class.
    update : {"sequential", "gradient"}, default="sequential"
    buffer : {"fifo", "reservoir"}, default="fifo"
        "fifo" keeps the latest rows. "reservoir" keeps a uniform sample of all rows so far, which then stands
        for all of them: as published, C grows to C · max(1, n/buffer_size) with the n rows seen of the
        opposite class.
    average : bool, default=True
        Whether the answer is the average of the iterates, the t-th with weight t, or the last one. As
        published it is the last one, which is weak; the paper's own settings are ``make("OAMseq")`` and
        ``make("OAMgra")``.
    n_epochs : int, default=1
    shuffle : bool, default=True
        Whether `fit` meets the rows in random order. With False it does exactly what `partial_fit` does.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the score halfway between the class means of the rows so far, after `fit` too.
    classes_ : array of shape (2,)
    n_iter_ : int
        Epochs made.
    C_ : float
        The C used last, before a reservoir's growth.

    Notes
    -----
    The default C is a share of E|z|²: a column that carries nearly all of it takes all the learning, and the others
    hardly move. So bring columns to a like scale first: standardise dense ones, divide sparse ones by their largest
    value. Sparse rows are not centred: a column 10⁷ times as far from zero as it varies leaves E|z|² few digits.

    The average is of the whole stream. Where the stream drifts, ``average=False`` follows it.

    References
    ----------
    Zhao, Hoi, Jin & Yang, "Online AUC maximization", ICML 2011.

    Examples
    --------
    >>> from auclid import OAM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(OAM(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        **BufferedRanker._parameter_constraints,
        "update": [StrOptions({"sequential", "gradient"})],
        "average": ["boolean"],
    }

    def __init__(
        self,
        C=None,
        *,
        buffer_size=100,
        update="sequential",
        buffer="fifo",
        average=True,
        n_epochs=1,
        shuffle=True,
        random_state=None,
    ):
        self.C = C
        self.buffer_size = buffer_size
        self.update = update
        self.buffer = buffer
        self.average = average
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _open(self, d, survey):
        length = np.zeros((2, self.buffer_size))
        return State(empty(d), nothing_seen(d), np.zeros(d), np.zeros(d), 0.0, length)

    def _meet(self, window, limit, state):
        if self.buffer == "reservoir":
            opposite = window.number[np.arange(len(limit)), 1 - window.label]
            limit = limit * np.maximum(1.0, opposite / self.buffer_size)
        if self.update == "sequential":
            t = sequential(window, limit, state.w, state.lag, state.t, state.length)
        else:
            t = gradient(window, 0.5 * limit, state.w, state.lag, state.t)
        return state._replace(t=t)

    def _weights(self, state):
        return state.w - state.lag / past(max(state.t, 1.0)) if self.average else state.w.copy()


@kernel
def past(t):
    """The weight of the first t iterates, 1 + 2 + ... + t."""
    return 0.5 * t * (t + 1.0)


@kernel
def sequential(window, limit, w, lag, t, length):
    """w += min(C, (1 - w.z)+ / |z|^2) z for the pairs of a row in turn; returns the iterates made."""
    rows, at, members, held = window.rows, window.at, window.members, window.held
    for k in range(at.shape[0]):
        i, c, C = at[k], window.label[k], limit[k]
        y = 1.0 if c else -1.0
        admit(window, k)
        norm = np.sqrt(row_square(rows, i))
        if window.slot[k] >= 0:
            length[c, window.slot[k]] = norm
        if held[1 - c] == 0:
            continue
        f = row_dot(rows, i, w)
        for s in range(held[1 - c]):
            j = members[1 - c, s]
            loss = 1.0 - y * (f - row_dot(rows, j, w))
            if loss <= 0.0:
                continue
            step = C
            if C * (norm + length[1 - c, s]) ** 2 > loss:  # |z| is needed only where it may bind
                q = pair_square(rows, i, j)
                step = min(C, loss / q) if q > 0.0 else 0.0
            if step > 0.0:
                row_axpy_two(rows, i, y * step, w, y * step * past(t), lag)
                row_axpy_two(rows, j, -y * step, w, -y * step * past(t), lag)
                f = row_dot(rows, i, w)
        t += 1.0
    return t


@kernel
def gradient(window, limit, w, lag, t):
    """w += C/2 times the sum of z over the pairs of a row with w.z <= 1; returns the iterates made."""
    rows, at, members, held = window.rows, window.at, window.members, window.held
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
            row_axpy_two(rows, j, -step, w, -step * past(t), lag)
        row_axpy_two(rows, i, step * count, w, step * count * past(t), lag)
        t += 1.0
    return t
