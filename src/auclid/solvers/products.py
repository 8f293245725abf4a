"""The square loss over all pairs by products with X alone, for rows too wide for moments: no d x d matrix is formed.

Conjugate gradients, preconditioned by the diagonal; or accelerated proximal gradients (FISTA) for l1 and w >= 0.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from auclid.data import Table
from auclid.solvers.conjugate import conjugate_gradients
from auclid.solvers.iteration import Iterate
from auclid.solvers.krylov import shifted_solutions
from auclid.stats.labelled import LabelledTable
from auclid.stats.moments import ClassMoments

PRODUCTS, NEAR = 20, 0.1
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
    W, residual = shifted_solutions(product, 2.0 * (means[:, 1] - means[:, 0]), alphas, PRODUCTS)
    W[:, residual > NEAR] = np.nan
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
    step = 1.0 / _largest_eigenvalue(lambda u: scale * product(scale * u), len(b))
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


def _largest_eigenvalue(product: Callable[[np.ndarray], np.ndarray], d: int) -> float:
    v = np.random.default_rng(0).standard_normal(d)
    value = 1.0
    for _ in range(30):
        v = product(v / np.linalg.norm(v))
        value = float(np.linalg.norm(v))
        if value == 0.0:
            return 1.0
    return 1.05 * value
