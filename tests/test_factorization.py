"""FactorizationRanker: scores, gradients and steps against plain code; what it gains, and where it must not lose."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import auclid
from auclid import FactorizationRanker, load, save
from auclid.data import as_table
from auclid.losses import as_loss
from auclid.metrics import roc_auc
from auclid.pairwise.factorization import factorized_scores
from auclid.solvers import factorization as solver


def plain_score(x, w, V):
    """w·x and all pairs of columns, one by one."""
    pairs = sum(V[i] @ V[j] * x[i] * x[j] for i in range(len(x)) for j in range(i))
    return w @ x + pairs


def users_and_items(n, n_users=60, n_items=40, seed=0):
    """One-hot rows of a user and an item whose match depends on hidden traits of both, not on either alone."""
    traits = np.random.default_rng(7)
    user_trait, item_trait = traits.normal(size=(n_users, 2)), traits.normal(size=(n_items, 2))
    rng = np.random.default_rng(seed)
    user, item = rng.integers(n_users, size=n), rng.integers(n_items, size=n)
    odds = 2.0 * (user_trait[user] * item_trait[item]).sum(axis=1) - 1.0
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-odds))
    rows = np.repeat(np.arange(n), 2)
    columns = np.column_stack([user, n_users + item]).ravel()
    return sparse.csr_array((np.ones(2 * n), (rows, columns)), shape=(n, n_users + n_items)), y


@pytest.mark.parametrize("rank", [0, 1, 5])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_scores_are_those_of_all_pairs_of_columns(rank, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 6)) * (rng.random((9, 6)) < 0.6)
    w, V = rng.normal(size=6), rng.normal(size=(6, rank))
    expected = [plain_score(x, w, V) for x in X]
    np.testing.assert_allclose(factorized_scores(as_table(kind(X)), w, V), expected, atol=1e-12)
    rows = next(iter(as_table(kind(X)).sweep(np.arange(9))))[0]
    np.testing.assert_allclose(
        [solver.score_row(rows, i, w, V, np.empty(rank)) for i in range(9)], expected, atol=1e-12
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", ["logistic", "square", "squared_hinge"])
def test_a_step_follows_the_gradient_of_the_pair(kind, loss):
    """The first AdaGrad step has length `step` in each touched coordinate, against the sign of the derivative."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2, 5))
    X[0, 1] = X[1, 3] = X[0, 4] = X[1, 4] = 0.0
    state = solver.init(5, 3, 0.3, rng)
    w, V = state.w + rng.normal(size=5), state.V.copy()
    state.w[:], state.z[:] = w, -w  # after a step of rate 1
    settings = solver.FactorizationSteps(as_loss(loss), 0.01, 0.02, 0.0, 1e-3)

    def objective(w, V):
        margin = plain_score(X[0], w, V) - plain_score(X[1], w, V)
        value = {
            "logistic": np.log1p(np.exp(-margin)),
            "square": (1 - margin) ** 2,
            "squared_hinge": max(0.0, 1 - margin) ** 2,
        }[loss]
        return value + 0.005 * w @ w + 0.01 * (V * V).sum()

    rows = next(iter(as_table(kind(X)).sweep(np.arange(2))))[0]
    solver.sweep(rows, np.array([0]), np.array([1]), settings, state)
    for c in range(4):
        up, down = w.copy(), w.copy()
        up[c] += 1e-6
        down[c] -= 1e-6
        slope = (objective(up, V) - objective(down, V)) / 2e-6
        assert state.w[c] - w[c] == pytest.approx(-1e-3 * np.sign(slope), abs=1e-9)
        assert state.w_squares[c] == pytest.approx(slope**2, rel=1e-3)
        for k in range(3):
            up, down = V.copy(), V.copy()
            up[c, k] += 1e-6
            down[c, k] -= 1e-6
            slope = (objective(w, up) - objective(w, down)) / 2e-6
            assert state.V_squares[c, k] == pytest.approx(slope**2, rel=1e-3, abs=1e-12)
    if kind is sparse.csr_array:  # a column that neither row holds stays what it is
        assert state.w[4] == w[4] and (state.V[4] == V[4]).all()


