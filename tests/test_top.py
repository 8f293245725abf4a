"""RankSVM for the top of the list: at the optimum of the soft top, with proof, on rows of every kind."""

import os
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import reference_pairs as reference
from auclid import Kernelized, KMeansNystroem, RankSVM, Scorecard, make
from auclid.data import as_table
from auclid.metrics import partial_auc, roc_auc
from auclid.metrics._sample import Region
from auclid.pairwise._objective import Settings, objective
from auclid.solvers.partial_auc import HARD, hard_top, select, top_threshold
from auclid.stats.labelled import LabelledTable

REGIONS = {"one-way": (0.2, 0.0), "from below": (1.0, 0.6), "two-way": (0.3, 0.4), "one row": (0.05, 0.0)}


def table(n, d, seed=0, ties=False):
    """Rows, labels and weights: two overlapping clouds, in halves where rows shall tie."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    y[:2] = 0, 1
    X = rng.standard_normal((n, d)) + np.outer(y, 1.0 / np.arange(1, d + 1))
    return (np.round(2 * X) / 2 if ties else X), y, rng.random(n) + 0.1


def soft_objective(X, y, region, weight=None, softness=0.1, alpha=0.01, loss="squared_hinge"):
    """Value and gradient of the objective, by explicit pairs."""

    def at(w):
        score = X @ w
        value, share = reference.soft_top(y == 1, score, loss, softness, *region, weight)
        slope = reference.gradient(y == 1, score, loss, np.maximum(share, 0.0))
        return value + 0.5 * alpha * w @ w, X.T @ slope + alpha * w

    return at


def optimum(X, y, region, weight=None):
    """The minimiser by a general-purpose method on explicit pairs."""
    options = {"gtol": 1e-10, "maxiter": 2000}
    at = soft_objective(X, y, region, weight)
    return minimize(at, np.zeros(X.shape[1]), jac=True, method="BFGS", options=options)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("region", REGIONS)
def test_the_optimum_is_that_of_a_general_optimiser(region, weighted, ties):
    X, y, weight = table(40, 3, ties=ties)
    weight, (max_fpr, min_tpr) = weight if weighted else None, REGIONS[region]
    found = optimum(X, y, REGIONS[region], weight)
    for rows in (X, sparse.csr_array(X)):
        model = RankSVM(0.01, max_fpr=max_fpr, min_tpr=min_tpr, tol=1e-10).fit(rows, y, sample_weight=weight)
        assert model.objective_ == pytest.approx(found.fun, abs=1e-7)
        np.testing.assert_allclose(model.coef_[0], found.x, atol=1e-4)
        at = soft_objective(X, y, REGIONS[region], weight)
        assert at(model.coef_[0])[0] == pytest.approx(model.objective_, rel=1e-9)
        assert model.gap_ <= 1e-10


@pytest.mark.parametrize("region", REGIONS)
def test_the_hinge_is_at_its_optimum_with_proof(region):
    X, y, weight = table(40, 3, seed=3)
    max_fpr, min_tpr = REGIONS[region]
    model = RankSVM(0.01, loss="hinge", max_fpr=max_fpr, min_tpr=min_tpr, tol=1e-6).fit(X, y, sample_weight=weight)
    at = soft_objective(X, y, REGIONS[region], weight, loss="hinge")
    best = at(model.coef_[0])[0]
    assert best == pytest.approx(model.objective_, rel=1e-9)
    assert model.gap_ <= 1e-6
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-2, 1e-3, 1e-4):
        for _ in range(20):
            assert at(model.coef_[0] + size * rng.standard_normal(3))[0] >= (1.0 - 1e-6) * best


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("region", REGIONS)
def test_the_objective_is_convex_and_its_gradient_and_hessian_are_its_derivatives(loss, region):
    X, y, weight = table(60, 3, seed=1)
    rows = LabelledTable(as_table(X), y == 1, weight)
    problem = objective(rows, 0.01, Settings(loss, 1e-3, Region(*REGIONS[region]), 0.3))
    rng = np.random.default_rng(2)
    for _ in range(20):
        a, b = 0.6 * rng.standard_normal((2, 3))
        assert problem.at((a + b) / 2).value <= (problem.at(a).value + problem.at(b).value) / 2 + 1e-12
        point, h = problem.at(a), 1e-6
        slopes = [(problem.at(a + h * e).value - problem.at(a - h * e).value) / (2 * h) for e in np.eye(3)]
        np.testing.assert_allclose(point.gradient, slopes, atol=1e-6)
        turned = np.array([point.product(point.move(e)) for e in np.eye(3)])
        np.testing.assert_allclose(turned, turned.T, atol=1e-10)


@pytest.mark.parametrize("region", [(0.2, 0.0), (1.0, 0.6)])
def test_products_are_differences_of_gradients(region):
    X, y, weight = table(60, 3, seed=1)
    rows = LabelledTable(as_table(X), y == 1, weight)
    problem = objective(rows, 0.01, Settings("squared_hinge", 1e-3, Region(*region), 0.3))
    point, h = problem.at(np.array([0.4, -0.2, 0.3])), 1e-7
    for e in np.eye(3):
        by_gradients = (problem.at(point.w + h * e).gradient - problem.at(point.w - h * e).gradient) / (2 * h)
        np.testing.assert_allclose(point.product(point.move(e)), by_gradients, atol=1e-4)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_full_range_is_ranksvm_to_the_bit(loss):
    X, y, weight = table(300, 4)
    plain, full = RankSVM(loss=loss), RankSVM(loss=loss, max_fpr=1.0, min_tpr=0.0, softness=0.01)
    np.testing.assert_array_equal(plain.fit(X, y, weight).coef_, full.fit(X, y, weight).coef_)
    assert 0.0 <= plain.gap_ <= 1.0


@pytest.mark.parametrize("region", REGIONS)
def test_weights_are_repetitions(region):
    X, y, _ = table(60, 3)
    times = np.random.default_rng(6).integers(1, 4, 60)
    each = np.repeat(np.arange(60), times)
    max_fpr, min_tpr = REGIONS[region]
    model = RankSVM(max_fpr=max_fpr, min_tpr=min_tpr, tol=1e-9)
    repeated = clone(model).fit(X[each], y[each])
    weighted = clone(model).fit(X, y, sample_weight=times)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-3, atol=1e-5)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)


@pytest.mark.parametrize("region", [(0.1, 0.0), (0.1, 0.5)])
def test_turning_labels_and_scores_round_turns_the_region_round(region):
    X, y, _ = table(200, 3)
    max_fpr, min_tpr = region
    one = RankSVM(1e-3, max_fpr=max_fpr, min_tpr=min_tpr, tol=1e-9).fit(X, y)
    other = RankSVM(1e-3, max_fpr=1.0 - min_tpr, min_tpr=1.0 - max_fpr, tol=1e-9).fit(-X, 1 - y)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-8)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-4)


@pytest.mark.jit
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("region", [(0.05, 0.0), (1.0, 0.9), (0.1, 0.5)])
def test_many_rows_are_certified_and_rank_the_top_better(loss, region):
    rng, n = np.random.default_rng(0), 20_000
    y, hard = (rng.random(n) < 0.5).astype(int), rng.random(n) < 0.1
    X = rng.standard_normal((n, 3))
    X[:, 0] += np.where(y == 1, 3.0, np.where(hard, 3.0, 0.0))  # most negatives lie here below the positives,
    X[:, 1] += np.where(y == 1, 2.0, np.where(hard, 0.0, 4.0))  # the others there: the top of the list needs both
    if region[1] == 0.9:
        X, y = -X, 1 - y
    max_fpr, min_tpr = region
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        top = RankSVM(loss=loss, max_fpr=max_fpr, min_tpr=min_tpr).fit(X, y)
    assert top.gap_ <= 1e-3
    area = lambda model: partial_auc(y, model.decision_function(X), max_fpr=max_fpr, min_tpr=min_tpr)  # noqa: E731
    assert area(top) > area(RankSVM(loss=loss).fit(X, y)) + 1e-3


@pytest.mark.parametrize("softness", [1e-6, 1e-3, 100.0])
def test_any_softness_is_solved_and_none_vanishes(softness):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((300, 4)), np.arange(300) % 3 == 0  # nothing to learn: the hard cut is best at w = 0
    model = RankSVM(max_fpr=0.1, softness=softness).fit(X, y)
    assert model.gap_ <= 1e-3
    assert np.std(X @ model.coef_[0]) > 1e-4


def test_much_softness_is_all_pairs():
    X, y, _ = table(300, 4)
    soft, plain = (RankSVM(1e-3, tol=1e-9, **how).fit(X, y) for how in ({"max_fpr": 0.1, "softness": 1e6}, {}))
    np.testing.assert_allclose(soft.coef_, plain.coef_, rtol=1e-3, atol=1e-5)


def test_the_very_top_is_one_row():
    X, y, _ = table(100, 3)
    top = make("TopPush").fit(X, y)
    np.testing.assert_array_equal(top.coef_, RankSVM(max_fpr=1.0 / (y == 0).sum()).fit(X, y).coef_)
    assert make("svm pauc").loss == "hinge" and make("SVMpAUC").max_fpr == 0.1


def test_alpha_and_softness_are_chosen_by_partial_auc():
    X, y, weight = table(300, 4)
    model = RankSVM("auto", max_fpr=0.2, softness="auto").fit(X, y, sample_weight=weight)
    given = RankSVM(model.alpha_, max_fpr=0.2, softness=model.softness_).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, given.coef_)
    rare = np.r_[np.flatnonzero(y)[:4], np.flatnonzero(y == 0)]
    few = RankSVM("auto", max_fpr=0.2, softness="auto").fit(X[rare], y[rare])
    assert (few.alpha_, few.softness_) == (1e-3, RankSVM().softness)


def test_a_map_beneath_inherits_the_region():
    X, y, _ = table(300, 2)
    y = (X**2).sum(axis=1) > 2.0
    model = Kernelized(KMeansNystroem(20, random_state=0), RankSVM(max_fpr=0.1)).fit(X, y)
    assert model.ranker_.gap_ <= 1e-3
    assert partial_auc(y, model.decision_function(X), max_fpr=0.1) > 0.9


def test_a_scorecard_inherits_the_region():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(1500, 3))
    y = (np.abs(X[:, 0]) + 0.3 * X[:, 1] + 0.4 * rng.normal(size=1500) > 1.7).astype(int)
    whole, top = (
        Scorecard(RankSVM(1e-3, max_fpr=rate), n_knots=32, interactions=0).fit(X, y).decision_function(X)
        for rate in (1.0, 0.05)
    )
    areas = [partial_auc(y, score, max_fpr=0.05) for score in (whole, top)]
    assert areas[1] > areas[0] + 0.02
    assert roc_auc(y, whole) > roc_auc(y, top)  # each is better at its own aim


@pytest.mark.parametrize("columns", [3, 1200])
def test_rows_of_every_ugly_kind_give_finite_weights(columns):
    rng = np.random.default_rng(5)
    X = sparse.random_array((200, columns), density=0.3, rng=rng, format="csr")
    y = np.arange(200) % 2
    model = RankSVM(max_fpr=0.1, min_tpr=0.2).fit(X, y)
    assert np.all(np.isfinite(model.coef_)) and model.gap_ <= 1e-3
    flat = RankSVM(max_fpr=0.5).fit(np.ones((6, 2)), [0, 1, 0, 1, 1, 1])
    assert not flat.coef_.any()
    X, y, _ = table(100, 3)
    X[:, 0] *= 1e8
    assert np.all(np.isfinite(RankSVM(max_fpr=0.1).fit(X, y).coef_))


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 5)), min_size=1, max_size=30),
    st.floats(0.01, 1.0),
    st.sampled_from([1e-3, 0.1, 10.0]),
)
def test_the_soft_cut_holds_the_weight_it_should(rows, share, softness):
    loss, own = np.array(rows, dtype=float).T
    mass = share * own.sum()
    tau = top_threshold(loss / 4, own, mass, softness)
    assert own @ np.clip((loss / 4 - tau) / softness, 0.0, 1.0) == pytest.approx(mass, rel=1e-9)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 5)), min_size=1, max_size=20), st.floats(0.01, 1.0))
def test_the_hard_cut_holds_the_weight_it_should_and_no_lower_row(rows, share):
    score, own = np.array(rows, dtype=float).T
    inside = hard_top(score, own, share * own.sum())
    assert own @ inside == pytest.approx(share * own.sum(), rel=1e-9)
    assert np.all(np.diff(inside[np.argsort(score, kind="stable")]) >= -1e-12)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5)), min_size=1, max_size=30), st.floats(0.01, 1.0))
def test_the_cut_is_one_on_both_sides_of_the_softness_that_counts_as_none(rows, share):
    loss, own = np.array(rows, dtype=float).T
    soft, hard = (select(loss, own, share * own.sum(), factor * HARD) for factor in (10.0, 0.1))
    np.testing.assert_allclose(soft.inside, hard.inside, atol=1e-3)
    assert soft.loss == pytest.approx(hard.loss, abs=1e-3)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"max_fpr": 0.0}, "'max_fpr' parameter of RankSVM must be"),
        ({"max_fpr": 1.5}, "'max_fpr' parameter of RankSVM must be"),
        ({"max_fpr": "first"}, "'max_fpr' parameter of RankSVM must be"),
        ({"min_tpr": 1.0}, "'min_tpr' parameter of RankSVM must be"),
        ({"softness": 0.0}, "'softness' parameter of RankSVM must be"),
        ({"max_fpr": 0.01}, r"at least one of the 60 negative rows; it leaves 0\.6 of a row\. Raise it to 0\.0167"),
        ({"min_tpr": 0.99}, r"at least one of the 40 positive rows; it leaves 0\.4 of a row\. Lower it to 0\.975"),
    ],
)
def test_regions_that_leave_no_row_are_told_in_one_sentence(params, said):
    X = np.random.default_rng(0).standard_normal((100, 2))
    with pytest.raises(ValueError, match=said):
        RankSVM(**params).fit(X, np.arange(100) < 40)


@pytest.mark.parametrize("params", [{"max_fpr": 0.5}, {"max_fpr": 0.5, "min_tpr": 0.3}])
def test_scikit_learn_checks(params):
    check_estimator(RankSVM(**params))


@pytest.mark.long
@pytest.mark.skipif("AUCLID_DATA" not in os.environ, reason="needs the benchmark tables")
@pytest.mark.parametrize("name", ["covtype", "ijcnn1", "a9a", "w8a"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_real_tables_are_certified(name, loss, monkeypatch):
    monkeypatch.syspath_prepend(os.path.join(os.path.dirname(__file__), "..", "benchmarks"))
    from tables import split

    X, y, _, _ = split(name)
    for region in ({"max_fpr": 0.1}, {"max_fpr": 0.1, "min_tpr": 0.5}):
        assert RankSVM(loss=loss, **region).fit(X, y).gap_ <= 1e-3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("losses", [[1e300], [1e16], [1.5e20, 3e20, 3e20]])
def test_losses_that_drown_the_softness_leave_a_top(losses):
    """The threshold may round up to the greatest loss, and then nobody would be inside."""
    loss = np.array(losses)
    found = select(loss, np.ones(len(loss)), 0.5, 0.1)
    assert found.loss == pytest.approx(loss.max()) and np.isfinite(found.penalty)
    assert (found.inside[loss == loss.max()] > 0.0).all()
