"""Tables that no method likes: scales from 1e-300 to 1e308, single odd cells, broken formats."""

from typing import Any

import numpy as np
from scipy import sparse

from hostile import EXTREMES, SCALES, pick

FORMATS = (
    sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_matrix, sparse.lil_matrix, sparse.bsr_matrix
)  # fmt: skip


def numbers(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """A table of n rows and d columns, of some unpleasant kind."""
    X = rng.normal(size=(n, d))
    kind = rng.integers(10)
    if kind == 0:
        X = np.round(X)
    elif kind == 1:
        X[:] = X[0]
    elif kind == 2:
        X[:, 0] = pick(rng, EXTREMES)
    elif kind == 3:
        X = X * np.array([pick(rng, SCALES) for _ in range(d)])
    elif kind == 4:
        X[rng.integers(n), rng.integers(d)] = pick(rng, EXTREMES)
    elif kind == 5:
        X = np.where(rng.random((n, d)) < 0.7, 0.0, X)
    elif kind == 6:
        X = X + pick(rng, SCALES)
    with np.errstate(all="ignore"):
        return np.nan_to_num(X * pick(rng, SCALES), nan=0.0, posinf=1.7e308, neginf=-1.7e308)


def dressed(rng: np.random.Generator, X: np.ndarray) -> Any:
    """The table as another type, order or format."""
    kind = rng.integers(9)
    if kind == 0:
        with np.errstate(over="ignore"):
            return np.clip(X, -3e38, 3e38).astype(np.float32)
    if kind == 1:
        return np.asfortranarray(X)
    if kind in (2, 3):
        return pick(rng, FORMATS)(np.where(rng.random(X.shape) < 0.5, 0.0, X))
    if kind == 4:
        return unsorted(rng, X)
    if kind == 5:
        return X.tolist()
    if kind == 6:
        return np.repeat(X, 2, axis=1)[:, ::2]
    return X


def unsorted(rng: np.random.Generator, X: np.ndarray) -> sparse.csr_matrix:
    """A CSR matrix with its columns out of order, some of them twice, and explicit zeros."""
    n, d = X.shape
    count = rng.integers(0, 2 * d + 1, size=n)
    indices = rng.integers(0, d, size=count.sum())
    ends = np.concatenate([[0], np.cumsum(count)])
    return sparse.csr_matrix((X.ravel()[rng.integers(0, n * d, size=count.sum())], indices, ends), shape=(n, d))


def broken(rng: np.random.Generator, X: np.ndarray) -> Any:
    """A sparse matrix whose indices point outside of it, or whose ends do not rise."""
    matrix = pick(rng, (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix))(X)
    wild = pick(rng, [X.shape[1], X.shape[0], -1, 10**6, 2**31 - 1, -(2**31)])
    at = rng.integers(max(1, len(matrix.indices)))
    kind = rng.integers(4)
    if kind == 0 and len(matrix.indices):
        matrix.indices[at] = wild
    elif kind == 1:
        matrix.indptr[rng.integers(len(matrix.indptr))] = wild
    elif kind == 2:
        matrix.indptr[-1] = 0
    else:
        matrix.indices = matrix.indices[: len(matrix.indices) // 2]
    return matrix


def labels(rng: np.random.Generator, n: int) -> np.ndarray:
    """Two labels of some kind, the rarer one at least once."""
    is_pos = rng.random(n) < pick(rng, [0.5, 0.3, 0.05])
    is_pos[rng.integers(n)] = True
    is_pos[rng.integers(n)] = False
    pairs = [(0, 1), (-1, 1), (0.0, 1.0), ("no", "yes"), (False, True), (3, 7)]
    low, high = pick(rng, pairs)
    return np.where(is_pos, high, low)


def weights(rng: np.random.Generator, n: int) -> np.ndarray:
    """Weights of rows, some of them beyond reason."""
    w = rng.random(n)
    kind = rng.integers(6)
    if kind == 0:
        w[rng.integers(n)] = pick(rng, [1e155, 1e308, 0.0, 5e-324, -1.0, np.nan, np.inf])
    elif kind == 1:
        w *= pick(rng, [1e155, 1e300, 1e-155, 1e-300, 0.0])
    elif kind == 2:
        w = np.where(rng.random(n) < 0.5, 0.0, w)
    elif kind == 3:
        w = np.full(n, pick(rng, [1e155, 1e308, 1e-308]))
    return w
