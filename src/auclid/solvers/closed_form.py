"""min_w 1/2 w.A.w - b.w + l1 |w|_1 (+ w >= 0), with A = 2(S + dd') + alpha I and b = 2d: four ways to the same w."""

import warnings

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from auclid._generic import kernel
from auclid.stats.moments import LARGEST, class_moments

CHEAP = 3000
"""Columns up to which forming and factoring moments beats products with X."""


def moments_fit(table):
    """Whether moments are the cheaper way for a table of this shape."""
    return table.shape[1] <= CHEAP


def largest_moments(estimator, d):
    """Refuse a state that would not fit, and name methods that do."""
    if d > LARGEST:
        raise ValueError(
            f"The moments of {type(estimator).__name__} must be d x d, too large a state for d = {d} columns "
            f"(at most {LARGEST}). Use fit on all rows, or SPAM, which streams in memory of one row."
        )


def quadratic(moments, alpha):
    """A and b of the objective, from class moments."""
    gap = moments.gap
    A = moments.within
    A += np.multiply.outer(gap, gap)
    A *= 2.0
    A[np.diag_indices_from(A)] += alpha
    return A, 2.0 * gap


def solve_moments(moments, settings, rounds=None):
    """The minimiser and the iterations it took, from the moments of both classes.

    ``rounds``, here and below: a function of a function that gives the weights so far; it makes the iterator that
    counts the iterations, at most ``max_iter``.
    """
    A, b = quadratic(moments, settings.alpha)
    if settings.l1 == 0.0 and not settings.positive:
        return solve_symmetric(A, b, minimum_norm=settings.alpha == 0.0), 1
    return _coordinate_descent(A, b, settings, rounds or _counted(settings))


def _counted(settings):
    return lambda weights: iter(range(settings.max_iter))


def solve_symmetric(A, b, minimum_norm=False):
    """A^-1 b by Cholesky, columns scaled first; by eigenvalues where A is singular. An empty column gets no weight."""
    used = np.diag(A) != 0.0
    if not used.all():
        w = np.zeros_like(b)
        w[used] = solve_symmetric(A[np.ix_(used, used)], b[used], minimum_norm) if used.any() else 0.0
        return w
    scale = 1.0 / np.sqrt(np.diag(A))
    try:
        scaled = A * scale
        scaled *= scale[:, None]
        size = np.abs(scaled).sum(axis=0).max() if minimum_norm else 0.0
        factor = linalg.cholesky(scaled, lower=True, overwrite_a=True, check_finite=False)
        if not minimum_norm or linalg.lapack.dpocon(factor, size, uplo="L")[0] > 1e-12:
            return scale * linalg.cho_solve((factor, True), scale * b, check_finite=False)
    except linalg.LinAlgError:
        pass
    return solve_spectral(A, b)


def solve_spectral(A, b):
    """The minimum-norm solution of A w = b, directions within rounding of zero left out."""
    values, vectors = linalg.eigh(A, driver="evd", check_finite=False)
    kept = values > values[-1] * len(b) * np.finfo(float).eps
    return vectors[:, kept] @ ((vectors[:, kept].T @ b) / values[kept])


def _coordinate_descent(A, b, settings, rounds):
    w, gradient, n_iter, change = np.zeros_like(b), -b, 0, np.inf
    for _ in rounds(lambda: w):
        change = descend(A, gradient, float(settings.l1), settings.positive, w)
        n_iter += 1
        if change <= settings.tol:
            break
    _say_unless(change <= settings.tol, settings, n_iter)
    return w, n_iter


@kernel
def descend(A, gradient, l1, positive, w):
    """One pass of cyclic coordinate descent; changes w and its gradient A w - b, returns the relative change."""
    change, size = 0.0, 0.0
    for k in range(w.shape[0]):
        if A[k, k] <= 0.0:
            continue
        target = w[k] - gradient[k] / A[k, k]
        length = abs(target) - l1 / A[k, k]
        new = (length if target > 0.0 else -length) if length > 0.0 else 0.0
        if positive and new < 0.0:
            new = 0.0
        step = new - w[k]
        if step != 0.0:
            for j in range(w.shape[0]):
                gradient[j] += step * A[k, j]
            w[k] = new
        scale = np.sqrt(A[k, k])
        change = max(change, abs(step) * scale)
        size = max(size, abs(new) * scale)
    return change / size if size > 0.0 else 0.0


