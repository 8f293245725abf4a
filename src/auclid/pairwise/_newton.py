"""Newton's method for the mean over all pairs of a loss + alpha/2 |w|^2, in any space of functions.

A *space* turns w into scores and slopes of scores back into gradients: `Linear` by products with a table, a
kernel by products with its matrix. Losses are sums of squared hinges, since one ranking of the scores serves
them all. A *goal* says which losses, and when to stop.
"""

from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy import linalg

from auclid.pairs import Pairs
from auclid.rows import as_table, sizes

WIDE = 1000
"""Columns up to which a Hessian is formed."""

PRODUCTS = 250
"""Conjugate gradient steps at the most for one Newton step."""

GUIDE_STEPS = 100
"""Newton steps at the most on a sample of the rows, which only says where to start."""


class Linear:
    """Scores X w of the rows of a table."""

    def __init__(self, table):
        self.table = table
        self.size = table.shape[1]

    def only(self, chosen):
        """The same for some of the rows."""
        return Linear(as_table(self.table.take(chosen)))

    def scores(self, w):
        """What w gives to each row."""
        return self.table.matmul(w)

    def back(self, slope):
        """The gradient by w of something that has this slope by the scores."""
        return self.table.rmatmul(slope)

    def inner(self, a, a_scores, b):
        """The inner product of a and b."""
        return a @ b

    def norm(self, a):
        """The length of a."""
        return float(np.linalg.norm(a))

    def inverse(self, point):
        """v -> nearly H^-1 v, from the Hessian at a point or, of very many columns, from its diagonal."""
        return inverse_hessian(point) if self.size <= WIDE else inverse_diagonal(point)


class Problem(NamedTuple):
    """mean over pairs of sum_k c_k (r_k - m)_+^2, plus alpha/2 |w|^2; ``parts`` are the (c_k, r_k)."""

    space: object
    pairs: Pairs
    alpha: float
    parts: tuple

    def at(self, w, score=None):
        """The problem seen from w."""
        return Point(self, w, self.space.scores(w) if score is None else score)

    def zero(self):
        """The same from w = 0, where all pairs are active: the first step from there is the square loss's."""
        return self.at(np.zeros(self.space.size), np.zeros(self.pairs.n))

    def only(self, chosen):
        """The same problem for some of the rows."""
        return self._replace(space=self.space.only(chosen), pairs=self.pairs.only(chosen))


class Point:
    """Value, slopes and curvature of a problem at one w."""

    def __init__(self, problem, w, score):
        ranked = problem.pairs.rank(score)
        self.problem, self.w, self.score, self.ranked = problem, w, score, ranked
        self.cuts = [(c, ranked.cut(margin)) for c, margin in problem.parts]

    @cached_property
    def square(self):
        """|w|^2"""
        return self.problem.space.inner(self.w, self.score, self.w)

    @cached_property
    def value(self):
        """The objective."""
        return self.over_cuts(lambda cut: cut.square_value()) + 0.5 * self.problem.alpha * self.square

    @cached_property
    def slope(self):
        """The derivatives of the mean loss by the scores."""
        return self.over_cuts(lambda cut: cut.square_slope())

    @cached_property
    def gradient(self):
        """The gradient of the objective by w."""
        return self.problem.space.back(self.slope) + self.problem.alpha * self.w

    @cached_property
    def norm(self):
        """The length of the gradient."""
        return self.problem.space.norm(self.gradient)

    def product(self, p, p_scores):
        """The Hessian times p."""
        curved = self.over_cuts(lambda cut: cut.square_product(p_scores))
        return self.problem.space.back(curved) + self.problem.alpha * p

    def over_cuts(self, function):
        """sum_k c_k function(cut_k)"""
        return sum(c * function(cut) for c, cut in self.cuts)


class Solver:
    """Newton steps on one problem.

    ``guide`` is a solver of the same problem for a sample of the rows; it says where to start.
    """

    def __init__(self, problem, guide=None):
        self.problem, self.guide = problem, guide
        self.point = problem.zero()
        self.steepest = self.point.norm
        self.goal = self.inverse = None
        self.count = 0

    def path(self, goal):
        """Yield after each Newton step until ``goal``, with its refinements, is reached or no step helps."""
        start, inverse = self.point.w, None
        if self.guide is not None:
            start, inverse, goal = self._ask_guide(goal)
        while goal is not None:
            self.goal, self.inverse = goal, inverse
            self.problem = self.problem._replace(parts=goal.parts)
            self.point = self.problem.at(start)
            while not goal.settled(self):
                if not self.step(goal.length(self)):
                    return
                yield
            goal, start, inverse = goal.refined(self), self.point.w, None

    def _ask_guide(self, goal):
        """Where to start, with which inverse, and what is left to do."""
        guide, self.guide = self.guide, None
        for _ in islice(guide.path(goal.coarse()), GUIDE_STEPS):
            pass
        return guide.point.w, guide.problem.space.inverse(guide.point), goal.after(guide.goal)

    def reached(self):
        """Whether nothing is left to do."""
        return self.goal.settled(self) and self.goal.refined(self) is None

    def step(self, length):
        """A Newton step, no more exact than a gradient of ``length`` asks; False where no step goes down."""
        accuracy = float(np.clip(0.5 * length / self.point.norm, 1e-3, 0.1))
        direction, scores, self.count = conjugate_gradients(self.point, self._inverse(), accuracy)
        point = line_search(self.point, direction, scores)
        if point is None or (point.value >= self.point.value and point.norm >= self.point.norm):
            return False
        self.point = point
        return True

    def _inverse(self):
        """Formed anew where the last one made conjugate gradients cost more than that."""
        if self.inverse is None or 5 * self.count > self.problem.space.size:
            self.inverse = self.problem.space.inverse(self.point)
        return self.inverse


