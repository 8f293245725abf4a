"""The command on rows with an order: levels, groups, censored times."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import auclid
from auclid.cli._app import app
from auclid.metrics import concordance, group_auc


@pytest.fixture
def data(tmp_path):
    rng, n = np.random.default_rng(0), 1200  # more different times than there can be classes
    x, town = rng.normal(size=n), rng.choice(list("abc"), n)
    failure, observed = rng.exponential(np.exp(-x)), rng.uniform(0.2, 3.0, n)
    frame = pd.DataFrame({"x": x, "town": town, "seen": failure <= observed, "days": np.minimum(failure, observed)})
    frame["stage"], frame["query"] = np.digitize(x + rng.normal(size=n), [-1, 0, 1]), np.arange(n) // 10
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    return path, frame


QUICK = ("--budget", "1", "--set", "Scorecard:interactions=0")
"""Options of a comparison that ends after one split."""

TIMES = ("--event", "seen", "--time", "days")


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
    report = tmp_path / "report.html"
    said = run("compare", path, *times, "--drop", "stage", "--drop", "query", "--output", report, *QUICK).output
    assert "SurvivalRanker square" in said and "ridge on log time" in said and "Scorecard" in said
    page = report.read_text(encoding="utf-8")
    assert "AUC over time" in page and "concordance with 95 % interval" in page and page.count("<tr>") >= 5


def test_levels_within_queries(data, tmp_path):
    path, frame = data
    order = ("--target", "stage", "--ordered", "--group", "query")
    model = tmp_path / "m.auclid"
    drop = ("--drop", "seen", "--drop", "days")
    assert run("fit", path, *order, *drop, "--method", "squared_hinge", "--model", model).exit_code == 0
    scores = auclid.load(model).predict(frame[["x", "town"]])
    expected = concordance(frame.stage, scores, groups=frame["query"])
    assert f"Concordance {expected:.4f}" in run("evaluate", model, path, *order).output
    said = run("compare", path, *order, *drop, "--output", tmp_path / "report.html", *QUICK).output
    assert "OrderedRanker square" in said and "ridge regression" in said and "lambdarank" in said


def test_a_scorecard_of_times_and_its_page(data, tmp_path):
    path, _ = data
    times = ("--event", "seen", "--time", "days")
    model, page = tmp_path / "m.auclid", tmp_path / "page.html"
    drop = ("--drop", "stage", "--drop", "query")
    assert run("fit", path, *times, *drop, "--method", "scorecard", "--model", model).exit_code == 0
    assert isinstance(auclid.load(model), auclid.Scorecard)
    result = run("evaluate", model, path, *times, "--html", page, "--plot", tmp_path / "times.svg")
    assert result.exit_code == 0, result.output
    assert "AUC over time" in page.read_text(encoding="utf-8") and (tmp_path / "times.svg").stat().st_size > 1000
    result = run("export", model, "--output", tmp_path / "card.sql")
    assert result.exit_code == 0 and "the higher a row is ranked" in " ".join(result.output.split())
    assert "AUC by time" in run("evaluate", model, path).output  # the file knows what its rows are ordered by
    result = run("evaluate", model, path, "--alerts", "5")
    assert result.exit_code == 2 and "--alerts must come with a model of two classes" in " ".join(result.output.split())


def test_clicks_within_sessions(data, tmp_path):
    """Two levels within groups: the mean AUC by group, as a line, a picture and a histogram on the page."""
    path, frame = data
    frame = frame.assign(click=(frame.stage > 1).astype(int)).drop(columns=["stage", "seen", "days"])
    frame.to_csv(path, index=False)
    order, model, page = ("--target", "click", "--group", "query"), tmp_path / "m.auclid", tmp_path / "page.html"
    assert run("fit", path, *order, "--model", model).exit_code == 0
    said = run("evaluate", model, path, *order, "--html", page, "--plot", tmp_path / "groups.png").output
    mean = group_auc(frame.click, auclid.load(model).predict(frame[["x", "town"]]), frame["query"])
    assert f"Mean AUC by group: {mean.auc:.4f}" in said
    assert "AUC within groups" in page.read_text(encoding="utf-8") and (tmp_path / "groups.png").exists()
    said = run("compare", path, *order, "--output", tmp_path / "report.html", *QUICK).output
    assert "logistic regression" in said and "lambdarank" in said and "Report:" in said


def test_predict_writes_the_scores(data, tmp_path):
    path, frame = data
    model, out = tmp_path / "m.auclid", tmp_path / "scores.csv"
    times = ("--event", "seen", "--time", "days", "--drop", "stage", "--drop", "query")
    run("fit", path, *times, "--model", model)
    frame[["x", "town"]].to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", model, tmp_path / "new.csv", "--output", out)
    assert result.exit_code == 0, result.output
    written = pd.read_csv(out, float_precision="round_trip")
    np.testing.assert_allclose(written["score"], auclid.load(model).predict(frame[["x", "town"]]), rtol=1e-6)
    assert list(written.columns) == ["score"]
    for option, above in (("--alerts", 5), ("--threshold", np.sort(written["score"])[-8])):
        result = run("predict", model, tmp_path / "new.csv", "--output", out, option, above)
        assert result.exit_code == 0, result.output
        called = pd.read_csv(out, float_precision="round_trip")
        count = 5 if option == "--alerts" else 7
        assert (called["label"] == "alert").sum() == count and set(called["label"]) == {"alert", "rest"}
        assert called["score"][called["label"] == "alert"].min() > called["score"][called["label"] == "rest"].max()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--cost", "10:1"), "need a model with probabilities"),
        (("--precision", "0.5"), "need a model with probabilities"),
        (("--alerts", "5", "--keep"), "--keep must come with a model of two classes"),
    ],
)
def test_predict_refuses_what_needs_classes(data, tmp_path, words, sentence):
    path, model = data[0], tmp_path / "m.auclid"
    run("fit", path, "--target", "stage", "--ordered", "--drop", "seen", "--drop", "days", "--model", model)
    result = run("predict", model, path, "--output", tmp_path / "s.csv", *words)
    assert result.exit_code == 2 and sentence in " ".join(result.output.split())


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


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--target", "stage", "--ordered", "--group", "nope"], "--group"),
        (["--target", "nope", "--ordered"], "--target"),
        (["--event", "seen", "--time", "nope"], "--time"),
        (["--event", "nope", "--time", "days"], "--event"),
    ],
)
def test_the_option_that_names_no_column_is_blamed(data, words, option):
    result = run("fit", data[0], *words)
    assert result.exit_code == 2
    assert f"{option} must name a column of" in " ".join(result.output.split())


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


@pytest.mark.parametrize(
    ("verb", "option"),
    [
        ("fit", ("--positive", "0")),
        ("fit", ("--memory", "1MB")),
        ("compare", ("--against", "lightgbm")),
        ("compare", ("--tune", "3")),
        ("compare", ("--test", "x.csv")),
        ("evaluate", ("--alerts", "5")),
    ],
)
def test_options_without_a_meaning_are_refused(data, tmp_path, verb, option):
    said = run(verb, data[0], *(["x.csv"] if verb == "evaluate" else []), *TIMES, *option)
    assert said.exit_code == 2
    assert f"Invalid value for {option[0]}: it must not be given" in said.output


def test_compare_by_time_takes_no_order(data):
    said = run("compare", data[0], "--target", "stage", "--ordered", "--time", "days")
    assert "--event and --time must be given together" in said.output
    said = run("compare", "--ordered")
    assert said.exit_code != 0


@pytest.mark.parametrize("option", ["--event", "--group"])
def test_a_column_that_lacks_is_named_by_its_option(data, option):
    order = ("--event", "no", "--time", "days") if option == "--event" else ("--target", "stage", "--group", "no")
    said = run("fit", data[0], *order)
    assert f"{option} must name a column of" in said.output


def test_words_are_shown_as_words(data):
    said = run("fit", data[0], "--target", "town", "--ordered")
    assert "words have no order" in said.output and "np.str_" not in said.output


def test_predict_warns_of_nothing(data, tmp_path):
    numbers, model = tmp_path / "numbers.csv", tmp_path / "m.auclid"
    data[1].drop(columns="town").to_csv(numbers, index=False)
    assert run("fit", numbers, *TIMES, "--model", model).exit_code == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = run("predict", model, numbers, "--output", tmp_path / "s.csv")
    assert said.exit_code == 0, said.output


@pytest.mark.parametrize("labels", [("legit", "fraud"), ("1", "0")])
def test_positive_says_which_label_is_on_top_within_groups(data, tmp_path, labels):
    path, model = tmp_path / "labels.csv", tmp_path / "m.auclid"
    frame = data[1][["x", "query"]].assign(label=np.where(data[1].stage >= 2, labels[1], labels[0]))
    frame.to_csv(path, index=False)
    order = ("--target", "label", "--group", "query", "--positive", labels[1])
    assert run("fit", path, *order, "--model", model).exit_code == 0
    scores = auclid.load(model).predict(frame[["x"]])
    mean = group_auc(data[1].stage >= 2, scores, frame["query"]).auc
    assert mean > 0.7 and f"Mean AUC by group: {mean:.4f}" in run("evaluate", model, path, *order).output
    assert run("fit", path, *order[:-1], "other", "--model", model).exit_code == 2


def test_fit_sets_parameters_and_leaves_the_files_of_a_scorecard(data, tmp_path):
    path, model = data[0], tmp_path / "m.auclid"
    drop = ("--drop", "stage", "--drop", "query")
    assert run("fit", path, *TIMES, *drop, "--set", "alpha=0.5", "--model", model).exit_code == 0
    assert auclid.load(model)[-1].alpha == 0.5
    result = run("fit", path, *TIMES, *drop, "--set", "nope=1", "--model", model)
    assert result.exit_code == 2 and "--set must name a parameter of SurvivalRanker" in " ".join(result.output.split())
    card = ("--method", "Scorecard", "--set", "interactions=0", "--scale", "40", "--max-bins", "3")
    result = run("fit", path, *TIMES, *drop, *card, "--model", model)
    assert result.exit_code == 0, result.output
    page, points = tmp_path / "m.html", pd.read_csv(tmp_path / "m.points.csv")
    assert "of the concordance on these rows" in page.read_text(encoding="utf-8")
    assert (points["column"] == "x").sum() == 3
    result = run("points", model, "--output", tmp_path / "again.csv")
    assert result.exit_code == 0, result.output
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "again.csv"), points)
    fewer = "--max-lines", str(len(points) - 1)
    assert run("fit", path, *TIMES, *drop, *card, *fewer, "--model", model).exit_code == 0
    assert len(pd.read_csv(tmp_path / "m.points.csv")) < len(points)
    result = run("fit", path, *TIMES, *drop, "--scale", "40", "--model", tmp_path / "n.auclid")
    assert result.exit_code == 2 and "--scale must be used with --method Scorecard" in " ".join(result.output.split())


def test_update_learns_from_more_groups(data, tmp_path):
    """The model of two halves is that of all rows, with the alpha and the columns of the first half."""
    frame = data[1]
    order = ("--target", "stage", "--ordered", "--group", "query")
    first, second, model = tmp_path / "first.csv", tmp_path / "second.csv", tmp_path / "m.auclid"
    kept = frame.drop(columns=["seen", "days"])
    kept[:600].to_csv(first, index=False)
    kept[600:].to_csv(second, index=False)
    assert run("fit", first, *order, "--set", "alpha=0.1", "--model", model).exit_code == 0
    before = auclid.load(model)
    result = run("update", model, second, "--output", tmp_path / "more.auclid")
    assert result.exit_code == 0 and "600 more rows" in result.output, result.output
    after = auclid.load(tmp_path / "more.auclid")
    X = before[0].transform(kept[["x", "town"]])
    whole = auclid.OrderedRanker(alpha=0.1).fit(X, kept["stage"], groups=kept["query"])
    np.testing.assert_allclose(after[-1].coef_, whole.coef_, rtol=1e-9)
    assert not np.allclose(before[-1].coef_, after[-1].coef_)


@pytest.mark.parametrize("method", ["square", "Scorecard"])
def test_update_says_which_rankers_must_be_fitted_anew(data, tmp_path, method):
    path, model = data[0], tmp_path / "m.auclid"
    drop, linear = ("--drop", "stage", "--drop", "query"), ("--set", "interactions=0") if method == "Scorecard" else ()
    assert run("fit", path, *TIMES, *drop, "--method", method, *linear, "--model", model).exit_code == 0
    result = run("update", model, path)
    assert result.exit_code == 2 and "must be fitted anew, to all rows" in " ".join(result.output.split())


@pytest.mark.parametrize("order", [TIMES, ("--target", "stage", "--ordered", "--group", "query")])
def test_monitor_watches_the_concordance(data, tmp_path, order):
    """Columns, scores and the concordance of each period; outcomes that are shuffled within groups raise an alarm."""
    path, frame = data
    frame = frame.assign(week=np.arange(len(frame)) // 120)
    rest = {"seen", "days", "stage", "query", "week"} - set(order)
    drop = [word for name in sorted(rest) for word in ("--drop", name)]
    frame.to_csv(path, index=False)
    model, page, told = tmp_path / "m.auclid", tmp_path / "monitor.html", tmp_path / "monitor.json"
    assert run("fit", path, *order, *drop, "--model", model).exit_code == 0
    watch = ("monitor", model, path, "--time", "week", "--output", page, "--json", told)
    result = run(*watch)
    assert result.exit_code == 0 and "Nothing calls for action." in result.output, result.output
    report = json.loads(told.read_text(encoding="utf-8"))
    assert report["measure"] == "concordance" and all(each["auc"][0] > 0.6 for each in report["periods"])
    assert "Concordance" in page.read_text(encoding="utf-8")
    late = frame["week"] >= 4
    columns = ["x", "town"]
    frame.loc[late, columns] = frame.loc[late, columns].to_numpy()[::-1]
    frame.to_csv(path, index=False)
    result = run(*watch)
    assert result.exit_code == 3 and "The concordance has fallen below" in result.output, result.output
    frame[columns].to_csv(path, index=False)
    result = run("monitor", model, path, "--output", page)
    assert result.exit_code == 0, result.output


def test_compare_has_folds_a_table_and_methods(data, tmp_path):
    frame = data[1]
    small, figures = tmp_path / "small.csv", tmp_path / "figures.csv"
    frame[:300].drop(columns=["seen", "days"]).to_csv(small, index=False)
    order = ("--target", "stage", "--ordered", "--group", "query")
    outputs = ("--output", tmp_path / "report.html", "--table", figures)
    result = run("compare", small, *order, "--methods", "square,logistic", "--cv", 3, "--repeats", 2, *outputs)
    assert result.exit_code == 0 and "2 repeats of 3 folds" in result.output, result.output
    table = pd.read_csv(figures)
    assert {"OrderedRanker square", "OrderedRanker logistic", "ridge regression"} <= set(table["model"])
    assert (table["auc_low"] < table["auc"]).all() and (table["auc"] < table["auc_high"]).all()
    result = run("compare", small, *order, "--methods", "nope")
    assert result.exit_code == 2 and "for ordered rows" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("column", "values", "sentence"),
    [
        ("days", -1.0, "--time must hold times in [0.0, inf); got -1.0"),
        ("days", np.nan, "must hold numbers that can be ordered"),
        ("seen", 2, "--event must be True, or 1, where the event was seen"),
        ("seen", "yes", "--event must be True, or 1, where the event was seen"),
        ("seen", False, "The target must hold at least one event; got 60 times, all censored"),
    ],
)
@pytest.mark.parametrize("verb", ["fit", "compare"])
def test_bad_times_and_events_are_said_in_a_sentence(data, tmp_path, verb, column, values, sentence):
    path, frame = tmp_path / "bad.csv", data[1][:60].assign(**{column: values})
    frame.to_csv(path, index=False)
    more = ("--model", tmp_path / "m.auclid") if verb == "fit" else ("--output", tmp_path / "r.html")
    result = run(verb, path, *TIMES, *more)
    assert result.exit_code == 2 and sentence in " ".join(result.output.split())


def test_a_group_of_one_level_and_too_few_rows_are_refused(data, tmp_path):
    path, frame = tmp_path / "bad.csv", data[1][["x", "query"]]
    frame.assign(stage=frame["query"]).to_csv(path, index=False)
    order = ("--target", "stage", "--ordered", "--group", "query", "--output", tmp_path / "r.html")
    said = " ".join(run("compare", path, *order).output.split())
    assert "The target must hold two levels or more within a group" in said
    data[1][:3].to_csv(path, index=False)
    said = " ".join(run("compare", path, *TIMES, "--output", tmp_path / "r.html").output.split())
    assert "rows or more above and below its median" in said


def test_a_model_of_times_takes_no_target(data, tmp_path):
    path, model = data[0], tmp_path / "m.auclid"
    assert run("fit", path, *TIMES, "--drop", "stage", "--drop", "query", "--model", model).exit_code == 0
    page = ("--output", tmp_path / "monitor.html")
    for words in (("evaluate", model, path), ("monitor", model, path, *page)):
        result = run(*words, "--target", "stage")
        assert result.exit_code == 2 and "--target must come with a model of levels" in " ".join(result.output.split())
    result = run("evaluate", model, model, "--data", path)
    assert result.exit_code == 2 and "one such model at a time" in " ".join(result.output.split())


def test_edits_of_a_card_of_times_are_measured(data, tmp_path):
    path, model, edits = data[0], tmp_path / "m.auclid", tmp_path / "edits.json"
    card = ("--drop", "stage", "--drop", "query", "--method", "Scorecard", "--set", "interactions=0", "--model", model)
    assert run("fit", path, *TIMES, *card).exit_code == 0
    edits.write_text('[{"action": "remove", "column": "x"}]', encoding="utf-8")
    result = run("edit", model, edits, "--data", path, "--output", tmp_path / "n.auclid")
    assert result.exit_code == 0, result.output
    effect = auclid.load(tmp_path / "n.auclid").edits_[-1]["effect"]
    assert effect["auc_before"] > 0.65 > effect["auc_after"]
