"""OPAUC, OPAUCr and AdaOAM against slow loops by the book, the exact optimum, and in every kind of stream."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import reference
import reference_square as slow
from auclid import OPAUC, AdaOAM, LeastSquaresAUC, make
from auclid.data import as_table
from auclid.solvers.one_pass import (
    FullScatter,
    GradientRule,
    GradientWork,
    OnePassSteps,
    add_covariance_product,
    add_to_matrix,
    empty_matrices,
    gradient,
)
from auclid.solvers.stream import copy_state
from reference_square import problem

LAYOUTS = {"dense": np.asarray, "CSR float32": lambda X: sparse.csr_array(X.astype(np.float32))}
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
METHODS = {"OPAUC": OPAUC(), "OPAUCr": OPAUC(rank=5), "AdaOAM": AdaOAM()}
every_method = pytest.mark.parametrize("name", METHODS)
SETTINGS = [{}, {"alpha": 3.0}, {"step": 0.01, "alpha": 0.5}]
every_setting = pytest.mark.parametrize("settings", SETTINGS, ids=str)


def build(name, **settings):
    """A fresh model of the method."""
    model = METHODS[name]
    return type(model)(**{**model.get_params(), **settings})


def leaves(state):
    """All arrays and numbers of a state."""
    for x in state:
        yield from leaves(x) if isinstance(x, tuple) else (x,)


def draws(seed, n, rank=5):
    """The random numbers that the rows of a stream get."""
    return np.random.default_rng(seed).standard_normal((n, rank)) / np.sqrt(rank)


@every_layout
@every_method
@every_setting
def test_a_stream_is_the_slow_loop(layout, name, settings):
    X, y = problem()
    model = build(name, **settings, random_state=3).partial_fit(layout(X), y, classes=[0, 1])
    extra = {"OPAUC": {}, "OPAUCr": {"draws": draws(3, 40)}, "AdaOAM": {"delta": 0.5}}[name]
    w = slow.opauc(X, y == 1, np.arange(40), **{"alpha": 1e-4, **settings, **extra})
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-8, atol=1e-12)


@every_layout
@pytest.mark.parametrize("sketch", ["centred", "plain"])
@pytest.mark.parametrize("step", [None, 0.01])
def test_opaucr_as_published_is_the_slow_loop(layout, sketch, step):
    X, y = problem()
    model = OPAUC(0.5, step=step, rank=5, sketch=sketch, random_state=3).partial_fit(layout(X), y, classes=[0, 1])
    w = slow.opauc(X, y == 1, np.arange(40), alpha=0.5, step=step, draws=draws(3, 40), sketch=sketch)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-7, atol=1e-12)


@every_method
def test_fit_is_the_stream_of_its_shuffled_rows(name):
    X, y = problem()
    fit = build(name, n_epochs=2, random_state=3).fit(X, y)
    rng = np.random.default_rng(3)
    stream = build(name, random_state=rng)
    for _ in range(2):
        order = (rng if not hasattr(stream, "_rng") else stream._rng).permutation(reference.in_order(X, y == 1))
        stream.partial_fit(X[order], y[order])
    assert (fit.coef_ == stream.coef_).all() and fit.n_iter_ == 2


class SmallDraws(OPAUC):
    def _solver(self):
        return replace(super()._solver(), draws_per_chunk=35)


def test_drawing_in_small_parts_changes_nothing():
    X, y = problem()
    whole = OPAUC(rank=5, random_state=0).fit(X, y)
    assert (SmallDraws(rank=5, random_state=0).fit(X, y).coef_ == whole.coef_).all()


def states(layout, w):
    """A model that has seen all rows, set back to the weights w; and its rows."""
    X, y = problem()
    model = OPAUC(alpha=0.3).partial_fit(layout(X), y, classes=[0, 1])
    rows, _, _ = next(iter(as_table(layout(X)).sweep(np.arange(40))))
    return rows, y, model._state._replace(w=w)


@every_layout
def test_the_mean_gradient_of_either_class_is_that_of_the_objective(layout):
    """That of 1/2 E(1-m)^2 + lambda/2 |w|^2, lambda = alpha/2."""
    w, work = np.array([0.3, -0.2, 0.1, 0.5]), GradientWork(np.empty(4), np.empty(4), np.empty(0))
    rows, y, state = states(layout, w)
    z, share = reference.all_pairs(problem()[0], y == 1)
    expected = -z.T @ (share * (1.0 - z @ w)) + 0.15 * w
    for c in (0, 1):
        found = []
        for i in np.flatnonzero(y == c):
            gradient(rows, i, c, OnePassSteps(GradientRule(1.0, False), 0.15), state, 1.0, work)
            found.append(work.g.copy())
        np.testing.assert_allclose(np.mean(found, axis=0), expected, rtol=1e-10)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_packed_triangles_are_the_covariance_even_far_from_zero(shift):
    X, _ = problem(50, 3)
    scatter, mean, none = FullScatter(np.zeros((2, 6))), np.zeros(3), np.empty(0)
    for k, x in enumerate(X + shift):
        add_to_matrix(scatter, 1, k + 1.0, x - mean, none, none)
        mean = mean + (x - mean) / (k + 1.0)
    out = np.array([10.0, 0.0, 0.0])
    add_covariance_product(scatter, 1, 50.0, np.array([1.0, 2.0, 3.0]), out, none, True)
    np.testing.assert_allclose(out - [10.0, 0.0, 0.0], slow.covariance(X) @ [1.0, 2.0, 3.0], rtol=1e-6)
    assert not scatter.triangles[0].any()


def test_a_long_sketch_is_nearly_the_covariance():
    X, _ = problem(50, 3)
    scatter, mean, work = empty_matrices(3, 20_000), np.zeros(3), np.empty(20_000)
    for k, (x, r) in enumerate(zip(X, draws(0, 50, 20_000), strict=True)):
        add_to_matrix(scatter, 0, k + 1.0, x - mean, r, work)
        mean = mean + (x - mean) / (k + 1.0)
    out = np.zeros(3)
    add_covariance_product(scatter, 0, 50.0, np.array([1.0, 2.0, 3.0]), out, work, True)
    np.testing.assert_allclose(out, slow.covariance(X) @ [1.0, 2.0, 3.0], rtol=0.05)


@pytest.mark.jit
@pytest.mark.parametrize("name", ["OPAUC", "AdaOAM"])
@pytest.mark.parametrize("alpha", [1e-4, 1.0])
def test_they_converge_to_the_exact_optimum(name, alpha):
    X, y = problem(400, 5, seed=3)
    best, away = LeastSquaresAUC(alpha).fit(X, y).coef_, []
    for n_epochs in (1, 8, 64):
        models = [build(name, alpha=alpha, n_epochs=n_epochs, random_state=seed) for seed in range(5)]
        gaps = [np.linalg.norm(model.fit(X, y).coef_ - best) for model in models]
        away.append(np.mean(gaps) / np.linalg.norm(best))
    assert away[1] < 0.7 * away[0] and away[2] < 0.7 * away[1] and away[2] < 0.08


@pytest.mark.jit
def test_a_sketch_comes_near_and_a_longer_one_nearer():
    X, y = problem(2000, 20, seed=3)
    X = X @ np.random.default_rng(0).standard_normal((20, 20))
    best = LeastSquaresAUC().fit(X, y).score(X, y)
    behind = []
    for rank in (5, 200):
        models = [OPAUC(rank=rank, n_epochs=5, random_state=seed).fit(X, y) for seed in range(5)]
        behind.append(best - np.mean([model.score(X, y) for model in models]))
    assert behind[1] < 0.5 * behind[0] and behind[1] < 0.015


@every_method
def test_a_shift_of_all_rows_changes_nothing_but_the_intercept(name):
    X, y = problem()
    a, b = (build(name, random_state=0).fit(X + shift, y) for shift in (0.0, 1e5))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6)
    assert (a.predict(X) == b.predict(X + 1e5)).all()


@every_layout
@every_method
def test_raw_columns_of_any_scale_give_finite_weights(layout, name):
    X, y = problem(100)
    X = layout(X * [1e6, 1.0, 1e-6, 1.0])
    model = build(name, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all() and model.score(X, y) > 0.5
    assert np.isfinite(build(name).partial_fit(X, y).coef_).all()


def test_steps_that_overflow_get_one_sentence_and_change_nothing():
    X, y = problem()
    model = OPAUC(step=1.0, n_epochs=50, random_state=0)
    before = dict(vars(model))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"finite weights.*StandardScaler"):
        model.fit(1e3 * X, y)
    assert vars(model) == before


@every_method
@pytest.mark.parametrize("alpha", [1e3, 1e12, 1e300])
def test_an_overwhelming_penalty_gives_weights_near_zero(name, alpha):
    w = build(name, alpha=alpha, random_state=0).fit(*problem()).coef_
    assert np.isfinite(w).all() and np.abs(w).max() < 0.1


@every_method
def test_rows_all_alike_make_no_step(name):
    assert not build(name, random_state=0).fit(np.full((10, 2), 3.0), np.arange(10) % 2).coef_.any()


def test_delta_may_be_zero():
    X, y = problem()
    X[:, 3] = 1.0
    w = AdaOAM(0.0, delta=0.0, random_state=0).fit(X, y).coef_[0]
    assert np.isfinite(w).all() and w[3] == 0.0 and w[:3].all()


@every_method
def test_one_positive_row_is_enough(name):
    X, _ = problem()
    y = (np.arange(40) == 7).astype(int)
    assert np.isfinite(build(name, random_state=0).fit(X, y).coef_).all()


# --- streams ------------------------------------------------------------------------------------------------


@every_layout
@every_method
def test_other_batches_of_a_stream_give_the_same_bits(layout, name):
    X, y = problem()
    X, models = layout(X), []
    for cuts in ([40], [1] * 40, [3, 17, 1, 19]):
        model, start = build(name, random_state=0), 0
        for size in cuts:
            model.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1])
            start += size
        models.append(model)
    for model in models[1:]:
        assert (model.coef_ == models[0].coef_).all() and (model.intercept_ == models[0].intercept_).all()


@every_layout
@every_method
def test_a_stream_may_bring_all_negatives_first(layout, name):
    X, y = problem(300)
    order = np.argsort(y, kind="stable")
    model = build(name, random_state=0)
    for i in (order[:100], order[100:200], order[200:]):
        model.partial_fit(layout(X[i]), y[i], classes=[0, 1])
        if y[i].max() == 0:
            assert not model.coef_.any() and not model.decision_function(layout(X)).any()
    assert model.score(X, y) > LeastSquaresAUC().fit(X, y).score(X, y) - 0.05


def test_what_is_kept_are_the_class_moments():
    X, y = problem()
    state = OPAUC().partial_fit(X, y)._state
    for c in (0, 1):
        rows = X[y == c]
        np.testing.assert_allclose(state.classes.mean[c], rows.mean(axis=0))
        packed = len(rows) * slow.covariance(rows)[np.tril_indices(4)]
        np.testing.assert_allclose(state.scatter.triangles[c], packed, atol=1e-12)
        assert state.classes.trace[c] == pytest.approx(len(rows) * rows.var(axis=0).sum())


def test_a_stream_cuts_halfway_between_the_class_means():
    X, y = problem()
    model = OPAUC().partial_fit(X, y)
    scores = X @ model.coef_[0]
    assert model.intercept_[0] == pytest.approx(-0.5 * (scores[y == 1].mean() + scores[y == 0].mean()))


@every_method
def test_a_change_of_step_counts_from_the_next_batch(name):
    X, y = problem()
    model = build(name, random_state=0).partial_fit(X, y)
    before = model.coef_.copy()
    moved = np.abs(model.set_params(step=1e-9).partial_fit(X, y).coef_ - before)
    assert 0.0 < moved.max() < 1e-6


@every_layout
def test_too_many_columns_are_refused_and_a_way_out_is_named(layout):
    X, y = layout(np.zeros((4, 8193))), np.arange(4) % 2
    for model in (OPAUC(), AdaOAM()):
        said = rf"{type(model).__name__} .* d = 8193 .*OPAUC\(rank=50\).*SPAM"
        for way in (model.fit, model.partial_fit, model.partial_fit):
            with pytest.raises(ValueError, match=said):
                way(X, y)
    assert OPAUC(rank=2).fit(X, y).coef_.shape == (1, 8193)


# --- manners ------------------------------------------------------------------------------------------------


@every_method
def test_the_same_seed_gives_the_same_bits(name):
    X, y = problem()
    a, b = (build(name, random_state=3).fit(X, y) for _ in range(2))
    assert (a.coef_ == b.coef_).all() and (a.intercept_ == b.intercept_).all()
    assert (a.coef_ != build(name, random_state=4).fit(X, y).coef_).any()


def test_weights_are_not_the_state():
    model = OPAUC(random_state=0).fit(*problem())
    model.coef_[:] = 7.0
    assert (model._state.w != 7.0).all()


def test_long_indices_change_nothing():
    X, y = problem()
    X = sparse.csr_array(X.astype(np.float32))
    long = X.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    a, b = (OPAUC(random_state=0).fit(table, y) for table in (X, long))
    assert (a.coef_ == b.coef_).all()
    assert a.coef_.dtype == np.float64 and a.decision_function(X).dtype == np.float32


def test_papers_names():
    assert make("OPAUCr").rank == 50 and make("OPAUC").rank is None and isinstance(make("adaoam"), AdaOAM)


@pytest.mark.parametrize("wrong", [{"alpha": -1.0}, {"step": 0.0}, {"rank": 0}, {"rank": 2.5}], ids=str)
def test_parameters_out_of_range_are_named(wrong):
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of OPAUC must be"):
        OPAUC(**wrong).fit(*problem())


@pytest.mark.parametrize("name", ["OPAUC", "AdaOAM"])
def test_a_row_alone_is_learnt_without_a_copy_of_the_covariances_and_a_bad_one_changes_nothing(name):
    X, y = problem()
    model = build(name, step=None if name == "OPAUC" else 0.1, random_state=0).partial_fit(X, y)
    scatter = model._state.scatter.triangles
    model.partial_fit(X[:1], y[:1])
    assert model._state.scatter.triangles is scatter
    before, w = copy_state(model._state), model.coef_.copy()
    with pytest.raises(ValueError, match="Scale the columns"):
        model.partial_fit(np.full((1, 4), 1e200), [1])
    assert model._state.scatter.triangles is scatter and (model.coef_ == w).all()
    for now, then in zip(leaves(model._state), leaves(before), strict=True):
        np.testing.assert_array_equal(now, then)
    fresh = build(name, step=None if name == "OPAUC" else 0.1, random_state=0).partial_fit(X, y)
    fresh.partial_fit(np.vstack([X[:1], X]), np.append(y[:1], y))
    assert (model.partial_fit(X, y).coef_ == fresh.coef_).all()


@pytest.mark.parametrize("step", [1.0, 1e60])
def test_a_step_that_may_overflow_is_made_on_a_copy(step):
    X, y = problem()
    model = OPAUC(step=step, random_state=0)
    model.partial_fit(X[:2], y[:2], classes=[0, 1])
    failed = 0
    for i in range(2, 400):
        before, scatter = copy_state(model._state), model._state.scatter.triangles
        try:
            model.partial_fit(1e3 * X[[i % 40]], y[[i % 40]])
        except ValueError:
            failed += 1
            assert model._state.scatter.triangles is scatter
            for now, then in zip(leaves(model._state), leaves(before), strict=True):
                np.testing.assert_array_equal(now, then)
    assert failed and np.isfinite(model.coef_).all()
