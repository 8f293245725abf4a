"""The stochastic square-loss methods as slow loops one can see are right.

Whatever a step knows of the rows (means, covariances, p, E|x|^2, the centre) is worked out anew from the rows
themselves. SPAM is in `reference`.
"""

import numpy as np

from reference import dense


def problem(n=40, d=4, seed=0, share=0.3, shift=0.5):
    """Rows on a grid that float32 holds exactly, not centred, classes mixed in time."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, d)) * 16) / 16 * (rng.random((n, d)) < 0.8)
    y = (rng.permutation(n) < share * n).astype(int)
    X[:, 0] += y
    X[:, 1] += shift
    return X, y


def saddle_value(w, a, b, alpha, x, positive, p):
    """SOLAM's function of one row, whose mean over rows has the saddle point."""
    f = w @ x
    if positive:
        return (1 - p) * (f - a) ** 2 - 2 * (1 + alpha) * (1 - p) * f - p * (1 - p) * alpha**2
    return p * (f - b) ** 2 + 2 * (1 + alpha) * p * f - p * (1 - p) * alpha**2


def saddle_gradient(w, a, b, alpha, x, positive, p):
    """Its derivatives in w, a, b and alpha."""
    f = w @ x
    if positive:
        by_f = 2 * (1 - p) * (f - a) - 2 * (1 + alpha) * (1 - p)
        return by_f * x, -2 * (1 - p) * (f - a), 0.0, -2 * (1 - p) * f - 2 * p * (1 - p) * alpha
    by_f = 2 * p * (f - b) + 2 * (1 + alpha) * p
    return by_f * x, 0.0, -2 * p * (f - b), 2 * p * f - 2 * p * (1 - p) * alpha


def saddle_step(w, a, b, alpha, x, positive, p, step, size=1.0, guard=False):
    """Descent in w (by step / size), a, b, ascent in alpha; guarded: over 1 + step times a curvature."""
    gw, ga, gb, galpha = saddle_gradient(w, a, b, alpha, x, positive, p)
    share = 2 * (1 - p) if positive else 2 * p
    curved = guard * step * np.array([share * (x @ x) / size, share, 2 * p * (1 - p) + share])
    w = w - step / size * gw / (1 + curved[0])
    a, b = a - step * ga / (1 + curved[1]), b - step * gb / (1 + curved[1])
    return w, a, b, alpha + step * galpha / (1 + curved[2])


def into_ball(w, radius):
    """The nearest point of the ball."""
    return w * min(1.0, radius / np.linalg.norm(w)) if w.any() else w


def solam(X, is_pos, order, *, centred, zeta=None, radius=None, alpha=None, stream=False):
    """SOLAM a row of ``order`` a step: the averaged w, the last w, and how many steps met the ball.

    With a zeta, all that is known of the rows is that of the rows so far, and the first row makes a step.
    """
    X = dense(X)
    d = X.shape[1]
    w, a, b, dual, centre = np.zeros(d), 0.0, 0.0, 0.0, np.zeros(d)
    total, weight, t, longest, met = np.zeros(d), 0.0, 0, 0.0, 0
    for k, i in enumerate(order):
        seen = np.asarray(order[: k + 1]) if stream or zeta else np.arange(len(X))
        old, centre = centre, X[seen].mean(axis=0) if centred else centre
        a, b = a - w @ (centre - old), b - w @ (centre - old)
        if not zeta and (is_pos[seen].all() or not is_pos[seen].any()):
            continue
        t += 1
        x, p, square = X[i] - centre, is_pos[seen].mean(), np.mean(np.sum((X[seen] - centre) ** 2, axis=1))
        longest = max(longest, np.linalg.norm(x))
        bound = radius or (30.0 / np.sqrt(square or 1.0) if alpha is None else np.inf)
        gamma = (zeta or 2.0) / np.sqrt(t)
        share = gamma if zeta else gamma * t**2
        total, weight = total + share * w, weight + share
        step, size = (gamma, 1.0) if zeta else (gamma / (4 * p * (1 - p)), square)
        begun, ascent = dual, 2 * p * (1 - p) * step
        w_before = w
        w, a, b, dual = saddle_step(w, a, b, dual, x, is_pos[i], p, step, size, guard=not zeta)
        if not zeta:  # the mean over rows
            apart = w_before @ (X[seen][is_pos[seen]].mean(axis=0) - X[seen][~is_pos[seen]].mean(axis=0))
            dual = begun - ascent / (1 + ascent) * (apart + begun)
        w = w / (1 + step / size * p * (1 - p) * (alpha or 0.0))
        met += np.linalg.norm(w) > bound
        w, most = into_ball(w, bound), bound * longest
        a, b, dual = np.clip(a, -most, most), np.clip(b, -most, most), np.clip(dual, -2 * most, 2 * most)
    return total / weight, w, met


def into_l1_ball(w, radius):
    """The nearest point with |w|_1 <= radius, by bisection in what every entry loses."""
    low, high = 0.0, np.abs(w).max()
    if np.abs(w).sum() <= radius:
        return w
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(np.abs(w) - middle, 0.0).sum() > radius else (low, middle)
    return np.sign(w) * np.maximum(np.abs(w) - high, 0.0)


