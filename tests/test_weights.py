"""Weights of rows in every method that takes them: repeats, absence, scale."""

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

import auclid
from auclid import FSAUC, OAM, PNUAUC, SAMULT, SPAM, LeastSquaresAUC
from auclid.base import StreamRanker
from auclid.data import as_table
from auclid.stats.epochs import EpochSampler, content_order
from auclid.stats.weights import drawn, repeats

EVERY = [getattr(auclid, name) for name in auclid.__all__]
EVERY = [cls for cls in EVERY if inspect.isclass(cls) and issubclass(cls, BaseEstimator)]
STREAMS = [cls for cls in EVERY if issubclass(cls, StreamRanker)]
STOCHASTIC = pytest.mark.parametrize("cls", STREAMS, ids=lambda cls: cls.__name__)
TOGETHER = pytest.mark.parametrize("cls", [*STREAMS, FSAUC, SAMULT, PNUAUC], ids=lambda cls: cls.__name__)

# The square loss over pairs, which the exact solver minimises: these approach it.
SQUARE = ["SPAM", "SOLAM", "FSAUC", "OPAUC", "AdaOAM"]


def problem(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), np.arange(n) % 3 == 0
    X[:, 0] += y
    return X, y.astype(int), rng.integers(0, 4, n).astype(float)


def fitted(cls, X, y, weight=None, **params):
    model = cls(**params)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)


def test_all_but_the_quadruply_stochastic_one_take_weights():
    without = [cls.__name__ for cls in EVERY if not has_fit_parameter(cls(), "sample_weight")]
    assert sorted(without) == ["KMeansNystroem", "Kernelized", "QSGS2AUC", "RandomFourier"]  # Kernelized: as its ranker


@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_the_one_without_weights_says_why_and_what_takes_them(verb):
    X, y, weight = problem()
    model = auclid.QSGS2AUC(n_iter=5)
    said = rf"QSGS2AUC\.{verb} takes no sample_weight: .* Kernelized\(RandomFourier\(\), SAMULT\(\)\)"
    with pytest.raises(TypeError, match=said):
        getattr(model, verb)(X, y, sample_weight=weight)
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        getattr(model, verb)(X, y, weights=weight)
    assert "classes_" not in vars(model)
    getattr(model, verb)(X, y, sample_weight=None)
    for around in (auclid.Calibrated(model), auclid.Kernelized(auclid.RandomFourier(5), model)):
        with pytest.raises(TypeError, match="takes no sample_weight"):
            around.fit(X, y, sample_weight=weight)


@TOGETHER
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_whole_weights_are_repeated_rows(cls, layout):
    """To rounding, in stochastic methods too: both meet the same rows in the same random order."""
    X, y, weight = problem()
    times = weight.astype(int)
    order = np.random.default_rng(1).permutation(len(y))
    weighted = fitted(cls, layout(X[order]), y[order], weight[order])
    repeated = fitted(cls, layout(np.repeat(X, times, axis=0)), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-6, atol=1e-9)


@TOGETHER
def test_a_row_of_no_weight_is_not_there(cls):
    X, y, weight = problem()
    X[weight == 0.0] *= 1e3  # were it met once, all would be lost
    weight *= np.random.default_rng(2).uniform(0.5, 1.5, len(y))
    there = weight > 0.0
    with_them = fitted(cls, X, y, weight)
    without = fitted(cls, X[there], y[there], weight[there])
    np.testing.assert_allclose(with_them.coef_, without.coef_, rtol=1e-7)
    np.testing.assert_allclose(with_them.intercept_, without.intercept_, rtol=1e-6)


@TOGETHER
@given(scale=st.floats(1e-9, 1e9), whole=st.booleans())
@settings(max_examples=5, deadline=None)
def test_the_scale_of_weights_changes_nothing(cls, scale, whole):
    X, y, weight = problem(30)
    weight = weight + (0.0 if whole else np.random.default_rng(1).random(30))
    plain, scaled = fitted(cls, X, y, weight), fitted(cls, X, y, scale * weight)
    np.testing.assert_allclose(scaled.coef_, plain.coef_, rtol=1e-6, atol=1e-9)


@TOGETHER
def test_equal_weights_are_none(cls):
    X, y, _ = problem()
    np.testing.assert_array_equal(fitted(cls, X, y, np.full(60, 0.3)).coef_, fitted(cls, X, y).coef_)


@pytest.mark.parametrize("name", SQUARE)
def test_the_optimum_is_that_of_weighted_pairs(name):
    """Two halves of rows that disagree, with weights that no whole numbers are in proportion to."""
    rng = np.random.default_rng(0)
    X, half = rng.standard_normal((4000, 2)), np.arange(4000) < 2000
    y = np.where(half, X[:, 0], X[:, 1]) + rng.standard_normal(4000) > 0.5
    weight = np.where(half, 1.0, 0.1) * rng.uniform(0.5, 1.5, 4000)
    exact = LeastSquaresAUC().fit(X, y, sample_weight=weight).coef_[0]
    plain = LeastSquaresAUC().fit(X, y).coef_[0]
    found = fitted(getattr(auclid, name), X, y, weight, n_epochs=5).coef_[0]
    off, far = np.linalg.norm(found - exact), np.linalg.norm(plain - exact)
    assert off < 0.15 * far


