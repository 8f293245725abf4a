"""RankSVM is at the optimum of its own objective, whatever the rows are made of."""

import os
import tracemalloc
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import reference_pairs as reference
from auclid import LeastSquaresAUC, LeastSquaresAUCCV, RankSVM, _sizes, losses, make, pairs
from auclid.data import Table, as_table
from auclid.solvers import newton
from auclid.solvers.all_pairs import LinearSpace, SmoothHinge, SquaredHinges, hessian
from auclid.stats.pair_sums import Pairs

OBJECTIVES = {"squared_hinge": SquaredHinges, "hinge": SmoothHinge}


def table(n, d, seed=0, share=0.3, noise=1.0):
    """Rows, labels and weights: two overlapping clouds."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    y[:2] = 0, 1
    X = rng.standard_normal((n, d)) * noise + np.outer(y, 1.0 / np.arange(1, d + 1))
    return X, y, rng.random(n) + 0.1


def optimum(X, y, alpha, weight=None):
    """The minimiser of the squared hinge over explicit pairs, by a general-purpose method."""
    Z, share = reference.differences(X, y == 1, weight)

    def objective(w):
        rest = np.maximum(1.0 - Z @ w, 0.0)
        return share @ rest**2 + 0.5 * alpha * w @ w, -2.0 * Z.T @ (share * rest) + alpha * w

    options = {"gtol": 1e-11, "maxiter": 10_000}
    found = minimize(objective, np.zeros(X.shape[1]), jac=True, method="BFGS", options=options)
    return found.x, found.fun


class Wide(NamedTuple):
    """l(m) = log(1 + exp(-m / width)) width, by value, slope and curvature alone."""

    width: float = 2.0


@losses.value.implement(Wide)
def _(loss, m):
    return loss.width * (np.log1p(np.exp(-abs(m) / loss.width)) + max(0.0, -m / loss.width))


@losses.slope.implement(Wide)
def _(loss, m):
    return -1.0 / (1.0 + np.exp(m / loss.width))


@losses.curvature.implement(Wide)
def _(loss, m):
    e = np.exp(-abs(m) / loss.width)
    return e / (1.0 + e) ** 2 / loss.width


class Bent(NamedTuple):
    """Not convex."""


@losses.hinges.implement(Bent)
def _(loss):
    return ((1.0, 0.0), (-1.0, 1.0))


class Nothing(NamedTuple):
    """A struct without a body of anything."""


@pytest.mark.parametrize("loss", ["logistic", Wide(2.0), Wide(2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_smooth_loss_is_at_its_optimum(loss, weighted):
    X, y, weight = table(80, 3)
    weight, width = weight if weighted else None, 1.0 if loss == "logistic" else 2.0
    Z, share = reference.differences(X, y == 1, weight)

    def objective(w):
        m = Z @ w / width
        slope = -share * np.exp(-np.logaddexp(0.0, m))
        return width * share @ np.logaddexp(0.0, -m) + 0.005 * w @ w, Z.T @ slope + 0.01 * w

    found = minimize(objective, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-11})
    model = RankSVM(0.01, loss=loss, tol=1e-8).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_[0], found.x, rtol=1e-5, atol=1e-7)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-9)
    assert model.gap_ <= 1e-9


@pytest.mark.jit
def test_many_rows_of_the_logistic_loss_reach_the_tolerance():
    X, y, weight = table(20_000, 5, share=0.1)
    model = RankSVM(1e-3, loss="logistic").fit(X, y, sample_weight=weight)
    w = model.coef_[0]
    at = lambda w: X.T @ pairs.gradient(y, X @ w, loss="logistic", sample_weight=weight) + 1e-3 * w  # noqa: E731
    assert np.linalg.norm(at(w)) <= 1.001e-3 * np.linalg.norm(at(np.zeros(5)))
    assert model.score(X, y) == pytest.approx(RankSVM().fit(X, y).score(X, y), abs=0.01)


def test_a_loss_says_what_it_lacks():
    X, y, _ = table(40, 3)
    with pytest.raises(TypeError, match=r"RankSVM must have value, slope and curvature implemented\. Got Nothing"):
        RankSVM(loss=Nothing()).fit(X, y)
    with pytest.raises(ValueError, match="RankSVM must be convex; the hinges of Bent bend downwards"):
        RankSVM(loss=Bent()).fit(X, y)
    with pytest.raises(ValueError, match=r"'hinge', 'squared_hinge' or a sum of squared hinges.*Got 'logistic'"):
        RankSVM(loss="logistic", max_fpr=0.5).fit(X, y)


def steepness(model, X, y, weight=None):
    """|gradient| at the model's weights over |gradient| at 0, by the primitive that test_pairs proves."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    at = lambda w: X.T @ pairs.gradient(y, X @ w, sample_weight=weight) + model.alpha * w  # noqa: E731
    w = model.coef_[0]
    return np.linalg.norm(at(w)) / np.linalg.norm(at(np.zeros_like(w)))


