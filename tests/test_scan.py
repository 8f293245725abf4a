"""Rows by blocks are the rows of the table, whatever the source, the blocks and the memory; bad rows get a sentence."""

import datetime
import gc
import gzip
import lzma
import os
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file

import auclid
from auclid import _sizes
from auclid.data.readers import reader
from auclid.data.readers.libsvm import whole_lines
from auclid.data.sizes import as_bytes
from auclid.metrics import auc_interval, average_precision, roc_auc
from auclid.metrics._operating_point import best_threshold
from auclid.solvers.threshold import youden_threshold
from auclid.stats.labelled import bounded_sample
from auclid.validation import labelled_dataset

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def table(n=60, d=3, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)).astype(dtype), rng.integers(0, 2, n)
    return X, y, rng.random(n).round(3)


def named(X, y, w):
    return {**{f"a{k}": X[:, k] for k in range(X.shape[1])}, "y": y, "w": w}


def by_function(X, y, w, size=7):
    return lambda: ((X[k : k + size], y[k : k + size], w[k : k + size]) for k in range(0, len(y), size))


def sources(folder, X, y, w):
    """(kind, source, names of target and weight) of the same rows."""
    columns, named_too = named(X, y, w), {"target": "y", "sample_weight": "w"}
    whole = pa.table(columns)
    parquet.write_table(whole, folder / "one.parquet", row_group_size=11)
    yield "parquet", folder / "one.parquet", named_too
    (folder / "many").mkdir(exist_ok=True)
    for k in range(3):
        parquet.write_table(whole.slice(k * 25, 25), folder / "many" / f"part-{k}.parquet")
    (folder / "many" / "_SUCCESS").touch()
    yield "folder", folder / "many", named_too
    yield "glob", str(folder / "many" / "part-*.parquet"), named_too
    with pa.ipc.new_file(folder / "one.arrow", whole.schema) as file:
        for batch in whole.to_batches(max_chunksize=13):
            file.write(batch)
    yield "ipc", folder / "one.arrow", named_too
    pd.DataFrame(columns).to_csv(folder / "one.csv", index=False)
    yield "csv", folder / "one.csv", named_too
    (folder / "one.csv.gz").write_bytes(gzip.compress((folder / "one.csv").read_bytes()))
    yield "gz", folder / "one.csv.gz", named_too
    (folder / "one.csv.xz").write_bytes(lzma.compress((folder / "one.csv").read_bytes()))
    yield "xz", folder / "one.csv.xz", named_too
    np.savez(folder / "one.npz", X=X, y=y, w=w)
    yield "npz", folder / "one.npz", {"sample_weight": "w"}
    np.save(folder / "X.npy", X)
    np.save(folder / "X.y.npy", y)
    np.save(folder / "w.npy", w)
    yield "npy", folder / "X.npy", {"sample_weight": folder / "w.npy"}
    yield "array", X, {"target": y, "sample_weight": w}
    yield "pyarrow", whole, named_too
    yield "pandas", pd.DataFrame(columns), named_too
    yield "polars", pl.DataFrame(columns), named_too
    yield "lazy", pl.DataFrame(columns).lazy(), named_too
    yield "function", by_function(X, y, w), {}


KINDS = "parquet folder glob ipc csv gz xz npy npz array pyarrow pandas polars lazy function".split()
RESIDENT = "npy npz array pyarrow pandas polars".split()


def together(rows):
    blocks = list(rows.blocks())
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory", [None, 0, 500])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_source_gives_the_table_again_and_again(tmp_path, monkeypatch, kind, memory, dtype):
    monkeypatch.setattr(reader, "READ_BYTES", 400)
    X, y, w = table(dtype=dtype)
    _, source, names = next(each for each in sources(tmp_path, X, y, w) if each[0] == kind)
    rows = auclid.scan(source, memory=memory, **names)
    for _ in range(4):
        got, labels = together(rows)
        np.testing.assert_array_equal(got.astype(dtype), X)
        np.testing.assert_array_equal(labels, y)
    assert got.dtype == rows.dtype == (np.float64 if kind in ("csv", "gz", "xz") else dtype)
    assert rows.shape == X.shape and len(rows.columns) == 3
    np.testing.assert_array_equal(rows.target(), y)
    np.testing.assert_array_equal(rows.sample_weight(), w)
    np.testing.assert_array_equal(rows.head(9)[0].astype(dtype), X[:9])
    for _ in range(2):
        again = auclid.scan(source, memory=memory, **names)
        np.testing.assert_array_equal(again.sample(20, 5)[0], rows.sample(20, 5)[0])
    assert rows.passes <= {None: 1, 0: 2, 500: 2}[memory] or kind in RESIDENT


