"""SOLAM and FSAUC against slow loops by the book, against the exact optimum, and in every kind of stream."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

import reference
import reference_square as slow
from auclid import FSAUC, SOLAM, LeastSquaresAUC, make
from auclid.data import as_table
from auclid.solvers.averaging import current_weights
from auclid.solvers.fsauc import n_stages, project_to_l1_ball, stage_orders
from auclid.solvers.saddle import expected_ascent, saddle_step
from auclid.stats.epochs import EpochSampler
from reference_square import problem

LAYOUTS = {"dense": np.asarray, "CSR float32": lambda X: sparse.csr_array(X.astype(np.float32))}
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
SETTINGS = [{}, {"alpha": 0.1}, {"radius": 0.1}, {"zeta": 0.3}, {"zeta": 0.3, "radius": 0.1, "alpha": 0.1}]
every_setting = pytest.mark.parametrize("settings", SETTINGS, ids=str)
binding = pytest.mark.filterwarnings("ignore:The radius of")


@binding
@every_layout
@every_setting
@pytest.mark.parametrize("stream", [False, True])
def test_solam_is_the_slow_loop(layout, settings, stream):
    X, y = problem()
    X, model = layout(X), SOLAM(**settings, n_epochs=2, shuffle=False)
    model = model.partial_fit(X, y, classes=[0, 1]) if stream else model.fit(X, y)
    order = np.tile(np.arange(40), 1 if stream else 2)
    centred = not sparse.issparse(X)
    mean, last, met = slow.solam(X, y == 1, order, centred=centred, stream=stream, **settings)
    np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(current_weights(model._state.iterate), last, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model._state.w_square, last @ last, rtol=1e-8)
    assert (met > 0) == ("radius" in settings)


@binding
@every_layout
@pytest.mark.parametrize("radius", [None, 0.1])
def test_fsauc_is_the_slow_loop(layout, radius):
    X, y = problem()
    X, model = layout(X), FSAUC(radius, n_epochs=9, random_state=3).fit(layout(X), y)
    orders = list(stage_orders(np.random.default_rng(3), EpochSampler(as_table(X), y == 1), 9, n_stages(360)))
    w, met, _ = slow.fsauc(X, y == 1, orders, centred=not sparse.issparse(X), radius=radius)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-8, atol=1e-12)
    assert (met > 0) == (radius is not None) and model.n_iter_ == len(orders) == 2


@binding
@every_layout
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("radius", [None, 0.1])
@pytest.mark.parametrize("step", [None, 0.02])
def test_fsauc_as_published_is_the_slow_loop(layout, norm, radius, step):
    X, y = problem()
    X, model = layout(X), FSAUC(radius, step=step, norm=norm, n_epochs=9, random_state=3).fit(layout(X), y)
    orders = list(stage_orders(np.random.default_rng(3), EpochSampler(as_table(X), y == 1), 9, n_stages(360)))
    how = {"centred": not sparse.issparse(X), "radius": radius, "step": step, "norm": norm}
    w, met, _ = slow.fsauc(X, y == 1, orders, **how)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-7, atol=1e-12)
    assert (met > 0) == (radius is not None)
    assert np.linalg.norm(model.coef_[0], 1 if norm == "l1" else 2) <= model.radius_ * (1.0 + 1e-12)


def test_a_stage_keeps_to_its_ball():
    """R_k is far above the way of a stage in practice: here there are so many stages that some are pulled back."""
    X, y = problem()
    orders = np.tile(np.arange(40), (8, 1))
    model = FSAUC(0.02)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("auclid.square.fsauc.n_stages", lambda n: 8)
        patch.setattr("auclid.square.fsauc.stage_orders", lambda *_: iter(orders))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
    w, _, pulled = slow.fsauc(X, y == 1, orders, centred=True, radius=0.02)
    assert pulled > 0
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-7)


def test_stages_are_those_of_the_paper_and_meet_every_row_equally_often():
    assert [n_stages(n) for n in (2, 100, 5000, 300_000)] == [1, 1, 3, 6]
    rows = EpochSampler(as_table(np.zeros((30, 1))), np.arange(30) < 5)
    orders = list(stage_orders(np.random.default_rng(0), rows, 8, 3))
    assert [len(order) for order in orders] == [80, 80, 80]
    assert (np.bincount(np.concatenate(orders)) == 8).all()


@pytest.mark.parametrize("positive", [True, False])
def test_a_step_follows_the_derivatives_of_the_saddle_function(positive):
    x, w = np.array([0.5, -2.0]), np.array([0.3, 0.4])
    point, p, step, tiny = np.array([-0.3, 0.7, -0.2]), 0.3, 1e-3, 1e-6  # b, a, alpha

    def value(w, b, a, alpha):
        return slow.saddle_value(w, a, b, alpha, x, positive, p)

    def slope(k):
        up, down = (value(w, *(point + sign * tiny * (np.arange(3) == k))) for sign in (1, -1))
        return (up - down) / (2 * tiny)

    saddle = point.copy()
    move = saddle_step(w @ x, x @ x, int(positive), p, step, 1.0, False, saddle)
    along = (value(w + tiny * x, *point) - value(w - tiny * x, *point)) / (2 * tiny)
    np.testing.assert_allclose(move * (x @ x), -step * along, rtol=1e-6)
    np.testing.assert_allclose(saddle - point, step * np.array([-slope(0), -slope(1), slope(2)]), atol=1e-9)


def test_the_expected_ascent_is_the_mean_over_rows():
    X, y = problem()
    is_pos, p, w, alpha, step = y == 1, y.mean(), np.array([0.3, -0.2, 0.1, 0.5]), -0.2, 1e-6
    m = np.array([X[~is_pos].mean(axis=0) @ w, X[is_pos].mean(axis=0) @ w])
    slopes = [slow.saddle_gradient(w, 0.0, 0.0, alpha, x, c, p)[3] for x, c in zip(X, is_pos, strict=True)]
    assert (expected_ascent(alpha, m, p, step) - alpha) / step == pytest.approx(np.mean(slopes), rel=1e-5)


def test_the_saddle_point_is_the_least_pair_loss():
    """At a = w.mu+, b = w.mu-, alpha = b - a, the mean over rows is p(1-p) (E(1-m)^2 - 1)."""
    X, y = problem()
    is_pos, p, w = y == 1, y.mean(), np.array([0.3, -0.2, 0.1, 0.5])
    a, b = X[is_pos].mean(axis=0) @ w, X[~is_pos].mean(axis=0) @ w
    mean = np.mean([slow.saddle_value(w, a, b, b - a, x, c, p) for x, c in zip(X, is_pos, strict=True)])
    assert mean == pytest.approx(p * (1 - p) * (reference.pair_objective(w, X, is_pos, 0.0) - 1.0))


def distances(make_model, best, X, y, epochs=(1, 8, 64)):
    """Relative distance to the best weights after so many epochs, a mean over seeds."""
    found = []
    for n_epochs in epochs:
        models = [make_model(n_epochs=n_epochs, random_state=seed).fit(X, y) for seed in range(3)]
        found.append(np.mean([np.linalg.norm(m.coef_[0] - best) for m in models]) / np.linalg.norm(best))
    return found


@pytest.mark.jit
@pytest.mark.parametrize("name", ["SOLAM", "SOLAM-L2", "FSAUC"])
def test_they_converge_to_the_exact_optimum(name):
    X, y = problem(400, 5, seed=3)
    settings = {"alpha": 0.1} if name == "SOLAM-L2" else {}
    best = LeastSquaresAUC(settings.get("alpha", 0.0)).fit(X, y).coef_[0]
    away = distances(lambda **how: make(name, **settings, **how), best, X, y)
    assert away[1] < 0.7 * away[0] and away[2] < 0.7 * away[1] and away[2] < 0.03


@pytest.mark.jit
@binding
@pytest.mark.parametrize("method", [SOLAM, FSAUC])
def test_a_small_ball_gives_the_optimum_within_it(method):
    """On the sphere the optimum solves (A + mu I) w = b for the mu that makes |w| = radius."""
    X, y = problem(400, 5, seed=3)
    radius = 0.5 * np.linalg.norm(LeastSquaresAUC(0.0).fit(X, y).coef_)
    low, high = 0.0, 1e3
    for _ in range(60):
        w = LeastSquaresAUC(0.5 * (low + high)).fit(X, y).coef_[0]
        low, high = (0.5 * (low + high), high) if np.linalg.norm(w) > radius else (low, 0.5 * (low + high))
    said = rf"The radius of {method.__name__} must exceed .* <= {radius:.3g}"
    with pytest.warns(ConvergenceWarning, match=said):
        model = method(radius, n_epochs=64, random_state=0).fit(X, y)
    assert np.linalg.norm(model.coef_) <= radius * (1 + 1e-9) and model.radius_ == radius
    assert np.linalg.norm(model.coef_[0] - w) < 0.05 * radius


def test_the_default_radius_is_generous_and_says_nothing():
    X, y = problem(400, 5, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = [SOLAM(random_state=0).fit(X, y), FSAUC(random_state=0).fit(X, y), SOLAM().partial_fit(X, y)]
    for model in models:
        assert model.radius_ == pytest.approx(30.0 / np.sqrt(X.var(axis=0).sum()))
    assert SOLAM(alpha=0.1).fit(X, y).radius_ == np.inf


@pytest.mark.parametrize("method", [SOLAM, FSAUC])
def test_a_shift_of_dense_rows_changes_nothing_but_the_intercept(method):
    X, y = problem()
    a, b = (method(random_state=0).fit(X + shift, y) for shift in (0.0, 1e5))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6)
    assert (a.predict(X) == b.predict(X + 1e5)).all()


@pytest.mark.parametrize("method", [SOLAM, FSAUC])
def test_another_unit_of_the_rows_changes_nothing_but_the_unit_of_the_weights(method):
    X, y = problem()
    a, b = (method(random_state=0).fit(unit * X, y) for unit in (1.0, 1e6))
    np.testing.assert_allclose(a.coef_, 1e6 * b.coef_, rtol=1e-9)


@binding
@every_layout
@pytest.mark.parametrize("name", ["SOLAM", "SOLAM-L2", "FSAUC"])
def test_raw_columns_of_any_scale_give_finite_weights(layout, name):
    X, y = problem(100)
    X = layout(X * [1e6, 1.0, 1e-6, 1.0])
    model = make(name, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all() and model.score(X, y) > 0.5
    if name != "FSAUC":
        assert np.isfinite(make(name).partial_fit(X, y).coef_).all()
    if name == "SOLAM":
        assert np.isfinite(SOLAM(zeta=1.0, random_state=0).fit(X, y).coef_).all()


def test_steps_that_overflow_get_one_sentence_and_change_nothing():
    """Without a ball, the published steps are those of rows of length one or so."""
    X, y = problem()
    model = SOLAM(zeta=1.0, alpha=1e-4, n_epochs=50, random_state=0)
    before = dict(vars(model))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"finite weights.*StandardScaler"):
        model.fit(1e3 * X, y)
    assert vars(model) == before


@pytest.mark.parametrize("alpha", [1e3, 1e12, 1e308])
def test_an_overwhelming_penalty_gives_weights_near_zero(alpha):
    w = SOLAM(alpha=alpha, random_state=0).fit(*problem()).coef_
    assert np.isfinite(w).all() and np.abs(w).max() < 0.1


@pytest.mark.parametrize("method", [SOLAM, FSAUC])
def test_rows_all_alike_make_no_step(method):
    assert not method(random_state=0).fit(np.full((10, 2), 3.0), np.arange(10) % 2).coef_.any()


@pytest.mark.parametrize("method", [SOLAM, FSAUC])
def test_rows_without_entries_are_rows(method):
    X, y = problem()
    X[::3] = 0.0
    model = method(random_state=0).fit(sparse.csr_array(X.astype(np.float32)), y)
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("method", [SOLAM, FSAUC])
def test_one_positive_row_is_enough(method):
    X, y = problem()
    y = (np.arange(40) == 7).astype(int)
    assert np.isfinite(method(random_state=0).fit(X, y).coef_).all()


# --- streams ------------------------------------------------------------------------------------------------


@binding
@every_layout
@every_setting
def test_other_batches_of_a_stream_give_the_same_bits(layout, settings):
    X, y = problem()
    X, models = layout(X), []
    for cuts in ([40], [1] * 40, [3, 17, 1, 19]):
        model, start = SOLAM(**settings), 0
        for size in cuts:
            model.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1])
            start += size
        models.append(model)
    for model in models[1:]:
        assert (model.coef_ == models[0].coef_).all() and (model.intercept_ == models[0].intercept_).all()


@every_layout
@pytest.mark.parametrize("name", ["SOLAM", "SOLAM-L2"])
def test_a_stream_may_bring_all_negatives_first(layout, name):
    """Rows without a centre (CSR) lose a little more: one class at a time, they pull w along its mean."""
    X, y = problem(300)
    order = np.argsort(y, kind="stable")
    model = make(name)
    for i in (order[:100], order[100:200], order[200:]):
        model.partial_fit(layout(X[i]), y[i], classes=[0, 1])
        if y[i].max() == 0:
            assert not model.coef_.any() and not model.decision_function(layout(X)).any()
    behind = 0.05 if sparse.issparse(layout(X)) else 0.03
    assert model.score(X, y) > LeastSquaresAUC().fit(X, y).score(X, y) - behind


def test_a_stream_of_dense_rows_may_bring_all_positives_first():
    X, y = problem(300)
    order = np.argsort(-y, kind="stable")
    model = SOLAM().partial_fit(X[order], y[order])
    assert model.score(X, y) > LeastSquaresAUC().fit(X, y).score(X, y) - 0.03


def test_partial_fit_goes_on_after_fit():
    X, y = problem(200)
    model = SOLAM(random_state=0).fit(X[:100], y[:100])
    t = model._state.t
    model.partial_fit(X[100:], y[100:])
    assert model._state.t == t + 100
    np.testing.assert_allclose(model._state.means.total, [X[y == 0].sum(axis=0), X[y == 1].sum(axis=0)])
    w = current_weights(model._state.iterate)
    np.testing.assert_allclose(model._state.w_square, w @ w, rtol=1e-9)
    means = [(X[y == c] - X.mean(axis=0)).mean(axis=0) for c in (0, 1)]
    np.testing.assert_allclose(model._state.projections, means @ w, rtol=1e-9)
    assert model.score(X, y) > LeastSquaresAUC().fit(X, y).score(X, y) - 0.02


def test_fsauc_has_no_stream():
    assert not hasattr(FSAUC, "partial_fit")


# --- manners ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [SOLAM, FSAUC])
def test_the_same_seed_gives_the_same_bits(method):
    X, y = problem()
    a, b = (method(random_state=3).fit(X, y) for _ in range(2))
    assert (a.coef_ == b.coef_).all() and (a.intercept_ == b.intercept_).all()
    assert (a.coef_ != method(random_state=4).fit(X, y).coef_).any()


@pytest.mark.parametrize("method", [SOLAM, FSAUC])
def test_long_indices_and_a_read_only_table_change_nothing(method):
    X, y = problem()
    X = sparse.csr_array(X.astype(np.float32))
    long = X.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    long.data.flags.writeable = False
    a, b = (method(random_state=0).fit(table, y) for table in (X, long))
    assert (a.coef_ == b.coef_).all()
    assert a.coef_.dtype == np.float64 and a.decision_function(X).dtype == np.float32


@pytest.mark.parametrize("wrong", [{"radius": 0.0}, {"zeta": 0.0}, {"alpha": -1.0}], ids=str)
def test_parameters_out_of_range_are_named(wrong):
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of SOLAM must be"):
        SOLAM(**wrong).fit(*problem())


def test_the_step_in_use_is_kept():
    X, y = problem()
    p, square = y.mean(), ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
    chosen = SOLAM(random_state=0).fit(X, y)
    np.testing.assert_allclose(chosen.zeta_, 2.0 / (4.0 * p * (1.0 - p) * square))
    assert SOLAM(zeta=0.1, random_state=0).fit(X, y).zeta_ == 0.1


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8), st.integers(1, 30), st.sampled_from([0.1, 0.3, 1.0]))
def test_the_projection_onto_the_l1_ball_is_that_of_sorted_entries(entries, radius, unit):
    """Entries on a grid are equal to the cut up to rounding, where a cut that rises might go back and forth."""
    w, radius = unit * np.array(entries, dtype=np.float64), unit * radius
    sizes = np.sort(np.abs(w))[::-1]
    cuts = (np.cumsum(sizes) - radius) / np.arange(1, len(w) + 1)
    cut = max(0.0, cuts[sizes > cuts].max(initial=0.0)) if sizes.sum() > radius else 0.0
    found, behind = w.copy(), np.zeros(len(w))
    assert project_to_l1_ball(found, behind, 2.0, radius) == (np.abs(w).sum() > radius)
    np.testing.assert_allclose(found, np.sign(w) * np.maximum(np.abs(w) - cut, 0.0), atol=1e-12)
    np.testing.assert_allclose(behind, 2.0 * (found - w), atol=1e-12)


# --- the duality gap


def saddle_mean(w, a, b, dual, X, is_pos):
    return np.mean([slow.saddle_value(w, a, b, dual, x, c, is_pos.mean()) for x, c in zip(X, is_pos, strict=True)])


@binding
@pytest.mark.parametrize("settings", [{"radius": 0.3}, {"radius": 5.0}, {"alpha": 0.2}], ids=str)
def test_the_duality_gap_is_that_of_the_saddle_function(settings):
    X, y = problem()
    is_pos, alpha, p = y == 1, settings.get("alpha", 0.0), np.mean(y)
    model = SOLAM(**settings, zeta=0.5, n_epochs=3, random_state=0).fit(X, y)
    w, penalty = model.coef_[0], p * (1 - p) * alpha / 2
    longest = np.linalg.norm(X, axis=1).max()
    duals = np.linspace(-2, 2, 4001) * min(model.radius_ * longest, 3.0)
    highest = max(saddle_mean(w, model.a_, model.b_, dual, X, is_pos) for dual in duals) + penalty * w @ w

    def primal(v):
        v = slow.into_ball(v[:4], model.radius_) if np.isfinite(model.radius_) else v[:4]
        a, b = v @ X[is_pos].mean(axis=0), v @ X[~is_pos].mean(axis=0)
        return saddle_mean(v, a, b, model.dual_, X, is_pos) + penalty * v @ v

    lowest = min(optimize.minimize(primal, start, tol=1e-12).fun for start in (w, -w, np.ones(4)))
    assert model.duality_gap(X, y) == pytest.approx(highest - lowest, rel=1e-4)


def test_the_duality_gap_vanishes_at_the_saddle_point_only():
    X, y = problem()
    exact = LeastSquaresAUC(alpha=0.2).fit(X, y).coef_[0]
    model = SOLAM(alpha=0.2, random_state=0).fit(X, y)
    before = model.duality_gap(X, y)
    model.coef_ = exact[None]
    model.a_, model.b_ = (float(exact @ X[y == c].mean(axis=0)) for c in (1, 0))
    model.dual_ = model.b_ - model.a_
    assert 0.0 <= model.duality_gap(X, y) + 1e-14 < 1e-12 < before


def test_the_averages_do_not_depend_on_the_centre():
    """(a, b) of rows that are not centred: at the optimum the projected class means."""
    X, y = problem()
    X = X + 3.0
    stream = SOLAM().partial_fit(np.tile(X, (300, 1)), np.tile(y, 300))
    for model in (SOLAM(n_epochs=300, random_state=0).fit(X, y), stream):
        means = [model.coef_[0] @ X[y == c].mean(axis=0) for c in (1, 0)]
        np.testing.assert_allclose([model.a_, model.b_], means, atol=0.03)