FORMS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "F order": np.asfortranarray,
    "CSR": sparse.csr_array,
    "CSR float32, int64": lambda X: _long(sparse.csr_matrix(X.astype(np.float32))),
}


def _long(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("share", [0.2, 0.8])
def test_the_optimum_is_that_of_a_general_optimiser(form, weighted, share):
    X, y, weight = table(60, 4, share=share)
    X, weight = X.astype(np.float32).astype(float), weight if weighted else None
    w, value = optimum(X, y, 0.01, weight)
    model = RankSVM(0.01, tol=1e-9).fit(FORMS[form](X), y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-6, atol=1e-8)
    assert model.objective_ == pytest.approx(value, rel=1e-10)


@pytest.mark.jit
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["float32", "CSR"])
@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 10.0])
def test_many_rows_reach_the_tolerance_by_a_guide(form, weighted, alpha):
    X, y, weight = table(20_000, 5, share=0.1)
    X[:, 4] = 100.0 * (np.arange(len(X)) % 2000 == 0)
    weight = weight if weighted else None
    model = RankSVM(alpha).fit(FORMS[form](X), y, sample_weight=weight)
    assert steepness(model, X, y, weight) <= 1.001e-3
    assert model.n_iter_ <= 4


@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_more_columns_than_a_hessian_is_formed_for(tol):
    rng = np.random.default_rng(5)
    X = sparse.random_array((300, _sizes.MAX_HESSIAN_COLUMNS + 100), density=0.02, rng=rng, format="csr")
    y = X @ np.repeat([1.0, -1.0, 0.0], [100, 100, _sizes.MAX_HESSIAN_COLUMNS - 100]) > 0.0
    assert steepness(RankSVM(1e-3, tol=tol).fit(X, y), X, y) <= 1.001 * tol


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("form", ["float64", "CSR"])
@pytest.mark.parametrize("n", [25, 50])
def test_the_hinge_is_within_a_thousandth_of_its_optimum(alpha, form, n):
    X, y, _ = table(n, 3, seed=n)
    Z, share = reference.differences(X, y == 1)
    sides = np.where(np.arange(len(Z)) % 2 == 0, 1.0, -1.0)
    general = LinearSVC(loss="hinge", C=share[0] / alpha, fit_intercept=False, tol=1e-10, max_iter=10**7)
    w = general.set_params(random_state=0).fit(Z * sides[:, None], sides).coef_[0]
    objective = lambda w: share @ np.maximum(1.0 - Z @ w, 0.0) + 0.5 * alpha * w @ w  # noqa: E731
    model = RankSVM(alpha, loss="hinge").fit(FORMS[form](X), y)
    assert objective(model.coef_[0]) <= 1.001 * objective(w)
    assert model.objective_ == pytest.approx(objective(model.coef_[0]), rel=1e-10)


def test_the_hinge_comes_as_near_as_one_asks():
    X, y, weight = table(400, 4)
    tolerances = (1e-2, 1e-3, 1e-5, 1e-6)
    value = {tol: RankSVM(loss="hinge", tol=tol).fit(X, y, weight).objective_ for tol in tolerances}
    assert all(value[tol] <= (1 + tol) * value[1e-6] for tol in value)


@pytest.mark.jit
def test_many_rows_of_the_hinge_are_certified():
    X, y, _ = table(20_000, 5, share=0.1)
    w = RankSVM(1e-3, loss="hinge").fit(X, y).coef_[0]
    better = RankSVM(1e-3, loss="hinge", tol=1e-5).fit(X, y)
    value = pairs.value(y, X @ w, loss="hinge") + 0.5e-3 * w @ w
    assert better.objective_ <= value <= 1.001 * better.objective_


