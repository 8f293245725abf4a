"""The square loss over all pairs, a quadratic: min_w 1/2 w.A.w - b.w, A = 2(S + dd') + alpha I, b = 2d.

Here d is the difference of the class means and S the sum of the class covariances. Class moments give a d x d system;
for rows too wide for that, products with X are enough: conjugate gradients, preconditioned by the diagonal, or
accelerated proximal gradients (FISTA) for l1 and w >= 0.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg

from auclid import _sizes
from auclid.data import Table
from auclid.solvers.iterative import (
    Iterate,
    IterationCallback,
    Solution,
    at_most,
    conjugate_gradients,
    coordinate_descent,
    largest_eigenvalue,
    run,
    shifted_solutions,
)
from auclid.stats.labelled import LabelledDataset, LabelledTable, class_moments_of
from auclid.stats.moments import ClassMoments


def quadratic(moments: ClassMoments, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """A and b of the objective, from class moments."""
    delta = moments.delta
    A = moments.within
    A += np.multiply.outer(delta, delta)
    A *= 2.0
    A[np.diag_indices_from(A)] += alpha
    return A, 2.0 * delta


def minimiser(moments: ClassMoments, alpha: float) -> np.ndarray:
    """The w of the least objective; for alpha = 0, the shortest one."""
    return solve_symmetric(*quadratic(moments, alpha), minimum_norm=alpha == 0.0)


def path(moments: ClassMoments, alphas: np.ndarray) -> np.ndarray:
    """One column a value of alpha: the direction of the minimiser (its length cannot change an AUC).

    For alpha > 0 that is (S + alpha/2 I)^-1 d, so one eigendecomposition of S serves all.
    """
    columns = np.zeros((len(moments.delta), len(alphas)))
    if not np.isfinite(np.trace(moments.within)):  # no alpha is better than another; the fit reports the overflow
        return columns
    values, vectors = linalg.eigh(moments.within, driver="evd", check_finite=False)
    values = np.maximum(values, 0.0)
    inner = vectors.T @ moments.delta
    for k, alpha in enumerate(alphas):
        if alpha > 0.0:
            columns[:, k] = vectors @ (inner / (values + 0.5 * alpha))
        else:
            columns[:, k] = minimiser(moments, 0.0)
    return columns


def solve_symmetric(A: np.ndarray, b: np.ndarray, minimum_norm: bool = False) -> np.ndarray:
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


def solve_spectral(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The minimum-norm solution of A w = b, directions within rounding of zero left out; NaN where A overflowed."""
    if not np.isfinite(np.trace(A)):
        return np.full_like(b, np.nan)
    values, vectors = linalg.eigh(A, driver="evd", check_finite=False)
    kept = values > values[-1] * len(b) * np.finfo(float).eps
    return vectors[:, kept] @ ((vectors[:, kept].T @ b) / values[kept])


PATH_PRODUCTS, MAX_PATH_RESIDUAL = 20, 0.1
"""Products with the rows that `some_path` takes, and the residual with which it calls an answer near."""


class PairQuadratic(NamedTuple):
    """1/2 w.A.w - b.w, with A = 2(S + dd') + alpha I known by its products and its diagonal."""

    product: Callable[[np.ndarray], np.ndarray]
    diagonal: np.ndarray
    b: np.ndarray
    alpha: float


def pair_quadratic(rows: LabelledTable, moments: ClassMoments, alpha: float) -> PairQuadratic:
    """The mean square loss of all pairs of rows, given their class means; rows are centred implicitly, so sparse ones
    stay sparse."""
    table, is_pos, weight = rows
    means = np.stack([moments.neg.mean, moments.pos.mean], axis=1)
    share = class_shares(is_pos, weight)
    hessian_product, delta = curvature(table, is_pos, share, means), moments.delta
    diagonal = 2.0 * (np.maximum(table.rmatmul_squares(share) - (means**2).sum(axis=1), 0.0) + delta**2) + alpha
    return PairQuadratic(lambda v: hessian_product(v) + alpha * v, diagonal, 2.0 * delta, alpha)


