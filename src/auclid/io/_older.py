"""States of streams as 0.1 wrote them, made today's: each function is given the fields of an older struct by name."""

from typing import Any

import numpy as np

from auclid.solvers import (
    buffered,
    confidence_weighted,
    gaussian,
    one_pass,
    random_pairs,
    row_steps,
    saddle,
    univariate,
)
from auclid.solvers.iterate import Factors, Iterate, Trail
from auclid.stats.class_means import Running
from auclid.stats.class_sums import ClassScatter

Array = np.ndarray


def spam(
    v: Array, scale: float, a: Array, t: float, total: Array, lag: float, weight: float, **means: Array
) -> row_steps.State:
    iterate, clock = Iterate(v, total, Factors(scale, lag, weight)), row_steps.Clock(1.0, 0.0, 0.0, 0.0)
    return row_steps.State(iterate, a, t, _running(**means), clock, np.zeros((2, 2)))


def solam(v: Array, scale: float, total: Array, lag: float, weight: float, **others: Any) -> saddle.State:
    iterate = Iterate(v, total, Factors(scale, lag, weight))
    point, projections, t = (others.pop(name) for name in ("saddle", "m", "t"))
    norm, longest, hit = (others.pop(name) for name in ("norm", "longest", "hit"))
    return saddle.State(iterate, point, projections, t, norm, longest, hit, _running(**others))


def uni_exp(v: Array, scale: float, t: float, total: Array, lag: float, **means: Array) -> univariate.State:
    factors = Factors(scale, lag, 0.5 * t * (t + 1.0))
    return univariate.State(Iterate(v, total, factors), t, _running(**means))


def _running(sums: Array, n: Array, square: Array, centre: Array) -> Running:
    return Running(sums, n, square, centre)


def opauc(w: Array, t: float, mean: Array, n: Array, trace: Array, spread: Any, rule: Array) -> one_pass.State:
    return one_pass.State(w, t, ClassScatter(mean, n, trace), spread, rule)


def gradient(step: float, relative: bool) -> Array:
    """What a rule of steps had learnt: nothing, but for AdaGrad."""
    return np.zeros(0)


def adagrad(step: float, relative: bool, delta: float, squares: Array) -> Array:
    """What a rule of steps had learnt: sums of g^2."""
    return squares


def sketch(Z: Array, R: Array, diagonal: Array, draws: Array, work: Array) -> one_pass.Sketch:
    return one_pass.Sketch(Z, R, diagonal)


def sam(v: Array, scale: float, total: Array, lag: float, averaged: int, **others: Any) -> random_pairs.State:
    iterate = Iterate(v, total, Factors(scale, lag, float(averaged)))
    walk = random_pairs.Walk(iterate, others.pop("t"), others.pop("size"), others.pop("drawn"))
    return random_pairs.State(walk, others.pop("sums"), **others)


def oam(buffers: Any, seen: Any, w: Array, lag: Array, t: float, length: Array) -> buffered.State:
    return buffered.State(buffers, seen, Trail(w, lag, 0.5 * t * (t + 1.0)), t, length)


def cbr(buffers: Any, seen: Any, mean: Array, cov: Array, bound: Array) -> confidence_weighted.State:
    model = gaussian.Full(cov) if cov.ndim == 2 else gaussian.Diagonal(cov)
    return confidence_weighted.State(buffers, seen, mean, model, bound)


def stream(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an estimator that streams: whether rows were dense had another name."""
    attributes = dict(attributes)
    if "_filled" in attributes:
        attributes["_dense"] = attributes.pop("_filled")
    return attributes


def pair_sampler(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes of ASAM or PSAM, whose alpha was always a number."""
    attributes = stream(attributes)
    if "t0_" in attributes and isinstance(attributes.get("alpha"), float):
        attributes.setdefault("alpha_", attributes["alpha"])
    return attributes