@pytest.mark.parametrize("loss", OBJECTIVES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_the_formed_hessian_is_that_of_the_products(loss, weighted, share):
    X, y, weight = table(200, 6, share=share)
    paired = Pairs(y == 1, weight if weighted else None)
    point = OBJECTIVES[loss](LinearSpace(as_table(X)), paired, 0.1, 1e-3).at(np.full(6, 0.3))
    by_products = np.array([point.product(point.move(e)) for e in np.eye(6)])
    np.testing.assert_allclose(hessian(point), by_products, rtol=1e-10, atol=1e-14)


def test_the_first_step_is_the_square_loss_solution():
    X, y, _ = table(300, 5)
    with pytest.warns(ConvergenceWarning, match=r"RankSVM stopped after 1 Newton steps .* raise max_iter"):
        first = RankSVM(0.1, max_iter=1, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(first.coef_, LeastSquaresAUC(0.1).fit(X, y).coef_, rtol=1e-9)


def test_weights_are_repetitions_and_zero_weights_are_absence():
    X, y, _ = table(80, 3)
    times = np.random.default_rng(6).integers(0, 4, 80)
    each = np.repeat(np.arange(80), times)
    repeated = RankSVM(1e-3, tol=1e-10).fit(X[each], y[each])
    weighted = RankSVM(1e-3, tol=1e-10).fit(X, y, sample_weight=times)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-10)


@pytest.mark.parametrize("loss", OBJECTIVES)
def test_rows_of_every_ugly_kind_give_finite_weights(loss):
    X, y, _ = table(200, 6)
    X[:, 0] *= 1e8
    X[:, 1] *= 1e-8
    X[:, 2] = 5.0
    X[:, 4] = X[:, 3]
    X[:, 5] += 1e6
    X[100:] = X[:100]
    model = RankSVM(loss=loss, tol=1e-2).fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    assert model.objective_ < 1.0


@pytest.mark.parametrize("loss", OBJECTIVES)
@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e6, 1e30])
def test_tiny_and_huge_rows_rank_all_the_same(loss, scale):
    X, y, _ = table(200, 3)
    model = RankSVM(loss=loss).fit(scale * X, y)
    assert model.score(scale * X, y) > 0.7


@pytest.mark.filterwarnings("ignore:overflow")
def test_rows_too_large_for_any_arithmetic_are_told():
    X, y, _ = table(50, 3)
    with pytest.raises(ValueError, match="Scale the columns of X"):
        RankSVM().fit(1e200 * X, y)


@pytest.mark.parametrize("loss", OBJECTIVES)
def test_rows_without_anything_to_learn_give_zero(loss):
    model = RankSVM(loss=loss).fit(np.ones((6, 2)), [0, 1, 0, 1, 1, 1])
    assert not model.coef_.any()
    assert model.objective_ == pytest.approx(1.0)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("loss", OBJECTIVES)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_one_positive_far_from_the_rest(loss, scale):
    X = scale * np.arange(30.0)[:, None]
    model = RankSVM(1e-3, loss=loss).fit(X, np.arange(30) == 29)
    assert model.score(X, np.arange(30) == 29) == 1.0


def test_every_point_on_the_way_is_lower_than_the_last():
    X, y, _ = table(500, 8, noise=3.0)
    X[:, 0] = np.exp(X[:, 0])
    states = [newton.init(OBJECTIVES["squared_hinge"](LinearSpace(as_table(X)), Pairs(y == 1), 1e-6, 1e-10))]
    while not states[-1].finished:
        states.append(newton.update(states[-1]))
    assert states[-1].converged and len(states) > 3
    assert np.all(np.diff([state.point.value for state in states]) <= 1e-13)


class Plain(Table):
    """A table that knows nothing but its rows."""

    def __init__(self, X):
        self.X, self.shape = X, X.shape

    @property
    def dtype(self):
        return self.X.dtype

    def part(self, index):
        return self.X[index]

    def sweep(self, *orders, centre=None):
        raise AssertionError("all pairs at once need no steps from row to row")


def test_the_solver_needs_nothing_of_a_table_but_its_rows():
    X, y, _ = table(9000, 3)
    model = RankSVM(tol=1e-8).fit(X, y)
    plain = RankSVM(tol=1e-8).fit(Plain(X), y)
    np.testing.assert_allclose(plain.coef_, model.coef_, rtol=1e-5)
    assert plain.objective_ == pytest.approx(model.objective_, rel=1e-9)


