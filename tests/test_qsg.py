"""QSG-S2AUC: random features, the descent against slow code, and convergence to the optimum of the kernel's space."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.preprocessing import minmax_scale

import reference_semi as slow
from auclid import QSGS2AUC, SAMULT, Kernelized, RandomFourier, _sizes
from auclid.data import as_table
from auclid.datasets import load_mammography
from auclid.solvers import quadruply_stochastic
from auclid.solvers.quadruply_stochastic import (
    FourierExpansion,
    RandomFrequencies,
    ScoredBatches,
    add_cosines,
)


def problem(seed=0, n=30, p=20, u=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.random((n + p + u, d))
    X[n : n + p, 0] += 0.5
    X[n + p :, 0] += 0.5 * (rng.random(u) < 0.4)
    return X, np.repeat([0, 1, -1], [n, p, u])


@pytest.fixture
def draws(monkeypatch):
    """Numbers of the rows of all mini-batches that are drawn from now on."""
    seen = []

    class Noted(ScoredBatches):
        def __init__(self, f, table, rows):
            seen.append(rows)
            super().__init__(f, table, rows)

    monkeypatch.setattr(quadruply_stochastic, "ScoredBatches", Noted)
    return seen


# --- waves ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kernel", "exact"), [("rbf", rbf_kernel), ("laplacian", laplacian_kernel)])
def test_the_waves_have_the_kernels_spectrum(kernel, exact):
    x, z = np.array([[0.1, 0.4]]), np.array([[0.5, -0.2]])
    omega = RandomFrequencies(5, 200_000, kernel, 0.7).block(3, 2)
    assert np.cos((x - z) @ omega).mean() == pytest.approx(exact(x, z, gamma=0.7)[0, 0], abs=0.01)


def test_a_block_of_waves_is_the_same_whenever_it_is_asked_for():
    waves = RandomFrequencies(5, 4, "rbf", 0.7)
    first = [waves.block(number, 3).tobytes() for number in range(6)]
    assert [waves.block(number, 3).tobytes() for number in reversed(range(6))] == first[::-1]
    assert len(set(first)) == 6
    assert RandomFrequencies(6, 4, "rbf", 0.7).block(0, 3).tobytes() != first[0]


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_sum_of_waves_is_that_of_cosines(size):
    rng = np.random.default_rng(0)
    angles, phases = size * rng.standard_normal((5, 40)), rng.uniform(-4.0, 4.0, 40)
    angles[0, :4] = phases[:4] + np.pi * np.array([0.5, -0.5, 1.0, 3.5])
    amplitudes, out = rng.standard_normal(40), np.ones(5)
    add_cosines(angles, phases, amplitudes, out)
    np.testing.assert_allclose(out, 1.0 + np.cos(angles - phases) @ amplitudes, atol=1e-13 * max(size, 1.0))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_no_row_however_far_scores_beyond_the_amplitudes(kernel):
    X, y = problem()
    model = QSGS2AUC(n_iter=20, kernel=kernel, random_state=0).fit(X, y)
    far = np.repeat(X[:1], 8, axis=0)
    far[:, 0] = 10.0 ** np.array([8, 12, 15, 16, 17, 20, 30, 300])
    assert (np.abs(model.decision_function(far) - model.intercept_) <= np.abs(model.amplitudes_).sum()).all()


def test_how_scores_are_cut_into_blocks_changes_nothing(monkeypatch):
    X, y = problem()
    model = QSGS2AUC(n_iter=20, n_components=3, gamma=2.0, random_state=0).fit(X, y)
    scores = model.decision_function(X)
    monkeypatch.setattr(_sizes, "BLOCK_BYTES", 8 * 6 * 13)
    in_blocks = model._expansion(X.shape[1])(as_table(X), max_frequencies=7) + model.intercept_
    np.testing.assert_allclose(in_blocks, scores, atol=1e-13)


# --- the descent ----------------------------------------------------------------------------------

SETTINGS = [
    {},
    {"kernel": "laplacian"},
    {"unlabeled_weight": 1.0},
    {"unlabeled_weight": 0.0},
    {"theta": 2.0, "alpha": 0.5, "offset": 0},  # the first factor is 0
    {"theta": 4.0, "alpha": 1.0, "offset": 0},  # factors below 0, then 0
    {"alpha": 5.0, "theta": 0.3},
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_the_descent_is_that_of_slow_code(settings, kind, draws):
    X, y = problem()
    model = QSGS2AUC(n_iter=12, n_components=3, batch_size=4, gamma=2.0, alpha=0.3, random_state=0)
    model.set_params(**settings).fit(kind(X), y)
    omegas = [slow.frequencies(model.seed_, i, 3, model.kernel, 2.0, 3) for i in range(12)]
    batches = [[X[rows[:4]], X[rows[4:8]], X[rows[8:]]] for rows in np.vstack(draws)]
    for sets, number in zip(batches[0], (0, 1, -1), strict=True):
        assert all((X[y == number] == row).all(axis=1).any() for row in sets)
    theta = model.theta or 1.5 / model.alpha
    offset = np.ceil(2.0 * theta * (1.0 + model.unlabeled_weight)) if model.offset is None else model.offset
    f = slow.qsg(batches, omegas, model.unlabeled_weight, model.alpha, theta, offset)
    expected = np.array([f(x) for x in X])
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(model.decision_function(X) - model.intercept_, expected, atol=1e-10 * scale)
    assert model.n_iter_ == 12


def test_without_unlabelled_rows_it_is_supervised(draws):
    X, y = problem()
    X, y = X[y >= 0], y[y >= 0]
    with pytest.warns(UserWarning, match="no unlabelled rows"):
        model = QSGS2AUC(alpha=0.1, n_iter=6, n_components=3, batch_size=4, gamma=2.0, random_state=0).fit(X, y)
    omegas = [slow.frequencies(model.seed_, i, 3, "rbf", 2.0, 3) for i in range(6)]
    f = slow.qsg([[X[rows[:4]], X[rows[4:]]] for rows in draws[0]], omegas, 0.0, 0.1, 15.0, 45)
    np.testing.assert_allclose(model.decision_function(X) - model.intercept_, [f(x) for x in X], atol=1e-8)


class FewBatchesAhead(QSGS2AUC):
    def _solver(self):
        return super()._solver()._replace(blocks_ahead=1)


def test_drawing_fewer_batches_ahead_changes_nothing(monkeypatch, draws):
    X, y = problem()
    whole = QSGS2AUC(n_iter=20, batch_size=4, random_state=0).fit(X, y)
    monkeypatch.setattr(_sizes, "BLOCK_BYTES", 8 * 3 * (3 * 4 * 6))  # three columns, six steps of three sets of four
    parts = FewBatchesAhead(n_iter=20, batch_size=4, random_state=0).fit(X, y)
    assert [len(rows) for rows in draws] == [20, 6, 6, 6, 2]
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-12)


def test_the_error_falls_like_one_over_the_iterations():
    X, y = problem(n=10, p=8, u=14)
    sets, alpha, weight = [np.flatnonzero(y == k) for k in (0, 1, -1)], 0.5, 0.5
    best = slow.kernel_optimum(rbf_kernel(X, gamma=2.0), sets, weight, alpha)
    times, errors = np.array([50, 200, 800]), []
    settings = {"alpha": alpha, "n_components": 8, "batch_size": 8, "gamma": 2.0}
    for t in times:
        runs = [QSGS2AUC(weight, n_iter=int(t), random_state=seed, **settings).fit(X, y) for seed in range(10)]
        errors.append(np.mean([(run.decision_function(X) - run.intercept_ - best) ** 2 for run in runs]))
    rate = np.polyfit(np.log(times), np.log(errors), 1)[0]
    assert -1.2 < rate < -0.8
    assert errors[-1] < 0.01 * np.mean(best**2)


def test_steps_as_in_the_paper_may_overflow_and_say_so():
    X, y = problem()
    with pytest.raises(ValueError, match="must end with finite weights"), np.errstate(all="ignore"):
        QSGS2AUC(alpha=1e-9, offset=0, n_iter=100, gamma=2.0, random_state=0).fit(X, y)
    model = QSGS2AUC(alpha=1e-9, n_iter=100, gamma=2.0, random_state=0).fit(X, y)
    assert np.abs(model.decision_function(X)).max() < 10.0


def test_untuned_it_ranks_about_as_well_as_the_exact_solution():
    X, y = load_mammography(return_X_y=True)
    X, few = minmax_scale(X), np.where(np.arange(len(y)) % 20 == 0, y, -1)
    model = QSGS2AUC(random_state=0).fit(X, few)
    exact = Kernelized(RandomFourier(500, gamma=model.gamma_, random_state=0), SAMULT(0.5, alpha=1e-3)).fit(X, few)
    assert model.score(X, y) > exact.score(X, y) - 0.01


# --- streams and manners --------------------------------------------------------------------------


def test_a_stream_begins_when_both_classes_were_seen():
    X, y = problem()
    model = QSGS2AUC(alpha=0.01, n_iter=5, gamma=2.0, random_state=0)
    model.partial_fit(X[y == -1], y[y == -1], classes=[0, 1])
    assert model.n_iter_ == 0
    assert not model.decision_function(X).any()
    model.partial_fit(X[y == 0], y[y == 0])
    assert model.n_iter_ == 0
    model.partial_fit(X[y == 1], y[y == 1])
    assert model.n_iter_ == 5
    model.partial_fit(X[:3], [0, 1, -1])
    assert [sample.seen for sample in model._samples] == [31, 21, 41]


@pytest.mark.parametrize("gamma", [None, 2.0])
def test_how_a_stream_is_cut_changes_no_bit(gamma):
    X, y = problem(n=60, p=60, u=100)
    order = np.random.default_rng(0).permutation(len(y))
    cuts = ([], [1, 2, 100], [50, 51, 52, 53], list(range(20, len(y), 20)))
    models = [QSGS2AUC(n_iter=5, gamma=gamma, random_state=0) for _ in cuts]
    for model, cut in zip(models, cuts, strict=True):
        for part in np.split(order, cut):
            model.partial_fit(X[part], y[part], classes=[0, 1])
    for model in models[1:]:
        assert model.decision_function(X).tobytes() == models[0].decision_function(X).tobytes()
        assert model.gamma_ == models[0].gamma_ and model.intercept_ == models[0].intercept_


def test_the_state_does_not_grow_with_the_stream():
    X, y = problem(n=60, p=60, u=100)
    model = QSGS2AUC(n_iter=5, random_state=0).fit(X, y)
    size = len(pickle.dumps(model))
    for _ in range(6):
        model.partial_fit(X[::2], y[::2])
    assert model.amplitudes_.shape[0] == model.n_iter_ == 5
    grown = pickle.dumps(model.partial_fit(X[::2], y[::2]))
    rows = sum(sample.rows.nbytes for sample in model._samples)
    assert len(grown) - rows < size


def test_a_stream_reaches_the_ranking_of_a_fit():
    X, y = problem(n=100, p=100, u=200)
    truth = np.where(y == -1, X[:, 0] > 1.0, y)
    whole, parts = (QSGS2AUC(n_iter=200, random_state=0) for _ in range(2))
    whole.fit(X, y)
    for part in np.array_split(np.random.default_rng(0).permutation(len(y)), 4):
        parts.partial_fit(X[part], y[part], classes=[0, 1])
    assert parts.n_iter_ == whole.n_iter_ == 200
    assert parts.score(X, truth) > whole.score(X, truth) - 0.02 > 0.8


def test_a_stream_chooses_its_width_when_both_classes_were_seen():
    X, y = problem()
    model = QSGS2AUC(n_iter=5, random_state=0)
    for row in (np.flatnonzero(y == 0)[0], np.flatnonzero(y == -1)[0]):
        model.partial_fit(1e3 * X[[row]], y[[row]], classes=[0, 1])
    model.partial_fit(1e3 * X, y)
    whole = QSGS2AUC(n_iter=5, random_state=0).fit(1e3 * X, y)
    assert model.gamma_ == pytest.approx(whole.gamma_, rel=0.5)


@pytest.mark.parametrize("change", [{"kernel": "laplacian"}, {"n_components": 8}])
def test_what_a_stream_was_begun_with_stays(change):
    X, y = problem()
    model = QSGS2AUC(n_iter=5, random_state=0).fit(X, y)
    scores = model.decision_function(X)
    model.set_params(**change)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    with pytest.raises(ValueError, match="must stay what it was when the stream began"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), scores)


def test_a_batch_that_fails_changes_nothing():
    X, y = problem()
    model = QSGS2AUC(n_iter=5, random_state=0).fit(X, y)
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)
    with pytest.raises(ValueError, match="finite"), np.errstate(all="ignore"):
        model.set_params(theta=1e300, offset=0).partial_fit(X, y)
    assert pickle.dumps(vars(model.set_params(theta=None, offset=None))) == before


@pytest.mark.parametrize("state", [0, np.random.RandomState(0), np.random.default_rng(0)])
def test_the_same_seed_gives_the_same_bits(state):
    X, y = problem()
    first, second = (
        QSGS2AUC(n_iter=5, random_state=pickle.loads(pickle.dumps(state))).fit(X, y).decision_function(X)
        for _ in range(2)
    )
    assert first.tobytes() == second.tobytes()
    assert QSGS2AUC(n_iter=5, random_state=1).fit(X, y).decision_function(X).tobytes() != first.tobytes()


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_the_width_follows_the_rows(kernel):
    X, y = problem()
    model = QSGS2AUC(n_iter=2, kernel=kernel, random_state=0)
    narrow, wide = model.fit(X, y).gamma_, model.fit(10.0 * X, y).gamma_
    assert narrow / wide == pytest.approx(100.0 if kernel == "rbf" else 10.0)
    assert model.set_params(gamma=0.3).fit(X, y).gamma_ == 0.3


def test_an_expansion_can_be_read_from_its_attributes():
    X, y = problem()
    model = QSGS2AUC(n_iter=4, n_components=3, gamma=2.0, random_state=0).fit(X, y)
    f = np.full(len(X), model.intercept_)
    for i in range(4):
        omega = np.sqrt(4.0) * np.random.default_rng([model.seed_, i]).standard_normal((3, 3))
        f += np.cos(X @ omega - model.phases_[i]) @ model.amplitudes_[i]
    np.testing.assert_allclose(model.decision_function(X), f)
    again = FourierExpansion(RandomFrequencies(model.seed_, 3, "rbf", 2.0), model.amplitudes_, model.phases_, 3)
    np.testing.assert_allclose(again(as_table(X)) + model.intercept_, f)


@pytest.mark.parametrize("huge", [1e155, 1e200, 1e308])
def test_a_batch_with_a_row_beyond_measure_is_refused_whole(huge):
    """It would fail whichever later batch draws the row."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    far = X.copy()
    far[3, 1] = huge
    model = QSGS2AUC(n_iter=5, batch_size=2, random_state=0).partial_fit(X, y)
    said = model.decision_function(X)
    with pytest.raises(ValueError, match="how far rows are apart"):
        model.partial_fit(far, y)
    np.testing.assert_array_equal(model.decision_function(X), said)
    for _ in range(3):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="how far rows are apart"):
        QSGS2AUC(n_iter=5, random_state=0).fit(far, y)


def test_a_mini_batch_that_memory_could_not_hold_is_refused():
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, -1])
    with pytest.raises(ValueError, match=r"'batch_size' parameter of QSGS2AUC must be .*range \[1, 65536\]"):
        QSGS2AUC(batch_size=10**8).fit(X, y)
