"""Buffers: the right rows in the right slots, however a stream is cut, and sparse rows stay sparse."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi2, chisquare

from auclid._generic import kernel
from auclid.data import block_from_arrays, row_dot
from auclid.stats.buffers import POLICIES, admit_row, advance_buffers, empty_buffers, fifo, reservoir
from reference_online import stream

KINDS = {"dense": np.asarray, "sparse": sparse.csr_array}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_policy = pytest.mark.parametrize("policy", POLICIES)


def rows(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    return X, (rng.random(n) < 0.4).astype(np.int8), rng.random(n)


def held(buffers, d):
    """The rows held: negatives, positives."""
    block = block_from_arrays(*buffers[:3], d)
    block = block.toarray() if sparse.issparse(block) else block
    return np.split(block, buffers.held[:1])


def run(X, label, draws, capacity, policy, ends, kind):
    buffers = empty_buffers(X.shape[1])
    for a, b in zip([0, *ends], [*ends, len(X)], strict=True):
        block = KINDS[kind](X[a:b])
        buffers = advance_buffers(buffers, block, label[a:b], capacity, POLICIES[policy], draws[a:b])[1]
    return buffers


@every_kind
@every_policy
def test_a_window_meets_the_rows_the_reference_meets(policy, kind):
    X, label, draws = rows()
    window, after = advance_buffers(empty_buffers(3), KINDS[kind](X), label, 4, POLICIES[policy], draws)
    w = np.array([1.0, -2.0, 0.5])
    scores, counts = np.full((len(X), 4), np.nan), np.zeros(len(X), dtype=np.int64)
    opposite_scores(window, w, scores, counts)
    shift = after.centre @ w
    for k, (_, _, opposite, n, _) in enumerate(stream(X, label == 1, 4, policy, draws)):
        assert counts[k] == len(opposite)
        assert window.number[k, 1 - label[k]] == n
        np.testing.assert_allclose(scores[k, : counts[k]] + shift, [b @ w for b in opposite], atol=1e-14)


@kernel
def opposite_scores(window, w, scores, counts):
    """What a learner sees: after each step's admission, the scores of the opposite buffer."""
    for k in range(window.at.shape[0]):
        admit_row(window, k)
        c = 1 - window.label[k]
        counts[k] = window.held[c]
        for s in range(window.held[c]):
            scores[k, s] = row_dot(window.rows, window.members[c, s], w)


@every_kind
@every_policy
def test_cutting_a_stream_changes_no_bit(policy, kind):
    X, label, draws = rows(n=60)
    whole = run(X, label, draws, 5, policy, [], kind)
    for ends in ([7, 7, 31], range(1, 60)):
        parts = run(X, label, draws, 5, policy, list(ends), kind)
        for a, b in zip(whole, parts, strict=True):
            np.testing.assert_array_equal(a, b)


@every_kind
def test_fifo_holds_the_latest_rows(kind):
    X, label, draws = rows()
    buffers = run(X, label, draws, 6, "fifo", [13], kind)
    for c, mine in enumerate(held(buffers, 3)):
        latest = X[label == c][-6:]
        assert {tuple(x) for x in mine} == {tuple(x) for x in latest}


def test_a_reservoir_is_uniform_over_the_rows_seen():
    n, capacity, times = 30, 5, 4000
    label, X = np.zeros(n, dtype=np.int8), np.arange(n, dtype=np.float64)[:, None]
    rng, counts = np.random.default_rng(0), np.zeros(n)
    for _ in range(times):
        buffers = advance_buffers(empty_buffers(1), X, label, capacity, reservoir, rng.random(n))[1]
        counts[buffers.values[:, 0].astype(int)] += 1
    # Rows held together are not independent: with 5 of 30 the statistic is (1 - 5/30) (30/29) chi-square.
    assert counts.sum() == capacity * times
    statistic = chisquare(counts).statistic / ((1.0 - capacity / n) * n / (n - 1))
    assert 1e-3 < chi2.sf(statistic, n - 1) < 1.0 - 1e-3


def test_slots_are_uniform_too():
    number = np.full(20000, 100)
    slot = reservoir(number, 8, np.random.default_rng(1).random(20000))
    taken = np.bincount(slot[slot >= 0], minlength=8)
    assert chisquare(taken).pvalue > 1e-3
    assert abs(taken.sum() / 20000 - 8 / 100) < 0.006


def test_a_sparse_buffer_holds_only_its_entries():
    X = sparse.random_array((500, 10_000), density=1e-3, format="csr", random_state=0)
    label = (np.arange(500) % 2).astype(np.int8)
    buffers = advance_buffers(empty_buffers(10_000), X, label, 20, fifo, np.zeros(500))[1]
    assert buffers.values.nbytes + buffers.indices.nbytes + buffers.indptr.nbytes < 20_000
    np.testing.assert_array_equal(held(buffers, 10_000)[0], X[label == 0][-20:].toarray()[np.arange(-10, 10)])


def test_a_stream_stays_what_its_first_rows_were():
    X, label, draws = rows()
    for first, second in ((np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)):
        begun = advance_buffers(empty_buffers(3), first(X[:15]), label[:15], 4, fifo, draws[:15])[1]
        mixed = advance_buffers(begun, second(X[15:]), label[15:], 4, fifo, draws[15:])[1]
        alike = advance_buffers(begun, first(X[15:]), label[15:], 4, fifo, draws[15:])[1]
        for a, b in zip(mixed, alike, strict=True):
            np.testing.assert_array_equal(a, b)


def test_saved_buffers_go_on_where_they_were():
    X, label, draws = rows()
    begun = run(X[:20], label[:20], draws[:20], 4, "reservoir", [], "sparse")
    kept = pickle.loads(pickle.dumps(begun))
    args = sparse.csr_array(X[20:]), label[20:], 4, reservoir, draws[20:]
    for a, b in zip(advance_buffers(begun, *args)[1], advance_buffers(kept, *args)[1], strict=True):
        np.testing.assert_array_equal(a, b)


def test_no_rows_change_nothing():
    X, label, draws = rows()
    begun = run(X, label, draws, 4, "fifo", [], "dense")
    for buffers in (empty_buffers(3), begun):
        again = advance_buffers(buffers, X[:0], label[:0], 4, fifo, draws[:0])[1]
        for a, b in zip(buffers, again, strict=True):
            np.testing.assert_array_equal(a, b)