def plain_iterates(X, held, pairs, w, V, settings):
    """w and V after each step: AdaGrad, with the threshold of all steps applied to every column after each of them."""
    d, z, w_squares, V_squares, visits = len(w), -w, np.zeros(len(w)), np.zeros(V.shape), np.zeros(len(w))
    rate = np.ones(d)
    for t, (i, j) in enumerate(pairs, start=1):
        gap = X[i] - X[j]
        touched = held[i] | held[j]
        margin = plain_score(X[i], w, V) - plain_score(X[j], w, V)
        slope = -1.0 / (1.0 + np.exp(margin))
        visits += touched
        rarity = (t / np.maximum(visits, 1.0))[:, None]
        by_V = np.outer(X[i], X[i] @ V) - np.outer(X[j], X[j] @ V) - V * (X[i] ** 2 - X[j] ** 2)[:, None]
        by_V = touched[:, None] * (slope * by_V + settings.factor_alpha * rarity * V)
        by_w = touched * (slope * gap + settings.alpha * rarity[:, 0] * w)
        w_squares, V_squares = w_squares + by_w**2, V_squares + by_V**2
        following = np.where(w_squares > 0.0, settings.step / np.sqrt(np.maximum(w_squares, 1e-300)), rate)
        z = z + by_w - (1.0 / following - 1.0 / rate) * w
        rate = following
        w = -rate * np.sign(z) * np.maximum(np.abs(z) - settings.l1 * t, 0.0)
        V = V - settings.step * by_V / np.sqrt(np.maximum(V_squares, 1e-300))
        yield w, V


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("l1", [0.0, 0.01, 0.05])
def test_steps_and_their_average_are_those_of_plain_code(kind, l1):
    """Columns that a pair does not touch shrink as well, though no step visits them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12)) * (rng.random((40, 12)) < 0.25)
    pairs = np.column_stack([rng.integers(20, size=120), 20 + rng.integers(20, size=120)])
    settings = solver.FactorizationSteps(as_loss("logistic"), 1e-3, 1e-2, l1, 0.1)
    state, table = solver.init(12, 2, 0.1, rng), as_table(kind(X))
    held = np.full(X.shape, True) if kind is np.asarray else X != 0.0
    expected = list(plain_iterates(X, held, pairs, state.w.copy(), state.V.copy(), settings))
    for part in np.array_split(pairs[:60], 3):
        for rows, (i, j), _ in table.sweep(*part.T):
            solver.sweep(rows, i, j, settings, state)
    solver.begin_average(state, l1)
    np.testing.assert_allclose(state.w, expected[59][0], atol=1e-12)
    for rows, (i, j), _ in table.sweep(*pairs[60:].T):
        solver.sweep(rows, i, j, settings, state)
    w, V = solver.averaged(state, 60, l1)
    np.testing.assert_allclose(w, np.mean([one[0] for one in expected[60:]], axis=0), atol=1e-12)
    np.testing.assert_allclose(V, np.mean([one[1] for one in expected[60:]], axis=0), atol=1e-12)
    solver.settle(state, l1)
    np.testing.assert_allclose(state.w, expected[-1][0], atol=1e-12)
    np.testing.assert_array_equal(state.w == 0.0, expected[-1][0] == 0.0)
    if l1 == 0.05:
        assert 0 < np.count_nonzero(state.w) < 12


def test_it_finds_what_a_linear_model_cannot():
    X, y = users_and_items(12_000)
    fresh, label = users_and_items(6_000, seed=1)
    model = FactorizationRanker(random_state=0).fit(X, y)
    linear = LogisticRegression(max_iter=500).fit(X, y)
    gain = model.score(fresh, label) - roc_auc(label, linear.decision_function(fresh))
    assert model.rank_ == 8 and gain > 0.1


def test_factors_go_where_they_do_not_pay():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 5))
    y = rng.random(3_000) < 1.0 / (1.0 + np.exp(-X @ [1.0, -0.5, 0.2, 0.0, 0.0]))
    fresh = rng.normal(size=(5_000, 5))
    label = rng.random(5_000) < 1.0 / (1.0 + np.exp(-fresh @ [1.0, -0.5, 0.2, 0.0, 0.0]))
    model, linear = FactorizationRanker(random_state=0).fit(X, y), LogisticRegression().fit(X, y)
    assert model.score(fresh, label) > roc_auc(label, linear.decision_function(fresh)) - 0.003


def test_the_rank_is_chosen_where_auto(tmp_path):
    X, y = users_and_items(6_000)
    fresh, label = users_and_items(3_000, seed=1)
    model = FactorizationRanker("auto", alpha=1e-4, random_state=0).fit(X, y)
    assert model.rank_ in (4, 8, 16) and model.factors_.shape == (X.shape[1], model.rank_)
    assert model.alpha_ == 1e-4 and model.score(fresh, label) > 0.6
    save(tmp_path / "m.auclid", model)
    assert load(tmp_path / "m.auclid").rank == "auto"
    both = FactorizationRanker("auto", n_epochs=2, random_state=0).fit(X[:500], y[:500])
    assert both.rank_ in (0, 4, 8, 16) and both.alpha_ in (1e-3, 1e-4, 1e-5)
    few = FactorizationRanker("auto", alpha=1e-3, n_epochs=1, random_state=0).fit(X[:40], y[:40])
    assert (few.rank_, few.alpha_) == (8, 1e-3)
    stream = FactorizationRanker("auto", random_state=0).partial_fit(X[:500], y[:500])
    stream.partial_fit(X[500:900], y[500:900])
    assert stream.rank_ == 8 and stream.factors_.shape[1] == 8


def test_the_same_seed_gives_the_same_bits_dense_or_sparse():
    X, y = users_and_items(800, 20, 10)
    one, two = (FactorizationRanker(alpha=1e-4, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.factors_, two.factors_)
    dense = FactorizationRanker(alpha=1e-4, random_state=3).fit(X.toarray(), y)
    assert dense.score(X.toarray(), y) == pytest.approx(one.score(X, y), abs=0.05)


def word_rows(n=3_000, d=200, seed=0):
    """Sparse rows of zeros and ones; the label depends on the first ten columns."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_array((rng.random((n, d)) < 0.05).astype(float))
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-X[:, :10] @ np.tile([2.0, -2.0], 5)))
    return X, y


