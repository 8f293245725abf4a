"""PSAM, ASAM and RankSVM with l1 and other penalties: against slow code, against the exact optimum, in every layout."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

from auclid import ASAM, PSAM, LeastSquaresAUC, RankSVM
from auclid.penalties import L2, Ball, ElasticNet, penalty_value, prox
from reference import all_pairs
from reference_sam import STEPS, drawn_pairs, streamed_pairs

LAYOUTS = {
    "dense": np.asarray,
    "CSR": sparse.csr_array,
    "CSR float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
METHODS = {"ASAM": ASAM, "PSAM": PSAM}
every_method = pytest.mark.parametrize("name", METHODS)


def problem(n=60, d=6):
    """Rows on a grid that float32 holds exactly, half of the entries zero."""
    rng = np.random.default_rng(2)
    y = np.arange(n) % 3 == 0
    X = np.round(rng.normal(size=(n, d)) * 16) / 16 * (rng.random((n, d)) < 0.5)
    X[:, 0] += y
    return X, y.astype(int)


def soft(w, cut):
    return np.sign(w) * np.maximum(np.abs(w) - cut, 0.0)


def walk(Z, step, alpha, t0, rskip, askip, regularize):
    """Last iterate and average; ``regularize(w, s, factor)`` is applied every rskip steps."""
    w, total, count = np.zeros(Z.shape[1]), np.zeros(Z.shape[1]), 0
    for t, z in enumerate(Z, start=1):
        s = 1.0 / (alpha * (t + t0))
        if z @ z > 0.0:
            w = w + step(w @ z, z @ z, s) * z
        if t % rskip == 0:
            w = regularize(w, rskip * s, 1.0 - rskip / (t + t0))
        if t % askip == 0:
            total, count = total + w, count + 1
    return w, total / max(count, 1)


@every_layout
@every_method
@pytest.mark.parametrize(("rskip", "askip", "t0"), [(4, 3, 30.0), (1, 1, 0.0), (16, 16, 200.0)])
@pytest.mark.parametrize("loss", ["hinge", "square"])
def test_l1_is_the_slow_loop(layout, name, rskip, askip, t0, loss):
    X, y = problem()
    settings = {"t0": t0, "rskip": rskip, "askip": askip, "loss": loss, "n_epochs": 5, "random_state": 0}
    models = [METHODS[name](0.1, l1=0.3, average=average, **settings).fit(layout(X), y) for average in (False, True)]

    def regularize(w, size, factor):
        return soft(factor * w, 0.3 * size)

    Z = drawn_pairs(X, y == 1, 5 * len(X), 0)
    for model, expected in zip(models, walk(Z, STEPS[name, loss], 0.1, t0, rskip, askip, regularize), strict=True):
        np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-9, atol=1e-11)
    if loss == "hinge" and t0 < 100.0:
        assert (models[0].coef_ == 0.0).any()


@every_layout
@every_method
def test_l1_in_a_stream_is_the_slow_loop_and_independent_of_batches(layout, name):
    X, y = problem(200)
    model, whole = (METHODS[name](0.1, l1=0.02, t0=40.0, rskip=4, askip=4, random_state=0) for _ in range(2))
    whole.partial_fit(layout(X), y)
    for start in range(0, 200, 37):
        model.partial_fit(layout(X)[start : start + 37], y[start : start + 37], classes=[0, 1])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    Z = streamed_pairs(X, y == 1, 1000, 0)
    _, expected = walk(Z, STEPS[name, "hinge"], 0.1, 40.0, 4, 4, lambda w, size, factor: soft(factor * w, 0.02 * size))
    np.testing.assert_allclose(whole.coef_[0], expected, rtol=1e-9, atol=1e-12)


@every_layout
@every_method
@pytest.mark.parametrize("penalty", [ElasticNet(0.05, 0.1), Ball(0.2), L2(0.3)], ids=str)
def test_any_penalty_is_the_slow_loop(layout, name, penalty):
    X, y = problem()
    model = METHODS[name](0.1, penalty=penalty, t0=30.0, rskip=4, askip=3, n_epochs=4, random_state=0)

    def regularize(w, size, factor):
        w = w.copy()
        prox(penalty, w, size)
        return w

    Z = drawn_pairs(X, y == 1, 4 * len(X), 0)
    _, expected = walk(Z, STEPS[name, "hinge"], 0.1, 30.0, 4, 3, regularize)
    np.testing.assert_allclose(model.fit(layout(X), y).coef_[0], expected, rtol=1e-9, atol=1e-12)


@every_method
def test_the_average_approaches_the_exact_optimum(name):
    X, y = problem(200)
    exact = LeastSquaresAUC(0.1, l1=0.1, tol=1e-10).fit(X, y).coef_[0]
    model = METHODS[name](0.1, l1=0.1, loss="square", n_epochs=600, random_state=0).fit(X, y)
    assert np.linalg.norm(model.coef_[0] - exact) < 0.03 * np.linalg.norm(exact)
    assert (exact == 0.0).any()


@pytest.mark.parametrize("cls", [ASAM, PSAM, RankSVM])
def test_l1_and_a_penalty_are_refused_together(cls):
    X, y = problem()
    with pytest.raises(ValueError, match=r"penalty of .* must stand alone"):
        cls(l1=0.1, penalty=Ball(1.0)).fit(X, y)
    with pytest.raises(TypeError, match="must have prox"):
        cls(penalty=(1.0,)).fit(X, y)


# --- RankSVM


def subgradient(w, X, is_pos, alpha, l1, loss):
    """The largest entry of the shortest subgradient, over explicit pairs."""
    z, share = all_pairs(X, is_pos)
    m = z @ w
    by_margin = {"squared_hinge": -2.0 * np.maximum(0.0, 1.0 - m), "logistic": -1.0 / (1.0 + np.exp(m))}[loss]
    g = z.T @ (share * by_margin) + alpha * w
    return np.abs(np.where(w == 0.0, soft(g, l1), g + l1 * np.sign(w))).max()


@every_layout
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("l1", [0.003, 0.1])
def test_rank_svm_with_l1_has_no_subgradient_left(layout, loss, l1):
    X, y = problem()
    model = RankSVM(0.05, l1=l1, loss=loss, tol=1e-9).fit(layout(X), y)
    w = model.coef_[0]
    assert subgradient(w, X, y == 1, 0.05, l1, loss) < 1e-8
    assert model.gap_ < 1e-10
    assert l1 < 0.1 or (w == 0.0).any()
    twin = RankSVM(penalty=ElasticNet(l1, 0.05), loss=loss, tol=1e-9).fit(layout(X), y)
    np.testing.assert_allclose(twin.coef_, model.coef_, atol=1e-7)
    assert twin.alpha_ == 0.0 and twin.gap_ == 1.0
    np.testing.assert_allclose(twin.objective_, model.objective_, rtol=1e-9)


def test_rank_svm_without_l1_is_newtons():
    X, y = problem()
    exact = RankSVM(0.05, tol=1e-11).fit(X, y)
    tiny = RankSVM(0.05, l1=1e-14, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(tiny.coef_, exact.coef_, rtol=1e-7)


def test_rank_svm_of_wide_sparse_rows_with_l1():
    """More columns than a Hessian is formed for: products only."""
    rng = np.random.default_rng(0)
    X, y = sparse.random_array((80, 1500), density=0.05, rng=rng, format="csr"), np.arange(80) % 2
    model = RankSVM(0.05, l1=0.01, tol=1e-7, max_iter=200).fit(X, y)
    assert subgradient(model.coef_[0], X, y == 1, 0.05, 0.01, "squared_hinge") < 1e-6
    assert 0 < np.count_nonzero(model.coef_) < 1500


def test_rank_svm_in_a_ball_and_at_the_top():
    X, y = problem(200)
    assert np.linalg.norm(RankSVM(penalty=Ball(0.1)).fit(X, y).coef_) == pytest.approx(0.1)
    plain, cut = (RankSVM(0.05, l1=l1, max_fpr=0.3, tol=1e-6).fit(X, y) for l1 in (1e-12, 0.3))
    same = RankSVM(0.05, max_fpr=0.3, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(plain.coef_, same.coef_, rtol=0.02, atol=0.01)
    assert (cut.coef_ == 0.0).any()


class Ridge(NamedTuple):
    """A user's own penalty."""

    strength: float


@penalty_value.implement(Ridge)
def _(penalty, w):
    return 0.5 * penalty.strength * np.sum(w * w)


@prox.implement(Ridge)
def _(penalty, w, step):
    w *= 1.0 / (1.0 + step * penalty.strength)


def test_a_penalty_of_ones_own():
    X, y = problem()
    ours, plain = RankSVM(penalty=Ridge(0.2), tol=1e-10).fit(X, y), RankSVM(0.2, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, plain.coef_, rtol=1e-6)


def test_the_hinge_has_no_l1():
    with pytest.raises(ValueError, match="must have a smooth loss; got 'hinge'"):
        RankSVM(loss="hinge", l1=0.1).fit(*problem())
