"""A slow evaluator of PMML scorecards, by the rules of PMML 4.4, with the standard library alone."""

import math
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

FUNCTIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "exp": math.exp,
}
COMPARISONS = {
    "equal": lambda a, b: a == b,
    "notEqual": lambda a, b: a != b,
    "lessThan": lambda a, b: a < b,
    "greaterOrEqual": lambda a, b: a >= b,
}


class ScorecardDocument:
    """The Scorecard of a PMML document."""

    def __init__(self, text: str) -> None:
        root = ElementTree.fromstring(text.encode("utf-8"))
        for element in root.iter():
            element.tag = element.tag.removeprefix("{http://www.dmg.org/PMML-4_4}")
        self.kinds = {each.get("name"): each.get("dataType") for each in root.iter("DataField")}
        self.model = root.find("Scorecard")
        assert self.model is not None

    def evaluate(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs for a row; what is None is missing."""
        parts = [(each, self.partial_score(each, row)) for each in self.model.iter("Characteristic")]
        cells: dict[str, Any] = dict(row)
        above = sorted(parts, key=lambda part: -part[1])
        for field in self.model.iter("OutputField"):
            if field.get("feature") == "predictedValue":
                value: Any = float(self.model.get("initialScore")) + sum(score for _, score in parts)
            elif field.get("feature") == "transformedValue":
                value = self.value(field[0], cells)
            else:
                value = above[min(int(field.get("rank")), len(above)) - 1][0].get("reasonCode")
            cells[field.get("name")] = value
        return {name: value for name, value in cells.items() if name not in row}

    def partial_score(self, characteristic: Element, row: Mapping[str, Any]) -> float:
        """That of the first attribute whose predicate is true."""
        true = [each for each in characteristic if self.holds(each[0], row)]
        assert len(true) == 1, "attributes overlap, or none holds"
        score = true[0].get("partialScore")
        return self.value(true[0].find("ComplexPartialScore")[0], row) if score is None else float(score)

    def holds(self, predicate: Element, row: Mapping[str, Any]) -> bool | None:
        """Whether a predicate is true; None where it is unknown."""
        if predicate.tag == "CompoundPredicate":
            parts = [self.holds(each, row) for each in predicate]
            decisive = predicate.get("booleanOperator") == "or"
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
        assert predicate.tag == "SimplePredicate"
        name, operator = predicate.get("field"), predicate.get("operator")
        cell = row.get(name)
        if operator in ("isMissing", "isNotMissing"):
            return (cell is None) == (operator == "isMissing")
        if cell is None:
            return None
        given: Any = predicate.get("value")
        return COMPARISONS[operator](cell, given if self.kinds[name] == "string" else float(given))

    def value(self, expression: Element, row: Mapping[str, Any]) -> Any:
        """The value of an expression."""
        if expression.tag == "Constant":
            return float(expression.text)
        if expression.tag == "FieldRef":
            return row[expression.get("field")]
        return FUNCTIONS[expression.get("function")](*(self.value(each, row) for each in expression))
