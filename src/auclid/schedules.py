"""Step sizes as functions of the step's number t = 1, 2, ...: structs with `rate`."""

from typing import NamedTuple

import numpy as np

from auclid._generic import generic


class Constant(NamedTuple):
    """eta_t = step"""

    step: float


class Power(NamedTuple):
    """eta_t = step / t^power; power 1/2 is the usual one of stochastic gradients."""

    step: float
    power: float = 0.5


class Harmonic(NamedTuple):
    """eta_t = step / (t + shift)"""

    step: float
    shift: float = 0.0


@generic
def rate(schedule, t):
    """eta_t"""


@rate.implement(Constant)
def _(schedule, t):
    return schedule.step


@rate.implement(Power)
def _(schedule, t):
    return schedule.step / (np.sqrt(t) if schedule.power == 0.5 else t**schedule.power)  # ten times as quick


@rate.implement(Harmonic)
def _(schedule, t):
    return schedule.step / (t + schedule.shift)
