"""Texts, categories, truths and dates in rows that need not fit in memory: the same model as of the table itself."""

import datetime
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import auclid
from auclid import LeastSquaresAUCCV, RankSVM, Scorecard, _sizes
from auclid.additive import scorecard
from auclid.data.encoding import ColumnEncoding, decode, merge_encodings
from auclid.data.readers import reader
from auclid.stats.labelled import bounded_sample
from auclid.validation import labelled_dataset

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")

CARD = Scorecard(interactions=0, n_knots=8, random_state=0)


def table(n=400, seed=0):
    """A frame with a column of every kind, missing cells in most, and labels that depend on all."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue", "rare " + str(seed)], n, p=[0.4, 0.3, 0.29, 0.01])
    size = rng.choice(["S", "M", "L"], n)
    age, day, known = rng.normal(size=n), rng.integers(0, 900, n), rng.random(n) < 0.4
    y = age + (colour == "red") - (size == "L") + day / 500 + known + rng.normal(size=n) > 2.0
    gone = rng.random((n, 5)) < 0.1
    frame = pd.DataFrame({
        "age": np.where(gone[:, 0], np.nan, age),
        "colour": np.where(gone[:, 1], None, colour),
        "size": pd.Categorical(np.where(gone[:, 2], None, size), ["S", "M", "L", "never"]),
        "day": pd.Timestamp("2020-02-29") + pd.to_timedelta(day * 86_399, unit="s"),
        "known": known,
        "code": np.where(gone[:, 3], None, rng.integers(0, 30, n).astype(str)),
        "since": [None if g else str(datetime.date(2000, 1, 1) + datetime.timedelta(int(d))) for g, d in
                  zip(gone[:, 4], day, strict=True)],
    })  # fmt: skip
    frame.loc[gone[:, 0], "day"] = pd.NaT
    return frame, y.astype(int)


def polars_frame(frame):
    polars = pytest.importorskip("polars")
    return polars.from_pandas(frame)


def in_blocks(monkeypatch, rows, columns=7):
    """Sources of named columns give blocks of so many rows."""
    monkeypatch.setattr(reader, "READ_BYTES", rows * 8 * columns)


def same(whole, parts, X, rows):
    """Whether two cards are one: kinds, levels, values, scores."""
    for a, b in zip(whole.shapes_, parts.shapes_, strict=True):
        assert (a.name, a.kind, a.levels) == (b.name, b.kind, b.levels)
        np.testing.assert_allclose(b.values, a.values, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(b.missing, a.missing, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.asarray(parts.decision_function(rows)), whole.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(np.asarray(parts.predict_proba(rows)), whole.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("size", [1000, 150, 37])
@pytest.mark.parametrize("source", ["pandas", "polars", "arrow", "parquet", "ipc", "function"])
def test_a_scorecard_of_any_source_is_that_of_the_frame(tmp_path, monkeypatch, source, size):
    X, y = table()
    both = X.assign(y=y)
    in_blocks(monkeypatch, size)
    arrow = pa.Table.from_pandas(both, preserve_index=False)
    if source == "parquet":
        parquet.write_table(arrow, tmp_path / "a.parquet")
    if source == "ipc":
        with pa.ipc.new_file(tmp_path / "a.arrow", arrow.schema) as file:
            file.write_table(arrow, max_chunksize=size)
    cuts = range(0, len(y), size)
    made = {
        "pandas": lambda: both, "polars": lambda: polars_frame(both), "arrow": lambda: arrow,
        "parquet": lambda: tmp_path / "a.parquet", "ipc": lambda: tmp_path / "a.arrow",
        "function": lambda: lambda: ((X.iloc[k : k + size], y[k : k + size]) for k in cuts),
    }[source]()  # fmt: skip
    rows = auclid.scan(made, target=None if source == "function" else "y")
    whole, parts = clone(CARD).fit(X, y), clone(CARD).fit(rows)
    assert [shape.kind for shape in whole.shapes_] == ["number", "text", "category", "date", "bool", "number", "date"]
    assert list(parts.feature_names_in_) == list(X.columns)
    same(whole, parts, X, rows)
    if source != "function":
        same(whole, pickle.loads(pickle.dumps(parts)), X, pickle.loads(pickle.dumps(rows)))


def test_a_scorecard_of_a_csv_file_knows_what_its_cells_are(tmp_path, monkeypatch):
    X, y = table(600)
    X = X.drop(columns="code").assign(time=np.where(X["known"], "12:30:00", "23:59:59"))
    X["y"] = np.where(y == 1, "yes", "no")
    X.to_csv(tmp_path / "a.csv", index=False)
    again = pd.read_csv(tmp_path / "a.csv")
    in_blocks(monkeypatch, 50)
    rows = auclid.scan(tmp_path / "a.csv", target="y")
    parts = clone(CARD).fit(rows)
    assert [shape.kind for shape in parts.shapes_] == ["number", "text", "text", "date", "bool", "date", "text"]
    whole = clone(CARD).fit(again.drop(columns="y"), again["y"])
    same(whole, parts, again.drop(columns="y"), rows)
    assert parts.score(rows) == pytest.approx(whole.score(again.drop(columns="y"), again["y"]))
    np.testing.assert_array_equal(parts.decision_function(rows, out=tmp_path / "s.npy"), parts.decision_function(rows))


@pytest.mark.parametrize("ends", [[], [150], [0, 37, 37, 150, 399]])
def test_a_scorecard_of_dask_partitions_is_that_of_the_frame(ends):
    dd = pytest.importorskip("dask.dataframe")
    X, y = table()
    cuts = [0, *ends, len(y)]
    both = X.assign(y=y)
    frame = dd.from_map(lambda ends: both.iloc[slice(*ends)], list(pairwise(cuts)), meta=both.iloc[:0])
    apart, of = frame[list(X.columns)], frame["y"]
    whole, parts = clone(CARD).fit(X, y), clone(CARD).fit(apart, of)
    same(whole, parts, X, apart)
    assert hasattr(parts.decision_function(apart), "dask")
    with pytest.raises(ValueError, match=r"'colour' is not\. Choose others.* or use Scorecard, which knows texts"):
        RankSVM().fit(apart, of)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 120), st.integers(0, 5))
def test_blocks_do_not_matter_to_levels_and_values(size, seed):
    X, y = table(120, seed)
    card = Scorecard(interactions=0, n_knots=4, smooth=1.0, ranker=auclid.LeastSquaresAUC(alpha=1e-2), random_state=0)
    rows = auclid.scan(lambda: ((X.iloc[k : k + size], y[k : k + size]) for k in range(0, len(y), size)))
    same(clone(card).fit(X, y), clone(card).fit(rows), X, rows)


def test_levels_and_values_come_from_all_rows_where_some_are_drawn(monkeypatch):
    """Values are those of the sample's own model once it has been told of all other rows."""
    monkeypatch.setattr(_sizes, "MIN_SAMPLE_ROWS", 500)
    X, y = table(3000)
    X["id"] = np.arange(3000)
    kinds = ["age", "colour", "size", "day", "known", "code", "since", "id"]
    rows = auclid.scan(X[kinds].assign(y=y), target="y", memory=0)
    card, drawn = clone(CARD).fit(rows), clone(CARD)
    found = bounded_sample(labelled_dataset(Scorecard(), rows), 500, _sizes.MIN_CLASS_ROWS)
    assert not found.complete and len(found.labels) == 500
    some = rows.decode(found.X)
    sample, learn = some.to_pandas(), scorecard.learn_columns
    assert (sample["colour"] == "rare 0").sum() < 5
    assert "rare 0" in card.knots_["colour"]  # of all rows; those drawn have too few
    monkeypatch.setattr(scorecard, "learn_columns", lambda *given: (list(card._kept_columns), learn(*given)[1]))
    drawn.set_params(ranker=LeastSquaresAUCCV()).fit(some, found.labels)  # the logistic loss needs all rows
    other = ~X["id"].isin(sample["id"])
    drawn.partial_fit(X[kinds][other], y[other])
    np.testing.assert_allclose(card.contributions(X[kinds]), drawn.contributions(X[kinds]), rtol=1e-6, atol=1e-9)
    assert [shape.kind for shape in card.shapes_][:4] == ["number", "text", "category", "date"]
    assert [shape.kind for shape in card.shapes_][4:] == ["bool", "number", "date", "number"]


