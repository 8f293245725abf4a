"""The basis: which coefficients a row of cells touches, and sums over rows of what it touches.

A numeric cell touches the two hats around it, a category one level, a missing cell one coefficient; a pair of columns
the four products of two coarse hats. No array of rows by coefficients is ever made.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from auclid._generic import kernel
from auclid.additive._knots import second_differences, thinned

COARSE = 6
"""Knots, or levels, of a column in a pair."""

REACH = 1.0
"""Beyond its outer knots a shape goes on straight for this many widths of its last interval, then stays level."""


class Feature(NamedTuple):
    """One column: where its shape has a value, and which of these values is zero by convention."""

    name: str
    kind: str
    knots: np.ndarray | None
    levels: list | None
    reference: int
    """The slot without a coefficient, since most rows are in it and need not be touched then; -1: none."""
    gaps: bool
    """Whether missing cells have a coefficient."""
    share: np.ndarray
    """The share of the rows at each slot."""

    @property
    def slots(self) -> int:
        """Values of the shape: one a knot, or one a level and one for all other levels."""
        return len(self.share)


class Basis(NamedTuple):
    """What kernels know of the columns: slots, one column after the other, and the coefficient of each."""

    is_level: np.ndarray
    first: np.ndarray
    knots: np.ndarray
    place: np.ndarray
    missing: np.ndarray
    coarse_first: np.ndarray
    coarse_knots: np.ndarray
    coarse_slot: np.ndarray
    pair_a: np.ndarray
    pair_b: np.ndarray
    pair_first: np.ndarray
    size: int


def make_basis(features: Sequence[Feature], pairs: Sequence[tuple[int, int]] = ()) -> Basis:
    """The basis of these columns and pairs of columns."""
    first = np.cumsum([0, *(f.slots for f in features)])
    knots, place, missing, size = np.zeros(first[-1]), np.full(first[-1], -1), np.full(len(features), -1), 0
    coarse, coarse_slot = [coarse_places(f) for f in features], np.zeros(first[-1], dtype=np.int64)
    for k, f in enumerate(features):
        at = slice(first[k], first[k + 1])
        if f.knots is not None:
            knots[at] = f.knots
        used = np.arange(f.slots) != f.reference if f.slots > 1 else np.zeros(f.slots, dtype=bool)
        place[at] = np.where(used, size + np.cumsum(used) - 1, -1)
        if f.levels is not None:
            coarse_slot[at] = _pooled(f, coarse[k])
        size += int(used.sum())
        if f.gaps:
            missing[k], size = size, size + 1
    coarse_knots = [knots[first[k] : first[k + 1]][at] for k, at in enumerate(coarse)]
    a, b = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    counts = np.array([len(at) for at in coarse], dtype=np.int64)
    ends = size + np.cumsum(np.concatenate([[0], counts[a] * counts[b]]))
    return Basis(
        np.array([f.levels is not None for f in features]),
        first.astype(np.int64),
        knots,
        place.astype(np.int64),
        missing.astype(np.int64),
        np.cumsum([0, *counts]).astype(np.int64),
        np.concatenate(coarse_knots) if coarse_knots else np.zeros(0),
        coarse_slot,
        a,
        b,
        ends[:-1].astype(np.int64),
        int(ends[-1]),
    )


def same_basis(a: Basis, b: Basis) -> bool:
    """Whether coefficients mean the same in both."""
    return all(np.array_equal(np.asarray(x), np.asarray(y)) for x, y in zip(a, b, strict=True))


def coarse_places(feature: Feature) -> np.ndarray:
    """Which slots of a column a pair tells apart: some knots, or the commonest levels and the pool of all others."""
    if feature.levels is None:
        return thinned(feature.slots, COARSE, -1)
    common = np.argsort(-feature.share[:-1], kind="stable")[: COARSE - 1]
    return np.append(np.sort(common), feature.slots - 1)


def _pooled(feature: Feature, coarse: np.ndarray) -> np.ndarray:
    """The coarse slot of each level; those that are not told apart are in the last."""
    out = np.full(feature.slots, len(coarse) - 1)
    out[coarse] = np.arange(len(coarse))
    return out


@kernel
def hat(knots, low, high, x):
    """The interval of x among the knots low..high - 1, counted from low, and how far along it x is."""
    a, b = low, high - 1
    while b - a > 1:
        middle = (a + b) // 2
        if knots[middle] <= x:
            a = middle
        else:
            b = middle
    t = (x - knots[a]) / (knots[a + 1] - knots[a])
    return a - low, min(max(t, -REACH), 1.0 + REACH)


@kernel
def touch(basis, cells, i, index, value):
    """Write the coefficients that row i touches, in rising order, and how much; returns how many."""
    count = 0
    for j in range(cells.shape[1]):
        x = cells[i, j]
        low, high = basis.first[j], basis.first[j + 1]
        if np.isnan(x):
            if basis.missing[j] >= 0:
                index[count], value[count] = basis.missing[j], 1.0
                count += 1
        elif basis.is_level[j]:
            k = basis.place[low + int(x)]
            if k >= 0:
                index[count], value[count] = k, 1.0
                count += 1
        elif high - low > 1:
            slot, t = hat(basis.knots, low, high, x)
            for side in range(2):
                k, v = basis.place[low + slot + side], t if side else 1.0 - t
                if k >= 0 and v != 0.0:
                    index[count], value[count] = k, v
                    count += 1
    for m in range(basis.pair_a.shape[0]):
        count = touch_pair(basis, cells, i, m, index, value, count)
    return count


@kernel
def touch_pair(basis, cells, i, m, index, value, count):
    """`touch` for one pair of columns: up to four products of coarse hats."""
    a, b = basis.pair_a[m], basis.pair_b[m]
    if np.isnan(cells[i, a]) or np.isnan(cells[i, b]):
        return count
    slot_a, t_a = coarse(basis, a, cells[i, a])
    slot_b, t_b = coarse(basis, b, cells[i, b])
    width = basis.coarse_first[b + 1] - basis.coarse_first[b]
    for side_a in range(2):
        u = t_a if side_a else 1.0 - t_a
        for side_b in range(2):
            v = u * (t_b if side_b else 1.0 - t_b)
            if v != 0.0:
                index[count] = basis.pair_first[m] + (slot_a + side_a) * width + slot_b + side_b
                value[count] = v
                count += 1
    return count


@kernel
def coarse(basis, j, x):
    """The coarse interval of a cell, and how far along it lies; a level is at the start of its own."""
    if basis.is_level[j]:
        return basis.coarse_slot[basis.first[j] + int(x)], 0.0
    low, high = basis.coarse_first[j], basis.coarse_first[j + 1]
    if high - low < 2:
        return 0, 0.0
    return hat(basis.coarse_knots, low, high, x)


@kernel
def add_sums(basis, cells, order, weight, total, first, second):
    """Add the rows of ``order`` to the sums of w, w z and (upper triangle) w z z' of what they touch."""
    most = 2 * cells.shape[1] + 4 * basis.pair_a.shape[0]
    index, value = np.empty(most, dtype=np.int64), np.empty(most)
    for i in order:
        w = weight[i]
        count = touch(basis, cells, i, index, value)
        total[0] += w
        for e in range(count):
            v = w * value[e]
            row = second[index[e]]
            first[index[e]] += v
            for f in range(e, count):
                row[index[f]] += v * value[f]


