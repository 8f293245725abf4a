"""OAM, CBR and Uni-Exp: each step is its formula, cutting a stream changes no bit, extremes are ordinary."""

import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq, minimize
from scipy.stats import norm
from sklearn.base import clone

from auclid import CBR, OAM, LeastSquaresAUC, UniExp, make
from auclid.data import kernel_rows
from auclid.solvers.confidence_weighted import (
    PENDING,
    FullCovariance,
    confidence_step,
    covariance_product,
    subtract_pending,
    symmetric_product,
    workspace,
)
from auclid.solvers.stream import copy_state
from auclid.solvers.univariate import wright_omega
from reference_online import cbr, oam, spread, uni_exp
from reference_online import confident_step as slow_step

METHODS = {
    "OAM": OAM,
    "OAM gradient": partial(OAM, update="gradient"),
    "OAM reservoir": partial(OAM, buffer="reservoir", average=False),
    "CBR": CBR,
    "CBR reservoir": partial(CBR, buffer="reservoir"),
    "CBR diagonal": partial(CBR, covariance="diagonal"),
    "UniExp": UniExp,
    "UniExp step": partial(UniExp, step=0.1),
}
KINDS = {"dense": np.asarray, "sparse": sparse.csr_array}
every_method = pytest.mark.parametrize("method", METHODS)
every_kind = pytest.mark.parametrize("kind", KINDS)
every_policy = pytest.mark.parametrize("policy", ["fifo", "reservoir"])


