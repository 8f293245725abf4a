"""SPAM against a slow loop by the book, against the exact optimum, and in every kind of stream."""

import numpy as np
import pytest
from scipy import sparse

import reference
from auclid import SPAM, LeastSquaresAUC
from auclid.data import as_table
from auclid.penalties import L2, Ball, ElasticNet, prox
from auclid.schedules import Constant, Harmonic, Power, rate
from auclid.solvers import proximal
from auclid.solvers.averaging import current_weights
from auclid.solvers.stream import Batch, copy_state
from auclid.stats.class_means import first_pass

LAYOUTS = {"dense": np.asarray, "CSR float32": lambda X: sparse.csr_array(X.astype(np.float32))}
every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
PENALTIES = {
    "l2": ({"alpha": 0.1}, L2(0.1)),
    "net": ({"alpha": 0.1, "l1": 0.05}, ElasticNet(0.05, 0.1)),
    "ball": ({"penalty": Ball(0.2)}, Ball(0.2)),
    "struct": ({"penalty": ElasticNet(0.05, 1)}, ElasticNet(0.05, 1.0)),
}
every_penalty = pytest.mark.parametrize(("settings", "penalty"), PENALTIES.values(), ids=PENALTIES)


def problem(n=40, d=4, seed=0, share=0.3, shift=0.5):
    """Rows on a grid that float32 holds exactly, not centred, classes mixed in time."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, d)) * 16) / 16 * (rng.random((n, d)) < 0.8) + shift * (
        np.arange(d) == 1
    )
    y = (rng.permutation(n) < share * n).astype(int)
    X[:, 0] += y
    return X, y


def shrinking(penalty):
    def shrink(w, step):
        w = w.copy()
        prox(penalty, w, step)
        return w

    return shrink


def by_the_book(X, y, penalty, order, schedule=None, **how):
    schedule = schedule or Power(1.0, 0.5)
    centred = not sparse.issparse(X)
    return reference.spam(
        X, y == 1, order, lambda t: rate(schedule, float(t)), shrinking(penalty), centred=centred, **how
    )


@every_layout
@every_penalty
@pytest.mark.parametrize("average", [True, False])
def test_fit_is_the_slow_loop(layout, settings, penalty, average):
    X, y = problem()
    model = SPAM(**settings, n_epochs=2, shuffle=False, average=average).fit(layout(X), y)
    last, mean = by_the_book(layout(X), y, penalty, np.tile(np.arange(40), 2))
    np.testing.assert_allclose(model.coef_[0], mean if average else last, rtol=1e-9, atol=1e-12)
    assert model.n_iter_ == 2


@every_layout
@every_penalty
@pytest.mark.parametrize("average", [True, False])
def test_a_stream_is_the_slow_loop(layout, settings, penalty, average):
    X, y = problem()
    model = SPAM(**settings, average=average).partial_fit(layout(X), y, classes=[0, 1])
    last, mean = by_the_book(layout(X), y, penalty, np.arange(40), stream=True)
    np.testing.assert_allclose(model.coef_[0], mean if average else last, rtol=1e-8, atol=1e-11)


SCHEDULES = {
    "auto": ("auto", Power(1.0, 0.5), {}),
    "sqrt": ("sqrt", Power(1.0, 0.5), {}),
    "constant": ("constant", Constant(0.1), {}),
    "a power": (Power(0.3, 0.75), Power(0.3, 0.75), {"relative": False}),
    "integers": (Constant(1), Constant(1.0), {"relative": False}),
    "harmonic": (Harmonic(1.0, 5.0), Harmonic(1.0, 5.0), {"relative": False}),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("name", "schedule", "how"), SCHEDULES.values(), ids=SCHEDULES)
def test_every_schedule(name, schedule, how, stream):
    X, y = problem()
    model = SPAM(0.1, schedule=name, n_epochs=1, shuffle=False)
    w = (model.partial_fit(X, y) if stream else model.fit(X, y)).coef_[0]
    expected = by_the_book(X, y, L2(0.1), np.arange(40), schedule, stream=stream, **how)[1]
    np.testing.assert_allclose(w, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("schedule", [Power(0.3, 0.75), Constant(0.05)])
def test_any_schedule_without_the_guard_is_the_published_step(schedule):
    X, y = problem()
    model = SPAM(0.1, schedule=schedule, guard=False, average=False, n_epochs=1, shuffle=False).fit(X, y)
    expected = by_the_book(X, y, L2(0.1), np.arange(40), schedule, relative=False, guard=False)[0]
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", ["thm2", "thm3"])
def test_the_schedules_of_the_theorems_are_faithful(name):
    X, y = problem()
    alpha, p = 2.0, y.mean()
    beta, longest = p * (1 - p) * alpha, np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    steps = {
        "thm2": lambda t: beta / (128 * longest**4) / np.sqrt(t),
        "thm3": lambda t: 1.0 / (beta / (1 + beta**2 / (128 * longest**4)) ** 2 * (t + 1)),
    }
    model = SPAM(alpha, schedule=name, n_epochs=1, shuffle=False, average=False).fit(X, y)
    how = {"centred": True, "relative": False, "guard": False}
    expected = reference.spam(X, y == 1, np.arange(40), steps[name], shrinking(L2(alpha)), **how)[0]
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-8)
    for model in (SPAM(0.0, schedule=name), SPAM(penalty=L2(1.0), schedule=name)):
        with pytest.raises(ValueError, match=f"schedule='{name}' of SPAM must know max .x. and alpha > 0"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="use fit"):
        SPAM(schedule=name).partial_fit(X, y)


def test_lemma_1_the_gradient_is_unbiased():
    """E[g] = p(1-p) times the gradient of the mean over all pairs."""
    X, y = problem()
    is_pos, p, w = y == 1, y.mean(), np.array([0.3, -0.2, 0.1, 0.5])
    means = X[is_pos].mean(axis=0), X[~is_pos].mean(axis=0)
    mean = np.mean(
        [reference.spam_gradient(w, x, c, p, *means) for x, c in zip(X, is_pos, strict=True)], axis=0
    )
    z, share = reference.all_pairs(X, is_pos)
    np.testing.assert_allclose(mean, p * (1 - p) * (-2.0 * z.T @ (share * (1.0 - z @ w))), rtol=1e-12)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
def test_lemma_1_holds_in_the_kernel(layout):
    """One small step from the same w on each row in turn: the mean move is the gradient over all pairs."""
    X, y = problem()
    step, start = (
        1e-6,
        SPAM(0.0, schedule=Constant(0.05), n_epochs=1, shuffle=False, average=False).fit(layout(X), y),
    )
    start.set_params(schedule=Constant(step))
    table, rng, w, moves = as_table(layout(X)), np.random.default_rng(0), start.coef_[0], []
    summary = first_pass(table, y == 1, products=True)
    solver = start._fit_solver(summary)
    for i in range(len(X)):
        state = solver.update(Batch(table, y == 1, np.array([i]), rng, summary), copy_state(start._state))
        moves.append((w - current_weights(state.iterate)) / step)
    z, share = reference.all_pairs(X, y == 1)
    p = y.mean()
    expected = p * (1 - p) * (-2.0 * z.T @ (share * (1.0 - z @ w)))
    np.testing.assert_allclose(np.mean(moves, axis=0), expected, rtol=1e-4, atol=1e-6)


def distances(epochs, seeds=3, **settings):
    """Relative distance to the exact optimum after so many epochs, a mean over seeds."""
    X, y = problem(400, 5, seed=3)
    best = LeastSquaresAUC(settings.get("alpha", 1e-4), l1=settings.get("l1", 0.0), tol=1e-10).fit(X, y).coef_
    found = []
    for n_epochs in epochs:
        models = [SPAM(**settings, n_epochs=n_epochs, random_state=seed).fit(X, y) for seed in range(seeds)]
        found.append(np.mean([np.linalg.norm(m.coef_ - best) for m in models]) / np.linalg.norm(best))
    return np.array(found)


@pytest.mark.jit
@pytest.mark.parametrize("settings", [{"alpha": 0.1}, {"alpha": 0.1, "l1": 0.05}, {"alpha": 1e-4}], ids=str)
def test_it_converges_to_the_exact_optimum(settings):
    away = distances([1, 8, 64], **settings)
    assert away[1] < 0.7 * away[0] and away[2] < 0.7 * away[1] and away[2] < 0.03


@pytest.mark.jit
def test_the_last_iterate_falls_at_about_the_proven_rate():
    """Theorem 3: with steps ~ 1/(beta t) on rows drawn independently, E|w_T - w*|^2 = O(log T / T)."""
    X, y = problem(400, 5, seed=3)
    alpha, p = 1.0, y.mean()
    model = SPAM(alpha, schedule=Harmonic(1.0 / (p * (1 - p) * alpha), 200.0))
    best, table, lengths = LeastSquaresAUC(alpha).fit(X, y).coef_[0], as_table(X), 1000 * 4 ** np.arange(4)
    summary, squares = first_pass(table, y == 1, products=True), np.zeros(4)
    solver = model._fit_solver(summary)
    for seed in range(20):
        state, done = solver.init_fit(summary), 0
        for k, length in enumerate(lengths):
            rng = np.random.default_rng([seed, k])
            order = rng.integers(0, 400, length - done)
            state, done = solver.update(Batch(table, y == 1, order, rng, summary), state), length
            squares[k] += np.sum((current_weights(state.iterate) - best) ** 2)
    power = np.polyfit(np.log(lengths), np.log(squares), 1)[0]
    assert -1.3 < power < -0.8


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("stream", [False, True])
def test_lazy_scaling_is_the_dense_step_of_an_elastic_net_without_l1(layout, stream):
    X, y = problem()
    coefs = []
    for penalty in (L2(0.3), ElasticNet(0.0, 0.3)):
        model = SPAM(penalty=penalty, n_epochs=3, random_state=0)
        coefs.append((model.partial_fit(layout(X), y) if stream else model.fit(layout(X), y)).coef_)
    np.testing.assert_allclose(*coefs, rtol=1e-9, atol=1e-13)


def test_a_shift_of_dense_rows_changes_nothing_but_the_intercept():
    X, y = problem()
    a, b = (SPAM(random_state=0).fit(X + shift, y) for shift in (0.0, 1e5))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6)
    assert (a.predict(X) == b.predict(X + 1e5)).all()


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("schedule", ["auto", "constant", Constant(1.0)], ids=str)
@pytest.mark.parametrize("l1", [0.0, 1e-3])
def test_raw_columns_of_any_scale_give_finite_weights(layout, schedule, l1):
    X, y = problem(100)
    X = X * [1e6, 1.0, 1e-6, 1.0]
    model = SPAM(l1=l1, schedule=schedule, random_state=0)
    assert np.isfinite(model.fit(layout(X), y).coef_).all()
    assert np.isfinite(SPAM(l1=l1, schedule=schedule).partial_fit(layout(X), y).coef_).all()
    assert isinstance(schedule, Constant) or model.score(layout(X), y) > 0.5


def test_steps_that_overflow_get_one_sentence_and_change_nothing():
    """Theorem 3's steps are those of a row of length one or so: on long rows they grow without bound."""
    X, y = problem()
    model = SPAM(1e-4, schedule="thm3", n_epochs=50, random_state=0)
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match=r"must end with finite weights.*StandardScaler"),
    ):
        model.fit(1e3 * X, y)
    assert vars(model) == vars(SPAM(1e-4, schedule="thm3", n_epochs=50, random_state=0))


