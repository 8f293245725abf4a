"""csv files: what their cells mean, wherever blocks end and whichever file a cell is in."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import auclid
from auclid.data.readers import csv
from auclid.datasets import read_table

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


@pytest.fixture
def small_csv_blocks(monkeypatch):
    """Types of csv files are guessed from some hundred bytes."""
    monkeypatch.setattr(csv, "PARSED_BYTES", 500)


def test_a_text_in_a_later_block_of_a_csv_makes_a_column_of_texts(tmp_path, small_csv_blocks):
    lines = [f"{k},{k},2024-01-0{1 + k % 9},{k % 2},{k % 2 == 1}" for k in range(300)]
    lines[250], lines[270] = "oops,250, 2024-01-01,0,true", "270,270,2024-01-09,0,maybe"
    (tmp_path / "a.csv").write_text("\n".join(["a,b,day,y,flag", *lines]) + "\n")
    rows = auclid.scan(tmp_path / "a.csv", target="y")
    X, y = rows.head(3)
    assert rows.passes == 0 and X["a"].to_pylist() == [0.0, 1.0, 2.0] and y.tolist() == [0, 1, 0]
    assert {name: each.kind for name, each in rows.encodings.items()} == {"a": "text", "day": "text", "flag": "text"}
    assert rows.shape == (300, 4) and rows.passes == 1
    table = rows.sample(300)[0]
    assert table["a"].to_pylist() == [line.split(",")[0] for line in lines]
    assert table["b"].to_pylist() == list(range(300)) and rows.target().tolist() == [k % 2 for k in range(300)]
    assert auclid.Columns().fit(rows).kinds_ == ["text", "number", "date", "text"]


def test_labels_of_a_csv_that_are_texts_later_are_texts(tmp_path, small_csv_blocks):
    labels = ["1", "0"] * 100 + ["unknown"]
    (tmp_path / "a.csv").write_text("a,y\n" + "".join(f"{k},{label}\n" for k, label in enumerate(labels)))
    rows = auclid.scan(tmp_path / "a.csv", target="y")
    assert rows.target().tolist() == labels
    (tmp_path / "w.csv").write_text("a,w\n" + "1,2\n" * 300 + "1,heavy\n")
    with pytest.raises(ValueError, match=r"w\.csv' must be a whole csv file .*heavy"):
        auclid.scan(tmp_path / "w.csv", sample_weight="w").sample_weight()


def test_guesses_of_several_csv_files_are_brought_together(tmp_path):
    for name, cells in (("a", "1,2024-01-01,true,7,,1"), ("b", "2.5,2024-01-01T10:00,no,,x,0"), ("c", ",,,8,,1")):
        (tmp_path / f"{name}.csv").write_text(f"number,day,flag,code,text,y\n{cells}\n")
    rows = auclid.scan(tmp_path, target="y")
    table = rows.decode(np.concatenate([block.X for block in rows.read(True, True)]))
    assert table["number"].to_pylist()[:2] == [1.0, 2.5] and table["flag"].to_pylist() == ["true", "no", None]
    assert [str(day) for day in table["day"].to_pylist()] == ["2024-01-01 00:00:00", "2024-01-01 10:00:00", "None"]
    assert table["text"].to_pylist() == [None, "x", None] and rows.target().tolist() == [1, 0, 1]


def test_line_breaks_in_quotes_are_part_of_a_cell(tmp_path, small_csv_blocks):
    notes = [f'line one of {k}\nline two, "quoted"\n' for k in range(400)]
    cells = ['"' + note.replace('"', '""') + '"' for note in notes]
    (tmp_path / "a.csv").write_text("note,a,y\n" + "".join(f"{c},{k},{k % 2}\n" for k, c in enumerate(cells)))
    rows = auclid.scan(tmp_path / "a.csv", target="y")
    assert rows.shape == (400, 2) and rows.sample(400)[0]["note"].to_pylist() == notes
    assert read_table(tmp_path / "a.csv", "y").X["a"].to_pylist() == list(range(400))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas_are_recognised(tmp_path, delimiter):
    def scanned(*lines):
        (tmp_path / "a.csv").write_text("\n".join(delimiter.join(cells) for cells in lines))
        return auclid.scan(tmp_path / "a.csv", target="y").head(2)[0]

    assert scanned(("a", "b", "y"), ("1,5", "-2", "0"), ('"3,25"', "1,5e3", "1")).tolist() == [[1.5, -2], [3.25, 1500]]
    assert scanned(("a", "b", "y"), ("1.5", "2", "0"), ("3.25", "4", "1")).tolist() == [[1.5, 2.0], [3.25, 4.0]]
    both = scanned(("a", "b", "y"), ("1.5", "2,5", "0"), ("3.25", "4", "1"))
    assert both["a"].to_pylist() == [1.5, 3.25] and both["b"].to_pylist() == ["2,5", "4"]


@pytest.mark.parametrize("cells", [
    ["09:30", "23:59", "00:00"], ["0x1F", "0x2", "0xff"], [" 2024-01-05", "2024-02-01", "2024-03-09"], ["+1", "2", "3"],
    ["1_000", "2", "3"], ["2024-01-05T10:00Z", "2024-01-05", "2024-01-06"], ["true", "1", "0"], ["007", "8", "9"],
], ids=str)  # fmt: skip
@pytest.mark.parametrize("size", [30, 1 << 22])
def test_cells_of_a_csv_mean_what_they_mean_in_a_frame(tmp_path, monkeypatch, cells, size):
    """Kinds by blocks are those of the same texts in memory, wherever the odd cell is."""
    monkeypatch.setattr(csv, "PARSED_BYTES", size)
    for texts in (cells * 20, cells[1:] * 30 + cells[:1]):
        (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{text},{k % 7}\n" for k, text in enumerate(texts)))
        rows, frame = auclid.scan(tmp_path / "a.csv"), pd.DataFrame({"a": texts, "b": np.arange(len(texts)) % 7.0})
        whole, parts = auclid.Columns().fit(frame), auclid.Columns().fit(rows)
        inside = auclid.Columns().fit(read_table(tmp_path / "a.csv", as_frame=True).X)
        assert parts.kinds_ == whole.kinds_ == inside.kinds_
        np.testing.assert_allclose(parts.transform(rows), whole.transform(frame), atol=1e-12)


def test_texts_are_numbered_alike_whichever_thread_reads_first(tmp_path, small_csv_blocks):
    texts = [f"t{k % 50}" for k in range(500)]
    (tmp_path / "a.csv").write_text("a,b,y\n" + "".join(f"{t},{k},{k % 2}\n" for k, t in enumerate(texts)))
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            rows = auclid.scan(tmp_path / "a.csv", target="y", memory=0)
            for found in pool.map(lambda rows: rows.sample(500)[0]["a"].to_pylist(), [rows] * 8):
                assert found == texts
