"""Columns of rows in files and on a cluster: texts, categories, truths and dates as in memory."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import auclid
from auclid import Calibrated, Columns, LeastSquaresAUC, LeastSquaresAUCCV, RankSVM, Scorecard, _sizes
from auclid.data.readers import reader
from auclid.metrics import roc_auc
from auclid.stats.level_counts import count_levels

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")


def table(n=400, seed=0):
    """A frame with a column of every kind, missing cells in most, and labels that depend on all."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue", "rare"], n, p=[0.4, 0.3, 0.295, 0.005])
    age, day, known = rng.normal(size=n), rng.integers(0, 900, n), rng.random(n) < 0.4
    y = age + (colour == "red") + day / 500 + known + rng.normal(size=n) > 2.0
    gone = rng.random((n, 5)) < 0.1
    frame = pd.DataFrame({
        "age": np.where(gone[:, 0], np.nan, age),
        "colour": np.where(gone[:, 1], None, colour),
        "size": pd.Categorical(np.where(gone[:, 2], None, rng.choice(list("SML"), n)), ["S", "M", "L", "never"]),
        "day": pd.Timestamp("2020-02-29") + pd.to_timedelta(day * 86_399, unit="s"),
        "known": known,
        "code": np.where(gone[:, 3], None, rng.integers(0, 30, n).astype(str)),
        "since": np.where(gone[:, 4], None, (np.datetime64("2000-01-01") + day).astype(str)),
        "nothing": np.full(n, None),
        "one": "same",
        "key": [f"k{k:06}" for k in range(n)],
        "number": rng.permutation(n),
        "tail": np.exp(6.0 * rng.normal(size=n)),
        "wait": pd.to_timedelta(np.where(gone[:, 4], np.nan, rng.exponential(9e4, n)), unit="s"),
    })  # fmt: skip
    frame.loc[gone[:, 0], "day"] = pd.NaT
    return frame, y.astype(int)


KINDS = "number text category date bool number date number text text number number number".split()


def fitted(columns, X, **params):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*like an identifier")
        return columns.fit(X, **params)


def same(whole, parts, X, apart):
    """Whether both have learnt the same of columns, and make the same numbers of them."""
    for name in ("kinds_", "ranked_", "constants_", "identifiers_", "notes_"):
        assert getattr(parts, name) == getattr(whole, name), name
    assert parts.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    expected = whole.transform(X)
    np.testing.assert_allclose(parts.transform(X), expected, rtol=1e-9, atol=1e-12)
    made = parts.transform(apart)
    np.testing.assert_allclose(made.compute() if hasattr(made, "compute") else made, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [1000, 150, 37])
@pytest.mark.parametrize("source", ["pandas", "polars", "parquet", "function"])
def test_columns_of_any_source_are_those_of_the_frame(tmp_path, monkeypatch, source, size):
    X, y = table()
    monkeypatch.setattr(reader, "READ_BYTES", size * 8 * X.shape[1])
    both = X.assign(y=y)
    if source == "parquet":
        parquet.write_table(pa.Table.from_pandas(both, preserve_index=False), tmp_path / "a.parquet")
    made = {
        "pandas": lambda: both,
        "polars": lambda: pytest.importorskip("polars").from_pandas(both),
        "parquet": lambda: tmp_path / "a.parquet",
        "function": lambda: lambda: ((X.iloc[k : k + size], y[k : k + size]) for k in range(0, len(y), size)),
    }[source]()
    rows = auclid.scan(made, target=None if source == "function" else "y")
    whole, parts = fitted(Columns(), X), fitted(Columns(), rows)
    assert whole.kinds_ == KINDS and whole.identifiers_ == ["key", "number"]
    assert whole.constants_ == ["one", "nothing"] and whole.ranked_ == ["tail"]
    assert list(parts.feature_names_in_) == list(X.columns)
    same(whole, parts, X, rows)


