"""Buffered confidence-weighted steps: the weights are a Gaussian, each pair a constraint on it (CBR).

The covariance of the weights, full or diagonal, gives the variance x . cov x of a score w . x. One row x_i is paired
with many rows x_j in turn. Its variance is known throughout, so a pair z = x_i - x_j is judged in one pass over x_j,
and only a pair that may have a loss costs more. Rows are measured from the centre of the stream.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auclid import _sizes
from auclid._generic import REORDER, generic, kernel
from auclid.data import RowStruct, Table, pair_axpy, row_axpy, row_dot, row_entry, row_span
from auclid.solvers.buffered import BufferedSolver
from auclid.solvers.stream import copy_state
from auclid.stats.buffers import BufferWindow, ClassBuffers, admit_row, empty_buffers
from auclid.stats.class_sums import ClassSums, dot, empty_sums, pair_square_lower_bound

PENDING = 4
"""Steps of a row that a full covariance takes at once: each of its numbers is read and written a fourth as often."""

DUPLICATE_VARIANCE = 1e-300
"""z . cov z below which a pair counts as two equal rows: its reciprocal would overflow."""

MODERATE_SIZE = 1e30
"""Rows, weights and C below this cannot make a step overflow."""

VARIANCE_SLACK = 1e-12
"""Rounding error of a bound on a pair's variance, relative to the variances of both rows."""

CANCELLATION_SHARE = 1e-4
"""The share of row i's variance below which z . cov z, as a difference of variances, has lost too many digits."""


class FullCovariance(NamedTuple):
    """A full covariance matrix, of which only the lower triangle is used."""

    matrix: np.ndarray  # (d, d)


class DiagonalCovariance(NamedTuple):
    """A variance for each column."""

    variances: np.ndarray  # (d,)


class FullWorkspace(NamedTuple):
    """A full covariance, with work space for a row and a pair."""

    cov: np.ndarray
    x: np.ndarray  # x_i
    cov_x: np.ndarray
    z: np.ndarray  # x_i - x_j
    cov_z: np.ndarray
    pending: np.ndarray  # (4, d): cov has yet to lose p p' of each of these rows p
    n_pending: np.ndarray  # (1,)
    as_printed: bool  # whether steps are as printed in the dissertation


class DiagonalWorkspace(NamedTuple):
    """The variances, with work space for a row."""

    cov: np.ndarray
    x: np.ndarray  # x_i as a dense vector
    signed: float  # 0 if no entry of any row is negative, else 1
    as_printed: bool  # whether steps are as printed in the dissertation


Covariance: TypeAlias = FullCovariance | DiagonalCovariance
Workspace: TypeAlias = FullWorkspace | DiagonalWorkspace


def unit_covariance(d: int, full: bool) -> Covariance:
    """The covariance I, before any row."""
    return FullCovariance(np.eye(d)) if full else DiagonalCovariance(np.ones(d))


def workspace(cov: Covariance, rows: RowStruct, count: int, as_printed: bool) -> Workspace:
    """The work space of kernels, which overwrite the covariance in it, for the first ``count`` of some rows."""
    if isinstance(cov, FullCovariance):
        x, cov_x, z, cov_z = np.zeros((4, len(cov.matrix)))
        pending, n_pending = np.zeros((PENDING, len(cov.matrix))), np.zeros(1, dtype=np.int64)
        return FullWorkspace(cov.matrix, x, cov_x, z, cov_z, pending, n_pending, as_printed)
    signed = 1.0 if any_negative(rows, count) else 0.0
    return DiagonalWorkspace(cov.variances, np.zeros(len(cov.variances)), signed, as_printed)


class ConfidenceWeightedState(NamedTuple):
    """The Gaussian N(mean, cov) of the weights, and the buffered rows."""

    buffers: ClassBuffers
    sums: ClassSums
    mean: np.ndarray
    cov: Covariance
    bound: np.ndarray  # (2, capacity): upper bounds of x . cov x of the rows held


