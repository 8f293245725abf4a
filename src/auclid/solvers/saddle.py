"""Primal-dual steps on the saddle-point form of the square loss, one row per step (SOLAM), and its duality gap.

The saddle point has the primal variables (w, a, b) and the dual variable alpha. Classes are numbered 0 and 1, and
(b, a, alpha) is one array ``aux``, whose entry c < 2 belongs to class c.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from auclid._generic import kernel
from auclid.data import RowStruct, row_dot
from auclid.solvers.averaging import (
    MIN_SCALE,
    AveragedIterate,
    add_to_average,
    average_weights,
    prefetch_ahead,
    renormalize,
    step_along_row,
    with_scale,
    zero_iterate,
)
from auclid.solvers.stream import Batch, StreamSolver
from auclid.stats.class_means import (
    ClassMeans,
    FirstPass,
    RunningMeans,
    add_scored_row,
    class_midpoint,
    empty_means,
    means_of,
    row_products,
    stable_step,
    updated_row_products,
)
from auclid.stats.moments import ClassMoments

BINDING_SHARE = 0.9
"""A constraint |w| <= radius that was active after this share of the steps counts as binding at the end."""

MIN_PUBLISHED_SCALE = 1e-2
"""The scale of w = scale v below which v is renormalised if zeta is given: projections may shrink w at every step."""

NEGLIGIBLE = 1e-12
"""Eigenvalues of a covariance below this share of the largest count as zero."""


class SaddleState(NamedTuple):
    """The iterate, the other variables of the saddle point, and running means of the rows."""

    iterate: AveragedIterate
    aux: np.ndarray  # (b, a, alpha)
    projections: np.ndarray  # (2,): w . mu_c
    t: float
    w_square: float  # |w|^2
    max_row_square: float  # max |x|^2
    last_projection: float  # the last step that was projected onto the ball |w| <= radius
    aux_sum: np.ndarray  # (3,): the sum of aux over the steps, weighted as the average of w; rows from today's centre
    means: RunningMeans


class SaddlePoint(NamedTuple):
    """Averaged variables of the saddle point, for rows that are not centred."""

    a: float
    b: float
    dual: float


class SaddleSteps(NamedTuple):
    """Step sizes and constraints of SOLAM."""

    zeta: float
    automatic: bool  # whether zeta is for rows of mean square length 1, with guarded steps and alpha's mean derivative
    radius: float
    relative_radius: bool  # whether the radius is for rows of mean square length 1
    alpha: float


@dataclass(frozen=True)
class SaddleSolver(StreamSolver[SaddleState]):
    """Descent in (w, a, b) and ascent in alpha, with steps zeta / sqrt(t); the answer is the average of w.

    If the steps are not automatic, the share of positives is that of the rows so far, and the first row makes a step.
    """

    steps: SaddleSteps
    centred: bool = True  # whether dense rows are centred

    def init(self, d: int) -> SaddleState:
        return _initial_state(empty_means(d))

    def init_fit(self, summary: FirstPass) -> SaddleState:
        return _initial_state(means_of(summary))

    def update(self, batch: Batch, state: SaddleState) -> SaddleState:
        for rows, at, label, numbers in batch.chunks(state.means.centre if self.centred else None):
            means = state.means if batch.summary is None else batch.summary.means_for(numbers)
            state = sweep_saddle(rows, at, label, means, self.steps, state)
        return state

    def weights(self, state: SaddleState) -> tuple[np.ndarray, float]:
        w = average_weights(state.iterate)
        return w, w @ class_midpoint(state.means.total, state.means.n)

    def averages(self, state: SaddleState) -> SaddlePoint:
        """The averages of a, b and alpha, weighted as that of w."""
        weight = state.iterate.factors.weight
        b, a, dual = (state.aux_sum / weight if weight > 0.0 else state.aux).tolist()
        offset = float(average_weights(state.iterate) @ state.means.centre)
        return SaddlePoint(a + offset, b + offset, dual)

    def radius(self, state: SaddleState) -> float:
        """The bound of |w| in use."""
        return float(scaled_radius(self.steps, row_scale(state.means.mean_square)))

    def zeta(self, state: SaddleState) -> float:
        """The first step size in use."""
        if not self.steps.automatic or state.means.n.min() == 0.0:
            return self.steps.zeta
        return float(self.steps.zeta * stable_step(state.means.n, state.means.mean_square))

    def is_binding(self, state: SaddleState) -> bool:
        """Whether steps were still projected onto the ball at the end."""
        return state.last_projection > BINDING_SHARE * state.t


def _initial_state(means: RunningMeans) -> SaddleState:
    iterate = zero_iterate(len(means.centre))
    return SaddleState(iterate, np.zeros(3), np.zeros(2), 0.0, 0.0, 0.0, 0.0, np.zeros(3), means)


@kernel(inner=True)
def row_scale(mean_square: np.ndarray) -> float:
    """E|x|^2, or 1 if it is zero."""
    return mean_square[0] if mean_square[0] > 0.0 else 1.0


@kernel(inner=True)
def scaled_radius(steps: SaddleSteps, size: float) -> float:
    """The radius for rows of this mean square length."""
    return steps.radius / np.sqrt(size) if steps.relative_radius else steps.radius


@kernel(inner=True)
def larger(a: float, b: float) -> float:
    """max(a, b), which would take longer to compile."""
    return a if a > b else b


@kernel(allocates=False, inner=True)
def add_multiple(total: np.ndarray, factor: float, values: np.ndarray) -> None:
    """total += factor * values, in place."""
    for k in range(total.shape[0]):
        total[k] += factor * values[k]


@kernel(allocates=False)
def sweep_saddle(
    rows: RowStruct, at: np.ndarray, label: np.ndarray, means: ClassMeans, steps: SaddleSteps, state: SaddleState
) -> SaddleState:
    """One primal-dual step per row, in O(nnz); |w|^2 and the projections w . mu_c are updated along."""
    v, rest, factors, t = state.iterate.v, state.iterate.rest, state.iterate.factors, state.t
    aux, aux_sum, m = state.aux, state.aux_sum, state.projections
    w_square, max_row_square, last_projection = state.w_square, state.max_row_square, state.last_projection
    zeta, automatic, alpha = steps.zeta, steps.automatic, steps.alpha
    n, mean_square = means.n, means.mean_square
    min_scale = MIN_SCALE if automatic else MIN_PUBLISHED_SCALE
    for k in range(at.shape[0]):
        prefetch_ahead(rows, at, k)
        i, c = at[k], label[k]
        products = row_products(means, rows, i, k, v)
        before = factors.scale * products[0]
        score = add_scored_row(means, rows, i, c, before, m)
        if before != score:  # the centre has moved
            aux[0] -= before - score
            aux[1] -= before - score
            moved = factors.sum_scale * row_dot(rows, i, v) + row_dot(rows, i, rest)
            aux_sum[0] -= moved / (n[0] + n[1] - 1.0)
            aux_sum[1] -= moved / (n[0] + n[1] - 1.0)
        if automatic and (n[0] == 0.0 or n[1] == 0.0):
            continue
        t += 1.0
        x0, x1, q = updated_row_products(means, rows, i, products)
        p, size = n[1] / (n[0] + n[1]), row_scale(mean_square)
        max_row_square = larger(q, max_row_square)
        radius = scaled_radius(steps, size)
        step = weight = zeta / np.sqrt(t)
        if automatic:
            step, weight = step / (4.0 * p * (1.0 - p)), weight * t * t
        else:
            size = 1.0
        factors = add_to_average(factors, weight)
        add_multiple(aux_sum, weight, aux)
        dual = aux[2]
        move = saddle_step(score, q, c, p, step, size, automatic, aux)
        if automatic:
            aux[2] = expected_ascent(dual, m, p, step)
        shrink = 1.0 / (1.0 + step / size * p * (1.0 - p) * alpha)
        if shrink < min_scale:  # w nearly vanishes: rounding of the row's part would swamp its share of the average
            factors = renormalize(v, rest, factors)
        step_along_row(v, rest, factors, rows, i, move)
        w_square = shrink * shrink * larger(w_square + move * (2.0 * score + move * q), 0.0)
        if w_square > radius * radius:
            shrink *= radius / np.sqrt(w_square)
            w_square = radius * radius
            last_projection = t
        m[0] = shrink * (m[0] + move * x0)
        m[1] = shrink * (m[1] + move * x1)
        factors = with_scale(factors, factors.scale * shrink)
        clip_aux(aux, radius, max_row_square)
        if factors.scale < min_scale:
            factors = renormalize(v, rest, factors)
    return SaddleState(
        iterate=AveragedIterate(v=v, rest=rest, factors=factors),
        aux=aux,
        projections=m,
        t=t,
        w_square=w_square,
        max_row_square=max_row_square,
        last_projection=last_projection,
        aux_sum=aux_sum,
        means=state.means,
    )


@kernel(allocates=False, inner=True)
def saddle_step(
    score: float, q: float, c: int, p: float, step: float, size: float, guarded: bool, aux: np.ndarray
) -> float:
    """Update aux = (b, a, alpha) for a row x of class c with |x|^2 = q; returns the coefficient of x in the step of w.

    Steps of w are divided by ``size``; ``guarded`` bounds the steps of long rows.
    """
    share, sign = (2.0 * (1.0 - p), 1.0) if c else (2.0 * p, -1.0)
    curvature = 2.0 * p * (1.0 - p)
    primal, dual, ascent = share * step / size, share * step, step
    if guarded:
        primal /= 1.0 + primal * q
        dual /= 1.0 + dual
        ascent /= 1.0 + ascent * (curvature + share)
    move = -primal * (score - aux[c] - sign * (1.0 + aux[2]))
    aux[c] += dual * (score - aux[c])
    aux[2] -= ascent * (sign * share * score + curvature * aux[2])
    return move


@kernel(allocates=False, inner=True)
def expected_ascent(alpha: float, projections: np.ndarray, p: float, step: float) -> float:
    """alpha after a guarded step along its mean derivative over all rows, which does not depend on the row's class."""
    ascent = 2.0 * p * (1.0 - p) * step
    return alpha + ascent / (1.0 + ascent) * (projections[0] - projections[1] - alpha)