@pytest.mark.parametrize("ends", [[], [150], [0, 37, 37, 150, 399]])
def test_columns_of_dask_partitions_are_those_of_the_frame(ends):
    dd = pytest.importorskip("dask.dataframe")
    X, _ = table()
    cuts = [0, *ends, len(X)]
    frame = dd.from_map(lambda ends: X.iloc[slice(*ends)], list(pairwise(cuts)), meta=X.iloc[:0])
    whole, parts = fitted(Columns(), X), fitted(Columns(), frame)
    assert hasattr(parts.transform(frame), "dask")
    same(whole, parts, X, frame)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 120), st.integers(0, 5), st.booleans())
def test_blocks_do_not_matter(size, seed, weighed):
    X, y = table(120, seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float) if weighed else None
    rows = auclid.scan(
        lambda: (
            (X[k : k + size], y[k : k + size], *(() if weight is None else (weight[k : k + size],)))
            for k in range(0, len(y), size)
        )
    )
    how = Columns(rare=0.05, max_levels=3, scale="standard")
    same(fitted(clone(how), X, sample_weight=weight), fitted(clone(how), rows), X, rows)


def test_any_column_may_be_a_category_by_request():
    X, y = table()
    chosen = ["known", "day", "age", "colour"]
    how = Columns(categories=chosen, rare=0.0, max_levels=5)
    rows = auclid.scan(X.assign(y=y), target="y")
    same(fitted(clone(how), X), fitted(clone(how), rows), X, rows)


def test_many_levels_come_out_sparse():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{k}": rng.integers(0, 90, 2000).astype(str) for k in range(4)}) + "_"
    rows = auclid.scan(X)
    whole, parts = Columns(rare=0.0).fit(X), Columns(rare=0.0).fit(rows)
    made = parts.transform(rows)
    np.testing.assert_array_equal(made.toarray(), whole.transform(X).toarray())
    dd = pytest.importorskip("dask.dataframe")
    lazy = parts.transform(dd.from_pandas(X, npartitions=3))
    assert lazy.shape[1] == made.shape[1]


@pytest.mark.parametrize("ranker", [LeastSquaresAUC(), LeastSquaresAUCCV(), RankSVM(alpha=1e-2)], ids=str)
@pytest.mark.parametrize("where", ["rows", "dask"])
def test_a_pipeline_with_a_linear_method_is_that_of_the_frame(ranker, where):
    X, y = table(600)
    X, both = X.drop(columns=["key", "number"]), X.assign(y=y)
    whole = make_pipeline(Columns(), clone(ranker)).fit(X, y)
    if where == "dask":
        frame = pytest.importorskip("dask.dataframe").from_pandas(both, npartitions=4)
        apart = frame[list(X.columns)]
        parts = make_pipeline(Columns(), clone(ranker)).fit(apart, frame["y"])
    else:
        apart = auclid.scan(both, target="y", columns=list(X.columns))
        parts = make_pipeline(Columns(), clone(ranker)).fit(apart)
    rtol = 1e-2 if isinstance(ranker, RankSVM) else 1e-6  # to its tol
    np.testing.assert_allclose(parts[-1].coef_, whole[-1].coef_, rtol=rtol, atol=1e-3 * np.abs(whole[-1].coef_).max())
    mine, theirs = np.asarray(parts.decision_function(apart)), whole.decision_function(X)
    shift = parts[-1].intercept_ - whole[-1].intercept_  # one pass finds no threshold of Youden's
    np.testing.assert_allclose(mine - shift, theirs, rtol=10 * rtol, atol=10 * rtol)


@pytest.mark.parametrize("where", ["rows", "dask"])
def test_probabilities_of_a_pipeline_know_texts_and_gaps(where):
    X, y = table(600)
    X, both = X.drop(columns=["key", "number"]), X.assign(y=y)
    model = Calibrated(make_pipeline(Columns(), LeastSquaresAUC()))
    whole = clone(model).fit(X, y)
    if where == "dask":
        frame = pytest.importorskip("dask.dataframe").from_pandas(both, npartitions=4)
        apart = frame[list(X.columns)]
        parts = clone(model).fit(apart, frame["y"])
    else:
        apart = auclid.scan(both, target="y", columns=list(X.columns))
        parts = clone(model).fit(apart)
    np.testing.assert_allclose(np.asarray(parts.predict_proba(apart)), whole.predict_proba(X), rtol=1e-6, atol=1e-8)


