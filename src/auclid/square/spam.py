"""SPAM: stochastic proximal AUC maximisation, one row a step, no buffers."""

from typing import NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions

from auclid import _check
from auclid._generic import floats, kernel
from auclid.base import StreamRanker
from auclid.penalties import L2, ElasticNet, prox
from auclid.rows import row_axpy, row_axpy_two, row_dot, row_square
from auclid.schedules import Constant, Harmonic, Power, rate
from auclid.stats.means import TINY, mean_dot, mean_inner, means_of, middle, opened, row_length, see, survey


class State(NamedTuple):
    """w = scale v; the weighted sum of iterates is lag v + total; a_c = w . mu_c; and the class means so far."""

    v: np.ndarray
    scale: float
    a: np.ndarray
    t: float
    total: np.ndarray
    lag: float
    weight: float
    sums: np.ndarray
    n: np.ndarray
    square: np.ndarray
    centre: np.ndarray


class SPAM(StreamRanker):
    """Stochastic proximal AUC maximisation.

    Minimises, one row a step and with no buffer of rows,

        mean over pairs of (1 − w·(x⁺ − x⁻))² + (alpha/2) |w|² + l1 |w|₁

    by proximal steps on SPAM's gradient: for a positive row 2(1−p)(w·x − w·μ₋ − 1) x, for a negative one
    2p(w·x − w·μ₊ + 1) x, where p is the share of positives and μ± are the class means (of all rows in `fit`, of the
    rows so far in `partial_fit`). With ``l1=0`` a step costs O(nnz of the row).

    Parameters
    ----------
    alpha : float in [0, inf), default=1e-4
        Strength of the squared penalty.
    l1 : float in [0, inf), default=0
        Strength of the absolute penalty.
    penalty : struct with a `prox`, or None, default=None
        Replaces ``alpha`` and ``l1`` by any penalty of `auclid.penalties` or of your own; ``alpha`` and ``l1`` must
        then be left alone.
    schedule : {"auto", "sqrt", "constant", "thm2", "thm3"} or struct with a `rate`, default="auto"
        Step sizes. "auto" and "sqrt": 1/(4p(1−p)·E|x|²·√t), "constant": a tenth of that without the √t; "thm2" and
        "thm3": the constants of the paper's theorems, faithful and far too small or too large in practice. A struct of
        `auclid.schedules` is taken as it is. All but the theorems' steps are bounded for rows that are too long for
        them (the implicit step e/(1 + e|x|²)).
    n_epochs : int, default=5
    shuffle : bool, default=True
        Whether `fit` meets the rows in random order.
    average : bool, default=True
        Whether the answer is the average of the iterates, weighted by t², or the last one.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores; after `partial_fit`, minus the score
        halfway between the class means.
    classes_ : array of shape (2,)
    n_iter_ : int
        Epochs made.
    schedule_ : struct
        The step sizes in use; those of "auto", "sqrt" and "constant" at the share of positives and E|x|² seen last.

    References
    ----------
    Natole, Ying & Lyu, "Stochastic proximal algorithms for AUC maximization", ICML 2018.

    Examples
    --------
    >>> from auclid import SPAM
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> bool(SPAM(random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    _parameter_constraints: dict = {
        **StreamRanker._parameter_constraints,
        "alpha": [_check.real()],
        "l1": [_check.real()],
        "penalty": [tuple, None],
        "schedule": [StrOptions({"auto", "sqrt", "constant", "thm2", "thm3"}), tuple],
        "average": ["boolean"],
    }

    def __init__(
        self,
        alpha=1e-4,
        *,
        l1=0.0,
        penalty=None,
        schedule="auto",
        n_epochs=5,
        shuffle=True,
        average=True,
        random_state=None,
    ):
        self.alpha = alpha
        self.l1 = l1
        self.penalty = penalty
        self.schedule = schedule
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.random_state = random_state

    def _survey(self, table, is_pos):
        return survey(table, is_pos)

    def _open(self, d, survey):
        return State(np.zeros(d), 1.0, np.zeros(2), 0.0, np.zeros(d), 0.0, 0.0, *opened(d, survey))

    def _learn(self, table, is_pos, order, state, survey):
        penalty, label = self._penalty(), is_pos.astype(np.int8)
        schedule, relative, guard = self._steps(table, state, survey)
        self._used = schedule, relative
        for rows, (at,), steps in table.sweep(order, centre=state.centre):
            means = means_of(state, survey, order[steps])
            loop = sweep_scaled if type(penalty) is L2 else sweep_dense
            moved = loop(rows, at, label[order[steps]], means, schedule, relative, guard, penalty, *state[:7])
            state = state._replace(scale=moved[0], t=moved[1], lag=moved[2], weight=moved[3])
        return state

    def _penalty(self):
        if self.penalty is None:
            return floats(ElasticNet(self.l1, self.alpha) if self.l1 else L2(self.alpha))
        if self.l1 or self.alpha != 1e-4:
            raise ValueError("penalty of SPAM must stand alone; got alpha or l1 as well. Put them into the penalty.")
        return _check.implements(self, "penalty", self.penalty, (prox,))

    def _steps(self, table, state, survey):
        """The schedule, whether it is relative to the data's pace, and whether long rows are guarded."""
        if self.schedule in ("auto", "sqrt"):
            return Power(1.0, 0.5), True, True
        if self.schedule == "constant":
            return Constant(0.1), True, True
        if self.schedule in ("thm2", "thm3"):
            return self._theorem(table, survey), False, False
        return _check.implements(self, "schedule", self.schedule, (rate,)), False, True

    def _theorem(self, table, survey):
        if survey is None or self.alpha == 0.0 or self.penalty is not None:
            raise ValueError(
                f"schedule='{self.schedule}' of SPAM must know max |x| and alpha > 0 beforehand: use fit, with "
                "alpha > 0 and no penalty, or another schedule."
            )
        p = survey.n[1] / survey.n.sum()
        beta = p * (1.0 - p) * self.alpha
        bound = 128.0 * longest_row(table, survey.centre) ** 4
        if self.schedule == "thm2":
            return Power(beta / bound, 0.5)
        return Harmonic((1.0 + beta**2 / bound) ** 2 / beta, 1.0)

    def _settle(self, state):
        schedule, relative = self._used
        if relative and state.n.min() > 0.0:
            schedule = schedule._replace(step=schedule.step * pace(state.n, state.square))
        self.schedule_ = schedule

    def _answer(self, state):
        w = state.scale * state.v
        if self.average and state.weight > 0.0:
            w = (state.lag * state.v + state.total) / state.weight
        return w, w @ middle(state.sums, state.n)


