"""FSAUC: SOLAM's saddle point, met in stages of halved steps and shrinking balls."""

from typing import NamedTuple

import numpy as np

from auclid import _check, _random
from auclid._generic import kernel
from auclid._progress import CallbackSupportMixin, steps
from auclid.base import LinearRanker
from auclid.rows import row_axpy_two, row_dot
from auclid.square.solam import GENEROUS, clip, saddle_step, unit, warn_if_bound
from auclid.stats.means import survey

STEP = 0.1
"""The first stage's step, for rows of mean square length 1 and classes of one size."""


class Stage(NamedTuple):
    """What stays fixed in a stage. Lengths of (w, a, b) are measured with w in units of 1/sqrt(E|x|^2)."""

    p: float
    step: float
    size: float  # E|x|^2
    longest: float  # max |x|^2
    radius: float
    ball: float  # how far (w, a, b) may go from where the stage began
    dual: float  # how far alpha may
    start: np.ndarray  # w, where the stage began
    begun: np.ndarray  # (b, a, alpha) there


class Progress(NamedTuple):
    """What a stage changes; its iterates sum to t w - total."""

    w: np.ndarray
    saddle: np.ndarray  # (b, a, alpha)
    total: np.ndarray
    mean: np.ndarray  # the sum of (b, a, alpha)
    t: float
    norm: float  # |w|^2
    path: float  # no less than the way of w from where the stage began
    hit: float  # the last step that met the ball |w| <= radius


class FSAUC(CallbackSupportMixin, LinearRanker):
    """Fast stochastic AUC maximisation, by primal–dual steps in stages.

    Minimises the mean over pairs of (1 − w·(x⁺ − x⁻))² over the ball |w| ≤ radius. `SOLAM`'s steps on the
    saddle point in (w, a, b) and α are made in m = max(1, ⌊½ log₂(2N/log₂N)⌋ − 1) stages of N/m rows,
    N = n·n_epochs. A stage has one step size, keeps (w, a, b) in a ball of radius R_k around the point where
    it began and |α − α_k| ≤ 2√2·κR_k, κ being the length of the longest row, and returns its average. The
    next one begins there, with α = w·(μ₋ − μ₊), half the step and half of R_k; R_0 = 2√(1+2κ²)·radius.

    Parameters
    ----------
    radius : float in (0, inf) or None, default=None
        Bound of |w|. One below the length of the best w spoils the answer, and a warning says so. None is
        generous: 30/√E|x|².
    n_epochs : int, default=5
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
        Minus the threshold that maximises Youden's J on the training scores.
    radius_ : float
        The bound of |w| in use.
    classes_ : array of shape (2,)
    n_iter_ : int
        Stages made.

    Notes
    -----
    There is no `partial_fit`: the length of a stage depends on the number of rows. Steps need no tuning: rows
    are measured in units of √E|x|² (dense ones less their mean), the first step is 0.1/(4p(1−p)), and a step
    is bounded for rows that are too long for it. The paper bounds |w|₁; here it is |w|₂.

    References
    ----------
    Liu, Zhang, Chen, Wang & Yang, "Fast stochastic AUC maximization with O(1/n)-convergence rate", ICML 2018.

    Examples
    --------
    >>> from auclid import FSAUC
    >>> from auclid.datasets import load_mammography
    >>> X, y = load_mammography(return_X_y=True)
    >>> round(FSAUC(random_state=0).fit(X, y).score(X, y), 2)
    0.93
    """

    _parameter_constraints: dict = {
        "radius": [_check.real(closed="neither"), None],
        "n_epochs": [_check.at_least(1)],
        "random_state": _random.RANDOM_STATE,
    }

    def __init__(self, radius=None, *, n_epochs=5, random_state=None):
        self.radius = radius
        self.n_epochs = n_epochs
        self.random_state = random_state

    @_check.checked
    def fit(self, X, y):
        """Learn from all rows, ``n_epochs`` times over.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d)
        y : array of shape (n,), any two labels

        Returns
        -------
        self
        """
        table, is_pos, _ = self._begin_fit(X, y)
        label = is_pos.astype(np.int8)
        seen = survey(table, is_pos)._replace(inner=np.empty((0, 2)))  # products that only SPAM needs
        count = n_stages(table.shape[0] * self.n_epochs)
        orders = stage_orders(_random.generator(self.random_state), table.shape[0], self.n_epochs, count)
        stage = self._first_stage(seen)
        for number in steps(self, count, lambda: self._look(stage.start, seen), X, y):
            progress = run(table, label, next(orders), seen, stage)
            stage = following(stage, progress, seen)
            self.n_iter_ = number + 1
        seen = orders = None  # they hold several numbers a row, and finding the threshold wants some too
        self.radius_ = stage.radius
        self._publish_fit(table, is_pos, stage.start)
        warn_if_bound(self, progress.hit > 0.9 * progress.t)
        return self

    def _first_stage(self, seen):
        p, size, longest = seen.n[1] / seen.n.sum(), unit(seen.square), seen.length.max()
        radius = GENEROUS / np.sqrt(size) if self.radius is None else self.radius
        ball = 2.0 * np.sqrt(size + 2.0 * longest) * radius
        step = STEP / (4.0 * p * (1.0 - p))
        fixed = [float(x) for x in (p, step, size, longest, radius, ball, widest(ball, longest, size))]
        return Stage(*fixed, np.zeros_like(seen.centre), np.zeros(3))

    def _look(self, w, seen):
        """The fitted attributes as they would be now, for callbacks."""
        means = seen.total / seen.n[:, None]
        return {"coef_": w.reshape(1, -1), "intercept_": np.array([-w @ means.mean(axis=0)])}


