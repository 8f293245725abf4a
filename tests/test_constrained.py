"""ConstrainedAUC: optimality conditions, another optimiser, sums of moments, and the same model wherever rows are."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import LinearConstraint, minimize
from sklearn.exceptions import ConvergenceWarning

import auclid
from auclid import ConstrainedAUC, LeastSquaresAUC, MinimaxAUC, load, save
from auclid.metrics import auc_by_group
from auclid.square.constrained import constraint_rows, solve_constrained
from auclid.stats.moments import Moments


def grouped(n=900, d=5, n_groups=3, seed=0):
    """Rows whose score without constraints favours one group: a column shifts with the group."""
    rng = np.random.default_rng(seed)
    y, group = (rng.random(n) < 0.35).astype(int), rng.integers(n_groups, size=n)
    X = rng.normal(size=(n, d)) + y[:, None] * np.array([1.0, 0.6, 0.0, 0.3, 0.0])[:d]
    X[:, 1] += 0.8 * group * (1 + y)
    return X, y, group


def surrogate_gaps(X, y, group, w):
    """xAUC gaps of mean margins, pair of groups by pair of groups, from the rows themselves."""
    mean = {(g, c): (X[(group == g) & (y == c)] @ w).mean() for g in np.unique(group) for c in (0, 1)}
    size = len(np.unique(group))
    return np.array([
        (mean[a, 1] - mean[b, 0]) - (mean[b, 1] - mean[a, 0]) for a in range(size) for b in range(a + 1, size)
    ])  # fmt: skip


def objective(X, y, w, alpha):
    z = X[y == 1][:, None] - X[y == 0][None]
    return np.square(1.0 - z @ w).mean() + 0.5 * alpha * w @ w


@pytest.mark.parametrize("max_gap", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("alpha", [1e-4, 0.3])
def test_it_is_the_constrained_minimum(max_gap, alpha):
    X, y, group = grouped(n=300)
    model = ConstrainedAUC(max_gap, alpha).fit(X, y, group)
    w = model.coef_[0]
    gaps = surrogate_gaps(X, y, group, w)
    np.testing.assert_allclose(model.gaps_, gaps, atol=1e-10)
    assert np.abs(gaps).max() <= max_gap + 1e-9
    assert model.residual_ < 1e-8
    C = np.array([surrogate_gaps(X, y, group, unit) for unit in np.eye(X.shape[1])]).T
    if max_gap:
        bounds, options = [LinearConstraint(C, -max_gap, max_gap)], {"maxiter": 500, "ftol": 1e-14}
        peer = minimize(
            lambda v: objective(X, y, v, alpha), np.zeros_like(w), method="SLSQP", constraints=bounds, options=options
        ).x
    else:  # redundant equations, which SLSQP does not take: the weights that meet them are a subspace
        basis = null_space(C)
        peer = basis @ minimize(lambda v: objective(X, y, basis @ v, alpha), np.zeros(basis.shape[1]), tol=1e-12).x
    assert objective(X, y, w, alpha) <= objective(X, y, peer, alpha) + 1e-7
    np.testing.assert_allclose(w, peer, atol=2e-4)


def test_without_a_bound_or_groups_it_is_least_squares():
    X, y, group = grouped()
    plain = LeastSquaresAUC().fit(X, y)
    for model in (ConstrainedAUC(np.inf).fit(X, y, group), ConstrainedAUC(0.01).fit(X, y)):
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-10)
        np.testing.assert_allclose(model.intercept_, plain.intercept_, rtol=1e-10)
        assert not model.multipliers_.any()


@pytest.mark.parametrize("between", ["xauc", "auc", "both"])
def test_each_kind_of_gap_is_bounded(between):
    X, y, group = grouped()
    model = ConstrainedAUC(0.01, between=between).fit(X, y, group)
    assert len(model.gaps_) == len(model.pairs_) == (6 if between == "both" else 3)
    assert np.abs(model.gaps_).max() <= 0.01 + 1e-9
    assert model.residual_ < 1e-8


def worst_gap(y, scores, group, between, weight=None):
    """The largest measured gap across groups, within them, or of either."""
    table = auc_by_group(y, scores, group, sample_weight=weight).table
    across, within = np.abs(table - table.T).max(), np.ptp(np.diag(table))
    return {"xauc": across, "auc": within, "both": max(across, within)}[between]


@pytest.mark.parametrize("between", ["xauc", "auc", "both"])
@pytest.mark.parametrize(("bound", "n_groups"), [(0.0, 2), (0.03, 2), (0.03, 3), (0.2, 3)])
def test_the_measured_gap_is_bounded_on_the_training_rows(between, bound, n_groups):
    X, y, group = grouped(n=3000, n_groups=n_groups)
    free = worst_gap(y, LeastSquaresAUC().fit(X, y).decision_function(X), group, between)
    model = ConstrainedAUC(bound, between=between, gap="measured").fit(X, y, group)
    found = worst_gap(y, model.decision_function(X), group, between)
    assert np.abs(model.gaps_).max() == pytest.approx(found, abs=1e-12)
    assert found == pytest.approx(min(bound, free), abs=2e-4)
    assert model.residual_ < 1e-8


def test_bounds_that_contradict_one_another_give_the_nearest_weights():
    X, y, group = grouped(n=3000)
    with pytest.warns(ConvergenceWarning, match="the nearest exceed it by"):
        model = ConstrainedAUC(0.0, gap="measured").fit(X, y, group)
    assert worst_gap(y, model.decision_function(X), group, "xauc") < 0.03


def test_the_measured_gap_knows_weights():
    X, y, group = grouped(n=2000)
    weight = np.random.default_rng(3).integers(1, 4, size=len(y)).astype(float)
    model = ConstrainedAUC(0.02, gap="measured").fit(X, y, group, weight)
    assert worst_gap(y, model.decision_function(X), group, "xauc", weight) <= 0.02 + 2e-4


def test_the_measured_gap_needs_all_rows_at_once():
    X, y, group = grouped()
    with pytest.raises(ValueError, match="measures on all rows of one fit"):
        ConstrainedAUC(gap="measured").partial_fit(X, y, group)


def test_measured_gaps_fall_on_fresh_rows():
    X, y, group = grouped(n=4000)
    fresh, label, member = grouped(n=4000, seed=1)
    free, fair = (ConstrainedAUC(bound).fit(X, y, group) for bound in (np.inf, 0.02))
    before, after = (auc_by_group(label, m.decision_function(fresh), member).table for m in (free, fair))
    assert np.abs(after - after.T).max() < 0.25 * np.abs(before - before.T).max()
    assert fair.score(fresh, label) > 0.6


def test_the_curve_trades_auc_for_gaps():
    X, y, group = grouped(n=3000)
    model = ConstrainedAUC().fit(X, y, group)
    curve = model.gap_curve(X, y, group, n_points=6)
    assert [point.max_gap for point in curve] == sorted(point.max_gap for point in curve)
    assert all(point.surrogate_gap <= point.max_gap + 1e-9 for point in curve)
    assert curve[0].gap < 0.5 * curve[-1].gap
    assert curve[-1].auc >= curve[0].auc
    (at,) = model.gap_curve(X, y, group, max_gaps=[model.max_gap])
    assert at.auc == pytest.approx(model.score(X, y), abs=1e-12)


def test_chunks_and_merges_give_the_model_of_all_rows():
    X, y, group = grouped()
    names = np.array(["a", "b", "c"])[group]
    whole = ConstrainedAUC().fit(X, y, names)
    stream = ConstrainedAUC()
    for rows in np.array_split(np.arange(len(y)), 7):
        stream.partial_fit(X[rows], y[rows], names[rows], classes=[0, 1])
    halves = [ConstrainedAUC().partial_fit(X[at], y[at], names[at], classes=[0, 1]) for at in (group < 1, group >= 1)]
    merged = halves[0].merge(halves[1])
    for model in (stream, merged):
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
        assert model.groups_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("kind", [ConstrainedAUC, partial(ConstrainedAUC, gap="measured"), MinimaxAUC])
def test_rows_in_files_and_on_dask_give_the_same_model(kind):
    da = pytest.importorskip("dask.array")
    X, y, group = grouped()

    def blocks():
        for k in range(0, len(y), 100):
            yield X[k : k + 100], y[k : k + 100]

    whole = kind().fit(X, y, group)
    files = kind().fit(auclid.scan(blocks), groups=group)
    rows = [da.from_array(each, chunks=(130, *each.shape[1:])) for each in (X, y, group)]
    for model in (files, kind().fit(*rows)):
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-6)
        np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=1e-6)


def test_it_is_saved_and_loaded(tmp_path):
    X, y, group = grouped(n=200)
    model = ConstrainedAUC().fit(X, y, group)
    save(tmp_path / "m.auclid", model)
    again = load(tmp_path / "m.auclid")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.partial_fit(X, y, group).coef_.shape == (1, 5)


def test_a_group_without_a_class_has_no_constraint():
    X, y, group = grouped(n=300)
    group[(group == 2) & (y == 1)] = 0
    model = ConstrainedAUC().fit(X, y, group)
    assert model.pairs_.tolist() == [[0, 1]]
    assert solve_constrained([Moments.empty(3)] * 4, 0.1, 1e-4, "xauc").w.tolist() == [0.0] * 3
    assert constraint_rows([Moments.empty(3)] * 4, "both")[1].shape == (0, 3)


def test_bad_input_gets_a_sentence():
    X, y, group = grouped(n=100)
    with pytest.raises(ValueError, match=r"'groups' of ConstrainedAUC must be one a row; got 3 for 100 rows"):
        ConstrainedAUC().fit(X, y, group[:3])
    with pytest.raises(ValueError, match="'max_gap' parameter of ConstrainedAUC must be a float"):
        ConstrainedAUC(-1.0).fit(X, y, group)
    with pytest.raises(ValueError, match="'between' parameter of ConstrainedAUC must be"):
        ConstrainedAUC(between="all").fit(X, y, group)