def guided(problem):
    """A solver with a guide where an eighth of the rows is enough for one; the guide has its own in turn."""
    pairs = problem.pairs
    chosen = pairs.sample(max(2000, 10 * problem.space.size, pairs.n // 16))
    enough = 2 * len(chosen) < len(pairs.few) + len(pairs.many)
    return Solver(problem, guided(problem.only(chosen)) if enough else None)


def conjugate_gradients(point, inverse, accuracy):
    """p with |H p + g| <= accuracy |g|, its scores, and the products made; ``inverse`` is nearly H^-1."""
    space, rest = point.problem.space, -point.gradient
    end = accuracy * np.linalg.norm(rest)
    p, p_scores = np.zeros_like(rest), np.zeros_like(point.score)
    ahead = ahead_scores = 0.0
    before, count = np.inf, 0
    while count < PRODUCTS:
        count += 1
        z = inverse(rest)
        z_scores = space.scores(z)
        size = space.inner(z, z_scores, rest)
        ahead, ahead_scores = z + size / before * ahead, z_scores + size / before * ahead_scores
        curved = point.product(ahead, ahead_scores)
        bend = space.inner(ahead, ahead_scores, curved)
        if not (size > 0.0 and bend > 0.0):
            break
        p += size / bend * ahead
        p_scores += size / bend * ahead_scores
        rest -= size / bend * curved
        before = size
        if np.linalg.norm(rest) <= end:
            break
    return p, p_scores, count


def line_search(point, direction, scores):
    """The first point far enough down along a direction: the whole step, or shorter ones by the secant."""
    problem, space = point.problem, point.problem.space
    along = space.inner(direction, scores, point.gradient)
    rounding = 1e-14 * abs(point.value)
    step = 1.0
    while along < 0.0 and step > 1e-10:
        trial = problem.at(point.w + step * direction, point.score + step * scores)
        if trial.value <= point.value + 1e-4 * step * along + rounding:
            return trial
        bent = trial.slope @ scores + problem.alpha * space.inner(direction, scores, trial.w)
        step *= float(np.clip(along / (along - bent), 0.1, 0.7)) if bent > along else 0.1
    return None


def inverse_hessian(point):
    """v -> H^-1 v, by the Cholesky factor of the Hessian of a sample of the rows, its columns scaled.

    Rare columns can be missing from the sample: what all rows have more on the diagonal is put there.
    """
    pairs, d = point.problem.pairs, point.problem.space.size
    chosen = pairs.sample(max(1000, 5 * d, min(pairs.n // 16, sizes.LARGE_BYTES // (8 * d))))
    some = point.problem.only(chosen).at(point.w, point.score[chosen])
    H = hessian(some)
    if len(chosen) < len(pairs.few) + len(pairs.many):
        H[np.diag_indices_from(H)] += np.maximum(diagonal(point) - diagonal(some), 0.0)
    scale = 1.0 / np.sqrt(np.diag(H))
    H *= scale
    H *= scale[:, None]
    for ridge in (1e-13, 1e-10, 1e-7):
        try:
            H[np.diag_indices_from(H)] += ridge
            factor = linalg.cho_factor(H, check_finite=False)
            return lambda v: scale * linalg.cho_solve(factor, scale * v, check_finite=False)
        except linalg.LinAlgError:
            continue
    return lambda v: scale * scale * v


def hessian(point):
    """The d x d Hessian, by BLAS in blocks.

    Each row x_j of the larger class meets the sum of the first below(j) sorted rows of the smaller one. Rows
    are centred: that changes nothing but rounding.
    """
    problem, ranked, pairs = point.problem, point.ranked, point.problem.pairs
    table = problem.space.table
    centre, d = table.centre(), table.shape[1]
    rows = table.dense(ranked.rows) - centre
    H = rows.T @ (rows * (ranked.own * point.over_cuts(lambda cut: cut.partners()))[:, None])
    rows *= ranked.own[:, None]
    sums = np.zeros((len(rows) + 1, d))
    np.cumsum(rows, axis=0, out=sums[1:])
    met = np.zeros((d, d))
    for start in range(0, len(pairs.many), 4096):
        part = slice(start, start + 4096)
        block, mass = table.dense(pairs.many[part]) - centre, pairs.many_mass[part, None]
        H += block.T @ (block * (mass * point.over_cuts(lambda cut, part=part: cut.mass[part, None])))
        met += block.T @ (mass * point.over_cuts(lambda cut, part=part: sums[cut.below[part]]))
    H -= met + met.T
    H *= 2.0 / pairs.total
    H[np.diag_indices_from(H)] += problem.alpha
    return H


def inverse_diagonal(point):
    """v -> D^-1/2 v, D being the `diagonal`: D^-1 itself makes too much of words that few rows hold."""
    root = np.sqrt(diagonal(point))
    return lambda v: v / root


def diagonal(point):
    """The Hessian's diagonal as if the two rows of a pair had nothing to do with each other."""
    table, centre = point.problem.space.table, point.problem.space.table.centre()
    share = point.over_cuts(lambda cut: cut.active())
    squares = table.rmatmul_squares(share) - 2.0 * centre * table.rmatmul(share) + centre**2 * share.sum()
    return 2.0 * np.maximum(squares, 0.0) + point.problem.alpha
