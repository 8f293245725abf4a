"""Losses of a pair's margin m = f(x+) - f(x-): structs with `value`, `slope` and whatever else a method requires."""

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
"""A NamedTuple with implementations of `value`, `slope`, ...: one of this module, or a user's own."""

LOSSES: dict[str, type[Loss]] = {"square": Square, "hinge": Hinge, "squared_hinge": SquaredHinge, "logistic": Logistic}
"""The losses by the names that estimators take."""


def as_loss(loss: str | Loss) -> Loss:
    """The struct of a loss: looked up in LOSSES by its name, or returned as it is.

    Examples
    --------
    >>> from auclid.losses import as_loss
    >>> as_loss("hinge")
    Hinge()
    """
    return LOSSES[loss]() if isinstance(loss, str) else loss


@generic
def value(loss: Loss, m: float) -> float:
    """The loss l(m) of a pair whose margin, the score of the positive less that of the negative, is m.

    Examples
    --------
    >>> from auclid.losses import SquaredHinge, value
    >>> value(SquaredHinge(), 0.5)
    0.25
    """


@generic
def slope(loss: Loss, m: float) -> float:
    """The derivative l'(m) of a loss; at a kink the right derivative, so a hinge has slope 0 at the margin 1.

    Examples
    --------
    >>> from auclid.losses import SquaredHinge, slope
    >>> slope(SquaredHinge(), 0.5)
    -1.0
    """


@generic
def prox_step(loss: Loss, m: float, q: float, s: float) -> float:
    """The c for which w + c z = argmin_v 1/2 |v - w|^2 + s l(v . z), given m = w . z and q = |z|^2.

    A pair with q = 0 has c = 0, since moving along it changes nothing.
    """


@generic
def curvature(loss: Loss, m: float) -> float:
    """The second derivative l''(m) of a loss; at a kink the right derivative of the slope.

    Examples
    --------
    >>> from auclid.losses import Square, curvature
    >>> curvature(Square(), 0.5)
    2.0
    """


@generic
def hinges(loss: Loss) -> tuple[tuple[float, float], ...]:
    """The terms (c, r) of l(m) = sum c max(0, r - m)^2.

    Sums of such a loss over all pairs take O(n log n).
    """


@generic
def smooth(loss: Loss) -> tuple[float, float]:
    """(strip, reach): l is analytic for |Im m| < strip, and linear to rounding for |m| > reach.

    Sums of such a loss over all pairs take O(n), exact to rounding.
    """


@value.implement(Square)
def _(loss: Square, m: float) -> float:
    return (1.0 - m) ** 2


@slope.implement(Square)
def _(loss: Square, m: float) -> float:
    return -2.0 * (1.0 - m)


@prox_step.implement(Square)
def _(loss: Square, m: float, q: float, s: float) -> float:
    return 2.0 * s * (1.0 - m) / (1.0 + 2.0 * s * q) if q > 0.0 else 0.0


@value.implement(Hinge)
def _(loss: Hinge, m: float) -> float:
    return max(0.0, 1.0 - m)


@slope.implement(Hinge)
def _(loss: Hinge, m: float) -> float:
    return -1.0 if m < 1.0 else 0.0


@prox_step.implement(Hinge)
def _(loss: Hinge, m: float, q: float, s: float) -> float:
    return min(s, max(0.0, 1.0 - m) / q) if q > 0.0 else 0.0


@value.implement(SquaredHinge)
def _(loss: SquaredHinge, m: float) -> float:
    return max(0.0, 1.0 - m) ** 2


@slope.implement(SquaredHinge)
def _(loss: SquaredHinge, m: float) -> float:
    return -2.0 * max(0.0, 1.0 - m)


@prox_step.implement(SquaredHinge)
def _(loss: SquaredHinge, m: float, q: float, s: float) -> float:
    return 2.0 * s * max(0.0, 1.0 - m) / (1.0 + 2.0 * s * q) if q > 0.0 else 0.0


@value.implement(Logistic)
def _(loss: Logistic, m: float) -> float:
    return np.log1p(np.exp(-abs(m))) + max(0.0, -m)


@slope.implement(Logistic)
def _(loss: Logistic, m: float) -> float:
    e = np.exp(-abs(m))
    return -e / (1.0 + e) if m > 0.0 else -1.0 / (1.0 + e)


@curvature.implement(Square)
def _(loss: Square, m: float) -> float:
    return 2.0


@curvature.implement(SquaredHinge)
def _(loss: SquaredHinge, m: float) -> float:
    return 2.0 if m < 1.0 else 0.0


@curvature.implement(Logistic)
def _(loss: Logistic, m: float) -> float:
    e = np.exp(-abs(m))
    return e / (1.0 + e) ** 2


@hinges.implement(SquaredHinge)
def _(loss: SquaredHinge) -> tuple[tuple[float, float], ...]:
    return ((1.0, 1.0),)


@smooth.implement(Logistic)
def _(loss: Logistic) -> tuple[float, float]:
    return np.pi, 45.0
