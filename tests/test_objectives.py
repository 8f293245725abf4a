"""`auclid.objectives`: derivatives against the double loop, and through the callbacks of three libraries."""

import pickle
from inspect import signature
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import auclid
import reference_pairs as reference
from auclid.metrics import roc_auc
from auclid.objectives import PairObjective, pair_logistic, pair_square, pair_squared_hinge

OBJECTIVES = {"logistic": pair_logistic, "squared_hinge": pair_squared_hinge, "square": pair_square}


@st.composite
def problems(draw):
    """Labels with both classes, scores that tie, and weights or None."""
    n = draw(st.integers(2, 10))
    y = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    y[0], y[-1] = False, True
    score = np.array(draw(st.lists(st.integers(-40, 40).map(lambda k: k / 8), min_size=n, max_size=n)))
    weight = draw(st.none() | st.lists(st.integers(1, 5).map(float), min_size=n, max_size=n).map(np.array))
    return y, score, weight


def double_loop(y, score, loss, weight=None):
    """Gradient and diagonal of the Hessian of half the weight of all rows times the mean loss."""
    total = 0.5 * (len(y) if weight is None else weight.sum())
    columns = [reference.curvature_product(y, score, unit, loss, weight) for unit in np.eye(len(y))]
    return total * reference.gradient(y, score, loss, weight), total * np.diagonal(np.array(columns))


def table(n=600, seed=0):
    """A ring around the other class."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, ((X[:, 0] ** 2 + X[:, 1] ** 2 + 0.5 * rng.standard_normal(n)) > 3.0).astype(int)


@pytest.mark.parametrize("loss", OBJECTIVES)
@given(problem=problems())
def test_derivatives_are_those_of_the_double_loop(loss, problem):
    y, score, weight = problem
    found, expected = OBJECTIVES[loss](y, score, weight), double_loop(y, score, loss, weight)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_equal_scores_of_two_equal_classes_have_the_derivatives_of_the_log_loss():
    gradient, hessian = pair_logistic([0, 1, 0, 1], np.zeros(4))
    np.testing.assert_allclose(gradient, [0.5, -0.5, 0.5, -0.5])
    np.testing.assert_allclose(hessian, 0.25)


class FakeDMatrix(NamedTuple):
    """What an objective may ask of XGBoost's DMatrix or LightGBM's Dataset."""

    label: np.ndarray
    weight: np.ndarray | None

    def get_label(self):
        return self.label

    def get_weight(self):
        return self.weight


@pytest.mark.parametrize("no_weight", [None, np.zeros(0, np.float32)])  # LightGBM's and XGBoost's
def test_a_data_set_is_taken_in_place_of_labels(no_weight):
    rng = np.random.default_rng(0)
    y, score, weight = (
        np.arange(9) % 3 == 0,
        rng.standard_normal(9).astype(np.float32),
        rng.random(9).astype(np.float32),
    )
    for given_weight, data in ((None, FakeDMatrix(y.astype(np.float32), no_weight)), (weight, FakeDMatrix(y, weight))):
        for one, other in zip(pair_logistic(score, data), pair_logistic(y, score, given_weight), strict=True):
            np.testing.assert_array_equal(one, other)


def test_lightgbm_and_xgboost_find_the_weight_argument():
    assert list(signature(pair_logistic).parameters) == ["y_true", "y_pred", "sample_weight"]


class Indexed:
    """CatBoost's containers have a length and items."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, k):
        return self.values[k]


@pytest.mark.parametrize("weighted", [False, True])
def test_catboost_gets_derivatives_of_minus_the_loss(weighted):
    rng = np.random.default_rng(0)
    y, score, weight = np.arange(12) % 4 == 0, rng.standard_normal(12), rng.random(12) if weighted else None
    given_weight = Indexed(weight) if weighted else None
    ders = pair_logistic.calc_ders_range(Indexed(score), Indexed(y.astype(float)), given_weight)
    gradient, hessian = pair_logistic(y, score, weight)
    np.testing.assert_allclose(ders, np.stack([-gradient, -hessian], axis=1))
    assert all(isinstance(value, float) for pair in ders for value in pair)


def test_a_block_of_one_class_has_no_gradient():
    assert pair_square.calc_ders_range([0.1, 0.2], [1.0, 1.0], None) == [(0.0, 0.0)] * 2
    assert pair_square.calc_ders_range([0.1, 0.2], [1.0, 0.0], [1.0, 0.0]) == [(0.0, 0.0)] * 2


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_lightgbm_learns_with_it(objective):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = table()
    model = lightgbm.LGBMClassifier(objective=objective, n_estimators=30, verbose=-1, n_jobs=1)
    model.fit(X, y)
    assert roc_auc(*_held_out(lambda rows: model.predict(rows, raw_score=True))) > 0.9
    booster = lightgbm.train({"objective": objective, "verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, y), 30)
    np.testing.assert_allclose(booster.predict(X), clone(model).fit(X, y).predict(X, raw_score=True))


def test_lightgbm_hands_weights_over():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = table(300)
    twice = np.arange(300) % 2 + 1
    settings = {"objective": pair_logistic, "n_estimators": 5, "verbose": -1, "n_jobs": 1, "min_child_samples": 1}
    settings |= {"subsample_for_bin": 10_000, "max_bin": 1000, "min_data_in_bin": 1, "min_child_weight": 0.0}
    weighted = lightgbm.LGBMClassifier(**settings).fit(X, y, sample_weight=twice)
    repeated = lightgbm.LGBMClassifier(**settings).fit(np.repeat(X, twice, axis=0), np.repeat(y, twice))
    scores = [model.predict(X, raw_score=True) for model in (weighted, repeated)]
    assert np.corrcoef(scores)[0, 1] > 0.99


def test_xgboost_learns_with_it():
    xgboost = pytest.importorskip("xgboost")
    X, y = table()
    model = xgboost.XGBClassifier(objective=pair_logistic, n_estimators=30, n_jobs=1).fit(X, y)
    assert roc_auc(*_held_out(lambda rows: model.predict(rows, output_margin=True))) > 0.9


def test_catboost_learns_with_it():
    catboost = pytest.importorskip("catboost")
    X, y = table()
    model = catboost.CatBoostClassifier(
        loss_function=pair_logistic, eval_metric="AUC", iterations=60, verbose=False, allow_writing_files=False
    )
    model.fit(X, y)
    assert roc_auc(*_held_out(lambda rows: model.predict(rows, prediction_type="RawFormulaVal"))) > 0.9


def _held_out(predict):
    X, y = table(seed=1)
    return y, predict(X)


def test_objectives_are_copied_and_printed_as_parameters_are():
    again = pickle.loads(pickle.dumps(pair_squared_hinge))
    assert repr(again) == "PairObjective('squared_hinge')" and again.loss == "squared_hinge"
    assert auclid.objectives.pair_logistic is pair_logistic


def test_a_loss_without_curvature_is_refused():
    with pytest.raises(ValueError, match=r"'loss' parameter of PairObjective must be 'logistic'.*Got 'hinge'"):
        PairObjective("hinge")


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="PairObjective"):
        pair_logistic([1, 1], [0.0, 1.0])
