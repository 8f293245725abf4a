"""Calibrated: probabilities for any ranker, which leave its order alone."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import auclid
from auclid import OAM, SPAM, Calibrated, Columns, LeastSquaresAUC, RankSVM
from auclid.metrics import roc_auc

SIGMOID = 1e-3
"""How near a probability is: by blocks the ranker has another threshold, and the sigmoid is fitted from elsewhere."""


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
    np.testing.assert_array_equal(model.predict(new_X), model.decision_function(new_X) > model.threshold_)
    np.testing.assert_array_equal(model.set_threshold(0.0).predict(new_X), chances > 0.5)


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


def by_blocks(X, y, weight=None, size=300):
    def blocks():
        for k in range(0, len(y), size):
            part = slice(k, k + size)
            yield (X[part], y[part]) if weight is None else (X[part], y[part], weight[part])

    return auclid.scan(blocks)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_files_and_of_dask_are_calibrated_as_those_in_memory(weighted):
    X, y = problem()
    X[:, 1] *= 100.0
    labels, weight = np.where(y, "yes", "no"), np.arange(len(y)) % 3 * 1.0 if weighted else None
    ranker = make_pipeline(Columns(), LeastSquaresAUC())
    whole, rows = Calibrated(ranker).fit(X, labels, weight), by_blocks(X, labels, weight)
    model = Calibrated(ranker).fit(rows)
    np.testing.assert_allclose(model.predict_proba(rows), whole.predict_proba(X), atol=SIGMOID)
    assert np.mean(model.predict(rows) != whole.predict(X)) < 0.01
    assert model.score(rows) == pytest.approx(whole.score(X, labels, weight), abs=1e-9)
    da = pytest.importorskip("dask.array")
    apart = [None if each is None else da.from_array(each, chunks=700) for each in (labels, weight)]
    lazy = da.from_array(X, chunks=(700, 3))
    model = Calibrated(ranker).fit(lazy, *apart)
    chances = model.predict_proba(lazy)
    assert isinstance(chances, da.Array) and chances.shape == (len(y), 2)
    np.testing.assert_allclose(chances.compute(), whole.predict_proba(X), atol=SIGMOID)


def test_weights_reach_every_step_that_takes_them():
    X, y = problem()
    weight = np.where(y & (X[:, 0] > 0.5), 5.0, 1.0)
    steps = make_pipeline(make_pipeline("passthrough", Columns()), MinMaxScaler(), LeastSquaresAUC())
    model = Calibrated(steps).fit(X, y, weight)
    columns = Columns().fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.ranker_[0].transform(X), columns.transform(X))
    by_hand = LeastSquaresAUC().fit(MinMaxScaler().fit_transform(columns.transform(X)), y, sample_weight=weight)
    np.testing.assert_array_equal(model.ranker_[-1].coef_, by_hand.coef_)


def test_a_scaler_that_wants_all_rows_in_memory_is_told_in_a_sentence():
    X, y = problem()
    with pytest.raises(TypeError, match=r"given to estimators of auclid.*Put Columns\(\) in the place of a scaler"):
        Calibrated(make_pipeline(StandardScaler(), LeastSquaresAUC())).fit(by_blocks(X, y))


def test_a_sample_of_each_class_counts_for_all_its_rows(monkeypatch):
    monkeypatch.setattr("auclid._sizes.CALIBRATION_CLASS_ROWS", 300)
    X, y = problem(20_000)
    chances = Calibrated(LeastSquaresAUC()).fit(by_blocks(X, y)).predict_proba(X)[:, 1]
    whole = Calibrated(LeastSquaresAUC()).fit(X, y).predict_proba(X)[:, 1]
    assert chances.mean() == pytest.approx(y.mean(), abs=0.02)
    assert np.abs(chances - whole).max() < 0.1


def test_bad_rows_of_files_change_nothing():
    X, y = problem()
    holed = np.where(np.arange(3) + 3 * np.arange(len(y))[:, None] == 4502, np.nan, X)
    model = Calibrated(LeastSquaresAUC())
    for rows, said in [
        (by_blocks(holed, y), "block 5 has NaN in column 'x2', row 1,500"),
        (by_blocks(X, np.arange(len(y)) % 3), "Only binary"),
        (auclid.scan(X), "no target"),
    ]:
        with pytest.raises(ValueError, match=said):
            model.fit(rows)
        assert set(vars(model)) == {"ranker", "cv"}


def test_a_few_rows_are_fitted_by_their_own_scores():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    assert Calibrated().fit(np.vstack([X] * 3), np.tile(y, 3)).score(X, y) == 1.0
    assert Calibrated(LeastSquaresAUC()).fit(X, y).predict_proba(X)[-1, 1] > 0.5