@dataclass(frozen=True)
class ConfidenceWeightedSolver(BufferedSolver[ConfidenceWeightedState]):
    """Soft confidence-weighted steps; phi is the normal quantile of the confidence."""

    phi: float
    full: bool
    as_printed: bool = False  # whether the steps are as printed in the dissertation
    mean_step: float = 1.0  # the factor of alpha in the step of the mean

    def init(self, d: int) -> ConfidenceWeightedState:
        cov, bound = unit_covariance(d, self.full), np.zeros((2, self.capacity))
        return ConfidenceWeightedState(empty_buffers(d), empty_sums(d), np.zeros(d), cov, bound)

    def learn(self, window: BufferWindow, limit: np.ndarray, state: ConfidenceWeightedState) -> ConfidenceWeightedState:
        work = workspace(state.cov, window.rows, window.held.sum() + len(window.at), self.as_printed)
        sweep_confidence_weighted(window, limit, self.phi, self.mean_step, work, state.mean, state.bound)
        return state

    def mean_weights(self, state: ConfidenceWeightedState) -> np.ndarray:
        return state.mean.copy()

    def fixed_parameters(self, state: ConfidenceWeightedState) -> dict[str, Any]:
        full = isinstance(state.cov, FullCovariance)
        covariance = ("printed_full" if full else "printed") if self.as_printed else "full" if full else "diagonal"
        return {"buffer_size": state.bound.shape[1], "covariance": covariance}

    def writable(self, state: ConfidenceWeightedState, table: Table) -> ConfidenceWeightedState:
        """A copy of the state that shares a full covariance if the batch is small and cannot overflow.

        A covariance only shrinks, and C bounds the growth of the weights.
        """
        small = isinstance(state.cov, FullCovariance) and table.shape[0] <= _sizes.SMALL_BATCH_ROWS
        if small and self._stays_finite(state, table):
            no_matrix = FullCovariance(np.empty((0, 0)))
            return copy_state(state._replace(cov=no_matrix))._replace(cov=state.cov)
        return copy_state(state)

    def _stays_finite(self, state: ConfidenceWeightedState, table: Table) -> bool:
        """Whether no number can overflow in the steps of a batch."""
        limit = self.limit(np.array([pair_square_lower_bound(state.sums, table.shape[0])]))[0]
        arrays = table.dense(slice(None)), state.buffers.values, state.mean
        return 0.0 < limit < MODERATE_SIZE and all(np.abs(x).max(initial=0.0) < MODERATE_SIZE for x in arrays)


@kernel(inner=True)
def confidence_step(m: float, root_v: float, phi: float, C: float) -> tuple[float, float]:
    """alpha, and the root of z . cov z after the step, from the root before it; for a margin m < phi root_v."""
    zeta, psi = 1.0 + phi * phi, 1.0 + 0.5 * phi * phi
    r = m / root_v
    root = np.sqrt(0.25 * r * r * phi**4 + phi * phi * zeta)
    if r > 0.0:  # an equal expression that does not subtract two similar numbers
        alpha = (phi * phi - r * r) / (root + r * psi)
    else:
        alpha = (root - r * psi) / zeta
    alpha = min(C, alpha / root_v)
    a = alpha * root_v * phi
    return alpha, 2.0 * root_v / (a + np.sqrt(a * a + 4.0))


@kernel(allocates=False)
def sweep_confidence_weighted(
    window: BufferWindow,
    limit: np.ndarray,
    phi: float,
    mean_step: float,
    work: Workspace,
    mean: np.ndarray,
    bound: np.ndarray,
) -> int:
    """Pair each row with the opposite buffer; updates mean, covariance and bounds; returns the pairs with a loss."""
    rows, at, members, held = window.rows, window.at, window.members, window.held
    losses = 0
    for t in range(at.shape[0]):
        i, c = at[t], window.label[t]
        y = 2.0 * c - 1.0
        own = load_row(work, rows, i)
        admit_row(window, t)
        if window.slot[t] >= 0:
            bound[c, window.slot[t]] = own
        score = row_dot(rows, i, mean)
        for s in range(held[1 - c]):
            j, other = members[1 - c, s], bound[1 - c, s]
            m = y * (score - row_dot(rows, j, mean))
            # A covariance never grows, so a variance computed once bounds all later ones.
            if m > 0.0 and m * m >= phi * phi * cheap_bound(work, own, other):
                continue
            upper, slack = pair_bound(work, rows, j, own, other), VARIANCE_SLACK * (own + other)
            if m > 0.0 and m * m >= phi * phi * (upper + slack):
                continue
            v = pair_variance(work, rows, i, j, own, upper)
            bound[1 - c, s] = min(other, other + v - upper + slack)  # row j's variance, or more
            if v <= DUPLICATE_VARIANCE or m >= phi * np.sqrt(v):
                continue
            judged = step_variance(work, rows, i, j, v, limit[t])
            if judged <= DUPLICATE_VARIANCE or m >= phi * np.sqrt(judged):
                continue
            alpha, root = confidence_step(m, np.sqrt(judged), phi, limit[t])
            gain = covariance_gain(work, alpha * phi, root, judged)
            own, score = step_along_difference(work, rows, i, j, mean_step * alpha * y, gain, mean)
            losses += 1
        unload_row(work, rows, i)
    return losses


