"""Uni-Exp: a class-weighted exponential loss on single rows, whose minimiser ranks pairs."""

from typing import NamedTuple

import numpy as np

from auclid import _check
from auclid._generic import kernel
from auclid.base import StreamRanker
from auclid.rows import row_axpy_two, row_dot, row_square
from auclid.stats.means import TINY, Running, enter, middle


class State(NamedTuple):
    """w = scale v; the weighted sum of the iterates is lag v + total; and what the rows so far tell."""

    v: np.ndarray
    scale: float
    t: float
    total: np.ndarray
    lag: float
    sums: np.ndarray  # (2, d): sums of the rows of each class
    n: np.ndarray
    square: np.ndarray
    centre: np.ndarray


class UniExp(StreamRanker):
    """Online ranking by a univariate exponential loss: no pairs, no buffers.

    Minimises, one row a step, the exponential loss with both classes weighed alike,

        mean over rows of exp(−y w·x) / (2 P(y)) + (alpha/2) |w|²,

    where y = ±1 and P(y) is the share of y's class among the rows so far. Its minimiser ranks pairs
    consistently. Steps are implicit, w ← argmin_v ½|v − w|² + (step/√t) · the row's loss at v: for small ones
    the paper's gradient steps, but no row, however wrong, can throw w far off or overflow. The answer is the
    average of the iterates, the t-th with weight t. A step costs O(nnz of the row).

    Parameters
    ----------
    alpha : float in [0, inf), default=1e-4
        Strength of the squared penalty.
    step : float in (0, inf) or None, default=None
        Steps are ``step``/√t. None takes 1/E|x|² of the rows so far.
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
    step_ : float
        The step used last, times √t.

    Notes
    -----
    Dense rows are measured from the mean of the rows so far: a loss of single rows would see their offset.
    Sparse rows are left where they are.

    The usual steps follow the gradient, with the exponent capped so that it cannot overflow, and all iterates
    count alike in the average. Here steps are implicit and late iterates count more. For small steps that is the
    same to first order; for larger ones it forgives a badly chosen ``step``. On german, diabetes, svmguide3, splice
    and magic04 (mean test AUC, three splits, at most 4,000 standardised rows) gradient steps gave .837, .824 and
    .824 with the default step, 0.1 and 1; implicit ones .835, .839 and .839.

    References
    ----------
    Kotłowski, Dembczyński & Hüllermeier, "Bipartite ranking through minimization of univariate loss",
    ICML 2011.

    Examples
    --------
    >>> from auclid import UniExp
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(UniExp(random_state=0).fit(X, y).score(X, y), 2)
    0.92
    """

    _causal = True

    _parameter_constraints: dict = {
        **StreamRanker._parameter_constraints,
        "alpha": [_check.real()],
        "step": [_check.real(closed="neither"), None],
    }

    def __init__(self, alpha=1e-4, *, step=None, n_epochs=1, shuffle=True, random_state=None):
        self.alpha = alpha
        self.step = step
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _given(self):
        return 0.0 if self.step is None else float(self.step)

    def _open(self, d, survey):
        seen = np.zeros((2, d)), np.zeros(2), np.zeros(1), np.zeros(d)
        return State(np.zeros(d), 1.0, 0.0, np.zeros(d), 0.0, *seen)

    def _learn(self, table, is_pos, order, state, survey):
        label, means = is_pos.astype(np.int8), Running(*state[5:])
        for rows, (at,), steps in table.sweep(order, centre=state.centre):
            moved = sweep(rows, at, label[order[steps]], means, self._given(), float(self.alpha), *state[:5])
            state = state._replace(scale=moved[0], t=moved[1], lag=moved[2])
        _check.finite(self, state.square)
        return state

    def _answer(self, state):
        w = (state.lag * state.v + state.total) / max(0.5 * state.t * (state.t + 1.0), 1.0)
        return w, w @ middle(state.sums, state.n)

    def _settle(self, state):
        self.step_ = float(pace(self._given(), state.square))


@kernel
def pace(step, square):
    """The step given, or 1/E|x|^2 where it is zero (0 while rows have no length to speak of)."""
    if step > 0.0:
        return step
    return 1.0 / square[0] if square[0] > 1e-300 else 0.0


@kernel
def product_log(log_a):
    """The u >= 0 with u e^u = a, by Newton's method on u + log u = log a from a point below it."""
    if log_a < -37.0:  # u = a to the last bit, and a may be zero
        return np.exp(log_a)
    u = log_a - np.log(log_a) if log_a > 1.0 else 1.0 / (1.0 + np.exp(-log_a))
    for _ in range(4):
        u -= (u + np.log(u) - log_a) * u / (1.0 + u)
    return u


@kernel
def sweep(rows, at, label, means, step, alpha, v, scale, t, total, lag):
    """One step a row, O(nnz) each: w = scale v, and the average kept up to date."""
    n = means.n
    for k in range(at.shape[0]):
        i, c = at[k], label[k]
        f = scale * row_dot(rows, i, v)
        f -= f * enter(means, rows, i, c)
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        y, q = 1.0 if c else -1.0, row_square(rows, i)
        eta = pace(step, means.square) / np.sqrt(t)
        weighed = eta * (n[0] + n[1]) / (2.0 * n[c])
        if q > 0.0 and weighed > 0.0:  # the move along x that is weighed * exp(-margin) at the margin it leads to
            move = y * product_log(np.log(weighed * q) - y * f) / q
            row_axpy_two(rows, i, move / scale, v, -lag * move / scale, total)
        scale /= 1.0 + eta * alpha
        lag += t * scale
        if scale < TINY:
            for j in range(v.shape[0]):
                total[j] += lag * v[j]
                v[j] *= scale
            lag, scale = 0.0, 1.0
    return scale, t, lag