def n_stages(n):
    """How many stages n samples allow."""
    return max(1, int(0.5 * np.log2(2.0 * n / np.log2(n))) - 1)


def stage_orders(rng, n, n_epochs, count):
    """The rows of each stage, in pieces: epochs in random order, end to end, cut into equal parts."""
    left = np.empty(0, dtype=np.intp)
    for _ in range(count):
        pieces, missing = [], n * n_epochs // count
        while missing:
            left = left if len(left) else _random.epoch(rng, n)
            pieces.append(left[:missing])
            left, missing = left[missing:], missing - len(pieces[-1])
        yield pieces


def widest(ball, longest, size):
    """D_k = 2 sqrt(2) kappa R_k"""
    return 2.0 * np.sqrt(2.0 * longest / size) * ball


def run(table, label, orders, seen, stage):
    """The progress of one stage over the rows of its orders."""
    w, d = stage.start.copy(), len(stage.start)
    progress = Progress(w, stage.begun.copy(), np.zeros(d), np.zeros(3), 0.0, float(w @ w), 0.0, 0.0)
    for order in orders:
        for rows, (at,), part in table.sweep(order, centre=seen.centre):
            chosen = order[part]
            t, norm, path, hit = sweep_stage(rows, at, label[chosen], seen.length[chosen], stage, *progress)
            progress = progress._replace(t=t, norm=norm, path=path, hit=hit)
    return progress


def following(stage, progress, seen):
    """The next stage begins at this one's average, with half its step and ball."""
    w, begun = progress.w - progress.total / progress.t, progress.mean / progress.t
    begun[2] = w @ (seen.mean[0] - seen.mean[1])
    ball = 0.5 * stage.ball
    dual = widest(ball, stage.longest, stage.size)
    return stage._replace(step=0.5 * stage.step, ball=ball, dual=dual, start=w, begun=begun)


@kernel
def sweep_stage(rows, at, label, length, stage, w, saddle, total, mean, t, norm, path, hit):
    """One primal-dual step a row, O(nnz) each while no ball binds and O(d) where one does."""
    for k in range(at.shape[0]):
        i, q = at[k], length[k]
        f = row_dot(rows, i, w)
        mean += saddle
        t += 1.0
        move = saddle_step(f, q, label[k], stage.p, stage.step, stage.size, True, saddle)
        row_axpy_two(rows, i, move, w, t * move, total)
        norm = max(0.0, norm + move * (2.0 * f + move * q))
        path += abs(move) * np.sqrt(q)
        if norm > stage.radius**2:
            path += np.sqrt(norm) - stage.radius
            pull(w, total, t, stage.start, 0.0, stage.radius / np.sqrt(norm))
            norm = stage.radius**2
            hit = t
        clip(saddle, stage.radius, stage.longest)
        aside = (saddle[0] - stage.begun[0]) ** 2 + (saddle[1] - stage.begun[1]) ** 2
        if stage.size * path * path + aside > stage.ball**2:
            path = distance(w, stage.start)
            far = np.sqrt(stage.size * path * path + aside)
            if far > stage.ball:
                share = stage.ball / far
                pull(w, total, t, stage.start, 1.0 - share, share)
                pull(saddle[:2], mean[:2], 0.0, stage.begun, 1.0 - share, share)
                path, norm = share * path, np.sum(w * w)
        saddle[2] = min(max(saddle[2], stage.begun[2] - stage.dual), stage.begun[2] + stage.dual)
    return t, norm, path, hit


@kernel
def pull(w, total, t, goal, a, b):
    """w <- a goal + b w, and the sum of iterates before it stays what it was."""
    for j in range(w.shape[0]):
        new = a * goal[j] + b * w[j]
        total[j] += t * (new - w[j])
        w[j] = new


@kernel
def distance(w, goal):
    """|w - goal|"""
    total = 0.0
    for j in range(w.shape[0]):
        total += (w[j] - goal[j]) ** 2
    return np.sqrt(total)