@kernel
def add_scores(basis, cells, W, out):
    """out[i] += z_i W, a column of W after the other."""
    most = 2 * cells.shape[1] + 4 * basis.pair_a.shape[0]
    index, value = np.empty(most, dtype=np.int64), np.empty(most)
    for i in range(cells.shape[0]):
        count = touch(basis, cells, i, index, value)
        for e in range(count):
            row, v = W[index[e]], value[e]
            for k in range(W.shape[1]):
                out[i, k] += v * row[k]


@kernel
def write_touched(basis, cells, ends, index, value):
    """The rows as CSR; ``ends[i + 1]`` becomes the end of row i."""
    for i in range(cells.shape[0]):
        at = ends[i]
        ends[i + 1] = at + touch(basis, cells, i, index[at:], value[at:])


def basis_rows(basis: Basis, cells: np.ndarray) -> Any:
    """The rows of cells in the basis, as a CSR matrix: for rankers that step from row to row."""
    most = cells.shape[0] * (2 * cells.shape[1] + 4 * len(basis.pair_a))
    index, value = np.empty(most, dtype=np.int64), np.empty(most)
    ends = np.zeros(cells.shape[0] + 1, dtype=np.int64)
    write_touched(basis, cells, ends, index, value)
    return sparse.csr_matrix((value[: ends[-1]], index[: ends[-1]], ends), shape=(cells.shape[0], basis.size))


