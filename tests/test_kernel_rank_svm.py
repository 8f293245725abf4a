"""KernelRankSVM is at the optimum of its objective, keeps what it needs and says what it cannot do."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score

import reference_pairs as reference
from auclid import KernelRankSVM, RankSVM, _sizes, make, pairs


def rings(n, seed=0):
    """Rows in the plane: positives in a disc, negatives around it, overlapping."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = (np.linalg.norm(X, axis=1) + 0.3 * rng.standard_normal(n) < 0.8).astype(int)
    return X, y, rng.random(n) + 0.1


@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_that_of_a_general_optimiser(weighted):
    X, y, weight = rings(40)
    weight = weight if weighted else None
    K, alpha = rbf_kernel(X, gamma=0.7), 0.01
    Z, share = reference.differences(K, y == 1, weight)

    def objective(b):
        rest = np.maximum(1.0 - Z @ b, 0.0)
        return share @ rest**2 + 0.5 * alpha * b @ K @ b, -2.0 * Z.T @ (share * rest) + alpha * K @ b

    options = {"gtol": 1e-10, "maxiter": 10_000}
    found = minimize(objective, np.zeros(40), jac=True, method="BFGS", options=options)
    model = KernelRankSVM(alpha, gamma=0.7, tol=1e-8).fit(X, y, sample_weight=weight)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-6)
    scores = model.decision_function(X) - model.intercept_
    np.testing.assert_allclose(scores, K @ found.x, atol=1e-3)


def test_a_linear_kernel_is_the_linear_machine():
    X, y, weight = rings(150)
    X[:, 0] += y
    linear = RankSVM(0.01, tol=1e-9).fit(X, y, weight)
    kernel = KernelRankSVM(0.01, kernel="linear", tol=1e-9).fit(X, y, weight)
    np.testing.assert_allclose(kernel.decision_function(X), linear.decision_function(X), atol=1e-6)
    assert kernel.objective_ == pytest.approx(linear.objective_, rel=1e-9)


def test_at_the_optimum_beta_is_the_slope_of_the_scores():
    X, y, _ = rings(200)
    model = KernelRankSVM(tol=1e-9).fit(X, y)
    slope = pairs.gradient(y, model.decision_function(X))
    beta = np.zeros(200)
    beta[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(beta, -slope / 1e-3, atol=1e-3)


KERNELS = {
    "rbf": lambda A, B: rbf_kernel(A, B, gamma=0.5),
    "laplacian": lambda A, B: laplacian_kernel(A, B, gamma=0.5),
    "polynomial": lambda A, B: polynomial_kernel(A, B, gamma=0.5, degree=2, coef0=0.5),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, np.asfortranarray])
def test_named_and_precomputed_kernels_agree(kernel, form):
    X, y, _ = rings(120)
    new = X[:50] + 0.1
    by_name = KernelRankSVM(kernel=kernel, gamma=0.5, degree=2, coef0=0.5, tol=1e-8)
    expected = by_name.fit(X, y).decision_function(new)
    np.testing.assert_allclose(by_name.fit(form(X), y).decision_function(form(new)), expected, atol=1e-6)
    function = KERNELS[kernel]
    matrix = KernelRankSVM(kernel="precomputed", tol=1e-8).fit(function(X, X), y)
    np.testing.assert_allclose(matrix.decision_function(function(new, X)), expected, atol=1e-6)


