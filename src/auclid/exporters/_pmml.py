"""Expressions as PMML 4.4: the Scorecard element, with a characteristic for each column or pair of columns."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from auclid._version import __version__
from auclid.errors import InvalidValueError
from auclid.exporters.expression import (
    Axis,
    ColumnRef,
    Grid,
    Lookup,
    Number,
    Piece,
    Piecewise,
    Score,
    Sum,
    Weighted,
    straight,
)

REASON_COUNT = 3
"""Reason codes that a row gets, at the most."""

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that an XML 1.0 document cannot hold."""


class Attribute(NamedTuple):
    """What a characteristic adds where conditions hold together: a number, or an expression of columns."""

    conditions: list[Element]
    partial_score: float | Element


class Characteristic(NamedTuple):
    """A column or a pair of columns of a card."""

    name: str
    attributes: list[Attribute]


def pmml_text(score: Score) -> str:
    """A PMML document whose Scorecard gives the scores of a sum of functions of one or two columns."""
    root = Element("PMML", {"xmlns": "http://www.dmg.org/PMML-4_4", "version": "4.4"})
    about = f"Scores rows as a {score.model} of auclid does: the higher, the more likely {score.classes[1]}"
    header = _add(root, "Header", description=about)
    _add(header, "Application", name="auclid", version=__version__)
    dictionary = _add(root, "DataDictionary", numberOfFields=str(len(score.columns)))
    for column in score.columns:
        _add(dictionary, "DataField", **_field(column))
    root.append(_scorecard(score))
    _check_characters(root)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _field(column: ColumnRef) -> dict[str, str]:
    if column.kind == "text":
        return {"name": column.name, "optype": "categorical", "dataType": "string"}
    about = {"displayName": f"{column.name}, days since 1970-01-01"} if column.kind == "date" else {}
    return {"name": column.name, **about, "optype": "continuous", "dataType": "double"}


def _scorecard(score: Score) -> Element:
    terms = score.expression.terms if isinstance(score.expression, Sum) else (score.expression,)
    initial = sum(term.value for term in terms if isinstance(term, Number))
    has_reasons = score.model == "Scorecard"  # whose shapes have mean zero, so that what they add can be compared
    model = Element("Scorecard", {
        "modelName": score.model, "functionName": "regression", "initialScore": repr(float(initial)),
        "useReasonCodes": str(has_reasons).lower(), "reasonCodeAlgorithm": "pointsAbove", "baselineScore": "0",
    })  # fmt: skip
    schema = _add(model, "MiningSchema")
    for column in score.columns:
        _add(schema, "MiningField", name=column.name, usageType="active", invalidValueTreatment="asIs")
    _add_outputs(_add(model, "Output"), score, has_reasons)
    characteristics = _add(model, "Characteristics")
    for term in terms:
        for name, attributes in _characteristics(score, term):
            own = _add(characteristics, "Characteristic", name=name, **({"reasonCode": name} if has_reasons else {}))
            own.extend(map(_attribute, attributes))
    return model


def _add_outputs(output: Element, score: Score, has_reasons: bool) -> None:
    number = {"optype": "continuous", "dataType": "double"}
    _add(output, "OutputField", name="score", feature="predictedValue", **number)
    if score.odds is not None:
        slope, offset = score.odds
        field = _add(output, "OutputField", name="probability", feature="transformedValue", **number)
        minus = _sum([_constant(-offset), _product(-slope, [_reference("score")])])
        field.append(_apply("/", _constant(1.0), _sum([_constant(1.0), _apply("exp", minus)])))
    for rank in range(1, REASON_COUNT + 1) if has_reasons else ():
        about = {"name": f"reason_{rank}", "feature": "reasonCode", "rank": str(rank)}
        _add(output, "OutputField", **about, optype="categorical", dataType="string")


def _attribute(attribute: Attribute) -> Element:
    out, value = Element("Attribute"), attribute.partial_score
    out.append(_joined("and", attribute.conditions))
    if isinstance(value, Element):
        _add(out, "ComplexPartialScore").append(value)
    else:
        out.set("partialScore", repr(float(value)))
    return out


# Terms of a score


def _characteristics(score: Score, term: Any) -> list[Characteristic]:
    """The characteristics of a term; refuses what is not a function of one or two columns."""
    if isinstance(term, Number):
        return []
    if isinstance(term, Weighted):
        pairs = zip(term.inputs, term.weights, strict=True)
        return [each for x, weight in pairs for each in _characteristics(score, straight(x, weight))]
    columns = [axis.x for axis in (term.a, term.b)] if isinstance(term, Grid) else [getattr(term, "x", None)]
    make = _ATTRIBUTES.get(type(term))
    if make is None or not all(isinstance(x, ColumnRef) for x in columns):
        raise InvalidValueError(
            f"{score.model} cannot be exported to PMML, whose Scorecard element holds sums of functions of one or two "
            "columns: fit a Scorecard, or use to='onnx', 'sql' or 'python'. RankBoost and linear rankers are such sums "
            "too, without dates, and without probabilities around them."
        )
    return [Characteristic(" × ".join(x.name for x in columns), list(make(term)))]  # type: ignore[union-attr]


def _piecewise(e: Piecewise) -> Iterator[Attribute]:
    name = e.x.name  # type: ignore[attr-defined]
    if e.missing == e.missing:
        yield Attribute([_is_missing(name)], e.missing)
    for (low, high), piece in zip(pairwise([-np.inf, *e.cuts, np.inf]), e.pieces, strict=True):
        yield Attribute(_between(name, low, high), _line(name, piece))


def _line(name: str, piece: Piece) -> float | Element:
    if piece.slope == 0.0:
        return piece.value
    return _sum([_constant(piece.value), _product(piece.slope, [_difference(name, piece.at)])])


