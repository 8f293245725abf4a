"""Stochastic proximal steps on the square loss, one row a step (SPAM)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from auclid._generic import kernel
from auclid.data import CSR, Table, row_axpy, row_dot
from auclid.penalties import L2, ElasticNet, prox
from auclid.solvers.iterate import (
    TINY,
    Iterate,
    average,
    averaged,
    begin,
    current,
    fetch_ahead,
    renewed,
    scaled,
    step_row,
)
from auclid.solvers.row_steps import Clock, State, Steps, row_move, row_step, settled, unit_step
from auclid.solvers.stream import StreamSolver, copied
from auclid.solvers.thresholded import sweep_thresholded
from auclid.stats.class_means import (
    FirstPass,
    add_scored_row,
    entered_row,
    mean_score,
    met_row,
    midpoint,
    running,
    square_length,
)


@dataclass(frozen=True)
class Proximal(StreamSolver[State]):
    """w <- prox of the penalty at w - eta g, for the gradient g of one row; the answer is w or its average."""

    steps: Steps
    average: bool

    def init(self, d: int, known: FirstPass | None = None) -> State:
        return State(begin(d), np.zeros(2), 0.0, running(d, known), Clock(1.0, 0.0, 0.0, 0.0), np.zeros((2, 2)))

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
            sweep = self._sweep(rows)
            state = state if sweep is sweep_thresholded else settled(state)
            state = sweep(rows, at, label[chosen], means, self.steps, state)
        return state

    def _sweep(self, rows: Any) -> Callable[..., State]:
        """O(nnz of the row) a step where penalty and rows allow it: a dense row meets every column anyway."""
        penalty = type(self.steps.penalty)
        if penalty is L2:
            return sweep_l2
        return sweep_thresholded if penalty is ElasticNet and isinstance(rows, CSR) else sweep_any

    def weights(self, state: State) -> tuple[np.ndarray, float]:
        iterate = settled(state._replace(iterate=copied(state.iterate))).iterate
        w = average(iterate) if self.average else current(iterate)
        return w, w @ midpoint(state.seen.total, state.seen.n)

    def schedule(self, state: State) -> Any:
        """The step sizes in use, at the share of positives and E|x|^2 seen last."""
        schedule, seen = self.steps.schedule, state.seen
        if not self.steps.relative or seen.n.min() == 0.0:
            return schedule
        return schedule._replace(step=schedule.step * unit_step(seen.n, seen.mean_square))


@kernel(allocates=False)
def sweep_l2(rows, at, label, means, steps, state):
    """One step a row with an L2 penalty, O(nnz) each: the projections w . mu_c are kept up to date."""
    v, rest, factors, a, t = state.iterate.v, state.iterate.rest, state.iterate.factors, state.projections, state.t
    guarded, l2, n, mean_square = steps.guarded, steps.penalty.l2, means.n, means.mean_square
    for k in range(at.shape[0]):
        fetch_ahead(rows, at, k)
        i, c = at[k], label[k]
        met = met_row(means, rows, i, k, v)
        f = add_scored_row(means, rows, i, c, factors.now * met[0], a)
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        e, reach = row_step(steps, n, mean_square, t, c)
        x0, x1, square = entered_row(means, rows, i, met)
        if guarded:
            e /= 1.0 + e * square
        move = row_move(e, f, a[1 - c], c)
        shrink = 1.0 / (1.0 + reach * l2)
        step_row(v, rest, factors, rows, i, move)
        a[0] = shrink * (a[0] + move * x0)
        a[1] = shrink * (a[1] + move * x1)
        factors = averaged(scaled(factors, factors.now * shrink), t * t)
        if factors.now < TINY:
            factors = renewed(v, rest, factors)
    iterate = Iterate(v=v, rest=rest, factors=factors)
    return State(iterate=iterate, projections=a, t=t, seen=state.seen, clock=state.clock, sums=state.sums)


@kernel
def sweep_any(rows, at, label, means, steps, state):
    """One step a row with any penalty, O(d) each."""
    v, rest, a, t = state.iterate.v, state.iterate.rest, state.projections, state.t
    guarded, penalty, n, mean_square = steps.guarded, steps.penalty, means.n, means.mean_square
    factors = renewed(v, rest, state.iterate.factors)
    for k in range(at.shape[0]):
        fetch_ahead(rows, at, k)
        i, c = at[k], label[k]
        f = add_scored_row(means, rows, i, c, row_dot(rows, i, v), a)
        if n[0] == 0.0 or n[1] == 0.0:
            continue
        t += 1.0
        e, reach = row_step(steps, n, mean_square, t, c)
        if guarded:
            e /= 1.0 + e * square_length(means, rows, i, k)
        row_axpy(rows, i, row_move(e, f, mean_score(means, rows, 1 - c, v), c), v)
        prox(penalty, v, reach)
        factors = averaged(factors, t * t)
        factors = renewed(v, rest, factors)
    if t > 0.0:
        a[0], a[1] = mean_score(means, rows, 0, v), mean_score(means, rows, 1, v)
    iterate = Iterate(v=v, rest=rest, factors=factors)
    return State(iterate=iterate, projections=a, t=t, seen=state.seen, clock=state.clock, sums=state.sums)
