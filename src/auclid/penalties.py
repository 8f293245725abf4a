"""Penalties of a weight vector: structs with `penalty_value` and a proximal step `prox`."""

from typing import NamedTuple

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


@generic
def penalty_value(penalty, w):
    """Omega(w)"""


@generic
def prox(penalty, w, step):
    """w <- argmin_v 1/2 |v - w|^2 + step Omega(v), in place."""


@penalty_value.implement(L2)
def _(penalty, w):
    return 0.5 * penalty.l2 * np.sum(w * w)


@prox.implement(L2)
def _(penalty, w, step):
    shrink = 1.0 / (1.0 + step * penalty.l2)
    for k in range(w.shape[0]):
        w[k] *= shrink


@penalty_value.implement(ElasticNet)
def _(penalty, w):
    return penalty.l1 * np.sum(np.abs(w)) + 0.5 * penalty.l2 * np.sum(w * w)


@prox.implement(ElasticNet)
def _(penalty, w, step):
    cut, shrink = step * penalty.l1, 1.0 / (1.0 + step * penalty.l2)
    for k in range(w.shape[0]):
        size = abs(w[k]) - cut
        w[k] = shrink * (size if w[k] > 0.0 else -size) if size > 0.0 else 0.0


@penalty_value.implement(Ball)
def _(penalty, w):
    return 0.0 if np.sqrt(np.sum(w * w)) <= penalty.radius * (1.0 + 1e-12) else np.inf


@prox.implement(Ball)
def _(penalty, w, step):
    norm = np.sqrt(np.sum(w * w))
    if norm > penalty.radius:
        w *= penalty.radius / norm
