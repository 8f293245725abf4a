"""Attacks on metrics and pair sums: a number in its range, or one clear sentence."""

import inspect
from typing import Any

import numpy as np

from auclid import metrics, pairs
from hostile import EXTREMES, Found, attempt, pick

ODD = [*EXTREMES, np.nan, np.inf, -np.inf]


def scores(rng: np.random.Generator, n: int) -> Any:
    """Scores with ties, extremes, or things that are no numbers."""
    s = rng.normal(size=n)
    kind = rng.integers(8)
    if kind == 0:
        s = np.round(s)
    elif kind == 1:
        s[:] = pick(rng, ODD)
    elif kind == 2 and n:
        s[rng.integers(n)] = pick(rng, ODD)
    elif kind == 3:
        with np.errstate(over="ignore"):
            s = s * pick(rng, [1e308, 1e-308, 1e155])
    elif kind == 4:
        return s.astype(np.float32)
    elif kind == 5:
        return pick(rng, [s[:, None], s.tolist(), s.astype(object), s.astype(str), None, 3.0, s[: n // 2]])
    return s


def truths(rng: np.random.Generator, n: int) -> Any:
    y = (rng.random(n) < 0.4).astype(int)
    if n > 1:
        y[:2] = 0, 1
    kind = rng.integers(8)
    if kind == 0:
        return np.array(["a", "b"])[y]
    if kind == 1:
        many = y + rng.integers(3, size=n)
        return pick(rng, [y * 0, y[:, None], y.astype(float), np.where(y, np.nan, 0.0), many, None])
    return y


def matrix(rng: np.random.Generator, n: int) -> Any:
    """Scores of four classes, more or less."""
    columns = [np.resize(np.asarray(s if np.ndim(s) == 1 else 0.0), n) for s in (scores(rng, n) for _ in range(4))]
    return pick(rng, [np.column_stack(columns), np.column_stack(columns[:3]), columns, columns[0], None, {}])


FUNCTIONS = [
    getattr(metrics, name)
    for name in metrics.__all__
    if callable(getattr(metrics, name)) and not isinstance(getattr(metrics, name), type)
]


def metric_case(rng: np.random.Generator) -> None:
    """One metric on hostile arrays, with one hostile keyword now and then."""
    function = pick(rng, FUNCTIONS)
    n = int(pick(rng, [0, 1, 2, 3, 10, 50, 300]))
    parameters = inspect.signature(function).parameters
    given: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if name in ("y_true", "y", "y_a", "y_b"):
            given[name] = truths(rng, n)
        elif name in ("estimator", "X"):
            return
        elif parameter.default is inspect.Parameter.empty and parameter.kind != parameter.VAR_KEYWORD:
            given[name] = scores(rng, n)
    if function is metrics.compare_many:
        given["scores"] = {name: scores(rng, n) for name in pick(rng, ["ab", "abc", "a", ""])}
    elif function is metrics.multiclass_auc:
        given = {"y_true": rng.integers(4, size=n), "scores": matrix(rng, n)}
    elif function in (metrics.sample_size, metrics.auc_power):
        given = {name: pick(rng, [0.5, 0.7, 1.0, 0.0, -1.0, np.nan, "x", 30, 10**9, 1e300]) for name in given}
    elif function is metrics.rates_at:
        one = pick(rng, ["fpr", "tpr", "threshold", "alerts"])
        given[one] = pick(rng, [0.0, 0.1, 1.0, 3, -1, [0.1, 0.2], [], 10**9, np.nan, np.inf, "x", *EXTREMES])
    optional = [p.name for p in parameters.values() if p.default is not inspect.Parameter.empty]
    if "n_bootstrap" in optional:
        given["n_bootstrap"] = 20
    if optional and rng.random() < 0.5:
        name = pick(rng, optional)
        weights = [rng.random(n), rng.random(n) * 1e308, np.zeros(n), -rng.random(n), np.full(n, 1e155)]
        groups = [rng.integers(3, size=n), np.zeros(n), None]
        plain = [0.0, 1.0, 0.5, -1.0, 2.0, np.nan, "x", None, 3]
        given[name] = pick(rng, {"sample_weight": weights, "groups": groups}.get(name, plain))
    what = f"{function.__name__}({', '.join(given)})"
    result = attempt(what, lambda: function(**given))
    for value in np.ravel(np.asarray(result, dtype=object)) if isinstance(result, tuple | float) else ():
        if isinstance(value, float) and np.isnan(value):
            raise Found("not finite", f"{what} of {n} rows gives {result}")


def stream_case(rng: np.random.Generator) -> None:
    """A streaming AUC fed with hostile batches."""
    stream = metrics.StreamingAUC()
    for _ in range(4):
        n = int(rng.integers(0, 50))
        y, s = truths(rng, n), scores(rng, n)
        attempt("StreamingAUC.update", lambda y=y, s=s: stream.update(y, s))
    result = attempt("StreamingAUC.result", stream.result)
    if result is None or np.isnan(result.auc):
        return
    if not -1e-9 <= result.low <= result.auc <= result.high <= 1.0 + 1e-9:
        raise Found("out of range", f"StreamingAUC: {result}")


def pair_case(rng: np.random.Generator) -> None:
    """Pair sums of hostile scores."""
    n = int(rng.integers(2, 60))
    y, s = truths(rng, n), scores(rng, n)
    for function in (pairs.value, pairs.gradient):
        attempt(f"pairs.{function.__name__}", lambda function=function: function(y, s))
