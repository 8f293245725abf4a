"""Slow metrics one can see are right: double loops over pairs and over all thresholds."""

from fractions import Fraction

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


def placements(is_pos, score, weight=None):
    """V of each positive and of each negative by a double loop over pairs, ties one half."""
    weight = np.ones(len(score)) if weight is None else np.asarray(weight, np.float64)
    pos, neg = np.flatnonzero(is_pos), np.flatnonzero(~is_pos)
    of_pos, of_neg = np.zeros(len(pos)), np.zeros(len(neg))
    for a, i in enumerate(pos):
        for b, j in enumerate(neg):
            win = 1.0 if score[i] > score[j] else 0.5 if score[i] == score[j] else 0.0
            of_pos[a] += weight[j] * win
            of_neg[b] += weight[i] * win
    return of_pos / weight[neg].sum(), of_neg / weight[pos].sum()


def obuchowski_variance(is_pos, of_pos, of_neg, groups, weight=None):
    """Variance of the weighted mean of placements by loops over groups, as written in the paper."""
    weight = np.ones(len(is_pos)) if weight is None else np.asarray(weight, np.float64)
    w_pos, w_neg = weight[is_pos] / weight[is_pos].sum(), weight[~is_pos] / weight[~is_pos].sum()
    groups = np.asarray(groups)
    with_pos, with_neg, any_row = 0, 0, 0
    aa = bb = ab = 0.0
    for g in sorted(set(groups.tolist())):
        here_pos, here_neg = groups[is_pos] == g, groups[~is_pos] == g
        a = sum((w_pos * (of_pos - w_pos @ of_pos))[here_pos])
        b = sum((w_neg * (of_neg - w_neg @ of_neg))[here_neg])
        with_pos, with_neg, any_row = with_pos + here_pos.any(), with_neg + here_neg.any(), any_row + 1
        aa, bb, ab = aa + a * a, bb + b * b, ab + a * b
    return (
        with_pos / (with_pos - 1) * aa + with_neg / (with_neg - 1) * bb + 2 * any_row / (any_row - 1) * ab
    )


def exact_area(is_pos, score, max_fpr, min_tpr, weight):
    """The integral of (TPR - min_tpr)_+ up to max_fpr by a loop over segments, in fractions: no rounding at all."""
    max_fpr, min_tpr = Fraction(max_fpr).limit_denominator(10**6), Fraction(min_tpr).limit_denominator(10**6)
    all_pos = sum(w for w, p in zip(weight, is_pos, strict=True) if p)
    all_neg = sum(w for w, p in zip(weight, is_pos, strict=True) if not p)
    total, x0, y0 = Fraction(0), Fraction(0), Fraction(0)
    for cut in sorted(set(score.tolist()), reverse=True):
        here = [(w, p) for w, p, s in zip(weight, is_pos, score, strict=True) if s == cut]
        x1 = x0 + Fraction(sum(w for w, p in here if not p)) / all_neg
        y1 = y0 + Fraction(sum(w for w, p in here if p)) / all_pos
        if x1 > x0 and x0 < max_fpr:
            slope, left, right = (y1 - y0) / (x1 - x0), x0, min(x1, max_fpr)
            if y0 < min_tpr:
                left = x1 if slope == 0 else x0 + (min_tpr - y0) / slope
            if left < right:
                total += (right - left) * ((y0 + slope * (left - x0)) + (y0 + slope * (right - x0)) - 2 * min_tpr) / 2
        x0, y0 = x1, y1
    return total


def error_terms(is_pos, score, max_fpr=1, min_tpr=0, weight=None):
    """w_i dA/dw_i of each row: what it adds to the error of the area A, by central differences without rounding."""
    weight = [Fraction(w) for w in (np.ones(len(score)) if weight is None else weight).tolist()]
    tiny, terms = Fraction(1, 10**30), []
    for i in range(len(score)):
        sides = []
        for step in (tiny, -tiny):
            moved = [w + step * (k == i) for k, w in enumerate(weight)]
            sides.append(exact_area(is_pos, score, max_fpr, min_tpr, moved))
        terms.append(float(weight[i] * (sides[0] - sides[1]) / (2 * tiny)))
    return np.array(terms)


def hand_till(label, scores):
    """Hand & Till's M and its variance: a double loop over classes, and over rows in each pair of them."""
    classes = sorted(set(label.tolist()))
    terms, total, count = np.zeros(len(label)), 0.0, len(classes) * (len(classes) - 1)
    for k, a in enumerate(classes):
        for b in classes:
            if a == b:
                continue
            rows = np.flatnonzero((label == a) | (label == b))
            is_pos = label[rows] == a
            of_pos, of_neg = placements(is_pos, scores[rows, k])
            total += of_pos.mean() / count
            terms[rows[is_pos]] += (of_pos - of_pos.mean()) / len(of_pos) / count
            terms[rows[~is_pos]] += (of_neg - of_neg.mean()) / len(of_neg) / count
    variance = 0.0
    for a in classes:
        n = (label == a).sum()
        variance += n / (n - 1) * np.sum(terms[label == a] ** 2)
    return total, variance


def point(is_pos, score, wish, value):
    """(threshold index set, tpr, fpr): the rows flagged at the point that is asked for, by trying all sets."""
    best = None
    for flagged in predicted_sets(score):
        tpr, fpr = flagged[is_pos].mean(), flagged[~is_pos].mean()
        met = {"fpr": fpr <= value, "tpr": tpr >= value, "alerts": flagged.sum() <= value}[wish]
        if not met:
            continue
        if wish == "tpr":
            return flagged  # the sets grow, so the first one is the smallest
        best = flagged
    return best


def expected_hits(is_pos, score, k):
    """Expected positives among the first k rows when ties are broken at random, over all orders of few rows."""
    total = 0.0
    for i in range(len(score)):
        above, equal = (score > score[i]).sum(), (score == score[i]).sum()
        total += is_pos[i] * np.clip((k - above) / equal, 0.0, 1.0)
    return total


def satterthwaite(terms, strata):
    """Degrees of freedom of the sum of squared terms: 2 v^2 over the spread of the squares within strata.

    At most Welch's v^2 over the sum of v_k^2 / (n_k - 1).
    """
    noise, welch = 0.0, 0.0
    for stratum in set(strata):
        squares = [t**2 for t, s in zip(terms, strata, strict=True) if s == stratum]
        mean = sum(squares) / len(squares)
        noise += sum((square - mean) ** 2 for square in squares)
        welch += sum(squares) ** 2 / max(len(squares) - 1, 1)
    total = sum(t**2 for t in terms)
    return max(2.0, min(total**2 / welch, 2.0 * total**2 / noise if noise else float("inf")))