def basis_scores(basis: Basis, cells: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Z W of the rows of cells."""
    out = np.zeros((cells.shape[0], W.shape[1]))
    add_scores(basis, cells, np.ascontiguousarray(W), out)
    return out


def roughness(features: Sequence[Feature], basis: Basis) -> np.ndarray:
    """P of the penalty (smooth/2) w·P·w: second differences of every numeric shape, and along both ways of a pair."""
    P = np.zeros((basis.size, basis.size))
    for k, f in enumerate(features):
        if f.knots is not None:
            _add_block(P, basis.place[basis.first[k] : basis.first[k + 1]], second_differences(f.knots))
    for m, (a, b) in enumerate(zip(basis.pair_a, basis.pair_b, strict=True)):
        along = [_coarse_differences(features[j], coarse_places(features[j])) for j in (a, b)]
        grid = np.kron(along[0], np.eye(len(along[1]))) + np.kron(np.eye(len(along[0])), along[1])
        _add_block(P, basis.pair_first[m] + np.arange(len(grid)), grid)
    return P


def _coarse_differences(feature: Feature, places: np.ndarray) -> np.ndarray:
    if feature.knots is None:
        return np.zeros((len(places), len(places)))
    return second_differences(feature.knots[places])


def _add_block(P: np.ndarray, place: np.ndarray, part: np.ndarray) -> None:
    used = place >= 0
    P[np.ix_(place[used], place[used])] += part[np.ix_(used, used)]


def fewer_knots(features: Sequence[Feature], count: int) -> tuple[list[Feature], np.ndarray]:
    """The columns with at most ``count`` knots each, and M: the new basis is M' times the old (without pairs)."""
    new, old_basis = [], make_basis(features)
    for f in features:
        if f.knots is None:
            new.append(f)
            continue
        at = thinned(f.slots, count, f.reference)
        reference = int(np.searchsorted(at, f.reference)) if f.reference >= 0 else -1
        new.append(f._replace(knots=f.knots[at], reference=reference, share=_regrouped(f, at)))
    basis = make_basis(new)
    M = np.zeros((old_basis.size, basis.size))
    for k, (f, g) in enumerate(zip(features, new, strict=True)):
        rows, columns = (b.place[b.first[k] : b.first[k + 1]] for b in (old_basis, basis))
        part = np.eye(f.slots) if f.knots is None else _interpolation(f.knots, g.knots)
        M[np.ix_(rows[rows >= 0], columns[columns >= 0])] = part[np.ix_(rows >= 0, columns >= 0)]
        if f.gaps:
            M[old_basis.missing[k], basis.missing[k]] = 1.0
    return new, M


def _interpolation(old: np.ndarray, new: np.ndarray | None) -> np.ndarray:
    """The hats of the new knots at the old knots."""
    assert new is not None
    if len(old) < 2:
        return np.eye(len(old))
    return np.stack([np.interp(old, new, column) for column in np.eye(len(new))], axis=1)


def _regrouped(feature: Feature, at: np.ndarray) -> np.ndarray:
    """Shares of fewer knots: those between are shared out as the hats do."""
    assert feature.knots is not None
    return feature.share @ _interpolation(feature.knots, feature.knots[at])
