"""Expressions: what a score is made of, independent of the language in which it is written down.

Every expression has one number a row, which may be missing. `auclid.exporters.models` makes an expression of a fitted
model; each target (SQL, Python, JSON, ONNX, PMML) renders the classes of this module and nothing else. A class says in
``op`` what it is called in JSON; the writers of SQL and ONNX render it in their method ``write_<op>``.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from auclid.columns._dates import WAVE_DIGITS


class Expression:
    """One number a row, which may be missing."""

    op: ClassVar[str]


@dataclass(frozen=True)
class Number(Expression):
    """A number that does not depend on the row; NaN is a missing value."""

    op = "constant"
    value: float


@dataclass(frozen=True)
class ColumnRef(Expression):
    """A column of the table: a number (a boolean is 0 or 1), a date (days since 1970-01-01) or a text."""

    op = "column"
    name: str
    kind: str = "number"
    """number, date or text"""


@dataclass(frozen=True)
class Sum(Expression):
    """The sum of expressions."""

    op = "sum"
    terms: tuple[Expression, ...]


@dataclass(frozen=True)
class Weighted(Expression):
    """Σ weights·inputs; missing where an input is."""

    op = "weighted"
    inputs: tuple[Expression, ...]
    weights: tuple[float, ...]


class Piece(NamedTuple):
    """value + slope·(x − at)."""

    at: float
    value: float
    slope: float


@dataclass(frozen=True)
class Piecewise(Expression):
    """Piece k of x where cuts[k − 1] ≤ x < cuts[k], and ``missing`` where x is missing."""

    op = "piecewise"
    x: Expression
    cuts: tuple[float, ...]
    pieces: tuple[Piece, ...]
    """One more than cuts."""
    missing: float


@dataclass(frozen=True)
class Lookup(Expression):
    """The value of a text's level, ``other`` for texts without one, ``missing`` where the text is missing."""

    op = "lookup"
    x: ColumnRef
    levels: tuple[tuple[str, float], ...]
    other: float
    missing: float


@dataclass(frozen=True)
class Axis:
    """One side of a grid: nodes at knots, or levels in groups.

    A number between two knots is interpolated, one beyond the outer knots counts as the nearest. A level is at the node
    of its group, any other text at node ``other``.
    """

    x: Expression
    knots: tuple[float, ...] = ()
    groups: tuple[tuple[str, int], ...] = ()
    other: int = 0

    @property
    def is_numeric(self) -> bool:
        """Whether nodes are knots."""
        return bool(self.knots)

    def levels_by_group(self) -> dict[int, list[str]]:
        """The levels of each group, but for that of all other levels."""
        groups: dict[int, list[str]] = {}
        for level, group in self.groups:
            if group != self.other:
                groups.setdefault(group, []).append(level)
        return groups


@dataclass(frozen=True)
class Grid(Expression):
    """Bilinear interpolation of ``values`` at the nodes of two axes; 0 where one of the two is missing."""

    op = "grid"
    a: Axis
    b: Axis
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Wave(Expression):
    """The sine or cosine of 2π x/period, rounded to 12 digits; 0 where x is missing."""

    op = "wave"
    x: Expression
    period: float
    cosine: bool


WAVE_STEPS = 10.0**WAVE_DIGITS
"""Sines and cosines are multiples of 1/WAVE_STEPS."""


@dataclass(frozen=True, eq=False)
class TreeSum(Expression):
    """A sum over decision trees, as `auclid.trees.structs.Trees` has them, whose columns are ``inputs``."""

    op = "trees"
    inputs: tuple[Expression, ...]
    arrays: Any

    def members(self, node: int) -> list[int]:
        """The categories that go left at a node that splits them."""
        words = self.arrays.sets[int(self.arrays.threshold[node])]
        return [32 * k + bit for k, word in enumerate(words.tolist()) for bit in range(32) if word >> bit & 1]