@given(
    n=st.integers(1, 40), size=st.integers(1, 50), memory=st.integers(0, 2000), kind=st.sampled_from(["dense", "csr"])
)
def test_blocks_of_any_size_and_any_memory_keep_the_rows(n, size, memory, kind):
    X, y, w = table(n, 4)
    X[X < 0.3] = 0.0
    given_rows = X if kind == "dense" else sparse.csr_matrix(X)
    rows = auclid.scan(by_function(given_rows, y, w, size), memory=memory)
    for _ in range(3):
        parts = [X.toarray() if kind == "csr" else X for X, _ in rows.blocks()]
        np.testing.assert_array_equal(np.concatenate(parts), X)
    assert rows.passes == 1  # what was not kept was spooled at once
    np.testing.assert_array_equal(rows.sample_weight(), w)
    np.testing.assert_array_equal(rows.sample(n, 0)[1], y)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("memory", [None, 0])
def test_libsvm_learns_its_columns_on_the_way(tmp_path, monkeypatch, first, memory):
    from auclid.data.readers import libsvm

    monkeypatch.setattr(libsvm, "PIECE_BYTES", 200)
    X, y, _ = table(80, 6)
    X[np.random.default_rng(1).random(X.shape) < 0.6] = 0.0
    X[:40, 3:] = 0.0  # later columns come later
    X[70, 5] = X[3, 0] = 1.0
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=first == 0)
    rows = auclid.scan(tmp_path / "a.svm", memory=memory)
    assert rows.columns == [str(k + first) for k in range(6)]
    for _ in range(2):
        np.testing.assert_allclose(sparse.vstack([B for B, _ in rows.blocks()]).toarray(), X)
    assert rows.shape == (80, 6) and rows.passes == 1
    np.testing.assert_array_equal(rows.target(), y)
    some = auclid.scan(tmp_path / "a.svm", columns=["5", "2"], memory=memory)
    np.testing.assert_allclose(some.head(80)[0].toarray(), X[:, [5 - first, 2 - first]])


def test_columns_are_pushed_down_and_keep_their_order(tmp_path, monkeypatch):
    X, y, w = table()
    parquet.write_table(pa.table({**named(X, y, w), "name": ["b"] * len(y)}), tmp_path / "a.parquet")
    asked = []
    opened = parquet.ParquetFile.iter_batches
    monkeypatch.setattr(
        parquet.ParquetFile, "iter_batches", lambda self, **k: asked.append(k["columns"]) or opened(self, **k)
    )
    rows = auclid.scan(tmp_path / "a.parquet", target="y", columns=["a2", "a0"])
    assert rows.columns == ["a2", "a0"] and asked == []
    np.testing.assert_array_equal(together(rows)[0], X[:, [2, 0]])
    assert asked == [["a2", "a0", "y"]]


def test_nothing_is_read_before_it_is_asked_for():
    calls = []
    rows = auclid.scan(lambda: calls.append(1) or iter([(np.eye(2), [0, 1])]))
    assert calls == []
    assert rows.shape == (2, 2) and len(calls) <= 2


def test_labels_alone_are_read_without_the_numbers(tmp_path):
    X, y, w = table()
    parquet.write_table(pa.table(named(X, y, w)), tmp_path / "a.parquet")
    rows = auclid.scan(tmp_path / "a.parquet", target="y", sample_weight="w")
    np.testing.assert_array_equal(rows.target(), y)
    assert rows.passes == 0


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1.5, 2.5], ["a", None], [1.0, np.nan]])
def test_labels_of_any_kind(labels):
    y = np.array(labels * 5, dtype=object if None in labels or isinstance(labels[0], str) else None)
    got = auclid.scan(pd.DataFrame({"a": np.arange(10.0), "y": y}), target="y").target()
    assert [None if isinstance(label, float) and label != label else label for label in got.tolist()] == [
        None if isinstance(label, float) and label != label else label for label in y.tolist()
    ]


