"""Attacks on what takes any table: frames of texts, dates, gaps and things that no column holds."""

from datetime import date, datetime
from typing import Any

import numpy as np

import auclid
from attack_fits import scores_of, small
from hostile import EXTREMES, Found, attempt, finite, frozen, pick
from hostile_tables import labels, numbers, weights

TEXTS = ["a", "b", "", "é", "\x1b[31mred", "nan", "None", "1", "1e400", "x" * 5000, "\x00", "=1+1", " a", "a "]

ODD = [None, float("nan"), True, 3, 2.5, 10**400, -(10**30), b"x", (1, 2), [1], {}, object(), 1j]
ODD += [np.datetime64("NaT", "us")]


def column(rng: np.random.Generator, n: int) -> Any:
    """A column of some unpleasant kind, by type or by content."""
    import pandas as pd

    kind = rng.integers(14)
    gaps = rng.random(n) < pick(rng, [0.0, 0.0, 0.3, 1.0])
    if kind < 3:
        return np.where(gaps, np.nan, numbers(rng, n, 1)[:, 0])
    if kind == 3:
        return [None if gap else pick(rng, TEXTS) for gap in gaps]
    if kind == 4:
        return pd.Categorical([None if gap else pick(rng, "abc") for gap in gaps], categories=list("cabz"))
    if kind == 5:
        days = rng.integers(*pick(rng, [(0, 3000), (-(10**6), 10**6), (5, 6)]), size=n)
        return np.where(gaps, np.datetime64("NaT", "us"), days.astype("datetime64[D]").astype("datetime64[s]"))
    if kind == 6:
        return [pick(rng, [date(2020, 1, 1), datetime(1, 1, 1), datetime(9999, 12, 31), None]) for _ in range(n)]
    if kind == 7:
        return [pick(rng, ODD) for _ in range(n)]
    if kind == 8:
        return pd.array(np.where(gaps, None, rng.integers(5, size=n)), dtype="Int64")
    if kind == 9:
        return rng.random(n) < 0.5
    if kind == 10:
        return [f"id {k}" for k in range(n)]
    if kind == 11:
        return np.full(n, pick(rng, [np.inf, -np.inf, np.nan, 1.7e308]))
    if kind == 12:
        return rng.integers(-(2**63), 2**63 - 1, size=n)
    return pd.array(rng.integers(5, size=n), dtype="uint8")


def frame(rng: np.random.Generator, n: int) -> Any:
    """A frame of pandas, polars or pyarrow, or an array of objects; where they cannot hold it, of pandas."""
    import pandas as pd

    words = ["c", "é", "", "\x1b[31mred", "a.b", "x" * 300]
    names = [f"{pick(rng, words)}{k}" for k in range(int(rng.integers(1, 6)))]
    table = pd.DataFrame({name: column(rng, n) for name in names})
    kind = rng.integers(8)
    try:
        if kind == 0:
            import polars

            return polars.DataFrame({name: list(values) for name, values in table.items()})
        if kind == 1:
            import pyarrow as pa

            return pa.Table.from_pandas(table)
    except Exception:
        return table
    if kind == 2:
        return table.astype(object).to_numpy()
    if kind == 3:
        table.columns = pick(rng, [list(range(table.shape[1])), [names[0]] * table.shape[1]])
    if kind == 4:
        table.index = rng.integers(3, size=n)
    return table


def table_model(rng: np.random.Generator) -> Any:
    """Whoever takes any table, small, with a hostile parameter now and then."""
    kind = rng.integers(8)
    if kind < 3:
        model: Any = auclid.Columns(
            scale=pick(rng, ["auto", "standard", "rank", None]), max_levels=pick(rng, [1, 2, 100])
        )
        name, value = pick(
            rng, [("rare", 0.5), ("rare", 2.0), ("categories", [0]), ("categories", ["c0"]), ("categories", [99])]
        )
    elif kind < 6:
        model = auclid.Scorecard(n_knots=4, interactions=pick(rng, [0, 1]), random_state=0)
        name, value = pick(
            rng,
            [
                ("monotone", {0: 1}), ("monotone", {"c0": -1}), ("monotone", {0: 7}), ("categories", [0]),
                ("n_knots", {0: [1.0, 2.0]}), ("n_knots", {"c0": ["a", "b"]}), ("n_knots", {0: [2.0, 1.0]}),
                ("smooth", pick(rng, EXTREMES)), ("ranker", auclid.LeastSquaresAUC()),
                ("ranker", auclid.RankSVM(max_iter=5)),
            ],
        )  # fmt: skip
    elif kind == 6:
        methods = pick(rng, [["LeastSquaresAUC"], ["forest"], ["boosting"], ["Scorecard"], ["logistic", "RankSVM"]])
        model = auclid.AUCClassifier(methods=methods, cv=2, random_state=0)
        name, value = pick(rng, [("max_fpr", 0.3), ("methods", ["nobody"]), ("cv", []), ("budget", 1e-9)])
    else:
        inner = pick(rng, [auclid.Scorecard(n_knots=3, interactions=0), auclid.LeastSquaresAUC(), auclid.SPAM()])
        model = auclid.Calibrated(small(inner), cv=2)
        name, value = "ranker", auclid.Columns()
    if rng.random() < 0.3:
        model.set_params(**{name: value})
    return model