@STOCHASTIC
def test_a_batch_meets_a_row_as_often_as_it_weighs(cls):
    X, y, weight = problem()
    model = fitted(cls, X, y).set_params()
    weighted = clone(model).partial_fit(X, y, sample_weight=weight)
    repeated = clone(model).partial_fit(np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int)))
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    nothing = clone(model).partial_fit(X, y, sample_weight=np.zeros(60))
    assert not nothing.coef_.any()
    before = weighted.coef_.copy()
    weighted.partial_fit(X, y, sample_weight=np.zeros(60))
    np.testing.assert_array_equal(weighted.coef_, before)
    with pytest.raises(ValueError, match=rf"{cls.__name__}.partial_fit must be at most 100 in the mean .*; got 1e"):
        weighted.partial_fit(X, y, sample_weight=np.full(60, 1e6))


@pytest.mark.parametrize("cls", [SAMULT, PNUAUC], ids=lambda cls: cls.__name__)
def test_moments_of_weighted_batches_add_up(cls):
    X, y, weight = problem(90)
    y = np.where(np.arange(90) % 4 == 1, -1, y)
    params = {"alpha": 0.1, "unlabeled_weight": 0.2} | ({"prior": 0.3} if cls is PNUAUC else {})
    whole = cls(**params).fit(X, y, sample_weight=weight + 1.0)
    parts = cls(**params)
    for part in (slice(0, 30), slice(30, 90)):
        parts.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=weight[part] + 1.0)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    extra = cls(**params).fit(X[:60], y[:60], X_unlabeled=X[60:], sample_weight=np.ones(60))
    np.testing.assert_allclose(extra.coef_, cls(**params).fit(X[:60], y[:60], X_unlabeled=X[60:]).coef_)


def test_a_class_of_no_weight_is_refused():
    X, y, _ = problem()
    for cls in (SPAM, OAM, FSAUC):
        with pytest.raises(ValueError, match=rf"{cls.__name__} must see two classes of positive weight"):
            fitted(cls, X, y, np.where(y == 1, 0.0, 1.0))
    with pytest.raises(ValueError, match="sample_weight must have shape"):
        fitted(SAMULT, X, y, np.ones(3))


# --- which rows an epoch meets --------------------------------------------------------------------


@given(st.lists(st.integers(0, 6), min_size=2, max_size=9), st.floats(1e-6, 1e6))
def test_whole_numbers_are_found_at_any_scale(counts, scale):
    weight = np.array(counts, dtype=float)
    found = repeats(scale * weight, np.zeros(len(weight), dtype=int))
    if not weight.any() or weight[weight > 0].mean() / np.gcd.reduce(np.array(counts)) > 5.0:
        return
    np.testing.assert_array_equal(found, weight / np.gcd.reduce(np.array(counts)))


def test_other_weights_have_mean_one_in_each_class():
    weight, group = np.array([0.0, 1.0, np.pi, 100.0, 300.0]), np.array([0, 0, 0, 1, 1])
    found = repeats(weight, group)
    np.testing.assert_allclose(found, [0.0, 2.0 / (1.0 + np.pi), 2.0 * np.pi / (1.0 + np.pi), 0.5, 1.5])


def test_epochs_meet_rows_in_proportion_to_their_weights():
    rng, weight = np.random.default_rng(0), np.random.default_rng(1).exponential(size=50)
    rows = EpochSampler(as_table(np.arange(50.0)[:, None]), np.arange(50) < 10, weight)
    met = np.mean([np.bincount(rows.order(rng), minlength=50) for _ in range(4000)], axis=0)
    np.testing.assert_allclose(met, rows.count, atol=0.05)
    assert abs(rows.length - 50) <= 1


def test_nothing_is_drawn_for_whole_numbers():
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    np.testing.assert_array_equal(drawn(np.array([0.0, 2.0, 1.0]), rng), [0, 2, 1])
    assert rng.bit_generator.state == before


def test_many_rows_are_met_as_they_stand():
    X, y, weight = problem()
    assert content_order(as_table(X), y == 1, max_rows=20) is None
    order = EpochSampler(as_table(X), y == 1, max_sorted=20).order(np.random.default_rng(0))
    np.testing.assert_array_equal(order, np.random.default_rng(0).permutation(60))
    sampler = EpochSampler(as_table(X), y == 1, weight, max_sorted=20)
    met = np.bincount(sampler.order(np.random.default_rng(0)), minlength=60)
    np.testing.assert_array_equal(met, weight)