def test_a_head_of_more_rows_than_there_are_is_all_of_them(tmp_path):
    X, y, w = table()
    for source in (by_function(X, y, w), pa.table(named(X, y, w)), X):
        rows = auclid.scan(source, target="y" if hasattr(source, "schema") else None)
        assert rows.head(10**13)[0].shape[0] == len(y)  # no array of so many numbers
    (tmp_path / "a.csv").write_text("a\n1\n2\n")
    assert auclid.scan(tmp_path / "a.csv").head(10**13)[0].tolist() == [[1.0], [2.0]]


def test_names_that_are_numbers():
    frame = pd.DataFrame(np.arange(12.0).reshape(4, 3))
    assert auclid.scan(frame, target="2").columns == ["0", "1"]
    assert auclid.scan(frame, target="2").head(1)[0].tolist() == [[0.0, 1.0]]


def test_small_numbers_are_float32_large_ones_float64():
    small = {"a": np.arange(3, dtype=np.int16), "b": np.arange(3, dtype=np.float32), "c": [True, False, True]}
    assert auclid.scan(pa.table(small)).dtype == np.float32
    assert auclid.scan(pa.table({**small, "d": np.arange(3, dtype=np.int32)})).dtype == np.float64


@pytest.mark.parametrize(
    ("given_memory", "expected"), [(5, 5), ("2GB", 2 * 10**9), ("1.5 kib", 1536), (None, 1 << 26), ("7", 7)]
)
def test_memory_in_any_unit(given_memory, expected):
    assert as_bytes(given_memory) == expected


# ---- bad input ----


def broken(folder, number=4, value=np.nan, column=1, n=60):
    """A csv, a Parquet file and a function with a bad value in block ``number`` of ten rows."""
    X, y, w = table(n)
    X[number * 10 + 3, column] = value
    frame = pd.DataFrame(named(X, y, w))
    parquet.write_table(pa.Table.from_pandas(frame), folder / "a.parquet", row_group_size=10)
    return {
        "parquet": auclid.scan(folder / "a.parquet", target="y"),
        "function": auclid.scan(by_function(X, y, w, 10), memory=0),
        "csr": auclid.scan(by_function(sparse.csr_matrix(X), y, w, 10)),
    }


