"""All pairs by the double loop: slow code that one can see is right."""

import numpy as np

LOSSES = {
    "squared_hinge": (lambda m: max(0, 1 - m) ** 2, lambda m: -2.0 * max(0, 1 - m), lambda m: 2.0 * (m < 1)),
    "hinge": (lambda m: max(0.0, 1 - m), lambda m: -1.0 * (m < 1), lambda m: 0.0),
    "square": (lambda m: (1 - m) ** 2, lambda m: -2 * (1 - m), lambda m: 2.0),
}
"""Value, first and second derivative of each loss."""


def each_pair(is_pos, weight):
    """Yield (positive, negative, share of the pair in all pairs)."""
    weight = np.ones(len(is_pos)) if weight is None else weight
    total = weight[is_pos].sum() * weight[~is_pos].sum()
    for i in np.flatnonzero(is_pos):
        for j in np.flatnonzero(~is_pos):
            yield i, j, weight[i] * weight[j] / total


def value(is_pos, score, loss, weight=None):
    """Mean of the loss over all pairs."""
    return sum(share * LOSSES[loss][0](score[i] - score[j]) for i, j, share in each_pair(is_pos, weight))


def gradient(is_pos, score, loss, weight=None):
    """Its derivatives by the scores."""
    out = np.zeros(len(score))
    for i, j, share in each_pair(is_pos, weight):
        slope = share * LOSSES[loss][1](score[i] - score[j])
        out[i] += slope
        out[j] -= slope
    return out


def curvature_product(is_pos, score, direction, loss, weight=None):
    """Its second derivatives by the scores, times a direction."""
    out = np.zeros(len(score))
    for i, j, share in each_pair(is_pos, weight):
        bend = share * LOSSES[loss][2](score[i] - score[j]) * (direction[i] - direction[j])
        out[i] += bend
        out[j] -= bend
    return out


def differences(X, is_pos, weight=None):
    """All x+ - x-, a row a pair, and their shares."""
    found = list(each_pair(is_pos, weight))
    return np.array([X[i] - X[j] for i, j, _ in found]), np.array([share for *_, share in found])