def class_shares(is_pos: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """The weight of each row as a share of its class's."""
    label = is_pos.astype(np.intp)
    share = np.ones(len(label)) if weight is None else weight
    return share / np.bincount(label, share, minlength=2)[label]


def curvature(
    table: Table, is_pos: np.ndarray, share: np.ndarray, means: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """v -> 2(S + dd')v, from `class_shares` and the class means, a column each (negative, positive)."""
    label, delta = is_pos.astype(np.intp), means[:, 1] - means[:, 0]

    def product(v: np.ndarray) -> np.ndarray:
        scores = (table.matmul(v) - (v @ means)[label]) * share
        within = table.rmatmul(scores) - means @ np.bincount(label, scores, minlength=2)
        return 2.0 * (within + delta * (delta @ v))

    return product


def some_path(table: Table, is_pos: np.ndarray, weight: np.ndarray | None, alphas: np.ndarray) -> np.ndarray:
    """Nearly the minimiser for each alpha, a column each: from few products with the rows, all alphas together.

    NaN where so few are not enough, as for small alphas.
    """
    share = class_shares(is_pos, weight)
    means = np.stack([table.rmatmul(np.where(is_pos == c, share, 0.0)) for c in (False, True)], axis=1)
    product = curvature(table, is_pos, share, means)
    W, residual = shifted_solutions(product, 2.0 * (means[:, 1] - means[:, 0]), alphas, PATH_PRODUCTS)
    W[:, residual > MAX_PATH_RESIDUAL] = np.nan
    return W


def linear_iterates(problem: PairQuadratic) -> Iterator[Iterate]:
    """Conjugate gradients on A w = b: the weights after each product, with the relative residual."""
    product, diagonal, b, alpha = problem
    # Without a penalty, plain steps lead to the minimum-norm solution.
    precondition = (lambda v: v / diagonal) if alpha > 0.0 else (lambda v: v)
    size = np.linalg.norm(b)
    if not np.isfinite(diagonal).all():  # squares of the rows overflow: there is no answer
        yield Iterate(np.full_like(b, np.nan), 0.0)
    for found in conjugate_gradients(product, b, precondition):
        yield Iterate(found.x, float(np.linalg.norm(found.residual) / size))


def proximal_iterates(problem: PairQuadratic, l1: float, positive: bool) -> Iterator[Iterate]:
    """FISTA with restarts where momentum points uphill, in u = w / scale, which gives all columns one curvature."""
    product, diagonal, b, _ = problem
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    step = 1.0 / (1.05 * largest_eigenvalue(lambda u: scale * product(scale * u), len(b)) or 1.0)
    w, ahead, momentum = np.zeros_like(b), np.zeros_like(b), 1.0
    while True:
        target = ahead - step * scale * (product(scale * ahead) - b)
        new = np.sign(target) * np.maximum(np.abs(target) - step * l1 * scale, 0.0)
        if positive:
            new = np.maximum(new, 0.0)
        if (ahead - new) @ (new - w) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = new + (momentum - 1.0) / following * (new - w)
        size, change = float(np.linalg.norm(new)), float(np.linalg.norm(new - w))
        w, momentum = new, following
        yield Iterate(scale * w, change / size if size > 0.0 else change)


class LeastSquares(NamedTuple):
    """Settings: mean (1 - w.z)^2 over all pairs + alpha/2 |w|^2 + l1 |w|_1, over w >= 0 if ``positive``."""

    alpha: float
    l1: float = 0.0
    positive: bool = False
    tol: float = 1e-6
    max_iter: int = 1000

    @property
    def smooth(self) -> bool:
        """Whether the objective is a plain quadratic."""
        return self.l1 == 0.0 and not self.positive

    def from_moments(self, moments: ClassMoments, rounds: IterationCallback | None = None) -> Solution:
        """The minimiser from the moments of both classes."""
        if self.smooth:
            return Solution(minimiser(moments, self.alpha))
        A, b = quadratic(moments, self.alpha)
        iterates = coordinate_descent(A, b, float(self.l1), self.positive)
        return run(iterates, np.zeros_like(b), self.tol, rounds or at_most(self.max_iter))

    def from_products(self, rows: LabelledDataset, rounds: IterationCallback | None = None) -> Solution:
        """The minimiser by products with the rows."""
        problem = pair_quadratic(rows.labelled_table(), class_moments_of(rows, full=False), float(self.alpha))
        iterates = linear_iterates(problem) if self.smooth else proximal_iterates(problem, self.l1, self.positive)
        return run(iterates, np.zeros_like(problem.b), self.tol, rounds or at_most(self.max_iter))


def moments_are_cheaper(width: int) -> bool:
    """Whether moments are the cheaper way for so many columns."""
    return width <= _sizes.MAX_MOMENT_COLUMNS


def project_to_row_space(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Z, V) with X = Z Vᵀ and VᵀV = I: n coordinates in place of d > n columns, and the way back.

    A weight vector u of the coordinates scores the rows as V u does, |V u| = |u|, and what a ridge has no use for is
    what lies outside the span: so a model with a ridge may be learnt on Z, and its weights are V u.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.solvers.least_squares import project_to_row_space
    >>> Z, V = project_to_row_space(np.array([[1.0, 2.0, 2.0]]))
    >>> Z.shape, np.allclose(Z @ V.T, [[1.0, 2.0, 2.0]])
    ((1, 1), True)
    """
    Q, R = linalg.qr(X.T.astype(np.float64, copy=False), mode="economic", check_finite=False)
    return np.ascontiguousarray(R.T), Q