@pytest.mark.parametrize("kind", ["parquet", "function", "csr"])
@pytest.mark.parametrize(("value", "said"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_a_bad_number_is_named_by_block_column_and_row(tmp_path, monkeypatch, kind, value, said):
    monkeypatch.setattr(reader, "READ_BYTES", 8 * 4 * 10)
    rows = broken(tmp_path, value=value)[kind]
    name = "a1" if kind == "parquet" else "x1"
    with pytest.raises(ValueError, match=rf"block 4 has {said} in column '{name}', row 43\."):
        together(rows)


def test_missing_values_of_arrow_are_named_too():
    rows = auclid.scan(pa.table({"a": [1, None, 3], "y": [0, 1, 0]}), target="y")
    with pytest.raises(ValueError, match="block 0 has NaN in column 'a', row 1"):
        together(rows)


def test_times_of_day_are_texts_wherever_they_lie(tmp_path):
    times = [datetime.time(9, 30), datetime.time(23, 59, 1), None] * 20
    frame = pd.DataFrame({"a": times, "b": np.arange(60.0)})
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet")
    polars = pl.DataFrame({"a": times, "b": np.arange(60.0)})
    scanned = [auclid.scan(source) for source in (frame, polars, tmp_path / "a.parquet")]
    for X in (frame, polars, polars.to_arrow(), *scanned):
        columns = auclid.Columns().fit(X)
        assert columns.kinds_ == ["text", "number"]
        assert columns.get_feature_names_out().tolist()[1:] == ["a=09:30:00", "a=23:59:01", "a (missing)"]


@pytest.mark.parametrize(("first", "second", "values"), [
    (pa.int16(), pa.int64(), [1, 2**24 + 1]), (pa.float32(), pa.float64(), [1.0, 1e300]),
    (pa.null(), pa.int64(), [None, 5]), (pa.bool_(), pa.float64(), [True, 2.5]), (pa.uint8(), pa.float32(), [7, 0.5]),
], ids=str)  # fmt: skip
def test_a_folder_takes_the_widest_type_of_its_files(tmp_path, first, second, values):
    for name, kind, value in (("a", first, values[0]), ("b", second, values[1])):
        table = pa.table({"x": pa.array([value] * 3, kind), "z": pa.array([1, 2, 3], pa.int8()), "y": [0, 1, 0]})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
        with pa.ipc.new_file(tmp_path / f"{name}.arrow", table.schema) as file:
            file.write_table(table)
    for ending in ("parquet", "arrow"):
        rows = auclid.scan(str(tmp_path / f"*.{ending}"), target="y")
        assert rows.dtype == (np.float32 if second == pa.float32() else np.float64)
        X = np.concatenate([block.X[:, 0] for block in rows.read(allow_missing=True)])
        np.testing.assert_array_equal(X, [np.nan if value is None else float(value) for value in np.repeat(values, 3)])


def test_files_that_hold_texts_in_one_and_numbers_in_another(tmp_path):
    for name, codes in (("a", pa.array([250, 401, None])), ("b", pa.array(["V27", "401", None]))):
        parquet.write_table(pa.table({"code": codes, "y": [0, 1, 0]}), tmp_path / f"{name}.parquet")
    X = auclid.scan(tmp_path, target="y").head(6)[0]
    assert X["code"].to_pylist() == ["250", "401", None, "V27", "401", None]
    parquet.write_table(pa.table({"code": [datetime.date(2024, 1, 1)], "y": [0]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"must hold the same in each column; 'code' holds .*date32.* and int64"):
        auclid.scan(tmp_path, target="y")


@pytest.mark.parametrize("labels", [[[0], [1], [0]], [{"a": 0}, {"a": 1}, {"a": 0}]], ids=["lists", "structs"])
def test_a_target_of_several_values_a_row_is_refused(tmp_path, labels):
    table = pa.table({"a": [1.0, 2.0, 3.0], "y": labels})
    parquet.write_table(table, tmp_path / "a.parquet")
    for source in (tmp_path / "a.parquet", table):
        with pytest.raises(ValueError, match=r"must hold one label a row; 'y' holds (list|struct)<"):
            auclid.scan(source, target="y")
    with pytest.raises(ValueError, match="must hold numbers; 'w' holds string"):
        auclid.scan(pa.table({"a": [1.0], "w": ["heavy"]}), sample_weight="w")


@pytest.mark.parametrize("frame", [pd.DataFrame(index=range(3)), pa.table({}), pl.DataFrame()], ids=type)
def test_a_frame_without_columns_is_refused(frame):
    with pytest.raises(ValueError, match="must have a column besides the target; it has none left"):
        auclid.scan(frame)
    for model in (auclid.Columns(), auclid.Scorecard()):
        with pytest.raises(ValueError, match=r"0 (feature|sample)\(s\)"):
            model.fit(frame, [0, 1, 0])


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_link_to_the_folder_itself_does_not_repeat_its_files(tmp_path):
    parquet.write_table(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), tmp_path / "a.parquet")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "again.parquet").symlink_to(tmp_path / "a.parquet")
    for source in (tmp_path, str(tmp_path / "**" / "*.parquet")):
        assert auclid.scan(source, target="y").shape == (2, 1)


class Counted(bytes):
    """Bytes that count what is copied when they are appended to others."""

    copied = 0

    def __radd__(self, other):
        Counted.copied += len(other) + len(self)
        return bytes(other) + bytes(self)


def test_a_libsvm_file_without_line_ends_is_copied_once():
    text = b"1 " + b" ".join(b"%d:1" % k for k in range(1, 3000))
    pieces = iter([*(Counted(text[k : k + 64]) for k in range(0, len(text), 64)), b""])
    file = type("File", (), {"read": lambda self, size: next(pieces)})()
    assert list(whole_lines(file)) == [text]
    assert Counted.copied <= 2 * len(text)


def test_rows_may_be_used_by_several_threads():
    X, y, w = table(4000, 5)
    model = auclid.LeastSquaresAUC().fit(X, y, w)
    scores = model.decision_function(X)
    used = auclid.scan(by_function(X, y, w, 50), memory=0)
    used.shape  # noqa: B018
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: model.decision_function(used), range(40)):
            np.testing.assert_allclose(found, scores, rtol=1e-12)
        for _ in range(5):
            fresh = auclid.scan(by_function(X, y, w, 50), memory=0)
            for coef in pool.map(lambda rows: auclid.LeastSquaresAUC().fit(rows).coef_, [fresh] * 8):
                np.testing.assert_allclose(coef, model.coef_, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "Y"}, r"'target' parameter of scan must name a column of .* Got 'Y' instead\. Did you mean 'y'\?"),
        ({"target": "y", "columns": ["a0", "b9"]}, r"'columns' parameter of scan must name a column .*Got 'b9'"),
        ({"target": "y", "sample_weight": "ww"}, r"'sample_weight' parameter of scan must name a column"),
        ({"target": "y", "columns": ["a0", "y"]}, r"must be numbers to learn from; got 'y'"),
        ({"target": "y", "columns": ["a0", "list"]}, r"must be numbers; got list<.*> in 'list'\. Choose others with"),
        ({"target": "y", "columns": "a0"}, r"'columns' parameter of scan must be a list of names. Got 'a0' instead"),
        ({"target": "y", "memory": "much"}, r"'memory' parameter of scan must be a number of bytes"),
        ({"target": "y", "memory": -1}, r"'memory' parameter of scan must be a number of bytes"),
    ],
)
def test_bad_options_are_told_at_once(tmp_path, options, said):
    X, y, w = table()
    more = {"name": ["b"] * len(y), "list": [[1]] * len(y)}
    parquet.write_table(pa.table({**named(X, y, w), **more}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=said):
        auclid.scan(tmp_path / "a.parquet", **options)


def test_bad_sources_are_told_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"glob that exists\. Got '.*none\.parquet' instead"):
        auclid.scan(tmp_path / "none.parquet")
    (tmp_path / "data.xls").touch()
    with pytest.raises(ValueError, match=r"files of a known kind \(.*Got 'data\.xls'"):
        auclid.scan(tmp_path / "data.xls")
    with pytest.raises(FileNotFoundError, match="a folder with files of a known kind"):
        auclid.scan(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"a\.parquet' must be a whole parquet file"):
        auclid.scan(tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="must be of one kind"):
        auclid.scan(tmp_path)
    with pytest.raises(TypeError, match=r"that can be read again\. Got list_iterator instead\. Pass a function"):
        auclid.scan(iter([]))
    with pytest.raises(TypeError, match=r"must be a file, .*\. Got int instead"):
        auclid.scan(3)