def problem(n=80, d=4, seed=0):
    """Rows with some zeros, on a grid that float32 holds exactly; positives lie higher in two columns."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, d)) * 8) / 8 * (rng.random((n, d)) < 0.8)
    y = (rng.random(n) < 0.4).astype(int)
    X[:, :2] += y[:, None]
    return X, y


def new(method, **params):
    return METHODS[method](random_state=0, **params)


def draws(n):
    """The uniforms that a model with random_state=0 draws for its first n rows in order."""
    return np.random.default_rng(0).random(n)


def leaves(state):
    """All arrays and numbers of a state."""
    for x in state:
        if isinstance(x, tuple):
            yield from leaves(x)
        else:
            yield x


def same(a, b):
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    for x, z in zip(leaves(a._state), leaves(b._state), strict=True):
        np.testing.assert_array_equal(x, z)
    assert a._rng.bit_generator.state == b._rng.bit_generator.state


# --- each step is its formula -------------------------------------------------------------------------------


@every_kind
@every_policy
@pytest.mark.parametrize("update", ["sequential", "gradient"])
@pytest.mark.parametrize("C", [None, 0.3])
def test_oam_is_the_reference(update, policy, kind, C):
    X, y = problem()
    iterates = oam(X, y == 1, draws(80), C=C, size=5, update=update, policy=policy)
    late = np.average(iterates, axis=0, weights=np.arange(1, len(iterates) + 1))
    for average, w in ((True, late), (False, iterates[-1])):
        model = OAM(C, buffer_size=5, update=update, buffer=policy, average=average, random_state=0)
        model.partial_fit(KINDS[kind](X), y)
        np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9, atol=1e-12)


@every_kind
@every_policy
@pytest.mark.parametrize("covariance", ["full", "diagonal", "printed", "printed_full"])
@pytest.mark.parametrize("C", [None, 0.3])
def test_cbr_is_the_reference(covariance, policy, kind, C):
    X, y = problem()
    mean, cov = cbr(X, y == 1, draws(80), C=C, size=5, policy=policy, covariance=covariance)
    model = CBR(C, buffer_size=5, buffer=policy, covariance=covariance, random_state=0)
    model.partial_fit(KINDS[kind](X), y)
    np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole(model._state.cov[0]), cov, rtol=1e-9, atol=1e-12)


def whole(cov):
    """The covariance whose lower triangle, or diagonal, is kept."""
    return np.diag(cov) if cov.ndim == 1 else np.tril(cov) + np.tril(cov, -1).T


def implicit(m, q, eta):
    """The p with p = eta exp(-(m + q p)), by bisection."""
    if q == 0.0:
        return 0.0
    return brentq(lambda p: p - eta * np.exp(-(m + q * p)), 0.0, eta * np.exp(-m), xtol=1e-15)


@pytest.mark.parametrize("step", [None, 0.1, 10.0])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_uni_exp_is_the_reference(step, alpha):
    X, y = problem()
    expected = uni_exp(X, y == 1, step=step, alpha=alpha, push=implicit)
    model = UniExp(alpha, step=step).partial_fit(X, y)
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-8, atol=1e-12)


def capped_gradient(m, q, eta):
    """The plain step: eta exp(-m), the exponent at most 30."""
    return eta * np.exp(min(-m, 30.0))


@pytest.mark.parametrize("step", [None, 0.1, 1.0])
def test_uni_exp_as_published_is_the_reference(step):
    X, y = problem()
    expected = uni_exp(X, y == 1, step=step, alpha=0.1, push=capped_gradient, weigh=lambda t: 1.0, gradient=True)
    model = UniExp(0.1, step=step, update="gradient").partial_fit(X, y)
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-8, atol=1e-12)


def test_uni_exp_takes_the_plain_gradient_to_first_order():
    X, y = problem()
    for step in (1e-2, 1e-3, 1e-4):
        plain = uni_exp(X, y == 1, step=step, alpha=0.1, push=capped_gradient)
        ours = UniExp(0.1, step=step).partial_fit(X, y).coef_[0]
        gap = np.linalg.norm(ours - plain) / np.linalg.norm(plain)
        assert 3.0 * step < gap < 20.0 * step


@pytest.mark.parametrize("step", [None, 1.0, 1e6])
def test_no_row_overflows_uni_exp(step):
    X, y = problem()
    X[::7] *= -1e4  # scores of rows on the wrong side: exp(-margin) alone would be infinite
    with np.errstate(over="ignore", invalid="ignore"):
        bare = uni_exp(X, y == 1, step=step, alpha=1e-4, push=lambda m, q, eta: eta * np.exp(-m))
    assert not np.all(np.isfinite(bare))
    model = UniExp(step=step).partial_fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    assert abs(model.coef_ @ X.T).max() < 1e4


def test_uni_exp_leaves_sparse_rows_where_they_are():
    X, y = problem()
    X -= X.mean(axis=0)  # the running mean is not zero, but the difference is small
    dense, thin = (UniExp(step=0.01).partial_fit(kind(X), y).coef_[0] for kind in KINDS.values())
    assert 0.99 < dense @ thin / np.linalg.norm(dense) / np.linalg.norm(thin) < 1.0


def test_the_product_log_solves_its_equation():
    for log_a in (-800.0, -40.0, -37.0, -30.0, -3.0, 0.0, 0.5, 1.0, 1.5, 20.0, 800.0, 1e8):
        u = wright_omega(log_a)
        assert u > 0.0 or log_a == -800.0
        if log_a > -700.0:
            assert np.log(u) + u == pytest.approx(log_a, abs=1e-12, rel=1e-13)


@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
@pytest.mark.parametrize("confidence", [0.6, 0.7, 0.95])
def test_a_cbr_step_solves_its_own_problem(C, confidence):
    rng, d, phi = np.random.default_rng(1), 2, norm.ppf(confidence)
    for _ in range(3):
        A = rng.standard_normal((d, d))
        mean, cov, z = rng.standard_normal(d) / 2, A @ A.T + 0.2 * np.eye(d), rng.standard_normal(d)
        precision, tril = np.linalg.inv(cov), np.tril_indices(d)

        def objective(p, mean=mean, cov=cov, precision=precision, z=z, tril=tril):
            L = np.zeros((d, d))
            L[tril] = p[d:]
            new, gap = L @ L.T, p[:d] - mean
            logs = 2.0 * np.log(np.abs(np.diag(L))).sum() - np.linalg.slogdet(cov)[1]
            divergence = 0.5 * (np.trace(precision @ new) + gap @ precision @ gap - d - logs)
            return divergence + C * max(0.0, phi * np.sqrt(z @ new @ z) - p[:d] @ z)

        alpha, u, v = slow_step(mean, cov, z, phi, C)
        beta = alpha * phi / (np.sqrt(u) + v * alpha * phi)
        ours = mean + alpha * cov @ z, cov - beta * np.outer(cov @ z, cov @ z)
        start = np.concatenate([ours[0], np.linalg.cholesky(ours[1])[tril]])
        begun = np.concatenate([mean, np.linalg.cholesky(cov)[tril]])
        options = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-10, "fatol": 1e-12}
        found = minimize(objective, begun, method="Nelder-Mead", options=options)
        found = minimize(objective, found.x, method="Nelder-Mead", options=options)
        assert objective(start) <= found.fun + 1e-9
        assert objective(begun) >= objective(start)


def test_the_fast_step_is_the_printed_one():
    rng = np.random.default_rng(0)
    for phi in (0.0, 0.5, 2.0):
        for C in (1e-3, 1.0, 1e3):
            v = rng.exponential()
            m = phi * np.sqrt(v) - rng.exponential()
            alpha, u, _ = slow_step(np.array([m]), np.array([[v]]), np.ones(1), phi, C)
            ours = confidence_step(m, np.sqrt(v), phi, C)
            np.testing.assert_allclose(ours, (alpha, np.sqrt(u)), rtol=1e-10)


def test_the_diagonal_is_that_of_the_inverse_form():
    X = np.array([[1.0, 2.0, -1.0], [0.5, -1.0, 2.0]])
    models = [CBR(0.5, covariance=c).partial_fit(X, [0, 1]) for c in ("full", "diagonal")]
    full, diagonal = (whole(model._state.cov[0]) for model in models)
    np.testing.assert_allclose(np.diag(np.linalg.inv(full)), 1.0 / np.diag(diagonal), rtol=1e-12)
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-12)


@pytest.mark.parametrize("method", ["OAM", "OAM gradient", "CBR", "CBR diagonal"])
def test_no_loss_no_change(method):
    X, y = np.array([[0.0, 0.0], [4.0, 1.0], [0.0, 0.0], [1.0, 4.0]] * 30), np.array([0, 1, 0, 1] * 30)
    model = new(method, C=0.2).partial_fit(X, y)
    before = copy_state(model._state)  # an update may write on a covariance
    model.partial_fit(np.array([[400.0, 400.0], [-400.0, -400.0]]), [1, 0])  # surer than either direction learned
    if "CBR" in method:
        assert np.any(before.mean)
        np.testing.assert_array_equal(model._state.mean, before.mean)
        np.testing.assert_array_equal(model._state.cov[0], before.cov[0])
    else:
        assert np.any(before.average.w)
        np.testing.assert_array_equal(model._state.average.w, before.average.w)


def test_symmetric_products_and_updates():
    rng = np.random.default_rng(0)
    for d in (1, 2, 3, 8, 11):
        A = rng.standard_normal((d, d))
        A, x, out = A + A.T, rng.standard_normal(d), np.full(d, np.nan)
        symmetric_product(np.tril(A), x, out)
        np.testing.assert_allclose(out, A @ x, rtol=1e-12, atol=1e-12)
        work = workspace(FullCovariance(np.tril(A)), kernel_rows(rng.standard_normal((2, d)), np.zeros(d)), 2, False)
        B = A.copy()
        for count in (0, PENDING - 1, PENDING):
            some = work.pending[:count]
            some[:], work.n_pending[0] = rng.standard_normal(some.shape), count
            B -= some.T @ some
            covariance_product(work, x, out)
            np.testing.assert_allclose(out, B @ x, rtol=1e-12, atol=1e-12)
            subtract_pending(work)
            assert work.n_pending[0] == 0
            np.testing.assert_allclose(work.cov, np.tril(B), rtol=1e-12, atol=1e-12)


@pytest.mark.jit
def test_a_million_rows_leave_the_covariance_positive():
    rng = np.random.default_rng(0)
    mix = np.array([[1.0, 0, 0, 0], [0.999, 0.05, 0, 0], [0, 3.0, 30.0, 0], [0.1, 0.1, 0.1, 0.01]])
    model = CBR(C=1.0, buffer_size=4)
    for _ in range(10):
        y = rng.integers(0, 2, 100_000)
        X = rng.standard_normal((100_000, 4)) @ mix.T
        X[:, 0] += 0.3 * y
        model.partial_fit(X, y, classes=[0, 1])
    values = np.linalg.eigvalsh(whole(model._state.cov[0]))
    assert 0.0 < values[0] < values[-1] <= 1.0
    assert values[0] < 1e-4  # there was something to lose
    assert np.all(np.isfinite(model.coef_))


# --- a stream is a stream -----------------------------------------------------------------------------------


@every_kind
@every_method
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fit_in_order_is_one_batch_is_many_batches(method, kind, dtype):
    X, y = problem()
    X = KINDS[kind](X.astype(dtype))
    sizes = {} if "UniExp" in method else {"buffer_size": 7}
    fitted = new(method, shuffle=False, **sizes).fit(X, y)
    same(fitted, new(method, **sizes).partial_fit(X, y))
    for size in (1, 9):
        cut = new(method, **sizes)
        for start in range(0, 80, size):
            cut.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1])
        same(fitted, cut)
    assert np.any(fitted.coef_ != 0.0)


@every_method
def test_fit_then_partial_fit_continues(method):
    X, y = problem()
    begun = new(method, shuffle=False).fit(X[:50], y[:50])
    same(pickle.loads(pickle.dumps(begun)).partial_fit(X[50:], y[50:]), new(method).partial_fit(X, y))


@every_method
def test_epochs_are_passes(method):
    X, y = problem()
    twice = new(method, shuffle=False, n_epochs=2).fit(X, y)
    same(twice, new(method).partial_fit(X, y).partial_fit(X, y))
    assert twice.n_iter_ == 2


@every_method
def test_shuffling_matters_and_is_seeded(method):
    X, y = problem()
    a, b = (new(method).fit(X, y) for _ in range(2))
    same(a, b)
    assert np.any(a.coef_ != new(method, shuffle=False).fit(X, y).coef_)


@every_method
def test_one_class_batches_wait_for_the_other(method):
    X, y = problem()
    model = new(method)
    model.partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
    assert not np.any(model.coef_)
    assert not np.any(model.decision_function(X))
    model.partial_fit(X[y == 0], y[y == 0])
    assert model.score(X, y) > 0.8


@every_method
def test_a_stream_of_arrays_and_matrices_is_one_of_arrays(method):
    X, y = problem()
    mixed = new(method).partial_fit(X[:40], y[:40]).partial_fit(sparse.csr_matrix(X[40:]), y[40:])
    same(mixed, new(method).partial_fit(X, y))


@every_method
def test_the_threshold_lies_halfway_between_the_class_means(method):
    X, y = problem()
    for Z in (X + 100.0, sparse.csr_array(X)):
        model = new(method).fit(Z, y)
        scores = model.decision_function(Z)
        assert scores[y == 1].mean() == pytest.approx(-scores[y == 0].mean(), abs=1e-9)


@every_method
def test_a_batch_that_fails_changes_nothing(method):
    X, y = problem()
    model, other = (new(method).partial_fit(X[:40], y[:40]) for _ in range(2))
    with pytest.raises(ValueError, match="Scale the columns"):
        model.partial_fit(np.full((10, 4), 1e300) * np.arange(-5, 5)[:, None], [0, 1] * 5)
    same(model.partial_fit(X[40:], y[40:]), other.partial_fit(X[40:], y[40:]))


# --- defaults and names -------------------------------------------------------------------------------------


def test_the_default_C_follows_the_rows_so_far():
    X, y = problem()
    for cls, size in ((OAM, 100), (CBR, 50), (CBR, 10)):
        model = cls(buffer_size=size).partial_fit(X[:30], y[:30])
        for n in (30, 80):
            expected = 0.03 / spread(X[:n][y[:n] == 1], X[:n][y[:n] == 0]) * 50 / size
            assert model.C_ == pytest.approx(expected, rel=1e-10)
            model.partial_fit(X[30:], y[30:])
    assert CBR(0.25).fit(X, y).C_ == 0.25


def test_the_default_step_follows_the_rows_so_far():
    X, y = problem()
    spread_out = ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
    assert UniExp().fit(X, y).step_ == pytest.approx(1.0 / spread_out, rel=1e-10)
    assert UniExp(step=0.3).fit(X, y).step_ == 0.3


@pytest.mark.parametrize(("cls", "given"), [(OAM, "C"), (CBR, "C"), (UniExp, "step")])
def test_what_was_used_stays_what_it_was(cls, given):
    X, y = problem()
    model, said = cls(), f"{given}_"
    assert not hasattr(model, said)
    used = getattr(model.fit(X, y), said)
    assert getattr(model.set_params(**{given: 3.0}), said) == used
    assert getattr(model.partial_fit(X, y), said) == 3.0


@pytest.mark.parametrize(
    ("name", "cls", "params"),
    [
        ("OAMseq", OAM, {"update": "sequential", "buffer": "reservoir", "average": False}),
        ("OAMgra", OAM, {"update": "gradient", "buffer": "reservoir", "average": False}),
        ("CBR-RS", CBR, {"buffer": "reservoir", "covariance": "full"}),
        ("CBR-FIFO", CBR, {"buffer": "fifo", "covariance": "full"}),
        ("CBR-diag", CBR, {"buffer": "fifo", "covariance": "diagonal"}),
        ("Uni-Exp", UniExp, {}),
    ],
)
def test_papers_names(name, cls, params):
    model = make(name)
    assert type(model) is cls
    assert params.items() <= model.get_params().items()


@pytest.mark.jit
@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("OAM reservoir", "UniExp step")])
def test_defaults_rank_about_as_well_as_the_exact_square_loss(method):
    rng = np.random.default_rng(3)
    y = (rng.random(3000) < 0.2).astype(int)
    X = rng.standard_normal((3000, 10))
    X[:, :5] += 0.6 * y[:, None]
    best = LeastSquaresAUC().fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    assert new(method).fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) > best - 0.02


# --- extremes -----------------------------------------------------------------------------------------------


def test_a_full_covariance_that_does_not_fit_is_refused():
    X = sparse.csr_array(([1.0, 1.0], ([0, 1], [3, 9999])), shape=(2, 10_000))
    model = CBR()
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="covariance='diagonal'"):
            learn(X, [0, 1])
    assert vars(model) == vars(CBR())
    assert CBR(covariance="diagonal").fit(X, [0, 1]).score(X, [0, 1]) == 1.0


@every_kind
@every_method
def test_raw_columns_leave_finite_weights(method, kind):
    X, y = problem(200)
    X = KINDS[kind](X * np.array([1e6, 1e-3, 1.0, 1e3]))
    model = new(method).fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    assert np.any(model.coef_)


@every_method
@pytest.mark.parametrize("scale", [1e-60, 1e-30, 1e30, 1e60])
def test_the_default_step_follows_any_scale(method, scale):
    X, y = problem(200)
    penalty = {"alpha": 0.0} if "UniExp" in method else {}
    model, plain = (new(method, **penalty).fit(Z, y) for Z in (X * scale, X))
    assert np.all(np.isfinite(model.coef_))
    if "CBR" not in method and method != "UniExp step":  # their first covariance, or step, is no scale of the rows
        np.testing.assert_allclose(model.coef_ * scale, plain.coef_, rtol=1e-6)
    if method != "UniExp step":
        assert model.score(X * scale, y) > 0.8


@every_method
@pytest.mark.parametrize("scale", [1e-170, 1e160])
def test_rows_whose_squares_no_float_holds(method, scale):
    X, y = problem(200)
    if scale < 1.0:  # no length to speak of: nothing is learned
        assert not np.any(new(method).fit(X * scale, y).coef_)
        return
    with pytest.raises(ValueError, match="Scale the columns"):
        new(method).fit(X * scale, y)


@pytest.mark.parametrize("alpha", [1e-4, 10.0, 1e4])
def test_a_strong_penalty_shrinks_often_and_stays_exact(alpha):
    X, y = problem()
    expected = uni_exp(X, y == 1, step=5.0, alpha=alpha, push=implicit)
    np.testing.assert_allclose(UniExp(alpha, step=5.0).partial_fit(X, y).coef_[0], expected, rtol=1e-8)


@every_method
def test_an_offset_changes_little(method):
    X, y = problem(300)
    plain, moved = new(method).fit(X, y), new(method).fit(X + 1e6, y)
    np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-5, atol=1e-8)


@every_policy
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_a_sparse_column_far_from_zero_keeps_its_digits(covariance, policy):
    X, y = problem()
    X[:, 1] += 1e8  # the energy of a row is 1e16, that of a pair about 1
    mean, cov = cbr(X, y == 1, draws(80), C=0.3, size=5, policy=policy, covariance=covariance)
    model = CBR(0.3, buffer_size=5, buffer=policy, covariance=covariance, random_state=0)
    model.partial_fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-5)
    np.testing.assert_allclose(whole(model._state.cov[0]), cov, rtol=1e-5, atol=1e-6)


@every_kind
@every_method
@pytest.mark.parametrize("rows", [np.zeros((6, 3)), np.ones((6, 3)), np.eye(6, 3)])
def test_empty_constant_and_single_rows(method, rows, kind):
    rows = KINDS[kind](rows)
    model = new(method).fit(rows, [0, 0, 0, 0, 0, 1])
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.decision_function(rows)))


@every_method
def test_duplicates_and_one_positive(method):
    X, _ = problem()
    X = np.repeat(X[:8], 10, axis=0)
    y = np.zeros(80, dtype=int)
    y[33] = 1
    assert np.all(np.isfinite(new(method).fit(X, y).coef_))


def test_confidence_one_half_has_no_loss_at_zero():
    X, y = problem()
    assert not np.any(CBR(confidence=0.5).fit(X, y).coef_)


@pytest.mark.parametrize(
    ("model", "change"),
    [(OAM(buffer_size=5), {"buffer_size": 50}), (CBR(buffer_size=5), {"buffer_size": 2}),
     (CBR(), {"covariance": "diagonal"})],
)  # fmt: skip
def test_a_stream_keeps_the_parameters_its_state_was_built_for(model, change):
    X, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40) % 2
    model = clone(model).partial_fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="must stay what it was when the stream began"):
        model.set_params(**change).partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("model", [CBR(shuffle=False), OAM(average=False, shuffle=False)])
def test_what_the_guide_names_for_drift_follows_a_turn(model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8000, 5))
    y = X[:, 0] + rng.standard_normal(8000) > 1.0
    model = clone(model).fit(X[:5000], y[:5000])
    assert model.score(X[7000:], y[7000:]) > 0.75
    model.partial_fit(-X[5000:7000], y[5000:7000])
    assert model.score(-X[7000:], y[7000:]) > 0.75


def test_a_row_alone_is_learnt_without_a_copy_of_the_covariance_and_a_bad_one_changes_nothing():
    X, y = problem()
    model = CBR(buffer_size=5, random_state=0).partial_fit(X, y)
    cov = model._state.cov.matrix
    model.partial_fit(X[:1], y[:1])
    assert model._state.cov.matrix is cov
    before, w = copy_state(model._state), model.coef_.copy()
    with pytest.raises(ValueError, match="Scale the columns"):
        model.partial_fit(np.full((1, X.shape[1]), 1e200), [1])
    assert model._state.cov.matrix is cov and (model.coef_ == w).all()
    for now, then in zip(leaves(model._state), leaves(before), strict=True):
        np.testing.assert_array_equal(now, then)
    fresh = CBR(buffer_size=5, random_state=0).partial_fit(np.vstack([X, X[:1], X]), np.concatenate([y, y[:1], y]))
    same(model.partial_fit(X, y), fresh)


def test_no_c_is_too_large_for_a_stream_of_tiny_and_good_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 3 == 0
    model = CBR(C=1.7e308, buffer_size=7, covariance="diagonal", random_state=0).partial_fit(X, y)
    model.partial_fit(np.full_like(X, 5e-324), y).partial_fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
