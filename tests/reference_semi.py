"""Slow semi-supervised code one can see is right."""

import numpy as np


def square(m):
    return (1.0 - m) ** 2


def zero_one(m):
    """One for a pair in the wrong order, one half for a tie."""
    return 0.5 * (1.0 - np.sign(m))


def sigmoid(m):
    return 1.0 / (1.0 + np.exp(m))


def across(a, b, loss=square):
    """The mean loss over all pairs of scores of two sets."""
    return np.mean([loss(x - z) for x in a for z in b])


def inside(a, loss=square):
    """The mean loss over all pairs of different members of one set, in either order."""
    return np.mean([loss(a[i] - a[j]) for i in range(len(a)) for j in range(len(a)) if i != j])


def samult_risk(w, neg, pos, unl, weight):
    n, p, u = neg @ w, pos @ w, unl @ w
    return (1.0 - weight) * across(p, n) + weight * (across(p, u) + across(u, n) - 0.5)


def pnu_risk(w, neg, pos, unl, weight, prior):
    n, p, u = neg @ w, pos @ w, unl @ w
    if weight >= 0.0:
        return (1.0 - weight) * across(p, n) + weight * (across(p, u) - prior * inside(p)) / (1.0 - prior)
    return (1.0 + weight) * across(p, n) - weight * (across(u, n) - (1.0 - prior) * inside(n)) / prior


def frequencies(seed, number, size, kernel, gamma, d):
    """The random frequencies of one iteration, one a column."""
    rng = np.random.default_rng([seed, number])
    if kernel == "rbf":
        return np.sqrt(2.0 * gamma) * rng.standard_normal((d, size))
    return gamma * rng.standard_cauchy((d, size))


def features(x, omega):
    """√(1/D) [cos(ω·x), sin(ω·x)]"""
    return np.concatenate([np.cos(x @ omega), np.sin(x @ omega)]) / np.sqrt(omega.shape[1])


def qsg(batches, omegas, weight, alpha, theta, offset):
    """Algorithms 1 and 2 of Shi et al. 2019 with a dictionary of coefficients; returns f as a function of one row.

    ``batches`` holds (negatives, positives, unlabelled rows) of each iteration, ``omegas`` its frequencies.
    """
    coefficients = {}

    def predict(x):
        return sum(a @ features(x, omegas[i]) for i, a in coefficients.items())

    for i, sets in enumerate(batches):
        step = theta / (i + 1 + offset)
        rows = np.concatenate(sets)
        scores = [np.array([predict(x) for x in block]) for block in sets]
        slopes = np.zeros(len(rows))
        start = np.cumsum([0, *[len(block) for block in sets]])
        neg, pos, unl = 0, 1, 2
        terms = [(1.0 - weight, pos, neg), (weight, pos, unl), (weight, unl, neg)]
        for share, a, b in terms if len(sets) == 3 else [(1.0, pos, neg)]:
            for j, x in enumerate(scores[a]):
                for k, z in enumerate(scores[b]):
                    slope = -2.0 * (1.0 - x + z) * share / (len(scores[a]) * len(scores[b]))
                    slopes[start[a] + j] += slope
                    slopes[start[b] + k] -= slope
        new = -step * sum(g * features(x, omegas[i]) for g, x in zip(slopes, rows, strict=True))
        for j in coefficients:
            coefficients[j] = (1.0 - step * alpha) * coefficients[j]
        coefficients[i] = new
    return predict


def kernel_optimum(K, sets, weight, alpha):
    """f at all rows, where f minimises SAMULT's risk + alpha/2 |f|² in the space of a kernel with Gram matrix K.

    ``sets`` holds the numbers of the negatives, positives and unlabelled rows. With s = Kβ the risk is
    s·Q·s − 2 c·s + constant, and β solves (2QK + alpha) β = 2c.
    """
    n = len(K)
    share = np.zeros((3, n))
    for k, index in enumerate(sets):
        share[k, index] = 1.0 / len(index)
    neg, pos, unl = share
    Q, c = np.zeros((n, n)), np.zeros(n)
    for size, a, b in ((1.0 - weight, pos, neg), (weight, pos, unl), (weight, unl, neg)):
        Q += size * (np.diag(a) + np.diag(b) - np.outer(a, b) - np.outer(b, a))
        c += size * (a - b)
    return K @ np.linalg.solve(2.0 * Q @ K + alpha * np.eye(n), 2.0 * c)