def table_case(rng: np.random.Generator) -> None:
    """A hostile frame through whoever takes any table: finite numbers, or a sentence; the frame as it was."""
    n = int(rng.integers(2, 60))
    X, y, model = frame(rng, n), labels(rng, n), table_model(rng)
    if rng.random() < 0.1:
        y = rng.integers(3, size=n)
    what = f"{type(model).__name__} on {type(X).__module__.split('.')[0]}"
    params = {"sample_weight": weights(rng, n)} if rng.random() < 0.3 else {}
    before = _bytes(X)
    fitted = attempt(f"fit of {what}", lambda: model.fit(X, y, **params))
    if _bytes(X) != before:
        raise Found("input changed", what)
    if fitted is None:
        return
    for rows in (X, frame(rng, 5)):
        finite(f"scores of {what}", attempt(f"scores of {what}", lambda rows=rows: scores_of(model, rows)))
    if isinstance(model, auclid.Columns):
        out = attempt("get_feature_names_out", model.get_feature_names_out)
        if out is None or len(out) != model.transform(X).shape[1]:
            raise Found("names", f"{what}: {None if out is None else len(out)} names")
    if isinstance(model, auclid.Scorecard):
        attempt("points", lambda: model.points(scale=pick(rng, [10, 100, 0, -1, np.nan, "x"])))
        finite("contributions", attempt("contributions", lambda: model.contributions(X)))
        attempt("repr", lambda: model._repr_html_() if hasattr(model, "_repr_html_") else repr(model))


def _bytes(X: Any) -> Any:
    try:
        return frozen(X) if not hasattr(X, "to_pandas") else repr(X)
    except Exception:
        return repr(X)


def several_case(rng: np.random.Generator) -> None:
    """Several classes, groups, and stumps with unlabelled rows."""
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 6))
    X = numbers(rng, n, d)
    kind = rng.integers(3)
    many = rng.integers(int(rng.integers(1, 6)), size=n)
    alpha = pick(rng, [1e-4, 1.0, *EXTREMES])
    params: dict[str, Any] = {}
    if kind == 0:
        model: Any = auclid.MulticlassAUC(alpha=alpha)
        y = pick(rng, [many, many.astype(float), np.array(list("abcdef"))[many], labels(rng, n)])
    elif kind == 1:
        model, y = auclid.MinimaxAUC(alpha=alpha), labels(rng, n)
        odd = [many, many.astype(str), None, many[: n // 2], np.full(n, np.nan), many[:, None], many.astype(object)]
        params["groups"] = pick(rng, [many, many, *odd])
    else:
        model = auclid.RankBoost(n_rounds=5, n_neighbors=int(pick(rng, [0, 3, 10**6])), unlabeled_weight=0.5)
        y = np.where(rng.random(n) < 0.3, -1, (rng.random(n) < 0.4).astype(int))
    if rng.random() < 0.3:
        params["sample_weight"] = weights(rng, n)
    what = type(model).__name__
    if attempt(f"fit of {what}", lambda: model.fit(X, y, **params)) is None:
        return
    for rows in (X, numbers(rng, 5, d)):
        for name in ("decision_function", "predict_proba"):
            if hasattr(model, name):
                call = getattr(model, name)
                finite(f"{name} of {what}", attempt(f"{name} of {what}", lambda rows=rows, call=call: call(rows)))
    attempt(f"score of {what}", lambda: model.score(X, y))
