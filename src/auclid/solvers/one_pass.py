"""Stochastic gradients that know means and covariances of both classes, or sketches of them (OPAUC, AdaOAM)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import REORDER, generic, kernel
from auclid.data import Table
from auclid.solvers.stream import StreamSolver, copied
from auclid.stats.class_means import FirstPass
from auclid.stats.class_sums import ClassScatter, add_to_scatter, gap_from, inner, no_scatter, pair_square

DRAWS = 1 << 20
"""Random numbers that are drawn at once."""

FEW = 32
"""Rows of a batch beside which a copy of a d x d matrix would count."""

LARGE = 1e150
"""Numbers below this have squares that do not overflow."""


class Full(NamedTuple):
    """The scatter of each class: lower triangles, row after row."""

    scatter: np.ndarray  # (2, d (d+1) / 2)


class Sketch(NamedTuple):
    """Z_c = sum of (x - mu_c) r', which has Z Z' = scatter in expectation, and the scatter's own diagonal."""

    Z: np.ndarray  # (2, d, rank)
    R: np.ndarray  # (2, rank): sums of r
    diagonal: np.ndarray  # (2, d)


@generic
def absorb(spread, c, n, gap, r, work):
    """Let a row, the n-th of class c and ``gap`` from the mean so far, enter the scatter; r are its random numbers."""


@generic
def times(spread, c, n, w, out, work, shrunk):
    """out += Sigma_c w, where n rows of class c were seen; a sketch leaves Z'w in ``work``.

    ``shrunk``: whether a sketch is drawn towards the exact variances of the columns.
    """


@generic
def uncentre(spread, c, n, mean, w, out, work):
    """out += (the sketch of rows as they are, less mean mean', minus the sketch of rows less their mean) w.

    ``work`` is what `times` left.
    """


@absorb.implement(Full)
def _(spread, c, n, gap, r, work):
    scatter, share, first = spread.scatter[c], (n - 1.0) / n, 0
    for i in range(gap.shape[0]):
        a = share * gap[i]
        row = scatter[first : first + i + 1]
        for j in range(i + 1):
            row[j] += a * gap[j]
        first += i + 1


@times.implement(Full, fastmath=REORDER)
def _(spread, c, n, w, out, work, shrunk):
    scatter, first = spread.scatter[c], 0
    for i in range(w.shape[0]):
        row = scatter[first : first + i + 1]
        a, total = w[i] / n, 0.0
        for j in range(i):
            total += row[j] * w[j]
            out[j] += row[j] * a
        out[i] += total / n + row[i] * a
        first += i + 1


@absorb.implement(Sketch)
def _(spread, c, n, gap, r, work):
    Z, R, diagonal = spread.Z[c], spread.R[c], spread.diagonal[c]
    share = (n - 1.0) / n
    for j in range(R.shape[0]):
        work[j] = share * r[j] - R[j] / n
        R[j] += r[j]
    for i in range(gap.shape[0]):
        diagonal[i] += share * gap[i] * gap[i]
        for j in range(R.shape[0]):
            Z[i, j] += gap[i] * work[j]


@uncentre.implement(Full)
def _(spread, c, n, mean, w, out, work):
    pass


@uncentre.implement(Sketch, fastmath=REORDER)
def _(spread, c, n, mean, w, out, work):  # of (Z + mean R')(Z + mean R')' / n - mean mean', all but Z Z' / n
    Z, R = spread.Z[c], spread.R[c]
    along = inner(mean, w)
    ahead = (inner(R, work) + along * inner(R, R)) / n - along
    for i in range(w.shape[0]):
        out[i] += ahead * mean[i]
        for j in range(R.shape[0]):
            out[i] += along / n * Z[i, j] * R[j]


@times.implement(Sketch, fastmath=REORDER)
def _(spread, c, n, w, out, work, shrunk):
    Z, diagonal = spread.Z[c], spread.diagonal[c]
    d, rank = Z.shape
    work[:] = 0.0
    for i in range(d):
        for j in range(rank):
            work[j] += w[i] * Z[i, j]
    noise = d / (d + rank) if shrunk else 0.0
    for i in range(d):
        total = 0.0
        for j in range(rank):
            total += Z[i, j] * work[j]
        out[i] += ((1.0 - noise) * total + noise * diagonal[i] * w[i]) / n


