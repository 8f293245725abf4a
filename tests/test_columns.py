"""Columns: the same numbers from any library's table, laws of its scales, and what it says of odd columns."""

import datetime
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import norm, rankdata
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import auclid
from auclid import Columns, LeastSquaresAUC, _sizes
from auclid.columns._numbers import tail_share
from auclid.data import as_array
from auclid.data.blocks import stack_rows
from auclid.metrics import roc_auc

pd = pytest.importorskip("pandas")


def frame(n=60, seed=0):
    """A column of each kind, with gaps."""
    rng = np.random.default_rng(seed)
    day = np.datetime64("2023-01-01T00:00") + rng.integers(0, 600 * 24, n).astype("timedelta64[h]")
    table = pd.DataFrame(
        {
            "amount": rng.standard_normal(n),
            "wild": np.exp(4.0 * rng.standard_normal(n)),
            "truth": rng.random(n) < 0.5,
            "colour": rng.choice(["red", "green", "blue"], n),
            "town": pd.Categorical(rng.choice(["Rome", "Oslo"], n)),
            "day": pd.to_datetime(day),
        }
    )
    table.loc[::7, "amount"] = np.nan
    table.loc[::9, "colour"] = None
    table.loc[::11, "day"] = pd.NaT
    return table


def objects(table):
    return table.astype(object).to_numpy()