def fsauc(X, is_pos, orders, *, centred, radius=None, step=None, norm="l2"):
    """FSAUC, one order of rows a stage: the last stage's average of w, and how often each ball was met."""
    X = dense(X)
    X = X - X.mean(axis=0) if centred else X
    p, square = is_pos.mean(), np.mean(np.sum(X**2, axis=1))
    untuned, into = step is None, {"l2": into_ball, "l1": into_l1_ball}[norm]
    unit = np.sqrt(square) if untuned else 1.0  # the algorithm on rows x / unit, where w is unit times as long
    X, R = X / unit, (30.0 / np.sqrt(square) if radius is None else radius) * unit
    longest = np.linalg.norm(X, axis=1).max()
    w, a, b, dual = np.zeros(X.shape[1]), 0.0, 0.0, 0.0
    ball, step, met, pulled = 2 * np.sqrt(1 + 2 * longest**2) * R, step or 0.1 / (4 * p * (1 - p)), 0, 0
    rows = [] if not untuned else list(range(len(X)))
    for order in orders:
        start, begun, iterates = np.concatenate([w, [a, b]]), dual, []
        for i in order:
            iterates.append(np.concatenate([w, [a, b]]))
            if not untuned:
                rows.append(i)
                p = is_pos[rows].mean()
            w, a, b, dual = saddle_step(w, a, b, dual, X[i], is_pos[i], p, step, guard=untuned)
            met += np.linalg.norm(w, 2 if norm == "l2" else 1) > R
            w, most = into(w, R), R * longest
            a, b, dual = np.clip(a, -most, most), np.clip(b, -most, most), np.clip(dual, -2 * most, 2 * most)
            way = np.concatenate([w, [a, b]]) - start
            pulled += np.linalg.norm(way) > ball
            *w, a, b = start + into_ball(way, ball)
            w, reach = np.array(w), 2 * np.sqrt(2) * longest * ball
            dual = np.clip(dual, begun - reach, begun + reach)
        *w, a, b = np.mean(iterates, axis=0)
        w = np.array(w)
        seen, positive = X[rows], is_pos[rows]
        dual = w @ (seen[~positive].mean(axis=0) - seen[positive].mean(axis=0))
        ball, step = ball / 2, step / 2
    return w / unit, met, pulled


def covariance(rows):
    """Second moments about the mean, row by row."""
    mean = rows.mean(axis=0)
    return sum(np.multiply.outer(x - mean, x - mean) for x in rows) / len(rows)


def sketched(rows, draws, sketch="shrunk"):
    """OPAUCr's covariance: ZZ'/n with Z = sum of (x - mean) r', shrunk towards the variances; or plain, of x r'."""
    d, rank = rows.shape[1], draws.shape[1]
    mean = rows.mean(axis=0)
    if sketch == "plain":
        Z = sum(np.multiply.outer(x, r) for x, r in zip(rows, draws, strict=True))
        return Z @ Z.T / len(rows) - np.multiply.outer(mean, mean)
    Z = sum(np.multiply.outer(x - mean, r) for x, r in zip(rows, draws, strict=True))
    noise = d / (d + rank) if sketch == "shrunk" else 0.0
    return (1 - noise) * Z @ Z.T / len(rows) + noise * np.diag(np.diag(covariance(rows)))


def opauc_gradient(w, x, positive, mean, sigma, penalty, damping=1.0):
    """OPAUC's gradient for a row, given mean and covariance of the opposite class."""
    z = x - mean
    if positive:
        return penalty * w + (-z + z * (z @ w)) / damping + sigma @ w
    return penalty * w + (z + z * (z @ w)) / damping + sigma @ w


def opauc(X, is_pos, order, *, alpha, step=None, draws=None, delta=None, sketch="shrunk"):
    """OPAUC (with draws OPAUCr, with delta AdaOAM), a row of ``order`` a step: the last w."""
    X, order = dense(X), np.asarray(order)
    w, squares, t, penalty = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0, alpha / 2
    for k, i in enumerate(order):
        pos, neg = (np.flatnonzero(is_pos[order[: k + 1]] == side) for side in (True, False))
        if not len(pos) or not len(neg):
            continue
        t += 1
        others = neg if is_pos[i] else pos
        some = X[order[others]]
        sigma = covariance(some) if draws is None else sketched(some, draws[others], sketch)
        z = X[order[pos]][:, None, :] - X[order[neg]][None, :, :]
        curvature = np.mean(np.sum(z**2, axis=2)) + penalty
        mean = X[order[others]].mean(axis=0)
        if delta is None:
            eta = step or 4.0 / (curvature * np.sqrt(t))
            damping = 1.0 if step else 1.0 + eta * np.sum((X[i] - mean) ** 2)
            w = w - eta * opauc_gradient(w, X[i], is_pos[i], mean, sigma, penalty, damping)
        else:
            g = opauc_gradient(w, X[i], is_pos[i], mean, sigma, penalty)
            squares = squares + g**2
            w = w - (step or 0.2 / np.sqrt(curvature)) * g / (delta + np.sqrt(squares))
    return w