def test_probabilities_of_numbers_with_gaps_in_files():
    X, y = table(500)
    numbers = X[["age", "tail", "known"]]
    rows = auclid.scan(numbers.assign(y=y), target="y")
    model = Calibrated(make_pipeline(Columns(), LeastSquaresAUC()))
    whole, parts = clone(model).fit(numbers.astype(float), y), clone(model).fit(rows)
    np.testing.assert_allclose(
        parts.predict_proba(rows), whole.predict_proba(numbers.astype(float)), rtol=1e-6, atol=1e-8
    )
    with pytest.raises(ValueError, match="NaN in column 'age'"):
        Calibrated(LeastSquaresAUC()).fit(rows)


def test_an_identifier_in_no_order_is_pointed_out_unless_there_is_no_room(monkeypatch):
    key = np.random.default_rng(0).permutation(300).astype(float)
    X = np.column_stack([key, np.arange(300.0), np.minimum(np.arange(300.0), 298.0)])

    def rows():
        return auclid.scan(lambda: ((X[k : k + 50], None) for k in range(0, 300, 50)))

    with pytest.warns(UserWarning, match="'x0', 'x1' have a different value in every row"):
        assert Columns().fit(rows()).identifiers_ == ["x0", "x1"]
    monkeypatch.setattr(_sizes, "DEFAULT_MEMORY", 1000)
    assert fitted(Columns(), rows()).identifiers_ == ["x1"]


def test_texts_that_never_count_are_not_looked_at():
    X = pd.DataFrame({"a": ["1", "2", "x"] * 10, "b": np.arange(30.0) ** 2})
    rows = auclid.scan(X.assign(w=[1.0, 1.0, 0.0] * 10), sample_weight="w")
    assert fitted(Columns(), rows).kinds_ == ["number", "number"]


def test_columns_without_a_frequent_text_are_refused_as_in_memory():
    X = pd.DataFrame({"key": [f"k{k}" for k in range(30)]})
    for each in (X, auclid.scan(X)):
        with pytest.raises(ValueError, match=r"Columns must be given a column that tells rows apart"):
            Columns().fit(each)


@given(st.lists(st.integers(-1, 6), max_size=30), st.integers(0, 30))
def test_tallies_add_up(places, cut):
    x = np.array([np.nan if place < 0 else float(place) for place in places])
    w = np.arange(len(x), dtype=float)
    added, whole = count_levels(x[:cut], w[:cut]) + count_levels(x[cut:], w[cut:]), count_levels(x, w)
    np.testing.assert_array_equal(added.rows, whole.rows)
    np.testing.assert_allclose(added.mass, whole.mass)
    counts = [places.count(k) for k in range(-1, max(places, default=-1) + 1)]
    assert whole.rows.tolist() == counts


