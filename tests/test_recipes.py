"""What people will try first, with scikit-learn's own tools."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from auclid import SPAM, LeastSquaresAUC, LeastSquaresAUCCV

MODELS = [LeastSquaresAUC(), LeastSquaresAUCCV(cv=3), SPAM(random_state=0)]
every = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 4)), (rng.random(300) < 0.15).astype(int)
    X[:, 0] += 1.5 * y
    return X, y


@every
def test_cross_validation(model, data):
    X, y = data
    by_name, own = cross_val_score(model, X, y, scoring="roc_auc", cv=3), cross_val_score(model, X, y, cv=3)
    np.testing.assert_allclose(by_name, own)  # our score is the AUC
    assert by_name.mean() > 0.75
    scores = cross_val_predict(model, X, y, cv=3, method="decision_function")
    assert roc_auc_score(y, scores) > 0.75


@every
@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MaxAbsScaler()], ids=lambda scaler: type(scaler).__name__
)
def test_pipeline(model, data, scaler):
    X, y = data
    pipe = make_pipeline(scaler, clone(model)).fit(X, y)
    assert pipe.score(X, y) == pytest.approx(roc_auc_score(y, pipe.decision_function(X)))
    assert set(pipe.predict(X)) == {0, 1}


@every
def test_predictions_find_rare_positives(model, data):
    X, y = data
    called = clone(model).fit(X, y).predict(X) == 1
    assert called[y == 1].mean() > 0.5 and called[y == 0].mean() < 0.5


@every
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(model, data, method):
    X, y = data
    calibrated = CalibratedClassifierCV(clone(model), method=method, cv=3).fit(X, y)
    p = calibrated.predict_proba(X)[:, 1]
    assert ((0.0 <= p) & (p <= 1.0)).all() and roc_auc_score(y, p) > 0.75
    assert p.mean() == pytest.approx(y.mean(), abs=0.05)


@every
def test_tuned_threshold(model, data):
    X, y = data
    tuned = TunedThresholdClassifierCV(clone(model), scoring="f1", cv=3).fit(X, y)
    assert np.isfinite(tuned.best_threshold_) and 0 < tuned.predict(X).sum() < len(y)


def test_stacking(data):
    X, y = data
    stack = StackingClassifier(
        [
            ("exact", LeastSquaresAUC()),
            ("stochastic", SPAM(random_state=0)),
            ("logistic", LogisticRegression()),
        ],
        final_estimator=LeastSquaresAUC(),
        cv=3,
    )
    assert roc_auc_score(y, stack.fit(X, y).decision_function(X)) > 0.75


def test_grid_search(data):
    X, y = data
    grid = {"spam__alpha": [1e-4, 1e-1], "spam__l1": [0.0, 1e-2], "spam__schedule": ["auto", "constant"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), SPAM(random_state=0)), grid, cv=3, n_jobs=1).fit(
        X, y
    )
    assert len(search.cv_results_["params"]) == 8 and search.best_score_ > 0.75
    again = clone(search).fit(X, y)
    assert again.best_params_ == search.best_params_ and again.best_score_ == search.best_score_


def test_the_path_finds_what_a_grid_search_finds(data):
    X, y = data
    alphas = [1e-4, 1e-2, 1.0, 100.0]
    path = LeastSquaresAUCCV(alphas, cv=3).fit(X, y)
    search = GridSearchCV(LeastSquaresAUC(), {"alpha": alphas}, cv=3).fit(X, y)
    np.testing.assert_allclose(path.cv_auc_.mean(axis=0), search.cv_results_["mean_test_score"], rtol=1e-12)


def test_feature_selection_by_weights(data):
    X, y = data
    chosen = SelectFromModel(LeastSquaresAUC(l1=0.3), threshold=1e-8).fit(X, y).get_support()
    assert chosen[0] and not chosen.all()


def test_sample_weight_is_routed(data):
    X, y = data
    weight = np.where(np.arange(len(y)) % 2, 1.0, 0.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = LeastSquaresAUC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(model).fit(X, y, sample_weight=weight)
        search = GridSearchCV(model, {"alpha": [1e-4]}, cv=3).fit(X, y, sample_weight=weight)
        cross_val_score(model, X, y, cv=3, params={"sample_weight": weight})
        plain = make_pipeline(LeastSquaresAUC().set_fit_request(sample_weight=False)).fit(X, y)
    kept = weight > 0
    expected = LeastSquaresAUC().fit(X[kept], y[kept])
    np.testing.assert_allclose(pipe[-1].coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(search.best_estimator_.coef_, expected.coef_, rtol=1e-9)
    assert not np.allclose(plain[-1].coef_, expected.coef_)


def test_streams_route_their_parameters():
    with sklearn.config_context(enable_metadata_routing=True):
        model = LeastSquaresAUC().set_partial_fit_request(classes=True, sample_weight=True)
        assert set(model.get_metadata_routing().partial_fit.requests) == {"classes", "sample_weight"}


@every
def test_it_shows_itself_in_a_notebook(model, data):
    for decode in (clone(model), clone(model).fit(*data)):
        html = decode._repr_html_()
        assert type(model).__name__ in html
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(model).startswith(type(model).__name__)


@every
def test_an_accuracy_is_one_argument_away(model, data):
    X, y = data
    accuracy = cross_val_score(model, X, y, scoring="balanced_accuracy", cv=3)
    assert accuracy.mean() > 0.6