def test_an_iterator_that_can_be_read_only_once():
    once = iter([(np.eye(2), [0, 1])])
    rows = auclid.scan(lambda: once)
    with pytest.raises(ValueError, match="the same one twice, which can be read only once"):
        list(rows.blocks())


def test_blocks_that_do_not_fit_together():
    good = (np.eye(2), [0, 1])
    for bad, said in [
        ((np.eye(3), [0, 1, 0]), "must have the 2 columns of the first; got 3"),
        ((np.eye(2), [0]), r"one value of y a row, 2; got shape \(1,\)"),
        ((np.eye(2), None), "must have y if and only if"),
        (np.eye(2), r"must be a tuple \(X, y\)"),
        ((np.array([["a", "b"]]), [0]), "must be a table of numbers"),
        ((np.eye(2), ["no", "yes"]), "must be numbers or texts throughout"),
    ]:
        with pytest.raises((ValueError, TypeError), match=r"(?i)block 1 .*" + said if "texts" not in said else said):
            list(auclid.scan(lambda bad=bad: iter([good, bad])).blocks())
    with pytest.raises(ValueError, match="must hold rows; it has none"):
        auclid.scan(lambda: iter([])).shape  # noqa: B018


def test_a_target_of_too_many_values():
    with pytest.raises(ValueError, match="must name classes; it has more than 1000 different values by block 0"):
        auclid.scan(pd.DataFrame({"a": np.zeros(1500), "y": np.arange(1500.0)}), target="y").target()


