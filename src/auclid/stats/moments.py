"""Count, mean and scatter of rows: a commutative monoid under +, so any order of chunks gives the same."""

from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from auclid import _sizes
from auclid._generic import REORDER, kernel
from auclid._threads import thread_map
from auclid.data.array_tables import DenseTable, as_table
from auclid.data.blocks import Block, centre_rows, gram_matrix, is_sparse, row_squared_norms
from auclid.data.table import Table, slices

PENDING_BYTES, MAX_PENDING_ROWS = 1 << 18, 496
"""Memory, and largest number, of a group's pending rows, so that they stay in the processor's cache."""


class GroupSums(NamedTuple):
    """Sums of z and of zz' (lower triangles) of each group, z = x - the group's centre, and rows not yet added."""

    centres: np.ndarray
    totals: np.ndarray
    products: np.ndarray
    pending: np.ndarray  # (groups, columns, rows): rows z that are added together
    n_pending: np.ndarray


def group_sums(X: np.ndarray, group: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sums of z and of zz' over the rows of each group, z = x - the group's centre; X may be C- or F-ordered."""
    n_groups, d = centres.shape
    padded, size = -(-d // 4) * 4, min(MAX_PENDING_ROWS, PENDING_BYTES // (8 * max(1, d)) // 16 * 16)
    sums = GroupSums(
        centres=centres,
        totals=np.zeros((n_groups, d)),
        products=np.zeros((n_groups, padded, padded)),
        pending=np.zeros((n_groups, padded, size)),
        n_pending=np.zeros(n_groups, dtype=np.int64),
    )
    if X.flags.c_contiguous:
        add_rows(X.T, group, -1, sums)
    else:
        inside = group[(group >= 0) & (group < n_groups)]
        add_columns(X.T, group, int(np.argmax(np.bincount(inside, minlength=n_groups))), sums)
    for g in range(n_groups):
        add_pending(g, sums)
    lower = np.tril(sums.products[:, :d, :d])
    return sums.totals, lower + np.tril(lower, -1).transpose(0, 2, 1)


@kernel(fastmath=REORDER)
def add_rows(columns: np.ndarray, group: np.ndarray, excluded: int, sums: GroupSums) -> None:
    """Add rows, given as the columns of an array, except those of one group.

    Rows are pending until their group has enough of them.
    """
    d, n = columns.shape
    for i in range(n):
        g = group[i]
        if g == excluded or g < 0 or g >= sums.centres.shape[0]:
            continue
        position = sums.n_pending[g]
        for k in range(d):
            sums.pending[g, k, position] = columns[k, i] - sums.centres[g, k]
        sums.n_pending[g] += 1
        if sums.n_pending[g] == sums.pending.shape[2]:
            add_pending(g, sums)


@kernel(fastmath=REORDER)
def add_columns(columns: np.ndarray, group: np.ndarray, largest: int, sums: GroupSums) -> None:
    """Add rows of an F-ordered array, given as the contiguous rows of its transpose.

    Rows of the largest group are added in place, with zeros for all others; the others are added by `add_rows`.
    """
    d, n = columns.shape
    member, work = group == largest, sums.pending[largest]
    for start in range(0, n, work.shape[1]):
        size = min(work.shape[1], n - start)
        chunk = slice(start, start + size)
        for k in range(d):
            sums.totals[largest, k] += centred_column(
                columns[k, chunk], member[chunk], sums.centres[largest, k], work[k, :size]
            )
        add_outer_products(work, size, sums.products[largest])
        add_rows(columns[:, chunk], group[chunk], largest, sums)


@kernel(fastmath=REORDER)
def add_pending(g: int, sums: GroupSums) -> None:
    """Add the sums over the pending rows of a group: adding rows one by one would lose digits over many rows."""
    work, size = sums.pending[g], sums.n_pending[g]
    for k in range(sums.totals.shape[1]):
        total = 0.0
        for r in range(size):
            total += work[k, r]
        sums.totals[g, k] += total
    add_outer_products(work, size, sums.products[g])
    sums.n_pending[g] = 0


@kernel(fastmath=REORDER, inner=True)
def centred_column(column: np.ndarray, member: np.ndarray, centre: float, out: np.ndarray) -> float:
    """out_i = x_i - centre for members of the group, else 0; returns their sum."""
    total = 0.0
    for i in range(column.shape[0]):
        z = column[i] - centre if member[i] else 0.0
        out[i] = z
        total += z
    return total


@kernel(fastmath=REORDER, inner=True)
def add_outer_products(work: np.ndarray, size: int, products: np.ndarray) -> None:
    """products_ij += sum over r < size of work_ir work_jr for i >= j, in 4 x 4 tiles whose sums stay in registers."""
    for i in range(0, work.shape[0], 4):
        for j in range(0, i + 1, 4):
            s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = 0.0
            s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = 0.0
            for r in range(size):
                a0, a1, a2, a3 = work[i, r], work[i + 1, r], work[i + 2, r], work[i + 3, r]
                b0, b1, b2, b3 = work[j, r], work[j + 1, r], work[j + 2, r], work[j + 3, r]
                s00, s01, s02, s03 = s00 + a0 * b0, s01 + a0 * b1, s02 + a0 * b2, s03 + a0 * b3
                s10, s11, s12, s13 = s10 + a1 * b0, s11 + a1 * b1, s12 + a1 * b2, s13 + a1 * b3
                s20, s21, s22, s23 = s20 + a2 * b0, s21 + a2 * b1, s22 + a2 * b2, s23 + a2 * b3
                s30, s31, s32, s33 = s30 + a3 * b0, s31 + a3 * b1, s32 + a3 * b2, s33 + a3 * b3
            rows = ((s00, s01, s02, s03), (s10, s11, s12, s13), (s20, s21, s22, s23), (s30, s31, s32, s33))
            for p in range(4):
                for q in range(4):
                    products[i + p, j + q] += rows[p][q]


BLOCKS = 16
"""Blocks of rows, at the most, whose scatter is formed at once."""

SIDE = 2048
"""Columns whose products with all others are formed at once."""

PIECE = 1 << 16
"""Rows that one thread is given at a time, for such a loop."""

NEAR = 64
"""Rows whose mean is near enough to all others to measure them from."""

TINY = np.finfo(np.float64).tiny


def require_room(state: str, d: int, instead: str) -> None:
    """Raise where a d x d state would not fit, with what to use instead."""
    if d > _sizes.MAX_STATE_COLUMNS:
        raise ValueError(
            f"{state} must be d x d, too large a state for d = {d} columns (at most {_sizes.MAX_STATE_COLUMNS}). "
            f"{instead}"
        )


@dataclass(frozen=True)
class Moments:
    """Weight, mean and scatter (sum of squares about the mean) of the rows seen.

    ``scatter`` is a d x d matrix, or only its trace where that is all a method needs.
    """

    n: float
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def empty(cls, d: int, full: bool = True) -> "Moments":
        """The moments of no rows."""
        return cls(0.0, np.zeros(d), np.zeros((d, d) if full else ()))

    def __add__(self, other: "Moments") -> "Moments":
        """Moments of both sets of rows (Chan, Golub & LeVeque 1983): never a difference of large numbers."""
        n = self.n + other.n
        if other.n == 0.0:
            return self
        if self.n == 0.0:
            return other
        delta = other.mean - self.mean
        between = np.multiply.outer(delta, delta) if self.scatter.ndim else delta @ delta
        between *= self.n * (other.n / n)
        between += self.scatter
        between += other.scatter
        return Moments(n, self.mean + delta * (other.n / n), np.asarray(between))

    def projected(self, P: Any) -> "Moments":
        """The moments of the rows P'x."""
        return Moments(self.n, self.mean @ P, P.T @ self.scatter @ P)

    @property
    def covariance(self) -> np.ndarray:
        """Scatter divided by the weight (zero while no row was seen)."""
        return self.scatter / self.n if self.n > 0.0 else self.scatter


@dataclass(frozen=True)
class ClassMoments:
    """Moments of the positives and of the negatives."""

    pos: Moments
    neg: Moments

    @classmethod
    def empty(cls, d: int, full: bool = True) -> "ClassMoments":
        """Nothing seen of either class."""
        return cls(Moments.empty(d, full), Moments.empty(d, full))

    def __add__(self, other: "ClassMoments") -> "ClassMoments":
        return ClassMoments(self.pos + other.pos, self.neg + other.neg)

    @property
    def complete(self) -> bool:
        """Whether both classes were seen."""
        return self.pos.n > 0.0 and self.neg.n > 0.0

    @property
    def delta(self) -> np.ndarray:
        """delta = mu+ - mu-"""
        return self.pos.mean - self.neg.mean

    @property
    def within(self) -> np.ndarray:
        """S = Sigma+ + Sigma- (its trace where only traces were kept)."""
        return self.pos.covariance + self.neg.covariance

    @property
    def all(self) -> Moments:
        """Moments of all rows, whatever their class."""
        return self.pos + self.neg

    def projected(self, P: Any) -> "ClassMoments":
        """The moments of the rows P'x."""
        return ClassMoments(self.pos.projected(P), self.neg.projected(P))

    @property
    def midpoint(self) -> np.ndarray:
        """Halfway between the class means."""
        return 0.5 * (self.pos.mean + self.neg.mean)


def class_moments(
    X: Block | Table, is_pos: np.ndarray, weight: np.ndarray | None = None, full: bool = True
) -> ClassMoments:
    """Moments of both classes in one pass; ``full=False`` keeps the trace of the scatter only.

    Examples
    --------
    >>> import numpy as np
    >>> from auclid.stats.moments import class_moments
    >>> m = class_moments(np.array([[0.0], [2.0], [5.0]]), np.array([False, False, True]))
    >>> m.delta, m.within
    (array([4.]), array([[1.]]))
    """
    neg, pos = grouped_moments(X, is_pos.astype(np.int8), 2, weight, full)
    return ClassMoments(pos, neg)


def grouped_moments(
    X: Block | Table, group: np.ndarray, n_groups: int, weight: np.ndarray | None = None, full: bool = True
) -> list[Moments]:
    """Moments of each group of rows (numbers 0 to n_groups - 1; any other number is left out), in one pass for all."""
    table = as_table(X)
    if weight is not None:
        group = np.where(weight > 0.0, group, -1)
    if not full:
        return _traces(table, group, n_groups, weight)
    few_groups = weight is None and n_groups <= _sizes.MAX_MOMENT_GROUPS
    if few_groups and isinstance(table, DenseTable) and _short_and_many(table.X):
        pieces = thread_map(partial(_piece_moments, table.X, group, n_groups), slices(len(group), PIECE))
        return [reduce(add, each) for each in zip(*pieces, strict=True)]
    return _moments_by_block(table, group, n_groups, weight)


def _moments_by_block(table: Table, group: np.ndarray, n_groups: int, weight: np.ndarray | None) -> list[Moments]:
    """The moments of each group by matrix products, a block of rows at a time."""
    width = table.shape[1] if table.projection is None else len(table.projection)
    totals = [Growing(width) for _ in range(n_groups)]
    for where, block in table.value_blocks(_rows_at_once(table, width, n_groups)):
        order, ends = _sorted(group[where], n_groups)
        rows, mass = _rows(block, order), _part(weight, where, order)
        for g, total in enumerate(totals):
            part = slice(ends[g], ends[g + 1])
            total.add(rows[part], None if mass is None else mass[part])
    found = [total.moments() for total in totals]
    return found if table.projection is None else [moments.projected(table.projection) for moments in found]


def _short_and_many(X: np.ndarray) -> bool:
    return 0 < X.shape[1] <= _sizes.MAX_NARROW_COLUMNS and X.size >= _sizes.MIN_COMPILED_VALUES


def _piece_moments(X: np.ndarray, group: np.ndarray, n_groups: int, piece: slice) -> list[Moments]:
    """The moments of each group of a piece of an array, by a compiled loop: no sorting of its rows by group."""
    X, group = X[piece], group[piece]
    members = [np.flatnonzero(group == g) for g in range(n_groups)]
    centres = np.array([_near(X, at) for at in members])
    return [
        _about_mean(len(at), centre, total, scatter)
        for at, centre, total, scatter in zip(members, centres, *group_sums(X, group, centres), strict=True)
    ]


def _near(X: np.ndarray, at: np.ndarray) -> np.ndarray:
    """A point near some rows, to measure them from: squares are then about as large as those about their mean."""
    if not len(at):
        return np.zeros(X.shape[1])
    return X[at[:: max(1, len(at) // NEAR)]].mean(axis=0, dtype=np.float64)


def _about_mean(count: int, centre: np.ndarray, total: np.ndarray, scatter: np.ndarray) -> Moments:
    """The moments of so many rows, from their sums and squares about another point."""
    if not count:
        return Moments.empty(len(centre))
    mean = total / count
    return Moments(float(count), centre + mean, scatter - np.multiply.outer(count * mean, mean))


def _rows_at_once(table: Table, width: int, n_groups: int) -> int:
    """Rows of a block: enough of each group for BLAS to be worth a d x d sum, in bounded memory."""
    return max(table.block_rows(), min(4 * width * n_groups, BLOCKS * table.block_rows()))


def _sorted(group: np.ndarray, n_groups: int) -> tuple[np.ndarray | None, np.ndarray]:
    """An order that brings the rows of each group together (None: they are so), and where each group begins."""
    inside = (group >= 0) & (group < n_groups)
    counts = np.bincount(group[inside], minlength=n_groups)
    ends = np.concatenate([[0], np.cumsum(counts)])
    if inside.all() and not (np.diff(group) < 0).any():
        return None, ends
    kept = np.flatnonzero(inside)
    return kept[np.argsort(group[kept], kind="stable")], ends


def _rows(block: Block, order: np.ndarray | None) -> Block:
    if order is None:
        return block
    return block[order] if is_sparse(block) else block.take(order, axis=0)  # twice as fast as an index


def _part(weight: np.ndarray | None, where: slice, order: np.ndarray | None) -> np.ndarray | None:
    if weight is None:
        return None
    return weight[where] if order is None else weight[where][order]


class Growing:
    """Moments that grow in place, a block of rows at a time: the upper triangle of one d x d matrix, never copied."""

    def __init__(self, d: int) -> None:
        self.n, self.mean, self._scatter = 0.0, np.zeros(d), np.zeros((d, d))
        self._work = np.empty((0, d))

    def add(self, block: Block, weight: np.ndarray | None = None) -> None:
        """Let the rows of a block in, each with its weight (1 by default)."""
        n = float(block.shape[0] if weight is None else weight.sum())
        if n == 0.0:
            return
        rest, shift = self._centred(block, weight, n)
        offset = _mean(rest, weight, n)
        self._add_squares(rest if weight is None else rest * np.sqrt(weight)[:, None])
        # Squares about `shift` become squares about the mean of all rows so far. Where that is what they were measured
        # from, the two parts of it are one, and what cancels is small beside what the new rows add.
        jump = shift + offset - self.mean
        if self.n > 0.0 and not is_sparse(rest):
            add_outer(self._scatter, -n * (n / (self.n + n)), offset)
        else:
            add_outer(self._scatter, -n, offset)
            add_outer(self._scatter, self.n * (n / (self.n + n)), jump)
        self.n += n
        self.mean = self.mean + jump * (n / self.n)

    def _centred(self, block: Block, weight: np.ndarray | None, n: float) -> tuple[Block, np.ndarray]:
        """The rows in float64 about a point, and that point: dense ones about the mean of the rows before them."""
        if is_sparse(block):
            block = block.astype(np.float64, copy=False)
            return centre_rows(block, _mean(block, weight, n))
        if len(self._work) < len(block):
            self._work = np.empty(block.shape)
        rest = self._work[: len(block)]
        np.copyto(rest, block)
        shift = self.mean if self.n > 0.0 else _mean(rest, weight, n)
        rest -= shift
        return rest, shift

    def _add_squares(self, rest: Block) -> None:
        if is_sparse(rest):
            self._scatter += gram_matrix(rest)
        else:
            add_products(self._scatter, rest)

    def moments(self) -> Moments:
        """The moments so far."""
        return Moments(self.n, self.mean, symmetric(self._scatter))


def add_products(upper: np.ndarray, X: np.ndarray) -> None:
    """Add X'X to an upper triangle, in bounded memory.

    By NumPy, as all products around it: the waiting threads of SciPy's BLAS would take the cores from NumPy's.
    """
    for start in range(0, len(upper), SIDE):
        side = slice(start, start + SIDE)
        upper[side, start:] += X[:, side].T @ X[:, start:]


def add_outer(upper: np.ndarray, factor: float, x: np.ndarray) -> None:
    """Add factor x x' to an upper triangle, in bounded memory."""
    for start in range(0, len(upper), SIDE):
        side = slice(start, start + SIDE)
        upper[side, start:] += np.multiply.outer(factor * x[side], x[start:])


def symmetric(full: np.ndarray, size: int = 256) -> np.ndarray:
    """The symmetric matrix of an upper triangle, in place, square by square."""
    for a in range(0, len(full), size):
        corner = slice(a, a + size)
        full[a + size :, corner] = full[corner, a + size :].T
        full[corner, corner] = np.triu(full[corner, corner]) + np.triu(full[corner, corner], 1).T
    return full


def _mean(block: Block, weight: np.ndarray | None, n: float) -> np.ndarray:
    return np.ravel((np.ones(block.shape[0]) if weight is None else weight) @ block) / n


def _traces(table: Table, group: np.ndarray, n_groups: int, weight: np.ndarray | None) -> list[Moments]:
    """Moments with the trace of the scatter only, all groups in one sequential pass over the rows."""
    total: list[Moments] = [Moments.empty(table.shape[1], full=False)] * n_groups
    centre: np.ndarray | None = None
    for part, rows in table.blocks():
        member, block = group[part, None] == np.arange(n_groups), rows.astype(np.float64, copy=False)
        member = member.astype(np.float64) if weight is None else member * weight[part, None]
        used = member.any(axis=1)
        if not used.all():  # rows that count for nothing must not move the centre either
            member, block = member[used], block[used]
        if not used.any():
            continue
        n = member.sum(axis=0)
        rest, shift = centre_rows(block, block.mean(axis=0) if centre is None else centre)
        mean = (rest.T @ member).T / np.maximum(n, TINY)[:, None]
        spread = row_squared_norms(rest) @ member - n * np.einsum("gj,gj->g", mean, mean)
        centre = shift + rest.mean(axis=0)
        for g in range(n_groups):
            total[g] = total[g] + Moments(float(n[g]), shift + mean[g], np.asarray(max(spread[g], 0.0)))
    return total
