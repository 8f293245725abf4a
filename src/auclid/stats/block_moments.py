"""Moments of the groups of one dense block: the largest group stays where it is, the others are gathered from it."""

import numpy as np

from auclid.rows import sizes
from auclid.stats.moments import Moments, add_outer, add_products, block_moments, symmetric

NEAR = 1024
"""Rows whose mean is near enough to all others of a block to measure them from."""


def dense_block_moments(X: np.ndarray, group: np.ndarray, n_groups: int) -> list[Moments]:
    """The moments of each group of rows of an array, C- or F-ordered; numbers outside of the groups are left out.

    Sorting the rows by group, as `grouped_moments` does for a table, costs as much as reading them from a file.
    """
    inside = group[(group >= 0) & (group < n_groups)]
    counts = np.bincount(inside, minlength=n_groups)
    largest = int(counts.argmax())
    return [
        _in_place(X, group, g, int(counts[g])) if g == largest else block_moments(_gathered(X, group == g))
        for g in range(n_groups)
    ]


def _gathered(X: np.ndarray, here: np.ndarray) -> np.ndarray:
    at = np.flatnonzero(here)
    return X[at] if X.flags.c_contiguous else np.ascontiguousarray(X.T[:, at].T)


def _in_place(X: np.ndarray, group: np.ndarray, number: int, count: int) -> Moments:
    """The moments of one group, with rows of the others set to zero once all are measured from a common point."""
    n, d = X.shape
    if not count:
        return Moments.empty(d)
    centre = X[:: max(1, n // NEAR)].mean(axis=0, dtype=np.float64)
    turned, size = not X.flags.c_contiguous, max(1, sizes.BLOCK_BYTES // (8 * max(1, d)))
    scatter, total, work = np.zeros((d, d)), np.zeros(d), np.empty(min(n, size) * d)
    for start in range(0, n, size):
        part = X[start : start + size]
        others = np.flatnonzero(group[start : start + size] != number)
        # Columns stay together where they are, so that nothing is dealt out; BLAS takes either.
        rest = work[: part.size].reshape(part.T.shape if turned else part.shape)
        if turned:
            np.subtract(part.T, centre[:, None], out=rest)
            rest[:, others] = 0.0
            total += rest.sum(axis=1)
        else:
            np.subtract(part, centre, out=rest)
            rest[others] = 0.0
            total += rest.sum(axis=0)
        add_products(scatter, rest.T if turned else rest)
    mean = total / count
    add_outer(scatter, -float(count), mean)
    return Moments(float(count), centre + mean, symmetric(scatter))
