"""Slow code one can see is right: what the fast code is held against."""

import numpy as np
from scipy import sparse


def dense(X):
    """X as a float64 array, whatever it was."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def all_pairs(X, is_pos, weight=None):
    """z = x+ - x- of every pair, and the share of each pair in the mean."""
    X = dense(X)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    z, share = [], []
    for i in np.flatnonzero(is_pos):
        for j in np.flatnonzero(~is_pos):
            z.append(X[i] - X[j])
            share.append(weight[i] * weight[j])
    return np.array(z), np.array(share) / np.sum(share)


def pair_objective(w, X, is_pos, alpha, l1=0.0, weight=None):
    """mean over pairs of (1 - w.z)^2 + alpha/2 |w|^2 + l1 |w|_1"""
    z, share = all_pairs(X, is_pos, weight)
    return share @ (1.0 - z @ w) ** 2 + 0.5 * alpha * w @ w + l1 * np.abs(w).sum()


def pair_least_squares(X, is_pos, alpha, weight=None):
    """The minimiser of `pair_objective` without l1: least squares on explicit pairs (least norm, if many)."""
    z, share = all_pairs(X, is_pos, weight)
    d = z.shape[1]
    A = np.vstack([np.sqrt(share)[:, None] * z, np.sqrt(alpha / 2.0) * np.eye(d)])
    b = np.concatenate([np.sqrt(share), np.zeros(d)])
    return np.linalg.lstsq(A, b, rcond=1e-12)[0]


def least_subgradient(w, X, is_pos, alpha, l1, weight=None, positive=False):
    """The largest entry of the least subgradient of `pair_objective` at w: zero at the minimiser only."""
    z, share = all_pairs(X, is_pos, weight)
    g = -2.0 * z.T @ (share * (1.0 - z @ w)) + alpha * w
    at_zero = np.sign(g) * np.maximum(np.abs(g) - l1, 0.0)
    if positive:
        at_zero = np.minimum(g + l1, 0.0)
    return np.abs(np.where(w == 0.0, at_zero, g + l1 * np.sign(w))).max()


def moments(X, weight=None):
    """n, mean and scatter of rows, row by row in extended precision."""
    X = dense(X).astype(np.longdouble)
    weight = (
        np.ones(len(X), dtype=np.longdouble) if weight is None else np.asarray(weight, dtype=np.longdouble)
    )
    n = weight.sum()
    mean = (weight[:, None] * X).sum(axis=0) / n
    scatter = np.zeros((X.shape[1], X.shape[1]), dtype=np.longdouble)
    for x, share in zip(X - mean, weight, strict=True):
        scatter += share * np.multiply.outer(x, x)
    return float(n), mean.astype(float), scatter.astype(float)


def youden(is_pos, scores, weight=None):
    """The greatest TPR - FPR that any threshold reaches."""
    weight = np.ones(len(scores)) if weight is None else weight
    best = 0.0
    for cut in scores:
        above = scores >= cut
        tpr = weight[above & is_pos].sum() / weight[is_pos].sum()
        fpr = weight[above & ~is_pos].sum() / weight[~is_pos].sum()
        best = max(best, tpr - fpr)
    return best


def spam_gradient(w, x, positive, p, mean_pos, mean_neg):
    """SPAM's gradient for one row (Natole et al. 2018), before any penalty."""
    if positive:
        return 2.0 * (1.0 - p) * (w @ x - w @ mean_neg - 1.0) * x
    return 2.0 * p * (w @ x - w @ mean_pos + 1.0) * x


def spam(X, is_pos, order, rate, shrink, *, centred, relative=True, guard=True, stream=False):
    """SPAM by the book, a row of ``order`` a step: returns the last iterate and the average weighted by t^2.

    ``rate(t)`` is the step size, ``shrink(w, step)`` the penalty's proximal map. In a stream, all that is
    known of the rows (means, p, E|x|^2, the centre) is worked out anew at each step from the rows so far.
    """
    X = dense(X)
    w, total, weight, t = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0.0, 0
    for k, i in enumerate(order):
        seen = np.asarray(order[: k + 1]) if stream else np.arange(len(X))
        if is_pos[seen].all() or not is_pos[seen].any():
            continue
        t += 1
        centre = X[seen].mean(axis=0) if centred else np.zeros(X.shape[1])
        rows, x, p = X[seen] - centre, X[i] - centre, is_pos[seen].mean()
        step = rate(t)
        if relative:
            step /= 4.0 * p * (1.0 - p) * np.mean(np.sum(rows**2, axis=1))
        g = spam_gradient(
            w, x, is_pos[i], p, rows[is_pos[seen]].mean(axis=0), rows[~is_pos[seen]].mean(axis=0)
        )
        if guard:
            g = g / (1.0 + 2.0 * step * (1.0 - p if is_pos[i] else p) * (x @ x))
        w = shrink(w - step * g, step * p * (1.0 - p))
        total, weight = total + t**2 * w, weight + t**2
    return w, total / max(weight, 1.0)


def in_order(X, is_pos):
    """The rows of a small table in the order from which `fit` draws: by class, then by a random projection."""
    X = dense(X).astype(float)
    keys = X @ np.random.default_rng(0).standard_normal(X.shape[1])
    return np.array(sorted(range(len(X)), key=lambda i: (is_pos[i], keys[i])))
