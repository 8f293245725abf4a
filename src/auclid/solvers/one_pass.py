"""Stochastic gradients from means and covariances of both classes, or sketches of them (OPAUC, AdaOAM)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auclid import _sizes
from auclid._generic import REORDER, generic, kernel
from auclid.data import RowStruct, Table
from auclid.solvers.stream import Batch, StreamSolver, copy_state
from auclid.stats.class_sums import (
    ClassScatter,
    add_to_scatter,
    dot,
    empty_scatter,
    mean_pair_square,
    subtract_mean,
)

DRAWS_PER_CHUNK = 1 << 20
"""Random numbers that are drawn at once."""

SAFE_MAGNITUDE = 1e150
"""Numbers below this have squares that do not overflow."""


class FullScatter(NamedTuple):
    """The scatter matrix of each class: lower triangles, row after row."""

    triangles: np.ndarray  # (2, d (d+1) / 2)


class SketchedScatter(NamedTuple):
    """Z_c = sum of (x - mu_c) r', for which Z Z' is the scatter matrix in expectation, and the exact diagonal."""

    Z: np.ndarray  # (2, d, rank)
    R: np.ndarray  # (2, rank): sums of r
    diagonal: np.ndarray  # (2, d)


Scatter: TypeAlias = FullScatter | SketchedScatter


@generic
def add_to_matrix(scatter: Scatter, c: int, n: float, difference: np.ndarray, r: np.ndarray, work: np.ndarray) -> None:
    """Add the n-th row of class c, ``difference`` from the mean of the rows before it; r are its random numbers."""


@generic
def add_covariance_product(
    scatter: Scatter, c: int, n: float, w: np.ndarray, out: np.ndarray, work: np.ndarray, shrunk: bool
) -> None:
    """out += Sigma_c w, for n rows of class c; a sketch leaves Z'w in ``work``.

    ``shrunk``: whether a sketch is shrunk towards the exact variances of the columns.
    """


@generic
def add_uncentred_part(
    scatter: Scatter, c: int, n: float, mean: np.ndarray, w: np.ndarray, out: np.ndarray, work: np.ndarray
) -> None:
    """out += (sketch of the uncentred rows - mean mean' - sketch of the centred rows) w; nothing for a full scatter.

    ``work`` is what `add_covariance_product` left.
    """


@add_to_matrix.implement(FullScatter)
def _(scatter: FullScatter, c: int, n: float, difference: np.ndarray, r: np.ndarray, work: np.ndarray) -> None:
    triangle, share, first = scatter.triangles[c], (n - 1.0) / n, 0
    for i in range(difference.shape[0]):
        a = share * difference[i]
        row = triangle[first : first + i + 1]
        for j in range(i + 1):
            row[j] += a * difference[j]
        first += i + 1


@add_covariance_product.implement(FullScatter, fastmath=REORDER)
def _(scatter: FullScatter, c: int, n: float, w: np.ndarray, out: np.ndarray, work: np.ndarray, shrunk: bool) -> None:
    triangle, first = scatter.triangles[c], 0
    for i in range(w.shape[0]):
        row = triangle[first : first + i + 1]
        a, total = w[i] / n, 0.0
        for j in range(i):
            total += row[j] * w[j]
            out[j] += row[j] * a
        out[i] += total / n + row[i] * a
        first += i + 1


@add_to_matrix.implement(SketchedScatter)
def _(scatter: SketchedScatter, c: int, n: float, difference: np.ndarray, r: np.ndarray, work: np.ndarray) -> None:
    Z, R, diagonal = scatter.Z[c], scatter.R[c], scatter.diagonal[c]
    share = (n - 1.0) / n
    for j in range(R.shape[0]):
        work[j] = share * r[j] - R[j] / n
        R[j] += r[j]
    for i in range(difference.shape[0]):
        diagonal[i] += share * difference[i] * difference[i]
        for j in range(R.shape[0]):
            Z[i, j] += difference[i] * work[j]


@add_uncentred_part.implement(FullScatter)
def _(
    scatter: FullScatter, c: int, n: float, mean: np.ndarray, w: np.ndarray, out: np.ndarray, work: np.ndarray
) -> None:
    pass


@add_uncentred_part.implement(SketchedScatter, fastmath=REORDER)
def _(
    scatter: SketchedScatter, c: int, n: float, mean: np.ndarray, w: np.ndarray, out: np.ndarray, work: np.ndarray
) -> None:
    # (Z + mean R')(Z + mean R')' / n - mean mean', except for its part Z Z' / n
    Z, R = scatter.Z[c], scatter.R[c]
    along = dot(mean, w)
    coefficient = (dot(R, work) + along * dot(R, R)) / n - along
    for i in range(w.shape[0]):
        out[i] += coefficient * mean[i]
        for j in range(R.shape[0]):
            out[i] += along / n * Z[i, j] * R[j]


@add_covariance_product.implement(SketchedScatter, fastmath=REORDER)
def _(
    scatter: SketchedScatter, c: int, n: float, w: np.ndarray, out: np.ndarray, work: np.ndarray, shrunk: bool
) -> None:
    Z, diagonal = scatter.Z[c], scatter.diagonal[c]
    d, rank = Z.shape
    work[:] = 0.0
    for i in range(d):
        for j in range(rank):
            work[j] += w[i] * Z[i, j]
    shrinkage = d / (d + rank) if shrunk else 0.0
    for i in range(d):
        total = 0.0
        for j in range(rank):
            total += Z[i, j] * work[j]
        out[i] += ((1.0 - shrinkage) * total + shrinkage * diagonal[i] * w[i]) / n


class GradientRule(NamedTuple):
    """w -= eta g with eta = step, or (``relative``) step / (L sqrt(t)), L being the mean curvature of a pair."""

    step: float
    relative: bool


class AdaGradRule(NamedTuple):
    """w_j -= eta g_j / (delta + sqrt(sum of g_j^2)), with eta = step, or (``relative``) step / sqrt(L)."""

    step: float
    relative: bool
    delta: float


UpdateRule: TypeAlias = GradientRule | AdaGradRule


@generic
def learning_rate(rule: UpdateRule, t: float, curvature: float) -> float:
    """eta_t"""


@generic
def damping(rule: UpdateRule, eta: float, q: float) -> float:
    """The divisor of the gradient's part along a row with |x - mu|^2 = q, so that the step does not overshoot."""


@generic
def descend(rule: UpdateRule, eta: float, g: np.ndarray, w: np.ndarray, squares: np.ndarray) -> None:
    """Update w with the gradient g."""


@generic
def max_growth(rule: UpdateRule, eta: float, curvature: float) -> float:
    """A bound of the factor by which a step can lengthen w, apart from its part along the row."""


@learning_rate.implement(GradientRule)
def _(rule: GradientRule, t: float, curvature: float) -> float:
    if not rule.relative:
        return rule.step
    return rule.step / (curvature * np.sqrt(t)) if curvature > 0.0 else 0.0


@damping.implement(GradientRule)
def _(rule: GradientRule, eta: float, q: float) -> float:
    return 1.0 + eta * q if rule.relative else 1.0


@descend.implement(GradientRule)
def _(rule: GradientRule, eta: float, g: np.ndarray, w: np.ndarray, squares: np.ndarray) -> None:
    for j in range(w.shape[0]):
        w[j] -= eta * g[j]


@max_growth.implement(GradientRule)
def _(rule: GradientRule, eta: float, curvature: float) -> float:
    return 1.0 + eta * curvature


@learning_rate.implement(AdaGradRule)
def _(rule: AdaGradRule, t: float, curvature: float) -> float:
    return rule.step / np.sqrt(curvature) if rule.relative and curvature > 0.0 else rule.step


@damping.implement(AdaGradRule)
def _(rule: AdaGradRule, eta: float, q: float) -> float:
    return 1.0


@descend.implement(AdaGradRule)
def _(rule: AdaGradRule, eta: float, g: np.ndarray, w: np.ndarray, squares: np.ndarray) -> None:
    delta = rule.delta
    for j in range(w.shape[0]):
        squares[j] += g[j] * g[j]
        size = delta + np.sqrt(squares[j])
        w[j] -= eta * g[j] / size if size > 0.0 else 0.0


@max_growth.implement(AdaGradRule)
def _(rule: AdaGradRule, eta: float, curvature: float) -> float:
    return 1.0


class OnePassState(NamedTuple):
    """Weights, number of steps, and statistics of each class."""

    w: np.ndarray
    t: float
    classes: ClassScatter
    scatter: Scatter
    squares: np.ndarray  # (d,): sums of g_j^2 for AdaGrad; empty otherwise


class OnePassSteps(NamedTuple):
    """Update rule, penalty and kind of sketch."""

    rule: UpdateRule
    penalty: float  # lambda = alpha / 2
    shrunk: bool = True  # whether a sketch is shrunk towards the exact variances
    centred: bool = True  # whether it is a sketch of the rows minus their mean


@dataclass(frozen=True)
class OnePassSolver(StreamSolver[OnePassState]):
    """w moves against the gradient of half the square loss over a row's pairs with all rows of the other class."""

    steps: OnePassSteps
    rank: int | None = None
    draws_per_chunk: int = DRAWS_PER_CHUNK

    def init(self, d: int) -> OnePassState:
        squares = np.zeros(d if isinstance(self.steps.rule, AdaGradRule) else 0)
        return OnePassState(np.zeros(d), 0.0, empty_scatter(d), empty_matrices(d, self.rank), squares)

    def update(self, batch: Batch, state: OnePassState) -> OnePassState:
        for rows, at, label, _ in batch.chunks():
            for part, draws in self._draws(state.scatter, batch.rng, len(at)):
                state = sweep_one_pass(rows, at[part], label[part], draws, self.steps, state)
        return state

    def _draws(self, scatter: Scatter, rng: np.random.Generator, count: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Parts of the next ``count`` rows, with the random numbers of a sketch for each row."""
        if isinstance(scatter, FullScatter):
            yield slice(0, count), np.empty((count, 0))
            return
        rank = scatter.R.shape[1]
        size = max(1, self.draws_per_chunk // rank)
        for first in range(0, count, size):
            part = slice(first, min(first + size, count))
            yield part, rng.standard_normal((part.stop - first, rank)) / np.sqrt(rank)

    def weights(self, state: OnePassState) -> tuple[np.ndarray, float]:
        return state.w.copy(), float(state.w @ state.classes.mean.mean(axis=0))

    def fixed_parameters(self, state: OnePassState) -> dict[str, Any]:
        if isinstance(self.steps.rule, AdaGradRule):  # AdaOAM has no parameter rank
            return {}
        return {"rank": state.scatter.R.shape[1] if isinstance(state.scatter, SketchedScatter) else None}

    def first_step(self, state: OnePassState) -> float:
        """eta_1 for the statistics of the rows so far."""
        rule, classes = self.steps.rule, state.classes
        if classes.n.min() == 0.0:
            return float(rule.step)
        return float(learning_rate(rule, 1.0, self.steps.penalty + mean_pair_square(classes)))

    def writable(self, state: OnePassState, table: Table) -> OnePassState:
        """A copy of the state that shares the scatter matrices if the batch is small and cannot overflow."""
        small = isinstance(state.scatter, FullScatter) and table.shape[0] <= _sizes.SMALL_BATCH_ROWS
        if small and self._stays_finite(state, table):
            no_matrices = FullScatter(np.empty((2, 0)))
            return copy_state(state._replace(scatter=no_matrices))._replace(scatter=state.scatter)
        return copy_state(state)

    def _stays_finite(self, state: OnePassState, table: Table) -> bool:
        """Whether no number can overflow in the steps of a batch, by a bound on the growth of |w| per step."""
        classes, penalty, k = state.classes, self.steps.penalty, table.shape[0]
        with np.errstate(all="ignore"):
            largest = np.abs(table.dense(slice(None))).max(initial=0.0) + np.abs(classes.mean).max(initial=0.0)
            square = table.shape[1] * largest * largest  # an upper bound of |x - mu|^2
            low = penalty + (classes.trace / (classes.n + k)).sum()  # a lower bound of the curvature: traces only grow
            high = penalty + square + ((classes.trace + k * square) / np.maximum(classes.n, 1.0)).sum()
            eta = learning_rate(self.steps.rule, state.t + 1.0, low)
            growth = max_growth(self.steps.rule, eta, high) ** k
            length = growth * (np.abs(state.w).sum() + k * eta * (1.0 + square))
            return bool(low > 0.0 and (1.0 + high) * (1.0 + length) < SAFE_MAGNITUDE)


def empty_matrices(d: int, rank: int | None) -> Scatter:
    """The scatter matrices of no rows, or their sketches of this rank."""
    if rank is None:
        return FullScatter(np.zeros((2, d * (d + 1) // 2)))
    return SketchedScatter(np.zeros((2, d, rank)), np.zeros((2, rank)), np.zeros((2, d)))


class GradientWork(NamedTuple):
    """Work space of one step."""

    difference: np.ndarray  # (d,): x - mu
    g: np.ndarray  # (d,): the gradient
    sketched: np.ndarray  # (rank,)


@kernel
def sweep_one_pass(
    rows: RowStruct, at: np.ndarray, label: np.ndarray, draws: np.ndarray, steps: OnePassSteps, state: OnePassState
) -> OnePassState:
    """One step per row, once rows of the opposite class have been seen."""
    w, t, classes, scatter, squares = state.w, state.t, state.classes, state.scatter, state.squares
    rule, penalty, n = steps.rule, steps.penalty, state.classes.n
    difference, g, sketched = np.empty_like(w), np.empty_like(w), np.empty(draws.shape[1])
    work = GradientWork(difference=difference, g=g, sketched=sketched)
    for k in range(at.shape[0]):
        i, c = at[k], label[k]
        add_to_scatter(classes, rows, i, c, difference)
        add_to_matrix(scatter, c, n[c], difference, draws[k], sketched)
        if n[1 - c] == 0.0:
            continue
        t += 1.0
        eta = learning_rate(rule, t, penalty + mean_pair_square(classes))
        gradient(rows, i, c, steps, state, eta, work)
        descend(rule, eta, g, w, squares)
    return OnePassState(w=w, t=t, classes=classes, scatter=scatter, squares=squares)


@kernel(allocates=False, inner=True)
def gradient(
    rows: RowStruct, i: int, c: int, steps: OnePassSteps, state: OnePassState, eta: float, work: GradientWork
) -> None:
    """Write the gradient g of row i of class c; its part along the row is damped if the rule asks for it."""
    w, difference, g, penalty, other = state.w, work.difference, work.g, steps.penalty, 1 - c
    mean, n = state.classes.mean[other], state.classes.n[other]
    q = subtract_mean(rows, i, mean, difference)
    for j in range(w.shape[0]):
        g[j] = penalty * w[j]
    add_covariance_product(state.scatter, other, n, w, g, work.sketched, steps.shrunk)
    if not steps.centred:
        add_uncentred_part(state.scatter, other, n, mean, w, g, work.sketched)
    residual = ((1.0 if c else -1.0) - dot(difference, w)) / damping(steps.rule, eta, q)
    for j in range(w.shape[0]):
        g[j] -= residual * difference[j]