class Gradient(NamedTuple):
    """w -= eta g with eta = step, or (``relative``) step / (L sqrt(t)), L the mean curvature of a pair."""

    step: float
    relative: bool


class AdaGrad(NamedTuple):
    """w_j -= eta g_j / (delta + sqrt(sum of g_j^2)), eta = step, or (``relative``) step / sqrt(L)."""

    step: float
    relative: bool
    delta: float


@generic
def learning_rate(rule, t, curvature):
    """eta_t"""


@generic
def damping(rule, eta, q):
    """By what to divide the part of a row with |x - mu|^2 = q, so that it does not overshoot."""


@generic
def descend(rule, eta, g, w, squares):
    """Move w against the gradient g."""


@generic
def growth(rule, eta, curvature):
    """How many times as long w may become by a step, at the most; the part along the row aside."""


@learning_rate.implement(Gradient)
def _(rule, t, curvature):
    if not rule.relative:
        return rule.step
    return rule.step / (curvature * np.sqrt(t)) if curvature > 0.0 else 0.0


@damping.implement(Gradient)
def _(rule, eta, q):
    return 1.0 + eta * q if rule.relative else 1.0


@descend.implement(Gradient)
def _(rule, eta, g, w, squares):
    for j in range(w.shape[0]):
        w[j] -= eta * g[j]


@growth.implement(Gradient)
def _(rule, eta, curvature):
    return 1.0 + eta * curvature


@learning_rate.implement(AdaGrad)
def _(rule, t, curvature):
    return rule.step / np.sqrt(curvature) if rule.relative and curvature > 0.0 else rule.step


@damping.implement(AdaGrad)
def _(rule, eta, q):
    return 1.0


@descend.implement(AdaGrad)
def _(rule, eta, g, w, squares):
    delta = rule.delta
    for j in range(w.shape[0]):
        squares[j] += g[j] * g[j]
        size = delta + np.sqrt(squares[j])
        w[j] -= eta * g[j] / size if size > 0.0 else 0.0


@growth.implement(AdaGrad)
def _(rule, eta, curvature):
    return 1.0


class State(NamedTuple):
    """Weights, steps made, and what is known of each class."""

    w: np.ndarray
    t: float
    seen: ClassScatter
    spread: Any  # Full or Sketch
    squares: np.ndarray  # (d,): sums of g_j^2 for AdaGrad; empty otherwise


class Steps(NamedTuple):
    """How the weights move."""

    rule: Any  # Gradient or AdaGrad
    penalty: float  # lambda = alpha / 2
    shrunk: bool = True  # whether a sketch is drawn towards the exact variances
    centred: bool = True  # whether it is one of rows less their mean


@dataclass(frozen=True)
class OnePass(StreamSolver[State]):
    """w moves against the gradient of half the square loss over a row's pairs with all rows of the other class."""

    steps: Steps
    rank: int | None = None

    def init(self, d: int, known: FirstPass | None = None) -> State:
        squares = np.zeros(d if isinstance(self.steps.rule, AdaGrad) else 0)
        return State(np.zeros(d), 0.0, no_scatter(d), no_spread(d, self.rank), squares)

    def update(
        self,
        table: Table,
        is_pos: np.ndarray,
        order: np.ndarray,
        state: State,
        known: FirstPass | None,
        rng: np.random.Generator,
    ) -> State:
        label = is_pos.astype(np.int8)
        for rows, (at,), part in table.sweep(order):
            classes = label[order[part]]
            for some, draws in _drawn(state.spread, rng, len(at)):
                state = sweep(rows, at[some], classes[some], draws, self.steps, state)
        return state

    def weights(self, state: State) -> tuple[np.ndarray, float]:
        return state.w.copy(), float(state.w @ state.seen.mean.mean(axis=0))

    def built_for(self, state: State) -> dict[str, Any]:
        if isinstance(self.steps.rule, AdaGrad):  # it has no sketch
            return {}
        return {"rank": state.spread.R.shape[1] if isinstance(state.spread, Sketch) else None}

    def first_step(self, state: State) -> float:
        """eta_1 with what is known of the rows now."""
        rule, seen = self.steps.rule, state.seen
        if seen.n.min() == 0.0:
            return float(rule.step)
        return float(learning_rate(rule, 1.0, self.steps.penalty + pair_square(seen)))

    def writable(self, state: State, table: Table) -> State:
        """Scatter matrices are shared where this batch cannot fail: `_stays_finite`."""
        if isinstance(state.spread, Full) and table.shape[0] <= FEW and self._stays_finite(state, table):
            return copied(state._replace(spread=Full(np.empty((2, 0)))))._replace(spread=state.spread)
        return copied(state)

    def _stays_finite(self, state: State, table: Table) -> bool:
        """Whether no number can overflow in a few steps, by a bound on how |w| may grow from one to the next."""
        seen, penalty, k = state.seen, self.steps.penalty, table.shape[0]
        with np.errstate(all="ignore"):
            far = np.abs(table.dense(slice(None))).max(initial=0.0) + np.abs(seen.mean).max(initial=0.0)
            square = table.shape[1] * far * far  # no |x - mu|^2 is larger
            low = penalty + (seen.trace / (seen.n + k)).sum()  # no mean curvature is smaller: traces only grow
            high = penalty + square + ((seen.trace + k * square) / np.maximum(seen.n, 1.0)).sum()
            eta = learning_rate(self.steps.rule, state.t + 1.0, low)
            longer = growth(self.steps.rule, eta, high) ** k
            longest = longer * (np.abs(state.w).sum() + k * eta * (1.0 + square))
            return bool(low > 0.0 and (1.0 + high) * (1.0 + longest) < LARGE)