@dataclass(frozen=True, eq=False)
class KernelSum(Expression):
    """Σ weights_k·exp(−gamma |x − centres_k|²), or with kind "cosine" Σ weights_k·cos(centres_k·x + phases_k)."""

    op = "kernel"
    inputs: tuple[Expression, ...]
    kind: str
    """rbf, laplacian or cosine"""
    centres: np.ndarray
    weights: np.ndarray
    gamma: float = 1.0
    phases: np.ndarray | None = None


@dataclass(frozen=True)
class LogOdds(Expression):
    """x, compressed beyond ``linear`` (to 2·linear − linear²/x), rounded to a multiple of ``step``."""

    op = "log_odds"
    x: Expression
    linear: float
    step: float


@dataclass(frozen=True)
class Sigmoid(Expression):
    """1/(1 + exp(−x))."""

    op = "sigmoid"
    x: Expression


class Score(NamedTuple):
    """What is exported: the expression of a model's scores, and what goes with it."""

    expression: Expression
    odds: tuple[float, float] | None
    """The slope and offset of the log-odds of the positive class as a line in the score, where the model has them."""
    columns: tuple[ColumnRef, ...]
    """All columns of the table that the model was fitted to, in order."""
    named: bool
    """Whether the columns had names of their own."""
    classes: tuple[Any, Any]
    model: str
    """The class of the model."""
    threshold: float
    """The score above which `predict` answers the positive class."""

    @property
    def probability(self) -> Expression | None:
        """The probability of the positive class, where the model has one."""
        return None if self.odds is None else Sigmoid(affine(self.expression, *self.odds))


# Making expressions


def straight(x: Expression, slope: float) -> Piecewise:
    """slope·x, missing where x is."""
    return Piecewise(x, (), (Piece(0.0, 0.0, slope),), float("nan"))


def interpolated(x: Expression, knots: Sequence[float], values: Sequence[float], missing: float) -> Piecewise:
    """Straight lines between (knot, value), level beyond the outer knots; as `numpy.interp`."""
    knots, values = [float(k) for k in knots], [float(v) for v in values]
    inner = [Piece(a, u, (v - u) / (b - a)) for a, b, u, v in zip(knots, knots[1:], values, values[1:], strict=False)]
    ends = Piece(knots[0], values[0], 0.0), Piece(knots[-1], values[-1], 0.0)
    return Piecewise(x, tuple(knots), (ends[0], *inner, ends[1]), missing)


def mapped(expression: Piecewise | Lookup, change: Callable[[float], float]) -> Piecewise | Lookup:
    """A Lookup, or a Piecewise of one value a piece, whose values are changed by a function."""
    if isinstance(expression, Lookup):
        levels = tuple((level, change(value)) for level, value in expression.levels)
        return replace(expression, levels=levels, other=change(expression.other), missing=change(expression.missing))
    pieces = tuple(Piece(piece.at, change(piece.value), piece.slope) for piece in expression.pieces)
    return replace(expression, pieces=pieces, missing=change(expression.missing))


def filled(expression: Expression, value: float) -> Expression:
    """The expression with a value where it is missing."""
    if isinstance(expression, Piecewise | Lookup):
        return replace(expression, missing=value) if np.isnan(expression.missing) else expression
    return Piecewise(expression, (), (Piece(0.0, 0.0, 1.0),), value)


def affine(expression: Expression, factor: float, shift: float = 0.0) -> Expression:
    """factor·expression + shift."""
    if isinstance(expression, Number):
        return Number(factor * expression.value + shift)
    if isinstance(expression, Piecewise):
        pieces = tuple(Piece(at, factor * value + shift, factor * slope) for at, value, slope in expression.pieces)
        return replace(expression, pieces=pieces, missing=factor * expression.missing + shift)
    if isinstance(expression, Lookup):
        return mapped(expression, lambda value: factor * value + shift)
    if isinstance(expression, Sum | Weighted):
        return _affine_sum(expression, factor, shift)
    if shift == 0.0:
        return expression if factor == 1.0 else Weighted((expression,), (factor,))
    return Sum((Weighted((expression,), (factor,)), Number(shift)))


