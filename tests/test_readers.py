"""What is in a file comes out of it, whatever its format; what cannot be used is told in a sentence."""

import bz2
import gc
import gzip
import lzma
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import auclid
from auclid.datasets import DataError, catalogue, load_mammography, read_table

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def numbers(n=30, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)).round(3), np.arange(n) % 3 == 0


def csv_of(X, y, separator=","):
    lines = [separator.join(["a", "b", "c", "y"])]
    lines += [
        separator.join([*(repr(float(x)) for x in row), str(int(label))])
        for row, label in zip(X, y, strict=True)
    ]
    return "\n".join(lines) + "\n"


def formats(folder, X, y):
    """One file of each format with the same table in it."""
    for name, separator in (("comma", ","), ("semicolon", ";"), ("tab", "\t")):
        yield write(folder / f"{name}.csv", csv_of(X, y, separator))
    for ending, packed in (("gz", gzip), ("bz2", bz2), ("xz", lzma)):
        yield write(folder / f"small.csv.{ending}", packed.compress(csv_of(X, y).encode()))
    parquet.write_table(
        pa.table({**dict(zip("abc", X.T, strict=True)), "y": y.astype(int)}), folder / "a.parquet"
    )
    yield folder / "a.parquet"
    np.savez(folder / "plain.npz", X=X, y=y.astype(int))
    yield folder / "plain.npz"
    sparse.save_npz(folder / "beside.npz", sparse.csr_matrix(X))
    np.save(folder / "beside.y.npy", y.astype(int))
    yield folder / "beside.npz"
    dump_svmlight_file(X, y.astype(int), str(folder / "a.libsvm"), zero_based=False)
    yield folder / "a.libsvm"
    text = (folder / "a.libsvm").read_bytes()
    (folder / "a.bz2").write_bytes(bz2.compress(text))
    (folder / "a.txt.gz").write_bytes(gzip.compress(text))
    (folder / "a.svm.xz").write_bytes(lzma.compress(text))
    (folder / "a").write_bytes(text)
    (folder / "german.numer").write_bytes(text)
    yield from (folder / name for name in ("a.bz2", "a.txt.gz", "a.svm.xz", "a", "german.numer"))


def test_every_format_gives_the_same_table(tmp_path):
    X, y = numbers()
    paths = list(formats(tmp_path, X, y))
    assert len(paths) == 15
    for path in paths:
        table = read_table(path, target="y")
        values = table.X.toarray() if sparse.issparse(table.X) else table.X
        np.testing.assert_array_equal(values, X, err_msg=path.name)
        np.testing.assert_array_equal(np.asarray(table.y) == 1, y)
        assert values.dtype == np.float64 and len(table.feature_names) == 3 and table.notes == []


def test_a_data_file_has_no_line_of_names(tmp_path):
    X, y = numbers()
    text = csv_of(X, y).partition("\n")[2]
    (tmp_path / "a.data.gz").write_bytes(gzip.compress(text.encode()))
    for path in (write(tmp_path / "a.data", text), tmp_path / "a.data.gz"):
        table = read_table(path, target="x4")
        np.testing.assert_array_equal(np.column_stack([table.X, table.y]), np.column_stack([X, y]))
        assert table.feature_names == ["x1", "x2", "x3"]


def test_libsvm_columns_stay_in_place_in_a_smaller_file(tmp_path):
    """A file with fewer columns, or without its column 0, must not be shifted against the model's."""
    for zero_based, names in ((False, ["1", "2", "3"]), (True, ["0", "1", "2"])):
        dump_svmlight_file(np.eye(3), [0, 1, 0], str(tmp_path / "all.svm"), zero_based=zero_based)
        dump_svmlight_file(np.eye(3)[1:2], [1], str(tmp_path / "few.svm"), zero_based=zero_based)
        assert read_table(tmp_path / "all.svm").feature_names == names
        few = read_table(tmp_path / "few.svm", columns=names)
        np.testing.assert_array_equal(few.X.toarray(), [[0.0, 1.0, 0.0]])


def test_missing_values_booleans_and_decimals_are_numbers(tmp_path):
    path = write(tmp_path / "a.csv", "a,b,c,y\n1,true,,no\n?,false,2.5,yes\n3,,NA,\n")
    table = read_table(path, target="y")
    np.testing.assert_array_equal(table.X, [[1.0, 1.0, np.nan], [np.nan, 0.0, 2.5]])
    assert table.y.tolist() == ["no", "yes"]
    assert any("1 row has no value in 'y' and is left out" in note for note in table.notes)
    assert any("2 values are missing, in 'a', 'c'" in note for note in table.notes)


def test_a_target_with_gaps_in_parquet_loses_those_rows(tmp_path):
    parquet.write_table(
        pa.table({"a": [1.0, 2.0, 3.0], "y": [0.0, float("nan"), 1.0]}), tmp_path / "a.parquet"
    )
    table = read_table(tmp_path / "a.parquet", target="y")
    assert table.X.tolist() == [[1.0], [3.0]] and table.y.tolist() == [0.0, 1.0]