def test_memory_stays_far_below_a_dense_copy_of_sparse_rows():
    rng = np.random.default_rng(7)
    X = sparse.random_array((2000, 5000), density=0.002, rng=rng, format="csr")
    y = rng.integers(0, 2, 2000)
    RankSVM(tol=0.1).fit(X[:100], y[:100])
    tracemalloc.start()
    RankSVM(tol=0.1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * 8 * 2000 * 5000


@pytest.mark.jit
def test_memory_of_dense_rows_is_below_one_copy():
    X, y, _ = table(100_000, 30)
    X = X.astype(np.float32)
    RankSVM().fit(X[:100], y[:100])
    tracemalloc.start()
    RankSVM().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * X.size + 200 * len(y)


def test_the_same_rows_give_the_same_bits():
    X, y, _ = table(20_000, 4)
    np.testing.assert_array_equal(RankSVM().fit(X, y).coef_, RankSVM().fit(X, y).coef_)


@pytest.mark.parametrize(("name", "bad"), [("alpha", 0), ("alpha", -1.0), ("loss", 0), ("tol", 0)])
def test_parameters_out_of_range_are_refused(name, bad):
    with pytest.raises(ValueError, match=f"'{name}' parameter of RankSVM must be"):
        RankSVM(**{name: bad}).fit(*table(10, 2)[:2])


def test_the_papers_names():
    assert make("bam").loss == make("PRSVM+").loss == make("RankSVM").loss == "squared_hinge"
    assert make("B-SVM-OR").loss == "hinge"


def test_no_warning_where_the_goal_is_reached():
    X, y, _ = table(300, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankSVM().fit(X, y)
        RankSVM(loss="hinge").fit(X, y)


@pytest.mark.long
@pytest.mark.skipif("AUCLID_DATA" not in os.environ, reason="needs the benchmark tables")
@pytest.mark.parametrize("name", ["a9a", "w8a", "ijcnn1", "letter", "magic04", "connect-4"])
def test_the_default_alpha_ranks_as_well_as_logistic_regression(name, monkeypatch):
    monkeypatch.syspath_prepend(os.path.join(os.path.dirname(__file__), "..", "benchmarks"))
    from quality_pairwise import auc

    assert auc("RankSVM", name) >= auc("LogisticRegression", name) - 0.005


def dealt_by_content(X, y):
    """Which rows are in each of five folds: every fifth of a class, by a random projection."""
    fold, keys = np.empty(len(y), dtype=int), X @ np.random.default_rng(0).standard_normal(X.shape[1])
    for c in (0, 1):
        rows = np.flatnonzero(y == c)
        fold[rows[np.argsort(keys[rows])]] = np.arange(len(rows)) % 5
    return [fold == k for k in range(5)]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_alpha_is_chosen_by_the_square_loss(kind):
    X, y, weight = table(200, 4)
    model = RankSVM("auto").fit(kind(X), y, sample_weight=weight)
    everything = np.arange(200)
    folds = [np.flatnonzero(part) for part in dealt_by_content(X, y)]
    splits = [(np.setdiff1d(everything, test), test) for test in folds]
    grid = LeastSquaresAUCCV(cv=splits).fit(kind(X), y, sample_weight=weight).alphas_
    coarse = LeastSquaresAUCCV(np.geomspace(grid[0], grid[-1], 17), cv=splits).fit(kind(X), y, sample_weight=weight)
    assert model.alpha_ == pytest.approx(0.3 * coarse.alpha_, rel=1e-12)
    given = RankSVM(model.alpha_).fit(kind(X), y, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, given.coef_)
    assert given.alpha_ == model.alpha_ and model.alpha == "auto"


def test_alpha_is_1e_3_where_a_class_has_fewer_rows_than_folds():
    X, y, _ = table(40, 3)
    rare = np.r_[np.flatnonzero(y)[:4], np.flatnonzero(y == 0)]
    assert RankSVM().fit(X[rare], y[rare]).alpha_ == 1e-3
    with pytest.raises(ValueError, match="'alpha' parameter of RankSVM"):
        RankSVM("best").fit(X, y)


def test_scikit_learn_checks_with_a_chosen_alpha():
    check_estimator(RankSVM("auto"))


@pytest.mark.filterwarnings("ignore:RankSVM")
@pytest.mark.parametrize("params", [{}, {"max_fpr": 0.1}], ids=str)
@pytest.mark.parametrize("size", [1e50, 1e100, 1e150])
def test_planes_that_overflow_end_the_fit_with_finite_weights(params, size):
    X, y = np.repeat([[0.0, 0.0], [size, size]], 10, axis=0), np.repeat([0, 1], 10)
    model = RankSVM(loss="hinge", alpha=1e-200, max_iter=20, **params).fit(X, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.gap_)
