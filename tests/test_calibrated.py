"""Calibrated: probabilities for any ranker, which leave its order alone."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import auclid
from auclid import OAM, SPAM, Calibrated, Columns, LeastSquaresAUC, RankSVM
from auclid.metrics import roc_auc


def problem(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, X[:, 0] + 0.7 * rng.standard_normal(n) > 1.2


@pytest.mark.parametrize("ranker", [LeastSquaresAUC(), RankSVM(), SPAM(random_state=0), OAM(random_state=0)], ids=str)
def test_probabilities_are_calibrated_and_the_order_is_the_rankers(ranker):
    X, y = problem()
    model = Calibrated(ranker).fit(X, y)
    new_X, new_y = problem(seed=1)
    chances = model.predict_proba(new_X)[:, 1]
    assert roc_auc(new_y, chances) == pytest.approx(roc_auc(new_y, model.ranker_.decision_function(new_X)), abs=1e-6)
    assert chances.mean() == pytest.approx(new_y.mean(), abs=0.02)
    for low, high in ((0.05, 0.3), (0.3, 0.7), (0.7, 1.0)):
        part = (chances > low) & (chances <= high)
        assert chances[part].mean() == pytest.approx(new_y[part].mean(), abs=0.12)
    np.testing.assert_array_equal(model.predict(new_X), chances > 0.5)


def test_scores_of_seen_rows_would_promise_too_much():
    """Columns of noise, more than rows: what was seen is known by heart, what was not is a coin's toss."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 200)), rng.random(120) < 0.5
    chances = Calibrated(LeastSquaresAUC(alpha=1e-6)).fit(X, y).predict_proba(rng.standard_normal((500, 200)))[:, 1]
    assert np.abs(chances - 0.5).mean() < 0.2


def test_pipelines_frames_weights_and_files(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(["Rome", "Oslo"], 300), "a": rng.standard_normal(300)})
    y = (frame["town"] == "Oslo") + frame["a"] + 0.5 * rng.standard_normal(300) > 0.8
    model = Calibrated(make_pipeline(Columns(), RankSVM())).fit(frame, y, sample_weight=np.ones(300))
    assert model.score(frame, y) > 0.85
    auclid.save(model, tmp_path / "m")
    np.testing.assert_array_equal(auclid.load(tmp_path / "m").predict_proba(frame), model.predict_proba(frame))
    weight = np.where(y, 9.0, 1.0)
    chances = Calibrated(LeastSquaresAUC()).fit(frame[["a"]], y, sample_weight=weight).predict_proba(frame[["a"]])[:, 1]
    assert np.average(chances, weights=weight) == pytest.approx(np.average(y, weights=weight), abs=0.01)


def test_a_few_rows_are_fitted_by_their_own_scores():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    assert Calibrated().fit(np.vstack([X] * 3), np.tile(y, 3)).score(X, y) == 1.0
    assert Calibrated(LeastSquaresAUC()).fit(X, y).predict_proba(X)[-1, 1] > 0.5
