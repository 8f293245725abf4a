"""Expressions as JSON, and as a Python module that needs nothing but the standard library."""

import json
import pkgutil
import pprint
from collections.abc import Callable
from typing import Any

import numpy as np

from auclid._version import __version__
from auclid.exporters.expression import (
    Axis,
    ColumnRef,
    Expression,
    Grid,
    KernelSum,
    LogOdds,
    Lookup,
    Number,
    Piecewise,
    Score,
    Sigmoid,
    Sum,
    TreeSum,
    Wave,
    Weighted,
)

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
    """The JSON form of an expression."""
    name, make = _NODES[type(expression)]
    return {"op": name, **make(expression)}


def _number(value: float) -> float | None:
    """null stands for a missing number."""
    return None if value != value else float(value)


def _piecewise(e: Piecewise) -> Node:
    return {
        "x": node_of(e.x),
        "cuts": list(e.cuts),
        "pieces": [list(piece) for piece in e.pieces],
        "missing": _number(e.missing),
    }


def _lookup(e: Lookup) -> Node:
    levels = {level: _number(value) for level, value in e.levels}
    return {"x": node_of(e.x), "levels": levels, "other": _number(e.other), "missing": _number(e.missing)}


def _axis(axis: Axis) -> Node:
    if axis.is_numeric:
        return {"x": node_of(axis.x), "knots": list(axis.knots)}
    return {"x": node_of(axis.x), "groups": dict(axis.groups), "other": axis.other}


def _grid(e: Grid) -> Node:
    return {"a": _axis(e.a), "b": _axis(e.b), "values": [list(row) for row in e.values]}


def _trees(e: TreeSum) -> Node:
    arrays = e.arrays
    fields = ("roots", "feature", "threshold", "left", "right", "missing_right", "value")
    return {
        "inputs": [node_of(x) for x in e.inputs],
        **{name: getattr(arrays, name).tolist() for name in fields},
        "sets": {
            str(k): set_members(arrays, k) for k in np.flatnonzero(arrays.is_set & (arrays.feature >= 0)).tolist()
        },
    }


def set_members(arrays: Any, node: int) -> list[int]:
    """The categories that go left at a node."""
    words = arrays.sets[int(arrays.threshold[node])]
    return [32 * k + bit for k, word in enumerate(words.tolist()) for bit in range(32) if word >> bit & 1]


def _kernel(e: KernelSum) -> Node:
    return {
        "inputs": [node_of(x) for x in e.inputs],
        "kind": e.kind,
        "centres": e.centres.tolist(),
        "weights": e.weights.tolist(),
        "gamma": e.gamma,
        "phases": None if e.phases is None else e.phases.tolist(),
    }


_NODES: dict[type, tuple[str, Callable[[Any], Node]]] = {
    Number: ("constant", lambda e: {"value": _number(e.value)}),
    ColumnRef: ("column", lambda e: {"name": e.name, "kind": e.kind}),
    Sum: ("sum", lambda e: {"terms": [node_of(term) for term in e.terms]}),
    Weighted: ("weighted", lambda e: {"inputs": [node_of(x) for x in e.inputs], "weights": list(e.weights)}),
    Piecewise: ("piecewise", _piecewise),
    Lookup: ("lookup", _lookup),
    Grid: ("grid", _grid),
    Wave: ("wave", lambda e: {"x": node_of(e.x), "period": e.period, "cosine": e.cosine}),
    TreeSum: ("trees", _trees),
    KernelSum: ("kernel", _kernel),
    LogOdds: ("log_odds", lambda e: {"x": node_of(e.x), "linear": e.linear, "step": e.step}),
    Sigmoid: ("sigmoid", lambda e: {"x": node_of(e.x)}),
}