def test_a_target_of_many_numbers_ranks():
    """It names no classes, but rankers of ordered rows learn from it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    y = X[:, 0] + rng.normal(size=2500)

    def read():
        for part in (slice(0, 900), slice(900, 2500)):
            yield X[part], y[part]

    rows = auclid.scan(read)
    np.testing.assert_array_equal(rows.target(classes=False), y)
    models = [auclid.OrderedRanker(alpha=0.1).fit(*given) for given in ((rows,), (X, y))]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_)
    with pytest.raises(ValueError, match="must name classes; it has more than 1000 different values"):
        auclid.LeastSquaresAUC().fit(rows)


@pytest.mark.parametrize("ending", ["parquet", "npy"])
def test_a_file_that_shrinks_or_vanishes_between_passes(tmp_path, ending):
    path = tmp_path / f"a.{ending}"

    def write(n):
        X, y, w = table(n)
        parquet.write_table(pa.table(named(X, y, w)), path) if ending == "parquet" else np.save(path, X)

    write(60)
    rows = auclid.scan(path, memory=0)
    list(rows.blocks())
    write(30)
    with pytest.raises(ValueError, match=r"must stay as it is while it is read again and again; it had .* bytes"):
        list(rows.blocks())
    path.unlink()
    with pytest.raises(ValueError, match="again; it is gone"):
        list(rows.blocks())


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([5, 5], [5], "must give the same rows each time it is read; it gave 5 rows, and 10 were expected"),
        ([5, 5], [5, 4], "must give the same blocks each time it is read; block 1 differs"),
    ],
)
def test_rows_that_are_fewer_the_second_time(first, second, said):
    sizes = iter([first, second])
    rows = auclid.scan(lambda: [(np.zeros((size, 1)), None) for size in next(sizes)])
    rows._reader.slow = False
    rows._reader.resident = True
    list(rows.blocks())
    with pytest.raises(ValueError, match=said):
        list(rows.blocks())


def test_weights_are_checked():
    with pytest.raises(ValueError, match=r"sample_weight of .* not negative; block 0 has -1"):
        auclid.scan(pa.table({"a": [1.0, 2.0], "w": [1.0, -1.0]}), sample_weight="w").sample_weight()


def test_no_temporary_file_has_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X, y, w = table(200)
    rows = auclid.scan(by_function(X, y, w), memory=100)
    rows.head(150)
    if os.name == "posix":
        assert list(tmp_path.iterdir()) == []
    del rows
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_rows_can_be_sent_to_another_process(tmp_path):
    X, y, w = table()
    parquet.write_table(pa.table(named(X, y, w)), tmp_path / "a.parquet")
    rows = auclid.scan(tmp_path / "a.parquet", target="y", columns=["a0"])
    list(rows.blocks())
    np.testing.assert_array_equal(together(pickle.loads(pickle.dumps(rows)))[0], X[:, :1])


def run(code, **limits):
    """Code in a process of its own, with limits of the system."""
    lines = ["import resource"] + [
        f"resource.setrlimit(resource.RLIMIT_{name}, ({value}, {value}))" for name, value in limits.items()
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "ARROW_DEFAULT_MEMORY_POOL": "system"}
    environment["MALLOC_MMAP_THRESHOLD_"] = "131072"  # what is freed goes back at once: limits meet what is in use
    return subprocess.run(
        [sys.executable, "-c", "\n".join([*lines, code])], capture_output=True, text=True, env=environment, timeout=300
    )


needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")


@needs_limits
def test_a_full_disk_is_told_in_a_sentence():
    code = (
        "import numpy as np, auclid\n"
        "rows = auclid.scan(lambda: ((np.ones((1000, 10)), None) for _ in range(50)), memory=0)\n"
        "try:\n    rows.shape\nexcept OSError as error:\n    print(error)"
    )
    done = run(code, FSIZE=1_000_000)
    assert "the disk of" in done.stdout and "is full. Set TMPDIR" in done.stdout, done.stderr


@needs_limits
def test_memory_stays_bounded_whatever_the_number_of_rows(tmp_path):
    path = tmp_path / "large.parquet"
    rng, schema = np.random.default_rng(0), pa.schema([(f"a{k}", pa.float32()) for k in range(20)])
    with parquet.ParquetWriter(path, schema) as file:  # 320 MB decoded
        for _ in range(40):
            X = rng.normal(size=(20, 100_000)).astype(np.float32)
            file.write_table(pa.table(dict(zip(schema.names, X, strict=True)), schema=schema))
    code = (
        "import auclid, pyarrow.parquet\n"
        f"rows = auclid.scan({str(path)!r}, memory='16MB')\n"
        "rows.head(1)\n"
        "data = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmData'))\n"
        "room = 1024 * data + 150_000_000  # less than half of the table\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (room, room))\n"
        "for _ in range(3):\n    n = sum(len(X) for X, y in rows.blocks())\n"
        "print(n, rows.passes)"
    )
    done = run(code)
    assert done.stdout.split() == ["4000000", "2"], done.stderr


@needs_limits
def test_a_damaged_arrow_file_is_refused_and_ends_nothing(tmp_path):
    """Offsets of texts beyond their buffer: compiled code would read what is not there."""
    table = pa.table({"a": [f"text {k}" for k in range(1000)], "y": [0, 1] * 500})
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as file:
        file.write_table(table)
    content = bytearray((tmp_path / "a.arrow").read_bytes())
    offsets = np.cumsum([0, *(len(f"text {k}") for k in range(1000))]).astype(np.int32).tobytes()
    at = content.index(offsets)
    content[at + 400 : at + 3600 : 4] = b"\xff" * 800
    content[at + 403 : at + 3603 : 4] = b"\x7f" * 800
    (tmp_path / "a.arrow").write_bytes(content)
    code = (
        "import auclid\n"
        f"rows = auclid.scan({str(tmp_path / 'a.arrow')!r}, target='y')\n"
        "try:\n    list(rows.blocks())\nexcept ValueError as error:\n    print(error)"
    )
    done = run(code)
    assert done.returncode == 0 and "must be a whole Arrow IPC file" in done.stdout, (done.returncode, done.stderr)


@given(st.data())
@settings(max_examples=60)
def test_the_threshold_by_blocks_is_that_of_memory(data):
    """Youden's J with ties and weights, either class the rarer one, blocks of any size, of one class too."""
    n = data.draw(st.integers(2, 40))
    x = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), dtype=float)
    y = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    y[:2] = False, True
    weight = None
    if data.draw(st.booleans()):
        weight = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=n, max_size=n)))
        weight[:2] = 1.0
    size = data.draw(st.integers(1, n))

    def blocks():
        for start in range(0, n, size):
            part = slice(start, start + size)
            yield (x[part, None], y[part], *(() if weight is None else (weight[part],)))

    rows = labelled_dataset(auclid.LeastSquaresAUC(), auclid.scan(blocks))
    assert youden_threshold("test", rows, np.ones(1)).value == best_threshold(y, x, weight)