def no_spread(d: int, rank: int | None) -> Full | Sketch:
    """The scatter, or the sketch of it, of no rows."""
    if rank is None:
        return Full(np.zeros((2, d * (d + 1) // 2)))
    return Sketch(np.zeros((2, d, rank)), np.zeros((2, rank)), np.zeros((2, d)))


def _drawn(spread: Full | Sketch, rng: np.random.Generator, count: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Parts of the next ``count`` rows, with random numbers for each row where a sketch wants them."""
    if isinstance(spread, Full):
        yield slice(0, count), np.empty((count, 0))
        return
    rank = spread.R.shape[1]
    size = max(1, DRAWS // rank)
    for first in range(0, count, size):
        part = slice(first, min(first + size, count))
        yield part, rng.standard_normal((part.stop - first, rank)) / np.sqrt(rank)


class Work(NamedTuple):
    """Room for one step."""

    gap: np.ndarray  # (d,): x - mu
    g: np.ndarray  # (d,): the gradient
    sketched: np.ndarray  # (rank,)


@kernel
def sweep(rows, at, label, draws, steps, state):
    """One step a row that meets the opposite class."""
    w, t, seen, spread, squares = state.w, state.t, state.seen, state.spread, state.squares
    rule, penalty, n = steps.rule, steps.penalty, state.seen.n
    gap, g, sketched = np.empty_like(w), np.empty_like(w), np.empty(draws.shape[1])
    work = Work(gap=gap, g=g, sketched=sketched)
    for k in range(at.shape[0]):
        i, c = at[k], label[k]
        add_to_scatter(seen, rows, i, c, gap)
        absorb(spread, c, n[c], gap, draws[k], sketched)
        if n[1 - c] == 0.0:
            continue
        t += 1.0
        eta = learning_rate(rule, t, penalty + pair_square(seen))
        gradient(rows, i, c, steps, state, eta, work)
        descend(rule, eta, g, w, squares)
    return State(w=w, t=t, seen=seen, spread=spread, squares=squares)


@kernel(allocates=False)
def gradient(rows, i, c, steps, state, eta, work):
    """g of row i of class c; its own part damped where the rule says so."""
    w, gap, g, penalty, other = state.w, work.gap, work.g, steps.penalty, 1 - c
    q = gap_from(rows, i, state.seen.mean[other], gap)
    for j in range(w.shape[0]):
        g[j] = penalty * w[j]
    times(state.spread, other, state.seen.n[other], w, g, work.sketched, steps.shrunk)
    if not steps.centred:
        uncentre(state.spread, other, state.seen.n[other], state.seen.mean[other], w, g, work.sketched)
    rest = ((1.0 if c else -1.0) - inner(gap, w)) / damping(steps.rule, eta, q)
    for j in range(w.shape[0]):
        g[j] -= rest * gap[j]
