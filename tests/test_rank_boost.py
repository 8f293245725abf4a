"""RankBoost against explicit pairs: each stump lowers the pair loss most, and the loss is what the rounds say it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler

import auclid
from auclid import RankBoost, make
from auclid.boost.rank_boost import stump_scores
from auclid.metrics import roc_auc
from auclid.solvers.stumps import Entries, boost, stump_values


def problem(n=200, d=3, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    X = np.round(rng.standard_normal((n, d)) + 0.8 * y[:, None] * (np.arange(d) == 0), 1)
    X[rng.random((n, d)) < missing] = np.nan
    return X, y.astype(int)


def all_stumps(X):
    """Every stump there is: thresholds between and above values, missing ones on either side."""
    for k in range(X.shape[1]):
        values = np.unique(X[~np.isnan(X[:, k]), k])
        gaps = np.isnan(X[:, k]).any()
        for threshold in [*(values[:-1] + 0.5 * np.diff(values)), *(values[-1:] if gaps else [])]:
            for missing in (True, False) if gaps else (False,):
                yield stump_values(X[:, k], threshold, missing)


def mean_loss(scores, y):
    return np.exp(-(scores[y == 1][:, None] - scores[y == 0])).mean()


def least_bound(D, X, y):
    """The least W₀ + 2 √(W₊W₋) of all stumps, with explicit weights D of pairs."""
    found = np.inf
    for h in all_stumps(X):
        apart = h[y == 1][:, None] - h[y == 0]
        right, wrong = D[apart > 0].sum(), D[apart < 0].sum()
        found = min(found, D.sum() - right - wrong + 2.0 * np.sqrt(right * wrong))
    return found


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_each_stump_is_the_best_for_explicit_weights_of_pairs(missing):
    X, y = problem(60, missing=missing)
    entries = Entries(X, y.astype(np.int64), np.ones(len(y)), 0.0)
    D = np.full(((y == 1).sum(), (y == 0).sum()), 1.0)
    D /= D.sum()
    for _, stump in zip(range(12), boost(entries), strict=False):
        h = stump_values(X[:, stump.column], stump.threshold, stump.missing)
        apart = h[y == 1][:, None] - h[y == 0]
        right, wrong = D[apart > 0].sum(), D[apart < 0].sum()
        assert D.sum() - right - wrong + 2.0 * np.sqrt(right * wrong) == pytest.approx(least_bound(D, X, y), rel=1e-9)
        smooth = 0.5 / D.size
        assert stump.alpha == pytest.approx(0.5 * np.log((right + smooth) / (wrong + smooth)), rel=1e-9)
        D *= np.exp(-stump.alpha * apart)
        D /= D.sum()


@given(seed=st.integers(0, 50), missing=st.sampled_from([0.0, 0.1]))
def test_the_pair_loss_falls_with_every_round(seed, missing):
    X, y = problem(50, seed=seed, missing=missing)
    if not 0 < y.sum() < len(y):
        return
    model = RankBoost(20).fit(X, y)
    losses = [mean_loss(stump_scores(model.stumps_[:t], X), y) for t in range(len(model.stumps_) + 1)]
    assert losses[0] == 1.0 and np.all(np.diff(losses) < 1e-12)


def test_weights_are_repeated_rows_and_zero_is_absent():
    X, y = problem(80)
    times = np.random.default_rng(1).integers(0, 3, len(y))
    weighted = RankBoost(15).fit(X, y, sample_weight=times)
    repeated = RankBoost(15).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    for a, b in zip(weighted.stumps_, repeated.stumps_, strict=True):
        assert a.column == b.column and a.alpha == pytest.approx(b.alpha)
    np.testing.assert_allclose(
        weighted.decision_function(X[times > 0]), repeated.decision_function(X[times > 0]), rtol=1e-9, atol=1e-12
    )


def test_missing_values_may_carry_the_signal():
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.4
    X = rng.standard_normal((300, 2))
    X[y, 1] = np.where(rng.random(y.sum()) < 0.9, np.nan, X[y, 1])
    assert RankBoost(5).fit(X, y).score(X, y) > 0.9


def test_sparse_rows_are_dense_rows():
    X, y = problem()
    dense, thin = RankBoost(10).fit(X, y), RankBoost(10).fit(sparse.csr_array(X), y)
    assert dense.stumps_ == thin.stumps_
    np.testing.assert_array_equal(dense.decision_function(X), thin.decision_function(sparse.csr_array(X)))


def test_labels_of_near_rows_are_carried_and_help():
    """Two clouds, two labels: with neighbours the ranking uses all rows, and pairs of carried labels are explicit."""
    rng = np.random.default_rng(3)
    truth = np.arange(400) % 2
    X = rng.standard_normal((400, 6)) + 0.7 * truth[:, None]
    few = np.where(np.arange(400) < 10, truth, -1)
    gained = [
        roc_auc(truth, RankBoost(60, n_neighbors=k).fit(X, few).decision_function(X)) for k in (0, 20)
    ]
    assert gained[1] > gained[0]


def test_the_first_stump_with_neighbours_is_best_for_the_explicit_sum_of_two_means():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((40, 3)), np.r_[[0, 1] * 5, [-1] * 30]
    X[:10] += 0.5 * y[:10, None]
    model = RankBoost(1, n_neighbors=3, unlabeled_weight=0.5).fit(X, y)
    scaler = StandardScaler().fit(X[10:])
    far = ((scaler.transform(X[:10])[:, None] - scaler.transform(X[10:])) ** 2).sum(axis=2)
    near = 10 + np.argsort(far, axis=1)[:, :3]
    carried = [near[y[:10] == label].ravel() for label in (0, 1)]
    given_rows = [np.flatnonzero(y == label) for label in (0, 1)]

    def gain(h):
        right = wrong = 0.0
        for share, (neg, pos) in ((1.0, given_rows), (0.5, carried)):
            apart = h[pos][:, None] - h[neg]
            right, wrong = right + share * (apart > 0).mean(), wrong + share * (apart < 0).mean()
        return (np.sqrt(right) - np.sqrt(wrong)) ** 2

    stump = model.stumps_[0]
    chosen = stump_values(X[:, stump.column], stump.threshold, stump.missing)
    used = np.unique(np.concatenate([*given_rows, *carried]))
    every = [
        (X[:, k] > t).astype(float) for k in range(3) for t in np.sort(X[used, k])[:-1]
    ]
    assert gain(chosen) == pytest.approx(max(gain(h) for h in every), rel=1e-9)


def test_registry_names():
    assert make("RankBoost").n_neighbors == 0 and make("SSRankBoost").n_neighbors > 0


def test_one_class_is_refused_in_a_sentence():
    X, _ = problem(20)
    with pytest.raises(ValueError, match="RankBoost must have labelled rows of both classes; got 5 positive and 0"):
        RankBoost(unlabeled=None).fit(X, np.r_[[1.0] * 5, [np.nan] * 15])


def test_rows_of_files_bring_their_own_labels_and_scores_are_lazy_on_dask():
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = (X[:, 0] > 0.0).astype(int)
    model = RankBoost(n_rounds=20).fit(X, y)
    blocks = auclid.scan(lambda: iter([(X[:50], y[:50]), (X[50:], y[50:])]))
    np.testing.assert_array_equal(RankBoost(n_rounds=20).fit(blocks).decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(model.decision_function(da.from_array(X, chunks=(30, 3))), model.decision_function(X))
    with pytest.raises(ValueError, match="requires y to be passed"):
        RankBoost().fit(X)
