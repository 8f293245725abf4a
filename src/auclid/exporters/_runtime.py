"""Scores a row by the JSON form of a model, with nothing but the standard library.

`auclid.exporters` copies this file into the Python modules that it writes, so it must not import auclid.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

NAN = float("nan")


def evaluate(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    """The value of an expression for a row; NaN where it is missing."""
    return OPERATIONS[node["op"]](node, row)


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, or another thing that differs from itself (NaT)."""
    return value is None or bool(value != value)


def number(value: Any) -> float:
    """A cell as a number; NaN where it is missing."""
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return NAN
    return value / timedelta(days=1) if isinstance(value, timedelta) else float(value)


def days(value: Any) -> float:
    """A date, a datetime or an ISO text as days since 1970-01-01, in universal time where it knows its zone."""
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return NAN
    moment = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - datetime(1970, 1, 1)) / timedelta(days=1)


def text(value: Any) -> str | None:
    """A cell as a text, None where it is missing; a whole number is written without a point."""
    if is_missing(value):
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _constant(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    return number(node["value"])


def _column(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    value = row.get(node["name"])
    return days(value) if node["kind"] == "date" else number(value)


def _sum(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    return math.fsum(evaluate(term, row) for term in node["terms"])


def _weighted(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    return math.fsum(w * evaluate(x, row) for x, w in zip(node["inputs"], node["weights"], strict=True))


def _piecewise(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    x = evaluate(node["x"], row)
    if x != x:
        return number(node["missing"])
    at, value, slope = node["pieces"][bisect_right(node["cuts"], x)]
    return value + slope * (x - at) if slope else value


def _lookup(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    level = text(row.get(node["x"]["name"]))
    return number(node["missing"] if level is None else node["levels"].get(level, node["other"]))


def _place(axis: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[int, float]:
    """The node of an axis at or before a cell, and how far it is on the way to the next; -1 where it is missing."""
    if "knots" not in axis:
        level = text(row.get(axis["x"]["name"]))
        return (-1 if level is None else axis["groups"].get(level, axis["other"])), 0.0
    x, knots = evaluate(axis["x"], row), axis["knots"]
    if x != x:
        return -1, 0.0
    if len(knots) < 2:
        return 0, 0.0
    k = min(max(bisect_right(knots, x) - 1, 0), len(knots) - 2)
    return k, min(max((x - knots[k]) / (knots[k + 1] - knots[k]), 0.0), 1.0)


def _grid(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    (i, s), (j, t), values = _place(node["a"], row), _place(node["b"], row), node["values"]
    if i < 0 or j < 0:
        return 0.0
    corners = ((0, 0, (1 - s) * (1 - t)), (0, 1, (1 - s) * t), (1, 0, s * (1 - t)), (1, 1, s * t))
    return sum(weight * values[i + di][j + dj] for di, dj, weight in corners if weight)


def _wave(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    x = evaluate(node["x"], row)
    if x != x:
        return 0.0
    wave = (math.cos if node["cosine"] else math.sin)(2.0 * math.pi * ((x / node["period"]) % 1.0))
    return round(wave * 1e12) / 1e12


def _trees(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    cells, total = [evaluate(x, row) for x in node["inputs"]], 0.0
    for k in node["roots"]:
        while node["feature"][k] >= 0:
            k = node["right" if _goes_right(node, k, cells[node["feature"][k]]) else "left"][k]
        total += node["value"][k]
    return total


def _goes_right(node: Mapping[str, Any], k: int, x: float) -> bool:
    if x != x:
        return bool(node["missing_right"][k])
    chosen = node["sets"].get(str(k))
    return x > node["threshold"][k] if chosen is None else int(x) not in chosen


def _kernel(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    x = [evaluate(each, row) for each in node["inputs"]]
    value = KERNELS[node["kind"]]
    return math.fsum(w * value(node, k, x) for k, w in enumerate(node["weights"]))


def _gaussian(node: Mapping[str, Any], k: int, x: Sequence[float]) -> float:
    squares = math.fsum((a - b) * (a - b) for a, b in zip(x, node["centres"][k], strict=True))
    return math.exp(-node["gamma"] * squares)


def _laplacian(node: Mapping[str, Any], k: int, x: Sequence[float]) -> float:
    return math.exp(-node["gamma"] * math.fsum(abs(a - b) for a, b in zip(x, node["centres"][k], strict=True)))


def _cosine(node: Mapping[str, Any], k: int, x: Sequence[float]) -> float:
    return math.cos(math.fsum(a * b for a, b in zip(x, node["centres"][k], strict=True)) + node["phases"][k])


def _log_odds(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    x, linear, step = evaluate(node["x"], row), node["linear"], node["step"]
    if x != x:
        return x
    if abs(x) > linear:
        x = math.copysign(2.0 * linear, x) - linear * linear / x
    return round(x / step) * step


def _sigmoid(node: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    x = evaluate(node["x"], row)
    return 1.0 / (1.0 + math.exp(-x)) if not x < 0.0 else 1.0 - 1.0 / (1.0 + math.exp(x))


KERNELS = {"rbf": _gaussian, "laplacian": _laplacian, "cosine": _cosine}

OPERATIONS = {
    "constant": _constant, "column": _column, "sum": _sum, "weighted": _weighted, "piecewise": _piecewise,
    "lookup": _lookup, "grid": _grid, "wave": _wave, "trees": _trees, "kernel": _kernel, "log_odds": _log_odds,
    "sigmoid": _sigmoid,
}  # fmt: skip
