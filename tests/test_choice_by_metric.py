"""Estimators that choose by average precision where asked."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

from auclid import LeastSquaresAUC, LeastSquaresAUCCV, RankSVM, Scorecard, scan


def rows(n=600, d=8, seed=0):
    """A column that finds a few positives for certain, and others that rank all of them a little."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.1).astype(int)
    X = rng.normal(size=(n, d)) + 0.4 * y[:, None]
    X[:, 0] = rng.normal(size=n) + 6.0 * (y * (rng.random(n) < 0.3))
    return X, y


def test_held_out_average_precisions_are_those_of_fits_on_each_fold():
    X, y = rows()
    alphas = np.logspace(-6, 3, 7)
    model = LeastSquaresAUCCV(alphas, metric="average_precision").fit(X, y)
    for k, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
        for j, alpha in enumerate(alphas):
            score = LeastSquaresAUC(alpha).fit(X[train], y[train]).decision_function(X[test])
            assert model.cv_auc_[k, j] == pytest.approx(average_precision_score(y[test], score), abs=1e-9)
    assert model.alpha_ == alphas[model.cv_auc_.mean(axis=0).argmax()]


def test_rows_in_parts_choose_alike():
    X, y = rows()

    def blocks():
        for start in range(0, len(y), 130):
            yield X[start : start + 130], y[start : start + 130]

    memory = LeastSquaresAUCCV(metric="average_precision").fit(X, y)
    parts = LeastSquaresAUCCV(metric="average_precision").fit(scan(blocks))
    np.testing.assert_allclose(parts.cv_auc_, memory.cv_auc_, atol=1e-9)
    assert parts.alpha_ == pytest.approx(memory.alpha_)


def test_weights_count_in_the_held_out_average_precision():
    X, y = rows()
    weight = np.random.default_rng(1).random(len(y)) + 0.1
    alphas = np.array([1e-3, 1.0])
    model = LeastSquaresAUCCV(alphas, metric="average_precision").fit(X, y, sample_weight=weight)
    train, test = next(iter(StratifiedKFold(5).split(X, y)))
    score = LeastSquaresAUC(1e-3).fit(X[train], y[train], weight[train]).decision_function(X[test])
    told = average_precision_score(y[test], score, sample_weight=weight[test])
    assert model.cv_auc_[0, 0] == pytest.approx(told, abs=1e-9)


def test_rank_svm_chooses_alpha_by_it():
    found = set()
    for seed in range(6):
        X, y = rows(seed=seed)
        by_auc, by_ap = (RankSVM(metric=metric).fit(X, y).alpha_ for metric in ("roc_auc", "average_precision"))
        found.add(by_auc == by_ap)
    assert False in found  # the two are not the same question


def test_a_scorecard_is_chosen_by_it():
    X, y = rows(900)
    alphas = np.array([1e-3, 10.0])
    settings = {"n_knots": 4, "smooth": 0.0, "interactions": 0, "random_state": 0}
    both = {}
    for metric in ("roc_auc", "average_precision"):
        card = Scorecard(LeastSquaresAUCCV(alphas), metric=metric, **settings).fit(X, y)
        both[metric] = card, card._fit_and_hold_out(X, y)
    card, held_out = both["average_precision"]
    assert card.cv_auc_ < both["roc_auc"][0].cv_auc_  # of one row in ten the precision is far below the AUC
    assert card.cv_auc_ == pytest.approx(average_precision_score(y, held_out), abs=0.1)


def test_the_choice_of_a_scorecard_differs_by_metric():
    settings = {"n_knots": 4, "interactions": 0, "random_state": 0}
    chosen = []
    for seed in range(4):
        X, y = rows(seed=seed)
        cards = [Scorecard(metric=metric, **settings).fit(X, y) for metric in ("roc_auc", "average_precision")]
        chosen.append(len({(card.alpha_, card.smooth_, card.focus_, card.loss_) for card in cards}))
    assert 2 in chosen


@pytest.mark.parametrize("estimator", [RankSVM, LeastSquaresAUCCV, Scorecard])
def test_a_metric_that_is_not_known_is_refused(estimator):
    X, y = rows(60)
    with pytest.raises(ValueError, match="metric"):
        estimator(metric="f1").fit(X, y)
