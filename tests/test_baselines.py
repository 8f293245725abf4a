"""The peers that do not optimise AUC: one model a name, for the command and AUCClassifier."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier

from auclid import baselines
from auclid.auto import _candidates
from auclid.cli import models


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 3)), np.arange(80) % 4 == 0
    X[:, 0] += 2 * y
    return X, y


@pytest.mark.parametrize("name", ["logistic", "ridge", "linear_svc", "boosting", "lightgbm"])
def test_each_ranks_and_takes_parameters(name, rows):
    if name == "lightgbm":
        pytest.importorskip("lightgbm")
    X, y = rows
    model = getattr(baselines, name)(random_state=3)
    assert is_classifier(model) and model.get_params()["random_state"] == 3
    found = baselines.scores(baselines.behind_scaler(model, X).fit(X, y), X)
    assert found.shape == (80,) and found[y].mean() > found[~y].mean()


def test_one_name_is_one_model_everywhere(rows):
    X, _ = rows
    command = {name: models.BASELINES[name](X, 0)[1] for name in ("logistic", "ridge")}
    for name, model in command.items():
        assert model[-1].get_params() | {"random_state": 0} == getattr(baselines, name)(random_state=0).get_params()
    tried = _candidates.candidate("logistic", _candidates.TableShape(*X.shape, False, 20), 0).recipe
    assert tried.get_params() | {"max_iter": 1000} == baselines.logistic().get_params()


def test_missing_values_are_filled_and_sparse_rows_stay_sparse(rows):
    X, y = rows
    holes = X.copy()
    holes[3, 1] = np.nan
    assert baselines.has_missing(holes) and not baselines.has_missing(sparse.csr_matrix(X))
    for Z in (holes, sparse.csr_matrix(X), sparse.csr_matrix(holes)):
        assert np.isfinite(baselines.scores(baselines.behind_scaler(baselines.logistic(), Z).fit(Z, y), Z)).all()
