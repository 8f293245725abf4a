"""Pipelines that learn batch by batch, with probabilities; rows that come one by one as dicts."""

import itertools
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import auclid
from auclid import CBR, SPAM, Calibrated, Columns, LeastSquaresAUC, RankSVM, RiverAdapter
from auclid.metrics import calibration_slope, roc_auc
from auclid.stats.odds import WINDOW_ROWS


def batch(n, rng, share=0.2):
    """Numbers with gaps, a category, and labels that depend on both."""
    y = rng.random(n) < share
    X = pd.DataFrame({
        "a": np.where(rng.random(n) < 0.05, np.nan, rng.normal(size=n) + 1.2 * y),
        "b": 1e3 * (rng.normal(size=n) + 0.5 * y),
        "c": np.where(rng.random(n) < 0.3 + 0.4 * y, "x", "y"),
    })
    return X, np.where(y, "bad", "good")


def pipeline(ranker):
    return Calibrated(make_pipeline(Columns(), ranker))


LABELS = ["bad", "good"]


@pytest.mark.parametrize("ranker", [SPAM(random_state=0), CBR(random_state=0), LeastSquaresAUC()], ids=str)
def test_a_pipeline_learns_batch_by_batch_and_has_probabilities(ranker):
    rng, model = np.random.default_rng(0), pipeline(ranker)
    for _ in range(30):
        X, y = batch(200, rng)
        model.partial_fit(X, y, classes=LABELS)
    X, y = batch(4000, rng)
    scores, chances = model.decision_function(X), model.predict_proba(X)[:, 1]
    assert roc_auc(y, scores, pos_label="good") > 0.75
    assert roc_auc(y, chances, pos_label="good") == roc_auc(y, scores, pos_label="good")
    fit = calibration_slope(y, chances, pos_label="good")
    assert abs(chances.mean() - (y == "good").mean()) < 0.04 and 0.75 < fit.slope < 1.3
    assert set(model.predict(X)) == set(LABELS)
    assert model.threshold_ == pytest.approx(np.log((y == "good").mean() / (y == "bad").mean()), abs=0.2)


def test_a_stream_goes_on_after_fit_and_after_a_file(tmp_path):
    rng = np.random.default_rng(0)
    model = pipeline(SPAM(random_state=0)).fit(*batch(1000, rng))
    auclid.save(tmp_path / "m.auclid", model)
    loaded = auclid.load(tmp_path / "m.auclid")
    for X, y in [batch(300, rng), batch(1, rng)]:
        model.partial_fit(X, y)
        loaded.partial_fit(X, y)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert len(model._window.scores) <= 2 * WINDOW_ROWS


def test_probabilities_follow_a_share_that_changes():
    rng, model = np.random.default_rng(0), pipeline(LeastSquaresAUC())
    for share in [0.5] * 5 + [0.05] * 60:
        model.partial_fit(*batch(200, rng, share), classes=LABELS)
    X, _ = batch(2000, rng, 0.05)
    assert model.predict_proba(X)[:, 0].mean() == pytest.approx(np.mean([0.5] * 5 + [0.05] * 60), abs=0.03)


def test_a_chosen_threshold_stays_in_a_stream():
    rng = np.random.default_rng(0)
    model = pipeline(SPAM(random_state=0)).partial_fit(*batch(300, rng), classes=LABELS)
    before = model.threshold_
    assert model.partial_fit(*batch(300, rng, 0.5)).threshold_ != before
    assert model.set_threshold(0.25).partial_fit(*batch(300, rng)).threshold_ == 0.25


def test_moments_need_columns_of_one_scale():
    """With a ranker that adds up moments, the columns stay as the first batch left them: the stream is exact."""
    rng = np.random.default_rng(0)
    batches = [batch(300, rng) for _ in range(4)]
    model = pipeline(LeastSquaresAUC())
    for X, y in batches:
        model.partial_fit(X, y, classes=LABELS)
    columns, ranker = model.ranker_.steps[0][1], model.ranker_.steps[1][1]
    everything = pd.concat([X for X, _ in batches]), np.concatenate([y for _, y in batches]) == "good"
    whole = LeastSquaresAUC().fit(columns.transform(everything[0]), everything[1])
    np.testing.assert_allclose(ranker.coef_, whole.coef_, rtol=1e-9)
    moved = pipeline(SPAM(random_state=0))
    for X, y in batches:
        moved.partial_fit(X, y, classes=LABELS)
    expected = Columns(scale="standard").fit(everything[0])._numbers.middle
    np.testing.assert_allclose(moved.ranker_.steps[0][1]._numbers.middle[1], expected[1], atol=0.02)


def test_steps_without_partial_fit_are_fitted_to_the_first_batch():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.random(300) < 0.5
    model = Calibrated(make_pipeline(VarianceThreshold(), StandardScaler(), "passthrough", SPAM(random_state=0)))
    model.partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    assert model.ranker_.steps[1][1].n_samples_seen_ == 300