@generic
def load_row(work: Workspace, rows: RowStruct, i: int) -> float:
    """Load row i into the work space, to be paired with others; returns its variance x_i . cov x_i."""


@generic
def unload_row(work: Workspace, rows: RowStruct, i: int) -> None:
    """Clear row i from the work space; no step is pending any more."""


@generic
def cheap_bound(work: Workspace, own: float, other: float) -> float:
    """An upper bound of z . cov z in O(1), from upper bounds of both rows' variances."""


@generic
def pair_bound(work: Workspace, rows: RowStruct, j: int, own: float, other: float) -> float:
    """An upper bound of z . cov z, up to rounding, in O(nnz of row j).

    ``own`` is row i's variance, ``other`` an upper bound of row j's. If ``other`` is used, the result exceeds z . cov z
    by as much as ``other`` exceeds row j's variance.
    """


@generic
def pair_variance(work: Workspace, rows: RowStruct, i: int, j: int, own: float, bound: float) -> float:
    """z . cov z; may leave cov z in the work space for `step_along_difference`.

    ``own`` is row i's variance, ``bound`` the result of `pair_bound`.
    """


@generic
def step_variance(work: Workspace, rows: RowStruct, i: int, j: int, v: float, C: float) -> float:
    """The variance that determines a step, for v = z . cov z: v itself, or as printed in the dissertation."""


@generic
def covariance_gain(work: Workspace, strength: float, root: float, v: float) -> float:
    """The coefficient of (cov z)(cov z)' that a full covariance loses, or of z^2 that a diagonal cov^-1 gains.

    ``strength`` is alpha phi, v the variance before the step, and ``root`` the root of the variance after it.
    """


@generic
def step_along_difference(
    work: Workspace, rows: RowStruct, i: int, j: int, step: float, gain: float, mean: np.ndarray
) -> tuple[float, float]:
    """mean += step cov z, and cov -= gain (cov z)(cov z)' or, of a diagonal, cov^-1 += gain z^2.

    Returns row i's variance and score after the step.
    """


@load_row.implement(FullWorkspace)
def _(work: FullWorkspace, rows: RowStruct, i: int) -> float:
    work.x[:] = 0.0
    row_axpy(rows, i, 1.0, work.x)
    covariance_product(work, work.x, work.cov_x)
    return dot(work.x, work.cov_x)


@unload_row.implement(FullWorkspace)
def _(work: FullWorkspace, rows: RowStruct, i: int) -> None:
    subtract_pending(work)


@cheap_bound.implement(FullWorkspace)
def _(work: FullWorkspace, own: float, other: float) -> float:
    if work.as_printed:  # the covariance may become indefinite
        return np.inf
    return own + other + 2.0 * np.sqrt(own * other)


@pair_bound.implement(FullWorkspace)
def _(work: FullWorkspace, rows: RowStruct, j: int, own: float, other: float) -> float:
    return own + other - 2.0 * row_dot(rows, j, work.cov_x)


@pair_variance.implement(FullWorkspace)
def _(work: FullWorkspace, rows: RowStruct, i: int, j: int, own: float, bound: float) -> float:
    work.z[:] = 0.0
    pair_axpy(rows, i, j, 1.0, work.z)
    covariance_product(work, work.z, work.cov_z)
    return dot(work.z, work.cov_z)


@step_variance.implement(FullWorkspace)
def _(work: FullWorkspace, rows: RowStruct, i: int, j: int, v: float, C: float) -> float:
    return v


