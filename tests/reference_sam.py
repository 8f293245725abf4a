"""SAM, ASAM and PSAM a step at a time, with plain vectors: what the lazily scaled kernel is held against."""

import numpy as np

from reference import in_order

STEPS = {
    ("ASAM", "hinge"): lambda m, q, s: s if m < 1.0 else 0.0,
    ("ASAM", "square"): lambda m, q, s: min(2.0 * s, 1.0 / q) * (1.0 - m),
    ("ASAM", "squared_hinge"): lambda m, q, s: min(2.0 * s, 1.0 / q) * max(0.0, 1.0 - m),
    ("ASAM", "logistic"): lambda m, q, s: s / (1.0 + np.exp(m)),
    ("PSAM", "hinge"): lambda m, q, s: min(s, max(0.0, 1.0 - m) / q) if q else 0.0,
    ("PSAM", "square"): lambda m, q, s: 2.0 * s * (1.0 - m) / (1.0 + 2.0 * s * q),
    ("PSAM", "squared_hinge"): lambda m, q, s: 2.0 * s * max(0.0, 1.0 - m) / (1.0 + 2.0 * s * q),
}
"""The c of w += c z, from the margin m = w.z, q = |z|^2 and the step size s."""


def walk(Z, step, alpha, t0, rskip, askip):
    """Last iterate and average after a step for each z of Z; ``t0`` None: |z|^2/alpha, mean so far.

    ``alpha`` is a number, or one for each step.
    """
    w, mean, averaged, squares = np.zeros(Z.shape[1]), np.zeros(Z.shape[1]), 0, []
    for t, (z, a) in enumerate(zip(Z, np.broadcast_to(alpha, len(Z)), strict=True), start=1):
        squares.append(z @ z)
        age = t + (np.mean(squares) / a if t0 is None else t0)
        w = w + step(w @ z, z @ z, 1.0 / (a * age)) * z
        if t % rskip == 0:
            w = (1.0 - rskip / age) * w
        if t % askip == 0:
            mean = (averaged * mean + w) / (averaged + 1)
            averaged += 1
    return w, mean


def drawn_pairs(X, is_pos, steps, seed):
    """z of the pairs that `fit` draws."""
    draws, order = np.random.default_rng(seed).random((steps, 2)), in_order(X, is_pos)
    pos, neg = X[order][is_pos[order]], X[order][~is_pos[order]]
    return pos[(draws[:, 0] * len(pos)).astype(int)] - neg[(draws[:, 1] * len(neg)).astype(int)]


def drawn_pairs_within(X, is_pos, groups, steps, seed):
    """z of the pairs that `fit` draws within groups: a pair of the list of all, and a negative of its positive row."""
    order = in_order(X, is_pos)
    beside = {i: [j for j in order if groups[j] == groups[i] and not is_pos[j]] for i in order if is_pos[i]}
    pairs = [i for i, negatives in beside.items() for _ in negatives]
    Z = []
    for first, second in np.random.default_rng(seed).random((steps, 2)):
        i = pairs[int(first * len(pairs))]
        Z.append(X[i] - X[beside[i][int(second * len(beside[i]))]])
    return np.array(Z)


def streamed_pairs(X, is_pos, capacity, seed):
    """z of the pairs that `partial_fit` makes: each row with one of the other class's reservoir."""
    rng, held, seen, Z = np.random.default_rng(seed), {True: [], False: []}, {True: 0, False: 0}, []
    for x, c in zip(X, map(bool, is_pos), strict=True):
        slot, choice = rng.random(2)
        seen[c] += 1
        if seen[c] <= capacity:
            held[c].append(x)
        elif int(slot * seen[c]) < capacity:
            held[c][int(slot * seen[c])] = x
        if held[not c]:
            z = x - held[not c][int(choice * len(held[not c]))]
            Z.append(z if c else -z)
    return np.array(Z).reshape(-1, X.shape[1])
