"""Platt's sigmoid: the optimum of its own objective, weights, extremes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from auclid.stats.odds import Odds, fit_sigmoid, log_odds, probability


def drawn(seed, n=300):
    rng = np.random.default_rng(seed)
    is_pos = rng.random(n) < 0.3
    is_pos[:2] = [True, False]
    return rng.normal(size=n) + 1.5 * is_pos, is_pos, rng.integers(1, 4, size=n).astype(float)


def loss(theta, scores, is_pos, weight):
    n_pos, n_neg = weight[is_pos].sum(), weight[~is_pos].sum()
    target = np.where(is_pos, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    f = theta[0] * scores + theta[1]
    return weight @ (np.logaddexp(0.0, f) - target * f)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_sigmoid_of_least_log_loss(seed):
    scores, is_pos, weight = drawn(seed)
    best = minimize(loss, [1.0, 0.0], (scores, is_pos, weight), tol=1e-12)
    odds = fit_sigmoid(scores, is_pos, weight)
    assert loss(odds, scores, is_pos, weight) <= best.fun * (1 + 1e-7)
    np.testing.assert_allclose(odds, best.x, rtol=2e-3)


def test_a_weight_counts_rows():
    scores, is_pos, weight = drawn(0)
    times = weight.astype(int)
    repeated = fit_sigmoid(np.repeat(scores, times), np.repeat(is_pos, times))
    np.testing.assert_allclose(fit_sigmoid(scores, is_pos, weight), repeated, rtol=1e-9)


@given(st.floats(-280, 280), st.integers(0, 50))
@settings(max_examples=30, deadline=None)
def test_the_size_of_scores_changes_no_probability(power, seed):
    scores, is_pos, _ = drawn(seed, 40)
    large = scores * 10.0**power
    said, plain = fit_sigmoid(large, is_pos).probability(large), fit_sigmoid(scores, is_pos).probability(scores)
    np.testing.assert_allclose(said, plain, atol=1e-9)


def test_probabilities_rise_with_scores_whatever_the_rows_say():
    scores, is_pos, _ = drawn(1)
    for given_scores in (-scores, np.zeros(len(scores)), np.where(is_pos, 1e6, 0.0)):
        odds = fit_sigmoid(given_scores, is_pos)
        assert odds.slope > 0.0 and np.isfinite(odds).all()


def test_log_odds_keep_their_order_through_probabilities():
    scores = np.sort(np.random.default_rng(0).normal(size=1000)) * 50.0
    bent = log_odds(Odds(3.0, -1.0), scores)
    assert (np.diff(bent) >= 0.0).all() and np.abs(bent).max() < 16.0
    distinct = np.unique(bent)
    assert (np.diff(probability(distinct)) > 0.0).all()
    near = np.abs(bent) < 8.0
    np.testing.assert_allclose(probability(bent)[near], expit(3.0 * scores - 1.0)[near], atol=1e-8)