@kernel(allocates=False, inner=True)
def clip_aux(aux: np.ndarray, radius: float, max_row_square: float) -> None:
    """Enforce |a|, |b| <= radius kappa and |alpha| <= 2 radius kappa, where kappa^2 = max_row_square."""
    bound = radius * np.sqrt(max_row_square) if max_row_square > 0.0 else 0.0
    for k in range(3):
        limit = 2.0 * bound if k == 2 else bound
        if abs(aux[k]) > limit:
            aux[k] = limit if aux[k] > 0.0 else -limit


class SaddleProblem(NamedTuple):
    """The saddle function f(w, a, b, dual) of SOLAM, and its constraints |w| <= radius and |dual| <= dual_bound.

    With p the share of positives, means and covariances of both classes, and the penalty alpha, f is p(1-p) times

        w.S w + (w.mu+ - a)^2 + (w.mu- - b)^2 - 2 (1 + dual) w.delta - dual^2 + alpha/2 |w|^2,

    where S is the sum of the covariances and delta = mu+ - mu-.
    """

    moments: ClassMoments
    alpha: float
    radius: float
    dual_bound: float

    @property
    def _share(self) -> float:
        """p (1 - p)"""
        pos, neg = self.moments.pos.n, self.moments.neg.n
        return float(pos * neg / (pos + neg) ** 2)

    def highest(self, w: np.ndarray, a: float, b: float) -> float:
        """The maximum of f over the dual variable."""
        moments, apart = self.moments, float(w @ self.moments.delta)
        dual = float(np.clip(-apart, -self.dual_bound, self.dual_bound))
        misses = (w @ moments.pos.mean - a) ** 2 + (w @ moments.neg.mean - b) ** 2
        spread = w @ moments.within @ w + 0.5 * self.alpha * w @ w
        return self._share * float(spread + misses - 2.0 * (1.0 + dual) * apart - dual**2)

    def lowest(self, dual: float) -> float:
        """The minimum of f over (w, a, b), minus infinity if there is none.

        The best a and b are w.mu+ and w.mu-, which keep to their bounds for every |w| <= radius.
        """
        values, vectors = linalg.eigh(self.moments.within)
        values = np.maximum(values, 0.0) + 0.5 * self.alpha
        b = (1.0 + dual) * (vectors.T @ self.moments.delta)
        null = values <= NEGLIGIBLE * max(values[-1], 1e-300)
        if np.isinf(self.radius) and np.linalg.norm(b[null]) > NEGLIGIBLE * np.linalg.norm(b):
            return -np.inf
        w = b / (values + self._multiplier(np.where(null, 0.0, values), b))
        w[~np.isfinite(w)] = 0.0
        return self._share * float(values @ w**2 - 2.0 * b @ w - dual**2)

    def _multiplier(self, values: np.ndarray, b: np.ndarray) -> float:
        """The multiplier of |w| <= radius at the minimum of w.values w - 2 b.w: zero if the bound is idle."""

        def excess(multiplier: float) -> float:
            with np.errstate(divide="ignore", invalid="ignore"):
                w = np.where(b == 0.0, 0.0, b / (values + multiplier))
            return float(np.linalg.norm(w)) - self.radius

        if excess(0.0) <= 0.0:
            return 0.0
        high = float(np.linalg.norm(b)) / self.radius
        return float(optimize.brentq(excess, 0.0 if np.isfinite(excess(0.0)) else 1e-16 * high, high, xtol=1e-300))


def duality_gap(problem: SaddleProblem, w: np.ndarray, a: float, b: float, dual: float) -> float:
    """max over the dual variable of f(w, a, b, .) minus min over (w, a, b) of f(., dual): zero at a saddle point."""
    return problem.highest(w, a, b) - problem.lowest(dual)