def test_a_batch_that_fails_changes_nothing():
    rng = np.random.default_rng(0)
    model = pipeline(SPAM(random_state=0)).partial_fit(*batch(300, rng), classes=LABELS)
    X, y = batch(200, rng)
    before = model.decision_function(X)
    with pytest.raises(ValueError):
        model.partial_fit(X, np.full(200, "ugly"))
    with pytest.raises(ValueError):
        model.partial_fit(X, y, sample_weight=np.full(200, -1.0))
    with pytest.raises(ValueError):
        model.partial_fit(X.rename(columns={"a": "z"}), y)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_a_ranker_without_streams_has_no_partial_fit():
    assert not hasattr(Calibrated(RankSVM()), "partial_fit")
    with pytest.raises(TypeError, match="'model' parameter of RiverAdapter must have partial_fit"):
        RiverAdapter(RankSVM())


# --- dicts ---------------------------------------------------------------------------------------------


def dicts(n, seed=0):
    rng = np.random.default_rng(seed)
    X, y = batch(n, rng)
    start = datetime(2024, 1, 1)
    for k, (row, label) in enumerate(zip(X.to_dict("records"), y, strict=True)):
        row["when"] = start + timedelta(hours=k)
        yield ({name: value for name, value in row.items() if value == value}, label)


def test_rows_one_by_one_as_dicts():
    model = RiverAdapter(pipeline(SPAM(random_state=0)), classes=["good", "bad"], batch=20)
    row = next(dicts(1))[0]
    assert model.predict_one(row) is None and model.predict_proba_one(row) == {} and model.score_one(row) == 0.0
    auc = model.learn(dicts(3000)).result()
    assert auc.auc > 0.75
    assert model.columns_ == ["a", "b", "c", "when"]
    chances = model.predict_proba_one(row)
    assert set(chances) == {"good", "bad"} and sum(chances.values()) == pytest.approx(1.0)
    high, low = ({"a": a, "b": 1e3 * a, "c": c, "unknown": 1} for a, c in ((3.0, "x"), (-3.0, "y")))
    assert model.score_one(high) > model.score_one(low)
    assert (model.predict_one(high), model.predict_one(low)) == ("bad", "good")


def test_rows_one_by_one_are_the_batches_of_partial_fit():
    rows = list(dicts(400))
    model = RiverAdapter(pipeline(SPAM(random_state=0)), ["good", "bad"], first=100, batch=100)
    model.learn_many([x for x, _ in rows], [y for _, y in rows])
    expected = pipeline(SPAM(random_state=0))
    names = ["a", "b", "c", "when"]
    for start in range(0, 400, 100):
        some = rows[start : start + 100]
        X = np.array([[x.get(name) for name in names] for x, _ in some], dtype=object)
        expected.partial_fit(X, [y == "bad" for _, y in some], classes=[False, True])
    assert model.score_one(rows[0][0]) == expected.decision_function(
        np.array([[rows[0][0].get(name) for name in names]], dtype=object)
    )


def test_flush_and_limit_and_a_model_that_was_fitted():
    frame, y = batch(500, np.random.default_rng(1))
    fitted = Calibrated(make_pipeline(Columns(), LeastSquaresAUC())).fit(frame, y)
    model = RiverAdapter(fitted, classes=["bad", "good"], batch=1000)
    assert model.columns_ == ["a", "b", "c"]
    row = frame.to_dict("records")[0]
    assert model.score_one(row) == fitted.decision_function(frame[:1])[0]
    assert model.predict_one(row) == fitted.predict(frame[:1])[0]
    before = model.score_one(row)
    count = itertools.count()
    stream = (({**x, "n": next(count)}, label) for x, label in dicts(200))
    model.learn(stream, limit=50)
    assert next(count) == 50 and model.score_one(row) == before
    assert model.flush().score_one(row) != before


def test_what_the_adapter_refuses():
    model = RiverAdapter(SPAM(random_state=0))
    with pytest.raises(ValueError, match=r"'y' parameter of RiverAdapter\.learn_one must be one of"):
        model.learn_one({"a": 1.0}, "spam")
    with pytest.raises(ValueError, match="two labels"):
        RiverAdapter(SPAM(), classes=[1, 2, 3])
    with pytest.raises(TypeError, match="needs a model with probabilities"):
        model.predict_proba_one({"a": 1.0})


def test_river_evaluates_it():
    river = pytest.importorskip("river", reason="river is not installed")
    from river import evaluate, metrics

    assert river.base
    model = RiverAdapter(pipeline(SPAM(random_state=0)), first=100)
    metric = evaluate.progressive_val_score(((x, y == "bad") for x, y in dicts(800)), model, metrics.ROCAUC())
    assert metric.get() > 0.7
