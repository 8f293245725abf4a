"""SOLAM: the square loss as a saddle point, met one row at a time."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from auclid import _check
from auclid._generic import kernel
from auclid.base import StreamRanker
from auclid.rows import row_axpy_two, row_dot
from auclid.square.spam import fold, pace
from auclid.stats.means import TINY, mean_inner, means_of, middle, opened, row_length, see, survey

ZETA = 2.0
"""The first step, for rows of mean square length 1 and classes of one size."""

GENEROUS = 30.0
"""The radius for such rows: a bound that does not bind."""


class State(NamedTuple):
    """w = scale v; the weighted sum of iterates is lag v + total; m_c = w . mu_c; and the class means so far."""

    v: np.ndarray
    scale: float
    saddle: np.ndarray  # (b, a, alpha)
    m: np.ndarray
    t: float
    total: np.ndarray
    lag: float
    weight: float
    norm: float  # |w|^2
    longest: float  # max |x|^2
    hit: float  # the last step that met the ball
    sums: np.ndarray
    n: np.ndarray
    square: np.ndarray
    centre: np.ndarray


class Rule(NamedTuple):
    """How SOLAM steps; ``relative``, ``measured``: zeta, radius are for rows of mean square length 1."""

    zeta: float
    relative: bool
    radius: float
    measured: bool
    alpha: float


class SOLAM(StreamRanker):
    """Stochastic online AUC maximisation, by primal–dual steps.

    Minimises the mean over pairs of (1 − w·(x⁺ − x⁻))² over the ball |w| ≤ radius, or with the penalty
    (alpha/2) |w|² in its place. That is a saddle point, min over (w, a, b) and max over α, of the mean over
    rows of

        (1−p)(w·x − a)²[y=1] + p(w·x − b)²[y=−1] + 2(1+α)(p w·x[y=−1] − (1−p) w·x[y=1]) − p(1−p)α²,

    where p is the share of positives, so that one row is enough for a step, in O(nnz of the row). Steps fall
    as ζ/√t; |a|, |b| ≤ radius·κ and |α| ≤ 2·radius·κ, with κ the length of the longest row seen.

    Parameters
    ----------
    radius : float in (0, inf) or None, default=None
        Bound of |w|. One below the length of the best w spoils the answer, and a warning says so. None is
        generous: 30/√E|x|², or no bound where ``alpha`` is given.
    zeta : float in (0, inf) or None, default=None
        A number gives the published algorithm: steps zeta/√t, and the answer is the average of the iterates
        weighted by them. None needs no tuning: rows are measured in units of √E|x|², zeta is 2/(4p(1−p)), a
        step is bounded for rows that are too long for it (e/(1 + e|x|²) for a step e), α follows its mean
        derivative 2p(1−p)(w·μ₋ − w·μ₊ − α), with μ± the class means, in place of one row's, and the weights
        of the average carry another t².
    alpha : float in [0, inf) or None, default=None
        Strength of the squared penalty that replaces the ball (SOLAM-L2); with ``radius`` too, both hold.
    n_epochs : int, default=5
    shuffle : bool, default=True
        Whether `fit` meets the rows in random order.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit`, minus the
        score halfway between the class means.
    radius_ : float
        The bound of |w| in use.
    zeta_ : float
        The step of w at t = 1: the ``zeta`` given, or 2/(4p(1−p)·E|x|²) at the p and E|x|² seen last.
    classes_ : array of shape (2,)
    n_iter_ : int
        Epochs made.

    Notes
    -----
    p, E|x|², μ± and the centre of dense rows come from a first look at all rows in `fit`, and from the rows so
    far in `partial_fit`.

    Dense rows may come sorted by class, unless ``zeta`` is given: one row's derivative then leads α astray in
    a long run of one class. Sparse rows are not centred, so that such a run also pulls w towards or away from
    its class mean, which costs AUC, most of all if the positives come first: mix them.

    References
    ----------
    Ying, Wen & Lyu, "Stochastic online AUC maximization", NIPS 2016; the penalty in place of the ball is from
    Natole, Ying & Lyu, "Stochastic proximal algorithms for AUC maximization", ICML 2018.

    Examples
    --------
    >>> from auclid import SOLAM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(SOLAM(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        **StreamRanker._parameter_constraints,
        "radius": [_check.real(closed="neither"), None],
        "zeta": [_check.real(closed="neither"), None],
        "alpha": [_check.real(), None],
    }

    def __init__(self, radius=None, *, zeta=None, alpha=None, n_epochs=5, shuffle=True, random_state=None):
        self.radius = radius
        self.zeta = zeta
        self.alpha = alpha
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _survey(self, table, is_pos):
        return survey(table, is_pos)

    def _open(self, d, survey):
        v, saddle, m, total = np.zeros(d), np.zeros(3), np.zeros(2), np.zeros(d)
        return State(v, 1.0, saddle, m, 0.0, total, 0.0, 0.0, 0.0, 0.0, 0.0, *opened(d, survey))

    def _learn(self, table, is_pos, order, state, survey):
        rule, label = self._rule(), is_pos.astype(np.int8)
        for rows, (at,), steps in table.sweep(order, centre=state.centre):
            means = means_of(state, survey, order[steps])
            moved = sweep(rows, at, label[order[steps]], means, rule, *state[:11])
            names = ("scale", "t", "lag", "weight", "norm", "longest", "hit")
            state = state._replace(**dict(zip(names, moved, strict=True)))
        return state

    def _rule(self):
        relative, measured = self.zeta is None, self.radius is None
        zeta = ZETA if relative else float(self.zeta)
        generous = GENEROUS if self.alpha is None else np.inf
        radius = generous if measured else float(self.radius)
        return Rule(zeta, relative, radius, measured, float(self.alpha or 0.0))

    def _answer(self, state):
        w = (state.lag * state.v + state.total) / (state.weight or 1.0)
        return w, w @ middle(state.sums, state.n)

    def _settle(self, state):
        rule = self._rule()
        self.radius_ = float(bound(rule, unit(state.square)))
        self.zeta_ = rule.zeta
        if rule.relative and state.n.min() > 0.0:
            self.zeta_ = float(rule.zeta * pace(state.n, state.square))
        warn_if_bound(self, state.hit > 0.9 * state.t)


def warn_if_bound(estimator, active):
    """Say that the ball is too small where steps still meet it at the end."""
    if active:
        warnings.warn(
            f"The radius of {type(estimator).__name__} must exceed the length of the best weights, but steps "
            f"still meet the ball |w| <= {estimator.radius_:.3g} at the end. Use a larger radius.",
            ConvergenceWarning,
            stacklevel=2,
        )


@kernel
def unit(square):
    """E|x|^2, or 1 where all rows are alike."""
    return square[0] if square[0] > 0.0 else 1.0


@kernel
def bound(rule, size):
    """The radius, for rows of this mean square length."""
    return rule.radius / np.sqrt(size) if rule.measured else rule.radius


@kernel
def sweep(rows, at, label, means, rule, v, scale, saddle, m, t, total, lag, weight, norm, longest, hit):
    """One primal-dual step a row, O(nnz) each: w = scale v, its length, projections and average kept up to date."""
    for k in range(at.shape[0]):
        i, c = at[k], label[k]
        before = scale * row_dot(rows, i, v)
        f = see(means, rows, i, c, before, m)
        saddle[:2] -= before - f
        n = means.n
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        p, q, size = n[1] / (n[0] + n[1]), row_length(means, rows, i, k), unit(means.square)
        longest = max(longest, q)
        step = share = rule.zeta / np.sqrt(t)
        if rule.relative:
            step, share = step / (4.0 * p * (1.0 - p)), share * t * t
        radius = bound(rule, size)
        if not rule.relative:
            size = 1.0
        lag += share * scale
        weight += share
        alpha = saddle[2]
        move = saddle_step(f, q, c, p, step, size, rule.relative, saddle)
        if rule.relative:
            saddle[2] = expected_ascent(alpha, m, p, step)
        row_axpy_two(rows, i, move / scale, v, -lag * move / scale, total)
        shrink = 1.0 / (1.0 + step / size * p * (1.0 - p) * rule.alpha)
        norm = shrink * shrink * max(0.0, norm + move * (2.0 * f + move * q))
        if norm > radius * radius:
            shrink *= radius / np.sqrt(norm)
            norm = radius * radius
            hit = t
        m[0] = shrink * (m[0] + move * mean_inner(means, rows, i, k, 0))
        m[1] = shrink * (m[1] + move * mean_inner(means, rows, i, k, 1))
        scale *= shrink
        clip(saddle, radius, longest)
        if scale < TINY:
            fold(v, scale, total, lag)
            scale, lag = 1.0, 0.0
    return scale, t, lag, weight, norm, longest, hit


@kernel
def saddle_step(f, q, c, p, step, size, guard, saddle):
    """Move saddle = (b, a, alpha) for a row of class c whose score is f; returns how much of x enters w."""
    share, sign = (2.0 * (1.0 - p), 1.0) if c else (2.0 * p, -1.0)
    curve = 2.0 * p * (1.0 - p)
    primal, dual, ascent = share * step / size, share * step, step
    if guard:
        primal /= 1.0 + primal * q
        dual /= 1.0 + dual
        ascent /= 1.0 + ascent * (curve + share)
    move = -primal * (f - saddle[c] - sign * (1.0 + saddle[2]))
    saddle[c] += dual * (f - saddle[c])
    saddle[2] -= ascent * (sign * share * f + curve * saddle[2])
    return move


@kernel
def expected_ascent(alpha, m, p, step):
    """Where alpha's mean step over all rows leads, guarded: unlike one row's, whatever the class that arrives."""
    ascent = 2.0 * p * (1.0 - p) * step
    return alpha + ascent / (1.0 + ascent) * (m[0] - m[1] - alpha)


@kernel
def clip(saddle, radius, longest):
    """|a|, |b| <= radius kappa and |alpha| <= 2 radius kappa, where kappa^2 = longest."""
    most = radius * np.sqrt(longest) if longest > 0.0 else 0.0
    saddle[0] = min(max(saddle[0], -most), most)
    saddle[1] = min(max(saddle[1], -most), most)
    saddle[2] = min(max(saddle[2], -2.0 * most), 2.0 * most)