def cut(X, y, size, weight=None):
    def blocks():
        for start in range(0, len(y), size):
            part = slice(start, start + size)
            yield (X[part], y[part], *(() if weight is None else (weight[part],)))

    return auclid.scan(blocks)


@pytest.mark.parametrize("size", [17, 300])
def test_several_classes_by_blocks(size):
    rng = np.random.default_rng(0)
    y = np.array(list("abc"))[rng.integers(3, size=300)]
    X = rng.normal(size=(300, 4)) + (y == "b")[:, None] - 0.5 * (y == "c")[:, None]
    weight = rng.random(300)
    for w in (None, weight):
        whole, parts = auclid.MulticlassAUC().fit(X, y, w), auclid.MulticlassAUC().fit(cut(X, y, size, w))
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
        np.testing.assert_allclose(parts.decision_function(cut(X, y, 50)), whole.decision_function(X), rtol=1e-9)
        assert (parts.predict(cut(X, y, 50)) == whole.predict(X)).all()


def test_a_scorecard_of_rows_in_memory_is_that_of_the_table():
    X, y, _ = table(300, 3)
    X[:, 0] += y
    whole, parts = (auclid.Scorecard(interactions=0, random_state=0).fit(*rows) for rows in ((X, y), (cut(X, y, 40),)))
    np.testing.assert_allclose(parts.decision_function(cut(X, y, 70)), whole.decision_function(X), rtol=1e-9)
    assert parts.score(cut(X, y, 70)) == pytest.approx(whole.score(X, y))


