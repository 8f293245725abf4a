"""OPAUC: one pass over the rows, with means and covariances of both classes; or sketches of them."""

from typing import NamedTuple

import numpy as np

from auclid import _check
from auclid._generic import REORDER, generic, kernel
from auclid.base import StreamRanker
from auclid.rows import row_add
from auclid.stats.moments import LARGEST

STEP = 4.0
"""The first step, for pairs of mean square length 1."""

DRAWS = 1 << 20
"""Random numbers that are drawn at once."""


class Full(NamedTuple):
    """The scatter of each class: lower triangles, row after row."""

    scatter: np.ndarray  # (2, d (d+1) / 2)


class Sketch(NamedTuple):
    """Z_c = sum of (x - mu_c) r', which has Z Z' = scatter in expectation, and the scatter's own diagonal."""

    Z: np.ndarray  # (2, d, rank)
    R: np.ndarray  # (2, rank): sums of r
    diagonal: np.ndarray  # (2, d)
    draws: np.ndarray  # (steps, rank): r of each step's row
    work: np.ndarray  # (rank,)


@generic
def absorb(spread, c, n, gap, k):
    """Let the row of step k, the n-th of class c and ``gap`` from the mean so far, enter the scatter."""


@generic
def times(spread, c, n, w, out):
    """out += Sigma_c w, where n rows of class c were seen."""


@absorb.implement(Full)
def _(spread, c, n, gap, k):
    scatter, share, first = spread.scatter[c], (n - 1.0) / n, 0
    for i in range(gap.shape[0]):
        a = share * gap[i]
        row = scatter[first : first + i + 1]
        for j in range(i + 1):
            row[j] += a * gap[j]
        first += i + 1


@times.implement(Full, fastmath=REORDER)
def _(spread, c, n, w, out):
    scatter, first = spread.scatter[c], 0
    for i in range(w.shape[0]):
        row = scatter[first : first + i + 1]
        a, total = w[i] / n, 0.0
        for j in range(i):
            total += row[j] * w[j]
            out[j] += row[j] * a
        out[i] += total / n + row[i] * a
        first += i + 1


@absorb.implement(Sketch)
def _(spread, c, n, gap, k):
    Z, R, r, diagonal, change = spread.Z[c], spread.R[c], spread.draws[k], spread.diagonal[c], spread.work
    share = (n - 1.0) / n
    for j in range(R.shape[0]):
        change[j] = share * r[j] - R[j] / n
        R[j] += r[j]
    for i in range(gap.shape[0]):
        diagonal[i] += share * gap[i] * gap[i]
        for j in range(R.shape[0]):
            Z[i, j] += gap[i] * change[j]


@times.implement(Sketch, fastmath=REORDER)
def _(spread, c, n, w, out):
    Z, diagonal, inner = spread.Z[c], spread.diagonal[c], spread.work
    d, rank = Z.shape
    inner[:] = 0.0
    for i in range(d):
        for j in range(rank):
            inner[j] += w[i] * Z[i, j]
    noise = d / (d + rank)
    for i in range(d):
        total = 0.0
        for j in range(rank):
            total += Z[i, j] * inner[j]
        out[i] += ((1.0 - noise) * total + noise * diagonal[i] * w[i]) / n


class Gradient(NamedTuple):
    """w -= eta g with eta = step, or (``relative``) step / (L sqrt(t)), L the mean curvature of a pair."""

    step: float
    relative: bool


@generic
def pace(rule, t, curvature):
    """eta_t"""


@generic
def damping(rule, eta, q):
    """By what to divide the part of a row with |x - mu|^2 = q, so that it does not overshoot."""


@generic
def descend(rule, eta, g, w):
    """Move w against the gradient g."""


@pace.implement(Gradient)
def _(rule, t, curvature):
    if not rule.relative:
        return rule.step
    return rule.step / (curvature * np.sqrt(t)) if curvature > 0.0 else 0.0


