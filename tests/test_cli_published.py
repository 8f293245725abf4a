"""`auclid fit --method NAME --published` is `make(NAME, published=True)`, for every name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from typer.testing import CliRunner

import auclid
from auclid import algorithms, make
from auclid.cli._app import app
from auclid.columns import Columns

pytestmark = pytest.mark.filterwarnings("ignore")

QUICK = {"n_components": 8, "n_epochs": 1, "n_iter": 20, "n_rounds": 3}
"""Parameters that only make a fit short."""

FEATURES = ["a", "b", "c"]

ORDERS = {
    "classes": ("--target", "y"),
    "few": ("--target", "few"),
    "levels": ("--target", "level", "--ordered"),
    "times": ("--event", "seen", "--time", "days"),
}
"""The options that name what y holds."""


@pytest.fixture(scope="module")
def frame():
    """Rows of two classes, of levels and of times; in ``few`` a half of the labels is missing."""
    rng, n = np.random.default_rng(0), 200
    X, y = rng.standard_normal((n, 3)), np.arange(n) % 2
    X[:, 0] += 2 * y
    outcomes = {
        "y": y,
        "few": np.where(rng.random(n) < 0.5, y, np.nan),
        "level": np.digitize(X[:, 0], [-1, 0, 1]),
        "days": rng.exponential(np.exp(-X[:, 0])),
        "seen": rng.random(n) < 0.7,
    }
    return pd.DataFrame(X, columns=FEATURES).assign(**outcomes)


def fit(frame, folder, *words):
    """What the command says, and the path of the model."""
    frame.to_csv(folder / "rows.csv", index=False)
    result = CliRunner().invoke(app, ["fit", str(folder / "rows.csv"), "--model", str(folder / "m.auclid"), *words])
    return result, folder / "m.auclid"


def options_of(method):
    """The options that name the columns, those that leave out the other outcomes, and short settings."""
    order = ORDERS["few" if method.semi_supervised else method.target]
    others = [name for name in ("y", "few", "level", "days", "seen") if name not in order]
    params = make(method.name, published=True).get_params()
    quick = {key: QUICK[key.split("__")[-1]] for key, value in params.items() if key.split("__")[-1] in QUICK and value}
    words = [*order, *(word for name in others for word in ("--drop", name))]
    return [*words, *(word for key, value in quick.items() for word in ("--set", f"{key}={value}"))], quick


@pytest.mark.parametrize("method", algorithms(), ids=lambda method: method.name)
def test_the_command_fits_the_published_form_of_every_name(method, frame, tmp_path):
    words, quick = options_of(method)
    result, path = fit(frame, tmp_path, "--method", method.name, "--published", *words)
    assert result.exit_code == 0, result.output
    model = auclid.load(path)
    inner = getattr(model, "ranker_", model)  # behind probabilities
    last = inner.steps[-1][1] if isinstance(inner, Pipeline) else inner
    expected = make(method.name, published=True)
    seeds = {key: 0 for key in expected.get_params() if key.endswith("random_state")}
    free = {key: None for key in expected.get_params() if key.split("__")[-1] == "unlabeled" and method.semi_supervised}
    expected.set_params(**quick, **seeds, **free)
    assert repr(last) == repr(expected)
    if method.semi_supervised:
        assert not hasattr(model, "predict_proba")
        same = make_pipeline(Columns(), expected).fit(frame[FEATURES], frame["few"])
        np.testing.assert_allclose(
            model.decision_function(frame[FEATURES]), same.decision_function(frame[FEATURES]), rtol=1e-9, atol=1e-9
        )


def test_rows_without_labels_are_learnt_from(frame, tmp_path):
    drop = [word for name in ("y", "level", "days", "seen") for word in ("--drop", name)]
    told, path = fit(frame, tmp_path, "--method", "SAMULT", *ORDERS["few"], *drop, "--set", "unlabeled_weight=0.5")
    free = int(frame["few"].isna().sum())
    assert f"{free} rows without a label: SAMULT learns from all rows." in " ".join(told.output.split())
    scored = auclid.load(path).decision_function(frame[FEATURES])
    labelled = frame.dropna()
    fit(labelled, tmp_path, "--method", "SAMULT", *ORDERS["few"], *drop, "--set", "unlabeled_weight=0.5")
    assert not np.allclose(scored, auclid.load(path).decision_function(frame[FEATURES]))
    words = ["predict", str(path), str(tmp_path / "rows.csv"), "--output", str(tmp_path / "s.csv")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert set(pd.read_csv(tmp_path / "s.csv")["label"]) == {0, 1}


def test_rows_beyond_memory_give_the_same_model(frame, tmp_path, monkeypatch):
    words = "--target", "few", "--method", "SAMULT", "--published", "--set", "feature_map__n_components=8"
    table = frame[[*FEATURES, "few"]]
    fit(table, tmp_path, *words)
    expected = auclid.load(tmp_path / "m.auclid").decision_function(frame[FEATURES])
    monkeypatch.setattr("auclid.data.files.Rows.fits_in_memory", lambda self: False)
    result, path = fit(table, tmp_path, *words)
    assert "read by blocks" in result.output
    np.testing.assert_allclose(auclid.load(path).decision_function(frame[FEATURES]), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mark", [np.nan, -1, None])
def test_marks_of_rows_without_labels(mark, frame, tmp_path):
    """NaN, -1 beside two labels, and empty cells beside words mean the same."""
    words = "--target", "few", "--method", "PNU-AUC", "--set", "prior=0.5"
    table = frame[[*FEATURES, "few"]]
    fit(table, tmp_path, *words)
    expected = auclid.load(tmp_path / "m.auclid").decision_function(frame[FEATURES])
    labels = frame["few"].map({0: "a", 1: "b"}) if mark is None else frame["few"].fillna(mark)
    _, path = fit(table.assign(few=labels), tmp_path, *words)
    np.testing.assert_array_equal(auclid.load(path).decision_function(frame[FEATURES]), expected)


def test_positive_and_unlabelled_rows_alone(frame, tmp_path):
    table = frame[[*FEATURES, "few"]].assign(few=frame["few"].replace(0, np.nan))
    result, path = fit(table, tmp_path, "--target", "few", "--method", "PU-AUC", "--set", "prior=0.5")
    assert result.exit_code == 0, result.output
    assert auclid.io.about(path)["classes"] == ["not 1", "1"]
    same = make_pipeline(Columns(), make("PU-AUC", prior=0.5, unlabeled=None)).fit(frame[FEATURES], table["few"])
    np.testing.assert_allclose(
        auclid.load(path).decision_function(frame[FEATURES]), same.decision_function(frame[FEATURES]), rtol=1e-9
    )


def test_what_has_no_meaning_for_few_labels_is_refused(frame, tmp_path):
    table = frame[[*FEATURES, "few"]]
    for more in (["--checkpoint", str(tmp_path / "c")], ["--scheduler", "tcp://localhost:1"]):
        result, _ = fit(table, tmp_path, "--target", "few", "--method", "SAMULT", *more)
        assert result.exit_code == 2 and "must be left out with SAMULT" in " ".join(result.output.split())
    words = ["compare", str(tmp_path / "rows.csv"), "--target", "few", "--methods", "SAMULT"]
    assert "learn from labelled rows" in " ".join(CliRunner().invoke(app, words).output.split())


def test_the_name_of_another_ranker_is_no_method_of_levels(frame, tmp_path):
    result, _ = fit(frame, tmp_path, *ORDERS["levels"], "--method", "SurvivalRanker")
    assert result.exit_code == 2 and "--method must be auto or one of" in " ".join(result.output.split())
    result, _ = fit(frame, tmp_path, *ORDERS["levels"], "--published")
    assert result.exit_code == 2 and "--published must have a --method" in " ".join(result.output.split())
