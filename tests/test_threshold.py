"""One threshold for each model: `predict`, the command, monitoring, reports and files all cut there."""

import json
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import auclid
from auclid import AUCClassifier, Calibrated, Columns, Kernelized, LeastSquaresAUC, MulticlassAUC, Scorecard, baselines
from auclid.monitoring import monitor, profile


def problem(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.15).astype(int)
    return rng.standard_normal((n, 3)) + 0.8 * y[:, None], y


MODELS = [
    LeastSquaresAUC(),
    Calibrated(LeastSquaresAUC()),
    AUCClassifier(methods="logistic", random_state=0),
    Kernelized(ranker=LeastSquaresAUC()),
    Scorecard(interactions=0, random_state=0),
    MulticlassAUC(),
    make_pipeline(Columns(), LeastSquaresAUC()),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_chosen_threshold_is_kept_in_the_file_and_used_by_predict(model, tmp_path):
    X, y = problem()
    last = model.fit(X, y)[-1] if hasattr(model, "steps") else model.fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), scores > baselines.threshold(model))
    assert model.predict(X)[y == 1].mean() > 0.6  # rare positives are found
    chosen = float(np.sort(scores)[-21])
    last.set_threshold(chosen)
    assert model.predict(X).sum() == 20
    auclid.save(tmp_path / "m.auclid", model)
    loaded = auclid.load(tmp_path / "m.auclid")
    assert baselines.threshold(loaded) == chosen
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    model.fit(X, y)
    assert baselines.threshold(model) != chosen  # chosen for the scores of another fit


def test_a_stream_keeps_the_threshold():
    X, y = problem()
    model = LeastSquaresAUC().partial_fit(X, y).set_threshold(0.3)
    assert model.partial_fit(X, y).threshold_ == 0.3


def test_a_threshold_that_cannot_be():
    X, y = problem()
    with pytest.raises(ValueError, match="needs a fitted model of two classes"):
        LeastSquaresAUC().set_threshold(0.0)
    with pytest.raises(ValueError, match="'threshold' parameter of LeastSquaresAUC\\.set_threshold must be a float"):
        LeastSquaresAUC().fit(X, y).set_threshold(np.nan)
    with pytest.raises(ValueError, match="needs a fitted model of two classes"):
        MulticlassAUC().fit(X, np.arange(len(X)) % 3).set_threshold(0.0)


@pytest.mark.parametrize("model", [Calibrated(), LogisticRegression()], ids=lambda model: type(model).__name__)
def test_monitoring_and_the_report_cut_where_predict_does(model):
    X, y = problem()
    model.fit(X, y)
    if hasattr(model, "set_threshold"):
        model.set_threshold(float(np.quantile(model.decision_function(X), 0.97)))
    share = model.predict(X).mean()
    before = profile(model, X)
    assert before.alert_rate == share
    assert monitor(model, X, reference=before).alert_rate[0] == share
    page = auclid.report(model, X, y)
    assert '<option value="0">the model&#x27;s own threshold</option>' in page
    first = json.loads(re.search(r"const models = (.*);", page)[1])[0]
    assert first["hits"][first["start"]] + first["alarms"][first["start"]] == model.predict(X).sum()
