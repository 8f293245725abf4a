"""Shapes: what weights of the basis mean, one record a column or pair, and scores as sums of them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from auclid._generic import kernel
from auclid.additive._basis import Basis, coarse_places, find_coarse, hat
from auclid.additive._columns import ColumnSpec, cell_blocks
from auclid.additive._features import Feature
from auclid.stats.moments import Moments


class Shape(NamedTuple):
    """What one column adds to a score: ``values`` at ``knots`` (straight lines between), or of ``levels``."""

    name: str
    kind: str
    """number, bool, date, category or text"""
    knots: np.ndarray | None
    levels: list | None
    """The last stands for all other levels, unseen ones too."""
    values: np.ndarray
    missing: float
    error: np.ndarray | None
    """The standard error of each value, by the jackknife over folds; None where nothing was held out."""
    share: np.ndarray
    """The share of the training rows at each knot or level."""
    importance: float
    """The standard deviation, over the training rows, of what the column adds."""
    steps: np.ndarray | None = None
    """Whether the shape jumps halfway between a knot and the next, instead of going straight."""


class PairShape(NamedTuple):
    """What two columns add together: ``values`` on the grid of their knots or levels; nothing where one is missing."""

    name: tuple
    kind: str
    knots: tuple
    levels: tuple
    values: np.ndarray
    missing: float
    error: np.ndarray | None
    share: np.ndarray
    importance: float


def by_importance(shapes: Sequence[Any]) -> list[Any]:
    """The records whose contributions vary the most, first."""
    return sorted(shapes, key=lambda shape: -shape.importance)


OTHER = "(other)"
"""How the pool of rare and unseen levels is called."""


class Card(NamedTuple):
    """What scoring needs: the basis, the value of each slot, of missing cells, and of the cells of pairs."""

    basis: Basis
    values: np.ndarray
    missing: np.ndarray
    grid: np.ndarray


def make_card(features: Sequence[Feature], basis: Basis, w: np.ndarray, moments: Moments) -> Card:
    """Values of all slots from weights; each column and pair centred on the training rows.

    What no row was in (a level of the pool, a missing cell) adds nothing.
    """
    values = np.where(basis.place >= 0, np.append(w, 0.0)[basis.place], 0.0)
    mean = np.append(moments.mean, 0.0)
    missing, grid = np.zeros(len(features)), w[_additive(basis) :].copy()
    for j, f in enumerate(features):
        at = slice(basis.first[j], basis.first[j + 1])
        of_missing = w[basis.missing[j]] if basis.missing[j] >= 0 else 0.0
        centre = mean[basis.place[at]] @ values[at] + (mean[basis.missing[j]] * of_missing if f.gaps else 0.0)
        values[at] -= centre
        if f.gaps and mean[basis.missing[j]] > 0.0:
            missing[j] = of_missing - centre
        if f.levels is not None:
            empty = (basis.place[at] >= 0) & (mean[basis.place[at]] == 0.0)
            values[at][empty] = 0.0
    for at in _grids(basis):
        inside = slice(at.start + _additive(basis), at.stop + _additive(basis))
        total = moments.mean[inside].sum()
        grid[at] -= moments.mean[inside] @ w[inside] / total if total > 0.0 else 0.0
    return Card(basis, values, missing, grid)


def sound_card(card: Card, specs: Sequence[ColumnSpec]) -> bool:
    """Whether every number of a card that a kernel follows leads somewhere."""
    basis, d = card.basis, len(specs)
    slots, coarse_slots = np.diff(basis.first), np.diff(basis.coarse_first)
    per_column = slots, coarse_slots, basis.is_level, card.missing, basis.missing
    if any(len(each) != d for each in per_column) or not _sound_levels(basis, specs, slots):
        return False
    ends = basis.first[0] == basis.coarse_first[0] == 0 and min(*slots, *coarse_slots, 1) > 0
    per_slot = basis.knots, basis.step, basis.place, basis.coarse_slot, card.values
    lengths = all(len(each) == basis.first[-1] for each in per_slot)
    inside = all(np.all((x >= low) & (x < high)) for x, low, high in _ranges(basis, d))
    if not (ends and lengths and inside and len(basis.coarse_knots) == basis.coarse_first[-1]):
        return False
    return bool(np.all(basis.coarse_slot < np.repeat(coarse_slots, slots))) and _sound_pairs(card, coarse_slots)


def _sound_levels(basis: Basis, specs: Sequence[ColumnSpec], slots: np.ndarray) -> bool:
    """Whether the categories of the basis are those of the columns, with a slot for each level and for the pool."""
    for spec, is_level, count in zip(specs, basis.is_level, slots, strict=True):
        if (spec.levels is not None) != bool(is_level):
            return False
        if spec.levels is not None and len(spec.levels) + 1 != count:
            return False
    return True


def sound_moments(moments: Sequence[Moments], card: Card) -> bool:
    """Whether moments are finite, and of the card's basis."""
    size = card.basis.size
    shapes = [(m.mean, (size,)) for m in moments] + [(m.scatter, (size, size)) for m in moments]
    return len(moments) == 2 and all(
        isinstance(x, np.ndarray) and x.dtype == np.float64 and x.shape == shape and bool(np.isfinite(x).all())
        for x, shape in shapes
    )


