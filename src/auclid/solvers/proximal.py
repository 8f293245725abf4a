"""Stochastic proximal steps on the square loss, one row a step (SPAM)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.penalties import L2, prox
from auclid.rows import Table, row_axpy, row_dot
from auclid.schedules import rate
from auclid.solvers.iterate import TINY, Iterate, average, averaged, begin, current, renewed, scaled, step_row
from auclid.solvers.stream import StreamSolver
from auclid.stats.class_means import (
    FirstPass,
    Running,
    add_scored_row,
    mean_product,
    mean_score,
    midpoint,
    running,
    square_length,
)


class State(NamedTuple):
    """The iterate, its products with the class means, the steps made, and what is known of the rows."""

    iterate: Iterate
    projections: np.ndarray  # (2,): w . mu_c
    t: float
    seen: Running


class Steps(NamedTuple):
    """How SPAM steps."""

    schedule: Any
    relative: bool  # whether the schedule is in units of `unit_step`
    guarded: bool  # whether steps along long rows are bounded
    penalty: Any


@dataclass(frozen=True)
class Proximal(StreamSolver[State]):
    """w <- prox of the penalty at w - eta g, for the gradient g of one row; the answer is w or its average."""

    steps: Steps
    average: bool

    def init(self, d: int, known: FirstPass | None = None) -> State:
        return State(begin(d), np.zeros(2), 0.0, running(d, known))

    def update(
        self,
        table: Table,
        is_pos: np.ndarray,
        order: np.ndarray,
        state: State,
        known: FirstPass | None,
        rng: np.random.Generator,
    ) -> State:
        label, sweep = is_pos.astype(np.int8), sweep_l2 if type(self.steps.penalty) is L2 else sweep_any
        for rows, (at,), part in table.sweep(order, centre=state.seen.centre):
            chosen = order[part]
            means = state.seen if known is None else known.at(chosen)
            state = sweep(rows, at, label[chosen], means, self.steps, state)
        return state

    def weights(self, state: State) -> tuple[np.ndarray, float]:
        w = average(state.iterate) if self.average else current(state.iterate)
        return w, w @ midpoint(state.seen.total, state.seen.n)

    def schedule(self, state: State) -> Any:
        """The step sizes in use, at the share of positives and E|x|^2 seen last."""
        schedule, seen = self.steps.schedule, state.seen
        if not self.steps.relative or seen.n.min() == 0.0:
            return schedule
        return schedule._replace(step=schedule.step * unit_step(seen.n, seen.mean_square))


@kernel
def unit_step(n, mean_square):
    """1 / (4 p (1-p) E|x|^2): the step (learning rate) that a row of average length can bear."""
    p = n[1] / (n[0] + n[1])
    size = 4.0 * p * (1.0 - p) * mean_square[0]
    return 1.0 / size if size > 0.0 else 1.0


@kernel
def sweep_l2(rows, at, label, means, steps, state):
    """One step a row with an L2 penalty, O(nnz) each: the projections w . mu_c are kept up to date."""
    v, rest, factors, a, t = state.iterate.v, state.iterate.rest, state.iterate.factors, state.projections, state.t
    schedule, relative, guarded, l2 = steps.schedule, steps.relative, steps.guarded, steps.penalty.l2
    n, mean_square = means.n, means.mean_square
    for k in range(at.shape[0]):
        i, c = at[k], label[k]
        f = add_scored_row(means, rows, i, c, factors.now * row_dot(rows, i, v), a)
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        p = n[1] / (n[0] + n[1])
        step = rate(schedule, t) * (unit_step(n, mean_square) if relative else 1.0)
        e = 2.0 * step * (1.0 - p if c else p)
        if guarded:
            e /= 1.0 + e * square_length(means, rows, i, k)
        move = -e * (f - a[1 - c] - (1.0 if c else -1.0))
        shrink = 1.0 / (1.0 + step * p * (1.0 - p) * l2)
        step_row(v, rest, factors, rows, i, move)
        a[0] = shrink * (a[0] + move * mean_product(means, rows, i, k, 0))
        a[1] = shrink * (a[1] + move * mean_product(means, rows, i, k, 1))
        factors = averaged(scaled(factors, factors.now * shrink), t * t)
        if factors.now < TINY:
            factors = renewed(v, rest, factors)
    return State(iterate=Iterate(v=v, rest=rest, factors=factors), projections=a, t=t, seen=state.seen)


@kernel
def sweep_any(rows, at, label, means, steps, state):
    """One step a row with any penalty, O(d) each."""
    v, rest, a, t = state.iterate.v, state.iterate.rest, state.projections, state.t
    schedule, relative, guarded, penalty = steps.schedule, steps.relative, steps.guarded, steps.penalty
    n, mean_square = means.n, means.mean_square
    factors = renewed(v, rest, state.iterate.factors)
    for k in range(at.shape[0]):
        i, c = at[k], label[k]
        f = add_scored_row(means, rows, i, c, row_dot(rows, i, v), a)
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        p = n[1] / (n[0] + n[1])
        step = rate(schedule, t) * (unit_step(n, mean_square) if relative else 1.0)
        e = 2.0 * step * (1.0 - p if c else p)
        if guarded:
            e /= 1.0 + e * square_length(means, rows, i, k)
        opposite = mean_score(means, rows, 1 - c, v)
        row_axpy(rows, i, -e * (f - opposite - (1.0 if c else -1.0)), v)
        prox(penalty, v, step * p * (1.0 - p))
        factors = averaged(factors, t * t)
        factors = renewed(v, rest, factors)
    if t > 0.0:
        a[0], a[1] = mean_score(means, rows, 0, v), mean_score(means, rows, 1, v)
    return State(iterate=Iterate(v=v, rest=rest, factors=factors), projections=a, t=t, seen=state.seen)
