"""Primal-dual steps on the square loss as a saddle point, one row a step (SOLAM).

The point is (w, a, b) and alpha; classes are numbered 0 and 1, so (b, a, alpha) is an array whose entry c belongs to
class c.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import Table
from auclid.solvers.iterate import TINY, Iterate, average, averaged, begin, fetch_ahead, renewed, scaled, step_row
from auclid.solvers.row_steps import unit_step
from auclid.solvers.stream import StreamSolver
from auclid.stats.class_means import (
    FirstPass,
    Running,
    add_scored_row,
    entered_row,
    met_row,
    midpoint,
    running,
)

ACTIVE = 0.9
"""A ball that was met after this share of the steps still binds at the end."""


class State(NamedTuple):
    """The iterate, the rest of the saddle point, and what is known of the rows."""

    iterate: Iterate
    point: np.ndarray  # (b, a, alpha)
    projections: np.ndarray  # (2,): w . mu_c
    t: float
    w_square: float  # |w|^2
    longest_square: float  # max |x|^2
    met_ball: float  # the last step that met the ball
    seen: Running


class Steps(NamedTuple):
    """How SOLAM steps."""

    zeta: float
    untuned: bool  # whether zeta is for rows of mean square length 1, with guarded steps and alpha's mean derivative
    radius: float
    relative_radius: bool  # whether the radius is for rows of mean square length 1
    alpha: float


@dataclass(frozen=True)
class Saddle(StreamSolver[State]):
    """Descent in (w, a, b) and ascent in alpha, by steps zeta / sqrt(t); the answer is the average of w."""

    steps: Steps

    def init(self, d: int, known: FirstPass | None = None) -> State:
        return State(begin(d), np.zeros(3), np.zeros(2), 0.0, 0.0, 0.0, 0.0, running(d, known))

    def update(
        self,
        table: Table,
        is_pos: np.ndarray,
        order: np.ndarray,
        state: State,
        known: FirstPass | None,
        rng: np.random.Generator,
    ) -> State:
        label = is_pos.astype(np.int8)
        for rows, (at,), part in table.sweep(order, centre=state.seen.centre):
            chosen = order[part]
            means = state.seen if known is None else known.at(chosen)
            state = sweep(rows, at, label[chosen], means, self.steps, state)
        return state

    def weights(self, state: State) -> tuple[np.ndarray, float]:
        w = average(state.iterate)
        return w, w @ midpoint(state.seen.total, state.seen.n)

    def radius(self, state: State) -> float:
        """The bound of |w| in use."""
        return float(radius_for(self.steps, unit(state.seen.mean_square)))

    def zeta(self, state: State) -> float:
        """The first step in use."""
        if not self.steps.untuned or state.seen.n.min() == 0.0:
            return self.steps.zeta
        return float(self.steps.zeta * unit_step(state.seen.n, state.seen.mean_square))

    def bound_at_end(self, state: State) -> bool:
        """Whether steps still met the ball at the end."""
        return state.met_ball > ACTIVE * state.t


@kernel
def unit(mean_square):
    """E|x|^2, or 1 where all rows are alike."""
    return mean_square[0] if mean_square[0] > 0.0 else 1.0


@kernel
def radius_for(steps, size):
    """The radius, for rows of this mean square length."""
    return steps.radius / np.sqrt(size) if steps.relative_radius else steps.radius


@kernel(allocates=False)
def sweep(rows, at, label, means, steps, state):
    """One primal-dual step a row, O(nnz) each: |w|^2 and the projections w . mu_c are kept up to date."""
    v, rest, factors, t = state.iterate.v, state.iterate.rest, state.iterate.factors, state.t
    point, m = state.point, state.projections
    w_square, longest_square, met_ball = state.w_square, state.longest_square, state.met_ball
    zeta, untuned, alpha = steps.zeta, steps.untuned, steps.alpha
    n, mean_square = means.n, means.mean_square
    for k in range(at.shape[0]):
        fetch_ahead(rows, at, k)
        i, c = at[k], label[k]
        met = met_row(means, rows, i, k, v)
        before = factors.now * met[0]
        f = add_scored_row(means, rows, i, c, before, m)
        point[0] -= before - f
        point[1] -= before - f
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        x0, x1, q = entered_row(means, rows, i, met)
        p, size = n[1] / (n[0] + n[1]), unit(mean_square)
        longest_square = max(longest_square, q)
        step = weight = zeta / np.sqrt(t)
        if untuned:
            step, weight = step / (4.0 * p * (1.0 - p)), weight * t * t
        radius = radius_for(steps, size)
        if not untuned:
            size = 1.0
        factors = averaged(factors, weight)
        dual = point[2]
        move = saddle_step(f, q, c, p, step, size, untuned, point)
        if untuned:
            point[2] = expected_ascent(dual, m, p, step)
        shrink = 1.0 / (1.0 + step / size * p * (1.0 - p) * alpha)
        if shrink < TINY:  # next to nothing of w will be left: its share of the average would drown in the row's
            factors = renewed(v, rest, factors)
        step_row(v, rest, factors, rows, i, move)
        w_square = shrink * shrink * max(0.0, w_square + move * (2.0 * f + move * q))
        if w_square > radius * radius:
            shrink *= radius / np.sqrt(w_square)
            w_square = radius * radius
            met_ball = t
        m[0] = shrink * (m[0] + move * x0)
        m[1] = shrink * (m[1] + move * x1)
        factors = scaled(factors, factors.now * shrink)
        clip(point, radius, longest_square)
        if factors.now < TINY:
            factors = renewed(v, rest, factors)
    return State(
        iterate=Iterate(v=v, rest=rest, factors=factors),
        point=point,
        projections=m,
        t=t,
        w_square=w_square,
        longest_square=longest_square,
        met_ball=met_ball,
        seen=state.seen,
    )


@kernel(allocates=False)
def saddle_step(f, q, c, p, step, size, guarded, point):
    """Move point = (b, a, alpha) for a row of class c whose score is f; returns how much of x enters w."""
    share, sign = (2.0 * (1.0 - p), 1.0) if c else (2.0 * p, -1.0)
    curve = 2.0 * p * (1.0 - p)
    primal, dual, ascent = share * step / size, share * step, step
    if guarded:
        primal /= 1.0 + primal * q
        dual /= 1.0 + dual
        ascent /= 1.0 + ascent * (curve + share)
    move = -primal * (f - point[c] - sign * (1.0 + point[2]))
    point[c] += dual * (f - point[c])
    point[2] -= ascent * (sign * share * f + curve * point[2])
    return move


@kernel(allocates=False)
def expected_ascent(alpha, projections, p, step):
    """Where alpha's mean step over all rows leads, guarded: unlike one row's, whatever the class that arrives."""
    ascent = 2.0 * p * (1.0 - p) * step
    return alpha + ascent / (1.0 + ascent) * (projections[0] - projections[1] - alpha)


@kernel(allocates=False, inner=True)
def clip(point, radius, longest_square):
    """|a|, |b| <= radius kappa and |alpha| <= 2 radius kappa, where kappa^2 = longest_square."""
    most = radius * np.sqrt(longest_square) if longest_square > 0.0 else 0.0
    point[0] = min(max(point[0], -most), most)
    point[1] = min(max(point[1], -most), most)
    point[2] = min(max(point[2], -2.0 * most), 2.0 * most)
