"""Expressions as JSON, and as a Python module that needs nothing but the standard library."""

import json
import pkgutil
import pprint
from dataclasses import fields
from typing import Any

import numpy as np

from auclid._version import __version__
from auclid.exporters.expression import Axis, Expression, Lookup, Score, TreeSum

SCORE_FORMAT, SCORE_FORMAT_VERSION = "auclid-score", 1

Node = dict[str, Any]


def as_json(score: Score) -> Node:
    """What a JSON file holds: see docs/export.md."""
    return {
        "format": SCORE_FORMAT,
        "version": SCORE_FORMAT_VERSION,
        "auclid": __version__,
        "model": score.model,
        "classes": list(score.classes),
        "threshold": score.threshold,
        "columns": [{"name": column.name, "kind": column.kind} for column in score.columns],
        "score": node_of(score.expression),
        "probability": None if score.probability is None else node_of(score.probability),
    }


def json_text(score: Score) -> str:
    """The text of a JSON file."""
    return json.dumps(as_json(score), allow_nan=False, default=str) + "\n"


def python_module(score: Score) -> str:
    """The source of a Python module: ``score(row)``, ``predict(row)`` and, where there is one, ``probability(row)``."""
    runtime = pkgutil.get_data("auclid.exporters", "_runtime.py")
    assert runtime is not None
    body = runtime.decode("utf-8").split('"""', 2)[2].lstrip()
    head = f'"""Scores rows as a {score.model} of auclid {__version__} does. Needs Python 3.11 and no package."""\n\n'
    model = pprint.pformat(as_json(score), indent=1, width=118, compact=True, sort_dicts=False)
    text = f"{head}{body}\n\nMODEL: dict = {model}\n{_SCORE}"
    return text + (_PROBABILITY if score.probability is not None else "")


_SCORE = '''

def score(row: Mapping[str, Any]) -> float:
    """The score of a row, {column: value}; the higher, the more likely MODEL["classes"][1]."""
    return evaluate(MODEL["score"], row)


def predict(row: Mapping[str, Any]) -> Any:
    """The class of a row: MODEL["classes"][1] where the score exceeds MODEL["threshold"]."""
    return MODEL["classes"][score(row) > MODEL["threshold"]]
'''

_PROBABILITY = '''

def probability(row: Mapping[str, Any]) -> float:
    """The probability of MODEL["classes"][1]."""
    return evaluate(MODEL["probability"], row)
'''


def node_of(expression: Expression) -> Node:
    """The JSON form of an expression: what it is called, and its fields."""
    if isinstance(expression, TreeSum):
        return _trees(expression)
    node = {field.name: _value(getattr(expression, field.name)) for field in fields(expression)}  # type: ignore[arg-type]
    if isinstance(expression, Lookup):
        node["levels"] = dict(node["levels"])
    return {"op": expression.op, **node}


def _value(value: Any) -> Any:
    """The JSON form of a field; null stands for a missing number."""
    if isinstance(value, Expression):
        return node_of(value)
    if isinstance(value, Axis):
        return _axis(value)
    if isinstance(value, float):
        return None if value != value else float(value)
    if isinstance(value, tuple):
        return [_value(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _axis(axis: Axis) -> Node:
    if axis.is_numeric:
        return {"x": node_of(axis.x), "knots": list(axis.knots)}
    return {"x": node_of(axis.x), "groups": dict(axis.groups), "other": axis.other}


def _trees(e: TreeSum) -> Node:
    names = ("roots", "feature", "threshold", "left", "right", "missing_right", "value")
    splits = np.flatnonzero(e.arrays.is_set & (e.arrays.feature >= 0)).tolist()
    return {
        "op": e.op,
        "inputs": [node_of(x) for x in e.inputs],
        **{name: getattr(e.arrays, name).tolist() for name in names},
        "sets": {str(k): e.members(k) for k in splits},
    }