def test_a_text_that_only_later_is_no_number(monkeypatch):
    """The kind of a column is that of all its cells, not of those that happened to be drawn."""
    monkeypatch.setattr(_sizes, "MIN_SAMPLE_ROWS", 300)
    X, y = table(3000)
    X = X[["age", "code"]].copy()
    X.loc[2999, "code"] = "none"
    card = clone(CARD).fit(auclid.scan(X.assign(y=y), target="y", memory=0))
    assert card.shapes_[1].kind == "text" and len(card.shapes_[1].levels) == 31


def test_who_knows_numbers_only_refuses_texts_and_names_who_does_not(tmp_path):
    X, y = table()
    rows = auclid.scan(X.assign(y=y), target="y")
    said = r"must be numbers; got (large_)?string in 'colour', 'size', 'day', 'code', 'since'\. Choose others with"
    for model in (LeastSquaresAUCCV(), RankSVM(), auclid.SPAM()):
        with pytest.raises(ValueError, match=said + r".* or use Scorecard, which knows texts and dates"):
            model.fit(rows)
        assert not [name for name in vars(model) if name.endswith("_")]
    numbers = auclid.scan(X.assign(y=y).dropna(), target="y", columns=["age", "known"])
    model = RankSVM().fit(numbers)
    with pytest.raises(ValueError, match="must be those it was fitted with"):
        model.decision_function(rows)


