"""SAM, ASAM and PSAM: a stochastic step on one random pair of rows at a time."""

from typing import NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions

from auclid import _check, _random
from auclid._generic import generic, kernel
from auclid.base import StreamRanker
from auclid.losses import LOSSES, prox_step, slope
from auclid.rows import pair_axpy_two, pair_dot, pair_square, row_add, row_fetch
from auclid.stats.buffers import Buffers, admit, advance, empty, reservoir
from auclid.stats.means import first_look, middle

DRAW = 1 << 16
"""Pairs that are drawn at a time: an epoch of them need not fit in memory."""

RESERVOIR = 1000
"""Rows of each class that a stream remembers."""

AHEAD = 6
"""How many steps before its own a row is asked for from memory."""

TINY = 1e-9
"""The scale of w = scale v below which v is made anew."""


class Subgradient(NamedTuple):
    """w <- w - s l'(w . z) z"""


class Bounded(NamedTuple):
    """The same, but no further than w . z = 1: for losses whose slope has no bound."""


class Proximal(NamedTuple):
    """w <- argmin_v 1/2 |v - w|^2 + s l(v . z)"""


@generic
def move(rule, loss, rows, i, j, m, s):
    """The c of a step w <- w + c z on the pair z = x_i - x_j of margin m, with the step size s."""


@move.implement(Subgradient)
def _(rule, loss, rows, i, j, m, s):
    return -s * slope(loss, m)


@move.implement(Bounded)
def _(rule, loss, rows, i, j, m, s):
    c, q = -s * slope(loss, m), pair_square(rows, i, j)
    return c if abs(c) * q <= abs(1.0 - m) else (1.0 - m) / q


@move.implement(Proximal)
def _(rule, loss, rows, i, j, m, s):
    if slope(loss, m) == 0.0:  # most pairs, in the end: they need no |z|^2
        return 0.0
    return prox_step(loss, m, pair_square(rows, i, j), s)


class State(NamedTuple):
    """w = scale v; the sum of the ``averaged`` iterates so far is lag v + total."""

    v: np.ndarray
    scale: float
    total: np.ndarray
    lag: float
    averaged: int
    t: int
    size: float  # alpha t0: by default E|z|^2
    drawn: float  # how many pairs `size` is the mean of; infinite where it is settled
    sums: np.ndarray  # (2, d): the sum of the rows of each class
    n: np.ndarray  # (2,): how many rows that is
    buffers: Buffers


