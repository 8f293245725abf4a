"""What the sweeps of SPAM share: their state, how they step, and the step that a row can bear."""

from typing import Any, NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.schedules import rate
from auclid.solvers.iterate import Iterate
from auclid.stats.class_means import Running


class Clock(NamedTuple):
    """What an elastic net did to all columns since their v was written: w_j = P (v_j - sign(v_j) Q).

    The weighted sum of the iterates is A v_j - B sign(v_j) + rest_j. With another penalty P = 1 and the rest is zero.
    """

    P: float
    Q: float
    A: float
    B: float


class State(NamedTuple):
    """The iterate, its products with the class means, the steps made, and what is known of the rows."""

    iterate: Iterate
    projections: np.ndarray  # (2,): w . mu_c
    t: float
    seen: Running
    clock: Clock
    sums: np.ndarray  # (2, 2): of v_j and of sign(v_j), times the sums of each class, while the clock runs


class Steps(NamedTuple):
    """How SPAM steps."""

    schedule: Any
    relative: bool  # whether the schedule is in units of `unit_step`
    guarded: bool  # whether steps along long rows are bounded
    penalty: Any


@kernel(inner=True)
def sign(x):
    """-1, 0 or 1"""
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


@kernel
def settle(v, rest, clock):
    """v <- w and rest <- the weighted sum of the iterates, so that the clock stands at its beginning."""
    if clock.A > 0.0:
        for j in range(v.shape[0]):
            s = sign(v[j])
            rest[j] += clock.A * v[j] - clock.B * s
            v[j] = clock.P * (v[j] - s * clock.Q)
    return Clock(P=1.0, Q=0.0, A=0.0, B=0.0)


def settled(state: State) -> State:
    """The state with its clock at the beginning; the iterate changes in place."""
    if state.clock.A == 0.0:
        return state
    return state._replace(clock=settle(state.iterate.v, state.iterate.rest, state.clock))


@kernel
def unit_step(n, mean_square):
    """1 / (4 p (1-p) E|x|^2): the step (learning rate) that a row of average length can bear."""
    p = n[1] / (n[0] + n[1])
    size = 4.0 * p * (1.0 - p) * mean_square[0]
    return 1.0 / size if size > 0.0 else 1.0


@kernel(inner=True)
def row_step(steps, n, mean_square, t, c):
    """2 eta (1-p) or 2 eta p, for the step eta of time t and a row of class c; and how far the penalty reaches."""
    p = n[1] / (n[0] + n[1])
    step = rate(steps.schedule, t) * (unit_step(n, mean_square) if steps.relative else 1.0)
    return 2.0 * step * (1.0 - p if c else p), step * p * (1.0 - p)


@kernel(inner=True)
def row_move(e, f, opposite, c):
    """How much of a row of class c and score f enters w by SPAM's gradient; w . mu of the other class is `opposite`."""
    return -e * (f - opposite - (1.0 if c else -1.0))