@covariance_gain.implement(FullWorkspace)
def _(work: FullWorkspace, strength: float, root: float, v: float) -> float:
    return strength / (np.sqrt(root * root + v * strength) if work.as_printed else root + v * strength)


@step_variance.implement(DiagonalWorkspace)
def _(work: DiagonalWorkspace, rows: RowStruct, i: int, j: int, v: float, C: float) -> float:
    return regularized_variance(rows, i, j, work.x, work.cov, C) if work.as_printed else v


@covariance_gain.implement(DiagonalWorkspace)
def _(work: DiagonalWorkspace, strength: float, root: float, v: float) -> float:
    return strength / (np.sqrt(root * root + v * strength) if work.as_printed else root)


@step_along_difference.implement(FullWorkspace, fastmath=REORDER)
def _(
    work: FullWorkspace, rows: RowStruct, i: int, j: int, step: float, gain: float, mean: np.ndarray
) -> tuple[float, float]:
    x, g, h = work.x, work.cov_x, work.cov_z
    own = f = along = 0.0
    for k in range(x.shape[0]):
        w = mean[k] + step * h[k]
        mean[k] = w
        f += w * x[k]
        along += h[k] * x[k]
    along *= gain
    for k in range(x.shape[0]):
        u = g[k] - along * h[k]
        g[k] = u
        own += u * x[k]
    root, p = np.sqrt(gain), work.pending[work.n_pending[0]]
    for k in range(p.shape[0]):
        p[k] = root * h[k]
    work.n_pending[0] += 1
    if work.n_pending[0] == PENDING:
        subtract_pending(work)
    return own, f


@load_row.implement(DiagonalWorkspace)
def _(work: DiagonalWorkspace, rows: RowStruct, i: int) -> float:
    row_axpy(rows, i, 1.0, work.x)
    return row_variance(rows, i, work.cov)


@unload_row.implement(DiagonalWorkspace)
def _(work: DiagonalWorkspace, rows: RowStruct, i: int) -> None:
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, _ = row_entry(rows, i, e)
        work.x[k] = 0.0


@cheap_bound.implement(DiagonalWorkspace)
def _(work: DiagonalWorkspace, own: float, other: float) -> float:
    # If no entry is negative, x_i . cov x_j >= 0.
    return own + other + 2.0 * work.signed * np.sqrt(own * other)


@pair_bound.implement(DiagonalWorkspace, fastmath=REORDER)
def _(work: DiagonalWorkspace, rows: RowStruct, j: int, own: float, other: float) -> float:
    x, cov, total = work.x, work.cov, own
    first, last = row_span(rows, j)
    for e in range(first, last):
        k, b = row_entry(rows, j, e)
        total += (b - 2.0 * x[k]) * b * cov[k]
    return total


@pair_variance.implement(DiagonalWorkspace)
def _(work: DiagonalWorkspace, rows: RowStruct, i: int, j: int, own: float, bound: float) -> float:
    return bound if bound > CANCELLATION_SHARE * own else pair_variance_by_column(rows, i, j, work.x, work.cov)


@step_along_difference.implement(DiagonalWorkspace, fastmath=REORDER)
def _(
    work: DiagonalWorkspace, rows: RowStruct, i: int, j: int, step: float, gain: float, mean: np.ndarray
) -> tuple[float, float]:
    x, cov, own, f = work.x, work.cov, 0.0, 0.0
    first, last = row_span(rows, j)
    for e in range(first, last):
        k, b = row_entry(rows, j, e)
        z, c = x[k] - b, cov[k]
        mean[k] += step * z * c
        cov[k] = c / (1.0 + gain * z * z * c)
        x[k] = 0.0  # so that the next loop does not change this column again
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, a = row_entry(rows, i, e)
        z, c = x[k], cov[k]
        w = mean[k] + step * z * c
        c /= 1.0 + gain * z * z * c
        own += a * a * c
        f += a * w
        mean[k], cov[k] = w, c
        x[k] = a
    return own, f


@kernel
def any_negative(rows: RowStruct, count: int) -> bool:
    """Whether any entry of the first ``count`` rows is negative."""
    for i in range(count):
        first, last = row_span(rows, i)
        for e in range(first, last):
            if row_entry(rows, i, e)[1] < 0.0:
                return True
    return False


