"""Penalties of a weight vector: structs with `penalty_value` and a proximal step `prox`."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auclid._generic import generic


class L2(NamedTuple):
    """Omega(w) = (l2 / 2) |w|^2"""

    l2: float


class ElasticNet(NamedTuple):
    """Omega(w) = l1 |w|_1 + (l2 / 2) |w|^2"""

    l1: float
    l2: float


class Ball(NamedTuple):
    """Omega(w) = 0 where |w| <= radius, infinite elsewhere."""

    radius: float


Penalty: TypeAlias = Any
"""A NamedTuple with implementations of `penalty_value` and `prox`: one of this module, or a user's own."""


@generic
def penalty_value(penalty: Penalty, w: np.ndarray) -> float:
    """The penalty Omega(w) of weights w."""


@generic
def prox(penalty: Penalty, w: np.ndarray, step: float) -> None:
    """The proximal step of a penalty: w <- argmin_v 1/2 |v - w|^2 + step Omega(v), written into w.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.penalties import L2, prox
    >>> w = np.array([3.0, -1.5])
    >>> prox(L2(1.0), w, 0.5)
    >>> w
    array([ 2., -1.])
    """


@penalty_value.implement(L2)
def _(penalty: L2, w: np.ndarray) -> float:
    return 0.5 * penalty.l2 * np.sum(w * w)


@prox.implement(L2)
def _(penalty: L2, w: np.ndarray, step: float) -> None:
    shrink = 1.0 / (1.0 + step * penalty.l2)
    for k in range(w.shape[0]):
        w[k] *= shrink


@penalty_value.implement(ElasticNet)
def _(penalty: ElasticNet, w: np.ndarray) -> float:
    return penalty.l1 * np.sum(np.abs(w)) + 0.5 * penalty.l2 * np.sum(w * w)


@prox.implement(ElasticNet)
def _(penalty: ElasticNet, w: np.ndarray, step: float) -> None:
    cut, shrink = step * penalty.l1, 1.0 / (1.0 + step * penalty.l2)
    for k in range(w.shape[0]):
        size = abs(w[k]) - cut
        w[k] = shrink * (size if w[k] > 0.0 else -size) if size > 0.0 else 0.0


@penalty_value.implement(Ball)
def _(penalty: Ball, w: np.ndarray) -> float:
    return 0.0 if np.sqrt(np.sum(w * w)) <= penalty.radius * (1.0 + 1e-12) else np.inf


@prox.implement(Ball)
def _(penalty: Ball, w: np.ndarray, step: float) -> None:
    norm = np.sqrt(np.sum(w * w))
    if norm > penalty.radius:
        w *= penalty.radius / norm
