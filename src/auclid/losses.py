"""Losses of a pair's margin m = f(x+) - f(x-): structs with `value`, `slope` and more, as methods ask for it."""

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


@generic
def curvature(loss, m):
    """l''(m), where that exists."""


@generic
def hinges(loss):
    """The (c, r) of l(m) = sum c max(0, r - m)^2: sums over all pairs of such a loss take O(n log n)."""


@generic
def smooth(loss):
    """(strip, reach): l is analytic where |Im m| < strip, and a straight line, to rounding, where |m| > reach.

    Sums over all pairs of such a loss take O(n), to rounding.
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


@curvature.implement(Square)
def _(loss, m):
    return 2.0


@curvature.implement(SquaredHinge)
def _(loss, m):
    return 2.0 if m < 1.0 else 0.0


@curvature.implement(Logistic)
def _(loss, m):
    e = np.exp(-abs(m))
    return e / (1.0 + e) ** 2


@hinges.implement(SquaredHinge)
def _(loss):
    return ((1.0, 1.0),)


@smooth.implement(Logistic)
def _(loss):
    return np.pi, 45.0