def solve_products(table, is_pos, weight, settings, rounds=None):
    """The minimiser by products with X alone: conjugate gradients, or accelerated proximal steps for l1, positive."""
    product, diagonal, b = pair_quadratic(table, is_pos, weight, float(settings.alpha))
    solve = _conjugate_gradients if settings.l1 == 0.0 and not settings.positive else _proximal_gradients
    return solve(product, diagonal, b, settings, rounds or _counted(settings))


def pair_quadratic(table, is_pos, weight, alpha):
    """v -> A v, the diagonal of A, and b, without forming A; rows are centred implicitly."""
    moments = class_moments(table, is_pos, weight, full=False)
    gap, means = moments.gap, np.stack([moments.neg.mean, moments.pos.mean], axis=1)
    label = is_pos.astype(np.intp)
    share = 1.0 / np.array([moments.neg.n, moments.pos.n])[label]
    if weight is not None:
        share *= weight

    def product(v):
        v = np.ravel(v)
        scores = (table.matmul(v) - (v @ means)[label]) * share
        return 2.0 * (_centred(table.rmatmul(scores), means, scores, label) + gap * (gap @ v)) + alpha * v

    diagonal = 2.0 * (np.maximum(table.rmatmul_squares(share) - (means**2).sum(axis=1), 0.0) + gap**2) + alpha
    return product, diagonal, 2.0 * gap


def _centred(product, means, scores, label):
    return product - means @ np.bincount(label, scores, minlength=2)


def _conjugate_gradients(product, diagonal, b, settings, rounds):
    d, w, n_iter = len(b), np.zeros_like(b), 0
    counter = rounds(lambda: w)

    def count(so_far):
        nonlocal w, n_iter
        w, n_iter = so_far, n_iter + 1
        next(counter)

    scaled = settings.alpha > 0.0  # without a penalty, plain steps lead to the minimum-norm solution
    next(counter)
    try:
        w, failed = cg(
            LinearOperator((d, d), product, dtype=np.float64),
            b,
            rtol=settings.tol,
            maxiter=settings.max_iter,
            M=LinearOperator((d, d), lambda v: np.ravel(v) / diagonal, dtype=np.float64) if scaled else None,
            callback=count,
        )
    except StopIteration:  # the counter's, which scipy lets pass
        failed = True
    finally:
        getattr(counter, "close", lambda: None)()
    _say_unless(not failed, settings, n_iter)
    return w, max(1, n_iter)


def _proximal_gradients(product, diagonal, b, settings, rounds):
    """FISTA with restarts where momentum points uphill, in u = w / scale, which gives all columns one curvature."""
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    step = 1.0 / _largest_eigenvalue(lambda u: scale * product(scale * u), len(b))
    w, ahead = np.zeros_like(b), np.zeros_like(b)
    momentum, n_iter, change = 1.0, 0, np.inf
    for _ in rounds(lambda: scale * w):
        target = ahead - step * scale * (product(scale * ahead) - b)
        new = np.sign(target) * np.maximum(np.abs(target) - step * settings.l1 * scale, 0.0)
        if settings.positive:
            new = np.maximum(new, 0.0)
        if (ahead - new) @ (new - w) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = new + (momentum - 1.0) / following * (new - w)
        size = np.linalg.norm(new)
        change = np.linalg.norm(new - w) / size if size > 0.0 else np.linalg.norm(new - w)
        w[:], momentum, n_iter = new, following, n_iter + 1
        if change <= settings.tol:
            break
    _say_unless(change <= settings.tol, settings, n_iter)
    return scale * w, n_iter


def _largest_eigenvalue(product, d):
    v = np.random.default_rng(0).standard_normal(d)
    value = 1.0
    for _ in range(30):
        v = product(v / np.linalg.norm(v))
        value = np.linalg.norm(v)
        if value == 0.0:
            return 1.0
    return 1.05 * value


def _say_unless(converged, settings, n_iter):
    if not converged and n_iter >= settings.max_iter:  # else a callback asked to stop
        warnings.warn(
            f"{type(settings).__name__} stopped after {n_iter} iterations before reaching tol={settings.tol}. "
            "Scale the columns of X, or raise max_iter, alpha or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
