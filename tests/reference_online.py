"""Slow code for the online methods that one can see is right: plain loops over rows and buffers."""

import numpy as np
from scipy.stats import norm


def stream(X, is_pos, size, policy, draws):
    """Yield for each row: it, its sign, the opposite buffer, rows seen of that class, and E|z|^2 so far."""
    buffers, seen = {True: [], False: []}, {True: [], False: []}
    for x, positive, u in zip(X, is_pos.tolist(), draws, strict=True):
        own, opposite = buffers[positive], buffers[not positive]
        seen[positive].append(x)
        number = len(seen[positive])
        if policy == "fifo":
            slot = (number - 1) % size
        else:
            slot = number - 1 if number <= size else int(u * number)
        if len(own) < size:
            own.append(x)
        elif slot < size:
            own[slot] = x
        y, mean_square = 1.0 if positive else -1.0, spread(seen[True], seen[False])
        yield x, y, list(opposite), len(seen[not positive]), mean_square


def spread(positives, negatives):
    """The mean of |a - b|^2 over all pairs; 0 without any."""
    pairs = [((a - b) ** 2).sum() for a in positives for b in negatives]
    return float(np.mean(pairs)) if pairs else 0.0


def limit(C, mean_square, size):
    """C, or the default one."""
    if C is not None:
        return C
    return 0.03 / mean_square * 50.0 / size if mean_square > 0.0 else 0.0


def oam(X, is_pos, draws, *, C, size, update, policy):
    """The iterates after each row that met another; C grows with a reservoir."""
    w, iterates = np.zeros(X.shape[1]), []
    for x, y, opposite, n, mean_square in stream(X, is_pos, size, policy, draws):
        C_t = limit(C, mean_square, size) * (max(1.0, n / size) if policy == "reservoir" else 1.0)
        pairs = [y * (x - b) for b in opposite]
        if update == "sequential":
            for z in pairs:
                if z @ z > 0.0:
                    w = w + min(C_t, max(0.0, 1.0 - w @ z) / (z @ z)) * z
        else:
            w = w + 0.5 * C_t * sum((z for z in pairs if w @ z <= 1.0), np.zeros_like(w))
        if pairs:
            iterates.append(w)
    return np.array(iterates)


def confident_step(mean, cov, z, phi, C):
    """alpha, u and v of one pair, after the printed formulas."""
    v, m = z @ cov @ z, mean @ z
    psi, zeta = 1.0 + phi**2 / 2.0, 1.0 + phi**2
    alpha = min(C, max(0.0, (-m * psi + np.sqrt(m**2 * phi**4 / 4.0 + v * phi**2 * zeta)) / (v * zeta)))
    u = 0.25 * (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4.0 * v)) ** 2
    return alpha, u, v


def cbr(X, is_pos, draws, *, C, size, policy, confidence=0.7, covariance="full"):
    """mean and covariance after all rows; no pair is passed over."""
    d, phi = X.shape[1], norm.ppf(confidence)
    mean, cov = np.zeros(d), np.eye(d)
    for x, y, opposite, _, mean_square in stream(X, is_pos, size, policy, draws):
        for b in opposite:
            z = y * (x - b)
            if z @ cov @ z <= 0.0:
                continue
            C_t = limit(C, mean_square, size)
            printed = covariance.startswith("printed")
            offset = np.diag(1.0 / (1.0 / np.diag(cov) + C_t)) if covariance == "printed" else cov
            alpha, u, v = confident_step(mean, offset, z, phi, C_t)
            mean = mean + alpha * cov @ z
            beta = alpha * phi / (np.sqrt(u + v * alpha * phi) if printed else np.sqrt(u) + v * alpha * phi)
            if covariance == "diagonal":
                cov = np.diag(1.0 / (1.0 / np.diag(cov) + alpha * phi / np.sqrt(u) * z**2))
            elif covariance == "printed":
                cov = np.diag(1.0 / (1.0 / np.diag(cov) + beta * z**2))
            else:
                cov = cov - beta * np.outer(cov @ z, cov @ z)
    return mean, cov


def uni_exp(X, is_pos, *, step, alpha, push, weigh=lambda t: t, gradient=False):
    """The average iterate, the t-th weighed so; rows are measured from the mean of the rows so far.

    By ``gradient`` the penalty's step is explicit, and the first row makes a step.
    """
    w, total, t = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0
    square = 0.0
    for k in range(len(X)):
        before = X[:k].mean(axis=0) if k else np.zeros(X.shape[1])
        centre = X[: k + 1].mean(axis=0)
        square += (X[k] - before) @ (X[k] - centre)
        share = (is_pos[: k + 1] == is_pos[k]).mean()
        if share == 1.0 and not gradient:
            continue
        t += 1
        x, y = X[k] - centre, 1.0 if is_pos[k] else -1.0
        eta = (step or ((k + 1) / square if square else 0.0)) / np.sqrt(t)
        move = y * push(y * (w @ x), x @ x, eta / (2.0 * share)) * x
        w = (1.0 - eta * alpha) * w + move if gradient else (w + move) / (1.0 + eta * alpha)
        total = total + weigh(t) * w
    return total / sum(weigh(k) for k in range(1, t + 1))
