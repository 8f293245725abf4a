"""The last digits of the hinge's minimum, by cutting planes (Joachims 2006; Narasimhan & Agarwal 2013).

Newton's method minimises smooth neighbours of the hinge, whose sums over pairs are divided by the width of a parabola:
what is narrower than `MIN_WIDTH` would cost more digits than it gives. From there on, planes take over. A plane that
touches the risk R lies below it, so the minimum over w of alpha/2 |w|^2 plus the highest plane is a bound of the
optimum; where it is attained, the next plane touches R. The slopes of the last smooth neighbour are such a plane too,
and hold the first minimiser near the place where Newton's method ended.
"""

from typing import Any, NamedTuple

import numpy as np

from auclid.solvers import newton
from auclid.solvers.all_pairs import LinearSpace, SmoothHinge
from auclid.solvers.partial_auc import SoftTopHinge

MIN_WIDTH = 1e-5
"""The narrowest parabola in place of the hinge's kink: its sums keep eleven digits."""

MAX_PLANES = 200
"""Planes at the most: where a risk needs more, there are columns by the hundred, or it bends."""

MAX_EXCHANGES = 200
"""Planes at the most that come into the model's minimum or leave it, at one step."""


class Planes(NamedTuple):
    """Planes slope . (w - start) + height below the risk, each with its weight in the minimum of their maximum."""

    start: np.ndarray
    slopes: np.ndarray
    heights: np.ndarray
    weights: np.ndarray

    def plus(self, w: np.ndarray, risk: float, slope: np.ndarray) -> "Planes":
        """The planes and one that has this value and slope at w."""
        height = risk - slope @ (w - self.start)
        return self._replace(
            slopes=np.vstack([self.slopes, slope]),
            heights=np.append(self.heights, height),
            weights=np.append(self.weights, 0.0 if len(self.weights) else 1.0),
        )

    def minimised(self, alpha: float) -> tuple["Planes", np.ndarray, float]:
        """The planes with the weights of their minimum; where it is, and its value: -inf where numbers overflow."""
        slopes = self.slopes + alpha * self.start  # of the whole objective: small numbers near the minimum
        with np.errstate(over="ignore", invalid="ignore"):
            products = slopes @ slopes.T / alpha
        if not (np.isfinite(products).all() and np.isfinite(self.heights).all()):
            return self, self.start, -np.inf
        weights = heaviest(products, self.heights, self.weights)
        step = weights @ slopes / -alpha
        bound = weights @ self.heights - 0.5 * alpha * (step @ step) + 0.5 * alpha * (self.start @ self.start)
        return self._replace(weights=weights), self.start + step, float(bound)