def longest_row(table, centre):
    """max |x - centre|"""
    index = np.arange(table.shape[0])
    longest = 0.0
    for rows, (at,), _ in table.sweep(index, centre=centre):
        longest = max(longest, longest_square(rows, at))
    return np.sqrt(longest)


@kernel
def longest_square(rows, at):
    """The largest |x|^2."""
    longest = 0.0
    for i in at:
        longest = max(longest, row_square(rows, i))
    return longest


@kernel
def pace(n, square):
    """1 / (4 p (1-p) E|x|^2): the step a row of average length can bear."""
    p = n[1] / (n[0] + n[1])
    size = 4.0 * p * (1.0 - p) * square[0]
    return 1.0 / size if size > 0.0 else 1.0


@kernel
def fold(v, scale, total, lag):
    """Write w = scale v and lag v + total as they are, so that scale = 1 and lag = 0."""
    for j in range(v.shape[0]):
        total[j] += lag * v[j]
        v[j] *= scale


@kernel
def sweep_scaled(rows, at, label, means, schedule, relative, guard, penalty, v, scale, a, t, total, lag, weight):
    """One step a row with an L2 penalty, O(nnz) each: w = scale v, projections and average kept up to date."""
    for k in range(at.shape[0]):
        i, c = at[k], label[k]
        f = see(means, rows, i, c, scale * row_dot(rows, i, v), a)
        n = means.n
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        p = n[1] / (n[0] + n[1])
        step = rate(schedule, t) * (pace(n, means.square) if relative else 1.0)
        e = 2.0 * step * (1.0 - p if c else p)
        if guard:
            e /= 1.0 + e * row_length(means, rows, i, k)
        move = -e * (f - a[1 - c] - (1.0 if c else -1.0))
        shrink = 1.0 / (1.0 + step * p * (1.0 - p) * penalty.l2)
        row_axpy_two(rows, i, move / scale, v, -lag * move / scale, total)
        a[0] = shrink * (a[0] + move * mean_inner(means, rows, i, k, 0))
        a[1] = shrink * (a[1] + move * mean_inner(means, rows, i, k, 1))
        scale *= shrink
        lag += t * t * scale
        weight += t * t
        if scale < TINY:
            fold(v, scale, total, lag)
            scale, lag = 1.0, 0.0
    return scale, t, lag, weight


@kernel
def sweep_dense(rows, at, label, means, schedule, relative, guard, penalty, v, scale, a, t, total, lag, weight):
    """One step a row with any penalty, O(d) each."""
    fold(v, scale, total, lag)
    for k in range(at.shape[0]):
        i, c = at[k], label[k]
        f = see(means, rows, i, c, row_dot(rows, i, v), a)
        n = means.n
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        p = n[1] / (n[0] + n[1])
        step = rate(schedule, t) * (pace(n, means.square) if relative else 1.0)
        e = 2.0 * step * (1.0 - p if c else p)
        if guard:
            e /= 1.0 + e * row_length(means, rows, i, k)
        opposite = mean_dot(means, rows, 1 - c, v)
        row_axpy(rows, i, -e * (f - opposite - (1.0 if c else -1.0)), v)
        prox(penalty, v, step * p * (1.0 - p))
        for j in range(v.shape[0]):
            total[j] += t * t * v[j]
        weight += t * t
    if t > 0.0:
        a[0], a[1] = mean_dot(means, rows, 0, v), mean_dot(means, rows, 1, v)
    return 1.0, t, 0.0, weight
