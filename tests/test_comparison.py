"""`auclid.compare`, and the command's `--set`."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TimeSeriesSplit

import auclid
from auclid import LeastSquaresAUC, compare
from auclid.cli.models import every_method, ours
from auclid.metrics import compare_cross_val_auc, cross_val_auc


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.logistic(size=600) > 1.5).astype(int)


def test_figures_are_those_of_the_metrics(rows):
    X, y = rows
    a, b = LeastSquaresAUC(), LogisticRegression()
    found = compare({"a": a, "b": b}, X, y)
    by_name = {model.name: model for model in found.models}
    alone, pair = cross_val_auc(a, X, y), compare_cross_val_auc(a, b, X, y)
    assert by_name["a"][1:4] == pytest.approx((alone.auc, alone.low, alone.high), abs=1e-12)
    assert found.pairs[0].difference == pytest.approx(pair.difference, abs=1e-12)
    assert found.pairs[0].pvalue == pytest.approx(pair.pvalue, abs=1e-12)
    assert found.best.auc == max(model.auc for model in found.models)
    assert "a − b" in str(found)


def test_a_baseline_repeats_and_names(rows):
    X, y = rows
    found = compare(["LeastSquaresAUC", LogisticRegression(), "SPAM"], X, y, baseline="SPAM", cv=3, repeats=2)
    assert len(found.best.folds) == 6
    assert [(pair.a, pair.b) for pair in found.pairs] == [("LeastSquaresAUC", "SPAM"), ("LogisticRegression", "SPAM")]
    assert all(pair.adjusted >= pair.pvalue for pair in found.pairs)
    assert len(compare([LeastSquaresAUC()], X, y, cv=TimeSeriesSplit(3)).best.folds) == 3


@pytest.mark.parametrize(
    ("estimators", "how", "said"),
    [
        ("SPAM", {}, "'estimators' parameter of compare must be a dict"),
        ([], {}, "must have one name or more"),
        ([LeastSquaresAUC(), LeastSquaresAUC(alpha=1.0)], {}, "each once"),
        ([LeastSquaresAUC], {}, "hold estimators"),
        (["SPAM"], {"baseline": "x"}, "'baseline' parameter of compare must be one of SPAM"),
        (["SPAM"], {"cv": TimeSeriesSplit(3), "repeats": 2}, "'repeats' parameter of compare must be 1"),
        (["SPAMM"], {}, "Did you mean"),
        (["SPAM"], {"correction": "x"}, "'holm', 'bonferroni' or 'none'"),
    ],
)
def test_wrong_input(rows, estimators, how, said):
    with pytest.raises((ValueError, TypeError), match=said):
        compare(estimators, *rows, **how)


# --- parameters of the command ---


def test_settings_reach_the_method():
    card = ours("Scorecard", 0, settings=["interactions=0", "monotone.age=-1", "monotone.debt=1", "smooth=auto"])[1]
    assert card.interactions == 0 and card.monotone == {"age": -1, "debt": 1} and card.smooth == "auto"
    assert ours("SPAM", 0, settings=["alpha=1e-3"])[1][-1].alpha == 1e-3
    assert ours("auto", 0, settings=["cv=3", "budget=none"])[1].cv == 3


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("alpha", "--set must be NAME=VALUE; got 'alpha'"),
        ("alfa=1", "Did you mean alpha"),
        ("alpha=-1", "The 'alpha' parameter of RankSVM must be"),
        ("alpha=many", "The 'alpha' parameter of RankSVM must be"),
    ],
)
def test_settings_are_checked_as_in_python(setting, said):
    with pytest.raises(ValueError, match=said):
        ours("RankSVM", 0, settings=[setting])


def test_the_command_takes_settings_and_all_methods(tmp_path, monkeypatch, rows):
    runner = pytest.importorskip("typer.testing").CliRunner()
    from auclid.cli._app import app

    monkeypatch.chdir(tmp_path)
    X, y = rows
    np.savetxt("t.csv", np.column_stack([X[:200], y[:200]]), delimiter=",", header="a,b,c,d,y", comments="")
    words = ["fit", "t.csv", "--target", "y", "--method", "RankSVM", "--model", "m.auclid"]
    assert runner.invoke(app, [*words, "--set", "alpha=0.5"]).exit_code == 0
    assert auclid.load("m.auclid").ranker_[-1].alpha == 0.5
    done = runner.invoke(app, [*words, "--set", "alpha=-1"])
    assert done.exit_code == 2 and "'alpha' parameter of RankSVM" in " ".join(done.stderr.split())
    assert "auto" in every_method() and "SPAM-L2" in every_method() and len(every_method()) > 20