def heaviest(Q: np.ndarray, heights: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weights >= 0 of sum 1 that minimise x'Qx/2 - heights.x, from some others (active sets).

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.solvers.cutting_planes import heaviest
    >>> heaviest(np.diag([1.0, 3.0, 1.0]), np.array([0.0, 0.0, -9.0]), np.array([0.0, 0.0, 1.0]))
    array([0.75, 0.25, 0.  ])
    """
    weights = weights.copy()
    used = weights > 0.0
    for _ in range(MAX_EXCHANGES):
        index = np.flatnonzero(used)
        own = weights[index]
        move, furthest = descent(Q[np.ix_(index, index)], heights[index] - Q[index] @ weights)
        falling = np.flatnonzero(move < 0.0)
        ratios = own[falling] / -move[falling]
        step = min(furthest, float(ratios.min(initial=np.inf)))
        weights[index] = np.maximum(own + step * move, 0.0) if np.isfinite(step) else own
        if step < furthest and np.isfinite(step):
            out = index[falling[int(ratios.argmin())]]
            weights[out], used[out] = 0.0, False
            continue
        excess = heights - Q @ weights
        excess -= weights @ excess
        excess[used] = 0.0
        best = int(excess.argmax())
        if excess[best] <= 1e-16 * np.abs(heights).max():
            break
        used[best] = True
    return weights / weights.sum()


def descent(Q: np.ndarray, excess: np.ndarray) -> tuple[np.ndarray, float]:
    """A move of sum 0 that lowers x'Qx/2 - heights.x, and how far it goes down, given heights - Qx.

    It is the whole way to the minimum; where the planes have slopes that depend on each other, one along which nothing
    bends, which goes down without end.
    """
    centred = Q - Q.mean(axis=0)
    values, vectors = np.linalg.eigh(centred - centred.mean(axis=1, keepdims=True))
    along = vectors.T @ (excess - excess.mean())
    flat = values <= 1e-13 * max(float(values[-1]), 1e-300)
    endless = vectors @ np.where(flat, along, 0.0)
    endless -= endless.mean()
    if np.abs(endless).max() > 1e-13 * np.abs(excess).max():
        return endless, np.inf
    return vectors @ np.where(flat, 0.0, along / np.where(flat, 1.0, values)), 1.0


class PlaneState(NamedTuple):
    """The best point so far, what the planes know, and where the next one will touch."""

    objective: Any
    point: Any
    value: float
    """The objective with the hinge itself, at the point."""
    planes: Planes
    next: np.ndarray
    bound: float
    """No w has a lower value."""
    n_iter: int
    stuck: bool = False

    @property
    def converged(self) -> bool:
        """Whether the value is within ``tol`` of the optimum."""
        return self.value - self.bound <= self.objective.tol * self.bound

    @property
    def finished(self) -> bool:
        """Whether another step would change nothing."""
        return self.stuck or self.converged

    @property
    def weights(self) -> np.ndarray:
        """The weights, as they are published."""
        return self.objective.published_weights(self.point)

    def relative_gap(self) -> float:
        """How far, at most, the value is above the optimum, as a share of it."""
        return min(1.0, max(0.0, self.value - self.bound) / self.value)


def begin(state: newton.State) -> Any:
    """The planes of the smooth neighbour and of the risk itself, where Newton's method ended, if finite."""
    smooth: Any = state.point
    objective, size = state.objective.exact(), len(smooth.w)  # type: ignore[attr-defined]
    empty = Planes(smooth.w, np.zeros((0, size)), np.zeros(0), np.zeros(0))
    first = _touched(objective, objective.at(smooth.w), empty.plus(smooth.w, *smooth.dual_plane), state.n_iter, None)
    return first if np.isfinite(first.bound) else state._replace(stuck=True)


def _touched(objective: Any, point: Any, planes: Planes, n_iter: int, best: PlaneState | None) -> PlaneState:
    """The state with the plane that touches the risk at a point."""
    risk, slope = point.touching_plane
    value = risk + 0.5 * objective.alpha * point.square
    bound = -np.inf if best is None else best.bound
    if best is not None and best.value <= value:
        point, value = best.point, best.value
    planes, following, found = planes.plus(point.w if best is None else best.next, risk, slope).minimised(
        objective.alpha
    )
    return PlaneState(objective, point, value, planes, following, max(bound, found), n_iter)


def update(state: Any) -> Any:
    """One more step: of Newton's method as long as the parabola is wide enough, then one plane more."""
    if isinstance(state, PlaneState):
        if len(state.planes.weights) >= MAX_PLANES or np.array_equal(state.next, state.point.w):
            return state._replace(stuck=True)
        point = state.objective.at(state.next)
        return _touched(state.objective, point, state.planes, state.n_iter + 1, state)
    if _narrow(state):
        return begin(state)
    following = newton.update(state)
    return begin(following) if following.stuck and _has_planes(following.objective) else following


def _narrow(state: newton.State) -> bool:
    """Whether Newton's method would go on with a parabola that is too narrow."""
    objective: Any = state.objective
    if not _has_planes(objective) or not objective.reached(state.point):
        return False
    finer = objective.refined(state.point)
    return finer is not None and finer.width < MIN_WIDTH


def _has_planes(objective: Any) -> bool:
    """Whether the objective is that of the hinge, on rows in memory."""
    return isinstance(objective, SmoothHinge | SoftTopHinge) and type(objective.space) is LinearSpace
