"""Slow sums over ordered pairs one can see are right: double loops over all rows."""

import numpy as np


def pairs(y, event=None, groups=None):
    """All (i, j) where row i must be ranked above row j."""
    found = []
    for i in range(len(y)):
        for j in range(len(y)):
            if groups is not None and groups[i] != groups[j]:
                continue
            if event is None:
                above = y[i] > y[j]
            else:
                above = event[i] and (y[i] < y[j] or (y[i] == y[j] and not event[j]))
            if above:
                found.append((i, j))
    return found


def weights(n, weight=None, inverse=None):
    """(upper, lower): what a row weighs as the upper and as the lower one of a pair."""
    lower = np.ones(n) if weight is None else np.asarray(weight, float)
    return (lower if inverse is None else lower * inverse), lower


def concordance(y, s, event=None, groups=None, weight=None, inverse=None):
    """The weighted share of pairs in the right order, ties one half."""
    upper, lower = weights(len(y), weight, inverse)
    right, total = 0.0, 0.0
    for i, j in pairs(y, event, groups):
        mass = upper[i] * lower[j]
        total += mass
        right += mass * (1.0 if s[i] > s[j] else 0.5 if s[i] == s[j] else 0.0)
    return right / total if total > 0.0 else np.nan


def censoring_before(time, event, weight=None):
    """G(t-) at each row's time, by a product over all censored times before it."""
    own = np.ones(len(time)) if weight is None else np.asarray(weight, float)
    out = np.ones(len(time))
    for k, t in enumerate(time):
        for u in np.unique(time[(~event) & (own > 0)]):
            if u < t:
                censored = own[(time == u) & ~event].sum()
                at_risk = own[(time > u) | ((time == u) & ~event)].sum()
                out[k] *= 1.0 - censored / at_risk
    return out


def auc_at(time, s, event, t, weight=None):
    """Cumulative/dynamic AUC at one time."""
    own = np.ones(len(time)) if weight is None else np.asarray(weight, float)
    G = censoring_before(time, event, weight)
    right, total = 0.0, 0.0
    for i in np.flatnonzero(event & (time <= t)):
        for j in np.flatnonzero(time > t):
            mass = own[i] / G[i] * own[j]
            total += mass
            right += mass * (1.0 if s[i] > s[j] else 0.5 if s[i] == s[j] else 0.0)
    return right / total


def margin_loss(loss, y, s, event=None, groups=None, weight=None, inverse=None):
    """(value, gradient, Hessian) of the weighted mean of a loss (value, slope, curvature) of the margins."""
    upper, lower = weights(len(y), weight, inverse)
    value, gradient, hessian, total = 0.0, np.zeros(len(y)), np.zeros((len(y), len(y))), 0.0
    for i, j in pairs(y, event, groups):
        mass, m = upper[i] * lower[j], s[i] - s[j]
        total += mass
        value += mass * loss[0](m)
        gradient[i] += mass * loss[1](m)
        gradient[j] -= mass * loss[1](m)
        bend = mass * loss[2](m)
        hessian[i, i] += bend
        hessian[j, j] += bend
        hessian[i, j] -= bend
        hessian[j, i] -= bend
    return value / total, gradient / total, hessian / total


def square_system(X, y, event=None, groups=None, weight=None, inverse=None):
    """A = sum of v_i v_j zz', b = sum of v_i v_j z, and the weight of all pairs."""
    upper, lower = weights(len(y), weight, inverse)
    A, b, total = np.zeros((X.shape[1],) * 2), np.zeros(X.shape[1]), 0.0
    for i, j in pairs(y, event, groups):
        mass, z = upper[i] * lower[j], X[i] - X[j]
        A += mass * np.outer(z, z)
        b += mass * z
        total += mass
    return A, b, total