class PairSampler(StreamRanker):
    """What ASAM and PSAM share: everything but the step on a pair, ``_rule``."""

    _parameter_constraints: dict = {
        "alpha": [_check.real(closed="neither")],
        "n_epochs": [_check.at_least(1)],
        "t0": [_check.real(), None],
        "rskip": [_check.at_least(1)],
        "askip": [_check.at_least(1)],
        "average": ["boolean"],
        "random_state": _random.RANDOM_STATE,
    }

    def __init__(
        self,
        alpha=1e-3,
        *,
        loss="hinge",
        n_epochs=15,
        t0=None,
        rskip=16,
        askip=16,
        average=True,
        random_state=None,
    ):
        self.alpha = alpha
        self.loss = loss
        self.n_epochs = n_epochs
        self.t0 = t0
        self.rskip = rskip
        self.askip = askip
        self.average = average
        self.random_state = random_state

    def _survey(self, table, is_pos):
        """E|z|^2 = E|x+|^2 + E|x-|^2 - 2 mu+ . mu-, settled; sums and numbers of the rows of each class."""
        centre, label, length = table.centre(), is_pos.astype(np.int8), np.empty(len(is_pos))
        sums, n = np.zeros((2, table.shape[1])), np.bincount(label, minlength=2).astype(np.float64)
        for rows, (at,), steps in table.sweep(np.arange(len(is_pos)), centre=centre):
            first_look(rows, at, label[steps], sums, length[steps])
        means = sums / n[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            size = length[is_pos].mean() + length[~is_pos].mean() - 2.0 * means[0] @ means[1]
        return max(float(_check.finite(self, size)), 0.0), np.inf, sums + n[:, None] * centre, n

    def _open(self, d, survey):
        size, drawn, sums, n = survey or (0.0, 0.0, np.zeros((2, d)), np.zeros(2))
        if self.t0 is not None:
            size, drawn = float(self.alpha * self.t0), np.inf
        return State(np.zeros(d), 1.0, np.zeros(d), 0.0, 0, 0, size, drawn, sums, n, empty(d))

    def _epoch(self, table, is_pos, state, survey):
        """As many steps as rows, on pairs uniform over all pairs."""
        pos, neg = np.flatnonzero(is_pos), np.flatnonzero(~is_pos)
        for start in range(0, len(is_pos), DRAW):
            i, j = _random.pairs(self._rng, len(pos), len(neg), min(DRAW, len(is_pos) - start))
            for rows, pair, _ in table.sweep(pos[i], neg[j]):
                state = self._step(rows, *pair, state)
        return state

    def _learn(self, table, is_pos, order, state, survey):
        """A step for each row of a batch: on that row, and one of the other class out of its reservoir."""
        label = is_pos.astype(np.int8)
        for part in table.slices():
            block, draws = table.take(part), self._rng.random((part.stop - part.start, 2))
            window, buffers = advance(state.buffers, block, label[part], RESERVOIR, reservoir, draws[:, 0])
            pairs = np.empty((2, len(draws)), dtype=np.int64)
            neg, pos = pairs[:, : meet(window, draws, pairs, state.sums, state.n)]
            state = self._step(window.rows, pos, neg, state._replace(buffers=buffers))
        return state

    def _step(self, rows, pos, neg, state):
        """A step for each pair of rows (pos[k], neg[k])."""
        loss, alpha, skips = LOSSES[self.loss](), float(self.alpha), (int(self.rskip), int(self.askip))
        moved = sweep(rows, pos, neg, self._rule, loss, alpha, *skips, *state[:8])
        return State(state.v, moved[0], state.total, *moved[1:], *state[8:])

    def _answer(self, state):
        w = state.scale * state.v
        if self.average and state.averaged:
            w = (state.lag * state.v + state.total) / state.averaged
        return w, w @ middle(state.sums, state.n)

    def _settle(self, state):
        self.t0_ = state.size / self.alpha


class ASAM(PairSampler):
    """Averaged stochastic AUC maximisation: a subgradient step on one random pair at a time.

    Minimises over all pairs of a positive and a negative row, with z = x⁺ − x⁻ and the margin m = w·z,

        mean ℓ(m) + (alpha/2) |w|²,   by default with the hinge loss ℓ(m) = (1 − m)₊.

    Step t = 1, 2, … draws a pair from all n₊·n₋ and moves w by −ℓ'(m) z / (alpha (t + t0)): for the hinge
    loss, only where m < 1. Every ``rskip`` steps w shrinks by the factor 1 − rskip/(t + t0), every ``askip``
    steps it enters the average that is the answer. A step costs O(nnz of the two rows). An epoch is as many
    steps as there are rows.

    Parameters
    ----------
    alpha : float in (0, inf), default=1e-3
        Strength of the squared penalty; it divides the step, so 0 is not possible.
    loss : {"hinge", "squared_hinge", "square", "logistic"}, default="hinge"
        Loss of a pair. A step on one of the squared ones goes no further than m = 1, or long rows would make
        the steps grow without bound.
    n_epochs : int, default=15
    t0 : float in [0, inf) or None, default=None
        How many steps old the schedule is at the start. None: E|z|²/alpha, which bounds the first steps.
    rskip : int, default=16
        Steps from one shrinking of w to the next.
    askip : int, default=16
        Steps from one averaged iterate to the next.
    average : bool, default=True
        Whether the answer is the average of the iterates (ASAM) or the last one (SAM).
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit`, minus the
        score halfway between the class means.
    classes_ : array of shape (2,)
    n_iter_ : int
        Epochs made.
    t0_ : float
        The ``t0`` in use; after `partial_fit` alone, that of the pairs so far.

    Notes
    -----
    `partial_fit` makes one step for each row of a batch: on that row and a row of the other class, drawn from
    a reservoir of 1,000 rows a class, which is a uniform sample of the rows streamed so far. How a stream is
    cut into batches changes nothing. `fit` keeps no rows: a stream after it begins with empty reservoirs.

    There is no ``class_weight``: every pair holds one row of each class, so classes are balanced already.

    References
    ----------
    Khalid, "Scalable large margin pairwise learning algorithms", Colorado State University 2019, chapter 6.

    Examples
    --------
    >>> from auclid import ASAM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(ASAM(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {**PairSampler._parameter_constraints, "loss": [StrOptions(set(LOSSES))]}

    @property
    def _rule(self):
        return Subgradient() if self.loss in ("hinge", "logistic") else Bounded()


class PSAM(PairSampler):
    """Proximal stochastic AUC maximisation: an exact proximal step on one random pair at a time.

    Minimises over all pairs of a positive and a negative row, with z = x⁺ − x⁻ and the margin m = w·z,

        mean ℓ(m) + (alpha/2) |w|²,   by default with the hinge loss ℓ(m) = (1 − m)₊.

    Step t = 1, 2, … draws a pair from all n₊·n₋ and, with s = 1/(alpha (t + t0)), moves w to
    argmin_v ½ |v − w|² + s ℓ(v·z), which is w + c z with

        hinge           c = min(s, (1 − m)₊/|z|²)
        squared hinge   c = 2s(1 − m)₊/(1 + 2s|z|²)
        square          c = 2s(1 − m)/(1 + 2s|z|²).

    Such a step cannot overshoot, however long the rows. Every ``rskip`` steps w shrinks by the factor
    1 − rskip/(t + t0), every ``askip`` steps it enters the average that is the answer. A step costs
    O(nnz of the two rows). An epoch is as many steps as there are rows.

    Parameters
    ----------
    alpha : float in (0, inf), default=1e-3
        Strength of the squared penalty; it divides the step, so 0 is not possible.
    loss : {"hinge", "squared_hinge", "square"}, default="hinge"
        Loss of a pair.
    n_epochs : int, default=15
    t0 : float in [0, inf) or None, default=None
        How many steps old the schedule is at the start. None: E|z|²/alpha, which bounds the first steps.
    rskip : int, default=16
        Steps from one shrinking of w to the next.
    askip : int, default=16
        Steps from one averaged iterate to the next.
    average : bool, default=True
        Whether the answer is the average of the iterates or the last one.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit`, minus the
        score halfway between the class means.
    classes_ : array of shape (2,)
    n_iter_ : int
        Epochs made.
    t0_ : float
        The ``t0`` in use; after `partial_fit` alone, that of the pairs so far.

    Notes
    -----
    `partial_fit` is that of `ASAM`: a step for each row of a batch, on that row and one of the other class,
    drawn from a reservoir of 1,000 rows a class. There is no ``class_weight``: pairs are balanced already.

    References
    ----------
    Khalid, "Scalable large margin pairwise learning algorithms", Colorado State University 2019, chapter 7.

    Examples
    --------
    >>> from auclid import PSAM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(PSAM(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _rule = Proximal()

    _parameter_constraints: dict = {
        **PairSampler._parameter_constraints,
        "loss": [StrOptions({"hinge", "squared_hinge", "square"})],
    }


@kernel
def meet(window, draws, pairs, sums, n):
    """Pair each row of a window with one of the other class's reservoir, if that holds any; says how many.

    Writes the negatives and the positives of the pairs, and adds the rows to the sums of their classes.
    """
    met = 0
    for k in range(window.at.shape[0]):
        i, c = window.at[k], window.label[k]
        row_add(window.rows, i, sums[c])
        n[c] += 1.0
        admit(window, k)
        others = window.held[1 - c]
        if others > 0:
            pairs[c, met] = i
            pairs[1 - c, met] = window.members[1 - c, int(draws[k, 1] * others)]
            met += 1
    return met


@kernel
def sweep(rows, pos, neg, rule, loss, alpha, rskip, askip, v, scale, total, lag, averaged, t, size, drawn):
    """One step for each pair, O(nnz of its rows): shrinking and averaging touch scalars only."""
    to_shrink, to_average = rskip - t % rskip, askip - t % askip
    for k in range(pos.shape[0]):
        if k + AHEAD < pos.shape[0]:
            row_fetch(rows, pos[k + AHEAD])
            row_fetch(rows, neg[k + AHEAD])
        i, j = pos[k], neg[k]
        t += 1
        if drawn < np.inf:
            drawn += 1.0
            size += (pair_square(rows, i, j) - size) / drawn
        pace = alpha * t + size  # alpha (t + t0)
        c = move(rule, loss, rows, i, j, scale * pair_dot(rows, i, j, v), 1.0 / pace) / scale
        if c != 0.0:
            pair_axpy_two(rows, i, j, c, v, -lag * c, total)
        to_shrink -= 1
        if to_shrink == 0:
            to_shrink = rskip
            scale *= 1.0 - rskip * alpha / pace
            if scale < TINY:  # zero where t0 = 0
                total += lag * v
                v *= scale
                scale, lag = 1.0, 0.0
        to_average -= 1
        if to_average == 0:
            to_average = askip
            lag += scale
            averaged += 1
    return scale, lag, averaged, t, size, drawn
