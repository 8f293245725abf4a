"""`auclid predict` with a purpose: alerts, thresholds, costs, precision; what is kept; workbooks; notes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from auclid.io import load, save

runner = pytest.importorskip("typer.testing").CliRunner()


def run(*words):
    from auclid.cli._app import app

    return runner.invoke(app, list(map(str, words)))


def make_rows(n, seed):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"a": rng.normal(size=n), "city": rng.choice(["x", "y"], n)})
    z = rows.a + (rows.city == "x") + rng.logistic(size=n)
    return rows.assign(label=np.where(z > 2.0, "fraud", "legit"))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_rows(600, 0).to_csv("train.csv", index=False)
    make_rows(300, 1).drop(columns="label").to_csv("new.csv", index=False)
    make_rows(300, 2).to_csv("test.csv", index=False)
    done = run("fit", "train.csv", "--target", "label", "--positive", "fraud", "--method", "LeastSquaresAUC")
    assert done.exit_code == 0, done.output


def scored(*words, output="scores.csv"):
    done = run("predict", "model.auclid", "new.csv", "--output", output, *words)
    assert done.exit_code == 0, done.output
    return read(output) if output.endswith(".csv") else done


def read(path):
    """The numbers that a file holds, to the last digit: older versions of pandas round."""
    return pd.read_csv(path, float_precision="round_trip")


@pytest.mark.parametrize("name", ["LeastSquaresAUC", "B-LS-SVM"])
def test_a_method_is_called_as_it_was_asked_for(files, name):
    done = run("fit", "train.csv", "--target", "label", "--positive", "fraud", "--method", name)
    assert f"\n{name}, fitted in" in done.output


def test_alerts_are_the_highest_rows(files):
    found = scored("--alerts", "20")
    called = found.label == "fraud"
    assert called.sum() == 20 and found.score[called].min() > found.score[~called].max()
    assert (scored("--alerts", "300").label == "fraud").all()


def test_thresholds_costs_and_precision(files):
    found = scored("--threshold", "0.5")
    assert ((found.label == "fraud") == (found.score > 0.5)).all()
    found = scored("--cost", "9:1")
    assert ((found.label == "fraud") == (found.probability > 0.1)).all()
    found = scored("--precision", "0.6")
    called = found.label == "fraud"
    assert found.probability[called].mean() >= 0.6
    more = found.sort_values("score", ascending=False)[: called.sum() + 1]
    assert more.probability.mean() < 0.6


def test_a_kept_threshold_is_used_everywhere(files):
    kept = scored("--alerts", "20", "--keep")
    model = load("model.auclid")
    assert (kept.score > model.threshold_).sum() == 20
    in_python = np.where(model.predict(read("new.csv")) == 1, "fraud", "legit")
    assert in_python.tolist() == kept.label.tolist()
    again = scored()
    assert again.label.tolist() == kept.label.tolist()
    rows = make_rows(300, 2)
    rows.drop(columns="label").to_csv("new.csv", index=False)
    called = scored().label == "fraud"
    done = run("evaluate", "model.auclid", "test.csv", "--target", "label")
    assert done.exit_code == 0, done.output
    hits = int((called & (rows.label == "fraud")).sum())
    assert f" {hits} " in " ".join(done.output.replace("│", " ").replace("|", " ").split())
    assert run("monitor", "model.auclid", "test.csv", "--json", "m.json").exit_code in (0, 3)
    assert abs(pd.read_json("m.json", typ="series")["alert_rate"][0] - called.mean()) < 1e-12


@pytest.mark.parametrize("method", ["LeastSquaresAUC", "Scorecard", "auto"])
def test_a_kept_cost_is_a_cut_of_the_probability(files, method):
    words = ["--target", "label", "--positive", "fraud", "--method", method]
    assert run("fit", "train.csv", *words).exit_code == 0
    make_rows(3, 3).drop(columns="label").to_csv("few.csv", index=False)
    done = run("predict", "model.auclid", "few.csv", "--cost", "9:1", "--keep", "--output", "few_scores.csv")
    assert done.exit_code == 0, done.output
    found = scored()
    assert 0 < (found.label == "fraud").sum() < len(found)
    assert ((found.label == "fraud") == (found.probability > 0.1)).all()


@pytest.mark.parametrize(("precision", "said"), [("0.9999", "no row reaches"), ("0", "all rows together reach")])
def test_a_precision_that_parts_no_rows_is_not_kept(files, precision, said):
    done = run("predict", "model.auclid", "new.csv", "--precision", precision, "--keep")
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())
    assert run("predict", "model.auclid", "new.csv", "--precision", precision).exit_code == 0


def test_the_picture_shows_the_threshold_of_the_model(files, monkeypatch):
    plot = pytest.importorskip("auclid.plot")
    drawn = []
    monkeypatch.setattr(plot, "scores", lambda *given, threshold, **rest: drawn.append(threshold))
    scored("--alerts", "20", "--keep")
    assert run("evaluate", "model.auclid", "test.csv", "--target", "label", "--plot", "p.png").exit_code == 0
    assert drawn == [load("model.auclid").threshold_]


def test_only_models_of_auclid_keep_a_threshold(files):
    rows = pd.read_csv("train.csv")
    save("theirs.auclid", LogisticRegression().fit(rows[["a"]], rows.label == "fraud"))
    done = run("predict", "theirs.auclid", "new.csv", "--alerts", "5", "--keep")
    assert done.exit_code == 2
    assert "--keep needs a model of auclid; MODEL holds a LogisticRegression" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--alerts", "5", "--threshold", "1"], "Only one of --alerts, --threshold, --cost and --precision"),
        (["--alerts", "301"], "--alerts must be at most the number of rows, 300; got 301"),
        (["--cost", "5"], "--cost must be FN:FP"),
        (["--cost", "0:1"], "--cost must be FN:FP"),
        (["--keep"], "--keep must come with"),
        (["--threshold", "nan"], "--threshold must be a number; got nan"),
        (["--output", "scores.xls"], "--output must end in .csv, .parquet, .pq or .xlsx"),
    ],
)
def test_what_cannot_be(files, words, said):
    done = run("predict", "model.auclid", "new.csv", *words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_monitor_wants_a_threshold_that_is_a_number(files):
    done = run("monitor", "model.auclid", "test.csv", "--threshold", "nan")
    assert done.exit_code == 2
    assert "--threshold must be a number; got nan" in " ".join(done.stderr.split())


def test_a_workbook(files):
    pytest.importorskip("openpyxl")
    rows = read("new.csv").assign(name="=1+1")
    rows.to_csv("new.csv", index=False)
    scored("--id", "name", output="scores.xlsx")
    found = pd.read_excel("scores.xlsx")
    expected = scored()
    assert found.columns.tolist() == ["name", "score", "probability", "label"]
    np.testing.assert_allclose(found.score, expected.score, rtol=1e-15)
    assert found.label.tolist() == expected.label.tolist()
    assert found.name.eq("=1+1").all()


def test_cells_the_model_has_not_seen_are_noted(files):
    rows = pd.read_csv("new.csv")
    rows.loc[:14, "city"] = "z"
    rows.loc[15:29, "a"] = 99.0
    rows.loc[30:35, "a"] = None
    rows.to_csv("new.csv", index=False)
    said = " ".join(run("predict", "model.auclid", "new.csv").output.split())
    assert "city has levels that were not seen before, in 5.0% of rows: 'z'." in said
    assert "a is outside of its earlier range in 5.3% of rows." in said
    assert "a is missing in 2.0% of rows, and never was before." in said


# --- evaluate without a model, and several models ---


def test_a_table_of_scores_is_evaluated(files):
    rows = make_rows(300, 2)
    rows.drop(columns="label").to_csv("new.csv", index=False)
    scored().assign(label=rows.label).to_csv("scored.csv", index=False)
    expected = run("evaluate", "model.auclid", "test.csv", "--target", "label").output.splitlines()[0]
    for column in ("score", "probability"):
        done = run("evaluate", "scored.csv", "--target", "label", "--positive", "fraud", "--score", column)
        assert done.exit_code == 0, done.output
        assert expected in done.output


def test_scores_without_a_model_have_no_threshold_of_a_model(files):
    rows = make_rows(300, 2)
    rows.drop(columns="label").to_csv("new.csv", index=False)
    scored().assign(label=rows.label).to_csv("scored.csv", index=False)
    words = ["scored.csv", "--target", "label", "--positive", "fraud", "--html", "page.html"]
    done = run("evaluate", *words, "--score", "score")
    assert "300 rows called fraud above 0:" in done.output and "own threshold" not in done.output
    page = Path("page.html").read_text("utf-8")
    assert "own threshold</option>" not in page and "<h1>score on scored.csv</h1>" in page
    assert page.count("score on scored.csv") == 2  # the title and the heading: the column of scores goes by its name
    done = run("evaluate", *words, "--score", "nope")
    assert "--score must name a column of 'scored.csv'; got 'nope'" in " ".join(done.stderr.split())


def test_the_lift_table_names_bands(files):
    lines = run("evaluate", "model.auclid", "test.csv", "--target", "label").output.splitlines()
    (line,) = [line.split() for line in lines if line.split()[:1] == ["10–20%"]]
    rows, scores = make_rows(300, 2), load("model.auclid").decision_function(make_rows(300, 2)[["a", "city"]])
    band = (rows.label == "fraud").to_numpy()[np.argsort(-scores)][30:60]
    assert line[2:4] == [str(band.sum()), f"{band.mean():.1%}"]


def test_a_challenger_is_compared_with_the_champion(files):
    from auclid.metrics import compare_auc

    words = ["--target", "label", "--positive", "fraud", "--drop", "city", "--method", "RankSVM"]
    assert run("fit", "train.csv", *words, "--model", "other.auclid").exit_code == 0
    done = run("evaluate", "model.auclid", "other.auclid", "--data", "test.csv")
    assert done.exit_code == 0, done.output
    rows = make_rows(300, 2)
    rows.drop(columns="label").to_csv("new.csv", index=False)
    first = scored().score
    assert run("predict", "other.auclid", "new.csv", "--output", "b.csv").exit_code == 0
    gap = compare_auc(rows.label == "fraud", read("b.csv").score, first)
    assert f"other.auclid − model.auclid: {gap.difference:+.4f}" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model.auclid"], "give MODEL DATA"),
        (["test.csv", "--score", "nix", "--target", "label", "--positive", "fraud"], "nix"),
        (["test.csv", "--score", "city", "--target", "label", "--positive", "fraud"], "must name a column of numbers"),
        (["test.csv", "--score", "a", "--target", "label"], "--positive must say which label"),
        (["test.csv", "--score", "a"], "DATA must have labels"),
        (["model.auclid", "test.csv", "--score", "a"], "one table and no model"),
        (["model.auclid", "model.auclid", "--data", "test.csv", "--plot", "x.png"], "with one model"),
    ],
)
def test_evaluations_that_cannot_be(files, words, said):
    done = run("evaluate", *words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


# --- update ---


@pytest.mark.parametrize("method", ["LeastSquaresAUC", "SPAM-L2", "OPAUC"])
def test_a_model_learns_on(files, method):
    words = ["--target", "label", "--positive", "fraud", "--method", method, "--model", "m.auclid"]
    assert run("fit", "train.csv", *words).exit_code == 0
    rows = make_rows(300, 2)
    X, y = rows[["a", "city"]], (rows.label == "fraud").astype(int)
    expected = load("m.auclid").partial_fit(X, y).predict_proba(X)
    assert abs(load("m.auclid").predict_proba(X) - expected).max() > 1e-4
    done = run("update", "m.auclid", "test.csv", "--output", "n.auclid")
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(load("n.auclid").predict_proba(X), expected, rtol=1e-12)
    assert run("predict", "n.auclid", "new.csv").exit_code == 0
    assert run("update", "m.auclid", "test.csv").exit_code == 0
    np.testing.assert_allclose(load("m.auclid").predict_proba(X), expected, rtol=1e-12)


def test_what_cannot_learn_on_says_so(files):
    words = ["--target", "label", "--positive", "fraud", "--method", "RankSVM", "--model", "m.auclid"]
    assert run("fit", "train.csv", *words).exit_code == 0
    done = run("update", "m.auclid", "test.csv")
    assert done.exit_code == 2 and "RankSVM does not" in " ".join(done.stderr.split())
    assert run("update", "model.auclid", "new.csv").exit_code == 2


def test_an_updated_card_of_the_logistic_loss_keeps_the_unit_of_its_scores(tmp_path):
    rng, n = np.random.default_rng(1), 1200
    frame = pd.DataFrame({"age": rng.integers(18, 80, n), "loans": rng.poisson(2, n)})
    frame["income"] = rng.lognormal(8, 1.2, n)
    score = 0.03 * (50 - frame.age) - 0.4 * (np.log(frame.income) - 8) + 0.3 * frame.loans - 2
    frame["y"] = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    old, new, model, out = (tmp_path / name for name in ("old.csv", "new.csv", "m.auclid", "s.csv"))
    frame[:800].to_csv(old, index=False)
    frame[800:].to_csv(new, index=False)

    fit = ("fit", old, "--target", "y", "--method", "Scorecard", "--set", "interactions=0", "--model", model)
    assert run(*fit).exit_code == 0
    assert load(model).loss_ == "logistic"
    assert run("predict", model, new, "--alerts", 40, "--keep", "--output", out).exit_code == 0
    before, rows = load(model), frame.drop(columns="y")
    said = run("update", model, new, "--target", "y")
    after = load(model)
    assert said.exit_code == 0 and after.loss_ == "square"
    assert after.threshold_ == before.threshold_
    assert 34 <= after.predict(rows[800:]).sum() <= 46
    expected = before.partial_fit(rows[800:], frame.y[800:])
    np.testing.assert_allclose(after.decision_function(rows), expected.decision_function(rows), rtol=1e-9)
    for rows in (old, new):
        found = run("monitor", model, rows, "--output", tmp_path / "monitor.html")
        assert found.exit_code == 0, found.output
