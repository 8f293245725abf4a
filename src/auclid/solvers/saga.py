"""SAGA on SPAM's objective: stochastic proximal steps of reduced variance, which converge linearly.

A row's gradient is a number times the row, c_i(w) x_i, so the table of all last gradients takes n numbers. With the
mean g of the table's gradients, a step on row i, drawn with probability q_i, is

    w <- prox(w - eta [(c_i(w) - c_i) x_i / (n q_i) + g]),   then g += (c_i(w) - c_i) x_i / n and c_i <- c_i(w).

Rows are drawn in proportion to a Lipschitz constant of their gradient plus its mean: positives are few and their
gradients steep, and would otherwise force short steps on all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.data import CSR, RowStruct, Table, row_axpy, row_dot, row_entry, row_span
from auclid.penalties import L2, Penalty, prox
from auclid.stats.class_means import FirstPass

STEP_SHARE = 1.0 / 3.0
"""The step size times the largest Lipschitz constant."""


class SagaProblem(NamedTuple):
    """What steps must know of the rows; rows and means are minus the centre."""

    mean: np.ndarray  # (2, d): mu_c
    products: np.ndarray  # (n, 2): x . mu_c of each sparse row; empty for dense rows
    label: np.ndarray  # (n,): 0 or 1
    share: np.ndarray  # (n,): the weight of each row divided by their sum
    probability: np.ndarray  # (n,): q_i
    p: float
    step: float  # eta


class SagaState(NamedTuple):
    """The weights, and the table of last gradients."""

    w: np.ndarray
    table: np.ndarray  # (n,): c_i
    mean_gradient: np.ndarray  # (d,): g
    last: np.ndarray  # (d,): the step up to which a column of w is up to date
    projections: np.ndarray  # (4,): w . mu_0, w . mu_1, g . mu_0, g . mu_1
    t: int


@dataclass(frozen=True)
class SagaSolver:
    """SAGA with any penalty: O(nnz of the row) per step for sparse rows and an L2 penalty, O(d) otherwise."""

    penalty: Penalty

    def problem(self, table: Table, is_pos: np.ndarray, weight: np.ndarray | None, summary: FirstPass) -> SagaProblem:
        """The constants of all steps."""
        p = float(summary.n[1] / summary.n.sum())
        share = np.ones(len(is_pos)) if weight is None else weight.astype(np.float64)
        share /= share.sum()
        steepness = 2.0 * np.where(is_pos, 1.0 - p, p) * summary.squares
        mean = float(share @ steepness)
        probability = share * (steepness + mean)
        probability = probability / probability.sum() if mean > 0.0 else share
        with np.errstate(divide="ignore", invalid="ignore"):
            largest = np.nanmax(np.where(probability > 0.0, share * steepness / probability, 0.0))
        step = STEP_SHARE / largest if largest > 0.0 else 1.0
        label = is_pos.astype(np.int8)
        return SagaProblem(summary.mean, summary.products, label, share, probability, p, float(step))

    def init(self, problem: SagaProblem) -> SagaState:
        """w = 0, with the gradients there in the table."""
        p, mean = problem.p, problem.mean
        slopes = np.where(problem.label == 1, -2.0 * (1.0 - p), 2.0 * p)
        gradient = 2.0 * p * (1.0 - p) * (mean[0] - mean[1])
        projections = np.concatenate([np.zeros(2), mean @ gradient])
        d = mean.shape[1]
        return SagaState(np.zeros(d), slopes, gradient, np.zeros(d, dtype=np.int64), projections, 0)

    def epoch(
        self, table: Table, centre: np.ndarray | None, problem: SagaProblem, state: SagaState, rng: np.random.Generator
    ) -> SagaState:
        """The state after as many steps as there are rows."""
        limits = np.cumsum(problem.probability)
        order = np.searchsorted(limits, rng.random(len(limits)) * limits[-1], side="right")
        order = np.minimum(order, len(limits) - 1)
        beta = problem.p * (1.0 - problem.p)
        for rows, (at,), steps in table.sweep(order, centre=centre):
            state = self._sweep(rows)(rows, at, order[steps], problem, self.penalty, beta, state)
        return state

    def _sweep(self, rows: RowStruct) -> Callable[..., SagaState]:
        """The fastest kernel for penalty and rows."""
        return sweep_saga_l2 if isinstance(rows, CSR) and isinstance(self.penalty, L2) else sweep_saga


@kernel(inner=True)
def row_slope(score: float, opposite: float, c: int, p: float) -> float:
    """c_i(w), from w . x_i and the product of w with the mean of the other class."""
    return 2.0 * (1.0 - p) * (score - opposite - 1.0) if c else 2.0 * p * (score - opposite + 1.0)


@kernel
def sweep_saga(
    rows: RowStruct,
    at: np.ndarray,
    numbers: np.ndarray,
    problem: SagaProblem,
    penalty: Penalty,
    beta: float,
    state: SagaState,
) -> SagaState:
    """One step per row with any penalty, in O(d); ``beta`` is p(1-p), the factor of the penalty."""
    w, table, gradient = state.w, state.table, state.mean_gradient
    share, probability, eta, mean = problem.share, problem.probability, problem.step, problem.mean
    for k in range(at.shape[0]):
        i, number = at[k], numbers[k]
        c = problem.label[number]
        new = row_slope(row_dot(rows, i, w), np.dot(mean[1 - c], w), c, problem.p)
        change = new - table[number]
        table[number] = new
        for j in range(w.shape[0]):
            w[j] -= eta * gradient[j]
        row_axpy(rows, i, -eta * change * share[number] / probability[number], w)
        row_axpy(rows, i, change * share[number], gradient)
        prox(penalty, w, eta * beta)
    return SagaState(
        w=w, table=table, mean_gradient=gradient, last=state.last, projections=state.projections, t=state.t
    )


@kernel(inner=True)
def drifted(w: float, g: float, steps: int, shrink: float, eta: float) -> float:
    """w after so many steps w <- shrink (w - eta g)."""
    if steps == 0:
        return w
    if shrink == 1.0:
        return w - eta * g * steps
    power = np.exp(steps * np.log(shrink))
    return power * w - eta * g * shrink * (1.0 - power) / (1.0 - shrink)


@kernel
def sweep_saga_l2(
    rows: RowStruct,
    at: np.ndarray,
    numbers: np.ndarray,
    problem: SagaProblem,
    penalty: L2,
    beta: float,
    state: SagaState,
) -> SagaState:
    """One step per sparse row with an L2 penalty, in O(nnz): a column drifts along g until a row meets it."""
    w, table, gradient, last, a = state.w, state.table, state.mean_gradient, state.last, state.projections
    share, probability, eta, products = problem.share, problem.probability, problem.step, problem.products
    shrink, t = 1.0 / (1.0 + eta * beta * penalty.l2), 0
    for k in range(at.shape[0]):
        i, number = at[k], numbers[k]
        c = problem.label[number]
        first, end = row_span(rows, i)
        score = 0.0
        for position in range(first, end):
            j, x = row_entry(rows, i, position)
            w[j] = drifted(w[j], gradient[j], t - last[j], shrink, eta)
            last[j] = t
            score += x * w[j]
        new = row_slope(score, a[1 - c], c, problem.p)
        change = new - table[number]
        table[number] = new
        move, push = -eta * change * share[number] / probability[number], change * share[number]
        for position in range(first, end):
            j, x = row_entry(rows, i, position)
            w[j] = shrink * (w[j] - eta * gradient[j] + move * x)
            gradient[j] += push * x
            last[j] = t + 1
        for b in range(2):
            a[b] = shrink * (a[b] - eta * a[2 + b] + move * products[number, b])
            a[2 + b] += push * products[number, b]
        t += 1
    for j in range(w.shape[0]):
        w[j] = drifted(w[j], gradient[j], t - last[j], shrink, eta)
        last[j] = 0
    return SagaState(w=w, table=table, mean_gradient=gradient, last=last, projections=a, t=state.t + t)
