"""Scorecards as expressions: a broken line or a lookup for each column, a grid for each pair."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from auclid.additive import Scorecard
from auclid.additive._basis import Basis
from auclid.additive._columns import ColumnSpec
from auclid.additive._shapes import Card
from auclid.data.encoding import as_text
from auclid.exporters.expression import (
    Axis,
    ColumnRef,
    Expression,
    Grid,
    Lookup,
    Number,
    Piece,
    Piecewise,
    mapped,
    total,
)


def card_columns(card: Scorecard) -> list[ColumnRef]:
    """The columns of the table as the scorecard reads them."""
    return [ColumnRef(spec.name, _kind(spec)) for spec in card._kept_columns]


def _kind(spec: ColumnSpec) -> str:
    return "text" if spec.levels is not None else "date" if spec.kind == "date" else "number"


def card_terms(model: Scorecard, inputs: Sequence[Expression]) -> Expression:
    """The sum of all shapes, without the offset."""
    card, specs = model._card, model._kept_columns
    terms = [_column_term(card, spec, j, inputs[j]) for j, spec in enumerate(specs)]
    terms += [_pair_term(card, specs, m, inputs) for m in range(len(card.basis.pair_a))]
    return total(terms)


def _column_term(card: Card, spec: ColumnSpec, j: int, x: Expression) -> Expression:
    basis, missing = card.basis, float(card.missing[j])
    at = slice(int(basis.first[j]), int(basis.first[j + 1]))
    values = card.values[at].tolist()
    if spec.levels is not None:
        return _level_term(x, dict(zip(spec.levels, values, strict=False)), values[-1], missing)
    if len(values) < 2:
        return Piecewise(x, (), (Piece(0.0, 0.0, 0.0),), missing)
    return broken_line(x, basis.knots[at].tolist(), basis.step[at].tolist(), values, missing)


def _level_term(x: Expression, table: dict[str, float], other: float, missing: float) -> Expression:
    if isinstance(x, Lookup):  # whose values are codes, which the scorecard takes for levels
        return mapped(x, lambda code: missing if code != code else table.get(str(as_text(code)), other))
    assert isinstance(x, ColumnRef)
    return Lookup(ColumnRef(x.name, "text"), tuple(table.items()), other, missing)


def broken_line(x: Expression, knots: list[float], steps: list[bool], values: list[float], missing: float) -> Piecewise:
    """A shape of a numeric column: linear between knots or a jump halfway, constant beyond the outer knots."""
    starts: list[float] = []
    pieces: list[Piece] = []

    def add(start: float, piece: Piece) -> None:
        if not (pieces and pieces[-1][1:] == piece[1:] and piece.slope == 0.0):
            starts.append(start)
            pieces.append(piece)

    last = len(knots) - 2
    for k, (a, b, u, v) in enumerate(zip(knots, knots[1:], values, values[1:], strict=False)):
        start = -np.inf if k == 0 else a
        if steps[k]:
            add(start, Piece(a, u, 0.0))
            add(step_boundary(a, b), Piece(b, v, 0.0))
            continue
        if k == 0:
            add(start, Piece(a, u, 0.0))
            start = a
        add(start, Piece(a, u, (v - u) / (b - a)))
        if k == last:
            add(b, Piece(b, v, 0.0))
    return Piecewise(x, tuple(starts[1:]), tuple(pieces), missing)


def step_boundary(a: float, b: float) -> float:
    """The least number x with (x − a)/(b − a) ≥ ½ in floating point: from there on the right knot's value holds."""
    low, high = a, b
    while True:
        middle = low + (high - low) / 2.0
        if not low < middle < high:
            return high if abs(high) > 1e-14 * (b - a) else 0.0
        if (middle - a) / (b - a) < 0.5:
            low = middle
        else:
            high = middle


def _pair_term(card: Card, specs: Sequence[ColumnSpec], m: int, inputs: Sequence[Expression]) -> Expression:
    basis = card.basis
    sides = int(basis.pair_a[m]), int(basis.pair_b[m])
    first = int(basis.pair_first[m] - basis.pair_first[0])
    counts = [int(basis.coarse_first[j + 1] - basis.coarse_first[j]) for j in sides]
    values = card.grid[first : first + counts[0] * counts[1]].reshape(counts)
    if not values.any():
        return Number(0.0)
    a, b = (_axis(basis, specs[j], j, inputs[j]) for j in sides)
    return Grid(a, b, tuple(tuple(row) for row in values.tolist()))


def _axis(basis: Basis, spec: ColumnSpec, j: int, x: Any) -> Axis:
    if spec.levels is None:
        at = slice(int(basis.coarse_first[j]), int(basis.coarse_first[j + 1]))
        return Axis(x, knots=tuple(basis.coarse_knots[at].tolist()))
    slots = basis.coarse_slot[int(basis.first[j]) : int(basis.first[j + 1])].tolist()
    return Axis(ColumnRef(x.name, "text"), groups=tuple(zip(spec.levels, slots, strict=False)), other=slots[-1])
