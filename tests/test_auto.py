"""AUCClassifier: what is chosen, what it says, what it refuses; with cheap candidates, so that it stays quick."""

import numpy as np
import pytest

from auclid.auto import AUCClassifier
from auclid.metrics import roc_auc

CHEAP = ["LeastSquaresAUC", "logistic"]


def problem(n=200, rare=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = X[:, 0] + 0.5 * rng.standard_normal(n) > np.quantile(X[:, 0], 1.0 - rare)
    return X * [1.0, 1e3, 1e-3, 1.0], np.where(y, "bad", "alright")


def fitted(X, y, **params):
    return AUCClassifier(methods=CHEAP, random_state=0, **params).fit(X, y)


def test_the_leaderboard_holds_every_candidate_with_its_interval():
    model = fitted(*problem())
    assert {entry.name for entry in model.leaderboard_} == set(CHEAP)
    assert all(entry.low <= entry.auc <= entry.high for entry in model.leaderboard_)
    assert model.best_ in {*CHEAP, "blend"}
    assert sum(entry.weight for entry in model.leaderboard_) == pytest.approx(1.0)


def test_probabilities_rank_as_scores_do_and_predict_agrees():
    X, y = problem()
    model = fitted(X, y)
    scores, chances = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert roc_auc(y, chances[:, 1], pos_label="bad") == roc_auc(y, scores, pos_label="bad")
    np.testing.assert_array_equal(np.argsort(scores), np.argsort(chances[:, 1]))
    np.testing.assert_array_equal(model.predict(X), model.classes_[(chances[:, 1] > 0.5).astype(int)])


def test_probabilities_stay_apart_however_far_the_scores_go():
    X, y = problem()
    far = np.outer(np.linspace(-1e4, 1e4, 50), [1.0, 0.0, 0.0, 0.0])
    scores, chances = (f(far) for f in (fitted(X, y).decision_function, fitted(X, y).predict_proba))
    assert len(np.unique(chances[:, 1])) == len(np.unique(scores))


def test_the_same_seed_gives_the_same_model():
    X, y = problem()
    np.testing.assert_array_equal(fitted(X, y).decision_function(X), fitted(X, y).decision_function(X))


def test_missing_values_are_borne():
    X, y = problem()
    X[::7, 1] = np.nan
    assert fitted(X, y).score(X, y) > 0.8


def test_few_positives_get_one_ranker_and_a_warning():
    X, y = problem(60, rare=0.1)
    with pytest.warns(UserWarning, match="at least 10 rows of each class"):
        model = fitted(X, y)
    assert model.best_ == "LeastSquaresAUC" and model.score(X, y) > 0.8


def test_what_the_budget_leaves_out_is_said():
    model = fitted(*problem(), budget=1e-9)
    assert [entry.note for entry in model.leaderboard_] == ["", "dropped: the budget was spent"]


def test_curved_structure_is_found_by_the_default_candidates():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = (X**2).sum(axis=1) < 0.5
    model = AUCClassifier(cv=2, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