@pytest.mark.parametrize("alpha", [1e3, 1e12, 1e100, 1e308])
def test_an_overwhelming_penalty_gives_weights_near_zero(alpha):
    X, y = problem()
    for average in (True, False):
        w = SPAM(alpha, average=average, random_state=0).fit(X, y).coef_
        assert np.isfinite(w).all() and np.abs(w).max() < 0.1


def test_rows_all_alike_make_no_step():
    model = SPAM(random_state=0).fit(np.full((10, 2), 3.0), np.arange(10) % 2)
    assert not model.coef_.any()


# --- streams --------------------------------------------------------------------------------------


@every_layout
@every_penalty
def test_other_batches_of_a_stream_give_the_same_bits(layout, settings, penalty):
    X, y = problem()
    X = layout(X)
    models = []
    for cuts in ([40], [1] * 40, [3, 17, 1, 19]):
        model, start = SPAM(**settings), 0
        for size in cuts:
            model.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1])
            start += size
        models.append(model)
    for model in models[1:]:
        assert (model.coef_ == models[0].coef_).all() and (model.intercept_ == models[0].intercept_).all()


@every_layout
def test_a_stream_may_bring_all_negatives_first(layout):
    X, y = problem(300)
    order = np.argsort(y, kind="stable")
    model = SPAM()
    for i in (order[:100], order[100:200], order[200:]):
        model.partial_fit(layout(X[i]), y[i], classes=[0, 1])
        if y[i].max() == 0:
            assert not model.coef_.any() and not model.decision_function(layout(X)).any()
    best = LeastSquaresAUC().fit(X, y).score(X, y)
    assert model.score(layout(X), y) > best - 0.05


