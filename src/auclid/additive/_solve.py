"""Penalised least squares in the basis, in closed form:

    min_w (1 - w·δ)² + w·S·w + (alpha/2) w·C·w + (smooth/2) w·CP·w

with the roughness w·P·w of the shapes and the costs C of coefficients; and with shapes that may only rise, or only
fall.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from auclid import _sizes
from auclid.additive._basis import Basis
from auclid.additive._features import Feature
from auclid.additive._moments import congruence
from auclid.solvers.least_squares import solve_spectral

MIN_VARIANCE_SHARE = 0.01
"""A column that adds nothing costs as much as one whose variance is this share of the mean over columns."""

MAX_REFINEMENTS = 6
"""Steps of iterative refinement, at the most, where the factor has half the digits."""

REFINED_RESIDUAL = 1e-6
"""What may be left of δ then, in its units."""

LEVEL_STEP = 1e-12
"""A step of a monotone shape that is no larger than this share of the largest is level."""

MAX_FAILED_EXCHANGES = 3
"""Exchanges of whole sets that may fail to lower the number of violations before one is made at a time."""


class Penalty(NamedTuple):
    """Strengths of the ridge and of the roughness penalty, and how much more a column costs that adds little."""

    alpha: float
    smooth: float
    focus: float = 0.0


FEW_ROWS_PENALTY = Penalty(0.3, 5.0)
"""What is used where nothing is cross-validated; alpha in units of twice the mean variance of the basis."""


class PenaltyTerms(NamedTuple):
    """What `Penalty` multiplies: P of the roughness w·P·w, and where the coefficients of each column or pair begin."""

    P: Any
    """Sparse, in coordinates: it joins coefficients of one column or pair only."""
    starts: np.ndarray
    """One more than there are columns and pairs: the last is the number of coefficients."""

    def leading(self, size: int) -> "PenaltyTerms":
        """The terms of the first coefficients only, where a column or pair ends."""
        P, kept = self.P, self.P.row < size
        part = sparse.coo_array((P.data[kept], (P.row[kept], P.col[kept])), shape=(size, size))
        return PenaltyTerms(part, self.starts[self.starts <= size])

    def cost(self, u: np.ndarray, S: np.ndarray, focus: float) -> np.ndarray:
        """The cost of each coefficient, (mean v / v_k)^focus: v_k is the variance of what its column adds with u."""
        counts = np.diff(self.starts)
        v = np.zeros(len(counts))
        for count in np.unique(counts):  # columns of as many coefficients at once
            at = self.starts[:-1][counts == count, None] + np.arange(count)
            own = u[at]
            v[counts == count] = ((S[at[:, :, None], at[:, None, :]] @ own[:, :, None])[:, :, 0] * own).sum(axis=1)
        size = float(v.mean()) if len(v) else 0.0
        if size <= 0.0:
            return np.ones(len(u))
        return np.repeat((size / (np.maximum(v, 0.0) + MIN_VARIANCE_SHARE * size)) ** focus, counts)


def penalty_terms(basis: Basis) -> PenaltyTerms:
    """P = D'D, where a line of D is a second difference of a numeric shape, or along one way of the grid of a pair."""
    parts = [_column_roughness(basis), *_grid_roughness(basis)]
    data, row, column = (np.concatenate(each) for each in zip(*parts, strict=True))
    P = sparse.coo_array((data, (row, column)), shape=(basis.size, basis.size))
    return PenaltyTerms(P, _starts(basis))