@damping.implement(Gradient)
def _(rule, eta, q):
    return 1.0 + eta * q if rule.relative else 1.0


@descend.implement(Gradient)
def _(rule, eta, g, w):
    for j in range(w.shape[0]):
        w[j] -= eta * g[j]


class State(NamedTuple):
    """Weights, steps made, and what is known of each class."""

    w: np.ndarray
    t: float
    mean: np.ndarray  # (2, d)
    n: np.ndarray  # (2,)
    trace: np.ndarray  # (2,): of the scatter
    spread: tuple  # Full or Sketch
    rule: tuple  # Gradient or AdaGrad


class OPAUC(StreamRanker):
    """One-pass AUC optimisation: stochastic gradients that know means and covariances of both classes.

    Minimises the mean over pairs of (1 − w·(x⁺ − x⁻))² + (alpha/2) |w|². A step for a positive row follows

        g = λw − (1 − z·w) z + Σ₋w,    z = x − μ₋,    λ = alpha/2,

    the gradient of half the objective over the row's pairs with all negatives so far; mirrored for a negative
    row. No row is kept. A step costs O(d²), or O(rank·d) with sketched covariances (OPAUCr).

    Parameters
    ----------
    alpha : float in [0, inf), default=1e-4
        Strength of the squared penalty.
    step : float in (0, inf) or None, default=None
        The published algorithm's constant step. None takes steps that need no tuning: 4/(L√t), where
        L = E|x⁺ − x⁻|² + λ over the rows so far, bounded for rows that are too long for them.
    rank : int ≥ 1 or None, default=None
        Columns of a random sketch that stands for each covariance; None keeps the d × d covariances.
    n_epochs : int, default=1
    shuffle : bool, default=True
        Whether `fit` meets the rows in random order.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
        The last iterate.
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit`, minus the
        score halfway between the class means.
    classes_ : array of shape (2,)
    n_iter_ : int
        Epochs made.
    step_ : float
        The first step in use: the one given, or 4/L.

    Notes
    -----
    The sketch's noise does not vanish with the number of rows: OPAUCr may stay up to 0.015 of AUC behind
    OPAUC, however many rows it sees. To keep it that close, the sketched covariance is shrunk towards the
    exact variances of the columns, which weigh d/(d + rank); with the paper's plain sketch it fell 0.02
    behind.

    References
    ----------
    Gao, Jin, Zhu & Zhou, "One-pass AUC optimization", ICML 2013.

    Examples
    --------
    >>> from auclid import OPAUC
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(OPAUC(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        **StreamRanker._parameter_constraints,
        "alpha": [_check.real()],
        "step": [_check.real(closed="neither"), None],
        "rank": [_check.at_least(1), None],
    }

    def __init__(self, alpha=1e-4, *, step=None, rank=None, n_epochs=1, shuffle=True, random_state=None):
        self.alpha = alpha
        self.step = step
        self.rank = rank
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _open(self, d, survey):
        spread = full(self, d) if self.rank is None else sketch(d, self.rank)
        return start(d, spread, self._rule())

    def _rule(self):
        return Gradient(float(self.step or STEP), self.step is None)

    def _learn(self, table, is_pos, order, state, survey):
        return learn(table, is_pos, order, state._replace(rule=self._rule()), self.alpha, self._rng)

    def _settle(self, state):
        self.step_ = first_step(state, self.alpha)

    def _answer(self, state):
        return state.w.copy(), state.w @ state.mean.mean(axis=0)


def first_step(state, alpha):
    """eta_1 with what is known of the rows now."""
    if state.n.min() == 0.0:
        return state.rule.step
    return float(pace(state.rule, 1.0, 0.5 * alpha + pair_square_mean(state.mean, state.n, state.trace)))


def full(estimator, d):
    """Covariances of no rows; too many columns are refused."""
    if d > LARGEST:
        raise ValueError(
            f"The covariances of {type(estimator).__name__} must be d x d, too large a state for d = {d} "
            f"columns (at most {LARGEST}). Use OPAUC(rank=50), or SPAM, which needs memory of a row."
        )
    return Full(np.zeros((2, d * (d + 1) // 2)))


def sketch(d, rank):
    """A sketch of no rows."""
    z = np.zeros
    return Sketch(z((2, d, rank)), z((2, rank)), z((2, d)), z((0, rank)), z(rank))


def drawn(spread, rng, count):
    """Parts of the next ``count`` rows, each with its random numbers where a sketch wants them."""
    if isinstance(spread, Full):
        yield slice(0, count), spread
        return
    rank = len(spread.work)
    size = max(1, DRAWS // rank)
    for first in range(0, count, size):
        part = slice(first, min(first + size, count))
        yield part, spread._replace(draws=rng.standard_normal((part.stop - first, rank)) / np.sqrt(rank))


def start(d, spread, rule):
    """The state before any row."""
    return State(np.zeros(d), 0.0, np.zeros((2, d)), np.zeros(2), np.zeros(2), spread, rule)


def learn(table, is_pos, order, state, alpha, rng):
    """The state after one step for each row of ``order``."""
    label = is_pos.astype(np.int8)
    for rows, (at,), steps in table.sweep(order):
        classes = label[order[steps]]
        for part, spread in drawn(state.spread, rng, len(at)):
            t = sweep(rows, at[part], classes[part], 0.5 * alpha, state._replace(spread=spread))
            state = state._replace(t=t)
    return state


@kernel
def sweep(rows, at, label, penalty, state):
    """One step a row that meets the opposite class."""
    w, t, mean, n = state.w, state.t, state.mean, state.n
    gap, g = np.empty_like(w), np.empty_like(w)
    for k in range(at.shape[0]):
        i, c = at[k], label[k]
        meet(rows, i, c, k, state, gap)
        if n[1 - c] == 0.0:
            continue
        t += 1.0
        eta = pace(state.rule, t, penalty + pair_square_mean(mean, n, state.trace))
        gradient(rows, i, c, state, penalty, eta, gap, g)
        descend(state.rule, eta, g, w)
    return t


@kernel
def meet(rows, i, c, k, state, gap):
    """Let row i enter the mean and covariance of its class."""
    mean, n = state.mean[c], state.n
    n[c] += 1.0
    q = apart(rows, i, mean, gap)
    for j in range(mean.shape[0]):
        mean[j] += gap[j] / n[c]
    state.trace[c] += q * (n[c] - 1.0) / n[c]
    absorb(state.spread, c, n[c], gap, k)


@kernel
def gradient(rows, i, c, state, penalty, eta, gap, g):
    """g of row i of class c, in place; its own part damped where the rule says so."""
    w, other = state.w, 1 - c
    q = apart(rows, i, state.mean[other], gap)
    for j in range(w.shape[0]):
        g[j] = penalty * w[j]
    times(state.spread, other, state.n[other], w, g)
    rest = ((1.0 if c else -1.0) - inner(gap, w)) / damping(state.rule, eta, q)
    for j in range(w.shape[0]):
        g[j] -= rest * gap[j]


@kernel(fastmath=REORDER)
def apart(rows, i, mean, gap):
    """gap <- x_i - mean; returns its squared length."""
    for j in range(mean.shape[0]):
        gap[j] = -mean[j]
    row_add(rows, i, gap)
    return inner(gap, gap)


@kernel(fastmath=REORDER)
def inner(u, v):
    """u . v"""
    total = 0.0
    for j in range(u.shape[0]):
        total += u[j] * v[j]
    return total


@kernel(fastmath=REORDER)
def pair_square_mean(mean, n, trace):
    """E|x+ - x-|^2 = tr(Sigma+) + tr(Sigma-) + |mu+ - mu-|^2"""
    total = trace[0] / n[0] + trace[1] / n[1]
    for j in range(mean.shape[1]):
        total += (mean[1, j] - mean[0, j]) ** 2
    return total
