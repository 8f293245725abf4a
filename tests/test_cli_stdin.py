"""Standard input and output of the command, and what it says of its progress where there is no terminal."""

import io
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from auclid import AUCClassifier, load

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
testing = pytest.importorskip("typer.testing")

from auclid.cli import _show  # noqa: E402
from auclid.cli._app import app  # noqa: E402


def columns(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    return {"a": rng.normal(size=n) + y, "b": rng.choice(["u", "v"], n), "y": y}


def csv(table):
    lines = [",".join(table), *(",".join(map(str, line)) for line in zip(*table.values(), strict=True))]
    return ("\n".join(lines) + "\n").encode()


def run(*words, given=b"", code=0):
    done = testing.CliRunner().invoke(app, [str(word) for word in words], input=given)
    assert done.exit_code == code, (done.output, done.exception)
    return done


FIT = ("--target", "y", "--method", "LeastSquaresAUC")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))
    (tmp_path / "copies").mkdir()
    Path("rows.csv").write_bytes(csv(columns()))
    run("fit", "rows.csv", *FIT, "--model", "file.auclid")
    run("predict", "file.auclid", "rows.csv", "--output", "file.csv")
    return tmp_path


def test_rows_from_standard_input_give_the_same_model(here):
    run("fit", "-", *FIT, "--model", "m.auclid", given=csv(columns()))
    np.testing.assert_array_equal(load("m.auclid").ranker_[-1].coef_, load("file.auclid").ranker_[-1].coef_)
    assert not list((here / "copies").iterdir())  # the copy is gone


def test_standard_input_is_named_so(here):
    done = run("fit", "-", *FIT, "--model", "m.auclid", given=csv(columns()))
    assert done.stdout.startswith("standard input: 120 rows, 2 columns,")
    done = run("fit", "-", "--target", "nope", "--model", "m.auclid", given=csv(columns()), code=2)
    assert "--target must name a column of standard input; got 'nope'" in " ".join(done.stderr.split())
    run("fit", "-", "--target", "y", "--method", "Scorecard", "--model", "c.auclid", given=csv(columns()))
    pages = "".join(path.read_text("utf-8") for path in here.glob("c*.html"))
    assert "120 rows of standard input" in pages and "standard-input" not in pages


def test_one_is_singular(here):
    table = columns()
    Path("one.csv").write_bytes(csv({name: values[:1] for name, values in table.items()}))
    assert "1 score: scores.csv" in run("predict", "file.auclid", "one.csv").stdout
    code = testing.CliRunner().invoke(app, ["monitor", "file.auclid", "one.csv"])
    assert code.exit_code in (0, 3) and "1 row in 1 period. Page" in code.stdout
    Path("thin.csv").write_bytes(csv({name: table[name] for name in "ay"}))
    assert "120 rows, 1 column," in run("fit", "thin.csv", *FIT, "--model", "thin.auclid").stdout


def test_a_tiny_table_has_no_held_out_auc(here):
    Path("tiny.csv").write_bytes(csv({"a": [1.0, 2.0, 3.0, 4.0], "y": [0, 1, 0, 1]}))
    said = run("fit", "tiny.csv", "--target", "y", "--model", "tiny.auclid").stdout
    assert "nan" not in said and "not measured, for lack of rows" in said


def test_parquet_from_standard_input(here):
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns()), sink)
    run("fit", "-", *FIT, "--model", "m.auclid", given=sink.getvalue())
    np.testing.assert_array_equal(load("m.auclid").ranker_[-1].coef_, load("file.auclid").ranker_[-1].coef_)


def test_predict_evaluate_monitor_and_update_read_standard_input(here):
    done = run("predict", "file.auclid", "-", "--output", "-", given=csv(columns()))
    assert done.stdout.encode() == Path("file.csv").read_bytes()
    assert "120 scores" in done.stderr
    by_file = run("evaluate", "file.auclid", "rows.csv").stdout
    assert run("evaluate", "file.auclid", "-", given=csv(columns())).stdout == by_file
    assert "120 rows" in run("monitor", "file.auclid", "-", given=csv(columns())).stdout
    said = run("update", "file.auclid", "-", given=csv(columns(30, 1))).stdout
    assert "has learnt from 30 more rows" in said


def test_what_standard_input_cannot_be(here):
    assert "it is empty" in run("fit", "-", *FIT, code=2).stderr
    words = ("fit", "-", "--target", "y", "--method", "SPAM-L2", "--checkpoint", "c")
    said = run(*words, given=csv(columns()), code=2).stderr
    assert "--checkpoint must be used with files" in " ".join(said.split())


def test_a_pipe_of_the_shell(here):
    command = [sys.executable, "-m", "auclid.cli", "predict", "file.auclid", "-", "--output", "-"]
    done = subprocess.run(command, input=csv(columns()), capture_output=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout == Path("file.csv").read_bytes()


# --- progress ----------------------------------------------------------------------------------------


def test_without_a_terminal_progress_is_plain_lines_now_and_then(here, monkeypatch):
    assert "auclid: pass" not in run("predict", "file.auclid", "rows.csv").stderr
    monkeypatch.setattr(_show, "SECONDS_BETWEEN_LINES", 0.0)
    said = run("predict", "file.auclid", "rows.csv").stderr
    assert "auclid: pass 1: 120 rows" in said
    assert "auclid: fitting LeastSquaresAUC" in run("fit", "rows.csv", *FIT, "--model", "m").stderr
    words = ("fit", "rows.csv", "--target", "y", "--method", "SPAM-L2", "--checkpoint", "c", "--every", "50")
    assert "auclid: checkpoint c at row 50" in run(*words).stderr
    assert logging.getLogger("auclid").handlers == []


def test_a_filter_lets_a_message_pass_after_some_seconds(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_show, "perf_counter", lambda: now[0])
    seldom = _show.NowAndThen()
    passed = []
    for now[0] in (5.0, 14.9, 15.0, 16.0, 24.9, 25.1):
        passed.append(seldom.filter(logging.makeLogRecord({})))
    assert passed == [False, False, True, False, False, True]


def test_a_search_is_logged(caplog):
    table = columns()
    with caplog.at_level(logging.INFO, logger="auclid"):
        AUCClassifier(methods=["logistic", "LeastSquaresAUC"], random_state=0).fit(table["a"][:, None], table["y"])
    assert caplog.messages == [
        "AUCClassifier tries logistic, candidate 1 of 2",
        "AUCClassifier tries LeastSquaresAUC, candidate 2 of 2",
    ]