def _lookup(e: Lookup) -> Iterator[Attribute]:
    name, groups = e.x.name, dict[float, list[str]]()
    if e.missing == e.missing:
        yield Attribute([_is_missing(name)], e.missing)
    for level, value in e.levels:
        groups.setdefault(value, []).append(level)
    groups.pop(e.other, None)
    for value, levels in groups.items():
        yield Attribute([_one_of(name, levels)], value)
    yield Attribute(_none_of(name, [level for levels in groups.values() for level in levels]), e.other)


class AxisPart(NamedTuple):
    """A part of an axis: at one node of the grid, or between a node and the next."""

    conditions: list[Element]
    node: int
    knot: float = 0.0
    width: float = 0.0
    """0 where the part is at its node."""


def _axis_parts(axis: Axis) -> list[AxisPart]:
    name = axis.x.name  # type: ignore[attr-defined]
    if not axis.is_numeric:
        groups = axis.levels_by_group()
        rest = _none_of(name, [level for levels in groups.values() for level in levels])
        named = [AxisPart([_one_of(name, levels)], group) for group, levels in groups.items()]
        return [*named, AxisPart(rest, axis.other)]
    knots = axis.knots
    inner = [AxisPart(_between(name, low, high), k, low, high - low) for k, (low, high) in enumerate(pairwise(knots))]
    first = AxisPart(_between(name, -np.inf, knots[0]), 0)
    return [first, *inner, AxisPart(_between(name, knots[-1], np.inf), len(knots) - 1)]


def _grid(e: Grid) -> Iterator[Attribute]:
    names = [axis.x.name for axis in (e.a, e.b)]  # type: ignore[attr-defined]
    yield Attribute([_joined("or", [_is_missing(name) for name in names])], 0.0)
    values = np.array(e.values)
    for p in _axis_parts(e.a):
        for q in _axis_parts(e.b):
            yield Attribute([*p.conditions, *q.conditions], _bilinear(values, names, p, q))


def _bilinear(values: np.ndarray, names: Sequence[str], p: AxisPart, q: AxisPart) -> float | Element:
    """The value at the nodes of two parts, with slopes along the axes and their product where these have a width."""
    corner = float(values[p.node, q.node])
    along = [_slope(values[:, q.node], p), _slope(values[p.node], q)]
    cross = _slope(np.diff(values[:, q.node : q.node + 2], axis=1)[:, 0] / q.width, p) if q.width else 0.0
    if not (along[0] or along[1] or cross):
        return corner
    x, y = ((name, part.knot) for name, part in zip(names, (p, q), strict=True))
    terms = [(along[0], [x]), (along[1], [y]), (cross, [x, y])]
    products = [_product(factor, [_difference(*each) for each in places]) for factor, places in terms if factor]
    return _sum([_constant(corner), *products])


def _slope(along: np.ndarray, part: AxisPart) -> float:
    return float(along[part.node + 1] - along[part.node]) / part.width if part.width else 0.0


_ATTRIBUTES: dict[type, Callable[[Any], Iterator[Attribute]]] = {Piecewise: _piecewise, Lookup: _lookup, Grid: _grid}


# Elements


def _add(parent: Element, tag: str, **attributes: str) -> Element:
    return ElementTree.SubElement(parent, tag, attributes)


def _joined(operator: str, conditions: Sequence[Element]) -> Element:
    """Conditions joined by "and" or "or"; one alone is itself."""
    if len(conditions) == 1:
        return conditions[0]
    out = Element("CompoundPredicate", {"booleanOperator": operator})
    out.extend(conditions)
    return out


def _condition(name: str, operator: str, value: str | None = None) -> Element:
    to = {} if value is None else {"value": value}
    return Element("SimplePredicate", {"field": name, "operator": operator, **to})


def _is_missing(name: str) -> Element:
    return _condition(name, "isMissing")


def _between(name: str, low: float, high: float) -> list[Element]:
    """Conditions for low <= x < high."""
    ends = [("greaterOrEqual", low), ("lessThan", high)]
    finite = [_condition(name, operator, repr(float(end))) for operator, end in ends if np.isfinite(end)]
    return finite or [_condition(name, "isNotMissing")]


def _one_of(name: str, levels: Sequence[str]) -> Element:
    return _joined("or", [_condition(name, "equal", level) for level in levels])


def _none_of(name: str, levels: Sequence[str]) -> list[Element]:
    """Conditions for a text that is there and is none of these."""
    return [_condition(name, "notEqual", level) for level in levels] or [_condition(name, "isNotMissing")]


def _apply(function: str, *arguments: Element) -> Element:
    out = Element("Apply", {"function": function})
    out.extend(arguments)
    return out


def _constant(value: float) -> Element:
    out = Element("Constant", {"dataType": "double"})
    out.text = repr(float(value))
    return out


def _reference(name: str) -> Element:
    return Element("FieldRef", {"field": name})


def _difference(name: str, at: float) -> Element:
    return _apply("-", _reference(name), _constant(at))


def _sum(terms: Sequence[Element]) -> Element:
    out = terms[0]
    for term in terms[1:]:
        out = _apply("+", out, term)
    return out


def _product(factor: float, factors: Sequence[Element]) -> Element:
    out = _constant(factor)
    for each in factors:
        out = _apply("*", out, each)
    return out


def _check_characters(root: Element) -> None:
    for element in root.iter():
        for text in element.attrib.values():
            if NOT_XML.search(text):
                raise InvalidValueError(
                    f"PMML, which is XML, must have no control characters in the names of columns and levels; got "
                    f"{text!r}. Rename it before the fit, or use to='json', 'python' or 'sql'."
                )
