"""SAGA on SPAM's objective: stochastic proximal steps of reduced variance, which converge linearly.

A row's gradient is a number times the row, c_i(w) x_i, so the table of all last gradients takes n numbers. With the
mean g of the table's gradients, a step on row i, drawn with probability q_i, is

    w <- prox(w - eta [(c_i(w) - c_i) x_i / (n q_i) + g]),   then g += (c_i(w) - c_i) x_i / n and c_i <- c_i(w).

Rows are drawn in proportion to a Lipschitz constant of their gradient plus its mean: positives are few and their
gradients steep, and would otherwise force short steps on all.

A sparse row moves its own columns only. Every other column makes, with its own constant r, steps w <- shrink (w - r)
until the penalty puts it to zero or lets it go, so it is brought up to date when a row meets it, and the products of w
with the class means follow from sums over columns. The step at which the r of a column changes is known beforehand.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from auclid import _sizes
from auclid._generic import kernel
from auclid.data import CSR, RowStruct, Table, row_axpy, row_dot, row_entry, row_span
from auclid.penalties import L2, ElasticNet, Penalty, prox
from auclid.stats.class_means import FirstPass

STEP_SHARE = 1.0 / 3.0
"""The step size times the largest Lipschitz constant."""


class SagaProblem(NamedTuple):
    """What steps must know of the rows; rows and means are minus the centre."""

    mean: np.ndarray  # (2, d): mu_c
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


@dataclass(frozen=True)
class SagaSolver:
    """SAGA with any penalty: O(nnz of the row) per step for wide sparse rows and an elastic net, O(d) otherwise."""

    penalty: Penalty
    wide: float = field(default_factory=lambda: _sizes.MIN_COLUMNS_PER_ENTRY)
    """Columns for each entry of a row from which on steps are lazy."""

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
        return SagaProblem(summary.mean, label, share, probability, p, float(step))

    def init(self, problem: SagaProblem) -> SagaState:
        """w = 0, with the gradients there in the table."""
        p, mean = problem.p, problem.mean
        slopes = np.where(problem.label == 1, -2.0 * (1.0 - p), 2.0 * p)
        return SagaState(np.zeros(mean.shape[1]), slopes, 2.0 * p * (1.0 - p) * (mean[0] - mean[1]))

    def epoch(
        self, table: Table, centre: np.ndarray | None, problem: SagaProblem, state: SagaState, rng: np.random.Generator
    ) -> SagaState:
        """The state after as many steps as there are rows; overwrites the one before."""
        limits = np.cumsum(problem.probability)
        order = np.searchsorted(limits, rng.random(len(limits)) * limits[-1], side="right")
        order = np.minimum(order, len(limits) - 1)
        beta = problem.p * (1.0 - problem.p)
        for rows, (at,), steps in table.sweep(order, centre=centre):
            if isinstance(self.penalty, L2 | ElasticNet) and self._is_wide(rows, len(state.w)):
                columns = lazy_columns(problem, self.penalty, beta, state, len(at))
                sweep_lazy_saga(rows, at, order[steps], problem, columns, state.table)
            else:
                sweep_saga(rows, at, order[steps], problem, self.penalty, beta, state)
        return state

    def _is_wide(self, rows: RowStruct, d: int) -> bool:
        """Whether rows are so sparse that lazy steps pay."""
        return isinstance(rows, CSR) and d * (len(rows.indptr) - 1) >= self.wide * len(rows.indices)


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
) -> None:
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


class DriftingColumns(NamedTuple):
    """w, of which every column makes steps w <- shrink (w - r) while no row meets it, until the step ``due``.

    The columns that are due at a step are a doubly linked list. ``sums`` are of the columns as they are now.
    """

    w: np.ndarray  # (d,)
    gradient: np.ndarray  # (d,): g
    mean: np.ndarray  # (2, d): mu_c
    r: np.ndarray  # (d,)
    last: np.ndarray  # (d,): the step up to which a column of w is up to date
    due: np.ndarray  # (d,): -1 for columns that are not due before the end
    first: np.ndarray  # (steps,): the first column that is due at a step, or -1
    before: np.ndarray  # (d,): the neighbours of a column in its list, or -1
    after: np.ndarray  # (d,)
    sums: np.ndarray  # (2, 2): w . mu_c, r . mu_c
    eta: float
    cut: float  # by which a step of the l1 penalty moves a column towards zero
    shrink: float
    log_shrink: float


def lazy_columns(
    problem: SagaProblem, penalty: L2 | ElasticNet, beta: float, state: SagaState, steps: int
) -> DriftingColumns:
    """The columns before the first of so many steps; ``beta`` is p(1-p), the factor of the penalty."""
    d, eta = len(state.w), problem.step
    none = np.full((3, d), -1)
    shrink = 1.0 / (1.0 + eta * beta * penalty.l2)
    return DriftingColumns(
        w=state.w,
        gradient=state.mean_gradient,
        mean=problem.mean,
        r=np.zeros(d),
        last=np.zeros(d, dtype=np.int64),
        due=none[0],
        first=np.full(steps, -1),
        before=none[1],
        after=none[2],
        sums=np.zeros((2, 2)),
        eta=eta,
        cut=eta * beta * (penalty.l1 if isinstance(penalty, ElasticNet) else 0.0),
        shrink=shrink,
        log_shrink=float(np.log(shrink)),
    )


@kernel(inner=True, allocates=False)
def next_drift(columns: DriftingColumns, j: int, most: int) -> tuple[float, int]:
    """(r, n): the next n proximal steps w <- shrink soft(w - eta g, cut) are w <- shrink (w - r), n up to ``most``."""
    w, pull, cut, shrink = columns.w[j], columns.eta * columns.gradient[j], columns.cut, columns.shrink
    if cut == 0.0:
        return pull, most
    if abs(w - pull) <= cut:
        return (0.0, most) if w == 0.0 else (w, 1)
    side = 1.0 if w > pull else -1.0
    r = pull + side * cut
    size, fall = side * w, side * r
    # It is never at zero, or not soon: the first step is the longest.
    if fall <= 0.0 or size - fall >= most * ((1.0 - shrink) * size + shrink * fall):
        return r, most
    if shrink == 1.0:
        steps = (size - fall) / fall
    else:
        steps = np.log(fall / (size * (1.0 - shrink) + fall * shrink)) / columns.log_shrink
    return r, max(1, int(min(steps, float(most))))


@kernel(inner=True, allocates=False)
def catch_up(columns: DriftingColumns, j: int, t: int) -> None:
    """Make the outstanding steps w <- shrink (w - r) of column j up to step t."""
    steps, w, r, shrink = t - columns.last[j], columns.w[j], columns.r[j], columns.shrink
    if steps == 1:  # exactly zero for r = w
        columns.w[j] = shrink * (w - r)
    elif steps > 1 and shrink == 1.0:
        columns.w[j] = w - r * steps
    elif steps > 1:
        power = np.exp(steps * columns.log_shrink)
        columns.w[j] = power * w - r * shrink * (1.0 - power) / (1.0 - shrink)
    columns.last[j] = t


@kernel(inner=True, allocates=False)
def add_to_sums(columns: DriftingColumns, j: int, sign: float) -> None:
    """Add column j to the sums, or take it out of them."""
    for b in range(2):
        columns.sums[0, b] += sign * columns.mean[b, j] * columns.w[j]
        columns.sums[1, b] += sign * columns.mean[b, j] * columns.r[j]


@kernel(inner=True, allocates=False)
def unlink(columns: DriftingColumns, j: int) -> None:
    """Take column j out of the list of its step."""
    due, before, after = columns.due[j], columns.before[j], columns.after[j]
    if due < 0:
        return
    if before < 0:
        columns.first[due] = after
    else:
        columns.after[before] = after
    if after >= 0:
        columns.before[after] = before
    columns.due[j] = -1


@kernel(inner=True, allocates=False)
def plan(columns: DriftingColumns, j: int, t: int) -> None:
    """Set how column j, which is up to date and in no list, moves from step t on; adds it to the sums."""
    left = columns.first.shape[0] - t
    columns.r[j], steps = next_drift(columns, j, left)
    columns.last[j] = t
    add_to_sums(columns, j, 1.0)
    if steps < left:
        head = columns.first[t + steps]
        columns.due[j], columns.before[j], columns.after[j] = t + steps, -1, head
        columns.first[t + steps] = j
        if head >= 0:
            columns.before[head] = j


@kernel(inner=True, allocates=False)
def plan_due_columns(columns: DriftingColumns, t: int) -> None:
    """Set how the columns that are due at step t move on."""
    while columns.first[t] >= 0:
        j = columns.first[t]
        unlink(columns, j)
        catch_up(columns, j, t)
        add_to_sums(columns, j, -1.0)
        plan(columns, j, t)


@kernel(inner=True, allocates=False)
def lazy_score(rows: RowStruct, i: int, columns: DriftingColumns, t: int) -> float:
    """w . x_i at step t."""
    score = 0.0
    first, end = row_span(rows, i)
    for position in range(first, end):
        j, x = row_entry(rows, i, position)
        catch_up(columns, j, t)
        score += x * columns.w[j]
    return score


@kernel(inner=True, allocates=False)
def lazy_step(rows: RowStruct, i: int, columns: DriftingColumns, t: int, move: float, push: float) -> None:
    """w <- prox(w - eta g + move x_i), then g += push x_i; columns that the row does not meet follow later."""
    w, gradient, sums = columns.w, columns.gradient, columns.sums
    first, end = row_span(rows, i)
    for position in range(first, end):
        j, _ = row_entry(rows, i, position)
        unlink(columns, j)
        add_to_sums(columns, j, -1.0)
    for b in range(2):
        sums[0, b] = columns.shrink * (sums[0, b] - sums[1, b])
    for position in range(first, end):
        j, x = row_entry(rows, i, position)
        moved = w[j] - columns.eta * gradient[j] + move * x
        size = abs(moved) - columns.cut
        w[j] = 0.0 if size <= 0.0 else columns.shrink * (size if moved > 0.0 else -size)
        gradient[j] += push * x
        plan(columns, j, t + 1)


@kernel(allocates=False)
def sweep_lazy_saga(
    rows: RowStruct,
    at: np.ndarray,
    numbers: np.ndarray,
    problem: SagaProblem,
    columns: DriftingColumns,
    table: np.ndarray,
) -> None:
    """One step per sparse row with an elastic net, in O(nnz); a call costs O(d) in addition."""
    share, probability = problem.share, problem.probability
    for j in range(columns.w.shape[0]):
        plan(columns, j, 0)
    for t in range(at.shape[0]):
        plan_due_columns(columns, t)
        i, number = at[t], numbers[t]
        c = problem.label[number]
        new = row_slope(lazy_score(rows, i, columns, t), columns.sums[0, 1 - c], c, problem.p)
        change = new - table[number]
        table[number] = new
        move = -problem.step * change * share[number] / probability[number]
        lazy_step(rows, i, columns, t, move, change * share[number])
    for j in range(columns.w.shape[0]):
        catch_up(columns, j, at.shape[0])
