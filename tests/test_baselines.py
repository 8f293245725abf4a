"""The peers that do not optimise AUC: one model a name, for the command and AUCClassifier."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier

from auclid import baselines
from auclid.auto import _candidates
from auclid.cli import models
from auclid.metrics import roc_auc


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 3)), np.arange(80) % 4 == 0
    X[:, 0] += 2 * y
    return X, y


@pytest.mark.parametrize(
    "name", ["logistic", "ridge", "linear_svc", "boosting", "small_boosting", "lightgbm", "SmallLightGBM"]
)
def test_each_ranks_and_takes_parameters(name, rows):
    if "lightgbm" in name.lower():
        pytest.importorskip("lightgbm")
    X, y = rows
    model = getattr(baselines, name)(random_state=3)
    assert is_classifier(model) and model.get_params()["random_state"] == 3
    found = baselines.scores(model.fit(X, y), X)
    assert found.shape == (80,) and found[y].mean() > found[~y].mean()


def test_one_name_is_one_model_everywhere(rows):
    X, _ = rows
    command = {name: models.baseline(name, X, 0)[1] for name in ("logistic", "ridge")}
    for name, model in command.items():
        assert model[-1].get_params() | {"random_state": 0} == getattr(baselines, name)(random_state=0).get_params()
    tried = _candidates.candidate("logistic", _candidates.TableShape(*X.shape, False, 20), 0).recipe
    assert tried.get_params() | {"max_iter": 1000} == baselines.logistic().get_params()


def test_missing_values_are_seen_in_dense_and_sparse_rows(rows):
    X, _ = rows
    holes = X.copy()
    holes[3, 1] = np.nan
    for missing, table in ((True, holes), (False, X)):
        assert baselines.has_missing(table) == baselines.has_missing(sparse.csr_matrix(table)) == missing


def test_small_trees_stop_where_held_out_rows_say():
    pytest.importorskip("lightgbm")
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1200, 5))
    y = np.where(X[:, 0] + rng.logistic(size=1200) > 2.0, "b", "a")
    model = baselines.SmallLightGBM(random_state=0).fit(X, y)
    assert 1 <= model.n_trees_ < baselines.MAX_TREES and model.model_.n_estimators_ == model.n_trees_
    assert set(model.predict(X)) <= {"a", "b"} and model.predict_proba(X).shape == (1200, 2)
    fresh = rng.standard_normal((4000, 5))
    truth = fresh[:, 0] + rng.logistic(size=4000) > 2.0
    many = baselines.lightgbm(random_state=0).fit(X, y)
    assert roc_auc(truth, model.predict_proba(fresh)[:, 1]) > roc_auc(truth, many.predict_proba(fresh)[:, 1]) + 0.02
    few = baselines.SmallLightGBM(random_state=0).fit(X[:30], np.arange(30) < 3)
    assert few.n_trees_ == baselines.PATIENCE