def test_a_stream_cuts_halfway_between_the_class_means():
    X, y = problem()
    model = SPAM().partial_fit(X, y)
    scores = X @ model.coef_[0]
    assert model.intercept_[0] == pytest.approx(-0.5 * (scores[y == 1].mean() + scores[y == 0].mean()))


def test_partial_fit_goes_on_after_fit():
    """The means of all rows are known by then; new rows enter them."""
    X, y = problem(200)
    model = SPAM(random_state=0).fit(X[:100], y[:100])
    model.partial_fit(X[100:], y[100:])
    np.testing.assert_allclose(model._state.means.total, [X[y == 0].sum(axis=0), X[y == 1].sum(axis=0)])
    seen, w = model._state.means, current_weights(model._state.iterate)
    np.testing.assert_allclose(seen.n, np.bincount(y))
    means = seen.total / seen.n[:, None] - seen.centre
    np.testing.assert_allclose(model._state.projections, means @ w, rtol=1e-8)


def kept_projections(model):
    """a_c = w . (mu_c - centre), as kept up to date and worked out anew."""
    seen = model._state.means
    means = seen.total / seen.n[:, None] - seen.centre
    return model._state.projections, means @ current_weights(model._state.iterate)


@pytest.mark.parametrize("change", [{"l1": 0.01}, {"l1": 0.0}, {"alpha": 1.0}, {"average": False}], ids=str)
def test_parameters_may_change_within_a_stream(change):
    X, y = problem(120)
    model = SPAM(0.5, l1=0.0 if change.get("l1") else 0.01).partial_fit(X[:60], y[:60])
    model.set_params(**change).partial_fit(X[60:], y[60:])
    last = reference_with_change(X, y, model, change)
    np.testing.assert_allclose(current_weights(model._state.iterate), last, rtol=1e-8, atol=1e-12)


