"""The command on rows with an order: levels, groups, censored times."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import auclid
from auclid.cli._app import app
from auclid.metrics import concordance


@pytest.fixture
def data(tmp_path):
    rng, n = np.random.default_rng(0), 300
    x, town = rng.normal(size=n), rng.choice(list("abc"), n)
    failure, observed = rng.exponential(np.exp(-x)), rng.uniform(0.2, 3.0, n)
    frame = pd.DataFrame({"x": x, "town": town, "seen": failure <= observed, "days": np.minimum(failure, observed)})
    frame["stage"], frame["query"] = np.digitize(x + rng.normal(size=n), [-1, 0, 1]), np.arange(n) // 10
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    return path, frame


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_censored_times(data, tmp_path):
    path, frame = data
    times = ("--event", "seen", "--time", "days")
    model = tmp_path / "m.auclid"
    assert run("fit", path, *times, "--drop", "stage", "--drop", "query", "--model", model).exit_code == 0
    said = run("evaluate", model, path, *times).output
    scores = auclid.load(model).predict(frame[["x", "town"]])
    assert f"Concordance {concordance(frame.days, scores, event=frame.seen):.4f}" in said
    assert said.count("AUC by time") == 10
    said = run("compare", path, *times, "--drop", "stage", "--drop", "query").output
    assert "SurvivalRanker square" in said and "ridge on log time" in said


def test_levels_within_queries(data, tmp_path):
    path, frame = data
    order = ("--target", "stage", "--ordered", "--group", "query")
    model = tmp_path / "m.auclid"
    drop = ("--drop", "seen", "--drop", "days")
    assert run("fit", path, *order, *drop, "--method", "squared_hinge", "--model", model).exit_code == 0
    scores = auclid.load(model).predict(frame[["x", "town"]])
    expected = concordance(frame.stage, scores, groups=frame["query"])
    assert f"Concordance {expected:.4f}" in run("evaluate", model, path, *order).output
    said = run("compare", path, *order, *drop).output
    assert "OrderedRanker square" in said and "ridge regression" in said and "lambdarank" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--event", "seen"), "--event and --time must be given together"),
        (("--ordered",), "--target must name the column of levels"),
        (("--ordered", "--target", "stage", "--method", "SPAM"), "must be auto or one of square"),
        (("--ordered", "--target", "town"), "words have no order"),
    ],
)
def test_bad_options_are_said_in_a_sentence(data, words, sentence):
    result = run("fit", data[0], *words)
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())


def test_a_classifier_is_not_evaluated_as_a_ranker_of_ordered_rows(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    path, model = tmp_path / "rows.csv", tmp_path / "model.auclid"
    pd.DataFrame({"x": x, "y": (x + rng.normal(size=200) > 0).astype(int), "site": np.arange(200) % 3}).to_csv(path)
    run("fit", path, "--target", "y", "--drop", "site", "--method", "LeastSquaresAUC", "--model", model)
    result = run("evaluate", model, path, "--target", "y", "--group", "site")
    assert result.exit_code == 2
    assert "must be a model of ordered rows" in " ".join(result.output.split())
    assert "by the values of a column: --groups" in " ".join(result.output.split())