def truths(n=400):
    """A table whose only column that is no number holds truths."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=n), "flag": rng.random(n) > 0.5})
    return X, (X["x"] + 2 * X["flag"] + rng.normal(size=n) > 1).astype(int)


@pytest.mark.parametrize("where", ["rows", "dask"])
@pytest.mark.parametrize(
    "model", [Scorecard(categories=["flag"]), make_pipeline(Columns(categories=["flag"]), LeastSquaresAUC())]
)
def test_truths_taken_for_categories_are_the_same_levels_everywhere(model, where):
    X, y = truths()
    if where == "rows":
        apart = auclid.scan(X.assign(y=y), target="y")
        model = clone(model).fit(apart)
    else:
        frame = pytest.importorskip("dask.dataframe").from_pandas(X.assign(y=y), npartitions=3)
        apart = frame[["x", "flag"]]
        model = clone(model).fit(apart, frame["y"])
    scores = np.asarray(model.decision_function(apart))
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-9)
    assert roc_auc(y, scores) > 0.89  # .76 without the flag


def test_texts_of_joined_frames_are_read():
    X, y = truths(100)
    table = X.assign(t=np.where(y == 1, "a", "b"), y=y)
    joined = pd.concat([table, table], ignore_index=True)
    found = Columns().fit(auclid.scan(joined, target="y")).get_feature_names_out()
    np.testing.assert_array_equal(found, Columns().fit(joined.drop(columns="y")).get_feature_names_out())


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_column_that_is_empty_in_the_first_file_is_what_it_is_in_the_next(tmp_path, ending):
    X, y = truths(100)
    empty = X.assign(t=[None] * len(X), y=y)
    full = X.assign(t=np.where(y == 1, "a", "b"), y=y)
    for name, table in (("1", empty), ("2", full)):
        path = tmp_path / f"{name}.{ending}"
        table.to_parquet(path) if ending == "parquet" else table.to_csv(path, index=False)
    together = pd.concat([empty, full], ignore_index=True).drop(columns="y")
    found = Columns().fit(auclid.scan(str(tmp_path / f"*.{ending}"), target="y")).get_feature_names_out()
    np.testing.assert_array_equal(found, Columns().fit(together).get_feature_names_out())


def test_files_that_dask_would_join_are_read_one_by_one(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.normal(size=(400, 20))).add_prefix("c"), rng.integers(0, 2, 400)
    for k in range(4):
        X.assign(y=y).iloc[100 * k : 100 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    frame = dd.read_parquet(tmp_path)
    assert frame["y"].optimize().npartitions < frame.npartitions
    model = LeastSquaresAUC().fit(frame.drop(columns="y"), frame["y"])
    np.testing.assert_allclose(model.coef_, LeastSquaresAUC().fit(X, y).coef_, rtol=1e-9)


def test_durations_are_days_wherever_they_lie(tmp_path):
    frame = pd.DataFrame({"wait": pd.to_timedelta([36, None, 12], unit="h"), "x": [0.0, 1.0, 2.0]})
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet")
    expected = [[1.5, 0.0, 0.0], [1.0, 1.0, 1.0], [0.5, 2.0, 0.0]]
    objects = frame.assign(wait=np.array([d.to_pytimedelta() if d == d else None for d in frame["wait"]], dtype=object))
    for X in (frame, objects, auclid.scan(frame), auclid.scan(tmp_path / "a.parquet"), auclid.scan(objects)):
        columns = Columns(scale=None).fit(X)
        assert columns.kinds_ == ["number", "number"]
        np.testing.assert_allclose(columns.transform(X), expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"must be numbers; got duration\[\w+\] in 'wait'\. Choose others"):
        LeastSquaresAUC().fit(auclid.scan(frame.assign(y=[0, 1, 0]), target="y"))


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_a_blank_among_numbers_in_texts_is_a_gap_and_the_column_no_identifier(blank):
    X = pd.DataFrame({"code": [str(k) for k in range(40)], "x": np.arange(40) % 7})
    assert fitted(Columns(), X).identifiers_ == fitted(Columns(), auclid.scan(X)).identifiers_ == ["code"]
    X.loc[7, "code"] = blank
    same(fitted(Columns(), X), fitted(Columns(), auclid.scan(X)), X, auclid.scan(X))
    assert fitted(Columns(), X).identifiers_ == []


def test_dates_in_another_form_are_pointed_out():
    days = pd.date_range("2024-01-01", periods=40)
    X = pd.DataFrame({
        "german": days.strftime("%d.%m.%Y"), "american": days.strftime("%m/%d/%y %H:%M"),
        "iso": days.strftime("%Y-%m-%d"), "phone": [f"0{k}-1234" for k in range(40)], "x": np.arange(40) % 7,
    })  # fmt: skip
    X.loc[3, "german"] = None
    said = "'german', 'american' seem to hold dates: written as 2024-12-31 they would be read as such."
    for source in (X, auclid.scan(X)):
        assert said in fitted(Columns(), source).notes_