def test_texts_and_dates_come_as_a_table_that_columns_takes(tmp_path):
    path = write(tmp_path / "a.csv", "colour,size,day,y\nred,1,2024-01-05,0\nblue,2,2024-02-05,1\n,3,2024-03-05,0\n")
    table = read_table(path, target="y")
    assert table.X.column_names == table.feature_names == ["colour", "size", "day"]
    assert table.X["colour"].to_pylist() == ["red", "blue", None] and table.X["size"].to_pylist() == [1.0, 2.0, 3.0]
    assert [str(day)[:10] for day in table.X["day"].to_pylist()] == ["2024-01-05", "2024-02-05", "2024-03-05"]
    assert table.notes == ["1 values are missing, in 'colour'."]
    assert auclid.Columns().fit(table.X).kinds_ == ["text", "number", "date"]
    assert read_table(path, target="y", drop=["colour", "day"]).X.tolist() == [[1.0], [2.0], [3.0]]
    frame = read_table(path, columns=["size"], as_frame=True).X
    assert frame.column_names == ["size"] and frame["size"].to_pylist() == [1.0, 2.0, 3.0]


def test_columns_of_a_model_are_found_by_name(tmp_path):
    path = write(tmp_path / "a.csv", "b,y,a\n1,0,2\n3,1,4\n")
    np.testing.assert_array_equal(read_table(path, columns=["a", "b"]).X, [[2, 1], [4, 3]])
    np.savez(tmp_path / "a.npz", X=np.array([[1, 2]]), feature_names=["b", "a"])
    assert read_table(tmp_path / "a.npz", columns=["a", "b"]).X.tolist() == [[2.0, 1.0]]


BAD = {
    "target": ("a.csv", "a,class\n1,0\n", {"target": "clas"}, "Got 'clas' instead. Did you mean 'class'?"),
    "no header": ("a.csv", "1,0\n2,1\n", {}, "is the line of column names missing?"),
    "drop": ("a.csv", "a,y\n1,0\n", {"drop": ["b"]}, "The 'drop' parameter of read_table must name a column"),
    "twice": ("a.csv", "a,a,y\n1,1,0\n", {}, "got 'a' more than once"),
    "ragged": ("a.csv", "a,y\n1,0\n1,2,3\n", {}, "csv file with a line of column names: line 3 has 3 cells and not 2"),
    "empty": ("a.csv", "", {}, "must be a whole csv file"),
    "no rows": ("a.csv", "a,y\n", {}, "must hold rows; it has none"),
    "no columns": ("a.csv", "y\n1\n", {}, "a column besides the target"),
    "no labels": ("a.csv", "a,y\n1,\n", {}, "all are missing"),
    "infinite": ("a.csv", "a,y\n1,0\ninf,1\n", {}, "finite numbers; block 0 has infinity in column 'a', row 1"),
    "absent": ("a.csv", "a,y\n1,0\n", {"columns": ["a", "b"]}, "parameter of scan must name a column"),
    "latin header": ("a.csv", "straße,y\n1,0\n".encode("latin-1"), {}, "must hold text in UTF-8"),
    "latin cells": ("a.csv", "a,y\nstraße,0\nb,1\n".encode("latin-1"), {}, "must hold text in UTF-8"),
    "late latin cells": ("a.csv", b"a,y\n" + b"x,0\n" * 1_200_000 + b"\xdf,1\n", {}, "must hold text in UTF-8"),
    "parquet": ("a.parquet", "a,y\n1,0\n", {}, "must be a whole parquet file"),
    "npz": ("a.npz", "a,y\n1,0\n", {}, "must hold arrays X and y"),
    "libsvm": ("a.libsvm", "what is this\n", {}, "must be a libsvm file"),
    "empty libsvm": ("a.libsvm", "", {}, "must hold rows; it has none"),
    "not bz2": ("a.bz2", "1 1:1\n", {}, "must be a libsvm file"),
    "not xz": ("a.xz", "1 1:1\n", {}, "must be a libsvm file"),
    "not gz": ("a.csv.gz", "a,y\n1,0\n", {}, "must be a whole csv file"),
    "not csv.xz": ("a.csv.xz", "a,y\n1,0\n", {}, "must be a whole csv file"),
    "no ending": ("notes", "Dear reader, at 10:30\n", {}, ".npz). Got 'notes' instead."),
    "ragged data": ("a.data", "1,0\n1,2,3\n", {}, "must be a whole csv file without a line of column names"),
    "ending": ("a.xlsx", "", {}, ".npz). Got 'a.xlsx' instead."),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_used_is_told_in_a_sentence(case, tmp_path):
    name, content, options, said = BAD[case]
    with pytest.raises(DataError) as error:
        read_table(write(tmp_path / name, content), **{"target": "y", **options})
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_missing_file_suggests_its_neighbour(tmp_path):
    write(tmp_path / "table.csv", "")
    with pytest.raises(DataError, match=r"Did you mean .*table\.csv"):
        read_table(tmp_path / "tabel.csv")


def test_without_pyarrow_the_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    with pytest.raises(ImportError, match=r"pip install 'auclid\[io\]'"):
        read_table(write(tmp_path / "a.csv", "a,y\n1,0\n"), target="y")


def test_objects_in_npz_are_not_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([[object()]]), y=np.array([1]))
    with pytest.raises(DataError, match="must hold arrays"):
        read_table(tmp_path / "a.npz")


def test_a_damaged_archive_is_closed(tmp_path, recwarn):
    np.savez(tmp_path / "a.npz", X=np.ones((50, 3)), y=np.arange(50) % 2)
    write(tmp_path / "cut.npz", (tmp_path / "a.npz").read_bytes()[:600])
    with pytest.raises(DataError, match="must hold arrays"):
        read_table(tmp_path / "cut.npz")
    gc.collect()
    assert not recwarn  # no file is left to the garbage collector


def test_catalogue_knows_the_embedded_table():
    (table,) = [table for table in catalogue() if table.embedded]
    assert (table.rows, table.columns) == load_mammography().data.shape
    names = [table.name for table in catalogue()]
    assert len(set(names)) == len(names) > 10