def _column_roughness(basis: Basis) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The entries of P, their rows and their columns, of the columns alone: a slot and the two on each side of it."""
    at, values = second_differences(basis.knots, basis.first, ~basis.is_level)
    bands, parts = np.zeros((3, len(basis.place) + 2)), []
    for left, right in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)):
        bands[right - left, at + left] += values[:, left] * values[:, right]  # no two lines are at the same slot
    for offset, band in enumerate(bands):
        here = np.flatnonzero(band)
        row, column, value = basis.place[here], basis.place[here + offset], band[here]
        used = (row >= 0) & (column >= 0)
        parts.append((value[used], row[used], column[used]))
        if offset:
            parts.append((value[used], column[used], row[used]))
    data, row, column = (np.concatenate(each) for each in zip(*parts, strict=True))
    return data, row, column


def _grid_roughness(basis: Basis) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The entries of P, their rows and their columns, of the grids of pairs, those of one shape together.

    Of a grid it is P₁ ⊗ I + I ⊗ P₂, with what the coarse knots of its two columns give.
    """
    at, values = second_differences(basis.coarse_knots, basis.coarse_first, ~basis.is_level)
    ends, size = np.searchsorted(at, basis.coarse_first), np.diff(basis.coarse_first)

    def line_roughness(j: int) -> np.ndarray:
        D = np.zeros((ends[j + 1] - ends[j], size[j]))
        own = slice(ends[j], ends[j + 1])
        D[np.arange(len(D))[:, None], at[own, None] - basis.coarse_first[j] + np.arange(3)] = values[own]
        return D.T @ D

    of_column = {j: line_roughness(j) for j in basis.paired.tolist()}
    shapes = np.stack([size[basis.pair_a], size[basis.pair_b]], axis=1)
    for shape in np.unique(shapes, axis=0):
        here = np.flatnonzero((shapes == shape).all(axis=1))
        P_a, P_b = (np.stack([of_column[j] for j in pair[here].tolist()]) for pair in (basis.pair_a, basis.pair_b))
        along_a = P_a[:, :, None, :, None] * np.eye(shape[1])[:, None, :]
        along_b = np.eye(shape[0])[:, None, :, None] * P_b[:, None, :, None, :]
        grids = (along_a + along_b).reshape(len(here), shape.prod(), shape.prod())
        m, row, column = np.nonzero(grids)
        first = basis.pair_first[here][m]
        yield grids[m, row, column], first + row, first + column


def _starts(basis: Basis) -> np.ndarray:
    """Coefficients are in the order of their columns, then pairs; columns without any are left out."""
    ends = np.maximum.reduceat(basis.place, basis.first[:-1]) if len(basis.missing) else np.zeros(0, dtype=np.int64)
    ends = np.maximum(ends, basis.missing) + 1
    return np.unique(np.concatenate([[0], ends, basis.pair_first, [basis.size]]))


