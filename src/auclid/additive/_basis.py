"""The basis: which coefficients a row of cells touches, and sums over rows of what it touches.

A numeric cell touches the two hats around it (the nearer one where the shape jumps), a category one level, a missing
cell one coefficient; a pair of columns the four products of two coarse hats. No array of rows by coefficients is ever
made.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid._generic import kernel
from auclid.additive._features import Feature, hats, thinned

BATCH_ENTRIES = 100_000
"""Entries of rows that are written down before they are summed."""

BATCH_SUMS = 50_000
"""Sums of products that are filled at a time: 400 kB, which stay in the processor's cache."""


class Basis(NamedTuple):
    """What kernels know of the columns: slots, one column after the other, and the coefficient of each."""

    is_level: np.ndarray
    """Of each column, whether it is a category."""
    first: np.ndarray
    """The first slot of each column, and the number of slots."""
    knots: np.ndarray
    """The knot of each slot; 0 for a level."""
    step: np.ndarray
    """Whether the shape jumps between the knot of a slot and the next."""
    place: np.ndarray
    """The coefficient of each slot; -1: none."""
    missing: np.ndarray
    """The coefficient of missing cells of each column; -1: none."""
    coarse_first: np.ndarray
    """As ``first``, of the slots that pairs use."""
    coarse_knots: np.ndarray
    coarse_slot: np.ndarray
    """The coarse slot of each level."""
    pair_a: np.ndarray
    pair_b: np.ndarray
    pair_first: np.ndarray
    """The first coefficient of each pair."""
    paired: np.ndarray
    """The columns that are in a pair."""
    size: int
    """The number of coefficients."""


def make_basis(features: Sequence[Feature], pairs: Sequence[tuple[int, int]] = ()) -> Basis:
    """The basis of these columns and pairs of columns."""
    first = np.cumsum([0, *(f.slots for f in features)]).astype(np.int64)
    knots, step, coarse_slot = np.zeros(first[-1]), np.zeros(first[-1], dtype=bool), np.zeros(first[-1], dtype=np.int64)
    coarse = [coarse_places(f) for f in features]
    for k, f in enumerate(features):
        slots = slice(first[k], first[k + 1])
        if f.knots is not None:
            knots[slots], step[slots] = f.knots, f.steps
        if f.levels is not None:
            coarse_slot[slots] = _pooled(f, coarse[k])
    place, missing, size = _coefficients(features, first)
    coarse_knots = [knots[first[k] : first[k + 1]][at] for k, at in enumerate(coarse)]
    a, b = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    counts = np.array([len(at) for at in coarse], dtype=np.int64)
    ends = size + np.cumsum(np.concatenate([[0], counts[a] * counts[b]]))
    return Basis(
        np.array([f.levels is not None for f in features]),
        first,
        knots,
        step,
        place,
        missing,
        np.cumsum([0, *counts]).astype(np.int64),
        np.concatenate(coarse_knots) if coarse_knots else np.zeros(0),
        coarse_slot,
        a,
        b,
        ends[:-1].astype(np.int64),
        np.unique(np.concatenate([a, b])),
        int(ends[-1]),
    )


def first_pairs(basis: Basis, count: int) -> Basis:
    """The basis with the first ``count`` of its pairs only."""
    if count >= len(basis.pair_a):
        return basis
    a, b = basis.pair_a[:count], basis.pair_b[:count]
    size = int(basis.pair_first[count])
    return basis._replace(
        pair_a=a, pair_b=b, pair_first=basis.pair_first[:count], paired=np.unique(np.concatenate([a, b])), size=size
    )