def test_the_front_door_learns_from_texts_and_dates_in_files(tmp_path):
    X, y = table()
    X["colour"] = X["colour"].astype("string")
    parquet.write_table(pa.Table.from_pandas(X.assign(y=y), preserve_index=False), tmp_path / "a.parquet")
    rows = auclid.scan(tmp_path / "a.parquet", target="y")
    model = auclid.AUCClassifier(methods=["LeastSquaresAUC", "boosting"], random_state=0)
    parts, whole = clone(model).fit(rows), clone(model).fit(X, y)
    np.testing.assert_allclose(parts.decision_function(rows), whole.decision_function(X), rtol=1e-6, atol=1e-6)
    assert parts.score(rows) == pytest.approx(whole.score(X, y))


def test_the_front_door_fits_linear_members_on_all_rows_with_texts(monkeypatch):
    X, y = table(1200)
    monkeypatch.setattr(_sizes, "MIN_DRAWN_ROWS", 400)
    rows = auclid.scan(X.assign(y=y), target="y", memory=0)
    model = auclid.AUCClassifier(methods="LeastSquaresAUC", random_state=0).fit(rows)
    assert model.leaderboard_[0].note.endswith("fitted on all 1,200 rows")
    assert model.score(rows) > 0.75


def test_what_a_user_sees_of_such_rows_is_a_table():
    X, y = table()
    rows = auclid.scan(X.assign(y=y), target="y")
    arrow = pa.Table.from_pandas(X, preserve_index=False)
    for got, labels, where in (
        (*rows.head(7), slice(7)), (*next(rows.blocks()), slice(None)), (*rows.sample(1000), slice(None)),
    ):  # fmt: skip
        frame = got.to_pandas()
        np.testing.assert_array_equal(labels, y[where])
        for name in X.columns:
            mine, theirs = frame[name], arrow.to_pandas()[name][where]
            np.testing.assert_array_equal(mine.isna(), theirs.isna())
            if name != "age":
                assert mine.dropna().astype(str).tolist() == theirs.dropna().astype(str).tolist()
    assert rows.non_numeric.keys() == {"colour", "size", "day", "code", "since"}


