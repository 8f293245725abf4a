"""The command as a user drives it: good files and bad ones in temporary folders."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

import auclid
from auclid.cli import _show, evaluation, main, models
from auclid.cli import compare as job
from auclid.cli._app import app
from auclid.cli.data import positives, text
from auclid.cli.report import report
from auclid.cli.verdict import verdict
from auclid.comparison import ComparedModel, ModelComparison
from auclid.metrics import PairComparison, auc_interval, compare_auc, gini, rates_at, roc_auc
from auclid.metrics._rates import wilson
from auclid.metrics._roc import roc_curve

LIGHT = ["--against", "logistic,ridge"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command inside a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        result = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return command


def rows(n=200, seed=0, gaps=False):
    """Columns a, b and town; y depends on a and on the town."""
    rng = np.random.default_rng(seed)
    a, b, town = rng.normal(size=n), rng.normal(size=n), rng.choice(["Rome", "Paris", "Oslo"], size=n)
    y = np.where(a + (town == "Rome") + rng.normal(size=n) > 1.2, "sick", "fine")
    a_text = [f"{x:.6f}" if not gaps or k % 17 else "" for k, x in enumerate(a)]
    return a_text, [f"{x:.6f}" for x in b], town, y


def write_csv(path, columns):
    lines = [",".join(columns), *(",".join(map(str, line)) for line in zip(*columns.values(), strict=True))]
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture
def table(run):
    a, b, town, y = rows()
    write_csv("plain.csv", {"a": a, "b": b, "y": y})
    write_csv("towns.csv", {"town": town, "a": a, "b": b, "y": y})
    return run


def said(result):
    """What was said about bad input: one sentence, exit code 2, no traceback."""
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("auclid:")]
    return line


def test_compare_without_data_takes_the_embedded_table(run):
    result = run("compare", "--methods", "spam-l2,least squares auc", *LIGHT)
    assert result.exit_code == 0
    for word in (
        "mammography",
        "SPAM-L2",
        "LeastSquaresAUC",
        "LogisticRegression",
        "RidgeClassifier",
        "95 % interval",
    ):
        assert word in result.stdout
    assert "Does optimising AUC pay on this table?" in result.stdout
    assert "compiling is not counted" in result.stdout
    page = Path("report.html").read_text()
    assert page.startswith("<!doctype html>") and page.count("<svg") == 3 + 4 + 5 and "SPAM-L2" in page
    assert [path.name for path in Path().iterdir()] == ["report.html"]


def hold_out(**more):
    return job.Protocol(test_size=0.3, **more)


def test_shapes_of_the_report_have_the_names_of_columns():
    data = job_data()
    result = job.compare(data, ["Scorecard"], ["logistic"], seed=1, protocol=hold_out())
    assert len(result.shapes) >= 3
    alone = {shape.name for shape in result.shapes if not isinstance(shape.name, tuple)}
    assert alone == set(data.feature_names) == {why.name for why in result.reasons}


def test_compare_prints_the_auc_it_measures():
    data = job_data()
    result = job.compare(data, ["LeastSquaresAUC"], ["logistic"], seed=1, protocol=hold_out())
    found = result.comparison.models
    assert [model.auc for model in found] == sorted((model.auc for model in found), reverse=True)
    (train, test), = result.comparison.splits
    for model in found:
        assert model.auc == roc_auc(data.is_pos[test], model.scores) and model.seconds > 0.0
    assert len(np.intersect1d(train, test)) == 0 and len(train) + len(test) == len(data.is_pos)
    again = job.compare(data, ["LeastSquaresAUC"], ["logistic"], seed=1, protocol=hold_out())
    assert [model[1:4] for model in again.comparison.models] == [model[1:4] for model in found]


def job_data(n=300, d=3, missing=False):
    from auclid.cli.data import BinaryTable

    rng = np.random.default_rng(0)
    is_pos = rng.random(n) < 0.3
    X = rng.normal(size=(n, d)) + is_pos[:, None]
    if missing:
        X[::7, 0] = np.nan
    return BinaryTable("made up", X, is_pos, ["0", "1"], ["a", "b", "c"], [])


@pytest.mark.parametrize("shape", [(100, 5), (10**6, 5), (10**4, 5000)], ids=str)
def test_sensible_methods_are_in_the_registry_and_suit(shape):
    for X in (np.broadcast_to(0.0, shape), sparse.csr_matrix(shape)):
        names = [models.ours(name, 0)[0] for name in models.sensible(X)[0]]
        assert len(set(names)) == len(names) >= 3
    few, told = models.sensible(sparse.csr_matrix(shape))
    assert len(models.sensible(np.broadcast_to(0.0, shape))[0]) >= len(few)
    assert all("is left out: a kernel method" in note or "is left out: a curve" in note for note in told)
    assert any("Scorecard is left out" in note for note in told)


@pytest.mark.filterwarnings("ignore")
def test_compare_chooses_methods_by_itself_and_imputes_with_a_note():
    told = []
    result = job.compare(
        job_data(missing=True), against=["logistic", "boosting"], tell=told.append, protocol=hold_out()
    )
    found = result.comparison.models
    assert sum(not model.is_baseline for model in found) >= 3 and not any(model.trouble for model in found)
    assert told and len(told) == len(found) and "AUCClassifier" in told
    assert any("median" in note for note in result.notes)


def test_a_method_that_fails_keeps_its_row(monkeypatch, run):
    class Broken(auclid.LeastSquaresAUC):
        def fit(self, X, y):
            raise ValueError("no <luck>")

    monkeypatch.setattr(models, "ours", lambda *args, **options: ("Broken", Broken()))
    result = run("compare", "--methods", "SPAM-L2", *LIGHT)
    assert "Broken" in result.stdout and "Broken failed: no <luck>" in result.stderr
    assert "none of our methods" in result.stdout
    page = Path("report.html").read_text()
    assert "failed: no &lt;luck&gt;" in page


def test_without_lightgbm_another_booster_stands_in_by_its_own_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    chosen, notes = job.candidates(np.zeros((4, 2)), ["spam"], ["lightgbm", "lightgbm-small"], 0)
    assert [name for _, name, _ in chosen[1:]] == ["HistGradientBoosting", "HistGradientBoosting (small trees)"]
    assert "LightGBM is not installed" in notes[0]


def test_compare_takes_the_front_door_too():
    chosen, _ = job.candidates(np.zeros((4, 2)), ["auto", "spam"], [], 7)
    assert [(name, ours) for ours, name, _ in chosen] == [("AUCClassifier", True), ("SPAM", True)]  # as asked
    assert chosen[0][2].random_state == 7


def row(name, ours, auc, difference=None, pvalue=1.0, adjusted=None, trouble=""):
    adjusted = pvalue if adjusted is None else adjusted
    ends = (difference or 0.0) - 0.01, (difference or 0.0) + 0.01
    gap = None if difference is None else PairComparison(name, "L", difference, *ends, pvalue, adjusted)
    return ComparedModel(name, auc, auc - 0.05, auc + 0.05, np.array([auc]), is_baseline=not ours, gap=gap,
                         trouble=trouble)  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "answer"),
    [
        (
            [row("A", True, 0.9, 0.1, 0.001), row("L", False, 0.8)],
            "Yes: A ranks better than the best baseline, L",
        ),
        (
            [row("L", False, 0.9), row("A", True, 0.8, -0.1, 0.001)],
            "No: L ranks better than the best of ours, A",
        ),
        ([row("A", True, 0.9, 0.01, 0.2), row("L", False, 0.89)], "Not measurably"),
        (
            [row("A", True, 0.9, 0.1, 0.03, 0.06), row("B", True, 0.85, 0.05), row("L", False, 0.8)],
            "Not measurably",
        ),
        ([row("L", False, 0.9)], "No verdict"),
        ([row("A", True, 0.9)], "No verdict"),
        ([row("L", False, 0.9), row("A", True, 0.8, trouble="x")], "none of our methods"),
        (
            [row("AUCClassifier", True, 0.9, 0.1, 0.001), row("A", True, 0.8, 0.0), row("L", False, 0.8)],
            "Not measurably: A",
        ),
    ],
    ids=["gain", "loss", "tie", "chosen from two", "no method", "no baseline", "failed", "not the blend"],
)
def test_the_verdict_says_which_way_it_came_out(measured, answer):
    assert answer in verdict(ModelComparison(measured, [], 0.95))


def test_the_answers_are_those_a_newcomer_asks_for():
    data = job_data(600)
    result = job.compare(data, ["RankSVM", "LeastSquaresAUC"], ["logistic"], protocol=job.Protocol(cv=3, repeats=2))
    asked = {answer.question: answer.text for answer in result.answers}
    best = result.comparison.best
    assert asked["Which model?"].startswith(best.name)
    assert f"{best.auc:.4f}" in asked["How good will it be?"] and f"{best.ap:.4f}" in asked["How good will it be?"]
    assert f"{data.is_pos.sum():,} positives" in asked["How sure is that?"]
    assert "2 repeats of 3 folds" in asked["How sure is that?"]
    assert "Among linear models" in asked["Does optimising AUC pay on this table?"]
    page = report(result)
    assert all(answer.question in page for answer in result.answers) and "Nadeau" in page


def test_few_positives_are_compared_by_repeated_folds_and_many_by_one_hold_out():
    few, many = job_data(400), job_data(9000)
    assert job.compare(few, ["LeastSquaresAUC"], ["logistic"]).comparison.how == "3 repeats of 5 folds"
    assert job.compare(many, ["LeastSquaresAUC"], ["logistic"]).comparison.how == "one split, 30% of the rows held out"
    short = job.compare(few, ["LeastSquaresAUC"], ["logistic"], protocol=job.Protocol(budget=1e-9))
    assert short.comparison.how == "one split, 20% of the rows held out" and "for want of time" in " ".join(short.notes)


def test_compare_for_the_top_ranks_tests_and_draws_the_region():
    data = job_data(1200)
    result = job.compare(data, ["RankSVM", "LeastSquaresAUC"], ["logistic"], max_fpr=0.1, protocol=hold_out())
    for model in result.comparison.models:
        alone = auc_interval(result.is_pos, model.scores, max_fpr=0.1)
        assert model[1:4] == (alone.auc, alone.low, alone.high)
    best = result.best(ours=False)
    for model in result.comparison.models:
        if model is not best:
            gap = compare_auc(result.is_pos, model.scores, best.scores, max_fpr=0.1)
            assert (model.gap.difference, model.gap.pvalue) == (gap.difference, gap.pvalue)
    assert "partial AUC up to a false-positive rate of 0.1" in result.answers[-1].text
    assert any("LeastSquaresAUC learns the whole list" in note for note in result.notes)
    page = report(result)
    assert 'class="region"' in page and "left of a false positive rate of 0.1" in page
    assert "Does optimising partial AUC up to a false-positive rate of 0.1 pay on this table?" in page
    assert "<th>partial AUC</th>" in page and "partial AUC (FPR ≤ 0.1)" in page
    whole = report(job.compare(data, ["LeastSquaresAUC"], ["logistic"], protocol=hold_out()))
    assert 'class="region"' not in whole and "partial AUC" not in whole


def test_models_learn_for_the_top_where_they_can():
    assert models.ours("RankSVM", 0, 0.1)[1][-1].max_fpr == 0.1
    assert models.ours("SVMpAUC", 0, 0.05)[1][-1].max_fpr == 0.05
    assert models.ours("TopPush", 0, 0.05)[1][-1].max_fpr == "top"
    assert models.ours("NBAM", 0, 0.1)[1][-1].ranker.max_fpr == 0.1
    assert models.ours("auto", 0, 0.1)[1].max_fpr == 0.1
    assert not models.for_the_top(models.ours("SPAM", 0, 0.1)[1])


def test_scales_are_told_of_where_columns_are_scaled(table):
    a, b, _, y = rows()
    write_csv("wild.csv", {"a": ["1e9", *a[1:]], "b": b, "y": y})
    for method, told in (("RankSVM", True), ("Scorecard", False)):
        result = table("fit", "wild.csv", "--target", "y", "--method", method)
        assert result.exit_code == 0 and ("normal scores" in result.output + result.stderr) == told


def test_the_next_line_keeps_the_region(table):
    options = "--target", "y", "--against", "ridge", "--max-fpr", "0.2", "--methods"
    for method, kept in (("RankSVM", True), ("LeastSquaresAUC", False)):
        told = table("compare", "plain.csv", *options, method).stdout.splitlines()
        (line,) = [line for line in told if line.startswith("What next? ")]
        assert "auclid fit plain.csv" in line and ("--max-fpr 0.2" in line) is kept


def test_the_next_line_keeps_the_settings(table):
    words = "--target", "y", "--against", "ridge", "--set", "RankSVM:alpha=0.5", "--methods", "RankSVM"
    told = table("compare", "plain.csv", *words, "--set", "max_iter=90").stdout
    assert "--method RankSVM --set alpha=0.5 --set max_iter=90 --model model.auclid" in " ".join(told.split())
    assert "--set must name a method that is compared (RankSVM); got 'SPAM'" in said(
        table("compare", "plain.csv", *words, "--set", "SPAM:alpha=1")
    )


def test_fit_for_the_top(table):
    told = table("fit", "plain.csv", "--target", "y", "--method", "RankSVM", "--max-fpr", "0.2", "--model", "m")
    assert told.exit_code == 0, told.output
    told = table("fit", "plain.csv", "--target", "y", "--method", "SPAM", "--max-fpr", "0.2", "--model", "m")
    assert "--max-fpr is for methods that learn for the top" in said(told)
    for command in (["compare", "plain.csv"], ["fit", "plain.csv", "--model", "m"]):
        told = table(*command, "--target", "y", "--max-fpr", "1.5")
        assert "must be a float in (0.0, 1.0]" in said(told)


def test_fit_as_published(table):
    options = "fit", "plain.csv", "--target", "y", "--published", "--model", "p.auclid"
    result = table(*options, "--method", "solam")
    assert result.exit_code == 0 and auclid.io.about("p.auclid")["method"] == "SOLAM (as published)"
    assert "--published must have a --method" in said(table(*options))


def test_fit_predict_evaluate(table):
    assert (
        table("fit", "plain.csv", "--target", "y", "--method", "RankSVM", "--model", "m.auclid").exit_code
        == 0
    )
    model, about = auclid.load("m.auclid"), auclid.io.about("m.auclid")
    assert (
        about["columns"] == ["a", "b"]
        and about["classes"] == ["fine", "sick"]
        and about["method"] == "RankSVM"
    )
    assert table("predict", "m.auclid", "plain.csv", "--output", "s.csv").exit_code == 0
    X = pandas.DataFrame(np.loadtxt("plain.csv", delimiter=",", skiprows=1, usecols=(0, 1)), columns=["a", "b"])
    lines = Path("s.csv").read_text().splitlines()
    assert lines[0] == "score,probability,label" and len(lines) == 201
    np.testing.assert_array_equal(
        [float(line.split(",")[0]) for line in lines[1:]], model.decision_function(X)
    )
    assert {line.split(",")[2] for line in lines[1:]} == {"fine", "sick"}
    np.testing.assert_allclose([float(line.split(",")[1]) for line in lines[1:]], model.predict_proba(X)[:, 1])
    y = np.loadtxt("plain.csv", delimiter=",", skiprows=1, usecols=2, dtype=str)
    result = table("evaluate", "m.auclid", "plain.csv")
    assert (
        f"AUC {roc_auc(y, model.decision_function(X), pos_label='sick'):.4f}" in result.stdout
        and "called sick" in result.stdout
    )


def test_the_label_to_rank_on_top_can_be_named(table):
    table(
        "fit",
        "plain.csv",
        "--target",
        "y",
        "--positive",
        "fine",
        "--method",
        "LeastSquaresAUC",
        "--model",
        "m",
    )
    assert auclid.io.about("m")["classes"] == ["sick", "fine"]
    first = table("evaluate", "m", "plain.csv").stdout
    table("fit", "plain.csv", "--target", "y", "--method", "LeastSquaresAUC", "--model", "n")
    assert first.splitlines()[0] == table("evaluate", "n", "plain.csv").stdout.splitlines()[0]


def test_a_scorecard_leaves_a_page_and_its_points(table):
    a, b, _, y = rows(gaps=True)
    write_csv("gaps.csv", {"a": a, "b": ["1e9", *b[1:]], "y": y})
    line = table("fit", "gaps.csv", "--target", "y", "--method", "LeastSquaresAUC", "--model", "line.auclid")
    result = table("fit", "gaps.csv", "--target", "y", "--method", "scorecard", "--model", "card.auclid")
    assert "normal scores" in line.stdout + line.stderr and "normal scores" not in result.stdout + result.stderr
    assert result.exit_code == 0 and "card.html" in result.stdout and "card.points.csv" in result.stdout
    model = auclid.load("card.auclid")
    assert isinstance(model, auclid.Scorecard) and model.shapes_[0].missing != 0.0
    page, points = Path("card.html").read_text("utf-8"), Path("card.points.csv").read_text().splitlines()
    assert "The points cost" in page and "Row " not in page
    assert "higher chance of sick: 600 points are odds of 50 to one" in page
    assert points[0] == "column,bin,low,high,points,rows,positives,rate,woe,iv"
    assert any(line.startswith("a,missing,,,") for line in points)
    assert table("predict", "card.auclid", "gaps.csv").exit_code == 0


def test_fit_without_a_method_takes_the_front_door(table):
    assert "AUCClassifier, fitted" in table("fit", "plain.csv", "--target", "y").stdout
    assert isinstance(auclid.load("model.auclid"), auclid.AUCClassifier)
    assert table("evaluate", "model.auclid", "plain.csv").exit_code == 0


@pytest.mark.parametrize("about", [None, "mine", {"columns": 5}], ids=str)
def test_models_saved_from_python_are_read_by_position_or_name(table, about):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 3 == 0
    auclid.save("m", auclid.LeastSquaresAUC().fit(X, np.where(y, "sick", "fine")), about=about)
    write_csv("new.csv", {"a": X[:, 0], "b": X[:, 1]})
    assert table("predict", "m", "new.csv").exit_code == 0
    assert {line.split(",")[1] for line in Path("scores.csv").read_text().splitlines()[1:]} == {"fine", "sick"}
    assert table("evaluate", "m", "plain.csv", "--target", "y").exit_code == 0
    write_csv("wide.csv", {"a": [1], "b": [1], "c": [1]})
    assert "3 features" in said(table("predict", "m", "wide.csv"))


def test_models_read_texts_again(table):
    assert table("fit", "towns.csv", "--target", "y", "--method", "RankSVM", "--model", "m").exit_code == 0
    assert auclid.io.about("m")["columns"] == ["town", "a", "b"]
    write_csv("new.csv", {"b": [0.1], "a": [0.2], "town": ["Rome"], "more": [1]})
    result = table("predict", "m", "new.csv")
    assert result.exit_code == 0 and "The model does not know 'more': left out." in result.stderr
    X = pandas.DataFrame({"town": ["Rome"], "a": [0.2], "b": [0.1]})
    score = float(Path("scores.csv").read_text().splitlines()[1].split(",")[0])
    assert score == auclid.load("m").decision_function(X)[0]


def test_libsvm_files_of_any_density_suit_the_model(run):
    """The model learnt from plain columns; a file of mostly zeros must not come to it as a sparse one."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3 == 0
    dump_svmlight_file(X, y.astype(int), "full.svm", zero_based=False)
    dump_svmlight_file(X * (rng.random(X.shape) < 0.1), y.astype(int), "empty.svm", zero_based=False)
    assert run("fit", "full.svm", "--model", "m").exit_code == 0
    assert run("predict", "m", "empty.svm").exit_code == 0
    assert run("evaluate", "m", "empty.svm").exit_code == 0


