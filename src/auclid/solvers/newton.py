"""Truncated Newton's method with an Armijo line search, for any convex function that can say what `Objective` asks.

The function may be given by rows in memory, by blocks of a file or by a cluster: Newton's method sees points of it,
each with a value, a gradient and products with the Hessian. An objective may offer a smaller one of the same kind
(`sample`, for a warm start) and a sharper one (`refined`, a continuation), and says when a point is good enough.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from auclid.solvers.iterative import LinearSolution, conjugate_gradients

MAX_PRODUCTS = 250
"""Products with the Hessian at the most for one Newton step."""

MIN_RESIDUAL, MAX_RESIDUAL = 1e-3, 0.2
"""How exact conjugate gradients are, at the most and at the least: the residual's share of the gradient."""

EXTRA_PRODUCTS = 10
"""Products with the Hessian that may be spent on digits beyond the coarsest."""

MAX_SAMPLE_STEPS = 100
"""Newton steps at the most on a sample of the rows, which only says where to start."""

Preconditioner = Callable[[np.ndarray], np.ndarray]
"""v -> nearly H^-1 v."""


@dataclass(frozen=True)
class Move:
    """A direction w, and what it does to the scores of all rows: anything that adds and scales."""

    w: np.ndarray
    scores: Any

    def __add__(self, other: "Move") -> "Move":
        return Move(self.w + other.w, self.scores + other.scores)

    def __rmul__(self, factor: float) -> "Move":
        return Move(factor * self.w, factor * self.scores)


class Point(Protocol):
    """An objective seen from one w, which gives the rows its scores."""

    objective: Any
    w: np.ndarray
    scores: Any

    @property
    def value(self) -> float:
        """The objective."""

    @property
    def gradient(self) -> np.ndarray:
        """Its gradient by w."""

    @property
    def norm(self) -> float:
        """The length of the gradient."""

    def move(self, w: np.ndarray) -> Move:
        """A direction with its scores, which may be rough."""

    def exact(self, move: Move) -> Move:
        """The direction with all digits of its scores."""

    def product(self, move: Move) -> np.ndarray:
        """The Hessian times a direction."""

    def inner(self, move: Move, v: np.ndarray) -> float:
        """The inner product of a direction and a gradient."""

    def slope_along(self, move: Move) -> float:
        """The derivative of the objective along a direction."""

    def preconditioner(self) -> Preconditioner:
        """v -> nearly H^-1 v."""


class Objective(Protocol):
    """A convex function of ``size`` weights."""

    @property
    def size(self) -> int:
        """The number of weights."""

    @property
    def kinked(self) -> bool:
        """Whether the gradient has kinks, beyond which a step soon goes uphill."""

    @property
    def start_norm(self) -> float:
        """The length of the gradient at w = 0."""

    def at(self, w: np.ndarray, scores: Any = None) -> Point:
        """The point w, whose scores may be known already."""

    def target(self, point: Point) -> float:
        """How short the gradient must become."""

    def reached(self, point: Point) -> bool:
        """Whether the point is good enough for this objective."""

    def refined(self, point: Point) -> "Objective | None":
        """The objective to go on with from a point that is good enough; None where nothing is left to do."""

    def sample(self) -> "Objective | None":
        """An objective on a sample of the rows, or an easier one, whose minimiser is a good start; None: start at 0."""

    def begin(self, solved: Any) -> tuple[Any, Preconditioner | None]:
        """Where to start, and with which preconditioner, once the sample is solved."""

    def resumed(self, sample: "Objective") -> "Objective":
        """What is left to do once the objective of a sample, and what it was refined to, is minimised."""

    def published_value(self, point: Any) -> float:
        """The objective that the user asked for."""

    def published_weights(self, point: Any) -> np.ndarray:
        """The weights for the user."""

    def relative_gap(self, point: Any) -> float:
        """How far, at most, the objective is above the optimum, as a share of it."""


class State(NamedTuple):
    """Where Newton's method is, and its next step."""

    objective: Objective
    point: Any
    preconditioner: Preconditioner | None = None
    products: int = 0
    n_iter: int = 0
    stuck: bool = False
    """No step goes down any more."""

    @property
    def converged(self) -> bool:
        """Whether nothing is left to do."""
        return self.objective.reached(self.point) and self.objective.refined(self.point) is None

    @property
    def finished(self) -> bool:
        """Whether another step would change nothing."""
        return self.stuck or self.converged

    @property
    def value(self) -> float:
        """The objective that the user asked for."""
        return self.objective.published_value(self.point)

    @property
    def weights(self) -> np.ndarray:
        """The weights for the user."""
        return self.objective.published_weights(self.point)

    def relative_gap(self) -> float:
        """How far, at most, the value is above the optimum, as a share of it; 1 if nothing is known."""
        return self.objective.relative_gap(self.point)

    def step(self) -> Any:
        """The state after one more step."""
        return update(self)