def l1_optimum(X, y, alpha, l1):
    """The weights of the optimum at rank 0, by accelerated proximal gradient steps on all pairs."""
    w, ahead, momentum = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 1.0
    rate = 1.0 / (0.5 * (X * X).sum(axis=1).mean())
    for _ in range(300):
        gradient = X.T @ auclid.pairs.gradient(y, X @ ahead, loss="logistic") + alpha * ahead
        moved = ahead - rate * gradient
        moved = np.sign(moved) * np.maximum(np.abs(moved) - rate * l1, 0.0)
        following = 0.5 + np.sqrt(0.25 + momentum**2)
        w, ahead, momentum = moved, moved + (momentum - 1.0) / following * (moved - w), following
    return w


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_l1_makes_the_weights_of_noise_exactly_zero(kind):
    X, y = word_rows()
    X = kind(X.toarray())
    counts = []
    for l1 in (0.0, 1e-3, 5e-3, 2e-2, 1.0):
        model = FactorizationRanker(0, alpha=1e-4, l1=l1, random_state=0).fit(X, y)
        counts.append(np.count_nonzero(model.coef_))
        if l1 == 2e-2:
            expected = l1_optimum(X, y, 1e-4, l1)
            assert np.count_nonzero(expected) == 10
            np.testing.assert_array_equal(model.coef_[0] != 0.0, expected != 0.0)
            np.testing.assert_allclose(model.coef_[0], expected, atol=0.25 * np.abs(expected).max())
    assert counts[0] == 200 and counts[-1] == 0 and counts == sorted(counts, reverse=True)


def test_l1_leaves_the_factors_alone():
    X, y = users_and_items(4_000, 20, 10)
    model = FactorizationRanker(4, alpha=1e-4, l1=1.0, random_state=0).fit(X, y)
    assert not model.coef_.any() and model.factors_.all() and model.score(X, y) > 0.7


def test_a_stream_has_exact_zeros_between_its_batches():
    X, y = word_rows()
    model = FactorizationRanker(0, alpha=1e-4, l1=1e-2, random_state=0)
    for part in np.array_split(np.arange(3_000), 5):
        model.partial_fit(X[part], y[part], classes=[False, True])
    weights = model.coef_[0].copy()
    assert weights[:10].all() and np.count_nonzero(weights[10:]) < 40
    model.set_params(l1=0.0).partial_fit(X[:500], y[:500])
    assert np.count_nonzero(model.coef_) > np.count_nonzero(weights)
    np.testing.assert_allclose(model.coef_[0, :10], weights[:10], atol=0.6)


def test_a_stream_learns_and_goes_on_after_loading(tmp_path):
    X, y = users_and_items(20_000)
    fresh, label = users_and_items(4_000, seed=1)
    model = FactorizationRanker(random_state=0)
    for part in np.array_split(np.arange(10_000), 10):
        model.partial_fit(X[part], y[part], classes=[False, True])
    save(tmp_path / "m.auclid", model)
    again = load(tmp_path / "m.auclid")
    for part in np.array_split(np.arange(10_000, 20_000), 10):
        model.partial_fit(X[part], y[part])
        again.partial_fit(X[part], y[part])
    np.testing.assert_array_equal(again.factors_, model.factors_)
    assert model.score(fresh, label) > 0.7


def test_a_failed_batch_changes_nothing():
    X, y = users_and_items(200, 10, 5)
    model = FactorizationRanker(random_state=0).partial_fit(X, y)
    before = model.factors_.copy()
    with pytest.raises(ValueError, match="rank"):
        model.set_params(rank=3).partial_fit(X, y)
    np.testing.assert_array_equal(model.factors_, before)
    with pytest.raises(ValueError, match="no sample_weight"):
        model.set_params(rank=8).partial_fit(X, y, sample_weight=np.ones(200))


def test_weights_are_repeats_in_the_mean():
    X, y = users_and_items(400, 10, 5)
    weight = np.where(np.arange(400) < 200, 1.0, 0.0)
    model = FactorizationRanker(alpha=1e-3, random_state=0).fit(X, y, sample_weight=weight)
    half = FactorizationRanker(alpha=1e-3, random_state=0).fit(X[:200], y[:200])
    assert model.score(X[:200], y[:200]) == pytest.approx(half.score(X[:200], y[:200]), abs=0.05)


def test_rows_of_files_are_learnt_from_and_scored():
    X, y = users_and_items(1_000, 20, 10)

    def blocks():
        for k in range(0, 1_000, 300):
            yield X[k : k + 300], y[k : k + 300]

    rows = auclid.scan(blocks)
    model = FactorizationRanker(alpha=1e-4, random_state=0).fit(rows)
    np.testing.assert_allclose(model.decision_function(rows), model.decision_function(X), atol=1e-12)
    assert model.score(rows) > 0.7
