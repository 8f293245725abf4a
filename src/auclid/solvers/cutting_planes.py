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
        """The weights for the user."""
        return self.objective.published_weights(self.point)

    def relative_gap(self) -> float:
        """How far, at most, the value is above the optimum, as a share of it."""
        return min(1.0, max(0.0, self.value - self.bound) / self.value)

    def step(self) -> "PlaneState":
        """The state with one plane more."""
        if len(self.planes.weights) >= MAX_PLANES or np.array_equal(self.next, self.point.w):
            return self._replace(stuck=True)
        return _touched(self.objective, self.objective.at(self.next), self.planes, self.n_iter + 1, self)


class HingeState(newton.State):
    """Newton's method on smooth neighbours of the hinge, until planes take over."""

    __slots__ = ()

    def step(self) -> Any:
        """The state after one more step of Newton's method, or the planes where its parabola would be too narrow."""
        if self._narrow:
            return begin(self)
        following = HingeState(*newton.update(self))
        return begin(following) if following.stuck else following

    @property
    def _narrow(self) -> bool:
        """Whether Newton's method would go on with a parabola that is too narrow."""
        objective: Any = self.objective
        finer = objective.refined(self.point) if objective.reached(self.point) else None
        return finer is not None and finer.width < MIN_WIDTH


def begin(state: HingeState) -> Any:
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


def has_planes(objective: Any) -> bool:
    """Whether the objective is that of the hinge, on rows in memory."""
    return isinstance(objective, SmoothHinge | SoftTopHinge) and type(objective.space) is LinearSpace