def _affine_sum(expression: Sum | Weighted, factor: float, shift: float) -> Expression:
    if isinstance(expression, Weighted):
        scaled: Expression = replace(expression, weights=tuple(factor * weight for weight in expression.weights))
        return Sum((scaled, Number(shift))) if shift else scaled
    terms = [affine(term, factor) for term in expression.terms]
    return total([*terms, Number(shift)])


def total(terms: Iterable[Expression]) -> Expression:
    """The sum of expressions: constants are added up, and so are functions of the same column."""
    flat = [each for term in terms for each in (term.terms if isinstance(term, Sum) else (term,))]
    constant = sum((term.value for term in flat if isinstance(term, Number)), 0.0)
    merged = _merged([term for term in flat if not isinstance(term, Number)])
    if not merged:
        return Number(constant)
    rest = [Number(constant)] if constant else []
    return merged[0] if len(merged) == 1 and not rest else Sum((*merged, *rest))


def _merged(terms: Iterable[Expression]) -> list[Expression]:
    """The terms; functions of the same column are added up."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for number, term in enumerate(terms):
        groups[_merge_key(term) or number].append(term)
    return [_MERGE[type(group[0])](group) if len(group) > 1 else group[0] for group in groups.values()]


def _merge_key(term: Expression) -> Any:
    """What terms must share to be added up beforehand."""
    if isinstance(term, Piecewise | Lookup) and isinstance(term.x, ColumnRef):
        return type(term), term.x
    return Weighted if isinstance(term, Weighted) else None


def _merge_piecewise(terms: Sequence[Piecewise]) -> Piecewise:
    cuts = sorted({cut for term in terms for cut in term.cuts})
    pieces = []
    for k in range(len(cuts) + 1):
        own = [term.pieces[_piece_number(term.cuts, cuts, k)] for term in terms]
        at = own[0].at
        value = sum(piece.value + piece.slope * (at - piece.at) for piece in own)
        pieces.append(Piece(at, value, sum(piece.slope for piece in own)))
    return Piecewise(terms[0].x, tuple(cuts), tuple(pieces), sum(term.missing for term in terms))


def _piece_number(own: Sequence[float], every: Sequence[float], k: int) -> int:
    """The number of the piece, among own cuts, that holds piece k of all cuts."""
    return int(np.searchsorted(own, every[k - 1], side="right")) if k else 0


def _merge_lookup(terms: Sequence[Lookup]) -> Lookup:
    tables = [dict(term.levels) for term in terms]
    levels = list(dict.fromkeys(level for table in tables for level in table))
    values = [sum(t.get(level, term.other) for t, term in zip(tables, terms, strict=True)) for level in levels]
    others = sum(term.other for term in terms), sum(term.missing for term in terms)
    return Lookup(terms[0].x, tuple(zip(levels, values, strict=True)), *others)


def _merge_weighted(terms: Sequence[Weighted]) -> Weighted:
    inputs = tuple(each for term in terms for each in term.inputs)
    return Weighted(inputs, tuple(weight for term in terms for weight in term.weights))


_MERGE: dict[type, Callable[[Any], Any]] = {
    Piecewise: _merge_piecewise,
    Lookup: _merge_lookup,
    Weighted: _merge_weighted,
}


def linear(inputs: Sequence[Expression], weights: Sequence[float], intercept: float) -> Expression:
    """intercept + Σ weights·inputs."""
    pairs = [(each, float(weight)) for each, weight in zip(inputs, weights, strict=True)]
    plain = [(each, weight) for each, weight in pairs if isinstance(each, ColumnRef)]
    curved = [(each, weight) for each, weight in pairs if weight and not isinstance(each, ColumnRef)]
    terms: list[Expression] = [affine(each, weight) for each, weight in curved]
    if plain:
        terms.insert(0, Weighted(tuple(each for each, _ in plain), tuple(weight for _, weight in plain)))
    return total([*terms, Number(intercept)])