def test_a_scorecard_takes_files_with_gaps_and_others_still_refuse_them(tmp_path):
    X, y, _ = table(300, 3)
    X[:, 0] += y
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    lines = [
        ",".join(["" if x != x else repr(float(x)) for x in row] + [str(int(t))]) for row, t in zip(X, y, strict=True)
    ]
    (tmp_path / "holed.csv").write_text("\n".join(["a,b,c,y", *lines]))
    rows = auclid.scan(tmp_path / "holed.csv", target="y")
    whole, parts = (auclid.Scorecard(interactions=0, random_state=0).fit(*given) for given in ((X, y), (rows,)))
    np.testing.assert_allclose(parts.decision_function(rows), whole.decision_function(X), rtol=1e-9)
    np.testing.assert_array_equal(parts.decision_function(rows, out=tmp_path / "s.npy"), parts.decision_function(rows))
    for refused in (lambda: auclid.RankSVM().fit(rows), lambda: rows.head(300), lambda: rows.sample(300)):
        with pytest.raises(ValueError, match=r"has NaN in column '.', row \d+\. Fill in .* use Scorecard, which takes"):
            refused()
    with pytest.raises(ValueError, match="block 0 has infinity in column 'x0', row 1"):
        auclid.Scorecard().fit(cut(np.array([[np.nan], [np.inf], [1.0]]), [0, 1, 1], 3))


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_the_values_of_a_scorecard_come_from_all_rows(monkeypatch, holes):
    """Those of the sample's own model once it has been told of all other rows."""
    monkeypatch.setattr(_sizes, "MIN_SAMPLE_ROWS", 200)
    X, y, _ = table(2000, 3)
    X[:, 0] += y
    X[:, 1:][np.random.default_rng(1).random((2000, 2)) < holes] = np.nan
    rows = auclid.scan(X, target=y, memory=0)
    model = auclid.Scorecard(interactions=0, random_state=0).fit(rows)
    sample = bounded_sample(labelled_dataset(auclid.Scorecard(), rows, raw=True), 200, _sizes.MIN_CLASS_ROWS)
    some, labels = sample.X, sample.labels
    assert not sample.complete and len(labels) == 200
    other = ~np.isin(X[:, 0], some[:, 0])
    drawn = auclid.Scorecard(interactions=0, random_state=0).fit(some, labels)
    np.testing.assert_array_equal(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.cv_auc_ == drawn.cv_auc_ and model._odds.slope == drawn._odds.slope
    everywhere, among = (np.log(each.mean() / (1.0 - each.mean())) for each in (y == 1, labels == 1))
    assert model._odds.offset == pytest.approx(drawn._odds.offset + everywhere - among)
    np.testing.assert_allclose(model.shapes_[0].error, np.sqrt(0.1) * drawn.shapes_[0].error)
    again = drawn.partial_fit(X[other], y[other])
    np.testing.assert_allclose(model.contributions(X), again.contributions(X), rtol=1e-6, atol=1e-9)


def test_the_front_door_fits_what_it_can_on_all_rows(monkeypatch):
    monkeypatch.setattr(_sizes, "MIN_DRAWN_ROWS", 300)
    X, y, _ = table(2000, 3)
    X[:, 0] += y
    model = auclid.AUCClassifier(methods=["LeastSquaresAUC", "logistic"], cv=2, random_state=0)
    model.fit(auclid.scan(X, target=y, memory=0))
    notes = {line.name: line.note for line in model.leaderboard_}
    assert "fitted on all 2,000 rows" in notes["LeastSquaresAUC"]
    assert "fitted on 300 of 2,000 rows" in notes["logistic"]
    member = next(member for member in model.members_ if member.name == "LeastSquaresAUC")
    again = clone(member.model).fit(model._columns.transform(X), y)
    np.testing.assert_allclose(member.model.coef_, again.coef_, rtol=1e-9)
    assert 0.6 < model.score(auclid.scan(X, target=y)) < 1.0


def test_huge_rows_that_are_all_alike_have_one_score():
    """No pair has a slope at w = 0, but for rounding."""
    X, y = np.tile([7.233862197682021e99, 5.760566719128468e99], (38, 1)), np.arange(38) % 4 == 0
    parts = [(X[k : k + 9], y[k : k + 9]) for k in range(0, 38, 9)]
    model = auclid.RankSVM().fit(auclid.scan(lambda: iter(parts)))
    assert np.isfinite(model.coef_).all()
    assert np.ptp(model.decision_function(X)) == 0.0


def test_metrics_take_the_weights_of_files_with_their_labels():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.3
    X, weight = rng.normal(size=(200, 2)) + y[:, None], rng.integers(4, size=200).astype(float)
    rows = auclid.scan(X, target=y, sample_weight=weight)
    model = auclid.LeastSquaresAUC().fit(rows)
    s = model.decision_function(X)
    assert roc_auc(rows, s) == model.score(rows) == roc_auc(y, s, sample_weight=weight)
    assert average_precision(rows, s) == average_precision(y, s, sample_weight=weight)
    assert auc_interval(rows, s) == auc_interval(y, s, sample_weight=weight)
    assert roc_auc(rows, s, sample_weight=np.ones(200)) == pytest.approx(roc_auc(y, s), rel=1e-12)


@pytest.mark.parametrize("name", ["y_score", "sample_weight"])
def test_rows_of_files_are_no_scores_and_no_weights(name):
    rows = auclid.scan(np.arange(8.0)[:, None], target=np.arange(8) % 2)
    columns = {"y_score": np.arange(8.0), name: rows}
    with pytest.raises(ValueError, match=rf"The '{name}' parameter of roc_auc must be an array.*Got rows of files"):
        roc_auc(rows, **columns)
