"""Where a scorecard's shapes may jump, how tails are cut, and which columns are made dear."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from auclid import Scorecard, _sizes
from auclid.additive import _selection, _solve
from auclid.additive._basis import basis_rows, make_basis
from auclid.additive._columns import ColumnSpec
from auclid.additive._features import (
    MIN_TAIL_ROWS,
    SPECIAL_SHARE,
    extra_knots,
    learn_features,
    quantile_knots,
    value_counts,
)
from auclid.additive._solve import (
    MIN_VARIANCE_SHARE,
    Penalty,
    PenaltyTerms,
    direction,
    directions,
    minimiser,
    penalised,
    penalty_terms,
)
from auclid.metrics import roc_auc


@given(st.integers(0, 10**6), st.integers(4, 12), st.floats(0.0, 0.6), st.sampled_from(["normal", "heavy", "whole"]))
def test_extra_knots_are_values_and_bracket_what_is_special(seed, count, share, kind):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=300)
    x = {"normal": x, "heavy": np.sinh(4 * x), "whole": np.round(6 * x)}[kind]
    x[rng.random(300) < share] = 0.5
    counted = value_counts(x, np.ones(300))
    knots = quantile_knots(*counted, count)
    extra = extra_knots(*counted, knots)
    assert (np.diff(extra) > 0).all() and set(extra) <= set(x) and not set(extra) & set(knots)
    distinct, times = np.unique(x, return_counts=True)
    if len(distinct) > len(knots):
        both = set(extra) | set(knots)
        for k in np.flatnonzero(times >= SPECIAL_SHARE * 300):
            assert {distinct[max(k - 1, 0)], distinct[min(k + 1, len(distinct) - 1)]} <= both


@given(st.lists(st.sampled_from([-2.0, 0.0, 0.5, 7.0, np.nan]), min_size=1))
def test_a_tally_of_equal_weights_is_a_count(values):
    x = np.array(values)
    distinct, mass = value_counts(x, np.ones(len(x)))
    twice, double = value_counts(x, np.full(len(x), 2.0))
    assert list(distinct) == list(twice) == sorted(set(x[~np.isnan(x)]))
    assert list(2.0 * mass) == list(double) == [2.0 * (x == value).sum() for value in distinct]


def test_a_heavy_tail_is_cut_at_medians_and_a_light_one_is_not():
    rng = np.random.default_rng(0)
    heavy, light = np.exp(3 * rng.normal(size=4000)), rng.random(4000)
    counted, even = value_counts(heavy, np.ones(4000)), value_counts(light, np.ones(4000))
    knots = quantile_knots(*counted, 8)
    extra = extra_knots(*counted, knots)
    beyond = heavy[heavy > knots[-2]]
    assert extra[-1] > extra[0] == np.sort(beyond)[(len(beyond) - 1) // 2]
    assert min((heavy >= extra[-1]).sum(), (heavy > extra[-1]).sum() + 1) >= MIN_TAIL_ROWS
    assert not len(extra_knots(*even, quantile_knots(*even, 8)))


def spiked(n, seed):
    """An age nobody told was filled in as 0.6, and is unlike those around it: no line between quantiles follows."""
    rng = np.random.default_rng(seed)
    age = np.where(rng.random(n) < 0.2, 0.6, rng.random(n))
    odds = np.where(age == 0.6, 1.5, 3.0 * (age - 0.5))
    return np.column_stack([age, rng.normal(size=n)]), rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - odds))


def test_shapes_jump_at_special_values():
    near = np.array([[0.59, 0.0], [0.6, 0.0], [0.61, 0.0]])
    model, plain = (Scorecard(interactions=0, n_knots=n).fit(*spiked(20_000, 0)) for n in ("auto", 8))
    below, at, above = model.contributions(near)[:, 0]
    assert min(at - below, at - above) > 2.5 * abs(above - below)
    X, y = spiked(20_000, 1)
    assert roc_auc(y, model.decision_function(X)) > roc_auc(y, plain.decision_function(X)) + 0.005


def test_a_number_of_knots_is_as_many():
    X, y = spiked(3_000, 0)
    model = Scorecard(interactions=0, n_knots=6).fit(X, y)
    assert max(len(shape.knots) for shape in model.shapes_) <= 7


def noisy(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 40))
    score = np.abs(X[:, 0]) + X[:, 1] + 0.7 * rng.normal(size=n)
    return X, score > np.quantile(score, 0.6)


def quadratic(focus, alpha=0.1, smooth=0.3):
    """Features, terms, S and δ of a table, and penalties."""
    X, y = noisy(400)
    kept = [ColumnSpec(f"x{k}", "number", None) for k in range(6)]
    features = learn_features(kept, X[:, :6], None, 6, {}, np.random.default_rng(0))
    basis = make_basis(features, [(0, 1)])
    Z = basis_rows(basis, X[:, :6]).toarray()
    S = np.cov(Z[y].T, bias=True) + np.cov(Z[~y].T, bias=True)
    return basis, penalty_terms(basis), S, Z[y].mean(0) - Z[~y].mean(0), Penalty(alpha, smooth, focus)


@pytest.mark.parametrize("focus", [0.5, 1.0])
def test_columns_that_add_little_are_dearer_and_the_rest_is_a_closed_form(focus):
    basis, terms, S, delta, penalty = quadratic(focus)
    first = np.linalg.solve(S + 0.15 * terms.P + 0.05 * np.eye(len(delta)), delta)
    column = np.repeat(np.arange(7), np.diff(terms.starts))  # six columns and a pair
    v = np.array([first[column == k] @ S[np.ix_(column == k, column == k)] @ first[column == k] for k in range(7)])
    cost = ((v.mean() / (v + MIN_VARIANCE_SHARE * v.mean())) ** focus)[column]
    expected = np.linalg.solve(S + np.diag(cost) @ (0.15 * terms.P + 0.05 * np.eye(len(delta))), delta)
    np.testing.assert_allclose(direction(S, delta, terms, penalty), expected, rtol=1e-9, atol=1e-12)
    assert cost[column == 0].max() < 1.0 < cost[column == 5].min()
    assert terms.starts[-2] == basis.pair_first[0]

    w = minimiser(S, delta, terms, penalty)
    slope = 2.0 * (S @ w - (1.0 - w @ delta) * delta) + np.diag(cost) @ (0.3 * terms.P + 0.1 * np.eye(len(delta))) @ w
    assert np.abs(slope).max() < 1e-10


def test_directions_are_those_of_each_penalty_and_a_singular_matrix_has_its_least_one():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 6))
    S, delta = np.cov(Z.T), rng.normal(size=6)
    terms = PenaltyTerms(sparse.coo_array(np.diag([0.0, 1.0, 2.0, 0.0, 1.0, 3.0])), np.array([0, 2, 5, 6]))
    grid = [Penalty(alpha, smooth, focus) for alpha in (0.1, 1.0) for smooth in (0.0, 2.0) for focus in (0.0, 1.0)]
    found = directions(S, delta, terms, grid)
    for u, penalty in zip(found.T, grid, strict=True):
        np.testing.assert_allclose(penalised(S, delta, terms, penalty) @ u, delta, atol=1e-12)
        np.testing.assert_array_equal(u, direction(S, delta, terms, penalty))
    flat = np.diag([1.0, 4.0, 1.0, -1e-17, 2.0, 1.0])
    flat[0, 1] = flat[1, 0] = 2.0  # twice the same column, and one of nothing
    delta[[0, 1, 3]] = 1.0, 2.0, 0.0
    np.testing.assert_allclose(flat @ direction(flat, delta, terms, Penalty(0.0, 0.0)), delta, atol=1e-12)


@pytest.mark.parametrize("alpha", [1.0, 1e-4, 1e-13])
def test_factors_of_half_the_digits_lead_to_the_same_directions(monkeypatch, alpha):
    _, terms, S, delta, _ = quadratic(0.0)  # hats of a column add up to one: S is singular
    grid = [Penalty(scale * alpha, smooth, focus) for scale in (1.0, 10.0) for smooth in (0.0, 0.3) for focus in (0, 1)]
    exact, whole = directions(S, delta, terms, grid), []
    monkeypatch.setattr(_sizes, "REFINED_COEFFICIENTS", 1)
    solved = _solve._factored
    monkeypatch.setattr(_solve, "_factored", lambda *args: whole.append(1) or solved(*args))
    firsts = {}
    found = directions(S, delta, terms, grid, firsts)
    # in units of the scores' spread; where nothing but rounding holds S up, it is factored with all digits
    error = np.sqrt(np.einsum("ij,ij->j", found - exact, S @ (found - exact)))
    assert (error <= 1e-4 * np.sqrt(np.einsum("ij,ij->j", exact, S @ exact))).all()
    assert (len(whole) > 0) == (alpha == 1e-13)
    assert set(firsts) == {penalty._replace(focus=0.0) for penalty in grid}
    before = len(whole)
    directions(S, delta, terms, [penalty for penalty in grid if not penalty.focus], firsts)
    assert len(whole) == before  # what is known is not solved for again


def test_focus_keeps_columns_of_noise_small(monkeypatch):

    X, y = noisy()
    focused = Scorecard(interactions=0).fit(X, y)
    monkeypatch.setattr(_selection, "FOCUSES", ())
    plain = Scorecard(interactions=0).fit(X, y)
    assert focused.focus_ > 0.0 == plain.focus_
    importance = [np.array([shape.importance for shape in model.shapes_]) for model in (focused, plain)]
    share = [each[2:].sum() / each.sum() for each in importance]
    assert share[0] < 0.6 * share[1]
    X_test, y_test = noisy(20_000, 1)
    assert focused.score(X_test, y_test) > plain.score(X_test, y_test)


def test_few_values_have_a_step_each_and_bins_agree_with_rows_everywhere():
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X, y = spiked(3_000, 0)
    X[:, 1] = rng.integers(0, 5, 3_000) + y * (rng.random(3_000) < 0.3)
    model = Scorecard(interactions=0).fit(X, y)
    assert model.shapes_[1].steps.tolist() == [True] * 5 + [False]
    assert model.shapes_[0].steps.sum() == 2
    x = np.linspace(-2.0, 8.0, 4001) + 1e-7
    rows = np.column_stack([x, x])
    table, points = model.points(scale=20, max_bins=None), model.contributions(rows)
    assert (table["column"] == "x1").sum() <= 6 + 1  # a line a value, and one for missing
    base = model.points(scale=20, whole=False, max_bins=None)
    per_score = (base["points"].iloc[1] - base["points"].iloc[2]) / np.subtract(*model.shapes_[0].values[:2])
    for j in range(2):
        lines = table[(table["column"] == f"x{j}") & (table["bin"] != "missing")]
        at = np.searchsorted(lines["high"].to_numpy(), x, side="right")
        np.testing.assert_array_equal(lines["points"].to_numpy()[at], np.floor(per_score * points[:, j] + 0.5))


def test_jumps_do_not_go_on_beyond_the_values_seen():
    rng = np.random.default_rng(0)
    income = np.where(rng.random(4_000) < 0.3, 0.0, 1.0 + rng.random(4_000))
    y = rng.random(4_000) < np.where(income == 0.0, 0.7, 0.2)
    model = Scorecard(interactions=0).fit(income[:, None], y)
    below, at = model.contributions(np.array([[-1.0], [0.0]]))[:, 0]
    assert below == at


def test_an_empty_frame_gets_a_sentence():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01"]), "city": ["Rome"]})
    with pytest.raises(ValueError, match="0 sample"):
        Scorecard().fit(frame.head(0), [])
