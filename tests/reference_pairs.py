"""All pairs by the double loop: slow code that one can see is right."""

import numpy as np

LOSSES = {
    "squared_hinge": (lambda m: max(0, 1 - m) ** 2, lambda m: -2.0 * max(0, 1 - m), lambda m: 2.0 * (m < 1)),
    "hinge": (lambda m: max(0.0, 1 - m), lambda m: -1.0 * (m < 1), lambda m: 0.0),
    "square": (lambda m: (1 - m) ** 2, lambda m: -2 * (1 - m), lambda m: 2.0),
    "logistic": (
        lambda m: np.logaddexp(0.0, -m),
        lambda m: -np.exp(-np.logaddexp(0.0, m)),
        lambda m: np.exp(-np.logaddexp(0.0, m) - np.logaddexp(0.0, -m)),
    ),
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


def clipped_line(loss, own, mass, softness):
    """How far rows that weigh ``own`` are in the soft top of weight ``mass``: clip((loss - tau) / softness, 0, 1)."""
    inside = lambda tau: np.clip((loss - tau) / softness, 0.0, 1.0)  # noqa: E731
    low, high = loss.min() - softness, loss.max()
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if own @ inside(middle) > mass else (low, middle)
    return inside(low)


def soft_top(is_pos, score, loss, softness, max_fpr=1.0, min_tpr=0.0, weight=None, hard=False):
    """The value of the soft top of explicit pairs, and the shares of all rows in it (p and q).

    Two classes that are cut are chosen in turns, from all positives or from the lowest ones only.
    """
    weight = np.ones(len(is_pos)) if weight is None else weight
    v_pos, v_neg = weight[is_pos], weight[~is_pos]
    pairs = np.array([[LOSSES[loss][0](a - b) for b in score[~is_pos]] for a in score[is_pos]])
    k, m = max_fpr * v_neg.sum(), (1.0 - min_tpr) * v_pos.sum()
    p = v_pos / v_pos.sum()
    if hard:
        p = v_pos * (score[is_pos] <= np.quantile(score[is_pos], 1.0 - min_tpr))
        p = p / p.sum()
    for _ in range(200 if min_tpr > 0.0 and max_fpr < 1.0 else 1):
        before = p
        q = v_neg / k * (clipped_line(p @ pairs, v_neg, k, softness) if max_fpr < 1.0 else 1.0)
        p = v_pos / m * (clipped_line(pairs @ q, v_pos, m, softness) if min_tpr > 0.0 else 1.0)
        if np.abs(p - before).max() <= 1e-15:
            break
    paid = 0.5 * softness * (k * (q**2 / v_neg).sum() - 1.0 + m * (p**2 / v_pos).sum() - 1.0)
    share = np.zeros(len(is_pos))
    share[is_pos], share[~is_pos] = p, q
    return p @ pairs @ q - paid, share
