"""Step sizes as functions of the step number t = 1, 2, ...: structs with `rate`."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auclid._generic import generic


class Constant(NamedTuple):
    """eta_t = step"""

    step: float


class Power(NamedTuple):
    """eta_t = step / t^power; power 1/2 is usual for stochastic gradients."""

    step: float
    power: float = 0.5


class Harmonic(NamedTuple):
    """eta_t = step / (t + shift)"""

    step: float
    shift: float = 0.0


Schedule: TypeAlias = Any
"""A NamedTuple with an implementation of `rate`: one of this module, or a user's own."""


@generic
def rate(schedule: Schedule, t: float) -> float:
    """The step size eta_t of a schedule at step t = 1, 2, ...

    Examples
    --------
    >>> from auclid.schedules import Power, rate
    >>> rate(Power(2.0, 1.0), 4.0)
    0.5
    """


@rate.implement(Constant)
def _(schedule: Constant, t: float) -> float:
    return schedule.step


@rate.implement(Power)
def _(schedule: Power, t: float) -> float:
    return schedule.step / (np.sqrt(t) if schedule.power == 0.5 else t**schedule.power)  # sqrt is ten times as fast


@rate.implement(Harmonic)
def _(schedule: Harmonic, t: float) -> float:
    return schedule.step / (t + schedule.shift)