def test_texts_never_seen_are_pooled_and_lists_and_names_of_rows_are_refused():
    X, y = table()
    card = clone(CARD).fit(auclid.scan(X.assign(y=y), target="y"))
    strange = X.assign(colour="violet")
    np.testing.assert_allclose(card.decision_function(auclid.scan(strange)), card.decision_function(strange))
    mixed = X.assign(colour=[k if k % 2 else "red" for k in range(len(X))])
    whole, parts = clone(CARD).fit(mixed, y), clone(CARD).fit(auclid.scan(mixed.assign(y=y), target="y"))
    same(whole, parts, mixed, auclid.scan(mixed))
    with pytest.raises(ValueError, match=r"must be numbers; got list<.*> in 'list'\. Choose others"):
        auclid.scan(X.assign(list=[[1]] * len(X)))
    with pytest.raises(ValueError, match="Column 'colour' must hold at most 3 different texts; it has more"):
        ColumnEncoding("text", "string").encode(pa.array(["a", "b", None, "c", "d"]), "colour", max_levels=3)


cells = st.one_of(st.none(), st.text(max_size=5))
moments = st.datetimes(datetime.datetime(1881, 1, 1), datetime.datetime(2059, 1, 1))  # beyond, days tell no microsecond


@settings(max_examples=50, deadline=None)
@given(st.lists(cells, max_size=20), st.lists(st.one_of(st.none(), moments), max_size=20), st.integers(0, 20))
def test_numbers_stand_for_cells_and_back(texts, days, cut):
    for kind, values, type_ in (
        ("text", texts, pa.string()), ("category", texts, pa.string()), ("date", days, pa.timestamp("us")),
        ("bool", [None if day is None else day.day > 15 for day in days], pa.bool_()),
    ):  # fmt: skip
        column, array = ColumnEncoding(kind, str(type_)), pa.array(values, type_)
        parts = [column.encode(array[:cut], "a"), column.encode(array[cut:], "a")]
        found = np.concatenate(parts).astype(float)
        assert decode(found[:, None], ["a"], {"a": column})["a"].to_pylist() == values
        other = ColumnEncoding(kind, str(type_))
        other.encode(array[cut:], "a")
        first = ColumnEncoding(kind, str(type_))
        first.encode(array[:cut], "a")
        assert merge_encodings({"a": first}, {"a": other})["a"].levels == column.levels


@pytest.mark.parametrize(
    "first, later",
    [([1.0], [datetime.datetime(2020, 1, 1)]), ([1.0], ["x"]), ([datetime.datetime(2020, 1, 1)], [7]), ([None], ["x"])],
    ids=["dates after numbers", "texts after numbers", "numbers after dates", "texts after nothing"],
)
def test_a_column_that_becomes_something_else_is_refused_in_a_sentence(first, later):
    def blocks():
        for cells in (first, later):
            yield pa.table({"a": pa.array(cells * 40)}), np.arange(40) % 2

    for model in (LeastSquaresAUCCV(cv=2), Scorecard()):
        with pytest.raises(ValueError, match=r"must be numbers.*'a'"):
            model.fit(auclid.scan(blocks))


def test_truths_may_become_numbers():
    def blocks():
        yield pa.table({"a": pa.array([True, False] * 20)}), np.arange(40) % 2
        yield pa.table({"a": pa.array([0.5, 1.0] * 20)}), np.arange(40) % 2

    assert auclid.LeastSquaresAUC().fit(auclid.scan(blocks)).coef_[0, 0] < 0.0


def test_the_odds_of_a_class_of_which_more_were_drawn_are_those_of_all_rows(monkeypatch):
    monkeypatch.setattr(_sizes, "MIN_SAMPLE_ROWS", 400)
    rng = np.random.default_rng(0)
    y = np.arange(20_000) < 60
    X = pd.DataFrame({"a": rng.normal(size=len(y)) + y, "b": rng.normal(size=len(y))})
    rows = auclid.scan(X.assign(y=y), target="y", memory=0)
    model = Scorecard(interactions=0).fit(rows)
    assert 0.001 < model.predict_proba(X)[:, 1].mean() < 0.009