@kernel(fastmath=REORDER, allocates=False, inner=True)
def row_variance(rows: RowStruct, i: int, cov: np.ndarray) -> float:
    """x_i . cov x_i for a vector of variances cov."""
    total = 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, x = row_entry(rows, i, e)
        total += x * x * cov[k]
    return total


@kernel(allocates=False, inner=True)
def pair_variance_by_column(rows: RowStruct, i: int, j: int, x: np.ndarray, cov: np.ndarray) -> float:
    """z . cov z for a vector of variances cov, column by column; x contains row i before and after."""
    total = 0.0
    first, last = row_span(rows, j)
    for e in range(first, last):
        k, b = row_entry(rows, j, e)
        z = x[k] - b
        total += z * z * cov[k]
        x[k] = 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, a = row_entry(rows, i, e)
        total += x[k] * x[k] * cov[k]
        x[k] = a
    return total


@kernel(allocates=False, inner=True)
def regularized_variance(rows: RowStruct, i: int, j: int, x: np.ndarray, cov: np.ndarray, C: float) -> float:
    """The sum of z^2 / (1/cov + C), column by column; x contains row i before and after."""
    total = 0.0
    first, last = row_span(rows, j)
    for e in range(first, last):
        k, b = row_entry(rows, j, e)
        z = x[k] - b
        total += z * z * cov[k] / (1.0 + C * cov[k])
        x[k] = 0.0
    first, last = row_span(rows, i)
    for e in range(first, last):
        k, a = row_entry(rows, i, e)
        total += x[k] * x[k] * cov[k] / (1.0 + C * cov[k])
        x[k] = a
    return total


@kernel(fastmath=REORDER, allocates=False, inner=True)
def symmetric_product(A: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """out = A x from the lower triangle of A, four rows at a time: each entry is read once and used twice."""
    d = x.shape[0]
    fours = d - d % 4
    for r in range(0, fours, 4):
        p, q, s, t = A[r], A[r + 1], A[r + 2], A[r + 3]
        a, b, c, e = x[r], x[r + 1], x[r + 2], x[r + 3]
        along_p = along_q = along_s = along_t = 0.0
        for k in range(r):
            out[k] += a * p[k] + b * q[k] + c * s[k] + e * t[k]
            along_p += p[k] * x[k]
            along_q += q[k] * x[k]
            along_s += s[k] * x[k]
            along_t += t[k] * x[k]
        out[r] = along_p + p[r] * a + q[r] * b + s[r] * c + t[r] * e
        out[r + 1] = along_q + q[r] * a + q[r + 1] * b + s[r + 1] * c + t[r + 1] * e
        out[r + 2] = along_s + s[r] * a + s[r + 1] * b + s[r + 2] * c + t[r + 2] * e
        out[r + 3] = along_t + t[r] * a + t[r + 1] * b + t[r + 2] * c + t[r + 3] * e
    for r in range(fours, d):
        p, a, along_p = A[r], x[r], 0.0
        for k in range(r):
            out[k] += a * p[k]
            along_p += p[k] * x[k]
        out[r] = along_p + p[r] * a


@kernel(fastmath=REORDER, allocates=False, inner=True)
def covariance_product(work: FullWorkspace, x: np.ndarray, out: np.ndarray) -> None:
    """out = cov x, less what steps have not yet taken from cov."""
    symmetric_product(work.cov, x, out)
    for e in range(work.n_pending[0]):
        p = work.pending[e]
        along = dot(p, x)
        for k in range(out.shape[0]):
            out[k] -= along * p[k]


@kernel(fastmath={"contract"}, allocates=False, inner=True)
def subtract_pending(work: FullWorkspace) -> None:
    """cov -= p p' for each pending p, in the lower triangle of cov."""
    A, pending, count = work.cov, work.pending, work.n_pending[0]
    p, q, s, t = pending[0], pending[1], pending[2], pending[3]
    if count == PENDING:
        for r in range(A.shape[0]):
            row, a, b, c, e = A[r], p[r], q[r], s[r], t[r]
            for k in range(r + 1):
                row[k] -= a * p[k] + b * q[k] + c * s[k] + e * t[k]
    else:
        for number in range(count):
            p = pending[number]
            for r in range(A.shape[0]):
                row, a = A[r], p[r]
                for k in range(r + 1):
                    row[k] -= a * p[k]
    work.n_pending[0] = 0