def reference_with_change(X, y, model, change):
    before = ElasticNet(0.0 if change.get("l1") else 0.01, 0.5)
    after = ElasticNet(model.l1, model.alpha)
    count = iter(range(10**6))
    # Rows before both classes were seen make no step.
    used = int(np.flatnonzero(np.minimum(np.cumsum(y), np.cumsum(1 - y)) > 0)[0])

    def shrink(w, step):
        return shrinking(before if next(count) + used < 60 else after)(w, step)

    return reference.spam(X, y == 1, np.arange(120), lambda t: t**-0.5, shrink, centred=True, stream=True)[0]


def test_dense_and_sparse_batches_may_alternate():
    X, y = problem(120, shift=3.0)
    model = SPAM()
    for k, part in enumerate(np.split(np.arange(120), 6)):
        model.partial_fit(
            sparse.csr_array(X[part]) if k in (0, 2, 3, 5) else X[part], y[part], classes=[0, 1]
        )
        np.testing.assert_allclose(*kept_projections(model), rtol=1e-7, atol=1e-10)
    # The first batch apart, rows were centred: the model is near that of a dense stream.
    dense = SPAM().partial_fit(X, y)
    assert model.score(X, y) == pytest.approx(dense.score(X, y), abs=0.05)


# --- manners --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)]
)
def test_the_same_seed_gives_the_same_bits(make):
    X, y = problem()
    a, b = (SPAM(random_state=make()).fit(X, y) for _ in range(2))
    assert (a.coef_ == b.coef_).all() and (a.intercept_ == b.intercept_).all()
    assert (a.coef_ != SPAM(random_state=4).fit(X, y).coef_).any()


