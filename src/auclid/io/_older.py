"""States of streams as 0.1 wrote them, made today's: each function is given the fields of an older struct by name."""

from typing import Any

import numpy as np

from auclid.solvers import (
    buffered,
    confidence_weighted,
    one_pass,
    proximal,
    random_pairs,
    saddle,
    univariate,
)
from auclid.solvers.averaging import AveragedIterate, LaggedAverage, ScaleFactors
from auclid.solvers.lazy_elastic_net import NO_SHRINKAGE
from auclid.stats.class_means import RunningMeans
from auclid.stats.class_sums import ClassScatter

Array = np.ndarray


def spam(
    v: Array, scale: float, a: Array, t: float, total: Array, lag: float, weight: float, **means: Array
) -> proximal.ProximalState:
    iterate = AveragedIterate(v, total, ScaleFactors(scale, lag, weight))
    return proximal.ProximalState(iterate, a, t, _running(**means), NO_SHRINKAGE, np.zeros((2, 2)))


def solam(v: Array, scale: float, total: Array, lag: float, weight: float, **others: Any) -> saddle.SaddleState:
    iterate = AveragedIterate(v, total, ScaleFactors(scale, lag, weight))
    point, projections, t = (others.pop(name) for name in ("saddle", "m", "t"))
    norm, longest, hit = (others.pop(name) for name in ("norm", "longest", "hit"))
    return saddle.SaddleState(iterate, point, projections, t, norm, longest, hit, _running(**others))


def uni_exp(v: Array, scale: float, t: float, total: Array, lag: float, **means: Array) -> univariate.UnivariateState:
    factors = ScaleFactors(scale, lag, 0.5 * t * (t + 1.0))
    return univariate.UnivariateState(AveragedIterate(v, total, factors), t, _running(**means))


def _running(sums: Array, n: Array, square: Array, centre: Array) -> RunningMeans:
    return RunningMeans(sums, n, square, centre)


def opauc(w: Array, t: float, mean: Array, n: Array, trace: Array, spread: Any, rule: Array) -> one_pass.OnePassState:
    return one_pass.OnePassState(w, t, ClassScatter(mean, n, trace), spread, rule)


def gradient(step: float, relative: bool) -> Array:
    """What a rule of steps had learnt: nothing, but for AdaGrad."""
    return np.zeros(0)


def adagrad(step: float, relative: bool, delta: float, squares: Array) -> Array:
    """What a rule of steps had learnt: sums of g^2."""
    return squares


def sketch(Z: Array, R: Array, diagonal: Array, draws: Array, work: Array) -> one_pass.SketchedScatter:
    return one_pass.SketchedScatter(Z, R, diagonal)


def sam(
    v: Array, scale: float, total: Array, lag: float, averaged: int, **others: Any
) -> random_pairs.RandomPairsState:
    iterate = AveragedIterate(v, total, ScaleFactors(scale, lag, float(averaged)))
    walk = random_pairs.PairIterate(iterate, others.pop("t"), others.pop("size"), others.pop("drawn"))
    return random_pairs.RandomPairsState(walk, others.pop("sums"), **others)


def oam(buffers: Any, seen: Any, w: Array, lag: Array, t: float, length: Array) -> buffered.BufferedHingeState:
    return buffered.BufferedHingeState(buffers, seen, LaggedAverage(w, lag, 0.5 * t * (t + 1.0)), t, length)


def cbr(buffers: Any, seen: Any, mean: Array, cov: Array, bound: Array) -> confidence_weighted.ConfidenceWeightedState:
    model = confidence_weighted.FullCovariance(cov) if cov.ndim == 2 else confidence_weighted.DiagonalCovariance(cov)
    return confidence_weighted.ConfidenceWeightedState(buffers, seen, mean, model, bound)


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
