"""Moments: a commutative monoid under +, sound where the mean dwarfs the spread, the same for sparse rows."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import reference
from auclid import _sizes
from auclid.stats import moments
from auclid.stats.moments import ClassMoments, Moments, class_moments, grouped_moments

# Quarters: sums of products are exact, so that only the divisions of a mean round.
matrices = st.integers(0, 2**32 - 1).map(lambda seed: quarters(np.random.default_rng(seed)))


def quarters(rng):
    n, d = rng.integers(1, 12), rng.integers(1, 5)
    return rng.integers(-20, 21, (n, d)) * (rng.random((n, d)) < 0.7) / 4.0


def of(X, weight=None, full=True):
    """Moments of all rows."""
    return grouped_moments(X, np.zeros(X.shape[0], dtype=np.intp), 1, weight, full)[0]


def agree(a, b, rtol=1e-12, atol=1e-12):
    assert a.n == pytest.approx(b.n, rel=1e-12)
    np.testing.assert_allclose(a.mean, b.mean, rtol=rtol, atol=atol)
    np.testing.assert_allclose(a.scatter, b.scatter, rtol=rtol, atol=atol)


@pytest.fixture(params=["one block", "many blocks"])
def blocks(request, monkeypatch):
    """Everything holds whether the rows come in one block or in many."""
    if request.param == "many blocks":
        monkeypatch.setattr(_sizes, "BLOCK_BYTES", 64)
        monkeypatch.setattr(moments, "BLOCKS", 1)
    return request.param


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_moments_are_the_definition(layout, dtype, blocks):
    @given(matrices, st.booleans(), st.booleans())
    def law(X, weighted, full):
        weight = np.arange(len(X)) % 3 + 0.5 if weighted else None
        got = of(layout(X.astype(dtype)), weight, full)
        n, mean, scatter = reference.moments(X, weight)
        agree(got, Moments(n, mean, scatter if full else np.trace(scatter)))
        assert got.mean.dtype == np.float64 and isinstance(got.n, float)

    law()


@given(matrices, matrices, st.integers(0, 2**32 - 1))
def test_plus_is_commutative_associative_and_of_all_rows(X, Y, seed):
    d = min(X.shape[1], Y.shape[1])
    X, Y = X[:, :d], Y[:, :d]
    Z = quarters(np.random.default_rng(seed))
    Z = np.resize(Z, (len(Z), d))
    a, b, c = of(X), of(Y), of(Z)
    agree(a + b, b + a)
    agree((a + b) + c, a + (b + c))
    agree(a + b + c, of(np.vstack([X, Y, Z])))


@pytest.mark.parametrize("full", [True, False])
@given(X=matrices)
def test_empty_is_neutral(full, X):
    a, nothing = of(X, full=full), Moments.empty(X.shape[1], full)
    for b in (a + nothing, nothing + a):
        assert b.n == a.n and (b.mean == a.mean).all() and (b.scatter == a.scatter).all()
    none = nothing + nothing
    assert none.n == 0.0 and not none.mean.any() and not none.covariance.any()


def test_the_order_of_chunks_is_irrelevant():
    rng = np.random.default_rng(0)
    X, is_pos = rng.standard_normal((90, 3)) * [1.0, 1e4, 1e-4] + 5.0, rng.random(90) < 0.2
    whole = class_moments(X, is_pos)
    chunks = [class_moments(X[k : k + 7], is_pos[k : k + 7]) for k in range(0, 90, 7)]
    assert any(not chunk.complete for chunk in chunks)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(chunks))
        merged = reduce(add, [chunks[k] for k in order], ClassMoments.empty(3))
        for a, b in ((merged.pos, whole.pos), (merged.neg, whole.neg)):
            np.testing.assert_allclose(a.mean, b.mean, rtol=1e-13)
            scale = np.sqrt(np.multiply.outer(np.diag(b.scatter), np.diag(b.scatter)))
            assert (np.abs(a.scatter - b.scatter) <= 1e-10 * scale).all()


def offset_rows(n=400, offset=1e9):
    """Rows about an enormous mean, kept on a grid so that the offset itself rounds nothing away."""
    rng = np.random.default_rng(1)
    small = np.round(rng.standard_normal((n, 3)) * 64) / 64
    return small, small + offset * np.array([1.0, -1.0, 0.5])


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_mean_that_dwarfs_the_spread_costs_no_digits(layout, full, weighted, blocks):
    small, large = offset_rows()
    weight = np.arange(len(small)) % 4 + 0.25 if weighted else None
    n, mean, scatter = reference.moments(small, weight)
    got = of(layout(large), weight, full)
    # Means between blocks are kept in float64, whose spacing at 1e9 is 1e-7 of the spread.
    error = 1e-10 if blocks == "one block" else 1e-7
    expected = scatter if full else np.trace(scatter)
    assert np.abs(got.scatter - expected).max() <= error * np.trace(scatter)
    np.testing.assert_allclose(got.mean, mean + 1e9 * np.array([1.0, -1.0, 0.5]), rtol=1e-15)
    assert got.n == n


def test_full_columns_of_a_sparse_matrix_may_be_far_from_zero_among_sparse_ones():
    small, large = offset_rows()
    thin = np.where(np.arange(len(small)) % 5 == 0, small[:, 0], 0.0)[:, None]
    got = of(sparse.csr_array(np.hstack([large, thin])))
    expected = reference.moments(np.hstack([small, thin]))[2]
    np.testing.assert_allclose(got.scatter, expected, rtol=1e-9, atol=1e-6)


def test_enormous_offsets_leave_the_solution_alone():
    small, large = offset_rows()
    is_pos = np.arange(len(small)) % 3 == 0
    a, b = class_moments(small, is_pos), class_moments(large, is_pos)
    np.testing.assert_allclose(a.within, b.within, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(a.delta, b.delta, atol=1e-6)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("full", [True, False])
def test_a_weight_is_a_number_of_repetitions(layout, full, blocks):
    rng = np.random.default_rng(2)
    X, times = quarters(np.random.default_rng(5)), None
    X = np.resize(X, (20, 3))
    times = rng.integers(0, 4, 20)
    times[7] = 0
    agree(
        of(layout(X), times.astype(float), full),
        of(layout(np.repeat(X, times, axis=0)), full=full),
        rtol=1e-11,
    )


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("full", [True, False])
def test_a_row_of_weight_zero_counts_for_nothing_whatever_it_holds(layout, full, blocks):
    X = layout(np.array([[1.0], [3.0], [1e300]] * 9))
    got = of(X, np.array([1.0, 1.0, 0.0] * 9), full)
    assert got.n == 18.0 and got.mean.tolist() == [2.0]
    assert float(got.scatter.sum()) == pytest.approx(18.0, rel=1e-15)
    assert of(X, np.zeros(27), full).n == 0.0


def test_groups_are_their_own_rows_and_other_numbers_are_left_out():
    X, group = np.resize(quarters(np.random.default_rng(3)), (30, 2)), np.arange(30) % 4 - 1
    for full in (True, False):
        got = grouped_moments(X, group, 4, full=full)
        for g in range(3):
            agree(got[g], of(X[group == g], full=full), rtol=1e-11)
        assert got[3].n == 0.0


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_leaving_out_a_fold_with_an_outlier_is_accurate(layout):
    """A difference of totals would lose everything here: the outlier squared is 1e18 times the rest."""
    rng = np.random.default_rng(4)
    X, fold = rng.standard_normal((60, 2)), np.arange(60) % 3
    X[2] = 1e9
    parts = grouped_moments(layout(X), fold, 3)
    agree(parts[0] + parts[1], of(layout(X[fold != 2])), rtol=1e-12)


def test_class_moments_name_what_the_formulas_name():
    X, is_pos = (
        np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 4.0], [7.0, 0.0]]),
        np.array([False, False, True, True]),
    )
    m = class_moments(X, is_pos)
    assert m.complete and not ClassMoments.empty(2).complete
    np.testing.assert_array_equal(m.delta, [5.0, 1.0])
    np.testing.assert_array_equal(m.within, np.cov(X[:2].T, bias=True) + np.cov(X[2:].T, bias=True))
    np.testing.assert_array_equal(m.midpoint, [3.5, 1.5])
    agree(m.all, of(X))
    # E(1 - m)^2 = (1 - w.delta)^2 + w.S.w, the identity on which the family stands.
    w = np.array([0.3, -0.2])
    z, share = reference.all_pairs(X, is_pos)
    assert (1 - w @ m.delta) ** 2 + w @ m.within @ w == pytest.approx(share @ (1 - z @ w) ** 2)