def test_no_seed_is_another_order_each_time():
    X, y = problem()
    assert (SPAM().fit(X, y).coef_ != SPAM().fit(X, y).coef_).any()
    assert (SPAM(shuffle=False).fit(X, y).coef_ == SPAM(shuffle=False).fit(X, y).coef_).all()


def test_float32_in_float32_out_and_weights_in_float64():
    X, y = problem()
    for layout in (np.asarray, sparse.csr_matrix):
        model = SPAM(random_state=0).fit(layout(X.astype(np.float32)), y)
        assert model.coef_.dtype == np.float64
        assert model.decision_function(layout(X.astype(np.float32))).dtype == np.float32
        assert model.decision_function(layout(X)).dtype == np.float64


@pytest.mark.parametrize("also", [{"alpha": 0.5}, {"l1": 0.1}])
def test_a_penalty_stands_alone(also):
    with pytest.raises(ValueError, match="penalty of SPAM must stand alone"):
        SPAM(penalty=L2(1.0), **also).fit(*problem())


def test_l1_makes_zeros():
    X, y = problem(200, 8)
    w = SPAM(l1=0.6, n_epochs=50, average=False, random_state=0).fit(X, y).coef_[0]
    assert 0 < (w != 0.0).sum() < 8


@pytest.mark.parametrize(
    "settings",
    [
        {"l1": 1e-3},
        {"l1": 0.3, "alpha": 0.0},
        {"l1": 0.3, "average": False},
        {"l1": 1e-3, "alpha": 1e3},  # weights shrink so fast that they are settled every few steps
        {"l1": 0.05, "schedule": "constant"},
    ],
    ids=str,
)
@pytest.mark.parametrize("stream", [False, True])
def test_sparse_rows_with_l1_are_the_dense_steps(settings, stream, monkeypatch):
    """Columns that become zero between the rows that hold them, and come back."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40)) * (rng.random((300, 40)) < 0.08)
    y = (X @ rng.standard_normal(40) + rng.standard_normal(300) > 0.5).astype(int)

    def learn():
        model = SPAM(**settings, random_state=0)
        if not stream:
            return model.fit(sparse.csr_array(X), y)
        for part in np.split(np.arange(300), [10, 11, 200]):
            model.partial_fit(sparse.csr_array(X[part]), y[part], classes=[0, 1])
        return model

    lazy = learn()
    monkeypatch.setattr(proximal, "sweep_elastic_net", proximal.sweep_any_penalty)
    dense = learn()
    np.testing.assert_allclose(lazy.coef_, dense.coef_, rtol=1e-9, atol=1e-10 * np.abs(dense.coef_).max())
    np.testing.assert_allclose(lazy.intercept_, dense.intercept_, rtol=1e-6, atol=1e-10)
    if not settings.get("average", True):
        assert ((lazy.coef_ == 0.0) == (dense.coef_ == 0.0)).all() and (lazy.coef_ == 0.0).any()


@pytest.mark.parametrize("stream", [False, True])
def test_the_projected_means_are_those_of_the_paper(stream):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(90, 3)) + 2.0, np.arange(90) % 3 == 0
    model = SPAM().partial_fit(X, y) if stream else SPAM(random_state=0).fit(X, y)
    w = model.coef_[0]
    np.testing.assert_allclose(model.a_, w @ X[y].mean(axis=0))
    np.testing.assert_allclose(model.b_, w @ X[~y].mean(axis=0))
    assert model.dual_ == model.b_ - model.a_