def _coefficients(features: Sequence[Feature], first: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The coefficient of each slot and of the missing cells of each column, -1 for none; and how many there are."""
    slots, gaps = np.diff(first), np.array([f.gaps for f in features], dtype=bool)
    reference = np.array([f.reference for f in features], dtype=np.int64)
    used = np.repeat(slots > 1, slots)
    used[(first[:-1] + reference)[reference >= 0]] = False
    reached = np.append(0, np.cumsum(used))
    before = np.cumsum(gaps) - gaps  # coefficients of missing cells of the columns before
    place = np.where(used, reached[1:] - 1 + np.repeat(before, slots), -1)
    missing = np.where(gaps, reached[first[1:]] + before, -1)
    return place.astype(np.int64), missing.astype(np.int64), int(reached[-1] + gaps.sum())


def same_basis(a: Basis, b: Basis) -> bool:
    """Whether coefficients mean the same in both; where there are no pairs, their grids are of no account."""
    paired = len(a.pair_a) or len(b.pair_a)
    fields = [field for field in Basis._fields if paired or not field.startswith("coarse")]
    return all(np.array_equal(getattr(a, field), getattr(b, field)) for field in fields)


def coarse_places(feature: Feature) -> np.ndarray:
    """The slots of a column that its pairs have: some knots, or the commonest levels and the pool of all others."""
    if feature.levels is None:
        plain = np.flatnonzero(~feature.extra)
        return plain[thinned(len(plain), feature.pair_knots)]
    common = np.argsort(-feature.share[:-1], kind="stable")[: feature.pair_knots - 1]
    return np.append(np.sort(common), feature.slots - 1)


def _pooled(feature: Feature, coarse: np.ndarray) -> np.ndarray:
    """The coarse slot of each level; those without one are in the last."""
    out = np.full(feature.slots, len(coarse) - 1)
    out[coarse] = np.arange(len(coarse))
    return out


@kernel(inner=True, allocates=False)
def interval(knots: np.ndarray, low: int, high: int, x: float) -> tuple[int, float]:
    """The interval of x among the knots low..high - 1, counted from low, and how far along it x is."""
    a, b = low, high - 1
    while b - a > 1:
        middle = (a + b) >> 1
        if knots[middle] <= x:
            a = middle
        else:
            b = middle
    return a - low, (x - knots[a]) / (knots[a + 1] - knots[a])


@kernel(inner=True, allocates=False)
def hat(knots: np.ndarray, step: np.ndarray, low: int, high: int, x: float) -> tuple[int, float]:
    """The interval of x, and the share of its right knot: linear between two knots, constant beyond, or a jump."""
    if x >= knots[high - 1]:  # the other value of two: no search, and no division
        return high - low - 2, 1.0
    at, t = interval(knots, low, high, x)
    if step[low + at]:
        return at, 0.0 if t < 0.5 else 1.0
    return at, min(max(t, 0.0), 1.0)


@kernel(inner=True, allocates=False)
def touch(
    basis: Basis, cells: np.ndarray, i: int, slot: np.ndarray, along: np.ndarray, index: np.ndarray, value: np.ndarray
) -> int:
    """Write the coefficients that row i touches, in rising order, and how much; returns how many.

    ``slot`` and ``along`` are room for one entry a column: where its cell lies among the coarse knots.
    """
    first, knots, step, place = basis.first, basis.knots, basis.step, basis.place
    missing, is_level = basis.missing, basis.is_level
    count = 0
    for j in range(cells.shape[1]):
        x = cells[i, j]
        low, high = first[j], first[j + 1]
        if np.isnan(x):
            if missing[j] >= 0:
                index[count], value[count] = missing[j], 1.0
                count += 1
        elif is_level[j]:
            k = place[low + int(x)]
            if k >= 0:
                index[count], value[count] = k, 1.0
                count += 1
        elif high - low > 1:
            at, t = (0, 0.0) if x == knots[low] else hat(knots, step, low, high, x)  # most zeros of few values
            v = 1.0 - t
            for side in range(2):
                k = place[low + at + side]
                if k >= 0 and v != 0.0:
                    index[count], value[count] = k, v
                    count += 1
                v = t
    if basis.pair_a.shape[0] > 0:
        find_coarse(basis, cells, i, slot, along)
        count = touch_pairs(basis, slot, along, index, value, count)
    return count


@kernel(inner=True, allocates=False)
def find_coarse(basis: Basis, cells: np.ndarray, i: int, slot: np.ndarray, along: np.ndarray) -> None:
    """The coarse interval of each cell of row i that pairs use, and how far along it lies; -1 where it is missing.

    A level is at the start of its own interval. Beyond the outer knots a grid stays level: what two straight lines
    promise there together is too much.
    """
    is_level, first, coarse_first = basis.is_level, basis.first, basis.coarse_first
    knots, coarse_slot, paired = basis.coarse_knots, basis.coarse_slot, basis.paired
    for m in range(paired.shape[0]):
        j = paired[m]
        x, low, high = cells[i, j], coarse_first[j], coarse_first[j + 1]
        if np.isnan(x):
            slot[j] = -1
        elif is_level[j]:
            slot[j], along[j] = coarse_slot[first[j] + int(x)], 0.0
        elif high - low < 2:
            slot[j], along[j] = 0, 0.0
        else:
            slot[j], t = interval(knots, low, high, x)
            along[j] = min(max(t, 0.0), 1.0)


@kernel(inner=True, allocates=False)
def touch_pairs(
    basis: Basis, slot: np.ndarray, along: np.ndarray, index: np.ndarray, value: np.ndarray, count: int
) -> int:
    """`touch` for pairs of columns: up to four products of coarse hats each."""
    pair_a, pair_b, pair_first, coarse_first = basis.pair_a, basis.pair_b, basis.pair_first, basis.coarse_first
    for m in range(pair_a.shape[0]):
        a, b = pair_a[m], pair_b[m]
        if slot[a] < 0 or slot[b] < 0:
            continue
        width = coarse_first[b + 1] - coarse_first[b]
        at, s, t = pair_first[m] + slot[a] * width + slot[b], along[a], along[b]
        for side in range(4):
            v = (s if side >= 2 else 1.0 - s) * (t if side % 2 else 1.0 - t)
            if v != 0.0:
                index[count] = at + (width if side >= 2 else 0) + side % 2
                value[count] = v
                count += 1
    return count


@kernel
def add_sums(
    basis: Basis,
    cells: np.ndarray,
    order: np.ndarray,
    weight: np.ndarray,
    total: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> None:
    """Add the rows of ``order`` to the sums of w, w z and (upper triangle, line by line) w z z' of what they touch.

    What a batch of rows touches is written down first; then the sums of products are filled some lines at a time,
    as many as stay in the processor's cache.
    """
    slot, along, index, value = room(basis, cells)
    size = first.shape[0]
    batch, lines = BATCH_ENTRIES // max(1, index.shape[0]) + 1, BATCH_SUMS // max(1, size) + 1
    indices, values = np.empty(batch * index.shape[0], dtype=np.uint64), np.empty(batch * index.shape[0])
    begin, end, w = np.empty(batch, dtype=np.int64), np.empty(batch, dtype=np.int64), np.empty(batch)
    for start in range(0, order.shape[0], batch):
        rows, at = min(batch, order.shape[0] - start), 0
        for r in range(rows):
            i = order[start + r]
            count = touch(basis, cells, i, slot, along, index, value)
            begin[r], end[r], w[r] = at, at + count, weight[i]
            total[0] += w[r]
            for e in range(count):
                indices[at + e], values[at + e] = index[e], value[e]
                first[index[e]] += w[r] * value[e]
            at += count
        for high in range(lines, size + lines, lines):
            add_cross_products(indices, values, begin[:rows], end, w, np.uint64(high), np.uint64(size), second)


@kernel(inner=True, allocates=False)
def add_cross_products(
    indices: np.ndarray,
    values: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    w: np.ndarray,
    high: np.uint64,
    size: np.uint64,
    second: np.ndarray,
) -> None:
    """Add products to the lines below ``high``; ``begin`` moves to the entry of each row that comes next.

    Line i of the triangle has its diagonal at i size - i (i - 1) / 2, so entry (i, j) is j - i behind that.
    """
    one = np.uint64(1)
    for r in range(begin.shape[0]):
        e = begin[r]
        while e < end[r] and indices[e] < high:
            v, i = w[r] * values[e], indices[e]
            line = i * size - ((i * (i + one)) >> one)
            for f in range(e, end[r]):
                second[line + indices[f]] += v * values[f]
            e += 1
        begin[r] = e


@kernel(inner=True)
def room(basis: Basis, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Arrays for what one row touches; places are unsigned, so that none can count from the end: sums take half as
    long."""
    most = 2 * cells.shape[1] + 4 * basis.pair_a.shape[0]
    slot, along = np.zeros(cells.shape[1], dtype=np.int64), np.zeros(cells.shape[1])
    return slot, along, np.empty(most, dtype=np.uint64), np.empty(most)


@kernel
def write_touched(basis: Basis, cells: np.ndarray, ends: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """The rows as CSR; ``ends[i + 1]`` becomes the end of row i."""
    slot, along, index, value = room(basis, cells)
    for i in range(cells.shape[0]):
        count = touch(basis, cells, i, slot, along, index, value)
        for e in range(count):
            places[ends[i] + e], values[ends[i] + e] = index[e], value[e]
        ends[i + 1] = ends[i] + count


def basis_rows(basis: Basis, cells: np.ndarray) -> Any:
    """The rows of cells in the basis, as a CSR matrix."""
    most = cells.shape[0] * (2 * cells.shape[1] + 4 * len(basis.pair_a))
    index, value = np.empty(most, dtype=np.int32), np.empty(most)
    ends = np.zeros(cells.shape[0] + 1, dtype=np.int64)
    write_touched(basis, cells, ends, index, value)
    return sparse.csr_matrix((value[: ends[-1]], index[: ends[-1]], ends), shape=(cells.shape[0], basis.size))


def fewer_knots(features: Sequence[Feature], count: int) -> list[Feature]:
    """The columns with at most ``count`` knots each."""
    return [_thinned_feature(f, count) if f.knots is not None and (~f.extra).sum() > count else f for f in features]


def _thinned_feature(f: Feature, count: int) -> Feature:
    assert f.knots is not None
    at = _remaining_knots(f, count)
    reference = int(np.searchsorted(at, f.reference)) if f.reference >= 0 else -1
    steps = f.steps[at] & (np.diff(at, append=-1) == 1)
    share = f.share @ hats(f.knots, f.knots[at])  # those of the knots between are shared out as the hats do
    return f._replace(knots=f.knots[at], share=share, extra=f.extra[at], steps=steps, reference=reference)


def knot_map(features: Sequence[Feature], fewer: Sequence[Feature]) -> Any:
    """M, sparse: the basis of the columns with `fewer_knots` is M' times that with all (without pairs)."""
    old, new = make_basis(features), make_basis(fewer)
    gaps = old.missing >= 0
    entries = [(np.ones(int(gaps.sum())), old.missing[gaps], new.missing[gaps])]
    for k, (f, g) in enumerate(zip(features, fewer, strict=True)):
        rows, columns = (b.place[b.first[k] : b.first[k + 1]] for b in (old, new))
        if g is f:
            part, (at, to) = np.ones(f.slots), np.tile(np.arange(f.slots), (2, 1))
        else:
            assert f.knots is not None and g.knots is not None
            dense = hats(f.knots, g.knots)
            at, to = np.nonzero(dense)
            part = dense[at, to]
        used = (rows[at] >= 0) & (columns[to] >= 0)
        entries.append((part[used], rows[at][used], columns[to][used]))
    values, at, to = (np.concatenate(each) for each in zip(*entries, strict=True))
    return sparse.csr_array((values, (at, to)), shape=(old.size, new.size))


def _remaining_knots(feature: Feature, count: int) -> np.ndarray:
    """Places of the knots that stay: some, the reference, those of tails, and both sides of a jump among others."""
    plain, jump = np.flatnonzero(~feature.extra), feature.steps | np.roll(feature.steps, 1)
    needed = feature.extra | (np.arange(feature.slots) == feature.reference)
    if not feature.steps[:-1].all():
        needed = needed | jump
    return np.union1d(plain[thinned(len(plain), count)], np.flatnonzero(needed)).astype(np.intp)
