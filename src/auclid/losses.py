"""Losses of a pair's margin m = f(x+) - f(x-): structs with `value`, `slope` and the proximal step `prox_step`."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auclid._generic import generic


class Square(NamedTuple):
    """l(m) = (1 - m)^2"""


class Hinge(NamedTuple):
    """l(m) = max(0, 1 - m)"""


class SquaredHinge(NamedTuple):
    """l(m) = max(0, 1 - m)^2"""


class Logistic(NamedTuple):
    """l(m) = log(1 + exp(-m))"""


Loss: TypeAlias = Any
"""A NamedTuple with implementations of `value`, `slope`, ...: ours, or one of your own."""

LOSSES: dict[str, type[Loss]] = {"square": Square, "hinge": Hinge, "squared_hinge": SquaredHinge, "logistic": Logistic}
"""The losses by the names that estimators take."""


def as_loss(loss: str | Loss) -> Loss:
    """The struct of a loss: one of LOSSES by its name, or any other as it is.

    Examples
    --------
    >>> from auclid.losses import as_loss
    >>> as_loss("hinge")
    Hinge()
    """
    return LOSSES[loss]() if isinstance(loss, str) else loss


@generic
def value(loss, m):
    """l(m)"""


@generic
def slope(loss, m):
    """l'(m); at a kink, the right derivative: a margin of 1 is enough."""


@generic
def prox_step(loss, m, q, s):
    """The c for which w + c z = argmin_v 1/2 |v - w|^2 + s l(v . z), given m = w . z and q = |z|^2.

    Moving along a pair with q = 0 changes nothing, so c = 0 there.
    """


@value.implement(Square)
def _(loss, m):
    return (1.0 - m) ** 2


@slope.implement(Square)
def _(loss, m):
    return -2.0 * (1.0 - m)


@prox_step.implement(Square)
def _(loss, m, q, s):
    return 2.0 * s * (1.0 - m) / (1.0 + 2.0 * s * q) if q > 0.0 else 0.0


@value.implement(Hinge)
def _(loss, m):
    return max(0.0, 1.0 - m)


@slope.implement(Hinge)
def _(loss, m):
    return -1.0 if m < 1.0 else 0.0


@prox_step.implement(Hinge)
def _(loss, m, q, s):
    return min(s, max(0.0, 1.0 - m) / q) if q > 0.0 else 0.0


@value.implement(SquaredHinge)
def _(loss, m):
    return max(0.0, 1.0 - m) ** 2


@slope.implement(SquaredHinge)
def _(loss, m):
    return -2.0 * max(0.0, 1.0 - m)


@prox_step.implement(SquaredHinge)
def _(loss, m, q, s):
    return 2.0 * s * max(0.0, 1.0 - m) / (1.0 + 2.0 * s * q) if q > 0.0 else 0.0


@value.implement(Logistic)
def _(loss, m):
    return np.log1p(np.exp(-abs(m))) + max(0.0, -m)


@slope.implement(Logistic)
def _(loss, m):
    e = np.exp(-abs(m))
    return -e / (1.0 + e) if m > 0.0 else -1.0 / (1.0 + e)
