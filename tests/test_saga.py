"""SAGA on SPAM's objective: its step by the book, linear convergence to the exact optimum, in every layout."""

import numpy as np
import pytest
from scipy import sparse

from auclid import SPAM, LeastSquaresAUC, _sizes
from auclid.data import as_table
from auclid.penalties import L2, Ball, ElasticNet, prox
from auclid.solvers.saga import SagaSolver
from auclid.stats.class_means import first_pass
from reference import pair_objective, spam_gradient

LAYOUTS = {
    "dense": np.asarray,
    "CSR": sparse.csr_array,
    "CSR float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}
LAZY = pytest.mark.parametrize("lazy", [False, True], ids=["all columns", "lazy"])
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def problem(n=120, d=5):
    """Rows on a grid that float32 holds exactly, not centred, few positives."""
    rng = np.random.default_rng(4)
    y = (np.arange(n) % 5 == 0).astype(int)
    X = np.round(rng.normal(size=(n, d)) * 16) / 16 * (rng.random((n, d)) < 0.6)
    X[:, 0] += y
    return X, y


def by_the_book(X, is_pos, weight, order, step, probability, penalty):
    """w after a step on each row of ``order``; the table holds whole gradients, and nothing is lazy."""
    share = weight / weight.sum()
    p = share[is_pos].sum()
    means = [np.average(X[is_pos == c], axis=0, weights=weight[is_pos == c]) for c in (True, False)]

    def gradient(w, i):
        return spam_gradient(w, X[i], is_pos[i], p, *means)

    w = np.zeros(X.shape[1])
    table = np.array([gradient(w, i) for i in range(len(X))])
    for i in order:
        new = gradient(w, i)
        w = w - step * (share[i] / probability[i] * (new - table[i]) + share @ table)
        table[i] = new
        prox(penalty, w, step * p * (1.0 - p))
    return w


@every_layout
@pytest.mark.parametrize("penalty", [L2(0.1), L2(0.0), ElasticNet(0.05, 0.1), Ball(0.3)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@LAZY
def test_a_step_is_that_of_the_book(layout, penalty, weighted, lazy):
    X, y = problem()
    is_pos, weight = y == 1, np.arange(len(y)) % 4 + 1.0 if weighted else np.ones(len(y))
    rows, solver = as_table(layout(X)), SagaSolver(penalty, wide=0 if lazy else 100)
    summary = first_pass(rows, is_pos, products=True, weight=weight, centred=False)
    setting = solver.problem(rows, is_pos, weight, summary)
    state, order = solver.init(setting), []
    rng, twin = np.random.default_rng(0), np.random.default_rng(0)
    for _ in range(2):
        state = solver.epoch(rows, None, setting, state, rng)
        limits = np.cumsum(setting.probability)
        order.append(np.searchsorted(limits, twin.random(len(X)) * limits[-1], side="right"))
    expected = by_the_book(X, is_pos, weight, np.concatenate(order), setting.step, setting.probability, penalty)
    np.testing.assert_allclose(state.w, expected, rtol=1e-9, atol=1e-12)


NETS = [ElasticNet(l1, l2) for l1 in (0.003, 0.03, 0.3) for l2 in (0.0, 0.2)]


@pytest.mark.parametrize("penalty", NETS, ids=str)
def test_columns_that_few_rows_meet_make_the_same_steps(penalty):
    """They drift to zero, stay there, leave it again, and cross it, while no row meets them."""
    rng = np.random.default_rng(1)
    n, d = 150, 40
    is_pos = rng.random(n) < 0.3
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.04) * rng.choice([0.2, 1.0, 3.0], size=d)
    X[:, :4] += 0.7 * is_pos[:, None] * (rng.random((n, 4)) < 0.3)
    rows, solver, weight = as_table(sparse.csr_array(X)), SagaSolver(penalty, wide=0), np.ones(n)
    summary = first_pass(rows, is_pos, weight=weight, centred=False)
    setting = solver.problem(rows, is_pos, weight, summary)._replace(step=2.0)
    state, rng, twin, order = solver.init(setting), np.random.default_rng(0), np.random.default_rng(0), []
    for _ in range(3):
        state = solver.epoch(rows, None, setting, state, rng)
        limits = np.cumsum(setting.probability)
        order.append(np.searchsorted(limits, twin.random(n) * limits[-1], side="right"))
    expected = by_the_book(X, is_pos, weight, np.concatenate(order), 2.0, setting.probability, penalty)
    size = np.abs(expected).max()
    np.testing.assert_allclose(state.w, expected, rtol=1e-8, atol=1e-10 * size)
    assert np.array_equal(state.w == 0.0, expected == 0.0)


@every_layout
@pytest.mark.parametrize("l1", [0.0, 0.05])
@pytest.mark.parametrize("weighted", [False, True])
@LAZY
def test_it_converges_linearly_to_the_exact_optimum(layout, l1, weighted, lazy, monkeypatch):
    monkeypatch.setattr(_sizes, "MIN_COLUMNS_PER_ENTRY", 0 if lazy else 100)
    X, y = problem(400)
    weight = np.arange(400) % 3 + 0.5 if weighted else None
    exact = LeastSquaresAUC(0.05, l1=l1, tol=1e-13, max_iter=10_000).fit(X, y, weight).coef_[0]
    best = pair_objective(exact, X, y == 1, 0.05, l1, weight)

    def gap(n_epochs):
        model = SPAM(0.05, l1=l1, variance_reduction="saga", n_epochs=n_epochs, random_state=0)
        w = model.fit(layout(X), y, weight).coef_[0]
        return (pair_objective(w, X, y == 1, 0.05, l1, weight) - best) / best

    gaps = [gap(n) for n in (5, 15, 30, 60)]
    assert gaps[1] < 0.5 * gaps[0] and gaps[2] < 0.1 * gaps[1] and gaps[3] < 1e-9


def test_plain_steps_do_not_get_there():
    X, y = problem(400)
    exact = LeastSquaresAUC(0.05).fit(X, y).coef_[0]
    plain, reduced = (
        np.linalg.norm(SPAM(0.05, variance_reduction=kind, n_epochs=30, random_state=0).fit(X, y).coef_[0] - exact)
        for kind in (None, "saga")
    )
    assert reduced < 1e-3 * plain


def test_there_is_no_stream():
    X, y = problem()
    model = SPAM(variance_reduction="saga")
    with pytest.raises(ValueError, match=r"variance_reduction of SPAM must be None in partial_fit"):
        model.partial_fit(X, y)
    model.fit(X, y)
    assert model.n_iter_ == 5 and model.a_ > model.b_
    model.set_params(variance_reduction=None).partial_fit(X, y)  # goes on from where it ended
    assert model.score(X, y) > 0.6


def test_rows_of_weight_zero_are_never_drawn():
    X, y = problem()
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    X[weight == 0.0] *= 1e3
    some, all_rows = (SPAM(0.1, variance_reduction="saga", n_epochs=80, random_state=0) for _ in range(2))
    some.fit(X[weight > 0.0], y[weight > 0.0])
    all_rows.fit(X, y, weight)
    np.testing.assert_allclose(some.coef_, all_rows.coef_, rtol=1e-6)


def test_only_saga_leaves_the_zeros_of_the_optimum():
    """What `auclid methods` and docs/choosing.md say of few columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    y = (X[:, :3].sum(axis=1) + rng.normal(size=400) > 1).astype(int)
    optimum = LeastSquaresAUC(l1=0.3, tol=1e-12).fit(X, y).coef_ != 0
    found = SPAM(l1=0.3, variance_reduction="saga", n_epochs=50, random_state=0).fit(X, y).coef_ != 0
    assert 3 <= optimum.sum() < 10
    np.testing.assert_array_equal(found, optimum)
    assert np.count_nonzero(SPAM(l1=0.3, random_state=0).fit(X, y).coef_) == 30
