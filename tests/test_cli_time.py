"""`auclid compare` with rows of another file or of a later time, and its notes on leaks."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import PredefinedSplit, TimeSeriesSplit

from auclid import AUCClassifier, Calibrated, LeastSquaresAUC
from auclid.cli.compare import Protocol, compare
from auclid.cli.data import BinaryTable, Options, load_table, open_task, with_test_rows
from auclid.cli.leakage import leakage_notes
from auclid.cli.report import report

runner = pytest.importorskip("typer.testing").CliRunner()


def run(*words):
    from auclid.cli._app import app

    return runner.invoke(app, list(map(str, words)))


def make_rows(n, seed):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({
        "a": rng.normal(size=n), "city": rng.choice(["x", "y"], n),
        "day": (np.datetime64("2026-01-01") + rng.permutation(n) // 4).astype(str),
    })  # fmt: skip
    return rows.assign(y=(rows.a + (rows.city == "x") + rng.logistic(size=n) > 1).astype(int))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_rows(400, 0).to_csv("train.csv", index=False)
    make_rows(200, 1)[["y", "city", "a", "day"]].to_csv("test.csv", index=False)
    return tmp_path


def test_a_file_to_test_on(files):
    done = run("compare", "train.csv", "--target", "y", "--drop", "day", "--test", "test.csv", "--methods",
               "LeastSquaresAUC", "--against", "logistic")  # fmt: skip
    assert done.exit_code == 0, done.output
    how = Options("y", drop=["day"])
    table = with_test_rows(load_table(open_task(files / "train.csv", how), how), files / "test.csv", how)
    ((train, test),) = compare(table, ["LeastSquaresAUC"], []).comparison.splits
    assert (len(train), len(test)) == (400, 200)
    assert table.X.column("a").to_pylist()[400:] == make_rows(200, 1).a.tolist()
    assert table.is_pos[test].tolist() == (make_rows(200, 1).y == 1).tolist()


def test_the_latest_rows_are_tested_on(files):
    how = Options("y", time="day")
    table = load_table(open_task(files / "train.csv", how), how)
    days = pd.read_csv("train.csv").day
    assert "day" not in table.feature_names
    latest = compare(table, ["LeastSquaresAUC"], [], protocol=Protocol(test_size=0.25)).comparison
    ((train, test),) = latest.splits
    assert days[train].max() < days[test].min() and len(test) == 100
    rolling = compare(table, ["LeastSquaresAUC"], [], protocol=Protocol(cv=3)).comparison
    assert len(rolling.splits) == 3 and "rolling origin" in rolling.how
    for train, test in rolling.splits:
        assert days[train].max() < days[test].min()
    result = compare(table, ["LeastSquaresAUC"], [], protocol=Protocol(cv=3))
    assert [(block.start, block.end) for block in result.blocks] == [
        (days[test].min(), days[test].max()) for _, test in rolling.splits
    ]
    assert np.mean([block.auc.auc for block in result.blocks]) == pytest.approx(rolling.best.auc)
    assert "over time</h2>" in report(result)
    words = ["--time", "day", "--methods", "LeastSquaresAUC", "--against", ""]
    done = run("compare", "train.csv", "--target", "y", *words)
    assert done.exit_code == 0, done.output
    assert "--drop day" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train.csv", "--target", "y", "--time", "nix"], "nix"),
        (["train.csv", "--target", "y", "--time", "city"], "must hold dates or numbers"),
        (["train.csv", "--target", "y", "--time", "day", "--test", "test.csv"], "--time must be used without --test"),
        (["--time", "day"], "DATA must be given with"),
    ],
)
def test_what_cannot_be(files, words, said):
    done = run("compare", *words, "--methods", "LeastSquaresAUC", "--against", "")
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_leaks_are_pointed_out():
    rows = make_rows(500, 2)
    X = rows[["a", "city"]].assign(
        settled=rows.y * 3.0 + np.random.default_rng(0).normal(size=500) * 0.1,
        state=np.where(rows.y == 1, "closed", "open"), day=pd.to_datetime(rows.day),
    )  # fmt: skip
    table = BinaryTable("rows", X, rows.y.to_numpy() == 1, ["0", "1"], list(X.columns), [])
    said = leakage_notes(table)
    assert [note.split("'")[1] for note in said] == ["settled", "state", "day"]
    assert "--drop settled" in said[0] and "--time day" in said[2]
    assert len(leakage_notes(table._replace(time=np.arange(500.0)))) == 2
    when = pd.to_datetime(rows.day)
    late = X[["a"]].assign(settled=(when + pd.Timedelta(days=9)).where(rows.y == 1), opened=when - pd.Timedelta(days=9))
    days = (when - pd.Timestamp(0)).dt.days.to_numpy(float)
    dated = table._replace(X=late, feature_names=list(late.columns), time=days, time_is_date=True)
    label, after = leakage_notes(dated)
    assert "'settled' alone has an AUC of 1.000" in label and "'settled' is later than --time in 100%" in after


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), PredefinedSplit(np.r_[np.full(400, -1), np.zeros(200, int)])])
def test_splitters_that_do_not_hold_out_every_row(cv):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] + rng.normal(size=600) > 0.5).astype(int)
    model = AUCClassifier(methods=["LeastSquaresAUC", "logistic"], cv=cv, random_state=0).fit(X, y)
    assert 0.7 < model.leaderboard_[0].auc < 0.95
    calibrated = Calibrated(LeastSquaresAUC(), cv=cv).fit(X, y)
    assert calibrated.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.05)
    again = Calibrated(LeastSquaresAUC(), cv=cv).fit(X, y)
    assert again.predict_proba(X).tolist() == calibrated.predict_proba(X).tolist()
