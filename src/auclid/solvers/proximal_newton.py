"""Proximal Newton's method: a smooth convex objective of pairs plus a penalty with a proximal map.

Each step minimises the quadratic model of the smooth part plus the penalty, by coordinate descent if the Hessian is at
hand and the penalty is an elastic net, else by accelerated proximal gradients, and searches along the way there. The
Hessian of rows in parts is that of a sample in memory: it only shapes the steps, while value and gradient are of all
rows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from auclid import _sizes
from auclid.penalties import ElasticNet, Penalty, penalty_value, prox
from auclid.solvers.all_pairs import LinearSpace, PairPoint, hessian
from auclid.solvers.iterative import descend, largest_eigenvalue

MAX_PASSES = 1000
"""Passes of coordinate descent, or products with an explicit Hessian, for one step at the most."""

MAX_STEP_PRODUCTS = 100
"""Products with a Hessian that is not formed, for one step at the most."""

FORCING = 0.1
"""How exactly a quadratic model is minimised, relative to the step from where it is exact."""

ROUNDING = 1e-12
"""Relative differences of values below this say nothing."""

SAMPLE_ITERATIONS = 50
"""Steps on a sample of the rows, which only says where to start."""


class Curvature(NamedTuple):
    """A Hessian: its product with a vector, its largest eigenvalue, and itself if it is formed."""

    product: Callable[[np.ndarray], np.ndarray]
    largest: float
    matrix: np.ndarray | None


class CompositeState(NamedTuple):
    """Where the method is."""

    objective: Any  # of `newton.Objective`: the smooth part
    penalty: Penalty
    tol: float
    point: Any
    residual: float = np.inf  # the length of the proximal gradient at the point
    n_iter: int = 0
    stuck: bool = False  # no step goes down any more

    @property
    def value(self) -> float:
        """The objective with the penalty."""
        return float(self.point.value) + float(penalty_value(self.penalty, self.point.w))

    @property
    def weights(self) -> np.ndarray:
        """The weights for the user."""
        return self.point.w

    @property
    def converged(self) -> bool:
        """Whether nothing is left to do."""
        return self.reached and self.objective.refined(self.point) is None

    @property
    def reached(self) -> bool:
        """Whether the proximal gradient of this objective is short enough."""
        return self.residual <= self.tol * self.objective.start_norm

    @property
    def finished(self) -> bool:
        """Whether another step would change nothing."""
        return self.stuck or self.converged

    def relative_gap(self) -> float:
        """How far, at most, the value is above the optimum, as a share of it; 1 if nothing is known.

        With an elastic net the objective is strongly convex, so |s|^2 / (2 alpha) is a bound for the shortest
        subgradient s.
        """
        alpha = self.objective.alpha
        if not isinstance(self.penalty, ElasticNet) or alpha <= 0.0:
            return 1.0
        shortest = shortest_subgradient(self.point.gradient, self.point.w, self.penalty)
        return min(1.0, float(shortest @ shortest) / (2.0 * alpha) / self.value)

    def step(self) -> "CompositeState":
        """The state after one more step."""
        return update(self)


def shortest_subgradient(gradient: np.ndarray, w: np.ndarray, penalty: ElasticNet) -> np.ndarray:
    """The shortest subgradient of a smooth function plus an elastic net."""
    g = gradient + penalty.l2 * w
    at_zero = np.sign(g) * np.maximum(np.abs(g) - penalty.l1, 0.0)
    return np.where(w == 0.0, at_zero, g + penalty.l1 * np.sign(w))


def init(objective: Any, penalty: Penalty, tol: float) -> CompositeState:
    """The minimiser of a sample of rows in parts, else w = 0."""
    if objective.space.in_memory:
        return CompositeState(objective, penalty, tol, objective.at(np.zeros(objective.size)))
    state = init(objective.sample(), penalty, max(tol, 1e-3))
    for _ in range(SAMPLE_ITERATIONS):
        if state.finished:
            break
        state = update(state)
    return CompositeState(objective, penalty, tol, objective.at(state.point.w))


def update(state: CompositeState) -> CompositeState:
    """One step; or the state with its residual, if it has none and needs no step."""
    point, penalty = state.point, state.penalty
    curvature = curvature_at(point)
    residual = proximal_gradient_norm(point.w, point.gradient, penalty, curvature.largest)
    state = state._replace(residual=residual)
    if state.reached:
        refined = state.objective.refined(point)
        if refined is None:
            return state
        return state._replace(objective=refined, point=refined.at(point.w), residual=np.inf, n_iter=state.n_iter + 1)
    target = model_minimiser(point.w, point.gradient, penalty, curvature)
    moved = line_search(state, target)
    if moved is None:
        return state._replace(stuck=True)
    # of the new point with the old curvature: what stops the iteration; the next step measures it again
    residual = proximal_gradient_norm(moved.w, moved.gradient, penalty, curvature.largest)
    return state._replace(point=moved, residual=residual, n_iter=state.n_iter + 1)


def curvature_at(point: Any) -> Curvature:
    """The Hessian at a point, formed if columns are few; of rows in parts, that of the sample."""
    space, size = point.objective.space, point.objective.size
    if not space.in_memory:
        return curvature_at(point.objective.sample().at(point.w))

    def hessian_product(v: np.ndarray) -> np.ndarray:
        return point.product(point.move(v))

    H = None
    if type(point) is PairPoint and type(space) is LinearSpace:
        H = hessian(point) if size <= _sizes.MAX_HESSIAN_COLUMNS else None
    elif size <= MAX_STEP_PRODUCTS:
        H = np.column_stack([hessian_product(unit) for unit in np.eye(size)])
    product = hessian_product if H is None else H.__matmul__
    return Curvature(product, max(1.1 * largest_eigenvalue(product, size), 1e-300), H)


def proximal_step(w: np.ndarray, gradient: np.ndarray, penalty: Penalty, step: float) -> np.ndarray:
    """prox of step times the penalty at w - step gradient."""
    moved = w - step * gradient
    prox(penalty, moved, step)
    return moved


def proximal_gradient_norm(w: np.ndarray, gradient: np.ndarray, penalty: Penalty, largest: float) -> float:
    """The length of (w - prox(w - gradient / L)) L: zero at the minimiser only."""
    return largest * float(np.linalg.norm(w - proximal_step(w, gradient, penalty, 1.0 / largest)))


def model_minimiser(w: np.ndarray, gradient: np.ndarray, penalty: Penalty, curvature: Curvature) -> np.ndarray:
    """About argmin over v of g.(v - w) + 1/2 (v - w).H (v - w) + penalty(v)."""
    if curvature.matrix is not None and isinstance(penalty, ElasticNet) and penalty.l2 == 0.0:
        v, slope = w.copy(), gradient.copy()
        for _ in range(MAX_PASSES):
            if descend(curvature.matrix, slope, penalty.l1, False, v) <= 1e-12:
                break
        return v
    return accelerated(w, gradient, penalty, curvature)


def accelerated(w: np.ndarray, gradient: np.ndarray, penalty: Penalty, curvature: Curvature) -> np.ndarray:
    """Accelerated proximal gradients on the quadratic model, restarted if the momentum points uphill."""
    step, most = 1.0 / curvature.largest, MAX_PASSES if curvature.matrix is not None else MAX_STEP_PRODUCTS
    v, ahead, momentum, first = w.copy(), w.copy(), 1.0, 0.0
    for k in range(most):
        new = proximal_step(ahead, gradient + curvature.product(ahead - w), penalty, step)
        change = float(np.linalg.norm(new - ahead))
        first = first or change
        if (ahead - new) @ (new - v) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = new + (momentum - 1.0) / following * (new - v)
        v, momentum = new, following
        if k > 0 and change <= 1e-3 * FORCING * first:
            break
    return v


def line_search(state: CompositeState, target: np.ndarray, most: int = 30) -> Any:
    """The first point on the way to the target that goes down as far as the model promises; None if none does."""
    point, penalty = state.point, state.penalty
    start, way = float(penalty_value(penalty, point.w)), target - point.w
    promise = float(point.gradient @ way) + float(penalty_value(penalty, target)) - start
    if not promise < 0.0:
        return None
    share, value = 1.0, state.value
    for _ in range(most):
        w = target if share == 1.0 else point.w + share * way
        moved = state.objective.at(w)
        after = float(moved.value) + float(penalty_value(penalty, w))
        negligible = -share * promise < ROUNDING * abs(value)  # what is left is below the rounding of values
        if after <= value + 1e-4 * share * promise or (negligible and after <= value + ROUNDING * abs(value)):
            return moved
        share *= 0.5
    return None