def init(objective: Objective) -> State:
    """Where to start: where a sample of the rows ends, with its preconditioner (warm start); else w = 0.

    The sample starts from a sample of its own in turn.
    """
    sample = objective.sample()
    if sample is None:
        return State(objective, objective.at(np.zeros(objective.size)))
    state = init(sample)
    for _ in range(MAX_SAMPLE_STEPS):
        if state.finished:
            break
        state = update(state)
    resumed = objective.resumed(state.objective)
    return State(resumed, *resumed.begin(state.point))


def update(state: State) -> State:
    """One Newton step, no more exact than the distance to the target asks; on a finer objective where one is due."""
    state = sharpened(state)
    if state.converged:
        return state
    objective, point, precondition = state.objective, state.point, state.preconditioner
    # Formed anew where the last one made conjugate gradients cost more than that.
    if precondition is None or 5 * state.products > objective.size:
        precondition = point.preconditioner()
    step = newton_direction(objective, point, precondition)
    if step is None:
        return state._replace(stuck=True)
    search = bracketed_search if objective.kinked else line_search
    lower = search(point, point.exact(step.x))
    if lower is None or (lower.value >= point.value and lower.norm >= point.norm):
        return state._replace(stuck=True)
    return State(objective, lower, precondition, step.products, state.n_iter + 1)


def newton_direction(objective: Objective, point: Any, precondition: Preconditioner) -> LinearSolution | None:
    """The solution of H x = -g, as exact as `accuracies` asks; None where there is no descent."""
    fine, coarse = accuracies(objective, point)
    size, step = np.linalg.norm(point.gradient), None
    solutions = conjugate_gradients(point.product, -point.gradient, precondition, point.move, point.inner)
    for step in islice(solutions, MAX_PRODUCTS):
        if np.linalg.norm(step.residual) <= (fine if step.products < EXTRA_PRODUCTS else coarse) * size:
            break
    return step


def accuracies(objective: Objective, point: Any) -> tuple[float, float]:
    """How exact conjugate gradients should be: as long as that costs little, and else (a forcing sequence).

    Far from the target the next Hessian will be another one, so there is no use in this one's last digits.
    """
    fine = float(np.clip(0.5 * objective.target(point) / point.norm, MIN_RESIDUAL, MAX_RESIDUAL))
    begun = objective.start_norm
    return fine, max(fine, min(MAX_RESIDUAL, float(np.sqrt(point.norm / begun)) if begun > 0.0 else MAX_RESIDUAL))


def sharpened(state: State) -> State:
    """The state seen by the first finer objective for which its point is not good enough yet (continuation)."""
    while state.objective.reached(state.point):
        finer = state.objective.refined(state.point)
        if finer is None:
            break
        state = State(finer, finer.at(state.point.w), n_iter=state.n_iter)
    return state


def bracketed_search(point: Any, move: Move) -> Any | None:
    """The whole step where it goes far enough down; else a step near the lowest point between (regula falsi).

    For a gradient with kinks: beyond one the function rises steeply, and a short step that stays before it would be
    followed by many like it. At a kink, or just beyond, the next Hessian knows it.
    """
    along = point.inner(move, point.gradient)
    if not along < 0.0:
        return None
    trial = point.objective.at(point.w + move.w, point.scores + move.scores)
    slope = trial.slope_along(move)
    if trial.value <= point.value + 1e-4 * along + 1e-14 * abs(point.value):
        return trial
    low, high, low_slope, high_slope = 0.0, 1.0, along, max(slope, -along)
    for _ in range(30):
        step = low + (high - low) * float(np.clip(low_slope / (low_slope - high_slope), 0.1, 0.9))
        trial = point.objective.at(point.w + step * move.w, point.scores + step * move.scores)
        slope = trial.slope_along(move)
        if 0.0 <= slope <= -0.5 * along and trial.value <= point.value + 1e-4 * step * along:
            return trial
        if slope < 0.0:
            low, low_slope, high_slope = step, slope, 0.5 * high_slope
        else:
            high, high_slope, low_slope = step, slope, 0.5 * low_slope
    return line_search(point, move)


def line_search(point: Any, move: Move) -> Any | None:
    """The first point far enough down along a direction (Armijo): the whole step, or shorter ones by the secant."""
    along = point.inner(move, point.gradient)
    rounding = 1e-14 * abs(point.value)
    step = 1.0
    while along < 0.0 and step > 1e-10:
        trial = point.objective.at(point.w + step * move.w, point.scores + step * move.scores)
        if trial.value <= point.value + 1e-4 * step * along + rounding:
            return trial
        trial_slope = trial.slope_along(move)
        step *= float(np.clip(along / (along - trial_slope), 0.1, 0.7)) if trial_slope > along else 0.1
    return None