def quiet(X, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Columns(**params).fit(X)


# --- what comes out -------------------------------------------------------------------------------


def test_every_kind_has_its_columns_by_name():
    table = frame()
    columns = Columns().fit(table)
    assert columns.kinds_ == ["number", "number", "bool", "text", "category", "date"]
    assert columns.get_feature_names_out().tolist() == [
        "amount", "wild", "truth",
        "day", "day (sine of year)", "day (cosine of year)", "day (sine of week)", "day (cosine of week)",
        "day (sine of day)", "day (cosine of day)",
        "amount (missing)", "day (missing)",
        "colour=blue", "colour=green", "colour=red", "colour (missing)", "town=Oslo", "town=Rome",
    ]  # fmt: skip


def by_hand(x):
    x = np.asarray(x)
    return (x - x.mean()) / x.std()


def test_numbers_are_standardised_wild_ones_by_normal_scores_and_levels_are_zeros_and_ones():
    table = frame()
    columns = Columns().fit(table)
    out = pd.DataFrame(columns.transform(table), columns=columns.get_feature_names_out())
    filled = table["amount"].fillna(table["amount"].median())
    np.testing.assert_allclose(out["amount"], by_hand(filled), atol=1e-12)
    np.testing.assert_allclose(out["amount (missing)"], table["amount"].isna())
    scores = norm.ppf((rankdata(table["wild"]) - 0.5) / len(table))
    np.testing.assert_allclose(out["wild"], by_hand(scores), atol=1e-12)
    assert columns.ranked_ == ["wild"]
    np.testing.assert_array_equal(out["colour=red"], table["colour"] == "red")
    np.testing.assert_array_equal(out["colour (missing)"], table["colour"].isna())
    np.testing.assert_allclose(out["truth"], by_hand(table["truth"].astype(float)), atol=1e-12)
    known = table["day"].notna()
    hour = table["day"][known].dt.hour
    raw = Columns(scale=None).fit(table)
    plain = pd.DataFrame(raw.transform(table), columns=raw.get_feature_names_out())
    np.testing.assert_allclose(plain["day (sine of day)"][known], np.sin(2.0 * np.pi * hour / 24.0), atol=1e-9)
    assert (plain["day (sine of day)"][~known] == 0.0).all()
    np.testing.assert_allclose(plain["amount"][::7], table["amount"].median())
    np.testing.assert_allclose(plain["wild"], table["wild"])


def test_any_library_gives_the_same_numbers():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    table = frame()
    expected = Columns().fit_transform(table)
    for other in (polars.from_pandas(table), pyarrow.Table.from_pandas(table), objects(table)):
        np.testing.assert_allclose(Columns().fit_transform(other), expected, atol=1e-12)


def test_what_was_learnt_does_not_depend_on_the_rows_of_a_later_table():
    table = frame()
    columns = Columns().fit(table)
    whole = columns.transform(table)
    np.testing.assert_array_equal(np.vstack([columns.transform(table[:7]), columns.transform(table[7:])]), whole)
    digits = pd.DataFrame({"a": ["x", "y"] * 20})
    later = pd.DataFrame({"a": ["1", "2"]})  # reads as numbers now, and is a column of texts still
    np.testing.assert_array_equal(Columns().fit(digits).transform(later), np.zeros((2, 2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", ["auto", "standard", "rank", None])
def test_a_numeric_frame_an_array_and_the_floating_type(dtype, scale):
    X = np.random.default_rng(0).standard_normal((40, 3)).astype(dtype)
    X[::5, 1] = np.nan
    columns = Columns(scale=scale).fit(X)
    out = columns.transform(X)
    assert out.dtype == dtype and out.shape == (40, 4) and np.isfinite(out).all()
    again = Columns(scale=scale).fit_transform(pd.DataFrame(X, columns=list("abc")))
    np.testing.assert_allclose(again, out, atol=1e-6 if dtype == np.float32 else 1e-12)
    assert columns.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x1 (missing)"]


def test_sparse_rows_stay_sparse_and_score_as_dense_ones():
    X = sparse.random_array((50, 6), density=0.3, rng=np.random.default_rng(0), format="csr")
    X.data[3] = np.nan
    columns = Columns().fit(X)
    out = columns.transform(X)
    assert sparse.issparse(out) and np.nanmax(abs(out.data)) == 1.0 and np.isfinite(out.data).all()
    assert out.shape == (50, 7) and out[:, [6]].sum() == 1.0
    np.testing.assert_allclose(columns.transform(X.toarray()), out.toarray())
    plain = Columns(scale=None).fit_transform(X).toarray()[:, :6]
    np.testing.assert_allclose(plain[~np.isnan(X.toarray())], X.toarray()[~np.isnan(X.toarray())])
    dense = Columns().fit(X.toarray())
    np.testing.assert_allclose(dense.transform(X), dense.transform(X.toarray()))


def test_many_levels_come_out_sparse():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice([f"{k:02d}-" for k in range(60)], 3000) for name in "abcde"})
    out = quiet(table).transform(table)
    assert sparse.issparse(out) and out.shape == (3000, 300) and (out.sum(axis=1) == 5.0).all()
    LogisticRegression().fit(out, np.arange(3000) % 2)  # its solver takes indices of 32 bits only


# --- levels ---------------------------------------------------------------------------------------


def test_rare_levels_share_a_column_and_unknown_ones_join_them():
    table = pd.DataFrame({"a": ["x"] * 50 + ["y"] * 40 + ["u", "v", "w", "w", "w"]})
    columns = Columns(rare=0.04).fit(table)
    assert columns.get_feature_names_out().tolist() == ["a=x", "a=y", "a (rare)"]
    np.testing.assert_array_equal(
        columns.transform(pd.DataFrame({"a": ["w", "new", None]})), [[0, 0, 1], [0, 0, 1], [0] * 3]
    )
    assert Columns(rare=0.0).fit(table).get_feature_names_out().tolist() == ["a=w", "a=x", "a=y", "a (rare)"]
    assert Columns(rare=0.0, max_levels=1).fit(table).get_feature_names_out().tolist() == ["a=x", "a (rare)"]


def test_numbers_may_be_named_as_categories():
    X = np.array([[1.0, 5.0], [2.0, 6.0]] * 20)
    columns = Columns(categories=[1]).fit(X)
    assert columns.get_feature_names_out().tolist() == ["x0", "x1=5", "x1=6"]
    np.testing.assert_allclose(columns.transform(X)[:, 1:], [[1, 0], [0, 1]] * 20)
    table = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(Columns(categories=["b"]).fit_transform(table), columns.transform(X))
    with pytest.raises(ValueError, match=r"'categories' parameter of Columns must name columns .* got 'c'"):
        Columns(categories=["c"]).fit(table)


# --- laws -----------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60), st.sampled_from(["auto", "standard", "rank"]))
def test_order_is_kept_and_what_comes_out_is_finite(values, scale):
    x = np.array(values)
    out = Columns(scale=scale).fit_transform(x[:, None])[:, 0]
    assert np.isfinite(out).all()
    order = np.argsort(x, kind="stable")
    assert (np.diff(out[order]) >= 0.0).all()


def test_normal_scores_do_not_see_a_monotone_change_of_the_values():
    x = np.random.default_rng(0).standard_normal((300, 1))
    a, b = (Columns(scale="rank").fit_transform(z) for z in (x, np.exp(3.0 * x)))
    np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_any_unit_gives_the_same_numbers(scale):
    X = np.random.default_rng(0).standard_normal((50, 2))
    np.testing.assert_allclose(Columns().fit_transform(X * scale), Columns().fit_transform(X), rtol=1e-9)


def test_values_never_seen_stay_near_those_that_were():
    X = np.random.default_rng(0).standard_normal((50, 2))
    columns = Columns().fit(X)
    far = columns.transform(np.array([[1e300, -1e300], [np.nan, 0.0]]))
    assert np.isfinite(far).all() and np.abs(far).max() < 12.0


def test_shares_of_the_farthest_hundredth():
    rng = np.random.default_rng(0)
    Z = np.column_stack(
        [rng.standard_normal(50_000), rng.exponential(size=50_000), np.exp(rng.standard_normal(50_000))]
    )
    np.testing.assert_allclose(tail_share(Z), [0.085, 0.2, 0.45], atol=0.08)


def test_the_ends_of_a_scale_are_no_tail_and_a_few_rows_of_one_wild_value_are():
    days = np.sin(2.0 * np.pi * (np.arange(700) % 7) / 7.0)
    marks, thirds = np.arange(700) % 5 + 1.0, np.arange(700) % 3 - 1.0
    wild = np.where(np.arange(700) < 14, 1e5, np.linspace(0.0, 1.0, 700))  # one value in a fiftieth of the rows
    Z = np.column_stack([days, marks, thirds, wild])
    np.testing.assert_allclose(tail_share(Z), [0.0, 0.0, 0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(tail_share(Z, np.full(700, 3.0)), tail_share(np.repeat(Z, 3, axis=0)), atol=1e-12)
    assert Columns().fit(Z).ranked_ == ["x3"]


def test_a_few_wild_values_no_longer_cost_a_linear_model_its_ranking():
    rng = np.random.default_rng(0)
    X = rng.random((2000, 3))
    y = X[:, 0] + 0.2 * rng.standard_normal(2000) > 0.8
    X[rng.integers(0, 2000, 12), 0] = 1e5
    for model in (LeastSquaresAUC(), LogisticRegression()):
        scores = [
            roc_auc(y, make_pipeline(before, clone(model)).fit(X, y).decision_function(X))
            for before in (Columns(), StandardScaler())
        ]
        assert scores[0] > scores[1] + 0.1 and scores[0] > 0.9


# --- what is odd ----------------------------------------------------------------------------------


def test_identifiers_and_constants_are_pointed_out():
    table = frame()
    table["row"], table["key"], table["one"], table["same"] = range(60), [f"k{k}" for k in range(60)], 1.0, "s"
    columns = Columns()
    with pytest.warns(
        UserWarning, match="'key', 'row' have a different value in every row, like an identifier"
    ) as seen:
        columns.fit(table)
    assert seen[0].filename == __file__
    assert columns.identifiers_ == ["key", "row"] and columns.constants_ == ["same", "one"]
    names = columns.get_feature_names_out().tolist()
    assert "row" in names and "one" in names and not any(name.startswith("key") for name in names)
    assert any("'same', 'one' have the same value in every row." in note for note in columns.notes_)
    assert (columns.transform(table)[:, names.index("one")] == 0.0).all()


def test_a_table_of_identifiers_alone_gets_one_sentence():
    with pytest.raises(ValueError, match=r"Columns must be given a column that tells rows apart; got only \['a'\]"):
        Columns().fit(pd.DataFrame({"a": ["u", "v", "w"]}))


def test_frames_whose_columns_changed_are_refused():
    table = frame()
    columns = Columns().fit(table)
    with pytest.raises(ValueError, match="feature names"):
        columns.transform(table[table.columns[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        columns.transform(table.rename(columns={"amount": "sum"}))
    table["amount"] = "much"
    with pytest.raises(ValueError, match=r"Column 'amount' of Columns must hold numbers, as it did .*; got 'much'"):
        columns.transform(table)


def test_infinity_and_empty_tables_get_one_sentence():
    with pytest.raises(ValueError, match="infinity"):
        Columns().fit(pd.DataFrame({"a": [1.0, np.inf]}))
    with pytest.raises(ValueError, match="0 sample"):
        Columns().fit(frame()[:0])


# --- files, pipelines -----------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["frame", "array", "sparse"])
def test_files_and_pickles_give_the_same_numbers(library, tmp_path):
    X = frame() if library == "frame" else np.exp(np.random.default_rng(0).standard_normal((40, 3)) * 3.0)
    X = sparse.csr_array(X) if library == "sparse" else X
    columns = Columns().fit(X)
    auclid.save(tmp_path / "m", columns)
    for copy in (auclid.load(tmp_path / "m"), pickle.loads(pickle.dumps(columns))):
        a, b = copy.transform(X), columns.transform(X)
        assert (a != b).sum() == 0
        assert copy.get_feature_names_out().tolist() == columns.get_feature_names_out().tolist()


def test_a_pipeline_on_a_frame_can_be_kept_and_gives_frames_on_request(tmp_path):
    table = frame(200)
    y = np.arange(200) % 3 == 0
    model = make_pipeline(Columns(), LeastSquaresAUC()).fit(table, y)
    auclid.save(tmp_path / "m", model)
    np.testing.assert_array_equal(auclid.load(tmp_path / "m").decision_function(table), model.decision_function(table))
    out = Columns().set_output(transform="pandas").fit_transform(table)
    assert list(out.columns[:2]) == ["amount", "wild"]


def test_dates_of_any_kind_are_days():
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 3), datetime.date(2020, 1, 2)]
    as_objects, as_texts = (np.array([[convert(d)] for d in days], dtype=object) for convert in (lambda d: d, str))
    expected = Columns().fit_transform(np.array(days, dtype="datetime64[D]")[:, None].astype(float))
    for X in (as_objects, as_texts, pd.DataFrame({"d": pd.to_datetime(days)})):
        np.testing.assert_allclose(Columns().fit_transform(X), expected)


# --- rows in files and on a cluster ---------------------------------------------------------------------------------


def heavy(n=400, d=5, seed=0):
    """Columns of several kinds: normal, heavy-tailed, constant, of two values, huge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] = np.exp(6.0 * X[:, 1])
    X[:, 2] = 3.0
    X[:, 3] = X[:, 3] > 1.0
    X[:, 4] *= 1e200
    return X


def blocks_of(X, size, weight=None):
    def give():
        for start in range(0, X.shape[0], size):
            part = slice(start, start + size)
            w = () if weight is None else (weight[part],)
            yield (X[part], np.zeros(X[part].shape[0]), *w)

    return auclid.scan(give)


@pytest.mark.parametrize("scale", ["auto", "standard", "rank", None])
@pytest.mark.parametrize("size", [7, 400])
def test_rows_by_blocks_are_prepared_as_in_memory(scale, size):
    X = heavy()
    whole, parts = Columns(scale=scale).fit(X), Columns(scale=scale).fit(blocks_of(X, size))
    assert parts.ranked_ == whole.ranked_ and parts.constants_ == whole.constants_
    np.testing.assert_allclose(parts.transform(X), whole.transform(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(parts.transform(blocks_of(X, 13)), parts.transform(X))


@pytest.mark.parametrize("where", ["rows", "dask"])
def test_gaps_in_files_and_on_a_cluster_are_marked_as_in_memory(where):
    X = heavy()
    X[::7, 1] = X[3::50, 4] = np.nan
    if where == "dask":
        lazy = pytest.importorskip("dask.array").from_array(X, chunks=(90, 5))
        parts = Columns().fit(lazy)
        said = parts.transform(lazy).compute()
    else:
        parts = Columns().fit(blocks_of(X, 90))
        said = parts.transform(blocks_of(X, 13))
    whole = Columns().fit(X)
    assert parts.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    np.testing.assert_allclose(said, whole.transform(X), rtol=1e-10, atol=1e-12)


def test_a_pipeline_on_rows_with_gaps_has_the_columns_that_mark_them():
    X, y = heavy(), np.arange(400) % 2
    X[:, 0] += y
    X[::7, 1] = np.nan

    def give():
        for start in range(0, 400, 90):
            yield X[start : start + 90], y[start : start + 90]

    parts = make_pipeline(Columns(), LeastSquaresAUC()).fit(auclid.scan(give))
    whole = make_pipeline(Columns(), LeastSquaresAUC()).fit(X, y)
    np.testing.assert_allclose(parts[-1].coef_, whole[-1].coef_, rtol=1e-9, atol=1e-12)


def test_of_many_rows_the_same_sample_is_taken_wherever_they_lie(monkeypatch):
    monkeypatch.setattr(_sizes, "COLUMN_SAMPLE", 300)
    X = heavy(1000)
    weight = np.arange(1000) % 3.0
    for w in (None, weight):
        whole = Columns().fit(X, sample_weight=w)
        parts = Columns().fit(blocks_of(X, 37, w))
        assert parts.ranked_ == whole.ranked_ == ["x1"]
        np.testing.assert_allclose(parts.transform(X), whole.transform(X), rtol=1e-10, atol=1e-12)


def test_sparse_rows_by_blocks():
    X = sparse.csr_matrix(np.where(np.random.default_rng(0).random((300, 6)) < 0.3, heavy(300, 6), 0.0))
    whole, parts = Columns().fit(X), Columns().fit(blocks_of(X, 41))
    np.testing.assert_array_equal(parts.transform(X).toarray(), whole.transform(X).toarray())
    np.testing.assert_array_equal(parts.transform(blocks_of(X, 50)).toarray(), whole.transform(X).toarray())


def test_dask_collections_are_prepared_as_in_memory():
    da = pytest.importorskip("dask.array")
    X = heavy()
    lazy = da.from_array(X, chunks=(90, 5))
    parts, whole = Columns().fit(lazy), Columns().fit(X)
    np.testing.assert_allclose(parts.transform(lazy).compute(), whole.transform(X), rtol=1e-10, atol=1e-12)


def test_a_pipeline_is_fitted_on_rows_as_they_lie():
    X = heavy()
    y = np.arange(400) % 2
    X[:, 0] += y

    def give():
        for start in range(0, 400, 90):
            yield pd.DataFrame(X[start : start + 90], columns=list("abcde")), y[start : start + 90]

    rows = auclid.scan(give)
    assert isinstance(Columns().fit_transform(rows), auclid.Rows)
    with warnings.catch_warnings(action="error"):
        parts = make_pipeline(Columns(), LeastSquaresAUC()).fit(rows)
    whole = make_pipeline(Columns(), LeastSquaresAUC()).fit(X, y)
    np.testing.assert_allclose(parts[-1].coef_, whole[-1].coef_, rtol=1e-9, atol=1e-12)
    assert parts.score(rows, y) == pytest.approx(whole.score(X, y))


def test_rows_bring_their_own_weight():
    with pytest.raises(ValueError, match="with their own weight"):
        Columns().fit(blocks_of(heavy(), 50), sample_weight=np.ones(400))


@pytest.mark.parametrize("size", [50, 400])
def test_numbers_by_blocks_may_be_categories(size):
    X = heavy()
    X[::9, 3] = np.nan
    whole, parts = Columns(categories=[3]).fit(X), Columns(categories=[3]).fit(blocks_of(X, size))
    assert parts.kinds_ == whole.kinds_ and parts.kinds_[3] == "category"
    assert parts.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    np.testing.assert_allclose(parts.transform(blocks_of(X, size)), whole.transform(X), rtol=1e-10, atol=1e-12)


def test_a_whole_number_beyond_floats_gets_a_sentence():
    cells = pd.Series([1, 2, 10**400] * 6, dtype=object)
    with pytest.raises(ValueError, match="Columns"):
        Columns().fit(pd.DataFrame({"a": cells}))


def test_tails_of_all_columns_at_once_are_those_of_each():
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.standard_cauchy(301), rng.integers(0, 3, 301), np.ones(301), np.arange(301.0) < 4])
    np.testing.assert_allclose(tail_share(Z), tail_share(Z, np.ones(301)))
    np.testing.assert_allclose(tail_share(Z[:20]), tail_share(Z[:20], np.full(20, 2.0)))
    np.testing.assert_allclose(tail_share(Z[:1]), tail_share(Z[:1], np.ones(1)))


# --- streams ---------------------------------------------------------------------------------------------


def stream_rows(n=900, seed=0):
    """Numbers, gaps and categories; the second column is constant in the first third."""
    rng = np.random.default_rng(seed)
    second = np.where(np.arange(n) < n // 3, 2.0, rng.normal(size=n))
    gaps = np.where(rng.random(n) < 0.1, np.nan, rng.normal(5.0, 3.0, n))
    return pd.DataFrame({"a": rng.normal(1.0, 10.0, n), "b": second, "c": gaps, "d": rng.choice(["x", "y"], n)})


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_batches_have_the_means_and_deviations_of_all_rows(weighted):
    X = stream_rows()
    weight = np.random.default_rng(1).random(len(X)) if weighted else np.ones(len(X))
    X["c"] = X["c"].fillna(5.0)  # its median would be that of the first batch
    columns = Columns(scale="standard")
    for at in range(0, len(X), 300):
        columns.partial_fit(X[at : at + 300], sample_weight=weight[at : at + 300] if weighted else None)
    whole = Columns(scale="standard").fit(X, sample_weight=weight if weighted else None)
    np.testing.assert_allclose(columns.transform(X), whole.transform(X), atol=1e-12)
    far = X.assign(a=1e9)
    np.testing.assert_allclose(columns.transform(far), whole.transform(far), atol=1e-12)


def test_the_first_batch_fixes_what_comes_out():
    X = stream_rows()
    columns = Columns().partial_fit(X[:300])
    names = columns.get_feature_names_out().tolist()
    assert columns.constants_ == ["b"]
    later = X[300:].assign(d="new", a=np.nan)
    columns.partial_fit(later)
    assert columns.get_feature_names_out().tolist() == names and columns.constants_ == []
    Z = columns.transform(later)
    assert np.isfinite(Z).all() and Z.shape[1] == len(names)


def test_a_batch_that_fails_changes_nothing():
    X = stream_rows()
    columns = Columns().partial_fit(X[:300])
    before = columns.transform(X)
    with pytest.raises(ValueError):
        columns.partial_fit(X[["b", "a", "c", "d"]])
    with pytest.raises(ValueError, match="sample_weight"):
        columns.partial_fit(X[300:], sample_weight=[1.0])
    np.testing.assert_array_equal(columns.transform(X), before)


def test_batches_of_sparse_rows_have_size_one_at_the_most():
    X = sparse.random_array((200, 5), density=0.2, rng=np.random.default_rng(0), format="csr")
    columns = Columns().partial_fit(X[:100]).partial_fit(3.0 * X[100:])
    whole = Columns().fit(sparse.vstack([X[:100], 3.0 * X[100:]], format="csr"))
    np.testing.assert_allclose(columns.transform(X).toarray(), whole.transform(X).toarray())


def test_blocks_stay_as_they_are():
    X = np.random.default_rng(0).normal(size=(200, 3)) ** 3
    X[5, 1] = np.nan
    columns = Columns().fit(X)
    passed = X.copy()
    columns.transform(passed)
    np.testing.assert_array_equal(passed, X)


@pytest.mark.parametrize("made", [np.asarray, sparse.csr_array])
def test_rows_are_stacked_in_their_order(made):
    X = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)
    parts = (made(X[a:b]) for a, b in ((0, 4), (4, 4), (4, 9)))
    np.testing.assert_array_equal(as_array(stack_rows(parts, 9)), X)