def _ranges(basis: Basis, d: int) -> list[tuple[np.ndarray, int, int]]:
    """Arrays of numbers, and from where to where they may go."""
    return [
        (basis.place, -1, basis.size),
        (basis.missing, -1, basis.size),
        (basis.coarse_slot, 0, max(int(basis.coarse_first[-1]), 1)),
        (basis.pair_a, 0, d),
        (basis.pair_b, 0, d),
        (basis.paired, 0, d),
    ]


def _sound_pairs(card: Card, coarse_slots: np.ndarray) -> bool:
    basis = card.basis
    cells = coarse_slots[basis.pair_a] * coarse_slots[basis.pair_b]
    counted = np.array_equal(np.diff(np.append(basis.pair_first, basis.size)), cells)
    paired = np.array_equal(basis.paired, np.unique(np.concatenate([basis.pair_a, basis.pair_b])))
    return counted and paired and len(card.grid) == cells.sum()


def _additive(basis: Basis) -> int:
    """Coefficients before those of pairs."""
    return int(basis.pair_first[0]) if len(basis.pair_first) else basis.size


def _grids(basis: Basis) -> list[slice]:
    """Where the cells of each pair are among those of all pairs."""
    ends = np.append(basis.pair_first, basis.size) - _additive(basis)
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]


@kernel
def write_contributions(card: Card, cells: np.ndarray, out: np.ndarray) -> None:
    """out[i, k] = what column or pair k adds to row i."""
    slot, along = np.zeros(cells.shape[1], dtype=np.int64), np.zeros(cells.shape[1])
    for i in range(cells.shape[0]):
        write_row(card, cells, i, slot, along, out[i])


@kernel
def add_card_scores(card: Card, cells: np.ndarray, out: np.ndarray) -> None:
    """out[i] += what all columns and pairs add, in their order."""
    parts = np.empty(cells.shape[1] + card.basis.pair_a.shape[0])
    slot, along = np.zeros(cells.shape[1], dtype=np.int64), np.zeros(cells.shape[1])
    for i in range(cells.shape[0]):
        write_row(card, cells, i, slot, along, parts)
        for part in parts:
            out[i] += part


@kernel(inner=True, allocates=False)
def write_row(card: Card, cells: np.ndarray, i: int, slot: np.ndarray, along: np.ndarray, out: np.ndarray) -> None:
    """What each column and pair adds to row i; ``slot`` and ``along`` are room for one entry a column."""
    basis, values, of_missing = card.basis, card.values, card.missing
    first, knots, is_level, d = basis.first, basis.knots, basis.is_level, cells.shape[1]
    for j in range(d):
        x, low, high = cells[i, j], first[j], first[j + 1]
        if np.isnan(x):
            out[j] = of_missing[j]
        elif is_level[j]:
            out[j] = values[low + int(x)]
        elif high - low < 2:
            out[j] = 0.0
        elif x == knots[low]:  # most zeros of few values
            out[j] = values[low]
        else:
            at, t = hat(knots, basis.step, low, high, x)
            left, right = values[low + at], values[low + at + 1]
            out[j] = left + t * (right - left)
    if basis.pair_a.shape[0] > 0:
        write_pairs(card, cells, i, slot, along, out)