def test_a_callable_kernel_takes_two_rows():
    X, y, _ = rings(40)
    called = KernelRankSVM(kernel=lambda a, b: np.exp(-0.5 * ((a - b) ** 2).sum()), tol=1e-8).fit(X, y)
    named = KernelRankSVM(gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(called.decision_function(X + 0.1), named.decision_function(X + 0.1), atol=1e-6)


def test_gamma_follows_the_scale_of_the_rows():
    X, y, _ = rings(300)
    # To the optimum, not to where tol=1e-3 stops: how far that is from it depends on rounding.
    near, far = KernelRankSVM(tol=1e-6).fit(X, y), KernelRankSVM(tol=1e-6).fit(1e4 * X + 1e5, y)
    assert far.gamma_ == pytest.approx(1e-8 * near.gamma_, rel=1e-6)
    np.testing.assert_allclose(far.decision_function(1e4 * X + 1e5), near.decision_function(X), atol=1e-4)
    assert KernelRankSVM(kernel="linear").fit(X, y).gamma_ is None


def test_rows_in_no_active_pair_are_not_kept():
    X, _, _ = rings(300)
    y = (np.linalg.norm(X, axis=1) < 0.8).astype(int)
    model = KernelRankSVM(1e-7, tol=1e-5).fit(X, y)
    assert len(model.support_) < 60
    assert len(model.support_vectors_) == len(model.support_) == model.dual_coef_.shape[1]
    assert model.score(X, y) == 1.0


def test_separable_rows_need_few():
    X = np.concatenate([np.linspace(-9, -1, 200), np.linspace(1, 9, 200)])[:, None]
    y = (X[:, 0] > 0).astype(int)
    model = KernelRankSVM(1e-6, tol=1e-6).fit(X, y)  # the linear kernel of one column would leave β open
    assert len(model.support_) < 40
    assert model.score(X, y) == 1.0


def test_rows_are_scored_in_blocks(monkeypatch):
    X, y, _ = rings(100)
    model = KernelRankSVM().fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr(_sizes, "LARGE_BYTES", 8 * 100 * 7)
    np.testing.assert_allclose(model.decision_function(X), whole, rtol=1e-12)


def test_a_matrix_that_does_not_fit_is_refused_and_another_way_named(monkeypatch):
    monkeypatch.setattr(_sizes, "MAX_KERNEL_BYTES", 8 * 99**2)
    X, y, _ = rings(100)
    with pytest.raises(ValueError, match=r"100 rows need .* Kernelized\(KMeansNystroem\(.*RankSVM\(\)\)"):
        KernelRankSVM().fit(X, y)
    assert KernelRankSVM(subsample=0.5, random_state=0).fit(X, y).score(X, y) > 0.8


def test_a_subsample_takes_its_share_of_each_class():
    X, y, _ = rings(203)
    model = make("RBF-RankSVM-subsample", random_state=3).fit(X, y)
    K = rbf_kernel(X, gamma=model.gamma_)
    assert len(model.support_) <= np.ceil(0.2 * y.sum()) + np.ceil(0.2 * (1 - y).sum())
    assert set(y[model.support_]) == {0, 1}
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    matrix = KernelRankSVM(kernel="precomputed", subsample=0.2, random_state=3).fit(K, y)
    np.testing.assert_allclose(matrix.decision_function(K), model.decision_function(X), atol=1e-4)


def test_a_precomputed_matrix_is_cut_by_cross_validation():
    X, y, _ = rings(150)
    K = rbf_kernel(X, gamma=0.5)
    by_matrix = cross_val_score(KernelRankSVM(kernel="precomputed"), K, y)
    np.testing.assert_allclose(by_matrix, cross_val_score(KernelRankSVM(gamma=0.5), X, y), atol=1e-6)


def test_float32_rows_give_float32_scores_near_those_of_float64():
    X, y, _ = rings(150)
    X = X.astype(np.float32)
    single, double = KernelRankSVM().fit(X, y), KernelRankSVM().fit(X.astype(float), y)
    assert single.decision_function(X).dtype == np.float32
    np.testing.assert_allclose(single.decision_function(X), double.decision_function(X), atol=1e-3)


def test_rows_without_anything_to_learn_give_one_score():
    model = KernelRankSVM().fit(np.ones((6, 2)), [0, 1, 0, 1, 1, 1])
    assert np.ptp(model.decision_function(np.eye(2))) == 0.0


def test_bad_kernels_are_told_in_one_sentence():
    X, y, _ = rings(30)
    with pytest.raises(ValueError, match="must be positive semidefinite"):
        KernelRankSVM(kernel="precomputed").fit(-np.eye(30), y)
    with pytest.raises(ValueError, match=r"must be the square matrix .* got shape \(30, 2\)"):
        KernelRankSVM(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="'kernel' parameter of KernelRankSVM must be"):
        KernelRankSVM(kernel="rfb").fit(X, y)
    with pytest.raises(ValueError, match="'alpha' parameter of KernelRankSVM must be"):
        KernelRankSVM(0.0).fit(X, y)


def test_too_few_steps_are_told():
    X, y, _ = rings(100)
    with pytest.warns(ConvergenceWarning, match="KernelRankSVM stopped after 1 Newton steps"):
        KernelRankSVM(max_iter=1, tol=1e-9).fit(X, y)


def test_the_laplacian_kernel_takes_wide_indices():
    X, y = sparse.random(40, 6, density=0.5, format="csr", random_state=0), np.arange(40) % 3 == 0
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    ours, other = (KernelRankSVM(kernel="laplacian").fit(Z, y).decision_function(Z) for Z in (wide, X))
    np.testing.assert_array_equal(ours, other)
