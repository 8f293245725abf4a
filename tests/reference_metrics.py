"""Slow metrics one can see are right: double loops over pairs and over all thresholds."""

import numpy as np


def wins(a, b):
    """1 where a beats b, one half where they tie: the pairs of a (rows) and b (columns)."""
    a, b = np.asarray(a, np.float64)[:, None], np.asarray(b, np.float64)[None, :]
    return (a > b) + 0.5 * (a == b)


def auc(is_pos, score, weight=None):
    """Mean of all pairs."""
    weight = np.ones(len(score)) if weight is None else np.asarray(weight, np.float64)
    won, total = 0.0, 0.0
    for i in np.flatnonzero(is_pos):
        for j in np.flatnonzero(~is_pos):
            pair = weight[i] * weight[j]
            won += pair * (1.0 if score[i] > score[j] else 0.5 if score[i] == score[j] else 0.0)
            total += pair
    return won / total


def delong_covariance(is_pos, *scores):
    """Covariance matrix of the AUCs of several scores, from the n+ x n- tables of pairs."""
    tables = [wins(s[is_pos], s[~is_pos]) for s in scores]
    of_pos = np.atleast_2d(np.cov([table.mean(axis=1) for table in tables]))
    of_neg = np.atleast_2d(np.cov([table.mean(axis=0) for table in tables]))
    return of_pos / is_pos.sum() + of_neg / (~is_pos).sum()


def roc_points(is_pos, score):
    """(fpr, tpr) of every threshold, from none to all predicted positive."""
    cuts = [np.inf, *sorted(set(score), reverse=True)]
    return np.array([[np.mean(score[~is_pos] >= c), np.mean(score[is_pos] >= c)] for c in cuts])


def partial_area(is_pos, score, max_fpr, min_tpr, steps=200_000):
    """Midpoint sum of (TPR - min_tpr)_+ over a fine grid of FPR."""
    points = roc_points(is_pos, score)
    grid = (np.arange(steps) + 0.5) / steps * max_fpr
    right = np.searchsorted(points[:, 0], grid, side="right")
    (f0, t0), (f1, t1) = points[right - 1].T, points[right].T
    tpr = t0 + (t1 - t0) * (grid - f0) / (f1 - f0)
    return np.mean(np.maximum(tpr - min_tpr, 0.0)) * max_fpr


def criterion_value(is_pos, score, threshold, criterion, cost_ratio=1.0, weight=None):
    """What `operating_point` maximises, at one threshold."""
    weight = np.ones(len(score)) if weight is None else weight
    above = score > score.dtype.type(threshold)
    tp, fp = weight[above & is_pos].sum(), weight[above & ~is_pos].sum()
    if criterion == "accuracy":
        return tp - cost_ratio * fp
    return tp / weight[is_pos].sum() - cost_ratio * fp / weight[~is_pos].sum()


def predicted_sets(score):
    """Every set of rows a finite threshold can predict positive, from the smallest on."""
    finite_low, finite_high = np.min(score) > -np.inf, np.max(score) < np.inf
    cuts = sorted(set(score), reverse=True)
    sets = [score >= c for c in cuts if c > -np.inf] if not finite_low else [score >= c for c in cuts]
    return ([np.zeros(len(score), bool)] if finite_high else []) + sets