def second_differences(knots: np.ndarray, first: np.ndarray, numeric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The knots that two others of their column follow, and the coefficients of the values at the three: the squares
    add up to the roughness of a broken line, which is zero for a straight one.

    Differences of slopes, in units in which all knots of a column span the same length, each weighed by its shorter
    interval, so that a narrow interval counts for as little as it shows; squares are weighed by the cube of the number
    of knots, so that the same curve is as rough on many knots as on few. ``first`` says where columns begin.
    """
    column = np.repeat(np.arange(len(numeric)), np.diff(first))
    at = np.flatnonzero((column[2:] == column[:-2]) & numeric[column[2:]])
    own, last = column[at], np.diff(first)[column[at]] - 1.0
    unit = (knots[first[own + 1] - 1] - knots[first[own]]) / last
    left, right = (knots[at + 1] - knots[at]) / unit, (knots[at + 2] - knots[at + 1]) / unit
    weight = np.minimum(left, right) * (last / 8.0) ** 1.5
    return at, weight[:, None] * np.stack([1.0 / left, -1.0 / left - 1.0 / right, 1.0 / right], axis=1)


# Closed form


def penalised(S: np.ndarray, delta: np.ndarray, terms: PenaltyTerms, penalty: Penalty) -> np.ndarray:
    """S + (smooth/2) CP + (alpha/2) C"""
    return with_penalty(S, terms, penalty, coefficient_cost(S, delta, terms, penalty))


def coefficient_cost(S: np.ndarray, delta: np.ndarray, terms: PenaltyTerms, penalty: Penalty) -> np.ndarray | float:
    """C: 1, or with a focus, larger for columns that add little in a first solution without (the adaptive ridge)."""
    if not penalty.focus:
        return 1.0
    return terms.cost(direction(S, delta, terms, penalty._replace(focus=0.0)), S, penalty.focus)


def with_penalty(S: np.ndarray, terms: PenaltyTerms, penalty: Penalty, cost: np.ndarray | float) -> np.ndarray:
    """S + (smooth/2) CP + (alpha/2) C of a given C."""
    A, P = S.copy(), terms.P
    rough = 0.5 * penalty.smooth * (cost[P.row] if isinstance(cost, np.ndarray) else cost) * P.data
    A[P.row, P.col] += rough
    A.reshape(-1)[:: len(A) + 1] += 0.5 * penalty.alpha * cost
    return A


def penalty_product(terms: PenaltyTerms, penalty: Penalty, cost: np.ndarray | float, W: np.ndarray) -> np.ndarray:
    """((smooth/2) CP + (alpha/2) C) W; a C of several columns has one for each column of W."""
    product = 0.5 * penalty.smooth * (terms.P @ W) + 0.5 * penalty.alpha * W
    each = np.asarray(cost)
    return (each[:, None] if 0 < each.ndim < W.ndim else each) * product


def direction(S: np.ndarray, delta: np.ndarray, terms: PenaltyTerms, penalty: Penalty) -> np.ndarray:
    """u = (S + (smooth/2) CP + (alpha/2) C)^-1 δ, to which the minimiser is parallel."""
    return _factored(penalised(S, delta, terms, penalty), delta)


def directions(
    S: np.ndarray,
    delta: np.ndarray,
    terms: PenaltyTerms,
    penalties: Sequence[Penalty],
    solution_cache: dict[Penalty, np.ndarray] | None = None,
) -> np.ndarray:
    """The `direction` of each penalty, a column each; those that differ in their focus share their first solution.

    ``solution_cache`` holds solutions without a focus; new ones are added.
    """
    solution_cache = {} if solution_cache is None else solution_cache
    coarse = S.astype(np.float32) if len(S) >= _sizes.REFINED_COEFFICIENTS and len(penalties) > 1 else S
    out = []
    for penalty in penalties:
        plain = penalty._replace(focus=0.0)
        if plain not in solution_cache:
            solution_cache[plain] = _coarsely_factored(S, coarse, delta, terms, plain, 1.0)
        u = solution_cache[plain]
        if penalty.focus:
            u = _coarsely_factored(S, coarse, delta, terms, penalty, terms.cost(u, S, penalty.focus))
        out.append(u)
    return np.stack(out, axis=1)


def _coarsely_factored(
    S: np.ndarray,
    coarse: np.ndarray,
    delta: np.ndarray,
    terms: PenaltyTerms,
    penalty: Penalty,
    cost: np.ndarray | float,
) -> np.ndarray:
    """A^-1 δ from a factor of ``coarse``, which is S with fewer digits, by iterative refinement.

    Where that does not get near, A is not far from singular, and factored with all digits.
    """
    if coarse is S:
        return _factored(with_penalty(S, terms, penalty, cost), delta)
    try:
        factor = cholesky(with_penalty(coarse, terms, penalty, cost))
    except linalg.LinAlgError:
        return _factored(with_penalty(S, terms, penalty, cost), delta)
    u = refined(factor, S, delta, terms, penalty, cost, REFINED_RESIDUAL)
    return _factored(with_penalty(S, terms, penalty, cost), delta) if u is None else u


def refined(
    factor: np.ndarray,
    S: np.ndarray,
    delta: np.ndarray,
    terms: PenaltyTerms,
    penalty: Penalty,
    cost: np.ndarray | float,
    residual: float,
) -> np.ndarray | None:
    """A^-1 δ by iterative refinement with a factor of half the digits, which leaves so much of δ; None if it cannot."""
    u, rest, size = np.zeros_like(delta), delta, float(np.linalg.norm(delta))
    left = size
    for _ in range(MAX_REFINEMENTS):
        if left <= residual * size:
            break
        u = u + left * cholesky_solve(factor, (rest / left).astype(np.float32))
        rest = delta - S @ u - penalty_product(terms, penalty, cost, u)
        before, left = left, float(np.linalg.norm(rest))
        if not left < 0.5 * before:
            break
    return u if left <= residual * size else None


def _factored(A: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """A^-1 δ of a symmetric A, whose upper triangle is overwritten: it may be large."""
    diagonal = A.diagonal().copy()
    try:
        factor = cholesky(A)
    except linalg.LinAlgError:
        A = np.tril(A, -1)
        A += A.T
        A[np.diag_indices_from(A)] = diagonal
        return solve_spectral(A, delta)
    return cholesky_solve(factor, delta)


def cholesky(A: np.ndarray) -> np.ndarray:
    """The lower Cholesky factor of a symmetric A, which is overwritten; what is above the diagonal means nothing.

    LAPACK itself: SciPy's checks take longer than the factor of a small matrix.
    """
    potrf = linalg.lapack.spotrf if A.dtype == np.float32 else linalg.lapack.dpotrf
    factor, failed = potrf(A.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise linalg.LinAlgError("The matrix is not positive definite.")
    return factor


def cholesky_solve(factor: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A^-1 b of the `cholesky` factor of A; b may have several columns."""
    if not len(b):
        return b
    potrs = linalg.lapack.spotrs if factor.dtype == np.float32 else linalg.lapack.dpotrs
    return potrs(factor, b, lower=1)[0]


def minimiser(S: np.ndarray, delta: np.ndarray, terms: PenaltyTerms, penalty: Penalty) -> np.ndarray:
    """The weights themselves: u / (1 + u·δ), by Sherman and Morrison's formula."""
    if not len(delta):
        return np.zeros(0)
    u = direction(S, delta, terms, penalty)
    return u / (1.0 + u @ delta)


# Monotone shapes


class MonotoneColumn(NamedTuple):
    """One column in increments: its coefficients, its direction, and the slot that is zero (-1: none)."""

    place: np.ndarray
    sign: float
    reference: int

    def slots(self, u: np.ndarray) -> np.ndarray:
        """The value of each slot from the increments, along the first axis; sums of numbers that are not negative
        never fall, to the bit."""
        origin = np.zeros_like(u[:1])
        if self.reference < 0:
            return self.sign * np.cumsum(np.concatenate([origin, u[1:]]), axis=0) + u[0]
        steps = self.sign * np.cumsum(np.concatenate([origin, u]), axis=0)
        return steps - steps[self.reference]

    def coefficients(self, u: np.ndarray) -> np.ndarray:
        """The values of the slots that have a coefficient."""
        slots = self.slots(u)
        return slots if self.reference < 0 else np.delete(slots, self.reference, axis=0)

    def increments(self, w: np.ndarray) -> np.ndarray:
        """The increments that give these coefficients."""
        if self.reference < 0:
            return np.append(w[:1], self.sign * np.diff(w))
        return self.sign * np.diff(np.insert(w, self.reference, 0.0))


def monotone_columns(features: Sequence[Feature], basis: Basis, monotone: Mapping[int, int]) -> list[MonotoneColumn]:
    """The constrained columns, those of one value left out, and every line of a grid along such a column.

    A shape and grids that all rise with a column add up to scores that do; and what rises can be written so.
    """
    out = []
    for j, sign in monotone.items():
        place = basis.place[basis.first[j] : basis.first[j + 1]]
        if len(place) > 1:
            out.append(MonotoneColumn(place[place >= 0], float(sign), features[j].reference))
    size = np.diff(basis.coarse_first)
    for first, a, b in zip(basis.pair_first, basis.pair_a, basis.pair_b, strict=True):
        grid = first + np.arange(size[a] * size[b]).reshape(size[a], size[b])
        for j, lines in ((int(a), grid.T), (int(b), grid)):
            if j in monotone:
                out += [MonotoneColumn(line, float(monotone[j]), -1) for line in lines]
    return out


def solve_monotone(
    H: np.ndarray, B: np.ndarray, columns: Sequence[MonotoneColumn], start: np.ndarray | None = None
) -> np.ndarray:
    """argmin_w 1/2 w·H·w - b·w where the shapes of these columns do not fall (or do not rise), for each b of B.

    ``start``: weights near each, whose level parts are taken for level at first.
    """
    T, bounded = _increment_map(columns, len(B))
    A, R = congruence(H, T), T.T @ B
    out = np.empty_like(B)
    for k, b in enumerate(R.T):
        free = None if start is None else ~bounded | _rising(start[:, k], columns)
        u = solve_bounded(A, b, bounded, free)
        out[:, k] = u
        for column in columns:
            out[column.place, k] = column.coefficients(u[column.place])
    return out


def _increment_map(columns: Sequence[MonotoneColumn], size: int) -> tuple[Any, np.ndarray]:
    """T, by which coefficients come from increments, and which of those may not be negative."""
    bounded, rest = np.zeros(size, dtype=bool), np.ones(size, dtype=bool)
    entries = []
    for column in columns:
        place = column.place
        part = column.coefficients(np.eye(len(place)))
        entries.append((part.ravel(), np.repeat(place, len(place)), np.tile(place, len(place))))
        bounded[place[column.reference < 0 :]], rest[place] = True, False
    others = np.flatnonzero(rest)
    entries.append((np.ones(len(others)), others, others))
    values, rows, along = (np.concatenate(each) for each in zip(*entries, strict=True))
    T = sparse.csr_array((values, (rows, along)), shape=(size, size))
    T.eliminate_zeros()
    return T, bounded


def _rising(w: np.ndarray, columns: Sequence[MonotoneColumn]) -> np.ndarray:
    """Which increments are no rounding errors."""
    u = np.zeros_like(w)
    for column in columns:
        u[column.place] = column.increments(w[column.place])
    return u > LEVEL_STEP * np.abs(w).max(initial=0.0)


def made_monotone(w: np.ndarray, columns: Sequence[MonotoneColumn]) -> np.ndarray:
    """The weights, whose shapes are monotone but for rounding errors, monotone to the bit."""
    w = w.copy()
    for column in columns:
        u = column.increments(w[column.place])
        u[column.reference < 0 :] = np.maximum(u[column.reference < 0 :], 0.0)
        w[column.place] = column.coefficients(u)
    return w


def solve_bounded(H: np.ndarray, b: np.ndarray, bounded: np.ndarray, free: np.ndarray | None = None) -> np.ndarray:
    """argmin_u 1/2 u·H·u - b·u with u >= 0 where ``bounded``: block principal pivoting, exact and finite.

    Coordinates that are negative are held at zero and those whose gradient is negative are let go, all at once while
    that helps, one at a time (Murty's rule) where it does not (Júdice & Pires 1994). ``free``:
    the coordinates that are not held at first; all unless it is given.
    """
    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    H, b = H * scale * scale[:, None], b * scale
    free = np.ones(len(b), dtype=bool) if free is None else free
    fewest, tries = len(b) + 1, MAX_FAILED_EXCHANGES
    tolerance = 1e-12 * max(1.0, np.abs(b).max(initial=0.0))
    u = np.zeros(len(b))
    for _ in range(50 * (len(b) + 1)):
        u[:] = 0.0
        u[free] = _solve_positive(H[np.ix_(free, free)], b[free])
        slope = H @ u - b
        wrong = bounded & np.where(free, u < -tolerance, slope < -tolerance)
        if not wrong.any():
            break
        if wrong.sum() < fewest:
            fewest, tries = int(wrong.sum()), MAX_FAILED_EXCHANGES
        elif tries > 0:
            tries -= 1
        else:
            last = int(np.flatnonzero(wrong)[-1])
            wrong[:] = False
            wrong[last] = True
        free = free ^ wrong
    return np.where(bounded, np.maximum(u, 0.0), u) * scale


def _solve_positive(H: np.ndarray, b: np.ndarray) -> np.ndarray:
    if not len(b):
        return b
    try:
        return cholesky_solve(cholesky(H.copy()), b)
    except linalg.LinAlgError:
        return solve_spectral(H, b)