def test_sparse_files_and_given_names(run):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 30)) * (rng.random((90, 30)) < 0.1), np.arange(90) % 3 == 0
    dump_svmlight_file(X, y.astype(int), "a.svm.txt", zero_based=False)
    result = run(
        "compare", "a.svm.txt", "--methods", "SPAM", "--against", "logistic", "--output", "other.html"
    )
    assert result.exit_code == 0 and Path("other.html").exists()


def test_missing_values_are_imputed_at_predict_too(run):
    a, b, _, y = rows()
    write_csv("whole.csv", {"a": a, "b": b, "y": y})
    write_csv("gaps.csv", {"a": rows(gaps=True)[0], "b": b})
    assert run("fit", "whole.csv", "--target", "y", "--model", "m").exit_code == 0
    result = run("predict", "m", "gaps.csv")
    assert result.exit_code == 0 and "values are missing, in 'a'" in result.stderr


def test_lists(run):
    methods = run("methods").stdout
    assert all(method.name in methods for method in auclid.algorithms())
    assert "…" not in methods, "a parameter is cut off"
    datasets = run("datasets").stdout
    assert "mammography" in datasets and "a9a" in datasets
    assert auclid.__version__ in run("--version").stdout
    assert "compare" in run("--help").stdout


def test_the_package_runs_as_the_command():
    done = subprocess.run([sys.executable, "-m", "auclid", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"auclid {auclid.__version__}\n"


BAD = {
    "no file": (["compare", "none.csv", "--target", "y"], "a file, folder or glob that exists; got 'none.csv'"),
    "no target": (["compare", "plain.csv"], "must have labels"),
    "wrong target": (["compare", "plain.csv", "--target", "yy"], "Did you mean 'y'?"),
    "one class": (["compare", "one.csv", "--target", "y"], "all its values are '1'"),
    "many classes": (["fit", "many.csv", "--target", "y", "--model", "m"], "--positive LABEL"),
    "few": (["compare", "few.csv", "--target", "y"], "The target must hold at least 4 rows of each class"),
    "method": (["compare", "plain.csv", "--target", "y", "--methods", "spamm"], "Did you mean SPAM"),
    "baseline": (
        ["compare", "plain.csv", "--target", "y", "--against", "logistik"],
        "Did you mean logistic?",
    ),
    "baseline first": (["compare", "bytes.csv", "--target", "y", "--against", "logistik"], "Did you mean logistic?"),
    "bytes": (["compare", "bytes.csv", "--target", "y"], "'bytes.csv' must hold text in UTF-8; it is in "),
    "bytes by blocks": (
        ["fit", "bytes.csv", "--target", "y", "--memory", "1MB", "--model", "m"],
        "'bytes.csv' must hold text in UTF-8; it is in ",
    ),
    "label": (
        ["fit", "plain.csv", "--target", "y", "--positive", "dead", "--model", "m"],
        "--positive must be a label of the target; got 'dead'",
    ),
    "no folder": (["fit", "plain.csv", "--target", "y", "--model", "none/m"], "must be in a folder that exists"),
    "a folder": (["compare", "plain.csv", "--target", "y", *LIGHT, "--output", "."], "it is a folder"),
    "no model": (["predict", "plain.csv", "plain.csv"], "must be an auclid model file; it is another kind of file"),
    "no format": (["export", "good", "--to", "xml"], "--to must be one of sql, onnx, pmml, json, python; got 'xml'"),
    "wrong columns": (
        ["predict", "good", "other.csv"],
        "DATA must have the columns the model was fitted with; there is no 'b'.",
    ),
    "text at predict": (["predict", "good", "words.csv"], "Column 'a' of Columns must hold numbers"),
    "wrong labels": (
        ["evaluate", "good", "relabelled.csv"],
        "must hold the model's classes",
    ),
    "no labels": (["evaluate", "good", "unlabelled.csv"], "--target must name a column"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_leaves_nothing_behind(case, table):
    table("fit", "plain.csv", "--target", "y", "--method", "LeastSquaresAUC", "--model", "good")
    for name, columns in {
        "one": {"a": [1, 2], "y": [1, 1]},
        "many": {"a": [1, 2, 3], "y": ["u", "v", "w"]},
        "few": {"a": range(20), "y": [1, 1, *[0] * 18]},
        "other": {"a": [1], "c": [1]},
        "words": {"a": ["x"], "b": [1]},
        "relabelled": {"a": [1, 2], "b": [1, 2], "y": [0, 1]},
        "unlabelled": {"a": [1, 2], "b": [1, 2]},
    }.items():
        write_csv(f"{name}.csv", columns)
    Path("bytes.csv").write_bytes(bytes(range(256)) * 20)
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    words, sentence = BAD[case]
    assert sentence in said(table(*words))
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_rare_positives_that_nobody_is_called_get_a_hint(run):
    rng = np.random.default_rng(0)
    y, a = np.arange(600) < 12, rng.normal(size=600)
    write_csv("rare.csv", {"a": a + y, "b": rng.normal(size=600), "y": y.astype(int)})
    run("fit", "rare.csv", "--target", "y", "--method", "LeastSquaresAUC", "--model", "m")
    assert "No row is called" not in run("evaluate", "m", "rare.csv").stdout
    run("predict", "m", "rare.csv", "--threshold", "1e6", "--keep", "--output", "scores.csv")
    found = run("evaluate", "m", "rare.csv").stdout
    assert "600 rows at the model's own threshold, 1e+06:" in found
    assert "No row is called 1." in found and "--alerts N" in found


def test_usage_errors_exit_with_2(run):
    assert run("fit").exit_code == 2 and run("compare", "--seed", "x").exit_code == 2


def test_labels_read_as_people_write_them():
    assert [text(label) for label in (1.0, 0.5, True, "yes", np.int64(3))] == ["1", "0.5", "true", "yes", "3"]
    is_pos, classes = positives(np.array([1.0, 2.0, 3.0]), "2")
    assert is_pos.tolist() == [False, True, False] and classes == ["rest", "2"]


def test_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as error:
        main()
    assert error.value.code == 2
    assert capsys.readouterr().err == "auclid: the command needs typer: pip install 'auclid[cli]'\n"


def test_the_command_runs_as_a_process(tmp_path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "auclid.cli", "compare", "no such file.csv"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
    assert done.stderr.startswith("auclid: DATA must be a file") and done.stderr.count("\n") == 1


def hostile_report():
    data = job_data()._replace(source="</script><script>alert(1)</script>", classes=["<b>", "a&b"])
    return report(job.compare(data, ["LeastSquaresAUC"], ["logistic"]))


def test_the_page_holds_everything_and_escapes_what_it_is_told():
    page = hostile_report()
    assert "alert(1)" in page and "<script>alert" not in page and "<i>note" not in page and "a&amp;b" in page
    assert page.count("<script>") == page.count("</script>") == 1
    for address in ("http://", "https://", "src=", "@import", "url("):
        assert address not in page
    assert "prefers-color-scheme: dark" in page and "@media print" in page and "max-width: 46rem" in page
    models_ = json.loads(page.split("const models = ")[1].split(";\n")[0])
    for model in models_:
        every = [model["positives"], model["negatives"]]
        assert [model["hits"][0], model["alarms"][0]] == every and [model["hits"][-1], model["alarms"][-1]] == [0, 0]
        assert 0 <= model["start"] < len(model["threshold"])


def test_roc_points_are_the_counts_above_their_thresholds():
    rng = np.random.default_rng(0)
    is_pos, scores = rng.random(50) < 0.4, np.round(rng.normal(size=50), 1)
    curve = roc_curve(is_pos, scores)
    for threshold, tp, fp in zip(*curve[:3], strict=True):
        above = scores > threshold if tp + fp < 50 else scores >= threshold
        assert (tp, fp) == (above[is_pos].sum(), above[~is_pos].sum())
    area = np.trapezoid(curve.tpr, curve.fpr)
    assert area == pytest.approx(roc_auc(is_pos, scores), abs=1e-12)


def test_wilson_intervals_cover_as_promised():
    from scipy.stats import binom

    for n, p in ((20, 0.5), (50, 0.9), (200, 0.02)):
        k = np.arange(n + 1)
        low, high = wilson(k, n, 0.95)
        covered = binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum()
        assert 0.9 < covered <= 1.0 and low[0] == 0.0 and high[-1] == 1.0


def test_an_output_never_takes_the_place_of_an_input(table):
    assert table("fit", "plain.csv", "--target", "y", "--method", "RankSVM", "--model", "m.auclid").exit_code == 0
    before = {name: Path(name).read_bytes() for name in ("plain.csv", "m.auclid")}
    for words in (
        ("fit", "plain.csv", "--target", "y", "--method", "RankSVM", "--model", "plain.csv"),
        ("predict", "m.auclid", "plain.csv", "--output", "plain.csv"),
        ("predict", "m.auclid", "plain.csv", "--output", "m.auclid"),
        ("compare", "plain.csv", "--target", "y", "--output", "./plain.csv"),
    ):
        result = table(*words)
        assert result.exit_code == 2
        assert "must be another file than those that are read" in said(result)
    assert before == {name: Path(name).read_bytes() for name in before}


def test_files_that_do_not_fit_the_model_are_refused(table):
    table("fit", "plain.csv", "--target", "y", "--method", "RankSVM", "--model", "m.auclid")
    rng = np.random.default_rng(0)
    dump_svmlight_file(rng.normal(size=(20, 2)), np.arange(20) % 2, "zero.svm", zero_based=True)
    dump_svmlight_file(rng.normal(size=(20, 2)), np.arange(20) % 2, "one.svm", zero_based=False)
    assert "numbers only" in said(table("evaluate", "m.auclid", "zero.svm"))
    table("fit", "one.svm", "--method", "RankSVM", "--model", "one.auclid")
    assert table("evaluate", "one.auclid", "one.svm").exit_code == 0
    assert "it has a column 0" in said(table("evaluate", "one.auclid", "zero.svm"))
    a, b, _, y = rows()
    write_csv("more.csv", {"a": a, "b": b, "y": [*y[:-1], "dead"]})
    assert "it has 'dead'" in said(table("evaluate", "m.auclid", "more.csv", "--target", "y"))


@pytest.mark.parametrize("cut", [0.5, 0.9])
def test_broken_archives_are_one_sentence(run, cut):
    rng = np.random.default_rng(0)
    np.savez_compressed("whole.npz", X=rng.normal(size=(50, 3)), y=np.arange(50) % 2)
    whole = Path("whole.npz").read_bytes()
    Path("broken.npz").write_bytes(whole[: int(cut * len(whole))])
    Path("bent.npz").write_bytes(whole[:200] + bytes(100) + whole[300:])
    np.savez("empty.npz", X=np.zeros((0, 3)), y=np.zeros(0))
    for name in ("broken.npz", "bent.npz", "empty.npz"):
        result = run("fit", name, "--method", "RankSVM", "--model", "m.auclid")
        assert result.exit_code == 2
        assert "must hold" in said(result)


def test_broken_tables_are_named_and_not_who_reads_them(run):
    Path("short.csv").write_text("a,b,y\n1,2,0\n1,2\n3,4,1\n")
    Path("nothing.csv").write_text("")
    Path("noise.parquet").write_bytes(b"PAR1 noise")
    for name, words in (
        ("short.csv", "line 3 has 2 cells and not 3"),
        ("nothing.csv", "Empty CSV file"),
        ("noise.parquet", "must be a whole parquet file"),
    ):
        result = run("fit", name, "--target", "y", "--model", "m.auclid")
        assert result.exit_code == 2 and said(result).count(name) == 1
        assert words in said(result) and "parse error" not in said(result) and "input source" not in said(result)


def test_a_method_that_nobody_knows_is_said_in_the_words_of_the_command(table):
    for words in (("compare", "--methods"), ("fit", "--method")):
        result = table(words[0], "plain.csv", "--target", "y", words[1], "Nope")
        assert result.exit_code == 2
        assert "A method must be one that `auclid methods` lists; got 'Nope'. Known are: B-LS-SVM" in said(result)


def test_text_in_another_encoding_is_named(run):
    lines = ["city,a,y", *(f"{city},{k},{k % 2}" for k, city in enumerate(["Köln", "Oslo"] * 20))]
    Path("latin.csv").write_bytes("\n".join(lines).encode("latin-1"))
    result = run("fit", "latin.csv", "--target", "y", "--method", "RankSVM", "--model", "m.auclid")
    assert result.exit_code == 2
    assert "must hold text in UTF-8" in said(result)


# --- evaluate: what a statistician asks for -------------------------------------------------------


@pytest.fixture
def judged(run):
    """A model and rows with a region of four values and a patient of five rows each."""
    rng = np.random.default_rng(0)
    a, b, y = rng.normal(size=400), rng.normal(size=400), np.arange(400) % 4 == 0
    columns = {"a": a + 1.5 * y, "b": b, "y": np.where(y, "ill", "fit")}
    write_csv("rows.csv", columns)
    region = np.array(["north", "south", "west", "[red]"])[rng.integers(0, 4, 400)]
    write_csv("judge.csv", {**columns, "region": region, "patient": np.arange(400) // 5})
    assert run("fit", "rows.csv", "--target", "y", "--method", "LeastSquaresAUC", "--model", "m").exit_code == 0
    score = auclid.load("m").decision_function(pandas.DataFrame({name: columns[name] for name in "ab"}))
    return run, y == (auclid.io.about("m")["classes"][1] == "ill"), score, region


def test_evaluate_prints_the_partial_auc_and_the_alerts(judged):
    run, is_pos, score, _ = judged
    result = run("evaluate", "m", "judge.csv", "--max-fpr", "0.1", "--alerts", "50")
    assert result.exit_code == 0, result.output
    part, rates = auc_interval(is_pos, score, max_fpr=0.1), rates_at(is_pos, score, alerts=50)
    assert f"rate of 0.1: {part.auc:.4f}, 95 % interval {part.low:.4f} to {part.high:.4f}" in result.stdout
    assert "The 50 highest of 400 rows" in result.stdout and f"{rates.precision:.1%} are" in result.stdout
    assert f"{rates.tpr:.1%} of them ({rates.tpr_low:.1%} to {rates.tpr_high:.1%})" in result.stdout
    assert f"Gini {gini(is_pos, score):.4f}" in result.stdout and "100%" in result.stdout


def test_evaluate_by_groups_or_allowing_for_them(judged):
    run, is_pos, score, region = judged
    few = run("evaluate", "m", "judge.csv", "--groups", "region").stdout
    for name in ("north", "[red]"):
        one = auc_interval(is_pos[region == name], score[region == name])
        assert f"{one.auc:.4f}" in few and f"{one.low:.4f}–{one.high:.4f}" in few and name in few
    assert "Worst pair: positives of" in few and "(DeLong)" in few
    many = run("evaluate", "m", "judge.csv", "--groups", "patient").stdout
    want = auc_interval(is_pos, score, groups=np.arange(400) // 5)
    assert f"interval {want.low:.4f} to {want.high:.4f} (allowing for rows that share patient)" in many


@pytest.mark.parametrize(("kept", "note"), [
    (["north", "south", "west"], "The AUC by region leaves out [red]: fewer than 2 rows of a class."),
    (["north"], "There is no AUC by region: all of its values but north have fewer than 2 rows of a class."),
])  # fmt: skip
def test_groups_that_lack_a_class_are_left_out_and_named(judged, recwarn, kept, note):
    run, is_pos, score, region = judged
    rows = pandas.read_csv("judge.csv")
    some = np.isin(region, kept) | ~is_pos
    rows[some].to_csv("some.csv", index=False)
    result = run("evaluate", "m", "some.csv", "--groups", "region")
    assert result.exit_code == 0, result.output
    want = auc_interval(is_pos[some], score[some])
    assert f"interval {want.low:.4f} to {want.high:.4f} (DeLong)" in result.stdout
    assert note in result.stderr and not recwarn
    assert ("Worst pair: positives of" in result.stdout) == (len(kept) > 1)


def test_few_groups_are_a_note(judged, recwarn):
    run, is_pos, _, _ = judged
    rows = pandas.read_csv("judge.csv").assign(clinic=np.arange(400) % 8 + 8 * is_pos)
    rows.to_csv("clinics.csv", index=False)
    result = run("evaluate", "m", "clinics.csv", "--groups", "clinic")
    assert "(allowing for rows that share clinic)" in result.stdout
    assert "note: Only 8 groups" in result.stderr and result.stderr.count("Only") == 1 and not recwarn


@pytest.mark.parametrize("blocks", [[], ["--memory", "1GB"]], ids=["in memory", "by blocks"])
def test_rows_without_a_label_are_left_out_of_the_groups_too(judged, blocks):
    """As many rows without a patient as without a label, elsewhere: both were left out, each for itself."""
    run, is_pos, score, _ = judged
    lines = [line.split(",") for line in Path("judge.csv").read_text().splitlines()]
    for line in lines[1:8]:
        line[lines[0].index("y")] = ""
    Path("gaps.csv").write_text("\n".join(",".join(line) for line in lines))
    result = run("evaluate", "m", "gaps.csv", "--groups", "patient", *blocks)
    want = auc_interval(is_pos[7:], score[7:], groups=np.arange(7, 400) // 5)
    assert f"interval {want.low:.4f} to {want.high:.4f} (allowing for rows that share patient)" in result.stdout
    assert "7 rows have no value in 'y' and are left out." in " ".join(result.stderr.split())
    for name in ("patient", "region"):
        for line in lines[-7:]:
            line[lines[0].index(name)] = ""
        Path("gaps.csv").write_text("\n".join(",".join(line) for line in lines))
        result = run("evaluate", "m", "gaps.csv", "--groups", name, *blocks)
        words = f"--groups must name a column with a value in each row; '{name}' has none in 7 of 393 labelled rows."
        assert result.exit_code == 2 and words in said(result)


def test_groups_of_columns_without_names_are_refused(run):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    np.savez("rows.npz", X=X, y=y)
    assert run("fit", "rows.npz", "--method", "LeastSquaresAUC", "--model", "m").exit_code == 0
    result = run("evaluate", "m", "rows.npz", "--groups", "x1")
    assert result.exit_code == 2 and "--groups must name a column of DATA; the columns of 'rows.npz'" in said(result)


def test_evaluate_draws(judged):
    pytest.importorskip("matplotlib")
    run, *_ = judged
    for name in ("picture.png", "picture.svg"):
        result = run("evaluate", "m", "judge.csv", "--groups", "region", "--max-fpr", "0.2", "--plot", name)
        assert result.exit_code == 0 and f"Picture: {name}" in result.stdout
        assert Path(name).stat().st_size > 20_000


def test_the_picture_tells_the_interval_that_is_printed(judged, monkeypatch):
    pytest.importorskip("matplotlib")
    run, is_pos, score, _ = judged
    told = []
    monkeypatch.setattr(evaluation, "_paint", lambda plots, path: told.append(plots[0](None)))
    assert run("evaluate", "m", "judge.csv", "--groups", "patient", "--plot", "one.png").exit_code == 0
    want = auc_interval(is_pos, score, groups=np.arange(400) // 5)
    assert f"[{want.low:.3f}, {want.high:.3f}]" in told[0].get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--groups", "nowhere"], "--groups must name a column of 'judge.csv'; got 'nowhere'"),
        (["--alerts", "500"], "--alerts must be at most the number of rows, 400"),
        (["--max-fpr", "0"], "--max-fpr must be a float in (0.0, 1.0]; got 0."),
        (["--max-fpr", "1.5"], "--max-fpr must be a float in (0.0, 1.0]; got 1.5."),
        (["--max-fpr", "nan"], "--max-fpr must be a float in (0.0, 1.0]; got nan."),
        (["--plot", "m"], "must be another file than those that are read"),
        (["--plot", "no/where.png"], "folder that exists"),
    ],
)
def test_evaluate_refuses(judged, options, words):
    result = judged[0]("evaluate", "m", "judge.csv", *options)
    assert result.exit_code == 2 and words in said(result)


def test_a_table_with_texts_dates_and_gaps_needs_no_flag(run, tmp_path):
    rng = np.random.default_rng(0)
    n = 240
    town = rng.choice(["Rome", "Oslo", "Bonn"], n)
    amount = rng.standard_normal(n)
    y = np.where((town == "Oslo") + amount + 0.5 * rng.standard_normal(n) > 0.6, "yes", "no")
    day = np.datetime64("2024-01-01") + rng.integers(0, 500, n).astype("timedelta64[D]")
    cells = {"town": town, "amount": [f"{x:.3f}" if x < 1.5 else "" for x in amount], "day": day.astype(str)}
    write_csv("mixed.csv", {"key": [f"c{k}" for k in range(n)], **cells, "y": y})
    words = "--target", "y", "--methods", "RankSVM,auto,Scorecard", "--drop", "key", "--test-size", "0.3"
    result = run("compare", "mixed.csv", *words)
    assert result.exit_code == 0, result.output
    assert "What next? auclid fit mixed.csv --target y --drop key --method" in result.stdout
    page = Path("report.html").read_text()
    assert "AUC lost when shuffled" in page and page.index(">amount<") < page.index(">day<")
    result = run("fit", "mixed.csv", "--target", "y", "--model", "m")
    assert result.exit_code == 0 and "It will take about" in result.stdout
    assert "'key' has a different value in every row" in result.stderr and "values are missing" in result.stderr
    assert auclid.load("m").feature_names_in_.tolist() == ["key", "town", "amount", "day"]
    for name in ("s.csv", "s.parquet"):
        assert run("predict", "m", "mixed.csv", "--id", "key", "--id", "day", "--output", name).exit_code == 0
    lines = Path("s.csv").read_text().splitlines()
    assert lines[0] == "key,day,score,probability,label" and lines[1].startswith("c0,2") and len(lines) == n + 1
    parquet = pytest.importorskip("pyarrow.parquet").read_table("s.parquet")
    assert parquet.column_names == lines[0].split(",")
    assert parquet["score"].to_pylist()[:5] == [float(line.split(",")[2]) for line in lines[1:6]]
    assert roc_auc(y, np.array(parquet["probability"]), pos_label="yes") > 0.8
    assert "--id must be a column of DATA; got 'nix'" in said(run("predict", "m", "mixed.csv", "--id", "nix"))


def test_no_figure_is_cut_in_a_narrow_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    result = run("compare", "--methods", "SPAM-L2", *LIGHT)
    assert result.exit_code == 0 and "…" not in result.stdout
    assert len(re.findall(r"\d\.\d{4}–\d\.\d{4}", result.stdout)) == 3  # SPAM-L2 and two baselines


def test_names_of_models_are_whole_in_a_terminal_of_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    console = pytest.importorskip("rich.console").Console()
    table = _show.airy_table("model", "AUC", "95 % interval", "gap", "p", "AP", "fit, s")
    for name in ("LogisticRegression", "LightGBM (small trees)"):
        table.add_row(name, "0.7754", "0.7465–0.8019", "+0.0033", "0.0012", "0.3829", "0.330")
    with console.capture() as printed:
        console.print(table)
    assert "LogisticRegression " in printed.get() and "LightGBM (small trees) " in printed.get()