@kernel(inner=True, allocates=False)
def write_pairs(card: Card, cells: np.ndarray, i: int, slot: np.ndarray, along: np.ndarray, out: np.ndarray) -> None:
    """What each pair adds to row i, behind what its columns add: nothing where a cell is missing."""
    basis, grid = card.basis, card.grid
    pair_a, pair_b, pair_first, coarse_first = basis.pair_a, basis.pair_b, basis.pair_first, basis.coarse_first
    find_coarse(basis, cells, i, slot, along)
    for m in range(pair_a.shape[0]):
        a, b, total = pair_a[m], pair_b[m], 0.0
        if slot[a] >= 0 and slot[b] >= 0:
            width = coarse_first[b + 1] - coarse_first[b]
            at, s, t = pair_first[m] - pair_first[0] + slot[a] * width + slot[b], along[a], along[b]
            for side in range(4):
                v = (s if side >= 2 else 1.0 - s) * (t if side % 2 else 1.0 - t)
                if v != 0.0:
                    total += v * grid[at + (width if side >= 2 else 0) + side % 2]
        out[cells.shape[1] + m] = total


def card_scores(card: Card, cells: Any) -> np.ndarray:
    """The sum of all shapes, of each row."""
    out = np.zeros(cells.shape[0])
    for rows, block in cell_blocks(cells):
        add_card_scores(card, block, out[rows])
    return out


def card_contributions(card: Card, cells: Any) -> np.ndarray:
    """What each column and pair adds to each row."""
    out = np.empty((cells.shape[0], cells.shape[1] + len(card.basis.pair_a)))
    for rows, block in cell_blocks(cells):
        write_contributions(card, block, out[rows])
    return out


def read_only(shapes: Sequence[Any]) -> list[Any]:
    """Records whose arrays cannot be changed in place: that would change some of what a card says, and not the rest."""
    return [type(shape)(*map(locked, shape)) for shape in shapes]


def locked(value: Any) -> Any:
    """A read-only copy of an array, or of the arrays of a tuple."""
    if isinstance(value, tuple):
        return tuple(map(locked, value))
    if not isinstance(value, np.ndarray) or not value.flags.writeable:
        return value
    value = value.copy()
    value.flags.writeable = False
    return value


def make_shapes(
    features: Sequence[Feature], card: Card, moments: Moments, w: np.ndarray, others: Sequence[Card]
) -> list[Shape | PairShape]:
    """The records of a card; ``others`` are those of the folds, for standard errors."""
    errors, grid_errors = _jackknife([c.values for c in others]), _jackknife([c.grid for c in others])
    basis = card.basis
    out: list[Shape | PairShape] = []
    for j, f in enumerate(features):
        at = slice(basis.first[j], basis.first[j + 1])
        place = np.append(basis.place[at], basis.missing[j])
        out.append(
            Shape(
                f.name,
                f.kind,
                f.knots,
                None if f.levels is None else [*f.levels, OTHER],
                card.values[at].copy(),
                float(card.missing[j]),
                None if errors is None else errors[at],
                f.share,
                _spread(w, moments, place[place >= 0]),
                None if f.knots is None else f.steps,
            )
        )
    for m, at in enumerate(_grids(basis)):
        out.append(_pair_shape(features, card, moments, w, m, at, grid_errors))
    return out


def _pair_shape(
    features: Sequence[Feature], card: Card, moments: Moments, w: np.ndarray, m: int, at: slice, errors: Any
) -> PairShape:
    basis = card.basis
    two = [features[basis.pair_a[m]], features[basis.pair_b[m]]]
    places = [coarse_places(f) for f in two]
    size, inside = tuple(map(len, places)), np.arange(at.start, at.stop) + _additive(basis)
    return PairShape(
        tuple(f.name for f in two),
        "pair",
        tuple(None if f.knots is None else f.knots[p] for f, p in zip(two, places, strict=True)),
        tuple(_pair_levels(f, p) for f, p in zip(two, places, strict=True)),
        card.grid[at].reshape(size),
        0.0,
        None if errors is None else errors[at].reshape(size),
        moments.mean[inside].reshape(size),
        _spread(w, moments, inside),
    )


def _pair_levels(feature: Feature, places: np.ndarray) -> list | None:
    return None if feature.levels is None else [[*feature.levels, OTHER][k] for k in places]


def _spread(w: np.ndarray, moments: Moments, at: np.ndarray) -> float:
    """The standard deviation of what these coefficients add, over the training rows."""
    return float(np.sqrt(max(w[at] @ moments.scatter[np.ix_(at, at)] @ w[at] / max(moments.n, 1e-300), 0.0)))


def _jackknife(values: list[np.ndarray]) -> np.ndarray | None:
    """The standard error of what K fits, each without one fold, estimate."""
    if len(values) < 2:
        return None
    all_values = np.stack(values)
    about = all_values - all_values.mean(axis=0)
    return np.sqrt((len(values) - 1) / len(values) * (about * about).sum(axis=0))
