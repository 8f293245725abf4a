"""Models of all folds at once: their weights and pairs are those of each fold by itself."""

import numpy as np
import pytest

from auclid import Scorecard, _sizes
from auclid.additive import _interactions, _selection
from auclid.additive._basis import basis_rows, first_pairs, make_basis, same_basis
from auclid.additive._folds import RowFolds
from auclid.additive._moments import LazyFolds, class_sums
from auclid.additive._solve import Penalty, minimiser, penalty_terms
from auclid.additive._targets import CardRows, ClassTarget


@pytest.fixture(scope="module")
def card():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = X[:, 0] + 1.5 * X[:, 1] * X[:, 2] + rng.logistic(size=600) > 1.0
    return Scorecard(n_knots=5, random_state=0).fit(X, y), X, y, rng.integers(-1, 5, 600)


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_from_products_with_rows_are_those_from_factors(card, weighted):
    model, X, y, fold = card
    basis = model._card.basis
    assert len(basis.pair_a)
    weight = np.random.default_rng(1).random(len(y)) if weighted else None
    sums = class_sums(basis, X, y, weight, fold)
    folds, moments = RowFolds(basis, X, y, weight, fold), sums.moments()
    terms, penalty = penalty_terms(basis), Penalty(0.1, 0.3)
    w, others = folds.minimisers(moments.within, moments.delta, terms, penalty)
    np.testing.assert_allclose(w, minimiser(moments.within, moments.delta, terms, penalty), rtol=1e-9, atol=1e-12)
    for k, (found, expected) in enumerate(zip(others, LazyFolds(sums), strict=True)):
        direct = minimiser(expected.S, expected.delta, terms, penalty)
        np.testing.assert_allclose(found, direct, atol=1e-4 * np.abs(direct).max())
        np.testing.assert_allclose(folds.means[k], expected.mean, atol=1e-12)
        np.testing.assert_allclose(folds[k].S, expected.S, atol=1e-10)


def test_held_out_rows_are_scored_in_blocks(card, monkeypatch):
    model, X, y, fold = card
    basis, blocks = model._card.basis, []
    rows = CardRows(X[fold >= 0], ClassTarget(y, None).take(fold >= 0), fold[fold >= 0])
    folds, rng = list(LazyFolds(class_sums(basis, X, y, None, fold))), np.random.default_rng(3)
    weights = rng.normal(size=(len(folds), basis.size))
    Z, own = _selection.basis_rows(basis, rows.cells), rows.fold
    expected = Z @ weights.T - [each.mean @ w for each, w in zip(folds, weights, strict=True)]

    def counted(basis, cells):
        blocks.append(len(cells))
        return basis_rows(basis, cells)

    monkeypatch.setattr(_sizes, "BLOCK_BYTES", 8 * X.shape[1] * 50)
    monkeypatch.setattr(_selection, "basis_rows", counted)
    found = _selection.held_out_scores(folds, basis, weights, rows)
    np.testing.assert_allclose(found, expected[np.arange(len(own)), own], rtol=1e-12, atol=1e-12)
    assert max(blocks) == 50 and sum(blocks) == len(own)


def test_scores_do_not_depend_on_how_the_weights_of_folds_are_found(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(800, 4))
    y = X[:, 0] + 2.0 * X[:, 1] * X[:, 2] + rng.logistic(size=800) > 1.0
    factors = Scorecard(random_state=0).fit(X, y)
    monkeypatch.setattr(_sizes, "ROW_FOLD_COEFFICIENTS", 5)
    products = Scorecard(random_state=0).fit(X, y)
    assert factors.interactions_
    np.testing.assert_allclose(products.decision_function(X), factors.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(products.predict_proba(X), factors.predict_proba(X), atol=1e-3)


def test_pairs_of_a_fold_are_those_of_the_rows_outside_it(card):
    model, X, y, fold = card
    used = fold >= 0
    rows, score = CardRows(X[used], ClassTarget(y[used], None), fold[used]), X[used, 0] + y[used]
    pairs = [(a, b) for a in range(4) for b in range(a)]
    ranked = _interactions.ranked_pairs(model._features, rows, score, pairs, 3)
    for k in range(5):
        outside = np.flatnonzero(rows.fold != k)
        alone = rows.take(outside)._replace(fold=np.zeros(len(outside), dtype=np.int64))
        assert ranked[k] == _interactions.ranked_pairs(model._features, alone, score[outside], pairs, 3)[-1]


def test_a_basis_with_fewer_pairs_is_that_of_these_pairs(card):
    model = card[0]
    pairs = [(0, 1), (2, 1), (3, 0)]
    for count in range(4):
        assert same_basis(
            first_pairs(make_basis(model._features, pairs), count), make_basis(model._features, pairs[:count])
        )
